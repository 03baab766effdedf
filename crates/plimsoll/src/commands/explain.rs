use std::io::Read;

use plimsoll_engine::{Pack, check, explain, symptoms};
use plimsoll_model::knowledge::{EXPLAIN_SCHEMA, Explained, FailureMode, KnownLine, LineMatch};
use plimsoll_model::{clip, redact};
use plimsoll_sources::LineScan;

use crate::args::{Explain, PageOutput};
use crate::exit::{Failure, Outcome};
use crate::knowledge::Files;
use crate::output::{note, print, text_options};

/// What is read of a pasted log; more is a case for `diagnose`.
const MAX_BYTES: u64 = 1 << 20;
const MAX_LINES: usize = 2000;
const MAX_LINE: usize = 8 << 10;

pub fn run(args: &Explain) -> Result<Outcome, Failure> {
    let files = Files::read(&args.pack)?;
    let pack = files.load()?;
    let answer = match &args.log {
        Some(text) => lines(args, &pack, text)?,
        None => pages(args, &pack, &files)?,
    };
    print(&match args.output {
        PageOutput::Json => plimsoll_report::json(&answer),
        PageOutput::Markdown => plimsoll_report::explain_markdown(&answer),
        PageOutput::Text => plimsoll_report::explain_text(&answer, &text_options(&args.talk)),
    })?;
    if args.log.is_some() && answer.lines.is_empty() {
        note(&args.talk, "hint: paste the whole line, with the words of the error");
        note(&args.talk, "hint: 'plimsoll knowledge list' shows all that is known");
    }
    Ok(Outcome::Fine)
}

fn pages(args: &Explain, pack: &Pack, files: &Files) -> Result<Explained, Failure> {
    let mut modes: Vec<FailureMode> = Vec::new();
    let mut checks = None;
    for id in &args.ids {
        let known = match explain::find(pack, id) {
            Some(case) => files.failure_mode(pack, case),
            // What is seen only before an install is no part of the pack of clusters.
            None => {
                let checks = match &mut checks {
                    Some(checks) => checks,
                    none => none.insert(crate::knowledge::for_checks(&args.pack)?),
                };
                let case = explain::find(&checks.pack, id);
                let mode = case.and_then(|case| files.failure_mode(&checks.pack, case));
                mode.or_else(|| check::page(&checks.words, id))
            }
        };
        let mode = known.ok_or_else(|| unknown(pack, id))?;
        if modes.iter().all(|other| other.id != mode.id) {
            modes.push(mode);
        }
    }
    Ok(answer(modes, Vec::new(), 0))
}

fn answer(failure_modes: Vec<FailureMode>, lines: Vec<KnownLine>, unknown_lines: u64) -> Explained {
    Explained { schema: EXPLAIN_SCHEMA.into(), failure_modes, lines, unknown_lines }
}

fn unknown(pack: &Pack, id: &str) -> Failure {
    let near = explain::near(pack, id);
    let near = match near.is_empty() {
        true => String::new(),
        false => format!("\nhint: near to it: {}", near.join(", ")),
    };
    Failure::Usage(format!(
        "no failure mode '{}'{near}\nhint: 'plimsoll knowledge list' shows all of them",
        clip(id)
    ))
}

fn lines(args: &Explain, pack: &Pack, text: &str) -> Result<Explained, Failure> {
    let text = if text == "-" { stdin(args)? } else { text.to_string() };
    if text.trim().is_empty() {
        return Err(Failure::Usage("--log has no text to look at".into()));
    }
    let signatures: Vec<_> = pack.signatures.iter().map(|rule| rule.spec.clone()).collect();
    let scan = LineScan::new(&signatures);
    let mut known: Vec<KnownLine> = Vec::new();
    let mut unknown = 0;
    let all = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    if all.clone().count() > MAX_LINES {
        note(&args.talk, &format!("note: only the first {MAX_LINES} lines were looked at"));
    }
    for (number, line) in all.take(MAX_LINES) {
        let line = &line[..line.floor_char_boundary(MAX_LINE)];
        let found = symptoms::spoken_for(pack, line, &scan.find(line));
        let matches: Vec<LineMatch> = found.into_iter().map(redacted).collect();
        if matches.is_empty() {
            unknown += 1;
        } else if let Some(same) = known.iter_mut().find(|known| known.matches == matches) {
            same.count += 1;
        } else {
            known.push(KnownLine { number, text: clip(&redact(line)), count: 1, matches });
        }
    }
    Ok(answer(Vec::new(), known, unknown))
}

/// A pattern may capture anything.
fn redacted(mut found: LineMatch) -> LineMatch {
    found.captures.values_mut().for_each(|value| *value = clip(&redact(value)));
    found
}

fn stdin(args: &Explain) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::Unreadable(format!("cannot read stdin: {error}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        bytes.truncate(1 << 20);
        note(&args.talk, "note: only the first 1 MiB was looked at");
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
