//! Addresses that stand to each other as the true ones do: two that share a network still do, and the
//! number within a small network stays.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use aws_lc_rs::hmac;
use regex::bytes::{Captures, Regex};

use crate::Key;

/// Networks that every cluster has, or that stay on one machine. As they are they tell nothing of a
/// site, and rules know them.
const COMMON: [(Ipv4Addr, u32); 10] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 16),
    (Ipv4Addr::new(10, 128, 0, 0), 14),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 22, 0, 0), 16),
    (Ipv4Addr::new(172, 30, 0, 0), 16),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];
/// First sixteen bits of the same for IPv6.
const COMMON_V6: [u16; 6] = [0xfd00, 0xfd01, 0xfd02, 0xfd97, 0xfd98, 0xfd99];
/// Ranges within which an address stays: it is as private as it was.
const RANGES: [(Ipv4Addr, u32); 3] = [
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
];
/// What begins with a smaller number and has dashes in it may as well be a version.
const LEAST_DASHED: u8 = 10;
/// Bits of an address that say which network it is in, where none is named.
const NETWORK: u32 = 24;

static WRITTEN: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?x-u)
        (?P<mac> \b[0-9A-Fa-f]{2} (?: (?: :[0-9A-Fa-f]{2}){5} | (?: -[0-9A-Fa-f]{2}){5} )\b )
        | \b(?P<before>enx)? (?P<flat> [0-9A-Fa-f]{12} )\b
        | \b (?P<host> (?:ip|ec2)- )? (?P<dashed> [0-9]{1,3} (?:-[0-9]{1,3}){3} )
        | (?P<four> \b[0-9]{1,3} (?: \.[0-9]{1,3}){3} ) (?: /(?P<bits>[0-9]{1,2})\b )?
        | (?P<six> \b[0-9A-Fa-f]{1,4} (?: :[0-9A-Fa-f]{0,4}){2,7} ) (?: /(?P<length>[0-9]{1,3})\b )?
        ",
    )
});

#[expect(clippy::expect_used, reason = "the pattern is a constant, and every test uses it")]
fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("constant pattern")
}

pub struct Addresses {
    key: hmac::Key,
    known: RefCell<HashMap<(IpAddr, u8), IpAddr>>,
    cards: RefCell<BTreeMap<String, String>>,
}

impl Addresses {
    pub fn new(key: Key) -> Self {
        Self {
            key: hmac::Key::new(hmac::HMAC_SHA256, &key),
            known: RefCell::default(),
            cards: RefCell::default(),
        }
    }

    pub fn replaced_so_far(&self) -> BTreeMap<String, String> {
        let written = |address: &IpAddr, length: u8| match (address, length) {
            (IpAddr::V4(_), 32) | (IpAddr::V6(_), 128) => address.to_string(),
            _ => format!("{address}/{length}"),
        };
        let mut all = self.cards.borrow().clone();
        for ((own, length), other) in self.known.borrow().iter().filter(|((own, _), is)| own != *is)
        {
            all.insert(written(own, *length), written(other, *length));
        }
        all
    }

    pub fn replaced(&self, text: &[u8]) -> Option<Vec<u8>> {
        let changed = WRITTEN.replace_all(text, |found: &Captures<'_>| {
            self.one(text, found).unwrap_or_else(|| found[0].to_vec())
        });
        match changed {
            std::borrow::Cow::Owned(changed) if changed != text => Some(changed),
            _ => None,
        }
    }

    /// `None` for what only looks like an address.
    fn one(&self, text: &[u8], found: &Captures<'_>) -> Option<Vec<u8>> {
        let whole = found.get(0)?;
        let before = whole.start().checked_sub(1).and_then(|at| text.get(at));
        let after = (text.get(whole.end()), text.get(whole.end() + 1));
        let as_text = |name: &str| std::str::from_utf8(found.name(name)?.as_bytes()).ok();
        // A version or the identifier of an object has more parts; a fingerprint more pairs.
        let goes_on = |mark: u8| {
            before == Some(&mark)
                || (after.0 == Some(&mark) && after.1.is_some_and(u8::is_ascii_hexdigit))
        };
        if let Some(mac) = as_text("mac") {
            return (!goes_on(b':')).then(|| self.mac(mac).into_bytes());
        }
        if let Some(flat) = as_text("flat") {
            let prefix = as_text("before").unwrap_or_default();
            let is_one = is_card(flat) && !ends_uuid(&text[..whole.start()]);
            return is_one.then(|| format!("{prefix}{}", self.flat_mac(flat)).into_bytes());
        }
        if let Some(dashed) = as_text("dashed") {
            let around = (&text[..whole.start()], &text[whole.end()..]);
            return self.dashed(as_text("host").unwrap_or_default(), dashed, around);
        }
        if let Some(four) = as_text("four") {
            let is_longer = goes_on(b'.') || after.0.is_some_and(u8::is_ascii_alphanumeric);
            let address: Ipv4Addr = four.parse().ok().filter(|_| !is_longer)?;
            return Some(self.written(address.into(), as_text("bits")));
        }
        let six = as_text("six")?;
        // `fd00:1::5: connection refused`
        let trimmed = if six.ends_with("::") { six } else { six.trim_end_matches(':') };
        let address: Ipv6Addr = trimmed.parse().ok()?;
        let mut other = self.written(address.into(), as_text("length"));
        other.extend_from_slice(&six.as_bytes()[trimmed.len()..]);
        Some(other)
    }

    /// `ip-203-0-113-77`, the name of a host: it goes with the address.
    fn dashed(&self, host: &str, dashed: &str, around: (&[u8], &[u8])) -> Option<Vec<u8>> {
        let address: Ipv4Addr = dashed.replace('-', ".").parse().ok()?;
        let is_one = match host {
            "" => {
                address.octets()[0] >= LEAST_DASHED
                    && !ends_with_part(around.0)
                    && !goes_on_with_part(around.1)
            }
            _ => !around.1.first().is_some_and(u8::is_ascii_digit),
        };
        is_one.then(|| {
            let other = self.other(address.into(), 32).to_string().replace('.', "-");
            format!("{host}{other}").into_bytes()
        })
    }

    /// An address, or a network with its length.
    fn written(&self, address: IpAddr, length: Option<&str>) -> Vec<u8> {
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = length.and_then(|text| text.parse::<u8>().ok()).filter(|bits| *bits <= most);
        let other = self.other(address, length.unwrap_or(most));
        match length {
            Some(length) => format!("{other}/{length}").into_bytes(),
            None => other.to_string().into_bytes(),
        }
    }

    /// Whether it says something of the site, and not only of clusters.
    pub fn is_replaced(&self, address: IpAddr) -> bool {
        let most = if address.is_ipv4() { 32 } else { 128 };
        self.other(address, most) != address
    }

    fn other(&self, address: IpAddr, length: u8) -> IpAddr {
        if let Some(known) = self.known.borrow().get(&(address, length)) {
            return *known;
        }
        let other = match address {
            IpAddr::V4(address) => self.four(address, length.into()).into(),
            IpAddr::V6(address) => self.six(address, length.into()).into(),
        };
        self.known.borrow_mut().insert((address, length), other);
        other
    }

    fn four(&self, address: Ipv4Addr, length: u32) -> Ipv4Addr {
        if is_in(address, &COMMON).is_some() {
            return address;
        }
        let range = is_in(address, &RANGES);
        let keep = range.unwrap_or(8);
        let mut other = address;
        // Never into a network that others are in: on until it is outside of those. Only the first
        // half decides that, so networks of at least that length go together.
        loop {
            let bits = self.flipped(u128::from(other.to_bits()) << 96, keep, NETWORK);
            other = Ipv4Addr::from_bits(high(bits));
            if is_in(other, &COMMON).is_none() && is_in(other, &RANGES) == range {
                break;
            }
        }
        let beyond = u32::MAX.checked_shr(length).unwrap_or(0);
        match address.to_bits() & beyond {
            0 => Ipv4Addr::from_bits(other.to_bits() & !beyond),
            _ => other,
        }
    }

    fn six(&self, address: Ipv6Addr, length: u32) -> Ipv6Addr {
        let first = address.segments()[0];
        let is_of_site = first & 0xe000 == 0x2000 || first & 0xfe00 == 0xfc00;
        if !is_of_site || COMMON_V6.contains(&first) {
            return address;
        }
        let bits = address.to_bits();
        let mut other = self.flipped(bits, 16, 64);
        // A small number is a place in a network; a large one is made from a card's own address.
        if bits & u128::from(u64::MAX) > 0xffff {
            let own = self.hash(&other.to_be_bytes());
            let own = u64::from_be_bytes([
                own[0], own[1], own[2], own[3], own[4], own[5], own[6], own[7],
            ]);
            other = (other & !u128::from(u64::MAX)) | u128::from(own);
        }
        let beyond = u128::MAX.checked_shr(length).unwrap_or(0);
        Ipv6Addr::from_bits(if bits & beyond == 0 { other & !beyond } else { other })
    }

    /// Each bit by what stands before it: what begins alike still does.
    fn flipped(&self, bits: u128, from: u32, to: u32) -> u128 {
        let mut other = bits;
        for at in from..to {
            let before = bits & !(u128::MAX >> at);
            let mut asked = before.to_be_bytes().to_vec();
            asked.push(u8::try_from(at).unwrap_or(u8::MAX));
            if self.hash(&asked)[0] & 1 == 1 {
                other ^= 1 << (127 - at);
            }
        }
        other
    }

    /// The maker of a card stays, its number does not.
    fn mac(&self, mac: &str) -> String {
        let written = mac.to_ascii_lowercase().replace('-', ":");
        let hash = self.hash(written.as_bytes());
        let mark = &mac[2..3];
        let own: Vec<String> = hash[..3].iter().map(|byte| format!("{byte:02x}")).collect();
        let other = format!("{}:{}", &written[..8], own.join(":"));
        self.cards.borrow_mut().insert(written, other);
        format!("{}{mark}{}", &mac[..8], own.join(mark))
    }

    /// Written without marks, the same card has the same other number.
    fn flat_mac(&self, flat: &str) -> String {
        let pairs: Vec<&str> = (0..flat.len()).step_by(2).map(|at| &flat[at..at + 2]).collect();
        self.mac(&pairs.join(":")).replace(':', "")
    }

    fn hash(&self, of: &[u8]) -> [u8; 32] {
        let mut hash = [0; 32];
        hash.copy_from_slice(&hmac::sign(&self.key, of).as_ref()[..32]);
        hash
    }
}

/// Twelve figures alone are a date, as in `418.94.202501012138`.
fn is_card(flat: &str) -> bool {
    flat.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// A number more than an address has, or a word that begins with its last one.
fn goes_on_with_part(after: &[u8]) -> bool {
    match after {
        [b'-' | b'.', next, ..] => next.is_ascii_digit(),
        [next, ..] => next.is_ascii_alphanumeric(),
        [] => false,
    }
}

fn ends_with_part(before: &[u8]) -> bool {
    matches!(before, [.., last, b'-' | b'.'] if last.is_ascii_digit())
}

/// Whether the last part of a UUID comes next.
fn ends_uuid(before: &[u8]) -> bool {
    let Some((b'-', rest)) = before.split_last() else { return false };
    rest.len() >= 4 && rest[rest.len() - 4..].iter().all(u8::is_ascii_hexdigit)
}

fn high(bits: u128) -> u32 {
    u32::try_from(bits >> 96).unwrap_or(u32::MAX)
}

/// The length of the network of `all` that an address is in.
fn is_in(address: Ipv4Addr, all: &[(Ipv4Addr, u32)]) -> Option<u32> {
    let within = |(network, length): &&(Ipv4Addr, u32)| {
        (address.to_bits() ^ network.to_bits()).checked_shr(32 - length).unwrap_or(0) == 0
    };
    all.iter().find(within).map(|(_, length)| *length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn said(text: &str) -> String {
        let other = Addresses::new([3; 16]).replaced(text.as_bytes());
        other.map_or(text.into(), |other| String::from_utf8(other).unwrap())
    }

    #[test]
    fn what_only_looks_like_an_address_stays() {
        for text in [
            "4.18.12",
            "1.3.6.1.4.1",
            "v1.2.3.400",
            "12:34:56",
            "std::add",
            "a::b",
            "127.0.0.1:2379",
            "0.0.0.0/0",
            "10.128.2.7",
            "172.30.0.1",
            "169.254.169.2",
            "fe80::1",
            "255.255.255.0",
            "4-18-12-1",
            "12-03-16-42",
            "16-42-10-1234",
            "192-168-7-20-5",
            "1-192-168-7-20",
            "4.192-168-7-20",
            "192-168-7-20abc",
            "ip-10-128-2-7.ec2.internal",
            "AA:BB:CC:DD:EE:FF:00:11",
            "418.94.202501012138-0",
            "0b2c5f1e-6f5a-4d0e-9a51-5254001a2b3c",
            "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        ] {
            assert_eq!(said(text), text);
        }
    }

    #[test]
    fn places_in_a_network_stay_and_networks_go_together() {
        let network = said("192.168.7.0/24");
        assert!(network.ends_with(".0/24") && network != "192.168.7.0/24", "{network}");
        let start = network.strip_suffix("0/24").unwrap();
        assert_eq!(said("192.168.7.20:6443, 192.168.7.255"), format!("{start}20:6443, {start}255"));
        let six = said("2620:52:0:1::/64 [2620:52:0:1::5]:6443");
        let (network, host) = six.split_once(' ').unwrap();
        assert_eq!(host, format!("[{}5]:6443", network.strip_suffix("/64").unwrap()));
        assert!(!six.contains("2620:52:0:1:"));
    }

    #[test]
    fn a_host_that_is_named_by_its_address_goes_with_it() {
        for own in ["203.0.113.77", "192.168.7.20", "3.120.5.7"] {
            let (dashed, other) = (own.replace('.', "-"), said(own));
            assert_ne!(other, own);
            let (instead, text) =
                (other.replace('.', "-"), format!("{own} ip-{dashed}.ec2.internal"));
            assert_eq!(said(&text), format!("{other} ip-{instead}.ec2.internal"));
            let debug = |dashed: &str| format!("ip-{dashed}ec2internal-debug ec2-{dashed}-7f9d");
            assert_eq!(said(&debug(&dashed)), debug(&instead));
        }
        let instead = said("203.0.113.77").replace('.', "-");
        assert_eq!(said("worker-203-0-113-77.a.test"), format!("worker-{instead}.a.test"));
    }

    #[test]
    fn cards_keep_their_maker() {
        let mac = said("52:54:00:aa:bb:cc");
        assert!(mac.starts_with("52:54:00:") && mac != "52:54:00:aa:bb:cc", "{mac}");
        assert_eq!(said("52-54-00-AA-BB-CC"), mac.replace(':', "-"));
        let flat = mac.replace(':', "");
        assert_eq!(said("NIC.525400AABBCC.1 enx525400aabbcc"), format!("NIC.{flat}.1 enx{flat}"));
    }

    proptest! {
        #[test]
        fn who_was_in_a_network_still_is(a: u32, b: u32, length in 16u8..=24, key: Key) {
            let addresses = Addresses::new(key);
            let beyond = u32::MAX >> length;
            let network = Ipv4Addr::from_bits(a & !beyond);
            let other = addresses.four(network, length.into());
            prop_assert_eq!(other.to_bits() & beyond, 0);
            for address in [a, b] {
                let was = address & !beyond == network.to_bits();
                let place = addresses.four(Ipv4Addr::from_bits(address), 32);
                prop_assert_eq!(place.to_bits() & !beyond == other.to_bits(), was);
                prop_assert_eq!(place.octets()[3], Ipv4Addr::from_bits(address).octets()[3]);
            }
        }
    }
}
