//! What healthy containers write, the harmless errors among it.
//!
//! A line is a severity, the seconds at which it comes and a text. Lines at the start count from
//! the start of the container, chatter comes again and again in the hours before the gather.

use jiff::{SignedDuration, Timestamp};

use super::{BaseParams, hash};
use crate::edit::klog_header;

/// How far back the chatter goes.
const HOURS: i64 = 3;

type Lines = Vec<(Timestamp, String)>;

/// Severity, seconds after the start, text from `file.go:123]` on.
type Start = (char, i64, &'static str);

/// Severity, seconds between two of them, text.
type Chatter = (char, i64, &'static str);

const PLAIN: char = ' ';

pub(super) fn running(
    params: &BaseParams,
    container: &str,
    node: &str,
    started: Timestamp,
) -> Lines {
    if container == "etcd" {
        return etcd(params, node, started);
    }
    let mut lines = Lines::new();
    for (severity, seconds, text) in start(container) {
        lines.push(line(params, *severity, super::pods::later(started, *seconds), node, text));
    }
    for text in vips_held(params, container, node) {
        lines.push(line(params, PLAIN, super::pods::later(started, 75), node, text));
    }
    for (severity, every, text) in chatter(container) {
        let first = params.ago(HOURS * 3_600).max(super::pods::later(started, 60));
        let jitter = (hash(&format!("{container} {node} {text}")) % *every as u64) as i64;
        let mut at = super::pods::later(first, jitter);
        while at < params.now {
            lines.push(line(params, *severity, at, node, text));
            at = super::pods::later(at, *every);
        }
    }
    lines.retain(|(time, _)| *time <= params.now);
    lines
}

/// The API address is held by the first master, the ingress address by the last node.
fn vips_held(params: &BaseParams, container: &str, node: &str) -> Vec<&'static str> {
    let mut held = Vec::new();
    if container == "keepalived" && params.masters.first().is_some_and(|first| first == node) {
        held.push("Keepalived_vrrp: ({cluster}_API_0) Entering MASTER STATE");
    }
    if container == "keepalived" && params.nodes().last() == Some(&node) {
        held.push("Keepalived_vrrp: ({cluster}_INGRESS_0) Entering MASTER STATE");
    }
    held
}

fn line(
    params: &BaseParams,
    severity: char,
    time: Timestamp,
    node: &str,
    text: &str,
) -> (Timestamp, String) {
    let time = time
        .checked_add(SignedDuration::from_micros(
            (hash(&format!("{time} {text}")) % 1_000_000) as i64,
        ))
        .unwrap_or(time);
    let text = text
        .replace("{node}", node)
        .replace("{ip}:", &format!("{}:", super::bracketed(params.ip(node))))
        .replace("{ip}", params.ip(node))
        .replace("{worker-ip}", &super::bracketed(&params.stranger(23)))
        .replace("{master-ip}", &super::bracketed(&params.stranger(20)))
        .replace("{peer-ip}", &super::bracketed(&params.stranger(21)))
        .replace("{gateway}", &super::bracketed(&params.stranger(1)))
        .replace("{fqdn}", &params.fqdn())
        .replace("{cluster}", &params.cluster)
        .replace("{time}", &time.to_string())
        .replace("{master}", &super::machine_config::rendered(params, "master"))
        .replace("{worker}", &super::machine_config::rendered(params, "worker"));
    match severity {
        PLAIN => (time, text),
        severity => (time, format!("{}{text}", klog_header(severity, time, 1))),
    }
}

pub(super) fn completed(container: &str, node: &str, started: Timestamp) -> Lines {
    let at = |seconds: i64| super::pods::later(started, seconds);
    let texts = match container {
        "installer" => [
            format!("cmd.go:410] Getting controller reference for node {node}"),
            format!("cmd.go:423] Waiting for installer revisions to settle for node {node}"),
            "cmd.go:637] Writing static pod manifest \"/etc/kubernetes/manifests\"".to_string(),
        ],
        _ => [
            "cmd.go:40] &{<nil> true {false} prune true map[]}".to_string(),
            "cmd.go:41] (*prune.PruneOptions)".to_string(),
            format!("cmd.go:160] Pruned on node {node}"),
        ],
    };
    [1, 2, 30]
        .into_iter()
        .zip(texts)
        .map(|(seconds, text)| (at(seconds), format!("{}{text}", klog_header('I', at(seconds), 1))))
        .collect()
}

/// The end of a container that was restarted since.
pub(super) fn last_words(container: &str, ended: Timestamp) -> Lines {
    let text = match container {
        "kube-controller-manager" => {
            "leaderelection.go:332] error retrieving resource lock kube-system/kube-controller-manager: Get \"https://localhost:6443/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager?timeout=6s\": dial tcp [::1]:6443: connect: connection refused"
        }
        "network-operator" => {
            "leaderelection.go:436] error retrieving resource lock openshift-network-operator/network-operator-lock: the server was unable to return a response in the time allotted"
        }
        _ => "leaderelection.go:369] Failed to update lock: etcdserver: request timed out",
    };
    let before = super::pods::later(ended, -4);
    vec![
        (before, format!("{}{text}", klog_header('E', before, 1))),
        (
            ended,
            format!(
                "{}leaderelection.go:285] failed to renew lease: timed out waiting for the condition",
                klog_header('I', ended, 1)
            ),
        ),
        (
            ended,
            format!("{}leaderelection.go:140] leaderelection lost", klog_header('E', ended, 1)),
        ),
    ]
}

fn start(container: &str) -> &'static [Start] {
    match container {
        "kube-apiserver" => &[
            ('I', 0, "flags.go:64] FLAG: --advertise-address=\"{ip}\""),
            ('I', 4, "cacher.go:460] cacher (nodes): initialized"),
            (
                'E',
                6,
                "status.go:71] \"Unhandled Error\" err=\"apiserver received an error that is not an metav1.Status: http: Handler timeout\"",
            ),
            (
                'I',
                9,
                "genericapiserver.go:700] \"[graceful-termination] shutdown event\" name=\"HasBeenReady\"",
            ),
        ],
        "kube-controller-manager" => &[
            (
                'I',
                1,
                "leaderelection.go:257] attempting to acquire leader lease kube-system/kube-controller-manager...",
            ),
            (
                'E',
                3,
                "leaderelection.go:436] error retrieving resource lock kube-system/kube-controller-manager: Get \"https://localhost:6443/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager?timeout=6s\": dial tcp [::1]:6443: connect: connection refused",
            ),
            (
                'I',
                20,
                "node_lifecycle_controller.go:429] \"Controller observed a new Node\" node=\"{node}\"",
            ),
        ],
        "kube-scheduler" => &[
            (
                'I',
                1,
                "leaderelection.go:257] attempting to acquire leader lease openshift-kube-scheduler/kube-scheduler...",
            ),
            (
                'W',
                2,
                "reflector.go:561] k8s.io/client-go/informers/factory.go:160: failed to list *v1.Node: Get \"https://localhost:6443/api/v1/nodes?limit=500&resourceVersion=0\": dial tcp [::1]:6443: connect: connection refused",
            ),
        ],
        "machine-config-server" => &[
            (
                'I',
                0,
                "start.go:40] Version: machine-config-daemon-4.6.0-202006240615.p0-3074-g54144b31-dirty (54144b315275a22cc9140677792ef5ed0189bcde)",
            ),
            ('I', 1, "api.go:67] Launching server on :22624"),
            ('I', 1, "api.go:67] Launching server on :22623"),
            (
                'I',
                610,
                "api.go:118] Pool \"worker\" requested by address:\"{worker-ip}:51758\" User-Agent:\"Ignition/2.20.0\" Accept-Header: \"application/vnd.coreos.ignition+json;version=3.4.0, */*;q=0.1\"",
            ),
        ],
        "machine-config-daemon" => &[
            ('I', 0, "daemon.go:570] Invoking re-exec /run/bin/machine-config-daemon"),
            (
                'I',
                1,
                "writer.go:88] NodeWriter initialized with credentials from /var/lib/kubelet/kubeconfig",
            ),
            ('I', 2, "update.go:2724] \"Starting to manage node: {node}\""),
            ('I', 5, "daemon.go:1786] systemd service state: OK"),
            ('I', 8, "daemon.go:739] Transitioned from state:  -> Done"),
        ],
        "machine-config-controller" => &[
            (
                'I',
                1,
                "leaderelection.go:257] attempting to acquire leader lease openshift-machine-config-operator/machine-config-controller...",
            ),
            ('I', 12, "render_controller.go:556] Generated machineconfig {master} from 7 configs"),
            ('I', 13, "render_controller.go:556] Generated machineconfig {worker} from 7 configs"),
            (
                'E',
                14,
                "render_controller.go:443] Error syncing Generated MCFG: Operation cannot be fulfilled on machineconfigpools.machineconfiguration.openshift.io \"worker\": the object has been modified; please apply your changes to the latest version and try again",
            ),
        ],
        "haproxy" => &[(PLAIN, 1, "[NOTICE]   (9) : Loading success.")],
        "haproxy-monitor" => &[
            (PLAIN, 2, "time=\"{time}\" level=info msg=\"API is not reachable through HAProxy\""),
            (PLAIN, 62, "time=\"{time}\" level=info msg=\"API reachable through HAProxy\""),
        ],
        "keepalived" => &[
            (PLAIN, 1, "Keepalived_vrrp: ({cluster}_API_0) Entering BACKUP STATE"),
            (PLAIN, 1, "Keepalived_vrrp: Script `chk_ocp_lb` now returning 1"),
            (PLAIN, 70, "Keepalived_vrrp: Script `chk_ocp_lb` succeeded"),
        ],
        "coredns" => &[(PLAIN, 1, "[INFO] plugin/reload: Running configuration SHA512 = 8f71e0e3")],
        "metal3-ironic" => &[
            (PLAIN, 3, "{time} 1 INFO ironic.common.service [-] Starting RPC service"),
            (
                PLAIN,
                9,
                "{time} 1 WARNING ironic.conductor.base_manager [-] Hardware type idrac: some of the interfaces are not enabled",
            ),
        ],
        "metal3-baremetal-operator" => &[
            (
                PLAIN,
                2,
                "{\"level\":\"info\",\"ts\":\"{time}\",\"logger\":\"setup\",\"msg\":\"starting manager\"}",
            ),
            (
                PLAIN,
                40,
                "{\"level\":\"error\",\"ts\":\"{time}\",\"msg\":\"Reconciler error\",\"controller\":\"baremetalhost\",\"error\":\"failed to save host status after \\\"registering\\\": Operation cannot be fulfilled on baremetalhosts.metal3.io: the object has been modified; please apply your changes to the latest version and try again\"}",
            ),
        ],
        "ovnkube-controller" => &[
            ('I', 1, "ovnkube.go:370] Waiting up to 1m0s for NBDB zone to match: {node}"),
            (
                'W',
                2,
                "base_network_controller_pods.go:60] No cached port info for pod, it is likely being set up",
            ),
            (
                'I',
                6,
                "default_node_network_controller.go:1050] Default node network controller initialized and ready.",
            ),
        ],
        "kube-multus" => &[(PLAIN, 2, "{time} [verbose] multus-daemon started")],
        "network-operator" => &[
            (
                'I',
                1,
                "leaderelection.go:257] attempting to acquire leader lease openshift-network-operator/network-operator-lock...",
            ),
            ('I', 9, "status_manager.go:230] Set ClusterOperator conditions"),
        ],
        "router" => &[
            ('I', 1, "template.go:560] \"msg\"=\"starting router\""),
            (
                'E',
                2,
                "haproxy.go:418] can't scrape HAProxy: dial unix /var/lib/haproxy/run/haproxy.sock: connect: no such file or directory",
            ),
        ],
        _ => &[
            ('I', 1, "cmd.go:253] Using service-serving-cert provided certificates"),
            ('I', 2, "leaderelection.go:257] attempting to acquire leader lease"),
        ],
    }
}

fn chatter(container: &str) -> &'static [Chatter] {
    match container {
        "kube-apiserver" => &[
            (
                'I',
                700,
                "apf_controller.go:493] \"Update CurrentCL\" plName=\"exempt\" seatDemandHighWatermark=4 fairFrac=2.27 currentCL=4 backstop=false",
            ),
            ('I', 1_300, "log.go:245] http: TLS handshake error from {gateway}:43210: EOF"),
            (
                'I',
                2_700,
                "controller.go:615] quota admission added evaluator for: leases.coordination.k8s.io",
            ),
        ],
        "kube-controller-manager" => &[
            (
                'I',
                500,
                "replica_set.go:679] \"Finished syncing\" logger=\"replicaset-controller\" kind=\"ReplicaSet\" key=\"openshift-monitoring/metrics-server-7f98b5f8b5\" duration=\"135.64µs\"",
            ),
            (
                'I',
                3_100,
                "deployment_controller.go:507] \"Error syncing deployment\" logger=\"deployment-controller\" deployment=\"openshift-console/downloads\" err=\"Operation cannot be fulfilled on deployments.apps \\\"downloads\\\": the object has been modified; please apply your changes to the latest version and try again\"",
            ),
        ],
        "kube-scheduler" => &[(
            'I',
            900,
            "schedule_one.go:314] \"Successfully bound pod to node\" pod=\"openshift-operator-lifecycle-manager/collect-profiles\" node=\"{node}\"",
        )],
        "machine-config-server" => {
            &[('I', 4_000, "log.go:245] http: TLS handshake error from {ip}:50112: EOF")]
        }
        "machine-config-daemon" => &[(
            'I',
            1_500,
            "certificate_writer.go:303] Certificate was synced from controllerconfig resourceVersion 24211",
        )],
        "machine-config-controller" => &[(
            'I',
            1_700,
            "kubelet_config_nodes.go:169] Applied Node configuration 97-master-generated-kubelet on MachineConfigPool master",
        )],
        "haproxy-monitor" => &[(
            PLAIN,
            1_900,
            "time=\"{time}\" level=info msg=\"Config change detected\" configChangeCtr=1",
        )],
        "coredns" => &[(
            PLAIN,
            2_900,
            "[INFO] {master-ip}:52210 - 4242 \"A IN api-int.{fqdn}. udp 60 false 1232\" NOERROR qr,aa,rd 92 0.000251s",
        )],
        "metal3-ironic" => &[(
            PLAIN,
            1_200,
            "{time} 1 INFO ironic.conductor.manager [-] Completed periodic power state sync of all nodes",
        )],
        "metal3-baremetal-operator" => &[(
            PLAIN,
            600,
            "{\"level\":\"info\",\"ts\":\"{time}\",\"logger\":\"controllers.BareMetalHost\",\"msg\":\"done\",\"provisioningState\":\"externally provisioned\",\"requeueAfter\":60}",
        )],
        "ovnkube-controller" => &[(
            'I',
            800,
            "obj_retry.go:502] Add event received for *v1.Pod openshift-must-gather/must-gather-x, removing from retry cache",
        )],
        "kube-multus" => &[(
            PLAIN,
            2_400,
            "{time} [verbose] ADD finished CNI request ContainerID:\"9b1f\" Netns:\"/var/run/netns/x\" IfName:\"eth0\"",
        )],
        "network-operator" => &[
            ('I', 400, "log.go:245] Reconciling proxy 'cluster' complete"),
            (
                'I',
                1_800,
                "log.go:245] successfully reconciled Network.operator.openshift.io cluster",
            ),
        ],
        "router" => &[(
            'I',
            1_600,
            "router.go:673] \"msg\"=\"router reloaded\" \"logger\"=\"template\" \"output\"=\" - Checking http://localhost:80 ...\\n - Health check ok : 0 retry attempt(s).\\n\"",
        )],
        "machine-approver-controller" => &[
            ('I', 2_600, "controller.go:121] Reconciling CSR: csr-renewal"),
            ('I', 3_500, "recorder.go:104] \"CSR approved\""),
        ],
        _ => &[(
            'I',
            2_200,
            "reflector.go:879] k8s.io/client-go/informers/factory.go:160: Watch close - total 12 items received",
        )],
    }
}

/// etcd writes JSON. Slow applies during installation are what a real disk shows under that load.
fn etcd(params: &BaseParams, node: &str, started: Timestamp) -> Lines {
    let entry = |time: Timestamp, level: &str, caller: &str, rest: &str| {
        (
            time,
            format!("{{\"level\":\"{level}\",\"ts\":\"{time}\",\"caller\":\"{caller}\",{rest}}}"),
        )
    };
    let at = |seconds: i64| super::pods::later(started, seconds);
    let mut lines = vec![
        entry(
            at(1),
            "info",
            "embed/etcd.go:134",
            "\"msg\":\"configuring peer listeners\",\"listen-peer-urls\":[\"https://0.0.0.0:2380\"]",
        ),
        entry(
            at(3),
            "warn",
            "rafthttp/probing_status.go:68",
            "\"msg\":\"prober detected unhealthy status\",\"round-tripper-name\":\"ROUND_TRIPPER_RAFT_MESSAGE\",\"rtt\":\"0s\",\"error\":\"dial tcp {peer-ip}:2380: connect: connection refused\"",
        ),
        entry(
            at(6),
            "info",
            "etcdserver/server.go:753",
            "\"msg\":\"initialized peer connections; fast-forwarding election ticks\"",
        ),
        entry(at(8), "info", "embed/serve.go:102", "\"msg\":\"ready to serve client requests\""),
        entry(
            at(15),
            "warn",
            "embed/config_logging.go:169",
            "\"msg\":\"rejected connection\",\"remote-addr\":\"127.0.0.1:52480\",\"server-name\":\"\",\"error\":\"EOF\"",
        ),
        entry(
            at(70),
            "warn",
            "etcdserver/util.go:170",
            "\"msg\":\"apply request took too long\",\"took\":\"312.418112ms\",\"expected-duration\":\"200ms\",\"prefix\":\"read-only range \"",
        ),
    ];
    let mut time = params.ago(HOURS * 3_600).max(at(120));
    let mut revision = 60_000 + hash(node) % 1_000;
    while time < params.now {
        lines.push(entry(
            time,
            "info",
            "mvcc/index.go:214",
            &format!("\"msg\":\"compact tree index\",\"revision\":{revision}"),
        ));
        lines.push(entry(super::pods::later(time, 1), "info", "mvcc/kvstore_compaction.go:72", &format!("\"msg\":\"finished scheduled compaction\",\"compact-revision\":{revision},\"took\":\"170.055559ms\",\"current-db-size\":\"98 MB\"")));
        time = super::pods::later(time, 300);
        revision += 1_700;
    }
    lines.retain(|(time, _)| *time <= params.now);
    lines
}
