//! `pem.Decode` and `x509.ParseCertificate`, as `validate.CABundle` calls them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::certificate;

/// Why a text is not a bundle of certificates and nothing else.
pub(crate) fn bundle_fault(text: &str) -> Option<String> {
    let mut rest = text;
    loop {
        let Some((block, after)) = decode(rest) else { return Some("invalid block".into()) };
        if let Some(fault) = certificate::fault(&block) {
            return Some(fault);
        }
        if after.is_empty() {
            return None;
        }
        rest = after;
    }
}

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";

/// The next block and what follows its last line.
fn decode(text: &str) -> Option<(Vec<u8>, &str)> {
    let mut rest = text;
    loop {
        let start = if rest.starts_with(BEGIN) { 0 } else { rest.find("\n-----BEGIN ")? + 1 };
        let (line, body) = split_line(&rest[start + BEGIN.len()..]);
        let Some(name) = line.strip_suffix("-----") else {
            rest = body;
            continue;
        };
        // An empty block has its end right behind its beginning.
        let (content, end) = if body.starts_with(END) {
            ("", body)
        } else {
            let at = body.find("\n-----END ")?;
            (&body[..at], &body[at + 1..])
        };
        let (end_line, after) = split_line(&end[END.len()..]);
        let decoded = (end_line.strip_suffix("-----") == Some(name)).then(|| {
            let joined: String = without_headers(content).split_ascii_whitespace().collect();
            STANDARD.decode(joined).ok()
        });
        match decoded.flatten() {
            Some(bytes) => return Some((bytes, after)),
            None => rest = body,
        }
    }
}

fn split_line(text: &str) -> (&str, &str) {
    let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
    (line.strip_suffix('\r').unwrap_or(line).trim_end_matches([' ', '\t']), rest)
}

fn without_headers(content: &str) -> &str {
    let mut rest = content;
    while !rest.is_empty() {
        let (line, after) = split_line(rest);
        if !line.contains(':') {
            break;
        }
        rest = after;
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_block_and_what_is_no_certificate() {
        for text in ["", "hello", "-----BEGIN CERTIFICATE-----\n%%%\n-----END CERTIFICATE-----\n"] {
            assert_eq!(bundle_fault(text).as_deref(), Some("invalid block"), "{text}");
        }
        let key = "-----BEGIN X-----\nAAAA\n-----END X-----\n";
        assert_eq!(bundle_fault(key).as_deref(), Some("x509: malformed certificate"));
        assert_eq!(decode("-----BEGIN X-----\nAAAA\n-----END X-----\n\n").unwrap().1, "\n");
    }
}
