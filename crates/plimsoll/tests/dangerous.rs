//! Every dangerous recipe of the field documents, as a plan that somebody tries: each is refused, by the
//! guard that is there for it.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

mod support;

use std::collections::BTreeMap;
use std::path::Path;

use plimsoll_engine::{Pack, PackFile};
use plimsoll_lab::{Tree, parse_cases};
use plimsoll_model::diagnosis::{Confidence, Repair, Root};
use plimsoll_model::{Diagnosis, EntityId, FactBase};
use plimsoll_repair::draft;
use plimsoll_repair::guard::{Scene, refusals};

use support::{PACK, READER};

const RECIPES: &str = include_str!("dangerous/repair.yaml");

fn tree(name: &str) -> Tree {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/incidents");
    let (file, at) = match name {
        "upgrading" => ("healthy.md", "upgrad"),
        name => (&*format!("{name}.md"), ""),
    };
    let text = fs_err::read_to_string(root.join(file)).unwrap();
    let cases = parse_cases(&text).unwrap();
    let found = cases.iter().find(|case| case.name.contains(at));
    found.unwrap_or_else(|| panic!("no case of {name}")).tree().unwrap()
}

fn examined(name: &str) -> (FactBase, Diagnosis) {
    let snapshot = READER.read_tree("must-gather", &tree(name));
    plimsoll_engine::examine(&PACK, &snapshot, &[])
}

fn root(repair: &str) -> Root {
    Root {
        id: "worker-does-not-join".into(),
        entity: EntityId::cluster_scoped("BareMetalHost", "some-worker"),
        confidence: Confidence::Confirmed,
        since: None,
        summary: String::new(),
        explains: Vec::new(),
        evidence: Vec::new(),
        repairs: vec![Repair {
            id: repair.into(),
            summary: String::new(),
            minutes: None,
            blast: None,
        }],
        folklore: Vec::new(),
        ties: Vec::new(),
    }
}

#[test]
fn each_is_refused_by_its_guard() {
    let file = PackFile { path: "dangerous/repair.yaml".into(), text: RECIPES.into() };
    let pack = Pack::load(&[file]).unwrap();
    assert!(pack.repairs.len() >= 19);
    let mut clusters: BTreeMap<String, (FactBase, Diagnosis)> = BTreeMap::new();
    for recipe in &pack.repairs {
        let (base, diagnosis) =
            clusters.entry(recipe.title.clone()).or_insert_with(|| examined(&recipe.title));
        let root = root(&recipe.id);
        let plan = draft(&pack, base, diagnosis, &root, &BTreeMap::new()).unwrap();
        assert_eq!(plan.hindrances, Vec::<String>::new(), "{}", recipe.id);
        assert!(!plan.steps.is_empty(), "{}", recipe.id);
        let guard = recipe.source.split(' ').nth(1).unwrap();
        let found: Vec<_> = plan
            .steps
            .iter()
            .flat_map(|step| {
                let scene = Scene {
                    plan: &plan,
                    step,
                    base,
                    diagnosis: None,
                    object: None,
                    break_glass: false,
                };
                refusals(&scene)
            })
            .collect();
        assert!(found.iter().any(|one| one.guard == guard), "{}: {found:#?}", recipe.id);
    }
}

/// The guards refuse what is dangerous, and not what the packs' own plans do.
#[test]
fn the_plans_of_the_incidents_are_let_through() {
    for (name, wanted) in [("four-hours", "kubelet-anonymous"), ("four-hours", "inspection-stuck")]
    {
        let (base, diagnosis) = examined(name);
        let root = diagnosis.roots.iter().find(|root| root.id == wanted).unwrap();
        let plan = draft(&PACK, &base, &diagnosis, root, &BTreeMap::new()).unwrap();
        for step in &plan.steps {
            let scene = Scene {
                plan: &plan,
                step,
                base: &base,
                diagnosis: None,
                object: None,
                break_glass: false,
            };
            assert_eq!(refusals(&scene), Vec::new(), "{wanted} {}", step.title);
        }
    }
}

/// What can be a root has a repair that is written down: steps, or the honest word that there is none.
#[test]
fn every_root_has_a_plan() {
    let mut missing = Vec::new();
    for state in PACK.states.iter().filter(|state| state.root.is_some()) {
        for recovery in &state.recovery {
            match PACK.repair(&recovery.repair) {
                Some(repair) => {
                    assert!(!repair.steps.is_empty() || repair.none.is_some(), "{}", repair.id);
                    assert!(!repair.verify.is_empty(), "{}", repair.id);
                }
                None => missing.push(format!("{}: {}", state.id, recovery.repair)),
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new());
}
