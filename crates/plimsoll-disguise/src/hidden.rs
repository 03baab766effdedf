//! Names inside of what is encoded: they cannot be replaced there, so the whole goes.

use std::sync::LazyLock;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use regex::bytes::{Captures, Regex};

/// Lines of a PEM block, with what stands before them in each line; else one long word.
static ENCODED: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?x-u)
        -----BEGIN\ [A-Z0-9\ ]+----- (?P<pem> [^-]* ) -----END\ [A-Z0-9\ ]+-----
        | (?P<word> [A-Za-z0-9+/]{40,} ={0,2} )
        ",
    )
});

const ANY: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);
const GZIP: &[u8] = &[0x1f, 0x8b];
const DEEPEST: usize = 4;

#[expect(clippy::expect_used, reason = "the pattern is a constant, and every test uses it")]
fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("constant pattern")
}

/// `None` where nothing had to go.
pub fn without(text: &[u8], names: &dyn Fn(&[u8]) -> bool) -> Option<Vec<u8>> {
    let changed = ENCODED.replace_all(text, |found: &Captures<'_>| {
        let whole = &found[0];
        if !tells(found, names, 0) {
            return whole.to_vec();
        }
        // Other lines stay where they are.
        let breaks = whole.iter().filter(|byte| **byte == b'\n').count();
        let mut instead = b"removed".to_vec();
        instead.resize(instead.len() + breaks, b'\n');
        instead
    });
    match changed {
        std::borrow::Cow::Owned(changed) if changed != text => Some(changed),
        _ => None,
    }
}

fn tells(found: &Captures<'_>, names: &dyn Fn(&[u8]) -> bool, depth: usize) -> bool {
    let encoded: Vec<u8> = match (found.name("pem"), found.name("word")) {
        (Some(pem), _) => {
            pem.as_bytes().iter().filter(|b| !b.is_ascii_whitespace()).copied().collect()
        }
        (None, Some(word)) => word.as_bytes().to_vec(),
        (None, None) => return false,
    };
    // `\n` in a JSON string.
    let encoded: Vec<u8> = match found.name("pem") {
        Some(_) => String::from_utf8_lossy(&encoded).replace("\\n", "").into_bytes(),
        None => encoded,
    };
    let Ok(inside) = ANY.decode(&encoded) else { return false };
    if inside.starts_with(GZIP) || names(&inside) {
        return true;
    }
    // Certificates in a kubeconfig are encoded twice.
    depth < DEEPEST && ENCODED.captures_iter(&inside).any(|inner| tells(&inner, names, depth + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::STANDARD;

    fn said(text: &str) -> String {
        let names = |inside: &[u8]| inside.windows(8).any(|window| window == b"master-0");
        without(text.as_bytes(), &names)
            .map_or(text.into(), |other| String::from_utf8(other).unwrap())
    }

    fn pem(inside: &str) -> String {
        let encoded = STANDARD.encode(inside);
        let (first, second) = encoded.split_at(24);
        format!("-----BEGIN CERTIFICATE-----\n{first}\n{second}\n-----END CERTIFICATE-----")
    }

    #[test]
    fn a_certificate_goes_when_it_names_a_host_and_lines_stay() {
        let of_host = pem("a certificate of master-0, and more");
        assert_eq!(said(&format!("a: |\n{of_host}\nb")), "a: |\nremoved\n\n\n\nb");
        let of_nobody = pem("a certificate of an authority");
        assert_eq!(said(&of_nobody), of_nobody);
        let twice = STANDARD.encode(&of_host);
        assert_eq!(said(&format!("data: {twice}")), "data: removed");
        let in_json = of_host.replace('\n', "\\n");
        assert_eq!(said(&in_json), "removed");
    }
}
