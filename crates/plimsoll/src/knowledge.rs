//! The packs: the one inside the binary, and those that the user names.

use std::path::Path;

use include_dir::{Dir, DirEntry, include_dir};
use plimsoll_engine::{LoadError, Pack, PackFile};

use crate::exit::Failure;

static BUILT_IN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../knowledge");

/// A pack is text that people wrote; more than this is not one.
const MAX_FILE: u64 = 4 << 20;
const MAX_FILES: usize = 5000;
const MAX_DEPTH: usize = 8;

/// The built-in pack and the folders in `extra`, checked as one.
pub fn load(extra: &[impl AsRef<Path>]) -> Result<Pack, Failure> {
    let mut files = Vec::new();
    built_in(&BUILT_IN, &mut files);
    for folder in extra {
        let own = files.len();
        let folder = folder.as_ref();
        read_folder(folder, folder, 0, &mut files)?;
        if files.len() == own {
            let message = format!("{}: no case.yaml below this folder", folder.display());
            return Err(Failure::Unreadable(message));
        }
    }
    Pack::load(&files).map_err(|errors| {
        let lines: Vec<String> = errors.iter().take(20).map(LoadError::to_string).collect();
        let more = errors.len().saturating_sub(lines.len());
        let rest = if more > 0 { format!("\n  and {more} more") } else { String::new() };
        Failure::Unreadable(format!(
            "the knowledge pack does not load:\n  {}{rest}",
            lines.join("\n  ")
        ))
    })
}

fn built_in(folder: &Dir<'_>, files: &mut Vec<PackFile>) {
    for entry in folder.entries() {
        match entry {
            DirEntry::Dir(inner) => built_in(inner, files),
            DirEntry::File(file) => {
                let path = file.path().to_string_lossy().into_owned();
                if let (true, Some(text)) = (path.ends_with(".yaml"), file.contents_utf8()) {
                    files.push(PackFile { path, text: text.into() });
                }
            }
        }
    }
}

fn read_folder(
    root: &Path,
    folder: &Path,
    depth: usize,
    files: &mut Vec<PackFile>,
) -> Result<(), Failure> {
    let unreadable = |error: std::io::Error| Failure::Unreadable(error.to_string());
    let mut entries: Vec<_> = fs_err::read_dir(folder)
        .map_err(unreadable)?
        .collect::<Result<_, _>>()
        .map_err(unreadable)?;
    entries.sort_by_key(fs_err::DirEntry::path);
    for entry in entries {
        let path = entry.path();
        let kind = entry.file_type().map_err(unreadable)?;
        if kind.is_dir() && depth < MAX_DEPTH {
            read_folder(root, &path, depth + 1, files)?;
        } else if kind.is_file()
            && path.extension().is_some_and(|e| e == "yaml")
            && files.len() < MAX_FILES
        {
            if entry.metadata().map_err(unreadable)?.len() > MAX_FILE {
                let message = format!("{}: too large for a pack file", path.display());
                return Err(Failure::Unreadable(message));
            }
            let text = fs_err::read_to_string(&path).map_err(unreadable)?;
            let shown = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            files.push(PackFile { path: shown, text });
        }
    }
    Ok(())
}
