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
    let Some(depth) = depth.checked_sub(1) else {
        return without_userinfo(&secrets::replaced(text));
    };
    let is_secret = |file: &str| cleaned(file, depth) != file;
    // Whole files first: what is taken out of their first line would hide what the others are.
    let text = encoded::without_encoded(text, is_secret);
    let text = percent::without_percent(&text, is_secret);
    without_userinfo(&secrets::replaced(&text))
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
        let (url, after) = tail.split_at(end_of_url(tail));
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

/// Up to a space or a quote. The next URL of a list is another one.
fn end_of_url(tail: &str) -> usize {
    let is_edge = |c: char| matches!(c, '"' | '\'') || c.is_whitespace();
    let mut ends = tail
        .char_indices()
        .filter(|(at, c)| is_edge(*c) || (*c == ':' && tail[*at..].starts_with("://")));
    match ends.next() {
        Some((next, ':')) => tail[..next].rfind([',', ';', '|', '=']).unwrap_or(next),
        Some((end, _)) => end,
        None => tail.len(),
    }
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
            ("x LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk1JSUU= y", "x [redacted] y"),
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
        let key = format!("-----BEGIN RSA PRIVATE KEY-----\n{}", "MIIEabcd\n".repeat(30));
        let lines = STANDARD.encode(key);
        let lines: Vec<&str> = lines
            .as_bytes()
            .chunks(76)
            .map(|l| std::str::from_utf8(l).unwrap_or_default())
            .collect();
        for end in ["\n  ", "\\n  "] {
            let text = redact(&format!("tls.key: |{end}{}{end}y: 1", lines.join(end)));
            let left: Vec<&str> = text.split(&end[..end.len() - 2]).map(str::trim).collect();
            assert_eq!(left.join(""), "tls.key: |[redacted]y: 1", "{text}");
        }
    }

    #[test]
    fn what_is_made_to_be_slow_is_not() {
        for text in [
            format!("@{}", "://".repeat(200_000)),
            "password=[redacted ".repeat(40_000),
            "password=[redacted \n".repeat(40_000),
            "user a password b ".repeat(40_000),
            format!("{}x", "pwd: \"".repeat(100_000)),
            "pass: ''".repeat(100_000),
            "proxy_pass: {".repeat(60_000),
            "oc login login -p ".repeat(40_000),
            "echo a:b chpasswd ".repeat(40_000),
            "set password for user x to ".repeat(40_000),
            "secret_key='' ".repeat(60_000),
            "$6$a$".repeat(100_000),
            "eyJwYXNzd29yZCI6\nDec\n".repeat(40_000),
        ] {
            assert!(redact(&text).len() < text.len() * 2);
        }
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
            ("credentials={pwd=hunter2,user=x}", "credentials={pwd=[redacted],user=x}"),
            ("proxy_pass: \"pwd=hunter4\"", "proxy_pass: \"pwd=[redacted]\""),
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
    fn what_stands_below_a_file_in_base64_stays() {
        let secret = "eyJwYXNzd29yZCI6Ik9CSkVDVFNFQ1JFVCJ9";
        for below in [
            "Dec 03 18:00:01.000000 master-1 kubelet: x",
            "Dec",
            "Done\nnext",
            "  status",
            "master-1",
        ] {
            let clean = format!("auth [redacted]\n{below}");
            assert_eq!(redact(&format!("auth {secret}\n{below}")), clean);
            assert_eq!(redact(&clean), clean);
        }
        // A file that is wrapped keeps to its indentation, whatever its first line has before it.
        let (first, last) = secret.split_at(20);
        assert_eq!(redact(&format!("x: {first}\n  {last}\ny")), "x: [redacted]\n  \ny");
        assert_eq!(redact(&format!("x: {first}\\n  {last}  \\n")), "x: [redacted]\\n    \\n");
        let file = STANDARD.encode("password: x\n".repeat(6));
        let lines = [&file[..32], &file[32..64], &file[64..]];
        let text = format!("x: {}\n  {}\n{}", lines[0], lines[1], lines[2]);
        assert_eq!(redact(&text), "x: [redacted]\n  \n[redacted]", "two files");
    }

    #[test]
    fn secrets_of_commands_and_sentences_go() {
        for (text, clean) in [
            ("racadm -r h -u root -p hunter2 get", "racadm -r h -u root -p [redacted] get"),
            ("racadm -u root -p 'my pw' get", "racadm -u root -p [redacted] get"),
            (
                "racadm set iDRAC.Users.2.Password hunter2",
                "racadm set iDRAC.Users.2.Password [redacted]",
            ),
            ("ipmitool user set password 2 calvin", "ipmitool user set password 2 [redacted]"),
            (
                "oc login -u kubeadmin -p ab-cd https://x",
                "oc login -u kubeadmin -p [redacted] https://x",
            ),
            (
                "podman login -u user -p=calvin quay.io",
                "podman login -u user -p=[redacted] quay.io",
            ),
            (
                "racadm -u root -p \"a\":\"$6$salt$abcdefgh\"",
                "racadm -u root -p [redacted]:\"[redacted]\"",
            ),
            ("docker login quay.io -p calvin", "docker login quay.io -p [redacted]"),
            ("cmd=\"sshpass -p x\\\" y\"", "cmd=\"sshpass -p [redacted]\\\" y\""),
            (
                "skopeo copy --src-creds user:x --dest-creds=joe:y a",
                "skopeo copy --src-creds user:[redacted] --dest-creds=joe:[redacted] a",
            ),
            ("skopeo inspect --creds \"user:x\" a", "skopeo inspect --creds \"user:[redacted]\" a"),
            ("etcdctl --user root:x get", "etcdctl --user root:[redacted] get"),
            ("etcdctl --user='root:x y' get", "etcdctl --user='root:[redacted]' get"),
            ("echo core:x | chpasswd", "echo core:[redacted] | chpasswd"),
            ("echo 'core:x y' | sudo chpasswd -e", "echo 'core:[redacted]' | sudo chpasswd -e"),
            ("echo x | passwd --stdin core", "echo [redacted] | passwd --stdin core"),
            ("chpasswd core:x", "chpasswd core:[redacted]"),
            ("chpasswd <<< \"core:x\"", "chpasswd <<< \"core:[redacted]\""),
            ("passwordHash: $6$salt$X", "passwordHash: [redacted]"),
            ("is $6$saltsalt$abcdefgh./ABC, y", "is [redacted], y"),
            ("is $y$j9T$saltsalt$abcdefgh./ABC y", "is [redacted] y"),
            ("is $2b$12$abcdefghijklmnopqrstuv.ABC y", "is [redacted] y"),
            ("password is: calvin", "password is: [redacted]"),
            ("new password hunter2", "new password [redacted]"),
            (
                "Setting password for user root to calvin",
                "Setting password for user root to [redacted]",
            ),
            ("password => x, password := y", "password => [redacted], password := [redacted]"),
            ("{\"token\" => \"x\"}", "{\"token\" => [redacted]}"),
            ("if password == x", "if password == [redacted]"),
            ("x?X-Amz-Signature=ab12&y=1", "x?X-Amz-Signature=[redacted]&y=1"),
            ("x?sv=2022&sig=ab%2Bcd%3D&se=1", "x?sv=2022&sig=[redacted]&se=1"),
            ("unlock luks passphrase hunter2", "unlock luks passphrase [redacted]"),
            ("rd.luks.key=hunter2 quiet", "rd.luks.key=[redacted] quiet"),
            (
                "PrivateKey = /Anz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=",
                "PrivateKey = [redacted]",
            ),
            ("secret_key=x, y", "secret_key=[redacted], y"),
            ("agent_token 4e9f2c1b sent", "agent_token [redacted] sent"),
            ("X-API-Key hunter2 sent", "X-API-Key [redacted] sent"),
            ("vault hvs.CAESIJ1abcdefghijklmnop x", "vault [redacted] x"),
            ("BMC credentials admin/calvin rejected", "BMC credentials admin/[redacted] rejected"),
            ("login admin/calvin", "login admin/[redacted]"),
        ] {
            assert_eq!(redact(text), clean, "{text}");
            assert_eq!(redact(clean), clean, "again: {text}");
        }
    }

    #[test]
    fn commands_and_sentences_without_a_secret_stay() {
        for text in [
            "oc get pods -p x, oc login failed, listening on -port 22",
            "docker daemon: login failed",
            "podman run --user 1000:1000 x, skopeo copy --creds user docker://x",
            "racadm get iDRAC.Users.2.Password",
            "echo hello | grep chpasswd",
            "awk '{print $1$2$3}' $6$",
            "the password is: required",
            "new password required, new password authentication, enter new password:",
            "user root password was rejected",
            "set password for user root to expire",
            "x?design=1&config=2, signature=invalid",
            "luks passphrase prompt, LUKS passphrase is wrong",
            "rd.luks.key=/etc/luks.key PrivateKey = /etc/tls.key private_key=None",
            "hvs.example.com",
            "agent_token expired, api-key v1 is gone, api-key 2025-12-03T18:00:00Z",
            "credentials openshift-machine-api/aws-cloud-credentials not found",
            "login openshift/oauth-server, login root/tty1",
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
