//! `ssh.ParseAuthorizedKey`: the type of the first public key of a text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

pub(crate) const NO_KEY: &str = "ssh: no key found";

pub(crate) fn key_type(text: &str) -> Option<String> {
    text.split('\n').find_map(|line| {
        let line = line.split('\r').next().unwrap_or_default().trim();
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        let behind_type = &line[line.find([' ', '\t'])?..];
        blob_type(behind_type).or_else(|| {
            let entry = behind_options(line)?;
            blob_type(&entry[entry.find([' ', '\t'])?..])
        })
    })
}

/// What follows a leading field of options, in which quotes may hold spaces.
fn behind_options(line: &str) -> Option<&str> {
    let bytes = line.as_bytes();
    let mut quoted = false;
    let mut end = None;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b' ' | b'\t' if !quoted => {
                end = Some(at);
                break;
            }
            b'"' if at == 0 || bytes[at - 1] != b'\\' => quoted = !quoted,
            _ => {}
        }
    }
    let rest = line[end?..].trim_start_matches([' ', '\t']);
    (!rest.is_empty()).then_some(rest)
}

fn blob_type(text: &str) -> Option<String> {
    let text = text.trim();
    let encoded = text.split([' ', '\t']).next()?;
    let blob = STANDARD.decode(encoded).ok()?;
    let (name, rest) = field(&blob)?;
    let name = std::str::from_utf8(name).ok()?;
    let left = match name {
        "ssh-rsa" => {
            let (exponent, rest) = field(rest)?;
            let (_modulus, rest) = field(rest)?;
            exponent_is_usable(exponent).then_some(rest)?
        }
        "ssh-dss" => (0..4).try_fold(rest, |rest, _| field(rest).map(|(_, rest)| rest))?,
        "ssh-ed25519" => {
            let (key, rest) = field(rest)?;
            (key.len() == 32).then_some(rest)?
        }
        "ecdsa-sha2-nistp256" | "ecdsa-sha2-nistp384" | "ecdsa-sha2-nistp521" => {
            let (curve, rest) = field(rest)?;
            let (point, rest) = field(rest)?;
            point_fits(curve, point).then_some(rest)?
        }
        "sk-ssh-ed25519@openssh.com" => {
            let (key, rest) = field(rest)?;
            let (_application, rest) = field(rest)?;
            (key.len() == 32).then_some(rest)?
        }
        "sk-ecdsa-sha2-nistp256@openssh.com" => {
            let (curve, rest) = field(rest)?;
            let (point, rest) = field(rest)?;
            let (_application, rest) = field(rest)?;
            point_fits(curve, point).then_some(rest)?
        }
        // The inside of a certificate is not followed.
        other if other.ends_with("-cert-v01@openssh.com") => &[],
        _ => return None,
    };
    left.is_empty().then(|| name.to_string())
}

fn field(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_be_bytes(*length) as usize)
}

fn exponent_is_usable(bytes: &[u8]) -> bool {
    let digits: Vec<_> = bytes.iter().copied().skip_while(|b| *b == 0).collect();
    let value = digits.iter().fold(0u64, |value, b| value.wrapping_shl(8) | u64::from(*b));
    digits.len() <= 3 && value >= 3 && value & 1 == 1
}

/// The right length for its curve, uncompressed. Whether it lies on the curve is not computed.
fn point_fits(curve: &[u8], point: &[u8]) -> bool {
    let length = match curve {
        b"nistp256" => 65,
        b"nistp384" => 97,
        b"nistp521" => 133,
        _ => return false,
    };
    point.len() == length && point.first() == Some(&4)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ED25519: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f me@here";

    #[test]
    fn the_type_of_a_key() {
        assert_eq!(key_type(ED25519).as_deref(), Some("ssh-ed25519"));
        assert_eq!(
            key_type(&format!("# c\n\nrestrict,command=\"a b\" {ED25519}\r\n")).as_deref(),
            Some("ssh-ed25519")
        );
        assert_eq!(key_type(&ED25519.replace("AAAAC3", "AAAAD3")), None);
        for wrong in ["", "ssh-rsa", "ssh-rsa AAAA", "AAAAC3NzaC1lZDI1NTE5", "-----BEGIN"] {
            assert_eq!(key_type(wrong), None, "{wrong}");
        }
    }
}
