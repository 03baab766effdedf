//! `knowledge list`, `lint`, `test`, `facts` and `pages`. What is a problem is decided by the engine (rules and
//! pages) and the lab (cases); here it is put together and printed.

use std::collections::{BTreeMap, BTreeSet};

use clap::CommandFactory;
use plimsoll_engine::facts::{logs, schema};
use plimsoll_engine::{LoadError, Pack, PackFile, Role, explain, lint, symptoms};
use plimsoll_lab::coverage::{CaseFile, TestedEdge, TestedState, untested};
use plimsoll_lab::fault::{FaultError, parse_faults};
use plimsoll_lab::{Case, Trial, parse_cases};
use plimsoll_model::EntityId;
use plimsoll_model::knowledge::{
    EXPLAIN_SCHEMA, Explained, FailedCase, KNOWLEDGE_SCHEMA, Knowledge, Problem, Tests,
};
use plimsoll_sources::Reader;
use rayon::prelude::*;

use crate::args::{DataOutput, KnowledgeVerb, OfPacks, Pages, Test};
use crate::exit::{Failure, Outcome};
use crate::knowledge::Files;
use crate::output::{note, print, text_options};

/// The built-in pack alone.
const NO_PACK: &[&str] = &[];

pub fn run(verb: &KnowledgeVerb) -> Result<Outcome, Failure> {
    match verb {
        KnowledgeVerb::List(args) => list(args),
        KnowledgeVerb::Lint(args) => lint(args),
        KnowledgeVerb::Test(args) => test(args),
        KnowledgeVerb::Facts => facts(),
        KnowledgeVerb::Pages(args) => pages(args),
    }
}

fn answer() -> Knowledge {
    Knowledge { schema: KNOWLEDGE_SCHEMA.into(), ..Knowledge::default() }
}

/// Own packs only where there are some: the built-in one is known.
fn list(args: &OfPacks) -> Result<Outcome, Failure> {
    let files = Files::read(&args.pack)?;
    let pack = files.load()?;
    let own: BTreeSet<&str> = files.in_question().iter().map(|file| file.path.as_str()).collect();
    let asked: BTreeSet<&str> = (pack.cases.iter())
        .filter(|case| own.contains(case.path.as_str()))
        .map(|case| case.id.as_str())
        .collect();
    let mut modes = explain::list(&pack);
    modes.retain(|mode| asked.contains(mode.id.as_str()));
    print(&match args.output {
        DataOutput::Text => plimsoll_report::list_text(&modes, &text_options(&args.talk)),
        DataOutput::Json => {
            plimsoll_report::json(&Knowledge { failure_modes: Some(modes), ..answer() })
        }
    })?;
    Ok(Outcome::Fine)
}

fn lint(args: &OfPacks) -> Result<Outcome, Failure> {
    let files = Files::read(&args.pack)?;
    let own = files.in_question();
    let (cases, mut problems) = cases_of(own);
    match files.try_load() {
        Err(errors) => problems.extend(errors.into_iter().map(problem)),
        Ok(pack) => {
            let line = crate::args::Args::command();
            let commands: Vec<&str> = line.get_subcommands().map(|verb| verb.get_name()).collect();
            problems.extend(lint::problems(&pack, own, &commands).into_iter().map(problem));
            // The scored corpus is made of the built-in faults.
            if files.added.is_empty() {
                problems.extend(without_fault(&pack, own));
            }
            problems.extend(uncovered(&pack, own, &cases));
        }
    }
    problems.sort();
    problems.dedup();
    let clean = problems.is_empty();
    let count = problems.len();
    print(&match args.output {
        DataOutput::Text => problems
            .iter()
            .map(|at| format!("{}:{}:{}: {}\n", at.path, at.line, at.column, at.message))
            .collect(),
        DataOutput::Json => {
            plimsoll_report::json(&Knowledge { problems: Some(problems), ..answer() })
        }
    })?;
    let rules = own.iter().filter(|file| file.path.ends_with("case.yaml")).count();
    let modes = if rules == 1 { "1 failure mode".into() } else { format!("{rules} failure modes") };
    match count {
        0 => note(&args.talk, &format!("{modes}, no problem")),
        1 => note(&args.talk, &format!("{modes}, 1 problem")),
        _ => note(&args.talk, &format!("{modes}, {count} problems")),
    }
    Ok(if clean { Outcome::Fine } else { Outcome::Found })
}

fn problem(error: LoadError) -> Problem {
    let LoadError { path, line, column, message } = error;
    Problem { path, line, column, message }
}

/// The case files of a pack, and those that cannot be read as such.
fn cases_of(files: &[PackFile]) -> (Vec<CaseFile>, Vec<Problem>) {
    let mut found = Vec::new();
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.has_cases()) {
        let path = file.path.clone();
        match parse_cases(&file.text) {
            Ok(cases) => found.push(CaseFile { path, cases }),
            Err(error) => {
                problems.push(Problem {
                    path,
                    line: error.line,
                    column: 1,
                    message: error.message,
                });
            }
        }
    }
    (found, problems)
}

/// Root causes that no `fault.md` brings about, and those files that cannot be read as such.
fn without_fault(pack: &Pack, files: &[PackFile]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut brought: BTreeSet<String> = BTreeSet::new();
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_string();
    let is_fault = |file: &&PackFile| name(&file.path).starts_with("fault");
    for file in files.iter().filter(is_fault) {
        match parse_faults(&file.path, &file.text) {
            Ok(faults) => {
                brought.extend(faults.into_iter().flat_map(|fault| fault.roots).map(|(id, _)| id));
            }
            Err(FaultError { path, line, message }) => {
                problems.push(Problem { path, line, column: 1, message });
            }
        }
    }
    let roots = pack.states.iter().filter(|state| state.root.is_some());
    problems.extend(roots.filter(|state| !brought.contains(&state.id)).map(|state| {
        let message = format!("'{}' can be a root cause and no fault.md brings it about", state.id);
        problem(LoadError::at(&state.at, message))
    }));
    problems
}

/// The rules of the files in question that no case tests.
fn uncovered(pack: &Pack, own: &[PackFile], cases: &[CaseFile]) -> Vec<Problem> {
    let own = own.iter().filter(|file| !file.is_of_a_check());
    let own: BTreeSet<&str> = own.map(|file| file.path.as_str()).collect();
    let states = pack.states.iter().filter(|state| own.contains(state.at.path.as_str()));
    let states: Vec<TestedState> = states
        .map(|state| TestedState {
            id: state.id.clone(),
            recovers: state.recovered.is_some(),
            path: state.at.path.clone(),
            line: state.at.line,
            column: state.at.column,
        })
        .collect();
    let edges = pack.causes.iter().filter(|edge| own.contains(edge.at.path.as_str()));
    let edges: Vec<TestedEdge> = edges
        .map(|edge| TestedEdge {
            from: pack.states[edge.from].id.clone(),
            to: pack.states[edge.to].id.clone(),
            keeps: edge.keeps,
            planned: pack.states[edge.from].role == Role::Expected,
            path: edge.at.path.clone(),
            line: edge.at.line,
            column: edge.at.column,
        })
        .collect();
    let refines: BTreeMap<String, String> = (pack.states.iter())
        .filter_map(|state| Some((state.id.clone(), state.refines.clone()?)))
        .collect();
    let found = untested(cases, &states, &edges, &refines).into_iter();
    found
        .map(|at| Problem { path: at.path, line: at.line, column: at.column, message: at.message })
        .collect()
}

fn test(args: &Test) -> Result<Outcome, Failure> {
    let files = Files::read(&args.of.pack)?;
    let pack = files.load()?;
    let (found, broken) = cases_of(files.in_question());
    if let Some(at) = broken.first() {
        return Err(Failure::Unreadable(format!("{}:{}: {}", at.path, at.line, at.message)));
    }
    let wanted = |path: &str, case: &Case| {
        args.filter.as_ref().is_none_or(|text| path.contains(text) || case.name.contains(text))
    };
    let cases: Vec<(&str, &Case)> = (found.iter())
        .flat_map(|file| file.cases.iter().map(|case| (file.path.as_str(), case)))
        .filter(|(path, case)| wanted(path, case))
        .collect();
    if cases.is_empty() {
        return Err(Failure::Usage("no case to run: no tests/*.md, or none that matches".into()));
    }
    note(&args.of.talk, &format!("running {} cases", cases.len()));
    let needs = plimsoll_engine::needs(&pack);
    let reader = Reader::new(&needs);
    let failed: Vec<FailedCase> =
        (cases.par_iter()).filter_map(|(path, case)| failure(&pack, &reader, path, case)).collect();
    let passed = cases.len() - failed.len();
    let text: String = failed.iter().map(told).collect();
    let count = failed.len();
    print(&match args.of.output {
        DataOutput::Text => text,
        DataOutput::Json => {
            let tests = Tests { passed: passed as u64, failed };
            plimsoll_report::json(&Knowledge { tests: Some(tests), ..answer() })
        }
    })?;
    note(&args.of.talk, &format!("{passed} passed, {count} failed"));
    Ok(if count == 0 { Outcome::Fine } else { Outcome::Found })
}

fn failure(pack: &Pack, reader: &Reader, path: &str, case: &Case) -> Option<FailedCase> {
    let failures = match case.tree() {
        Err(error) => vec![error.to_string()],
        Ok(tree) => {
            let snapshot = reader.read_tree("must-gather", &tree);
            let (base, diagnosis) = plimsoll_engine::examine(pack, &snapshot, &[], None);
            let mut failures = plimsoll_lab::check(&case.expects, &diagnosis);
            let object =
                |group: &str, entity: &EntityId| plimsoll_lab::object(&tree, group, entity);
            failures.extend(plimsoll_lab::trials(&case.expects).filter_map(|trial| {
                let Trial { repair, answers } = trial;
                let plan = plimsoll_repair::draft_of(pack, &base, &diagnosis, repair, answers);
                let held =
                    plan.and_then(|plan| plimsoll_act::tried(plan, &base, &diagnosis, &object));
                held.err().map(|why| format!("repair {repair} does not hold: {why}"))
            }));
            failures
        }
    };
    let name = case.name.clone();
    (!failures.is_empty()).then(|| FailedCase {
        path: path.into(),
        line: case.line,
        name,
        failures,
    })
}

fn told(failed: &FailedCase) -> String {
    let FailedCase { path, line, name, failures } = failed;
    let lines = failures.iter().map(|failure| format!("  {failure}\n")).collect::<String>();
    format!("{path}:{line}: {name}\n{lines}")
}

fn facts() -> Result<Outcome, Failure> {
    let page = plimsoll_report::facts_markdown(schema::KINDS, schema::RELATIONS, logs::FIELDS);
    print(&page)?;
    Ok(Outcome::Fine)
}

fn pages(args: &Pages) -> Result<Outcome, Failure> {
    let files = Files::read(NO_PACK)?;
    let pack = files.load()?;
    let write = |name: &str, text: String| {
        fs_err::write(args.folder.join(name), text)
            .map_err(|error| Failure::Unreadable(error.to_string()))
    };
    for mode in (0..pack.cases.len()).filter_map(|case| files.failure_mode(&pack, case)) {
        let name = format!("{}.md", mode.id);
        let page = Explained {
            schema: EXPLAIN_SCHEMA.into(),
            failure_modes: vec![mode],
            lines: Vec::new(),
            unknown_lines: 0,
        };
        write(&name, plimsoll_report::explain_markdown(&page))?;
    }
    let index = plimsoll_report::index_markdown(&explain::list(&pack), &symptoms::index(&pack));
    write("README.md", index)?;
    Ok(Outcome::Fine)
}
