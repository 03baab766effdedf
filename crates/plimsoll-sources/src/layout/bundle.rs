//! What `openshift-install gather bootstrap` and `agent-gather` write, and the installer's own folder.
//!
//! Names are those of `installer-gather.sh`, `installer-masters-gather.sh`,
//! `bootstrap-cluster-gather.sh` and `agent-gather` of openshift/installer. Rendered assets are not
//! looked at, nor anything of the installer but its log: they hold credentials.

use plimsoll_model::LogOrigin;
use plimsoll_model::snapshot::Era;

use super::{Found, Inside, Kind, Layout, ObjectPlace};

/// (file in `resources/`, API group, plural)
const RESOURCES: [(&str, &str, &str); 16] = [
    ("clusteroperators", "config.openshift.io", "clusteroperators"),
    ("clusterversion", "config.openshift.io", "clusterversions"),
    ("infrastructures", "config.openshift.io", "infrastructures"),
    ("configmaps", "core", "configmaps"),
    ("csr", "certificates.k8s.io", "certificatesigningrequests"),
    ("events", "core", "events"),
    ("kubeapiserver", "operator.openshift.io", "kubeapiservers"),
    ("kubecontrollermanager", "operator.openshift.io", "kubecontrollermanagers"),
    ("openshiftapiserver", "operator.openshift.io", "openshiftapiservers"),
    ("machines", "machine.openshift.io", "machines"),
    ("machineconfigpools", "machineconfiguration.openshift.io", "machineconfigpools"),
    ("machineconfigs", "machineconfiguration.openshift.io", "machineconfigs"),
    ("baremetalhosts", "metal3.io", "baremetalhosts"),
    ("namespaces", "core", "namespaces"),
    ("nodes", "core", "nodes"),
    ("pods", "core", "pods"),
];

pub fn find(parts: &[&str]) -> Option<Found> {
    let bundle = |(kind, machine)| Found { kind, layout: Layout::LogBundle, machine };
    let agent = |(kind, below)| {
        let machine = Inside { below, name: None, whole: None };
        Found { kind, layout: Layout::AgentGather, machine: Some(machine) }
    };
    (0..parts.len()).find_map(|at| {
        let rest = &parts[at..];
        log_bundle(rest).map(bundle).or_else(|| agent_gather(rest).map(agent)).or_else(|| {
            let [file] = rest else { return None };
            let is_log = file.starts_with(".openshift_install") && file.ends_with(".log");
            let kind = Kind::Log(LogOrigin::Installer);
            is_log.then_some(Found { kind, layout: Layout::Installer, machine: None })
        })
    })
}

fn log_bundle(parts: &[&str]) -> Option<(Kind, Option<Inside>)> {
    let inside = |rest: &[&str], name: &str| {
        Some(Inside { below: rest.len(), name: Some(name.into()), whole: None })
    };
    match parts {
        ["bootstrap", rest @ ..] => Some((of_machine(rest)?, inside(rest, "bootstrap"))),
        ["control-plane", host, rest @ ..] => Some((of_machine(rest)?, inside(rest, host))),
        ["unit-status", _] => Some((of_machine(parts)?, inside(parts, "bootstrap"))),
        ["resources", file] => {
            let stem = file.strip_suffix(".json")?;
            let (_, group, plural) = RESOURCES.iter().find(|(name, _, _)| *name == stem)?;
            let place = ObjectPlace {
                group: (*group).into(),
                plural: (*plural).into(),
                namespace: None,
                name: None,
            };
            Some((Kind::Object(place), None))
        }
        ["serial", .., file] => {
            let stem = file.strip_suffix(".log")?;
            let name = stem.strip_suffix("-serial").unwrap_or(stem);
            Some((Kind::Log(LogOrigin::Console { name: name.into() }), None))
        }
        _ => None,
    }
}

/// The part of a bundle that was taken from one machine.
fn of_machine(parts: &[&str]) -> Option<Kind> {
    match parts {
        ["journals", file] => {
            let unit = file.strip_suffix(".gz").unwrap_or(file).strip_suffix(".log")?;
            Some(if unit == "journal" { Kind::Journal } else { unit_log(unit) })
        }
        ["unit-status", file] => Some(unit_log(file.strip_suffix(".log")?)),
        ["containers" | "pods", file] => match file.strip_suffix(".log") {
            Some(stem) => Some(container(without_id(stem)?)),
            None => file.ends_with(".inspect").then_some(Kind::Labels),
        },
        // Logs of the control plane before its first restart.
        ["containers", "bootstrap-control-plane", file] => {
            Some(container(file.strip_suffix(".log")?))
        }
        ["network", "hostname.txt"] => Some(Kind::HostName),
        _ => None,
    }
}

fn agent_gather(parts: &[&str]) -> Option<(Kind, usize)> {
    match parts {
        ["journal.export"] => Some((Kind::Export, 1)),
        ["agent-gather", "df"] => Some((Kind::Other, 1)),
        ["var", "log", "agent", "agent-tui.log"] => Some((unit_log("agent-tui"), 4)),
        // What the service has in its database: a row for each host, or for the cluster.
        ["postgresql", file @ ("hosts-status" | "clusters-status")] => {
            Some((unit_log(&format!("assisted-service-{file}")), 2))
        }
        _ => None,
    }
}

fn unit_log(unit: &str) -> Kind {
    let unit = unit.strip_suffix(".service").unwrap_or(unit);
    Kind::Log(LogOrigin::Unit { unit: unit.into(), node: None })
}

fn container(name: &str) -> Kind {
    Kind::Log(LogOrigin::Container {
        namespace: String::new(),
        pod: String::new(),
        container: name.into(),
        era: Era::Current,
    })
}

/// `etcd` of `etcd-<id>`, where the id is crictl's (64 digits or 13) or podman's (12).
fn without_id(stem: &str) -> Option<&str> {
    let (name, id) = stem.rsplit_once('-')?;
    let is_id = id.len() >= 12 && id.bytes().all(|b| b.is_ascii_hexdigit());
    (is_id && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_bundle_are_known_below_any_folder() {
        let unit = |unit: &str| Kind::Log(LogOrigin::Unit { unit: unit.into(), node: None });
        let id = "0123456789abcdef";
        for (path, kind, machine) in [
            ("b/bootstrap/journals/bootkube.log".into(), Some(unit("bootkube")), "bootstrap"),
            ("bootstrap/journals/journal.log.gz".into(), Some(Kind::Journal), "bootstrap"),
            ("unit-status/kubelet.service.log".into(), Some(unit("kubelet")), "bootstrap"),
            ("control-plane/fd00::5/journals/crio.log".into(), Some(unit("crio")), "fd00::5"),
            (
                format!("bootstrap/containers/kube-apiserver-{id}.log"),
                Some(container("kube-apiserver")),
                "bootstrap",
            ),
            (format!("bootstrap/pods/ironic-{id}.inspect"), Some(Kind::Labels), "bootstrap"),
            ("bootstrap/containers/short-0123.log".into(), None, ""),
            ("rendered-assets/openshift/manifests/x.yaml".into(), None, ""),
            ("auth/kubeconfig".into(), None, ""),
        ] {
            let found = find(&path.split('/').collect::<Vec<_>>());
            let name = found.as_ref().and_then(|f| f.machine.as_ref()?.name.clone());
            assert_eq!(name.as_deref().unwrap_or_default(), machine, "{path}");
            assert_eq!(found.map(|found| found.kind), kind, "{path}");
        }
    }

    #[test]
    fn the_journal_of_an_agent_gather_is_known_and_so_is_the_log_of_the_installer() {
        let found = |path: &str| find(&path.split('/').collect::<Vec<_>>()).map(|found| found.kind);
        assert_eq!(found("agent-gather/journal.export"), Some(Kind::Export));
        let installer = Some(Kind::Log(LogOrigin::Installer));
        assert_eq!(found("ocp/.openshift_install.log"), installer);
        assert_eq!(found("ocp/.openshift_install_state.json"), None);
    }
}
