//! What `check --fix` mends: for each kind a config before and after, with everything else as it was,
//! and over the whole corpus no fix that makes anything worse.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_engine::check::fix::{Fix, TIDY, diff, fixes, mended};
use plimsoll_install::{File, Input, Judgement, Method, Release, Stage, judge, rules};
use serde_json::Value;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/install");

fn base(name: &str) -> String {
    std::fs::read_to_string(format!("{FIXTURES}/bases/{name}.yaml")).unwrap()
}

fn all(input: &Input<'_>, release: Release, method: Method) -> Vec<Fix> {
    fixes(input, release, method, &|_| true)
}

fn mend(text: &str, release: Release) -> (String, Vec<Fix>) {
    let input = Input { install: Some(text), agent: None };
    let fixes = all(&input, release, Method::Ipi);
    (mended(text, File::Install, &fixes), fixes)
}

fn says(text: &str, release: Release, id: &str) -> bool {
    let input = Input { install: Some(text), agent: None };
    let Ok(judgement) = judge(&input, release, Method::Ipi) else { return false };
    let Judgement { refusals, warnings, later, .. } = judgement;
    refusals.iter().chain(&warnings).chain(&later).any(|refusal| refusal.rule == id)
}

const BM: &str = "bm-disabled.install-config";
const NONE: &str = "none-proxy-mirror.install-config";

/// Base, what is there in a good file, what stands there before and after, and the id of the fix.
const CASES: &[(&str, &str, &str, &str, &str)] = &[
    (
        BM,
        "192.168.111.0/24",
        "192.168.111.17/24  # ours",
        "192.168.111.0/24  # ours",
        "machine-network-not-aligned",
    ),
    (
        BM,
        "- 172.30.0.0/16",
        "- \"172.30.1.1/16\"",
        "- \"172.30.0.0/16\"",
        "service-network-not-aligned",
    ),
    (BM, "10.128.0.0/14", "10.129.0.0/14", "10.128.0.0/14", "cluster-network-not-aligned"),
    (
        BM,
        "provisioningNetwork: Disabled",
        "provisioningNetworkCIDR: 172.22.0.1/24",
        "provisioningNetworkCIDR: 172.22.0.0/24",
        "provisioning-network-host-bits",
    ),
    (
        BM,
        "    apiVIPs:\n    - 192.168.111.5\n",
        "    apiVIP: 192.168.111.5 # api\n",
        "    apiVIPs:\n    - 192.168.111.5 # api\n",
        "vip-field-deprecated",
    ),
    (
        BM,
        "    ingressVIPs:\n    - 192.168.111.4\n",
        "    ingressvip: '192.168.111.4'\n",
        "    ingressVIPs:\n    - '192.168.111.4'\n",
        "vip-field-deprecated",
    ),
    (
        NONE,
        "imageDigestSources:",
        "imageContentSources:",
        "imageDigestSources:",
        "image-content-sources-deprecated",
    ),
    (
        BM,
        "provisioningNetwork: Disabled",
        "provisioningNetwrok: Disabled",
        "provisioningNetwork: Disabled",
        "unknown-key",
    ),
    (BM, "machineNetwork:", "machineNetworks:", "machineNetwork:", "unknown-key"),
    (BM, "      bmc:\n", "      BMC:\n", "      bmc:\n", "key-in-other-case"),
    (BM, "apiVIPs:", "'apiVips':", "'apiVIPs':", "key-in-other-case"),
    (BM, "OVNKubernetes", "OpenShiftSDN", "OVNKubernetes", "network-type-gone"),
    (
        BM,
        "provisioningNetwork: Disabled",
        "provisioningNetwork: disabled",
        "provisioningNetwork: Disabled",
        "provisioning-network-unknown",
    ),
    (
        BM,
        "role: master\n",
        "role: master\n      bootMode: uefi\n",
        "role: master\n      bootMode: UEFI\n",
        "boot-mode-unknown",
    ),
    (BM, "role: worker\n", "role: Worker\n", "role: worker\n", "host-without-role"),
    (
        BM,
        "metadata:",
        "publish: external\nmetadata:",
        "publish: External\nmetadata:",
        "publish-unknown",
    ),
    (
        BM,
        "    provisioningNetwork:",
        "    loadBalancer: {type: usermanaged}\n    provisioningNetwork:",
        "    loadBalancer: {type: UserManaged}\n    provisioningNetwork:",
        "load-balancer-type-unknown",
    ),
    (NONE, "Proxyonly", "ProxyOnly", "Proxyonly", "trust-bundle-policy-unknown"),
    (
        BM,
        "  name: master\n",
        "  name: master\n  architecture: x86_64\n",
        "  name: master\n  architecture: amd64\n",
        "architecture-unknown",
    ),
    (
        BM,
        "  name: master\n",
        "  name: master\n  hyperthreading: enabled\n",
        "  name: master\n  hyperthreading: Enabled\n",
        "hyperthreading-unknown",
    ),
    (BM, "apiVersion: v1\n", "", "apiVersion: v1\n", "api-version-missing"),
    (BM, "apiVersion: v1\n", "apiVersion: v1beta2\n", "apiVersion: v1\n", "api-version-unknown"),
    (BM, "apiVersion: v1\n", "apiVersion: v1beta4\n", "apiVersion: v1\n", "api-version-old"),
    (
        NONE,
        ".example.com,192.168.111.0/24,10.20.0.1",
        ".example.com, 192.168.111.0/24 ,10.20.0.1",
        ".example.com,192.168.111.0/24,10.20.0.1",
        "no-proxy-has-spaces",
    ),
    (BM, "  replicas: 3\n", "  replicas: \"3\"\n", "  replicas: 3\n", "value-of-wrong-type"),
    (BM, "hostPrefix: 23", "hostPrefix: '23'", "hostPrefix: 23", "value-of-wrong-type"),
    (
        BM,
        "        password: password\n    - name: master-1",
        "        password: password\n        disableCertificateVerification: 'true'\n    - name: master-1",
        "        password: password\n        disableCertificateVerification: true\n    - name: master-1",
        "value-of-wrong-type",
    ),
    (
        NONE,
        "-----END CERTIFICATE-----\n",
        "-----END CERTIFICATE-----\n     \n",
        "-----END CERTIFICATE-----\n\n",
        "trust-bundle-unreadable",
    ),
    (BM, "52:54:00:00:00:10", "52-54-00-00-00-1A", "52:54:00:00:00:1a", "mac-in-other-form"),
    (BM, "    hostPrefix: 23\n", "", "    hostPrefix: 23\n", "host-prefix-too-small"),
    (
        BM,
        "  - cidr: 10.128.0.0/14\n    hostPrefix: 23\n",
        "  - {cidr: 10.128.0.0/14}\n",
        "  - {cidr: 10.128.0.0/14, hostPrefix: 23}\n",
        "host-prefix-too-small",
    ),
    (
        BM,
        "      role: master\n",
        "      role: master\n      networkConfig:\n        interfaces:\n        - name: eno1\n          mtu: \"9000\"\n",
        "      role: master\n      networkConfig:\n        interfaces:\n        - name: eno1\n          mtu: 9000\n",
        "interface-mtu-not-a-number",
    ),
];

#[test]
fn each_mistake_is_mended_and_nothing_else_is_touched() {
    for (base_name, good, before, after, id) in CASES {
        let good_text = base(base_name);
        assert!(good_text.contains(good), "{base_name} has no {good:?}");
        let broken = good_text.replacen(good, before, 1);
        let expected = good_text.replacen(good, after, 1);
        let release = Release::V4_20;
        for (text, wanted) in [
            (broken.clone(), expected.clone()),
            (broken.replace('\n', "\r\n"), expected.replace('\n', "\r\n")),
            (format!("\u{feff}# é\n{broken}"), format!("\u{feff}# é\n{expected}")),
        ] {
            let (fixed, fixes) = mend(&text, release);
            assert_eq!(fixed, wanted, "{id} by {fixes:?}");
            assert!(fixes.iter().all(|fix| fix.id == *id), "{id}: {fixes:?}");
            assert!(!says(&fixed, release, id), "{id} is still there");
            let again = mend(&fixed, release);
            assert!(again.1.is_empty(), "{id} is mended twice: {:?}", again.1);
        }
        let known = rules().iter().any(|rule| rule.id == *id);
        assert!(known || TIDY.contains(id), "{id} is nothing that is told elsewhere");
        if known && *id != "host-without-role" {
            assert!(says(&broken, release, id), "{id} is not there before");
        }
    }
}

#[test]
fn lines_kept_behind_the_last_certificate_are_dropped() {
    let last = "-----END CERTIFICATE-----\n";
    let good = base(NONE).replacen(last, &format!("{last}\n\n"), 1);
    let broken = good.replacen("additionalTrustBundle: |", "additionalTrustBundle: |+", 1);
    assert!(says(&broken, Release::V4_18, "trust-bundle-unreadable"));
    assert!(mend(&broken, Release::V4_18).0 == good);
    assert!(!says(&good, Release::V4_18, "trust-bundle-unreadable"));
}

#[test]
fn a_good_file_is_left_alone() {
    for name in [BM, NONE, "bm-managed.install-config", "bm-dualstack.install-config"] {
        for release in Release::ALL {
            let text = base(name);
            let (fixed, fixes) = mend(&text, release);
            assert_eq!((fixed, fixes), (text, Vec::new()), "{name} {release}");
        }
    }
}

#[test]
fn what_only_its_writer_can_know_is_left_alone() {
    for (good, before) in [
        ("role: master", "role: main"),
        ("provisioningNetwork:", "provisionNet:"),
        ("192.168.111.5", "192.168.112.5"),
        // Both are one slip away.
        ("    apiVIPs:\n    - 192.168.111.5\n", "    apiVIPx: 192.168.111.5\n"),
        // The other spelling is there already.
        ("    apiVIPs:", "    apivips: [192.168.111.9]\n    apiVIPs:"),
        ("hostPrefix: 23", "hostPrefix: '023'"),
        ("52:54:00:00:00:10", "52:54:00:00:00"),
    ] {
        let text = base(BM).replacen(good, before, 1);
        let (fixed, fixes) = mend(&text, Release::V4_18);
        assert_eq!(fixed, text, "{fixes:?}");
    }
}

#[test]
fn a_fix_that_would_bring_an_error_is_not_made() {
    // The installer compares letter by letter; in one form they are the same.
    let text = base(BM)
        .replacen("52:54:00:00:00:10", "52:54:00:00:00:AA", 1)
        .replacen("52:54:00:00:00:11", "52:54:00:00:00:aa", 1)
        .replacen("provisioningNetwork: Disabled", "provisioningNetwork: disabled", 1);
    let (_, fixes) = mend(&text, Release::V4_18);
    let ids: Vec<&str> = fixes.iter().map(|fix| fix.id).collect();
    assert_eq!(ids, ["provisioning-network-unknown"]);
}

#[test]
fn both_files_are_mended() {
    let install = base("agent-ha.install-config").replacen("OVNKubernetes", "ovnkubernetes", 1);
    let agent = base("agent-ha.agent-config").replacen("rendezvousIP", "rendevousIP", 1).replacen(
        "52:54:00:00:01:00",
        "52-54-00-00-01-00",
        1,
    );
    let input = Input { install: Some(&install), agent: Some(&agent) };
    let fixes = all(&input, Release::V4_18, Method::Agent);
    let fixed = mended(&agent, File::Agent, &fixes);
    assert!(mended(&install, File::Install, &fixes).contains("OVNKubernetes"));
    assert!(fixed.contains("rendezvousIP") && fixed.contains("52:54:00:00:01:00"), "{fixes:?}");
}

#[test]
fn only_what_is_wanted_is_mended() {
    let text = base(BM).replacen("Disabled", "disabled", 1).replacen("OVNK", "ovnk", 1);
    let input = Input { install: Some(&text), agent: None };
    let one = fixes(&input, Release::V4_18, Method::Ipi, &|id| id == "network-type-gone");
    assert_eq!(one.len(), 1);
}

/// A case of the corpus: edits of a base, or a text.
fn text_of(case: &Value, file: &str, bases: &BTreeMap<String, String>) -> Option<String> {
    let own = &case[file];
    if let Some(text) = own["text"].as_str() {
        return Some(text.into());
    }
    let name = format!("{}.{file}-config.yaml", own["base"].as_str()?);
    let mut lines: Vec<&str> = bases.get(&name)?.split('\n').collect();
    let cut = |at: usize| own["cut"][at].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap();
    let put: Vec<&str> = own["put"].as_str().into_iter().flat_map(|put| put.split('\n')).collect();
    let (from, to) = (cut(0).min(lines.len()), cut(1).min(lines.len()));
    lines.splice(from..to, put);
    Some(lines.join("\n"))
}

#[test]
fn over_the_corpus_no_fix_makes_anything_worse() {
    let mut bases = BTreeMap::new();
    for entry in std::fs::read_dir(format!("{FIXTURES}/bases")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        bases.insert(name, std::fs::read_to_string(&path).unwrap());
    }
    let corpus = std::fs::read_to_string(format!("{FIXTURES}/cases.jsonl")).unwrap();
    let (mut cases, mut fixed, mut mended_whole) = (0, 0, 0);
    for line in corpus.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let name = case["name"].as_str().unwrap();
        let (install, agent) = (text_of(&case, "install", &bases), text_of(&case, "agent", &bases));
        let input = Input { install: install.as_deref(), agent: agent.as_deref() };
        let method = if case["kind"] == "agent" { Method::Agent } else { Method::Ipi };
        for release in [Release::V4_14, Release::V4_18, Release::V4_20] {
            cases += 1;
            let fixes = all(&input, release, method);
            if fixes.is_empty() {
                continue;
            }
            fixed += 1;
            let texts = [(File::Install, input.install), (File::Agent, input.agent)];
            let [new_install, new_agent] =
                texts.map(|(file, text)| text.map(|text| mended(text, file, &fixes)));
            for (file, text) in texts {
                let own =
                    fixes.iter().filter(|fix| fix.file == file).flat_map(|fix| fix.edits.clone());
                let _ = diff(text.unwrap_or_default(), &own.collect::<Vec<_>>(), "a", "b");
            }
            let renamed = fixes.iter().any(|fix| fix.id == "unknown-key");
            let Ok(before) = judge(&input, release, method) else {
                panic!("{name} {release}: fixes of what is no YAML");
            };
            let after = Input { install: new_install.as_deref(), agent: new_agent.as_deref() };
            let after = judge(&after, release, method)
                .unwrap_or_else(|error| panic!("{name} {release}: {error} after {fixes:?}"));
            let ids = |judgement: &Judgement| -> BTreeSet<&'static str> {
                judgement.refusals.iter().chain(&judgement.later).map(|it| it.rule).collect()
            };
            let stopped = before.refusals.iter().map(|refusal| refusal.stage).max();
            // Reading stops at its first error, and a key that nobody read may hide one.
            let hid = renamed || matches!(stopped, Some(Stage::Parse | Stage::Convert));
            let further = after.refusals.iter().map(|refusal| refusal.stage).max() > stopped;
            let new: Vec<_> = ids(&after).difference(&ids(&before)).copied().collect();
            assert!(
                new.is_empty() || hid || (stopped.is_some() && further),
                "{name} {release}: {new:?} by {fixes:?}"
            );
            if !before.refusals.is_empty() && after.refusals.is_empty() {
                mended_whole += 1;
            }
        }
    }
    println!(
        "{cases} judgements, {fixed} with fixes, {mended_whole} rejected before and accepted after"
    );
    assert!(fixed > 300 && mended_whole > 100, "{fixed} {mended_whole}");
}
