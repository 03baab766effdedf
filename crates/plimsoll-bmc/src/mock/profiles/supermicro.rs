//! A Supermicro X11 with firmware of before its virtual media were put in order.

use serde_json::json;

use super::{link, ok};
use crate::mock::Tree;

const SYSTEM: &str = "/redfish/v1/Systems/1";
const MANAGER: &str = "/redfish/v1/Managers/1";
const CHASSIS: &str = "/redfish/v1/Chassis/1";

pub fn supermicro() -> Tree {
    let mut tree = Tree::default();
    tree.put(
        "/redfish/v1",
        json!({
            "@odata.type": "#ServiceRoot.v1_5_2.ServiceRoot", "Name": "Root Service",
            "RedfishVersion": "1.8.0", "Product": null,
            "Systems": link("/redfish/v1/Systems"), "Managers": link("/redfish/v1/Managers"),
            "UpdateService": link("/redfish/v1/UpdateService"),
            "AccountService": link("/redfish/v1/AccountService"),
        }),
    );
    let system = json!({
        "Name": "System", "Manufacturer": "Supermicro", "Model": "SYS-2029U-TR4", "SKU": "091715D9",
        "SerialNumber": "S282626X9B20000", "UUID": "00000000-0000-0000-0000-AC1F6B7A1234",
        "BiosVersion": "3.4", "PowerState": "Off", "Status": {"State": "Disabled", "Health": "OK"},
        "MemorySummary": {"TotalSystemMemoryGiB": 192},
        "ProcessorSummary": {"Count": 2, "Model": "Intel(R) Xeon(R) processor"},
        "Processors": link(format!("{SYSTEM}/Processors")),
        "Boot": {
            "BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideTarget": "None",
            "BootSourceOverrideMode": "Legacy",
            "BootSourceOverrideTarget@Redfish.AllowableValues": ["None", "Pxe", "Hdd", "UsbCd"],
        },
        "Bios": link(format!("{SYSTEM}/Bios")),
        "EthernetInterfaces": link(format!("{SYSTEM}/EthernetInterfaces")),
        "Storage": link(format!("{SYSTEM}/Storage")),
        "LogServices": link(format!("{SYSTEM}/LogServices")),
        "Links": {"ManagedBy": [link(MANAGER)], "Chassis": [link(CHASSIS)]},
    });
    tree.collection("/redfish/v1/Systems", vec![("1", system)]);
    let processor = json!({"Name": "Processor", "Model": "Intel(R) Xeon(R) Gold 6240 CPU @ 2.60GHz",
        "TotalCores": 18, "TotalThreads": 36, "Status": ok()});
    tree.collection(
        &format!("{SYSTEM}/Processors"),
        vec![("1", processor.clone()), ("2", processor)],
    );
    tree.put(
        &format!("{SYSTEM}/Bios"),
        json!({"Attributes": {"BootModeSelect": "DUAL", "QuietBoot": true}}),
    );
    let interface = |at: u8, state: &str| {
        json!({"Name": "Ethernet Interface",
        "MACAddress": format!("AC1F6B7A123{at}"), "Status": {"State": state}})
    };
    tree.collection(
        &format!("{SYSTEM}/EthernetInterfaces"),
        vec![("1", interface(4, "Enabled")), ("2", interface(5, "Disabled"))],
    );
    let manager = json!({
        "Name": "Manager", "Model": "ASPEED", "FirmwareVersion": "01.73.14",
        "DateTime": "2026-11-16T12:00:00", "DateTimeLocalOffset": "+00:00",
        "Oem": {"Supermicro": {"@odata.type": "#SmcManagerExtensions.v1_0_0.Manager"}},
    });
    tree.collection("/redfish/v1/Managers", vec![("1", manager)]);
    // Not linked by the manager, and with a field that is misspelt.
    tree.collection(
        &format!("{MANAGER}/VM1"),
        vec![(
            "CD1",
            json!({
                "Name": "Virtual Removable Media", "MediaTypes": ["CD", "DVD"],
                "Image": "\\\\10.0.0.9\\share\\old.iso", "ConnecteVia": "NotConnected",
            }),
        )],
    );
    chassis_and_storage(&mut tree);
    tree.put(
        "/redfish/v1/UpdateService",
        json!({"FirmwareInventory": link("/redfish/v1/UpdateService/FirmwareInventory")}),
    );
    tree.collection(
        "/redfish/v1/UpdateService/FirmwareInventory",
        vec![
            ("BIOS", json!({"Name": "BIOS", "Version": "3.4"})),
            ("BMC", json!({"Name": "BMC", "Version": "01.73.14"})),
        ],
    );
    tree.put("/redfish/v1/AccountService", json!({"Name": "Account Service"}));
    tree.collection(
        "/redfish/v1/AccountService/Accounts",
        vec![(
            "1",
            json!({"Name": "User Account", "UserName": "admin", "RoleId": "Administrator"}),
        )],
    );
    let log = format!("{SYSTEM}/LogServices/Log1");
    tree.collection(
        &format!("{SYSTEM}/LogServices"),
        vec![(
            "Log1",
            json!({"Name": "System Event Log", "Entries": link(format!("{log}/Entries"))}),
        )],
    );
    let entry = |minute: u8| {
        json!({"Name": "Log Entry", "Severity": "OK",
        "Created": format!("2026-11-16T10:{minute:02}:00+00:00"), "Message": format!("Assertion {minute}.")})
    };
    tree.collection(
        &format!("{log}/Entries"),
        vec![("1", entry(1)), ("2", entry(2)), ("3", entry(3)), ("4", entry(4))],
    );
    tree
}

fn chassis_and_storage(tree: &mut Tree) {
    let adapter = format!("{CHASSIS}/NetworkAdapters/1");
    tree.put(
        CHASSIS,
        json!({"Name": "Chassis", "NetworkAdapters": link(format!("{CHASSIS}/NetworkAdapters"))}),
    );
    tree.collection(
        &format!("{CHASSIS}/NetworkAdapters"),
        vec![(
            "1",
            json!({
                "Name": "Supermicro Network Adapter", "Model": "AOC-UR-i4XT",
                "Controllers": [{"FirmwarePackageVersion": "0x80000D15"}],
                "NetworkPorts": link(format!("{adapter}/NetworkPorts")),
            }),
        )],
    );
    let port = |at: u8, link: &str| {
        json!({"Name": at.to_string(), "LinkStatus": link,
        "AssociatedNetworkAddresses": [format!("AC:1F:6B:7A:12:3{at}")],
        "SupportedLinkCapabilities": [{"LinkSpeedMbps": 10_000}]})
    };
    tree.collection(
        &format!("{adapter}/NetworkPorts"),
        vec![("1", port(4, "Up")), ("2", port(5, "Down"))],
    );
    let unit = format!("{SYSTEM}/Storage/HA-RAID");
    let drive = "/redfish/v1/Chassis/HA-RAID.0.StorageEnclosure.0/Drives/Disk.Bay.0";
    tree.collection(&format!("{SYSTEM}/Storage"), vec![("HA-RAID", json!({
        "Name": "RAID Storage", "Drives": [link(drive)],
        "StorageControllers": [{"MemberId": "0", "Name": "AVAGO MegaRAID SAS 9361-8i", "FirmwareVersion": "4.680.00-8519"}],
        "Volumes": link(format!("{unit}/Volumes")),
    }))]);
    tree.put(drive, json!({"Name": "Disk.Bay.0", "Model": "ST2000NX0253", "SerialNumber": "W4610000",
        "CapacityBytes": 2_000_398_934_016_u64, "MediaType": "HDD", "Protocol": "SATA", "Status": ok()}));
    tree.collection(&format!("{unit}/Volumes"), Vec::new());
}
