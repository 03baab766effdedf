//! A service that lies or attacks: no panic, no end of time, no step to another host, no secret.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

mod common;

use common::{PASSWORD, reading};
use plimsoll_bmc::mock::{Builder, Fault, Server, dell_r750, generic};
use plimsoll_bmc::{Documents, inventory};
use proptest::prelude::*;
use serde_json::{Value, json};

const SYSTEM: &str = "/redfish/v1/Systems/System.Embedded.1";
const MANAGER: &str = "/redfish/v1/Managers/iDRAC.Embedded.1";

fn dell() -> Builder {
    Server::of(dell_r750()).credentials("admin", PASSWORD)
}

#[tokio::test]
async fn lies_about_collections_are_not_believed() {
    let folder = format!("{SYSTEM}/EthernetInterfaces");
    let entry = format!("{folder}/NIC.Integrated.1-1-1");
    for (pointer, value, nics) in [
        ("/Members@odata.count", json!(999_999), 2),
        ("/Members@odata.count", json!("many"), 2),
        ("/Members", json!([entry.clone(), entry.clone(), 3, null, [], {"x": 1}]), 2),
        ("/Members", json!({"0": "x"}), 2),
        ("/Members@odata.nextLink", json!(folder.clone()), 2),
        ("/Members@odata.nextLink", json!(17), 2),
    ] {
        let fault = Fault::set(pointer, value.clone());
        let server = dell().fault(&folder, fault).start().await.unwrap();
        let reading = reading(&server, SYSTEM).await;
        // The ports of the adapter stand for interfaces that are not listed.
        assert!(reading.nics.len() >= nics, "{pointer} {value}: {:?}", reading.nics);
    }
}

#[tokio::test]
async fn no_link_leads_to_another_host() {
    let other = Server::of(generic()).start().await.unwrap();
    for place in [
        format!("http://127.0.0.1:{}/redfish/v1/Systems", other.port()),
        format!("//127.0.0.1:{}/redfish/v1/Systems", other.port()),
        "https://127.0.0.1/redfish/v1/Systems".to_string(),
        "file:///etc/passwd".to_string(),
        "http://user:pass@127.0.0.1/x".to_string(),
    ] {
        let faults = [
            (format!("{SYSTEM}/Storage"), Fault::set("/Members/0", json!({"@odata.id": place}))),
            (SYSTEM.to_string(), Fault::set("/Bios", json!({"@odata.id": place}))),
            (MANAGER.to_string(), Fault::Redirect(place.clone())),
        ];
        for (path, fault) in faults {
            let server = dell().fault(&path, fault).start().await.unwrap();
            let reading = reading(&server, SYSTEM).await;
            assert!(!reading.complete, "{place} at {path}");
            let told = serde_json::to_string(&reading).unwrap();
            assert!(!told.contains("user:pass"), "{told}");
        }
    }
    assert!(other.requests().is_empty());
}

#[tokio::test]
async fn redirects_on_the_same_host_end() {
    let server = dell().fault(MANAGER, Fault::Redirect(MANAGER.to_string())).start().await.unwrap();
    let told = reading(&server, SYSTEM).await;
    assert_eq!(told.gaps[0].what, MANAGER);
    let asked = server.requests().iter().filter(|request| request.path == MANAGER).count();
    assert_eq!(asked, 4);
    let bios = format!("{SYSTEM}/Bios");
    let fault = Fault::Redirect(format!("{SYSTEM}/SecureBoot"));
    let server = dell().fault(&bios, fault).start().await.unwrap();
    assert!(reading(&server, SYSTEM).await.complete);
}

#[tokio::test]
async fn pages_without_end_end() {
    for path in [
        format!("{SYSTEM}/Storage"),
        format!("{SYSTEM}/EthernetInterfaces"),
        "/redfish/v1/UpdateService/FirmwareInventory".to_string(),
    ] {
        let server = dell().fault(&path, Fault::Endless).start().await.unwrap();
        let reading = reading(&server, SYSTEM).await;
        assert!(reading.gaps.iter().any(|gap| gap.why.contains("no end")), "{:?}", reading.gaps);
        assert!(server.requests().len() < 120);
    }
}

#[tokio::test]
async fn a_system_with_endless_members_is_bounded() {
    let many: Vec<Value> =
        (0..5000).map(|at| json!({"@odata.id": format!("/redfish/v1/x/{at}")})).collect();
    let mut builder = dell();
    for part in ["Storage", "EthernetInterfaces"] {
        let path = format!("{SYSTEM}/{part}");
        builder = builder.fault(&path, Fault::set("/Members", json!(many)));
    }
    let server = builder.start().await.unwrap();
    let reading = reading(&server, SYSTEM).await;
    assert!(!reading.complete);
    assert!(server.requests().len() < 300, "{}", server.requests().len());
}

#[tokio::test]
async fn huge_and_deep_bodies_are_gaps() {
    for fault in [Fault::Huge(5 << 20), Fault::Deep(100_000), Fault::Raw("[1]".into())] {
        let server = dell().fault(MANAGER, fault).start().await.unwrap();
        let reading = reading(&server, SYSTEM).await;
        assert!(reading.manager.is_none());
        assert_eq!(reading.gaps[0].what, MANAGER, "{:?}", reading.gaps);
    }
}

#[tokio::test]
async fn a_password_that_is_said_back_is_hidden() {
    let server = dell()
        .fault(SYSTEM, Fault::Echo("/Model".into()))
        .fault(MANAGER, Fault::Echo("/FirmwareVersion".into()))
        .fault(&format!("{SYSTEM}/Bios"), Fault::Echo("/Attributes/Told".into()))
        .start()
        .await
        .unwrap();
    let reading = reading(&server, SYSTEM).await;
    assert!(reading.system.unwrap().model.unwrap().contains("(hidden)"));
    assert!(reading.manager.unwrap().firmware.unwrap().contains("(hidden)"));
}

/// Any JSON, with the names that matter often among its keys.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        prop::sample::select(vec![
            "LinkUp",
            "NAA",
            "Enabled",
            "2026-11-16T12:00:00Z",
            "+14:00",
            "17G Monolithic",
            "",
            "aa:bb:cc:dd:ee:ff",
            "/redfish/v1/x#/y",
            "http://u:p@h/x?q",
        ])
        .prop_map(Value::from),
    ];
    let keys = prop::sample::select(vec![
        "Id",
        "@odata.id",
        "Oem",
        "Dell",
        "Hpe",
        "Status",
        "State",
        "Health",
        "Boot",
        "Attributes",
        "ProcessorSummary",
        "MemorySummary",
        "TotalSystemMemoryGiB",
        "Count",
        "CoreCount",
        "Links",
        "MACAddress",
        "LinkStatus",
        "SpeedMbps",
        "CurrentSpeedGbps",
        "SFP",
        "PhysicalPorts",
        "Controllers",
        "StorageControllers",
        "Identifiers",
        "DurableName",
        "DurableNameFormat",
        "CapacityMiB",
        "CapacityBytes",
        "Devices",
        "DateTime",
        "DateTimeLocalOffset",
        "Created",
        "Message",
        "Actions",
        "Image",
        "ConnectedVia",
        "Inserted",
        "NTP",
        "NTPServers",
        "Vendor",
        "Model",
        "Manager",
        "RoleId",
        "AssignedPrivileges",
        "OemPrivileges",
        "Ethernet",
        "Name",
    ]);
    leaf.prop_recursive(5, 60, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(keys.clone(), inner, 0..8).prop_map(|fields| {
                fields.into_iter().map(|(key, value)| (key.to_string(), value)).collect()
            }),
        ]
    })
}

fn documents(any: [Value; 6]) -> Documents {
    let [a, b, c, d, e, f] = any;
    let text = json!({
        "root": a, "system": b, "manager": c, "bios": d, "secure_boot": e, "protocol": f,
        "processors": [a, b], "media": [{"document": c}], "ethernet": [d, e],
        "adapters": [{"adapter": f, "ports": [a, b], "functions": [c, d]}],
        "storage": [{"unit": e, "controllers": [f], "drives": [a], "volumes": [b]}],
        "firmware": [c, d], "entries": [e, f], "account": a, "role": b,
        "manager_at": "2026-11-16T12:00:00Z",
    });
    serde_json::from_value(text).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_answer_gives_a_reading(any in prop::array::uniform6(any_json())) {
        let reading = inventory(&documents(any));
        let text = serde_json::to_string(&reading).unwrap();
        prop_assert!(!text.contains("u:p@"));
        let back: plimsoll_bmc::Reading = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(back.nics.len(), reading.nics.len());
        prop_assert!(reading.events.len() <= 50);
    }
}
