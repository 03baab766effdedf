//! Killed at any instant, a session goes on or back, and nothing outside its plan is ever touched.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

mod again;
#[path = "../support/mod.rs"]
mod support;

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

use plimsoll_act::{
    Alone, Consent, Ended, Kept, Log, Look, Pretend, Sight, Standing, Target, Targets, Transaction,
    Trouble, Turn, Unwritable, World,
};
use plimsoll_model::diagnosis::StateRef;
use plimsoll_model::plan::{Action, Plan, Step};
use plimsoll_model::session::{Entry, Event, Outcome};
use plimsoll_model::{EntityId, FactBase, Time};
use serde_json::json;
use support::{Body, Yes, objects, pace, plan, pretend};

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

/// As `Pretend`, and dies before it acts, or cannot do one step, or not take it back.
struct Dying<'a> {
    inner: &'a Pretend,
    acts: Cell<Option<usize>>,
    fails: Option<usize>,
    stuck: Option<(usize, fn() -> Trouble)>,
    undone: RefCell<Vec<usize>>,
}

impl<'a> Dying<'a> {
    fn after(inner: &'a Pretend, acts: Option<usize>) -> Self {
        let (acts, undone) = (Cell::new(acts), RefCell::default());
        Self { inner, acts, fails: None, stuck: None, undone }
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
        self.undone.borrow_mut().push(step.number);
        match self.stuck.filter(|(number, _)| *number == step.number) {
            Some((_, why)) => Err(why()),
            None => self.inner.undo(step, left),
        }
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
        unattended: 0,
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
    fn is_there(&self) -> bool {
        true
    }
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
