//! `%q`, `%g` and friends.

/// `strconv.Quote`.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            c if (c as u32) < 0x20 || c == '\u{7f}' => {
                out.push_str(&format!("\\x{:02x}", c as u32));
            }
            c if printable(c) => out.push(c),
            c if (c as u32) < 0x1_0000 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push_str(&format!("\\U{:08x}", c as u32)),
        }
    }
    out.push('"');
    out
}

/// Near enough to Go's table: what has no ink is spelt out.
fn printable(c: char) -> bool {
    !(c.is_control()
        || matches!(c as u32,
            0xa0 | 0xad | 0x2000..=0x200f | 0x2028..=0x202f | 0x205f..=0x206f | 0x3000
            | 0xd800..=0xf8ff | 0xfeff | 0xfff0..=0xfffb | 0xfffe | 0xffff))
}

/// A list of strings as `%#v` prints it.
pub(crate) fn string_list<'a>(go_type: &str, items: impl Iterator<Item = &'a str>) -> String {
    let items: Vec<_> = items.map(quote).collect();
    format!("[]{go_type}{{{}}}", items.join(", "))
}

/// `strconv.FormatFloat(value, 'g', -1, 32)`, with which YAML numbers become strings.
pub(crate) fn float32(value: f64) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf".into() } else { "-Inf".into() };
    }
    let shortest = format!("{:e}", value as f32);
    let Some((digits, exponent)) = shortest.split_once('e') else { return shortest };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    format!("{}", value as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_quoted_as_go_does() {
        assert_eq!(quote("a\"b\\c\n"), r#""a\"b\\c\n""#);
        assert_eq!(quote("\u{1}é\u{200b}"), "\"\\x01é\\u200b\"");
    }

    #[test]
    fn numbers_become_text_as_go_prints_them() {
        assert_eq!(float32(4.18), "4.18");
        assert_eq!(float32(1e21), "1e+21");
        assert_eq!(float32(0.5), "0.5");
        assert_eq!(float32(1e-7), "1e-07");
        assert_eq!(float32(100000.0), "100000");
        assert_eq!(float32(1e6), "1e+06");
    }
}
