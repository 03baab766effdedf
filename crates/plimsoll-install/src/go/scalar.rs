//! Plain scalars by the rules of YAML 1.1, as go-yaml v2 reads them.

use plimsoll_yaml::Kind;

pub(crate) fn resolve(text: &str) -> Kind {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Kind::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Kind::Bool(true);
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Kind::Bool(false);
        }
        ".nan" | ".NaN" | ".NAN" => return Kind::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => {
            return Kind::Float(f64::INFINITY);
        }
        "-.inf" | "-.Inf" | "-.INF" => return Kind::Float(f64::NEG_INFINITY),
        _ => {}
    }
    match text.as_bytes().first() {
        Some(b'.') => float(text).map(Kind::Float),
        Some(b'+' | b'-' | b'0'..=b'9') => number(&text.replace('_', "")),
        _ => None,
    }
    .unwrap_or_else(|| Kind::Text(text.into()))
}

fn number(text: &str) -> Option<Kind> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    match magnitude(digits) {
        Some(value) if negative => {
            let value = i64::try_from(value).ok().map(|v| -v);
            value.or((digits_are_min(digits)).then_some(i64::MIN)).map(Kind::Int)
        }
        Some(value) => match i64::try_from(value) {
            Ok(value) => Some(Kind::Int(value)),
            // Go reads an unsigned number only without a sign.
            Err(_) if text.starts_with('+') => float(text).map(Kind::Float),
            Err(_) => Some(Kind::UInt(value)),
        },
        None => float(text).map(Kind::Float),
    }
}

fn digits_are_min(digits: &str) -> bool {
    magnitude(digits) == Some(1 << 63)
}

/// An integer in the base that its prefix names; a leading zero means octal.
fn magnitude(digits: &str) -> Option<u64> {
    let (base, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    u64::from_str_radix(digits, base).ok()
}

/// Decimal only, with at least one digit: `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn float(text: &str) -> Option<f64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match digits.find(['e', 'E']) {
        Some(at) => (&digits[..at], Some(&digits[at + 1..])),
        None => (digits, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let numeric = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let exponent_fits = exponent.is_none_or(|text| {
        let text = text.strip_prefix(['+', '-']).unwrap_or(text);
        !text.is_empty() && numeric(text)
    });
    let any = !whole.is_empty() || !fraction.is_empty();
    if !(any && numeric(whole) && numeric(fraction) && exponent_fits) {
        return None;
    }
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// How `encoding/json` prints a number.
pub(crate) fn json_number(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
        let text = format!("{value:e}");
        if let Some((digits, exponent)) = text.split_once('e') {
            let (sign, exponent) = match exponent.strip_prefix('-') {
                Some(rest) => ('-', rest),
                None => ('+', exponent),
            };
            let exponent =
                if sign == '+' { format!("{exponent:0>2}") } else { exponent.to_string() };
            return format!("{digits}e{sign}{exponent}");
        }
    }
    format!("{value}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_numbers_of_yaml_1_1() {
        assert_eq!(resolve("yes"), Kind::Bool(true));
        assert_eq!(resolve("n"), Kind::Bool(false));
        assert_eq!(resolve("Off"), Kind::Bool(false));
        assert_eq!(resolve("yEs"), Kind::Text("yEs".into()));
        assert_eq!(resolve("010"), Kind::Int(8));
        assert_eq!(resolve("08"), Kind::Float(8.0));
        assert_eq!(resolve("0x1F"), Kind::Int(31));
        assert_eq!(resolve("1_000"), Kind::Int(1000));
        assert_eq!(resolve("-5"), Kind::Int(-5));
        assert_eq!(resolve("1e3"), Kind::Float(1000.0));
        assert_eq!(resolve("18446744073709551615"), Kind::UInt(u64::MAX));
        for text in ["52:54:00:00:00:01", "10.0.0.1", "2024-01-01", "-", "1:30", "4.18.3", "."] {
            assert_eq!(resolve(text), Kind::Text(text.into()));
        }
    }
}
