//! The order in which `x509.ParseCertificate` takes a certificate apart, and its words where that
//! ends. What lies deeper is left to a real parser.

use x509_parser::prelude::{FromDer, X509Certificate};

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const VERSION: u8 = 0xa0;

pub(crate) fn fault(der: &[u8]) -> Option<String> {
    match outline(der) {
        Err(what) => Some(format!("x509: {what}")),
        Ok(rest) => match X509Certificate::from_der(der) {
            Err(_) => Some("x509: malformed certificate".into()),
            Ok(_) if !rest.is_empty() => Some("x509: trailing data".into()),
            Ok(_) => None,
        },
    }
}

/// Walks the outer parts; what follows the certificate is given back.
fn outline(der: &[u8]) -> Result<&[u8], &'static str> {
    let (mut certificate, rest) = element(der, SEQUENCE).ok_or("malformed certificate")?;
    let mut tbs = next(&mut certificate, SEQUENCE).ok_or("malformed tbs certificate")?;
    if tbs.first() == Some(&VERSION) {
        let mut version = next(&mut tbs, VERSION).ok_or("malformed version")?;
        let number = next(&mut version, INTEGER).ok_or("malformed version")?;
        match number {
            [0..=2] => {}
            [3..=127] => return Err("invalid version"),
            _ => return Err("malformed version"),
        }
    }
    let serial = next(&mut tbs, INTEGER).ok_or("malformed serial number")?;
    match serial {
        [] | [0, 0..=127, ..] => return Err("malformed serial number"),
        [first, ..] if first & 0x80 != 0 => return Err("negative serial number"),
        _ => {}
    }
    let inner = next(&mut tbs, SEQUENCE).ok_or("malformed signature algorithm identifier")?;
    let outer = next(&mut certificate, SEQUENCE).ok_or("malformed algorithm identifier")?;
    if inner != outer {
        return Err("inner and outer signature algorithm identifiers don't match");
    }
    next(&mut tbs, SEQUENCE).ok_or("malformed issuer")?;
    next(&mut tbs, SEQUENCE).ok_or("malformed validity")?;
    // Go has the same word for both names.
    next(&mut tbs, SEQUENCE).ok_or("malformed issuer")?;
    let mut key = next(&mut tbs, SEQUENCE).ok_or("malformed spki")?;
    next(&mut key, SEQUENCE).ok_or("malformed public key algorithm identifier")?;
    next(&mut key, BIT_STRING).ok_or("malformed subjectPublicKey")?;
    next(&mut certificate, BIT_STRING).ok_or("malformed signature")?;
    Ok(rest)
}

fn next<'d>(from: &mut &'d [u8], tag: u8) -> Option<&'d [u8]> {
    let (content, rest) = element(from, tag)?;
    *from = rest;
    Some(content)
}

/// The content of one DER element, and what follows it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (found, rest) = der.split_first()?;
    let (first, rest) = rest.split_first()?;
    if *found != tag {
        return None;
    }
    let (length, rest) = match first {
        0..=127 => (usize::from(*first), rest),
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            let length = bytes.iter().fold(0usize, |length, b| length << 8 | usize::from(*b));
            // DER has one way to write a length: the shortest.
            let shortest = length >= 128 && bytes.first() != Some(&0);
            shortest.then_some((length, rest))?
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_outline_has_gos_words() {
        let fault = |der: &[u8]| fault(der).unwrap();
        assert_eq!(fault(&[]), "x509: malformed certificate");
        assert_eq!(fault(&[0x30, 0x00]), "x509: malformed tbs certificate");
        assert_eq!(fault(&[0x30, 0x02, 0x30, 0x00]), "x509: malformed serial number");
        assert_eq!(
            fault(&[0x30, 0x05, 0x30, 0x03, 0x02, 0x01, 0x05]),
            "x509: malformed signature algorithm identifier"
        );
        assert_eq!(fault(&[0x30, 0x81, 0x05, 1, 2, 3, 4, 5]), "x509: malformed certificate");
    }
}
