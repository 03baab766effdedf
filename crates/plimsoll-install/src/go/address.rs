//! `net.ParseIP`, `net.ParseCIDR`, `net.ParseMAC` and the arithmetic of networks.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An address as Go compares it: an IPv4 address inside IPv6 is that IPv4 address.
pub fn parse_ip(text: &str) -> Option<IpAddr> {
    // Rust's parser takes what Go's takes: no zone, no leading zeros, no spaces.
    text.parse::<IpAddr>().ok().map(as_go)
}

/// As Go read addresses before 1.17, which Kubernetes still does in places: leading zeros are fine.
pub(crate) fn parse_ip_sloppy(text: &str) -> Option<IpAddr> {
    parse_ip(text).or_else(|| {
        let octets: Vec<_> = text
            .split('.')
            .map(|octet| match octet.trim_start_matches('0') {
                "" if !octet.is_empty() => "0",
                digits => digits,
            })
            .collect();
        octets.join(".").parse::<Ipv4Addr>().ok().map(IpAddr::V4)
    })
}

fn as_go(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(address, IpAddr::V4),
        v4 => v4,
    }
}

/// A network as it was written: the address may have bits below the mask.
///
/// `address` is `None` where the config names no network at all; such a network holds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network {
    address: Option<IpAddr>,
    /// Counted in the width of the address.
    prefix: u8,
    /// As written: a mask of an IPv4 address inside IPv6 counts from 128.
    mask_size: u8,
    mask_bits: u8,
}

impl Network {
    pub const NONE: Network = Network { address: None, prefix: 0, mask_size: 0, mask_bits: 0 };

    pub const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u8) -> Self {
        let address = Some(IpAddr::V4(Ipv4Addr::new(a, b, c, d)));
        Self { address, prefix, mask_size: prefix, mask_bits: 32 }
    }

    pub const fn v6(segments: [u16; 8], prefix: u8) -> Self {
        let [a, b, c, d, e, f, g, h] = segments;
        let address = Some(IpAddr::V6(Ipv6Addr::new(a, b, c, d, e, f, g, h)));
        Self { address, prefix, mask_size: prefix, mask_bits: 128 }
    }

    pub fn parse(text: &str) -> Option<Network> {
        let (address, mask) = text.split_once('/')?;
        let address: IpAddr = address.parse().ok()?;
        if mask.is_empty() || !mask.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        // Go gives up on numbers of this size, and takes leading zeros.
        let written: u32 = mask.trim_start_matches('0').parse().unwrap_or(0);
        if mask.trim_start_matches('0').len() > 7 {
            return None;
        }
        let mask_bits: u8 = if address.is_ipv4() { 32 } else { 128 };
        let mask_size = u8::try_from(written).ok().filter(|size| *size <= mask_bits)?;
        let prefix = match (address, as_go(address)) {
            (IpAddr::V6(_), IpAddr::V4(_)) => mask_size.saturating_sub(96),
            _ => mask_size,
        };
        Some(Network { address: Some(as_go(address)), prefix, mask_size, mask_bits })
    }

    pub fn address(&self) -> Option<IpAddr> {
        self.address
    }

    pub fn prefix(&self) -> u8 {
        self.prefix
    }

    /// The mask as it was written, and the width it counts from.
    pub fn mask(&self) -> (u8, u8) {
        (self.mask_size, self.mask_bits)
    }

    pub fn is_ipv4(&self) -> bool {
        matches!(self.address, Some(IpAddr::V4(_)))
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (Some(IpAddr::V4(own)), IpAddr::V4(other)) => {
                let mask = mask_of(u128::from(u32::MAX), 32, self.prefix);
                u128::from(own.to_bits()) & mask == u128::from(other.to_bits()) & mask
            }
            (Some(IpAddr::V6(own)), IpAddr::V6(other)) => {
                let mask = mask_of(u128::MAX, 128, self.prefix);
                own.to_bits() & mask == other.to_bits() & mask
            }
            _ => false,
        }
    }

    /// What is no address is in a network that is none: to Go both are empty.
    pub(crate) fn contains_as_go(&self, address: Option<IpAddr>) -> bool {
        address.map_or(self.address.is_none(), |address| self.contains(address))
    }

    /// One holds the other's address. Two networks without an address are the same nothing.
    pub fn overlaps(&self, other: &Network) -> bool {
        match (self.address, other.address) {
            (Some(own), Some(others)) => self.contains(others) || other.contains(own),
            (None, None) => true,
            _ => false,
        }
    }

    /// The first address of the network.
    pub fn masked_address(&self) -> Option<IpAddr> {
        Some(match self.address? {
            IpAddr::V4(v4) => {
                let mask = mask_of(u128::from(u32::MAX), 32, self.prefix);
                let bits = u128::from(v4.to_bits()) & mask;
                IpAddr::V4(Ipv4Addr::from_bits(bits as u32))
            }
            IpAddr::V6(v6) => {
                IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask_of(u128::MAX, 128, self.prefix)))
            }
        })
    }

    pub fn masked(&self) -> Network {
        Network { address: self.masked_address(), ..*self }
    }

    /// The last address of the network.
    pub fn last_address(&self) -> Option<IpAddr> {
        Some(match self.masked_address()? {
            IpAddr::V4(v4) => {
                let mask = mask_of(u128::from(u32::MAX), 32, self.prefix) as u32;
                IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() | !mask))
            }
            IpAddr::V6(v6) => {
                let mask = mask_of(u128::MAX, 128, self.prefix);
                IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() | !mask))
            }
        })
    }

    /// The n-th address of the network, if it is that large. Bits below the mask stay set, as in
    /// go-cidr.
    pub fn host(&self, n: u32) -> Option<IpAddr> {
        let host_bits = u32::from(self.mask_bits - self.mask_size);
        if host_bits < 32 && n >= 1 << host_bits {
            return None;
        }
        Some(match self.address? {
            IpAddr::V4(v4) => IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() | n)),
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() | u128::from(n))),
        })
    }
}

/// The address `by` further on; `None` at the ends of the address space.
pub fn offset(address: IpAddr, by: i64) -> Option<IpAddr> {
    Some(match address {
        IpAddr::V4(v4) => {
            let bits = i64::from(v4.to_bits()).checked_add(by)?;
            IpAddr::V4(Ipv4Addr::from_bits(u32::try_from(bits).ok()?))
        }
        IpAddr::V6(v6) => {
            IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits().checked_add_signed(i128::from(by))?))
        }
    })
}

/// How far apart two addresses of one family are in Go's byte order: IPv4 counts as IPv4 in IPv6.
pub fn order(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

fn mask_of(all: u128, bits: u32, prefix: u8) -> u128 {
    let host_bits = bits.saturating_sub(u32::from(prefix));
    if host_bits >= 128 { 0 } else { all >> host_bits << host_bits }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            Some(address) => write!(f, "{address}/{}", self.prefix),
            None => f.write_str("<nil>"),
        }
    }
}

/// A list as messages join it.
pub(crate) fn joined<'a>(networks: impl Iterator<Item = &'a Network>, with: &str) -> String {
    networks.map(Network::to_string).collect::<Vec<_>>().join(with)
}

/// `net.ParseMAC`: 6, 8 or 20 bytes in pairs or fours.
pub(crate) fn parse_mac(text: &str) -> Option<Vec<u8>> {
    let bytes = text.as_bytes();
    if bytes.len() < 14 || !text.is_ascii() {
        return None;
    }
    let (separator, width) = match (bytes[2], bytes[4]) {
        (b':' | b'-', _) => (char::from(bytes[2]), 2),
        (_, b'.') => ('.', 4),
        _ => return None,
    };
    let mut out = Vec::new();
    for group in text.split(separator) {
        if group.len() != width || !group.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        for pair in 0..width / 2 {
            out.push(u8::from_str_radix(&group[pair * 2..pair * 2 + 2], 16).ok()?);
        }
    }
    matches!(out.len(), 6 | 8 | 20).then_some(out)
}

/// Why a MAC address is none that a network card of a host can have.
pub(crate) fn mac_fault(text: &str) -> Option<String> {
    match parse_mac(text) {
        None => Some(format!("address {text}: invalid MAC address")),
        Some(bytes) if bytes.len() != 6 => Some("invalid MAC address".into()),
        Some(bytes) if bytes[0] & 1 == 1 => {
            Some("expected unicast mac address, found multicast".into())
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn network(text: &str) -> Network {
        Network::parse(text).unwrap()
    }

    #[test]
    fn addresses_are_read_as_go_reads_them() {
        assert_eq!(parse_ip("::ffff:10.0.0.1"), parse_ip("10.0.0.1"));
        for wrong in ["", "10.0.0", "010.0.0.1", "10.0.0.256", "fe80::1%eth0", " 10.0.0.1", "1"] {
            assert_eq!(parse_ip(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn networks_are_read_as_go_reads_them() {
        assert_eq!(network("10.0.0.5/024").to_string(), "10.0.0.5/24");
        assert_eq!(network("::ffff:10.0.0.0/120").to_string(), "10.0.0.0/24");
        assert_eq!(network("::ffff:10.0.0.0/120").mask(), (120, 128));
        for wrong in ["10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "x/8"] {
            assert_eq!(Network::parse(wrong), None, "{wrong}");
        }
        assert_eq!(Network::NONE.to_string(), "<nil>");
        assert!(Network::NONE.overlaps(&Network::NONE));
        assert!(!Network::NONE.overlaps(&network("0.0.0.0/0")));
    }

    #[test]
    fn the_edges_of_a_network() {
        let net = network("172.22.0.0/24");
        assert_eq!(net.host(3), parse_ip("172.22.0.3"));
        assert_eq!(network("172.22.0.9/24").host(3), parse_ip("172.22.0.11"));
        assert_eq!(net.last_address(), parse_ip("172.22.0.255"));
        assert_eq!(network("10.0.0.0/31").host(2), None);
        assert_eq!(network("255.255.255.255/32").host(1), None);
        let v6 = network("fd2e:6f44:5dd8:b856::/64");
        assert_eq!(v6.last_address(), parse_ip("fd2e:6f44:5dd8:b856:ffff:ffff:ffff:ffff"));
    }

    #[test]
    fn mac_addresses() {
        assert_eq!(mac_fault("52:54:00:aa:bb:cc"), None);
        assert_eq!(mac_fault("5254.00aa.bbcc"), None);
        assert_eq!(
            mac_fault("7D:CE:E3:29:35:6F").unwrap(),
            "expected unicast mac address, found multicast"
        );
        assert_eq!(
            mac_fault("52:54:00:aa:bb").unwrap(),
            "address 52:54:00:aa:bb: invalid MAC address"
        );
        assert_eq!(mac_fault("02:00:5e:10:00:00:00:01").unwrap(), "invalid MAC address");
    }

    fn any_network() -> impl Strategy<Value = Network> {
        prop_oneof![
            (any::<u32>(), 0u8..=32).prop_map(|(bits, prefix)| {
                network(&format!("{}/{prefix}", Ipv4Addr::from_bits(bits)))
            }),
            (any::<u128>(), 0u8..=128).prop_map(|(bits, prefix)| {
                network(&format!("{}/{prefix}", Ipv6Addr::from_bits(bits)))
            }),
        ]
    }

    proptest! {
        #[test]
        fn a_network_holds_its_edges_and_nothing_beyond(net in any_network()) {
            let first = net.masked_address().unwrap();
            let last = net.last_address().unwrap();
            prop_assert!(net.contains(first) && net.contains(last));
            prop_assert!(order(first) <= order(last));
            if net.prefix() > 0 {
                if let Some(before) = offset(first, -1) {
                    prop_assert!(!net.contains(before));
                }
                if let Some(after) = offset(last, 1) {
                    prop_assert!(!net.contains(after));
                }
            }
        }

        #[test]
        fn overlap_is_symmetric_and_means_a_shared_edge(a in any_network(), b in any_network()) {
            prop_assert_eq!(a.overlaps(&b), b.overlaps(&a));
            let shared = a.contains(b.masked_address().unwrap()) || b.contains(a.masked_address().unwrap());
            prop_assert_eq!(a.overlaps(&b), shared);
        }

        #[test]
        fn a_printed_network_reads_back(net in any_network()) {
            prop_assert_eq!(Network::parse(&net.to_string()).unwrap().masked(), net.masked());
        }
    }
}
