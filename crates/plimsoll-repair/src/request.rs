//! Whether a kubelet's certificate request may be approved: the rules of OpenShift's machine-approver
//! (`pkg/controller/csr_check.go`), and inventory where that has no Machine to go by. A request that no
//! rule speaks for is held, never let through.

mod decoded;
mod inventory;
mod renewal;
mod rule;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use jiff::SignedDuration;
use plimsoll_model::csr::{Judged, Verdict};
use plimsoll_model::plan::Signer;
use plimsoll_model::{Time, clip, redact};
use serde_json::Value;

use crate::ago;
use crate::expected::is_node_name;
use decoded::{Asked, Signature};
pub use inventory::{Addresses, Host, Inventory, Machine, NODES, Node, Serving, VOUCHERS, Voucher};
use rule::Rule;

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
    let rule = Rule { request, asked: &asked, node: &node, inventory, now };
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
        let ago = ago::long(age);
        found.hold(format!(
            "made {ago} ago: a kubelet that still waits asks again every 15 minutes"
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
