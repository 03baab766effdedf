//! Which sources are live, and how they come to be read.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use plimsoll_live::{Live, Patience, Request, Silent, Vantage};
use plimsoll_model::Needs;
use plimsoll_sources::Given;

use crate::args::{Diagnose, Reach};
use crate::exit::Failure;

/// Sources as they were typed, told apart.
pub struct Sorted {
    pub paths: Vec<PathBuf>,
    pub live: Option<Request>,
}

pub fn sorted(
    sources: &[PathBuf],
    reach: &Reach,
    now: Option<jiff::Timestamp>,
) -> Result<Sorted, Failure> {
    let mut paths = Vec::new();
    let mut cluster = sources.is_empty().then(|| vantage(None, reach));
    for source in sources {
        let text = source.to_str().unwrap_or_default();
        match text.strip_prefix("kube:") {
            Some(_) if cluster.is_some() => {
                let message = "sources describe one cluster: give kube:CONTEXT once";
                return Err(Failure::Usage(message.into()));
            }
            Some(context) => cluster = Some(vantage(Some(context), reach)),
            None => paths.push(source.clone()),
        }
    }
    let live = cluster.map(|cluster| Request {
        cluster: Some(cluster),
        patience: Patience {
            request: std::time::Duration::from_secs(reach.request_timeout),
            budget: std::time::Duration::from_secs(reach.timeout),
        },
        now: now.unwrap_or_else(whole_second),
    });
    Ok(Sorted { paths, live })
}

fn vantage(context: Option<&str>, reach: &Reach) -> Vantage {
    Vantage {
        kubeconfig: reach.kubeconfig.clone(),
        context: context.filter(|name| !name.is_empty()).map(str::to_string),
        endpoints: reach.endpoint.clone(),
        roots: vec!["/".into(), "/host".into()],
    }
}

/// The time of a reading. Parts of a second tell nobody anything.
fn whole_second() -> jiff::Timestamp {
    let now = jiff::Timestamp::now();
    jiff::Timestamp::from_second(now.as_second()).unwrap_or(now)
}

pub fn open(request: Request) -> Result<Live, Failure> {
    Live::open(request).map_err(|error| {
        let hint = "hint: give a must-gather or another SOURCE, or --kubeconfig FILE";
        Failure::Unreadable(format!("{error}\n{hint}"))
    })
}

/// Everything that a diagnosis reads; what is live is read while it comes.
pub fn given(args: &Diagnose, needs: &Needs) -> Result<Vec<Given>, Failure> {
    let Sorted { paths, live } = sorted(&args.sources, &args.reach, args.now)?;
    if args.keep.is_some() && live.is_none() {
        return Err(Failure::Usage("--keep keeps live sources, and none is given".into()));
    }
    let mut given: Vec<Given> = paths.into_iter().map(Given::Path).collect();
    if let Some(request) = live {
        let live = open(request)?;
        let name = live.name().to_string();
        let stream = live.stream(needs.clone(), Box::new(Silent), |_| ());
        let stream: Box<dyn Read + Send> = match &args.keep {
            Some(file) => Box::new(Kept { stream, archive: Some(create(file)?) }),
            None => stream,
        };
        given.push(Given::Stream { name, stream });
    }
    Ok(given)
}

pub type NewArchive = GzEncoder<File>;

/// A new file that only its owner can read. One that is there already is left alone.
pub fn create(file: &Path) -> Result<NewArchive, Failure> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(file) {
        Ok(new) => Ok(GzEncoder::new(new, Compression::default())),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(Failure::Usage(format!("{} exists already", file.display())))
        }
        Err(error) => Err(Failure::Unreadable(format!("cannot write {}: {error}", file.display()))),
    }
}

/// A stream that is written to disk while it is read.
struct Kept {
    stream: Box<dyn Read + Send>,
    archive: Option<NewArchive>,
}

impl Read for Kept {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(buffer)?;
        match &mut self.archive {
            Some(archive) if count > 0 => archive.write_all(&buffer[..count])?,
            _ => {
                if let Some(archive) = self.archive.take() {
                    archive.finish()?.sync_all()?;
                }
            }
        }
        Ok(count)
    }
}
