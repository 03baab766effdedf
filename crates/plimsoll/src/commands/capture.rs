use plimsoll_live::Silent;
use plimsoll_model::Needs;

use crate::args::{Capture, DataOutput};
use crate::exit::{Failure, Outcome};
use crate::live;
use crate::output::{note, print, text_options};

pub fn run(args: &Capture) -> Result<Outcome, Failure> {
    let pack = crate::knowledge::load(&args.pack)?;
    let needs = Needs { now: args.now, ..plimsoll_engine::needs(&pack) };
    let Some(file) = &args.file else {
        print(&plimsoll_live::manifests(&needs))?;
        return Ok(Outcome::Fine);
    };
    let sorted = live::sorted(&args.sources, &args.reach, args.now)?;
    if let Some(path) = sorted.paths.first() {
        let message = format!("'{}' is no live source: there is nothing to capture", path.display());
        return Err(Failure::Usage(message));
    }
    let Some(request) = sorted.live else {
        return Err(Failure::Usage("there is nothing to capture".into()));
    };
    let live = live::open(request)?;
    for attempt in live.attempts() {
        if let Some(why) = &attempt.why {
            note(&args.talk, &format!("{} ({}): {why}", attempt.vantage, attempt.server));
        }
    }
    let archive = live::create(file)?;
    let failed = |error: &dyn std::fmt::Display| {
        Failure::Unreadable(format!("cannot write {}: {error}", file.display()))
    };
    let mut archive = archive;
    let account =
        live.write(&needs, &Silent, &mut archive).map_err(|error| failed(&error))?;
    let written = archive.finish().map_err(|error| failed(&error))?;
    written.sync_all().map_err(|error| failed(&error))?;
    let _ = (DataOutput::Text, text_options(&args.talk));
    for plimsoll_live::Gap { what, why, .. } in &account.gaps {
        note(&args.talk, &format!("gap: {what}: {why}"));
    }
    Ok(if account.gaps.is_empty() { Outcome::Fine } else { Outcome::NotProvable })
}
