//! What has to hold before anybody may call a cluster well, as far as one look tells. What cannot be told
//! does not hold.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_engine::facts::ALL_NAMESPACES;
use plimsoll_engine::pack::StateRule;
use plimsoll_engine::predicate::Truth;
use plimsoll_engine::rules::{self, Instance, Setting, States};
use plimsoll_engine::{Pack, Role, explain, summary};
use plimsoll_model::diagnosis::{Confidence, Status, Verdict};
use plimsoll_model::plan::Verification;
use plimsoll_model::verify::{Criterion, Met};
use plimsoll_model::{Diagnosis, Entity, EntityId, FactBase, Time, Value};

use crate::ago;
use crate::condition::fact;
use crate::resource::resource;

/// Within this time after an install everything has to have settled.
pub const GATE: jiff::SignedDuration = jiff::SignedDuration::from_hours(1);

/// What is asked for beyond the health of the cluster.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// States that must be gone.
    pub gone: BTreeSet<String>,
    /// On this entity, as it is shown; on every one where nothing is given.
    pub on: Option<String>,
    /// The gate of the first hour.
    pub after_install: bool,
}

/// The states that a name stands for, and what a person checks once they are repaired. `None` where the
/// packs do not know it.
pub fn after_repair(pack: &Pack, name: &str) -> Option<(BTreeSet<String>, Vec<Verification>)> {
    let case = explain::find(pack, name)?;
    let of_case = |id: &str| pack.cases[case].id == id;
    let states = pack.states.iter().filter(|state| state.case == case);
    // A state of that name alone, else all that the folder holds.
    let states: Vec<_> = states
        .filter(|state| state.id == name || of_case(name) || pack.state(name).is_none())
        .collect();
    let repairs: BTreeSet<&str> = states
        .iter()
        .flat_map(|state| &state.recovery)
        .map(|recovery| recovery.repair.as_str())
        .collect();
    let by_hand = repairs.iter().filter_map(|repair| pack.repair(repair));
    let by_hand = by_hand.flat_map(|repair| &repair.verify).map(|rule| Verification {
        run: rule.run.as_deref().map(summary::in_general),
        expect: summary::in_general(&rule.expect),
    });
    Some((states.iter().map(|state| state.id.clone()).collect(), by_hand.collect()))
}

/// Every criterion that one look can judge, sorted.
pub fn criteria(
    pack: &Pack,
    base: &FactBase,
    diagnosis: &Diagnosis,
    wanted: &Wanted,
) -> Vec<Criterion> {
    let mut found = Vec::new();
    operators(base, wanted.after_install, &mut found);
    nodes(base, &mut found);
    pools(base, &mut found);
    found.push(etcd(base));
    found.push(requests(base));
    cluster(base, &mut found);
    roots(diagnosis, &mut found);
    if !wanted.gone.is_empty() {
        let seen = Seen {
            pack,
            base,
            diagnosis,
            states: rules::run(pack, base),
            on: wanted.on.as_deref(),
        };
        found.extend(wanted.gone.iter().flat_map(|name| seen.gone(name)));
    }
    if wanted.after_install {
        found.extend(installed(base));
    }
    found.sort();
    found.dedup();
    found
}

/// Restarts of each static pod, with its making: one that was made anew counts from nothing.
pub type Restarts = BTreeMap<EntityId, (Option<Time>, i64)>;

pub fn restarts(base: &FactBase) -> Restarts {
    let of = |entity: &Entity| {
        let created = match entity.facts.get("created") {
            Some(Value::Time(time)) => Some(*time),
            _ => None,
        };
        match (entity.facts.get("mirror"), entity.facts.get("restarts")) {
            (Some(Value::Bool(true)), Some(Value::Int(count))) => Some((created, *count)),
            _ => None,
        }
    };
    let pods = base.entities.iter().filter(|(id, _)| id.kind == "Pod");
    pods.filter_map(|(id, entity)| Some((id.clone(), of(entity)?))).collect()
}

/// Whether the static pods of the beginning of a window ran through it.
pub fn steady(begin: &Restarts, now: &Restarts) -> Vec<Criterion> {
    let id = "static-pods-steady";
    if begin.is_empty() || now.is_empty() {
        return vec![one(id, EntityId::cluster(), Met::Unknown, "no static pods were seen")];
    }
    let of = |(pod, (made, count)): (&EntityId, &(Option<Time>, i64))| match now.get(pod) {
        None => one(id, pod.clone(), Met::No, "it was there when the window began"),
        Some((now_made, _)) if now_made != made => {
            one(id, pod.clone(), Met::No, "it was made anew in the window")
        }
        Some((_, now_count)) if now_count > count => {
            let says = format!("restarted {} times in the window", now_count - count);
            one(id, pod.clone(), Met::No, says)
        }
        Some(_) => one(id, pod.clone(), Met::Yes, "not restarted"),
    };
    begin.iter().map(of).collect()
}

fn one(id: &str, entity: EntityId, ok: Met, says: impl Into<String>) -> Criterion {
    Criterion { id: id.into(), entity, ok, says: says.into() }
}

/// A condition that has to have a status.
fn condition(
    id: &str,
    of: (&EntityId, &Entity),
    (name, shown): (&str, &str),
    wanted: &str,
) -> Criterion {
    let (entity, facts) = of;
    let text = |key: &str| {
        let said = facts.facts.get(name).and_then(|condition| condition.get(key));
        said.and_then(Value::text).unwrap_or_default()
    };
    match text("status") {
        "" => one(id, entity.clone(), Met::Unknown, format!("{shown} is not known")),
        status if status == wanted => {
            one(id, entity.clone(), Met::Yes, format!("{shown}={status}"))
        }
        status => {
            let said: Vec<&str> =
                [text("reason"), text("message")].into_iter().filter(|t| !t.is_empty()).collect();
            let says = format!("{shown}={status} {}", said.join(": "));
            one(id, entity.clone(), Met::No, plimsoll_model::clip(says.trim()))
        }
    }
}

/// Things of a kind, also those of which only others tell: what they are themselves is not known then. But
/// what a whole list of them does not have is not there.
fn of_kind<'b>(
    base: &'b FactBase,
    kind: &str,
    own_facts: &[&str],
) -> Vec<(&'b EntityId, &'b Entity)> {
    let listed = is_listed(base, kind);
    let is_there = |of: &Entity| own_facts.iter().any(|name| of.facts.contains_key(*name));
    let all = base.entities.iter().filter(|(id, _)| id.kind == kind);
    all.filter(|(_, of)| !listed || is_there(of)).collect()
}

/// Whether there is a list of all things of a kind, in all namespaces.
pub(crate) fn is_listed(base: &FactBase, kind: &str) -> bool {
    let Some(object) = resource(&EntityId::cluster_scoped(kind, "any")) else { return false };
    let list = fact(base, &EntityId::cluster(), &format!("lists.{}", object.plural));
    let is_all = |namespace: &Value| namespace.text() == Some(ALL_NAMESPACES);
    let whole = |namespaces: &Vec<Value>| namespaces.is_empty() || namespaces.iter().any(is_all);
    matches!(list, Some(Value::List(namespaces)) if whole(namespaces))
}

fn none_seen(id: &str, what: &str) -> Criterion {
    one(id, EntityId::cluster(), Met::Unknown, format!("no {what} was seen"))
}

fn operators(base: &FactBase, after_install: bool, found: &mut Vec<Criterion>) {
    let own_facts = ["available", "progressing", "degraded", "created"];
    let all = of_kind(base, "ClusterOperator", &own_facts);
    if all.is_empty() {
        found.push(none_seen("operator-available", "ClusterOperator"));
    }
    for of in all {
        found.push(condition("operator-available", of, ("available", "Available"), "True"));
        found.push(condition("operator-settled", of, ("progressing", "Progressing"), "False"));
        let mut degraded =
            condition("operator-not-degraded", of, ("degraded", "Degraded"), "False");
        if after_install && degraded.ok == Met::No {
            degraded
                .says
                .push_str(" (the installer does not wait for this, and it does not mend itself)");
        }
        found.push(degraded);
    }
}

fn nodes(base: &FactBase, found: &mut Vec<Criterion>) {
    let all = of_kind(base, "Node", &["ready", "controlPlane"]);
    if all.is_empty() {
        found.push(none_seen("node-ready", "Node"));
    }
    found.extend(all.into_iter().map(|of| condition("node-ready", of, ("ready", "Ready"), "True")));
}

fn pools(base: &FactBase, found: &mut Vec<Criterion>) {
    let all = of_kind(base, "MachineConfigPool", &["updated", "degraded", "paused"]);
    if all.is_empty() {
        found.push(none_seen("pool-updated", "MachineConfigPool"));
    }
    for of in all {
        found.push(condition("pool-updated", of, ("updated", "Updated"), "True"));
        found.push(condition("pool-not-degraded", of, ("degraded", "Degraded"), "False"));
    }
}

/// By etcd's own list where somebody asked etcd, else by what its operator says.
fn etcd(base: &FactBase) -> Criterion {
    let id = "etcd-members";
    let cluster = EntityId::cluster();
    let number = |name: &str| match fact(base, &cluster, name) {
        Some(Value::Int(number)) => Some(*number),
        _ => None,
    };
    let masters = number("controlPlaneNodes").filter(|masters| *masters > 0);
    if let (Some(members), Some(healthy)) = (number("etcdMembers"), number("etcdHealthy")) {
        let wanted = masters.unwrap_or(members);
        let alarms = number("etcdAlarms").unwrap_or(0);
        let says = format!(
            "{members} members listed, {healthy} endpoints healthy, {alarms} alarms, {wanted} control-plane nodes"
        );
        let met = members == healthy && members == wanted && alarms == 0;
        return one(id, cluster, if met { Met::Yes } else { Met::No }, says);
    }
    let operator = EntityId::cluster_scoped("ClusterOperator", "etcd");
    let said = |kind: &str, key: &str| {
        let path = format!("details.{kind}.{key}");
        fact(base, &operator, &path).and_then(Value::text).unwrap_or_default().to_string()
    };
    let available = said("EtcdMembersAvailable", "status");
    let degraded = said("EtcdMembersDegraded", "status");
    match (available.as_str(), degraded.as_str()) {
        ("True", "False") => {
            let says = said("EtcdMembersAvailable", "message");
            let says = if says.is_empty() { "all members are available".into() } else { says };
            one(id, operator, Met::Yes, says)
        }
        ("", _) | (_, "") => {
            one(id, operator, Met::Unknown, "neither etcd nor its operator tells of the members")
        }
        ("True", _) => one(id, operator.clone(), Met::No, said("EtcdMembersDegraded", "message")),
        _ => one(id, operator.clone(), Met::No, said("EtcdMembersAvailable", "message")),
    }
}

fn requests(base: &FactBase) -> Criterion {
    let id = "no-pending-requests";
    let cluster = EntityId::cluster();
    match fact(base, &cluster, "pendingRequests") {
        Some(Value::Int(0)) => one(id, cluster, Met::Yes, "no kubelet waits for a certificate"),
        Some(Value::Int(count)) => {
            let says = format!("{count} requests of kubelets wait: plimsoll csr judges them");
            one(id, cluster, Met::No, says)
        }
        _ => one(id, cluster, Met::Unknown, "signing requests were not listed"),
    }
}

fn cluster(base: &FactBase, found: &mut Vec<Criterion>) {
    let id = EntityId::cluster();
    let nothing = Entity::default();
    let of = (&id, base.entities.get(&id).unwrap_or(&nothing));
    found.push(condition("cluster-available", of, ("available", "Available"), "True"));
    found.push(condition("cluster-not-failing", of, ("failing", "Failing"), "False"));
    found.push(condition("cluster-settled", of, ("progressing", "Progressing"), "False"));
}

fn roots(diagnosis: &Diagnosis, found: &mut Vec<Criterion>) {
    let id = "no-root-cause";
    for root in &diagnosis.roots {
        // What is only suspected was not seen, and is not ruled out either.
        let ok = match root.confidence {
            Confidence::Suspected => Met::Unknown,
            _ => Met::No,
        };
        found.push(one(id, root.entity.clone(), ok, format!("{}: {}", root.id, root.summary)));
    }
    if diagnosis.roots.is_empty() {
        let ok = match diagnosis.verdict {
            Verdict::Healthy => Met::Yes,
            Verdict::NotProvable => Met::Unknown,
            _ => Met::No,
        };
        found.push(one(id, EntityId::cluster(), ok, diagnosis.reason.clone()));
    }
}

/// What tells of a state: its rule, asked of everything that it may be on. A diagnosis leaves out what it
/// could not tell, so that its silence proves nothing.
struct Seen<'s> {
    pack: &'s Pack,
    base: &'s FactBase,
    diagnosis: &'s Diagnosis,
    states: States,
    on: Option<&'s str>,
}

const GONE: &str = "state-gone";

fn not_provable(name: &str, entity: EntityId) -> Criterion {
    let says = format!("whether {name} is gone is not provable from this data");
    one(GONE, entity, Met::Unknown, says)
}

impl Seen<'_> {
    fn gone(&self, name: &str) -> Vec<Criterion> {
        let named = self.pack.states_named(name);
        if named.is_empty() {
            return vec![not_provable(name, EntityId::cluster())];
        }
        // Planned work and what is only noted is no failure.
        let faults: Vec<usize> =
            named.filter(|index| self.pack.states[*index].role == Role::Fault).collect();
        if faults.is_empty() {
            return Vec::new();
        }
        let left: Vec<Criterion> = faults.into_iter().flat_map(|index| self.left(index)).collect();
        match left.is_empty() {
            true => vec![one(GONE, EntityId::cluster(), Met::Yes, format!("{name} is gone"))],
            false => left,
        }
    }

    /// Where one rule is true, or nobody knows.
    fn left(&self, index: usize) -> Vec<Criterion> {
        let rule = &self.pack.states[index];
        if !Setting::of(self.base).allows(&rule.applies) {
            return Vec::new();
        }
        let mut asked = false;
        let mut left = Vec::new();
        let is_meant = |entity: &EntityId| self.on.is_none_or(|on| entity.to_string() == on);
        for (entity, instances) in self.states.iter().filter(|(entity, _)| is_meant(entity)) {
            for instance in instances.iter().filter(|instance| instance.state == index) {
                asked = true;
                left.extend(self.left_on(entity, rule, instance));
            }
        }
        if !asked && !is_listed(self.base, &rule.on) {
            left.push(not_provable(&rule.id, EntityId::cluster()));
        }
        left
    }

    fn left_on(
        &self,
        entity: &EntityId,
        rule: &StateRule,
        instance: &Instance,
    ) -> Option<Criterion> {
        match &instance.truth {
            _ if instance.recovered => None,
            Truth::False => None,
            Truth::True if self.is_expected(entity, &rule.id) => None,
            Truth::True => {
                let facts = self.base.entities.get(entity);
                let summary = plimsoll_model::redact(&summary::fill(&rule.summary, entity, facts));
                let says = format!("{} is still there: {summary}", rule.id);
                Some(one(GONE, entity.clone(), Met::No, says))
            }
            Truth::Unknown(_) => Some(not_provable(&rule.id, entity.clone())),
        }
    }

    /// It follows from planned work.
    fn is_expected(&self, entity: &EntityId, name: &str) -> bool {
        self.diagnosis.states.iter().any(|state| {
            state.status == Status::Expected && state.id == name && state.entity == *entity
        })
    }
}

/// The gate of the first hour: what is not well by then does not become so by waiting.
fn installed(base: &FactBase) -> Option<Criterion> {
    let id = "install-complete";
    let cluster = EntityId::cluster();
    let ended = match fact(base, &cluster, "installEnded") {
        Some(Value::Time(ended)) => *ended,
        _ => {
            let ok = match fact(base, &cluster, "installed") {
                Some(Value::Bool(false)) => Met::No,
                _ => Met::Unknown,
            };
            return Some(one(id, cluster, ok, "no version was completed yet, as far as is known"));
        }
    };
    let ago = base.now.map(|now| format!("{} ago", ago::long(now.duration_since(ended))));
    let ago = ago.unwrap_or_else(|| "at a time unknown".into());
    Some(one(id, cluster, Met::Yes, format!("the install was complete at {ended}, {ago}")))
}

/// How long ago an install has to have settled, or how long it still may take.
pub fn gate(base: &FactBase) -> Option<String> {
    let Some(Value::Time(ended)) = fact(base, &EntityId::cluster(), "installEnded") else {
        return None;
    };
    let left = GATE - base.now?.duration_since(*ended);
    let time = ago::long(left.abs());
    Some(match left.is_positive() {
        true => format!("the first hour ends in {time}: what is not well by then needs a look"),
        false => format!("the first hour ended {time} ago: what is not well needs a look now"),
    })
}

#[cfg(test)]
mod tests;
