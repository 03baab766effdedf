//! A VIP that nobody wrote is one that the installer asks the DNS for.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

use plimsoll_engine::check::{Asked, ConfigFile, Knowledge, check};
use plimsoll_install::{Method, Release};
use plimsoll_model::Snapshot;
use plimsoll_model::check::{Check, InstallerVerdict, Severity};
use serde_json::json;

const BASE: &str = include_str!("../../../fixtures/install/bases/bm-disabled.install-config.yaml");

fn judged(seen: &Snapshot) -> Check {
    let text = BASE
        .replace("    apiVIPs:\n    - 192.168.111.5\n", "")
        .replace("    ingressVIPs:\n    - 192.168.111.4\n", "");
    assert!(!text.contains("VIP"), "the base has other VIPs");
    let asked = Asked {
        release: Release::V4_18,
        method: Method::Ipi,
        installer: plimsoll_install::Installer::default(),
        install: Some(ConfigFile { name: "install-config.yaml", text: &text }),
        agent: None,
        seen,
        only: &[],
        skip: &[],
        suppressions: &[],
    };
    check(&Knowledge::load(&[]).unwrap(), &asked).unwrap()
}

fn answer(name: &str, address: &str) -> serde_json::Value {
    json!({
        "id": format!("dns/{name}/a/system"), "kind": "dns", "target": name,
        "result": { "is": "dns", "resolver": "192.0.2.53:53", "said": { "addresses": [address] } },
    })
}

#[test]
fn without_a_look_it_is_said_which_names_are_asked_for() {
    let found = judged(&Snapshot::default());
    assert_eq!(found.installer_verdict, InstallerVerdict::Reject);
    for name in ["api.ostest.example.com", "test.apps.ostest.example.com"] {
        let told = |why: &str| why.contains(name);
        let is_it = found.not_checked.iter().any(|it| it.id == "vip-from-dns" && told(&it.why));
        assert!(is_it, "{:#?}", found.not_checked);
    }
}

#[test]
fn what_the_dns_says_is_taken_as_the_installer_takes_it() {
    let mut seen = Snapshot::default();
    let mut put = |path: &str, json: serde_json::Value| {
        seen.files.insert((0, path.into()), json.to_string().into_bytes());
    };
    put("live/asked.json", json!({ "parts": ["dns"], "label": "nobody" }));
    let answers = [
        answer("api.ostest.example.com", "192.168.111.5"),
        answer("nobody.apps.ostest.example.com", "192.168.111.4"),
    ];
    put("probes/probes.json", json!({ "answers": answers }));
    let found = judged(&seen);
    let told: Vec<_> = found.findings.iter().filter(|it| it.id == "vip-missing").collect();
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(told.iter().all(|it| it.severity == Severity::Warning));
    assert!(told[0].message.contains("192.168.111.5"), "{}", told[0].message);
    assert!(told[1].message.contains("test.apps.ostest.example.com"), "{}", told[1].message);
    assert_eq!(found.installer_verdict, InstallerVerdict::Accept);
}
