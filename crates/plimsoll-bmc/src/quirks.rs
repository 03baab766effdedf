//! How the BMCs of each vendor differ from the book. The platform is settled once; every
//! workaround asks this table.

use serde_json::Value;

use crate::reading::Family;
use crate::value::{at, text};

pub struct Quirks {
    pub family: Family,
    /// Query that makes a collection hold its members, so that they need not be asked one by one.
    pub expand: Option<&'static str>,
    /// Logs worth reading. Without any, what the manager and the system list is read.
    pub logs: &'static [Log],
    /// The first page of a log holds the newest entries.
    pub newest_first: bool,
    /// Parts of the names of chassis that are not asked for.
    pub avoided_chassis: &'static [&'static str],
    /// Where virtual media are if neither manager nor system link to them.
    pub media_folder: Option<&'static str>,
    /// Media without an action are inserted and ejected by a PATCH.
    pub media_by_patch: bool,
    /// An image that is not connected is the name of the last one, not an inserted one.
    pub image_outlives_eject: bool,
    /// Drives and controllers stand in a tree of the vendor's own.
    pub smart_storage: bool,
    /// Prefixes of firmware that is stored and not in use.
    pub unused_firmware: &'static [&'static str],
    /// Kinds of reset that switch it on or off, the best first.
    pub resets_on: &'static [&'static str],
    pub resets_off: &'static [&'static str],
}

pub enum Log {
    OfManager(&'static str),
    OfSystem(&'static str),
}

const GENERIC: Quirks = Quirks {
    family: Family::Generic,
    // Some services list $expand and then leave out fields of the members.
    expand: None,
    logs: &[],
    newest_first: false,
    avoided_chassis: &[],
    media_folder: None,
    media_by_patch: false,
    image_outlives_eject: false,
    smart_storage: false,
    unused_firmware: &[],
    resets_on: &["On", "ForceOn"],
    // A machine that is switched off for the sake of others must not be able to refuse.
    resets_off: &["ForceOff", "GracefulShutdown"],
};

static TABLE: [Quirks; 5] = [
    Quirks {
        family: Family::Idrac,
        // A member takes an iDRAC a second; it has some sixty of firmware and of network each.
        expand: Some("?$expand=*($levels=1)"),
        // The Lifecycle log has what happened to the hardware, the SEL what the sensors said.
        logs: &[Log::OfManager("LogServices/Lclog"), Log::OfManager("LogServices/Sel")],
        newest_first: true,
        // To ask for a chassis of a RAID controller can restart an iDRAC.
        avoided_chassis: &["RAID", "Enclosure"],
        // Previous and Available are what a rollback or an update would install.
        unused_firmware: &["Previous-", "Available-"],
        ..GENERIC
    },
    Quirks {
        family: Family::Ilo,
        expand: Some("?$expand=."),
        // The iLO's own events, and the Integrated Management Log of the server.
        logs: &[Log::OfManager("LogServices/IEL"), Log::OfSystem("LogServices/IML")],
        // An iLO 5 shows its Smart Array controllers in its own tree only.
        smart_storage: true,
        ..GENERIC
    },
    Quirks {
        family: Family::Supermicro,
        // Firmware of X10 and X11 has the collection as VM1, and may not link to it.
        media_folder: Some("VM1"),
        // An ejected slot goes on to name its image, with ConnectedVia NotConnected.
        image_outlives_eject: true,
        ..GENERIC
    },
    Quirks {
        family: Family::Lenovo,
        expand: Some("?$expand=*"),
        logs: &[Log::OfSystem("LogServices/StandardLog"), Log::OfSystem("LogServices/ActiveLog")],
        // The slots EXT1 to EXT4 of an XCC have no action: a PATCH of Image and Inserted does it.
        media_by_patch: true,
        ..GENERIC
    },
    GENERIC,
];

/// By the service root; by the manager where the root says nothing.
pub fn classify(root: &Value, manager: &Value) -> &'static Quirks {
    let family = family_of(root).or_else(|| family_of(manager)).unwrap_or_default();
    TABLE.iter().find(|quirks| quirks.family == family).unwrap_or(&TABLE[TABLE.len() - 1])
}

fn family_of(document: &Value) -> Option<Family> {
    let keys = at(document, "/Oem").as_object().into_iter().flat_map(|oem| oem.keys().cloned());
    let told = ["/Vendor", "/Manufacturer", "/Product", "/Model"];
    let told = told.iter().filter_map(|place| text(document, place));
    keys.chain(told).find_map(|word| {
        let word = word.to_ascii_lowercase();
        let is = |part: &str| word.contains(part);
        match () {
            () if is("dell") || is("idrac") => Some(Family::Idrac),
            () if word == "hp" || is("hpe") || is("hewlett") || is("ilo ") => Some(Family::Ilo),
            () if is("supermicro") || word == "smci" => Some(Family::Supermicro),
            () if is("lenovo") || is("xclarity") => Some(Family::Lenovo),
            () => None,
        }
    })
}

pub fn generation(family: Family, root: &Value, manager: &Value) -> Option<String> {
    match family {
        // The manager's model is the generation of the server: 16G Monolithic.
        Family::Idrac => {
            let model = text(manager, "/Model")?;
            let server: u8 = model.split_once('G')?.0.trim().parse().ok()?;
            match server {
                12 | 13 => Some("iDRAC8".into()),
                14..=16 => Some("iDRAC9".into()),
                17 | 18 => Some("iDRAC10".into()),
                _ => None,
            }
        }
        Family::Ilo => ["/Oem/Hpe/Manager/0/ManagerType", "/Oem/Hpe/Moniker/PRODGEN"]
            .iter()
            .find_map(|place| text(root, place))
            .or_else(|| text(manager, "/Model"))
            .filter(|told| told.starts_with("iLO")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn platforms_are_told_apart() {
        let none = Value::Null;
        for (root, manager, family) in [
            (json!({"Vendor": "Dell"}), none.clone(), Family::Idrac),
            (json!({"Oem": {"Hpe": {}}}), none.clone(), Family::Ilo),
            (json!({"Vendor": "HPE"}), none.clone(), Family::Ilo),
            (json!({"Oem": {"Supermicro": {}}}), none.clone(), Family::Supermicro),
            (json!({"Vendor": "Lenovo"}), none.clone(), Family::Lenovo),
            (json!({}), json!({"Oem": {"Supermicro": {}}}), Family::Supermicro),
            (json!({"Product": "Sushy Emulator"}), json!({}), Family::Generic),
            (json!([]), json!(3), Family::Generic),
        ] {
            assert_eq!(classify(&root, &manager).family, family, "{root} {manager}");
        }
    }

    #[test]
    fn generations_are_told_where_known() {
        let model = |model: &str| json!({"Model": model});
        let root = json!({});
        for (told, expected) in [
            ("13G Modular", Some("iDRAC8")),
            ("16G Monolithic", Some("iDRAC9")),
            ("17G Monolithic", Some("iDRAC10")),
            ("99G Monolithic", None),
            ("iDRAC", None),
        ] {
            let found = generation(Family::Idrac, &root, &model(told));
            assert_eq!(found.as_deref(), expected, "{told}");
        }
        assert_eq!(generation(Family::Ilo, &root, &model("iLO 6")).as_deref(), Some("iLO 6"));
        let root = json!({"Oem": {"Hpe": {"Manager": [{"ManagerType": "iLO 5"}]}}});
        assert_eq!(generation(Family::Ilo, &root, &json!({})).as_deref(), Some("iLO 5"));
        assert_eq!(generation(Family::Generic, &root, &model("iLO 5")), None);
    }
}
