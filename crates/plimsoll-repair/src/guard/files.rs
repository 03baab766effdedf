//! Files and services of a node: few are ours to touch, and a kubelet is nobody else than itself.

use plimsoll_model::plan::{Action, Content, LOCALHOST_MAKER, LONGEST_BREAK, Target};

use super::Scene;

/// Files that a plan may write. Everything else on a node belongs to an operator, to the installer or to
/// the machine-config daemon, and is changed there.
const WRITABLE: [&str; 3] = [KUBELET_BOOTSTRAP, IMAGE_POLICY, FORCE];
const KUBELET_BOOTSTRAP: &str = "/etc/kubernetes/kubeconfig";
const IMAGE_POLICY: &str = "/etc/containers/policy.json";
const FORCE: &str = "/run/machine-config-daemon-force";
const KUBELET: &str = "/var/lib/kubelet/kubeconfig";
/// What may be put aside: it is made anew.
const RETIRABLE: [&str; 2] = [KUBELET, "/var/lib/kubelet/pki/kubelet-client-*"];
/// Containers run on without their kubelet. Without their runtime or their network they do not, and who comes by
/// ssh cannot put those back.
const UNITS: [&str; 1] = ["kubelet"];
const IMAGE_CONFIG: &str = "MachineConfig";

pub fn only_known_files(scene: &Scene) -> Vec<String> {
    let Target::Node { name } = &scene.step.target else { return Vec::new() };
    match &scene.step.action {
        // Of who may write the kubelet's own, guard `identity` tells.
        Action::WriteFile { path, .. } if path == KUBELET => Vec::new(),
        Action::WriteFile { path, content: Content::Plan { .. }, .. } if is_credential(path) => {
            vec![format!(
                "{path} on {name} would be what the plan says: a plan holds no credentials, a maker makes them"
            )]
        }
        Action::WriteFile { path, .. } if !WRITABLE.contains(&path.as_str()) => {
            vec![format!(
                "{path} on {name} is not a plan's to write: it belongs to whoever made it"
            )]
        }
        Action::WriteFile { path, .. } if path == IMAGE_POLICY => with_its_config(scene),
        Action::Retire { paths } => paths
            .iter()
            .filter(|path| !RETIRABLE.contains(&path.as_str()))
            .map(|path| format!("{path} on {name} is not made anew when it is gone"))
            .collect(),
        Action::Unit { unit, .. } if !UNITS.contains(&unit.trim_end_matches(".service")) => {
            vec![format!("{unit} on {name} is not a plan's to restart")]
        }
        _ => Vec::new(),
    }
}

/// A file by which somebody is let in: as whom is never a pack's to say.
fn is_credential(path: &str) -> bool {
    path.ends_with("kubeconfig")
        || path.starts_with("/var/lib/kubelet/pki/")
        || [".key", ".pem", ".crt"].iter().any(|end| path.ends_with(end))
}

/// A file of the daemon's that differs from its config is drift: the plan has to carry the config too.
fn with_its_config(scene: &Scene) -> Vec<String> {
    let carries = scene.plan.steps.iter().any(|step| match (&step.target, &step.action) {
        (Target::Api(object), Action::Create { .. } | Action::Patch { .. }) => {
            object.kind == IMAGE_CONFIG || object.kind == "Image"
        }
        (_, Action::Hand { run, .. }) => run.iter().any(|line| line.contains("machineconfig")),
        _ => false,
    });
    match carries {
        true => Vec::new(),
        false => vec![format!(
            "{IMAGE_POLICY} alone is drift: the plan has to change the MachineConfig as well"
        )],
    }
}

pub fn no_admin_for_a_kubelet(scene: &Scene) -> Vec<String> {
    let Action::WriteFile { path, content, .. } = &scene.step.action else { return Vec::new() };
    let maker = match content {
        Content::Maker { maker, .. } => maker.as_str(),
        Content::Plan { .. } => "",
    };
    let admin = maker.contains("localhost") || path == KUBELET;
    // Even then nothing but the node's own file, which never leaves it, and not for long.
    let boxed = scene.plan.break_glass_minutes.is_some_and(|minutes| minutes <= LONGEST_BREAK);
    let is_its_own = maker == LOCALHOST_MAKER && path == KUBELET;
    match (admin, scene.break_glass && boxed && is_its_own) {
        (true, false) => vec![
            "a kubelet with an administrator's kubeconfig is outside the Node authorizer and never \
             rotates: rebuild its bootstrap credential instead"
                .into(),
        ],
        _ => Vec::new(),
    }
}
