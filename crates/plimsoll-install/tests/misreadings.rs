//! What the installer reads otherwise than it is written: where it stands, and what it becomes.

use plimsoll_install::{File, Input, Method, Misread, Misreading, Place, Release, judge};

const BASE: &str = include_str!("../../../fixtures/install/bases/bm-managed.install-config.yaml");
const AGENT_INSTALL: &str =
    include_str!("../../../fixtures/install/bases/agent-ha.install-config.yaml");
const AGENT: &str = include_str!("../../../fixtures/install/bases/agent-ha.agent-config.yaml");

fn of(install: &str) -> Vec<Misreading> {
    let input = Input { install: Some(install), agent: None };
    judge(&input, Release::V4_18, Method::Ipi).map(|it| it.misreadings).unwrap_or_default()
}

/// The text that stands at a place.
fn pointed_at(text: &str, place: Place) -> &str {
    let line = text.lines().nth(place.line as usize - 1).unwrap_or_default();
    line.get(place.column as usize - 1..).unwrap_or_default()
}

#[test]
fn good_files_are_read_as_they_are_written() {
    assert_eq!(of(BASE), []);
    let input = Input { install: Some(AGENT_INSTALL), agent: Some(AGENT) };
    let judgement = judge(&input, Release::V4_18, Method::Agent).map(|it| it.misreadings);
    assert_eq!(judgement, Ok(Vec::new()));
}

#[test]
fn a_plain_number_or_word_becomes_another_text() {
    for (written, read) in [
        ("0123456", "42798"),
        ("0x5000c500a0b1c2d3", "5764824129520911059"),
        ("no", "false"),
        ("True", "true"),
        ("1.10", "1.1"),
        ("1_000", "1000"),
    ] {
        let text = BASE.replacen("name: master-1", &format!("name: {written} # why"), 1);
        let found = of(&text);
        assert_eq!(found.len(), 1, "{written}: {found:?}");
        assert_eq!(found[0].path, "platform.baremetal.hosts[1].name");
        assert_eq!(pointed_at(&text, found[0].place), format!("{written} # why"));
        let shown = Some((written.to_string(), read.to_string()));
        assert_eq!(found[0].what, Misread::Scalar { width: written.len(), shown });
    }
}

#[test]
fn what_stays_the_same_or_is_in_quotes_is_read_right() {
    for written in ["123456", "'0123456'", "\"no\"", "true", "4.18", "52:54", "~"] {
        let text = BASE.replacen("name: master-1", &format!("name: {written}"), 1);
        assert_eq!(of(&text), [], "{written}");
    }
}

#[test]
fn a_password_changes_and_is_not_kept() {
    let text = BASE.replacen("password: password", "password: 0123456", 1);
    let found = of(&text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].what, Misread::Scalar { width: 7, shown: None });
}

#[test]
fn two_keys_that_differ_in_case_are_one_field() {
    let text = format!("{BASE}basedomain: other.test\n");
    let found = of(&text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(pointed_at(&text, found[0].place), "basedomain: other.test");
    let Misread::Key { wins, loses, other } = &found[0].what else {
        panic!("{found:?}");
    };
    assert_eq!((wins.as_str(), loses.as_str()), ("basedomain", "baseDomain"));
    assert!(pointed_at(&text, *other).starts_with("baseDomain:"));
}

#[test]
fn a_key_alone_in_another_case_or_twice_in_one_is_no_misreading() {
    assert_eq!(of(&BASE.replacen("baseDomain:", "basedomain:", 1)), []);
    assert_eq!(of(&format!("{BASE}baseDomain: other.test\n")), []);
    assert_eq!(of(&format!("{BASE}basedomain:\n")), [], "nothing sets nothing");
}

#[test]
fn agent_config_is_looked_at_and_so_are_places_behind_other_documents() {
    let agent = AGENT.replacen("hostname: ", "hostname: 0123 # ", 1);
    let agent = format!("\n\n\n{agent}");
    let input = Input { install: Some(AGENT_INSTALL), agent: Some(&agent) };
    let found =
        judge(&input, Release::V4_18, Method::Agent).map(|it| it.misreadings).unwrap_or_default();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].file, found[0].path.as_str()), (File::Agent, "hosts[0].hostname"));
    assert!(pointed_at(&agent, found[0].place).starts_with("0123 #"));
}

#[test]
fn what_a_document_lacks_is_pointed_at_by_its_beginning() {
    let agent = format!("\n\n# a comment\n{}", AGENT.replacen("apiVersion: v1beta1\n", "", 1));
    let input = Input { install: Some(AGENT_INSTALL), agent: Some(&agent) };
    let refusals =
        judge(&input, Release::V4_18, Method::Agent).map(|it| it.refusals).unwrap_or_default();
    assert_eq!(refusals.len(), 1, "{refusals:?}");
    assert_eq!(refusals[0].rule, "api-version-missing");
    assert_eq!(pointed_at(&agent, refusals[0].place()), "kind: AgentConfig");
}
