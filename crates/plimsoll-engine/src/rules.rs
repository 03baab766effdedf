//! Facts → states: every rule on every entity of its kind, true, false or unknown.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;
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
    judged(pack, base, |_| true)
}

/// Without what is not there, which is nearly everything that a good config of a thousand hosts has.
pub fn run_without_false(pack: &Pack, base: &FactBase) -> States {
    let mut states = judged(pack, base, |instance| instance.truth != Truth::False);
    states.retain(|_, instances| !instances.is_empty());
    states
}

fn judged(pack: &Pack, base: &FactBase, keep: fn(&Instance) -> bool) -> States {
    let setting = Setting::of(base);
    let mut by_kind: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, state) in pack.states.iter().enumerate() {
        if setting.allows(&state.applies) {
            by_kind.entry(state.on.as_str()).or_default().push(index);
        }
    }
    let kinds: BTreeMap<&str, Kind<'_>> =
        by_kind.into_iter().map(|(kind, rules)| (kind, Kind::of(pack, &rules))).collect();
    let entities: Vec<(&EntityId, &Entity)> =
        base.entities.iter().filter(|(id, _)| kinds.contains_key(id.kind.as_str())).collect();
    entities
        .par_iter()
        .with_min_len(MIN_ENTITIES)
        .map_init(
            || Judge::new(pack, base, keep),
            |judge, (id, entity)| {
                ((*id).clone(), judge.instances(&kinds[id.kind.as_str()], id, entity))
            },
        )
        .collect()
}

/// To make a judge costs as much as to judge so many.
const MIN_ENTITIES: usize = 64;

/// The rules about one kind of thing.
struct Kind<'p> {
    rules: Vec<Asked>,
    /// What they read, in order.
    facts: Vec<&'p str>,
}

struct Asked {
    rule: usize,
    /// Places in the facts of its kind; nothing where any fact may decide.
    reads: Option<Vec<usize>>,
}

impl<'p> Kind<'p> {
    fn of(pack: &'p Pack, rules: &[usize]) -> Self {
        let reads: Vec<_> = rules.iter().map(|rule| facts_read(&pack.states[*rule])).collect();
        let facts: BTreeSet<&str> = reads.iter().flatten().flatten().copied().collect();
        let facts: Vec<&str> = facts.into_iter().collect();
        let places = |read: &BTreeSet<&str>| {
            read.iter().filter_map(|fact| facts.binary_search(fact).ok()).collect()
        };
        let rules = rules.iter().zip(&reads);
        let rules =
            rules.map(|(rule, read)| Asked { rule: *rule, reads: read.as_ref().map(places) });
        Self { rules: rules.collect(), facts }
    }

    /// Both sides are sorted, so that one walk finds all.
    fn write(&self, written: &mut Written, id: &EntityId, entity: &Entity) {
        written.clear();
        let mut known = entity.facts.iter().peekable();
        for fact in &self.facts {
            while known.next_if(|(name, _)| name.as_str() < *fact).is_some() {}
            let value = known.next_if(|(name, _)| name.as_str() == *fact);
            written.add(|bytes| match (own_name(id, fact), value) {
                (Some(name), _) => write_text(bytes, name),
                (None, Some((_, value))) => write_value(bytes, value),
                (None, None) => bytes.push(b'-'),
            });
        }
    }
}

/// Of each fact of a kind: equal bytes, equal value.
#[derive(Default)]
struct Written {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    one: Vec<u8>,
}

impl Written {
    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn add(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.one.clear();
        write(&mut self.one);
        self.bytes.extend_from_slice(&self.one);
        self.ends.push(self.bytes.len());
    }

    fn of(&self, place: usize) -> &[u8] {
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[place]]
    }
}

fn facts_read(rule: &StateRule) -> Option<BTreeSet<&str>> {
    let parts = [Some(&rule.when), rule.proven.as_ref(), rule.recovered.as_ref()];
    let parts = parts.into_iter().chain([rule.since.as_ref()]).flatten();
    let facts: Option<Vec<_>> = parts.map(|part| part.facts_of("self")).collect();
    facts.map(|all| all.into_iter().flatten().collect())
}

/// What a rule says depends on the facts that it reads, and most of a thousand hosts are alike in them:
/// what was said once is remembered.
struct Judge<'p> {
    pack: &'p Pack,
    shared: Context<'static>,
    keep: fn(&Instance) -> bool,
    written: Written,
    /// By rule, and by what is written of the facts that it reads.
    said: Vec<HashMap<Vec<u8>, Instance>>,
}

/// Rules that say something else of each entity are not remembered without end.
const MAX_KNOWN: usize = 64;
const MAX_KEY: usize = 512;

impl<'p> Judge<'p> {
    fn new(pack: &'p Pack, base: &FactBase, keep: fn(&Instance) -> bool) -> Self {
        let said = vec![HashMap::new(); pack.states.len()];
        Self { pack, shared: shared(base), keep, written: Written::default(), said }
    }

    fn instances(&mut self, kind: &Kind<'p>, id: &EntityId, entity: &Entity) -> Vec<Instance> {
        let mut instances: Vec<Instance> = Vec::new();
        // The place of each that has to be asked, and what it is remembered by.
        let mut open: Vec<(usize, &Asked, Option<Vec<u8>>)> = Vec::new();
        kind.write(&mut self.written, id, entity);
        let mut key = Vec::new();
        for asked in &kind.rules {
            let rule = &self.pack.states[asked.rule];
            if !rule.named.is_empty() && !rule.named.contains(&id.name) {
                continue;
            }
            let has_key = asked.write_key(&mut key, &self.written);
            if let Some(known) = self.said[asked.rule].get(&key).filter(|_| has_key) {
                if (self.keep)(known) {
                    instances.push(known.clone());
                }
                continue;
            }
            open.push((instances.len(), asked, has_key.then(|| key.clone())));
            instances.push(Instance::unknown(asked.rule));
        }
        if open.is_empty() {
            return instances;
        }
        let places: Option<Vec<&Vec<usize>>> =
            open.iter().map(|(_, asked, _)| asked.reads.as_ref()).collect();
        let facts = places.map(|all| all.into_iter().flatten().map(|at| kind.facts[*at]).collect());
        let mut scope = self.shared.new_inner_scope();
        scope.add_variable_from_value("self", bound_in(id, entity, facts.as_ref()));
        for (at, Asked { rule, .. }, key) in open {
            instances[at] = evaluate(*rule, &self.pack.states[*rule], &scope);
            if let Some(key) = key.filter(|_| self.said[*rule].len() < MAX_KNOWN) {
                self.said[*rule].insert(key, instances[at].clone());
            }
        }
        instances.retain(self.keep);
        instances
    }
}

impl Asked {
    /// Equal for entities of which the rule has to say the same. Whether there is one.
    fn write_key(&self, key: &mut Vec<u8>, written: &Written) -> bool {
        key.clear();
        let Some(reads) = &self.reads else { return false };
        for place in reads {
            key.extend_from_slice(written.of(*place));
        }
        key.len() <= MAX_KEY
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
