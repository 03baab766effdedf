//! One step: asked for, looked at, judged, rehearsed, kept, written down, and then done.

use plimsoll_model::EntityId;
use plimsoll_model::plan::{Action, Plan, Step, Target as Where};
use plimsoll_model::session::{Entry, Event};
use plimsoll_repair::begun_by;

use super::history::Progress;
use super::{Halt, Look, Transaction, halt, unmet};
use crate::target::{Sight, Standing, Target};

/// What a look at the target says of a step that is to be done.
enum Ahead {
    Yes(Sight),
    /// It was done, and the line that says so was not written any more.
    Found(String),
}

impl Transaction<'_> {
    /// Everything that comes before it is done, and then it.
    pub(super) fn step(&mut self, step: &Step, intended: bool, life: usize) -> Result<(), Halt> {
        let number = step.number;
        let told = format!("step {number} of {}: {}", self.plan.steps.len(), step.title);
        self.consent.hears(&told);
        // What holds because this session did it before it was killed is its own, and not there already.
        if intended && !matches!(step.action, Action::Wait | Action::Hand { .. }) {
            let target = self.targets.of(step).map_err(|trouble| halt(number, trouble))?;
            if let Ahead::Found(after) = ahead(target, step, intended)? {
                return Ok(self.log.append(Event::Found { step: number, after })?);
            }
        }
        if let Some(says) = self.is_not_needed(step)? {
            return Ok(self.log.append(Event::Skipped { step: number, says })?);
        }
        match &step.action {
            Action::Wait => return Ok(()),
            Action::Hand { .. } => return self.by_hand(step),
            _ => {}
        }
        let target = self.targets.of(step).map_err(|trouble| halt(number, trouble))?;
        ahead(target, step, false)?;
        self.confirm(step, life)?;
        // Somebody may have thought about the name for long: what counts is how things are after it.
        let sight = match ahead(target, step, false)? {
            Ahead::Yes(sight) => sight,
            Ahead::Found(_) => return Err(Halt::Stale(number, DONE.into())),
        };
        let look = self.still_true(number)?;
        let object = sight.object.as_ref();
        let refused = self.refusals(step, &look.base, Some(&look.diagnosis), object);
        let unmet = unmet(&look.base, &step.require);
        let why: Vec<String> = refused.into_iter().chain(unmet).collect();
        if !why.is_empty() {
            return Err(Halt::Refused(number, why));
        }
        target.rehearse(step).map_err(|trouble| halt(number, trouble))?;
        self.may_go_on(number)?;
        if let Some(why) = self.turn.lost_by_now() {
            return Err(Halt::Ended(number, why));
        }
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

    /// What holds already, or ends what was not begun: who paused a pool before us unpauses it.
    fn is_not_needed(&self, step: &Step) -> Result<Option<String>, Halt> {
        let progress = Progress::of(self.log.entries());
        if let Some(first) =
            begun_by(self.plan, step).filter(|one| progress.step(one.number).skipped)
        {
            let says =
                format!("left as it is: step {} was not needed, so it is not ours", first.number);
            return Ok(Some(says));
        }
        if step.unless.is_empty() {
            return Ok(None);
        }
        let base = self.glance().map_err(|why| Halt::Failed(step.number, why))?;
        let is_so = unmet(&base, &step.unless).is_empty();
        Ok(is_so.then(|| "not needed any more".to_string()))
    }

    /// Left out by an earlier life of the session, and somebody changed since what made it needless.
    pub(super) fn is_needed_again(&self, step: &Step, progress: &Progress) -> Result<bool, Halt> {
        if self.is_not_needed(step)?.is_some() {
            return Ok(false);
        }
        match progress.touched_behind(step.number) {
            true => Err(Halt::Stale(step.number, AGAIN.into())),
            false => Ok(true),
        }
    }

    fn by_hand(&mut self, step: &Step) -> Result<(), Halt> {
        let number = step.number;
        self.log.append(Event::Intends { step: number, before: String::new() })?;
        if !self.consent.did(step) {
            return Err(Halt::Failed(number, "it was not done by hand".into()));
        }
        let says = "done by hand".to_string();
        Ok(self.log.append(Event::Did { step: number, after: String::new(), says })?)
    }

    /// Somebody types the name of what is touched, once for one thing and one life of the session.
    fn confirm(&mut self, step: &Step, life: usize) -> Result<(), Halt> {
        if !self.needs_a_name(step) {
            return Ok(());
        }
        let touched = touched(step, self.plan);
        let name = self.name_of(step);
        let is_it = |entry: &Entry| match &entry.event {
            Event::Confirmed { step: known, name: typed } => {
                let known = self.plan.steps.iter().find(|one| one.number == *known);
                *typed == name && known.is_some_and(|one| self::touched(one, self.plan) == touched)
            }
            _ => false,
        };
        if self.log.entries().iter().skip(life).any(is_it) {
            return Ok(());
        }
        if !self.consent.names(step, &name) {
            return Err(Halt::Refused(step.number, vec![format!("nobody typed '{name}'")]));
        }
        Ok(self.log.append(Event::Confirmed { step: step.number, name })?)
    }

    /// It is felt or final, or nobody is there and it reaches farther than may be done then.
    fn needs_a_name(&self, step: &Step) -> bool {
        let is_done_by_us = !matches!(step.action, Action::Hand { .. } | Action::Wait);
        let is_alone = || !self.consent.is_there() && step.reach() > self.unattended;
        step.is_typed() || (is_done_by_us && is_alone())
    }

    /// What a person types for it.
    fn name_of(&self, step: &Step) -> String {
        let name = called(step, self.plan);
        match self.plan.break_glass_minutes {
            Some(_) => format!("break-glass {name}"),
            None => name,
        }
    }

    /// Where nobody can be asked: what nobody said in advance of the steps that are still to be done.
    pub(super) fn unsaid(&self, progress: &Progress) -> Vec<String> {
        if self.consent.is_there() {
            return Vec::new();
        }
        let mut unsaid: Vec<String> = Vec::new();
        let mut is_policy = false;
        for step in &self.plan.steps {
            let of = progress.step(step.number);
            let (said, name) = match &step.action {
                _ if of.did || of.holds => continue,
                Action::Hand { .. } => (self.consent.did(step), BY_HAND.to_string()),
                _ if self.needs_a_name(step) => {
                    let name = self.name_of(step);
                    (self.consent.names(step, &name), name)
                }
                _ => continue,
            };
            if said {
                continue;
            }
            is_policy |= !matches!(step.action, Action::Hand { .. }) && !step.is_typed();
            let why = format!("nobody sits at a terminal to be asked: --confirm '{name}'");
            if !unsaid.contains(&why) {
                unsaid.push(why);
            }
        }
        if is_policy {
            unsaid.push(format!(
                "without names, steps up to level {} are done unattended (plimsoll.toml, [unattended])",
                self.unattended
            ));
        }
        unsaid
    }

    /// A fresh diagnosis: the root is there, and no other one is. Once may be chance, and a rollout passes through
    /// states that look bad.
    fn still_true(&self, number: usize) -> Result<Look, Halt> {
        let progress = Progress::of(self.log.entries());
        let fresh = || self.look().map_err(|why| Halt::Failed(number, why));
        let first = fresh()?;
        if self.stale(&first.diagnosis, &progress).is_none() {
            return Ok(first);
        }
        std::thread::sleep(self.pace.poll);
        let second = fresh()?;
        match self.stale(&second.diagnosis, &progress) {
            None => Ok(second),
            Some(why) => Err(Halt::Stale(number, why)),
        }
    }
}

/// What is said in advance of steps that were done by hand before.
pub const BY_HAND: &str = "by-hand";

const DONE: &str = "it is done already, and not by this plan";
const AGAIN: &str = "it was left out because it was not needed, and is needed now";

fn ahead(target: &dyn Target, step: &Step, intended: bool) -> Result<Ahead, Halt> {
    let number = step.number;
    let sight = target.look(step).map_err(|trouble| halt(number, trouble))?;
    match (&sight.standing, intended) {
        (Standing::Done, true) => Ok(Ahead::Found(sight.hash)),
        (Standing::Done, false) => Err(Halt::Stale(number, DONE.into())),
        (Standing::Elsewhere(why), _) => Err(Halt::Stale(number, why.clone())),
        (Standing::Ahead, _) => Ok(Ahead::Yes(sight)),
    }
}

/// What a person types for what a step touches. Every singleton of the platform has the same name.
pub(super) fn called(step: &Step, plan: &Plan) -> String {
    let EntityId { kind, name, .. } = touched(step, plan);
    if name == "cluster" { format!("{kind}/{name}") } else { name }
}

/// What a person types the name of.
pub(super) fn touched(step: &Step, plan: &Plan) -> EntityId {
    match (&step.action, &step.target) {
        (Action::Approve { node, .. }, _) => EntityId::cluster_scoped("Node", node),
        (_, Where::Api(object)) => object.entity(),
        (_, Where::Node { name }) => EntityId::cluster_scoped("Node", name),
        (_, Where::Bmc { host, .. }) => EntityId::cluster_scoped("BareMetalHost", host),
        (_, Where::Nothing) => plan.root.entity.clone(),
    }
}
