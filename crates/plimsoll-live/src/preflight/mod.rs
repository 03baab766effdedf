//! What `check --live` sees of the outside before anything boots: names, addresses, BMCs, clocks,
//! registries and the machine that it runs on. It measures, in the files of a capture, and judges
//! nothing. Credentials of the config stay in memory.

mod bmcs;
mod machine;
mod plan;
mod registries;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;

use plimsoll_bmc::differences;
use plimsoll_install::{Config, Method};
use plimsoll_model::Time;
use plimsoll_probe::{Patience as ProbePatience, Plan, Record, run};
use serde_json::json;

use crate::api::{Deadline, Patience, Unusable};
use crate::bmcs::Files;
use crate::{Clock, Progress};

const PROBES_AT_ONCE: usize = 16;
/// An address that the kernel remembers is asked for again only after some seconds.
const PROBE: std::time::Duration = std::time::Duration::from_secs(12);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    Dns,
    Vip,
    Bmc,
    Hardware,
    Clock,
    Ports,
    Mirror,
    Host,
}

impl Part {
    pub const ALL: [Part; 8] = [
        Part::Dns,
        Part::Vip,
        Part::Bmc,
        Part::Hardware,
        Part::Clock,
        Part::Ports,
        Part::Mirror,
        Part::Host,
    ];

    /// As it is typed, and as it stands in `live/asked.json`.
    pub fn name(self) -> &'static str {
        match self {
            Part::Dns => "dns",
            Part::Vip => "vip",
            Part::Bmc => "bmc",
            Part::Hardware => "hardware",
            Part::Clock => "clock",
            Part::Ports => "ports",
            Part::Mirror => "mirror",
            Part::Host => "host",
        }
    }
}

/// What is to be looked at.
pub struct Preflight<'c> {
    pub config: &'c Config,
    /// The text of the install-config, for the secrets that [`Config`] does not keep.
    pub text: &'c str,
    pub method: Method,
    pub parts: BTreeSet<Part>,
    /// The release to look for in the mirrors, by digest.
    pub release_image: Option<String>,
    pub patience: Patience,
    pub clock: Clock,
    /// Where this machine keeps its own state: `/`.
    pub root: PathBuf,
    /// Where the assets of the install will be written.
    pub folder: PathBuf,
    /// `$PATH`, where the installer looks for its tools.
    pub path: Option<OsString>,
}

/// An image that cannot be looked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadImage(String);

impl Preflight<'_> {
    fn has(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }

    /// Whether the image is one that a mirror can be asked for.
    pub fn check_image(text: &str) -> Result<(), BadImage> {
        registries::release(text).map(|_| ())
    }

    /// Files by their path, laid out as in a capture. Nothing in them is secret.
    pub fn read(&self, progress: &dyn Progress) -> Result<BTreeMap<String, Vec<u8>>, Unusable> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|error| Unusable(error.to_string()))?;
        let files = runtime.block_on(self.look(progress));
        // Whatever still waits for somebody who does not answer is not waited for.
        runtime.shutdown_background();
        Ok(files)
    }

    async fn look(&self, progress: &dyn Progress) -> BTreeMap<String, Vec<u8>> {
        let deadline = Deadline::after(self.patience.budget);
        let now: Time = (self.clock)();
        // A name that nobody has asked for before, so that no cache answers.
        let label = format!("plimsoll-{:x}", now.as_second());
        let mut files = BTreeMap::new();
        let asked: Vec<&str> = self.parts.iter().map(|part| part.name()).collect();
        let asked = json!({
            "schema": "plimsoll.preflight/v1",
            "parts": asked,
            "label": label,
            "release_image": self.release_image,
        });
        put(&mut files, "live/asked.json", &asked);
        if self.has(Part::Host) {
            progress.say("this machine");
            put(&mut files, "live/machine.json", &machine::read(self).await);
        }
        let (probes, readings) =
            futures::join!(self.probe(&label, deadline, progress), self.bmcs(deadline, progress));
        if !probes.answers.is_empty() {
            put(&mut files, "probes/probes.json", &probes);
        }
        let names = Files::default();
        for reading in &readings {
            let name = names.free(&reading.name);
            put(&mut files, &format!("bmc/{name}.json"), reading);
        }
        if self.has(Part::Hardware) {
            let masters = bmcs::control_plane(self.config);
            let of_masters: Vec<_> =
                readings.iter().filter(|read| masters.contains(&read.name)).cloned().collect();
            put(&mut files, "bmc/differences.json", &differences(&of_masters));
        }
        files
    }

    async fn probe(&self, label: &str, deadline: Deadline, progress: &dyn Progress) -> Record {
        let probes = plan::probes(self, label, deadline.left());
        if probes.is_empty() {
            return Record::new(Vec::new());
        }
        progress.say(&format!("{} probes", probes.len()));
        let plan = Plan { probes, at_once: PROBES_AT_ONCE };
        let patience =
            ProbePatience { probe: self.patience.request.min(PROBE), budget: deadline.left() };
        Record::new(run(&plan, patience, "here", self.clock).await)
    }

    async fn bmcs(
        &self,
        deadline: Deadline,
        progress: &dyn Progress,
    ) -> Vec<plimsoll_bmc::Reading> {
        if !self.has(Part::Bmc) && !self.has(Part::Hardware) {
            return Vec::new();
        }
        let targets = bmcs::targets(self.config, self.text);
        if targets.is_empty() {
            return Vec::new();
        }
        progress.say(&format!("{} BMCs", targets.len()));
        let patience = crate::bmcs::patience((self.patience, deadline));
        let at_once = crate::bmcs::AT_ONCE;
        let mut readings = plimsoll_bmc::read_all(&targets, patience, self.clock, at_once).await;
        readings.retain(|reading| crate::bmcs::is_judged(reading, deadline));
        readings
    }
}

fn put(files: &mut BTreeMap<String, Vec<u8>>, path: &str, value: &impl serde::Serialize) {
    if let Ok(mut text) = serde_json::to_vec_pretty(value) {
        text.push(b'\n');
        files.insert(path.into(), text);
    }
}
