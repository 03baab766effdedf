//! Whatever an archive put into a diagnosis, the renderers stay calm: no panic, no control
//! characters, no markup from outside, no endless output.
#![expect(clippy::unwrap_used, reason = "a test stops at the first thing that is wrong")]

mod support;

use plimsoll_model::diagnosis::*;
use plimsoll_model::{EntityId, Time};
use plimsoll_report::{EvidenceShown, TextOptions, html, json, markdown, text};
use proptest::prelude::*;
use unicode_width::UnicodeWidthChar;

const ATTACKS: [&str; 8] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "\u{1b}[2J\u{1b}]0;owned\u{7}",
    "a\n# heading\n- item\n```\nout\n```",
    "| cell | cell |\n|---|---|",
    "\u{202e}gnp.exe\u{200b}\u{9b}31m",
    "[link](http://evil.example) ![x](http://evil.example/x.png)",
    "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字",
];

fn attack(at: usize) -> String {
    ATTACKS[at % ATTACKS.len()].into()
}

fn hostile() -> Diagnosis {
    let long = "x".repeat(100_000);
    let named = |at: usize| match at {
        7 => StateRef { id: long.clone(), entity: EntityId::namespaced(&long, &long, &long) },
        _ => StateRef {
            id: format!("{}{}", attack(at), at / 40),
            entity: EntityId::namespaced(
                &attack(at + 1),
                &attack(at + 2),
                &format!("{}{at}", attack(at + 3)),
            ),
        },
    };
    let proof = plimsoll_model::Evidence {
        line: None,
        pointer: Some(attack(2)),
        ..support::line(&long, 1, "03T11:00", &ATTACKS.concat())
    };
    let mut d = support::empty(Verdict::Recoverable, &ATTACKS.concat());
    d.cluster.version = Some(attack(0));
    d.cluster.platform = Some(attack(1));
    d.sources[0].name = attack(2);
    d.sources[0].complete = false;
    d.sources[0].gaps = (0..500).map(attack).collect();
    d.states = (0..5_000)
        .map(|at| State {
            id: named(at).id,
            entity: named(at).entity,
            status: [Status::Active, Status::Recovered, Status::Expected, Status::Unknown][at % 4],
            since: (at % 3 > 0).then_some(if at % 2 == 0 { Time::MIN } else { Time::MAX }),
            summary: attack(at),
            evidence: vec![support::field(&attack(at), &attack(at + 1), &attack(at + 2))],
            note: at % 11 == 0,
        })
        .collect();
    // A chain of 5,000, closed to a ring, with edges to oneself and to states that are not there.
    d.edges = (0..5_000)
        .flat_map(|at| [(at, (at + 1) % 5_000), (at, at), (at, at + 9_000), (at, at * 7 % 5_000)])
        .map(|(from, to)| Edge {
            from: named(from),
            to: named(to),
            rule: attack(from),
            because: attack(to),
        })
        .collect();
    d.roots = [0, 7, 20_000]
        .into_iter()
        .chain(30_000..30_020)
        .map(|at| Root {
            id: named(at).id,
            entity: named(at).entity,
            confidence: Confidence::Confirmed,
            since: Some(Time::MAX),
            summary: attack(at),
            explains: vec![named(at + 1), named(40_000 + at)],
            evidence: vec![proof.clone(); 3],
            repairs: vec![
                Repair {
                    id: attack(0),
                    summary: attack(1),
                    minutes: Some(u64::MAX),
                    blast: Some(255),
                    by: Some(DoneBy::Hand),
                };
                9
            ],
            folklore: vec![ATTACKS.concat(); 9],
            ties: vec![named(at + 2), named(at)],
        })
        .collect();
    d.deadlocks = vec![
        Deadlock {
            members: (0..5_000).map(named).collect(),
            entry: Some(named(50_000)),
            breakers: vec![Breaker { state: named(1), action: ATTACKS.concat() }],
        };
        4
    ];
    d.unexplained = (0..100).map(named).collect();
    d.ruled_out = (0..100)
        .map(|at| RuledOut {
            id: named(at).id,
            entity: named(at).entity,
            by: attack(at),
            evidence: vec![proof.clone()],
        })
        .collect();
    d.next_checks = (0..20)
        .map(|at| Check {
            id: named(at).id,
            entity: named(at).entity,
            how: ATTACKS.concat(),
            cost: Cost::High,
            separates: vec![named(0), named(7)],
        })
        .collect();
    d
}

fn columns(line: &str) -> usize {
    line.chars().map(|c| c.width().unwrap_or(0)).sum()
}

fn assert_calm(shown: &str) {
    let bad = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
    };
    assert!(!shown.contains(bad), "raw control character");
}

fn assert_fits(shown: &str, width: usize) {
    for line in shown.lines() {
        assert!(columns(line) <= width, "{} columns, not {width}: {line}", columns(line));
    }
}

#[test]
fn the_terminal_survives() {
    let shown = text(&hostile(), &TextOptions::default());
    assert_calm(&shown);
    assert_fits(&shown, 80);
    assert!(shown.len() < 64 << 10, "{} bytes", shown.len());
    assert!(shown.lines().count() < 400);
}

#[test]
fn the_browser_survives() {
    let shown = html(&hostile());
    assert_calm(&shown);
    assert_eq!(shown.matches("<script").count(), 1);
    assert!(!shown.contains("<img"));
    assert!(shown.len() < 64 << 20, "{} bytes", shown.len());
}

#[test]
fn the_incident_report_survives() {
    let shown = markdown(&hostile());
    assert_calm(&shown);
    let mut in_fence = None;
    for line in shown.lines() {
        match in_fence {
            Some(fence) if line == fence => in_fence = None,
            Some(_) => {}
            None if line.starts_with("```") => in_fence = Some(line.trim_end_matches("text")),
            None => {
                assert!(!line.starts_with("# heading") && !line.starts_with("- item"));
                let outside_code: String = line.split('`').step_by(2).collect();
                let outside_code = outside_code.replace("\\<", "");
                assert!(!outside_code.contains("<script"), "{line}");
            }
        }
    }
    assert_eq!(in_fence, None);
}

#[test]
fn scripts_survive() {
    let mut d = hostile();
    d.states.truncate(10);
    d.edges.clear();
    let shown = json(&d);
    assert_calm(&shown);
    assert!(serde_json::from_str::<serde_json::Value>(&shown).is_ok());
}

/// States to choose from: few, so that random edges make rings and knots.
fn some_state() -> impl Strategy<Value = StateRef> {
    let kinds = prop_oneof![Just("Pod"), Just("Node"), Just("NetworkPolicy"), Just("")];
    (0..6_u8, kinds, 0..9_u8, any::<bool>()).prop_map(|(id, kind, name, long)| StateRef {
        id: if long {
            format!("state-{id}-{}", "with-a-long-name-".repeat(usize::from(id)))
        } else {
            format!("s{id}")
        },
        entity: EntityId::namespaced(kind, "openshift-somewhere", &format!("{name}")),
    })
}

fn some_states() -> impl Strategy<Value = Vec<StateRef>> {
    prop::collection::vec(some_state(), 0..12)
}

fn some_time() -> impl Strategy<Value = Option<Time>> {
    prop::option::of((0..2_000_000_000_i64).prop_map(|second| Time::from_second(second).unwrap()))
}

fn some_text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "([a-z/]{1,90} ?){0,20}", Just(String::new())]
}

prop_compose! {
    fn some_root()(
        state in some_state(), since in some_time(), summary in some_text(), explains in some_states(),
        ties in some_states(), quote in some_text(), path in some_text(), pointer in prop::option::of(some_text()),
        folklore in prop::collection::vec(some_text(), 0..3), blast in any::<Option<u8>>(), minutes in any::<Option<u64>>(),
    ) -> Root {
        let proof = plimsoll_model::Evidence { path, pointer, ..support::line("", 7, "", &quote) };
        Root {
            id: state.id, entity: state.entity, confidence: Confidence::Probable, since,
            repairs: vec![Repair {
                id: "r".into(),
                summary: summary.clone(),
                minutes,
                blast,
                by: Some(DoneBy::Nobody),
            }],
            summary, explains, evidence: vec![proof.clone(), proof], folklore, ties,
        }
    }
}

prop_compose! {
    fn some_diagnosis()(
        seed in 0..4_usize, now in some_time(), reason in some_text(),
        states in prop::collection::vec((some_state(), 0..4_usize, some_time(), any::<bool>()), 0..40),
        edges in prop::collection::vec((some_state(), some_state()), 0..60),
        roots in prop::collection::vec(some_root(), 0..5),
        rings in prop::collection::vec((some_states(), prop::option::of(some_state())), 0..3),
        unexplained in some_states(), how in some_text(), separates in some_states(),
    ) -> Diagnosis {
        let mut d = match seed {
            0 => support::example(),
            1 => support::healthy(),
            2 => support::not_provable(),
            _ => support::empty(Verdict::Escalate, &reason),
        };
        d.generated_for = now;
        d.states.extend(states.into_iter().map(|(state, status, since, note)| State {
            id: state.id, entity: state.entity, since, summary: reason.clone(), evidence: vec![], note,
            status: [Status::Active, Status::Recovered, Status::Expected, Status::Unknown][status],
        }));
        d.edges.extend(edges.into_iter().map(|(from, to)| Edge { from, to, rule: "r".into(), because: reason.clone() }));
        d.next_checks.extend(roots.iter().map(|root| Check {
            id: root.id.clone(), entity: root.entity.clone(), how: how.clone(), cost: Cost::Medium, separates: separates.clone(),
        }));
        d.roots.extend(roots);
        d.deadlocks.extend(rings.into_iter().map(|(members, entry)| Deadlock { members, entry, breakers: vec![] }));
        d.suppressed.extend(unexplained.iter().map(|state| Suppressed {
            id: state.id.clone(), entity: state.entity.clone(), reason: reason.clone(), until: how.clone(),
            status: Status::Active, evidence: vec![], explains: separates.clone(),
        }));
        d.notes.push(reason);
        d.unexplained.extend(unexplained);
        d
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_diagnosis_can_be_read(d in some_diagnosis(), width in 0..160_usize, all in any::<bool>()) {
        let evidence = if all { EvidenceShown::All } else { EvidenceShown::Root(1) };
        let shown = text(&d, &TextOptions { width, color: false, evidence });
        assert_calm(&shown);
        assert_fits(&shown, width.max(40));
        assert_calm(&markdown(&d));
        assert_calm(&html(&d));
        prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&json(&d)).unwrap(), serde_json::to_value(&d).unwrap());
    }
}
