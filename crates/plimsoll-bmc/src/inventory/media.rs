//! Virtual media: which slots there are, what is in them, and whether the BMC offers to change it.

use serde_json::Value;

use crate::documents::{Documents, Media};
use crate::quirks::Quirks;
use crate::reading::VirtualMedia;
use crate::value::{at, first, flag, id, link, text, texts};
use crate::words::shown_path;

pub fn all(documents: &Documents, quirks: &Quirks) -> Vec<VirtualMedia> {
    let mut media: Vec<_> = documents.media.iter().map(|media| of(media, quirks)).collect();
    media.sort_by(|one, other| one.id.cmp(&other.id).then(one.path.cmp(&other.path)));
    media
}

pub fn of(media: &Media, quirks: &Quirks) -> VirtualMedia {
    let document = &media.document;
    // The second spelling is that of older Supermicro firmware.
    let connected_via = first(document, &["/ConnectedVia", "/ConnecteVia"]);
    let disconnected = connected_via.as_deref() == Some("NotConnected");
    let inserted = match flag(document, "/Inserted") {
        None if quirks.image_outlives_eject && disconnected => Some(false),
        told => told,
    };
    VirtualMedia {
        id: id(document).unwrap_or_default(),
        path: link(document).map(shown_path),
        media_types: texts(document, "/MediaTypes"),
        inserted,
        image: text(document, "/Image"),
        connected_via,
        can_insert: offered(media, "#VirtualMedia.InsertMedia", quirks),
        can_eject: offered(media, "#VirtualMedia.EjectMedia", quirks),
    }
}

/// Unknown for a document that lists no action at all: it may be an old service's habit.
fn offered(media: &Media, action: &str, quirks: &Quirks) -> Option<bool> {
    let actions = at(&media.document, "/Actions");
    if actions.get(action).is_some_and(Value::is_object) {
        return Some(true);
    }
    let patch = media.allow.iter().any(|method| method == "PATCH");
    if patch || (quirks.media_by_patch && media.document.is_object()) {
        return Some(true);
    }
    actions.is_object().then_some(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quirks::classify;
    use serde_json::json;

    fn one(document: Value, vendor: &str) -> VirtualMedia {
        let media = Media { document, allow: Vec::new() };
        of(&media, classify(&json!({"Vendor": vendor}), &Value::Null))
    }

    #[test]
    fn an_image_is_shown_without_what_opens_it() {
        let media =
            one(json!({"Id": "1", "Image": "https://u:p@10.0.0.1:6180/x.iso?token=s"}), "x");
        assert_eq!(media.image.as_deref(), Some("https://10.0.0.1:6180/x.iso"));
    }

    #[test]
    fn slots_of_the_vendors_are_understood() {
        let slot = json!({"Id": "CD1", "Image": "old.iso", "ConnecteVia": "NotConnected"});
        assert_eq!(one(slot.clone(), "Supermicro").inserted, Some(false));
        assert_eq!(one(slot.clone(), "x").inserted, None);
        assert_eq!(one(slot.clone(), "x").can_insert, None);
        assert_eq!(one(slot, "Lenovo").can_insert, Some(true));
        let only_eject = json!({"Actions": {"#VirtualMedia.EjectMedia": {"target": "/x"}}});
        let media = one(only_eject, "x");
        assert_eq!((media.can_insert, media.can_eject), (Some(false), Some(true)));
    }
}
