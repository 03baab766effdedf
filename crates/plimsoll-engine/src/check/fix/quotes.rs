//! Values that are read as they are written once they are in quotes.

use plimsoll_install::{File, Misread, Misreading};

use super::Fix;
use super::source::{Edit, Source};
use crate::check::readings::{UNQUOTED, last_key};

pub fn fixes(text: &str, file: File, misread: &[Misreading]) -> Vec<Fix> {
    let source = Source::new(text);
    let mut fixes: Vec<Fix> = Vec::new();
    for it in misread.iter().filter(|it| it.file == file) {
        let Some(fix) = fix(&source, it) else { continue };
        // An alias shows one place twice.
        if !fixes.iter().any(|other| other.edits == fix.edits) {
            fixes.push(fix);
        }
    }
    fixes
}

/// What is said of it never holds the value: it may be a password.
fn fix(source: &Source<'_>, it: &Misreading) -> Option<Fix> {
    let Misread::Scalar { width, .. } = &it.what else { return None };
    let start = source.offset(it.place.line, it.place.column)?;
    let at = start..start + width;
    let written = source.text.get(at.clone())?;
    let with = format!("\"{written}\"");
    Some(Fix {
        id: UNQUOTED,
        file: it.file,
        line: it.place.line,
        what: format!("the value of {} is put in quotes", last_key(&it.path)),
        edits: vec![Edit { at, with }],
    })
}

#[cfg(test)]
mod tests {
    use plimsoll_install::{File, Input, Method, Release};

    use crate::check::fix::{fixes, mended};

    const BASE: &str =
        include_str!("../../../../../fixtures/install/bases/bm-disabled.install-config.yaml");

    #[test]
    fn what_is_read_otherwise_gets_quotes_and_nothing_else_does() {
        for written in ["0123456", "yes", "0x1F", "1.10"] {
            let text =
                BASE.replacen("password: password", &format!("password: {written} # new"), 1);
            let input = Input { install: Some(&text), agent: None };
            let found = fixes(&input, Release::V4_18, Method::Ipi, &|_| true);
            let fixed = mended(&text, File::Install, &found);
            let wanted =
                BASE.replacen("password: password", &format!("password: \"{written}\" # new"), 1);
            assert_eq!(fixed, wanted);
            assert!(found.iter().all(|fix| !fix.what.contains(written)), "{found:?}");
        }
        for right in ["123456", "\"yes\"", "'0123'"] {
            let text = BASE.replacen("password: password", &format!("password: {right}"), 1);
            let input = Input { install: Some(&text), agent: None };
            assert_eq!(fixes(&input, Release::V4_18, Method::Ipi, &|_| true), []);
        }
    }
}
