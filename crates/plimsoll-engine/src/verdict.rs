//! The one word at the top, and the sentence behind it.

use plimsoll_model::diagnosis::{Confidence, Costs, Deadlock, Root, StateRef, Verdict};

pub struct Judgement {
    pub verdict: Verdict,
    pub reason: String,
    pub costs: Option<Costs>,
}

impl Judgement {
    /// What you accepted does not fail the run; the sentence says that it is there.
    pub fn beyond_accepted(mut self, count: usize) -> Self {
        if count == 0 {
            return self;
        }
        if self.verdict == Verdict::Healthy {
            self.reason = "nothing is wrong beyond what you accepted".into();
        }
        self.reason = format!("{}; {count} accepted as known", self.reason);
        self
    }

    /// That nothing is wrong in nothing is no comfort.
    pub fn of_what_was_read(mut self, nothing: bool) -> Self {
        if nothing && self.verdict == Verdict::NotProvable {
            self.reason = "nothing that tells of a cluster could be read".into();
        }
        self
    }
}

/// What the pack says of one root's recovery, as far as the data allows.
#[derive(Clone, Copy, Debug, Default)]
pub struct RootVerdict {
    pub verdict: Option<Verdict>,
    pub minutes: Option<u64>,
    pub reinstall_minutes: Option<u64>,
}

pub fn judge(
    roots: &[Root],
    verdicts: &[RootVerdict],
    unexplained: &[StateRef],
    deadlocks: &[Deadlock],
    missing: &[&str],
    complete: bool,
) -> Judgement {
    let plain = |verdict, reason: &str| Judgement { verdict, reason: reason.into(), costs: None };
    let seen = roots.iter().any(|root| root.confidence != Confidence::Suspected);
    if roots.is_empty() || !seen {
        if !roots.is_empty() {
            let reason = "the cause is not in this data; the best explanation is only suspected";
            return plain(Verdict::NotProvable, reason);
        }
        if !deadlocks.is_empty() {
            return plain(
                Verdict::Recoverable,
                "a deadlock without a cause outside; break it at one of its states",
            );
        }
        if !unexplained.is_empty() {
            let count = unexplained.len();
            let thing = if count == 1 { "symptom" } else { "symptoms" };
            return plain(
                Verdict::NotProvable,
                &format!("{count} {thing} without a cause that this data could prove"),
            );
        }
        if !missing.is_empty() {
            return plain(
                Verdict::NotProvable,
                &format!(
                    "nothing is wrong in what could be read, but it lacks {}",
                    missing.join(", ")
                ),
            );
        }
        if !complete {
            return plain(
                Verdict::NotProvable,
                "nothing is wrong in what could be read, but the data is incomplete",
            );
        }
        return plain(Verdict::Healthy, "nothing in this data is wrong or unexplained");
    }
    // What is only suspected is looked at before it is counted or paid for.
    let seen: Vec<&RootVerdict> = verdicts
        .iter()
        .zip(roots)
        .filter(|(_, root)| root.confidence != Confidence::Suspected)
        .map(|(verdict, _)| verdict)
        .collect();
    let worst = seen.iter().filter_map(|root| root.verdict).max().unwrap_or(Verdict::Escalate);
    let minutes: Option<u64> = seen.iter().map(|root| root.minutes).sum();
    let reinstall = seen.iter().filter_map(|root| root.reinstall_minutes).max();
    let count = match seen.len() {
        1 => "1 fault".to_string(),
        many => format!("{many} independent faults"),
    };
    let suspected = match roots.len() - seen.len() {
        0 => String::new(),
        more => format!("; {more} more only suspected"),
    };
    let reason = match worst {
        Verdict::Reinstall if seen.len() == 1 => {
            format!("{count} that cannot be repaired in place")
        }
        Verdict::Reinstall => format!("{count}, one of which cannot be repaired in place"),
        Verdict::DataAtRisk => format!("{count}; a wrong step can lose data"),
        Verdict::Escalate if seen.len() == 1 => format!("{count} without a safe repair in place"),
        Verdict::Escalate => format!("{count}, at least one without a safe repair in place"),
        _ => count,
    };
    Judgement {
        verdict: worst,
        reason: reason + &suspected,
        costs: Some(Costs { repair_minutes: minutes, reinstall_minutes: reinstall }),
    }
}
