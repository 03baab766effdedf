//! Fitting text into columns. Counts what a terminal shows, not bytes; knows nothing of colour,
//! so paint after fitting. Input has passed [`crate::safe`].

use unicode_width::UnicodeWidthChar;

pub fn columns(text: &str) -> usize {
    text.chars().map(character_columns).sum()
}

fn character_columns(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// The longest beginning of `text` that fits, in bytes.
fn fitting(text: &str, width: usize) -> usize {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += character_columns(c);
        if used > width {
            return at;
        }
    }
    text.len()
}

pub fn cut_end(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.into();
    }
    let (kept, _) = text.split_at(fitting(text, width.saturating_sub(1)));
    format!("{}…", kept.trim_end())
}

pub fn cut_start(text: &str, width: usize) -> String {
    let mut kept = text;
    while columns(kept) > width.saturating_sub(1) && columns(text) > width {
        let mut characters = kept.chars();
        characters.next();
        kept = characters.as_str();
    }
    if kept.len() == text.len() { text.into() } else { format!("…{}", kept.trim_start()) }
}

/// Both ends carry the meaning: of a path its top folder and its file, of a pod its hash.
pub fn cut_middle(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.into();
    }
    let room = width.saturating_sub(1);
    let (head, rest) = text.split_at(fitting(text, room / 3));
    let mut tail = rest;
    while columns(tail) > room - room / 3 {
        let mut characters = tail.chars();
        characters.next();
        tail = characters.as_str();
    }
    format!("{head}…{tail}")
}

/// As [`cut_middle`], with whole folders at the end where they fit.
pub fn cut_path(path: &str, width: usize) -> String {
    if columns(path) <= width {
        return path.into();
    }
    let room = width.saturating_sub(1);
    let tails = path.match_indices('/').map(|(slash, _)| path.split_at(slash).1);
    match tails.map(|tail| (columns(tail), tail)).find(|(tail, _)| tail + room / 6 <= room) {
        Some((used, tail)) => {
            let (head, _) = path.split_at(fitting(path, room - used));
            format!("{head}…{tail}")
        }
        None => cut_middle(path, width),
    }
}

/// A name of several parts gives up its middle parts first: `Deployment/…/metal3`.
pub fn cut_entity(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.into();
    }
    if let (Some((kind, rest)), Some((_, name))) = (text.split_once('/'), text.rsplit_once('/'))
        && rest.contains('/')
    {
        let short = format!("{kind}/…/{name}");
        if columns(&short) <= width {
            return short;
        }
    }
    cut_middle(text, width)
}

pub fn pad(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(columns(text));
    format!("{text}{}", " ".repeat(missing))
}

/// Breaks at blanks; a word that is too long for a line breaks after a slash, else anywhere.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(2);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && columns(&line) + 1 + columns(word) > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        let mut rest = word;
        while columns(rest) > width {
            let fits = fitting(rest, width);
            let (head, _) = rest.split_at(fits);
            let cut = head.rfind('/').map_or(fits, |slash| slash + 1);
            let (head, tail) = rest.split_at(cut);
            lines.push(head.into());
            rest = tail;
        }
        line.push_str(rest);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// At most `most` lines; the last one says with `…` that there is more.
pub fn wrap_at_most(text: &str, width: usize, most: usize) -> Vec<String> {
    let mut lines = wrap(text, width);
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            *last = cut_end(&format!("{last} …"), width);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_say_that_they_are_cuts() {
        assert_eq!(cut_end("abcdef", 4), "abc…");
        assert_eq!(cut_start("abcdef", 4), "…def");
        assert_eq!(cut_start("abcd", 4), "abcd");
        assert_eq!(
            cut_middle("host_service_logs/masters/kubelet.log:7", 22),
            "host_se…/kubelet.log:7"
        );
        assert_eq!(
            cut_entity("Deployment/openshift-machine-api/metal3", 20),
            "Deployment/…/metal3"
        );
        assert_eq!(cut_entity("Node/master-1", 20), "Node/master-1");
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(columns("漢字"), 4);
        assert_eq!(cut_end("漢字漢字", 5), "漢字…");
    }

    #[test]
    fn long_words_break_after_a_slash() {
        assert_eq!(wrap("see aaaa/bbbb/cccc now", 10), ["see", "aaaa/bbbb/", "cccc now"]);
        assert_eq!(wrap_at_most("one two three four", 9, 1), ["one two …"]);
        assert!(wrap("  ", 10).is_empty());
    }
}
