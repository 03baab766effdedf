//! Journals of the masters, one file a unit, all hosts in one file.

use jiff::{SignedDuration, Timestamp};

use super::pods::later;
use super::writer::Writer;
use super::{BaseParams, Phase, hash};
use crate::edit::{journal_time, klog_header};

/// Unit, program, process id.
const UNITS: [(&str, &str, u32); 4] = [
    ("kubelet", "kubenswrapper", 2_451),
    ("crio", "crio", 2_398),
    ("NetworkManager", "NetworkManager", 1_165),
    ("machine-config-daemon-firstboot", "podman", 2_467),
];

/// What the kubelet says of the API server's guard while the API server is replaced.
const DURING_ROLLOUT: &str = "prober.go:107] \"Probe failed\" probeType=\"Readiness\" pod=\"openshift-kube-apiserver/kube-apiserver-guard-{node}\" containerName=\"guard\" probeResult=\"failure\" output=\"Get \\\"https://{ip}:6443/readyz\\\": dial tcp {ip}:6443: connect: connection refused\"";

/// Severity of klog or a blank, seconds, text.
type Line = (char, i64, &'static str);

pub(super) fn write(writer: &mut Writer) {
    let params = writer.params;
    for (unit, program, process) in UNITS {
        let mut lines: Vec<(Timestamp, String)> = Vec::new();
        for node in &params.masters {
            let boot = params.at(super::nodes::registered(params, node) - 70);
            for (severity, seconds, text) in at_boot(unit) {
                lines.push(line(
                    params,
                    node,
                    program,
                    process,
                    *severity,
                    later(boot, *seconds),
                    text,
                ));
            }
            if unit == "kubelet" && params.phase == Phase::Installed {
                for seconds in [0, 5, 10, 15] {
                    let at = later(super::static_pods::api_server_rollout(params, node), seconds);
                    lines.push(line(params, node, program, process, 'I', at, DURING_ROLLOUT));
                }
            }
            for (severity, every, text) in chatter(unit) {
                let first = params.ago(3 * 3_600).max(later(boot, 300));
                let jitter = (hash(&format!("{node} {text}")) % *every as u64) as i64;
                let mut at = later(first, jitter);
                while at < params.now {
                    lines.push(line(params, node, program, process, *severity, at, text));
                    at = later(at, *every);
                }
            }
        }
        lines.retain(|(time, _)| *time <= params.now);
        lines.sort();
        let text = lines.into_iter().map(|(_, text)| text + "\n").collect();
        writer.file(&format!("host_service_logs/masters/{unit}_service.log"), text);
    }
}

fn line(
    params: &BaseParams,
    node: &str,
    program: &str,
    process: u32,
    severity: char,
    time: Timestamp,
    text: &str,
) -> (Timestamp, String) {
    let micros = hash(&format!("{time} {node} {text}")) % 1_000_000;
    let time = time.checked_add(SignedDuration::from_micros(micros as i64)).unwrap_or(time);
    let text = text
        .replace("{node}", node)
        .replace("{ip}:", &format!("{}:", super::bracketed(params.ip(node))))
        .replace("{ip}", params.ip(node))
        .replace("{api-vip}", &super::bracketed(&params.api_vip))
        .replace("{fqdn}", &params.fqdn())
        .replace("{time}", &time.to_string())
        .replace("{kubernetes}", &params.kubernetes())
        .replace("{crio}", &params.runtime())
        .replace("{csr}", &super::suffix(&format!("{node} first"), 5))
        .replace("{config}", &super::machine_config::rendered(params, "master"));
    let header = match severity {
        ' ' => String::new(),
        severity => klog_header(severity, time, process),
    };
    (time, format!("{} {node} {program}[{process}]: {header}{text}", journal_time(time)))
}

/// Every one of these errors is over within minutes of the boot.
fn at_boot(unit: &str) -> &'static [Line] {
    match unit {
        "kubelet" => &[
            ('I', 0, "server.go:491] \"Kubelet version\" kubeletVersion=\"v{kubernetes}\""),
            (
                'I',
                1,
                "bootstrap.go:241] unable to read existing bootstrap client config from /var/lib/kubelet/kubeconfig: invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER environment variable",
            ),
            (
                'E',
                2,
                "kubelet.go:2461] \"Error getting node\" err=\"node \\\"{node}\\\" not found\"",
            ),
            (
                'E',
                4,
                "controller.go:145] \"Failed to ensure lease exists, will retry\" err=\"Get \\\"https://api-int.{fqdn}:6443/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{node}?timeout=10s\\\": dial tcp {api-vip}:6443: connect: connection refused\" interval=\"200ms\"",
            ),
            (
                'E',
                9,
                "kubelet.go:2461] \"Error getting node\" err=\"node \\\"{node}\\\" not found\"",
            ),
            (
                'E',
                12,
                "reflector.go:158] \"Unhandled Error\" err=\"k8s.io/client-go/informers/factory.go:160: Failed to watch *v1.Node: failed to list *v1.Node: nodes \\\"{node}\\\" is forbidden: User \\\"system:anonymous\\\" cannot list resource \\\"nodes\\\" in API group \\\"\\\" at the cluster scope\"",
            ),
            (
                'I',
                31,
                "csr.go:261] certificate signing request csr-{csr} is approved, waiting to be issued",
            ),
            ('I', 32, "csr.go:257] certificate signing request csr-{csr} is issued"),
            (
                'I',
                70,
                "kubelet_node_status.go:76] \"Successfully registered node\" node=\"{node}\"",
            ),
            (
                'E',
                74,
                "kubelet.go:2902] \"Container runtime network not ready\" networkReady=\"NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: no CNI configuration file in /etc/kubernetes/cni/net.d/. Has your network provider started?\"",
            ),
            (
                'E',
                96,
                "kubelet.go:2902] \"Container runtime network not ready\" networkReady=\"NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: no CNI configuration file in /etc/kubernetes/cni/net.d/. Has your network provider started?\"",
            ),
            (
                'E',
                110,
                "projected.go:288] Couldn't get configMap openshift-multus/kube-root-ca.crt: object \"openshift-multus\"/\"kube-root-ca.crt\" not registered",
            ),
            (
                'I',
                154,
                "kubelet_node_status.go:724] \"Recording event message for node\" node=\"{node}\" event=\"NodeReady\"",
            ),
        ],
        "crio" => &[
            (' ', 0, "time=\"{time}\" level=info msg=\"Starting CRI-O, version: {crio}, git: ()\""),
            (
                ' ',
                3,
                "time=\"{time}\" level=warning msg=\"Could not find CNI network \\\"multus-cni-network\\\" yet\"",
            ),
            (
                ' ',
                96,
                "time=\"{time}\" level=info msg=\"Found CNI network multus-cni-network (type=multus) at /etc/kubernetes/cni/net.d/00-multus.conf\"",
            ),
        ],
        "NetworkManager" => &[
            (
                ' ',
                -40,
                "<info>  NetworkManager (version 1.46.0-26.el9_4) is starting... (boot:5cc6c3ce-ab2a-4cef-91f3-e8cebb11030e)",
            ),
            (' ', -39, "<warn>  ifcfg-rh: dbus: don't use D-Bus name com.redhat.ifcfgrh1"),
            (
                ' ',
                -38,
                "<info>  device (eno1): state change: ip-config -> ip-check (reason 'none', managed-type: 'full')",
            ),
            (' ', -38, "<info>  dhcp4 (br-ex): state changed new lease, address={ip}"),
            (' ', -37, "<info>  device (br-ex): Activation: successful, device activated."),
        ],
        _ => &[
            (
                'I',
                -130,
                "daemon.go:1935] Running: /usr/bin/nmstatectl persist-nic-names --root /rootfs --kargs-out /tmp/nmstate-kargs --cleanup",
            ),
            (' ', -128, "sed: can't read /etc/yum.repos.d/*.repo: No such file or directory"),
            (
                'I',
                -127,
                "update.go:2724] \"Starting update from mco-empty-mc to {config}: &{osUpdate:true kargs:true fips:false passwd:false files:false units:false kernelType:false extensions:false}\"",
            ),
            (
                'I',
                -80,
                "update.go:2724] \"initiating reboot: Completing firstboot provisioning to {config}\"",
            ),
        ],
    }
}

fn chatter(unit: &str) -> &'static [Line] {
    match unit {
        "kubelet" => &[
            (
                'I',
                300,
                "kubelet.go:2456] \"SyncLoop (PLEG): event for pod\" pod=\"openshift-operator-lifecycle-manager/collect-profiles-29412345-x7k2p\" event={\"ID\":\"1f0e\",\"Type\":\"ContainerDied\"}",
            ),
            ('I', 420, "scope.go:117] \"RemoveContainer\" containerID=\"6e1c0d8f4c5b\""),
            (
                'I',
                900,
                "reconciler_common.go:245] \"operationExecutor.VerifyControllerAttachedVolume started for volume \\\"kube-api-access-4xk2p\\\" (UniqueName: \\\"kubernetes.io/projected/1f0e-kube-api-access-4xk2p\\\") pod \\\"must-gather-x7k2p\\\"\"",
            ),
            (
                'E',
                4_900,
                "kubelet_node_status.go:549] \"Error updating node status, will retry\" err=\"Operation cannot be fulfilled on nodes \\\"{node}\\\": the object has been modified; please apply your changes to the latest version and try again\"",
            ),
            (
                'I',
                3_600,
                "log.go:25] \"Finished parsing log file\" path=\"/var/log/pods/openshift-etcd_etcd-{node}/etcd/0.log\"",
            ),
        ],
        "crio" => &[
            (
                ' ',
                450,
                "time=\"{time}\" level=info msg=\"Checking image status: quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:27bbe7149006134a60aa14f71f58a11c6ab5f5d993b62a8f7d12c5854af87bba\" id=4e1d name=/runtime.v1.ImageService/ImageStatus",
            ),
            (
                ' ',
                800,
                "time=\"{time}\" level=info msg=\"Stopped pod sandbox: 3866c18f8459\" id=f37f name=/runtime.v1.RuntimeService/StopPodSandbox",
            ),
        ],
        "NetworkManager" => &[
            (
                ' ',
                1_400,
                "<info>  manager: (a8a7742b839): new Veth device (/org/freedesktop/NetworkManager/Devices/127)",
            ),
            (' ', 3_300, "<info>  dhcp4 (br-ex): state changed new lease, address={ip}"),
        ],
        _ => &[],
    }
}
