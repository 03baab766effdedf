//! Which keys tell that what stands under them is a secret.

/// With one of these a key ends, letters and digits alone. Whatever its value looks like, it is one.
const ENDS: [&str; 10] = [
    "password",
    "passwd",
    "passphrase",
    "passwordhash",
    "token",
    "secret",
    "apikey",
    "accesskey",
    "privatekey",
    "dockerconfigjson",
];

const ABBREVIATIONS: [&str; 5] = ["pwd", "psk", "pass", "pw", "credentials"];
/// Two letters end many a word.
const PW: [&str; 4] = ["pw", "rootpw", "bindpw", "userpw"];

/// Before `pass` they make another word of it: a bypass, a compass, `proxy_pass` of nginx, a first pass.
const OTHER_PASSES: [&str; 21] = [
    "band", "by", "com", "fastcgi", "first", "grpc", "high", "kee", "low", "multi", "over",
    "proxy", "render", "scgi", "second", "single", "sub", "sur", "tres", "under", "uwsgi",
];

/// What is no secret under a key that is short: an answer, or that there is none.
const ANSWERS: [&str; 10] = ["", "true", "false", "yes", "no", "on", "off", "ok", "null", "none"];

/// Whether `value`, which stands under `key`, is a secret.
pub fn tells_a_secret(key: &str, value: &str) -> bool {
    let plain: String = key.chars().filter(char::is_ascii_alphanumeric).collect();
    let plain = plain.to_ascii_lowercase();
    ENDS.iter().any(|end| plain.ends_with(end)) || (is_abbreviated(key) && !is_harmless(key, value))
}

/// `pwd`, `PSK`, `user_pw`, `dbPass`, `credentials`: too short, or too common a word, to go by alone.
pub fn is_abbreviated(key: &str) -> bool {
    if !ABBREVIATIONS.iter().any(|end| ends_with(key, end)) {
        return false;
    }
    let (rest, last) = last_word(key);
    let is = |word: &str| last.eq_ignore_ascii_case(word);
    if ends_with(last, "pass") {
        let head = &last[..last.len() - "pass".len()];
        let head = if head.is_empty() { last_word(rest).1 } else { head };
        return !OTHER_PASSES.iter().any(|other| ends_with(head, other));
    }
    ends_with(last, "pwd") || ends_with(last, "psk") || is("credentials") || PW.into_iter().any(is)
}

/// No sentence has such a word in it.
pub fn is_compound(key: &str) -> bool {
    !last_word(last_word(key).0).1.is_empty()
}

/// The last word of a name and what stands before it: of `example.com/dbPass` they are `Pass` and `db`.
fn last_word(name: &str) -> (&str, &str) {
    let name = name.rsplit('/').next().unwrap_or(name);
    let name = name.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
    let bytes = name.as_bytes();
    let begins = |at: usize| match bytes[..at].last() {
        Some(before) if before.is_ascii_alphanumeric() => {
            bytes[at].is_ascii_uppercase() && !before.is_ascii_uppercase()
        }
        _ => true,
    };
    name.split_at((0..name.len()).rev().find(|at| begins(*at)).unwrap_or_default())
}

fn ends_with(text: &str, end: &str) -> bool {
    let bytes = text.as_bytes();
    bytes
        .len()
        .checked_sub(end.len())
        .is_some_and(|at| bytes[at..].eq_ignore_ascii_case(end.as_bytes()))
}

/// A working directory and a file with credentials are told by their paths; a count is none either.
pub fn is_harmless(key: &str, value: &str) -> bool {
    let value = value.trim_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\'));
    let is_count = value.len() < 4 && value.bytes().all(|byte| byte.is_ascii_digit());
    let is_path = value.starts_with('/') && !value.contains(char::is_whitespace);
    let is_folder = ["pwd", "oldpwd"].into_iter().any(|name| key.eq_ignore_ascii_case(name));
    let has_path = is_folder || ends_with(key, "credentials");
    let is_answer = ANSWERS.iter().any(|answer| value.eq_ignore_ascii_case(answer));
    is_answer || is_count || (has_path && is_path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_tells_by_its_last_word() {
        for key in [
            "password",
            "db_password",
            "API_KEY",
            "bind-secret",
            "pwd",
            "PSK",
            "wifiPsk",
            "a/pwd",
            "user_pw",
            "rootpw",
            "dbPass",
            "PGPASS",
            "example.com/pass",
            "credentials",
            "cloudCredentials",
            ".dockerconfigjson",
        ] {
            assert!(tells_a_secret(key, "hunter2"), "{key}");
        }
    }

    #[test]
    fn other_words_that_end_alike_tell_nothing() {
        for key in [
            "bypass",
            "byPass",
            "compass",
            "proxy_pass",
            "first-pass",
            "secretName",
            "tokenTTL",
            "credentialsRequest",
            "credentialsMode",
            "credentialsName",
            "cloud-credential",
            "passes",
            "pwdx",
            "httpw",
            "",
        ] {
            assert!(!tells_a_secret(key, "hunter2"), "{key}");
        }
    }

    #[test]
    fn under_a_short_key_answers_counts_and_folders_stay() {
        for (key, value) in [
            ("PWD", "/root"),
            ("OLDPWD", "/"),
            ("GOOGLE_APPLICATION_CREDENTIALS", "/etc/gcp/account.json"),
            ("cors-allow-credentials", "true"),
            ("pass", "12"),
            ("psk", ""),
        ] {
            assert!(!tells_a_secret(key, value), "{key}");
        }
        assert!(tells_a_secret("db_pwd", "/root") && tells_a_secret("pass", "1234"));
        assert!(tells_a_secret("password", "12"), "a long one needs no such care");
    }
}
