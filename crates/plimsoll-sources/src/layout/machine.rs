//! Files of a machine where they stand on its disks: in a node's root, and in a sosreport.

use plimsoll_model::LogOrigin;
use plimsoll_model::snapshot::Era;

use super::sos::host_of;
use super::{Found, Inside, Kind, Layout};

/// Folders of a node that facts are read from: (first parts of the path, name).
const FOLDERS: [(&[&str], &str); 3] = [
    (&["etc", "kubernetes"], "etc/kubernetes"),
    (&["etc", "machine-config-daemon"], "etc/machine-config-daemon"),
    (&["var", "lib", "kubelet"], "var/lib/kubelet"),
];

pub fn find(parts: &[&str]) -> Option<Found> {
    let is_told = |at: usize| matches!(parts[at..], ["commands", _]) && is_captured(&parts[..at]);
    let at = (0..parts.len()).find(|at| is_known(&parts[*at..]) || is_told(*at))?;
    let rest = &parts[at..];
    let kind = match rest {
        ["etc", "hostname"] => Kind::HostName,
        ["var", "log", "journal", _, _] => Kind::BinaryJournal,
        ["var", "log", "pods", pod, container, file] => {
            container_log(pod, container, file).unwrap_or(Kind::Other)
        }
        _ => Kind::Other,
    };
    let sos = at.checked_sub(1).and_then(|above| host_of(parts[above]));
    // In a capture, files of a node and what commands said there stand below its name.
    let captured = is_captured(&parts[..at]).then(|| parts[at - 1].to_string());
    // A sosreport leaves files out as it sees fit. In a capture some may have been kept from whoever read
    // the node; of a folder that was seen as a whole it says so.
    let is_whole = |folder: &[&str]| match rest.strip_prefix(folder) {
        Some(below) => sos.is_none() && (captured.is_none() || below == [".seen"]),
        None => false,
    };
    let whole = FOLDERS.iter().find(|(folder, _)| is_whole(folder)).map(|(_, name)| *name);
    let layout = if sos.is_some() { Layout::Sosreport } else { Layout::Node };
    let name = sos.or(captured);
    Some(Found { kind, layout, machine: Some(Inside { below: rest.len(), name, whole }) })
}

fn is_captured(above: &[&str]) -> bool {
    matches!(above, [.., "nodes", _])
}

fn is_known(parts: &[&str]) -> bool {
    FOLDERS.iter().any(|(folder, _)| parts.len() > folder.len() && parts.starts_with(folder))
        || matches!(
            parts,
            [
                "etc",
                "hostname"
                    | "mcs-machine-config-content.json"
                    | "resolv.conf"
                    | ".ignition-result.json"
            ] | ["var", "log", "pods", _, _, _]
        )
        || matches!(parts, ["var", "log", "journal", _, file] if file.ends_with(".journal"))
}

/// `<namespace>_<pod>_<uid>/<container>/<restarts>.log`
fn container_log(pod: &str, container: &str, file: &str) -> Option<Kind> {
    let mut names = pod.split('_');
    let (namespace, pod) = (names.next()?, names.next()?);
    let (restarts, rest) = file.split_once(".log")?;
    if restarts.is_empty() || !restarts.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Some(Kind::Log(LogOrigin::Container {
        namespace: namespace.into(),
        pod: pod.into(),
        container: container.into(),
        era: if rest.is_empty() { Era::Current } else { Era::Rotated },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str) -> Option<(Kind, usize, Option<&'static str>, Layout)> {
        let found = find(&path.split('/').collect::<Vec<_>>())?;
        let machine = found.machine?;
        Some((found.kind, machine.below, machine.whole, found.layout))
    }

    #[test]
    fn files_of_a_node_are_known_below_any_folder() {
        let (node, sos) = (Layout::Node, Layout::Sosreport);
        let kubernetes = Some("etc/kubernetes");
        assert_eq!(found("x/etc/hostname"), Some((Kind::HostName, 2, None, node)));
        let kubeconfig = "etc/kubernetes/kubeconfig";
        assert_eq!(found(kubeconfig), Some((Kind::Other, 3, kubernetes, node)));
        let captured = |file: &str| found(&format!("capture/nodes/m-0/etc/kubernetes/{file}"));
        assert_eq!(captured("kubeconfig"), Some((Kind::Other, 3, None, node)));
        assert_eq!(captured(".seen"), Some((Kind::Other, 3, kubernetes, node)));
        let in_report = format!("sosreport-m-0-2025-12-03-abc/{kubeconfig}");
        assert_eq!(found(&in_report), Some((Kind::Other, 3, None, sos)));
        let log = found("host/var/log/pods/ns_pod_uid/c/1.log.20251203-010203.gz").unwrap();
        let container = LogOrigin::Container {
            namespace: "ns".into(),
            pod: "pod".into(),
            container: "c".into(),
            era: Era::Rotated,
        };
        assert_eq!(log.0, Kind::Log(container));
        assert_eq!(found("var/log/pods/nonsense/c/x.log").unwrap().0, Kind::Other);
        let journal = "var/log/journal/0123/system.journal";
        assert_eq!(found(journal).unwrap().0, Kind::BinaryJournal);
        for other in ["etc/passwd", "etc/shadow", "var/lib/etcd/x", "etc/kubernetes"] {
            assert_eq!(found(other), None, "{other}");
        }
    }
}
