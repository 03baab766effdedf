//! A live cluster is diagnosed as its must-gather is.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use libtest_mimic::Trial;
use plimsoll_lab::{Case, CaseKind, Tree, Verb, parse_cases};
use plimsoll_model::diagnosis::{Confidence, State, Status};
use plimsoll_model::{Diagnosis, Snapshot};

use crate::cluster::{Shared, diagnose_live, request, trial};
use crate::support::{NEEDS, READER, diagnose};

/// Folders of a gather that an API can tell as well.
const OF_THE_API: [&str; 3] = ["cluster-scoped-resources", "namespaces", "host_service_logs"];

/// Journals that are read through kubelets.
const UNITS: [&str; 6] =
    ["NetworkManager", "chronyd", "crio", "kubelet", "nodeip-configuration", "ovs-configuration"];
/// What an API server would not let be: its definition has a default for it.
const NOT_LIVE: &str = "infra-topology-empty";
/// Every how many of the failure modes is tried.
const STRIDE: usize = 6;

pub fn trials(shared: &Shared) -> Vec<Trial> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    collect(&root.join("knowledge"), &mut files);
    collect(&root.join("fixtures/incidents"), &mut files);
    files.sort();
    let mut trials = Vec::new();
    // All of them take a quarter of an hour.
    let all = std::env::var_os("PLIMSOLL_ALL_CASES").is_some();
    for (number, file) in files.into_iter().enumerate() {
        let is_incident = file.parent().is_some_and(|above| above.ends_with("incidents"));
        if !all && !is_incident && number % STRIDE != 0 {
            continue;
        }
        let text = fs_err::read_to_string(&file).unwrap();
        let cases = parse_cases(&text).unwrap();
        let shown = file.strip_prefix(&root).unwrap().display().to_string();
        let name = format!("equal/{}", shown.trim_end_matches("/tests/cases.md"));
        trials.push(trial(name, shared, move |cluster| {
            let failures: Vec<String> = cases
                .iter()
                .take(if is_incident || all { usize::MAX } else { 1 })
                .filter_map(|case| differs(&cluster, case))
                .collect();
            if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
        }));
    }
    trials
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs_err::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("knowledge/check") {
            continue;
        }
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|end| end == "md")
            && (path
                .parent()
                .is_some_and(|above| above.ends_with("tests") || above.ends_with("incidents")))
        {
            files.push(path);
        }
    }
}

fn differs(cluster: &crate::cluster::Cluster, case: &Case) -> Option<String> {
    // What a gather lacks is unknown; what an API lacks is not there.
    if case.kind == CaseKind::Unknown || case.edits.iter().any(|edit| lacks_objects(&edit.verb)) {
        return None;
    }
    let tree: Tree = case.tree().unwrap().into_iter().filter(|(path, _)| is_told(path)).collect();
    let snapshot = READER.read_tree("must-gather", &tree);
    let now = snapshot.now?;
    cluster.load(&tree);
    let (live, archive) = diagnose_live(request(cluster.vantage(), now), &NEEDS);
    let archived = diagnose(&as_whole(tree, &snapshot, &archive));
    if archived.roots.iter().any(|root| root.id == NOT_LIVE) {
        return None;
    }
    let mut differences = Vec::new();
    for (kind, of_archive, of_live) in [
        ("root", roots(&archived), roots(&live)),
        ("state", states(&archived), states(&live)),
        ("verdict", verdict(&archived), verdict(&live)),
    ] {
        let lost = of_archive.difference(&of_live).map(|it| format!("{kind} only archived: {it}"));
        let new = of_live.difference(&of_archive).map(|it| format!("{kind} only live: {it}"));
        differences.extend(lost.chain(new));
    }
    // Live lists are whole, so what follows from them is surer, never less sure.
    for root in &live.roots {
        let same = archived.roots.iter().find(|other| other.state() == root.state());
        if same.is_some_and(|same| same.confidence < root.confidence) {
            differences.push(format!("less sure live: {} {}", root.id, root.entity));
        }
    }
    let at = format!("{}: {}", case.line, case.name);
    (!differences.is_empty()).then(|| format!("{at}\n  {}\n", differences.join("\n  ")))
}

/// The gather with what only a live cluster proves: that its lists are whole. And without the journals
/// of machines that are no nodes and the logs of their pods, which no kubelet serves.
fn as_whole(mut tree: Tree, snapshot: &Snapshot, archive: &[u8]) -> Tree {
    let mut archive = tar::Archive::new(archive);
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().display().to_string();
        if let Some(name) = path.strip_prefix("capture/plimsoll-") {
            let mut text = Vec::new();
            entry.read_to_end(&mut text).unwrap();
            tree.insert(format!("plimsoll-{name}"), text);
        }
    }
    let nodes: BTreeSet<&str> = snapshot
        .documents
        .iter()
        .filter(|document| &*document.plural == "nodes")
        .filter_map(|document| plimsoll_yaml::peek_meta(&document.text).name)
        .collect();
    let orphans: Vec<String> = snapshot
        .documents
        .iter()
        .filter(|document| &*document.plural == "pods")
        .filter_map(|document| {
            let pod = plimsoll_yaml::parse(&document.text, &plimsoll_yaml::Limits::OBJECT).ok()?;
            let text = |path: &[&str]| pod.at(path)?.as_text().map(str::to_string);
            let node = text(&["spec", "nodeName"])?;
            (!nodes.contains(node.as_str()))
                .then(|| text(&["metadata", "name"]).map(|name| format!("/pods/{name}/")))?
        })
        .collect();
    tree.retain(|path, _| !orphans.iter().any(|pod| path.contains(pod) && path.ends_with(".log")));
    for (_, text) in tree.iter_mut().filter(|(path, _)| path.contains("host_service_logs")) {
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        let of_node = |line: &&[u8]| {
            let host = String::from_utf8_lossy(line).split_whitespace().nth(3).map(str::to_string);
            host.is_some_and(|host| nodes.contains(host.as_str()))
        };
        *text = lines.filter(of_node).flatten().copied().collect();
    }
    tree
}

fn is_told(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let of_the_api = OF_THE_API.iter().any(|folder| parts.contains(folder))
        && (!parts.contains(&"host_service_logs")
            || UNITS.iter().any(|unit| path.ends_with(&format!("/{unit}_service.log"))));
    // The API server itself says which of its extensions answer, and here none does.
    let own = parts.contains(&"apiregistration.k8s.io");
    (of_the_api && !own) || path.ends_with("timestamp")
}

/// Without what is only suspected: that rests on what the data lacks, and a live cluster lacks less.
fn roots(diagnosis: &Diagnosis) -> BTreeSet<String> {
    let seen = diagnosis.roots.iter().filter(|root| root.confidence != Confidence::Suspected);
    seen.map(|root| format!("{} {}", root.id, root.entity)).collect()
}

fn states(diagnosis: &Diagnosis) -> BTreeSet<String> {
    let shown = |state: &State| format!("{} {} {:?}", state.id, state.entity, state.status);
    let known = diagnosis.states.iter().filter(|state| state.status != Status::Unknown);
    known.filter(|state| !is_over_in_journals(state)).map(shown).collect()
}

/// Journals of nodes that are well are not read: what is over there is not told.
fn is_over_in_journals(state: &State) -> bool {
    let of_journal = |path: &str| path.contains("host_service_logs/") || path.contains("/journal/");
    state.status == Status::Recovered && state.evidence.iter().any(|proof| of_journal(&proof.path))
}

fn lacks_objects(verb: &Verb) -> bool {
    let Verb::Remove { glob } = verb else { return false };
    !["/pods/", "host_service_logs"].iter().any(|logs| glob.contains(logs))
}

fn verdict(diagnosis: &Diagnosis) -> BTreeSet<String> {
    [format!("{:?}", diagnosis.verdict)].into()
}
