//! BMCs over Redfish, each in a file of its own, and in what one differs from the others.

use plimsoll_bmc::{Patience, ReachStatus, Target, differences, read_all};

use crate::archive::Out;
use crate::gaps::Gaps;
use crate::{Clock, Progress};

const AT_ONCE: usize = 8;

pub async fn read(
    targets: &[Target],
    clock: Clock,
    out: &Out,
    gaps: &Gaps,
    progress: &dyn Progress,
) {
    if targets.is_empty() {
        return;
    }
    progress.say(&format!("{} BMCs", targets.len()));
    let readings = read_all(targets, &Patience::default(), clock, AT_ONCE).await;
    for reading in &readings {
        if reading.reach.status != ReachStatus::Answered {
            let why = reading.reach.detail.as_deref().unwrap_or("it does not answer");
            gaps.note(format!("BMC of {}", reading.name), why);
        }
        let Ok(text) = serde_json::to_string_pretty(reading) else { continue };
        let name = file_name(&reading.name);
        if out.add(format!("bmc/{name}.json"), text + "\n").await.is_err() {
            return;
        }
    }
    if readings.len() > 1
        && let Ok(text) = serde_json::to_string_pretty(&differences(&readings))
    {
        let _ = out.add("bmc/differences.json", text + "\n").await;
    }
}

/// Names of hosts are names already; what is not goes no further than this folder.
fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '_' };
    let name: String = name.chars().take(200).map(plain).collect();
    name.trim_start_matches('.').to_string()
}
