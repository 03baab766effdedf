//! What `check` sees outside of the files: the folder that they stand in, and with `--live` names,
//! BMCs, registries and this machine.

use std::path::PathBuf;

use plimsoll_engine::check::ConfigFile;
use plimsoll_install::{Input, Method, judge};
use plimsoll_live::{Part, Patience, Preflight};
use plimsoll_model::{Snapshot, snapshot::SourceInfo};

use crate::args::{Check, LivePart};
use crate::exit::Failure;
use crate::{consumed, live};

const AGE: &str = "install-folder/age-hours";

pub fn look(
    args: &Check,
    method: Method,
    install: Option<ConfigFile<'_>>,
    agent: Option<ConfigFile<'_>>,
    seen: &mut Snapshot,
) -> Result<(), Failure> {
    let folder = args.files.iter().find(|path| path.is_dir());
    if let Some(hours) = folder.and_then(|folder| consumed::age_hours(folder, seen.now?)) {
        add(seen, AGE.into(), format!("{hours}\n").into_bytes());
    }
    let Some(parts) = &args.live else { return Ok(()) };
    if let Some(image) = &args.release_image {
        Preflight::check_image(image).map_err(|wrong| Failure::Usage(wrong.to_string()))?;
    }
    let text = |file: Option<ConfigFile<'_>>| file.map(|file| file.text.to_string());
    let (install, agent) = (text(install), text(agent));
    let input = Input { install: install.as_deref(), agent: agent.as_deref() };
    // What is no YAML is told by the check itself.
    let Ok(judgement) = judge(&input, args.release, method) else { return Ok(()) };
    let parts = match parts.is_empty() {
        true => Part::ALL.into(),
        false => parts.iter().map(|part| meant(*part)).collect(),
    };
    let wish = Preflight {
        config: &judgement.config,
        text: install.as_deref().unwrap_or_default(),
        method,
        parts,
        release_image: args.release_image.clone(),
        patience: Patience {
            request: std::time::Duration::from_secs(args.request_timeout),
            budget: std::time::Duration::from_secs(args.timeout),
            ..Patience::default()
        },
        clock: live::clock,
        root: PathBuf::from("/"),
        folder: folder.cloned().unwrap_or_else(|| PathBuf::from(".")),
        path: std::env::var_os("PATH"),
    };
    let progress = live::progress(&args.talk);
    let files = wish.read(&*progress).map_err(|error| Failure::Unreadable(error.to_string()))?;
    for (path, bytes) in files {
        add(seen, path, bytes);
    }
    Ok(())
}

fn add(seen: &mut Snapshot, path: String, bytes: Vec<u8>) {
    if seen.sources.is_empty() {
        let (kind, name) = ("live".to_string(), "live".to_string());
        seen.sources.push(SourceInfo { kind, name, complete: true, ..SourceInfo::default() });
    }
    seen.files.insert((0, path), bytes);
}

fn meant(part: LivePart) -> Part {
    match part {
        LivePart::Dns => Part::Dns,
        LivePart::Vip => Part::Vip,
        LivePart::Bmc => Part::Bmc,
        LivePart::Hardware => Part::Hardware,
        LivePart::Clock => Part::Clock,
        LivePart::Ports => Part::Ports,
        LivePart::Mirror => Part::Mirror,
        LivePart::Host => Part::Host,
    }
}
