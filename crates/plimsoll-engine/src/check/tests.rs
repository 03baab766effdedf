//! One slip in a good config, and the one finding that names it, where it stands. Only the words of the
//! installer's rules are loaded; rules of the packs have their own cases.

use plimsoll_install::{Method, Release};
use plimsoll_model::Snapshot;
use plimsoll_model::check::{Finding, Severity};

use super::{Asked, ConfigFile, Knowledge, check};
use crate::pack::PackFile;

const WORDS: &str = include_str!("../../../../knowledge/check/installer.yaml");
const BAREMETAL: &str =
    include_str!("../../../../fixtures/install/bases/bm-disabled.install-config.yaml");
const DUAL: &str =
    include_str!("../../../../fixtures/install/bases/bm-dualstack.install-config.yaml");
const AGENT_INSTALL: &str =
    include_str!("../../../../fixtures/install/bases/agent-ha.install-config.yaml");
const AGENT: &str = include_str!("../../../../fixtures/install/bases/agent-ha.agent-config.yaml");

fn found(install: &str, agent: Option<&str>, release: Release) -> Vec<Finding> {
    let file = PackFile { path: "check/installer.yaml".into(), text: WORDS.into() };
    let knowledge = Knowledge::load(&[file]).unwrap_or_else(|errors| panic!("{errors:?}"));
    let seen = Snapshot::default();
    let asked = Asked {
        release,
        method: if agent.is_some() { Method::Agent } else { Method::Ipi },
        installer: plimsoll_install::Installer::default(),
        install: Some(ConfigFile { name: "install-config.yaml", text: install }),
        agent: agent.map(|text| ConfigFile { name: "agent-config.yaml", text }),
        seen: &seen,
        only: &[],
        skip: &[],
        suppressions: &[],
    };
    let answer = check(&knowledge, &asked).unwrap_or_else(|error| panic!("{error}"));
    answer.folded().findings
}

fn swapped(base: &str, good: &str, bad: &str) -> String {
    assert!(base.contains(good), "{good:?}");
    base.replacen(good, bad, 1)
}

/// The one finding of a config.
fn only(all: Vec<Finding>) -> Finding {
    let shown: Vec<_> =
        all.iter().map(|it| format!("{}:{} {}", it.line, it.column, it.id)).collect();
    let [one] = <[Finding; 1]>::try_from(all).unwrap_or_else(|_| panic!("{shown:?}"));
    one
}

/// What stands in a good config, what stands there instead, the finding, and its place.
const SLIPS: &[(&str, &str, &str, (u32, u32))] = &[
    ("    - 192.168.111.5\n", "    - 192.168.111.5/24\n", "vip-not-an-address", (23, 7)),
    ("    ingressVIPs:\n    - 192.168.111.4\n", "", "vip-missing", (21, 3)),
    (
        "  name: master\n",
        "  name: master\n  architecture: x86_64\n",
        "architecture-unknown",
        (16, 17),
    ),
    (
        "provisioningNetwork: Disabled",
        "provisioningNetworkCIDR: 172.22.0.5/24",
        "provisioning-network-host-bits",
        (26, 30),
    ),
    (
        "provisioningNetwork: Disabled",
        "provisioningNetworkCIDR: 192.168.111.0/25",
        "provisioning-network-overlaps",
        (26, 30),
    ),
    (
        "provisioningNetwork: Disabled",
        "provisioningDHCPRange: 172.22.0.1,172.22.0.254",
        "provisioning-ip-in-dhcp-range",
        (26, 28),
    ),
    ("role: worker", "role: wroker", "host-without-role", (50, 13)),
    ("//192.168.111.101/", "//2001:db8::10/", "bmc-address-unreadable", (32, 18)),
    (
        "apiVersion: v1\n",
        "apiVersion: v1\nimageContentSources: [{source: quay.io/a/b, mirrors: [m.io/a]}]\n\
         imageDigestSources: [{source: quay.io/a/b, mirrors: [m.io/a]}]\n",
        "mirrors-twice",
        (2, 1),
    ),
    ("name: master-1", "name: 010", "unquoted-value", (35, 13)),
    ("password: password", "password: 0123456", "unquoted-value", (34, 19)),
    ("metadata:", "basedomain: other.test\nmetadata:", "key-in-two-cases", (2, 1)),
];

#[test]
fn one_slip_is_one_finding_at_its_place() {
    assert_eq!(found(BAREMETAL, None, Release::V4_18), []);
    for (good, bad, id, place) in SLIPS {
        let one = only(found(&swapped(BAREMETAL, good, bad), None, Release::V4_18));
        assert_eq!((one.id.as_str(), (one.line, one.column)), (*id, *place), "{bad}");
        assert!(one.hint.is_some() && one.why.is_some(), "{one:?}");
    }
}

#[test]
fn our_sentence_is_plain_and_the_installers_is_its_own() {
    for (good, bad, ours, theirs) in [
        (
            "provisioningNetwork: Disabled",
            "provisioningNetworkCIDR: 172.22.0.5/24",
            "The address of the provisioning network has bits below its mask: 172.22.0.5/24",
            "ipnet.IPNet{",
        ),
        ("role: worker", "role: wroker", "The role of a host is unknown: \"wroker\"", "any role"),
        (
            "apiVersion: v1\n",
            "apiVersion: v1\nimageContentSources: [{source: quay.io/a/b, mirrors: [m.io/a]}]\n\
             imageDigestSources: [{source: quay.io/a/b, mirrors: [m.io/a]}]\n",
            "imageContentSources beside imageDigestSources.",
            "\"External\"",
        ),
        (
            "    ingressVIPs:\n    - 192.168.111.4\n",
            "",
            "No virtual address for the API or for ingress: platform.baremetal.ingressVIPs",
            "at least one VIP for the Ingress",
        ),
    ] {
        let one = only(found(&swapped(BAREMETAL, good, bad), None, Release::V4_18));
        assert_eq!(one.message, ours);
        let said = one.installer_message.unwrap_or_default();
        assert!(said.contains(theirs), "{said}");
    }
}

#[test]
fn a_value_without_quotes_is_named_and_a_password_is_not() {
    let named = swapped(BAREMETAL, "name: master-1", "name: no");
    let one = only(found(&named, None, Release::V4_18));
    assert_eq!(one.message, "Without quotes no is read as false.");
    assert_eq!(one.severity, Severity::Warning);
    let secret = swapped(BAREMETAL, "password: password", "password: 0123456");
    let shown = format!("{:?}", only(found(&secret, None, Release::V4_18)));
    assert!(!shown.contains("0123456") && !shown.contains("42798"), "{shown}");
    let keys = swapped(BAREMETAL, "metadata:", "basedomain: other.test\nmetadata:");
    let one = only(found(&keys, None, Release::V4_18));
    let said = "basedomain and baseDomain (line 5) are one field to the installer, which takes \
                basedomain.";
    assert_eq!(one.message, said);
}

#[test]
fn vips_in_the_other_order_are_told_once() {
    let api = "    - 192.168.111.5\n    - fd2e:6f44:5dd8:c956::5\n";
    let turned = "    - fd2e:6f44:5dd8:c956::5\n    - 192.168.111.5\n";
    let text = swapped(DUAL, api, turned);
    let ingress = "    - 192.168.111.4\n    - fd2e:6f44:5dd8:c956::4\n";
    let turned = "    - fd2e:6f44:5dd8:c956::4\n    - 192.168.111.4\n";
    let text = swapped(&text, ingress, turned);
    let one = only(found(&text, None, Release::V4_20));
    assert_eq!((one.id.as_str(), one.line), ("vip-family-not-primary", 27));
    assert_eq!(one.installer_message.unwrap_or_default().split("; ").count(), 6);
}

#[test]
fn agent_config_has_its_own_version_and_its_own_macs() {
    let errors = |agent: &str| {
        let mut all = found(AGENT_INSTALL, Some(agent), Release::V4_18);
        all.retain(|it| it.severity == Severity::Error);
        only(all)
    };
    let version = errors(&swapped(AGENT, "apiVersion: v1beta1", "apiVersion: v1"));
    assert_eq!((version.id.as_str(), version.line), ("api-version-unknown", 1));
    assert!(version.hint.is_some_and(|hint| hint.contains("v1beta1")));
    let missing = errors(&swapped(AGENT, "apiVersion: v1beta1\n", "# no version\n"));
    assert_eq!((missing.id.as_str(), missing.line), ("api-version-missing", 2));
    assert!(missing.hint.is_some_and(|hint| hint.contains("agent-config.yaml")));
    let mac = errors(&swapped(AGENT, "52:54:00:00:01:00", "52-54-00-00-01-00"));
    assert_eq!((mac.id.as_str(), mac.line, mac.column), ("interfaces-not-usable", 15, 17));
    let said = "The MAC address of an interface is not six pairs with colons between them: \
                \"52-54-00-00-01-00\"";
    assert_eq!(mac.message, said);
}
