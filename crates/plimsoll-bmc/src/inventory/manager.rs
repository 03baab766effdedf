//! The BMC itself: its firmware and its clock.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;
use serde_json::Value;

use crate::documents::Documents;
use crate::reading::{Manager, Ntp};
use crate::value::{at, flag, text, texts};
use crate::words::shown_path;

pub fn of(documents: &Documents) -> Option<Manager> {
    let manager = &documents.manager;
    if !manager.is_object() {
        return None;
    }
    let time = time(manager);
    let ntp = at(&documents.protocol, "/NTP");
    Some(Manager {
        path: documents.manager_path.as_deref().map(shown_path),
        model: text(manager, "/Model"),
        firmware: text(manager, "/FirmwareVersion"),
        clock: text(manager, "/DateTime"),
        offset_seconds: time
            .zip(documents.manager_at)
            .map(|(theirs, ours)| theirs.as_second().saturating_sub(ours.as_second())),
        ntp: ntp.is_object().then(|| Ntp {
            enabled: flag(ntp, "/ProtocolEnabled"),
            servers: texts(ntp, "/NTPServers"),
        }),
    })
}

fn time(manager: &Value) -> Option<Timestamp> {
    let told = text(manager, "/DateTime")?;
    if let Ok(time) = told.parse() {
        return Some(time);
    }
    // Without a zone in it, the zone stands beside it.
    let offset = offset(&text(manager, "/DateTimeLocalOffset")?)?;
    offset.to_timestamp(told.parse::<DateTime>().ok()?).ok()
}

fn offset(told: &str) -> Option<Offset> {
    if told == "Z" {
        return Some(Offset::UTC);
    }
    let (sign, rest) = match told.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let seconds =
        hours.parse::<u16>().ok()? as i32 * 3600 + minutes.parse::<u16>().ok()? as i32 * 60;
    Offset::from_seconds(sign * seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn clocks_are_read_in_the_forms_that_vendors_use() {
        let expected: Timestamp = "2026-11-16T12:00:00Z".parse().unwrap();
        for manager in [
            json!({"DateTime": "2026-11-16T12:00:00Z"}),
            json!({"DateTime": "2026-11-16T06:00:00-06:00"}),
            json!({"DateTime": "2026-11-16T06:00:00-0600"}),
            json!({"DateTime": "2026-11-16T13:30:00", "DateTimeLocalOffset": "+01:30"}),
        ] {
            assert_eq!(time(&manager), Some(expected), "{manager}");
        }
        for manager in [
            json!({}),
            json!({"DateTime": "0000-00-00T00:00:00+00:00"}),
            json!({"DateTime": "2026-11-16T13:30:00"}),
            json!({"DateTime": "2026-11-16T13:30:00", "DateTimeLocalOffset": "99:99"}),
            json!({"DateTime": "2026-11-16T13:30:00", "DateTimeLocalOffset": "+60000:60000"}),
        ] {
            assert_eq!(time(&manager), None, "{manager}");
        }
    }
}
