//! What a cluster still shows of troubles that are over.

use jiff::{SignedDuration, Timestamp};

use crate::base::BaseParams;
use crate::dice::Dice;
use crate::edit::{self, Edit, EditError, Repeated, Verb, When, parse_edits};
use crate::fault::Bound;
use crate::tree::Tree;

/// Puts in what a fault leaves in logs and events when it has ended: its own lines up to a moment in
/// the past. Objects are as they were.
pub(super) fn remains(
    params: &BaseParams,
    tree: &mut Tree,
    faults: &[Bound],
    dice: &mut Dice,
) -> Result<(), EditError> {
    for fault in faults {
        let span = params.now.duration_since(fault.onset).as_secs();
        let lasted = dice.within((span / 6, span / 2));
        let over = fault.onset.checked_add(SignedDuration::from_secs(lasted)).unwrap_or(params.now);
        let past: Vec<Edit> =
            fault.edits.iter().filter_map(|edit| ended(edit, over, params.now)).collect();
        edit::apply(tree, &past)?;
        edit::apply(tree, &goes_on(&past, params.now))?;
    }
    background(params, tree, dice)
}

/// The edit as far as it lies before `over`; nothing of what an object would show.
fn ended(edit: &Edit, over: Timestamp, now: Timestamp) -> Option<Edit> {
    let cut = |lines: &Repeated| {
        let from = lines.from.resolve(now);
        let to = lines.to.map(|to| When::At(to.resolve(now).min(over)));
        (from <= over).then(|| Repeated { to, ..lines.clone() })
    };
    let verb = match &edit.verb {
        Verb::Journal { unit, node, lines } => {
            Verb::Journal { unit: unit.clone(), node: node.clone(), lines: cut(lines)? }
        }
        Verb::Log { namespace, pod, container, previous, lines } => Verb::Log {
            namespace: namespace.clone(),
            pod: pod.clone(),
            container: container.clone(),
            previous: *previous,
            lines: cut(lines)?,
        },
        Verb::Event { namespace, event } => {
            let mut event = event.clone();
            if event.since.resolve(now) > over {
                return None;
            }
            event.until = When::At(event.until.resolve(now).min(over));
            Verb::Event { namespace: namespace.clone(), event }
        }
        _ => return None,
    };
    Some(Edit { line: edit.line, verb })
}

/// A container that works again goes on logging.
fn goes_on(past: &[Edit], now: Timestamp) -> Vec<Edit> {
    let alive = |edit: &Edit| match &edit.verb {
        Verb::Log { namespace, pod, container, previous: false, .. } => {
            let lines = Repeated {
                from: When::At(now.checked_sub(SignedDuration::from_secs(95)).unwrap_or(now)),
                to: None,
                every_seconds: 60,
                klog: Some('I'),
                text: "reflector.go:368] Caches populated for *v1.ConfigMap from k8s.io/client-go/informers/factory.go:160".into(),
            };
            let verb = Verb::Log {
                namespace: namespace.clone(),
                pod: pod.clone(),
                container: container.clone(),
                previous: false,
                lines,
            };
            Some(Edit { line: edit.line, verb })
        }
        // Whatever wrote there goes on writing; a clock that follows a source again says so.
        Verb::Journal { unit, node, .. } => {
            let text = match unit.as_str() {
                "chronyd" => "Selected source 192.0.2.123 (ntp.example.com)",
                _ => "level=info msg=\"all is quiet\"",
            };
            let lines = Repeated {
                from: When::At(now.checked_sub(SignedDuration::from_secs(95)).unwrap_or(now)),
                to: None,
                every_seconds: 3600,
                klog: None,
                text: text.into(),
            };
            let verb = Verb::Journal { unit: unit.clone(), node: node.clone(), lines };
            Some(Edit { line: edit.line, verb })
        }
        _ => None,
    };
    past.iter().filter_map(alive).collect()
}

/// Conflicts, probes and restarts, all of them over, as any cluster has them.
pub(super) fn background(
    params: &BaseParams,
    tree: &mut Tree,
    dice: &mut Dice,
) -> Result<(), EditError> {
    let Some(master) = dice.pick(&params.masters) else { return Ok(()) };
    let mut lines = Vec::new();
    let ago = |dice: &mut Dice| dice.within((70, 500));
    let (from, length) = (ago(dice), dice.within((2, 30)));
    lines.push(format!("journal kubelet {master} from=-{from}m to=-{}m every=20s klog=E \"kubelet_node_status.go:535] \\\"Error updating node status, will retry\\\" err=\\\"error getting node \\\\\\\"{master}\\\\\\\": Get \\\\\\\"https://api-int.{fqdn}:6443/api/v1/nodes/{master}?resourceVersion=0&timeout=10s\\\\\\\": net/http: request canceled (Client.Timeout exceeded while awaiting headers)\\\"\"", (from - length).max(61), fqdn = params.fqdn()));
    let from = ago(dice);
    lines.push(format!("event openshift-etcd Pod/etcd-{master} reason=Unhealthy type=Warning since=-{from}m until=-{}m count=4 message=\"Readiness probe failed: Get \\\"https://localhost:9980/readyz\\\": context deadline exceeded\"", from - 4));
    let from = ago(dice);
    lines.push(format!("event openshift-kube-apiserver Pod/kube-apiserver-{master} reason=ProbeError type=Warning since=-{from}m until=-{}m count=3 message=\"Readiness probe error: HTTP probe failed with statuscode: 500\"", from - 3));
    let from = ago(dice);
    lines.push(format!("event default Node/{master} reason=NodeNotReady type=Normal since=-{from}m until=-{from}m count=1 message=\"Node {master} status is now: NodeNotReady\""));
    let from = ago(dice);
    lines.push(format!("log openshift-machine-config-operator/machine-config-controller-*/machine-config-controller from=-{from}m to=-{}m every=60s klog=I \"render_controller.go:380] Error syncing machineconfigpool worker: Operation cannot be fulfilled on machineconfigpools.machineconfiguration.openshift.io \\\"worker\\\": the object has been modified; please apply your changes to the latest version and try again\"", from - 3));
    let kept: Vec<String> = lines.into_iter().filter(|_| dice.chance(70)).collect();
    edit::apply(tree, &parse_edits(&kept.join("\n"), 1)?)
}
