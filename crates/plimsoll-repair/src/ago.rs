//! Time in the unit that a person would use.

use jiff::SignedDuration;

pub fn long(time: SignedDuration) -> String {
    match (time.as_hours(), time.as_mins()) {
        (hours, _) if hours >= 48 => format!("{} days", hours / 24),
        (hours, _) if hours >= 2 => format!("{hours} hours"),
        (_, minutes) => format!("{minutes} minutes"),
    }
}
