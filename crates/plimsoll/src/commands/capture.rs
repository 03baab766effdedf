use std::path::Path;

use plimsoll_live::{Account, Live};
use plimsoll_model::Needs;
use plimsoll_model::capture::{CAPTURED_SCHEMA, Captured};

use crate::args::{Capture, DataOutput};
use crate::exit::{Failure, Outcome};
use crate::live;
use crate::output::{note, print, text_options};

pub fn run(args: &Capture) -> Result<Outcome, Failure> {
    let pack = crate::knowledge::load(&args.pack)?;
    let needs = plimsoll_engine::needs(&pack);
    let Some(file) = &args.file else {
        print(&plimsoll_live::manifests(&needs))?;
        return Ok(Outcome::Fine);
    };
    let sorted = live::sorted(&args.sources, &args.reach, args.now)?;
    let request = match (sorted.paths.first(), sorted.live) {
        (None, Some(request)) => request,
        (Some(path), _) => {
            let shown = path.display();
            return Err(Failure::Usage(format!(
                "'{shown}' is no live source: it is captured already"
            )));
        }
        (None, None) => return Err(Failure::Usage("there is nothing to capture".into())),
    };
    let now = request.now;
    let live = live::open(request)?;
    let (account, packed) = write(args, &live, &needs, file)?;
    let complete = account.gaps.iter().all(|gap| !gap.refused);
    let captured = Captured {
        schema: CAPTURED_SCHEMA.into(),
        name: live.name().into(),
        now,
        file: file.display().to_string(),
        files: account.files,
        bytes: account.size,
        packed,
        requests: account.requests,
        attempts: live.attempts().to_vec(),
        complete,
        gaps: account.gaps,
    };
    print(&match args.output {
        DataOutput::Json => plimsoll_report::json(&captured),
        DataOutput::Text => plimsoll_report::captured_text(&captured, &text_options(&args.talk)),
    })?;
    note(&args.talk, &format!("hint: plimsoll diagnose {}", file.display()));
    Ok(if complete { Outcome::Fine } else { Outcome::NotProvable })
}

/// Gives the size of the archive as well.
fn write(
    args: &Capture,
    live: &Live,
    needs: &Needs,
    file: &Path,
) -> Result<(Account, u64), Failure> {
    let failed = |error: std::io::Error| {
        Failure::Unreadable(format!("cannot write {}: {error}", file.display()))
    };
    let mut archive = live::create(file)?;
    let progress = live::progress(&args.talk);
    let account = match live.write(needs, &*progress, &mut archive) {
        Ok(account) => account,
        Err(error) => {
            archive.give_up();
            return Err(failed(error));
        }
    };
    drop(progress);
    Ok((account, archive.finish().map_err(failed)?))
}
