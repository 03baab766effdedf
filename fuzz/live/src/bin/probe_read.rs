//! Any bytes from the network are an answer, or no answer.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_probe::read;

fuzz_target!(|bytes: &[u8]| {
    let _ = read::body(bytes);
    if let Some(certificate) = read::certificate(bytes) {
        serde_json::to_string(&certificate).expect("a certificate is JSON");
    }
    let _ = read::ip_neigh(bytes, [192, 0, 2, 1].into());
    let _ = read::proc_arp(bytes, [192, 0, 2, 1].into());
    let _ = read::ip_route(bytes);
    let nonce = bytes.get(24..32).and_then(|field| <[u8; 8]>::try_from(field).ok());
    let _ = read::ntp(bytes, nonce.map_or(0, u64::from_be_bytes));
});
