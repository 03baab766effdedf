//! A PowerEdge R750 with an iDRAC9.

use serde_json::{Value, json};

use super::{link, log_entry, media_actions, ok};
use crate::mock::Tree;

const SYSTEM: &str = "/redfish/v1/Systems/System.Embedded.1";
const MANAGER: &str = "/redfish/v1/Managers/iDRAC.Embedded.1";
const CHASSIS: &str = "/redfish/v1/Chassis/System.Embedded.1";

pub fn dell_r750() -> Tree {
    let mut tree = Tree { expands: true, allow: Some("POST,PATCH,GET,HEAD"), ..Tree::default() };
    tree.put(
        "/redfish/v1",
        json!({
            "@odata.type": "#ServiceRoot.v1_15_0.ServiceRoot", "Name": "Root Service",
            "RedfishVersion": "1.17.0", "Vendor": "Dell",
            "Product": "Integrated Dell Remote Access Controller",
            "Oem": {"Dell": {"ServiceTag": "ABCD123"}},
            "Systems": link("/redfish/v1/Systems"), "Managers": link("/redfish/v1/Managers"),
            "Chassis": link("/redfish/v1/Chassis"),
            "UpdateService": link("/redfish/v1/UpdateService"),
            "AccountService": link("/redfish/v1/AccountService"),
        }),
    );
    system(&mut tree);
    manager(&mut tree);
    network(&mut tree);
    storage(&mut tree);
    tree.put(
        "/redfish/v1/UpdateService",
        json!({"FirmwareInventory": link("/redfish/v1/UpdateService/FirmwareInventory")}),
    );
    let version = |name: &str, version: &str| json!({"Name": name, "Version": version});
    tree.collection(
        "/redfish/v1/UpdateService/FirmwareInventory",
        vec![
            ("Installed-159-1.15.2__BIOS.Setup.1-1", version("BIOS", "1.15.2")),
            (
                "Installed-25227-7.00.60.00",
                version("Integrated Remote Access Controller", "7.00.60.00"),
            ),
            ("Previous-159-1.14.1__BIOS.Setup.1-1", version("BIOS", "1.14.1")),
        ],
    );
    accounts(&mut tree);
    tree
}

fn system(tree: &mut Tree) {
    let system = json!({
        "Name": "System", "Manufacturer": "Dell Inc.", "Model": "PowerEdge R750", "SKU": "ABCD123",
        "SerialNumber": "CNFCP0012345", "UUID": "4C4C4544-0042-4310-8044-B1C04F303233",
        "BiosVersion": "1.15.2", "PowerState": "On",
        "Status": {"State": "Enabled", "Health": "OK", "HealthRollup": "OK"},
        "MemorySummary": {"TotalSystemMemoryGiB": 512.0},
        "ProcessorSummary": {"Count": 2, "CoreCount": 64, "LogicalProcessorCount": 128,
            "Model": "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz"},
        "Boot": {
            "BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideTarget": "None",
            "BootSourceOverrideMode": "UEFI",
            "BootSourceOverrideTarget@Redfish.AllowableValues": ["None", "Pxe", "Cd", "Hdd"],
        },
        "BootProgress": {"LastState": "OSRunning"},
        "Bios": link(format!("{SYSTEM}/Bios")), "SecureBoot": link(format!("{SYSTEM}/SecureBoot")),
        "EthernetInterfaces": link(format!("{SYSTEM}/EthernetInterfaces")),
        "Storage": link(format!("{SYSTEM}/Storage")),
        "Links": {
            "ManagedBy": [link(MANAGER)],
            // To ask for the second one can restart a real iDRAC.
            "Chassis": [link(CHASSIS), link("/redfish/v1/Chassis/Enclosure.Internal.0-1:RAID.SL.3-1")],
        },
    });
    tree.collection("/redfish/v1/Systems", vec![("System.Embedded.1", system)]);
    tree.put(
        &format!("{SYSTEM}/Bios"),
        json!({"Attributes": {
            "BootMode": "Uefi", "SriovGlobalEnable": "Enabled", "LogicalProc": "Enabled",
            "EmbSata": "AhciMode", "ProcCStates": "Disabled", "NumLock": "On", "AcPwrRcvryUserDelay": 60,
            "SetupPassword": "never", "SysPassword": null,
        }}),
    );
    tree.put(
        &format!("{SYSTEM}/SecureBoot"),
        json!({"SecureBootEnable": false, "SecureBootCurrentBoot": "Disabled"}),
    );
}

fn manager(tree: &mut Tree) {
    let manager = json!({
        "Name": "Manager", "Model": "15G Monolithic", "FirmwareVersion": "7.00.60.00",
        "DateTime": "2026-11-16T06:00:03-06:00", "DateTimeLocalOffset": "-06:00",
        "NetworkProtocol": link(format!("{MANAGER}/NetworkProtocol")),
        "VirtualMedia": link(format!("{MANAGER}/VirtualMedia")),
        "LogServices": link(format!("{MANAGER}/LogServices")),
    });
    tree.collection("/redfish/v1/Managers", vec![("iDRAC.Embedded.1", manager)]);
    tree.put(
        &format!("{MANAGER}/NetworkProtocol"),
        json!({"NTP": {"ProtocolEnabled": true, "NTPServers": ["ntp2.example.com", "ntp1.example.com", ""]}}),
    );
    let media = format!("{MANAGER}/VirtualMedia");
    tree.collection(
        &media,
        vec![
            (
                "CD",
                json!({
                    "Name": "Virtual CD", "MediaTypes": ["CD", "DVD"], "Inserted": true,
                    "Image": "http://admin:hunter2@192.168.111.5:6180/redfish/boot-abc.iso?sig=1",
                    "ConnectedVia": "URI", "Actions": media_actions(&format!("{media}/CD")),
                }),
            ),
            (
                "RemovableDisk",
                json!({
                    "Name": "Virtual Removable Disk", "MediaTypes": ["USBStick"], "Inserted": false,
                    "Image": null, "ConnectedVia": "NotConnected",
                    "Actions": media_actions(&format!("{media}/RemovableDisk")),
                }),
            ),
        ],
    );
    for (log, entries) in [
        (
            "Lclog",
            vec![
                (
                    "3",
                    log_entry(
                        "2026-11-16T05:50:00-06:00",
                        "Warning",
                        "IDRAC.2.8.NIC100",
                        "The NIC Integrated 1 Port 2 network link is down.",
                    ),
                ),
                (
                    "2",
                    log_entry(
                        "2026-11-15T05:50:00-06:00",
                        "OK",
                        "IDRAC.2.8.USR0030",
                        "Successfully logged in.",
                    ),
                ),
            ],
        ),
        (
            "Sel",
            vec![(
                "1",
                log_entry(
                    "2026-11-14T05:50:00-06:00",
                    "Critical",
                    "IDRAC.2.8.PSU0003",
                    "The power input for power supply 2 is lost.",
                ),
            )],
        ),
    ] {
        let path = format!("{MANAGER}/LogServices/{log}");
        tree.put(&path, json!({"Name": log, "Entries": link(format!("{path}/Entries"))}));
        tree.collection(&format!("{path}/Entries"), entries);
    }
}

fn network(tree: &mut Tree) {
    let interface = |port: u8, status: &str, speed: u32| {
        json!({
            "Name": "System Ethernet Interface",
            "Description": format!("Integrated NIC 1 Port {port} Partition 1"),
            "MACAddress": format!("B0:7B:25:00:11:2{port}"),
            "PermanentMACAddress": format!("B0:7B:25:00:11:2{port}"),
            "LinkStatus": status, "SpeedMbps": speed, "Status": ok(),
        })
    };
    tree.collection(
        &format!("{SYSTEM}/EthernetInterfaces"),
        vec![
            ("NIC.Integrated.1-1-1", interface(1, "LinkUp", 25_000)),
            ("NIC.Integrated.1-2-1", interface(2, "LinkDown", 0)),
        ],
    );
    tree.put(
        CHASSIS,
        json!({"Name": "Computer System Chassis",
        "NetworkAdapters": link(format!("{CHASSIS}/NetworkAdapters"))}),
    );
    let adapter = format!("{CHASSIS}/NetworkAdapters/NIC.Integrated.1");
    tree.collection(
        &format!("{CHASSIS}/NetworkAdapters"),
        vec![(
            "NIC.Integrated.1",
            json!({
                "Name": "Network Adapter View", "Manufacturer": "Broadcom Inc. and subsidiaries",
                "Model": "BCM57414 NetXtreme-E 10Gb/25Gb RDMA Ethernet Controller",
                "Controllers": [{"FirmwarePackageVersion": "22.71.11.13"}],
                "Ports": link(format!("{adapter}/Ports")),
                "NetworkDeviceFunctions": link(format!("{adapter}/NetworkDeviceFunctions")),
            }),
        )],
    );
    let port = |link: &str, transceiver: Value| {
        json!({"Name": "Network Port View", "LinkStatus": link, "CurrentSpeedGbps": 25,
            "Oem": {"Dell": {"DellNetworkTransceiver": transceiver}}})
    };
    let transceiver = json!({"VendorName": "DELL EMC", "PartNumber": "7TCFD",
        "SerialNumber": "MX1726J00HT", "IdentifierType": "SFP/SFP+/SFP28"});
    tree.collection(
        &format!("{adapter}/Ports"),
        vec![
            ("NIC.Integrated.1-1", port("LinkUp", transceiver)),
            ("NIC.Integrated.1-2", port("LinkDown", Value::Null)),
        ],
    );
    let function = |port: u8| {
        json!({"Name": "NetworkDeviceFunction",
            "Ethernet": {"PermanentMACAddress": format!("B0:7B:25:00:11:2{port}")},
            "Links": {"PhysicalPortAssignment": link(format!("{adapter}/Ports/NIC.Integrated.1-{port}"))}})
    };
    tree.collection(
        &format!("{adapter}/NetworkDeviceFunctions"),
        vec![("NIC.Integrated.1-1-1", function(1)), ("NIC.Integrated.1-2-1", function(2))],
    );
}

fn storage(tree: &mut Tree) {
    let unit = format!("{SYSTEM}/Storage/RAID.SL.3-1");
    let drive = |at: u8| format!("{unit}/Drives/Disk.Bay.{at}");
    tree.collection(
        &format!("{SYSTEM}/Storage"),
        vec![(
            "RAID.SL.3-1",
            json!({
                "Name": "PERC H755 Front",
                "Controllers": link(format!("{unit}/Controllers")),
                "Drives": [link(drive(0)), link(drive(1))],
                "Volumes": link(format!("{unit}/Volumes")),
            }),
        )],
    );
    tree.collection(
        &format!("{unit}/Controllers"),
        vec![("RAID.SL.3-1", json!({
            "Name": "PERC H755 Front", "Model": "PERC H755 Front", "FirmwareVersion": "52.26.0-5179",
            "Oem": {"Dell": {"DellStorageController": {"ControllerMode": "RAID"}}},
        }))],
    );
    for at in [0, 1] {
        tree.put(&drive(at), json!({
            "Name": format!("SSD {at}"), "Model": "MZ7L3960HBLTAD3", "SerialNumber": format!("S6KMNE0T10000{at}"),
            "CapacityBytes": 960_197_124_096_u64, "MediaType": "SSD", "Protocol": "SATA", "Status": ok(),
            "Identifiers": [{"DurableNameFormat": "NAA", "DurableName": format!("5002538F0030000{at}")}],
        }));
    }
    tree.collection(
        &format!("{unit}/Volumes"),
        vec![(
            "Disk.Virtual.0",
            json!({
                "Name": "os", "RAIDType": "RAID1", "CapacityBytes": 959_656_755_200_u64,
            }),
        )],
    );
}

fn accounts(tree: &mut Tree) {
    tree.put("/redfish/v1/AccountService", json!({"Name": "Account Service"}));
    let role = "/redfish/v1/AccountService/Roles/Administrator";
    tree.collection(
        "/redfish/v1/AccountService/Accounts",
        vec![
            ("1", json!({"Name": "User Account", "UserName": "", "RoleId": "None"})),
            (
                "2",
                json!({"Name": "User Account", "UserName": "admin", "RoleId": "Administrator",
                "Links": {"Role": link(role)}}),
            ),
        ],
    );
    tree.put(role, json!({
        "Name": "Administrator Role",
        "AssignedPrivileges": ["Login", "ConfigureManager", "ConfigureUsers", "ConfigureSelf", "ConfigureComponents"],
        "OemPrivileges": ["ClearLogs", "AccessVirtualConsole", "AccessVirtualMedia", "TestAlerts"],
    }));
}
