//! What looks like a secret. Most texts hold none, and many are asked, so a pattern is only tried, and only
//! compiled, where one of its words stands.

use std::borrow::Cow;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::AhoCorasick;
use regex::Regex;

use super::keyed::{
    Judge, is_block, is_entry, is_given, is_key_itself, is_line, is_of_pair, is_random, is_spoken,
};

/// What is taken out already stays as it is.
const VALUE: &str = r#"(?:\[redacted[^\]\n]{0,40}\]|"(?:[^"\\]|\\.)*"?|\\+"[^"]*"?|'(?:[^']|'')*'?|[^\s"',;&})\]|>][^\s"',;&})\]]*)"#;

/// What is no word and no name: it begins with capitals and digits and goes on, or is a long number to the base of
/// sixteen.
const RANDOM: &str =
    r#"(?:\w*(?:[A-Z+=~][\w+=~]*[0-9]|[0-9][\w+=~]*[A-Z+=~])[^\s"',;]{6,}|[0-9a-f]{24,})"#;

/// Of a command line.
const ARGUMENT: &str =
    r#"(?:\[redacted[^\]\n]{0,40}\]|"[^"\n]*"?|'[^'\n]*'?|[^\s"'\\-](?:[^\s"'\\]|\\[^\s"'])*)"#;

const BEHIND: &str = "${1}[redacted]";
const KEY: &str = "[redacted private key]";

/// Of what was taken for a value and is none: up to here it is looked at again.
const LONGEST_AGAIN: usize = 512;

struct Secret {
    /// In small letters; a text with none of them does not match.
    words: &'static [&'static str],
    /// `VALUE`, `RANDOM` and `ARGUMENT` stand for themselves.
    pattern: &'static str,
    with: &'static str,
    /// Who is asked where the pattern alone does not tell.
    judge: Option<Judge>,
    compiled: OnceLock<Regex>,
}

const fn secret(
    words: &'static [&'static str],
    pattern: &'static str,
    with: &'static str,
) -> Secret {
    Secret { words, pattern, with, judge: None, compiled: OnceLock::new() }
}

const fn judged(words: &'static [&'static str], pattern: &'static str, judge: Judge) -> Secret {
    Secret { words, pattern, with: BEHIND, judge: Some(judge), compiled: OnceLock::new() }
}

const PASSWORDS: &[&str] = &["password", "passwd", "passphrase"];
const SHORT: &[&str] = &["pwd", "psk", "pass", "pw", "credentials"];
const ALL: &[&str] = &["password", "passwd", "passphrase", "token", "secret", "key"];

/// In this order: what one leaves, the next may see.
static SECRETS: [Secret; 55] = [
    secret(
        &["private key"],
        r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
        KEY,
    ),
    // The same in base64: PRIVATE, RSA, EC, OPENSSH and ENCRYPTED.
    secret(
        &["ls0tls1crudjti"],
        r"LS0tLS1CRUdJTi(?:BQUklWQVRF|BSU0EgUFJJVkFURS|BFQyBQUklWQVRF|BPUEVOU1NI|BFTkNSWVBURUQ)[A-Za-z0-9+/]*={0,2}",
        KEY,
    ),
    secret(
        &["authorization"],
        r#"(?i)(authorization\\*["']?[ \t]*[:=][ \t]*\\*["']?\[?(?:bearer|basic)\s+)[^\s"',\\\[\]]+"#,
        BEHIND,
    ),
    secret(&["bearer"], r"(?i)\b(bearer\s+)[a-z0-9._~+/=-]{16,}", BEHIND),
    secret(
        &["basic"],
        r"\b([Bb]asic\s+)[A-Za-z0-9+/]{4,}(?:[0-9][A-Za-z0-9+/]{2,}={0,2}|={1,2})\b{end-half}",
        BEHIND,
    ),
    secret(
        &["eyj"],
        r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)?",
        "[redacted]",
    ),
    secret(&["sha256~"], r"\bsha256~[A-Za-z0-9_-]{20,}", "[redacted]"),
    // Of a cookie everything is.
    secret(&["cookie"], r#"\b((?:[Ss]et-[Cc]|C)ookie\\*["']?: ?)[^\r\n]+"#, BEHIND),
    // In block style the rest of the line is the value, whatever stands in it.
    secret(
        PASSWORDS,
        r#"(?im)^([ \t]*(?:- )?["']?[a-z0-9_.-]*(?:password|passwd|passphrase)["']?:[ \t]+)[^\s"'{\[|>&*!#][^\n]*$"#,
        BEHIND,
    ),
    // Of these a word is: a sentence tells of them.
    secret(
        &["token", "secret", "key"],
        r#"(?im)^([ \t]*(?:- )?["']?[a-z0-9_.-]*(?:token|api[_-]?key|access[_-]?key|client[_-]?secret|secret[_-]?key|private[_-]?key|client-key-data)["']?:[ \t]+)[^\s"'{\[|>&*!#]\S*[ \t]*$"#,
        BEHIND,
    ),
    secret(
        PASSWORDS,
        r#"(?i)((?:password(?:[_-]?hash)?|passwd|passphrase)\\*["']?[ \t]*(?:=[=>]?|:=?)[ \t]*)VALUE"#,
        BEHIND,
    ),
    secret(&["password"], r#"(?i)\b(password(?:[ \t]+is)?:?[ \t]+\\*")[^"\\]+"#, BEHIND),
    // A block that stands below its key: most are one line.
    secret(
        PASSWORDS,
        r#"(?im)^([ \t]*(?:- )?["']?[a-z0-9_.-]*(?:password|passwd|passphrase)["']?:[ \t]+[|>][-+0-9]*[ \t]*\r?\n[ \t]+)[^\n]+"#,
        BEHIND,
    ),
    secret(
        &["token", "secret", "key", "psk"],
        r#"(?i)((?:token|secret|api[_-]?key|access[_-]?key|\bpsk)(?:\\*["'])?[ \t]*=[=>]?[ \t]*)VALUE"#,
        BEHIND,
    ),
    judged(
        SHORT,
        r#"(?im)^([ \t]*(?:- )?["']?([a-z0-9_.-]*(?:pwd|psk|pass|pw))["']?:[ \t]+)([^\s"'{\[|>&*!#][^\n]*)$"#,
        is_line,
    ),
    judged(
        SHORT,
        r#"((?i:pwd|psk|pass|pw|credentials)(\\*["']?)([ \t]*[:=][ \t]*))(VALUE)"#,
        is_entry,
    ),
    judged(
        SHORT,
        r#"(?im)^([ \t]*(?:- )?["']?([a-z0-9_.-]*(?:pwd|psk|pass|pw|credentials))["']?:[ \t]+[|>][-+0-9]*[ \t]*\r?\n[ \t]+)[^\n]+"#,
        is_block,
    ),
    // What services call their own tokens.
    secret(
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})",
        "[redacted]",
    ),
    secret(&["glpat-"], r"\bglpat-[A-Za-z0-9_-]{16,}", "[redacted]"),
    secret(&["hvs.", "hvb.", "hvr."], r"\bhv[sbr]\.[A-Za-z0-9_-]{20,}", "[redacted]"),
    secret(&["xox", "xapp-"], r"\b(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,}", "[redacted]"),
    secret(&["hooks.slack.com"], r"(\bhooks\.slack\.com/services/)[A-Za-z0-9/]+", BEHIND),
    // With the secret key, where it stands right behind.
    secret(
        &["akia", "asia"],
        r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b(?:[:,][ \t]*[A-Za-z0-9/+]{40}\b)?",
        "[redacted]",
    ),
    secret(&["requirepass"], r"(\brequirepass[ \t]+)\S+", BEHIND),
    secret(&["community"], r"(?i)(\bsnmp\S*[^\n]{0,20}\bcommunity[ \t]+)\S+", BEHIND),
    secret(&["community"], r"(?i)(\b(?:ro|rw|trap)community6?[ \t]+)VALUE", BEHIND),
    secret(
        &["com2sec"],
        r"(\bcom2sec6?[ \t]+(?:-Cn[ \t]+\S+[ \t]+)?\S+[ \t]+\S+[ \t]+)VALUE",
        BEHIND,
    ),
    // Of a netrc, and of sentences that speak alike.
    secret(
        &["login"],
        r"\b((?:machine[ \t]+\S+|default)(?:\s|\\n)+login[ \t]+\S+?(?:\s|\\n)+password[ \t]+)VALUE",
        BEHIND,
    ),
    judged(
        PASSWORDS,
        r#"(?i)(\b(?:(?:login|user|username|account)[ \t:=]+["']?[^\s"':=,]+["']?,?[ \t]+(?:(?:with|and)[ \t]+)?password|new[ \t]+password|luks[ \t]+(?:passphrase|password))[ \t]+)(VALUE)"#,
        is_spoken,
    ),
    judged(
        &["password"],
        r#"(?i)(\b(?:password[ \t]+is[ \t]*:|(?:set|setting|change|changed|changing|reset|resetting)[ \t]+(?:the[ \t]+)?password[ \t]+(?:for|of)[ \t]+(?:(?:user|account)[ \t]+)?["']?[^\s"']+["']?[ \t]+to)[ \t]+)(VALUE)"#,
        is_given,
    ),
    // Only of those who are a machine's own: otherwise it is a namespace and a name.
    judged(
        &["login", "credentials"],
        r#"(?i)(\b(?:login|credentials)[ \t:=]+["']?(?:admin|administrator|root|userid|kubeadmin|core)/)(VALUE)"#,
        is_of_pair,
    ),
    judged(
        &["token", "key"],
        r"(?i)(\b(?:(?:agent|auth)[_-]token|(?:x-)?api[_-]key|(?:access|secret)[_-]key)[ \t]+)(VALUE)",
        is_random,
    ),
    judged(
        &["key"],
        r"(?i)((?:(?:private|pre-?shared|secret)[_-]?key|\brd\.luks\.key)[ \t]*=[=>]?[ \t]*)(VALUE)",
        is_key_itself,
    ),
    // Of a URL that whoever has it may use.
    secret(
        &["sig=", "signature="],
        r#"(?i)((?:\bx-(?:amz|goog)-signature|(?:[?&;]|\\u0026)(?:sig|signature))=)[^\s&"'<>\\,;]+"#,
        BEHIND,
    ),
    // `\u003c` is how Go writes `<` into JSON.
    secret(
        &["</", r"\u003c/", "&lt;/"],
        r"(?i)((?:<|\\u003c|&lt;)(?:[a-z0-9]+:)?[a-z0-9_.-]*(?:password|passwd|passphrase|pwd|psk|pass|token|secret|api_?key|access_?key|private_?key)(?:[ \t][^<>\n]*?)?(?:>|\\u003e|&gt;)(?:<!\[CDATA\[)?)[^\s<][^<\n]*?((?:\]\]>)?(?:<|\\u003c|&lt;)/)",
        "${1}[redacted]${2}",
    ),
    // A line of /etc/shadow.
    secret(
        &[":$"],
        r"(?m)(^|\s)([a-z_][a-z0-9_-]*:)\$[0-9a-z]{1,3}\$[^\s:]+",
        "${1}${2}[redacted]",
    ),
    // What crypt makes, wherever it stands.
    secret(
        &["$1$", "$5$", "$6$", "$7$", "$y$", "$gy$", "$2a$", "$2b$", "$2x$", "$2y$", "$argon2"],
        r"\$(?:[1567]|g?y|2[abxy]|argon2i?d?)\$(?:[A-Za-z0-9./=,+-]+\$){1,4}[A-Za-z0-9./+]{8,}",
        "[redacted]",
    ),
    secret(
        &["token", "secret", "key"],
        r#"(?i)(["'][a-z_.-]*(?:token|secret|api[_-]?key|access[_-]?key)\\*["'][ \t]*:[ \t]*)VALUE"#,
        BEHIND,
    ),
    secret(
        &["secret", "key", "x-auth-token"],
        r#"(?i)\b((?:api[_-]?key|access[_-]?key|secret[_-]?key|client[_-]?secret|client-key-data|x-auth-token)\\*["']?[ \t]*:[ \t]*)VALUE"#,
        BEHIND,
    ),
    // A secret may be called by its name and a token be "expired": only what looks like one is one.
    secret(
        &["token", "secret"],
        r#"((?i:token|secret)\\*["']?[ \t]*:[ \t]*\\*["']?)RANDOM"#,
        BEHIND,
    ),
    secret(&["token"], r"(?i)(\btoken\b[^\n]{0,40}?\b)[a-z0-9]{6}\.[a-z0-9]{16}\b", BEHIND),
    // Of command lines.
    secret(
        ALL,
        r#"(?i)((?:^|\s)--[a-z0-9-]*(?:token|password|passwd|passphrase|secret|api-?key|access-?key|pwd|psk)[ =])(?:"[^"\n]*"?|'[^'\n]*'?|[^\s"'-][^\s"']*)"#,
        BEHIND,
    ),
    secret(
        &["curl", "etcdctl"],
        r#"(\b(?:curl|etcdctl)\b[^\n]*?\s(?:-u|--user)[ =]?["'][^:"'\n]+:)[^"'\n]+"#,
        BEHIND,
    ),
    secret(
        &["curl", "etcdctl"],
        r#"(\b(?:curl|etcdctl)\b[^\n]*?\s(?:-u|--user)[ =]?[^\s:"']+:)[^\s"']+"#,
        BEHIND,
    ),
    // Of skopeo.
    secret(
        &["creds", "etcdctl_user"],
        r#"((?:--(?:src-|dest-)?creds[ =]|\bETCDCTL_USER=)["']?[^\s:"'/]+:)[^\s"']+"#,
        BEHIND,
    ),
    secret(
        &["sshpass", "racadm", "login"],
        r#"(\b(?:sshpass\b[^\n]*?\s-p ?|(?:racadm|(?:oc|podman|docker|skopeo|buildah|helm)(?:[ \t]+\S+){0,3}?[ \t]+login)\b[^\n]*?\s-p[ =]))ARGUMENT"#,
        BEHIND,
    ),
    secret(
        &["racadm", "user set password"],
        r#"(?i)(\b(?:racadm\b[^\n]*?[ \t]set[ \t]+[a-z0-9.]+\.password|user[ \t]+set[ \t]+password[ \t]+[0-9]+)[ \t]+)ARGUMENT"#,
        BEHIND,
    ),
    secret(
        &["chpasswd", "--stdin"],
        r#"(\b(?:echo|printf)(?:[ \t]+-[a-z]+)*[ \t]+["']?(?:[a-z_][a-z0-9_-]*:)?)[^\n|;]+?(["']?[ \t]*\|[ \t]*(?:sudo[ \t]+)?(?:chpasswd|passwd[ \t]+--stdin))"#,
        "${1}[redacted]${2}",
    ),
    secret(
        &["chpasswd"],
        r#"(\bchpasswd(?:[ \t]+-\S+)*[ \t]+(?:<<<[ \t]*)?["']?[a-z_][a-z0-9_-]*:)[^\s"']+"#,
        BEHIND,
    ),
    secret(&["mysql"], r#"(\bmysql\w*\b[^\n]*?\s-p["']?)[^\s"'-][^\s"']*"#, BEHIND),
    secret(&["ipmitool"], r#"(\bipmitool\b[^\n]*?\s-P ?["']?)[^\s"']+"#, BEHIND),
    // A variable of a container.
    secret(
        ALL,
        r#"(name: *["']?[A-Z0-9_]*(?:PASSWORD|PASSWD|TOKEN|SECRET|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY)["']?[ \t]*\r?\n[ \t]*value: *)[^\n]+"#,
        BEHIND,
    ),
    secret(
        ALL,
        r#"(\\*"name\\*":[ \t]*\\*"[A-Z0-9_]*(?:PASSWORD|PASSWD|TOKEN|SECRET|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY)\\*",[ \t]*\\*"value\\*":[ \t]*\\*")[^"\\]+"#,
        BEHIND,
    ),
    secret(&["auth"], r#"(\bauth\\*"[ \t]*:[ \t]*\\*")[^"\\]+"#, BEHIND),
    // Of a password with a slash in it, Go takes the first part for a port.
    secret(&["invalid port"], r#"(invalid port \\*")[^"\\]+"#, BEHIND),
];

impl Secret {
    fn regex(&self) -> &Regex {
        self.compiled.get_or_init(|| {
            let pattern = self.pattern.replace("VALUE", VALUE).replace("RANDOM", RANDOM);
            compiled(&pattern.replace("ARGUMENT", ARGUMENT))
        })
    }

    fn replaced<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.judge {
            None => self.regex().replace_all(text, self.with),
            Some(judge) => self.replaced_where(text, judge),
        }
    }

    fn replaced_where<'t>(&self, text: &'t str, judge: Judge) -> Cow<'t, str> {
        let mut out = String::new();
        let (mut done, mut at) = (0, 0);
        while let Some(found) = self.regex().captures_at(text, at) {
            let (Some(whole), Some(key)) = (found.get(0), found.get(1)) else { break };
            let is_short = whole.end() - key.end() <= LONGEST_AGAIN;
            at = if judge(text, &found) {
                out.push_str(&text[done..whole.start()]);
                found.expand(self.with, &mut out);
                done = whole.end();
                done
            } else if is_short {
                // What is no value may have keys in it: `credentials={pwd=x`.
                key.end()
            } else {
                whole.end()
            };
        }
        if done == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(&text[done..]);
        Cow::Owned(out)
    }
}

struct Words {
    search: AhoCorasick,
    /// By number of the word: its secrets, a bit each.
    secrets: Vec<u64>,
}

#[expect(clippy::expect_used, reason = "the words are constants, and a test builds them all")]
static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let mut words: Vec<&str> = SECRETS.iter().flat_map(|secret| secret.words).copied().collect();
    words.sort_unstable();
    words.dedup();
    let of = |word: &&str| {
        let bits = SECRETS.iter().enumerate().filter(|(_, secret)| secret.words.contains(word));
        bits.fold(0_u64, |bits, (at, _)| bits | 1 << at)
    };
    let secrets = words.iter().map(of).collect();
    let search = AhoCorasick::builder().ascii_case_insensitive(true).build(&words);
    Words { search: search.expect("constant words"), secrets }
});

/// What stands in for each secret in `text`.
pub fn replaced(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    let found = WORDS.search.find_overlapping_iter(text.as_ref());
    let mut possible = found.fold(0, |bits, word| bits | WORDS.secrets[word.pattern().as_usize()]);
    while possible != 0 {
        let secret = &SECRETS[possible.trailing_zeros() as usize];
        possible &= possible - 1;
        if let Cow::Owned(cleaned) = secret.replaced(&text) {
            text = Cow::Owned(cleaned);
        }
    }
    text
}

#[expect(clippy::expect_used, reason = "the patterns are constants, and a test compiles them all")]
pub fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("constant pattern")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles_and_has_its_words() {
        assert!(SECRETS.len() <= 64, "a bit each");
        for secret in &SECRETS {
            assert!(secret.regex().as_str().len() >= secret.pattern.len());
            assert!(!secret.words.is_empty());
            assert!(secret.words.iter().all(|word| *word == word.to_ascii_lowercase()));
        }
    }
}
