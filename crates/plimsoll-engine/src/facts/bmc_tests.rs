use std::collections::BTreeMap;

use serde_json::json;

use super::*;

fn facts(base: &mut FactBase, files: &[(&str, Json)]) -> Vec<(usize, Gap)> {
    let files: BTreeMap<(usize, String), Vec<u8>> = files
        .iter()
        .map(|(path, json)| ((0, (*path).to_string()), json.to_string().into_bytes()))
        .collect();
    let sources = vec![plimsoll_model::snapshot::SourceInfo::default()];
    let snapshot = Snapshot { files, sources, ..Snapshot::default() };
    let mut problems = Vec::new();
    extract(&snapshot, base, &mut problems);
    problems
}

fn host(name: &str) -> EntityId {
    EntityId::cluster_scoped("BareMetalHost", name)
}

fn bmc<'b>(base: &'b FactBase, name: &str, fact: &str) -> Option<&'b Value> {
    base.entities.get(&host(name))?.facts.get("bmc")?.get(fact)
}

fn whole() -> Json {
    json!({
        "schema": "plimsoll.bmc/v1", "name": "w", "address": "redfish://10.0.0.1",
        "time": "2025-12-03T18:40:00Z",
        "endpoint": {"host": "10.0.0.1", "port": 443, "system_path": "/redfish/v1/Systems/1"},
        "reach": {"status": "answered"},
        "tls": {"trusted": false, "why": "expired", "not_after": "2025-01-01T00:00:00Z"},
        "auth": {"status": "accepted"},
        "system": {
            "path": "/redfish/v1/Systems/A", "paths_offered": ["/redfish/v1/Systems/A"],
            "manufacturer": "HPE", "power": "Off", "health": "Critical", "boot": {"mode": "legacy"}
        },
        "manager": {"offset_seconds": -4000},
        "virtual_media": [{"id": "1", "inserted": false},
                          {"id": "2", "inserted": true, "image": "https://10.0.0.9/a.iso"}],
        "nics": [{"id": "a", "link": "up", "model": "X", "transceiver": {"present": true}},
                 {"id": "b", "link": "down", "transceiver": {"present": false}},
                 {"id": "c", "link": "down", "enabled": false, "transceiver": {"present": false}}],
        "events": [{"severity": "OK", "message": "fine"},
                   {"time": "T", "severity": "Critical", "message": "fan"}],
        "complete": true
    })
}

#[test]
fn a_reading_becomes_facts_that_are_cited() {
    let mut base = FactBase::default();
    assert!(facts(&mut base, &[("x/bmc/w.json", whole())]).is_empty());
    let told = |fact: &str| bmc(&base, "w", fact).cloned();
    assert_eq!(told("reach"), Some("answered".into()));
    assert_eq!(told("tlsTrusted"), Some(false.into()));
    assert!(matches!(told("tlsEnds"), Some(Value::Time(_))));
    assert_eq!(told("systemFound"), Some(false.into()));
    assert_eq!(told("clockOffset"), Some((-4000_i64).into()));
    assert_eq!(told("mediaInserted"), Some("10.0.0.9/a.iso".into()));
    assert_eq!(told("linksUp"), Some(1_i64.into()));
    assert_eq!(told("noTransceiver"), Some(vec!["b"].into()));
    assert_eq!(told("events").and_then(|e| e.get("critical").cloned()), Some(1_i64.into()));
    let entity = &base.entities[&host("w")];
    assert_eq!(entity.facts.get("firmwareBootMode"), Some(&"legacy".into()));
    let at = &entity.provenance["bmc.mediaInserted"][0];
    assert_eq!(
        (at.path.as_str(), at.pointer.as_deref()),
        ("x/bmc/w.json", Some("/virtual_media/1"))
    );
    assert_eq!(at.time, "2025-12-03T18:40:00Z".parse().ok(), "when the BMC was asked");
}

#[test]
fn what_is_not_told_is_unknown() {
    let mut base = FactBase::default();
    let bare = json!({"schema": SCHEMA, "name": "w", "reach": {"status": "timed-out"}});
    facts(&mut base, &[("bmc/w.json", bare)]);
    let Some(Value::Map(map)) = base.entities[&host("w")].facts.get("bmc") else { panic!() };
    assert_eq!(map.keys().collect::<Vec<_>>(), ["reach"]);
    assert!(!base.entities[&host("w")].facts.contains_key("firmwareBootMode"));
}

#[test]
fn the_cluster_says_which_address_and_path_are_meant() {
    for (address, path, found) in [
        ("10.0.0.1:443", "/redfish/v1/Systems/A/", true),
        ("10.0.0.1", "/redfish/v1/Systems/1", false),
        ("10.0.0.1", "", false),
    ] {
        let mut base = FactBase::default();
        let entity = base.entities.entry(host("w")).or_default();
        entity.facts.insert("bmcHost".into(), address.into());
        entity.facts.insert("bmcPath".into(), path.into());
        entity.facts.insert("firmwareBootMode".into(), "UEFI".into());
        facts(&mut base, &[("bmc/w.json", whole())]);
        assert_eq!(bmc(&base, "w", "addressMatches"), Some(&true.into()), "{address}");
        assert_eq!(bmc(&base, "w", "systemFound"), Some(&found.into()), "{path}");
        assert_eq!(base.entities[&host("w")].facts["firmwareBootMode"], "UEFI".into());
    }
    assert_eq!(bare_host("[fd00::1]:8000"), "fd00::1");
    assert_eq!(bare_host("fd00::1"), "fd00::1");
}

/// Hosts of a cluster, and where it asks their BMCs.
fn cluster(hosts: &[(&str, &str)]) -> FactBase {
    let mut base = FactBase::default();
    for (name, address) in hosts {
        let entity = base.entities.entry(host(name)).or_default();
        entity.facts.insert("consumer".into(), "".into());
        entity.facts.insert("bmcHost".into(), (*address).into());
    }
    base
}

#[test]
fn another_bmc_says_nothing_of_a_host_but_that_it_is_another() {
    let mut base = cluster(&[("w", "10.0.0.2:8000")]);
    let differences = json!([{"aspect": "memory", "odd": "w", "value": "1", "others_value": "2",
        "others": ["a", "b"]}]);
    let files = [("bmc/w.json", whole()), ("bmc/differences.json", differences)];
    let problems = facts(&mut base, &files);
    assert_eq!(problems.len(), 1);
    let told = &problems[0].1;
    assert_eq!(told.what, "bmc/w.json");
    let (read, asked) = ("the BMC at 10.0.0.1,", "BareMetalHost w has its BMC at 10.0.0.2:8000");
    assert!(told.why.contains(read) && told.why.contains(asked), "{}", told.why);
    let entity = &base.entities[&host("w")];
    let Some(Value::Map(map)) = entity.facts.get("bmc") else { panic!() };
    assert_eq!(map.keys().collect::<Vec<_>>(), ["address", "addressMatches", "host"]);
    assert_eq!(map["addressMatches"], false.into());
    for fact in ["firmwareBootMode", "hardware", "bmcDiffers"] {
        assert!(!entity.facts.contains_key(fact), "{fact}");
    }
}

#[test]
fn a_name_that_no_host_of_the_cluster_has_is_told_and_makes_no_host() {
    let mut base = cluster(&[("w-1", "10.0.0.1"), ("w-2", "10.0.0.2")]);
    let problems = facts(&mut base, &[("bmc/w.json", whole())]);
    assert_eq!(problems.len(), 1);
    let why = &problems[0].1.why;
    assert!(why.contains("no BareMetalHost w was read, only w-1, w-2:"), "{why}");
    assert!(!base.entities.contains_key(&host("w")));
}

#[test]
fn the_host_of_a_url_has_its_port_where_it_needs_one() {
    for (name, port, told) in [
        ("10.0.0.1", json!(443), "10.0.0.1"),
        ("10.0.0.1", json!(9448), "10.0.0.1:9448"),
        ("bmc.example.com", json!(null), "bmc.example.com"),
        ("[fd00::1]", json!(443), "[fd00::1]"),
        ("fd00::1", json!(8443), "[fd00::1]:8443"),
    ] {
        let mut base = FactBase::default();
        let mut reading = whole();
        reading["endpoint"] = json!({"host": name, "port": port});
        facts(&mut base, &[("bmc/w.json", reading)]);
        assert_eq!(bmc(&base, "w", "host"), Some(&told.into()));
    }
}

#[test]
fn whether_it_was_verified_is_known_where_the_reading_says_so() {
    for (verify, told) in [(Some(true), Some(false)), (Some(false), Some(true)), (None, None)] {
        let mut base = FactBase::default();
        let mut reading = whole();
        if let Some(verify) = verify {
            reading["verify"] = verify.into();
        }
        facts(&mut base, &[("bmc/w.json", reading)]);
        let found = bmc(&base, "w", "disableCertificateVerification");
        assert_eq!(found, told.map(Value::from).as_ref());
    }
}

#[test]
fn other_files_are_gaps_and_other_folders_are_nobodys() {
    let mut base = FactBase::default();
    let problems = facts(
        &mut base,
        &[
            ("bmc/a.json", json!({"schema": "other/v1", "name": "a"})),
            ("bmc/b.json", json!({"schema": SCHEMA})),
            ("bmc/differences.json", json!({})),
            ("else/c.json", json!({"schema": SCHEMA, "name": "c"})),
        ],
    );
    assert_eq!(problems.len(), 3);
    assert!(base.entities.is_empty());
}

#[test]
fn the_odd_one_is_told_and_the_others_differ_in_nothing() {
    let mut base = FactBase::default();
    let named = |name: &str| {
        let mut reading = whole();
        reading["name"] = name.into();
        reading
    };
    let differences = json!([
        {"aspect": "boot mode", "odd": "w", "value": "legacy", "others_value": "uefi",
         "others": ["a", "b"]},
        {"aspect": "bios version", "value": "1", "others_value": "2", "others": [], "split": {}}
    ]);
    let files = [
        ("bmc/a.json", named("a")),
        ("bmc/differences.json", differences),
        ("bmc/w.json", named("w")),
    ];
    facts(&mut base, &files);
    let differs = |name: &str| base.entities[&host(name)].facts.get("bmcDiffers").cloned();
    assert_eq!(differs("w"), Some(vec!["boot mode: legacy (others: uefi)"].into()));
    assert_eq!(differs("a"), Some(Value::List(Vec::new())));
}

/// An older source that was given last, and one of now.
fn two_sources(old: &[(&str, Json)], new: &[(&str, Json)]) -> FactBase {
    let source = |taken: &str| plimsoll_model::snapshot::SourceInfo {
        taken: taken.parse().ok(),
        ..plimsoll_model::snapshot::SourceInfo::default()
    };
    let sources = vec![source("2025-12-03T18:40:00Z"), source("2025-12-02T18:40:00Z")];
    let file = |(at, (path, json)): (usize, &(&str, Json))| {
        ((at, (*path).to_string()), json.to_string().into_bytes())
    };
    let all = new.iter().map(|one| (0, one)).chain(old.iter().map(|one| (1, one)));
    let snapshot = Snapshot { files: all.map(file).collect(), sources, ..Snapshot::default() };
    let mut base = FactBase::default();
    extract(&snapshot, &mut base, &mut Vec::new());
    base
}

#[test]
fn only_the_newest_reading_of_a_host_counts() {
    let silent = json!({"schema": SCHEMA, "name": "w", "reach": {"status": "timed-out"}});
    let base = two_sources(&[("bmc/w.json", whole())], &[("bmc/w.json", silent)]);
    assert_eq!(bmc(&base, "w", "reach"), Some(&"timed-out".into()));
    assert_eq!(bmc(&base, "w", "power"), None, "that was yesterday");
    assert!(!base.entities[&host("w")].facts.contains_key("firmwareBootMode"));
}

#[test]
fn hosts_differ_in_what_was_compared_when_they_were_read_last() {
    let named = |name: &str| {
        let mut reading = whole();
        reading["name"] = name.into();
        reading
    };
    let odd = |name: &str, aspect: &str| {
        json!([{"aspect": aspect, "odd": name, "value": "1", "others_value": "2",
            "others": ["x", "y"]},
            {"aspect": "power", "odd": name, "value": "Off", "others_value": "On",
            "others": ["x", "y"]}])
    };
    let base = two_sources(
        &[
            ("bmc/old.json", named("old")),
            ("bmc/w.json", named("w")),
            ("bmc/differences.json", odd("w", "bios version")),
        ],
        &[("bmc/w.json", named("w")), ("bmc/differences.json", odd("w", "memory"))],
    );
    let differs = |name: &str| base.entities[&host(name)].facts.get("bmcDiffers").cloned();
    assert_eq!(differs("w"), Some(vec!["memory: 1 (others: 2)"].into()));
    assert_eq!(differs("old"), Some(Value::List(Vec::new())));
}

#[test]
fn parts_are_taken_where_no_inspection_told_them() {
    let parts = |base: &FactBase| match base.entities[&host("w")].facts.get("hardware") {
        Some(Value::Map(map)) => map.keys().cloned().collect::<Vec<_>>(),
        _ => Vec::new(),
    };
    let mut base = FactBase::default();
    facts(&mut base, &[("bmc/w.json", whole())]);
    assert_eq!(parts(&base), ["maker", "network cards"]);

    let mut base = FactBase::default();
    let sibling = base.entities.entry(host("s")).or_default();
    sibling.facts.insert("hardware".into(), Value::Map(BTreeMap::new()));
    facts(&mut base, &[("bmc/w.json", whole())]);
    assert_eq!(parts(&base), ["maker"]);
}
