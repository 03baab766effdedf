//! `plimsoll.toml`: what the user says of this cluster: what they accept, and how far a repair may reach while nobody
//! is there.
//!
//! ```toml
//! [unattended]
//! blast = 1                   # absent: 0, so every act is named in advance
//!
//! [[suppress]]
//! id = "nic-transceiver-absent"
//! entity = "Node/worker-*"    # absent: everywhere
//! reason = "the second port is not cabled, CHG-4711"
//! until = "2027-01-31"
//! ```
//!
//! Read strictly: a key that is not known, a missing reason or a date that is none is an error with
//! its line, because a suppression that silently does something else is worse than none.

use std::io::ErrorKind;
use std::ops::Range;
use std::path::Path;

use plimsoll_engine::Suppression;
use plimsoll_model::plan::TYPED_FROM;
use toml_edit::{Document, Item, Table};

use crate::exit::Failure;

const DEFAULT: &str = "plimsoll.toml";
const MAX_BYTES: u64 = 1 << 20;
const KEYS: [&str; 4] = ["id", "entity", "reason", "until"];

/// From here on names are typed, whoever is there.
const MOST_UNATTENDED: i64 = TYPED_FROM as i64 - 1;

#[derive(Debug, Default)]
pub struct Config {
    pub accepted: Vec<Suppression>,
    /// The highest level of a step that is done where nobody is there and nobody named it.
    pub unattended: u8,
}

/// What is said in `file`, or in `./plimsoll.toml` where that exists.
pub fn read(file: Option<&Path>) -> Result<Config, Failure> {
    let path = file.unwrap_or(Path::new(DEFAULT));
    match fs_err::metadata(path) {
        Err(error) if file.is_none() && error.kind() == ErrorKind::NotFound => {
            return Ok(Config::default());
        }
        Err(error) => return Err(Failure::Unreadable(error.to_string())),
        Ok(found) if found.len() > MAX_BYTES => {
            return Err(Failure::Unreadable(format!("{}: too large", path.display())));
        }
        Ok(_) => {}
    }
    let text = fs_err::read_to_string(path).map_err(|e| Failure::Unreadable(e.to_string()))?;
    parse(&text)
        .map_err(|(line, message)| Failure::Usage(format!("{}:{line}: {message}", path.display())))
}

/// A problem and the byte where it stands.
struct Problem {
    at: usize,
    message: String,
}

fn problem(span: Option<Range<usize>>, message: impl Into<String>) -> Problem {
    Problem { at: span.map_or(0, |span| span.start), message: message.into() }
}

fn parse(text: &str) -> Result<Config, (usize, String)> {
    let line = |found: Problem| {
        let before = text.as_bytes().iter().take(found.at);
        (before.filter(|byte| **byte == b'\n').count() + 1, found.message)
    };
    let document =
        Document::parse(text).map_err(|error| line(problem(error.span(), error.message())))?;
    config(document.as_table()).map_err(line)
}

fn config(document: &Table) -> Result<Config, Problem> {
    let mut found = Config::default();
    for (name, item) in document.iter() {
        match name {
            "suppress" => {
                let tables = item
                    .as_array_of_tables()
                    .ok_or_else(|| problem(item.span(), "'suppress' is written [[suppress]]"))?;
                for table in tables.iter() {
                    found.accepted.push(suppression(table)?);
                }
            }
            "unattended" => found.unattended = unattended(item)?,
            _ => {
                let span = document.key(name).and_then(toml_edit::Key::span);
                let known = "there are [[suppress]] and [unattended]";
                return Err(problem(span, format!("unknown key '{name}'; {known}")));
            }
        }
    }
    Ok(found)
}

fn unattended(item: &Item) -> Result<u8, Problem> {
    let table = item
        .as_table()
        .ok_or_else(|| problem(item.span(), "'unattended' is written [unattended]"))?;
    if let Some((name, _)) = table.iter().find(|(name, _)| *name != "blast") {
        let span = table.key(name).and_then(toml_edit::Key::span);
        return Err(problem(span, format!("unknown key '{name}'; there is blast")));
    }
    let blast = table.get("blast").ok_or_else(|| problem(table.span(), "'blast' is missing"))?;
    let level = blast.as_integer().filter(|level| (0..=MOST_UNATTENDED).contains(level));
    level.and_then(|level| u8::try_from(level).ok()).ok_or_else(|| {
        let message = format!(
            "'blast' is a level from 0 to {MOST_UNATTENDED}; what reaches farther is named with \
             --confirm every time"
        );
        problem(blast.span(), message)
    })
}

fn suppression(table: &Table) -> Result<Suppression, Problem> {
    if let Some((name, _)) = table.iter().find(|(name, _)| !KEYS.contains(name)) {
        let span = table.key(name).and_then(toml_edit::Key::span);
        let known = KEYS.join(", ");
        return Err(problem(span, format!("unknown key '{name}'; there are {known}")));
    }
    let entity = match table.get("entity") {
        None => None,
        Some(item) => {
            let entity = text(item, "entity")?;
            if !entity.contains(['/', '*']) {
                let message =
                    format!("entity '{entity}' is not Kind/name; '*' stands for any text");
                return Err(problem(item.span(), message));
            }
            Some(entity)
        }
    };
    let (until, at) = required(table, "until")?;
    Ok(Suppression {
        id: required(table, "id")?.0,
        entity,
        reason: required(table, "reason")?.0,
        until: until.parse().map_err(|_| {
            problem(at, format!("until '{until}' is not a date such as 2027-01-31"))
        })?,
    })
}

fn required(table: &Table, key: &str) -> Result<(String, Option<Range<usize>>), Problem> {
    let missing = || problem(table.span(), format!("'{key}' is missing"));
    let item = table.get(key).ok_or_else(missing)?;
    Ok((text(item, key)?, item.span()))
}

/// TOML has dates of its own; one without quotes is as good.
fn text(item: &Item, key: &str) -> Result<String, Problem> {
    let date = item.as_datetime().filter(|_| key == "until").map(ToString::to_string);
    let text = item.as_str().map(|text| text.trim().to_string()).or(date);
    match text {
        Some(text) if text.is_empty() => Err(problem(item.span(), format!("'{key}' is empty"))),
        Some(text) => Ok(text),
        None => Err(problem(item.span(), format!("'{key}' must be text in quotes"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "# known\n[[suppress]]\nid = \"a\"\nentity = \"Node/w*\"\nreason = \"r\"\nuntil = \"2027-01-31\"\n\n[[suppress]]\nid = \"b\"\nreason = \"r\"\nuntil = 2027-02-28\n";

    #[test]
    fn entries_are_read_in_order() {
        let list = parse(GOOD).unwrap().accepted;
        assert_eq!((list[0].id.as_str(), list[0].entity.as_deref()), ("a", Some("Node/w*")));
        assert_eq!(
            (list[1].entity.as_deref(), list[1].until.to_string().as_str()),
            (None, "2027-02-28")
        );
        assert!(parse("").unwrap().accepted.is_empty());
    }

    #[test]
    fn what_reaches_far_is_never_unattended() {
        assert_eq!(parse("").unwrap().unattended, 0);
        assert_eq!(parse("[unattended]\nblast = 2\n").unwrap().unattended, 2);
        for (text, line, says) in [
            ("[unattended]\nblast = 3\n", 2, "'blast' is a level from 0 to 2"),
            ("[unattended]\nblast = -1\n", 2, "'blast' is a level from 0 to 2"),
            ("[unattended]\nblast = \"2\"\n", 2, "'blast' is a level from 0 to 2"),
            ("[unattended]\nlevel = 1\n", 2, "unknown key 'level'"),
            ("[unattended]\n", 1, "'blast' is missing"),
            ("unattended = 1\n", 1, "'unattended' is written [unattended]"),
        ] {
            let (at, message) = parse(text).unwrap_err();
            assert!(at == line && message.starts_with(says), "{at}: {message}");
        }
    }

    #[test]
    fn everything_else_is_an_error_with_its_line() {
        for (from, to, line, says) in [
            ("reason = \"r\"\nuntil = \"2", "until = \"2", 2, "'reason' is missing"),
            ("reason = \"r\"", "reason = \" \"", 5, "'reason' is empty"),
            ("reason = \"r\"", "reason = 7", 5, "'reason' must be text"),
            ("\"2027-01-31\"", "\"2027-02-30\"", 6, "until '2027-02-30' is not a date"),
            ("\"2027-01-31\"", "\"soon\"", 6, "until 'soon' is not a date"),
            ("id = \"a\"", "ids = \"a\"", 3, "unknown key 'ids'"),
            ("\"Node/w*\"", "\"worker\"", 4, "entity 'worker' is not Kind/name"),
            ("# known", "strict = true", 1, "unknown key 'strict'"),
            ("# known", "= = =", 1, ""),
        ] {
            let (at, message) = parse(&GOOD.replacen(from, to, 1)).unwrap_err();
            assert_eq!(at, line, "{message}");
            assert!(message.starts_with(says), "{message}");
        }
        let (line, message) = parse("\n[suppress]\nid = \"a\"\n").unwrap_err();
        assert_eq!((line, message.as_str()), (2, "'suppress' is written [[suppress]]"));
    }
}
