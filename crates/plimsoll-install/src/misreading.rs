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
    /// A password without quotes of which YAML takes a part, or all, for a comment, an anchor or a tag.
    Cut,
    /// What stands behind the end of the first document is not read at all.
    Rest,
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

/// Passwords without quotes that do not reach the installer as they are written. A comment begins with a blank; what
/// else stands behind ` #` was meant to be read. An anchor or a tag has something behind it.
pub(crate) fn cut(file: File, text: &str) -> Vec<Misreading> {
    let lines = (1_u32..).zip(text.lines());
    let found = lines.filter_map(|(line, text)| {
        let bare = text.trim_start_matches([' ', '-']);
        let value = bare.strip_prefix("password:")?.strip_prefix(' ')?.trim();
        let is_plain = !value.starts_with(['"', '\'', '|', '>', '{', '[', '#']);
        let comment = value.find(" #").map(|at| &value[at + 2..]);
        let is_cut = comment.is_some_and(|rest| !rest.is_empty() && !rest.starts_with([' ', '#']));
        let is_alone = value.starts_with(['&', '!']) && value.len() > 1 && !value.contains(' ');
        let column = text.len() - bare.len() + 1;
        let place = Place { line, column: u32::try_from(column).unwrap_or(u32::MAX) };
        let path = "password".to_string();
        (is_plain && (is_cut || is_alone)).then_some(Misreading {
            file,
            path,
            place,
            what: Misread::Cut,
        })
    });
    found.collect()
}

/// The line that ends the first document, where something stands behind it.
pub(crate) fn rest(file: File, text: &str) -> Option<Misreading> {
    let is_content = |line: &str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with(['#', '%'])
    };
    let marks = |line: &str, mark: &str| {
        line.strip_prefix(mark).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
    };
    let mut lines = (1_u32..).zip(text.trim_start_matches('\u{feff}').lines());
    let begins = |(_, line): &(u32, &str)| is_content(line) && !marks(line, "---");
    lines.find(begins)?;
    let (line, ending) = lines.find(|(_, line)| marks(line, "---") || marks(line, "..."))?;
    let behind = ending.get(3..).is_some_and(is_content) || lines.any(|(_, line)| is_content(line));
    let place = Place { line, column: 1 };
    behind.then(|| Misreading { file, path: String::new(), place, what: Misread::Rest })
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
    fn only_the_first_document_is_read() {
        let line = |text: &str| rest(File::Install, text).map(|misreading| misreading.place.line);
        assert_eq!(line("---\na: 1\n---\nb: 2\n"), Some(3));
        assert_eq!(line("a: 1\n...\nb: 2\n"), Some(2));
        assert_eq!(line("a: 1\n--- {b: 2}\n"), Some(2));
        for whole in ["---\na: 1\n", "# x\n---\na: |\n  ---\n  b\n", "a: 1\n---\n# end\n", ""] {
            assert_eq!(line(whole), None, "{whole}");
        }
    }

    #[test]
    fn of_a_password_a_part_may_be_something_else() {
        for text in ["password: abc #def", "  - password: !x", "password: &x", "password: !"] {
            let places: Vec<Place> = cut(File::Install, text).iter().map(|it| it.place).collect();
            assert_eq!(places.len(), usize::from(text != "password: !"), "{text}");
        }
        for right in [
            "password: abc # of the lab",
            "password: 'abc #def'",
            "password: a#b",
            "password: &first abc",
            "password: *first",
            "password: !!str 123",
            "passwords: abc #def",
            "# password: abc #def",
        ] {
            assert!(cut(File::Install, right).is_empty(), "{right}");
        }
    }

    #[test]
    fn of_a_secret_nothing_is_kept() {
        for path in ["platform.baremetal.hosts[0].bmc.password", "PullSecret", "a.Password[0]"] {
            let misread = of(path, "0123", "83");
            assert_eq!(misread, Some(Misread::Scalar { width: 4, shown: None }), "{path}");
        }
    }
}
