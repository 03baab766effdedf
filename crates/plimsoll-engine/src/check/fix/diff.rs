//! What the fixes change, as `diff -u` shows it. It is for reading: what may be a secret is not shown,
//! so no patch is made of it.

use std::fmt::Write as _;
use std::ops::Range;

use plimsoll_model::redact::{printable, redact};

use super::source::{Edit, apply};
use super::words::{is_of_a_file, without_loose_talk};

const CONTEXT: usize = 3;

/// Lines that become others.
struct Change<'t> {
    at: usize,
    old: Vec<&'t str>,
    new: Vec<String>,
}

pub fn diff(text: &str, edits: &[Edit], old_name: &str, new_name: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let changes = changes(text, &lines, edits);
    let hidden = continued_secrets(&lines);
    if changes.is_empty() {
        return String::new();
    }
    let mut out = format!("--- {old_name}\n+++ {new_name}\n");
    let mut shift = 0isize;
    let mut rest = changes.as_slice();
    while !rest.is_empty() {
        let near = |pair: &[Change<'_>]| pair[1].at <= pair[0].at + pair[0].old.len() + 2 * CONTEXT;
        let count = 1 + rest.windows(2).take_while(|pair| near(pair)).count();
        let (hunk, after) = rest.split_at(count);
        shift = write_hunk(&mut out, (&lines, &hidden), hunk, shift);
        rest = after;
    }
    out
}

type Lines<'l> = (&'l [&'l str], &'l [bool]);

fn write_hunk(out: &mut String, lines: Lines<'_>, hunk: &[Change<'_>], shift: isize) -> isize {
    let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { return shift };
    let start = first.at.saturating_sub(CONTEXT);
    let end = (last.at + last.old.len() + CONTEXT).min(lines.0.len());
    let grown: isize = hunk.iter().map(|c| c.new.len() as isize - c.old.len() as isize).sum();
    let (old, new) = (end - start, (end - start).saturating_add_signed(grown));
    let from = start.saturating_add_signed(shift) + 1;
    let _ = writeln!(out, "@@ -{},{old} +{from},{new} @@", start + 1);
    let mut at = start;
    for change in hunk {
        context(out, lines, at..change.at);
        let secret = change.new.iter().any(|line| is_secret(line));
        for line in &change.old {
            let _ = writeln!(out, "-{}", if secret { key_alone(line) } else { shown(line) });
        }
        for line in &change.new {
            let _ = writeln!(out, "+{}", shown(line));
        }
        at = change.at + change.old.len();
    }
    context(out, lines, at..end);
    shift + grown
}

fn context(out: &mut String, (lines, hidden): Lines<'_>, range: Range<usize>) {
    for at in range {
        let line = match lines[at] {
            _ if hidden[at] => "[redacted]".to_string(),
            line if key_of(line).is_some_and(|key| !is_of_a_file(key)) => key_alone(line),
            line => shown(line),
        };
        let _ = writeln!(out, " {line}");
    }
}

/// The key of a line, where it has one.
fn key_of(line: &str) -> Option<&str> {
    let bare = line.trim_start_matches([' ', '-']).trim_end_matches(['\r', '\n']);
    let end = bare.find(": ").or_else(|| bare.strip_suffix(':').map(str::len))?;
    let key = bare[..end].trim().trim_matches(['"', '\'']);
    (!key.is_empty() && !bare.starts_with('#')).then_some(key)
}

/// Lines that go on with the value of a secret on a line above, or with that of a key that no field has.
fn continued_secrets(lines: &[&str]) -> Vec<bool> {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let mut below: Option<usize> = None;
    let mut hidden = Vec::with_capacity(lines.len());
    // Of a key that was pasted each line is a part of it.
    let mut is_in_key = false;
    for line in lines {
        if is_in_key || line.contains("PRIVATE KEY-----") {
            is_in_key = !line.contains("-----END ");
            hidden.push(true);
            continue;
        }
        let is_item = line.trim_start().starts_with("- ");
        let is_in = |key| depth(line) > key || (is_item && depth(line) == key);
        let deeper = below.is_some_and(|key| line.trim().is_empty() || is_in(key));
        hidden.push(deeper);
        if !deeper {
            let key = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
            let unknown = key_of(line).is_some_and(|key| !is_of_a_file(key));
            let secret =
                unknown || ["password", "pullsecret", "passphrase"].iter().any(|s| key.contains(s));
            below = secret.then(|| line.len() - line.trim_start_matches([' ', '-']).len());
        }
    }
    hidden
}

fn shown(line: &str) -> String {
    let line = printable(line.trim_end_matches(['\r', '\n']).as_bytes());
    if line.contains("auths") { key_alone(&line) } else { redact(&without_loose_talk(&line)) }
}

fn is_secret(line: &str) -> bool {
    let plain = printable(line.trim_end_matches(['\r', '\n']).as_bytes());
    shown(line) != plain
}

fn key_alone(line: &str) -> String {
    let key = line.split(':').next().unwrap_or_default();
    format!("{}: [redacted]", printable(key.trim_end().as_bytes()))
}

/// Edits by the lines that they touch; lines that stay as they are at either end are no change.
fn changes<'t>(text: &str, lines: &[&'t str], edits: &[Edit]) -> Vec<Change<'t>> {
    let mut starts = Vec::with_capacity(lines.len() + 1);
    let mut at = 0;
    for line in lines {
        starts.push(at);
        at += line.len();
    }
    starts.push(at);
    let line_of = |offset: usize| {
        starts.partition_point(|start| *start <= offset).clamp(1, lines.len().max(1)) - 1
    };
    let mut edits: Vec<&Edit> =
        edits.iter().filter(|edit| text.get(edit.at.clone()).is_some()).collect();
    edits.sort_by_key(|edit| (edit.at.start, edit.at.end));
    let mut blocks: Vec<(Range<usize>, Vec<&Edit>)> = Vec::new();
    for edit in edits {
        let (first, last) = (line_of(edit.at.start), line_of(edit.at.end.max(edit.at.start)));
        match blocks.last_mut().filter(|(range, _)| first < range.end) {
            Some((range, own)) => {
                range.end = range.end.max(last + 1);
                own.push(edit);
            }
            None => blocks.push((first..last + 1, vec![edit])),
        }
    }
    let mut changes = Vec::new();
    for (range, own) in blocks {
        if range.end > lines.len() {
            continue;
        }
        let (from, to) = (starts[range.start], starts[range.end]);
        let moved: Vec<Edit> = own
            .iter()
            .map(|edit| Edit {
                at: edit.at.start - from..edit.at.end - from,
                with: edit.with.clone(),
            })
            .collect();
        let after = apply(&text[from..to], moved.iter());
        let new: Vec<&str> = after.split_inclusive('\n').collect();
        let old = &lines[range.clone()];
        let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let tail =
            old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(a, b)| a == b);
        let tail = tail.count();
        let (old_end, new_end) = (old.len() - tail, new.len() - tail);
        if head < old_end || head < new_end {
            changes.push(Change {
                at: range.start + head,
                old: old[head..old_end].to_vec(),
                new: new[head..new_end].iter().map(|line| (*line).to_string()).collect(),
            });
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(text: &str, from: &str, with: &str) -> Edit {
        let start = text.find(from).unwrap();
        Edit { at: start..start + from.len(), with: with.into() }
    }

    #[test]
    fn hunks_have_context_and_count_from_one() {
        let text = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\nn\n";
        let edits = [edit(text, "b", "B\nB2"), edit(text, "m", "M")];
        let expected = "--- x\n+++ y\n@@ -1,5 +1,6 @@\n a\n-b\n+B\n+B2\n c\n d\n e\n\
                        @@ -10,5 +11,5 @@\n j\n k\n l\n-m\n+M\n n\n";
        assert_eq!(diff(text, &edits, "x", "y"), expected);
        assert_eq!(diff(text, &[], "x", "y"), "");
    }

    #[test]
    fn an_insertion_takes_nothing_away() {
        let text = "ip: 1\nid: 2\n";
        let at_end = Edit { at: 5..5, with: "\nc: 3".into() };
        assert_eq!(
            diff(text, &[at_end], "x", "y"),
            "--- x\n+++ y\n@@ -1,2 +1,3 @@\n ip: 1\n+c: 3\n id: 2\n"
        );
    }

    #[test]
    fn of_what_stands_around_only_known_keys_have_values() {
        let text = "# login: root/hunter2\nname: a # of the lab\ncolour: hunter2\nmemo:\n- hunter2\nx: 1\n";
        let shown = diff(text, &[edit(text, "of the lab", "of us")], "x", "y");
        assert!(!shown.contains("hunter2"), "{shown}");
        let expected = " # …\n-name: a # of the lab\n+name: a # of us\n colour: [redacted]\n \
                        memo: [redacted]\n [redacted]\n";
        assert!(shown.ends_with(expected), "{shown}");
    }

    #[test]
    fn secrets_are_not_shown_on_either_side() {
        let text = "x: 1\npasswrod: hunter2-and-more\npullSecret: '{\"auths\":{}}'\n";
        let shown = diff(text, &[edit(text, "passwrod", "password")], "x", "y");
        assert!(!shown.contains("hunter2") && !shown.contains("auths"), "{shown}");
        let text = "a: 1\n  password: |\n    deep-secret\n  b: x\n";
        let block = diff(text, &[edit(text, "x", "y")], "x", "y");
        assert!(!block.contains("deep-secret") && block.contains("-  b: x"), "{block}");
        assert!(shown.contains("-passwrod: [redacted]\n+password: [redacted]"), "{shown}");
    }
}
