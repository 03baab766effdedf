use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kube::Client;
use plimsoll_act::{Refusal, requests};
use plimsoll_engine::pack::json;
use plimsoll_live::Request;
use plimsoll_model::Needs;
use plimsoll_model::csr::{CSR_SCHEMA, Done, Judged, Requests, Verdict};
use plimsoll_model::plan::{Action, Plan, Signer, Step};
use plimsoll_model::snapshot::{Collected, Document, Form, ResourceNeed, Snapshot};
use plimsoll_repair::expected::{self, Expected};
use plimsoll_repair::request::{Inventory, NODES, VOUCHERS, is_pending, judge_all, shown, wave};
use plimsoll_repair::with_verdicts;
use plimsoll_sources::{Given, NoProgress};
use plimsoll_yaml::Limits;
use serde_json::Value;

use crate::args::{Csr, DataOutput, Fix, Talk};
use crate::exit::{Failure, Outcome};
use crate::files::read_text;
use crate::live::{self, Sorted};
use crate::output::{note, print, text_options};

/// Between two looks for requests that come later.
const POLL: Duration = Duration::from_secs(2);
/// How long a certificate is waited for that was approved last.
const ISSUED_WITHIN: Duration = Duration::from_secs(10);
const REQUESTS: (&str, &str) = ("certificates.k8s.io", "certificatesigningrequests");
/// Requests that a person is told to deny one by one.
const DENIED: usize = 8;

pub fn run(args: &Csr) -> Result<Outcome, Failure> {
    let expected = args.expect.as_deref().map(expected_nodes).transpose()?.unwrap_or_default();
    let Sorted { paths, live } = live::sorted(&args.sources, &args.reach, args.now)?;
    let is_live = live.is_some();
    let answer = match live {
        None if args.approve => {
            let message = "--approve needs a live cluster, such as kube:CONTEXT";
            return Err(Failure::Usage(message.into()));
        }
        None => of_archives(args, paths, expected)?,
        Some(request) if paths.is_empty() && is_api_alone(&request) => {
            of_cluster(args, &request, expected)?
        }
        Some(_) => {
            let message = "requests are judged from one cluster or from archives, not from both";
            return Err(Failure::Usage(message.into()));
        }
    };
    print(&match args.output {
        DataOutput::Json => plimsoll_report::json(&answer),
        DataOutput::Text => plimsoll_report::csr_text(&answer, &text_options(&args.talk)),
    })?;
    let may =
        answer.requests.iter().any(|one| one.verdict == Verdict::Approve && one.done.is_none());
    if may && is_live && !args.approve && args.output == DataOutput::Text {
        note(&args.talk, "hint: --approve approves those that may be");
    }
    Ok(if answer.is_clear() { Outcome::Fine } else { Outcome::Found })
}

/// A plan with what the rules say today of the requests that it would approve: by the API where it is read,
/// else by archives. Where they cannot be read it stays as it is: each is judged again when it is carried out.
pub fn told_in(plan: Plan, fix: &Fix, sources: &[PathBuf]) -> Plan {
    if !plan.steps.iter().any(|step| matches!(step.action, Action::Approve { .. })) {
        return plan;
    }
    let args = Csr {
        sources: Vec::new(),
        approve: false,
        wait: None,
        expect: None,
        node: (plan.root.entity.kind == "Node").then(|| plan.root.entity.name.clone()),
        output: DataOutput::Text,
        now: fix.now,
        reach: fix.reach.clone(),
        talk: Talk { quiet: true, no_color: true },
    };
    let Ok(Sorted { paths, live }) = live::sorted(sources, &fix.reach, fix.now) else {
        return plan;
    };
    let answer = match live.filter(|request| request.cluster.is_some()) {
        Some(request) => of_cluster(&args, &request, Vec::new()),
        None if paths.is_empty() => return plan,
        None => of_archives(&args, paths, Vec::new()),
    };
    match answer {
        Ok(answer) => {
            let mut plan = with_verdicts(plan, &answer.requests);
            plan.steps.iter_mut().for_each(|step| denied_by_hand(step, &answer.requests));
            plan
        }
        Err(_) => plan,
    }
}

/// What is left to a person of a request that is to be denied: to say so, and to have the kubelet ask anew.
fn denied_by_hand(step: &mut Step, judged: &[Judged]) {
    let Action::Approve { node, signer } = &step.action else { return };
    let is_denied = |one: &&Judged| {
        let is_its = one.node.as_ref() == Some(node) && one.wave == Some(*signer);
        is_its && one.verdict == Verdict::Deny
    };
    // Whoever asks chose these names.
    let is_plain = |name: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
        !name.starts_with('-') && name.chars().all(plain)
    };
    let named = judged.iter().filter(is_denied).filter(|one| is_plain(&one.name)).take(DENIED);
    let mut left: Vec<String> =
        named.map(|one| format!("oc adm certificate deny {}", one.name)).collect();
    if !left.is_empty() && is_plain(node) {
        left.push(format!(
            "ssh core@{node} sudo systemctl restart kubelet   # if it is yours: it asks anew"
        ));
    }
    step.commands.extend(left);
}

fn is_api_alone(request: &Request) -> bool {
    let others = !request.nodes.is_empty() || !request.bmcs.is_empty();
    request.cluster.is_some()
        && !others
        && request.all_nodes_as.is_none()
        && !request.bmcs_of_cluster
}

fn expected_nodes(file: &Path) -> Result<Vec<Expected>, Failure> {
    let shown = file.display();
    let text = read_text(file).map_err(|error| {
        Failure::Unreadable(format!("cannot read {shown}: {}", plimsoll_sources::plain(&error)))
    })?;
    expected::parse(&text).map_err(|wrong| {
        Failure::Unreadable(format!("{shown}:{}:{}: {}", wrong.line, wrong.column, wrong.message))
    })
}

/// What a gather holds is judged as of its time.
fn of_archives(
    args: &Csr,
    paths: Vec<PathBuf>,
    expected: Vec<Expected>,
) -> Result<Requests, Failure> {
    let need = |(group, plural): (&str, &str)| ResourceNeed {
        group: group.into(),
        plural: plural.into(),
        namespaces: Vec::new(),
        names: Vec::new(),
        drop: Vec::new(),
    };
    let vouchers = VOUCHERS.map(|voucher| (voucher.group, voucher.plural));
    let resources = vouchers.into_iter().chain([REQUESTS]).map(need).collect();
    let needs = Needs { now: args.now, resources, ..Needs::default() };
    let given = paths.into_iter().map(Given::Path).collect();
    let snapshot = plimsoll_sources::read_given(given, &needs, &NoProgress)
        .map_err(|error| Failure::Unreadable(error.to_string()))?;
    let Some(now) = snapshot.now else {
        let message = "the sources do not tell when they were gathered: give --now";
        return Err(Failure::Unreadable(message.into()));
    };
    let mut inventory = Inventory { expected, ..Inventory::default() };
    inventory.repairing.clone_from(&args.node);
    let (objects, mut gaps) = objects(&snapshot);
    // Only a list that was understood to its end says who is not there.
    let nodes = |one: &&Collected| (&*one.group, &*one.plural) == (NODES.group, NODES.plural);
    let listed = snapshot.collected.iter().filter(nodes).any(|one| one.form == Form::List);
    inventory.all_nodes = listed && gaps.is_empty();
    let mut found = Vec::new();
    for (document, object) in objects {
        match (&*document.group, &*document.plural) {
            REQUESTS => found.push(object),
            (group, plural) => inventory.add(group, plural, &object),
        }
    }
    if !snapshot.collected.iter().any(|one| one.plural == REQUESTS.1) {
        gaps.push("signing requests are not in this data".into());
    }
    let all = pending(found, &inventory, now).into_iter().map(|(_, judged)| judged);
    Ok(answer(args, now, all.collect(), gaps))
}

/// Those that wait, judged among all.
fn pending(all: Vec<Value>, inventory: &Inventory, now: jiff::Timestamp) -> Vec<(Value, Judged)> {
    let judged = judge_all(&all, inventory, now);
    let both = all.into_iter().zip(judged).filter(|(request, _)| is_pending(request));
    both.map(|(request, one)| {
        let one = shown(&request, &one);
        (request, one)
    })
    .collect()
}

/// Each object once, as the newest source has it.
fn objects(snapshot: &Snapshot) -> (Vec<(&Document, Value)>, Vec<String>) {
    let mut seen = BTreeSet::new();
    let (mut found, mut gaps) = (Vec::new(), Vec::new());
    for source in snapshot.newest_first() {
        for document in snapshot.documents.iter().filter(|document| document.source == source) {
            let object = match plimsoll_yaml::parse(&document.text, &Limits::OBJECT) {
                Ok(node) => json(&node),
                Err(error) => {
                    gaps.push(format!("{}: {error}", document.path));
                    continue;
                }
            };
            let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
            let key = (document.plural.clone(), document.namespace.clone(), name.to_string());
            if seen.insert(key) {
                found.push((document, object));
            }
        }
    }
    (found, gaps)
}

fn answer(args: &Csr, now: jiff::Timestamp, mut all: Vec<Judged>, gaps: Vec<String>) -> Requests {
    if let Some(node) = &args.node {
        all.retain(|one| one.node.as_ref() == Some(node));
    }
    all.sort_by_key(|one| {
        (one.node.clone(), one.wave == Some(Signer::Serving), one.created, one.name.clone())
    });
    let sources = args.sources.iter().map(|source| live::shown(source));
    Requests {
        schema: CSR_SCHEMA.into(),
        generated_for: Some(now),
        sources: sources.collect(),
        approving: args.approve,
        requests: all,
        gaps,
    }
}

fn of_cluster(args: &Csr, request: &Request, expected: Vec<Expected>) -> Result<Requests, Failure> {
    let runtime = live::runtime()?;
    let work = async {
        let Some(vantage) = &request.cluster else { return Err(live::no_cluster()) };
        let client = plimsoll_live::client(vantage, request.patience).await;
        let client = client.map_err(|error| Failure::Unreadable(error.to_string()))?;
        let mut session = Session { args, client, expected, done: BTreeMap::new() };
        session.run().await
    };
    let answer = runtime.block_on(work);
    // A plugin for credentials that hangs is not waited for.
    runtime.shutdown_background();
    answer
}

/// All requests that wait, judged at one moment.
struct Looked {
    now: jiff::Timestamp,
    requests: Vec<(Value, Judged)>,
    gaps: Vec<String>,
}

struct Session<'a> {
    args: &'a Csr,
    client: Client,
    expected: Vec<Expected>,
    /// By uid: what was approved, or could not be.
    done: BTreeMap<String, Judged>,
}

impl Session<'_> {
    async fn run(&mut self) -> Result<Requests, Failure> {
        if self.args.approve {
            let first = self.approve_all().await;
            match self.args.wait {
                None => first?,
                Some(seconds) => self.wait(first, Duration::from_secs(seconds)).await?,
            }
            self.await_certificates().await;
        }
        let done: Vec<Judged> = self.done.values().cloned().collect();
        let last = match self.look().await {
            // What was approved is told, whatever became of the cluster since.
            Err(failure) if !done.is_empty() => {
                let gaps = vec![failure.to_string()];
                Looked { now: live::clock(), requests: Vec::new(), gaps }
            }
            looked => looked?,
        };
        let pending = last.requests.into_iter().map(|(_, judged)| judged);
        let is_new = |one: &Judged| !done.iter().any(|known| known.uid == one.uid);
        let all = pending.filter(is_new).chain(done.clone()).collect();
        Ok(answer(self.args, last.now, all, last.gaps))
    }

    async fn look(&self) -> Result<Looked, Failure> {
        let unread = |refusal: Refusal| {
            Failure::Unreadable(format!("the requests cannot be judged: {refusal}"))
        };
        let all = requests::all(&self.client).await.map_err(unread)?;
        let mut inventory = requests::inventory(&self.client).await.map_err(unread)?;
        inventory.expected.clone_from(&self.expected);
        inventory.repairing.clone_from(&self.args.node);
        let now = self.args.now.unwrap_or_else(live::clock);
        requests::ask_kubelets(&self.client, &all, &mut inventory, now).await;
        let requests = pending(all, &inventory, now);
        Ok(Looked { now, requests, gaps: inventory.gaps })
    }

    /// Clients first: without them nobody asks for the rest.
    fn chosen(&self, looked: &Looked) -> Vec<String> {
        let wanted = |one: &&(Value, Judged)| {
            let judged = &one.1;
            judged.verdict == Verdict::Approve
                && self.args.node.as_ref().is_none_or(|node| judged.node.as_ref() == Some(node))
        };
        let mut chosen: Vec<&(Value, Judged)> = looked.requests.iter().filter(wanted).collect();
        chosen.sort_by_key(|(request, judged)| {
            (wave(request) != Some(Signer::Client), judged.created)
        });
        let uids = chosen.into_iter().filter_map(|(_, judged)| judged.uid.clone());
        // What was refused once is asked for again in the next round, as it is then.
        let approved = |uid: &String| self.done.get(uid).is_some_and(is_approved);
        uids.filter(|uid| !approved(uid)).collect()
    }

    async fn approve_all(&mut self) -> Result<(), Failure> {
        let looked = self.look().await?;
        for uid in self.chosen(&looked) {
            // Much may have changed since the last one was approved.
            let fresh = self.look().await?;
            if !self.chosen(&fresh).contains(&uid) {
                continue;
            }
            let found = fresh.requests.iter().find(|(_, one)| one.uid.as_ref() == Some(&uid));
            let Some((request, judged)) = found else { continue };
            let done = self.approve(request, judged, fresh.now).await;
            let node = judged.node.as_deref().unwrap_or_default();
            let told = self.done.get(&uid).and_then(|before| before.done.as_ref());
            if told.is_none_or(|before| before.says != done.says) {
                note(&self.args.talk, &format!("{} ({node}): {}", judged.name, done.says));
            }
            self.done.insert(uid, Judged { done: Some(done), ..judged.clone() });
        }
        Ok(())
    }

    async fn approve(&self, request: &Value, judged: &Judged, now: jiff::Timestamp) -> Done {
        let why = judged.reasons.join("; ");
        let (approved, says) = match requests::approve(&self.client, request, &why, now).await {
            Ok(()) => (true, "approved".to_string()),
            Err(refusal) if refusal.code == Some(409) => {
                (false, format!("not approved, somebody changed it in this moment: {refusal}"))
            }
            Err(refusal) => (false, format!("not approved: {refusal}")),
        };
        Done { approved, issued: false, says }
    }

    /// Until every node that was let in has both certificates. A cluster that takes nodes in is seldom a
    /// calm one: a round that failed is told, and only the last one's failure is this command's.
    async fn wait(&mut self, first: Result<(), Failure>, limit: Duration) -> Result<(), Failure> {
        let until = Instant::now() + limit;
        let mut round = first;
        while !self.is_through() && Instant::now() < until {
            if let Err(failure) = &round {
                note(&self.args.talk, &format!("{failure}; trying again"));
            }
            tokio::time::sleep(POLL.min(until.saturating_duration_since(Instant::now()))).await;
            round = self.approve_all().await;
        }
        round
    }

    fn is_through(&self) -> bool {
        let approved = self.done.values().filter(|one| is_approved(one));
        let let_in: BTreeSet<&String> =
            approved.clone().filter_map(|one| one.node.as_ref()).chain(&self.args.node).collect();
        let served: BTreeSet<&String> = approved
            .filter(|one| one.wave == Some(Signer::Serving))
            .filter_map(|one| one.node.as_ref())
            .collect();
        !let_in.is_empty() && let_in == served
    }

    /// Approved is not issued: that is the signer's part.
    async fn await_certificates(&mut self) {
        let until = Instant::now() + ISSUED_WITHIN;
        loop {
            for one in self.done.values_mut().filter(|one| is_approved(one)) {
                let Some(done) = one.done.as_mut().filter(|done| !done.issued) else { continue };
                done.issued = requests::is_issued(&self.client, &one.name).await.unwrap_or(false);
                done.says = match done.issued {
                    true => "approved, and its certificate is there".into(),
                    false => "approved; its certificate is not there yet, which is the part of \
                              kube-controller-manager"
                        .into(),
                };
            }
            let waits =
                |one: &Judged| one.done.as_ref().is_some_and(|done| done.approved && !done.issued);
            if !self.done.values().any(waits) || Instant::now() >= until {
                return;
            }
            tokio::time::sleep(POLL).await;
        }
    }
}

fn is_approved(one: &Judged) -> bool {
    one.done.as_ref().is_some_and(|done| done.approved)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judged(name: &str, verdict: &str) -> Judged {
        let one = json!({
            "name": name, "created": null, "node": "worker-1", "wave": "client",
            "requestor": "x", "verdict": verdict, "reasons": ["that is why"],
        });
        serde_json::from_value(one).unwrap()
    }

    #[test]
    fn what_is_left_of_a_denied_request_are_commands() {
        let step = json!({
            "number": 1, "title": "x", "blast": 1, "target": {"in": "nothing"},
            "action": {"do": "approve", "node": "worker-1", "signer": "client"},
            "undo": {"by": "impossible", "because": "x"}, "rehearsal": {"by": "server"},
        });
        let step: Step = serde_json::from_value(step).unwrap();
        let commands = |all: &[Judged]| {
            let mut step = step.clone();
            denied_by_hand(&mut step, all);
            step.commands
        };
        let left = commands(&[judged("csr-1", "deny"), judged("csr-2", "hold")]);
        assert_eq!(left.len(), 2, "{left:?}");
        assert_eq!(left[0], "oc adm certificate deny csr-1");
        assert!(left[1].starts_with("ssh core@worker-1 sudo systemctl restart kubelet"));
        assert!(commands(&[judged("csr-1", "approve")]).is_empty());
        // A name is chosen by whoever asks, and is pasted into a shell.
        assert!(commands(&[judged("x; rm -r /", "deny")]).is_empty());
    }
}
