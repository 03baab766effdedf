//! Explanation → the answer: names, words, proofs and verdict. Nothing is decided here that the
//! inference did not decide; this is where indices become text.

use std::collections::{BTreeMap, BTreeSet};

use kube_cel::cel::Context;
use plimsoll_causes::{self as causes, Explanation};
use plimsoll_model::diagnosis::{
    Alternative, Breaker, Check, Cluster, Confidence, Cost, Deadlock, Diagnosis, Edge, Repair,
    Root, RuledOut, SCHEMA, Source, State, StateRef, Status,
};
use plimsoll_model::snapshot::{Gap, GapStatus};
use plimsoll_model::{EntityId, FactBase, LogFile, LogOrigin, Snapshot, Value, clip, redact};

use crate::ground::Grounded;
use crate::pack::{Pack, Recovery, RepairRule, Role};
use crate::predicate::Truth;
use crate::rules::{Instance, Setting, States, bound, proof, shared};
use crate::summary;
use crate::suppress::{Suppression, accept};
use crate::verdict::{self, RootVerdict};

const MAX_CHECKS: usize = 8;
const MAX_RULED_OUT: usize = 20;

pub struct Inputs<'a> {
    pub pack: &'a Pack,
    pub snapshot: &'a Snapshot,
    pub base: &'a FactBase,
    pub states: &'a States,
    pub problems: Vec<(usize, Gap)>,
    pub grounded: Grounded<'a>,
    pub explanation: Explanation,
    pub suppressions: &'a [Suppression],
}

pub fn assemble(inputs: &Inputs<'_>) -> Diagnosis {
    let view = View::new(inputs);
    let sources = sources(inputs);
    let (states, edges) = (view.states(), view.edges());
    let (mut roots, verdicts) = view.roots();
    let known = |id: &str| inputs.pack.state(id).is_some();
    let explained = (states.as_slice(), edges.as_slice(), roots.as_slice());
    let accepted = accept(inputs.suppressions, inputs.base.now, explained, known);
    let judged = roots.iter().zip(verdicts).filter(|(root, _)| !accepted.drops(&root.state()));
    let verdicts: Vec<RootVerdict> = judged.map(|(_, verdict)| verdict).collect();
    roots.retain(|root| !accepted.drops(&root.state()));
    let mut unexplained = view.refs(&inputs.explanation.unexplained);
    unexplained.retain(|state| !accepted.covers(state));
    let mut deadlocks = view.deadlocks();
    deadlocks.retain(|ring| !ring.members.iter().all(|member| accepted.covers(member)));
    let mut alternatives = view.alternatives();
    alternatives.retain(|other| !accepted.drops(&other.instead_of));
    let mut next_checks = view.next_checks(&roots);
    next_checks.retain(|check| {
        !accepted.drops(&StateRef { id: check.id.clone(), entity: check.entity.clone() })
            && (check.separates.is_empty() || !check.separates.iter().all(|s| accepted.drops(s)))
    });
    let missing = missing_parts(inputs.base);
    let complete = sources.iter().all(|source| source.complete);
    let judged = verdict::judge(&roots, &verdicts, &unexplained, &deadlocks, &missing, complete);
    let known = accepted.suppressed.iter().filter(|s| s.status == Status::Active).count();
    let snapshot = inputs.snapshot;
    let is_empty =
        snapshot.documents.is_empty() && snapshot.logs.is_empty() && snapshot.files.is_empty();
    let judged = judged.beyond_accepted(known).of_what_was_read(is_empty);
    let mut diagnosis = Diagnosis {
        schema: SCHEMA.into(),
        generated_for: inputs.base.now,
        cluster: cluster(inputs.base),
        sources,
        verdict: judged.verdict,
        reason: judged.reason,
        costs: judged.costs,
        states,
        edges,
        // Where nothing is wrong, nothing needs ruling out.
        ruled_out: if roots.is_empty() && unexplained.is_empty() {
            Vec::new()
        } else {
            view.ruled_out()
        },
        alternatives,
        next_checks,
        roots,
        deadlocks,
        unexplained,
        suppressed: accepted.suppressed,
        notes: accepted.notes,
    };
    redact_all(&mut diagnosis);
    diagnosis
}

/// Messages of objects are quoted as they are; what looks like a secret goes no further than this.
fn redact_all(d: &mut Diagnosis) {
    let evidence = d.roots.iter_mut().flat_map(|root| &mut root.evidence);
    let evidence = evidence.chain(d.states.iter_mut().flat_map(|state| &mut state.evidence));
    let evidence = evidence.chain(d.ruled_out.iter_mut().flat_map(|out| &mut out.evidence));
    let evidence = evidence.chain(d.suppressed.iter_mut().flat_map(|state| &mut state.evidence));
    evidence.for_each(|at| at.text = clip(&redact(&at.text)));
    let summaries = d.roots.iter_mut().map(|root| &mut root.summary);
    let summaries = summaries.chain(d.states.iter_mut().map(|state| &mut state.summary));
    summaries.for_each(|text| *text = redact(text));
    let repairs = d.roots.iter_mut().flat_map(|root| &mut root.repairs);
    repairs.for_each(|repair| repair.summary = redact(&repair.summary));
    d.next_checks.iter_mut().for_each(|check| check.how = redact(&check.how));
    let breakers = d.deadlocks.iter_mut().flat_map(|deadlock| &mut deadlock.breakers);
    breakers.for_each(|breaker| breaker.action = redact(&breaker.action));
    d.sources.iter_mut().flat_map(|source| &mut source.gaps).for_each(|gap| *gap = redact(gap));
}

/// What "healthy" needs to have seen, and was not there.
fn missing_parts(base: &FactBase) -> Vec<&'static str> {
    let has = |kind: &str, fact: &str| {
        base.entities.iter().any(|(id, entity)| id.kind == kind && entity.facts.contains_key(fact))
    };
    let parts = [
        ("Cluster", "installed", "the ClusterVersion"),
        ("ClusterOperator", "available", "ClusterOperators"),
        ("Node", "controlPlane", "Nodes"),
        ("MachineConfigPool", "machines", "MachineConfigPools"),
    ];
    let time = lacks_time(base).then_some("its time (give it with --now to judge certificates)");
    let absent = parts.into_iter().filter(|(kind, fact, _)| !has(kind, fact));
    time.into_iter().chain(absent.map(|(_, _, name)| name)).collect()
}

/// Whether a certificate was read whose end cannot be judged.
fn lacks_time(base: &FactBase) -> bool {
    let ends = |fact: &Value| fact.get("notAfter").is_some();
    base.now.is_none()
        && base
            .entities
            .values()
            .any(|entity| entity.facts.contains_key("notAfter") || entity.facts.values().any(ends))
}

/// What was asked for and is nowhere in any source; said of the first.
fn not_collected(inputs: &Inputs<'_>) -> Vec<Gap> {
    let gap = |what: &str| Gap {
        status: GapStatus::NotCollected,
        what: what.into(),
        why: "not collected".into(),
    };
    let mut gaps: Vec<Gap> = missing_parts(inputs.base).into_iter().map(gap).collect();
    let of_kubelet =
        |log: &LogFile| matches!(&log.origin, LogOrigin::Unit { unit, .. } if unit == "kubelet");
    if !inputs.snapshot.logs.iter().any(of_kubelet) {
        gaps.push(gap("kubelet journals"));
    }
    if !inputs.snapshot.files.keys().any(|(_, path)| path.ends_with("etcd_info/member_list.json")) {
        gaps.push(gap("etcd's member list"));
    }
    let platform =
        inputs.base.entities.get(&EntityId::cluster()).and_then(|c| c.facts.get("platform"));
    let has_hosts = inputs.base.entities.keys().any(|id| id.kind == "BareMetalHost");
    if platform.and_then(Value::text) == Some("BareMetal") && !has_hosts {
        gaps.push(gap("BareMetalHosts"));
    }
    gaps
}

fn cluster(base: &FactBase) -> Cluster {
    let facts = base.entities.get(&EntityId::cluster()).map(|entity| &entity.facts);
    let fact = |name: &str| facts.and_then(|facts| facts.get(name));
    let text = |name: &str| fact(name).and_then(Value::text).map(str::to_string);
    let count = |name: &str| match fact(name) {
        Some(Value::Int(count)) => u64::try_from(*count).unwrap_or(0),
        _ => 0,
    };
    Cluster {
        version: text("version"),
        platform: text("platform"),
        topology: text("topology"),
        id: text("id"),
        control_plane_nodes: count("controlPlaneNodes"),
        worker_nodes: count("workers"),
    }
}

fn sources(inputs: &Inputs<'_>) -> Vec<Source> {
    let mut sources = Vec::new();
    for (index, source) in inputs.snapshot.sources.iter().enumerate() {
        let problems = inputs.problems.iter().filter(|(of, _)| *of == index).map(|(_, gap)| gap);
        let absent = if index == 0 { not_collected(inputs) } else { Vec::new() };
        let mut gaps: Vec<&Gap> = source.gaps.iter().chain(problems).chain(&absent).collect();
        gaps.sort();
        gaps.dedup();
        let cut = gaps.iter().any(|gap| gap.status != GapStatus::NotCollected);
        sources.push(Source {
            kind: source.kind.clone(),
            name: source.name.clone(),
            complete: source.complete && !cut,
            gaps: gaps.iter().map(|gap| format!("{}: {}", gap.what, gap.why)).collect(),
            files: source.files,
            bytes: source.bytes,
        });
    }
    sources
}

/// The graph with names. General states that a more exact one stands for are hidden, and their
/// consequences are shown as consequences of the exact one.
struct View<'a> {
    inputs: &'a Inputs<'a>,
    /// Hidden node → the nodes that stand for it.
    stands_for: BTreeMap<usize, Vec<usize>>,
    setting: Setting,
    context: Context<'static>,
}

impl<'a> View<'a> {
    fn new(inputs: &'a Inputs<'a>) -> Self {
        let mut stands_for: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let graph = &inputs.grounded.graph;
        for (link, rule) in graph.links.iter().zip(&inputs.grounded.rules) {
            let both = [link.cause, link.effect]
                .iter()
                .all(|node| graph.nodes[*node].observed == causes::Observed::True);
            if rule.is_none() && both {
                stands_for.entry(link.effect).or_default().push(link.cause);
            }
        }
        let setting = Setting::of(inputs.base);
        Self { inputs, stands_for, setting, context: shared(inputs.base) }
    }

    fn instance(&self, node: usize) -> (&'a EntityId, &'a Instance) {
        self.inputs.grounded.nodes[node]
    }

    fn name(&self, node: usize) -> StateRef {
        let (entity, instance) = self.instance(node);
        StateRef { id: self.inputs.pack.states[instance.state].id.clone(), entity: entity.clone() }
    }

    fn refs(&self, nodes: &[usize]) -> Vec<StateRef> {
        let shown: BTreeSet<usize> =
            nodes.iter().filter(|node| !self.stands_for.contains_key(node)).copied().collect();
        let mut refs: Vec<StateRef> = shown.into_iter().map(|node| self.name(node)).collect();
        refs.sort();
        refs.dedup();
        refs
    }

    fn proof(&self, node: usize) -> Vec<plimsoll_model::Evidence> {
        let (entity, instance) = self.instance(node);
        self.proof_of(entity, instance.state)
    }

    fn proof_of(&self, entity: &EntityId, state: usize) -> Vec<plimsoll_model::Evidence> {
        let entities = &self.inputs.base.entities;
        let cluster = entities.get(&EntityId::cluster());
        let when = &self.inputs.pack.states[state].when;
        entities.get(entity).map(|entity| proof(when, entity, cluster)).unwrap_or_default()
    }

    fn summary(&self, entity: &EntityId, state: usize) -> String {
        let facts = self.inputs.base.entities.get(entity);
        summary::fill(&self.inputs.pack.states[state].summary, entity, facts)
    }

    /// Which of a root's recoveries fits what is known.
    fn recovery(&self, node: usize) -> Option<&'a Recovery> {
        let (id, instance) = self.instance(node);
        let rule = &self.inputs.pack.states[instance.state];
        let mut scope = self.context.new_inner_scope();
        if let Some(entity) = self.inputs.base.entities.get(id) {
            scope.add_variable_from_value("self", bound(id, entity));
        }
        rule.recovery.iter().filter(|recovery| self.setting.allows(&recovery.applies)).find(
            |recovery| recovery.when.as_ref().is_none_or(|when| when.truth(&scope) == Truth::True),
        )
    }

    fn roots(&self) -> (Vec<Root>, Vec<RootVerdict>) {
        let mut found: Vec<(Root, RootVerdict)> = self
            .inputs
            .explanation
            .roots
            .iter()
            .map(|finding| {
                let (entity, instance) = self.instance(finding.node);
                let rule = &self.inputs.pack.states[instance.state];
                let recovery = self.recovery(finding.node);
                let repairs = recovery.map(|recovery| Repair {
                    id: recovery.repair.clone(),
                    summary: summary::fill(
                        &recovery.summary,
                        entity,
                        self.inputs.base.entities.get(entity),
                    ),
                    minutes: recovery.minutes,
                    blast: recovery.blast,
                    by: self.inputs.pack.repair(&recovery.repair).map(RepairRule::done_by),
                });
                let root = Root {
                    id: rule.id.clone(),
                    entity: entity.clone(),
                    confidence: match finding.confidence {
                        causes::Confidence::Confirmed => Confidence::Confirmed,
                        causes::Confidence::Probable => Confidence::Probable,
                        causes::Confidence::Suspected => Confidence::Suspected,
                    },
                    since: instance.since,
                    summary: self.summary(entity, instance.state),
                    explains: self.refs(&finding.explains),
                    evidence: self.proof(finding.node),
                    repairs: repairs.into_iter().collect(),
                    folklore: rule.folklore.clone(),
                    ties: self.refs(&finding.ties),
                };
                let verdict = RootVerdict {
                    verdict: recovery.map(|recovery| recovery.verdict),
                    minutes: recovery.and_then(|recovery| recovery.minutes),
                    reinstall_minutes: recovery.and_then(|recovery| recovery.reinstall_minutes),
                };
                (root, verdict)
            })
            .collect();
        // Widest cascade first, then the oldest: mending it mends most.
        found.sort_by(|(a, _), (b, _)| {
            let age = |root: &Root| root.since.map_or(i64::MAX, |time| time.as_second());
            (a.confidence, std::cmp::Reverse(a.explains.len()), age(a), &a.id, &a.entity).cmp(&(
                b.confidence,
                std::cmp::Reverse(b.explains.len()),
                age(b),
                &b.id,
                &b.entity,
            ))
        });
        found.into_iter().unzip()
    }

    fn states(&self) -> Vec<State> {
        let expected: BTreeSet<usize> = self.inputs.explanation.expected.iter().copied().collect();
        let assumed: BTreeSet<usize> = self.inputs.explanation.assumed.iter().copied().collect();
        let hidden_roots: BTreeSet<usize> =
            self.inputs.explanation.roots.iter().map(|root| root.node).collect();
        let mut status_of: BTreeMap<(usize, &EntityId), Status> = BTreeMap::new();
        for (node, (entity, instance)) in self.inputs.grounded.nodes.iter().enumerate() {
            if self.stands_for.contains_key(&node) {
                continue;
            }
            let role = self.inputs.pack.states[instance.state].role;
            let status = match instance.truth {
                _ if instance.recovered => continue,
                Truth::True if expected.contains(&node) || role == Role::Expected => {
                    Status::Expected
                }
                Truth::True => Status::Active,
                Truth::Unknown(_) if assumed.contains(&node) || hidden_roots.contains(&node) => {
                    Status::Unknown
                }
                _ => continue,
            };
            status_of.insert((instance.state, entity), status);
        }
        let mut states = Vec::new();
        for (entity, instances) in self.inputs.states {
            for instance in instances {
                let key = (instance.state, entity);
                let status = match (instance.recovered, status_of.get(&key)) {
                    (true, _) => Status::Recovered,
                    (false, Some(status)) => *status,
                    (false, None) => continue,
                };
                let rule = &self.inputs.pack.states[instance.state];
                states.push(State {
                    id: rule.id.clone(),
                    entity: entity.clone(),
                    status,
                    since: instance.since,
                    summary: self.summary(entity, instance.state),
                    evidence: self.proof_of(entity, instance.state),
                    note: rule.role == Role::Note,
                });
            }
        }
        states.sort_by(|a, b| (&a.id, &a.entity).cmp(&(&b.id, &b.entity)));
        states
    }

    fn edges(&self) -> Vec<Edge> {
        let graph = &self.inputs.grounded.graph;
        let told = &self.inputs.explanation;
        let mut used: BTreeSet<usize> =
            told.chain.iter().chain(&told.links_left).copied().collect();
        // The links that close a deadlock are part of the story too.
        for deadlock in &self.inputs.explanation.deadlocks {
            let members: BTreeSet<usize> = deadlock.members.iter().copied().collect();
            used.extend(graph.links.iter().enumerate().filter_map(|(index, link)| {
                (members.contains(&link.cause) && members.contains(&link.effect)).then_some(index)
            }));
        }
        let mut edges = Vec::new();
        for index in used {
            let link = &graph.links[index];
            let Some(rule) = self.inputs.grounded.rules[index] else { continue };
            let rule = &self.inputs.pack.causes[rule];
            let itself = [link.cause];
            let causes = self.stands_for.get(&link.cause).map_or(&itself[..], Vec::as_slice);
            for cause in causes {
                if self.stands_for.contains_key(&link.effect) || *cause == link.effect {
                    continue;
                }
                edges.push(Edge {
                    from: self.name(*cause),
                    to: self.name(link.effect),
                    rule: rule.id.clone(),
                    because: rule.because.clone(),
                });
            }
        }
        let rings: Vec<&Vec<usize>> =
            self.inputs.explanation.deadlocks.iter().map(|deadlock| &deadlock.members).collect();
        for ((holder, held), rule) in graph.holds.iter().zip(&self.inputs.grounded.hold_rules) {
            if rings.iter().any(|ring| ring.contains(holder) && ring.contains(held)) {
                let rule = &self.inputs.pack.causes[*rule];
                edges.push(Edge {
                    from: self.name(*holder),
                    to: self.name(*held),
                    rule: rule.id.clone(),
                    because: rule.because.clone(),
                });
            }
        }
        edges.sort_by(|a, b| (&a.from, &a.to, &a.rule).cmp(&(&b.from, &b.to, &b.rule)));
        edges.dedup();
        edges
    }

    fn deadlocks(&self) -> Vec<Deadlock> {
        let deadlocks = self.inputs.explanation.deadlocks.iter().map(|deadlock| {
            let members: Vec<usize> = deadlock
                .members
                .iter()
                .filter(|node| !self.stands_for.contains_key(node))
                .copied()
                .collect();
            let breakers = members.iter().flat_map(|node| {
                let (entity, instance) = self.instance(*node);
                let rules =
                    self.inputs.pack.breakers.iter().filter(|rule| rule.state == instance.state);
                rules.map(|rule| Breaker {
                    state: self.name(*node),
                    action: summary::fill(
                        &rule.action,
                        entity,
                        self.inputs.base.entities.get(entity),
                    ),
                })
            });
            Deadlock {
                breakers: breakers.collect(),
                members: members.iter().map(|node| self.name(*node)).collect(),
                entry: deadlock.entry.map(|node| self.name(node)),
            }
        });
        deadlocks.filter(|deadlock| deadlock.members.len() > 1).collect()
    }

    /// Whether every log that would show a state was read. What an object alone denies, a log that is
    /// not there might have told.
    fn was_looked_for(&self, node: usize) -> bool {
        let (entity, instance) = self.instance(node);
        let logs =
            self.inputs.base.entities.get(entity).and_then(|entity| entity.facts.get("logs"));
        let reads = self.inputs.pack.states[instance.state].when.reads_of("self");
        let mut signatures =
            reads.iter().filter_map(|path| path.strip_prefix("logs.")?.split('.').next());
        signatures.all(|id| logs.is_some_and(|logs| logs.get(id).is_some()))
    }

    fn ruled_out(&self) -> Vec<RuledOut> {
        let mut found: Vec<RuledOut> = self
            .inputs
            .explanation
            .ruled_out
            .iter()
            .filter(|ruled_out| self.was_looked_for(ruled_out.by))
            .map(|ruled_out| {
                let StateRef { id, entity } = self.name(ruled_out.node);
                let witness = self.name(ruled_out.by);
                let by = if ruled_out.node == ruled_out.by {
                    "looked for and not there".to_string()
                } else {
                    format!(
                        "it would have caused {} on {}, which is not there",
                        witness.id, witness.entity
                    )
                };
                let mut evidence = self.proof(ruled_out.by);
                evidence.truncate(2);
                RuledOut { id, entity, by, evidence }
            })
            .collect();
        found.sort_by(|a, b| (&a.id, &a.entity).cmp(&(&b.id, &b.entity)));
        found.truncate(MAX_RULED_OUT);
        found
    }

    fn alternatives(&self) -> Vec<Alternative> {
        let mut found: Vec<Alternative> = self
            .inputs
            .explanation
            .alternatives
            .iter()
            .map(|alternative| {
                let StateRef { id, entity } = self.name(alternative.node);
                Alternative {
                    id,
                    entity,
                    instead_of: self.name(alternative.instead_of),
                    tie: alternative.tie,
                    separated_by: self.refs(&alternative.separated_by),
                }
            })
            .collect();
        found.sort_by(|a, b| {
            (&a.instead_of, &a.id, &a.entity).cmp(&(&b.instead_of, &b.id, &b.entity))
        });
        found
    }

    /// Most information for its cost first. A probable or suspected root is always worth a look.
    fn next_checks(&self, roots: &[Root]) -> Vec<Check> {
        let mut scored: Vec<(f64, Check)> = Vec::new();
        let mut add = |node: usize, gain: f64, separates: Vec<StateRef>| {
            let (entity, instance) = self.instance(node);
            for rule in self.inputs.pack.checks.iter().filter(|rule| rule.state == instance.state) {
                let weight = match rule.cost {
                    Cost::Low => 1.0,
                    Cost::Medium => 3.0,
                    Cost::High => 10.0,
                };
                let StateRef { id, entity: name } = self.name(node);
                let how = summary::fill(&rule.how, entity, self.inputs.base.entities.get(entity));
                scored.push((
                    gain / weight,
                    Check { id, entity: name, how, cost: rule.cost, separates: separates.clone() },
                ));
            }
        };
        for check in &self.inputs.explanation.next_checks {
            add(check.node, check.gain, self.refs(&check.separates));
        }
        for finding in &self.inputs.explanation.roots {
            let name = self.name(finding.node);
            // What may stand behind a seen root is worth a look before it is mended.
            for doubt in &finding.doubts {
                add(*doubt, 0.4, vec![name.clone()]);
            }
            let unsure = roots.iter().any(|root| {
                root.id == name.id
                    && root.entity == name.entity
                    && root.confidence != Confidence::Confirmed
            });
            if unsure {
                add(finding.node, 0.5, vec![name]);
            }
        }
        // Nothing here explains it: its own check is where to go on.
        for symptom in &self.inputs.explanation.unexplained {
            add(*symptom, 0.2, vec![self.name(*symptom)]);
        }
        scored.sort_by(|(a, x), (b, y)| {
            b.total_cmp(a).then_with(|| (&x.id, &x.entity, &x.how).cmp(&(&y.id, &y.entity, &y.how)))
        });
        let mut seen = BTreeSet::new();
        let mut checks: Vec<Check> = scored
            .into_iter()
            .map(|(_, check)| check)
            .filter(|check| seen.insert((check.how.clone(), check.entity.clone())))
            .collect();
        checks.truncate(MAX_CHECKS);
        checks
    }
}
