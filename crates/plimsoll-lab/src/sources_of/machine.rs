//! One machine from the inside: its root, and a sosreport of it.

use jiff::Timestamp;
use serde_json::Value;

use super::{container_logs, journal, objects, text_of};
use crate::base::client_certificate;
use crate::edit::gather_time;
use crate::tree::Tree;

const KUBECONFIG: &str = "apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority: /etc/kubernetes/ca.crt\n    server: https://api-int.ostest.lab.example:6443\n  name: local\ncontexts:\n- context:\n    cluster: local\n    user: kubelet\n  name: kubelet\ncurrent-context: kubelet\nkind: Config\nusers:\n- name: kubelet\n  user:\n";

/// What a node has on its disks, as far as a diagnosis looks at it. The journal is not there: its
/// form is journald's own.
pub fn node_root(gather: &Tree, node: &str) -> Tree {
    let mut root = Tree::new();
    let mut put = |path: &str, text: &str| drop(root.insert(path.into(), text.into()));
    put("etc/hostname", &format!("{node}\n"));
    put("etc/os-release", "NAME=\"Red Hat Enterprise Linux CoreOS\"\nID=\"rhel\"\n");
    put("etc/kubernetes/kubelet.conf", "kind: KubeletConfiguration\n");
    put("etc/kubernetes/kubeconfig", &format!("{KUBECONFIG}    token: not-a-real-token\n"));
    put(
        "etc/kubernetes/apiserver-url.env",
        "KUBERNETES_SERVICE_HOST=\"api-int.ostest.lab.example\"\n",
    );
    put("etc/kubernetes/cni/net.d/00-multus.conf", "{\"name\": \"multus-cni-network\"}\n");
    let mine = |pod: &&Value| text_of(pod, "/spec/nodeName") == node && is_mirror(pod);
    for pod in objects(gather, "Pod").iter().filter(mine) {
        let name = text_of(pod, "/metadata/name");
        let name = name.strip_suffix(&format!("-{node}")).unwrap_or(name);
        put(&format!("etc/kubernetes/manifests/{name}-pod.yaml"), "kind: Pod\n");
    }
    // The machine-config operator's own, on every node from 4.16 on.
    put("etc/kubernetes/manifests/criometricsproxy.yaml", "kind: Pod\n");
    if let Some(config) = config_of(gather, node) {
        let object = format!(
            "{{\"kind\":\"MachineConfig\",\"metadata\":{{\"name\":\"{config}\"}},\"spec\":{{}}}}\n"
        );
        put("etc/machine-config-daemon/currentconfig", &object);
        put("etc/mcs-machine-config-content.json", &object);
    }
    put("var/lib/kubelet/config.json", "{}\n");
    put(
        "var/lib/kubelet/kubeconfig",
        &format!(
            "{KUBECONFIG}    client-certificate: /var/lib/kubelet/pki/kubelet-client-current.pem\n    client-key: /var/lib/kubelet/pki/kubelet-client-current.pem\n"
        ),
    );
    let certificate = client_certificate(node);
    if !certificate.is_empty() {
        put(
            "var/lib/kubelet/pki/kubelet-client-2025-12-02-19-20-00.pem",
            &format!(
                "{certificate}-----BEGIN EC PRIVATE KEY-----\nbm90IGEga2V5\n-----END EC PRIVATE KEY-----\n"
            ),
        );
    }
    for log in container_logs(gather, node) {
        let uid = crate::base::uid("Pod", log.namespace, log.pod);
        let path =
            format!("var/log/pods/{}_{}_{uid}/{}/0.log", log.namespace, log.pod, log.container);
        root.insert(path, as_cri(log.text));
    }
    root
}

/// `sos report` on a node, below its folder `sosreport-<node>-<day>-<random>`.
pub fn sosreport(gather: &Tree, node: &str) -> Tree {
    let now = gather_time(gather).unwrap_or(Timestamp::UNIX_EPOCH);
    let lines: Vec<_> = journal(gather).into_iter().filter(|line| line.host == node).collect();
    let whole: String = lines.iter().map(super::Line::short).collect();
    let of_kubelet = lines.iter().filter(|line| line.unit == "kubelet");
    let kubelet: String = of_kubelet.map(super::Line::short).collect();
    let mut report = Tree::new();
    let mut put = |path: &str, text: String| drop(report.insert(path.into(), text.into_bytes()));
    put("sos_commands/host/hostname", format!("{node}\n"));
    put("sos_commands/date/date", now.strftime("%a %b %e %H:%M:%S UTC %Y\n").to_string());
    put("sos_commands/logs/journalctl_--no-pager", whole.clone());
    put("sos_commands/logs/journalctl_--no-pager_--boot", whole);
    put(
        "sos_commands/logs/journalctl_--disk-usage",
        "Archived and active journals take up 104.0M.\n".into(),
    );
    put("sos_commands/openshift/journalctl_--no-pager_--unit_kubelet", kubelet);
    put("sos_commands/filesys/df_-al_-x_autofs", "Filesystem     1K-blocks     Used Available Use% Mounted on\nproc                   0        0         0    - /proc\n/dev/sda4      125293548 25058709 100234839  20% /sysroot\n/dev/sda4      125293548 25058709 100234839  20% /var\n/dev/sda3         358271   110000    225000  33% /boot\n".into());
    put("sos_commands/chrony/chronyc_tracking", "Reference ID    : C0A86F01 (192.168.111.1)\nStratum         : 4\nRef time (UTC)  : Wed Dec 03 18:41:00 2025\nSystem time     : 0.000012345 seconds fast of NTP time\nLast offset     : +0.000001234 seconds\nLeap status     : Normal\n".into());
    put("etc/kubernetes/kubelet.conf", "kind: KubeletConfiguration\n".into());
    put("version.txt", "sosreport: 4.8.2\n".into());
    let root = format!("sosreport-{node}-{}-abcdefg", now.strftime("%Y-%m-%d"));
    report.into_iter().map(|(path, bytes)| (format!("{root}/{path}"), bytes)).collect()
}

fn is_mirror(pod: &Value) -> bool {
    pod.pointer("/metadata/annotations/kubernetes.io~1config.mirror").is_some()
}

fn config_of(gather: &Tree, node: &str) -> Option<String> {
    let nodes = objects(gather, "Node");
    let node = nodes.iter().find(|object| text_of(object, "/metadata/name") == node)?;
    let path = "/metadata/annotations/machineconfiguration.openshift.io~1currentConfig";
    Some(text_of(node, path).to_string()).filter(|name| !name.is_empty())
}

/// As the runtime writes a container's log: `<time> stderr F <text>`.
fn as_cri(log: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(log);
    let line = |line: &str| match line.split_once(' ') {
        Some((time, rest)) => format!("{time} stderr F {rest}\n"),
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect::<String>().into_bytes()
}
