use std::io::Seek;
use std::path::Path;

use plimsoll_live::{Account, Live, Progress};
use plimsoll_model::Needs;
use plimsoll_model::capture::{CAPTURED_SCHEMA, Captured};

use crate::args::{Capture, DataOutput};
use crate::exit::{Failure, Outcome};
use crate::live;
use crate::names::NamesFile;
use crate::output::{note, print, text_options};

pub fn run(args: &Capture) -> Result<Outcome, Failure> {
    let pack = crate::knowledge::load(&args.pack)?;
    let needs = plimsoll_engine::needs(&pack);
    let Some(file) = &args.file else {
        let user = args.rbac.as_deref().filter(|user| !user.is_empty());
        let account = user.and_then(|user| user.strip_prefix("system:serviceaccount:"));
        if account.is_some_and(|rest| !is_account(rest)) {
            let form = "system:serviceaccount:NAMESPACE:NAME";
            return Err(Failure::Usage(format!("--rbac: a service account is {form}")));
        }
        print(&plimsoll_live::manifests(&needs, user))?;
        return Ok(Outcome::Fine);
    };
    live::to_be_file("-o", file)?;
    if let Some(names) = &args.disguise {
        live::to_be_file("--disguise", names)?;
    }
    if args.disguise.as_ref() == Some(file) {
        return Err(Failure::Usage("--disguise and -o name the same file".into()));
    }
    let sorted = live::sorted(&args.sources, &args.reach, args.now)?;
    let request = match (sorted.paths.first(), sorted.live) {
        (None, Some(request)) => request,
        (Some(path), _) => {
            let shown = path.display();
            let why = match path.to_str().is_some_and(|text| text.starts_with("node:")) {
                true => "is not the root of a machine that runs",
                false => "is no live source: it is captured already",
            };
            return Err(Failure::Usage(format!("'{shown}' {why}")));
        }
        (None, None) => return Err(Failure::Usage("there is nothing to capture".into())),
    };
    let now = request.now;
    let progress = live::progress(&args.talk);
    let live = live::open(request, &*progress)?;
    let (account, packed) = write(args, &live, &needs, file, now, &*progress)?;
    drop(progress);
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

/// `NAMESPACE:NAME`.
fn is_account(text: &str) -> bool {
    text.split_once(':')
        .is_some_and(|(space, name)| !space.is_empty() && !name.is_empty() && !name.contains(':'))
}

/// Gives the size of the archive as well.
fn write(
    args: &Capture,
    live: &Live,
    needs: &Needs,
    file: &Path,
    now: jiff::Timestamp,
    progress: &dyn Progress,
) -> Result<(Account, u64), Failure> {
    let failed = |error: std::io::Error| {
        Failure::Unreadable(format!("cannot write {}: {error}", file.display()))
    };
    let mut names = args.disguise.as_deref().map(NamesFile::open).transpose()?;
    if let (Some(names), Some(file)) = (&names, &args.disguise) {
        // Told before an hour of reading, and not after it. It is used again as it is.
        names.save(file).map_err(|error| {
            Failure::Unreadable(format!("cannot write {}: {error}", file.display()))
        })?;
    }
    let mut archive = live::create(file)?;
    let account = match (&mut names, &args.disguise) {
        (Some(names), Some(names_file)) => {
            // All names are known when all is read. This copy has no name on the disk.
            let mut whole = tempfile::tempfile_in(live::folder_of(file)).map_err(failed)?;
            let account = live.write(needs, progress, &mut whole).map_err(failed)?;
            whole.rewind().map_err(failed)?;
            let disguise = names.disguise(&account.names)?;
            plimsoll_live::write_disguised(whole, &disguise, now, &mut archive).map_err(failed)?;
            names.used(&disguise);
            names.save(names_file).map_err(|error| {
                Failure::Unreadable(format!("cannot write {}: {error}", names_file.display()))
            })?;
            account
        }
        _ => live.write(needs, progress, &mut archive).map_err(failed)?,
    };
    Ok((account, archive.finish().map_err(failed)?))
}
