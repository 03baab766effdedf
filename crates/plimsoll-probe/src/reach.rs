//! Why somebody was not reached.

use std::io::{self, ErrorKind};

use plimsoll_model::{clip, redact, redact::printable};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// Somebody is there, and nothing listens.
    Refused,
    TimedOut,
    NoRoute,
    /// The name has no address.
    Unresolved,
    /// Reset or closed in the middle.
    Lost,
    Other(String),
}

impl Reach {
    pub fn of(error: &io::Error) -> Self {
        match error.kind() {
            ErrorKind::ConnectionRefused => Reach::Refused,
            ErrorKind::TimedOut => Reach::TimedOut,
            ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown
            | ErrorKind::AddrNotAvailable => Reach::NoRoute,
            ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe
            | ErrorKind::NotConnected
            | ErrorKind::UnexpectedEof => Reach::Lost,
            _ => Reach::Other(shown(error.to_string())),
        }
    }
}

/// Text of others, fit to be kept.
pub fn shown(text: impl AsRef<[u8]>) -> String {
    clip(&redact(&printable(text.as_ref())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_to_fail_is_told_apart() {
        for (kind, reach) in [
            (ErrorKind::ConnectionRefused, Reach::Refused),
            (ErrorKind::TimedOut, Reach::TimedOut),
            (ErrorKind::HostUnreachable, Reach::NoRoute),
            (ErrorKind::ConnectionReset, Reach::Lost),
            (ErrorKind::UnexpectedEof, Reach::Lost),
        ] {
            assert_eq!(Reach::of(&kind.into()), reach);
        }
        let odd = io::Error::other("proxy said: \u{1b}[31mpassword=hunter2");
        assert_eq!(Reach::of(&odd), Reach::Other("proxy said: password=[redacted]".into()));
        assert_eq!(serde_json::to_string(&Reach::TimedOut).unwrap(), r#""timed-out""#);
    }
}
