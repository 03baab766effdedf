//! Any text keeps its lines and loses its names, also where they are encoded.
#![no_main]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use plimsoll_disguise::{Disguise, Names};

struct Site(std::sync::Mutex<Disguise>);

static SITE: LazyLock<Site> = LazyLock::new(|| {
    let names = Names {
        hosts: BTreeSet::from(["master-0.ocp.corp.test".into()]),
        domains: BTreeSet::from(["ocp.corp.test".into()]),
        infrastructures: BTreeSet::from(["ocp-x7k2p".into()]),
    };
    let disguise = Disguise::new(&names, [1; 16], &BTreeMap::new()).expect("few names");
    Site(std::sync::Mutex::new(disguise))
});

fuzz_target!(|bytes: &[u8]| {
    let site = SITE.0.lock().expect("one thread");
    let other = site.text(bytes);
    let lines = |text: &[u8]| text.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(lines(bytes), lines(&other), "lines moved");
    for line in other.split(|byte| !byte.is_ascii_alphanumeric() && !b"-.".contains(byte)) {
        assert_ne!(line, b"master-0", "a name is left");
    }
});
