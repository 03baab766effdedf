//! What a pack that loads is still told.

use plimsoll_engine::{Pack, PackFile, lint};

const RULES: &str = "id: a
title: A
signatures:
- {id: used, on: Node, logs: [unit/kubelet], contains: [certificate has expired]}
- {id: idle, on: Node, logs: [unit/kubelet], contains: [nobody reads this]}
states:
- id: a
  on: Node
  root: common
  summary: s
  when: self.logs['used'].count > 0
  recovered: self.logs['used'].recent == 0
  recovery:
  - {verdict: recoverable, repair: r, summary: s}
checks:
- {for: a, how: look, cost: low}
";
const PAGE: &str = "# a\n\nIntro.\n\n## What you see\n\nx\n\n## Why\n\nx\n\n## How to confirm\n\nx\n\n## How to fix\n\nx\n\n## Is the fix safe\n\nx\n\n## Sources\n\nx\n";

fn problems(files: &[(&str, &str)]) -> Vec<String> {
    let files: Vec<PackFile> = files
        .iter()
        .map(|(path, text)| PackFile { path: format!("p/net/a/{path}"), text: (*text).into() })
        .collect();
    let pack = Pack::load(&files).unwrap_or_else(|errors| panic!("{errors:?}"));
    lint::problems(&pack, &files, &["diagnose", "explain"])
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn a_whole_folder_has_no_problem_but_the_signature_that_nobody_reads() {
    let found = problems(&[("case.yaml", RULES), ("case.md", PAGE)]);
    assert_eq!(found, ["p/net/a/case.yaml:5:3: no rule reads the signature 'idle'"]);
    let over =
        RULES.replace("[certificate has expired]", "[certificate has expired], over: [idle]");
    assert!(problems(&[("case.yaml", &over), ("case.md", PAGE)]).is_empty());
}

#[test]
fn a_repair_that_acts_is_tried_by_a_case() {
    const REPAIR: &str = "repairs:\n- id: r\n  title: t\n  steps:\n  - {unit: kubelet, node: \"{name}\", verb: restart, title: t}\n  escalate: e\n  source: s\n";
    let rules =
        RULES.replace("[certificate has expired]", "[certificate has expired], over: [idle]");
    let with = |cases: &str| {
        let files = [("case.yaml", rules.as_str()), ("case.md", PAGE), ("repair.yaml", REPAIR)];
        problems(&[&files[..], &[("tests/cases.md", cases)]].concat())
    };
    let case = |kind: &str, line: &str| format!("# a\n\n## {kind}: b\n\n```expect\n{line}\n```\n");
    assert!(with(&case("fires", "repair r holds")).is_empty());
    assert!(with(&case("fires", "  repair r holds machine=a")).is_empty());
    for cases in [
        String::new(),
        case("fires", "repair other holds"),
        case("fires", "repair r"),
        case("quiet", "repair r holds"),
        "repair r holds\n".into(),
        "## fires: b\n\nrepair r holds\n".into(),
        "## fires: b\n\n````text\n```expect\nrepair r holds\n```\n````\n".into(),
    ] {
        let cases = cases.as_str();
        assert_eq!(
            with(cases),
            [
                "p/net/a/repair.yaml:2:3: 'r' acts, and no case says 'repair r holds': it informs only"
            ],
            "{cases}"
        );
    }
}

#[test]
fn what_a_root_cause_lacks_is_told_where_it_stands() {
    let bare: String = RULES
        .split_inclusive('\n')
        .filter(|line| {
            !["idle", "recovery:", "repair: r", "checks:", "for: a"]
                .iter()
                .any(|w| line.contains(w))
        })
        .collect();
    assert_eq!(
        problems(&[("case.yaml", &bare), ("case.md", &PAGE.replace("## Why\n\nx\n\n", ""))]),
        [
            "p/net/a/case.md:1:1: '## Why' is missing",
            "p/net/a/case.yaml:6:3: 'a' can be a root cause and has no check",
            "p/net/a/case.yaml:6:3: 'a' can be a root cause and has no recovery",
        ]
    );
    assert!(problems(&[("case.yaml", RULES)]).iter().any(|told| told.contains("no case.md")));
}

#[test]
fn advice_that_nobody_can_follow_is_refused() {
    let rules =
        RULES.replace("how: look", "how: look or plimsoll diagnose must-gather ipmi:hosts.yaml");
    let page = PAGE.replace(
        "## How to fix\n\nx",
        "## How to fix\n\n`plimsoll check x.yaml`, `plimsoll explain a`",
    );
    let found = problems(&[("case.yaml", &rules), ("case.md", &page)]);
    assert_eq!(
        found,
        [
            "p/net/a/case.md:19:2: there is no 'plimsoll check'; there are diagnose, explain",
            "p/net/a/case.yaml:5:3: no rule reads the signature 'idle'",
            "p/net/a/case.yaml:16:25: 'ipmi:hosts.yaml' is no source that plimsoll reads",
        ]
    );
}
