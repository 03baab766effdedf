use jiff::{SignedDuration, Timestamp};

/// A point in time, absolute or relative to the gather.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    At(Timestamp),
    Relative(SignedDuration),
}

impl When {
    pub fn resolve(&self, now: Timestamp) -> Timestamp {
        match self {
            When::At(time) => *time,
            When::Relative(distance) => now.checked_add(*distance).unwrap_or(now),
        }
    }

    pub fn parse(text: &str) -> Result<When, String> {
        if text == "now" {
            return Ok(When::Relative(SignedDuration::ZERO));
        }
        if let Some(distance) = text.strip_prefix('-') {
            return Ok(When::Relative(-duration(distance)?));
        }
        text.parse().map(When::At).map_err(|_| {
            format!("'{text}' is neither a time before the gather (-2h30m) nor RFC 3339")
        })
    }
}

/// `1d2h30m15s`, any of the parts.
pub fn duration(text: &str) -> Result<SignedDuration, String> {
    let wrong = || format!("'{text}' is no duration such as 2h30m");
    let mut seconds: i64 = 0;
    let mut number = String::new();
    for c in text.chars() {
        if c.is_ascii_digit() {
            number.push(c);
            continue;
        }
        let scale = match c {
            'd' => 86_400,
            'h' => 3_600,
            'm' => 60,
            's' => 1,
            _ => return Err(wrong()),
        };
        let count: i64 = number.parse().map_err(|_| wrong())?;
        seconds = count
            .checked_mul(scale)
            .and_then(|part| seconds.checked_add(part))
            .ok_or_else(wrong)?;
        number.clear();
    }
    if text.is_empty() || !number.is_empty() {
        return Err(wrong());
    }
    Ok(SignedDuration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_relative_to_the_gather_or_absolute() {
        let now: Timestamp = "2025-12-03T18:42:00Z".parse().unwrap();
        let at = |text: &str| When::parse(text).map(|when| when.resolve(now).to_string());
        assert_eq!(at("-2h30m"), Ok("2025-12-03T16:12:00Z".into()));
        assert_eq!(at("-1d"), Ok("2025-12-02T18:42:00Z".into()));
        assert_eq!(at("now"), Ok("2025-12-03T18:42:00Z".into()));
        assert_eq!(at("2025-01-01T00:00:00Z"), Ok("2025-01-01T00:00:00Z".into()));
        for wrong in ["", "-", "-2", "-h", "-2x", "yesterday", "-99999999999999999999h"] {
            assert!(at(wrong).is_err(), "{wrong}");
        }
    }
}
