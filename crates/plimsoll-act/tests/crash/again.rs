//! What a second life, a second look and a way back have to know: where it was going, what was wrong before, and what
//! somebody else did meanwhile.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

use plimsoll_act::{Consent, Ended, Look, Standing, Target, Transaction, Trouble, World};
use plimsoll_model::diagnosis::StateRef;
use plimsoll_model::plan::{Action, Plan, Step, Target as Where};
use plimsoll_model::session::{Entry, Event, Outcome};
use plimsoll_model::{EntityId, FactBase, Time};
use serde_json::json;

use crate::support::{Body, base, diagnosis, plan, pretend, root};
use crate::{Dying, DyingLog, FIRST_LIFE, live, same, usual};

/// Killed while it takes back what got worse, it goes on with that, and not forward again.
#[test]
fn killed_on_its_way_back_it_goes_on_back() {
    let plan = plan();
    let whole = {
        let (pretend, mut entries) = (pretend(), Vec::new());
        live(&plan, &pretend, &mut entries, (None, None), false, true);
        entries.len()
    };
    let mut met = 0;
    for point in 0..whole {
        let (pretend, mut entries) = (pretend(), Vec::new());
        live(&plan, &pretend, &mut entries, (Some(point), None), false, true);
        let is_worse =
            |one: &Entry| matches!(one.event, Event::Ended { outcome: Outcome::Worse, .. });
        if !entries.iter().any(is_worse) {
            continue;
        }
        met += 1;
        let lines = entries.len();
        let ended = live(&plan, &pretend, &mut entries, (None, None), false, true);
        assert!(matches!(ended, Some(Ended::With(Outcome::RolledBack, _))), "{point}: {ended:?}");
        let forward = |one: &Entry| matches!(one.event, Event::Intends { .. });
        assert!(!entries[lines..].iter().any(forward), "{point}: {entries:#?}");
        same(&pretend);
    }
    assert!(met > plan.steps.len(), "{met}");
}

/// Who wants it forward again says so.
#[test]
fn forward_out_of_a_way_back_is_asked_for() {
    let plan = plan();
    let (pretend, mut entries) = (pretend(), Vec::new());
    live(&plan, &pretend, &mut entries, (None, Some(4)), false, false);
    live(&plan, &pretend, &mut entries, (Some(3), None), true, false);
    let mut log = DyingLog { entries: &mut entries, lives: None };
    let world = Body { pretend: &pretend, plan: &plan, gets_worse: false };
    let mut transaction = Transaction { again: true, ..usual(&plan, &pretend, &world, &mut log) };
    let ended = transaction.apply().unwrap();
    assert!(matches!(ended, Ended::With(Outcome::Fixed, _)), "{ended:?}");
}

/// Something else breaks as soon as the first step is done, and shows as a root or as what one causes.
struct Degrades<'a> {
    body: Body<'a>,
    as_root: bool,
}

fn ingress() -> StateRef {
    let entity = EntityId::cluster_scoped("ClusterOperator", "ingress");
    StateRef { id: "operator-degraded".into(), entity }
}

impl World for Degrades<'_> {
    fn look(&self) -> Result<Look, String> {
        let first = &self.body.plan.steps[0];
        let is_broken =
            self.body.pretend.look(first).is_ok_and(|sight| sight.standing == Standing::Done);
        let mut roots = if self.body.is_done() { Vec::new() } else { vec![root()] };
        let broken: Vec<StateRef> = is_broken.then(ingress).into_iter().collect();
        roots.extend(broken.iter().filter(|_| self.as_root).cloned());
        let beside = if self.as_root { Vec::new() } else { broken };
        Ok(Look { base: base(), diagnosis: diagnosis(&roots, &beside) })
    }
    fn glance(&self) -> Result<FactBase, String> {
        self.body.glance()
    }
    fn would_show(&self, base: &FactBase, state: &StateRef) -> bool {
        self.body.would_show(base, state)
    }
}

/// What an act of the first life broke is not how things always were for the second one.
#[test]
fn what_was_broken_before_the_kill_is_still_new_after_it() {
    let plan = plan();
    for as_root in [false, true] {
        for point in 0..FIRST_LIFE {
            let (pretend, mut entries) = (pretend(), Vec::new());
            let body = || Body { pretend: &pretend, plan: &plan, gets_worse: false };
            let world = Degrades { body: body(), as_root };
            let targets = Dying::after(&pretend, None);
            let mut log = DyingLog { entries: &mut entries, lives: Some(point) };
            let mut first = usual(&plan, &targets, &world, &mut log);
            if catch_unwind(AssertUnwindSafe(|| first.apply())).is_ok() {
                break;
            }
            let mut log = DyingLog { entries: &mut entries, lives: None };
            let mut second = usual(&plan, &targets, &world, &mut log);
            let ended = second.apply().unwrap();
            let is_back = matches!(ended, Ended::With(Outcome::RolledBack, _));
            assert!(is_back, "{as_root} {point}: {ended:?}\n{entries:#?}");
            same(&pretend);
        }
    }
}

/// A root that appears half-way is seen before the next step, not after the last one.
#[test]
fn a_fault_that_appears_between_two_steps_stops_it() {
    let plan = plan();
    let (pretend, mut entries) = (pretend(), Vec::new());
    let mut log = DyingLog { entries: &mut entries, lives: None };
    let body = Body { pretend: &pretend, plan: &plan, gets_worse: false };
    let world = Degrades { body, as_root: true };
    let ended = usual(&plan, &pretend, &world, &mut log).apply().unwrap();
    assert!(matches!(ended, Ended::With(Outcome::RolledBack, _)), "{ended:?}");
    let second = |one: &Entry| matches!(one.event, Event::Intends { step: 2.., .. });
    assert!(!entries.iter().any(second), "{entries:#?}");
    same(&pretend);
}

/// A clock of the test's own: an update begins when somebody has thought about the name.
struct Updating<'a>(Body<'a>, &'a Cell<bool>);

impl World for Updating<'_> {
    fn look(&self) -> Result<Look, String> {
        let look = self.0.look()?;
        Ok(Look { base: self.glance()?, ..look })
    }
    fn glance(&self) -> Result<FactBase, String> {
        let mut base = self.0.glance()?;
        let cluster = base.entities.entry(EntityId::cluster()).or_default();
        cluster.facts.insert("updating".into(), self.1.get().into());
        Ok(base)
    }
    fn would_show(&self, base: &FactBase, state: &StateRef) -> bool {
        self.0.would_show(base, state)
    }
}

struct ThinksLong<'a>(&'a Cell<bool>);

impl Consent for ThinksLong<'_> {
    fn is_there(&self) -> bool {
        true
    }
    fn names(&self, _: &Step, _: &str) -> bool {
        self.0.set(true);
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

#[test]
fn what_changes_while_somebody_types_is_seen() {
    let plan = plan();
    let (pretend, mut entries) = (pretend(), Vec::new());
    let updates = Cell::new(false);
    let mut log = DyingLog { entries: &mut entries, lives: None };
    let body = Body { pretend: &pretend, plan: &plan, gets_worse: false };
    let world = Updating(body, &updates);
    let consent = ThinksLong(&updates);
    let mut transaction =
        Transaction { consent: &consent, ..usual(&plan, &pretend, &world, &mut log) };
    let ended = transaction.apply().unwrap();
    let Ended::Refused(why) = &ended else { panic!("{ended:?}") };
    assert!(why[0].contains("the cluster is being updated"), "{why:?}");
    let asked = entries.iter().filter(|one| matches!(one.event, Event::Confirmed { .. })).count();
    assert_eq!(asked, 1);
    let typed = plan.steps.iter().find(|step| step.is_typed()).unwrap().number;
    let did = |one: &Entry| matches!(one.event, Event::Intends { step, .. } if step == typed);
    assert!(!entries.iter().any(did), "{entries:#?}");
}

/// Whoever reads finds another cluster than whoever writes.
struct Elsewhere<'a>(Body<'a>, Option<&'a str>);

impl World for Elsewhere<'_> {
    fn look(&self) -> Result<Look, String> {
        let look = self.0.look()?;
        Ok(Look { base: self.glance()?, ..look })
    }
    fn glance(&self) -> Result<FactBase, String> {
        let mut base = self.0.glance()?;
        let cluster = base.entities.entry(EntityId::cluster()).or_default();
        cluster.facts.remove("id");
        if let Some(id) = self.1 {
            cluster.facts.insert("id".into(), id.into());
        }
        Ok(base)
    }
    fn would_show(&self, base: &FactBase, state: &StateRef) -> bool {
        self.0.would_show(base, state)
    }
}

#[test]
fn nothing_is_judged_by_what_another_cluster_shows() {
    let plan = plan();
    for (id, says) in [(Some("another"), "is cluster another"), (None, "cannot be told whether")] {
        let (pretend, mut entries) = (pretend(), Vec::new());
        let mut log = DyingLog { entries: &mut entries, lives: None };
        let body = Body { pretend: &pretend, plan: &plan, gets_worse: false };
        let world = Elsewhere(body, id);
        let ended = usual(&plan, &pretend, &world, &mut log).apply().unwrap();
        let Ended::Stale(why) = &ended else { panic!("{ended:?}") };
        assert!(why.contains(says), "{why}");
        same(&pretend);
    }
}

/// The mark of the plan stays on what somebody changes later.
#[test]
fn what_was_made_and_changed_since_is_not_deleted() {
    let plan = plan();
    let (pretend, mut entries) = (pretend(), Vec::new());
    live(&plan, &pretend, &mut entries, (None, Some(3)), false, false);
    let config = EntityId::cluster_scoped("MachineConfig", "rendered-worker-1");
    pretend.things().objects.get_mut(&config).unwrap()["spec"]["theirs"] = json!(true);
    let ended = live(&plan, &pretend, &mut entries, (None, None), true, false);
    assert!(matches!(ended, Some(Ended::With(Outcome::PartlyRolledBack, _))), "{ended:?}");
    assert_eq!(pretend.things().objects[&config]["spec"]["theirs"], json!(true));
}

/// Who types names, and remembers which.
#[derive(Default)]
struct Remembers(RefCell<Vec<String>>);

impl Consent for Remembers {
    fn is_there(&self) -> bool {
        true
    }
    fn names(&self, _: &Step, name: &str) -> bool {
        self.0.borrow_mut().push(name.into());
        !name.starts_with("take back")
    }
    fn did(&self, _: &Step) -> bool {
        true
    }
    fn hears(&self, _: &str) {}
    fn wants_to_stop(&self) -> bool {
        false
    }
}

/// To take a config of machines back reboots them again: that is asked for, and refused without a quorum.
#[test]
fn what_reboots_machines_again_is_not_taken_back_unasked() {
    let mut plan = plan();
    plan.steps.retain(|step| step.number == 2);
    let Where::Api(object) = &mut plan.steps[0].target else { panic!("an object") };
    object.name = "99-worker-chrony".into();
    let config = EntityId::cluster_scoped("MachineConfig", "99-worker-chrony");
    let plan = plan.sealed();
    for (role, says) in [("worker", "nobody typed"), ("master", "members of etcd are well")] {
        let (pretend, mut entries) = (pretend(), Vec::new());
        let label = json!({"machineconfiguration.openshift.io/role": role});
        let made = json!({"metadata": {"labels": label}});
        pretend.things().objects.insert(config.clone(), made.clone());
        let event = Event::Intends { step: 2, before: String::new() };
        entries.push(Entry::after(None, Time::UNIX_EPOCH, event));
        let mut log = DyingLog { entries: &mut entries, lives: None };
        let world = Body { pretend: &pretend, plan: &plan, gets_worse: false };
        let consent = Remembers::default();
        let mut transaction =
            Transaction { consent: &consent, ..usual(&plan, &pretend, &world, &mut log) };
        let ended = transaction.roll_back().unwrap();
        let Ended::With(Outcome::PartlyRolledBack, why) = &ended else { panic!("{ended:?}") };
        assert!(why.contains(says), "{why}");
        assert_eq!(pretend.things().objects[&config], made);
    }
}

/// One name is typed once for one thing: another one that is called the same is another one.
#[test]
fn a_name_is_typed_for_each_thing_that_has_it() {
    let mut plan = plan();
    plan.steps.retain(|step| [3, 4, 5, 7].contains(&step.number));
    let plan = plan.sealed();
    let (pretend, mut entries) = (pretend(), Vec::new());
    let mut log = DyingLog { entries: &mut entries, lives: None };
    let world = Body { pretend: &pretend, plan: &plan, gets_worse: false };
    let consent = Remembers::default();
    let mut transaction =
        Transaction { consent: &consent, ..usual(&plan, &pretend, &world, &mut log) };
    let ended = transaction.apply().unwrap();
    assert!(matches!(ended, Ended::With(Outcome::Fixed, _)), "{ended:?}");
    // The node from inside, and its power.
    assert_eq!(*consent.0.borrow(), ["worker-1", "worker-1"]);
}

/// A pool is paused first, where `unless` does not say that it is, and unpaused last.
fn pausing(unless: &[serde_json::Value]) -> Plan {
    let mut plan = plan();
    plan.steps.retain(|step| [1, 7].contains(&step.number));
    let mut last = plan.steps[0].clone();
    last.number = 8;
    if let Action::Patch { operations, .. } = &mut last.action {
        operations[0]["value"] = json!(false);
    }
    if let Where::Api(object) = &mut last.target {
        object.decision = None;
    }
    plan.steps.push(last);
    let conditions = unless.iter().cloned().map(serde_json::from_value);
    plan.steps[0].unless = conditions.collect::<Result<_, _>>().unwrap();
    plan.sealed()
}

fn pool() -> EntityId {
    EntityId::cluster_scoped("MachineConfigPool", "worker")
}

/// Who paused the pool before us unpauses it.
#[test]
fn what_was_so_before_is_not_ended_by_the_plan() {
    let is_so = json!({"on": "Node/worker-1", "that": "!self.controlPlane", "says": "it is so"});
    let plan = pausing(&[is_so]);
    let (pretend, mut entries) = (pretend(), Vec::new());
    pretend.things().objects.get_mut(&pool()).unwrap()["spec"]["paused"] = json!(true);
    let mut log = DyingLog { entries: &mut entries, lives: None };
    let world = Body { pretend: &pretend, plan: &plan, gets_worse: false };
    usual(&plan, &pretend, &world, &mut log).apply().unwrap();
    assert_eq!(pretend.things().objects[&pool()]["spec"]["paused"], json!(true));
    let skipped = |one: &&Entry| matches!(one.event, Event::Skipped { .. });
    assert_eq!(entries.iter().filter(skipped).count(), 2, "{entries:#?}");
}

/// Killed after it paused the pool and before it said so, it finds the pool paused: by itself.
#[test]
fn what_this_session_did_before_the_kill_is_ended_by_it() {
    let is_so = json!({"on": "Node/worker-1", "that": "!self.controlPlane", "says": "it is so"});
    let (before, after) = (pausing(&[]), pausing(&[is_so]));
    let (pretend, mut entries) = (pretend(), Vec::new());
    live(&before, &pretend, &mut entries, (None, Some(0)), false, false);
    assert!(matches!(entries.last().unwrap().event, Event::Intends { step: 1, .. }));
    pretend.things().objects.get_mut(&pool()).unwrap()["spec"]["paused"] = json!(true);
    let mut log = DyingLog { entries: &mut entries, lives: None };
    let world = Body { pretend: &pretend, plan: &after, gets_worse: false };
    usual(&after, &pretend, &world, &mut log).apply().unwrap();
    assert_eq!(pretend.things().objects[&pool()]["spec"]["paused"], json!(false), "{entries:#?}");
}

/// Somebody may have unpaused since what was paused then: it is paused again, or nothing more is done.
#[test]
fn what_was_not_needed_before_the_kill_may_be_needed_now() {
    let so = |that: &str| json!({"on": "Node/worker-1", "that": that, "says": "it is so"});
    let then = pausing(&[so("!self.controlPlane")]);
    let now = pausing(&[so("self.controlPlane")]);
    for (kill, pauses) in [((Some(2), None), true), ((None, Some(0)), false)] {
        let (pretend, mut entries) = (pretend(), Vec::new());
        live(&then, &pretend, &mut entries, kill, false, false);
        assert!(entries.iter().any(|one| matches!(one.event, Event::Skipped { step: 1, .. })));
        let ended = live(&now, &pretend, &mut entries, (None, None), false, false);
        let paused = entries.iter().any(|one| matches!(one.event, Event::Did { step: 1, .. }));
        assert_eq!(paused, pauses, "{ended:?}\n{entries:#?}");
        let did = entries.iter().any(|one| matches!(one.event, Event::Did { step: 7, .. }));
        assert_eq!(did, pauses, "{ended:?}\n{entries:#?}");
    }
}

/// What an earlier step made may be needed by what a later one left.
#[test]
fn what_cannot_be_taken_back_holds_what_it_rests_on() {
    let plan = plan();
    let lost = || Trouble::Lost("no answer".into());
    let stale = || Trouble::Stale("it was changed".into());
    for (why, asked) in [(lost as fn() -> Trouble, vec![7, 6, 5]), (stale, vec![7, 6, 5, 4, 3, 1])]
    {
        let (pretend, mut entries) = (pretend(), Vec::new());
        live(&plan, &pretend, &mut entries, (None, None), false, false);
        let targets = Dying { stuck: Some((5, why)), ..Dying::after(&pretend, None) };
        let mut log = DyingLog { entries: &mut entries, lives: None };
        let world = Body { pretend: &pretend, plan: &plan, gets_worse: false };
        let ended = usual(&plan, &targets, &world, &mut log).roll_back().unwrap();
        assert!(matches!(ended, Ended::With(Outcome::PartlyRolledBack, _)), "{ended:?}");
        assert_eq!(*targets.undone.borrow(), asked);
        // When it can be, the rest goes as well.
        let ended = live(&plan, &pretend, &mut entries, (None, None), true, false);
        assert!(matches!(ended, Some(Ended::With(Outcome::RolledBack, _))), "{ended:?}");
        same(&pretend);
    }
}

/// A journal that lost its end does not say that nothing was done.
#[test]
fn what_looks_done_and_is_not_written_down_is_told() {
    let plan = plan();
    let (pretend, mut entries) = (pretend(), Vec::new());
    live(&plan, &pretend, &mut entries, (None, None), false, false);
    entries.truncate(1);
    let ended = live(&plan, &pretend, &mut entries, (None, None), true, false);
    let Some(Ended::With(Outcome::PartlyRolledBack, says)) = ended else { panic!("{ended:?}") };
    assert!(says.contains("step 1: it looks done, and nobody wrote down by whom"), "{says}");
}

/// What was taken back before its first act begins anew, and what is new since is not its fault.
#[test]
fn what_was_never_begun_begins_anew() {
    let plan = plan();
    let (pretend, mut entries) = (pretend(), Vec::new());
    live(&plan, &pretend, &mut entries, (Some(1), None), false, false);
    live(&plan, &pretend, &mut entries, (None, None), true, false);
    let ended = live(&plan, &pretend, &mut entries, (None, None), false, false);
    assert!(matches!(ended, Some(Ended::With(Outcome::Fixed, _))), "{ended:?}");
    let began = entries.iter().filter(|one| matches!(one.event, Event::Began { .. })).count();
    assert_eq!(began, 2, "{entries:#?}");
    let ended = live(&plan, &pretend, &mut entries, (None, None), true, false);
    assert!(matches!(ended, Some(Ended::With(Outcome::RolledBack, _))), "{ended:?}");
    same(&pretend);
}
