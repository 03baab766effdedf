//! One plan, carried out, gone on with, or taken back. What happens is decided by the journal and by
//! what the targets show, never by what this process remembers.

mod glass;
mod history;
mod undo;

use std::time::{Duration, Instant};

use plimsoll_model::diagnosis::StateRef;
use plimsoll_model::plan::{Action, Condition, Plan, Step, TYPED_FROM, Target as Where};
use plimsoll_model::session::{Entry, Event, Outcome};
use plimsoll_model::{Diagnosis, EntityId, FactBase};
use plimsoll_repair::guard::{self, Scene};
use plimsoll_repair::{Answer, Judged, holds, judge};

use crate::journal::{Log, Unwritable};
use crate::target::{Standing, Targets, Trouble};
use history::{OfStep, Progress};

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
}

/// The person at the console.
pub trait Consent {
    /// For what cannot be rehearsed and is felt: whether the name was typed.
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
    /// Who took it over meanwhile. Asked before every step and while it waits.
    fn taken_by_another(&self) -> Option<String>;
}

/// Nobody else can be there.
pub struct Alone;

impl Turn for Alone {
    fn taken_by_another(&self) -> Option<String> {
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
    pub break_glass: bool,
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
    /// From the beginning, or from where the journal ends.
    pub fn apply(&mut self) -> Result<Ended, Unwritable> {
        let progress = Progress::of(self.log.entries());
        let fresh = !progress.began;
        if self.is_over_time() {
            self.consent.hears("its time is over; taking it back");
            return self.roll_back();
        }
        self.consent.hears("diagnosing again: is the plan still true?");
        let before = match self.world.look() {
            Ok(look) => look,
            Err(why) => return Ok(Ended::Stale(format!("the cluster cannot be read: {why}"))),
        };
        // What a break-glass is seen by is a fault of its own, and expected.
        let is_broken = self.plan.break_glass_minutes.is_some() && progress.touched();
        if let Some(why) = self.stale(&before.diagnosis, &progress).filter(|_| !is_broken) {
            return Ok(Ended::Stale(why));
        }
        if fresh {
            let refusals = self.refusals_of_all(&before);
            if !refusals.is_empty() {
                return Ok(Ended::Refused(refusals));
            }
            let by = self.by.clone();
            self.log.append(Event::Began { plan: self.plan.digest.clone(), by })?;
        }
        let halt = self.steps(&before);
        match halt {
            Ok(()) if self.plan.break_glass_minutes.is_some() => self.hold_for_its_time(),
            Ok(()) => self.verify(&before.diagnosis),
            Err(Halt::Unwritable(error)) => Err(error),
            Err(halt) => self.stopped(halt, &before.diagnosis),
        }
    }

    /// The plan was made for other roots than there are.
    fn stale(&self, now: &Diagnosis, progress: &Progress) -> Option<String> {
        use plimsoll_model::diagnosis::{Confidence, Status};
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
    /// approved: it is what is gone on with.
    fn is_left_half_way(&self, entity: &EntityId, progress: &Progress) -> bool {
        self.plan.steps.iter().any(|step| {
            let OfStep { intends, did, .. } = progress.step(step.number);
            let is_its_own = match (&step.action, &step.target) {
                (Action::Approve { .. }, _) => entity.kind == "CertificateSigningRequest",
                (_, Where::Api(object)) => {
                    // Both kinds of webhook configurations are known by one name.
                    let is_of_kind = object.kind == entity.kind
                        || (object.kind.ends_with(WEBHOOKS) && entity.kind == WEBHOOKS);
                    is_of_kind && object.name == entity.name
                }
                _ => false,
            };
            (intends || did) && is_its_own
        })
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

    fn steps(&mut self, before: &Look) -> Result<(), Halt> {
        for step in &self.plan.steps {
            let progress = Progress::of(self.log.entries()).step(step.number);
            if progress.holds || progress.skipped {
                continue;
            }
            self.may_go_on(step.number)?;
            if !progress.did {
                self.step(step, &before.diagnosis, progress.intends)?;
            }
            if Progress::of(self.log.entries()).step(step.number).skipped {
                continue;
            }
            self.await_expected(step)?;
            self.log.append(Event::Holds { step: step.number })?;
        }
        Ok(())
    }

    /// One step: everything that comes before it is done, and then it.
    fn step(&mut self, step: &Step, diagnosis: &Diagnosis, intended: bool) -> Result<(), Halt> {
        let number = step.number;
        let told = format!("step {number} of {}: {}", self.plan.steps.len(), step.title);
        self.consent.hears(&told);
        if !step.unless.is_empty() {
            let base = self.world.glance().map_err(|why| Halt::Failed(number, why))?;
            if unmet(&base, &step.unless).is_empty() {
                let says = "not needed any more".to_string();
                return Ok(self.log.append(Event::Skipped { step: number, says })?);
            }
        }
        match &step.action {
            Action::Wait => return Ok(()),
            Action::Hand { .. } => {
                self.log.append(Event::Intends { step: number, before: String::new() })?;
                return match self.consent.did(step) {
                    true => {
                        let says = "done by hand".to_string();
                        Ok(self.log.append(Event::Did {
                            step: number,
                            after: String::new(),
                            says,
                        })?)
                    }
                    false => Err(Halt::Failed(number, "it was not done by hand".into())),
                };
            }
            _ => {}
        }
        let target = self.targets.of(step).map_err(|trouble| halt(number, trouble))?;
        let sight = target.look(step).map_err(|trouble| halt(number, trouble))?;
        match (&sight.standing, intended) {
            // It was done, and the line that says so was not written any more.
            (Standing::Done, true) => {
                let event = Event::Found { step: number, after: sight.hash };
                return Ok(self.log.append(event)?);
            }
            (Standing::Done, false) => {
                let why = "it is done already, and not by this plan".to_string();
                return Err(Halt::Stale(number, why));
            }
            (Standing::Elsewhere(why), _) => return Err(Halt::Stale(number, why.clone())),
            (Standing::Ahead, _) => {}
        }
        let base = self.world.glance().map_err(|why| Halt::Failed(number, why))?;
        let refused = self.refusals(step, &base, Some(diagnosis), sight.object.as_ref());
        let unmet = unmet(&base, &step.require);
        let why: Vec<String> = refused.into_iter().chain(unmet).collect();
        if !why.is_empty() {
            return Err(Halt::Refused(number, why));
        }
        target.rehearse(step).map_err(|trouble| halt(number, trouble))?;
        if step.blast >= TYPED_FROM {
            let mut name = touched_name(step, self.plan);
            if self.plan.break_glass_minutes.is_some() {
                name = format!("break-glass {name}");
            }
            let is_it = |entry: &Entry| match &entry.event {
                Event::Confirmed { name: known, .. } => *known == name,
                _ => false,
            };
            // One name is typed once a session.
            if !self.log.entries().iter().any(is_it) {
                if !self.consent.names(step, &name) {
                    let why = format!("nobody typed '{name}'");
                    return Err(Halt::Refused(number, vec![why]));
                }
                self.log.append(Event::Confirmed { step: number, name })?;
            }
        }
        // Somebody may have thought about the name for long.
        self.may_go_on(number)?;
        for kept in target.keep(step).map_err(|trouble| halt(number, trouble))? {
            let event = Event::Kept { step: number, place: kept.place, sha256: kept.sha256 };
            self.log.append(event)?;
        }
        self.log.append(Event::Intends { step: number, before: sight.hash })?;
        match target.act(step) {
            Ok(says) => {
                let after = target.look(step).map(|sight| sight.hash).unwrap_or_default();
                Ok(self.log.append(Event::Did { step: number, after, says })?)
            }
            Err(trouble) => {
                let why = trouble.to_string();
                self.log.append(Event::Failed { step: number, why })?;
                Err(halt(number, trouble))
            }
        }
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
            let unmet = match self.world.glance() {
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
        let who: String = self.turn.taken_by_another()?.chars().take(12).collect();
        Some(format!("another session took over: {who}"))
    }

    /// After the last step: well, and well for a while.
    fn verify(&mut self, before: &Diagnosis) -> Result<Ended, Unwritable> {
        let end = Instant::now() + self.pace.settle;
        // One that is well and ill by turns comes to an end as well.
        let last = end + self.pace.dwell.saturating_mul(2);
        let mut well_since: Option<Instant> = None;
        let mut bad_in_a_row = 0;
        loop {
            let judged = self.judged(before);
            match judged.outcome {
                Outcome::Fixed => {
                    let since = *well_since.get_or_insert_with(Instant::now);
                    if since.elapsed() >= self.pace.dwell {
                        return self.ended(Outcome::Fixed, judged.says);
                    }
                    self.consent.hears("well; waiting to see that it stays so");
                }
                _ => well_since = None,
            }
            bad_in_a_row = if judged.outcome == Outcome::Worse { bad_in_a_row + 1 } else { 0 };
            let now = Instant::now();
            let over = now >= last || (now >= end && well_since.is_none());
            match judged.outcome {
                // Rollouts pass through states that look bad; what stays so is.
                Outcome::Worse if over && bad_in_a_row > 1 => {
                    return self.roll_back_from(&judged.says);
                }
                Outcome::Improved | Outcome::Unchanged if over => {
                    return self.ended(judged.outcome, judged.says);
                }
                Outcome::Stopped if over => return self.ended(Outcome::Stopped, judged.says),
                Outcome::Fixed if over => {
                    let says = "it is well, and does not stay so".to_string();
                    return self.ended(Outcome::Improved, says);
                }
                Outcome::Fixed => {}
                _ => self.consent.hears(&format!("not yet: {}", judged.says)),
            }
            if let Some(why) = self.told_to_end() {
                return self.ended(Outcome::Stopped, format!("{why}; {}", judged.says));
            }
            std::thread::sleep(self.pace.poll);
        }
    }

    /// A look after the last step. What cannot be seen is neither well nor worse.
    fn judged(&self, before: &Diagnosis) -> Judged {
        let unknown = |says: String| Judged { outcome: Outcome::Stopped, says };
        let root = &self.plan.root;
        let look = match self.world.look() {
            Ok(look) => look,
            Err(why) => return unknown(format!("the cluster cannot be read: {why}")),
        };
        let judged = judge(before, &look.diagnosis, self.plan);
        match judged.outcome == Outcome::Fixed && !self.world.would_show(&look.base, root) {
            true => unknown(format!("{} ({}) cannot be told any more", root.id, root.entity)),
            false => judged,
        }
    }

    fn ended(&mut self, outcome: Outcome, says: String) -> Result<Ended, Unwritable> {
        self.log.append(Event::Ended { outcome, says: says.clone() })?;
        Ok(Ended::With(outcome, says))
    }

    /// A step did not go. Is anything worse than before?
    fn stopped(&mut self, halt: Halt, before: &Diagnosis) -> Result<Ended, Unwritable> {
        let touched = Progress::of(self.log.entries()).touched();
        let told_to_end = matches!(halt, Halt::Ended(..)) || self.consent.wants_to_stop();
        let (number, ended, why) = match halt {
            Halt::Stale(number, why) => (number, Some(Ended::Stale(why.clone())), vec![why]),
            Halt::Refused(number, why) => (number, Some(Ended::Refused(why.clone())), why),
            Halt::Failed(number, why) | Halt::Ended(number, why) => (number, None, vec![why]),
            Halt::Unwritable(error) => return Err(error),
        };
        let says = format!("step {number}: {}", why.join("; "));
        if ended.is_some() {
            self.log.append(Event::Refused { step: number, why })?;
        }
        if !touched {
            self.log.append(Event::Ended { outcome: Outcome::Untouched, says: says.clone() })?;
            return Ok(ended.unwrap_or(Ended::With(Outcome::Untouched, says)));
        }
        // A rule that is broken does not stay so because a step went wrong.
        if self.plan.break_glass_minutes.is_some() && !told_to_end {
            self.consent.hears(&format!("{says}; taking it back"));
            return self.roll_back();
        }
        let worse = |look: Result<Look, String>| match look {
            Ok(look) => {
                let judged = judge(before, &look.diagnosis, self.plan);
                (judged.outcome == Outcome::Worse).then_some(judged.says)
            }
            Err(_) => None,
        };
        // Who stops it wants nothing more to be changed. And once may be chance.
        if !told_to_end && worse(self.world.look()).is_some() {
            std::thread::sleep(self.pace.poll);
            if let Some(why) = worse(self.world.look()) {
                return self.roll_back_from(&format!("{says}; {why}"));
            }
        }
        self.log.append(Event::Ended { outcome: Outcome::Stopped, says: says.clone() })?;
        Ok(ended.unwrap_or(Ended::With(Outcome::Stopped, says)))
    }

    fn roll_back_from(&mut self, why: &str) -> Result<Ended, Unwritable> {
        self.log.append(Event::Ended { outcome: Outcome::Worse, says: why.into() })?;
        self.consent.hears(&format!("it got worse ({why}); taking it back"));
        self.roll_back()
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

/// What a person types to go on.
fn touched_name(step: &Step, plan: &Plan) -> String {
    match &step.target {
        Where::Api(object) => object.name.clone(),
        Where::Node { name } => name.clone(),
        Where::Bmc { host, .. } => host.clone(),
        Where::Nothing => plan.root.entity.name.clone(),
    }
}
