//! Facts → states: every rule on every entity of its kind, true, false or unknown.

use std::collections::{BTreeMap, BTreeSet, HashMap};

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
    /// Before its rule is asked.
    fn unknown(state: usize) -> Self {
        Self {
            state,
            truth: Truth::Unknown(String::new()),
            recovered: false,
            since: None,
            since_exact: true,
            weak: false,
            provable: true,
        }
    }

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
        .with_min_len(MIN_ENTITIES)
        .map_init(
            || Judge::new(pack, base),
            |judge, (id, entity)| {
                let rules = &by_kind[id.kind.as_str()];
                ((*id).clone(), judge.instances(rules, id, entity))
            },
        )
        .collect()
}

/// To make a judge costs as much as to judge so many.
const MIN_ENTITIES: usize = 64;

/// What a rule says depends on the facts that it reads, and most of a thousand hosts are alike in them:
/// what was said once is remembered.
struct Judge<'p> {
    pack: &'p Pack,
    shared: Context<'static>,
    /// By rule.
    said: Vec<Option<Said<'p>>>,
}

/// Of one rule.
struct Said<'p> {
    /// Nothing where any fact may decide.
    facts: Option<BTreeSet<&'p str>>,
    known: HashMap<Vec<u8>, Instance>,
}

/// Rules that say something else of each entity are not remembered without end.
const MAX_KNOWN: usize = 64;
const MAX_KEY: usize = 512;

impl<'p> Judge<'p> {
    fn new(pack: &'p Pack, base: &FactBase) -> Self {
        let said = pack.states.iter().map(|_| None).collect();
        Self { pack, shared: shared(base), said }
    }

    fn instances(&mut self, rules: &[usize], id: &EntityId, entity: &Entity) -> Vec<Instance> {
        let mut instances: Vec<Instance> = Vec::with_capacity(rules.len());
        // The place of each that has to be asked, and what it is remembered by.
        let mut open: Vec<(usize, Option<Vec<u8>>)> = Vec::new();
        let mut key = Vec::new();
        for index in rules {
            let rule = &self.pack.states[*index];
            if !rule.named.is_empty() && !rule.named.contains(&id.name) {
                continue;
            }
            let said = self.said[*index].get_or_insert_with(|| Said::of(rule));
            let has_key = said.write_key(&mut key, id, entity);
            if let Some(known) = said.known.get(&key).filter(|_| has_key) {
                instances.push(known.clone());
                continue;
            }
            open.push((instances.len(), has_key.then(|| key.clone())));
            instances.push(Instance::unknown(*index));
        }
        let facts = open.iter().map(|(at, _)| {
            self.said[instances[*at].state].as_ref().and_then(|said| said.facts.as_ref())
        });
        let mut scope = self.shared.new_inner_scope();
        if !open.is_empty() {
            let facts: Option<Vec<&BTreeSet<&str>>> = facts.collect();
            let facts = facts.map(|all| all.into_iter().flatten().copied().collect());
            scope.add_variable_from_value("self", bound_in(id, entity, facts.as_ref()));
        }
        for (at, key) in open {
            let index = instances[at].state;
            instances[at] = evaluate(index, &self.pack.states[index], &scope);
            if let (Some(key), Some(said)) = (key, &mut self.said[index])
                && said.known.len() < MAX_KNOWN
            {
                said.known.insert(key, instances[at].clone());
            }
        }
        instances
    }
}

impl<'p> Said<'p> {
    fn of(rule: &'p StateRule) -> Self {
        let parts = [Some(&rule.when), rule.proven.as_ref(), rule.recovered.as_ref()];
        let parts = parts.into_iter().chain([rule.since.as_ref()]).flatten();
        let facts: Option<Vec<_>> = parts.map(|part| part.facts_of("self")).collect();
        let facts = facts.map(|all| all.into_iter().flatten().collect());
        Self { facts, known: HashMap::new() }
    }

    /// Equal for entities of which the rule has to say the same. Whether there is one.
    fn write_key(&self, key: &mut Vec<u8>, id: &EntityId, entity: &Entity) -> bool {
        key.clear();
        let Some(facts) = &self.facts else { return false };
        for fact in facts {
            match (own_name(id, fact), entity.facts.get(*fact)) {
                (Some(name), _) => write_text(key, name),
                (None, Some(value)) => write_value(key, value),
                (None, None) => key.push(b'-'),
            }
            if key.len() > MAX_KEY {
                return false;
            }
        }
        true
    }
}

fn write_text(key: &mut Vec<u8>, text: &str) {
    key.push(b's');
    key.extend(text.len().to_le_bytes());
    // One byte more than fits is enough to be no key.
    key.extend(text.bytes().take(MAX_KEY + 1));
}

fn write_value(key: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => key.push(b'n'),
        Value::Bool(value) => key.push(if *value { b'y' } else { b'x' }),
        Value::Int(value) => write_number(key, b'i', value.to_le_bytes()),
        Value::UInt(value) => write_number(key, b'u', value.to_le_bytes()),
        Value::Float(value) => write_number(key, b'f', value.to_bits().to_le_bytes()),
        Value::Time(time) => write_number(key, b't', time.as_second().to_le_bytes()),
        Value::Text(text) => write_text(key, text),
        Value::List(items) => {
            write_number(key, b'l', (items.len() as u64).to_le_bytes());
            for item in items {
                if key.len() > MAX_KEY {
                    break;
                }
                write_value(key, item);
            }
        }
        Value::Map(map) => {
            write_number(key, b'm', (map.len() as u64).to_le_bytes());
            for (name, item) in map {
                if key.len() > MAX_KEY {
                    break;
                }
                write_text(key, name);
                write_value(key, item);
            }
        }
    }
}

fn write_number(key: &mut Vec<u8>, tag: u8, bytes: [u8; 8]) {
    key.push(tag);
    key.extend(bytes);
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
    bound_in(id, entity, None)
}

/// Only these of its facts.
fn bound_in(id: &EntityId, entity: &Entity, only: Option<&BTreeSet<&str>>) -> Cel {
    let is_read = |fact: &str| only.is_none_or(|only| only.contains(fact));
    let names = OWN_NAMES.into_iter().filter(|fact| is_read(fact));
    let names = names.filter_map(|fact| Some((fact, own_name(id, fact)?)));
    let facts = entity.facts.iter().filter(|(fact, _)| is_read(fact));
    facts_and_names_to_cel(facts, names)
}

const OWN_NAMES: [&str; 3] = ["name", "kind", "namespace"];

fn own_name<'i>(id: &'i EntityId, fact: &str) -> Option<&'i str> {
    match fact {
        "name" => Some(&id.name),
        "kind" => Some(&id.kind),
        "namespace" => id.namespace.as_deref(),
        _ => None,
    }
}

fn evaluate(index: usize, rule: &StateRule, scope: &Context<'_>) -> Instance {
    let truth = rule.when.truth(scope);
    let mut instance = Instance { truth, weak: rule.weak, ..Instance::unknown(index) };
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pack::PackFile;

    /// Rules that read a fact, a part of one, several, names, a list, and everything.
    const CASE: &str = "id: a\ntitle: A\nstates:\n\
        - {id: one, on: Node, summary: s, when: self.nameservers == 'False'}\n\
        - {id: part, on: Node, summary: s, when: \"self.ready.reason == 'KubeletNotReady'\"}\n\
        - {id: two, on: Node, summary: s, when: \"self.nameservers == 'False' && self.unschedulable\"}\n\
        - {id: own, on: Node, summary: s, when: \"self.name.endsWith('1') && self.kind == 'Node'\"}\n\
        - {id: list, on: Node, summary: s, when: \"self.addresses.exists(role, role == 'worker')\"}\n\
        - {id: begins, on: Node, summary: s, when: \"self.nameservers.startsWith('F')\"}\n\
        - {id: any, on: Node, summary: s, when: \"'ready' in self\"}\n\
        - {id: named, on: Node, named: [n2], summary: s, when: self.unschedulable}\n";

    fn value() -> impl Strategy<Value = Value> {
        let text = prop_oneof![Just("False"), Just("worker"), Just("KubeletNotReady"), Just("")];
        let plain = prop_oneof![
            any::<bool>().prop_map(Value::Bool),
            (0_i64..3).prop_map(Value::Int),
            (0_u64..3).prop_map(Value::UInt),
            text.prop_map(|text| Value::Text(text.into())),
            // Too long to be remembered by, and different at its end.
            (0..3).prop_map(|n| Value::Text(format!("F{}{n}", "x".repeat(MAX_KEY)))),
            Just(Value::Null),
        ];
        plain.prop_recursive(2, 8, 3, |inner| {
            let key = prop_oneof![Just("reason".to_string()), Just("other".to_string())];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::List),
                prop::collection::btree_map(key, inner, 0..3).prop_map(Value::Map),
            ]
        })
    }

    proptest! {
        /// What is remembered of one entity is never said of another that differs.
        #[test]
        fn entities_are_judged_as_if_each_were_alone(
            all in prop::collection::vec(
                prop::collection::btree_map(
                    prop_oneof![Just("ready"), Just("nameservers"), Just("unschedulable"), Just("addresses")],
                    value(),
                    0..4,
                ),
                1..120,
            )
        ) {
            let file = PackFile { path: "x/a/case.yaml".into(), text: CASE.into() };
            let pack = Pack::load_checks(&[file]).unwrap_or_else(|errors| panic!("{errors:?}"));
            let entity = |facts: &BTreeMap<&str, Value>| Entity {
                facts: facts.iter().map(|(name, value)| (name.to_string(), value.clone())).collect(),
                ..Entity::default()
            };
            let named = |n: usize| EntityId::cluster_scoped("Node", &format!("n{n}"));
            let mut together = FactBase::default();
            for (n, facts) in all.iter().enumerate() {
                together.entities.insert(named(n), entity(facts));
            }
            let together = run(&pack, &together);
            for (n, facts) in all.iter().enumerate() {
                let mut alone = FactBase::default();
                alone.entities.insert(named(n), entity(facts));
                let alone = run(&pack, &alone);
                prop_assert_eq!(format!("{:?}", alone[&named(n)]), format!("{:?}", together[&named(n)]));
            }
        }
    }
}
