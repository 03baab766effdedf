//! A ThinkSystem SR650 with an XClarity Controller.

use serde_json::{Value, json};

use super::{link, log_entry, media_actions, ok};
use crate::mock::Tree;

const SYSTEM: &str = "/redfish/v1/Systems/1";
const MANAGER: &str = "/redfish/v1/Managers/1";
const CHASSIS: &str = "/redfish/v1/Chassis/1";

pub fn lenovo_sr650() -> Tree {
    let mut tree = Tree { expands: true, ..Tree::default() };
    tree.put(
        "/redfish/v1",
        json!({
            "@odata.type": "#ServiceRoot.v1_9_0.ServiceRoot", "Name": "Root Service",
            "RedfishVersion": "1.15.0", "Vendor": "Lenovo", "Oem": {"Lenovo": {}},
            "Systems": link("/redfish/v1/Systems"), "Managers": link("/redfish/v1/Managers"),
            "UpdateService": link("/redfish/v1/UpdateService"),
            "AccountService": link("/redfish/v1/AccountService"),
        }),
    );
    let system = json!({
        "Name": "ComputerSystem", "Manufacturer": "Lenovo", "Model": "ThinkSystem SR650 -[7X06CTO1WW]-",
        "SKU": "7X06CTO1WW", "SerialNumber": "J30AAAAA", "UUID": "1E3DCE3E-6B2B-11E9-9E0A-0A3A88888888",
        "BiosVersion": "IVE184N", "PowerState": "On", "Status": ok(),
        "MemorySummary": {"TotalSystemMemoryGiB": 384},
        "ProcessorSummary": {"Count": 2, "CoreCount": 40, "LogicalProcessorCount": 80,
            "Model": "Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz"},
        "Boot": {
            "BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideTarget": "None",
            "BootSourceOverrideMode": "UEFI",
            "BootSourceOverrideTarget@Redfish.AllowableValues": ["None", "Pxe", "Cd", "Hdd", "BiosSetup"],
        },
        "Bios": link(format!("{SYSTEM}/Bios")), "SecureBoot": link(format!("{SYSTEM}/SecureBoot")),
        "EthernetInterfaces": link(format!("{SYSTEM}/EthernetInterfaces")),
        "Storage": link(format!("{SYSTEM}/Storage")),
        // Newer firmware has the slots here, too.
        "VirtualMedia": link(format!("{SYSTEM}/VirtualMedia")),
        "Links": {"ManagedBy": [link(MANAGER)], "Chassis": [link(CHASSIS)]},
    });
    tree.collection("/redfish/v1/Systems", vec![("1", system)]);
    tree.put(
        &format!("{SYSTEM}/Bios"),
        json!({"Attributes": {
        "BootModes_SystemBootMode": "UEFIMode", "Processors_HyperThreading": "Enable"}}),
    );
    tree.put(&format!("{SYSTEM}/SecureBoot"), json!({"SecureBootEnable": false}));
    let manager = json!({
        "Name": "Manager", "Model": "Lenovo XClarity Controller", "FirmwareVersion": "CDI3A8E 9.40",
        "DateTime": "2026-11-16T12:00:00+00:00",
        "NetworkProtocol": link(format!("{MANAGER}/NetworkProtocol")),
    });
    tree.collection("/redfish/v1/Managers", vec![("1", manager)]);
    tree.put(
        &format!("{MANAGER}/NetworkProtocol"),
        json!({"NTP": {"ProtocolEnabled": false, "NTPServers": []}}),
    );
    let media = format!("{SYSTEM}/VirtualMedia");
    let slot = |actions: Value| {
        json!({"Name": "VirtualMedia", "MediaTypes": ["CD", "DVD"],
        "Inserted": false, "Image": null, "ConnectedVia": "NotConnected", "Actions": actions})
    };
    tree.collection(
        &media,
        vec![
            ("EXT1", slot(Value::Null)),
            ("RDOC1", slot(media_actions(&format!("{media}/RDOC1")))),
        ],
    );
    for (log, entries) in [
        (
            "StandardLog",
            vec![
                (
                    "1",
                    log_entry(
                        "2026-11-10T08:00:00+00:00",
                        "OK",
                        "FQXSPSE4001I",
                        "Remote login successful.",
                    ),
                ),
                (
                    "2",
                    log_entry(
                        "2026-11-16T08:00:00+00:00",
                        "Critical",
                        "FQXSPPW4009I",
                        "Sensor PSU 1 lost input.",
                    ),
                ),
            ],
        ),
        ("ActiveLog", Vec::new()),
    ] {
        let path = format!("{SYSTEM}/LogServices/{log}");
        tree.put(&path, json!({"Name": log, "Entries": link(format!("{path}/Entries"))}));
        tree.collection(&format!("{path}/Entries"), entries);
    }
    network_and_storage(&mut tree);
    tree.put(
        "/redfish/v1/UpdateService",
        json!({"FirmwareInventory": link("/redfish/v1/UpdateService/FirmwareInventory")}),
    );
    tree.collection(
        "/redfish/v1/UpdateService/FirmwareInventory",
        vec![
            ("BMC-Primary", json!({"Name": "Firmware:BMC", "Version": "CDI3A8E-9.40"})),
            ("UEFI", json!({"Name": "Firmware:UEFI", "Version": "IVE184N-4.20"})),
        ],
    );
    tree.put("/redfish/v1/AccountService", json!({"Name": "AccountService"}));
    let role = "/redfish/v1/AccountService/Roles/CustomRole1";
    tree.collection(
        "/redfish/v1/AccountService/Accounts",
        vec![(
            "1",
            json!({"Name": "Account",
        "UserName": "admin", "RoleId": "CustomRole1", "Links": {"Role": link(role)}}),
        )],
    );
    tree.put(
        role,
        json!({"Name": "CustomRole1", "AssignedPrivileges": ["Login", "ConfigureComponents"],
        "OemPrivileges": ["RemoteConsoleAndVirtualMediaAccess", "RemoteServerPowerRestartAccess"]}),
    );
    tree
}

fn network_and_storage(tree: &mut Tree) {
    let interface = |at: u8| {
        json!({"Name": "External Ethernet Interface", "PermanentMACAddress":
        format!("0A:3A:88:00:00:0{at}"), "InterfaceEnabled": true, "LinkStatus": "LinkUp", "SpeedMbps": 10_000})
    };
    tree.collection(
        &format!("{SYSTEM}/EthernetInterfaces"),
        vec![("NIC1", interface(1)), ("NIC2", interface(2))],
    );
    let adapter = format!("{CHASSIS}/NetworkAdapters/ob-1");
    tree.put(
        CHASSIS,
        json!({"Name": "Chassis", "NetworkAdapters": link(format!("{CHASSIS}/NetworkAdapters"))}),
    );
    tree.collection(
        &format!("{CHASSIS}/NetworkAdapters"),
        vec![(
            "ob-1",
            json!({
                "Name": "Intel X722 LOM", "Model": "Intel X722 LOM",
                "Controllers": [{"FirmwarePackageVersion": "4.11"}],
                "Ports": link(format!("{adapter}/Ports")),
            }),
        )],
    );
    let port = |at: u8, sfp: Value| {
        json!({"Name": format!("Physical Port {at}"), "LinkStatus": "LinkUp",
        "CurrentSpeedGbps": 10, "Ethernet": {"AssociatedMACAddresses": [format!("0A:3A:88:00:00:0{at}")]}, "SFP": sfp})
    };
    let sfp = json!({"Type": "SFPPlus", "Manufacturer": "FINISAR CORP.", "PartNumber": "FTLX8571D3BCL",
        "SerialNumber": "AV700AA", "Status": {"State": "Enabled"}});
    tree.collection(
        &format!("{adapter}/Ports"),
        vec![("1", port(1, sfp)), ("2", port(2, json!({"Status": {"State": "Absent"}})))],
    );
    let unit = format!("{SYSTEM}/Storage/RAID_Slot7");
    tree.collection(&format!("{SYSTEM}/Storage"), vec![("RAID_Slot7", json!({
        "Name": "Storage", "Drives": [link(format!("{unit}/Drives/Disk.0"))],
        "StorageControllers": [{"MemberId": "0", "Model": "SAS3508", "Name": "ThinkSystem RAID 930-8i 2GB Flash", "FirmwareVersion": "51.16.0-4085"}],
        "Volumes": link(format!("{unit}/Volumes")),
    }))]);
    tree.put(&format!("{unit}/Drives/Disk.0"), json!({"Name": "800GB SAS SSD", "Model": "PX04SMB080", "SerialNumber": "79P0A00YT0XF",
        "CapacityBytes": 800_166_076_416_u64, "MediaType": "SSD", "Protocol": "SAS", "Status": ok()}));
    tree.collection(
        &format!("{unit}/Volumes"),
        vec![(
            "1",
            json!({"Name": "VD_0", "RAIDType": "RAID0", "CapacityBytes": 799_000_000_000_u64}),
        )],
    );
}
