//! Controllers, their drives, and what they make of them.

use serde_json::Value;

use crate::documents::Unit;
use crate::reading::{Drive, Storage, Volume};
use crate::value::{at, first, id, list, text, whole};

pub fn all(units: &[Unit]) -> Vec<Storage> {
    let mut storage: Vec<_> = units.iter().map(of).collect();
    storage.sort_by(|one, other| one.id.cmp(&other.id));
    storage
}

fn of(unit: &Unit) -> Storage {
    let document = &unit.unit;
    let inline = list(document, "/StorageControllers").first();
    let controller = unit.controllers.first().or(inline).unwrap_or(document);
    let simple = list(document, "/Devices").iter().enumerate().map(|(index, device)| Drive {
        id: text(device, "/Name").unwrap_or_else(|| index.to_string()),
        ..drive(device)
    });
    let mut drives: Vec<Drive> = unit.drives.iter().map(drive).chain(simple).collect();
    drives.sort_by(|one, other| one.id.cmp(&other.id));
    let mut volumes: Vec<Volume> = unit.volumes.iter().map(volume).collect();
    volumes.sort_by(|one, other| one.id.cmp(&other.id));
    Storage {
        id: id(document).unwrap_or_default(),
        controller: first(controller, &["/Model", "/Name"]),
        firmware: first(
            controller,
            &["/FirmwareVersion/Current/VersionString", "/FirmwareVersion"],
        ),
        raid_mode: raid_mode(document, controller),
        drives,
        volumes,
    }
}

/// Told by an iDRAC, and by the Smart Array controllers of an iLO 5.
fn raid_mode(unit: &Value, controller: &Value) -> Option<String> {
    let dell = "/Oem/Dell/DellStorageController/ControllerMode";
    text(controller, dell)
        .or_else(|| text(unit, dell))
        .or_else(|| text(unit, "/CurrentOperatingMode"))
}

fn drive(document: &Value) -> Drive {
    let serial = text(document, "/SerialNumber");
    let hint = wwn(document).map(|wwn| format!("wwn={wwn}"));
    Drive {
        id: id(document).unwrap_or_default(),
        model: text(document, "/Model"),
        capacity_bytes: whole(document, "/CapacityBytes").or_else(|| mebibytes(document)),
        media: text(document, "/MediaType"),
        protocol: first(document, &["/Protocol", "/InterfaceType"]),
        health: text(document, "/Status/Health"),
        hint_name: hint.or_else(|| serial.as_ref().map(|serial| format!("serialNumber={serial}"))),
        serial,
    }
}

fn mebibytes(document: &Value) -> Option<u64> {
    whole(document, "/CapacityMiB")?.checked_mul(1 << 20)
}

/// As the kernel writes it, and as a root device hint wants it.
fn wwn(document: &Value) -> Option<String> {
    let naa = list(document, "/Identifiers")
        .iter()
        .find(|one| text(one, "/DurableNameFormat").as_deref() == Some("NAA"))?;
    let name = text(naa, "/DurableName")?.to_ascii_lowercase();
    let digits = name.trim_start_matches("0x");
    let right = digits.len() == 16 && digits.chars().all(|digit| digit.is_ascii_hexdigit());
    right.then(|| format!("0x{digits}"))
}

fn volume(document: &Value) -> Volume {
    // An iLO 5 tells the number alone.
    let raid = text(document, "/RAIDType")
        .or_else(|| text(document, "/Raid").map(|level| format!("RAID{level}")))
        .or_else(|| text(document, "/VolumeType"));
    let capacity = whole(document, "/CapacityBytes")
        .or_else(|| whole(at(document, "/Capacity"), "/Data/AllocatedBytes"));
    Volume {
        id: id(document).unwrap_or_default(),
        raid,
        capacity_bytes: capacity.or_else(|| mebibytes(document)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn controllers_stand_inside_or_beside() {
        let inline = Unit {
            unit: json!({"Id": "A", "StorageControllers": [{"Model": "X", "FirmwareVersion": "1"}]}),
            drives: vec![json!({"Id": "1", "SerialNumber": "S", "CapacityBytes": 5,
                "Identifiers": [{"DurableNameFormat": "NAA", "DurableName": "5002538C40A1B2C3"}]})],
            ..Unit::default()
        };
        let smart = Unit {
            unit: json!({"Id": "0", "Model": "P408i", "CurrentOperatingMode": "Mixed",
                "FirmwareVersion": {"Current": {"VersionString": "5.00"}}}),
            drives: vec![json!({"Id": "2", "SerialNumber": "T", "CapacityMiB": 2})],
            volumes: vec![json!({"Id": "1", "Raid": "1", "CapacityMiB": 1})],
            ..Unit::default()
        };
        let found = all(&[inline, smart]);
        assert_eq!(found[0].raid_mode.as_deref(), Some("Mixed"));
        assert_eq!(found[0].firmware.as_deref(), Some("5.00"));
        assert_eq!(found[0].drives[0].capacity_bytes, Some(2 << 20));
        assert_eq!(found[0].drives[0].hint_name.as_deref(), Some("serialNumber=T"));
        assert_eq!(found[0].volumes[0].raid.as_deref(), Some("RAID1"));
        assert_eq!(found[1].controller.as_deref(), Some("X"));
        assert_eq!(found[1].drives[0].hint_name.as_deref(), Some("wwn=0x5002538c40a1b2c3"));
    }
}
