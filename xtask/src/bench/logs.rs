//! Log text: container logs as the kubelet hands them out, and journals of the hosts.

use std::fmt::Write as _;
use std::io::Write;

use anyhow::Result;

use super::random::Random;

/// What the reference runs search for. All are fast for ripgrep: strings that begin like common words
/// cost it four times as much, and a slow unit would flatter us.
pub const PATTERNS: [&str; 12] = [
    "x509: cert",
    "OOMKilled",
    "no space left",
    "panic:",
    "connection refused",
    "i/o timeout",
    "context deadline exceeded",
    "leader changed",
    "no route to host",
    "TLS handshake error",
    "failed to reserve",
    "NetworkPluginNotReady",
];

/// One line in so many is trouble.
const TROUBLE_EVERY: u64 = 3000;

const SOURCES: [&str; 16] = [
    "reflector.go:351",
    "controller.go:220",
    "event.go:377",
    "leaderelection.go:278",
    "trace.go:236",
    "round_trippers.go:553",
    "base_controller.go:82",
    "request.go:697",
    "status_controller.go:218",
    "httplog.go:132",
    "reconciler_common.go:245",
    "kubelet.go:2431",
    "proxier.go:805",
    "shared_informer.go:318",
    "garbagecollector.go:549",
    "pod_startup_latency_tracker.go:104",
];

/// `{n}` a number, `{m}` milliseconds, `{u}` a uid, `{i}` an address, `{h}` a node, `{x}` hex.
const CALM: [&str; 40] = [
    "\"Listing and watching\" type=\"*v1.ConfigMap\" reflector=\"k8s.io/client-go/informers/factory.go:160\"",
    "\"HTTP\" verb=\"GET\" URI=\"/api/v1/namespaces/openshift-monitoring/configmaps/cluster-{n}\" latency=\"{m}ms\" userAgent=\"operator/v0.0.0 (linux/amd64) kubernetes/$Format\" audit-ID=\"{u}\" srcIP=\"{i}:{n}\" resp=200",
    "\"HTTP\" verb=\"WATCH\" URI=\"/apis/apps/v1/deployments?allowWatchBookmarks=true&resourceVersion={n}&timeoutSeconds={n}&watch=true\" latency=\"{m}ms\" audit-ID=\"{u}\" srcIP=\"{i}:{n}\" resp=200",
    "\"HTTP\" verb=\"PATCH\" URI=\"/api/v1/nodes/{h}/status?timeout=10s\" latency=\"{m}ms\" userAgent=\"kubelet/v1.31.8 (linux/amd64) kubernetes/d0a1b2c\" audit-ID=\"{u}\" srcIP=\"{i}:{n}\" resp=200",
    "\"HTTP\" verb=\"PUT\" URI=\"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{h}?timeout=10s\" latency=\"{m}ms\" audit-ID=\"{u}\" srcIP=\"{i}:{n}\" resp=200",
    "\"SyncLoop (PLEG): event for pod\" pod=\"openshift-multus/multus-{x}\" event={\"ID\":\"{u}\",\"Type\":\"ContainerStarted\",\"Data\":\"{x}{x}\"}",
    "\"SyncLoop UPDATE\" source=\"api\" pods=[\"openshift-dns/dns-default-{x}\"]",
    "\"Observed pod startup duration\" pod=\"openshift-marketplace/certified-operators-{x}\" podStartSLOduration={m}.{n} podStartE2EDuration=\"{m}.{n}s\" podCreationTimestamp=\"2026-03-10 09:11:12 +0000 UTC\"",
    "\"MountVolume.SetUp succeeded for volume\" \"kube-api-access-{x}\" (UniqueName: \"kubernetes.io/projected/{u}-kube-api-access-{x}\") pod \"network-metrics-daemon-{x}\" (UID: \"{u}\")",
    "\"Cleaned up orphaned pod volumes dir\" podUID=\"{u}\" path=\"/var/lib/kubelet/pods/{u}/volumes\"",
    "Event(v1.ObjectReference{Kind:\"Deployment\", Namespace:\"openshift-authentication-operator\", Name:\"authentication-operator\", UID:\"{u}\", APIVersion:\"apps/v1\"}): type: 'Normal' reason: 'OperatorStatusChanged' Status for clusteroperator/authentication changed: Progressing message changed, revision {n}",
    "Event(v1.ObjectReference{Kind:\"Pod\", Namespace:\"openshift-etcd\", Name:\"etcd-{h}\", UID:\"{u}\", APIVersion:\"v1\"}): type: 'Normal' reason: 'Created' Created container: etcd-metrics, attempt {n}",
    "successfully renewed lease openshift-kube-controller-manager/cluster-policy-controller-lock, generation {n}",
    "Trace[{n}]: \"List\" accept:application/vnd.kubernetes.protobuf,audit-id:{u},client:{i},protocol:HTTP/2.0,resource:secrets,scope:cluster,url:/api/v1/secrets,verb:LIST (total time: {m}ms)",
    "Caches are synced for garbage collector, {n} monitors running, {n} objects in the graph",
    "Starting #{n} worker of ResourceSyncController controller for revision {n}",
    "Finished syncing operator status, took {m}ms, {n} conditions unchanged",
    "\"Reconciling\" controller=\"machine\" namespace=\"openshift-machine-api\" name=\"ocp-worker-{n}\" reconcileID=\"{u}\"",
    "\"Reconciled\" controller=\"baremetalhost\" namespace=\"openshift-machine-api\" name=\"{h}\" provisioningState=\"provisioned\" requeue=true after={m}",
    "\"Checking hardware\" baremetalhost=\"openshift-machine-api/{h}\" node=\"{u}\" power=\"on\" sensors={n}",
    "Node {h} is reporting: updated to rendered-worker-{x}{x} in {n} seconds",
    "ovnkube-node: processed service openshift-ingress/router-internal-default, {n} endpoints, {m}ms",
    "ovs-vswitchd|{n}|connmgr|INFO|br-ex<->unix#{n}: 2 flow_mods in the last 0 s (2 adds)",
    "\"Skipping event for pod\" controller=\"egressip\" pod=\"openshift-monitoring/node-exporter-{x}\" resourceVersion={n}",
    "http: superfluous response.WriteHeader call from github.com/openshift/oauth-proxy at {i}:{n}",
    "level=info component=\"compactor\" msg=\"write block\" mint={n} maxt={n} ulid={x}{x} duration={m}.{n}ms",
    "level=debug component=\"rule manager\" group=\"kubernetes-system-apiserver\" evaluated={n} duration={m}ms",
    "[INFO] {i}:{n} - {n} \"A IN api-int.ocp.example.com. udp 62 false 1232\" NOERROR qr,aa,rd {n} 0.000{n}s",
    "{\"level\":\"info\",\"ts\":\"2026-03-10T10:{m}:{m}Z\",\"caller\":\"mvcc/hash.go:137\",\"msg\":\"storing new hash\",\"hash\":{n},\"revision\":{n},\"compact-revision\":{n}}",
    "{\"level\":\"info\",\"ts\":\"2026-03-10T10:{m}:{m}Z\",\"caller\":\"mvcc/kvstore_compaction.go:72\",\"msg\":\"finished scheduled compaction\",\"compact-revision\":{n},\"took\":\"{m}ms\"}",
    "haproxy: Connect from {i}:{n} to {i}:6443 (main/TCP), session {n}, queue 0/0, {m}ms",
    "keepalived: (VI_0) Received advert from {i} with lower priority {n}, ours 65, forcing new election no {n}",
    "loaded client CA [{n}/\"client-ca-bundle::/etc/kubernetes/static-pod-certs/configmaps/client-ca/ca-bundle.crt\"]: \"kube-csr-signer_@{n}\" [] issuer=\"openshift-kube-apiserver-operator\"",
    "reloaded certificate /etc/tls/private/tls.crt, serial {n}, valid for {n} hours",
    "\"Updated endpoint slice\" service=\"openshift-console/console\" endpointSlice=\"console-{x}\" generation={n}",
    "\"Deleted pod sandbox\" sandboxID=\"{x}{x}{x}\" runtime=\"cri-o\" took=\"{m}ms\"",
    "time=\"2026-03-10 10:{m}:{m}.{n}Z\" level=info msg=\"Checking image status: quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:{x}{x}{x}{x}\" id={u} name=/runtime.v1.ImageService/ImageStatus",
    "time=\"2026-03-10 10:{m}:{m}.{n}Z\" level=info msg=\"Created container {x}{x}{x}: openshift-ovn-kubernetes/ovnkube-node-{x}/northd\" id={u} name=/runtime.v1.RuntimeService/CreateContainer",
    "queue depth {n}, oldest item {m}ms, retries {n}, dropped 0",
    "synced {n} routes in {m}ms, {n} admitted, no change",
];

const TROUBLE: [&str; 15] = [
    "x509: certificate has expired or is not yet valid: current time 2026-03-10T10:{m}:{m}Z is after 2026-03-09T08:11:12Z",
    "nodes \"{h}\" is forbidden: User \"system:anonymous\" cannot get resource \"nodes\" in API group \"\" at the cluster scope",
    "etcdserver: leader changed, retrying after {m}ms",
    "write /var/lib/containers/storage/overlay/{x}/merged: no space left on device",
    "Failed to provision host: failed to reserve node {u}",
    "content mismatch for file \"/etc/chrony.conf\"; expected sha {x}",
    "container prometheus of pod prometheus-k8s-{n} was OOMKilled",
    "dial tcp {i}:6443: connect: no route to host",
    "http: TLS handshake error from {i}:{n}: EOF",
    "apply request took too long, took {m}ms, expected 200ms, prefix read-only range",
    "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error, attempt {n}",
    "dial tcp {i}:6443: connect: connection refused",
    "Get \"https://{i}:10250/metrics\": context deadline exceeded (i/o timeout after {m}s)",
    "panic: runtime error: invalid memory address or nil pointer dereference [{n}]",
    "Marking Degraded due to: unexpected on-disk state validating against rendered-worker-{x}",
];

pub enum Kind {
    /// RFC 3339 prefix, then the component's own klog header.
    Container,
    /// Journal of a unit, all machines of a role in one file.
    Journal { unit: &'static str, hosts: Vec<String> },
}

/// Writes about `bytes` of log and says how many they were.
pub fn write(out: &mut impl Write, kind: &Kind, bytes: u64, random: &mut Random) -> Result<u64> {
    // A component says a few dozen different things, and mostly the same handful.
    let offset = random.below(CALM.len() as u64) as usize;
    let mut clock = Clock { micros: random.below(3_600_000_000) };
    let step = 1 + 12 * 3_600_000_000 / (bytes / 150).max(1);
    let mut line = String::with_capacity(512);
    let mut written = 0;
    while written < bytes {
        clock.micros += random.below(2 * step);
        line.clear();
        header(&mut line, kind, &clock, random);
        let trouble = random.below(TROUBLE_EVERY) == 0;
        let usual = (random.below(12) * random.below(12) / 12) as usize;
        let message = match trouble {
            true => random.pick(&TROUBLE),
            false => CALM[(offset + usual) % CALM.len()],
        };
        if !message.starts_with('{') {
            let level = if trouble { 'E' } else { 'I' };
            let source = SOURCES[(offset + usual) % SOURCES.len()];
            let _ = write!(line, "{level}0310 {}       1 {source}] ", clock.of_day());
        }
        fill(&mut line, message, random);
        line.push('\n');
        out.write_all(line.as_bytes())?;
        written += line.len() as u64;
    }
    Ok(written)
}

fn header(line: &mut String, kind: &Kind, clock: &Clock, random: &mut Random) {
    let _ = match kind {
        Kind::Container => write!(line, "2026-03-10T{}{:03}Z ", clock.of_day(), random.below(1000)),
        Kind::Journal { unit, hosts } => {
            let host = random.below(hosts.len() as u64) as usize;
            write!(line, "Mar 10 {} {} {unit}[{}]: ", clock.of_day(), hosts[host], 2300 + host)
        }
    };
}

/// Values come from small sets more often than not, as they do in life.
fn fill(line: &mut String, message: &str, random: &mut Random) {
    let mut rest = message;
    while let Some(start) = rest.find('{') {
        line.push_str(&rest[..start]);
        let known = match rest.get(start + 1..start + 3) {
            Some("n}") => write!(line, "{}", 10_000 + random.below(40_000)),
            Some("m}") => write!(line, "{:02}", random.below(60)),
            Some("u}") => {
                let id = random.below(400);
                write!(
                    line,
                    "{:08x}-5d1c-4b{:02x}-9e0f-0a58a9feac{id:02x}",
                    id * 7_654_321,
                    id % 97
                )
            }
            Some("i}") => write!(line, "10.0.{}.{}", random.below(4), 10 + random.below(60)),
            Some("h}") => write!(line, "worker-{}", random.below(57)),
            Some("x}") => write!(line, "{:05x}", random.below(600) * 1747),
            _ => {
                line.push('{');
                rest = &rest[start + 1..];
                continue;
            }
        };
        let _ = known;
        rest = &rest[start + 3..];
    }
    line.push_str(rest);
}

/// Time of the day of the gather, which is 2026-03-10 from midnight to the afternoon.
struct Clock {
    micros: u64,
}

impl Clock {
    fn of_day(&self) -> String {
        let seconds = self.micros / 1_000_000 % 86_400;
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        format!("{hour:02}:{minute:02}:{second:02}.{:06}", self.micros % 1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(kind: &Kind, bytes: u64) -> String {
        let mut out = Vec::new();
        write(&mut out, kind, bytes, &mut Random::new(7)).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_carry_the_times_that_real_ones_carry() {
        let text = sample(&Kind::Container, 20_000);
        assert!(text.lines().all(|line| line.starts_with("2026-03-10T") && line.is_ascii()));
        assert!(!text.contains("{n}") && !text.contains("{u}"));
        let hosts = vec!["master-0".to_string(), "master-1".to_string()];
        let text = sample(&Kind::Journal { unit: "kubelet", hosts }, 20_000);
        assert!(text.lines().any(|line| line.contains("master-1 kubelet[2301]: I0310 ")));
    }

    #[test]
    fn the_patterns_are_in_the_lines_of_trouble_and_in_no_other() {
        for pattern in PATTERNS {
            assert!(TROUBLE.iter().any(|line| line.contains(pattern)), "{pattern} is nowhere");
            assert!(!CALM.iter().any(|line| line.contains(pattern)), "{pattern} is everywhere");
        }
    }
}
