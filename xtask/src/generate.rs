//! Files that are made from code and committed, so that a change of them is seen in review.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};
use fs_err as fs;
use plimsoll_model::Diagnosis;
use plimsoll_model::capture::Captured;
use plimsoll_model::check::Check;
use plimsoll_model::csr::Requests;
use plimsoll_model::knowledge::{Explained, Knowledge};
use plimsoll_model::moves::Moves;
use plimsoll_model::plan::Plan;
use plimsoll_model::session::Session;
use plimsoll_model::verify::Verified;

use crate::shell;

const PAGES: &str = "docs/failure-modes";

pub fn run(check: bool) -> Result<()> {
    let root = shell::root();
    let mut files = schemas()?;
    files.extend(pages()?);
    files.push(("docs/facts.md".into(), shell::output(knowledge()?.arg("facts"))?));
    let mut stale: Vec<String> = Vec::new();
    for (path, text) in files.iter().filter(|(path, text)| !is_current(&root, path, text)) {
        if !check {
            write(&root, path, text)?;
            println!("wrote {path}");
        }
        stale.push(path.clone());
    }
    for path in left_over(&root, &files)? {
        if !check {
            fs::remove_file(root.join(&path))?;
            println!("removed {path}");
        }
        stale.push(path);
    }
    if check && !stale.is_empty() {
        bail!("out of date: {}\nhint: run cargo xtask gen", stale.join(", "));
    }
    Ok(())
}

/// The schemas: path in the repository, and what must stand there.
fn schemas() -> Result<Vec<(String, String)>> {
    let schemas = [
        ("captured", Captured::json_schema()),
        ("check", Check::json_schema()),
        ("csr", Requests::json_schema()),
        ("diagnosis", Diagnosis::json_schema()),
        ("explain", Explained::json_schema()),
        ("knowledge", Knowledge::json_schema()),
        ("moves", Moves::json_schema()),
        ("plan", Plan::json_schema()),
        ("session", Session::json_schema()),
        ("verify", Verified::json_schema()),
    ];
    let file = |(name, schema): (&str, _)| -> Result<(String, String)> {
        let path = format!("docs/schema/{name}.v1.schema.json");
        Ok((path, serde_json::to_string_pretty(&schema)? + "\n"))
    };
    schemas.into_iter().map(file).collect()
}

fn knowledge() -> Result<Command> {
    let mut plimsoll = shell::product("plimsoll")?;
    plimsoll.arg("knowledge");
    Ok(plimsoll)
}

/// The reference of the built-in pack, written by the product itself.
fn pages() -> Result<Vec<(String, String)>> {
    let folder = tempfile::tempdir()?;
    shell::run(knowledge()?.arg("pages").arg(folder.path()))?;
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder.path())? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        pages.push((format!("{PAGES}/{name}"), fs::read_to_string(entry.path())?));
    }
    pages.sort();
    Ok(pages)
}

/// Pages of failure modes that are gone.
fn left_over(root: &Path, files: &[(String, String)]) -> Result<Vec<String>> {
    let made: BTreeSet<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
    let folder = root.join(PAGES);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut left = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = format!("{PAGES}/{}", entry?.file_name().to_string_lossy());
        if !made.contains(path.as_str()) {
            left.push(path);
        }
    }
    left.sort();
    Ok(left)
}

fn is_current(root: &Path, path: &str, text: &str) -> bool {
    fs::read_to_string(root.join(path)).is_ok_and(|found| found == text)
}

fn write(root: &Path, path: &str, text: &str) -> Result<()> {
    let path = root.join(path);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_current_only_when_every_byte_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_current(folder.path(), "a/b.json", "x\n"));
        write(folder.path(), "a/b.json", "x\n").unwrap();
        assert!(is_current(folder.path(), "a/b.json", "x\n"));
        assert!(!is_current(folder.path(), "a/b.json", "x"));
    }

    #[test]
    fn a_page_whose_failure_mode_is_gone_is_left_over() {
        let root = tempfile::tempdir().unwrap();
        let files = vec![(format!("{PAGES}/a.md"), "x".to_string())];
        assert!(left_over(root.path(), &files).unwrap().is_empty());
        write(root.path(), &format!("{PAGES}/a.md"), "x").unwrap();
        write(root.path(), &format!("{PAGES}/b.md"), "x").unwrap();
        assert_eq!(left_over(root.path(), &files).unwrap(), [format!("{PAGES}/b.md")]);
    }

    #[test]
    fn a_schema_names_its_format_and_its_parts() {
        let schemas = schemas().unwrap();
        for (name, part) in [
            ("check", "findings"),
            ("diagnosis", "roots"),
            ("explain", "lines"),
            ("knowledge", "tests"),
        ] {
            let path = format!("docs/schema/{name}.v1.schema.json");
            let (_, text) = schemas.iter().find(|(known, _)| *known == path).unwrap();
            let schema: serde_json::Value = serde_json::from_str(text).unwrap();
            assert_eq!(schema["$id"], format!("plimsoll.{name}/v1"));
            assert!(schema["properties"][part].is_object(), "{name}");
        }
    }
}
