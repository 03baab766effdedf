//! A plan with a step of every kind, and a cluster that is sick until all of it is done.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_act::{Consent, Look, Pace, Pretend, Standing, Target, World};
use plimsoll_model::diagnosis::{Confidence, Diagnosis, Root, State, StateRef, Status, Verdict};
use plimsoll_model::plan::{
    Action, Content, Object, PLAN_SCHEMA, Plan, Power, Reason, Rehearsal, Step, Target as Where,
    Undo, UnitVerb,
};
use plimsoll_model::{EntityId, Evidence, FactBase, Value as Fact};
use plimsoll_repair::{Observed, exact};
use serde_json::{Value, json};

/// Sick until every step is done; or sicker, when it is told to be.
pub struct Body<'a> {
    pub pretend: &'a Pretend,
    pub plan: &'a Plan,
    pub gets_worse: bool,
}

/// Cluster that plans of this test are for.
pub const CLUSTER: &str = "1b7c7a2e-0000-4000-8000-000000000001";

impl Body<'_> {
    pub fn is_done(&self) -> bool {
        let done =
            |step: &Step| self.pretend.look(step).is_ok_and(|s| s.standing == Standing::Done);
        self.plan.steps.iter().all(done)
    }
}

impl World for Body<'_> {
    fn look(&self) -> Result<Look, String> {
        let mut roots = Vec::new();
        let done = self.is_done();
        if !done {
            roots.push(root());
        }
        if done && self.gets_worse {
            let entity = EntityId::cluster_scoped("Node", "worker-2");
            roots.push(StateRef { id: "new-trouble".into(), entity });
        }
        Ok(Look { base: base(), diagnosis: diagnosis(&roots, &[]) })
    }

    fn glance(&self) -> Result<FactBase, String> {
        Ok(base())
    }

    fn would_show(&self, _: &FactBase, _: &StateRef) -> bool {
        true
    }
}

pub struct Yes;

impl Consent for Yes {
    fn is_there(&self) -> bool {
        true
    }
    fn names(&self, _: &Step, _: &str) -> bool {
        true
    }
    fn did(&self, _: &Step) -> bool {
        true
    }
    fn hears(&self, _: &str) {}
    fn wants_to_stop(&self) -> bool {
        false
    }
}

pub fn root() -> StateRef {
    StateRef { id: "thing-broken".into(), entity: EntityId::cluster_scoped("Node", "worker-1") }
}

/// With these roots, and these states beside them.
pub fn diagnosis(roots: &[StateRef], beside: &[StateRef]) -> Diagnosis {
    let one = |state: &StateRef| Root {
        id: state.id.clone(),
        entity: state.entity.clone(),
        confidence: Confidence::Confirmed,
        since: None,
        summary: String::new(),
        explains: Vec::new(),
        evidence: Vec::new(),
        repairs: Vec::new(),
        folklore: Vec::new(),
        ties: Vec::new(),
    };
    let active = |state: &StateRef| State {
        id: state.id.clone(),
        entity: state.entity.clone(),
        status: Status::Active,
        since: None,
        summary: String::new(),
        evidence: Vec::new(),
        note: false,
    };
    Diagnosis {
        schema: String::new(),
        generated_for: None,
        cluster: Default::default(),
        sources: Vec::new(),
        verdict: if roots.is_empty() { Verdict::Healthy } else { Verdict::Recoverable },
        reason: String::new(),
        costs: None,
        roots: roots.iter().map(one).collect(),
        states: roots.iter().chain(beside).map(active).collect(),
        edges: Vec::new(),
        deadlocks: Vec::new(),
        unexplained: Vec::new(),
        ruled_out: Vec::new(),
        alternatives: Vec::new(),
        next_checks: Vec::new(),
        suppressed: Vec::new(),
        notes: Vec::new(),
    }
}

/// A cluster in which no guard has anything against the plan.
pub fn base() -> FactBase {
    let mut base = FactBase::default();
    let mut set = |kind: &str, name: &str, fact: &str, value: Fact| {
        let id = match kind {
            "Cluster" => EntityId::cluster(),
            kind => EntityId::cluster_scoped(kind, name),
        };
        base.entities.entry(id).or_default().facts.insert(fact.into(), value);
    };
    let whole = |plural: &str| (plural.to_string(), Fact::List(Vec::new()));
    let lists = ["nodes", "baremetalhosts", "machineconfigpools", "clusteroperators"].map(whole);
    set("Cluster", "", "lists", Fact::Map(lists.into()));
    set("Cluster", "", "id", CLUSTER.into());
    set("Cluster", "", "updating", false.into());
    for operator in ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"] {
        let settled = Fact::Map([("status".to_string(), "False".into())].into());
        set("ClusterOperator", operator, "progressing", settled);
    }
    let at = Evidence {
        source: String::new(),
        path: String::new(),
        line: None,
        pointer: None,
        time: None,
        text: String::new(),
    };
    for node in ["worker-1", "worker-2"] {
        let entity = base.entities.entry(EntityId::cluster_scoped("Node", node)).or_default();
        entity.set("controlPlane", false, at.clone());
        let ready = Fact::Map([("status".to_string(), "True".into())].into());
        entity.facts.insert("ready".into(), ready);
    }
    base
}

fn object(kind: &str, name: &str) -> Object {
    plimsoll_repair::resource(&EntityId::cluster_scoped(kind, name)).unwrap()
}

fn step(action: Action, target: Where, undo: Undo) -> Step {
    Step {
        number: 0,
        title: "a step".into(),
        action,
        target,
        diff: Vec::new(),
        require: Vec::new(),
        unless: Vec::new(),
        expect: Vec::new(),
        undo,
        blast: 1,
        permissions: Vec::new(),
        minutes: None,
        commands: Vec::new(),
        rehearsal: Rehearsal::Server,
    }
}

/// One step of every kind.
pub fn plan() -> Plan {
    let node = || Where::Node { name: "worker-1".into() };
    let patch = Action::Patch {
        subresource: None,
        operations: vec![json!({"op": "add", "path": "/spec/paused", "value": true})],
    };
    let pool = Where::Api(object("MachineConfigPool", "worker"));
    let content = || Content::Maker {
        maker: "machine-config-of-node".into(),
        inputs: json!({"node": "worker-1", "pool": "worker"}),
    };
    let path = "/etc/kubernetes/kubeconfig".to_string();
    let made = Content::Maker { maker: "bootstrap-kubeconfig".into(), inputs: json!({}) };
    let mut steps = vec![
        step(patch, pool, Undo::Patch { operations: Vec::new() }),
        step(
            Action::Create { content: content() },
            Where::Api(object("MachineConfig", "rendered-worker-1")),
            Undo::Delete,
        ),
        step(Action::WriteFile { path, mode: 0o600, content: made }, node(), Undo::Restore),
        step(
            Action::Retire { paths: vec!["/var/lib/kubelet/kubeconfig".into()] },
            node(),
            Undo::Restore,
        ),
        step(Action::Unit { unit: "kubelet".into(), verb: UnitVerb::Stop }, node(), Undo::Reverse),
        step(Action::Delete, Where::Api(object("CertificateSigningRequest", "old")), Undo::Restore),
        step(
            Action::Power { to: Power::On },
            Where::Bmc { host: "worker-1".into(), serial: None },
            Undo::Reverse,
        ),
    ];
    for (number, step) in (1..).zip(&mut steps) {
        step.number = number;
    }
    let plan = Plan {
        schema: PLAN_SCHEMA.into(),
        digest: String::new(),
        made_for: None,
        cluster: plimsoll_model::diagnosis::Cluster {
            id: Some(CLUSTER.into()),
            ..Default::default()
        },
        root: root(),
        confidence: Confidence::Confirmed,
        repair: "test".into(),
        title: "test".into(),
        answers: BTreeMap::new(),
        reason: Reason { summary: String::new(), explains: Vec::new(), evidence: Vec::new() },
        roots: vec![root()],
        minutes: None,
        blast: 1,
        during_rollout: false,
        break_glass_minutes: None,
        steps,
        none: None,
        hindrances: Vec::new(),
        verify: Vec::new(),
        never: Vec::new(),
        escalate: None,
    };
    let mut observed: Observed =
        objects().into_iter().map(|(id, value)| (id, Some(value))).collect();
    observed.insert(EntityId::cluster_scoped("MachineConfig", "rendered-worker-1"), None);
    let plan = exact(plan, &observed);
    assert!(plan.hindrances.is_empty(), "{:?}", plan.hindrances);
    plan
}

pub fn objects() -> BTreeMap<EntityId, Value> {
    let of = |kind: &str, name: &str, spec: Value| {
        let value = json!({
            "kind": kind, "spec": spec,
            "metadata": {"name": name, "uid": format!("uid-{name}"), "resourceVersion": "1"},
        });
        (EntityId::cluster_scoped(kind, name), value)
    };
    BTreeMap::from([
        of("MachineConfigPool", "worker", json!({"paused": false, "other": 1})),
        of("CertificateSigningRequest", "old", json!({})),
        of("ConfigMap", "bystander", json!({"untouched": true})),
    ])
}

pub fn pretend() -> Pretend {
    let pretend = Pretend::new(objects());
    let others = [
        ("worker-1:/etc/kubernetes/kubeconfig", "old"),
        ("worker-1:/var/lib/kubelet/kubeconfig", "broken"),
        ("worker-1:kubelet", "start"),
        ("worker-1:power", "off"),
        ("worker-2:power", "on"),
    ];
    pretend.things().others = others.map(|(name, is)| (name.to_string(), json!(is))).into();
    pretend
}

pub fn pace() -> Pace {
    let none = Duration::ZERO;
    Pace { poll: none, settle: none, dwell: none, minute: none }
}
