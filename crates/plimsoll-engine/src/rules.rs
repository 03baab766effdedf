//! Facts → states: every rule on every entity of its kind, true, false or unknown.

use std::collections::BTreeMap;

use kube_cel::cel::{Context, Value as Cel};
use plimsoll_model::{Entity, EntityId, Evidence, FactBase, Time, Value};
use rayon::prelude::*;

use crate::pack::{Applies, Pack, StateRule};
use crate::predicate::{Predicate, Truth, facts_and_names_to_cel, facts_to_cel, root_context};

/// Proofs quoted for one state; the rest is in the same files.
const MAX_EVIDENCE: usize = 8;

/// One state of one entity.
#[derive(Clone, Debug)]
pub struct Instance {
    pub state: usize,
    pub truth: Truth,
    /// It was true and is over.
    pub recovered: bool,
    pub since: Option<Time>,
    /// False: it may have begun before `since`.
    pub since_exact: bool,
    /// The sign is weak: by its rule, or because its time could not be told.
    pub weak: bool,
    /// The data would show what could have caused it.
    pub provable: bool,
}

impl Instance {
    pub fn is_active(&self) -> bool {
        self.truth == Truth::True && !self.recovered
    }
}

/// Everything known of the cluster that decides where a rule applies.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    pub minor: Option<i64>,
    pub platform: Option<String>,
    pub topology: Option<String>,
}

impl Setting {
    pub fn of(base: &FactBase) -> Self {
        let cluster = base.entities.get(&EntityId::cluster());
        let fact = |name: &str| cluster.and_then(|cluster| cluster.facts.get(name));
        let text = |name: &str| fact(name).and_then(Value::text).map(str::to_string);
        let minor = match fact("minor") {
            Some(Value::Int(minor)) => Some(*minor),
            _ => None,
        };
        Self { minor, platform: text("platform"), topology: text("topology") }
    }

    /// Whether a rule is meant for such a cluster.
    pub fn allows(&self, applies: &Applies) -> bool {
        applies.to(self.minor, self.platform.as_deref(), self.topology.as_deref())
    }
}

/// States of every entity, in the pack's order.
pub type States = BTreeMap<EntityId, Vec<Instance>>;

pub fn run(pack: &Pack, base: &FactBase) -> States {
    let setting = Setting::of(base);
    let mut by_kind: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, state) in pack.states.iter().enumerate() {
        if setting.allows(&state.applies) {
            by_kind.entry(state.on.as_str()).or_default().push(index);
        }
    }
    let entities: Vec<(&EntityId, &Entity)> =
        base.entities.iter().filter(|(id, _)| by_kind.contains_key(id.kind.as_str())).collect();
    entities
        .par_iter()
        .map_init(
            || shared(base),
            |shared, (id, entity)| {
                let mut scope = shared.new_inner_scope();
                scope.add_variable_from_value("self", bound(id, entity));
                let rules =
                    by_kind[id.kind.as_str()].iter().map(|index| (*index, &pack.states[*index]));
                let meant = rules
                    .filter(|(_, rule)| rule.named.is_empty() || rule.named.contains(&id.name));
                let instances = meant.map(|(index, rule)| evaluate(index, rule, &scope)).collect();
                ((*id).clone(), instances)
            },
        )
        .collect()
}

/// A context with what every predicate may read: `now` and `cluster`.
pub fn shared(base: &FactBase) -> Context<'static> {
    let mut context = root_context();
    let id = EntityId::cluster();
    let cluster = base.entities.get(&id).map(|cluster| bound(&id, cluster));
    context.add_variable_from_value(
        "cluster",
        cluster.unwrap_or_else(|| facts_to_cel(&BTreeMap::new())),
    );
    if let Some(now) = base.now {
        context.add_variable_from_value("now", Cel::Int(now.as_second()));
    }
    context
}

/// An entity's facts with its own name among them.
pub fn bound(id: &EntityId, entity: &Entity) -> Cel {
    let own =
        [("name", Some(&id.name)), ("kind", Some(&id.kind)), ("namespace", id.namespace.as_ref())];
    let own = own.into_iter().filter_map(|(key, value)| Some((key, value?.as_str())));
    facts_and_names_to_cel(&entity.facts, own)
}

fn evaluate(index: usize, rule: &StateRule, scope: &Context<'_>) -> Instance {
    let truth = rule.when.truth(scope);
    let mut instance = Instance {
        state: index,
        recovered: false,
        since: None,
        since_exact: true,
        weak: rule.weak,
        provable: true,
        truth,
    };
    if instance.truth != Truth::True {
        return instance;
    }
    instance.provable =
        rule.proven.as_ref().is_none_or(|proven| proven.truth(scope) == Truth::True);
    if let Some(recovered) = &rule.recovered {
        match recovered.truth(scope) {
            Truth::True => instance.recovered = true,
            Truth::False => {}
            // Seen, but not known to be still there.
            Truth::Unknown(_) => instance.weak = true,
        }
    }
    if let Some(since) = &rule.since {
        instance.since = since.seconds(scope).and_then(|seconds| Time::from_second(seconds).ok());
        // A log is a sample: what it shows first began then or before.
        instance.since_exact = !since.reads_of("self").iter().any(|path| path.starts_with("logs."));
    }
    instance
}

/// Where the facts that a predicate read are written down: those of the entity itself, and for want
/// of any, those of the cluster.
pub fn proof(predicate: &Predicate, entity: &Entity, cluster: Option<&Entity>) -> Vec<Evidence> {
    let mut found = cited(predicate.reads_of("self"), entity);
    if let (true, Some(cluster)) = (found.is_empty(), cluster) {
        found = cited(predicate.reads_of("cluster"), cluster);
    }
    // Log lines say most, then what carries a time; a bare field last.
    found.sort_by_key(|at| (at.pointer.is_some(), at.time.is_none()));
    found.truncate(MAX_EVIDENCE);
    found
}

fn cited<'p>(reads: impl IntoIterator<Item = &'p str>, entity: &Entity) -> Vec<Evidence> {
    let mut found: Vec<Evidence> = Vec::new();
    for path in reads {
        let mut prefix = path;
        loop {
            if let Some(evidence) = entity.provenance.get(prefix) {
                found.extend(
                    evidence.iter().filter(|at| !found.contains(at)).cloned().collect::<Vec<_>>(),
                );
                break;
            }
            match prefix.rsplit_once('.') {
                Some((shorter, _)) => prefix = shorter,
                None => break,
            }
        }
    }
    found
}
