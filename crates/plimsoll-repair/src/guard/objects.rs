//! Objects of the API that are not ours to change, and changes that would not be what they seem.

use plimsoll_model::EntityId;
use plimsoll_model::plan::{Action, Content, Object, Target};
use serde_json::Value;

use super::Scene;
use super::change::Leaf;
use crate::resource::misfit;

const MCO: &str = "openshift-machine-config-operator";

/// Secrets that a controller is known to make again: namespace, name, and from which release on.
/// Proven by reading its source; all others are gone when they are gone.
const RECREATED: &[(&str, &str, i64)] = &[
    ("openshift-kube-apiserver", "localhost-serving-cert-certkey", 14),
    ("openshift-kube-apiserver", "service-network-serving-certkey", 14),
    ("openshift-kube-apiserver", "external-loadbalancer-serving-certkey", 14),
    ("openshift-kube-apiserver", "internal-loadbalancer-serving-certkey", 14),
    ("openshift-kube-apiserver", "localhost-recovery-serving-certkey", 14),
    (MCO, "machine-config-server-tls", 19),
];

/// What may be deleted: it ends by itself, its owner makes it again, or another guard knows who does. All
/// else is taken away by whoever put it there.
const DELETABLE: [&str; 3] = ["CertificateSigningRequest", "Pod", "Secret"];

fn object<'s>(scene: &Scene<'s>) -> Option<&'s Object> {
    match &scene.step.target {
        Target::Api(object) => Some(object),
        _ => None,
    }
}

/// All other guards judge an object by its kind, and by what is in it.
pub fn objects_are_what_they_are_called(scene: &Scene) -> Vec<String> {
    let Some(object) = object(scene) else { return Vec::new() };
    // Behind others there are requests to the inside of pods and nodes, and approvals.
    let beside = match &scene.step.action {
        Action::Patch { subresource: Some(name), .. } if name != "status" => {
            Some(format!("'{name}' of {} is not a plan's to change", object.entity()))
        }
        _ => None,
    };
    misfit(object).into_iter().chain(beside).collect()
}

pub fn secrets_stay(scene: &Scene) -> Vec<String> {
    let Some(object) = object(scene).filter(|one| one.kind == "Secret") else { return Vec::new() };
    let entity = object.entity();
    match &scene.step.action {
        Action::Delete => match proven_recreator(scene, object) {
            Ok(()) => Vec::new(),
            Err(why) => vec![why],
        },
        Action::Patch { .. } if scene.leaves().iter().any(is_of_credentials) => {
            vec![format!(
                "the data of {entity} is not patched by hand: a plan holds no credentials"
            )]
        }
        Action::Create { content: Content::Plan { .. } }
        | Action::Fill { content: Content::Plan { .. } } => vec![format!(
            "what {entity} holds would stand in the plan: a plan holds no credentials, a maker makes them"
        )],
        _ => Vec::new(),
    }
}

/// What a plan may say itself of an object that it makes: little that anybody acts on.
pub fn only_makers_make(scene: &Scene) -> Vec<String> {
    let Some(object) = object(scene).filter(|_| is_said_by_the_plan(&scene.step.action)) else {
        return Vec::new();
    };
    let space = object.namespace.as_deref().unwrap_or_default();
    let is_of_platform = space.starts_with("openshift-") || space.starts_with("kube-");
    match object.kind.as_str() {
        "ConfigMap" if !is_of_platform => Vec::new(),
        // Of these guard `secret` tells.
        "Secret" => Vec::new(),
        _ => vec![format!(
            "what {} holds would be what the plan says: only a maker makes a {} there",
            object.entity(),
            object.kind
        )],
    }
}

pub fn is_said_by_the_plan(action: &Action) -> bool {
    matches!(
        action,
        Action::Create { content: Content::Plan { .. } }
            | Action::Fill { content: Content::Plan { .. } }
    )
}

fn is_of_credentials(leaf: &Leaf) -> bool {
    ["/data", "/stringData"].iter().any(|place| leaf.is_about(place))
}

/// Whether anything of that kind may be deleted at all.
pub fn is_deletable(kind: &str) -> bool {
    DELETABLE.contains(&kind)
}

pub fn only_what_comes_back_is_deleted(scene: &Scene) -> Vec<String> {
    let Some(object) = object(scene).filter(|_| scene.step.action == Action::Delete) else {
        return Vec::new();
    };
    match is_deletable(&object.kind) {
        true => Vec::new(),
        false => vec![format!(
            "{} is not a plan's to delete: nothing makes a {} again as it was",
            object.entity(),
            object.kind
        )],
    }
}

fn proven_recreator(scene: &Scene, object: &Object) -> Result<(), String> {
    let entity = object.entity();
    let namespace = object.namespace.as_deref().unwrap_or_default();
    let known = RECREATED.iter().find(|row| (row.0, row.1) == (namespace, object.name.as_str()));
    let Some((_, _, from)) = known else {
        return Err(format!("nothing is known to make {entity} again: it would be gone for good"));
    };
    match scene.minor() {
        None => Err(format!("whether this release makes {entity} again is not known")),
        Some(minor) if minor < *from => {
            let why = format!("4.{minor} does not make {entity} again, only 4.{from} and later");
            Err(format!("{why}: it would be gone for good"))
        }
        // Its controller runs only where there are MachineSets.
        Some(_) if namespace == MCO && scene.all("MachineSet").next().is_none() => {
            Err(format!("without a MachineSet nobody makes {entity} again"))
        }
        Some(_) => Ok(()),
    }
}

/// Who writes under this name and changes back what others wrote.
fn keeper(manager: &str) -> Option<&'static str> {
    let keepers = [
        ("argocd-controller", "Argo CD"),
        ("argocd-application-controller", "Argo CD"),
        ("kustomize-controller", "Flux"),
        ("helm-controller", "Flux"),
    ];
    keepers.iter().find(|(name, _)| *name == manager).map(|(_, who)| *who)
}

/// Who else writes the object, so that a change here would be taken back or fought over.
pub fn owner(object: &Value) -> Option<String> {
    let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let kind = object["kind"].as_str().unwrap_or("object");
    let text = |part: &str, key: &str| {
        object["metadata"][part].get(key).and_then(Value::as_str).map(str::to_string)
    };
    let marks = [
        ("labels", "argocd.argoproj.io/instance", "Argo CD"),
        ("annotations", "argocd.argoproj.io/tracking-id", "Argo CD"),
        ("labels", "kustomize.toolkit.fluxcd.io/name", "Flux"),
        ("labels", "helm.toolkit.fluxcd.io/name", "Flux"),
        ("annotations", "policy.open-cluster-management.io/policy", "a hub's policy"),
    ];
    // Where it tracks by a label of its choice, what it wrote still bears its name. Helm changes nothing back by
    // itself, and what OLM installs is owned by its ClusterServiceVersion.
    let writers = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    let managers = writers.into_iter().flatten().filter_map(|one| one["manager"].as_str());
    let keeper = managers.filter_map(|manager| Some((keeper(manager)?, manager))).next();
    if let Some((who, manager)) = keeper {
        return Some(format!(
            "{kind}/{name} is kept by {who} (it was written by {manager}): change it there, or it is changed back"
        ));
    }
    let git = marks.iter().find_map(|(part, key, who)| Some((who, text(part, key)?)));
    if let Some((who, what)) = git {
        return Some(format!(
            "{kind}/{name} is kept by {who} ({what}): change it there, or it is changed back"
        ));
    }
    let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    let controller = owners.into_iter().find(|owner| owner["controller"] == true);
    // Deleting what its owner makes again is what restarts are made of.
    controller.filter(|_| kind != "Pod").map(|owner| {
        let of = |key: &str| owner[key].as_str().unwrap_or("?").to_string();
        format!("{kind}/{name} belongs to {}/{}: change that", of("kind"), of("name"))
    })
}

pub fn owned_elsewhere(scene: &Scene) -> Vec<String> {
    let changes = matches!(
        scene.step.action,
        Action::Patch { subresource: None, .. } | Action::Fill { .. } | Action::Delete
    );
    let found = scene.object.filter(|_| changes).and_then(owner);
    found.into_iter().collect()
}

/// The machine-config operator writes these from what it knows itself, and at every sync.
pub fn user_data_of_the_operator(scene: &Scene) -> Vec<String> {
    let is_its = |one: &&Object| one.kind == "Secret" && one.name.ends_with("-user-data-managed");
    match object(scene).filter(is_its) {
        Some(object) => vec![format!(
            "{} is written by the machine-config operator: it would write it again",
            object.entity()
        )],
        None => Vec::new(),
    }
}

/// A webhook is let past for a while and never taken away; one of the platform's own not even that.
pub fn webhooks_stay(scene: &Scene) -> Vec<String> {
    let is_one = |one: &&Object| one.kind.ends_with("WebhookConfiguration");
    let Some(object) = object(scene).filter(is_one) else { return Vec::new() };
    let entity = object.entity();
    if matches!(scene.step.action, Action::Delete) {
        return vec![format!("{entity} is not deleted: let its failures be ignored meanwhile")];
    }
    let fact = EntityId::cluster_scoped("WebhookConfiguration", &object.name);
    let known = scene.fact(&fact, "unanswered").into_iter().flat_map(plimsoll_model::Value::texts);
    let hooks = scene.object.and_then(|now| now["webhooks"].as_array());
    let shown = hooks.into_iter().flatten();
    let shown = shown.filter_map(|one| one.pointer("/clientConfig/service/namespace")?.as_str());
    let of_platform = |space: &str| space.starts_with("openshift-") || space.starts_with("kube-");
    match known.chain(shown).find(|space| of_platform(space)) {
        Some(space) => vec![format!(
            "{entity} is the platform's own ({space}): its operator writes it again, and is what is broken"
        )],
        None => Vec::new(),
    }
}

pub fn requests_by_rule_only(scene: &Scene) -> Vec<String> {
    let is_request = object(scene).is_some_and(|one| one.kind == "CertificateSigningRequest");
    let is_deletion = matches!(scene.step.action, Action::Delete);
    match is_request && !is_deletion {
        true => vec!["requests are approved one by one and by rule, never by a patch".into()],
        false => Vec::new(),
    }
}

pub fn static_pods_stay(scene: &Scene) -> Vec<String> {
    let Some(object) = object(scene).filter(|one| one.kind == "Pod") else { return Vec::new() };
    if !matches!(scene.step.action, Action::Delete) {
        return vec![format!(
            "{} is not changed: whoever made it makes it as it was",
            object.entity()
        )];
    }
    let mark = "kubernetes.io/config.mirror";
    let by_object = scene.object.map(|pod| pod["metadata"]["annotations"][mark].is_string());
    let is_mirror = by_object.or(scene.flag(&object.entity(), "mirror"));
    match is_mirror {
        Some(false) => Vec::new(),
        Some(true) => vec![format!(
            "{} is the mirror of a static pod: deleting it restarts nothing, and hides the pod",
            object.entity()
        )],
        None => vec![format!("whether {} is a static pod is not known", object.entity())],
    }
}

/// A plain patch of a status is dropped without a word.
pub fn status_by_subresource(scene: &Scene) -> Vec<String> {
    let Action::Patch { subresource: None, .. } = &scene.step.action else { return Vec::new() };
    match scene.leaves().iter().any(|leaf| leaf.is_about("/status")) {
        true => vec!["a status is changed by its subresource; this would be ignored".into()],
        false => Vec::new(),
    }
}

const MACHINE_CONFIG: &str = "/metadata/annotations/machineconfiguration.openshift.io~1";

/// What a node says of its config is true of its disk, or the daemon finds the difference and stops. That a name
/// is the same proves nothing of the files: only the daemon compares them, and writes what it found.
pub fn annotations_are_the_daemons(scene: &Scene) -> Vec<String> {
    let Some(object) = object(scene).filter(|one| one.kind == "Node") else { return Vec::new() };
    let node = object.entity();
    let is_its = |leaf: &Leaf| {
        leaf.path.starts_with(MACHINE_CONFIG)
            || MACHINE_CONFIG.strip_prefix(&leaf.path).is_some_and(|rest| rest.starts_with('/'))
    };
    let mut why = Vec::new();
    for leaf in scene.leaves().into_iter().filter(is_its) {
        let wanted = leaf.becomes.as_ref().and_then(Value::as_str).unwrap_or_default();
        why.push(match scene.text(&node, "diskConfig") {
            Some(disk) if disk != wanted && leaf.path.ends_with("Config") => format!(
                "the disk of {node} has {disk}, not {wanted}: the daemon would find the difference and stop"
            ),
            _ => format!(
                "what {node} says of its config is its daemon's to write: nothing else proves that \
                 the files on its disk are those of the config"
            ),
        });
    }
    why
}

pub fn metal3_after_its_dependencies(scene: &Scene) -> Vec<String> {
    let Some(object) = object(scene) else { return Vec::new() };
    let is_metal3 = object.namespace.as_deref() == Some("openshift-machine-api")
        && object.name.starts_with("metal3")
        && ["Pod", "Deployment"].contains(&object.kind.as_str());
    if !is_metal3 {
        return Vec::new();
    }
    let is_bad = |name: &&str| {
        let operator = EntityId::cluster_scoped("ClusterOperator", name);
        scene.text(&operator, "available.status") != Some("True")
            || scene.text(&operator, "degraded.status") == Some("True")
    };
    let names = ["etcd", "kube-apiserver", "kube-controller-manager"];
    let bad: Vec<&str> = names.into_iter().filter(is_bad).collect();
    match bad.is_empty() {
        true => Vec::new(),
        false => vec![format!(
            "{} would not come back: {} is not healthy",
            object.entity(),
            bad.join(", ")
        )],
    }
}
