//! Text made fit to be shown: no escape sequences, no control characters, no secrets.
//!
//! A must-gather should hold no secrets, but a log line or an operator's message may. What looks like
//! one is taken out of every text that reaches an answer; identities (hosts, addresses, names) stay.

mod encoded;
mod keyed;
mod keys;
mod percent;
mod secrets;

use std::ops::Range;

pub use keys::tells_a_secret;

/// A file within a file within a file: Ignition in a Secret, with a pull secret in it. Nobody goes deeper.
const DEEPEST: usize = 3;

/// `text` with everything that looks like a secret replaced by `[redacted]`.
pub fn redact(text: &str) -> String {
    cleaned(text, DEEPEST)
}

fn cleaned(text: &str, depth: usize) -> String {
    let text = secrets::replaced(text);
    let Some(depth) = depth.checked_sub(1) else { return without_userinfo(&text) };
    let is_secret = |file: &str| cleaned(file, depth) != file;
    let text = encoded::without_encoded(&text, is_secret);
    let text = percent::without_percent(&text, is_secret);
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
        Some(secret) => format!("{}[redacted]{}", &word[..secret.start], &word[secret.end..]),
        None => word.into(),
    });
    words.collect()
}

/// Where `name:password` stands: at the beginning, or behind a scheme that lost its colon.
fn secret_of(word: &str) -> Option<Range<usize>> {
    let last = last_at(word)?;
    let is_scheme = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    };
    let scheme = word.find("//").filter(|at| is_scheme(&word[..*at]));
    let start = scheme.map_or(0, |at| at + 2);
    let own = word.get(start..last)?;
    let colon = own.find([':', '/']).filter(|colon| own[*colon..].starts_with(':'))?;
    let has_host = word[last + 1..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[');
    (colon > 0 && colon + 1 < own.len() && has_host).then_some(start..last)
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
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

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
            ("qemu+ssh//u:pw@h/system", "qemu+ssh//[redacted]@h/system"),
            ("http_proxy=joe:hunter2@proxy x", "http_proxy=[redacted]@proxy x"),
            ("http://token@proxy/x@y", "http://[redacted]@proxy/x@y"),
            ("https://a:2379,https://u:p@b:2379/x", "https://a:2379,https://[redacted]@b:2379/x"),
            ("a -----BEGIN RSA PRIVATE KEY-----\\nMIIE\\n", "a [redacted private key]"),
            ("  client-key-data: LS0tLS1CRUdJTiBQ", "  client-key-data: [redacted]"),
            ("x LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk1JSUU= y", "x [redacted private key] y"),
            (
                "    token: sha256~Zq7K2shaZq7K2shaZq7K2shaZq7K2sha\n    user: x",
                "    token: [redacted]\n    user: x",
            ),
            (
                r#"{"name":"ETCD_PASSWORD","value":"abc"}"#,
                r#"{"name":"ETCD_PASSWORD","value":"[redacted]"}"#,
            ),
            ("run --token 'a b' --v 4", "run --token [redacted] --v 4"),
            ("curl --user='root:my pw' https://x", "curl --user='root:[redacted]' https://x"),
            ("aws_secret_access_key = a/b", "aws_secret_access_key = [redacted]"),
            ("RABBITMQ_PASS=x SSHPASS=y", "RABBITMQ_PASS=[redacted] SSHPASS=[redacted]"),
            ("sshpass -p hunter2 ssh h", "sshpass -p [redacted] ssh h"),
            ("mysql -uroot -phunter2 db", "mysql -uroot -p[redacted] db"),
            ("root:$6$abc$defghijk.l:19000:0:::", "root:[redacted]:19000:0:::"),
            ("the root password is \"calvin\" now", "the root password is \"[redacted]\" now"),
            ("  password: |\n    hunter2\n  user: x", "  password: |\n    [redacted]\n  user: x"),
            ("requirepass hunter2", "requirepass [redacted]"),
            ("Authorization: Basic YWRtaW46cGFzcw==", "Authorization: Basic [redacted]"),
            ("got sha256~Zq7K2shaZq7K2shaZq7K2sha ok", "got [redacted] ok"),
            ("a token: 9dd4e461268c8034f5c8564e, b", "a token: [redacted], b"),
            (
                "joined by abcdef.0123456789abcdef as token",
                "joined by abcdef.0123456789abcdef as token",
            ),
            ("bootstrap token abcdef.0123456789abcdef used", "bootstrap token [redacted] used"),
            (
                "run --token abc --v 4 --bmc-password x",
                "run --token [redacted] --v 4 --bmc-password [redacted]",
            ),
            (
                "x client-secret: y apikey: z psk=q",
                "x client-secret: [redacted] apikey: [redacted] psk=[redacted]",
            ),
            ("X-Auth-Token: 8f2a", "X-Auth-Token: [redacted]"),
            ("Set-Cookie: session=abc; Path=/", "Set-Cookie: [redacted]"),
            ("with Basic YWRtaW46cGFzcw== sent", "with Basic [redacted] sent"),
            ("curl -k -u root:calvin https://x", "curl -k -u root:[redacted] https://x"),
            ("ipmitool -H h -U root -P calvin power", "ipmitool -H h -U root -P [redacted] power"),
            ("secret: aB3dEf6hIj9l", "secret: [redacted]"),
            (r#"wrong password "x y" of z"#, r#"wrong password "[redacted]" of z"#),
            (
                "- name: ETCD_PASSWORD\n  value: abc\n- name: A\n  value: b",
                "- name: ETCD_PASSWORD\n  value: [redacted]\n- name: A\n  value: b",
            ),
            ("jwt eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlIn0.c2ln end", "jwt [redacted] end"),
        ] {
            assert_eq!(redact(text), clean, "{text}");
            assert_eq!(redact(clean), clean, "again: {text}");
        }
    }

    #[test]
    fn lines_without_a_secret_stay_as_they_are() {
        for text in [
            r#"secret "machine-config-server-tls" not found"#,
            r#"failed to get secret: secrets "x" is forbidden: User "system:anonymous""#,
            "dial tcp https://10.0.0.1:6443: connect: connection refused",
            "basic authentication is off, Basic Authentication2 too",
            "unable to get token: Unauthorized; token: expired at 12:00:00",
            "secret: machine-config-server-tls not found, secret: builder-token-x7k2p",
            "flow cookie=0x1f, duration=3 and key: value, tokens: 3",
            "--secret-name a --token-ttl 24h",
            "failed to get secret:\n2025-12-03T16:42:00.000000Z x",
            "password:\n2025-12-03T16:42:00.000000Z x",
            "fetch token: HTTP/1.1 401, secret: etcd-peer-Master-1, token: V2",
            "token: expired at 12:00:00",
            "bootstrap-token: not found in store",
            "basic auth=true",
            "mysql -h host -P 3306, kubectl get -p x, the community operators, bypass=1 SNMP",
            "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t",
            "pull docker://quay.io:443/a/b@sha256:0123 of https://10.0.0.1:5000/v2/ for joe@x",
            "https://[fd00::1]:6443/x@y",
            "5: vlan10@bond0: <UP> getty@tty1.service: registry:5000/a:tag@sha256:0123 core@h:22",
        ] {
            assert_eq!(redact(text), text);
        }
    }

    #[test]
    fn a_file_in_base64_with_a_secret_in_it_goes() {
        let file = |line: &str| STANDARD.encode(format!("{line}\n{}", "# filled\n".repeat(20)));
        let kubeconfig = file("    token: abc");
        assert_eq!(redact(&format!("x: {kubeconfig}")), "x: [redacted]");
        let plain = file("    server: https://api:6443");
        assert_eq!(redact(&plain), plain);
        // Short, wrapped over lines, cut off, within another, and packed.
        assert_eq!(redact(&format!("x={} y", STANDARD.encode("password: x"))), "x=[redacted] y");
        let lines: Vec<&str> = kubeconfig
            .as_bytes()
            .chunks(76)
            .map(|l| std::str::from_utf8(l).unwrap_or_default())
            .collect();
        let wrapped = redact(&format!("x: |\n  {}\ny", lines.join("\n  ")));
        assert_eq!(wrapped.split_whitespace().collect::<Vec<_>>(), ["x:", "|", "[redacted]", "y"]);
        assert_eq!(wrapped.lines().count(), lines.len() + 2, "what stands below keeps its line");
        assert_eq!(redact(&kubeconfig[..101]), "[redacted]");
        assert_eq!(redact(&STANDARD.encode(format!("source: {kubeconfig}"))), "[redacted]");
        assert_eq!(
            redact("data:;base64,H4sIAAAAAAACA0vLz1dIBgBqL3RpAwAAAA=="),
            "data:;base64,[redacted]"
        );
    }

    #[test]
    fn what_was_made_fit_for_a_url_goes_too() {
        let data = |text: &str| format!("\"source\": \"data:,{text}\"");
        assert_eq!(redact(&data("password%3A%20hunter2%0A")), data("[redacted]"));
        assert_eq!(redact(&data("%7B%22auth%22%3A%22dXNlcjpwYXNz%22%7D")), data("[redacted]"));
        assert_eq!(redact("/x?state=password%3Dx&y=a%20b"), "/x?state=[redacted]&y=a%20b");
        let plain = data("server%3A%20https%3A%2F%2Fapi%3A6443");
        assert_eq!(redact(&plain), plain);
        // However deep somebody wraps it, it ends.
        let deep = "%25".repeat(20_000);
        assert_eq!(redact(&deep), deep);
    }

    #[test]
    fn short_keys_are_known_by_their_surroundings() {
        for (text, clean) in [
            ("psk=\"ab cd\"", "psk=[redacted]"),
            ("{\"pwd\": \"x1\"}", "{\"pwd\": [redacted]}"),
            ("  user_pw: two words", "  user_pw: [redacted]"),
            ("dbPass: hunter2", "dbPass: [redacted]"),
            ("rocommunity hunter2 10.0.0.1", "rocommunity [redacted] 10.0.0.1"),
            ("machine h login joe password hunter2", "machine h login joe password [redacted]"),
            ("<Password>hunter2</Password>", "<Password>[redacted]</Password>"),
            ("push glpat-abcdefghij0123456789 x", "push [redacted] x"),
            ("user root password hunter2 rejected", "user root password [redacted] rejected"),
        ] {
            assert_eq!(redact(text), clean, "{text}");
            assert_eq!(redact(clean), clean, "again: {text}");
        }
        for text in [
            "PWD=/root OLDPWD=/",
            "pwd: command not found",
            "no credentials: denied, one pass: 3 of 4",
            "proxy_pass: http://upstream, bypass=1 compass: north",
            "user root password authentication failed",
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
