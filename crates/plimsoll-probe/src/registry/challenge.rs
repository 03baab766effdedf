//! What a registry wants to be told first: the header `WWW-Authenticate`.

use std::collections::BTreeMap;

/// Nobody needs more to say what he wants.
const LONGEST: usize = 8 << 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Challenge {
    Basic,
    /// A token from somebody else.
    Bearer {
        realm: String,
        service: Option<String>,
        scope: Option<String>,
    },
    /// Another scheme, by its name in lower case, or one that lacks what it needs.
    Other(String),
}

/// All that are offered, in their order.
pub fn read(header: &[u8]) -> Vec<Challenge> {
    let text = match std::str::from_utf8(header) {
        Ok(text) if text.len() <= LONGEST => text,
        _ => return Vec::new(),
    };
    let mut offered: Vec<(String, BTreeMap<String, String>)> = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let (word, after) = token(rest);
        if word.is_empty() {
            break;
        }
        match value(after) {
            Some((value, after)) => {
                if let Some((_, parameters)) = offered.last_mut() {
                    parameters.entry(word.to_ascii_lowercase()).or_insert(value);
                }
                rest = after;
            }
            None => {
                offered.push((word.to_ascii_lowercase(), BTreeMap::new()));
                rest = after;
            }
        }
    }
    offered.into_iter().map(|(scheme, parameters)| challenge(scheme, parameters)).collect()
}

fn challenge(scheme: String, mut parameters: BTreeMap<String, String>) -> Challenge {
    match (scheme.as_str(), parameters.remove("realm")) {
        ("basic", _) => Challenge::Basic,
        ("bearer", Some(realm)) => Challenge::Bearer {
            realm,
            service: parameters.remove("service"),
            scope: parameters.remove("scope"),
        },
        _ => Challenge::Other(scheme),
    }
}

fn token(text: &str) -> (&str, &str) {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~/".contains(&byte);
    text.split_at(text.bytes().take_while(|byte| fits(*byte)).count())
}

/// Of `= value` or `= "value"`; nothing where no equals sign follows.
fn value(text: &str) -> Option<(String, &str)> {
    let rest = text.trim_start_matches([' ', '\t']).strip_prefix('=')?;
    let rest = rest.trim_start_matches([' ', '\t']);
    let Some(quoted) = rest.strip_prefix('"') else {
        let (word, after) = token(rest);
        // The padding of base64, which no parameter that is read here has.
        return Some((word.into(), after.trim_start_matches('=')));
    };
    let mut value = String::new();
    let mut characters = quoted.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => break,
            '\\' => value.extend(characters.next()),
            other => value.push(other),
        }
    }
    Some((value, characters.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bearer(realm: &str, service: Option<&str>, scope: Option<&str>) -> Challenge {
        let [service, scope] = [service, scope].map(|text| text.map(String::from));
        Challenge::Bearer { realm: realm.into(), service, scope }
    }

    #[test]
    fn challenges_are_read_as_registries_write_them() {
        let quay = br#"Bearer realm="https://quay.io/v2/auth",service="quay.io""#;
        assert_eq!(read(quay), [bearer("https://quay.io/v2/auth", Some("quay.io"), None)]);
        let scoped = br#"bearer Realm = "https://a/t?x=1,2" , scope="repository:a/b:pull,push""#;
        assert_eq!(
            read(scoped),
            [bearer("https://a/t?x=1,2", None, Some("repository:a/b:pull,push"))]
        );
        let both = br#"Negotiate, Basic realm="x, Bearer y", Bearer realm=https://a"#;
        let [negotiate, basic, _] = &read(both)[..] else { panic!("{:?}", read(both)) };
        assert_eq!((negotiate, basic), (&Challenge::Other("negotiate".into()), &Challenge::Basic));
        assert_eq!(read(b"Bearer"), [Challenge::Other("bearer".into())]);
        assert_eq!(read(b"Basic"), [Challenge::Basic]);
    }

    #[test]
    fn what_is_no_challenge_ends_in_nothing() {
        for odd in [&b""[..], b"\xff", b"=", b"\"", b",,,", b"= \"x", &[b'a'; LONGEST + 1]] {
            assert_eq!(read(odd), []);
        }
        assert_eq!(read(br#"Bearer realm="a\"#), [bearer("a", None, None)], "cut off");
    }
}
