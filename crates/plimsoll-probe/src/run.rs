//! A plan of probes, carried out within a limit for each and a budget for all.

use std::net::IpAddr;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use plimsoll_model::Time;
use tokio::time::{Instant, timeout_at};

use crate::Probe;
use crate::answer::{Answer, Outcome};

/// Nobody waits longer, and no sum of times overflows.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Clone, Debug)]
pub struct Plan {
    pub probes: Vec<Probe>,
    pub at_once: usize,
}

#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For one probe; for each of its tries where it has several.
    pub probe: Duration,
    /// For everything.
    pub budget: Duration,
}

/// Sorted by id, one for each probe: what was not done in time says so.
pub async fn run(
    plan: &Plan,
    patience: Patience,
    vantage: &str,
    clock: impl Fn() -> Time,
) -> Vec<Answer> {
    let deadline = Instant::now() + patience.budget.min(LONGEST);
    let answer = |probe: &Probe, time, (address, result): (Option<IpAddr>, Outcome)| Answer {
        id: probe.id(),
        kind: probe.kind(),
        target: probe.target(),
        address,
        vantage: vantage.into(),
        time,
        result,
    };
    let ask = async |probe| {
        let time = clock();
        if Instant::now() >= deadline {
            return answer(probe, time, (None, Outcome::NotDone));
        }
        let done = timeout_at(deadline, Probe::ask(probe, patience.probe.min(LONGEST), time)).await;
        answer(probe, time, done.unwrap_or((None, Outcome::NotDone)))
    };
    let mut waiting = plan.probes.iter();
    let mut running: FuturesUnordered<_> =
        waiting.by_ref().take(plan.at_once.max(1)).map(ask).collect();
    let mut answers = Vec::new();
    while let Some(answer) = running.next().await {
        answers.push(answer);
        running.extend(waiting.next().map(ask));
    }
    answers.sort_by(|one, other| one.id.cmp(&other.id));
    answers
}
