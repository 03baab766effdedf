//! What a certificate says of itself. Bytes in, words out: nothing is verified here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use plimsoll_model::Time;
use serde::{Deserialize, Serialize};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};
use x509_parser::time::ASN1Time;

use crate::reach::shown;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    pub subject: String,
    pub issuer: String,
    /// In hexadecimal digits.
    pub serial: String,
    pub not_before: Time,
    pub not_after: Time,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dns_names: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ip_names: Vec<IpAddr>,
    /// Of the whole certificate, in hexadecimal digits.
    pub sha256: String,
}

/// Nothing for bytes that are no certificate.
pub fn read(der: &[u8]) -> Option<Certificate> {
    let (_, parsed) = X509Certificate::from_der(der).ok()?;
    let mut dns_names = Vec::new();
    let mut ip_names = Vec::new();
    if let Ok(Some(names)) = parsed.subject_alternative_name() {
        for name in &names.value.general_names {
            match name {
                GeneralName::DNSName(name) => dns_names.push(shown(name)),
                GeneralName::IPAddress(bytes) => ip_names.extend(address(bytes)),
                _ => {}
            }
        }
    }
    dns_names.sort();
    ip_names.sort();
    Some(Certificate {
        subject: shown(parsed.subject().to_string()),
        issuer: shown(parsed.issuer().to_string()),
        serial: hex(parsed.raw_serial()),
        not_before: time(parsed.validity().not_before),
        not_after: time(parsed.validity().not_after),
        dns_names,
        ip_names,
        sha256: fingerprint(der),
    })
}

pub fn fingerprint(der: &[u8]) -> String {
    hex(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, der).as_ref())
}

pub fn pem(der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let mut pem = String::from("-----BEGIN CERTIFICATE-----\n");
    for line in text.as_bytes().chunks(64) {
        pem.extend(line.iter().map(|byte| char::from(*byte)));
        pem.push('\n');
    }
    pem.push_str("-----END CERTIFICATE-----\n");
    pem
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    <[u8; 4]>::try_from(bytes)
        .map(|four| IpAddr::from(Ipv4Addr::from(four)))
        .or_else(|_| <[u8; 16]>::try_from(bytes).map(|all| IpAddr::from(Ipv6Addr::from(all))))
        .ok()
}

/// The year 9999 stands for "never", and its last day is beyond what our times can hold.
fn time(time: ASN1Time) -> Time {
    let seconds = time.timestamp();
    let edge = if seconds < 0 { Time::MIN } else { Time::MAX };
    Time::from_second(seconds).unwrap_or(edge)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_tells_names_and_times() {
        let mut params = rcgen::CertificateParams::new(vec![
            "b.example.com".into(),
            "a.example.com".into(),
            "192.0.2.5".into(),
        ])
        .unwrap();
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(9999, 12, 31);
        params.serial_number = Some(rcgen::SerialNumber::from_slice(&[1, 0xab]));
        let key = rcgen::KeyPair::generate().unwrap();
        let made = params.self_signed(&key).unwrap();
        let read = read(made.der()).unwrap();
        assert_eq!(read.dns_names, ["a.example.com", "b.example.com"]);
        assert_eq!(read.ip_names, ["192.0.2.5".parse::<IpAddr>().unwrap()]);
        assert_eq!(read.not_before, "2020-01-01T00:00:00Z".parse().unwrap());
        assert_eq!(read.not_after, Time::MAX);
        assert_eq!((read.serial.as_str(), read.sha256.len()), ("01ab", 64));
        assert_eq!(pem(made.der()), made.pem().replace("\r\n", "\n"));
    }

    #[test]
    fn what_is_no_certificate_is_nothing() {
        for bytes in [&b""[..], b"\x30", b"\x30\x84\xff\xff\xff\xff", b"hello"] {
            assert_eq!(read(bytes), None);
        }
    }
}
