use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::time::Duration;

use plimsoll_engine::{Memory, Pack, Suppression};
use plimsoll_model::diagnosis::{Root, Verdict};
use plimsoll_model::moves::{Known, Moves, Unread};
use plimsoll_model::redact::redact;
use plimsoll_model::snapshot::GapStatus;
use plimsoll_model::{Diagnosis, FactBase, Needs};
use plimsoll_report::{EvidenceShown, TextOptions};
use plimsoll_sources::{NoProgress, Progress};

use crate::args::{Diagnose, Output, ShownEvidence};
use crate::exit::{Failure, Outcome};
use crate::live;
use crate::output::{note, print, text_options};
use crate::progress::Bar;

pub fn run(args: &Diagnose) -> Result<Outcome, Failure> {
    if args.follow.is_some() && live::sorted(&args.sources, &args.reach, args.now)?.live.is_none() {
        return Err(Failure::Usage("--follow needs a live source, such as kube:CONTEXT".into()));
    }
    let suppressions = crate::config::read(args.config.as_deref())?.accepted;
    let pack = crate::knowledge::load(&args.pack)?;
    let needs = Needs { now: args.now, ..plimsoll_engine::needs(&pack) };
    let memory = args.follow.map(|_| Memory::default());
    let brain = Brain { pack, needs, suppressions, memory };
    let first = brain.look(args, &BTreeSet::new())?;
    let diagnosis = &first.diagnosis;
    if let Some(ShownEvidence::Root(number)) = args.evidence
        && number > diagnosis.roots.len()
    {
        let message = format!("--evidence {number}: there are {} roots", diagnosis.roots.len());
        return Err(Failure::Usage(message));
    }
    print(&render(args, diagnosis))?;
    match args.follow {
        Some(seconds) => follow(args, &brain, &first, seconds),
        None => Ok(outcome(diagnosis)),
    }
}

/// Again and again, until somebody stops it.
fn follow(args: &Diagnose, brain: &Brain, first: &Look, seconds: u64) -> Result<Outcome, Failure> {
    note(&args.talk, &format!("again every {seconds} s; Ctrl-C ends it"));
    let show = |moves: &Moves| {
        print(&match args.output {
            Output::Json => plimsoll_report::json(moves),
            _ => plimsoll_report::moves_text(moves, &text_options(&args.talk)),
        })
    };
    let mut known = Known::new(&first.diagnosis, first.unread.clone());
    let mut watched = first.watched.clone();
    // What nobody could see is told once, and not every round.
    let mut told = (None, Vec::new());
    loop {
        std::thread::sleep(Duration::from_secs(seconds));
        let mut moves = match brain.look(args, &watched) {
            Ok(now) => {
                watched = now.watched;
                let hidden = match known.lost(&now.unread).is_empty() {
                    true => BTreeSet::new(),
                    false => plimsoll_engine::hidden(&brain.pack, &now.base, known.states()),
                };
                known.look(&now.diagnosis, now.unread, &hidden)
            }
            // What could be read once may be readable again: a login that ended, a file that is rewritten.
            Err(Failure::Unreadable(why)) => {
                let why = why.lines().next().unwrap_or_default().to_string();
                known.unseen(Some(live::clock()), why)
            }
            Err(failure) => return Err(failure),
        };
        let unseen = (moves.blind.clone(), moves.unread.clone());
        moves.seen_again = unseen == (None, Vec::new()) && told != unseen;
        if unseen != told || !moves.is_none() {
            show(&moves)?;
        }
        told = unseen;
    }
}

/// What does not change from one look to the next.
struct Brain {
    pack: Pack,
    needs: Needs,
    suppressions: Vec<Suppression>,
    /// Of those who look more than once.
    memory: Option<Memory>,
}

impl Brain {
    fn look(&self, args: &Diagnose, watched: &BTreeSet<String>) -> Result<Look, Failure> {
        let bar = (!args.talk.quiet && std::io::stderr().is_terminal()).then(Bar::new);
        let progress: &dyn Progress = bar.as_ref().map_or(&NoProgress, |bar| bar);
        let given = live::given(args, &self.needs, watched)?;
        let read = plimsoll_sources::read_given(given, &self.needs, progress);
        if let Some(bar) = &bar {
            bar.done();
        }
        let snapshot = read.map_err(|error| Failure::Unreadable(error.to_string()))?;
        let gaps = snapshot.sources.iter().flat_map(|source| &source.gaps);
        let unread = gaps.filter(|gap| gap.status != GapStatus::NotCollected);
        let unread = unread
            .map(|gap| (uncounted(&gap.what), redact(&format!("{}: {}", gap.what, gap.why))))
            .collect();
        let memory = self.memory.as_ref();
        let (base, diagnosis) =
            plimsoll_engine::examine(&self.pack, &snapshot, &self.suppressions, memory);
        let told = |root: &Root| live::told_by_journals(&root.entity, &root.evidence);
        let watched = diagnosis.roots.iter().filter(|root| told(root));
        let watched = watched.map(|root| root.entity.name.clone()).collect();
        Ok(Look { base, diagnosis, unread, watched })
    }
}

/// '12 logs of pods' and '13 logs of pods' are one thing that lacks.
fn uncounted(what: &str) -> String {
    let is_count = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
    what.split(' ').filter(|word| !is_count(word)).collect::<Vec<_>>().join(" ")
}

struct Look {
    base: FactBase,
    diagnosis: Diagnosis,
    unread: Unread,
    /// Nodes whose journals tell of roots.
    watched: BTreeSet<String>,
}

fn render(args: &Diagnose, diagnosis: &Diagnosis) -> String {
    match args.output {
        Output::Json => plimsoll_report::json(diagnosis),
        Output::Markdown => plimsoll_report::markdown(diagnosis),
        Output::Html => plimsoll_report::html(diagnosis),
        Output::Text => {
            let options = TextOptions {
                evidence: match args.evidence {
                    None => EvidenceShown::None,
                    Some(ShownEvidence::Root(number)) => EvidenceShown::Root(number),
                    Some(ShownEvidence::All) => EvidenceShown::All,
                },
                ..text_options(&args.talk)
            };
            plimsoll_report::text(diagnosis, &options)
        }
    }
}

fn outcome(diagnosis: &Diagnosis) -> Outcome {
    match diagnosis.verdict {
        Verdict::Healthy => Outcome::Fine,
        Verdict::NotProvable => Outcome::NotProvable,
        _ => Outcome::Found,
    }
}
