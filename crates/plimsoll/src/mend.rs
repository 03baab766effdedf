//! `check --fix`: a mended copy beside each file, after a look at what changes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use plimsoll_engine::check::fix::{Edit, Fix, diff, fixes};
use plimsoll_install::{File, Input, Method};

use crate::args::Check;
use crate::commands::check::{Files, Named};
use crate::exit::Failure;
use crate::output::print;

/// A copy that is to be written.
struct Copy {
    path: PathBuf,
    text: String,
}

/// The mended files in place of the given ones.
pub fn mend(args: &Check, files: Files, method: Method) -> Result<Files, Failure> {
    let text = |file: &Option<Named>| file.as_ref().map(|file| file.part.text.clone());
    let (install, agent) = (text(&files.install), text(&files.agent));
    let input = Input { install: install.as_deref(), agent: agent.as_deref() };
    let wanted = |id: &str| {
        !args.skip.iter().any(|skipped| skipped == id)
            && (args.only.is_empty() || args.only.iter().any(|only| only == id))
    };
    let fixes = fixes(&input, args.release, method, &wanted);
    if fixes.is_empty() {
        print("Nothing here can be mended by rote.\n\n")?;
        return Ok(files);
    }
    let mut shown_first = String::new();
    let mut copies = Vec::new();
    for path in files.paths() {
        let (edits, named) = files.edits(&path, &fixes);
        let Some(named) = named.filter(|_| !edits.is_empty()) else { continue };
        let copy = beside(&path);
        let shown = copy.display().to_string();
        if copy.symlink_metadata().is_ok() {
            let message = format!("{shown} is already there: move it away, nothing was written");
            return Err(Failure::Usage(message));
        }
        shown_first.push_str(&diff(&named.whole, &edits, &named.name, &shown));
        copies.push(Copy {
            path: copy,
            text: plimsoll_engine::check::fix::apply(&named.whole, &edits),
        });
    }
    shown_first.push('\n');
    // Whoever is to decide sees what changes before anything is written.
    print(&shown_first)?;
    if !wants(args, &copies)? {
        print("Nothing was written. What is wrong now:\n\n")?;
        return Ok(files);
    }
    let mut said = String::new();
    for copy in &copies {
        write(&copy.path, &copy.text)?;
        let _ = writeln!(said, "Wrote {}.", copy.path.display());
    }
    for fix in &fixes {
        let name = files.of(fix.file).map_or(fix.file.name(), |file| &file.name);
        let _ = writeln!(said, "  {name}:{}: {} ({})", fix.line, fix.what, fix.id);
    }
    said.push_str("What is left:\n\n");
    print(&said)?;
    let mut files = files;
    for copy in copies {
        files.replace(&copy.path, copy.text)?;
    }
    Ok(files)
}

/// A person is asked. A pipeline asked for a copy beside the file, and gets it.
fn wants(args: &Check, copies: &[Copy]) -> Result<bool, Failure> {
    use std::io::{BufRead as _, IsTerminal as _};
    if args.yes || !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Ok(true);
    }
    let names: Vec<String> = copies.iter().map(|copy| copy.path.display().to_string()).collect();
    anstream::eprint!("Write {}? [y/N] ", names.join(" and "));
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.map_err(|error| Failure::Unreadable(format!("cannot read stdin: {error}")))?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

/// `install-config.yaml` becomes `install-config.fixed.yaml`.
fn beside(path: &Path) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let end = path.extension().map_or("yaml".into(), |end| end.to_string_lossy());
    path.with_file_name(format!("{stem}.fixed.{end}"))
}

/// The copy holds the same secrets as the file; it is for its owner alone.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    use std::io::Write as _;
    let unreadable = |error: std::io::Error| Failure::Unreadable(error.to_string());
    let mut options = fs_err::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use fs_err::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    crate::exit::unfinished(Some(path));
    let mut file = options.open(path).map_err(unreadable)?;
    file.write_all(text.as_bytes()).map_err(unreadable)?;
    crate::exit::unfinished(None);
    Ok(())
}

impl Files {
    fn of(&self, file: File) -> Option<&Named> {
        match file {
            File::Install => self.install.as_ref(),
            File::Agent => self.agent.as_ref(),
        }
    }

    fn paths(&self) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = [&self.install, &self.agent]
            .into_iter()
            .flatten()
            .map(|file| file.path.clone())
            .collect();
        paths.dedup();
        paths
    }

    /// Of one file on disk, which may hold both configs; in bytes of that file.
    fn edits(&self, path: &Path, fixes: &[Fix]) -> (Vec<Edit>, Option<&Named>) {
        let mut edits = Vec::new();
        let mut named = None;
        for file in [File::Install, File::Agent] {
            let Some(own) = self.of(file).filter(|own| own.path == path) else { continue };
            named = Some(own);
            let of_file = fixes.iter().filter(|fix| fix.file == file).flat_map(|fix| &fix.edits);
            edits.extend(of_file.map(|edit| Edit {
                at: own.part.in_file(edit.at.start)..own.part.in_file(edit.at.end),
                with: edit.with.clone(),
            }));
        }
        (edits, named)
    }

    fn replace(&mut self, copy: &Path, text: String) -> Result<(), Failure> {
        let mut fresh = Files::default();
        fresh.add(copy, text)?;
        if fresh.install.is_some() {
            self.install = fresh.install;
        }
        if fresh.agent.is_some() {
            self.agent = fresh.agent;
        }
        Ok(())
    }
}
