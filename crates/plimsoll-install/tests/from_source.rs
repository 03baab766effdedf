//! What was read in the installer's source and is in no recorded case: a config, the releases that refuse it, and
//! the field that they name.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

use plimsoll_install::{Input, Installer, Method, Release, Verdict, judge, judge_by};

const INSTALL: &str = include_str!("../../../fixtures/install/bases/agent-ha.install-config.yaml");
const AGENT: &str = include_str!("../../../fixtures/install/bases/agent-ha.agent-config.yaml");
const BAREMETAL: &str =
    include_str!("../../../fixtures/install/bases/bm-disabled.install-config.yaml");

fn swapped(text: &str, old: &str, new: &str) -> String {
    assert!(text.contains(old), "{old:?} is not in {text}");
    text.replacen(old, new, 1)
}

/// Of each release, the fields that it refuses.
fn refused(install: &str, agent: Option<&str>) -> Vec<(Release, Vec<String>)> {
    let method = if agent.is_some() { Method::Agent } else { Method::Ipi };
    let of = |release: Release| {
        let input = Input { install: Some(install), agent };
        let judgement = judge(&input, release, method).unwrap();
        (release, judgement.refusals.into_iter().map(|refusal| refusal.path).collect())
    };
    Release::ALL.into_iter().map(of).filter(|(_, paths): &(_, Vec<_>)| !paths.is_empty()).collect()
}

#[test]
fn the_agent_looks_for_room_whatever_the_network_type() {
    let calico = swapped(INSTALL, "networkType: OVNKubernetes", "networkType: Calico");
    assert_eq!(refused(&calico, Some(AGENT)), []);
    let small = swapped(&calico, "hostPrefix: 23", "hostPrefix: 26");
    let field = "spec.networking.clusterNetwork[0].hostPrefix".to_string();
    assert_eq!(refused(&small, Some(AGENT)), [(Release::V4_20, vec![field])]);
}

#[test]
fn a_network_config_without_a_value_counts() {
    let start = AGENT.find("  networkConfig:").unwrap();
    let rest = &AGENT[start..];
    let end = rest.find("\n- ").map_or(rest.len(), |at| at + 1);
    let empty = format!("{}  networkConfig:\n{}", &AGENT[..start], &rest[end..]);
    let mac = empty.split("macAddress: ").nth(1).unwrap().split('\n').next().unwrap();
    let dashes = swapped(&empty, mac, &mac.replace(':', "-"));
    let releases: Vec<Release> = refused(INSTALL, Some(&dashes)).iter().map(|it| it.0).collect();
    assert_eq!(releases, [Release::V4_18, Release::V4_19, Release::V4_20]);
}

#[test]
fn scalars_are_read_as_go_reads_them() {
    let read = |password: &str| {
        let text = swapped(BAREMETAL, "password: password", &format!("password: {password}"));
        judge(&Input { install: Some(&text), agent: None }, Release::V4_18, Method::Ipi)
    };
    assert_eq!(read(r#""it\'s""#).unwrap().verdict, Verdict::Accept);
    let wrong = read(r#""a\/b""#).unwrap_err();
    assert!(wrong.message.contains(r"\/"), "{wrong}");
}

#[test]
fn the_build_of_the_installer_counts() {
    let without_key = &BAREMETAL[..BAREMETAL.find("sshKey: ").unwrap()];
    let fips = format!("{without_key}fips: true\n");
    let by = |installer: Installer, release: Release| {
        let input = Input { install: Some(&fips), agent: None };
        judge_by(installer, &input, release, Method::Ipi).unwrap().verdict
    };
    let usual = Installer::default();
    let for_fips = Installer { fips: true, ..usual };
    assert_eq!(by(usual, Release::V4_15), Verdict::Accept);
    assert_eq!(by(usual, Release::V4_16), Verdict::Reject);
    assert_eq!(by(for_fips, Release::V4_16), Verdict::Accept);
}
