//! Every dangerous recipe of the field documents, as a plan that somebody tries: each is refused, by the
//! guard that is there for it.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

mod support;

use std::collections::BTreeMap;
use std::path::Path;

use plimsoll_engine::{Pack, PackFile};
use plimsoll_lab::{Tree, parse_cases};
use plimsoll_model::diagnosis::{Confidence, Repair, Root};
use plimsoll_model::plan::{Action, Content, Plan};
use plimsoll_model::{Diagnosis, EntityId, FactBase, Value};
use plimsoll_repair::guard::{Scene, refusals, watching};
use plimsoll_repair::{Unplanned, draft, draft_break_glass, draft_named};

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

/// With the lists that a reading of the API has, and a must-gather does not.
fn examined(name: &str) -> (FactBase, Diagnosis) {
    let snapshot = READER.read_tree("must-gather", &tree(name));
    let (mut base, diagnosis) = plimsoll_engine::examine(&PACK, &snapshot, &[], None);
    let whole = |plural: &str| (plural.to_string(), Value::List(Vec::new()));
    let lists = ["nodes", "baremetalhosts", "machineconfigpools"].map(whole);
    let cluster = base.entities.entry(EntityId::cluster()).or_default();
    cluster.facts.insert("lists".into(), Value::Map(lists.into()));
    (base, diagnosis)
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
            by: None,
        }],
        folklore: Vec::new(),
        ties: Vec::new(),
    }
}

#[test]
fn each_is_refused_by_its_guard() {
    let file = PackFile { path: "dangerous/repair.yaml".into(), text: RECIPES.into() };
    let pack = Pack::load(&[file]).unwrap();
    assert!(pack.repairs.len() >= 38);
    let mut clusters: BTreeMap<String, (FactBase, Diagnosis)> = BTreeMap::new();
    for recipe in &pack.repairs {
        let (base, diagnosis) =
            clusters.entry(recipe.title.clone()).or_insert_with(|| examined(&recipe.title));
        let root = root(&recipe.id);
        let plan = draft(&pack, base, diagnosis, &root, &BTreeMap::new()).unwrap();
        assert!(plan.hindrances.is_empty(), "{}: {:?}", recipe.id, plan.hindrances);
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
        // Who reads of a repair in advance is told who watches it.
        let told: Vec<&str> = (plan.steps.iter())
            .flat_map(|step| watching(&step.action, &step.target, step.reach()))
            .collect();
        assert!(told.contains(&guard), "{}: {guard} is not told among {told:?}", recipe.id);
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

/// A kubelet is an administrator only where the user broke the glass, and only by the node's own file.
#[test]
fn break_glass_is_asked_for_and_lets_nothing_else_through() {
    let (base, diagnosis) = examined("four-hours");
    let root = diagnosis.roots.iter().find(|root| root.id == "kubelet-anonymous").unwrap();
    let nothing = BTreeMap::new();
    let proposed = draft(&PACK, &base, &diagnosis, root, &nothing).unwrap();
    assert_eq!(proposed.break_glass_minutes, None);
    let plan = draft_break_glass(&PACK, &base, &diagnosis, root, &nothing).unwrap();
    assert_eq!(plan.break_glass_minutes, Some(30));
    let refused = |plan: &Plan, break_glass: bool| -> Vec<&'static str> {
        let of = |step| {
            let base = &base;
            refusals(&Scene { plan, step, base, diagnosis: None, object: None, break_glass })
        };
        plan.steps.iter().flat_map(of).map(|refusal| refusal.guard).collect()
    };
    assert_eq!(refused(&plan, false), ["identity"]);
    assert_eq!(refused(&plan, true), Vec::<&str>::new());
    let mut unbound = plan.clone();
    unbound.break_glass_minutes = Some(600);
    assert_eq!(refused(&unbound, true), ["identity"], "not for a day");
    let mut foreign = plan;
    for step in &mut foreign.steps {
        if let Action::WriteFile { content, .. } = &mut step.action {
            *content = Content::Plan { value: "apiVersion: v1".into() };
        }
    }
    assert_eq!(refused(&foreign, true), ["identity"], "not with a file of the plan's own");
}

/// Another repair is named by the user, and is one of that root.
#[test]
fn a_repair_that_is_named_is_one_of_the_root() {
    let (base, diagnosis) = examined("four-hours");
    let root = diagnosis.roots.iter().find(|root| root.id == "inspection-stuck").unwrap();
    let nothing = BTreeMap::new();
    let named = |name: &str| draft_named(&PACK, &base, &diagnosis, root, &nothing, name);
    assert_eq!(named("retry-worker").unwrap().repair, "retry-worker");
    assert_eq!(named("restart-inspection").unwrap().repair, "restart-inspection");
    for other in ["borrow-admin-identity", "renew-root-ca", "nonsense"] {
        let Err(Unplanned::NoSuchRepair(known)) = named(other) else { panic!("{other}") };
        assert_eq!(known, ["restart-inspection", "retry-worker"]);
    }
}

/// What the packs patch is what may be patched.
#[test]
fn no_field_that_a_pack_patches_is_somebody_elses() {
    use plimsoll_engine::pack::VerbRule;
    use plimsoll_model::plan::Target;

    let base = FactBase::default();
    let mut patched = 0;
    let (_, diagnosis) = examined("healthy");
    for repair in &PACK.repairs {
        for step in &repair.steps {
            let VerbRule::Patch { object, operations, .. } = &step.verb else { continue };
            let name = object.replace("{name}", "x").replace("{each}", "x");
            let root = root(&repair.id);
            let mut plan = draft(&PACK, &base, &diagnosis, &root, &BTreeMap::new()).unwrap();
            let target = plimsoll_repair::resource(&name.parse().unwrap()).unwrap();
            let text = serde_json::to_string(operations).unwrap().replace("{each}", "0");
            let operations = serde_json::from_str(&text).unwrap();
            let mut one: plimsoll_model::plan::Step = serde_json::from_value(serde_json::json!({
                "number": 1, "title": "", "blast": 2, "action": {"do": "wait"},
                "target": {"in": "nothing"}, "undo": {"by": "restore"}, "rehearsal": {"by": "server"},
            }))
            .unwrap();
            one.action = Action::Patch { subresource: None, operations };
            one.target = Target::Api(target);
            plan.steps = vec![one];
            let (step, base) = (&plan.steps[0], &base);
            let scene = Scene {
                plan: &plan,
                step,
                base,
                diagnosis: None,
                object: None,
                break_glass: false,
            };
            let found = refusals(&scene);
            assert!(!found.iter().any(|one| one.guard == "field"), "{}: {found:?}", repair.id);
            patched += 1;
        }
    }
    assert!(patched > 12, "{patched}");
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
