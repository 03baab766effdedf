//! Network interfaces, put together from what the system and the adapters of its chassis say.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::documents::Adapter;
use crate::reading::{Link, Nic, Transceiver};
use crate::value::{at, first, flag, id, last_part, link, list, number, text, whole};

pub fn nics(ethernet: &[Value], adapters: &[Adapter]) -> Vec<Nic> {
    let mut nics: Vec<Nic> = ethernet.iter().map(interface).collect();
    for adapter in adapters {
        for port in &adapter.ports {
            let functions = functions_of(port, &adapter.functions);
            merge(&mut nics, port_nic(&adapter.adapter, port), &addresses(port, &functions));
        }
        // An iLO 5 has the ports inside of the adapter.
        for (index, port) in list(&adapter.adapter, "/PhysicalPorts").iter().enumerate() {
            let mut nic = port_nic(&adapter.adapter, port);
            if nic.id.is_empty() {
                let adapter = id(&adapter.adapter).unwrap_or_default();
                nic.id = format!("{adapter}-{}", index + 1);
            }
            merge(&mut nics, nic, &addresses(port, &[]));
        }
    }
    for nic in nics.iter_mut().filter(|nic| nic.link.is_some_and(|link| link != Link::Up)) {
        // Some go on to tell the speed that it last had.
        nic.speed_mbps = None;
    }
    nics.sort_by(|one, other| one.id.cmp(&other.id).then(one.mac.cmp(&other.mac)));
    nics
}

fn interface(document: &Value) -> Nic {
    let mac = first(document, &["/PermanentMACAddress", "/MACAddress"]);
    Nic {
        id: id(document).unwrap_or_default(),
        name: first(document, &["/Description", "/Name"]),
        mac: mac.as_deref().and_then(address),
        enabled: enabled(document),
        link: link_state(document),
        speed_mbps: speed(document),
        ..Nic::default()
    }
}

fn port_nic(adapter: &Value, port: &Value) -> Nic {
    let id = id(port);
    Nic {
        id: id.clone().unwrap_or_default(),
        name: text(port, "/Name"),
        enabled: flag(port, "/InterfaceEnabled").or_else(|| enabled(port)),
        link: link_state(port),
        speed_mbps: speed(port),
        // An iLO 5 has the model as the name.
        model: text(adapter, "/Model").or_else(|| {
            let own = at(adapter, "/PhysicalPorts").is_array();
            own.then(|| text(adapter, "/Name")).flatten()
        }),
        firmware: first(
            adapter,
            &["/Controllers/0/FirmwarePackageVersion", "/Firmware/Current/VersionString"],
        ),
        port_id: id,
        transceiver: transceiver(port),
        mac: None,
    }
}

/// The port's part goes to every interface with one of its addresses, or stands for itself.
fn merge(nics: &mut Vec<Nic>, port: Nic, addresses: &[String]) {
    let known = |nic: &&mut Nic| nic.mac.as_ref().is_some_and(|mac| addresses.contains(mac));
    let mut found = false;
    for nic in nics.iter_mut().filter(known) {
        found = true;
        let port = port.clone();
        nic.enabled = nic.enabled.or(port.enabled);
        nic.link = nic.link.or(port.link);
        nic.speed_mbps = nic.speed_mbps.or(port.speed_mbps);
        nic.model = nic.model.take().or(port.model);
        nic.firmware = nic.firmware.take().or(port.firmware);
        nic.port_id = nic.port_id.take().or(port.port_id);
        nic.transceiver = nic.transceiver.take().or(port.transceiver);
    }
    if !found {
        nics.push(Nic { mac: addresses.first().cloned(), ..port });
    }
}

fn functions_of<'v>(port: &Value, functions: &'v [Value]) -> Vec<&'v Value> {
    let Some(port) = id(port) else { return Vec::new() };
    let places = [
        "/Links/PhysicalPortAssignment",
        "/Links/PhysicalNetworkPortAssignment",
        "/PhysicalPortAssignment",
    ];
    let is_on = |function: &&Value| {
        let mut links = places.iter().filter_map(|place| link(at(function, place)));
        links.any(|path| last_part(path) == port)
    };
    functions.iter().filter(is_on).collect()
}

fn addresses(port: &Value, functions: &[&Value]) -> Vec<String> {
    let own = list(port, "/AssociatedNetworkAddresses")
        .iter()
        .chain(list(port, "/Ethernet/AssociatedMACAddresses"))
        .chain([at(port, "/MacAddress")]);
    let theirs = functions.iter().flat_map(|function| {
        [at(function, "/Ethernet/PermanentMACAddress"), at(function, "/Ethernet/MACAddress")]
    });
    let mut addresses = Vec::new();
    for address in own.chain(theirs).filter_map(|told| address(told.as_str()?)) {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    addresses
}

/// Vendors write it with colons, with dashes or with nothing, in either case.
fn address(told: &str) -> Option<String> {
    let digits: String = told.chars().filter(char::is_ascii_hexdigit).collect();
    let others = told.chars().filter(|letter| !letter.is_ascii_hexdigit());
    if digits.len() != 12 || others.into_iter().any(|letter| !matches!(letter, ':' | '-' | '.')) {
        return None;
    }
    if digits.bytes().all(|digit| digit == b'0') {
        return None;
    }
    let digits = digits.to_ascii_lowercase();
    let pairs: Vec<&str> = (0..12).step_by(2).filter_map(|at| digits.get(at..at + 2)).collect();
    Some(pairs.join(":"))
}

fn enabled(document: &Value) -> Option<bool> {
    flag(document, "/InterfaceEnabled").or_else(|| {
        match text(document, "/Status/State").as_deref() {
            Some("Enabled") => Some(true),
            Some("Disabled") => Some(false),
            _ => None,
        }
    })
}

fn link_state(document: &Value) -> Option<Link> {
    match text(document, "/LinkStatus")?.to_ascii_lowercase().as_str() {
        "linkup" | "up" => Some(Link::Up),
        "linkdown" | "down" => Some(Link::Down),
        "nolink" => Some(Link::NoLink),
        _ => None,
    }
}

/// The speed that the link has, not one that it could have. Zero stands for none.
fn speed(document: &Value) -> Option<u64> {
    let told = ["/SpeedMbps", "/CurrentLinkSpeedMbps"];
    let told = told.iter().find_map(|place| whole(document, place));
    let in_gigabit = || number(document, "/CurrentSpeedGbps").map(|speed| (speed * 1000.0) as u64);
    told.or_else(in_gigabit).filter(|speed| *speed > 0)
}

/// By the standard as SFP, by an iDRAC as a part of its own.
fn transceiver(port: &Value) -> Option<Transceiver> {
    let standard = at(port, "/SFP");
    if standard.is_object() {
        let state = text(standard, "/Status/State");
        return Some(Transceiver {
            present: state.map(|state| state != "Absent"),
            vendor: first(standard, &["/Manufacturer", "/VendorName"]),
            part: text(standard, "/PartNumber"),
            serial: text(standard, "/SerialNumber"),
            kind: text(standard, "/Type"),
        });
    }
    let dell = at(port, "/Oem/Dell/DellNetworkTransceiver");
    let fields: BTreeMap<_, _> = ["VendorName", "PartNumber", "SerialNumber", "IdentifierType"]
        .iter()
        .filter_map(|field| Some((*field, text(dell, &format!("/{field}"))?)))
        .collect();
    if fields.is_empty() {
        return None;
    }
    let field = |name: &str| fields.get(name).cloned();
    Some(Transceiver {
        present: Some(true),
        vendor: field("VendorName"),
        part: field("PartNumber"),
        serial: field("SerialNumber"),
        kind: field("IdentifierType"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_address_has_one_form() {
        assert_eq!(address("B0:7B:25:00:11:22").as_deref(), Some("b0:7b:25:00:11:22"));
        assert_eq!(address("B07B25001122").as_deref(), Some("b0:7b:25:00:11:22"));
        for odd in ["", "00:00:00:00:00:00", "b0:7b:25", "b0:7b:25:00:11:22:33:44", "xb07b25001122"]
        {
            assert_eq!(address(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_port_completes_the_interface_with_its_address() {
        let ethernet = [json!({"Id": "NIC.1-1-1", "MACAddress": "AA:BB:CC:00:00:01"})];
        let adapter = Adapter {
            adapter: json!({"Id": "NIC.1", "Model": "BCM57504",
                "Controllers": [{"FirmwarePackageVersion": "22.91"}]}),
            ports: vec![
                json!({"Id": "NIC.1-1", "LinkStatus": "Up", "CurrentSpeedGbps": 25,
                    "Oem": {"Dell": {"DellNetworkTransceiver": {"PartNumber": "AFBR"}}}}),
                json!({"Id": "NIC.1-2", "LinkStatus": "Down", "SFP": {"Status": {"State": "Absent"}}}),
            ],
            functions: vec![json!({"Id": "NIC.1-1-1",
                "Ethernet": {"MACAddress": "aa:bb:cc:00:00:01"},
                "Links": {"PhysicalPortAssignment": {"@odata.id": "/x/NIC.1-1"}}})],
        };
        let nics = nics(&ethernet, &[adapter]);
        assert_eq!(nics.len(), 2);
        let merged = nics.iter().find(|nic| nic.mac.is_some()).unwrap();
        assert_eq!(merged.link, Some(Link::Up));
        assert_eq!(merged.speed_mbps, Some(25_000));
        assert_eq!(merged.firmware.as_deref(), Some("22.91"));
        assert_eq!(merged.transceiver.as_ref().unwrap().present, Some(true));
        let other = nics.iter().find(|nic| nic.mac.is_none()).unwrap();
        assert_eq!(other.transceiver.as_ref().unwrap().present, Some(false));
    }
}
