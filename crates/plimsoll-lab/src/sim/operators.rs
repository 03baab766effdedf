//! What cluster operators say, in the form in which they say it.
//!
//! An operator of the shared library joins what its controllers report: the reason is
//! `Controller_Reason::Other_Reason`, the message one line each, `ControllerDegraded: …`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use plimsoll_model::diagnosis::StateRef;
use plimsoll_model::entity::EntityId;

use super::script::Script;
use super::world::World;
use super::{Happening, Next, What, workloads};
use crate::fault::Break;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Degraded,
    Unavailable,
    Progressing,
}

/// One thing that an operator reports.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Complaint {
    pub operator: String,
    pub level: Level,
    /// The condition of the operator's own resource, `GuardControllerDegraded`; empty when it has none.
    pub part: String,
    pub reason: String,
    /// `{since}` stands for the time of its cause, `{lost}`, `{ready}` and `{total}` for pods.
    pub message: String,
    /// The node or the workload it speaks of.
    pub about: Option<String>,
}

impl Complaint {
    fn new(operator: &str, level: Level, part: &str, reason: &str, message: &str) -> Self {
        Self {
            operator: operator.into(),
            level,
            part: part.into(),
            reason: reason.into(),
            message: message.into(),
            about: None,
        }
    }

    pub fn degraded(operator: &str, part: &str, reason: &str, message: &str) -> Self {
        Self::new(operator, Level::Degraded, part, reason, message)
    }

    pub fn unavailable(operator: &str, part: &str, reason: &str, message: &str) -> Self {
        Self::new(operator, Level::Unavailable, part, reason, message)
    }

    pub fn progressing(operator: &str, reason: &str, message: &str) -> Self {
        Self::new(operator, Level::Progressing, "", reason, message)
    }

    pub fn about(self, node: &str) -> Self {
        Self { about: Some(node.into()), ..self }
    }

    /// Rolling out is no symptom.
    pub fn sign(&self) -> Option<StateRef> {
        let id = match self.level {
            Level::Degraded => "operator-degraded",
            Level::Unavailable => "operator-unavailable",
            Level::Progressing => return None,
        };
        let entity = EntityId::cluster_scoped("ClusterOperator", &self.operator);
        Some(StateRef { id: id.into(), entity })
    }
}

/// `operator-degraded NAME REASON "message"`, and the same of unavailable.
pub(super) fn said(degraded: bool, broken: &Break) -> Complaint {
    let at = |n: usize| broken.arguments.get(n).map(String::as_str).unwrap_or_default();
    let level = if degraded { Level::Degraded } else { Level::Unavailable };
    Complaint::new(at(0), level, "", at(1), at(2))
}

/// The cluster version operator fails at once over an operator that is not available, and over a
/// degraded one after forty minutes. During an installation it ignores Degraded.
pub(super) fn heard(world: &World<'_>, complaint: &Complaint) -> Vec<Next> {
    let mut next = Vec::new();
    if !world.installing() {
        match complaint.level {
            Level::Unavailable => next.push(((60, 360), What::VersionFailing)),
            Level::Degraded => next.push(((2_400, 3_000), What::VersionFailing)),
            Level::Progressing => {}
        }
    }
    next
}

/// Routes that nobody can reach: the operators that ask their own routes notice within minutes.
pub(super) fn ingress_unreachable(world: &World<'_>, error: &str) -> Vec<Next> {
    let apps = format!("apps.{}", world.params.fqdn());
    let oauth = format!("Get \"https://oauth-openshift.{apps}/healthz\": {error}");
    let console = format!(
        "failed to GET route (https://console-openshift-console.{apps}): Get \"https://console-openshift-console.{apps}\": {error}"
    );
    let canary = "The \"default\" ingress controller reports Degraded=True: DegradedConditions: One or more other status conditions indicate a degraded state: CanaryChecksSucceeding=False (CanaryChecksRepetitiveFailures: Canary route checks for the default ingress controller are failing. Last 1 error messages:\nerror sending canary HTTP request to \"canary-openshift-ingress-canary.{apps}\": Get \"https://canary-openshift-ingress-canary.{apps}\": {error})";
    let canary = canary.replace("{apps}", &apps).replace("{error}", error);
    let endpoint = "OAuthServerRouteEndpointAccessibleController";
    let mut next = vec![
        (
            (60, 180),
            What::Complains(Complaint::unavailable(
                "authentication",
                &format!("{endpoint}Available"),
                "EndpointUnavailable",
                &oauth,
            )),
        ),
        (
            (130, 260),
            What::Complains(Complaint::degraded(
                "authentication",
                &format!("{endpoint}Degraded"),
                "SyncError",
                &oauth,
            )),
        ),
        (
            (60, 180),
            What::Complains(Complaint::unavailable(
                "console",
                "RouteHealthAvailable",
                "FailedGet",
                &console,
            )),
        ),
        (
            (130, 260),
            What::Complains(Complaint::degraded(
                "console",
                "RouteHealthDegraded",
                "FailedGet",
                &console,
            )),
        ),
    ];
    // The canary is asked once a minute, and five failures in a row are one too many.
    if !world.params.nodes().is_empty() {
        next.push((
            (360, 480),
            What::Complains(Complaint::degraded("ingress", "", "IngressDegraded", &canary)),
        ));
    }
    next
}

/// A complaint, when it was made, and when its cause happened.
type Heard<'c> = (&'c Complaint, Timestamp, Timestamp);

/// By operator and level.
type Board<'c> = BTreeMap<(&'c str, Level), Vec<Heard<'c>>>;

pub(super) fn show(world: &World<'_>, happenings: &[Happening], script: &mut Script) {
    let mut said: Board<'_> = BTreeMap::new();
    for happening in happenings {
        if let What::Complains(complaint) = &happening.what {
            let cause =
                happening.causes.first().map_or(happening.at, |&cause| happenings[cause].at);
            said.entry((&complaint.operator, complaint.level)).or_default().push((
                complaint,
                happening.at,
                cause,
            ));
        }
    }
    for ((operator, level), complaints) in &said {
        report(world, happenings, (operator, *level), complaints, script);
    }
    version(world, happenings, &said, script);
}

fn report(
    world: &World<'_>,
    happenings: &[Happening],
    (operator, level): (&str, Level),
    complaints: &[Heard<'_>],
    script: &mut Script,
) {
    let (kind, status) = match level {
        Level::Degraded => ("Degraded", "True"),
        Level::Unavailable => ("Available", "False"),
        Level::Progressing => ("Progressing", "True"),
    };
    let mut since = complaints.iter().map(|(_, at, _)| *at).min().unwrap_or(world.now);
    let mut parts: BTreeMap<&str, (&str, Vec<String>)> = BTreeMap::new();
    for (complaint, _, cause) in complaints {
        let stamp = cause.strftime("%Y-%m-%d %H:%M:%S +0000 UTC").to_string();
        let mut text = complaint.message.replace("{since}", &stamp);
        text = text.replace("{change}", &cause.to_string());
        if text.contains("{lost}") || text.contains("{total}") {
            let workload = complaint.about.as_deref().unwrap_or_default();
            let (lost, total) = workloads::losses(world, happenings, workload);
            text = text.replace("{lost}", &lost.to_string()).replace("{total}", &total.to_string());
            text = text.replace("{ready}", &(total - lost).to_string());
        }
        let (_, texts) = parts.entry(&complaint.part).or_insert((&complaint.reason, Vec::new()));
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    let mut reasons = Vec::new();
    let mut messages = Vec::new();
    // What the fault's own evidence already says stays, and stands first.
    let before = world.said.get(&(operator.to_string(), kind.to_string()));
    if let Some(before) = before.filter(|before| before.status == status) {
        reasons.extend((!before.reason.is_empty()).then(|| before.reason.clone()));
        messages.extend((!before.message.is_empty()).then(|| before.message.clone()));
        since = before.since.map_or(since, |old| old.min(since));
    }
    for (part, (reason, texts)) in parts {
        let text = match part {
            "NodeControllerDegraded" => format!("The master nodes not ready: {}", texts.join(", ")),
            _ => texts.join("\n"),
        };
        match part.strip_suffix("Degraded").or(part.strip_suffix("Available")) {
            Some(controller) => {
                reasons.push(format!("{controller}_{reason}"));
                messages.extend(text.lines().map(|line| format!("{part}: {line}")));
                of_own_resource(operator, part, reason, &text, since, script);
            }
            None => {
                reasons.push(reason.to_string());
                messages.push(text);
            }
        }
    }
    let target = format!("ClusterOperator/{operator}");
    let text = (status, &*reasons.join("::"), &*messages.join("\n"));
    script.condition(&target, kind, text, since);
}

/// The same condition on the operator's own resource, where a gather holds it.
fn of_own_resource(
    operator: &str,
    part: &str,
    reason: &str,
    message: &str,
    since: Timestamp,
    script: &mut Script,
) {
    let target = match operator {
        "etcd" => "Etcd/cluster",
        "kube-apiserver" => "KubeAPIServer/cluster",
        "kube-controller-manager" => "KubeControllerManager/cluster",
        "kube-scheduler" => "KubeScheduler/cluster",
        _ => return,
    };
    let status = if part.ends_with("Degraded") { "True" } else { "False" };
    script.condition(target, part, (status, reason, message), since);
}

fn version(world: &World<'_>, happenings: &[Happening], said: &Board<'_>, script: &mut Script) {
    let version = &world.params.version;
    let named = |level: Level| -> Vec<&str> {
        said.keys().filter(|(_, of)| *of == level).map(|(operator, _)| *operator).collect()
    };
    let (unavailable, degraded) = (named(Level::Unavailable), named(Level::Degraded));
    let (operators, word, head) = match unavailable.is_empty() {
        false => (unavailable, "not available", "NotAvailable"),
        true => (degraded, "degraded", "Degraded"),
    };
    let (reason, text) = match operators[..] {
        [] => ("ClusterOperatorDegraded".to_string(), "Cluster operator is degraded".to_string()),
        [one] => (format!("ClusterOperator{head}"), format!("Cluster operator {one} is {word}")),
        _ => {
            let all = operators.join(", ");
            (format!("ClusterOperators{head}"), format!("Cluster operators {all} are {word}"))
        }
    };
    let lower = text.replacen("Cluster operator", "the cluster operator", 1);
    for Happening { what, at, .. } in happenings {
        match what {
            What::VersionFailing => {
                let target = "ClusterVersion/version";
                script.condition(target, "Failing", ("True", &reason, &text), *at);
                let message = format!("Error while reconciling {version}: {lower}");
                script.condition(target, "Progressing", ("False", &reason, &message), *at);
            }
            What::InstallStalled => {
                let target = "ClusterVersion/version";
                script.condition(target, "Failing", ("True", &reason, &text), *at);
                let message = format!("Unable to apply {version}: {lower}");
                script.condition(target, "Progressing", ("True", &reason, &message), *at);
            }
            _ => {}
        }
    }
}
