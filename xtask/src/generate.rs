//! Files that are made from code and committed, so that a change of them is seen in review.

use std::path::Path;

use anyhow::{Result, bail};
use fs_err as fs;

use crate::shell;

const DIAGNOSIS_SCHEMA: &str = "docs/schema/diagnosis.v1.schema.json";

pub fn run(check: bool) -> Result<()> {
    let root = shell::root();
    let stale: Vec<String> = files()?
        .into_iter()
        .filter(|(path, text)| !is_current(&root, path, text))
        .try_fold(Vec::new(), |mut stale, (path, text)| -> Result<_> {
            if !check {
                write(&root, &path, &text)?;
                println!("wrote {path}");
            }
            stale.push(path);
            Ok(stale)
        })?;
    if check && !stale.is_empty() {
        bail!("out of date: {}\nhint: run cargo xtask gen", stale.join(", "));
    }
    Ok(())
}

/// Every generated file: its path in the repository and what it must hold.
fn files() -> Result<Vec<(String, String)>> {
    let schema = serde_json::to_string_pretty(&plimsoll_model::Diagnosis::json_schema())?;
    Ok(vec![(DIAGNOSIS_SCHEMA.to_string(), schema + "\n")])
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
    fn the_schema_names_the_format_and_its_roots() {
        let files = files().unwrap();
        let (_, text) = files.iter().find(|(path, _)| path == DIAGNOSIS_SCHEMA).unwrap();
        let schema: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(schema["$id"], "plimsoll.diagnosis/v1");
        assert!(schema["properties"]["roots"].is_object());
    }
}
