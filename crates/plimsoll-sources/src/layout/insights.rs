//! Archives of the Insights operator, alone or inside a must-gather.
//!
//! Names are those of `docs/insights-archive-sample` of openshift/insights-operator. Its events name
//! no object and its signing requests are no API objects: neither is read.

use plimsoll_model::LogOrigin;
use plimsoll_model::snapshot::Era;

use super::{Found, Kind, Layout, ObjectPlace};

const CONFIG: &str = "config.openshift.io";
const MACHINE_CONFIG: &str = "machineconfiguration.openshift.io";

pub fn find(parts: &[&str]) -> Option<Found> {
    let kind = (0..parts.len()).find_map(|at| kind(&parts[at..]))?;
    Some(Found { kind, layout: Layout::Insights, machine: None })
}

fn kind(parts: &[&str]) -> Option<Kind> {
    let object = |group: &str, plural: &str, namespace: Option<&str>, name: &str| {
        Some(Kind::Object(ObjectPlace {
            group: group.into(),
            plural: plural.into(),
            namespace: namespace.map(Into::into),
            name: Some(name.into()),
        }))
    };
    let stem = || parts.last().and_then(|file| file.strip_suffix(".json"));
    match parts {
        ["insights-operator", "gathers.json"] => Some(Kind::Other),
        ["config", "version.json"] => object(CONFIG, "clusterversions", None, "version"),
        ["config", "infrastructure.json"] => object(CONFIG, "infrastructures", None, "cluster"),
        ["config", "clusteroperator", _] => object(CONFIG, "clusteroperators", None, stem()?),
        ["config", "clusteroperator", "operator.openshift.io", kind, _] => {
            object("operator.openshift.io", &format!("{kind}s"), None, stem()?)
        }
        ["config", "node", _] => object("core", "nodes", None, stem()?),
        ["config", "node", "logs", file] => {
            let node = Some(file.strip_suffix(".log")?.to_string());
            Some(Kind::Excerpt(LogOrigin::Unit { unit: "kubelet".into(), node }))
        }
        ["config", "machineconfigpools", _] => {
            object(MACHINE_CONFIG, "machineconfigpools", None, stem()?)
        }
        ["config", "machineconfigs", _] => object(MACHINE_CONFIG, "machineconfigs", None, stem()?),
        ["config", "machines", namespace, _] => {
            object("machine.openshift.io", "machines", Some(namespace), stem()?)
        }
        ["config", "pod", namespace, _] => object("core", "pods", Some(namespace), stem()?),
        // The lines of one container or another that the operator looks for.
        ["config", "pod", namespace, "logs", pod, file] => {
            file.ends_with(".log").then(|| container(namespace, pod, ""))
        }
        ["conditional", "namespaces", namespace, "pods", pod, "containers", name, "logs", _] => {
            Some(container(namespace, pod, name))
        }
        ["conditional", "namespaces", namespace, "pods", pod, _] => {
            (stem()? == *pod).then(|| object("core", "pods", Some(namespace), pod))?
        }
        _ => None,
    }
}

fn container(namespace: &str, pod: &str, name: &str) -> Kind {
    Kind::Excerpt(LogOrigin::Container {
        namespace: namespace.into(),
        pod: pod.into(),
        container: name.into(),
        era: Era::Current,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_and_excerpts_of_an_archive_are_known() {
        for (path, object) in [
            ("config/version.json", "clusterversions - version"),
            ("x/config/clusteroperator/etcd.json", "clusteroperators - etcd"),
            ("config/clusteroperator/operator.openshift.io/etcd/cluster.json", "etcds - cluster"),
            ("config/node/m-0.json", "nodes - m-0"),
            ("config/pod/ns/p.json", "pods ns p"),
            ("conditional/namespaces/ns/pods/p/p.json", "pods ns p"),
        ] {
            let found = find(&path.split('/').collect::<Vec<_>>());
            let Some(Found { kind: Kind::Object(place), .. }) = found else { panic!("{path}") };
            let namespace = place.namespace.as_deref().unwrap_or("-");
            let shown = format!("{} {namespace} {}", place.plural, place.name.unwrap());
            assert_eq!(shown, object, "{path}");
        }
        for path in ["config/pod/ns/logs/p/errors.log", "config/node/logs/m-0.log"] {
            let found = find(&path.split('/').collect::<Vec<_>>()).unwrap();
            assert!(matches!(found.kind, Kind::Excerpt(_)), "{path}");
        }
        assert!(find(&["config", "secrets", "openshift-config", "support", "data.json"]).is_none());
    }
}
