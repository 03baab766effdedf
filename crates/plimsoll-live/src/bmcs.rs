//! BMCs over Redfish, each in a file of its own, and in what one differs from the others.

use plimsoll_bmc::{AuthStatus, Patience, ReachStatus, Target, differences, read_all};

use crate::api::Deadline;
use crate::archive::Out;
use crate::gaps::Gaps;
use crate::{Clock, Progress};

const AT_ONCE: usize = 8;

pub async fn read(
    targets: &[Target],
    (asked, deadline): (crate::Patience, Deadline),
    clock: Clock,
    out: &Out,
    gaps: &Gaps,
    progress: &dyn Progress,
) {
    if targets.is_empty() {
        return;
    }
    progress.say(&format!("{} BMCs", targets.len()));
    let usual = Patience::default();
    let patience = Patience {
        connect: usual.connect.min(asked.request),
        request: usual.request.min(asked.request),
        total: usual.total.min(deadline.left()),
    };
    let readings = read_all(targets, &patience, clock, AT_ONCE).await;
    for reading in &readings {
        let (reach, auth) = (&reading.reach, &reading.auth);
        let refused = [AuthStatus::Unauthorized, AuthStatus::Forbidden, AuthStatus::Locked];
        let why = match reach.status {
            ReachStatus::Answered if !refused.contains(&auth.status) => None,
            ReachStatus::Answered => auth.detail.as_deref().or(Some("it refuses the credentials")),
            _ => reach.detail.as_deref().or(Some("it does not answer")),
        };
        if let Some(why) = why {
            gaps.add(format!("BMC of {}", reading.name), why);
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
pub fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '_' };
    let name: String = name.chars().take(200).map(plain).collect();
    name.trim_start_matches('.').to_string()
}
