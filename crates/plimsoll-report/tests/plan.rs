//! A plan and the record of its session, in every form.

#![allow(clippy::unwrap_used, reason = "times and names that are written here")]

use plimsoll_model::Time;
use plimsoll_model::plan::{Action, Hindrance, PLAN_SCHEMA, Plan};
use plimsoll_model::session::{Entry, Event, Outcome, SESSION_SCHEMA, Session};
use plimsoll_report::{
    TextOptions, json, plan_markdown, plan_text, session_markdown, session_text,
};
use serde_json::{Value, json as value};

fn step(number: usize, title: &str, more: Value) -> Value {
    let mut step = value!({
        "number": number, "title": title, "blast": 3, "minutes": 1,
        "action": {"do": "wait"}, "target": {"in": "nothing"},
        "undo": {"by": "nothing", "because": "it only waits"},
        "rehearsal": {"by": "impossible", "because": "a node has no dry run"},
    });
    let (Some(step_map), Some(more)) = (step.as_object_mut(), more.as_object()) else {
        return step;
    };
    step_map.extend(more.clone());
    step
}

fn plan() -> Plan {
    let on = value!({"in": "node", "name": "master-1"});
    let plan = value!({
        "schema": PLAN_SCHEMA, "digest": "", "made_for": "2025-12-03T18:42:00Z",
        "cluster": {"version": "4.18.14", "platform": "BareMetal", "topology": null, "id": null},
        "root": {"id": "kubelet-anonymous", "entity": "Node/master-1"},
        "confidence": "confirmed", "repair": "rebuild-kubelet-identity",
        "title": "Rebuild the identity of the kubelet",
        "reason": {
            "summary": "The kubelet on master-1 lost its client certificate.",
            "explains": [{"id": "etcd-operand-missing", "entity": "ClusterOperator/etcd"}],
            "evidence": [],
        },
        "roots": [{"id": "kubelet-anonymous", "entity": "Node/master-1"}],
        "minutes": 10, "blast": 3, "during_rollout": true,
        "steps": [
            step(1, "Write the bootstrap kubeconfig of master-1 anew", value!({
                "action": {"do": "write-file", "path": "/etc/kubernetes/kubeconfig", "mode": 384,
                    "content": {"from": "maker", "maker": "bootstrap-kubeconfig", "inputs": null}},
                "target": on, "undo": {"by": "restore"},
                "diff": ["~ master-1:/etc/kubernetes/kubeconfig (mode 0600)"],
                "require": [{"on": "Node/master-1", "that": "self.controlPlane",
                    "says": "it is a master"}],
                "commands": ["oc config new-kubelet-bootstrap-kubeconfig > kubeconfig"],
            })),
            step(2, "Pause pool master", value!({
                "blast": 2,
                "action": {"do": "patch",
                    "operations": [{"op": "add", "path": "/spec/paused", "value": true}]},
                "target": {"in": "api", "group": "machineconfiguration.openshift.io",
                    "version": "v1", "plural": "machineconfigpools", "kind": "MachineConfigPool",
                    "name": "master", "uid": "u-1", "resource_version": "7"},
                "diff": ["- /spec/paused: false", "+ /spec/paused: true"],
                "undo": {"by": "patch", "operations": []},
                "permissions": [{"verb": "patch", "group": "machineconfiguration.openshift.io",
                    "resource": "machineconfigpools", "name": "master"}],
                "rehearsal": {"by": "server"},
                "unless": [{"on": "MachineConfigPool/master", "that": "self.paused",
                    "says": "the pool is paused already"}],
            })),
            step(3, "Look at the console of master-1", value!({
                "blast": 0,
                "action": {"do": "hand", "run": ["ssh core@master-1 journalctl -u kubelet"],
                    "expect": "No more system:anonymous."},
            })),
            step(4, "The node is ready", value!({
                "blast": 0,
                "expect": [{"on": "Node/master-1", "that": "self.ready.status == 'True'",
                    "says": "the node is ready", "within": 10}],
            })),
        ],
        "hindrances": ["no way to master-1 is given: add ssh:master-1 or ssh:all"],
        "verify": [{"run": "oc get nodes", "expect": "master-1 Ready."}],
        "never": ["Never give the kubelet localhost.kubeconfig."],
        "escalate": "When no request appears within five minutes.",
    });
    serde_json::from_value::<Plan>(plan).unwrap().sealed()
}

fn session() -> Session {
    let plan = plan();
    let start: Time = "2025-12-03T18:45:00Z".parse().unwrap();
    let mut entries: Vec<Entry> = Vec::new();
    for (minute, event) in (0_i64..).zip([
        Event::Began { plan: plan.digest.clone(), by: "kim".into(), before: None },
        Event::Confirmed { step: 1, name: "master-1".into() },
        Event::Kept { step: 1, place: "master-1:/var/lib/plimsoll/x".into(), sha256: "ab".into() },
        Event::Intends { step: 1, before: "ab".into() },
        Event::Did { step: 1, after: "cd".into(), says: "written".into() },
        Event::Holds { step: 1 },
        Event::Skipped { step: 2, says: "not needed any more".into() },
        Event::Refused { step: 3, why: vec!["nobody typed 'done'".into()] },
        Event::Undid { step: 1, says: "it is as it was".into() },
        Event::Ended { outcome: Outcome::RolledBack, says: "every step is taken back".into() },
    ]) {
        let time = start + jiff::SignedDuration::from_mins(minute);
        entries.push(Entry::after(entries.last(), time, event));
    }
    Session {
        schema: SESSION_SCHEMA.into(),
        plan: plan.digest,
        title: plan.title,
        root: plan.root,
        outcome: Outcome::RolledBack,
        says: "every step is taken back".into(),
        entries,
        next: vec!["plimsoll diagnose tells what is left".into()],
    }
}

#[test]
fn a_plan_is_read_from_its_reason_to_its_end() {
    insta::assert_snapshot!(plan_text(&plan(), &TextOptions::default()));
}

#[test]
fn a_plan_that_breaks_a_rule_says_so_first() {
    let plan = Plan { break_glass_minutes: Some(30), ..plan() }.sealed();
    let shown = plan_text(&plan, &TextOptions::default());
    let line = shown.lines().position(|line| line.starts_with("BREAK-GLASS:")).unwrap();
    assert!(line < 4, "{shown}");
    assert!(plan_markdown(&plan).contains("**Break-glass.**"));
}

/// Half of a command is another command.
#[test]
fn a_command_is_one_line_however_long_it_is() {
    let long = format!("oc patch x --type=json -p '[{{\"path\":  \"/{}\"}}]'", "y/".repeat(400));
    let mut plan = plan();
    plan.steps[0].commands = vec![long.clone()];
    plan.verify[0].run = Some(long.clone());
    if let Action::Hand { run, .. } = &mut plan.steps[2].action {
        *run = vec![long.clone()];
    }
    let shown = plan_text(&plan, &TextOptions::default());
    let pasted = shown.lines().filter(|line| line.trim_start() == format!("$ {long}")).count();
    assert_eq!(pasted, 3, "{shown}");
    assert_eq!(plan_markdown(&plan).lines().filter(|line| *line == long).count(), 2);
}

#[test]
fn what_speaks_against_a_step_stands_at_it_and_at_the_end() {
    let mut plan = plan();
    plan.hindrances = vec![Hindrance::of_step(2, "not met now: the pool is updated")];
    let shown = plan_text(&plan, &TextOptions::default());
    let (steps, end) = shown.split_once("It cannot be carried out").unwrap();
    assert!(steps.contains("   not met now: the pool is updated"), "{shown}");
    assert!(end.contains("step 2: not met now"), "{shown}");
}

/// What a line of the step says is not said again below it, and not at the end.
#[test]
fn a_reason_is_told_once() {
    let mut plan = plan();
    plan.steps[1].diff = vec!["! csr-1: to be denied: it asks for addresses of another".into()];
    let why = "the rule denies csr-1: it asks for addresses of another";
    plan.hindrances = vec![Hindrance::of_step(2, why)];
    for shown in [plan_text(&plan, &TextOptions::default()), plan_markdown(&plan)] {
        assert_eq!(shown.matches("addresses of another").count(), 1, "{shown}");
        assert!(shown.contains("step 2: the rule denies csr-1"), "{shown}");
    }
}

#[test]
fn a_plan_by_hand_does_not_claim_to_read_only() {
    let mut plan = plan();
    plan.steps.retain(|step| matches!(step.action, Action::Hand { .. }));
    plan.steps[0].minutes = None;
    plan.blast = 0;
    let shown = plan_text(&plan, &TextOptions::default());
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("1 step by hand, about 10 minutes in all."), "{shown}");
    assert!(!words.contains("reads only"), "{shown}");
}

#[test]
fn the_proof_is_in_the_plan() {
    let mut plan = plan();
    let proof = value!({"source": "x", "path": "masters/kubelet.log", "line": 7, "text": "boom"});
    plan.reason.evidence = vec![serde_json::from_value(proof).unwrap()];
    let shown = plan_text(&plan, &TextOptions::default());
    assert!(shown.contains("masters/kubelet.log:7: boom"), "{shown}");
    assert!(plan_markdown(&plan).contains("- `masters/kubelet.log:7`: boom"));
}

#[test]
fn a_long_title_is_wrapped_below_itself() {
    let mut plan = plan();
    plan.title = "word ".repeat(30);
    plan.steps[0].title = "word ".repeat(30);
    let shown = plan_text(&plan, &TextOptions::default());
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    assert!(shown.contains("\n1. word") && shown.contains("\n   word"), "{shown}");
}

#[test]
fn a_plan_as_markdown() {
    insta::assert_snapshot!(plan_markdown(&plan()));
}

#[test]
fn a_plan_as_json_is_what_its_schema_says() {
    let text = json(&plan());
    let value: Value = serde_json::from_str(&text).unwrap();
    assert!(jsonschema::is_valid(&Plan::json_schema(), &value));
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan());
    insta::assert_snapshot!(text);
}

#[test]
fn a_session_is_told_in_its_order() {
    insta::assert_snapshot!(session_text(&session(), &plan(), &TextOptions::default()));
}

#[test]
fn a_session_as_markdown() {
    insta::assert_snapshot!(session_markdown(&session(), &plan()));
}

#[test]
fn a_session_as_json_is_what_its_schema_says() {
    let text = json(&session());
    let value: Value = serde_json::from_str(&text).unwrap();
    assert!(jsonschema::is_valid(&Session::json_schema(), &value));
    insta::assert_snapshot!(text);
}

/// The journal of steps that were done, and then of these events.
fn ended(more: Vec<Event>, outcome: Outcome) -> Session {
    let did = |step| {
        [
            Event::Intends { step, before: "ab".into() },
            Event::Did { step, after: "cd".into(), says: "changed".into() },
        ]
    };
    let began = Event::Began { plan: "ab".into(), by: "kim".into(), before: None };
    let mut session = session();
    session.entries.clear();
    let all = std::iter::once(began).chain(did(1)).chain(did(2)).chain(more);
    for (minute, event) in (0_i64..).zip(all) {
        let time = "2025-12-03T18:45:00Z".parse::<Time>().unwrap()
            + jiff::SignedDuration::from_mins(minute);
        session.entries.push(Entry::after(session.entries.last(), time, event));
    }
    Session { outcome, says: "it is over".into(), ..session }
}

#[test]
fn a_record_says_what_was_changed_when_and_why() {
    let session = ended(Vec::new(), Outcome::Fixed);
    let shown = session_text(&session, &plan(), &TextOptions::default());
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for told in [
        "What: Rebuild the identity of the kubelet",
        "Why: The kubelet on master-1 lost its client certificate. kubelet-anonymous (Node/master-1)",
        "When: 2025-12-03 18:45 to 2025-12-03 18:49, by kim",
        "2. Pause pool master (done) - /spec/paused: false + /spec/paused: true",
    ] {
        assert!(words.contains(told), "{told}: {shown}");
    }
    assert!(!shown.contains("3. Look at the console"), "it was not done: {shown}");
    let markdown = session_markdown(&session, &plan());
    let diff = "## 2. Pause pool master (done)\n\n```diff\n- /spec/paused: false\n+ /spec/paused: true\n```";
    assert!(markdown.contains(diff), "{markdown}");
    assert!(markdown.contains("**Why.** The kubelet on master-1 lost"), "{markdown}");
}

#[test]
fn nobody_is_said_to_have_typed_what_the_command_named() {
    let shown = session_text(&session(), &plan(), &TextOptions::default());
    assert!(shown.contains("step 1: named: master-1") && !shown.contains("typed\n"), "{shown}");
}

#[test]
fn a_way_back_is_called_what_it_was() {
    let cannot =
        |step| Event::CannotUndo { step, why: "what it did stays and does no harm".into() };
    let undid = |step| {
        vec![Event::IntendsUndo { step }, Event::Undid { step, says: "it is as it was".into() }]
    };
    let worse = Event::Ended { outcome: Outcome::Worse, says: "etcd lost a member".into() };
    let nothing = vec![cannot(2), cannot(1)];
    let some = [vec![cannot(2)], undid(1)].concat();
    let all = [vec![worse.clone()], undid(2), undid(1)].concat();
    let worst = [vec![worse], nothing.clone()].concat();
    for (events, outcome, opening) in [
        (nothing, Outcome::PartlyRolledBack, "NOT ROLLED BACK: "),
        (some, Outcome::PartlyRolledBack, "ROLLED BACK IN PART: "),
        (all, Outcome::RolledBack, "WORSE, ROLLED BACK: "),
        (worst, Outcome::PartlyRolledBack, "WORSE, NOT ROLLED BACK: "),
    ] {
        let session = ended(events, outcome);
        let shown = session_text(&session, &plan(), &TextOptions::default());
        assert!(shown.starts_with(opening), "{opening}: {shown}");
        let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        let stays = words.contains("master (not taken back: what it did stays");
        assert_eq!(stays, outcome == Outcome::PartlyRolledBack, "{shown}");
        assert_eq!(words.contains("It got worse: etcd lost a member"), opening.starts_with("W"));
        assert!(shown.contains("1. Write the bootstrap kubeconfig"), "{shown}");
    }
}
