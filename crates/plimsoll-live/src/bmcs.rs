//! BMCs over Redfish, each in a file of its own, and in what one differs from the others.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt;
use plimsoll_bmc::{AuthStatus, Patience, ReachStatus, Reading, Target, differences, read_each};

use crate::api::Deadline;
use crate::archive::Out;
use crate::gaps::Gaps;
use crate::{Clock, Progress};

/// A BMC that is asked too much at once gives up.
pub const AT_ONCE: usize = 8;

/// Parts of a BMC that lack for one reason and are named.
const NAMED: usize = 3;

/// How BMCs are read, and where that goes.
pub struct Bmcs<'b> {
    pub limits: (crate::Patience, Deadline),
    pub clock: Clock,
    pub out: &'b Out,
    pub gaps: &'b Gaps,
    pub progress: &'b dyn Progress,
    /// Files that are written already.
    pub files: Files,
}

impl Bmcs<'_> {
    /// Each is written as soon as it is read.
    pub async fn read(&self, targets: &[Target]) -> Vec<Reading> {
        if targets.is_empty() {
            return Vec::new();
        }
        self.progress.say(&format!("{} BMCs", targets.len()));
        let patience = patience(self.limits);
        let mut readings = read_each(targets, patience, self.clock, AT_ONCE);
        let mut all = Vec::new();
        while let Some(reading) = readings.next().await {
            for (what, why) in lacking(&reading) {
                match has_its_system(&reading) {
                    true => self.gaps.note(what, why),
                    false => self.gaps.add(what, why),
                }
            }
            if !is_judged(&reading, self.limits.1) {
                continue;
            }
            let Ok(text) = serde_json::to_string_pretty(&reading) else { continue };
            let file = self.files.free(&reading.name);
            if self.out.add(format!("bmc/{file}.json"), text + "\n").await.is_err() {
                break;
            }
            all.push(reading);
        }
        all
    }

    pub async fn compare(&self, mut readings: Vec<Reading>) {
        readings.sort_by(|a, b| (&a.name, &a.address).cmp(&(&b.name, &b.address)));
        if readings.len() > 1
            && let Ok(text) = serde_json::to_string_pretty(&differences(&readings))
        {
            let _ = self.out.add("bmc/differences.json", text + "\n").await;
        }
    }
}

/// As long as a BMC may take, but not longer than everything.
pub fn patience((asked, deadline): (crate::Patience, Deadline)) -> Patience {
    let usual = Patience::default();
    Patience {
        connect: usual.connect.min(asked.request),
        request: usual.request.min(asked.request),
        total: usual.total,
        until: Some(deadline.at()),
    }
}

/// One that had no time to answer is not silent.
pub fn is_judged(reading: &Reading, deadline: Deadline) -> bool {
    let is_silent = matches!(reading.reach.status, ReachStatus::TimedOut | ReachStatus::Lost);
    !(is_silent && deadline.left().is_zero())
}

/// What a machine has no part for, its BMC has no page for: only without the system that was asked for much lacks.
fn has_its_system(reading: &Reading) -> bool {
    let read = reading.system.as_ref().and_then(|system| system.path.as_deref());
    let asked = reading.endpoint.as_ref().and_then(|endpoint| endpoint.system_path.as_deref());
    let plain = |path: &str| path.trim_matches('/').to_string();
    read.is_some_and(|read| asked.is_none_or(|asked| plain(asked) == plain(read)))
}

/// What lacks, and why: the whole BMC, or else parts of it, those with one reason together.
fn lacking(reading: &Reading) -> Vec<(String, &str)> {
    let whole = format!("BMC of {}", reading.name);
    if let Some(why) = lacks(reading) {
        return vec![(whole, why)];
    }
    let mut parts: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for gap in &reading.gaps {
        parts.entry(&gap.why).or_default().push(&gap.what);
    }
    let mut all = Vec::new();
    for (why, what) in parts {
        let more = what.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let named: Vec<&str> = what.into_iter().take(NAMED).collect();
        all.push((format!("{whole}: {}{more}", named.join(", ")), why));
    }
    all
}

fn lacks(reading: &Reading) -> Option<&str> {
    let (reach, auth) = (&reading.reach, &reading.auth);
    let refused = [AuthStatus::Unauthorized, AuthStatus::Forbidden, AuthStatus::Locked];
    match reach.status {
        ReachStatus::Answered => {
            let refuses = refused.contains(&auth.status).then_some("it refuses the credentials");
            auth.detail.as_deref().or(refuses)
        }
        _ => reach.detail.as_deref().or(Some("it does not answer")),
    }
}

/// Names of files that are taken: of hosts with the same name each has its own.
#[derive(Default)]
pub struct Files(std::sync::Mutex<BTreeSet<String>>);

impl Files {
    pub fn free(&self, name: &str) -> String {
        let mut taken = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let plain = file_name(name);
        let numbered = (2..).map(|number| format!("{plain}-{number}"));
        let mut names = std::iter::once(plain.clone()).chain(numbered);
        let free = names.find(|name| !taken.contains(name)).unwrap_or(plain);
        taken.insert(free.clone());
        free
    }
}

/// Names of hosts are names already; what is not goes no further than this folder.
pub fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '_' };
    let name: String = name.chars().take(200).map(plain).collect();
    name.trim_start_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_bmc::{Gap, Reach};

    #[test]
    fn what_lacks_within_a_bmc_is_told_by_its_reason() {
        let gap = |what: &str, why: &str| Gap { what: what.into(), why: why.into() };
        let reach = Reach { status: ReachStatus::Answered, detail: None };
        let mut reading = Reading { name: "w".into(), reach, ..Reading::default() };
        assert!(lacking(&reading).is_empty());
        reading.gaps = ["/a", "/b", "/c", "/d", "/e"].map(|what| gap(what, "slow")).into();
        reading.gaps.push(gap("/redfish/v1/Systems/7", "the BMC has another"));
        let parts = lacking(&reading);
        let told: Vec<_> = parts.iter().map(|(what, why)| (what.as_str(), *why)).collect();
        let expected = [
            ("BMC of w: /a, /b, /c and 2 more", "slow"),
            ("BMC of w: /redfish/v1/Systems/7", "the BMC has another"),
        ];
        assert_eq!(told, expected);
        reading.reach.status = ReachStatus::Lost;
        assert_eq!(lacking(&reading), [("BMC of w".to_string(), "it does not answer")]);
    }

    #[test]
    fn no_two_hosts_have_one_file() {
        let files = Files::default();
        let names =
            ["worker-0", "a/worker-0", "worker-0", "a_worker-0"].map(|name| files.free(name));
        assert_eq!(names, ["worker-0", "a_worker-0", "worker-0-2", "a_worker-0-2"]);
    }
}
