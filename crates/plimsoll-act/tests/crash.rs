//! Killed at any instant, a session goes on or back, and nothing outside its plan is ever touched.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

mod support;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use plimsoll_act::{
    Alone, Consent, Ended, Kept, Log, Look, Pretend, Sight, Standing, Target, Targets, Transaction,
    Trouble, Turn, Unwritable, World,
};
use plimsoll_model::diagnosis::StateRef;
use plimsoll_model::plan::{Action, Plan, Step, Target as Where};
use plimsoll_model::session::{Entry, Event, Outcome};
use plimsoll_model::{EntityId, FactBase, Time};
use serde_json::json;
use support::{Body, Yes, base, diagnosis, objects, pace, plan, pretend, root};

/// A journal that outlives its process, and the process that dies before a line of it.
struct DyingLog<'a> {
    entries: &'a mut Vec<Entry>,
    lives: Option<usize>,
}

impl Log for DyingLog<'_> {
    fn entries(&self) -> &[Entry] {
        self.entries
    }

    fn append(&mut self, event: Event) -> Result<(), Unwritable> {
        if let Some(lives) = &mut self.lives {
            // The process is gone here: nothing more is written or done.
            *lives = lives.checked_sub(1).unwrap_or_else(|| panic!("killed"));
        }
        self.entries.push(Entry::after(self.entries.last(), Time::UNIX_EPOCH, event));
        Ok(())
    }

    fn now(&self) -> Time {
        Time::UNIX_EPOCH
    }
}

/// As `Pretend`, and dies before it acts, or cannot do one step.
struct Dying<'a> {
    inner: &'a Pretend,
    acts: Cell<Option<usize>>,
    fails: Option<usize>,
}

impl<'a> Dying<'a> {
    fn after(inner: &'a Pretend, acts: Option<usize>) -> Self {
        Self { inner, acts: Cell::new(acts), fails: None }
    }
}

impl Targets for Dying<'_> {
    fn of(&self, _: &Step) -> Result<&dyn Target, Trouble> {
        Ok(self)
    }
}

impl Target for Dying<'_> {
    fn look(&self, step: &Step) -> Result<Sight, Trouble> {
        self.inner.look(step)
    }
    fn rehearse(&self, step: &Step) -> Result<(), Trouble> {
        self.inner.rehearse(step)
    }
    fn keep(&self, step: &Step) -> Result<Vec<Kept>, Trouble> {
        self.inner.keep(step)
    }
    fn act(&self, step: &Step) -> Result<String, Trouble> {
        if let Some(acts) = self.acts.get() {
            self.acts.set(Some(acts.checked_sub(1).unwrap_or_else(|| panic!("killed"))));
        }
        if self.fails == Some(step.number) {
            return Err(Trouble::Failed("it does not work".into()));
        }
        self.inner.act(step)
    }
    fn undo(&self, step: &Step, left: Option<&str>) -> Result<String, Trouble> {
        self.inner.undo(step, left)
    }
}

/// One life of the process: `None` where it was killed.
fn live(
    plan: &Plan,
    pretend: &Pretend,
    entries: &mut Vec<Entry>,
    (lives, acts): (Option<usize>, Option<usize>),
    back: bool,
    gets_worse: bool,
) -> Option<Ended> {
    let world = Body { pretend, plan, gets_worse };
    let targets = Dying::after(pretend, acts);
    let mut log = DyingLog { entries, lives };
    let mut transaction = usual(plan, &targets, &world, &mut log);
    let run = AssertUnwindSafe(|| match back {
        true => transaction.roll_back(),
        false => transaction.apply(),
    });
    catch_unwind(run).ok().map(|ended| ended.unwrap())
}

fn same(pretend: &Pretend) {
    let fresh = self::pretend();
    let (now, before) = (pretend.things(), fresh.things());
    assert_eq!(now.objects, before.objects);
    assert_eq!(now.others, before.others);
}

/// Who says yes to everything and is alone, with a plan that breaks no rule.
fn usual<'t>(
    plan: &'t Plan,
    targets: &'t dyn Targets,
    world: &'t dyn World,
    log: &'t mut dyn Log,
) -> Transaction<'t> {
    Transaction {
        plan,
        targets,
        world,
        consent: &Yes,
        turn: &Alone,
        log,
        pace: pace(),
        break_glass: false,
        again: false,
        by: "test".into(),
    }
}

const FIRST_LIFE: usize = 60;

#[test]
fn killed_before_any_line_or_act_it_goes_on_to_the_end() {
    let plan = plan();
    let mut killed = 0;
    for point in 0..FIRST_LIFE {
        for kill in [(Some(point), None), (None, Some(point))] {
            let (pretend, mut entries) = (pretend(), Vec::new());
            let first = live(&plan, &pretend, &mut entries, kill, false, false);
            if first.is_none() {
                killed += 1;
                let ended = live(&plan, &pretend, &mut entries, (None, None), false, false);
                let fixed = matches!(ended, Some(Ended::With(Outcome::Fixed, _)));
                assert!(fixed, "{kill:?}: {ended:?}\n{entries:#?}");
            }
            let bystander = EntityId::cluster_scoped("ConfigMap", "bystander");
            let things = pretend.things();
            assert_eq!(things.objects[&bystander], objects()[&bystander]);
            assert_eq!(things.others["worker-2:power"], json!("on"));
        }
    }
    assert!(killed > 25, "{killed}");
}

#[test]
fn killed_before_any_line_or_act_it_goes_all_the_way_back() {
    let plan = plan();
    for point in 0..FIRST_LIFE {
        for kill in [(Some(point), None), (None, Some(point))] {
            let (pretend, mut entries) = (pretend(), Vec::new());
            live(&plan, &pretend, &mut entries, kill, false, false);
            // Killed again and again while it goes back.
            for again in [2, 5, 9] {
                live(&plan, &pretend, &mut entries, (Some(again), None), true, false);
            }
            let ended = live(&plan, &pretend, &mut entries, (None, None), true, false);
            let back = matches!(ended, Some(Ended::With(Outcome::RolledBack, _)));
            assert!(back, "{kill:?}: {ended:?}");
            same(&pretend);
        }
    }
}

#[test]
fn what_got_worse_is_taken_back_by_itself() {
    let plan = plan();
    let (pretend, mut entries) = (pretend(), Vec::new());
    let ended = live(&plan, &pretend, &mut entries, (None, None), false, true);
    assert!(matches!(ended, Some(Ended::With(Outcome::RolledBack, _))), "{ended:?}");
    same(&pretend);
}

#[test]
fn a_change_by_somebody_else_stops_it_and_is_left_alone() {
    let plan = plan();
    let (pretend, mut entries) = (pretend(), Vec::new());
    let pool = EntityId::cluster_scoped("MachineConfigPool", "worker");
    pretend.things().objects.get_mut(&pool).unwrap()["spec"]["other"] = json!(2);
    let ended = live(&plan, &pretend, &mut entries, (None, None), false, false);
    assert!(matches!(ended, Some(Ended::Stale(_))), "{ended:?}");
    assert_eq!(pretend.things().objects[&pool]["spec"], json!({"paused": false, "other": 2}));
    assert!(!entries.iter().any(|entry| matches!(entry.event, Event::Did { .. })));
}

#[test]
fn what_somebody_changed_since_is_not_undone() {
    let plan = plan();
    let (pretend, mut entries) = (pretend(), Vec::new());
    live(&plan, &pretend, &mut entries, (None, Some(3)), false, false);
    let pool = EntityId::cluster_scoped("MachineConfigPool", "worker");
    pretend.things().objects.get_mut(&pool).unwrap()["spec"]["paused"] = json!("theirs");
    let ended = live(&plan, &pretend, &mut entries, (None, None), true, false);
    assert!(matches!(ended, Some(Ended::With(Outcome::PartlyRolledBack, _))), "{ended:?}");
    assert_eq!(pretend.things().objects[&pool]["spec"]["paused"], json!("theirs"));
}

#[test]
fn a_journal_that_cannot_be_written_stops_it_before_the_act() {
    struct Full(Vec<Entry>);
    impl Log for Full {
        fn entries(&self) -> &[Entry] {
            &self.0
        }
        fn append(&mut self, event: Event) -> Result<(), Unwritable> {
            if matches!(event, Event::Intends { .. }) {
                return Err(Unwritable("no space left on device".into()));
            }
            self.0.push(Entry::after(self.0.last(), Time::UNIX_EPOCH, event));
            Ok(())
        }
        fn now(&self) -> Time {
            Time::UNIX_EPOCH
        }
    }
    let plan = plan();
    let pretend = pretend();
    let mut log = Full(Vec::new());
    let world = Body { pretend: &pretend, plan: &plan, gets_worse: false };
    let mut transaction = usual(&plan, &pretend, &world, &mut log);
    assert!(transaction.apply().is_err());
    same(&pretend);
}

/// A journal whose clock stands where the test puts it.
struct Clocked<'a> {
    entries: &'a mut Vec<Entry>,
    now: i64,
}

impl Log for Clocked<'_> {
    fn entries(&self) -> &[Entry] {
        self.entries
    }

    fn append(&mut self, event: Event) -> Result<(), Unwritable> {
        self.entries.push(Entry::after(self.entries.last(), Time::UNIX_EPOCH, event));
        Ok(())
    }

    fn now(&self) -> Time {
        Time::from_second(self.now).unwrap()
    }
}

/// Somebody who leaves while the glass is broken.
struct Leaves;

impl Consent for Leaves {
    fn names(&self, _: &Step, name: &str) -> bool {
        assert!(name.starts_with("break-glass "), "{name}");
        true
    }
    fn did(&self, _: &Step) -> bool {
        true
    }
    fn hears(&self, _: &str) {}
    fn wants_to_stop(&self) -> bool {
        LEAVES.with(Cell::get)
    }
}

thread_local! {
    static LEAVES: Cell<bool> = const { Cell::new(false) };
}

fn broken(pretend: &Pretend, plan: &Plan, entries: &mut Vec<Entry>, now: i64) -> Ended {
    let world = Body { pretend, plan, gets_worse: true };
    let targets = Dying::after(pretend, None);
    let mut log = Clocked { entries, now };
    let mut transaction = Transaction {
        consent: &Leaves,
        break_glass: true,
        ..usual(plan, &targets, &world, &mut log)
    };
    transaction.apply().unwrap()
}

#[test]
fn what_was_broken_on_purpose_is_taken_back_when_its_time_is_over() {
    let plan = Plan { break_glass_minutes: Some(30), ..plan() }.sealed();
    let (pretend, mut entries) = (pretend(), Vec::new());
    let ended = broken(&pretend, &plan, &mut entries, 1800);
    assert!(matches!(ended, Ended::With(Outcome::RolledBack, _)), "{ended:?}");
    same(&pretend);
}

#[test]
fn who_leaves_is_told_by_when_and_the_next_life_takes_it_back() {
    let plan = Plan { break_glass_minutes: Some(30), ..plan() }.sealed();
    let (pretend, mut entries) = (pretend(), Vec::new());
    let last = plan.steps.len();
    let ended = broken_and_left(&pretend, &plan, &mut entries);
    let Ended::With(Outcome::Stopped, says) = ended else { panic!("{ended:?}") };
    assert!(says.contains("1970-01-01T00:30:00Z"), "{says}");
    assert!(entries.iter().any(|entry| entry.event == Event::Holds { step: last }));
    let ended = broken(&pretend, &plan, &mut entries, 1801);
    assert!(matches!(ended, Ended::With(Outcome::RolledBack, _)), "{ended:?}");
    same(&pretend);
}

/// Leaves when the last step holds.
fn broken_and_left(pretend: &Pretend, plan: &Plan, entries: &mut Vec<Entry>) -> Ended {
    struct Watching<'a> {
        inner: Clocked<'a>,
        last: usize,
    }
    impl Log for Watching<'_> {
        fn entries(&self) -> &[Entry] {
            self.inner.entries()
        }
        fn append(&mut self, event: Event) -> Result<(), Unwritable> {
            LEAVES.with(|leaves| leaves.set(event == Event::Holds { step: self.last }));
            self.inner.append(event)
        }
        fn now(&self) -> Time {
            self.inner.now()
        }
    }
    let world = Body { pretend, plan, gets_worse: true };
    let targets = Dying::after(pretend, None);
    let last = plan.steps.len();
    let mut log = Watching { inner: Clocked { entries, now: 0 }, last };
    let mut transaction = Transaction {
        consent: &Leaves,
        break_glass: true,
        ..usual(plan, &targets, &world, &mut log)
    };
    let ended = transaction.apply().unwrap();
    LEAVES.with(|leaves| leaves.set(false));
    ended
}

#[test]
fn a_rule_does_not_stay_broken_because_a_later_step_fails() {
    let plan = Plan { break_glass_minutes: Some(30), ..plan() }.sealed();
    for step in 2..=plan.steps.len() {
        let (pretend, mut entries) = (pretend(), Vec::new());
        let mut log = Clocked { entries: &mut entries, now: 0 };
        let world = Body { pretend: &pretend, plan: &plan, gets_worse: false };
        let targets = Dying { fails: Some(step), ..Dying::after(&pretend, None) };
        let mut transaction = Transaction {
            consent: &Leaves,
            break_glass: true,
            ..usual(&plan, &targets, &world, &mut log)
        };
        let ended = transaction.apply().unwrap();
        assert!(matches!(ended, Ended::With(Outcome::RolledBack, _)), "{step}: {ended:?}");
        same(&pretend);
    }
}

/// It is ours for so many looks.
struct TakenOver(Cell<usize>);

impl Turn for TakenOver {
    fn lost(&self) -> Option<String> {
        let left = self.0.get();
        self.0.set(left.saturating_sub(1));
        (left == 0).then(|| "another session took over: somebody-els".into())
    }
}

#[test]
fn whoever_is_not_the_only_writer_any_more_does_nothing_more() {
    let plan = plan();
    let mut stopped = 0;
    for looks in 0..20 {
        let (pretend, mut entries) = (pretend(), Vec::new());
        let mut log = DyingLog { entries: &mut entries, lives: None };
        let world = Body { pretend: &pretend, plan: &plan, gets_worse: false };
        let turn = TakenOver(Cell::new(looks));
        let mut transaction =
            Transaction { turn: &turn, ..usual(&plan, &pretend, &world, &mut log) };
        let ended = transaction.apply().unwrap();
        let Ended::With(Outcome::Stopped | Outcome::Untouched, says) = &ended else { continue };
        stopped += 1;
        assert!(says.contains("another session took over: somebody-els"), "{says}");
        let undone = entries.iter().any(|one| matches!(one.event, Event::IntendsUndo { .. }));
        assert!(!undone, "what another one may be working on is left alone");
    }
    assert!(stopped > plan.steps.len(), "{stopped}");
}

/// After the last step nobody can say how the cluster is.
struct Silenced<'a>(Body<'a>);

impl World for Silenced<'_> {
    fn look(&self) -> Result<Look, String> {
        match self.0.is_done() {
            false => self.0.look(),
            true => Err("no answer".into()),
        }
    }
    fn glance(&self) -> Result<FactBase, String> {
        self.0.glance()
    }
    fn would_show(&self, base: &FactBase, state: &StateRef) -> bool {
        self.0.would_show(base, state)
    }
}

/// The data that would show the root is not there any more.
struct Blinded<'a>(Body<'a>);

impl World for Blinded<'_> {
    fn look(&self) -> Result<Look, String> {
        self.0.look()
    }
    fn glance(&self) -> Result<FactBase, String> {
        self.0.glance()
    }
    fn would_show(&self, _: &FactBase, _: &StateRef) -> bool {
        false
    }
}

#[test]
fn a_root_that_cannot_be_told_any_more_is_not_called_fixed() {
    let plan = plan();
    let (pretend, mut entries) = (pretend(), Vec::new());
    let mut log = DyingLog { entries: &mut entries, lives: None };
    let world = Blinded(Body { pretend: &pretend, plan: &plan, gets_worse: false });
    let mut transaction = usual(&plan, &pretend, &world, &mut log);
    let ended = transaction.apply().unwrap();
    let Ended::With(Outcome::Stopped, says) = &ended else { panic!("{ended:?}") };
    assert!(says.contains("cannot be told any more"), "{says}");
}

#[test]
fn a_cluster_that_cannot_be_read_is_not_called_worse() {
    let plan = plan();
    let (pretend, mut entries) = (pretend(), Vec::new());
    let mut log = DyingLog { entries: &mut entries, lives: None };
    let body = Body { pretend: &pretend, plan: &plan, gets_worse: false };
    let world = Silenced(body);
    let mut transaction = usual(&plan, &pretend, &world, &mut log);
    let ended = transaction.apply().unwrap();
    let Ended::With(Outcome::Stopped, says) = &ended else { panic!("{ended:?}") };
    assert!(says.contains("cannot be read: no answer"), "{says}");
    assert!(plan.steps.iter().all(|step| pretend.look(step).unwrap().standing == Standing::Done
        || matches!(step.action, Action::Wait)));
}

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
struct Remembers(std::cell::RefCell<Vec<String>>);

impl Consent for Remembers {
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

/// Who paused the pool before us unpauses it.
#[test]
fn what_was_so_before_is_not_ended_by_the_plan() {
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
    let pool = EntityId::cluster_scoped("MachineConfigPool", "worker");
    let is_so = json!({"on": "Node/worker-1", "that": "!self.controlPlane", "says": "it is so"});
    plan.steps[0].unless = vec![serde_json::from_value(is_so).unwrap()];
    let plan = plan.sealed();
    let (pretend, mut entries) = (pretend(), Vec::new());
    pretend.things().objects.get_mut(&pool).unwrap()["spec"]["paused"] = json!(true);
    let mut log = DyingLog { entries: &mut entries, lives: None };
    let world = Body { pretend: &pretend, plan: &plan, gets_worse: false };
    usual(&plan, &pretend, &world, &mut log).apply().unwrap();
    assert_eq!(pretend.things().objects[&pool]["spec"]["paused"], json!(true));
    let skipped = |one: &&Entry| matches!(one.event, Event::Skipped { .. });
    assert_eq!(entries.iter().filter(skipped).count(), 2, "{entries:#?}");
}
