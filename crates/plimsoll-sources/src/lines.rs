//! Signatures in single lines that came without their log: whichever log a signature is meant for,
//! the line may have been copied from it.

use std::sync::Arc;

use plimsoll_model::snapshot::Signature;

use crate::matcher::{Matcher, Matchers};

pub struct LineScan {
    matcher: Option<Arc<Matcher>>,
}

impl LineScan {
    pub fn new(signatures: &[Signature]) -> Self {
        let (matchers, _) = Matchers::new(signatures);
        Self { matcher: matchers.for_any_log() }
    }

    /// Every signature in the line, by its place in the list, with its captures.
    pub fn find(&self, line: &str) -> Vec<(usize, Vec<(String, String)>)> {
        let mut found = Vec::new();
        if let Some(matcher) = &self.matcher {
            matcher.check(line.as_bytes(), &mut found);
        }
        let mut found: Vec<_> =
            found.into_iter().map(|found| (found.signature, found.captures)).collect();
        found.sort();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_matched_whatever_log_it_came_from() {
        let signature = |id: &str, text: &str, pattern: Option<&str>| Signature {
            id: id.into(),
            contains: vec![text.into()],
            pattern: pattern.map(str::to_string),
            logs: vec!["unit/kubelet".into()],
        };
        let scan = LineScan::new(&[
            signature("a", "dial tcp", Some(r"dial tcp (?P<host>\S+):")),
            signature("b", "expired", None),
        ]);
        let hosts = vec![("host".to_string(), "10.0.0.1".to_string())];
        assert_eq!(scan.find("x: dial tcp 10.0.0.1: timeout"), [(0, hosts)]);
        assert_eq!(scan.find("it has expired"), [(1, Vec::new())]);
        assert!(scan.find("").is_empty());
    }
}
