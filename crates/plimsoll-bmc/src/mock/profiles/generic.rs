//! A service that knows only what the standard demands, with several systems behind it.

use serde_json::json;

use super::{link, media_actions, ok};
use crate::mock::Tree;

const SYSTEM: &str = "/redfish/v1/Systems/node-0";
const MANAGER: &str = "/redfish/v1/Managers/bmc";

pub fn generic() -> Tree {
    let mut tree = Tree::default();
    tree.put("/redfish/v1", json!({
        "@odata.type": "#ServiceRoot.v1_0_0.ServiceRoot", "Name": "Root Service", "RedfishVersion": "1.0.0",
        "Systems": link("/redfish/v1/Systems"), "Managers": link("/redfish/v1/Managers"),
    }));
    let system = json!({
        "Name": "node-0", "Manufacturer": "Contoso", "Model": "3500", "PowerState": "Off", "Status": ok(),
        "Boot": {"BootSourceOverrideMode": "UEFI", "BootSourceOverrideTarget": "Hdd"},
        "SimpleStorage": link(format!("{SYSTEM}/SimpleStorage")),
        "EthernetInterfaces": link(format!("{SYSTEM}/EthernetInterfaces")),
    });
    let other = json!({"Name": "node-1", "Manufacturer": "Contoso", "Model": "3500"});
    tree.collection("/redfish/v1/Systems", vec![("node-0", system), ("node-1", other)]);
    tree.collection(
        &format!("{SYSTEM}/EthernetInterfaces"),
        vec![(
            "eth0",
            json!({"Name": "eth0", "MACAddress": "52:54:00:00:00:10", "LinkStatus": "NoLink"}),
        )],
    );
    tree.collection(&format!("{SYSTEM}/SimpleStorage"), vec![("1", json!({
        "Name": "Simple Storage", "Devices": [{"Name": "SATA Bay 1", "Model": "3000GT8", "CapacityBytes": 8_000_000_000_000_u64}],
    }))]);
    let media = format!("{MANAGER}/VirtualMedia");
    tree.collection(
        "/redfish/v1/Managers",
        vec![(
            "bmc",
            json!({
                "Name": "BMC", "FirmwareVersion": "1.00", "DateTime": "2026-11-16T12:00:00Z",
                "VirtualMedia": link(media.clone()),
            }),
        )],
    );
    tree.collection(
        &media,
        vec![(
            "Cd",
            json!({
                "Name": "Virtual CD", "MediaTypes": ["CD"], "Inserted": false, "Image": "",
                "Actions": media_actions(&format!("{media}/Cd")),
            }),
        )],
    );
    tree
}
