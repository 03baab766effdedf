//! States → a graph of propositions: what is true, and everything that could have made it so.
//!
//! The graph is grown from the true states upwards along the pack's causes. False states enter only
//! as witnesses (a cause that is not there, an effect that should be), unknown ones as long as they
//! may hide a cause. What nothing true hangs on stays out.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use kube_cel::cel::{Context, Value as Cel};
use plimsoll_causes::{self as causes, Graph, Link, Node, Observed, Strength};
use plimsoll_model::{EntityId, FactBase};

use crate::facts::Walk;
use crate::pack::{CauseRule, Pack, Role, Via};
use crate::predicate::Truth;
use crate::rules::{Instance, Setting, States, bound, shared};

/// Unknown states in one graph, so that a bare archive stays cheap.
const MAX_UNKNOWN: usize = 20_000;
/// Ends of a rule that joins every entity of two kinds. Beyond, one more says nothing new, and the
/// product of both would grow without bound.
const MAX_ANY: usize = 64;

pub struct Grounded<'a> {
    pub graph: Graph,
    /// Same order as `graph.nodes`.
    pub nodes: Vec<(&'a EntityId, &'a Instance)>,
    /// Rule of each link; `None` for the link from a state to the general one it refines.
    pub rules: Vec<Option<usize>>,
    /// Rule of each pair in `graph.holds`.
    pub hold_rules: Vec<usize>,
}

struct Grower<'a> {
    pack: &'a Pack,
    base: &'a FactBase,
    walk: Walk<'a>,
    setting: Setting,
    by_state: Vec<BTreeMap<&'a EntityId, &'a Instance>>,
    nodes: BTreeMap<(usize, &'a EntityId), &'a Instance>,
    links: BTreeSet<(usize, &'a EntityId, &'a EntityId)>,
    values: BTreeMap<&'a EntityId, Cel>,
    context: Context<'static>,
    unknown: usize,
}

pub fn ground<'a>(pack: &'a Pack, base: &'a FactBase, states: &'a States) -> Grounded<'a> {
    let mut by_state: Vec<Vec<(&EntityId, &Instance)>> = vec![Vec::new(); pack.states.len()];
    for (id, instances) in states {
        for instance in instances {
            by_state[instance.state].push((id, instance));
        }
    }
    // In order already, so that a map of it is made without a search for each.
    let by_state = by_state.into_iter().map(BTreeMap::from_iter).collect();
    let mut grower = Grower {
        pack,
        base,
        walk: Walk::new(base),
        setting: Setting::of(base),
        by_state,
        nodes: BTreeMap::new(),
        links: BTreeSet::new(),
        values: BTreeMap::new(),
        context: shared(base),
        unknown: 0,
    };
    grower.grow();
    grower.finish()
}

impl<'a> Grower<'a> {
    fn grow(&mut self) {
        let causes_of = index_by(self.pack, |rule| rule.to);
        let effects_of = index_by(self.pack, |rule| rule.from);
        let mut queue: VecDeque<(usize, &'a EntityId)> = VecDeque::new();
        for (state, instances) in self.by_state.iter().enumerate() {
            for (id, instance) in instances {
                if instance.is_active() {
                    self.nodes.insert((state, id), instance);
                    queue.push_back((state, id));
                }
            }
        }
        while let Some((state, id)) = queue.pop_front() {
            for rule in causes_of.get(&state).into_iter().flatten() {
                for cause in self.ends(*rule, id, true) {
                    self.connect(*rule, cause, id, &mut queue);
                }
            }
        }
        // Witnesses: what an active or possible cause should also have done.
        let roots: Vec<(usize, &'a EntityId)> = self
            .nodes
            .iter()
            .filter(|(_, instance)| !matches!(instance.truth, Truth::False))
            .map(|(key, _)| *key)
            .collect();
        for (state, id) in roots {
            for rule in effects_of.get(&state).into_iter().flatten() {
                // What is only kept in being need not be there at all.
                if self.pack.causes[*rule].keeps {
                    continue;
                }
                for effect in self.ends(*rule, id, false) {
                    let to = self.pack.causes[*rule].to;
                    let Some(instance) = self.by_state[to].get(effect).copied() else { continue };
                    if instance.truth == Truth::False
                        && self.guard(*rule, id, effect) == Truth::True
                    {
                        self.nodes.entry((to, effect)).or_insert(instance);
                        self.links.insert((*rule, id, effect));
                    }
                }
            }
        }
    }

    /// Adds the link from `cause` to `effect`, and asks on for what is behind `cause`.
    fn connect(
        &mut self,
        rule: usize,
        cause: &'a EntityId,
        effect: &'a EntityId,
        queue: &mut VecDeque<(usize, &'a EntityId)>,
    ) {
        let CauseRule { from, keeps, .. } = self.pack.causes[rule];
        let Some(instance) = self.by_state[from].get(cause).copied() else { return };
        // What is over does not cause what goes on.
        if instance.recovered
            || (keeps && !instance.is_active())
            || !self.holds(rule, cause, effect)
        {
            return;
        }
        let key = (from, cause);
        if !self.nodes.contains_key(&key) {
            if instance.truth != Truth::False {
                if self.unknown >= MAX_UNKNOWN {
                    return;
                }
                self.unknown += 1;
                queue.push_back(key);
            }
            self.nodes.insert(key, instance);
        }
        self.links.insert((rule, cause, effect));
    }

    /// The entities at the other end of a rule.
    fn ends(&self, rule: usize, id: &'a EntityId, to_cause: bool) -> Vec<&'a EntityId> {
        let rule = &self.pack.causes[rule];
        if !self.setting.allows(&rule.applies) {
            return Vec::new();
        }
        match &rule.via {
            Via::Same => vec![id],
            Via::Any => {
                let state = if to_cause { rule.from } else { rule.to };
                let all = &self.by_state[state];
                let told = |truth: bool| {
                    all.iter()
                        .filter(move |(_, i)| (i.truth == Truth::False) != truth)
                        .map(|(id, _)| *id)
                };
                // What is there or may be, then a few that are not, as witnesses.
                told(true).take(MAX_ANY).chain(told(false).take(MAX_ANY / 4)).collect()
            }
            Via::Path(path) => {
                let mut at: BTreeSet<&'a EntityId> = BTreeSet::from([id]);
                let steps: Vec<(&str, bool)> = if to_cause {
                    path.iter().rev().map(|(name, inverse)| (name.as_str(), !inverse)).collect()
                } else {
                    path.iter().map(|(name, inverse)| (name.as_str(), *inverse)).collect()
                };
                for (name, inverse) in steps {
                    at = at
                        .iter()
                        .flat_map(|id| self.walk.step(id, name, inverse))
                        .copied()
                        .collect();
                }
                at.into_iter().collect()
            }
        }
    }

    /// A link may hold unless its guard says no; a witness against a cause needs a guard that says yes.
    fn holds(&mut self, rule: usize, cause: &'a EntityId, effect: &'a EntityId) -> bool {
        self.guard(rule, cause, effect) != Truth::False
    }

    fn guard(&mut self, rule: usize, cause: &'a EntityId, effect: &'a EntityId) -> Truth {
        let Some(guard) = &self.pack.causes[rule].guard else { return Truth::True };
        for id in [cause, effect] {
            if let Some(entity) = self.base.entities.get(id) {
                self.values.entry(id).or_insert_with(|| bound(id, entity));
            }
        }
        let mut scope = self.context.new_inner_scope();
        for (name, id) in [("cause", cause), ("effect", effect)] {
            if let Some(value) = self.values.get(id) {
                scope.add_variable_from_value(name, value.clone());
            }
        }
        guard.truth(&scope)
    }

    fn finish(mut self) -> Grounded<'a> {
        // A state that refines a general one implies it on the same entity.
        let mut refinements = Vec::new();
        for (state, id) in self.nodes.keys() {
            if let Some(general) =
                self.pack.states[*state].refines.as_deref().and_then(|g| self.pack.state(g))
                && self.nodes.contains_key(&(general, *id))
            {
                refinements.push(((*state, *id), (general, *id)));
            }
        }
        let positions: BTreeMap<(usize, &EntityId), usize> =
            self.nodes.keys().enumerate().map(|(position, key)| (*key, position)).collect();
        let stood_for: BTreeSet<(usize, &EntityId)> = refinements
            .iter()
            .filter(|(special, _)| self.nodes[special].is_active())
            .map(|(_, general)| *general)
            .collect();
        let mut links = Vec::new();
        let mut rules = Vec::new();
        let mut holds = Vec::new();
        let mut hold_rules = Vec::new();
        for (rule, cause, effect) in &self.links {
            let found: &CauseRule = &self.pack.causes[*rule];
            if found.keeps {
                holds.push((positions[&(found.from, *cause)], positions[&(found.to, *effect)]));
                hold_rules.push(*rule);
                continue;
            }
            let mut effects = vec![(found.to, *effect)];
            // What is known more exactly is explained as that, or not at all. Planned work is
            // written against the general names and explains the exact ones with them.
            if stood_for.contains(&(found.to, *effect)) {
                let planned = self.pack.states[found.from].role == Role::Expected;
                effects = refinements
                    .iter()
                    .filter(|(special, general)| {
                        planned
                            && *general == (found.to, *effect)
                            && self.nodes[special].is_active()
                    })
                    .map(|(special, _)| *special)
                    .collect();
            }
            for effect in effects {
                links.push(Link {
                    cause: positions[&(found.from, *cause)],
                    effect: positions[&effect],
                    likelihood: found.likelihood,
                    delay_min: found.delay_min,
                    delay_max: found.delay_max,
                });
                rules.push(Some(*rule));
            }
        }
        for (special, general) in refinements {
            links.push(Link {
                cause: positions[&special],
                effect: positions[&general],
                likelihood: causes::Likelihood::Always,
                // Two detectors of one thing: their onsets say nothing about each other.
                delay_min: Some(i64::MIN / 4),
                delay_max: None,
            });
            rules.push(None);
        }
        let nodes: Vec<(&EntityId, &Instance)> = std::mem::take(&mut self.nodes)
            .into_iter()
            .map(|((_, id), instance)| (id, instance))
            .collect();
        let graph = Graph {
            nodes: nodes.iter().map(|(_, instance)| self.node(instance)).collect(),
            links,
            holds,
        };
        Grounded { graph, nodes, rules, hold_rules }
    }

    fn node(&self, instance: &Instance) -> Node {
        let rule = &self.pack.states[instance.state];
        Node {
            observed: match instance.truth {
                Truth::True => Observed::True,
                Truth::False => Observed::False,
                Truth::Unknown(_) => Observed::Unknown,
            },
            strength: if instance.weak { Strength::Weak } else { Strength::Strong },
            provable: instance.provable,
            root: rule.root,
            role: match rule.role {
                Role::Fault => causes::Role::Fault,
                Role::Expected => causes::Role::Expected,
                Role::Note => causes::Role::Note,
            },
            since: instance.since.map(|time| time.as_second()),
            since_exact: instance.since_exact,
        }
    }
}

fn index_by(pack: &Pack, end: impl Fn(&CauseRule) -> usize) -> BTreeMap<usize, Vec<usize>> {
    let mut index: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (position, rule) in pack.causes.iter().enumerate() {
        index.entry(end(rule)).or_default().push(position);
    }
    index
}
