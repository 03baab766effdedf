//! The packet of SNTP (RFC 4330): 48 bytes each way, and the sum that makes an offset of four times.

use plimsoll_model::Time;

pub const PACKET: usize = 48;
/// From 1900, where NTP begins, to 1970.
const TO_UNIX: i64 = 2_208_988_800;
const CLIENT: u8 = 3;
const SERVER: u8 = 4;
const VERSION: u8 = 4;
const NOT_SYNCHRONISED: u8 = 3;

/// Seconds since 1900, with 32 bits for the whole and 32 for the fraction. It starts again in 2036,
/// so only the difference of two that are near to each other has a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp(pub u64);

impl Stamp {
    pub fn of(time: Time) -> Self {
        let nanoseconds = time.as_nanosecond() + i128::from(TO_UNIX) * 1_000_000_000;
        // Whatever is above the 64 bits is the number of the era, which is not sent.
        Self(((nanoseconds << 32) / 1_000_000_000) as u64)
    }

    /// In units of 2^-32 seconds.
    fn after(self, other: Self) -> i128 {
        i128::from(self.0.wrapping_sub(other.0) as i64)
    }
}

/// `nonce` stands where the client's time would: the server sends it back, and learns nothing of us.
pub fn request(nonce: u64) -> [u8; PACKET] {
    let mut packet = [0; PACKET];
    packet[0] = VERSION << 3 | CLIENT;
    packet[40..].copy_from_slice(&nonce.to_be_bytes());
    packet
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Time {
        stratum: u8,
        reference: String,
        received: Stamp,
        sent: Stamp,
    },
    /// The server says that its own clock is not set.
    NotSynchronised,
    /// The server asks to be left alone, by a code of four letters.
    Kiss(String),
    Nonsense(&'static str),
    /// Of somebody else, or for somebody else: as if it had not come.
    NotOurs,
}

pub fn read(packet: &[u8], nonce: u64) -> Reply {
    if field::<8>(packet, 24).map(u64::from_be_bytes) != Some(nonce) {
        return Reply::NotOurs;
    }
    let (Some([first, stratum]), Some(reference), Some(received), Some(sent)) =
        (field::<2>(packet, 0), field::<4>(packet, 12), field(packet, 32), field(packet, 40))
    else {
        return Reply::Nonsense("it is too short");
    };
    let (received, sent) = (u64::from_be_bytes(received), u64::from_be_bytes(sent));
    let kiss = || String::from_utf8_lossy(&reference).into_owned();
    if first & 0b111 != SERVER {
        Reply::Nonsense("it is not the answer of a server")
    } else if stratum == 0 && reference.iter().all(u8::is_ascii_alphanumeric) {
        Reply::Kiss(kiss())
    } else if first >> 6 == NOT_SYNCHRONISED || stratum == 0 || stratum > 15 {
        Reply::NotSynchronised
    } else if sent == 0 || received == 0 {
        Reply::Nonsense("there is no time in it")
    } else {
        let (received, sent) = (Stamp(received), Stamp(sent));
        Reply::Time { stratum, reference: source(stratum, reference), received, sent }
    }
}

/// The kind of clock for the first stratum (`GPS`), and an address or a part of a digest behind it.
fn source(stratum: u8, reference: [u8; 4]) -> String {
    let letters = reference.iter().take_while(|byte| **byte != 0);
    if stratum == 1 && letters.clone().all(u8::is_ascii_graphic) {
        letters.map(|byte| char::from(*byte)).collect()
    } else {
        std::net::Ipv4Addr::from(reference).to_string()
    }
}

/// How far the server is ahead, and how wrong that may be, both in seconds.
pub fn offset(asked: Stamp, received: Stamp, sent: Stamp, answered: Stamp) -> (f64, f64) {
    let ahead = (received.after(asked) + sent.after(answered)) / 2;
    let way = (answered.after(asked) - sent.after(received)).max(0) / 2;
    (seconds(ahead), seconds(way))
}

/// Rounded to a thousandth.
fn seconds(units: i128) -> f64 {
    let thousandths = (units * 1000 + (1 << 31)) >> 32;
    thousandths as f64 / 1000.0
}

fn field<const N: usize>(packet: &[u8], at: usize) -> Option<[u8; N]> {
    packet.get(at..at + N)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONCE: u64 = 0x1234_5678_9abc_def0;

    fn reply(leap: u8, mode: u8, stratum: u8, reference: &[u8; 4]) -> [u8; PACKET] {
        let mut packet = [0; PACKET];
        packet[0] = leap << 6 | VERSION << 3 | mode;
        packet[1] = stratum;
        packet[12..16].copy_from_slice(reference);
        packet[24..32].copy_from_slice(&NONCE.to_be_bytes());
        packet[32..40].copy_from_slice(&(7u64 << 32).to_be_bytes());
        packet[40..48].copy_from_slice(&(8u64 << 32).to_be_bytes());
        packet
    }

    #[test]
    fn each_answer_is_told_apart() {
        let (received, sent) = (Stamp(7 << 32), Stamp(8 << 32));
        let time = |stratum, reference: &str| Reply::Time {
            stratum,
            reference: reference.into(),
            received,
            sent,
        };
        for (packet, expected) in [
            (reply(0, 4, 1, b"GPS\0"), time(1, "GPS")),
            (reply(0, 4, 3, &[192, 0, 2, 7]), time(3, "192.0.2.7")),
            (reply(3, 4, 3, &[192, 0, 2, 7]), Reply::NotSynchronised),
            (reply(3, 4, 0, &[0; 4]), Reply::NotSynchronised),
            (reply(0, 4, 16, b"LOCL"), Reply::NotSynchronised),
            (reply(3, 4, 0, b"RATE"), Reply::Kiss("RATE".into())),
            (reply(0, 3, 1, b"GPS\0"), Reply::Nonsense("it is not the answer of a server")),
        ] {
            assert_eq!(read(&packet, NONCE), expected);
            assert_eq!(read(&packet, NONCE + 1), Reply::NotOurs);
        }
        let mut dateless = reply(0, 4, 1, b"GPS\0");
        dateless[40..].fill(0);
        assert_eq!(read(&dateless, NONCE), Reply::Nonsense("there is no time in it"));
        for length in 0..PACKET {
            let cut = read(&reply(0, 4, 1, b"GPS\0")[..length], NONCE);
            assert!(matches!(cut, Reply::NotOurs | Reply::Nonsense(_)), "{length}");
        }
    }

    #[test]
    fn the_offset_is_the_mean_of_both_ways() {
        let at = |seconds: f64| Stamp((seconds * 4_294_967_296.0) as u64);
        assert_eq!(offset(at(100.0), at(110.1), at(110.2), at(100.3)), (10.0, 0.1));
        assert_eq!(offset(at(110.0), at(100.05), at(100.05), at(110.1)), (-10.0, 0.05));
    }

    #[test]
    fn the_turn_of_the_era_in_2036_is_no_jump() {
        let before = Stamp::of("2036-02-07T06:28:15Z".parse().unwrap());
        let after = Stamp::of("2036-02-07T06:28:17Z".parse().unwrap());
        assert_eq!(offset(before, after, after, before), (2.0, 0.0));
        assert_eq!(Stamp::of("1970-01-01T00:00:00Z".parse().unwrap()).0 >> 32, TO_UNIX as u64);
    }
}
