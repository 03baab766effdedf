//! A capture through the eyes of `omc`: the files that it opens, by its own rules (`cmd/use`,
//! `cmd/get`, `cmd/describe`, `cmd/logs` of github.com/gmeghnag/omc).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use libtest_mimic::Trial;
use plimsoll_lab::parse_cases;
use plimsoll_live::Silent;
use plimsoll_yaml::{Limits, Node, parse};
use tempfile::TempDir;

use crate::cluster::{Shared, live, trial};
use crate::support::NEEDS;

pub fn trials(shared: &Shared) -> Vec<Trial> {
    vec![trial("omc/finds-what-it-shows", shared, |cluster| {
        let text = include_str!("../../../../fixtures/incidents/four-hours.md");
        cluster.load(&parse_cases(text).unwrap()[0].tree().unwrap());
        let mut archive = Vec::new();
        let (live, _) = live(cluster.vantage());
        live.write(&NEEDS, &Silent, &mut archive).unwrap();
        let folder = TempDir::new().unwrap();
        tar::Archive::new(archive.as_slice()).unpack(folder.path()).unwrap();
        let root = root(folder.path());
        use_shows(&root);
        nodes_are_described(&root);
        logs_are_shown(&root);
        types_are_known(&root);
        Ok(())
    })]
}

/// `findMustGatherIn`
fn root(path: &Path) -> PathBuf {
    let folders: Vec<PathBuf> = fs_err::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    let has = |name: &str| folders.iter().any(|folder| folder.ends_with(name));
    match has("namespaces") || has("cluster-scoped-resources") {
        true => path.to_path_buf(),
        false => {
            assert_eq!(folders.len(), 1, "{folders:?}");
            root(&folders[0])
        }
    }
}

fn yaml(file: &Path) -> Node {
    parse(&fs_err::read_to_string(file).unwrap(), &Limits::OBJECT).unwrap()
}

fn names(objects: &[Node]) -> Vec<&str> {
    objects.iter().filter_map(|object| object.text_at(&["metadata", "name"])).collect()
}

/// `MustGatherInfo`
fn use_shows(root: &Path) {
    let config = root.join("cluster-scoped-resources/config.openshift.io");
    let infrastructures = yaml(&config.join("infrastructures.yaml"));
    let first = &infrastructures.get("items").unwrap().items()[0];
    assert!(first.text_at(&["status", "apiServerURL"]).unwrap().starts_with("https://"));
    let version = yaml(&config.join("clusterversions/version.yaml"));
    assert_eq!(version.text_at(&["kind"]), Some("ClusterVersion"));
    let history = version.at(&["status", "history"]).unwrap().items();
    assert!(history.iter().any(|entry| entry.text_at(&["state"]) == Some("Completed")));
}

/// `describeNode` opens every file of the folder as a node; `getClusterScopedResources` takes a list
/// first where there is one.
fn nodes_are_described(root: &Path) {
    let core = root.join("cluster-scoped-resources/core");
    assert!(!core.join("nodes.yaml").exists());
    let nodes: Vec<Node> = fs_err::read_dir(core.join("nodes"))
        .unwrap()
        .map(|entry| yaml(&entry.unwrap().path()))
        .collect();
    assert!(nodes.iter().all(|node| node.text_at(&["kind"]) == Some("Node")));
    let found: BTreeSet<&str> = names(&nodes).into_iter().collect();
    assert!(found.contains("master-0") && found.contains("worker-1"), "{found:?}");
}

/// `parseCRDLite`: by these `omc get` knows a type, and where its objects stand.
fn types_are_known(root: &Path) {
    let folder =
        root.join("cluster-scoped-resources/apiextensions.k8s.io/customresourcedefinitions");
    let definitions: Vec<Node> =
        fs_err::read_dir(&folder).unwrap().map(|entry| yaml(&entry.unwrap().path())).collect();
    for (word, plural, group, namespaced) in [
        ("co", "clusteroperators", "config.openshift.io", false),
        ("clusterversion", "clusterversions", "config.openshift.io", false),
        ("bmh", "baremetalhosts", "metal3.io", true),
        ("machine", "machines", "machine.openshift.io", true),
        ("mcp", "machineconfigpools", "machineconfiguration.openshift.io", false),
    ] {
        let is_named = |definition: &&Node| {
            let names = definition.at(&["spec", "names"]).unwrap();
            let short = names.get("shortNames").map(Node::items).unwrap_or_default();
            names.text_at(&["singular"]) == Some(word)
                || short.iter().any(|name| name.as_text() == Some(word))
        };
        let known = definitions.iter().find(is_named).unwrap_or_else(|| panic!("{word}"));
        assert_eq!(known.text_at(&["spec", "names", "plural"]), Some(plural));
        assert_eq!(known.text_at(&["spec", "group"]), Some(group));
        let scope = if namespaced { "Namespaced" } else { "Cluster" };
        assert_eq!(known.text_at(&["spec", "scope"]), Some(scope));
        let place = match namespaced {
            true => format!("namespaces/openshift-machine-api/{group}/{plural}.yaml"),
            false => format!("cluster-scoped-resources/{group}/{plural}"),
        };
        let place = root.join(place);
        assert!(place.exists() || place.with_extension("yaml").exists(), "{}", place.display());
    }
}

/// `logsPods` goes from the list of a namespace's pods to their containers, and to their logs.
fn logs_are_shown(root: &Path) {
    let mut shown = BTreeSet::new();
    let mut kept = BTreeSet::new();
    for namespace in fs_err::read_dir(root.join("namespaces")).unwrap() {
        let namespace = namespace.unwrap().path();
        logs_below(&namespace.join("pods"), &mut kept);
        let list = namespace.join("core/pods.yaml");
        if !list.exists() {
            continue;
        }
        for pod in yaml(&list).get("items").unwrap().items() {
            let name = pod.text_at(&["metadata", "name"]).unwrap();
            for kind in ["containers", "initContainers"] {
                let containers = pod.at(&["spec", kind]).map(Node::items).unwrap_or_default();
                for container in containers {
                    assert!(
                        container.text_at(&["image"]).is_some() && container.entries().len() == 2
                    );
                    let container = container.text_at(&["name"]).unwrap();
                    let logs = namespace.join(format!("pods/{name}/{container}/{container}/logs"));
                    shown
                        .extend(["current", "previous"].map(|era| logs.join(format!("{era}.log"))));
                }
            }
        }
    }
    assert!(kept.len() > 10, "{kept:?}");
    let hidden: Vec<&PathBuf> = kept.difference(&shown).collect();
    assert!(hidden.is_empty(), "no container in the spec of its pod leads to {hidden:?}");
}

fn logs_below(folder: &Path, logs: &mut BTreeSet<PathBuf>) {
    for entry in fs_err::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => logs_below(&path, logs),
            false => logs.extend(path.extension().is_some_and(|end| end == "log").then_some(path)),
        }
    }
}
