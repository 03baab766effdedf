//! A kubelet's certificate request for a name that is known only when a case is made.
//!
//! DER by hand: a gather is read for subject and names, so the key is the curve's own base point and
//! the signature is nobody's. Requests that somebody checks are not here; those are real ones, made
//! beforehand.

use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const PRINTABLE: u8 = 0x13;
const BITS: u8 = 0x03;
const OCTETS: u8 = 0x04;

const ORGANIZATION: &[u8] = &[0x06, 3, 0x55, 0x04, 0x0a];
const COMMON_NAME: &[u8] = &[0x06, 3, 0x55, 0x04, 0x03];
const ALT_NAMES: &[u8] = &[0x06, 3, 0x55, 0x1d, 0x11];
const EXTENSION_REQUEST: &[u8] = &[0x06, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x0e];
const EC_KEY: &[u8] = &[0x06, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const P256: &[u8] = &[0x06, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
const ECDSA_SHA256: &[u8] = &[0x06, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];

/// The base point of P-256, compressed.
const POINT: &[u8] = &[
    0x03, 0x6b, 0x17, 0xd1, 0xf2, 0xe1, 0x2c, 0x42, 0x47, 0xf8, 0xbc, 0xe6, 0xe5, 0x63, 0xa4, 0x40,
    0xf2, 0x77, 0x03, 0x7d, 0x81, 0x2d, 0xeb, 0x33, 0xa0, 0xf4, 0xa1, 0x39, 0x45, 0xd8, 0x98, 0xc2,
    0x96,
];

/// What stands in `spec.request` when the kubelet of a node asks for its client certificate.
pub(crate) fn client_request(node: &str) -> String {
    encoded(&request(node, &[]))
}

/// The same for its serving certificate, under its name and its address.
pub(crate) fn serving_request(node: &str, ip: &str) -> String {
    let address = match ip.parse() {
        Ok(IpAddr::V4(ip)) => ip.octets().to_vec(),
        Ok(IpAddr::V6(ip)) => ip.octets().to_vec(),
        Err(_) => Vec::new(),
    };
    let names = block(SEQUENCE, &[&block(0x82, &[node.as_bytes()]), &block(0x87, &[&address])]);
    let extension = block(SEQUENCE, &[ALT_NAMES, &block(OCTETS, &[&names])]);
    let wanted = block(SET, &[&block(SEQUENCE, &[&extension])]);
    encoded(&request(node, &block(SEQUENCE, &[EXTENSION_REQUEST, &wanted])))
}

fn request(node: &str, attributes: &[u8]) -> Vec<u8> {
    let named = |kind: &[u8], value: &str| {
        block(SET, &[&block(SEQUENCE, &[kind, &block(PRINTABLE, &[value.as_bytes()])])])
    };
    let subject = block(
        SEQUENCE,
        &[
            &named(ORGANIZATION, "system:nodes"),
            &named(COMMON_NAME, &format!("system:node:{node}")),
        ],
    );
    let key = block(SEQUENCE, &[&block(SEQUENCE, &[EC_KEY, P256]), &block(BITS, &[&[0], POINT])]);
    let version = [0x02, 1, 0];
    let info = block(SEQUENCE, &[&version, &subject, &key, &block(0xa0, &[attributes])]);
    let one = [0x02, 1, 1];
    let signature = block(BITS, &[&[0], &block(SEQUENCE, &[&one, &one])]);
    block(SEQUENCE, &[&info, &block(SEQUENCE, &[ECDSA_SHA256]), &signature])
}

/// Tag, length and contents.
fn block(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let contents = parts.concat();
    let mut out = vec![tag];
    match u8::try_from(contents.len()) {
        Ok(length @ 0..=0x7f) => out.push(length),
        Ok(length) => out.extend([0x81, length]),
        Err(_) => out.extend([0x82, (contents.len() >> 8) as u8, contents.len() as u8]),
    }
    out.extend(contents);
    out
}

/// PEM, and that in base64 once more, as the API shows bytes.
fn encoded(der: &[u8]) -> String {
    let body = STANDARD.encode(der);
    let mut pem = String::from("-----BEGIN CERTIFICATE REQUEST-----\n");
    for line in body.as_bytes().chunks(64) {
        pem.push_str(&String::from_utf8_lossy(line));
        pem.push('\n');
    }
    pem.push_str("-----END CERTIFICATE REQUEST-----\n");
    STANDARD.encode(pem)
}

#[cfg(test)]
mod tests {
    use x509_parser::extensions::ParsedExtension;
    use x509_parser::prelude::{FromDer, X509CertificationRequest};

    use super::*;

    /// Subject and alternative names, as a reader sees them.
    fn read(text: &str) -> (String, String) {
        let pem = STANDARD.decode(text).unwrap();
        let (_, block) = x509_parser::pem::parse_x509_pem(&pem).unwrap();
        let (rest, request) = X509CertificationRequest::from_der(&block.contents).unwrap();
        assert!(rest.is_empty());
        let names = request.requested_extensions().into_iter().flatten().map(|found| match found {
            ParsedExtension::SubjectAlternativeName(names) => format!("{:?}", names.general_names),
            other => panic!("{other:?}"),
        });
        (request.certification_request_info.subject.to_string(), names.collect())
    }

    #[test]
    fn a_request_reads_as_what_it_was_made_for() {
        let long = format!("{}.edge6.corp.example.net", "a".repeat(63));
        for node in ["worker-1", long.as_str()] {
            let wanted = format!("O=system:nodes, CN=system:node:{node}");
            assert_eq!(read(&client_request(node)), (wanted.clone(), String::new()));
            let (subject, names) = read(&serving_request(node, "192.168.111.24"));
            assert_eq!(subject, wanted);
            assert_eq!(names, format!("[DNSName({node:?}), IPAddress([192, 168, 111, 24])]"));
        }
        let (_, names) = read(&serving_request("wk0", "fd00::5"));
        assert!(names.contains("IPAddress([253, 0, 0"), "{names}");
    }
}
