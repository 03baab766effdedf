//! Names by RFC 1123, with the sentences of Kubernetes.

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
     characters, '-' or '.', and must start and end with an alphanumeric character (e.g. \
     'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// Every objection, as `IsDNS1123Subdomain` lists them.
pub(crate) fn subdomain_faults(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if text.len() > 253 {
        faults.push("must be no more than 253 characters".to_string());
    }
    if !text.split('.').all(is_label) {
        faults.push(SUBDOMAIN.to_string());
    }
    faults
}

fn is_label(text: &str) -> bool {
    let alphanumeric = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|b| alphanumeric(*b))
        && bytes.last().is_some_and(|b| alphanumeric(*b))
        && bytes.iter().all(|b| alphanumeric(*b) || *b == b'-')
}

/// The objections as one sentence.
pub(crate) fn subdomain_fault(text: &str) -> Option<String> {
    aggregate(subdomain_faults(text))
}

/// How Kubernetes joins several errors.
pub(crate) fn aggregate(mut faults: Vec<String>) -> Option<String> {
    match faults.len() {
        0 => None,
        1 => faults.pop(),
        _ => Some(format!("[{}]", faults.join(", "))),
    }
}

/// `validate.DomainName` with a trailing dot allowed.
pub(crate) fn domain_fault(text: &str) -> Option<String> {
    subdomain_fault(text.strip_suffix('.').unwrap_or(text))
}

pub(crate) fn no_proxy_domain_fault(text: &str) -> Option<String> {
    let text = text.strip_prefix('.').unwrap_or(text);
    subdomain_fault(text.strip_suffix('.').unwrap_or(text))
}

pub(crate) const LONGEST_CLUSTER_NAME: usize = 54;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subdomains() {
        assert_eq!(subdomain_fault("a-b.example.com"), None);
        assert_eq!(domain_fault("example.com."), None);
        for wrong in ["", "A", "-a", "a-", "a..b", "a_b", ".a", "é"] {
            assert!(subdomain_fault(wrong).unwrap().ends_with("*')"), "{wrong}");
        }
        let long = "a".repeat(254);
        assert_eq!(subdomain_fault(&long).unwrap(), "must be no more than 253 characters");
        let both = format!("{}_", long);
        assert!(subdomain_fault(&both).unwrap().starts_with("[must be no more"));
    }
}
