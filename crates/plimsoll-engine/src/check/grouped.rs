//! One slip, one finding. The installer may say several things of it; all of them stand beside the one that
//! names the slip, and none of them is a finding of its own.

use std::collections::BTreeMap;

use plimsoll_model::check::Finding;

/// What follows from a fault at the same place.
const FOLLOWS_HERE: &[(&str, &[&str])] =
    &[("vip-not-an-address", &["vip-outside-machine-network", "vips-are-the-same"])];

/// What follows from a fault wherever it stands.
const FOLLOWS: &[(&str, &[&str])] = &[
    ("architecture-unknown", &["architectures-differ"]),
    (
        "machine-network-missing",
        &["provisioning-ip-outside-machine-network", "vip-outside-machine-network"],
    ),
    ("mirrors-twice", &["image-content-sources-deprecated"]),
    ("provisioning-network-overlaps", &["provisioning-ip-in-machine-network"]),
    ("two-control-planes", &["fencing-credentials-count"]),
    // Both lists of VIPs are in the order in which the networks are not.
    ("vip-family-not-primary", &["vip-family-not-primary"]),
];

/// Where the first finding of an id stands in the list, anywhere and at each place.
#[derive(Default)]
struct Firsts<'f> {
    anywhere: BTreeMap<&'f str, usize>,
    here: BTreeMap<(&'f str, &'f str, u32, u32), usize>,
}

impl<'f> Firsts<'f> {
    fn of(all: &'f [Finding]) -> Self {
        let mut firsts = Self::default();
        for (index, finding) in all.iter().enumerate() {
            firsts.anywhere.entry(finding.id.as_str()).or_insert(index);
            firsts.here.entry(key(&finding.id, finding)).or_insert(index);
        }
        firsts
    }

    fn here(&self, id: &str, at: &Finding) -> Option<usize> {
        self.here.get(&key(id, at)).copied()
    }

    fn anywhere(&self, id: &str) -> Option<usize> {
        self.anywhere.get(id).copied()
    }

    /// The finding that stands for another; itself where none does.
    fn leader(&self, finding: &Finding, own: usize) -> usize {
        // Only what the installer says is said twice of one place; ours is said of each host.
        let again = finding.stage.and_then(|_| self.here(&finding.id, finding));
        again
            .filter(|first| *first != own)
            .or_else(|| cause_in(FOLLOWS_HERE, finding, |id| self.here(id, finding)))
            .or_else(|| cause_in(FOLLOWS, finding, |id| self.anywhere(id)))
            .unwrap_or(own)
    }
}

fn cause_in(
    table: &[(&str, &[&str])],
    finding: &Finding,
    found: impl Fn(&str) -> Option<usize>,
) -> Option<usize> {
    let follows = |effects: &[&str]| effects.iter().any(|effect| *effect == finding.id);
    table.iter().filter(|(_, effects)| follows(effects)).find_map(|(cause, _)| found(cause))
}

fn key<'f>(id: &'f str, at: &'f Finding) -> (&'f str, &'f str, u32, u32) {
    (id, at.file.as_str(), at.line, at.column)
}

pub fn grouped(all: Vec<Finding>) -> Vec<Finding> {
    let leaders = leaders(&all);
    let mut kept: BTreeMap<usize, Finding> = BTreeMap::new();
    let mut followers = Vec::new();
    for (own, finding) in all.into_iter().enumerate() {
        match root(&leaders, own) {
            leader if leader == own => {
                kept.insert(own, finding);
            }
            leader => followers.push((leader, finding)),
        }
    }
    for (leader, finding) in followers {
        if let Some(leader) = kept.get_mut(&leader) {
            take(leader, finding);
        }
    }
    kept.into_values().collect()
}

fn leaders(all: &[Finding]) -> Vec<usize> {
    let firsts = Firsts::of(all);
    all.iter().enumerate().map(|(own, finding)| firsts.leader(finding, own)).collect()
}

/// What stands for a finding may be stood for itself.
fn root(leaders: &[usize], own: usize) -> usize {
    let mut at = own;
    for _ in 0..FOLLOWS.len() {
        match leaders.get(at) {
            Some(leader) if *leader != at => at = *leader,
            _ => break,
        }
    }
    at
}

fn take(leader: &mut Finding, follower: Finding) {
    leader.severity = leader.severity.min(follower.severity);
    leader.origin = leader.origin.min(follower.origin);
    leader.stage = leader.stage.or(follower.stage);
    leader.installer_message = match (leader.installer_message.take(), follower.installer_message) {
        (Some(own), Some(other)) => Some(format!("{own}; {other}")),
        (own, other) => own.or(other),
    };
    for evidence in follower.evidence {
        if !leader.evidence.contains(&evidence) {
            leader.evidence.push(evidence);
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::EntityId;
    use plimsoll_model::check::{InstallerStage, Origin, Severity};

    use super::*;

    fn finding(id: &str, line: u32, stage: Option<InstallerStage>) -> Finding {
        Finding {
            id: id.into(),
            severity: Severity::Error,
            origin: if stage.is_some() { Origin::Installer } else { Origin::Plimsoll },
            stage,
            entity: EntityId::cluster(),
            file: "install-config.yaml".into(),
            path: "x".into(),
            line,
            column: 1,
            value: None,
            message: format!("{id} at {line}"),
            installer_message: stage.map(|_| format!("said of {id} at {line}")),
            hint: None,
            why: None,
            evidence: Vec::new(),
        }
    }

    fn said(all: Vec<Finding>) -> Vec<(String, String)> {
        let shown = |it: Finding| (it.message, it.installer_message.unwrap_or_default());
        grouped(all).into_iter().map(shown).collect()
    }

    const BY: Option<InstallerStage> = Some(InstallerStage::Validate);

    #[test]
    fn what_is_said_twice_of_one_place_is_one_finding() {
        let all = vec![finding("a", 1, BY), finding("a", 1, BY), finding("a", 2, BY)];
        let one = ("a at 1".to_string(), "said of a at 1; said of a at 1".to_string());
        assert_eq!(said(all), [one, ("a at 2".into(), "said of a at 2".into())]);
        let ours = vec![finding("b", 1, None), finding("b", 1, None)];
        assert_eq!(grouped(ours).len(), 2, "hosts that share a place by an alias");
    }

    #[test]
    fn what_follows_stands_beside_its_cause() {
        let all = vec![
            finding("vip-outside-machine-network", 7, BY),
            finding("vip-outside-machine-network", 9, BY),
            finding("machine-network-missing", 3, None),
        ];
        let found = grouped(all);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].id, "machine-network-missing");
        assert_eq!((found[0].origin, found[0].stage), (Origin::Installer, BY));
        let message = found[0].installer_message.as_deref().unwrap_or_default();
        assert!(message.contains("at 7; said of vip-outside-machine-network at 9"), "{message}");
    }

    #[test]
    fn a_cause_at_a_place_stands_for_that_place_alone() {
        let all = vec![
            finding("vip-not-an-address", 7, BY),
            finding("vip-outside-machine-network", 7, BY),
            finding("vip-outside-machine-network", 9, BY),
        ];
        let found: Vec<String> = grouped(all).into_iter().map(|it| it.message).collect();
        assert_eq!(found, ["vip-not-an-address at 7", "vip-outside-machine-network at 9"]);
    }

    #[test]
    fn without_its_cause_a_finding_stands_alone() {
        let all = vec![finding("architectures-differ", 7, BY), finding("mirrors-twice", 7, BY)];
        assert_eq!(grouped(all).len(), 2);
    }

    #[test]
    fn the_order_of_a_list_of_vips_is_told_once() {
        let all = (0..6).map(|n| finding("vip-family-not-primary", 40 + n / 3, BY)).collect();
        let found = grouped(all);
        assert_eq!(found.len(), 1);
        let said = found[0].installer_message.as_deref().unwrap_or_default();
        assert_eq!(said.split("; ").count(), 6);
    }
}
