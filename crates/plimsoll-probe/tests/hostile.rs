//! Whatever bytes come from the network, the readers of them come to an end without a panic.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::Write;
use std::time::Duration;

use plimsoll_probe::{Bundle, read};
use proptest::prelude::*;

/// All that a registry may send.
fn registry(bytes: &[u8]) {
    read::challenge(bytes);
    read::manifest(bytes);
    read::release(bytes);
    read::release_label(bytes);
    let _ = read::image_references(bytes);
}

proptest! {
    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..600), nonce: u64) {
        let address = [192, 0, 2, 5].into();
        read::body(&bytes);
        read::certificate(&bytes);
        read::ip_neigh(&bytes, address);
        read::proc_arp(&bytes, address);
        read::ip_route(&bytes);
        read::ntp(&bytes, nonce);
        read::dns(&bytes, 7, &Default::default());
        registry(&bytes);
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

    /// Likewise for what a registry sends.
    #[test]
    fn a_manifest_or_a_layer_with_a_few_wrong_bytes_is_read(
        wrong in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let digest = format!("sha256:{}", "0a".repeat(32));
        let entry = format!(r#"{{"digest":"{digest}","size":7,"platform":{{"os":"linux"}}}}"#);
        let tag = format!(r#"{{"name":"etcd","from":{{"name":"quay.io/a@{digest}"}}}}"#);
        let list = format!(r#"{{"kind":"ImageStream","spec":{{"tags":[{tag}]}}}}"#);
        for whole in [
            format!(r#"{{"config":{entry},"layers":[{entry}]}}"#).into_bytes(),
            format!(r#"{{"manifests":[{entry}]}}"#).into_bytes(),
            br#"Bearer realm="https://a/b",service="c d",scope="repository:a/b:pull", Basic"#.to_vec(),
            layer(list.as_bytes()),
            packed(&layer(list.as_bytes())),
            list.into_bytes(),
        ] {
            registry(&whole[..cut.index(whole.len())]);
            let mut bytes = whole;
            for (index, byte) in &wrong {
                let place = index.index(bytes.len());
                bytes[place] = *byte;
            }
            registry(&bytes);
        }
    }
}

fn layer(list: &[u8]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_ustar();
    header.set_size(list.len() as u64);
    builder.append_data(&mut header, "release-manifests/image-references", list).unwrap();
    builder.into_inner().unwrap()
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}
