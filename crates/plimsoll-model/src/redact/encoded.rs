//! Files in base64, on one line or wrapped over several: one with a secret in it goes as a whole.

use std::borrow::Cow;
use std::ops::Range;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Nobody always fills up, and what was cut off ends anywhere.
const DECODER: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// As long as `password: x` becomes.
const SHORTEST: usize = 16;

/// How a file begins that gzip made. What is in it stays unknown: this crate has nothing that unpacks, and has no
/// need of it, because nothing that is read for a diagnosis comes packed. So it goes, as if it held a secret:
/// kubeconfigs and pull secrets come this way, in Ignition and in user data.
const PACKED: &[u8] = b"H4sI";
/// No name begins like a packed file and is as long.
const SHORTEST_PACKED: usize = 24;

/// `is_secret` is asked of the text that was encoded.
pub fn without_encoded(text: &str, is_secret: impl Fn(&str) -> bool) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let mut done = 0;
    let mut at = 0;
    while let Some(first) = next_run(bytes, at) {
        at = first.end;
        if !may_be_secret(&bytes[first.clone()]) {
            continue;
        }
        let lines = lines_of(bytes, first);
        at = lines.last().map_or(at, |last| last.end);
        if is_packed(bytes, &lines)
            || decoded(bytes, &lines).is_some_and(|file| is_secret(readable(&file)))
        {
            // Its lines stay, so that what stands below keeps its number.
            for (number, line) in lines.into_iter().enumerate() {
                out.push_str(&text[done..line.start]);
                out.push_str(if number == 0 { "[redacted]" } else { "" });
                done = line.end;
            }
        }
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[done..]);
    Cow::Owned(out)
}

/// The next that is long enough, with what it is filled up with.
fn next_run(bytes: &[u8], mut at: usize) -> Option<Range<usize>> {
    loop {
        at += bytes.get(at..)?.iter().position(|byte| is_digit(*byte))?;
        let end = end_of_run(bytes, at);
        // Of an escaped line end, the letter is no part of it.
        let start = if bytes[..at].ends_with(b"\\") { at + 1 } else { at };
        if end - start >= SHORTEST {
            return Some(start..end);
        }
        at = end;
    }
}

fn end_of_run(bytes: &[u8], start: usize) -> usize {
    let rest = &bytes[start..];
    let digits = rest.iter().position(|byte| !is_digit(*byte)).unwrap_or(rest.len());
    let fill = rest[digits..].iter().take(2).take_while(|byte| **byte == b'=').count();
    start + digits + fill
}

fn is_digit(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/')
}

/// Most runs are names and paths, and most of the others are no text: the first twelve bytes tell.
fn may_be_secret(run: &[u8]) -> bool {
    let mut head = [0; 12];
    let digits = &run[..SHORTEST];
    run.starts_with(PACKED)
        || DECODER
            .decode_slice(digits, &mut head)
            .is_ok_and(|length| readable(&head[..length]).len() + 3 >= length)
}

/// Up to the first byte that is no text.
fn readable(bytes: &[u8]) -> &str {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    };
    let is_odd = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    &text[..text.find(is_odd).unwrap_or(text.len())]
}

/// The lines of one file: all but the last are as long as each other, and the first may have its key before it.
fn lines_of(bytes: &[u8], first: Range<usize>) -> Vec<Range<usize>> {
    let is_whole = bytes[..first.start].iter().rev().find(|byte| !is_blank(**byte));
    let is_whole = is_whole.is_none_or(|byte| *byte == b'\n');
    let mut width = is_whole.then_some(first.len());
    let mut indent = None;
    let mut end = first.end;
    let mut lines = vec![first];
    while let Some((own, next)) = line_below(bytes, end) {
        let is_other = indent.is_some_and(|indent| indent != own)
            || width.is_some_and(|width| next.len() > width);
        if is_other || (width != Some(next.len()) && !goes_on(bytes, &lines, &next)) {
            break;
        }
        indent = Some(own);
        let is_last = width.is_some_and(|width| next.len() < width);
        width = Some(next.len());
        end = next.end;
        lines.push(next);
        if is_last {
            break;
        }
    }
    lines
}

/// What is a text goes on as one: a word that stands alone on the line below is no part of it.
fn goes_on(bytes: &[u8], lines: &[Range<usize>], next: &Range<usize>) -> bool {
    let with_next = [lines, std::slice::from_ref(next)].concat();
    // Of two or three letters, what begins like a character is none that was cut off.
    let is_cut = next.len() >= SHORTEST;
    !are_text(bytes, lines, true) || are_text(bytes, &with_next, is_cut)
}

/// `is_cut`: the last character need not be whole.
fn are_text(bytes: &[u8], lines: &[Range<usize>], is_cut: bool) -> bool {
    let Some(file) = decoded(bytes, lines) else { return false };
    match std::str::from_utf8(&file[readable(&file).len()..]) {
        Ok(rest) => rest.is_empty(),
        Err(error) => is_cut && error.valid_up_to() == 0 && error.error_len().is_none(),
    }
}

/// What is encoded on the line below, and how far it is indented, when nothing else stands there. Of a text that
/// was quoted, lines end in `\n`.
fn line_below(bytes: &[u8], end: usize) -> Option<(usize, Range<usize>)> {
    if bytes[..end].ends_with(b"=") {
        return None;
    }
    let line = line_after(bytes, end)?;
    let start = skipped(bytes, line, is_blank);
    let run = start..end_of_run(bytes, start);
    let after = skipped(bytes, run.end, is_blank);
    let quote = skipped(bytes, after, is_escape);
    let is_all = after == bytes.len()
        || matches!(bytes.get(quote), Some(b'"' | b'\''))
        || line_after(bytes, run.end).is_some();
    (is_all && !run.is_empty()).then_some((start - line, run))
}

/// Where the next line begins, if only blanks stand before it.
fn line_after(bytes: &[u8], end: usize) -> Option<usize> {
    let at = skipped(bytes, end, is_blank);
    let escapes = skipped(bytes, at, is_escape);
    let is_end = match bytes.get(escapes) {
        Some(b'\n') => escapes == at,
        Some(b'n') => escapes > at,
        _ => false,
    };
    is_end.then_some(escapes + 1)
}

fn skipped(bytes: &[u8], mut at: usize, is: fn(u8) -> bool) -> usize {
    while bytes.get(at).is_some_and(|byte| is(*byte)) {
        at += 1;
    }
    at
}

fn is_escape(byte: u8) -> bool {
    byte == b'\\'
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

fn is_packed(bytes: &[u8], lines: &[Range<usize>]) -> bool {
    lines.first().is_some_and(|first| bytes[first.clone()].starts_with(PACKED))
        && lines.iter().map(Range::len).sum::<usize>() >= SHORTEST_PACKED
}

/// All of it: what follows a text may be anything.
fn decoded(bytes: &[u8], lines: &[Range<usize>]) -> Option<Vec<u8>> {
    let mut digits: Vec<u8> = lines.iter().flat_map(|line| &bytes[line.clone()]).copied().collect();
    let length = digits.iter().rposition(|byte| *byte != b'=')? + 1;
    // One digit more than a whole number of bytes was cut off.
    digits.truncate(if length % 4 == 1 { length - 1 } else { length });
    DECODER.decode(digits).ok()
}
