//! Whatever a registry sends is read to an end, and what is kept of it is short.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_probe::read;

fuzz_target!(|bytes: &[u8]| {
    let _ = read::challenge(bytes);
    if let Some(read::Manifest::Index(entries)) = read::manifest(bytes) {
        assert!(entries.iter().all(|(_, platform)| platform.len() <= 80));
    }
    if let Some(release) = read::release(bytes) {
        assert!(release.components.values().all(|name| name.len() <= 80));
    }
    let _ = read::release_label(bytes);
    if let Ok(Some(list)) = read::image_references(bytes) {
        let _ = read::release(&list);
    }
});
