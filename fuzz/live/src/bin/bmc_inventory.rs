//! Any answers of a BMC give a reading that can be written down.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_bmc::{Documents, inventory};

fuzz_target!(|bytes: &[u8]| {
    let Ok(documents) = serde_json::from_slice::<Documents>(bytes) else { return };
    let reading = inventory(&documents);
    serde_json::to_string(&reading).expect("a reading is JSON");
});
