//! Every literate case, of the knowledge and of the incidents: one named test a file.

mod support;

use std::path::Path;

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
        let diagnosis = support::diagnose(&tree);
        for failure in plimsoll_lab::check(&case.expects, &diagnosis) {
            failures.push(format!("{}:{}: {}: {failure}", path.display(), case.line, case.name));
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}

datatest_stable::harness! {
    { test = case_file, root = "../../knowledge", pattern = r"^(?!check/).*tests/.*\.md$" },
    { test = case_file, root = "../../fixtures/incidents", pattern = r".*\.md$" },
}
