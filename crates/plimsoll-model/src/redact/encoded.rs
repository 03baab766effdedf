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
        if is_packed(bytes, &lines) || decoded(bytes, &lines).is_some_and(|file| is_secret(&file)) {
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
    let mut end = first.end;
    let mut lines = vec![first];
    while let Some(next) = line_below(bytes, end) {
        if width.is_some_and(|width| next.len() > width) {
            break;
        }
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

/// What is encoded on the line below, when nothing else stands there. Of a text that was quoted, lines end in `\n`.
fn line_below(bytes: &[u8], end: usize) -> Option<Range<usize>> {
    if bytes[..end].ends_with(b"=") {
        return None;
    }
    let start = start_of_line(bytes, end)?;
    let run = start..end_of_run(bytes, start);
    let after = bytes.get(run.end).copied().unwrap_or(b'\n');
    let is_all = is_blank(after) || matches!(after, b'\n' | b'\\' | b'"' | b'\'');
    (is_all && !run.is_empty()).then_some(run)
}

fn start_of_line(bytes: &[u8], end: usize) -> Option<usize> {
    let skip = |mut at: usize, is: fn(u8) -> bool| {
        while bytes.get(at).is_some_and(|byte| is(*byte)) {
            at += 1;
        }
        at
    };
    let at = skip(end, is_blank);
    let escapes = skip(at, |byte| byte == b'\\');
    let is_end = match bytes.get(escapes) {
        Some(b'\n') => escapes == at,
        Some(b'n') => escapes > at,
        _ => false,
    };
    is_end.then(|| skip(escapes + 1, is_blank))
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

fn is_packed(bytes: &[u8], lines: &[Range<usize>]) -> bool {
    lines.first().is_some_and(|first| bytes[first.clone()].starts_with(PACKED))
        && lines.iter().map(Range::len).sum::<usize>() >= SHORTEST_PACKED
}

/// The text of it. What follows a text may be anything.
fn decoded(bytes: &[u8], lines: &[Range<usize>]) -> Option<String> {
    let mut digits: Vec<u8> = lines.iter().flat_map(|line| &bytes[line.clone()]).copied().collect();
    let length = digits.iter().rposition(|byte| *byte != b'=')? + 1;
    // One digit more than a whole number of bytes was cut off.
    digits.truncate(if length % 4 == 1 { length - 1 } else { length });
    let file = DECODER.decode(digits).ok()?;
    Some(readable(&file).into())
}
