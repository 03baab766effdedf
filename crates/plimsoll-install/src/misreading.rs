//! Where a file says something else than the installer reads there. It takes both without a word.

use crate::place::Place;
use crate::refusal::File;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misreading {
    pub file: File,
    /// Dotted, of the keys as written.
    pub path: String,
    pub place: Place,
    pub what: Misread,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misread {
    /// A number or a word of YAML 1.1 in a field of text: `0123` is the text `83` there.
    Scalar {
        /// How many letters and digits stand there.
        width: usize,
        /// What is written and what is read; nothing of a secret.
        shown: Option<(String, String)>,
    },
    /// Two keys of one mapping that differ in case are one field, and the one that is read last wins.
    Key { wins: String, loses: String, other: Place },
}

/// Fields whose values are never shown.
const SECRETS: [&str; 2] = ["password", "pullSecret"];

impl Misreading {
    /// `None` where what is read is what is written.
    pub(crate) fn of_scalar(
        file: File,
        path: String,
        place: Place,
        written: &str,
        read: String,
    ) -> Option<Self> {
        if written == read {
            return None;
        }
        let key = last_key(&path);
        let is_secret = SECRETS.iter().any(|name| name.eq_ignore_ascii_case(key));
        let shown = (!is_secret).then(|| (written.to_string(), read));
        let what = Misread::Scalar { width: written.len(), shown };
        Some(Self { file, path, place, what })
    }
}

fn last_key(path: &str) -> &str {
    let last = path.rsplit('.').next().unwrap_or(path);
    last.split('[').next().unwrap_or(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str, written: &str, read: &str) -> Option<Misread> {
        let place = Place::START;
        Misreading::of_scalar(File::Install, path.into(), place, written, read.into())
            .map(|misreading| misreading.what)
    }

    #[test]
    fn a_text_that_stays_as_it_is_is_read_right() {
        assert_eq!(of("metadata.name", "123456", "123456"), None);
        let shown = Some(("no".to_string(), "false".to_string()));
        assert_eq!(of("metadata.name", "no", "false"), Some(Misread::Scalar { width: 2, shown }));
    }

    #[test]
    fn of_a_secret_nothing_is_kept() {
        for path in ["platform.baremetal.hosts[0].bmc.password", "PullSecret", "a.Password[0]"] {
            let misread = of(path, "0123", "83");
            assert_eq!(misread, Some(Misread::Scalar { width: 4, shown: None }), "{path}");
        }
    }
}
