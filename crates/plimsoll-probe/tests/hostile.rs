//! Whatever bytes come from the network, the readers of them come to an end without a panic.

use std::time::Duration;

use plimsoll_probe::{Bundle, read};
use proptest::prelude::*;

proptest! {
    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..600), nonce: u64) {
        let address = [192, 0, 2, 5].into();
        read::body(&bytes);
        read::certificate(&bytes);
        read::ip_neigh(&bytes, address);
        read::proc_arp(&bytes, address);
        read::ntp(&bytes, nonce);
        read::dns(&bytes, 7, &Default::default());
        let text = String::from_utf8_lossy(&bytes);
        read::date(Some(&text), jiff::Timestamp::MAX, Duration::from_secs(1));
        Bundle::from_pem("any", &bytes);
    }

    /// Bytes that are nearly right get further than noise.
    #[test]
    fn a_certificate_with_a_few_wrong_bytes_is_read(
        wrong in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        nonce: u64,
    ) {
        let made = rcgen::generate_simple_self_signed(vec!["api.lab.example.com".into()]);
        let mut certificate = made.unwrap().cert.der().to_vec();
        let mut time = [0u8; 48];
        (time[0], time[1]) = (0x24, 2);
        time[24..32].copy_from_slice(&nonce.to_be_bytes());
        let mut reply = b"\0\x07\x81\x80\0\x01\0\x01\0\0\0\0\0\0\x01\0\x01\0\0\x01\0\x01\0\0\0\x3c\0\x04\xc0\0\x02\x05".to_vec();
        for (index, byte) in wrong {
            for bytes in [&mut certificate[..], &mut time, &mut reply] {
                bytes[index.index(bytes.len())] = byte;
            }
        }
        read::certificate(&certificate);
        read::ntp(&time, nonce);
        read::dns(&reply, 7, &Default::default());
    }
}
