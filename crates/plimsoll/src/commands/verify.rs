use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use plimsoll_engine::{Memory, Pack, Suppression, explain};
use plimsoll_model::diagnosis::{State, Status};
use plimsoll_model::plan::Verification;
use plimsoll_model::verify::{Criterion, Met, VERIFY_SCHEMA, Verified, Window};
use plimsoll_model::{Diagnosis, EntityId, FactBase, Needs};
use plimsoll_repair::verify::{self, Wanted};
use plimsoll_sources::{Given, NoProgress};

use crate::args::{DataOutput, Verify};
use crate::exit::{Failure, Outcome};
use crate::live::{self, Sorted};
use crate::output::{note, print, text_options};
use crate::smoke;

/// For what is still settling, beside the window itself.
const SETTLE: u64 = 1200;

pub fn run(args: &Verify) -> Result<Outcome, Failure> {
    if let Some(patience) = args.patience.filter(|patience| *patience < args.dwell) {
        let message = format!("--patience {patience} ends before --dwell {}", args.dwell);
        return Err(Failure::Usage(message));
    }
    let suppressions = crate::config::read(args.config.as_deref())?.accepted;
    let pack = crate::knowledge::load(&args.pack)?;
    let needs = Needs { now: args.now, ..plimsoll_engine::needs(&pack) };
    let named = args.after.as_ref().map(|name| match name.rsplit_once(':') {
        Some((on, name)) => (Some(on.to_string()), name),
        None => (None, name.as_str()),
    });
    let (on, (gone, by_hand)) = match named {
        Some((on, name)) => (on, after_repair(&pack, name)?),
        None => Default::default(),
    };
    let wanted = Wanted { gone, on, after_install: args.after_install };
    let memory = Memory::default();
    let (pack, needs, suppressions) = (&pack, &needs, &suppressions[..]);
    let watch = Watch { args, pack, needs, suppressions, memory, wanted, by_hand };
    let is_live = live::sorted(&args.sources, &args.reach, args.now)?.live.is_some();
    if args.smoke && !is_live {
        let message = "--smoke needs a live cluster, such as kube:CONTEXT";
        return Err(Failure::Usage(message.into()));
    }
    let mut verified = if is_live { watch.window()? } else { watch.once()? };
    if args.smoke {
        smoke::judge(args, &mut verified)?;
    }
    print(&match args.output {
        DataOutput::Json => plimsoll_report::json(&verified),
        DataOutput::Text => plimsoll_report::verify_text(&verified, &text_options(&args.talk)),
    })?;
    Ok(if verified.verified { Outcome::Fine } else { Outcome::Found })
}

fn after_repair(pack: &Pack, name: &str) -> Result<(BTreeSet<String>, Vec<Verification>), Failure> {
    verify::after_repair(pack, name).ok_or_else(|| {
        let near = explain::near(pack, name);
        let hint = match near.is_empty() {
            true => String::new(),
            false => format!("; did you mean {}?", near.join(", ")),
        };
        Failure::Usage(format!("--for {name}: no failure mode of that name{hint}"))
    })
}

struct Watch<'w> {
    args: &'w Verify,
    pack: &'w Pack,
    needs: &'w Needs,
    suppressions: &'w [Suppression],
    memory: Memory,
    wanted: Wanted,
    /// What a person checks, for any thing that has the failure.
    by_hand: Vec<Verification>,
}

struct Look {
    base: FactBase,
    diagnosis: Diagnosis,
    criteria: Vec<Criterion>,
}

impl Watch<'_> {
    fn look(&self) -> Result<Look, Failure> {
        let Sorted { paths, live } =
            live::sorted(&self.args.sources, &self.args.reach, self.args.now)?;
        let mut given: Vec<Given> = paths.into_iter().map(Given::Path).collect();
        if let Some(request) = live {
            let progress = live::progress(&self.args.talk);
            let live = live::open(request, &*progress)?;
            let name = live.name().to_string();
            given.push(Given::Stream { name, stream: live.stream(self.needs.clone(), progress) });
        }
        let snapshot = plimsoll_sources::read_given(given, self.needs, &NoProgress)
            .map_err(|error| Failure::Unreadable(error.to_string()))?;
        let (base, diagnosis) =
            plimsoll_engine::examine(self.pack, &snapshot, self.suppressions, Some(&self.memory));
        let criteria = verify::criteria(self.pack, &base, &diagnosis, &self.wanted);
        Ok(Look { base, diagnosis, criteria })
    }

    fn once(&self) -> Result<Verified, Failure> {
        let look = self.look()?;
        let says = match left(&look.criteria) {
            Some(left) => left,
            None => "everything holds in this one look".into(),
        };
        let mut verified = self.answer(look, says);
        let note = "One look at what was gathered: whether it stays so, and whether static pods \
                    restart, only a live cluster shows.";
        verified.notes.push(note.into());
        Ok(verified)
    }

    /// Again and again, until everything held for long enough or patience ends.
    fn window(&self) -> Result<Verified, Failure> {
        let seconds = Duration::from_secs;
        let (dwell, poll) = (seconds(self.args.dwell), seconds(self.args.poll));
        let patience = seconds(self.args.patience.unwrap_or(self.args.dwell + SETTLE));
        let begun = Instant::now();
        let mut looks = 0;
        let mut failed: BTreeSet<String> = BTreeSet::new();
        let mut holds: Option<(Instant, verify::Restarts)> = None;
        loop {
            let at = Instant::now();
            let mut look = self.look()?;
            looks += 1;
            let restarts = verify::restarts(&look.base);
            if let Some((_, begin)) = &holds {
                look.criteria.extend(verify::steady(begin, &restarts));
                look.criteria.sort();
            }
            let left = left(&look.criteria);
            let held = match &left {
                None => at.duration_since(holds.get_or_insert((at, restarts)).0),
                Some(_) => Duration::ZERO,
            };
            let is_over = begun.elapsed() + poll > patience.max(poll);
            if (left.is_none() && held >= dwell) || is_over {
                let says = match left {
                    None if held >= dwell => format!("everything held for {} s", held.as_secs()),
                    None => format!("everything holds, but only for {} s so far", held.as_secs()),
                    Some(left) => left,
                };
                let window = Window {
                    dwell_seconds: self.args.dwell,
                    held_seconds: held.as_secs(),
                    looks,
                    failed_before: failed.into_iter().collect(),
                };
                let mut verified = self.answer(look, says);
                verified.verified &= held >= dwell;
                verified.window = Some(window);
                return Ok(verified);
            }
            self.tell(left.as_deref(), held);
            if left.is_some() {
                holds = None;
                let bad = look.criteria.into_iter().filter(|one| one.ok != Met::Yes);
                failed.extend(bad.map(|one| one.id));
            }
            std::thread::sleep(poll);
        }
    }

    fn tell(&self, left: Option<&str>, held: Duration) {
        let (held, dwell) = (held.as_secs(), self.args.dwell);
        note(
            &self.args.talk,
            &match left {
                Some(left) => format!("not yet: {left}"),
                None => format!("everything holds, for {held} of {dwell} s"),
            },
        );
    }

    fn answer(&self, look: Look, says: String) -> Verified {
        let mut notes = Vec::new();
        if self.args.after_install {
            notes
                .extend(verify::gate(&look.base).map(|text| format!("After the install, {text}.")));
        }
        let by_hand = self.named(&look.diagnosis);
        Verified {
            schema: VERIFY_SCHEMA.into(),
            generated_for: look.diagnosis.generated_for,
            cluster: look.diagnosis.cluster,
            sources: look.diagnosis.sources.into_iter().map(|source| source.name).collect(),
            verified: left(&look.criteria).is_none(),
            says,
            window: None,
            criteria: look.criteria,
            by_hand,
            notes,
        }
    }

    /// What a person checks, with the name of the thing that has or had the failure. Of several nobody knows
    /// which one is meant.
    fn named(&self, diagnosis: &Diagnosis) -> Vec<Verification> {
        let is_meant = |state: &&State| {
            let was_seen = matches!(state.status, Status::Active | Status::Recovered);
            self.wanted.gone.contains(&state.id) && was_seen && !state.note
        };
        let things: BTreeSet<&EntityId> =
            diagnosis.states.iter().filter(is_meant).map(|state| &state.entity).collect();
        let mut things = things.into_iter();
        let (Some(thing), None) = (things.next(), things.next()) else {
            return self.by_hand.clone();
        };
        let fill = |text: &String| {
            let text = text.replace("<name>", &thing.name);
            match &thing.namespace {
                Some(namespace) => text.replace("<namespace>", namespace),
                None => text,
            }
        };
        let one = |check: &Verification| Verification {
            run: check.run.as_ref().map(fill),
            expect: fill(&check.expect),
        };
        self.by_hand.iter().map(one).collect()
    }
}

/// What is not met, in one sentence; `None` where all is. A criterion is counted once, however many things
/// do not meet it.
pub fn left(criteria: &[Criterion]) -> Option<String> {
    let ids = |met: Met| -> BTreeSet<&str> {
        criteria.iter().filter(|one| one.ok == met).map(|one| one.id.as_str()).collect()
    };
    let (not_met, unknown) = (ids(Met::No), ids(Met::Unknown));
    let unknown = unknown.difference(&not_met).count();
    let things = criteria.iter().filter(|one| one.ok == Met::No).count();
    let number = |count: usize, what: &str| match count {
        0 => None,
        1 => Some(format!("1 criterion is {what}")),
        count => Some(format!("{count} criteria are {what}")),
    };
    let by = match things > not_met.len() {
        true => format!("not met, by {things} things"),
        false => "not met".into(),
    };
    let parts = [number(not_met.len(), &by), number(unknown, "not known")];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_criterion_is_counted_once() {
        let one = |id: &str, name: &str, ok: Met| Criterion {
            id: id.into(),
            entity: EntityId::cluster_scoped("ClusterOperator", name),
            ok,
            says: String::new(),
        };
        let all = [
            one("degraded", "etcd", Met::No),
            one("degraded", "network", Met::No),
            one("degraded", "dns", Met::Unknown),
            one("settled", "etcd", Met::Unknown),
            one("available", "etcd", Met::Yes),
        ];
        let said = "1 criterion is not met, by 2 things; 1 criterion is not known";
        assert_eq!(left(&all).as_deref(), Some(said));
        assert_eq!(left(&all[4..]), None);
    }
}
