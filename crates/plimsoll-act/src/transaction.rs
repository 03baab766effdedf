//! One plan, carried out, gone on with, or taken back. What happens is decided by the journal and by
//! what the targets show, never by what this process remembers.

mod ending;
mod glass;
mod history;
mod step;
mod undo;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use plimsoll_model::diagnosis::StateRef;
use plimsoll_model::plan::{Action, Condition, Plan, Step, Target as Where};
use plimsoll_model::session::{Baseline, Event, Outcome};
use plimsoll_model::{Diagnosis, EntityId, FactBase, Value};
use plimsoll_repair::guard::{self, Scene};
use plimsoll_repair::{Answer, baseline, holds};

use crate::journal::{Log, Unwritable};
use crate::target::{Sight, Standing, Targets, Trouble};
use history::Progress;
pub use step::BY_HAND;

const WEBHOOKS: &str = "WebhookConfiguration";

/// The cluster as it is now.
pub struct Look {
    pub base: FactBase,
    pub diagnosis: Diagnosis,
}

pub trait World {
    /// Reads everything and diagnoses it.
    fn look(&self) -> Result<Look, String>;
    /// Reads what the guards and conditions ask of, without logs.
    fn glance(&self) -> Result<FactBase, String>;
    /// Whether these facts would show the state if it were there.
    fn would_show(&self, base: &FactBase, state: &StateRef) -> bool;
    /// The same repair of the same root, drawn anew; `None` where nobody here can.
    fn drawn_again(&self, _look: &Look, _plan: &Plan) -> Option<Plan> {
        None
    }
}

/// The person at the console.
pub trait Consent {
    /// Whether somebody is there who can be asked.
    fn is_there(&self) -> bool;
    /// Whether the name was typed, now or in advance.
    fn names(&self, step: &Step, name: &str) -> bool;
    /// Whether a step by hand is done.
    fn did(&self, step: &Step) -> bool;
    /// What is going on.
    fn hears(&self, text: &str);
    /// Whether it should end after this step.
    fn wants_to_stop(&self) -> bool;
}

/// One writer at a time.
pub trait Turn {
    /// Why it is not ours any more. Asked before every step and while it waits.
    fn lost(&self) -> Option<String>;

    /// The same, asked right now of whoever gives it: before every act.
    fn lost_by_now(&self) -> Option<String> {
        self.lost()
    }
}

/// Nobody else can be there.
pub struct Alone;

impl Turn for Alone {
    fn lost(&self) -> Option<String> {
        None
    }
}

/// How long to wait, and how often to look.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Between two looks.
    pub poll: Duration,
    /// For the cluster to become well after the last step.
    pub settle: Duration,
    /// How long it has to stay so.
    pub dwell: Duration,
    /// What a minute of a plan's conditions is.
    pub minute: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            poll: Duration::from_secs(10),
            settle: Duration::from_secs(20 * 60),
            dwell: Duration::from_secs(10 * 60),
            minute: Duration::from_secs(60),
        }
    }
}

/// How it came to an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    With(Outcome, String),
    /// The plan does not fit the cluster any more. Nothing was done, or what was is in the journal.
    Stale(String),
    /// A guard or a condition said no.
    Refused(Vec<String>),
}

pub struct Transaction<'t> {
    pub plan: &'t Plan,
    pub targets: &'t dyn Targets,
    pub world: &'t dyn World,
    pub consent: &'t dyn Consent,
    pub turn: &'t dyn Turn,
    pub log: &'t mut dyn Log,
    pub pace: Pace,
    /// How far a step may reach whose name nobody typed, where nobody is there.
    pub unattended: u8,
    pub break_glass: bool,
    /// What is on its way back goes forward again.
    pub again: bool,
    /// Who does it, for the record.
    pub by: String,
}

/// Why the steps ended before the last one.
enum Halt {
    Stale(usize, String),
    Refused(usize, Vec<String>),
    Failed(usize, String),
    /// Somebody wants nothing more to be changed by this session: the person, or another session.
    Ended(usize, String),
    Unwritable(Unwritable),
}

impl From<Unwritable> for Halt {
    fn from(error: Unwritable) -> Self {
        Halt::Unwritable(error)
    }
}

impl Transaction<'_> {
    /// From the beginning, or from where the journal ends: forward, or back if that is where it was going.
    pub fn apply(&mut self) -> Result<Ended, Unwritable> {
        let progress = Progress::of(self.log.entries());
        if self.is_over_time() {
            self.consent.hears("its time is over; taking it back");
            return self.roll_back();
        }
        if progress.goes_back && !self.again {
            self.consent.hears("it was being taken back; going on with that");
            return self.roll_back();
        }
        self.consent.hears("diagnosing again: is the plan still true?");
        let look = match self.look() {
            Ok(look) => look,
            Err(why) => return Ok(Ended::Stale(format!("the cluster cannot be read: {why}"))),
        };
        // What an earlier life of this session broke is new, however long it has been there.
        let first = self.first_baseline().filter(|_| progress.touched());
        let before = first.unwrap_or_else(|| baseline(&look.diagnosis, self.plan));
        if let Some(why) = self.stale(&look.diagnosis, &progress) {
            return match progress.touched() {
                true => self.stopped(Halt::Stale(progress.next(self.plan), why), &before),
                false => Ok(Ended::Stale(why)),
            };
        }
        if let Some(why) = self.moved().filter(|_| !progress.touched()) {
            return Ok(Ended::Stale(why));
        }
        if !progress.touched()
            && let Some(now) = self.world.drawn_again(&look, self.plan)
            && let Some(why) = plimsoll_repair::otherwise(self.plan, &now)
        {
            return Ok(Ended::Stale(why));
        }
        // What would stop half-way is not begun, and not gone on with.
        let unsaid = self.unsaid(&progress);
        if progress.touched() && !unsaid.is_empty() {
            return Ok(Ended::Refused(unsaid));
        }
        if !progress.touched() {
            let mut refusals = self.refusals_of_all(&look);
            refusals.extend(unsaid);
            if !refusals.is_empty() {
                return Ok(Ended::Refused(refusals));
            }
            let (plan, by) = (self.plan.digest.clone(), self.by.clone());
            self.log.append(Event::Began { plan, by, before: Some(before.clone()) })?;
        }
        match self.steps() {
            Ok(()) if self.plan.break_glass_minutes.is_some() => self.hold_for_its_time(),
            Ok(()) => self.verify(&before),
            Err(Halt::Unwritable(error)) => Err(error),
            Err(halt) => self.stopped(halt, &before),
        }
    }

    /// Before anything is done, by hand or not: an object that is not the one that the plan was made for. A later
    /// step on it sees what an earlier one made of it, and is looked at then.
    fn moved(&self) -> Option<String> {
        let mut seen = BTreeSet::new();
        for step in &self.plan.steps {
            let Where::Api(object) = &step.target else { continue };
            if !seen.insert(object.entity()) || object.uid.is_none() {
                continue;
            }
            let sight = self.targets.of(step).and_then(|target| target.look(step));
            if let Ok(Sight { standing: Standing::Elsewhere(why), .. }) = sight {
                return Some(why);
            }
        }
        None
    }

    /// As it was when the session began. One that ended before its first act begins anew.
    fn first_baseline(&self) -> Option<Baseline> {
        self.log.entries().iter().rev().find_map(|entry| match &entry.event {
            Event::Began { before, .. } => before.clone(),
            _ => None,
        })
    }

    /// Everything, of the cluster that the plan is for.
    fn look(&self) -> Result<Look, String> {
        let look = self.world.look()?;
        self.is_of_this_cluster(&look.base).map(|()| look)
    }

    fn glance(&self) -> Result<FactBase, String> {
        let base = self.world.glance()?;
        self.is_of_this_cluster(&base).map(|()| base)
    }

    /// Whoever reads may find another way in than whoever writes. What cannot be told is no yes.
    fn is_of_this_cluster(&self, base: &FactBase) -> Result<(), String> {
        let Some(known) = &self.plan.cluster.id else { return Ok(()) };
        let cluster = base.entities.get(&EntityId::cluster());
        match cluster.and_then(|cluster| cluster.facts.get("id")).and_then(Value::text) {
            Some(now) if now == known => Ok(()),
            Some(now) => {
                Err(format!("what was read is cluster {now}, and the plan is for {known}"))
            }
            None => Err(format!("it cannot be told whether what was read is cluster {known}")),
        }
    }

    /// The plan was made for other roots than there are.
    fn stale(&self, now: &Diagnosis, progress: &Progress) -> Option<String> {
        use plimsoll_model::diagnosis::{Confidence, Status};
        // What a break-glass is seen by is a fault of its own, and expected.
        if self.plan.break_glass_minutes.is_some() && progress.touched() {
            return None;
        }
        let root = &self.plan.root;
        let is_it =
            |id: &str, entity: &plimsoll_model::EntityId| id == root.id && *entity == root.entity;
        let active =
            now.states.iter().any(|s| s.status == Status::Active && is_it(&s.id, &s.entity));
        let blamed = now.roots.iter().any(|found| is_it(&found.id, &found.entity));
        if !progress.touched() && !active && !blamed {
            return Some(format!("{} ({}) is not there any more", root.id, root.entity));
        }
        let new: Vec<String> = (now.roots.iter())
            .filter(|found| found.confidence != Confidence::Suspected)
            .filter(|found| !self.plan.roots.contains(&found.state()))
            // What the root caused may stand alone once it is gone.
            .filter(|found| !self.plan.reason.explains.contains(&found.state()))
            .filter(|found| !self.is_left_half_way(&found.entity, progress))
            .map(|found| format!("{} ({})", found.id, found.entity))
            .collect();
        (!new.is_empty()).then(|| format!("another fault appeared: {}", new.join(", ")))
    }

    /// A pool that this plan paused is no other fault, nor is the second request of a kubelet whose first one it
    /// approved, nor a certificate whose authority it made anew: it is what is gone on with. Once anything is
    /// done, whatever the plan touches is between two states until its end.
    fn is_left_half_way(&self, entity: &EntityId, progress: &Progress) -> bool {
        let is_machine = |name: &str| {
            ["Node", "BareMetalHost"].contains(&entity.kind.as_str()) && entity.name == name
        };
        let is_its_own = |step: &Step| match (&step.action, &step.target) {
            (Action::Approve { .. }, _) => entity.kind == "CertificateSigningRequest",
            (_, Where::Api(object)) => {
                // Both kinds of webhook configurations are known by one name.
                let is_of_kind = object.kind == entity.kind
                    || (object.kind.ends_with(WEBHOOKS) && entity.kind == WEBHOOKS);
                is_of_kind && object.name == entity.name
            }
            (_, Where::Node { name }) => is_machine(name),
            (_, Where::Bmc { host, .. }) => is_machine(host),
            _ => false,
        };
        let is_touched = || self.plan.steps.iter().any(is_its_own);
        progress.touched() && (*entity == self.plan.root.entity || is_touched())
    }

    /// Before anything is done: what speaks against any step as things are now.
    fn refusals_of_all(&self, look: &Look) -> Vec<String> {
        let mut found = Vec::new();
        for step in &self.plan.steps {
            // The object may only come to be by an earlier step, and is judged then.
            let refusals = self.refusals(step, &look.base, Some(&look.diagnosis), None);
            found.extend(refusals.into_iter().map(|why| format!("step {}: {why}", step.number)));
        }
        found
    }

    fn refusals(
        &self,
        step: &Step,
        base: &FactBase,
        diagnosis: Option<&Diagnosis>,
        object: Option<&serde_json::Value>,
    ) -> Vec<String> {
        let plan = self.plan;
        let scene = Scene { plan, step, base, diagnosis, object, break_glass: self.break_glass };
        let shown = |refusal: guard::Refusal| format!("{} ({})", refusal.why, refusal.guard);
        guard::refusals(&scene).into_iter().map(shown).collect()
    }

    fn steps(&mut self) -> Result<(), Halt> {
        // Whoever goes on with it may be somebody else, and types the names again.
        let life = self.log.entries().len();
        for step in &self.plan.steps {
            let progress = Progress::of(self.log.entries());
            let of = progress.step(step.number);
            if of.holds || (of.skipped && !self.is_needed_again(step, &progress)?) {
                continue;
            }
            self.may_go_on(step.number)?;
            if !of.did {
                self.step(step, of.intends, life)?;
            }
            if Progress::of(self.log.entries()).step(step.number).skipped {
                continue;
            }
            self.await_expected(step)?;
            self.log.append(Event::Holds { step: step.number })?;
        }
        Ok(())
    }

    /// What the step is for has to come true in its time.
    fn await_expected(&mut self, step: &Step) -> Result<(), Halt> {
        if step.expect.is_empty() {
            return Ok(());
        }
        let longest = step.expect.iter().map(|one| one.within).max().unwrap_or(0);
        let minutes = u32::try_from(longest).unwrap_or(u32::MAX);
        let end = Instant::now() + self.pace.minute.saturating_mul(minutes);
        loop {
            // A cluster that is restarting may not answer for a while.
            let unmet = match self.glance() {
                Ok(base) => unmet(&base, &step.expect),
                Err(why) => vec![why],
            };
            if unmet.is_empty() {
                return Ok(());
            }
            if Instant::now() >= end {
                let why = format!("not within {longest} min: {}", unmet.join("; "));
                self.log.append(Event::Failed { step: step.number, why: why.clone() })?;
                return Err(Halt::Failed(step.number, why));
            }
            self.consent.hears(&format!("waiting: {}", unmet.join("; ")));
            self.may_go_on(step.number)?;
            std::thread::sleep(self.pace.poll);
        }
    }

    fn may_go_on(&self, number: usize) -> Result<(), Halt> {
        self.told_to_end().map_or(Ok(()), |why| Err(Halt::Ended(number, why)))
    }

    fn told_to_end(&self) -> Option<String> {
        if self.consent.wants_to_stop() {
            return Some("stopped by you".into());
        }
        self.turn.lost()
    }
}

fn halt(number: usize, trouble: Trouble) -> Halt {
    match trouble {
        Trouble::Stale(why) => Halt::Stale(number, why),
        Trouble::Refused(why) => Halt::Refused(number, vec![why]),
        Trouble::Lost(why) | Trouble::Failed(why) => Halt::Failed(number, why),
    }
}

/// In words; what cannot be told does not hold.
fn unmet(base: &FactBase, conditions: &[Condition]) -> Vec<String> {
    let unmet = conditions.iter().filter_map(|condition| match holds(base, condition) {
        Answer::Holds => None,
        Answer::Fails => Some(format!("not yet: {} ({})", condition.says, condition.on)),
        Answer::Unknown(why) => {
            Some(format!("cannot be told: {} ({}: {why})", condition.says, condition.on))
        }
    });
    unmet.collect()
}
