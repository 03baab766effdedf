//! A must-gather in memory.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path};

use flate2::Compression;
use flate2::write::GzEncoder;

/// Bytes by path below the gather's root, `/` between the parts.
pub type Tree = BTreeMap<String, Vec<u8>>;

pub fn write_folder(tree: &Tree, folder: &Path) -> io::Result<()> {
    for (path, bytes) in tree {
        let relative = Path::new(path);
        if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(io::Error::other(format!("'{path}' leads out of the folder")));
        }
        let target = folder.join(relative);
        if let Some(parent) = target.parent() {
            fs_err::create_dir_all(parent)?;
        }
        fs_err::write(target, bytes)?;
    }
    Ok(())
}

/// Every path stands below `prefix`. The same tree gives the same bytes.
pub fn write_tar_gz(tree: &Tree, prefix: &str, file: &Path) -> io::Result<()> {
    let encoder = GzEncoder::new(fs_err::File::create(file)?, Compression::fast());
    let mut archive = tar::Builder::new(encoder);
    for (path, bytes) in tree {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(0);
        header.set_entry_type(tar::EntryType::Regular);
        archive.append_data(&mut header, Path::new(prefix).join(path), bytes.as_slice())?;
    }
    archive.into_inner()?.finish()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn small() -> Tree {
        Tree::from([("version".into(), b"x\n".to_vec()), ("a/b.yaml".into(), b"k: 1\n".to_vec())])
    }

    #[test]
    fn a_tree_is_written_as_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        write_folder(&small(), folder.path()).unwrap();
        assert_eq!(fs_err::read(folder.path().join("a/b.yaml")).unwrap(), b"k: 1\n");
        let escape = Tree::from([("../x".to_string(), Vec::new())]);
        assert!(write_folder(&escape, folder.path()).is_err());
    }

    #[test]
    fn a_tree_is_written_as_an_archive_the_same_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("1.tar.gz"), folder.path().join("2.tar.gz"));
        write_tar_gz(&small(), "must-gather.local.1", &one).unwrap();
        write_tar_gz(&small(), "must-gather.local.1", &two).unwrap();
        assert_eq!(fs_err::read(&one).unwrap(), fs_err::read(&two).unwrap());
        let decoder = flate2::read::GzDecoder::new(fs_err::File::open(&one).unwrap());
        let mut archive = tar::Archive::new(decoder);
        let mut found = Tree::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let path = entry.path().unwrap().display().to_string();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            found.insert(path, bytes);
        }
        assert_eq!(found.get("must-gather.local.1/a/b.yaml"), Some(&b"k: 1\n".to_vec()));
        assert_eq!(found.len(), 2);
    }
}
