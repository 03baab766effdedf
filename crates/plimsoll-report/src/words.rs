//! Values of the model in plain English. No layout.

use plimsoll_model::diagnosis::{
    Cluster, Confidence, Cost, Costs, Diagnosis, DoneBy, Root, Verdict,
};

use crate::safe;

/// An id that still leaves its command on one line.
const LONGEST_ID: usize = 40;

pub fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Healthy => "Healthy",
        Verdict::Recoverable => "Recoverable",
        Verdict::DataAtRisk => "Data at risk",
        Verdict::Reinstall => "Reinstall is cheaper",
        Verdict::Escalate => "Escalate",
        Verdict::NotProvable => "Not provable",
    }
}

pub fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Confirmed => "confirmed",
        Confidence::Probable => "probable",
        Confidence::Suspected => "suspected",
    }
}

/// What a root is. One that only explains best what is seen is not told as a fact.
pub fn root(root: &Root) -> String {
    let summary = safe::line(&root.summary);
    match root.confidence {
        Confidence::Suspected if root.evidence.is_empty() => {
            format!("Not seen; perhaps: {summary}")
        }
        _ => summary,
    }
}

pub fn cost(cost: Cost) -> &'static str {
    match cost {
        Cost::Low => "cheap",
        Cost::Medium => "some effort",
        Cost::High => "costly",
    }
}

/// What a repair can hit at worst.
pub fn blast(level: u8) -> &'static str {
    match level {
        0 => "reads only",
        1 => "one pod or request",
        2 => "one object",
        3 => "one node",
        4 => "control plane or pool",
        _ => "data or quorum",
    }
}

/// What one step reaches and takes: `by hand, one node, 5 minutes`.
pub fn level(by_hand: bool, blast: u8, minutes: Option<u64>) -> String {
    let reach = match (by_hand, blast) {
        (true, 0) => "by hand".to_string(),
        (true, level) => format!("by hand, {}", self::blast(level)),
        (false, 0) => "waits".into(),
        (false, level) => self::blast(level).into(),
    };
    match minutes {
        Some(minutes) => format!("{reach}, {}", duration(minutes)),
        None => reach,
    }
}

/// How `plimsoll fix` is told of a root, and what it shows: by its id, or by its number where the id is
/// that of several. Nothing where no pack defines the steps of its repair.
pub struct NextCommand {
    pub command: String,
    pub shows: Option<&'static str>,
}

pub fn next_command(d: &Diagnosis, number: usize, root: &Root) -> Option<NextCommand> {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    // What the command line would take for a folder is no id to it.
    let is_id = root.id.contains('-') && root.id.bytes().all(plain) && root.id.len() <= LONGEST_ID;
    let is_its_own = d.roots.iter().filter(|other| other.id == root.id).count() == 1;
    let by_number = || number.to_string();
    let name = if is_id && is_its_own { root.id.clone() } else { by_number() };
    let shows = match root.repairs.first()?.by? {
        DoneBy::Plimsoll => None,
        DoneBy::Hand => Some("shows the plan by hand"),
        DoneBy::Nobody => Some("says why there is none"),
    };
    Some(NextCommand { command: format!("plimsoll fix {name}"), shows })
}

/// What is known of the cluster. A log bundle or a sosreport may tell nothing of it.
pub fn cluster(cluster: &Cluster) -> String {
    let (control, workers) = (cluster.control_plane_nodes, cluster.worker_nodes);
    let nodes = match cluster.topology.as_deref() {
        _ if control == 0 && workers == 0 => None,
        Some("SingleReplica") if control <= 1 && workers == 0 => Some("single node".into()),
        _ => Some(format!("{control}+{workers} nodes")),
    };
    let version =
        cluster.version.as_deref().map(|version| format!("OpenShift {}", safe::line(version)));
    let parts = [
        ("version", version),
        ("platform", cluster.platform.as_deref().map(platform)),
        ("nodes", nodes),
    ];
    let missing: Vec<&str> =
        parts.iter().filter(|(_, known)| known.is_none()).map(|(what, _)| *what).collect();
    let mut known: Vec<String> = parts.into_iter().filter_map(|(_, known)| known).collect();
    if missing.contains(&"version") {
        known.insert(0, "OpenShift".into());
    }
    let known = known.join(", ");
    match missing.as_slice() {
        [] => known,
        [one] => format!("{known} ({one} not in this data)"),
        [others @ .., last] => {
            format!("{known} ({} and {last} not in this data)", others.join(", "))
        }
    }
}

fn platform(name: &str) -> String {
    match name {
        "BareMetal" => "bare metal".into(),
        "None" => "no platform".into(),
        "External" => "external platform".into(),
        "VSphere" => "vSphere".into(),
        other => safe::line(other),
    }
}

/// What it costs, as full sentences; empty where nothing is known.
pub fn costs(costs: Option<&Costs>, roots: usize) -> String {
    let order = if roots > 1 { " in this order" } else { "" };
    match costs.map(|costs| (costs.repair_minutes, costs.reinstall_minutes)) {
        Some((Some(repair), Some(reinstall))) => format!(
            "Repair takes about {}, a reinstall about {}.",
            duration(repair),
            duration(reinstall)
        ),
        Some((Some(repair), None)) => format!("About {}{order}.", duration(repair)),
        Some((None, Some(reinstall))) => {
            format!("A reinstall takes about {}.", duration(reinstall))
        }
        _ => String::new(),
    }
}

pub fn duration(minutes: u64) -> String {
    match (minutes / 60, minutes % 60) {
        (0, 1) => "1 minute".into(),
        (hours, _) if hours < 2 => format!("{minutes} minutes"),
        (hours, 0) => format!("{} h", count(hours)),
        (hours, rest) => format!("{} h {rest} min", count(hours)),
    }
}

/// `3,918`
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

pub fn counted(number: usize, noun: &str) -> String {
    let number = u64::try_from(number).unwrap_or(u64::MAX);
    if number == 1 { format!("1 {noun}") } else { format!("{} {}", count(number), plural(noun)) }
}

pub fn bytes(bytes: u64) -> String {
    let (unit, size) = [("GiB", 1_u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]
        .into_iter()
        .find(|(_, size)| bytes >= *size)
        .unwrap_or(("bytes", 1));
    let (whole, tenths) = (bytes / size, bytes % size * 10 / size);
    if whole < 10 && size > 1 {
        format!("{whole}.{tenths} {unit}")
    } else {
        format!("{} {unit}", count(whole))
    }
}

/// `BareMetalHost` is a `bare metal host`, `CSR` stays.
pub fn kind(kind: &str) -> String {
    let kind = safe::line(kind);
    let characters: Vec<char> = kind.chars().collect();
    let mut out = String::new();
    for (at, &c) in characters.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| characters.get(at));
        let lower_next = characters.get(at + 1).is_some_and(|next| next.is_lowercase());
        let lower_before = before.is_some_and(|before| before.is_lowercase());
        if c.is_uppercase() && before.is_some() && (lower_before || lower_next) {
            out.push(' ');
        }
        let acronym = c.is_uppercase() && !lower_next && (lower_before || characters.len() > 1);
        if acronym { out.push(c) } else { out.extend(c.to_lowercase()) }
    }
    out
}

pub fn plural(noun: &str) -> String {
    let vowel_before_y = noun.ends_with("ay") || noun.ends_with("ey") || noun.ends_with("oy");
    match noun.strip_suffix('y') {
        Some(stem) if !vowel_before_y => format!("{stem}ies"),
        _ if noun.ends_with('s') || noun.ends_with('x') || noun.ends_with("ch") => {
            format!("{noun}es")
        }
        _ => format!("{noun}s"),
    }
}

/// Ends as a sentence, whether the writer thought of it or not.
pub fn sentence(text: &str) -> String {
    let text = safe::line(text);
    if text.is_empty() || text.ends_with(['.', '!', '?', '…']) {
        text
    } else {
        format!("{text}.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_that_no_source_describes_is_not_made_up() {
        let nothing = Cluster::default();
        let said = "OpenShift (version, platform and nodes not in this data)";
        assert_eq!(cluster(&nothing), said);
        let half = Cluster { control_plane_nodes: 3, version: Some("4.18.1".into()), ..nothing };
        assert_eq!(cluster(&half), "OpenShift 4.18.1, 3+0 nodes (platform not in this data)");
    }

    #[test]
    fn numbers_read_easily() {
        assert_eq!(count(3_918), "3,918");
        assert_eq!(count(12), "12");
        assert_eq!(bytes(148 << 20), "148 MiB");
        assert_eq!(bytes(1_600), "1.5 KiB");
        assert_eq!(bytes(12), "12 bytes");
        assert_eq!(duration(55), "55 minutes");
        assert_eq!(duration(250), "4 h 10 min");
        assert_eq!(counted(14, &kind("Pod")), "14 pods");
    }

    #[test]
    fn kinds_read_as_words() {
        for (name, words) in [
            ("BareMetalHost", "bare metal host"),
            ("CSR", "CSR"),
            ("DNSName", "DNS name"),
            ("Pod", "pod"),
        ] {
            assert_eq!(kind(name), words);
        }
        assert_eq!(plural("network policy"), "network policies");
        assert_eq!(plural("machine config pool"), "machine config pools");
    }
}
