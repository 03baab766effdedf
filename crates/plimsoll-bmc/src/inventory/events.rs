//! The newest entries of all logs.

use jiff::Timestamp;
use serde_json::Value;

use crate::logs::KEPT;
use crate::reading::Event;
use crate::value::{first, text};

pub fn newest(entries: &[Value]) -> Vec<Event> {
    let mut events: Vec<(Option<Timestamp>, Event)> = entries
        .iter()
        .map(|entry| {
            let time = first(entry, &["/Created", "/EventTimestamp"]);
            let event = Event {
                severity: text(entry, "/Severity"),
                message: text(entry, "/Message"),
                id: first(entry, &["/MessageId", "/Id"]),
                time: time.clone(),
            };
            (time.and_then(|time| time.parse().ok()), event)
        })
        .filter(|(_, event)| event.message.is_some() || event.id.is_some())
        .collect();
    let key = |event: &Event| (event.time.clone(), event.id.clone(), event.message.clone());
    events.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| key(&other.1).cmp(&key(&one.1))));
    events.dedup();
    events.into_iter().map(|(_, event)| event).take(KEPT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_newest_of_many_come_first() {
        let entries: Vec<Value> = (0..200)
            .map(|second| {
                let at = Timestamp::from_second(1_700_000_000 + second).unwrap();
                json!({"Id": second.to_string(), "Created": at.to_string(), "Message": "m"})
            })
            .chain([json!({"Id": "odd", "Created": "never"}), json!([]), json!({})])
            .collect();
        let events = newest(&entries);
        assert_eq!(events.len(), KEPT);
        assert_eq!(events[0].id.as_deref(), Some("199"));
        assert_eq!(events[49].id.as_deref(), Some("150"));
    }
}
