//! The walkthroughs in `docs/` are run as they stand: a block that names a file is that file, a console
//! block is typed, and what it shows is what is printed. A line `...` stands for any lines.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

use std::path::{Path, PathBuf};
use std::process::Command;

struct Block {
    line: usize,
    info: String,
    text: String,
}

/// Fenced blocks; a fence is closed by one of the same length.
fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut lines = (1..).zip(page.lines());
    while let Some((line, content)) = lines.next() {
        let fence = "`".repeat(content.chars().take_while(|c| *c == '`').count());
        if fence.len() < 3 {
            continue;
        }
        let inner = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != fence);
        let text = inner.map(|line| format!("{line}\n")).collect();
        found.push(Block { line, info: content[fence.len()..].into(), text });
    }
    found
}

/// A command with the output below it, up to the next command.
fn commands(block: &Block) -> Vec<(usize, String, String)> {
    let mut found: Vec<(usize, String, String)> = Vec::new();
    for (line, content) in (block.line + 1..).zip(block.text.lines()) {
        match (content.strip_prefix("$ "), found.last_mut()) {
            (Some(command), _) => found.push((line, command.into(), String::new())),
            (None, Some((_, _, output))) => output.push_str(&format!("{content}\n")),
            (None, None) => panic!("line {line}: output without a command"),
        }
    }
    found
}

fn fits(shown: &str, printed: &str) -> bool {
    let mut parts = shown.split("...\n");
    let Some(mut rest) = parts.next().and_then(|first| printed.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Types the page in an empty folder, with the shipped fixtures beside it.
fn follow(page: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let text = fs_err::read_to_string(root.join("docs").join(page)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs_err::create_dir(folder.path().join("fixtures")).unwrap();
    let shipped = "fixtures/four-hours.tar.gz";
    fs_err::copy(root.join(shipped), folder.path().join(shipped)).unwrap();
    let mut wrong = Vec::new();
    let mut typed = 0;
    for block in blocks(&text) {
        if let Some((_, file)) = block.info.split_once(' ') {
            let path = folder.path().join(file);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, &block.text).unwrap();
        } else if block.info == "console" {
            for (line, command, shown) in commands(&block) {
                let printed = run(&command, folder.path());
                typed += 1;
                if !fits(&shown, &printed) {
                    wrong.push(format!("docs/{page}:{line}: $ {command}\n{printed}"));
                }
            }
        }
    }
    assert!(typed > 0, "docs/{page} types nothing");
    assert!(wrong.is_empty(), "what is printed is not what is shown:\n{}", wrong.join("\n"));
}

fn run(command: &str, folder: &Path) -> String {
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_plimsoll"));
    let output = Command::new("sh")
        .args(["-c", &format!("{command} 2>&1; code=$?; [ $code = 0 ] || echo \"(exit $code)\"")])
        .env("PATH", format!("{}:/usr/bin:/bin", binary.parent().unwrap().display()))
        .current_dir(folder)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_newcomer_can_follow_the_page_on_packs() {
    follow("user-packs.md");
}

#[test]
fn the_page_on_suppression_shows_what_happens() {
    follow("suppression.md");
}

#[test]
fn shown_output_must_fit_from_end_to_end() {
    assert!(fits("a\nb\n", "a\nb\n"));
    assert!(!fits("a\n", "a\nb\n"));
    assert!(fits("a\n...\nd\n", "a\nb\nc\nd\n"));
    assert!(fits("...\n", ""));
    assert!(!fits("a\n...\nx\n", "a\nb\n"));
}
