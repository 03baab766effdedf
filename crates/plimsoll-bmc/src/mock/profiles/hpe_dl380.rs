//! A ProLiant DL380 Gen10 with an iLO 5.

use serde_json::{Value, json};

use super::{link, log_entry, media_actions, ok};
use crate::mock::Tree;

const SYSTEM: &str = "/redfish/v1/Systems/1";
const MANAGER: &str = "/redfish/v1/Managers/1";

pub fn hpe_dl380() -> Tree {
    let mut tree = Tree {
        expands: true,
        slashes: true,
        allow: Some("GET, HEAD, POST, PATCH"),
        ..Tree::default()
    };
    tree.put(
        "/redfish/v1",
        json!({
            "@odata.type": "#ServiceRoot.v1_5_1.ServiceRoot", "Name": "HPE RESTful Root Service",
            "RedfishVersion": "1.6.0", "Vendor": "HPE", "Product": "ProLiant DL380 Gen10",
            "Oem": {"Hpe": {"Manager": [{"ManagerType": "iLO 5", "ManagerFirmwareVersion": "2.78"}]}},
            "Systems": link("/redfish/v1/Systems/"), "Managers": link("/redfish/v1/Managers/"),
            "UpdateService": link("/redfish/v1/UpdateService/"),
            "AccountService": link("/redfish/v1/AccountService/"),
        }),
    );
    let system = json!({
        "Name": "Computer System", "Manufacturer": "HPE", "Model": "ProLiant DL380 Gen10",
        "SKU": "868703-B21", "SerialNumber": "CZJ00000AA", "UUID": "38363738-3330-5A43-4A30-303030304141",
        "BiosVersion": "U30 v2.80 (06/15/2023)", "PowerState": "On",
        "Status": {"State": "Starting", "Health": "Warning", "HealthRollup": "Warning"},
        "MemorySummary": {"TotalSystemMemoryGiB": 384},
        "ProcessorSummary": {"Count": 2, "Model": "Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz"},
        "Processors": link(format!("{SYSTEM}/Processors/")),
        "Boot": {
            "BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Cd",
            "BootSourceOverrideMode": "UEFI",
            "BootSourceOverrideTarget@Redfish.AllowableValues": ["None", "Cd", "Hdd", "Pxe", "UefiTarget"],
        },
        "Bios": link(format!("{SYSTEM}/Bios/")), "SecureBoot": link(format!("{SYSTEM}/SecureBoot/")),
        "EthernetInterfaces": link(format!("{SYSTEM}/EthernetInterfaces/")),
        "Storage": link(format!("{SYSTEM}/Storage/")),
        "LogServices": link(format!("{SYSTEM}/LogServices/")),
        "Links": {"ManagedBy": [link(format!("{MANAGER}/"))], "Chassis": [link("/redfish/v1/Chassis/1/")]},
        "Oem": {"Hpe": {
            "PostState": "InPost",
            "Links": {
                "NetworkAdapters": link(format!("{SYSTEM}/BaseNetworkAdapters/")),
                "SmartStorage": link(format!("{SYSTEM}/SmartStorage/")),
            },
        }},
    });
    tree.collection("/redfish/v1/Systems", vec![("1", system)]);
    let processor = json!({"Name": "Processors", "Model": "Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz",
        "TotalCores": 20, "TotalThreads": 40, "Status": ok()});
    tree.collection(
        &format!("{SYSTEM}/Processors"),
        vec![("1", processor.clone()), ("2", processor)],
    );
    tree.put(&format!("{SYSTEM}/Bios"), json!({"Attributes": {
        "BootMode": "Uefi", "Sriov": "Enabled", "WorkloadProfile": "Virtualization-MaxPerformance",
        "AdminPassword": "never",
    }}));
    tree.put(
        &format!("{SYSTEM}/SecureBoot"),
        json!({"SecureBootEnable": true, "SecureBootCurrentBoot": "Enabled"}),
    );
    manager(&mut tree);
    network(&mut tree);
    smart_storage(&mut tree);
    tree.put(
        "/redfish/v1/UpdateService",
        json!({"FirmwareInventory": link("/redfish/v1/UpdateService/FirmwareInventory/")}),
    );
    tree.collection(
        "/redfish/v1/UpdateService/FirmwareInventory",
        vec![
            ("1", json!({"Name": "iLO 5", "Version": "2.78 Mar 14 2023"})),
            ("2", json!({"Name": "System ROM", "Version": "U30 v2.80 (06/15/2023)"})),
        ],
    );
    tree.put("/redfish/v1/AccountService", json!({"Name": "Account Service"}));
    tree.collection("/redfish/v1/AccountService/Accounts", vec![("1", json!({
        "Name": "User Account", "UserName": "admin", "RoleId": "Operator",
        "Oem": {"Hpe": {"Privileges": {"LoginPriv": true, "VirtualMediaPriv": false, "VirtualPowerAndResetPriv": true}}},
        "Links": {"Role": link("/redfish/v1/AccountService/Roles/Operator/")},
    }))]);
    tree.put("/redfish/v1/AccountService/Roles/Operator",
        json!({"Name": "User Role", "AssignedPrivileges": ["Login", "ConfigureSelf", "ConfigureComponents"]}));
    tree
}

fn manager(tree: &mut Tree) {
    let manager = json!({
        "Name": "Manager", "Model": "iLO 5", "FirmwareVersion": "iLO 5 v2.78",
        "DateTime": "2026-11-16T12:00:01Z", "DateTimeLocalOffset": "+00:00",
        "VirtualMedia": link(format!("{MANAGER}/VirtualMedia/")),
        "LogServices": link(format!("{MANAGER}/LogServices/")),
    });
    tree.collection("/redfish/v1/Managers", vec![("1", manager)]);
    let media = format!("{MANAGER}/VirtualMedia");
    let slot = |at: u8, kinds: Value| {
        json!({
            "Name": "VirtualMedia", "MediaTypes": kinds, "Inserted": false, "Image": "",
            "ConnectedVia": "NotConnected", "Actions": media_actions(&format!("{media}/{at}")),
        })
    };
    tree.collection(
        &media,
        vec![("1", slot(1, json!(["Floppy", "USBStick"]))), ("2", slot(2, json!(["CD", "DVD"])))],
    );
    for (path, entries) in [
        (
            format!("{MANAGER}/LogServices/IEL"),
            vec![(
                "1",
                log_entry(
                    "2026-11-15T09:00:00Z",
                    "OK",
                    "iLOEvents.2.3.LoginSuccess",
                    "Browser login: admin",
                ),
            )],
        ),
        (
            format!("{SYSTEM}/LogServices/IML"),
            vec![
                (
                    "1",
                    log_entry(
                        "2026-10-01T09:00:00Z",
                        "Warning",
                        "iLOEvents.2.3.DegradedDIMM",
                        "A DIMM is degraded.",
                    ),
                ),
                (
                    "2",
                    log_entry(
                        "2026-11-16T11:59:00Z",
                        "Critical",
                        "iLOEvents.2.3.PostError",
                        "POST Error: 1785.",
                    ),
                ),
            ],
        ),
    ] {
        tree.put(&path, json!({"Name": "Event Log", "Entries": link(format!("{path}/Entries/"))}));
        tree.collection(&format!("{path}/Entries"), entries);
    }
}

/// The ports are in an adapter of HPE's own, and the standard interfaces say little.
fn network(tree: &mut Tree) {
    let interface = |at: u8| {
        json!({"Name": "", "MACAddress": format!("80:30:E0:2C:92:A{at}"),
        "LinkStatus": null, "SpeedMbps": null, "Status": {"State": null}})
    };
    tree.collection(
        &format!("{SYSTEM}/EthernetInterfaces"),
        vec![("1", interface(1)), ("2", interface(2))],
    );
    tree.put("/redfish/v1/Chassis/1", json!({"Name": "Computer System Chassis"}));
    let port = |at: u8, link: &str, speed: u32| {
        json!({
            "MacAddress": format!("80:30:e0:2c:92:a{at}"), "LinkStatus": link, "SpeedMbps": speed,
            "FullDuplex": true, "Name": "",
        })
    };
    tree.collection(
        &format!("{SYSTEM}/BaseNetworkAdapters"),
        vec![(
            "1",
            json!({
                "Name": "HPE Eth 10/25Gb 2p 640FLR-SFP28 Adptr", "PartNumber": "N/A",
                "Firmware": {"Current": {"VersionString": "14.32.1010"}},
                "PhysicalPorts": [port(1, "LinkUp", 25_000), port(2, "LinkDown", 0)],
            }),
        )],
    );
}

fn smart_storage(tree: &mut Tree) {
    tree.collection(&format!("{SYSTEM}/Storage"), Vec::new());
    let folder = format!("{SYSTEM}/SmartStorage");
    let controller = format!("{folder}/ArrayControllers/0");
    tree.put(
        &folder,
        json!({"Name": "HpeSmartStorage",
        "Links": {"ArrayControllers": link(format!("{folder}/ArrayControllers/"))}}),
    );
    tree.collection(&format!("{folder}/ArrayControllers"), vec![("0", json!({
        "Name": "HpeSmartStorageArrayController", "Model": "HPE Smart Array P408i-a SR Gen10",
        "CurrentOperatingMode": "Mixed", "FirmwareVersion": {"Current": {"VersionString": "5.32"}},
        "Links": {
            "PhysicalDrives": link(format!("{controller}/DiskDrives/")),
            "LogicalDrives": link(format!("{controller}/LogicalDrives/")),
        },
    }))]);
    let drive = |serial: &str, health: &str| {
        json!({
            "Name": "HpeSmartStorageDiskDrive", "Model": "VK000960GWSXH", "SerialNumber": serial,
            "CapacityMiB": 915_715, "InterfaceType": "SATA", "MediaType": "SSD",
            "Status": {"State": "Enabled", "Health": health},
        })
    };
    tree.collection(
        &format!("{controller}/DiskDrives"),
        vec![("0", drive("S4NENA0M600001", "OK")), ("1", drive("S4NENA0M600002", "Warning"))],
    );
    tree.collection(
        &format!("{controller}/LogicalDrives"),
        vec![(
            "1",
            json!({"Name": "HpeSmartStorageLogicalDrive", "Raid": "1", "CapacityMiB": 915_683}),
        )],
    );
}
