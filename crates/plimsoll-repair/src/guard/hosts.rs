//! Power of machines: only of the one that is broken, and never of one that works.

use plimsoll_model::EntityId;
use plimsoll_model::plan::{Action, Power, Target};

use super::change::Leaf;
use super::{Scene, is_called};

/// States of a host that has an operating system, and perhaps work, on it.
const IN_USE: [&str; 3] = ["provisioned", "externally provisioned", "provisioning"];

/// By an annotation, which makes the host's controller reboot it.
pub fn asks_for_reboot(leaves: &[Leaf]) -> bool {
    let place = "/metadata/annotations/reboot.metal3.io";
    leaves.iter().any(|leaf| leaf.path.starts_with(place) && leaf.becomes.is_some())
}

/// Two machines may answer at one address: who switches one off says by its serial number which.
pub fn strangers_by_serial(scene: &Scene) -> Vec<String> {
    let (Action::Power { to: Power::Off }, Target::Bmc { host, serial }) =
        (&scene.step.action, &scene.step.target)
    else {
        return Vec::new();
    };
    let is_known = scene.hosts().any(|id| id.name == *host);
    match (serial.as_deref().map(str::trim), is_known) {
        (None | Some(""), false) => vec![format!(
            "{host} is no host of this cluster: without its serial number nobody knows which \
             machine would be switched off"
        )],
        // In whatever letters: so is it held against what the machine says.
        (Some(serial), _) => {
            let has_it = |id: &&EntityId| {
                let known = scene.text(id, "serial").map(str::trim);
                id.name != *host && known.is_some_and(|known| known.eq_ignore_ascii_case(serial))
            };
            let others = scene.hosts().filter(has_it);
            others.map(|id| format!("serial number {serial} is that of {}", id.name)).collect()
        }
        _ => Vec::new(),
    }
}

pub fn no_host_for_anothers_sake(scene: &Scene) -> Vec<String> {
    let (host, what) = match (&scene.step.action, &scene.step.target) {
        (Action::Power { to }, Target::Bmc { host, .. }) => {
            (host, if *to == Power::On { "switched on" } else { "switched off" })
        }
        (Action::Patch { .. }, Target::Api(object)) if object.kind == "BareMetalHost" => {
            let leaves = scene.leaves();
            let online = leaves.iter().find(|leaf| leaf.path == "/spec/online");
            match online {
                _ if asks_for_reboot(&leaves) => (&object.name, "rebooted"),
                Some(leaf) if leaf.is_set_to(true) => (&object.name, "switched on"),
                Some(_) => (&object.name, "switched off"),
                None if leaves.iter().any(|leaf| leaf.is_about("/spec/bmc")) => {
                    return spoken_to_elsewhere(scene, &object.name);
                }
                None => return Vec::new(),
            }
        }
        (Action::Delete, Target::Api(object)) if object.kind == "BareMetalHost" => {
            (&object.name, "wiped and switched off")
        }
        _ => return Vec::new(),
    };
    let Some(id) = scene.hosts().find(|id| id.name == *host) else {
        return of_a_node(scene, host, what);
    };
    let is_root = scene.plan.root.entity == *id || is_its_node(scene, id);
    let is_master = scene.flag(id, "controlPlane");
    let state = scene.text(id, "state").unwrap_or("unknown");
    let joined = scene.flag(id, "joined") == Some(true);
    let mut why = Vec::new();
    if !is_root && is_master != Some(false) {
        why.push(format!(
            "{host} would be {what} for the sake of {}, and it is a master",
            scene.plan.root.entity
        ));
    }
    if !is_root && (IN_USE.contains(&state) || joined) {
        why.push(format!("{host} would be {what}, and it is {state}"));
    }
    if is_root && joined && scene.flag(id, "nodeReady") == Some(true) && what != "switched on" {
        why.push(format!("{host} would be {what}, and its node is ready"));
    }
    why
}

/// Where a BMC is, and by what it is trusted, decides who is sent its password.
fn spoken_to_elsewhere(scene: &Scene, host: &str) -> Vec<String> {
    let root = &scene.plan.root.entity;
    let is_root = (root.kind == "BareMetalHost" && root.name == host)
        || scene.hosts().any(|id| id.name == host && is_its_node(scene, id));
    match is_root {
        true => Vec::new(),
        false => vec![format!("the BMC of {host} would be another one for the sake of {root}")],
    }
}

/// Where the hosts are not the cluster's, its nodes are known. A machine that is none of them is the user's to
/// name, as long as all of them are known.
fn of_a_node(scene: &Scene, host: &str, what: &str) -> Vec<String> {
    let Some(node) = scene.all("Node").find(|node| is_called(node, host)) else {
        return match scene.knows_all_machines() {
            true => Vec::new(),
            false => vec![format!(
                "{host} would be {what}, and whether it is a machine of this cluster is not known"
            )],
        };
    };
    let is_ready = scene.text(node, "ready.status") == Some("True");
    match what {
        "switched on" => Vec::new(),
        _ if scene.plan.root.entity != *node => {
            vec![format!("{host} would be {what}, and it is a node of this cluster")]
        }
        _ if is_ready => vec![format!("{host} would be {what}, and its node is ready")],
        _ => Vec::new(),
    }
}

fn is_its_node(scene: &Scene, host: &EntityId) -> bool {
    let root = &scene.plan.root.entity;
    root.kind == "Node" && scene.text(host, "node") == Some(root.name.as_str())
}
