//! Times as a tired reader wants them: the hour for the same day, the distance before that.

use plimsoll_model::Time;

const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;
/// Clocks of nodes and of the gather differ a little; that is no time in the future.
const SKEW: i64 = 5 * 60;

/// `14:12`, `30 h ago`, `3 d ago`; the full date where "now" is not known or not after it.
pub fn moment(time: Time, now: Option<Time>) -> String {
    let Some(now) = now else { return full(time) };
    let same_day = time.strftime("%Y-%m-%d").to_string() == now.strftime("%Y-%m-%d").to_string();
    match now.as_second().saturating_sub(time.as_second()) {
        age if (-SKEW..0).contains(&age) || (same_day && age >= 0) => {
            time.strftime("%H:%M").to_string()
        }
        age if age < 0 => full(time),
        age if age < HOUR => format!("{} min ago", age / 60),
        age if age < 2 * DAY => format!("{} h ago", age / HOUR),
        age => format!("{} d ago", age / DAY),
    }
}

/// As [`moment`], with the zone where a clock time is shown.
pub fn moment_in_zone(time: Time, now: Option<Time>) -> String {
    let short = moment(time, now);
    if short.ends_with("ago") { short } else { format!("{short} UTC") }
}

/// `2025-12-03 14:12`, in UTC.
pub fn full(time: Time) -> String {
    time.strftime("%Y-%m-%d %H:%M").to_string()
}

/// `2025-12-03 14:12:07`, in UTC.
pub fn exact(time: Time) -> String {
    time.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_from_the_gather_backwards() {
        let at = |text: &str| text.parse::<Time>().unwrap();
        let gathered = at("2025-12-03T18:42:00Z");
        let now = Some(gathered);
        for (time, shown) in [
            ("2025-12-03T14:12:09Z", "14:12"),
            ("2025-12-03T00:00:00Z", "00:00"),
            ("2025-12-02T19:43:00Z", "22 h ago"),
            ("2025-12-02T18:42:00Z", "24 h ago"),
            ("2025-11-30T18:00:00Z", "3 d ago"),
            ("2025-12-03T18:44:00Z", "18:44"),
            ("2025-12-04T18:44:00Z", "2025-12-04 18:44"),
        ] {
            assert_eq!(moment(at(time), now), shown);
        }
        assert_eq!(moment(at("2025-12-03T14:12:09Z"), None), "2025-12-03 14:12");
        assert_eq!(moment_in_zone(at("2025-12-03T14:12:09Z"), now), "14:12 UTC");
        for end in [Time::MIN, Time::MAX] {
            assert!(!moment(end, now).is_empty() && !moment(gathered, Some(end)).is_empty());
        }
    }
}
