//! The packs: the one inside the binary, and those that the user names.

use std::path::Path;

use include_dir::{Dir, DirEntry, include_dir};
use plimsoll_engine::check::Knowledge;
use plimsoll_engine::{LoadError, Pack, PackFile, explain};
use plimsoll_model::knowledge::FailureMode;

use crate::exit::Failure;

static BUILT_IN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../knowledge");

/// A pack is text that people wrote; more than this is not one.
const MAX_FILE: u64 = 4 << 20;
const MAX_FILES: usize = 5000;
const MAX_DEPTH: usize = 8;

/// Rules, pages and cases of the packs, by path. A path of a user's pack begins with its folder as it
/// was typed, so that an editor finds it.
pub struct Files {
    pub built_in: Vec<PackFile>,
    pub added: Vec<PackFile>,
}

/// What is known of clusters: the built-in pack and the folders in `extra`, checked as one.
pub fn load(extra: &[impl AsRef<Path>]) -> Result<Pack, Failure> {
    let mut files = Files::read(extra)?;
    files.built_in.retain(|file| !file.is_of_a_check());
    files.load()
}

/// What is known of configs, and nothing else: a check starts in milliseconds.
pub fn for_checks(extra: &[impl AsRef<Path>]) -> Result<Knowledge, Failure> {
    let mut files = Files { built_in: Vec::new(), added: Vec::new() };
    if let Some(checks) = BUILT_IN.get_dir("check") {
        built_in(checks, &mut files.built_in);
    }
    files.add(extra)?;
    Knowledge::load(&files.rules()).map_err(unloadable)
}

impl Files {
    pub fn read(extra: &[impl AsRef<Path>]) -> Result<Self, Failure> {
        let mut files = Self { built_in: Vec::new(), added: Vec::new() };
        built_in(&BUILT_IN, &mut files.built_in);
        files.add(extra)?;
        Ok(files)
    }

    fn add(&mut self, extra: &[impl AsRef<Path>]) -> Result<(), Failure> {
        for folder in extra {
            let before = self.added.len();
            let folder = folder.as_ref();
            let shown = if folder == Path::new(".") { Path::new("") } else { folder };
            read_folder(folder, shown, 0, &mut self.added)?;
            let rules = |file: &PackFile| file.path.ends_with("case.yaml");
            if !self.added[before..].iter().any(rules) {
                let message = format!("{}: no case.yaml below this folder", folder.display());
                return Err(Failure::Unreadable(message));
            }
        }
        Ok(())
    }

    /// The files of the user's packs, or of the built-in one where there are none.
    pub fn in_question(&self) -> &[PackFile] {
        if self.added.is_empty() { &self.built_in } else { &self.added }
    }

    /// All packs as one, or everything that is wrong with them.
    pub fn try_load(&self) -> Result<Pack, Vec<LoadError>> {
        Pack::load(&self.rules())
    }

    fn rules(&self) -> Vec<PackFile> {
        let all = self.built_in.iter().chain(&self.added);
        all.filter(|file| file.path.ends_with(".yaml") || file.has_cases()).cloned().collect()
    }

    pub fn load(&self) -> Result<Pack, Failure> {
        self.try_load().map_err(unloadable)
    }

    /// A failure mode with the page that stands beside its rules.
    pub fn failure_mode(&self, pack: &Pack, case: usize) -> Option<FailureMode> {
        let page = pack.cases.get(case)?.path.replace("case.yaml", "case.md");
        let found = self.built_in.iter().chain(&self.added).find(|file| file.path == page);
        let mut mode = explain::failure_mode(pack, case, found.map(|file| file.text.as_str()))?;
        mode.repairs = plimsoll_repair::told(pack, &mode);
        Some(mode)
    }
}

fn unloadable(errors: Vec<LoadError>) -> Failure {
    let lines: Vec<String> = errors.iter().take(20).map(LoadError::to_string).collect();
    let more = errors.len().saturating_sub(lines.len());
    let rest = if more > 0 { format!("\n  and {more} more") } else { String::new() };
    Failure::Unreadable(format!(
        "the knowledge pack does not load:\n  {}{rest}",
        lines.join("\n  ")
    ))
}

fn is_of_a_pack(path: &Path) -> bool {
    path.extension().is_some_and(|ext| ext == "yaml" || ext == "md")
}

fn built_in(folder: &Dir<'_>, files: &mut Vec<PackFile>) {
    for entry in folder.entries() {
        match entry {
            DirEntry::Dir(inner) => built_in(inner, files),
            DirEntry::File(file) => {
                let path = file.path().to_string_lossy().into_owned();
                if let (true, Some(text)) = (is_of_a_pack(file.path()), file.contents_utf8()) {
                    files.push(PackFile { path, text: text.into() });
                }
            }
        }
    }
}

fn read_folder(
    folder: &Path,
    shown: &Path,
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
        let shown = shown.join(entry.file_name());
        let kind = entry.file_type().map_err(unreadable)?;
        if kind.is_dir() && depth < MAX_DEPTH {
            read_folder(&path, &shown, depth + 1, files)?;
        } else if kind.is_file() && is_of_a_pack(&path) && files.len() < MAX_FILES {
            if entry.metadata().map_err(unreadable)?.len() > MAX_FILE {
                let message = format!("{}: too large for a pack file", shown.display());
                return Err(Failure::Unreadable(message));
            }
            let text = fs_err::read_to_string(&path).map_err(unreadable)?;
            files.push(PackFile { path: shown.to_string_lossy().into_owned(), text });
        }
    }
    Ok(())
}
