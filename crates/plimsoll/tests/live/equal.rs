//! A live cluster is diagnosed as its must-gather is.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use libtest_mimic::Trial;
use plimsoll_lab::{Case, Tree, parse_cases};
use plimsoll_model::Diagnosis;

use crate::cluster::{Shared, diagnose_live, request, trial};
use crate::support::{NEEDS, READER, diagnose};

/// Folders of a gather that an API can tell as well.
const OF_THE_API: [&str; 3] = ["cluster-scoped-resources", "namespaces", "host_service_logs"];

pub fn trials(shared: &Shared) -> Vec<Trial> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    collect(&root.join("knowledge"), &mut files);
    collect(&root.join("fixtures/incidents"), &mut files);
    files.sort();
    let mut trials = Vec::new();
    for file in files {
        let text = fs_err::read_to_string(&file).unwrap();
        let cases = parse_cases(&text).unwrap();
        let shown = file.strip_prefix(&root).unwrap().display().to_string();
        let name = format!("equal/{}", shown.trim_end_matches("/tests/cases.md"));
        trials.push(trial(name, shared, move |cluster| {
            let failures: Vec<String> = cases.iter().filter_map(|case| differs(&cluster, case)).collect();
            if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
        }));
    }
    trials
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs_err::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|end| end == "md")
            && (path.parent().is_some_and(|above| above.ends_with("tests") || above.ends_with("incidents")))
        {
            files.push(path);
        }
    }
}

fn differs(cluster: &crate::cluster::Cluster, case: &Case) -> Option<String> {
    let tree: Tree = case.tree().unwrap();
    let tree: Tree = tree
        .into_iter()
        .filter(|(path, _)| OF_THE_API.iter().any(|folder| path.split('/').any(|part| part == *folder)) || path.ends_with("timestamp"))
        .collect();
    let snapshot = READER.read_tree("must-gather", &tree);
    let now = snapshot.now?;
    let archived = diagnose(&tree);
    cluster.load(&tree);
    let (live, _) = diagnose_live(request(cluster.vantage(), now), &NEEDS);
    let (of_archive, of_live) = (told(&archived), told(&live));
    let only = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.difference(b).cloned().collect::<Vec<_>>();
    let (lost, new) = (only(&of_archive, &of_live), only(&of_live, &of_archive));
    (!lost.is_empty() || !new.is_empty())
        .then(|| format!("{}: {}\n  only in the archive: {lost:#?}\n  only live: {new:#?} gaps {:#?}", case.line, case.name, live.sources[0].gaps))
}

/// Roots with their confidence, and states.
fn told(diagnosis: &Diagnosis) -> BTreeSet<String> {
    let roots = diagnosis.roots.iter().map(|root| format!("root {:?} {:?}", root.state(), root.confidence));
    let states = diagnosis.states.iter().map(|state| format!("state {} {} {:?}", state.id, state.entity, state.status));
    let verdict = format!("verdict {:?}", diagnosis.verdict);
    roots.chain(states).chain([verdict]).collect()
}
