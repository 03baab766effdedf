//! One slip may be said in several ways, and more may follow from it. Which finding is the slip is decided here;
//! whoever shows findings to people tells the others beside it.

use std::collections::BTreeMap;

use plimsoll_model::check::{Finding, Slip};

use super::UNKNOWN_KEY;
use super::meant::Meant;

/// What follows from a fault at the same place.
const FOLLOWS_HERE: &[(&str, &[&str])] = &[
    ("bmc-address-missing", &["bmc-address-unreadable"]),
    (
        "private-key-pasted",
        &["ssh-key-unreadable", "trust-bundle-unreadable", "trust-bundle-only-on-nodes"],
    ),
    ("vip-not-an-address", &["vip-outside-machine-network", "vips-are-the-same"]),
];

/// What follows from a fault wherever it stands.
const FOLLOWS: &[(&str, &[&str])] = &[
    ("architecture-unknown", &["architectures-differ", "release-architecture"]),
    ("architectures-differ", &["release-architecture"]),
    ("fips-host", &["builder-not-fips"]),
    ("hosts-missing", &["hosts-too-few"]),
    (
        "machine-network-entry-missing",
        &["provisioning-ip-outside-machine-network", "vip-outside-machine-network"],
    ),
    (
        "machine-network-missing",
        &["provisioning-ip-outside-machine-network", "vip-outside-machine-network"],
    ),
    (
        "networks-overlap",
        &["host-address-in-cluster-network", "server-in-cluster-network", "vip-in-cluster-network"],
    ),
    ("mirrors-twice", &["image-content-sources-deprecated"]),
    ("provisioning-network-overlaps", &["provisioning-ip-in-machine-network"]),
    ("two-control-planes", &["fencing-credentials-count"]),
    // Both lists of VIPs are in the order in which the networks are not.
    ("vip-family-not-primary", &["vip-family-not-primary"]),
];

/// Longer than any chain of causes.
const MOST_STEPS: usize = 8;

/// Where the first finding of an id stands in the list, anywhere and at each place; and the keys that no field
/// has, by the fields that they are meant for.
#[derive(Default)]
struct Firsts<'f> {
    anywhere: BTreeMap<&'f str, usize>,
    here: BTreeMap<(&'f str, &'f str, u32, u32), usize>,
    meant: BTreeMap<String, usize>,
}

impl<'f> Firsts<'f> {
    fn of(all: &'f [Finding], meant: &dyn Fn(&Finding) -> Option<Meant>) -> Self {
        let mut firsts = Self::default();
        for (index, finding) in all.iter().enumerate() {
            firsts.anywhere.entry(finding.id.as_str()).or_insert(index);
            firsts.here.entry(key(&finding.id, finding)).or_insert(index);
            if finding.id == UNKNOWN_KEY
                && let Some(path) = meant(finding).and_then(Meant::path)
            {
                firsts.meant.entry(path.to_ascii_lowercase()).or_insert(index);
            }
        }
        firsts
    }

    fn here(&self, id: &str, at: &Finding) -> Option<usize> {
        self.here.get(&key(id, at)).copied()
    }

    fn anywhere(&self, id: &str) -> Option<usize> {
        self.anywhere.get(id).copied()
    }

    /// What is missing may be written under another key: its own, that of the mapping it is in, or that of an item
    /// right below it.
    fn misspelt(&self, finding: &Finding) -> Option<usize> {
        if !finding.id.ends_with("-missing") {
            return None;
        }
        let path = finding.path.to_ascii_lowercase();
        let above = path.match_indices(['.', '[']).map(|(at, _)| &path[..at]);
        let own = std::iter::once(path.as_str()).chain(above).find_map(|path| self.meant.get(path));
        let item = || {
            let first = self.meant.range(format!("{path}[0].")..).next()?;
            first.0.starts_with(&format!("{path}[0].")).then_some(first.1)
        };
        own.or_else(item).copied()
    }

    /// The finding that stands for another; itself where none does.
    fn leader(&self, finding: &Finding, own: usize) -> usize {
        // Only what the installer says is said twice of one place; ours is said of each host.
        let again = finding.stage.and_then(|_| self.here(&finding.id, finding));
        (self.misspelt(finding))
            .or_else(|| again.filter(|first| *first != own))
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

/// Each finding with the one that it follows from. What is said twice of one field is said once.
pub fn grouped(all: Vec<Finding>, meant: &dyn Fn(&Finding) -> Option<Meant>) -> Vec<Finding> {
    let firsts = Firsts::of(&all, meant);
    let leaders = all.iter().enumerate().map(|(own, finding)| firsts.leader(finding, own));
    let leaders: Vec<usize> = leaders.collect();
    let slips: Vec<Option<Slip>> = (0..all.len())
        .map(|own| Some(root(&leaders, own)).filter(|root| *root != own))
        .map(|root| root.map(|root| all[root].slip()))
        .collect();
    let mut kept: Vec<Finding> = Vec::with_capacity(all.len());
    let mut places: BTreeMap<(Slip, String), usize> = BTreeMap::new();
    for (mut finding, follows) in all.into_iter().zip(slips) {
        finding.follows = follows;
        let of_installer = finding.stage.is_some();
        let first = *places.entry((finding.slip(), finding.path.clone())).or_insert(kept.len());
        match kept.get_mut(first).filter(|_| of_installer) {
            Some(first) => first.take(finding),
            None => kept.push(finding),
        }
    }
    kept
}

/// What stands for a finding may be stood for itself.
fn root(leaders: &[usize], own: usize) -> usize {
    let mut at = own;
    for _ in 0..MOST_STEPS {
        match leaders.get(at) {
            Some(leader) if *leader != at => at = *leader,
            _ => break,
        }
    }
    at
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
            follows: None,
            evidence: Vec::new(),
        }
    }

    fn group(all: Vec<Finding>) -> Vec<Finding> {
        grouped(all, &|it| Meant::of(plimsoll_install::File::Install, &it.path))
    }

    /// As people read it.
    fn folded(all: Vec<Finding>) -> Vec<Finding> {
        plimsoll_model::check::folded(group(all))
    }

    fn said(all: Vec<Finding>) -> Vec<(String, String)> {
        let shown = |it: Finding| (it.message, it.installer_message.unwrap_or_default());
        folded(all).into_iter().map(shown).collect()
    }

    const BY: Option<InstallerStage> = Some(InstallerStage::Validate);

    #[test]
    fn what_is_said_twice_of_one_place_is_one_finding() {
        let all = vec![finding("a", 1, BY), finding("a", 1, BY), finding("a", 2, BY)];
        let one = ("a at 1".to_string(), "said of a at 1; said of a at 1".to_string());
        assert_eq!(said(all), [one, ("a at 2".into(), "said of a at 2".into())]);
        let ours = vec![finding("b", 1, None), finding("b", 1, None)];
        assert_eq!(folded(ours).len(), 2, "hosts that share a place by an alias");
    }

    #[test]
    fn what_follows_stands_beside_its_cause() {
        let all = vec![
            finding("vip-outside-machine-network", 7, BY),
            finding("vip-outside-machine-network", 9, BY),
            finding("machine-network-missing", 3, None),
        ];
        let found = folded(all);
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
        let found: Vec<String> = folded(all).into_iter().map(|it| it.message).collect();
        assert_eq!(found, ["vip-not-an-address at 7", "vip-outside-machine-network at 9"]);
    }

    #[test]
    fn without_its_cause_a_finding_stands_alone() {
        let all = vec![finding("architectures-differ", 7, BY), finding("mirrors-twice", 7, BY)];
        assert_eq!(folded(all).len(), 2);
    }

    #[test]
    fn the_order_of_a_list_of_vips_is_told_once() {
        let all = (0..6).map(|n| finding("vip-family-not-primary", 40 + n / 3, BY)).collect();
        let found = folded(all);
        assert_eq!(found.len(), 1);
        let said = found[0].installer_message.as_deref().unwrap_or_default();
        assert_eq!(said.split("; ").count(), 6);
    }

    #[test]
    fn scripts_are_given_each_field_that_the_installer_names() {
        let mut all =
            vec![finding("machine-network-missing", 3, None), finding("vip-missing", 7, BY)];
        all.push(finding("vip-outside-machine-network", 7, BY));
        all[2].path = "platform.baremetal.apiVIPs".into();
        let found = group(all);
        assert_eq!(found.len(), 3);
        let slip = found[0].slip();
        assert_eq!(found.iter().filter(|it| it.follows.as_ref() == Some(&slip)).count(), 1);
        assert_eq!(found[2].path, "platform.baremetal.apiVIPs");
    }

    #[test]
    fn what_is_missing_follows_from_the_key_that_was_meant() {
        let mut all = vec![finding("vip-missing", 1, BY), finding(UNKNOWN_KEY, 7, BY)];
        all[0].path = "platform.baremetal.ingressVIPs".into();
        all[1].path = "platform.baremetal.ingresVIPs".into();
        all[1].severity = Severity::Warning;
        let found = folded(all);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].line, found[0].severity), (7, Severity::Error));
    }
}
