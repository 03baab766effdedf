//! Repository names of images, as containers/image takes them apart.

/// What `validateNamedRepository` has against a source or a mirror.
pub(crate) fn repository_fault(text: &str) -> Option<String> {
    match parse_named(text) {
        Ok(reference) if reference.name_only => None,
        Ok(_) => Some("must be repository--not reference".into()),
        Err(Fault::NotCanonical) => {
            let host = super::url::split_host_port(text).map_or(text, |(host, _)| host);
            host_fault(host).map(|fault| format!("the repository provided is invalid: {fault}"))
        }
        Err(Fault::Format(fault)) => Some(format!("failed to parse: {fault}")),
    }
}

fn host_fault(host: &str) -> Option<String> {
    match super::address::parse_ip(host) {
        Some(_) => None,
        None => crate::names::subdomain_fault(host),
    }
}

struct Reference {
    name_only: bool,
}

enum Fault {
    NotCanonical,
    Format(String),
}

fn parse_named(text: &str) -> Result<Reference, Fault> {
    let format = |fault: &str| Fault::Format(fault.to_string());
    if text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
        return Err(Fault::Format(format!(
            "invalid repository name ({text}), cannot specify 64-byte hexadecimal strings"
        )));
    }
    let (domain, remainder) = split_domain(text);
    let remote = remainder.split(':').next().unwrap_or_default();
    if remote.to_lowercase() != remote {
        return Err(format("invalid reference format: repository name must be lowercase"));
    }
    let whole = format!("{domain}/{remainder}");
    let Some((name, tail)) = matches(&whole) else {
        if matches(&whole.to_lowercase()).is_some() {
            return Err(format("repository name must be lowercase"));
        }
        return Err(format("invalid reference format"));
    };
    if name.len() > 255 {
        return Err(format("repository name must not be more than 255 characters"));
    }
    if whole != text {
        return Err(Fault::NotCanonical);
    }
    Ok(Reference { name_only: tail.is_empty() })
}

fn split_domain(text: &str) -> (String, String) {
    let (mut domain, mut remainder) = match text.split_once('/') {
        Some((first, rest)) if first.contains(['.', ':']) || first == "localhost" => {
            (first.to_string(), rest.to_string())
        }
        _ => ("docker.io".to_string(), text.to_string()),
    };
    if domain == "index.docker.io" {
        domain = "docker.io".into();
    }
    if domain == "docker.io" && !remainder.contains('/') {
        remainder = format!("library/{remainder}");
    }
    (domain, remainder)
}

/// The name and what follows it (tag and digest), if the whole is a reference.
fn matches(text: &str) -> Option<(&str, &str)> {
    let (before_digest, digest) = match text.find('@') {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    if digest.is_some_and(|digest| !is_digest(digest)) {
        return None;
    }
    // A colon behind the last slash begins a tag, unless the name is nothing but a domain and port.
    let slash = before_digest.rfind('/').map_or(0, |at| at + 1);
    let (name, tag) = match before_digest[slash..].find(':') {
        Some(at) => (&before_digest[..slash + at], Some(&before_digest[slash + at + 1..])),
        None => (before_digest, None),
    };
    if tag.is_some_and(|tag| !is_tag(tag)) || !is_name(name) {
        return None;
    }
    Some((name, &text[name.len()..]))
}

fn is_name(name: &str) -> bool {
    let (first, rest) = name.split_once('/').unwrap_or((name, ""));
    let path_only = name.split('/').all(is_component);
    path_only || (!rest.is_empty() && is_domain(first) && rest.split('/').all(is_component))
}

fn is_domain(text: &str) -> bool {
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    };
    let port_fits = port.is_none_or(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()));
    port_fits
        && host.split('.').all(|label| {
            let inner = label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
            !label.is_empty() && inner && !label.starts_with('-') && !label.ends_with('-')
        })
}

/// Lower case and digits, joined by one dot, one or two underscores, or any number of dashes.
fn is_component(text: &str) -> bool {
    let alphanumeric = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = text.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else { return false };
    alphanumeric(*first)
        && alphanumeric(*last)
        && bytes.split(|b| alphanumeric(*b)).all(|separator| {
            matches!(separator, [] | [b'.'] | [b'_'] | [b'_', b'_'])
                || separator.iter().all(|b| *b == b'-')
        })
}

fn is_tag(text: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    text.len() <= 128
        && text.bytes().next().is_some_and(word)
        && text.bytes().all(|b| word(b) || matches!(b, b'.' | b'-'))
}

fn is_digest(text: &str) -> bool {
    let Some((algorithm, hex)) = text.split_once(':') else { return false };
    let parts_fit = algorithm.split(['-', '_', '+', '.']).all(|part| {
        part.bytes().next().is_some_and(|b| b.is_ascii_alphabetic())
            && part.bytes().all(|b| b.is_ascii_alphanumeric())
    });
    parts_fit && hex.len() >= 32 && hex.bytes().all(|b| b.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories_and_what_is_none() {
        for fine in [
            "quay.io/ocp/release",
            "registry.lab:5000/a/b",
            "registry.lab:5000",
            "quay.io",
            "localhost/x",
        ] {
            assert_eq!(repository_fault(fine), None, "{fine}");
        }
        let fault = |text: &str| repository_fault(text).unwrap();
        assert_eq!(fault("quay.io/a/b:v1"), "must be repository--not reference");
        assert_eq!(
            fault("quay.io/A/b"),
            "failed to parse: invalid reference format: repository name must be lowercase"
        );
        assert_eq!(fault("http://quay.io/a"), "failed to parse: invalid reference format");
        assert_eq!(fault(""), "failed to parse: invalid reference format");
    }
}
