//! Whether a kubelet's certificate request may be approved: the rules of OpenShift's machine-approver
//! (`pkg/controller/csr_check.go`), and inventory where that has no Machine to go by. A request that no
//! rule speaks for is held, never let through.

mod decoded;
mod inventory;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use jiff::SignedDuration;
use plimsoll_model::csr::{Judged, Verdict};
use plimsoll_model::plan::Signer;
use plimsoll_model::{Time, clip, redact};
use serde_json::Value;

use crate::expected::is_node_name;
use decoded::{Asked, Signature};
pub use inventory::{Addresses, Host, Inventory, Machine, Node};

pub const CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client-kubelet";
pub const SERVING_SIGNER: &str = "kubernetes.io/kubelet-serving";
const BOOTSTRAPPER: &str =
    "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper";
const BOOTSTRAPPER_GROUPS: [&str; 3] = [
    "system:authenticated",
    "system:serviceaccounts",
    "system:serviceaccounts:openshift-machine-config-operator",
];
const NODE_GROUPS: [&str; 2] = ["system:authenticated", "system:nodes"];
const NODE_GROUP: &str = "system:nodes";
const NODE_USER: &str = "system:node:";

/// Clocks of this cluster may differ by so much.
const SKEW: SignedDuration = SignedDuration::from_secs(10);
/// A kubelet asks again every quarter of an hour: who asked earlier is not there any more.
const OLDEST: SignedDuration = SignedDuration::from_hours(1);
/// From the making of a machine to its first request.
const JOIN: SignedDuration = SignedDuration::from_hours(2);
/// More requests than machines by this many: something is wrong, and nothing is approved.
const FLOOD: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    pub verdict: Verdict,
    /// The rules that decided, with what was found.
    pub reasons: Vec<String>,
    /// Name that the certificate would be for.
    pub node: Option<String>,
    /// Absent where it is no request of a kubelet.
    pub wave: Option<Signer>,
}

/// What the rules found so far. The worst decides, and where nothing speaks for a request it is held.
#[derive(Default)]
struct Findings {
    fine: Vec<String>,
    /// Who knows the node.
    vouched: bool,
    hold: Vec<String>,
    deny: Vec<String>,
}

impl Findings {
    fn fine(&mut self, text: impl Into<String>) {
        self.fine.push(text.into());
    }

    fn vouch(&mut self, text: impl Into<String>) {
        self.vouched = true;
        self.fine(text);
    }

    fn hold(&mut self, text: impl Into<String>) {
        self.hold.push(text.into());
    }

    fn deny(&mut self, text: impl Into<String>) {
        self.deny.push(text.into());
    }

    fn judgement(mut self, node: Option<String>, wave: Option<Signer>) -> Judgement {
        if !self.vouched && self.hold.is_empty() && self.deny.is_empty() {
            self.hold("no rule speaks for it");
        }
        let (verdict, mut reasons) = match (self.deny.is_empty(), self.hold.is_empty()) {
            (false, _) => (Verdict::Deny, [self.deny, self.hold].concat()),
            (true, false) => (Verdict::Hold, self.hold),
            (true, true) => (Verdict::Approve, self.fine),
        };
        // All of them quote what a stranger wrote.
        reasons.iter_mut().for_each(|reason| *reason = clip(&redact(reason)));
        Judgement { verdict, reasons, node, wave }
    }
}

/// One request by itself. Whether there are too many, or a newer one, only `judge_all` sees.
pub fn judge(request: &Value, inventory: &Inventory, now: Time) -> Judgement {
    let mut found = Findings::default();
    let wave = wave(request);
    let Some(wave) = wave else {
        let signer = text(request, "/spec/signerName");
        found.hold(format!("signer '{signer}' is not one of kubelets"));
        return found.judgement(None, None);
    };
    if let Some(condition) = decided(request) {
        found.hold(format!("it is decided already: {condition}"));
    }
    let asked = match decoded::decode(text(request, "/spec/request")) {
        Ok(asked) => asked,
        Err(why) => {
            found.hold(format!("what it asks for cannot be read: {why}"));
            return found.judgement(None, Some(wave));
        }
    };
    signature(&asked, &mut found);
    age(request, now, &mut found);
    usages(request, wave, &mut found);
    let Some(node) = subject(&asked, &mut found) else {
        return found.judgement(None, Some(wave));
    };
    let asker = requestor(request, wave, &node, &mut found);
    let rule = Rule { request, asked: &asked, node: &node, inventory };
    match (wave, asker) {
        (_, Asker::Stranger) => {}
        (Signer::Client, Asker::Bootstrapper) => rule.first_join(&mut found),
        (Signer::Client, Asker::Itself) => rule.renewal(&mut found),
        (Signer::Serving, _) => rule.serving(&mut found),
    }
    if wave == Signer::Client {
        no_names(&asked, &mut found);
    }
    found.judgement(Some(node), Some(wave))
}

/// All requests of kubelets together, in the order given, those that are decided among them: floods are
/// held as a whole, and of a burst for one node only the newest goes through. Without the decided ones, an
/// older request would pass as soon as the newest is approved.
pub fn judge_all(requests: &[Value], inventory: &Inventory, now: Time) -> Vec<Judgement> {
    let mut judged: Vec<Judgement> =
        requests.iter().map(|request| judge(request, inventory, now)).collect();
    hold_older(requests, &mut judged);
    if let Some(why) = flood(requests, inventory, now) {
        for one in judged.iter_mut().filter(|one| one.verdict == Verdict::Approve) {
            one.verdict = Verdict::Hold;
            one.reasons = vec![why.clone()];
        }
    }
    judged
}

/// For an answer: the request with what was judged of it.
pub fn shown(request: &Value, judgement: &Judgement) -> Judged {
    let uid = text(request, "/metadata/uid");
    Judged {
        name: text(request, "/metadata/name").into(),
        uid: (!uid.is_empty()).then(|| uid.into()),
        created: created(request),
        node: judgement.node.as_deref().map(redact).map(|node| clip(&node)),
        wave: judgement.wave,
        requestor: clip(&redact(text(request, "/spec/username"))),
        verdict: judgement.verdict,
        reasons: judgement.reasons.clone(),
        done: None,
    }
}

/// Whether it waits for an answer and is a kubelet's.
pub fn is_pending(request: &Value) -> bool {
    wave(request).is_some() && decided(request).is_none()
}

pub fn wave(request: &Value) -> Option<Signer> {
    match text(request, "/spec/signerName") {
        CLIENT_SIGNER => Some(Signer::Client),
        SERVING_SIGNER => Some(Signer::Serving),
        _ => None,
    }
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn texts<'v>(value: &'v Value, pointer: &str) -> Vec<&'v str> {
    let list = value.pointer(pointer).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

fn created(request: &Value) -> Option<Time> {
    inventory::time(request, "/metadata/creationTimestamp")
}

fn decided(request: &Value) -> Option<&str> {
    let conditions = request.pointer("/status/conditions").and_then(Value::as_array)?;
    conditions.iter().find_map(|condition| condition["type"].as_str())
}

fn flood(requests: &[Value], inventory: &Inventory, now: Time) -> Option<String> {
    let recent = |request: &&Value| {
        is_pending(request)
            && created(request).is_some_and(|time| now.duration_since(time) < OLDEST)
    };
    let pending = requests.iter().filter(recent).count();
    let most = inventory.machines.len().max(inventory.nodes.len()) + FLOOD;
    (pending > most).then(|| {
        format!(
            "{pending} requests wait, and more than {most} (machines and {FLOOD}) are a flood: \
             find out who sends them first"
        )
    })
}

/// Of requests that nobody refused or has to refuse, those that the same node followed up.
fn hold_older(requests: &[Value], judged: &mut [Judgement]) {
    let mut newest: BTreeMap<(String, bool), (Option<Time>, &str)> = BTreeMap::new();
    let key = |one: &Judgement| Some((one.node.clone()?, one.wave? == Signer::Client));
    let place = |request| (created(request), text(request, "/metadata/name"));
    for (request, one) in requests.iter().zip(&*judged) {
        let stands = matches!(decided(request), None | Some("Approved"));
        if let (Some(key), true) = (key(one), stands && one.verdict != Verdict::Deny) {
            let known = newest.entry(key).or_insert_with(|| place(request));
            *known = (*known).max(place(request));
        }
    }
    for (request, one) in requests.iter().zip(judged) {
        let Some(newer) = key(one).and_then(|key| newest.get(&key)) else { continue };
        if one.verdict == Verdict::Approve && *newer != place(request) {
            one.verdict = Verdict::Hold;
            one.reasons = vec![format!("superseded: the same node asks again as {}", newer.1)];
        }
    }
}

fn signature(asked: &Asked, found: &mut Findings) {
    match &asked.signature {
        Signature::Good => found.fine("signed with the key that it is for"),
        Signature::Bad => found.deny("its signature is not of the key that it is for"),
        Signature::Strange(algorithm) => {
            found.hold(format!("signed by algorithm {algorithm}, which no kubelet uses"));
        }
    }
    for extra in &asked.extras {
        found.hold(format!("asks for {extra}, which no kubelet does"));
    }
}

fn age(request: &Value, now: Time, found: &mut Findings) {
    let Some(created) = created(request) else {
        return found.hold("it does not say when it was made");
    };
    let age = now.duration_since(created);
    if age > OLDEST {
        let minutes = age.as_mins();
        found.hold(format!(
            "made {minutes} minutes ago: a kubelet that still waits asks again every 15 minutes"
        ));
    } else if age < -SKEW {
        found.hold(format!("made at {created}, which is still to come"));
    }
}

/// Exactly those of a kubelet; encipherment is for keys of older kubelets.
fn usages(request: &Value, wave: Signer, found: &mut Findings) {
    let listed = texts(request, "/spec/usages");
    let usages: BTreeSet<&str> = listed.iter().copied().collect();
    let purpose = match wave {
        Signer::Client => "client auth",
        Signer::Serving => "server auth",
    };
    let usual = BTreeSet::from(["digital signature", purpose]);
    let legacy = BTreeSet::from(["digital signature", "key encipherment", purpose]);
    match usages {
        _ if listed.is_empty() => found.hold("it does not say what the certificate is for"),
        usages if usages == usual || usages == legacy => {}
        _ => found.deny(format!("usages [{}] are not those of a kubelet", listed.join(", "))),
    }
}

/// The node that it is for, if the subject is one of a node and nothing else.
fn subject(asked: &Asked, found: &mut Findings) -> Option<String> {
    let subject = || {
        let all = asked.organizations.iter().map(|name| format!("O={name}"));
        let all = all.chain(asked.common_names.iter().map(|name| format!("CN={name}")));
        all.chain(asked.other_subject.iter().cloned()).collect::<Vec<_>>().join(", ")
    };
    let wrong = |found: &mut Findings, why: &str| {
        found.deny(format!("subject {}: {why}", subject()));
        None
    };
    if asked.organizations != [NODE_GROUP] {
        return wrong(found, "its organisation must be system:nodes and nothing else");
    }
    if !asked.other_subject.is_empty() {
        return wrong(found, "it has more in it than organisation and name");
    }
    let [name] = asked.common_names.as_slice() else {
        return wrong(found, "it must have one common name");
    };
    match name.strip_prefix(NODE_USER).filter(|node| is_node_name(node)) {
        Some(node) => {
            found.fine(format!("subject O={NODE_GROUP}, CN={name}"));
            Some(node.into())
        }
        None => wrong(found, "its name must be system:node:NAME"),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Asker {
    Bootstrapper,
    Itself,
    Stranger,
}

fn requestor(request: &Value, wave: Signer, node: &str, found: &mut Findings) -> Asker {
    let user = text(request, "/spec/username");
    let listed = texts(request, "/spec/groups");
    let groups: BTreeSet<&str> = listed.iter().copied().collect();
    if user.is_empty() {
        found.hold("it does not say who asks");
        return Asker::Stranger;
    }
    if user == BOOTSTRAPPER && wave == Signer::Client {
        if groups == BTreeSet::from(BOOTSTRAPPER_GROUPS) {
            found.fine("asked by the node-bootstrapper");
            return Asker::Bootstrapper;
        }
        let groups = listed.join(", ");
        found.deny(format!("asks as the node-bootstrapper with groups [{groups}], not its own"));
        return Asker::Stranger;
    }
    if user.strip_prefix(NODE_USER) != Some(node) {
        found.deny(format!("'{user}' asks for a certificate of node '{node}'"));
        return Asker::Stranger;
    }
    if !NODE_GROUPS.iter().all(|group| groups.contains(group)) {
        found.deny(format!("'{user}' is not in {}", NODE_GROUPS.join(" and ")));
        return Asker::Stranger;
    }
    let more: Vec<&str> = groups.into_iter().filter(|group| !NODE_GROUPS.contains(group)).collect();
    match more.is_empty() {
        true => found.fine("asked by the node itself"),
        false => found.hold(format!("'{user}' is also in {}", more.join(", "))),
    }
    Asker::Itself
}

fn no_names(asked: &Asked, found: &mut Findings) {
    let names = asked.dns.iter().cloned();
    let names = names.chain(asked.addresses.iter().map(IpAddr::to_string));
    let names: Vec<String> = names.chain(asked.other_names.iter().cloned()).collect();
    if !names.is_empty() {
        let names = names.join(", ");
        found.deny(format!(
            "a client certificate has no alternative names, and it asks for {names}"
        ));
    }
}

/// One request, and who could vouch for it.
struct Rule<'r> {
    request: &'r Value,
    asked: &'r Asked,
    node: &'r str,
    inventory: &'r Inventory,
}

impl Rule<'_> {
    /// A kubelet without an identity of its own: somebody else has to know the node.
    fn first_join(&self, found: &mut Findings) {
        let node = self.node;
        if let Some(known) = self.inventory.node(node) {
            let ready = if known.ready { "Ready" } else { "not Ready" };
            return match self.inventory.repairing.as_deref() == Some(node) {
                true => found.vouch(format!("Node {node} exists, {ready}, and is being repaired")),
                false => found.hold(format!(
                    "Node {node} exists already ({ready}): its kubelet lost its identity, or \
                     somebody takes its name; --node {node} says that you are repairing it"
                )),
            };
        }
        if !self.inventory.all_nodes {
            found.hold(format!("whether Node {node} exists already is not known from this data"));
        }
        let mut against = Vec::new();
        let vouchers = [self.by_machine(), self.by_host(), self.by_user()];
        for voucher in vouchers {
            match voucher {
                Ok(by) => return found.vouch(by),
                Err(why) => against.push(why),
            }
        }
        let against: Vec<String> = against.into_iter().flatten().collect();
        let against =
            if against.is_empty() { String::new() } else { format!(" ({})", against.join("; ")) };
        found.hold(format!(
            "nobody expects a node '{node}'{against}: an expected-nodes file that names it would \
             decide (--expect)"
        ));
    }

    /// As the machine-approver has it.
    fn by_machine(&self) -> Result<String, Option<String>> {
        let machine = self.inventory.machine_called(self.node);
        let Some(machine) = machine else { return Err(self.inventory.gap_of("Machine").cloned()) };
        let name = &machine.name;
        if let Some(node) = &machine.node {
            return Err(Some(format!("Machine {name} has its Node already, {node}")));
        }
        let (Some(made), Some(asked)) = (machine.created, created(self.request)) else {
            return Err(Some(format!("Machine {name} does not say when it was made")));
        };
        let after = asked.duration_since(made);
        match -SKEW < after && after < JOIN {
            true => Ok(format!("Machine {name} was made {} minutes before", after.as_mins())),
            false => Err(Some(format!(
                "Machine {name} was made {} minutes before, and {} are allowed",
                after.as_mins(),
                JOIN.as_mins()
            ))),
        }
    }

    /// Hardware takes longer than a cloud: counted from when the disk was written.
    fn by_host(&self) -> Result<String, Option<String>> {
        let host = self.inventory.host_called(self.node);
        let Some(host) = host else { return Err(self.inventory.gap_of("BareMetalHost").cloned()) };
        let name = &host.name;
        let (true, Some(consumer)) = (host.provisioned, &host.consumer) else {
            return Err(Some(format!("BareMetalHost {name} is not provisioned for a Machine")));
        };
        let machine = self.inventory.machines.iter().find(|machine| machine.name == *consumer);
        match machine {
            Some(machine) if machine.node.is_none() => {}
            Some(machine) => {
                let node = machine.node.as_deref().unwrap_or_default();
                return Err(Some(format!("Machine {consumer} has its Node already, {node}")));
            }
            None => return Err(Some(format!("Machine {consumer} of {name} is not there"))),
        }
        let ((Some(begun), Some(ended)), Some(asked)) = (host.provision, created(self.request))
        else {
            return Err(Some(format!("BareMetalHost {name} does not say when it was provisioned")));
        };
        let (since_begun, since_ended) = (asked.duration_since(begun), asked.duration_since(ended));
        match since_begun > -SKEW && since_ended < JOIN {
            true => Ok(format!(
                "BareMetalHost {name} was provisioned for Machine {consumer} at {ended}"
            )),
            false => Err(Some(format!(
                "BareMetalHost {name} was provisioned {} minutes before, and {} are allowed",
                since_ended.as_mins(),
                JOIN.as_mins()
            ))),
        }
    }

    fn by_user(&self) -> Result<String, Option<String>> {
        match self.inventory.expected(self.node) {
            Some(_) => Ok("the expected-nodes file names it".into()),
            None => Err(None),
        }
    }

    /// The node proves by its certificate that it was let in before.
    fn renewal(&self, found: &mut Findings) {
        let node = self.node;
        match self.inventory.node(node) {
            Some(_) => found.vouch(format!("Node {node} renews its certificate")),
            None if self.inventory.expected(node).is_some() => {
                found.vouch("the expected-nodes file names it");
            }
            None => found.hold(format!("there is no Node {node} that could renew anything")),
        }
    }

    fn serving(&self, found: &mut Findings) {
        for name in &self.asked.other_names {
            found.deny(format!("a kubelet serves under names and addresses, not {name}"));
        }
        let names = self.asked.dns.iter().map(|name| Err(name.as_str()));
        let names: Vec<Result<IpAddr, &str>> =
            names.chain(self.asked.addresses.iter().map(|address| Ok(*address))).collect();
        if names.is_empty() {
            return found.hold("it asks for no name to serve under");
        }
        let (vouched, by) = self.inventory.vouched(self.node);
        let own = self.inventory.node(self.node).map(|node| &node.addresses);
        for name in &names {
            self.name(*name, &vouched, own, found);
        }
        match own {
            _ if !vouched.is_empty() => {
                let count = names.len();
                found.vouch(format!("all {count} names are known of it by {}", by.join(", ")));
            }
            Some(_) if self.is_vouched_for() => {
                found.vouch(format!("all {} names are those of Node {}", names.len(), self.node));
            }
            Some(_) => found.hold(format!(
                "that these names are its own, only Node {} itself says: an expected-nodes file \
                 that names it would decide (--expect)",
                self.node
            )),
            None => found.hold(format!(
                "nothing tells the addresses of '{}': a Machine, or an expected-nodes file with \
                 its addresses, would decide (--expect)",
                self.node
            )),
        }
    }

    /// A person says that this node is meant to be here.
    fn is_vouched_for(&self) -> bool {
        self.inventory.expected(self.node).is_some()
            || self.inventory.repairing.as_deref() == Some(self.node)
    }

    fn name(
        &self,
        name: Result<IpAddr, &str>,
        vouched: &Addresses,
        own: Option<&Addresses>,
        found: &mut Findings,
    ) {
        let shown = match name {
            Ok(address) => address.to_string(),
            Err(name) => name.into(),
        };
        let has = |addresses: &Addresses| match name {
            Ok(address) => addresses.ips.contains(&address),
            Err(name) => addresses.has_name(name),
        };
        if let Some(owner) = self.inventory.other_owner(self.node, name) {
            return found.deny(format!("'{shown}' belongs to {owner}"));
        }
        if has(vouched) {
            return;
        }
        match own {
            Some(own) if has(own) && !vouched.is_empty() => found.hold(format!(
                "'{shown}' is an address of Node {} by its own word only",
                self.node
            )),
            Some(own) if has(own) => {}
            None if vouched.is_empty() => {}
            _ => found.deny(format!("'{shown}' is no name or address of {}", self.node)),
        }
    }
}
