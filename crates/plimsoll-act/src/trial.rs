//! A plan tried out in memory, on the objects of a case: carried out, killed after every line of its journal, gone
//! on with, and taken back. It shows that its guards let it through, that its changes fit, and that what is taken
//! back is as it was. How a cluster reacts it cannot show: conditions are left out.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use plimsoll_model::diagnosis::{Diagnosis, StateRef, Verdict};
use plimsoll_model::plan::{Action, Plan, Step, Target as Where, Undo};
use plimsoll_model::session::{Entry, Event, Outcome};
use plimsoll_model::{EntityId, FactBase, Time, Value as Fact};
use plimsoll_repair::{Observed, exact};
use serde_json::{Map, Value};

use crate::journal::{Log, Unwritable};
use crate::pretend::{Pretend, Things, names};
use crate::target::{Kept, Sight, Target, Targets, Trouble};
use crate::transaction::{Alone, Consent, Ended, Look, Pace, Transaction, World};

/// More lines than any plan's journal has.
const MOST_LINES: usize = 500;

/// What is there by that group and name, if anything; or why that cannot be told.
pub type Object<'a> = dyn Fn(&str, &EntityId) -> Result<Option<Value>, String> + 'a;

/// Why the plan does not hold. `object` finds what is there before it.
pub fn tried(
    plan: Plan,
    base: &FactBase,
    diagnosis: &Diagnosis,
    object: &Object<'_>,
) -> Result<(), String> {
    let mut observed = Observed::new();
    for step in &plan.steps {
        if let Where::Api(target) = &step.target {
            observed.insert(target.entity(), object(&target.group, &target.entity())?);
        }
    }
    let mut plan = exact(plan, &observed);
    if !plan.hindrances.is_empty() {
        let all: Vec<String> = plan.hindrances.iter().map(ToString::to_string).collect();
        return Err(all.join("; "));
    }
    if !plan.steps.iter().any(acts) {
        return Err("it has nothing that could be carried out".into());
    }
    for step in &mut plan.steps {
        (step.require, step.unless, step.expect) = (Vec::new(), Vec::new(), Vec::new());
    }
    plan = plan.sealed();
    let objects = observed.into_iter().filter_map(|(entity, found)| Some((entity, found?)));
    let objects: BTreeMap<EntityId, Value> = objects.collect();
    Stage { plan: &plan, base: &as_if_live(base), diagnosis, objects }.all()
}

fn acts(step: &Step) -> bool {
    !matches!(step.action, Action::Hand { .. } | Action::Wait)
}

/// A server does not tell empty annotations from none.
fn plain(object: &Value) -> Value {
    let mut object = object.clone();
    if object.pointer("/metadata/annotations").is_some_and(|all| *all == Value::Object(Map::new()))
        && let Some(metadata) = object["metadata"].as_object_mut()
    {
        metadata.remove("annotations");
    }
    object
}

/// What guards ask for whole, a live cluster would show whole.
fn as_if_live(base: &FactBase) -> FactBase {
    let mut base = base.clone();
    let whole = |plural: &str| (plural.to_string(), Fact::List(Vec::new()));
    let lists = ["nodes", "baremetalhosts", "machineconfigpools"].map(whole);
    let cluster = base.entities.entry(EntityId::cluster()).or_default();
    cluster.facts.insert("lists".into(), Fact::Map(lists.into()));
    base
}

struct Stage<'a> {
    plan: &'a Plan,
    base: &'a FactBase,
    diagnosis: &'a Diagnosis,
    objects: BTreeMap<EntityId, Value>,
}

impl Stage<'_> {
    fn all(&self) -> Result<(), String> {
        for lines in 1..=MOST_LINES {
            let was_killed = self.killed_after(lines, false)?;
            self.killed_after(lines, true)?;
            if !was_killed {
                return Ok(());
            }
        }
        Err(format!("its journal has more than {MOST_LINES} lines"))
    }

    /// Whether it was: a journal that is shorter was written to its end.
    fn killed_after(&self, lines: usize, goes_back: bool) -> Result<bool, String> {
        let play = Play::new(self);
        let mut entries = Vec::new();
        let first = play.life(&mut entries, Some(lines), false);
        let was_killed = first.is_err();
        let last = match first {
            Ok(ended) if !goes_back => ended,
            _ => {
                let ended = play.life(&mut entries, None, goes_back);
                ended.map_err(|error| error.to_string())?
            }
        };
        let when = match was_killed {
            true => format!("killed after line {lines}"),
            false => "not killed".into(),
        };
        // What breaks a rule for a time is taken back by itself.
        let goes_back = goes_back || self.plan.break_glass_minutes.is_some();
        match (&last, goes_back) {
            (Ended::With(Outcome::Fixed, _), false) => {}
            (Ended::With(Outcome::RolledBack | Outcome::PartlyRolledBack, _), true) => {
                play.is_as_before().map_err(|what| format!("{when}, taken back: {what}"))?;
            }
            (Ended::Refused(why), _) => return Err(format!("{when}: {}", why.join("; "))),
            (Ended::Stale(why), _) => return Err(format!("{when}: {why}")),
            (Ended::With(outcome, says), _) => return Err(format!("{when}: {outcome:?}: {says}")),
        }
        Ok(was_killed)
    }
}

/// One cluster, which outlives those who work on it.
struct Play<'a> {
    stage: &'a Stage<'a>,
    pretend: Pretend,
    before: Things,
    done: RefCell<BTreeSet<usize>>,
    clock: Cell<i64>,
}

impl<'a> Play<'a> {
    fn new(stage: &'a Stage<'a>) -> Self {
        let pretend = Pretend::before(stage.plan, stage.objects.clone());
        let before = pretend.things().clone();
        Self { stage, pretend, before, done: RefCell::default(), clock: Cell::default() }
    }

    fn life(
        &self,
        entries: &mut Vec<Entry>,
        lines: Option<usize>,
        back: bool,
    ) -> Result<Ended, Unwritable> {
        let none = Duration::ZERO;
        let mut log = Mortal { entries, lines, clock: &self.clock };
        let mut transaction = Transaction {
            plan: self.stage.plan,
            targets: self,
            world: self,
            consent: &Yes,
            turn: &Alone,
            log: &mut log,
            pace: Pace { poll: none, settle: none, dwell: none, minute: none },
            unattended: 0,
            break_glass: self.stage.plan.break_glass_minutes.is_some(),
            again: false,
            by: "trial".into(),
        };
        if back { transaction.roll_back() } else { transaction.apply() }
    }

    fn is_done(&self) -> bool {
        let done = self.done.borrow();
        let mut acting = self.stage.plan.steps.iter().filter(|step| acts(step));
        acting.all(|step| done.contains(&step.number))
    }

    /// But for what no step takes back, and says so.
    fn is_as_before(&self) -> Result<(), String> {
        let is_final =
            |step: &&Step| matches!(step.undo, Undo::Impossible { .. } | Undo::Nothing { .. });
        let left: BTreeSet<String> = (self.stage.plan.steps.iter().filter(is_final))
            .flat_map(|step| match &step.target {
                Where::Api(object) => vec![object.entity().to_string()],
                _ => names(step),
            })
            .collect();
        let now = self.pretend.things();
        let objects: BTreeSet<&EntityId> =
            now.objects.keys().chain(self.before.objects.keys()).collect();
        let changed = |entity: &&&EntityId| {
            now.objects.get(entity).map(plain) != self.before.objects.get(entity).map(plain)
                && !left.contains(&entity.to_string())
        };
        if let Some(entity) = objects.iter().find(changed) {
            return Err(format!("{entity} is not as it was"));
        }
        let other = now.others.iter().find(|(name, value)| {
            self.before.others.get(*name) != Some(*value) && !left.contains(*name)
        });
        other.map_or(Ok(()), |(name, _)| Err(format!("{name} is not as it was")))
    }
}

impl Targets for Play<'_> {
    fn of(&self, _: &Step) -> Result<&dyn Target, Trouble> {
        Ok(self)
    }
}

impl Target for Play<'_> {
    fn look(&self, step: &Step) -> Result<Sight, Trouble> {
        self.pretend.look(step)
    }
    fn rehearse(&self, step: &Step) -> Result<(), Trouble> {
        self.pretend.rehearse(step)
    }
    fn keep(&self, step: &Step) -> Result<Vec<Kept>, Trouble> {
        self.pretend.keep(step)
    }
    fn act(&self, step: &Step) -> Result<String, Trouble> {
        let said = self.pretend.act(step)?;
        self.done.borrow_mut().insert(step.number);
        Ok(said)
    }
    fn undo(&self, step: &Step, left: Option<&str>) -> Result<String, Trouble> {
        let said = self.pretend.undo(step, left)?;
        self.done.borrow_mut().remove(&step.number);
        Ok(said)
    }
}

/// It is as the case shows it until the last step is done, and then well.
impl World for Play<'_> {
    fn look(&self) -> Result<Look, String> {
        let mut diagnosis = self.stage.diagnosis.clone();
        if self.is_done() {
            (diagnosis.roots, diagnosis.states) = (Vec::new(), Vec::new());
            diagnosis.verdict = Verdict::Healthy;
        }
        Ok(Look { base: self.stage.base.clone(), diagnosis })
    }

    fn glance(&self) -> Result<FactBase, String> {
        Ok(self.stage.base.clone())
    }

    fn would_show(&self, _: &FactBase, _: &StateRef) -> bool {
        true
    }
}

/// A journal whose writer dies behind a line.
struct Mortal<'a> {
    entries: &'a mut Vec<Entry>,
    lines: Option<usize>,
    clock: &'a Cell<i64>,
}

impl Log for Mortal<'_> {
    fn entries(&self) -> &[Entry] {
        self.entries
    }

    fn append(&mut self, event: Event) -> Result<(), Unwritable> {
        if self.lines.is_some_and(|lines| self.entries.len() >= lines) {
            return Err(Unwritable("killed".into()));
        }
        self.entries.push(Entry::after(self.entries.last(), self.now(), event));
        Ok(())
    }

    /// A minute passes between two looks at it.
    fn now(&self) -> Time {
        self.clock.set(self.clock.get() + 60);
        Time::from_second(self.clock.get()).unwrap_or(Time::UNIX_EPOCH)
    }
}

struct Yes;

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
