//! Text made fit to be shown: no escape sequences, no control characters, no secrets.
//!
//! A must-gather should hold no secrets, but a log line or an operator's message may. What looks like
//! one is taken out of every text that reaches an answer; identities (hosts, addresses, names) stay.

use std::sync::LazyLock;

use regex::Regex;

// What is taken out already stays as it is.
const VALUE: &str =
    r#"(?:\[redacted\]|"(?:[^"\\]|\\.)*"?|\\+"[^"]*"?|'(?:[^']|'')*'?|[^\s"',;&})\]]+)"#;

static SECRETS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let rules = [
        (
            r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)"
                .into(),
            "[redacted private key]",
        ),
        (
            r#"(?i)(authorization\\*["']?\s*[:=]\s*\\*["']?\[?(?:bearer|basic)\s+)[^\s"',\\\]]+"#
                .into(),
            "${1}[redacted]",
        ),
        (r"(?i)\b(bearer\s+)[a-z0-9._~+/=-]{16,}".into(), "${1}[redacted]"),
        (r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)?".into(), "[redacted]"),
        // In block style the rest of the line is the value, whatever stands in it.
        (
            r#"(?im)^([ \t]*(?:- )?["']?[a-z0-9_.-]*(?:password|passwd|passphrase)["']?:[ \t]+)[^\s"'{\[|>&*!#][^\n]*$"#
                .into(),
            "${1}[redacted]",
        ),
        (
            format!(r#"(?i)((?:password|passwd|passphrase)\\*["']?\s*[:=]\s*){VALUE}"#),
            "${1}[redacted]",
        ),
        (format!(r"(?i)((?:token|secret|api[_-]?key|access[_-]?key)=){VALUE}"), "${1}[redacted]"),
        (
            format!(
                r#"(?i)(["'][a-z_.-]*(?:token|secret|api[_-]?key|access[_-]?key)\\*["']\s*:\s*){VALUE}"#
            ),
            "${1}[redacted]",
        ),
        (r#"(\bauth\\*"\s*:\s*\\*")[^"\\]+"#.into(), "${1}[redacted]"),
        // Of a password with a slash in it, Go takes the first part for a port.
        (r#"(invalid port \\*")[^"\\]+"#.into(), "${1}[redacted]"),
    ];
    rules.into_iter().map(|(pattern, with): (String, _)| (compiled(&pattern), with)).collect()
});

#[expect(clippy::expect_used, reason = "the patterns are constants, and a test compiles them all")]
fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("constant pattern")
}

/// `text` with everything that looks like a secret replaced by `[redacted]`.
pub fn redact(text: &str) -> String {
    let mut text = text.to_string();
    for (secret, with) in SECRETS.iter() {
        if let std::borrow::Cow::Owned(cleaned) = secret.replace_all(&text, *with) {
            text = cleaned;
        }
    }
    without_userinfo(&text)
}

/// The name and password of each URL, and of each `name:password@host` that lacks its scheme. A password that
/// nobody escaped may hold an `@` or a `/`.
pub fn without_userinfo(text: &str) -> String {
    if !text.contains('@') {
        return text.into();
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("://") {
        let (head, tail) = rest.split_at(start + 3);
        let end = tail.find(|c: char| matches!(c, '"' | '\'') || c.is_whitespace());
        let mut end = end.unwrap_or(tail.len());
        // The next URL of a list is another one.
        if let Some(next) = tail[..end].find("://") {
            end = tail[..next].rfind([',', ';', '|', '=']).unwrap_or(next);
        }
        let (url, after) = tail.split_at(end);
        out.push_str(&without_bare_userinfo(head));
        match end_of_userinfo(url) {
            Some(at) => {
                out.push_str("[redacted]");
                out.push_str(&url[at..]);
            }
            None => out.push_str(url),
        }
        rest = after;
    }
    out.push_str(&without_bare_userinfo(rest));
    out
}

/// The last `@` behind a colon, but for that of an image's digest; without a colon, that of the name.
fn end_of_userinfo(url: &str) -> Option<usize> {
    let authority = &url[..url.find(['/', '?', '#']).unwrap_or(url.len())];
    let last = last_at(url)?;
    match url.find(':').filter(|_| !url.starts_with('[')) {
        Some(colon) if colon < last => Some(last),
        _ => authority.rfind('@'),
    }
}

fn last_at(text: &str) -> Option<usize> {
    let digest = text.rfind("@sha256:").or_else(|| text.rfind("@sha512:")).unwrap_or(text.len());
    text[..digest].rfind('@')
}

/// Of text without `://`, but for one at its end.
fn without_bare_userinfo(text: &str) -> String {
    let is_edge = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '(' | ',' | ';' | '=');
    let words = text.split_inclusive(is_edge).map(|word| match secret_of(word) {
        Some(at) => format!("[redacted]{}", &word[at..]),
        None => word.into(),
    });
    words.collect()
}

/// Where `name:password` ends.
fn secret_of(word: &str) -> Option<usize> {
    let last = last_at(word)?;
    let colon = word.find([':', '/']).filter(|colon| word[*colon..].starts_with(':'))?;
    let has_host = word[last + 1..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[');
    (colon > 0 && colon + 1 < last && has_host).then_some(last)
}

/// Printable text of raw bytes: escape sequences and control characters are gone, a tab is a space.
pub fn printable(raw: &[u8]) -> String {
    let text = String::from_utf8_lossy(raw);
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.next() {
                // CSI: parameters, then one letter that ends it.
                Some('[') => while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
                // OSC: up to the bell or to the escape of `ESC \`.
                Some(']') => while chars.next().is_some_and(|c| c != '\u{7}' && c != '\u{1b}') {},
                _ => {}
            },
            '\t' => out.push(' '),
            c if c.is_control() => {}
            // Marks that turn the reading direction can make a line lie.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_leave_and_their_surroundings_stay() {
        for (text, clean) in [
            ("Authorization: Bearer abc.def", "Authorization: Bearer [redacted]"),
            ("sent bearer sha256~abcdefghijklmnop now", "sent bearer [redacted] now"),
            ("x password=hunter2, y", "x password=[redacted], y"),
            (r#"{"password": "a b", "c":1}"#, r#"{"password": [redacted], "c":1}"#),
            (r#"body={\"password\":\"abc\"}"#, r#"body={\"password\":[redacted]}"#),
            ("GET /x?token=abc&y=1", "GET /x?token=[redacted]&y=1"),
            (r#"{"auth":"dXNlcjpwYXNz"}"#, r#"{"auth":"[redacted]"}"#),
            (
                "https://user:pass@bmc.example.com/redfish",
                "https://[redacted]@bmc.example.com/redfish",
            ),
            ("to http://joe:hunter2/secret@proxy, y", "to http://[redacted]@proxy, y"),
            ("joe:pa@ss@h: https://joe:pa@ss@h:1/x", "[redacted]@h: https://[redacted]@h:1/x"),
            ("parse \"joe_1:hun/ter2@proxy:3128\": no", "parse \"[redacted]@proxy:3128\": no"),
            ("http_proxy=joe:hunter2@proxy x", "http_proxy=[redacted]@proxy x"),
            ("http://token@proxy/x@y", "http://[redacted]@proxy/x@y"),
            ("https://a:2379,https://u:p@b:2379/x", "https://a:2379,https://[redacted]@b:2379/x"),
            ("a -----BEGIN RSA PRIVATE KEY-----\\nMIIE\\n", "a [redacted private key]"),
            ("jwt eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlIn0.c2ln end", "jwt [redacted] end"),
        ] {
            assert_eq!(redact(text), clean, "{text}");
        }
    }

    #[test]
    fn lines_without_a_secret_stay_as_they_are() {
        for text in [
            r#"secret "machine-config-server-tls" not found"#,
            r#"failed to get secret: secrets "x" is forbidden: User "system:anonymous""#,
            "dial tcp https://10.0.0.1:6443: connect: connection refused",
            "basic authentication is off",
            "pull docker://quay.io:443/a/b@sha256:0123 of https://10.0.0.1:5000/v2/ for joe@x",
            "https://[fd00::1]:6443/x@y",
            "5: vlan10@bond0: <UP> getty@tty1.service: registry:5000/a:tag@sha256:0123 core@h:22",
        ] {
            assert_eq!(redact(text), text);
        }
    }

    #[test]
    fn what_a_terminal_would_obey_is_gone() {
        assert_eq!(printable(b"\x1b[31mred\x1b[0m\ta\x00b\x07\xff"), "red ab\u{fffd}");
        assert_eq!(printable(b"\x1b]0;title\x07x"), "x");
        assert_eq!(printable(b"\x1b"), "");
    }
}
