//! Every rule is met by a config of the corpus or one of our own, at a line and a column that are written down:
//! `fixtures/install/places.txt`. `UPDATE=1` writes that file anew; read its diff.

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use plimsoll_install::{File, Input, Method, Release, judge, rules};
use support::Case;

const PLACES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/install/places.txt");
/// Of what stands there.
const SHOWN: usize = 32;

const BAREMETAL: &str =
    include_str!("../../../fixtures/install/bases/bm-managed.install-config.yaml");
const NONE: &str = include_str!("../../../fixtures/install/bases/none-upi.install-config.yaml");
const AGENT_INSTALL: &str =
    include_str!("../../../fixtures/install/bases/agent-ha.install-config.yaml");
const AGENT: &str = include_str!("../../../fixtures/install/bases/agent-ha.agent-config.yaml");

/// What the corpus lacks: configs at which the installer's code crashes, or that its authors did not try.
fn more() -> Vec<Case> {
    let case = |name: &str, method, install: Option<String>, agent: Option<String>| Case {
        name: name.into(),
        kind: String::new(),
        method,
        install,
        agent,
        said: serde_json::Value::Null,
    };
    let ipi = |name: &str, text: String| case(name, Method::Ipi, Some(text), None);
    let behind = |text: &str, line: &str, more: &str| {
        assert!(text.contains(line), "{line}");
        text.replacen(line, &format!("{line}{more}"), 1)
    };
    let fencing = "  fencing:\n    credentials:\n    -\n";
    vec![
        ipi("own-key-over-merged-key", over_merged_key()),
        ipi("own-key-empty", format!("{BAREMETAL}~: x\n")),
        ipi("own-platform-not-offered", NONE.replace("  none: {}", "  ovirt: {}")),
        ipi("own-two-platforms", behind(BAREMETAL, "platform:\n", "  gcp: {}\n")),
        ipi("own-fencing-empty", behind(BAREMETAL, "controlPlane:\n", fencing)),
        ipi("own-arbiter", format!("{BAREMETAL}arbiter:\n  name: arbiter\n  replicas: 1\n")),
        case(
            "own-interface-empty",
            Method::Agent,
            Some(AGENT_INSTALL.into()),
            Some(behind(AGENT, "  interfaces:\n", "  -\n")),
        ),
        case("own-manifests", Method::Agent, None, Some(AGENT.into())),
    ]
}

/// The BMC of the second host is that of the first, but for its address.
fn over_merged_key() -> String {
    let first = "      bmc:\n        address: ipmi://192.168.111.101\n";
    let second = "      bmc:\n        address: ipmi://192.168.111.102\n";
    assert!(BAREMETAL.contains(first) && BAREMETAL.contains(second));
    let anchored = first.replacen("bmc:", "bmc: &bmc", 1);
    let merged = second.replacen("bmc:", "bmc:\n        <<: *bmc", 1);
    BAREMETAL.replacen(first, &anchored, 1).replacen(second, &merged, 1)
}

/// The first meeting with each rule: case, release, place, and what stands there. A rule that only ever needs
/// the outside has no place.
fn met() -> BTreeMap<&'static str, String> {
    let mut met = BTreeMap::new();
    let mut outside = BTreeMap::new();
    for case in support::cases().into_iter().chain(more()) {
        let input = Input { install: case.install.as_deref(), agent: case.agent.as_deref() };
        for release in [Release::V4_18, Release::V4_14, Release::V4_20, Release::V4_19] {
            let Ok(judgement) = judge(&input, release, case.method) else { continue };
            let all = judgement.refusals.iter().chain(&judgement.warnings);
            for refusal in all {
                met.entry(refusal.rule).or_insert_with(|| {
                    let text = match refusal.file {
                        File::Install => input.install,
                        File::Agent => input.agent,
                    };
                    let (line, column) = (refusal.line as usize, refusal.column as usize);
                    let written = text.unwrap_or_default().lines().nth(line - 1);
                    let rest: String =
                        written.unwrap_or_default().chars().skip(column - 1).take(SHOWN).collect();
                    let file = refusal.file.name();
                    format!("{} {release} {file}:{line}:{column} {rest}", case.name)
                });
            }
            for (rule, _) in &judgement.not_checked {
                let said = || format!("{} {release} not checked", case.name);
                outside.entry(*rule).or_insert_with(said);
            }
        }
    }
    for (rule, said) in outside {
        met.entry(rule).or_insert(said);
    }
    met
}

#[test]
fn every_rule_is_met_at_a_place_that_is_known() {
    let met = met();
    let missing: Vec<_> =
        rules().iter().map(|rule| rule.id).filter(|id| !met.contains_key(id)).collect();
    assert!(missing.is_empty(), "no config of the corpus meets {missing:?}");
    let mut found = String::new();
    for rule in rules() {
        writeln!(found, "{} {}", rule.id, met[rule.id].trim_end()).unwrap();
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(PLACES, &found).unwrap();
    }
    let written = std::fs::read_to_string(PLACES).unwrap_or_default();
    for (found, written) in found.lines().zip(written.lines()) {
        assert_eq!(found, written, "UPDATE=1 writes {PLACES} anew");
    }
    assert_eq!(found.lines().count(), written.lines().count());
}
