//! A value of the wrong type is told, and so is everything that does not rest on it. What rests on it is
//! neither right nor wrong: breaking a value never brings a refusal that the whole file would not have.

mod support;

use std::collections::BTreeSet;

use plimsoll_install::{File, Input, Judgement, Method, Refusal, Release, Stage, Verdict, judge};

const BASE: &str = include_str!("../../../fixtures/install/bases/bm-managed.install-config.yaml");

fn ipi(text: &str) -> Judgement {
    let input = Input { install: Some(text), agent: None };
    judge(&input, Release::V4_18, Method::Ipi).unwrap_or_else(|error| panic!("{error}"))
}

fn told(judgement: &Judgement) -> impl Iterator<Item = &Refusal> {
    judgement.refusals.iter().chain(&judgement.later)
}

/// Lines of a value, and what is put in its place.
struct Break<'t> {
    at: usize,
    end: usize,
    key: &'t str,
    with: &'static str,
}

impl Break<'_> {
    fn line(&self) -> u32 {
        u32::try_from(self.at + 1).unwrap()
    }

    fn of(&self, text: &str) -> String {
        let first = format!("{}: {}", self.key, self.with);
        let lines = text.split('\n').enumerate().map(|(number, line)| match number {
            number if number == self.at => first.as_str(),
            number if number > self.at && number < self.end => "",
            _ => line,
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Every way to put something of another type in place of a value, with its line. Lines stay where they
/// are.
fn broken(text: &str) -> Vec<Break<'_>> {
    let lines: Vec<&str> = text.split('\n').collect();
    let depth = |line: &str| line.len() - line.trim_start_matches([' ', '-']).len();
    let mut all = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some((key, _)) = line.split_once(':') else { continue };
        let name = key.trim_start_matches([' ', '-']);
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric()) {
            continue;
        }
        let own = key.len() - name.len();
        let below = lines[at + 1..].iter();
        let is_own = |line: &&&str| {
            let spaces = line.len() - line.trim_start().len();
            line.trim().is_empty()
                || spaces > own
                || (spaces == own && line.trim_start().starts_with("- ") && depth(line) > own)
        };
        let end = at + 1 + below.take_while(is_own).count();
        for with in ["[[1]]", "7", "{x: 1}"] {
            all.push(Break { at, end, key, with });
        }
    }
    all
}

fn starts(long: &str, short: &str) -> bool {
    !short.is_empty() && long.to_lowercase().starts_with(&short.to_lowercase())
}

#[test]
fn what_could_not_be_read_accuses_nobody() {
    let mut seen = BTreeSet::new();
    let mut wrong = BTreeSet::new();
    let (mut all, mut kept) = (0, 0);
    for case in support::cases() {
        if !seen.insert((case.install.clone(), case.agent.clone(), case.kind == "agent")) {
            continue;
        }
        let Some(install) = &case.install else { continue };
        let release = if all % 2 == 0 { Release::V4_18 } else { Release::V4_20 };
        let input = Input { install: Some(install), agent: case.agent.as_deref() };
        let Ok(whole) = judge(&input, release, case.method) else { continue };
        let said = |refusal: &Refusal| (refusal.rule, refusal.line, refusal.column);
        let known: BTreeSet<_> = told(&whole).map(said).collect();
        let stopped = told(&whole)
            .any(|it| it.detail.starts_with("runtime error") || it.stage != Stage::Validate);
        // Every config in another place: all of them in all places would take an hour.
        let variants = broken(install);
        let step = 1 + variants.len() / 4;
        let variants = variants.into_iter().map(|it| (File::Install, it));
        let agents = case.agent.as_deref().map(broken).unwrap_or_default();
        let variants = variants.chain(agents.into_iter().map(|it| (File::Agent, it)));
        for (file, cut) in variants.skip(all % step).step_by(step) {
            let given = if file == File::Install { Some(install.as_str()) } else { input.agent };
            let (line, text) = (cut.line(), cut.of(given.unwrap_or_default()));
            let input = match file {
                File::Install => Input { install: Some(&text), ..input },
                File::Agent => Input { agent: Some(&text), ..input },
            };
            let Ok(half) = judge(&input, release, case.method) else { continue };
            let is_it = |it: &Refusal| {
                it.stage == Stage::Parse
                    && it.file == file
                    && it.line == line
                    && it.rule != "unknown-key"
            };
            if !told(&half).any(is_it) {
                continue;
            }
            assert_eq!(half.verdict, Verdict::Reject);
            all += 1;
            for refusal in told(&half).filter(|it| it.stage != Stage::Parse) {
                kept += 1;
                // A fault above it stands for it, where that can be read.
                let stood_for = told(&whole).any(|it| starts(&refusal.path, &it.path));
                if !known.contains(&said(refusal))
                    && !stood_for
                    && !(stopped && refusal.stage > Stage::Validate)
                {
                    let what = told(&half).find(|it| is_it(it)).map(|it| it.path.as_str());
                    let what = what.unwrap_or_default().replace(|c: char| c.is_ascii_digit(), "");
                    wrong.insert(format!("{} <- {file:?} {what}", refusal.rule));
                }
            }
        }
    }
    println!("{all} broken values, {kept} other refusals told");
    let wrong: Vec<_> = wrong.into_iter().collect();
    assert!(wrong.is_empty(), "{} accused\n{}", wrong.len(), wrong.join("\n"));
    assert!(all > 2000 && kept > 500, "{all} broken values, {kept} other refusals told");
}

#[test]
fn every_value_of_the_wrong_type_is_told_and_the_first_as_the_installer_does() {
    let text = BASE
        .replace("  replicas: 3\n", "  replicas: three\n")
        .replacen("      role: master\n", "      role: [master]\n", 1)
        .replace("    - 192.168.111.5\n", "    - 10.0.0.5\n");
    let judgement = ipi(&text);
    assert_eq!(judgement.verdict, Verdict::Reject);
    assert_eq!(judgement.refusals.len(), 1, "{:#?}", judgement.refusals);
    assert_eq!(judgement.refusals[0].path, "controlPlane.replicas");
    let later: Vec<_> = judgement.later.iter().map(|it| (it.rule, it.path.as_str())).collect();
    assert_eq!(
        later,
        [
            ("value-of-wrong-type", "platform.baremetal.hosts[0].role"),
            ("vip-outside-machine-network", "platform.baremetal.apiVIPs"),
        ]
    );
}

#[test]
fn a_network_that_is_none_hides_the_type_errors_for_the_installer_alone() {
    let text = BASE
        .replace("  replicas: 3\n", "  replicas: three\n")
        .replace("192.168.111.0/24", "192.168.111.0");
    let judgement = ipi(&text);
    let said = |list: &[Refusal]| list.iter().map(|it| it.rule).collect::<Vec<_>>();
    assert_eq!(said(&judgement.refusals), ["network-unreadable"]);
    assert_eq!(said(&judgement.later), ["value-of-wrong-type"]);
}

#[test]
fn a_key_that_stands_twice_is_told_where_it_stands_and_hides_only_what_rests_on_it() {
    let text = format!("{BASE}baseDomain: other.test\npublish: Sometimes\n");
    let judgement = ipi(&text);
    let said =
        |list: &[Refusal]| list.iter().map(|it| (it.rule, it.path.clone())).collect::<Vec<_>>();
    assert_eq!(said(&judgement.refusals), [("key-doubled", "baseDomain".to_string())]);
    assert_eq!(said(&judgement.later), [("publish-unknown", "publish".to_string())]);
}
