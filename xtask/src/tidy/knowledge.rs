//! A failure mode is one whole folder: data, page and tests. What stands in the files is checked by
//! the tests of the packs.

use std::path::{Path, PathBuf};

use anyhow::Result;
use fs_err as fs;

/// An area of its own within that of configs.
const LIVE: &str = "check/live";

pub fn problems(root: &Path) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for area in folders(&root.join("knowledge"))? {
        // Good configs, which the cases of checks start from.
        let bases = area.join("bases");
        let is_case = |case: &PathBuf| *case != bases && !case.ends_with(LIVE);
        for case in folders(&area)?.into_iter().filter(is_case) {
            let shown = case.strip_prefix(root).unwrap_or(&case).display().to_string();
            for file in ["case.yaml", "case.md"] {
                if !case.join(file).is_file() {
                    problems.push(format!("{shown}: no {file}"));
                }
            }
            if !has_tests(&case.join("tests"))? {
                problems.push(format!("{shown}: no tests/*.md"));
            }
        }
    }
    // What is seen outside of files is tested on real parts, in `crates/plimsoll/tests/check_live`.
    for case in folders(&root.join("knowledge").join(LIVE))? {
        for file in ["case.yaml", "case.md"] {
            if !case.join(file).is_file() {
                problems.push(format!("{}: no {file}", case.display()));
            }
        }
    }
    Ok(problems)
}

fn folders(path: &Path) -> Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    folders.sort();
    Ok(folders)
}

fn has_tests(path: &Path) -> Result<bool> {
    if !path.is_dir() {
        return Ok(false);
    }
    for entry in fs::read_dir(path)? {
        if entry?.path().extension().is_some_and(|ext| ext == "md") {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_mode_of_this_repository_is_whole() {
        assert_eq!(problems(&crate::shell::root()).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn what_a_folder_lacks_is_named() {
        let root = tempfile::tempdir().unwrap();
        let case = root.path().join("knowledge/etcd/quorum-lost");
        fs::create_dir_all(case.join("tests")).unwrap();
        fs::write(case.join("case.yaml"), "").unwrap();
        let found = problems(root.path()).unwrap();
        let case_name = "knowledge/etcd/quorum-lost";
        assert_eq!(
            found,
            [format!("{case_name}: no case.md"), format!("{case_name}: no tests/*.md")]
        );
        fs::write(case.join("case.md"), "").unwrap();
        fs::write(case.join("tests/cases.md"), "").unwrap();
        assert!(problems(root.path()).unwrap().is_empty());
    }
}
