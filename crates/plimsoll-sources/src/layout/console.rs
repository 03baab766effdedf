//! A console that somebody saved among other files: `worker-2-console.log`, `serial-master-0.txt`.
//!
//! Only the name of the file is judged, and only outside the folders of a gather, where `console` is
//! the name of a component.

use plimsoll_model::LogOrigin;

use super::{Found, Kind, Layout, is_text};

pub fn find(parts: &[&str]) -> Option<Found> {
    let name = parts.last()?.rsplit_once('.')?.0;
    let kind = Kind::Log(LogOrigin::Console { name: name.into() });
    (is_text(parts) && is_console(name)).then_some(Found {
        kind,
        layout: Layout::Console,
        machine: None,
    })
}

/// Whether a file of this name, without its ending, is a console.
pub fn is_console(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    ["console", "serial"].iter().any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_console_is_known_by_the_name_of_its_file() {
        let name = |path: &str| {
            let found = find(&path.split('/').collect::<Vec<_>>())?;
            match found.kind {
                Kind::Log(LogOrigin::Console { name }) => Some(name),
                _ => None,
            }
        };
        assert_eq!(name("case-7/worker-2-console.log").as_deref(), Some("worker-2-console"));
        assert_eq!(name("Serial.txt").as_deref(), Some("Serial"));
        assert_eq!(name("worker-2-console.png"), None);
        assert_eq!(name("notes.txt"), None);
        assert_eq!(name("must-gather/namespaces/openshift-console/console.log"), None);
    }
}
