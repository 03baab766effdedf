//! Every literate case, of the knowledge and of the incidents: one named test a file.

mod support;

use std::path::Path;

use plimsoll_lab::Trial;
use plimsoll_model::EntityId;
use support::PACK;

fn case_file(path: &Path, text: String) -> datatest_stable::Result<()> {
    let cases =
        plimsoll_lab::parse_cases(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    if cases.is_empty() {
        return Err(format!("{}: no case in it", path.display()).into());
    }
    let mut failures = Vec::new();
    for case in cases {
        let tree =
            case.tree().map_err(|error| format!("{}: {}: {error}", path.display(), case.name))?;
        let (base, diagnosis) = support::examine(&tree);
        let mut found = plimsoll_lab::check(&case.expects, &diagnosis);
        let object = |group: &str, entity: &EntityId| plimsoll_lab::object(&tree, group, entity);
        for Trial { repair, answers } in plimsoll_lab::trials(&case.expects) {
            let plan = plimsoll_repair::draft_of(&PACK, &base, &diagnosis, repair, answers);
            let held = plan.and_then(|plan| plimsoll_act::tried(plan, &base, &diagnosis, &object));
            found.extend(held.err().map(|why| format!("repair {repair} does not hold: {why}")));
        }
        for failure in found {
            failures.push(format!("{}:{}: {}: {failure}", path.display(), case.line, case.name));
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}

datatest_stable::harness! {
    { test = case_file, root = "../../knowledge", pattern = r"^(?!check/).*tests/.*\.md$" },
    { test = case_file, root = "../../fixtures/incidents", pattern = r".*\.md$" },
}
