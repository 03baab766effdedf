//! What the body of an HTTP answer says, in a few words. The body itself is not kept: what a Machine
//! Config Server serves holds keys.

use serde::{Deserialize, Serialize};

use crate::reach::shown;

/// What is kept of the lines of a health check.
const CHECK_BYTES: usize = 4 << 10;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Body {
    /// An Ignition config, of this version of its specification.
    Ignition(String),
    /// The version that an API server gives itself.
    Version(String),
    /// The lines of `/readyz?verbose`, failed ones first.
    Checks(Vec<String>),
    /// JSON of another kind.
    Json,
}

#[derive(Deserialize)]
struct Known {
    #[serde(default)]
    ignition: Option<Ignition>,
    #[serde(default, rename = "gitVersion")]
    git_version: Option<String>,
}

#[derive(Deserialize)]
struct Ignition {
    version: String,
}

/// Nothing for a body that is of no known kind.
pub fn read(body: &[u8]) -> Option<Body> {
    if let Ok(known) = serde_json::from_slice::<Known>(body) {
        return Some(match (known.ignition, known.git_version) {
            (Some(ignition), _) => Body::Ignition(shown(ignition.version)),
            (None, Some(version)) => Body::Version(shown(version)),
            (None, None) => Body::Json,
        });
    }
    if serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok() {
        return Some(Body::Json);
    }
    let lines = checks(body);
    (!lines.is_empty()).then_some(Body::Checks(lines))
}

fn checks(body: &[u8]) -> Vec<String> {
    let lines = || body.split(|byte| *byte == b'\n');
    let failed = lines().filter(|line| line.starts_with(b"[-]"));
    let passed = lines().filter(|line| line.starts_with(b"[+]"));
    let mut left = CHECK_BYTES;
    let fits = |line: &String| {
        let fits = line.len() <= left;
        left = left.saturating_sub(line.len());
        fits
    };
    failed.chain(passed).map(shown).take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_told_in_a_few_words() {
        let config = br#"{"ignition":{"version":"3.2.0","security":{}},"storage":{"files":[]}}"#;
        assert_eq!(read(config), Some(Body::Ignition("3.2.0".into())));
        let version = br#"{"major":"1","gitVersion":"v1.31.6","platform":"linux/amd64"}"#;
        assert_eq!(read(version), Some(Body::Version("v1.31.6".into())));
        assert_eq!(read(b"[1,2]"), Some(Body::Json));
        assert_eq!(read(br#"{"ignition":{}}"#), Some(Body::Json), "without a version it is none");
        assert_eq!(read(b"ok"), None);
        assert_eq!(read(b""), None);
        assert_eq!(read(&br#"{"ignition":{"version":"3.2.0"}"#[..]), None, "cut off");
    }

    #[test]
    fn of_a_health_check_only_the_checks_are_kept_failed_ones_first() {
        let body =
            b"[+]ping ok\n[-]etcd failed: reason withheld\ntoken: abc\nreadyz check failed\n";
        let lines = vec!["[-]etcd failed: reason withheld".to_string(), "[+]ping ok".into()];
        assert_eq!(read(body), Some(Body::Checks(lines)));
        let long = format!("{}[-]last failed\n", "[+]one of very many checks ok\n".repeat(1000));
        let Some(Body::Checks(lines)) = read(long.as_bytes()) else { panic!() };
        assert_eq!(lines[0], "[-]last failed");
        assert!(lines.iter().map(String::len).sum::<usize>() <= CHECK_BYTES);
    }
}
