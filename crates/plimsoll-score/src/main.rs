//! The incident corpus: every case is made, diagnosed and held against its truth.
//!
//! Run as `cargo xtask score`. What is not here: making cases (the lab does), deciding anything.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a developer's tool talks")]

mod judge;
mod tally;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Parser;
use plimsoll_causes::baselines;
use plimsoll_engine::{Memory, Pack, PackFile};
use plimsoll_lab::corpus::{self, Scenario, Spec};
use plimsoll_lab::fault::{Fault, parse_faults};
use plimsoll_model::Diagnosis;
use plimsoll_model::diagnosis::StateRef;
use plimsoll_sources::Reader;
use rayon::prelude::*;

use judge::{Judgement, Names, doubts, judge};
use tally::{Ablations, Row};

/// Every run makes the same corpus; another one shows whether the rules fit this one only.
const SEED: u64 = 0x506C_696D_736F_6C6C;

#[derive(Parser)]
#[command(
    name = "cargo xtask score",
    about = "Diagnose the incident corpus, compare with the truth"
)]
struct Args {
    /// Only cases of this class, such as single, pair or recovered.
    #[arg(long)]
    class: Option<String>,
    /// Only cases with a fault whose id contains this.
    #[arg(long)]
    fault: Option<String>,
    /// Only the case with this number.
    #[arg(long)]
    case: Option<usize>,
    /// List every case that is not as it should be.
    #[arg(long)]
    verbose: bool,
    /// Write the trees of the chosen cases into this folder.
    #[arg(long)]
    write: Option<PathBuf>,
    /// Make another corpus.
    #[arg(long, default_value_t = SEED)]
    seed: u64,
    /// Another folder of packs and faults.
    #[arg(long)]
    knowledge: Option<PathBuf>,
    /// Leave out the rows of the cruder methods.
    #[arg(long)]
    quick: bool,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// What became of one case.
struct Done {
    row: Row,
    line: Option<String>,
}

fn run(args: &Args) -> Result<bool> {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../knowledge");
    let (pack, faults) = load(&args.knowledge.clone().unwrap_or_else(own))?;
    let unknown = corpus::unknown_names(&faults);
    if !unknown.is_empty() {
        bail!("the plan names faults that there are not: {}", unknown.join(", "));
    }
    let names = Names::of(&pack);
    let specs: Vec<Spec<'_>> = corpus::plan(&faults, args.seed)
        .into_iter()
        .filter(|spec| args.class.as_ref().is_none_or(|class| spec.class.name() == class))
        .filter(|spec| {
            let wanted = args.fault.as_ref();
            wanted.is_none_or(|id| spec.faults.iter().any(|fault| fault.id.contains(id)))
        })
        .filter(|spec| args.case.is_none_or(|number| spec.number == number))
        .collect();
    if specs.is_empty() {
        bail!("no case fits");
    }
    let needs = plimsoll_engine::needs(&pack);
    let tools = Tools { pack: &pack, reader: Reader::new(&needs), memory: Memory::default() };
    let done: Vec<Result<Done>> =
        specs.par_iter().map(|spec| one(&tools, &names, spec, args)).collect();
    let mut rows = Vec::new();
    let mut unmade = 0;
    for found in done {
        match found {
            Ok(Done { row, line }) => {
                line.iter().for_each(|line| println!("{line}"));
                rows.push(row);
            }
            Err(error) => {
                unmade += 1;
                println!("not made: {error:#}");
            }
        }
    }
    println!("{}", tally::table(&rows));
    // A part of the corpus is looked at, not judged.
    let whole = args.class.is_none() && args.fault.is_none() && args.case.is_none();
    let below = if whole { tally::below_floor(&rows) } else { Vec::new() };
    for sentence in &below {
        println!("below the floor: {sentence}");
    }
    if unmade > 0 {
        println!("{unmade} cases could not be made");
    }
    Ok(below.is_empty() && unmade == 0)
}

/// `fault.md`, and `fault-<id>.md` where a folder holds several root causes.
fn is_fault(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    name.is_some_and(|name| {
        name == "fault.md" || (name.starts_with("fault-") && name.ends_with(".md"))
    })
}

fn load(knowledge: &Path) -> Result<(Pack, Vec<Fault>)> {
    let mut files = Vec::new();
    let mut faults = Vec::new();
    let mut wrong = Vec::new();
    let checks = knowledge.join("check");
    let walk = walkdir::WalkDir::new(knowledge).sort_by_file_name().into_iter();
    for entry in walk.filter_entry(|entry| entry.path() != checks) {
        let entry = entry?;
        let path = entry.path();
        let shown = path.strip_prefix(knowledge).unwrap_or(path).to_string_lossy().into_owned();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            files.push(PackFile { path: shown, text: fs_err::read_to_string(path)? });
        } else if is_fault(path) {
            let shown = format!("knowledge/{shown}");
            match parse_faults(&shown, &fs_err::read_to_string(path)?) {
                Ok(found) => faults.extend(found),
                Err(error) => wrong.push(error.to_string()),
            }
        }
    }
    let pack = Pack::load(&files);
    wrong.extend(pack.as_ref().err().into_iter().flatten().map(ToString::to_string));
    match pack {
        Ok(pack) if wrong.is_empty() => Ok((pack, faults)),
        _ => bail!("{}", wrong.join("\n")),
    }
}

/// Made once for all cases.
struct Tools<'t> {
    pack: &'t Pack,
    reader: Reader<'t>,
    memory: Memory,
}

fn one(tools: &Tools<'_>, names: &Names, spec: &Spec<'_>, args: &Args) -> Result<Done> {
    let Tools { pack, reader, memory } = tools;
    let scenario = spec.make().with_context(|| format!("case {}", spec.number))?;
    if let Some(folder) = &args.write {
        plimsoll_lab::write_folder(&scenario.tree, &folder.join(spec.number.to_string()))?;
    }
    let snapshot = reader.read_tree("must-gather", &scenario.tree);
    let diagnosis = plimsoll_engine::examine(pack, &snapshot, &[], Some(memory)).1;
    let judgement = judge(names, &scenario.truth, scenario.evidence_left, &diagnosis);
    // Grounding twice more costs as much as the answer: every third case tells enough, where there
    // are many.
    let ablations = (!args.quick
        && (spec.class == corpus::Class::Order || spec.number.is_multiple_of(3)))
    .then(|| {
        let right = |roots: Vec<StateRef>| {
            let mut wanted = scenario.truth.roots.clone();
            wanted.sort();
            roots == wanted
        };
        let (study, unguarded) = plimsoll_engine::study(pack, &snapshot, memory);
        Ablations {
            no_onsets: right(study.roots_of(&baselines::without_onsets(&study.graph))),
            no_recovery: right(unguarded.roots_of(&unguarded.graph)),
            no_failing_parent: right(study.named(baselines::no_failing_parent(&study.graph))),
            set_cover: right(study.named(baselines::set_cover(&study.graph))),
        }
    });
    let mut line = (args.verbose || args.case.is_some())
        .then(|| failed(spec, &scenario, &judgement, &diagnosis))
        .flatten();
    if args.case.is_some() {
        let doubts = doubts(names, &scenario.truth, &diagnosis);
        line = Some(line.into_iter().chain(doubts).collect::<Vec<_>>().join("\n"));
    }
    Ok(Done { row: Row { class: spec.class, judgement, ablations }, line })
}

/// One line for a case that is not as it should be.
fn failed(
    spec: &Spec<'_>,
    scenario: &Scenario,
    judgement: &Judgement,
    diagnosis: &Diagnosis,
) -> Option<String> {
    let deleted = spec.deleted > 0;
    let good = if deleted { judgement.honest } else { judgement.exact };
    let clean = !spec.class.is_well() || judgement.false_roots == 0;
    let covered = deleted || judgement.covered == judgement.symptoms;
    if good && clean && covered {
        return None;
    }
    let listed = |all: Vec<String>| if all.is_empty() { "none".into() } else { all.join(", ") };
    let wanted =
        scenario.truth.roots.iter().map(|root| format!("{} {}", root.id, root.entity)).collect();
    let got = diagnosis
        .roots
        .iter()
        .map(|root| format!("{} {} {:?}", root.id, root.entity, root.confidence).to_lowercase())
        .collect();
    let uncovered = match covered {
        true => String::new(),
        false => format!(" | {} of {} red things placed", judgement.covered, judgement.symptoms),
    };
    Some(format!(
        "{} {} | {} | {} | expected {} | got {}{uncovered}",
        spec.number,
        spec.class.name(),
        spec.faults_named(),
        spec.cluster.name,
        listed(wanted),
        listed(got)
    ))
}
