//! Addresses that a certificate, or a request for one, is for: there they are bytes and no text.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Of the extension `subjectAltName`, as it stands in DER.
const SUBJECT_NAMES: [u8; 5] = [0x06, 0x03, 0x55, 0x1d, 0x11];
const OCTETS: u8 = 0x04;
const SEQUENCE: u8 = 0x30;
const CRITICAL: u8 = 0x01;
const ADDRESS: u8 = 0x87;

pub fn addresses(der: &[u8]) -> Vec<IpAddr> {
    let places = der.windows(SUBJECT_NAMES.len()).enumerate();
    let places = places.filter(|(_, window)| *window == SUBJECT_NAMES);
    places.flat_map(|(at, _)| of_extension(&der[at + SUBJECT_NAMES.len()..])).collect()
}

/// `after` begins behind the name of the extension.
fn of_extension(after: &[u8]) -> Vec<IpAddr> {
    let names = (|| {
        let mut part = element(after)?;
        if part.0 == CRITICAL {
            part = element(part.2)?;
        }
        let (OCTETS, inside, _) = part else { return None };
        let (SEQUENCE, names, _) = element(inside)? else { return None };
        Some(names)
    })();
    let mut rest = names.unwrap_or_default();
    let mut found = Vec::new();
    while let Some((tag, value, next)) = element(rest) {
        if tag == ADDRESS {
            found.extend(address(value));
        }
        rest = next;
    }
    found
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let four: Result<[u8; 4], _> = bytes.try_into();
    let six: Result<[u8; 16], _> = bytes.try_into();
    let four = four.ok().map(|four| IpAddr::from(Ipv4Addr::from(four)));
    four.or_else(|| Some(IpAddr::from(Ipv6Addr::from(six.ok()?))))
}

/// Tag, content, and what follows.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(*first), rest),
        // So many bytes of the length follow; more than two have no names.
        0x81 | 0x82 => {
            let (length, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
            (length.iter().fold(0, |all, byte| all << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*tag, content, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
        let length = u8::try_from(content.len()).unwrap();
        let length = if length < 0x80 { vec![length] } else { vec![0x81, length] };
        [vec![tag], length, content.to_vec()].concat()
    }

    #[test]
    fn addresses_stand_among_the_names_of_a_certificate() {
        let long = tagged(0x82, &[b'x'; 120]);
        let four = tagged(ADDRESS, &[192, 168, 111, 20]);
        let six = tagged(ADDRESS, &Ipv6Addr::LOCALHOST.octets());
        let names = tagged(SEQUENCE, &[long, four, six, tagged(ADDRESS, b"odd")].concat());
        let critical = tagged(CRITICAL, &[0xff]);
        for before in [Vec::new(), critical] {
            let extension = [&SUBJECT_NAMES[..], &before, &tagged(OCTETS, &names)].concat();
            let all = [b"before \x87\x04\x01\x02\x03\x04", extension.as_slice(), b"after"].concat();
            let expected = ["192.168.111.20", "::1"].map(|text| text.parse::<IpAddr>().unwrap());
            assert_eq!(addresses(&all), expected);
        }
        for end in 0..12 {
            let extension = [&SUBJECT_NAMES[..], &tagged(OCTETS, &names)].concat();
            assert!(addresses(&extension[..end]).is_empty(), "{end}");
        }
    }
}
