//! What the answers of a BMC mean. Pure: any JSON gives a reading, and none gives an empty one.

mod account;
mod events;
mod firmware;
mod manager;
pub mod media;
mod network;
mod storage;
mod system;

use crate::documents::Documents;
use crate::quirks::{classify, generation};
use crate::reading::{Reading, Service};
use crate::value::text;

/// The parts of a reading that stand in the documents.
pub fn inventory(documents: &Documents) -> Reading {
    let quirks = classify(&documents.root, &documents.manager);
    let virtual_media = media::all(documents, quirks);
    Reading {
        service: documents.root.is_object().then(|| Service {
            redfish_version: text(&documents.root, "/RedfishVersion"),
            product: text(&documents.root, "/Product"),
            vendor: text(&documents.root, "/Vendor"),
            quirk: quirks.family,
            generation: generation(quirks.family, &documents.root, &documents.manager),
        }),
        privilege: account::privilege(documents, quirks.family),
        system: system::of(documents),
        manager: manager::of(documents),
        virtual_media,
        nics: network::nics(&documents.ethernet, &documents.adapters),
        storage: storage::all(&documents.storage),
        bios: system::attributes(&documents.bios),
        firmware: firmware::all(&documents.firmware, quirks.unused_firmware),
        events: events::newest(&documents.entries),
        ..Reading::default()
    }
}
