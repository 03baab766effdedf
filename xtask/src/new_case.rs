//! The folder of a new failure mode. What a pack may say is documented by the folders that are
//! there; the templates hold the smallest one that loads.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use fs_err as fs;

const FILES: &[(&str, &str)] = &[
    ("case.yaml", include_str!("../templates/case.yaml")),
    ("case.md", include_str!("../templates/case.md")),
    ("tests/cases.md", include_str!("../templates/cases.md")),
];

pub fn run(root: &Path, case: &str) -> Result<()> {
    let Some((area, id)) = case.split_once('/') else {
        bail!("'{case}' is not <area>/<id>, as in certs/kubelet-client-expired");
    };
    for word in [area, id] {
        ensure!(is_kebab_case(word), "'{word}' is not kebab-case: small letters, digits, hyphens");
    }
    let folder = root.join("knowledge").join(area).join(id);
    ensure!(!folder.exists(), "knowledge/{case} is there already");
    if let Some(taken) = folder_of(root, id)? {
        bail!("the id '{id}' is taken by {taken}");
    }
    for (name, template) in FILES {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, fill(template, area, id))?;
        println!("wrote knowledge/{case}/{name}");
    }
    println!("next: fill them in, then cargo test -p plimsoll");
    Ok(())
}

fn is_kebab_case(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.split('-').all(|part| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        })
}

/// Ids are unique in the whole pack, whatever their area.
fn folder_of(root: &Path, id: &str) -> Result<Option<String>> {
    let knowledge = root.join("knowledge");
    if !knowledge.is_dir() {
        return Ok(None);
    }
    for area in fs::read_dir(knowledge)? {
        let area = area?;
        if area.path().join(id).is_dir() {
            return Ok(Some(format!("knowledge/{}/{id}", area.file_name().to_string_lossy())));
        }
    }
    Ok(None)
}

fn fill(template: &str, area: &str, id: &str) -> String {
    let words = id.replace('-', " ");
    template.replace("{{area}}", area).replace("{{id}}", id).replace("{{words}}", &words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_case_has_every_file_and_no_placeholder_is_left() {
        let root = tempfile::tempdir().unwrap();
        run(root.path(), "etcd/quorum-lost").unwrap();
        let folder = root.path().join("knowledge/etcd/quorum-lost");
        for (name, _) in FILES {
            let text = fs::read_to_string(folder.join(name)).unwrap();
            assert!(text.contains("quorum-lost") && !text.contains("{{"), "{name}:\n{text}");
        }
    }

    #[test]
    fn a_bad_name_and_a_taken_one_are_refused() {
        let root = tempfile::tempdir().unwrap();
        for bad in
            ["quorum-lost", "etcd/", "etcd/Quorum", "etcd/a--b", "../x", "etcd/a/b", "etcd/-a"]
        {
            assert!(run(root.path(), bad).is_err(), "{bad}");
        }
        run(root.path(), "etcd/quorum-lost").unwrap();
        assert!(run(root.path(), "etcd/quorum-lost").is_err());
        assert!(run(root.path(), "network/quorum-lost").is_err());
        assert!(!root.path().join("knowledge/network").exists());
    }
}
