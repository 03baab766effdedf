//! How far the clock of a server is from ours.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use jiff::SignedDuration;
use plimsoll_model::Time;
use serde::{Deserialize, Serialize};
use tokio::net::UdpSocket;
use tokio::time::{Instant, timeout_at};

use crate::answer::Outcome;
use crate::connect::{addresses, share};
use crate::ntp::{self, PACKET, Reply, Stamp};
use crate::reach::Reach;
use crate::target::Target;

/// A packet may get lost; a second one seldom does too.
const TRIES: usize = 3;

#[derive(Clone, Debug)]
pub struct NtpProbe {
    pub target: Target,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// How far the server is ahead of us.
    pub offset_seconds: f64,
    /// How wrong that may be.
    pub within_seconds: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stratum: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoClock {
    NotSynchronised,
    /// `DENY`, `RATE` and the like.
    Kiss(String),
    /// An answer of HTTP without a Date.
    NoDate,
    Nonsense(String),
}

impl From<NoClock> for Outcome {
    fn from(why: NoClock) -> Self {
        Outcome::NoClock { why }
    }
}

impl NtpProbe {
    pub async fn ask(&self, limit: Duration, now: Time) -> (Option<IpAddr>, Outcome) {
        let started = Instant::now();
        let deadline = started + limit;
        let address = match addresses(&self.target, deadline).await {
            Ok(found) => found[0],
            Err(why) => return (None, why.into()),
        };
        // Only the start is read from the caller's clock, so a step of it in between does no harm.
        let at = |moment: Instant| after(now, moment - started);
        let outcome = match ask(address, deadline, at).await {
            Ok(outcome) => outcome,
            Err(why) => why.into(),
        };
        (Some(address.ip()), outcome)
    }
}

fn after(time: Time, passed: Duration) -> Time {
    let passed = SignedDuration::try_from(passed).unwrap_or_default();
    time.checked_add(passed).unwrap_or(time)
}

async fn ask(
    address: SocketAddr,
    deadline: Instant,
    at: impl Fn(Instant) -> Time,
) -> Result<Outcome, Reach> {
    let here: IpAddr = if address.is_ipv4() { [0; 4].into() } else { [0; 16].into() };
    let failed = |error: std::io::Error| Reach::of(&error);
    let socket = UdpSocket::bind((here, 0)).await.map_err(failed)?;
    socket.connect(address).await.map_err(failed)?;
    let mut packet = [0; 2 * PACKET];
    for left in (1..=TRIES).rev() {
        let nonce = nonce()?;
        let asked = Instant::now();
        socket.send(&ntp::request(nonce)).await.map_err(failed)?;
        let until = asked + share(deadline, left);
        while let Ok(got) = timeout_at(until, socket.recv(&mut packet)).await {
            let length = got.map_err(failed)?;
            let answered = Instant::now();
            if let Some(outcome) =
                outcome(ntp::read(&packet[..length], nonce), at(asked), at(answered))
            {
                return Ok(outcome);
            }
        }
    }
    Err(Reach::TimedOut)
}

fn nonce() -> Result<u64, Reach> {
    let mut bytes = [0; 8];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| Reach::Other("no random numbers".into()))?;
    Ok(u64::from_be_bytes(bytes))
}

fn outcome(reply: Reply, asked: Time, answered: Time) -> Option<Outcome> {
    Some(match reply {
        Reply::NotOurs => return None,
        Reply::NotSynchronised => NoClock::NotSynchronised.into(),
        Reply::Kiss(code) => NoClock::Kiss(code).into(),
        Reply::Nonsense(why) => NoClock::Nonsense(why.into()).into(),
        Reply::Time { stratum, reference, received, sent } => {
            let (offset_seconds, within_seconds) =
                ntp::offset(Stamp::of(asked), received, sent, Stamp::of(answered));
            let (stratum, reference) = (Some(stratum), Some(reference));
            Outcome::Clock(Clock { offset_seconds, within_seconds, stratum, reference })
        }
    })
}

/// The Date of HTTP has whole seconds, and was written at some moment between asking and answer.
pub fn by_date(date: Option<&str>, asked: Time, took: Duration) -> Outcome {
    let Some(date) = date else { return NoClock::NoDate.into() };
    let Ok(read) = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(date) else {
        return NoClock::Nonsense("its Date is no date".into()).into();
    };
    let middle = after(asked, took / 2);
    Outcome::Clock(Clock {
        offset_seconds: read.duration_since(middle).as_secs_f64().round(),
        within_seconds: 1.0 + took.as_secs_f64().ceil(),
        stratum: None,
        reference: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_of_http_is_a_rough_clock() {
        let asked = "2026-03-01T12:00:00.2Z".parse().unwrap();
        let by = |date| by_date(date, asked, Duration::from_millis(300));
        let Outcome::Clock(clock) = by(Some("Sun, 01 Mar 2026 11:00:00 GMT")) else { panic!() };
        assert_eq!((clock.offset_seconds, clock.within_seconds), (-3600.0, 2.0));
        assert_eq!(by(None), NoClock::NoDate.into());
        assert!(matches!(by(Some("yesterday")), Outcome::NoClock { why: NoClock::Nonsense(_) }));
    }
}
