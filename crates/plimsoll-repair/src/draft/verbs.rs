//! What follows from a verb alone: its undo, the rights for both, and its dry run.

use std::collections::BTreeSet;

use plimsoll_model::plan::{
    Action, Content, Maker, Permission, Rehearsal, Signer, Step, Target, Undo, UnitVerb,
};
use serde_json::Value;

use crate::resource::resource;

/// Lines of a file that a plan shows, and characters of each; all of it is in the step itself.
const SHOWN_LINES: usize = 200;
const SHOWN_CHARACTERS: usize = 160;

/// What is known of a change before the object is.
pub fn shown(action: &Action, target: &Target) -> Vec<String> {
    let node = match target {
        Target::Node { name } => name.as_str(),
        _ => "",
    };
    match action {
        Action::Patch { operations, .. } => {
            operations.iter().map(|operation| format!("~ {operation}")).collect()
        }
        Action::WriteFile { path, mode, content: Content::Maker { maker, .. } } => {
            vec![format!("~ {node}:{path} (mode {mode:04o}), made by {maker}")]
        }
        Action::WriteFile { path, mode, content: Content::Plan { value } } => {
            let head = format!("~ {node}:{path} (mode {mode:04o})");
            [head].into_iter().chain(written(value)).collect()
        }
        Action::Retire { paths } => paths.iter().map(|path| format!("- {node}:{path}")).collect(),
        _ => Vec::new(),
    }
}

/// What is going to stand in a file.
fn written(content: &Value) -> Vec<String> {
    let text = match content {
        Value::String(text) => text.clone(),
        other => format!("{other:#}"),
    };
    if text.is_empty() {
        return vec!["+ (nothing: the file is empty)".into()];
    }
    let text = plimsoll_model::redact(&text);
    let mut lines: Vec<String> = text.lines().take(SHOWN_LINES).map(added).collect();
    let hidden = text.lines().count() - lines.len();
    if hidden > 0 {
        lines.push(format!("+ … and {hidden} lines more"));
    }
    lines
}

fn added(line: &str) -> String {
    let short: String = line.chars().take(SHOWN_CHARACTERS).collect();
    let more = if short.len() < line.len() { "…" } else { "" };
    format!("+ {short}{more}")
}

pub fn undo(action: &Action, target: &Target) -> Undo {
    let nothing = |because: &str| Undo::Nothing { because: because.into() };
    let impossible = |because: &str| Undo::Impossible { because: because.into() };
    match action {
        Action::Patch { operations, .. } => match lasting(operations, target) {
            Some(because) => impossible(because),
            // The reverse operations need the object as it is.
            None => Undo::Patch { operations: Vec::new() },
        },
        Action::Create { .. } => Undo::Delete,
        Action::Fill { .. } | Action::WriteFile { .. } | Action::Retire { .. } => Undo::Restore,
        Action::Delete => match target {
            Target::Api(object) if object.kind == "Pod" => {
                nothing("whoever made the pod makes it again")
            }
            // It says who asked, and that would be whoever brings it back.
            Target::Api(object) if object.kind == "CertificateSigningRequest" => {
                impossible("a request is its asker's: who needs it asks again")
            }
            _ => Undo::Restore,
        },
        Action::Approve { .. } => {
            impossible("a certificate that was issued stays valid until it ends")
        }
        Action::Unit { verb: UnitVerb::Restart, .. } => nothing("a restart leaves nothing behind"),
        Action::Unit { .. } | Action::Power { .. } => Undo::Reverse,
        Action::EjectMedia => impossible("what was in the drive is known to its owner only"),
        Action::Wait => nothing("it only waits"),
        Action::Hand { .. } => impossible("what was done by hand is taken back by hand"),
    }
}

/// Why a change cannot be taken back although its reverse could be written.
fn lasting(operations: &[Value], target: &Target) -> Option<&'static str> {
    let Target::Api(object) = target else { return None };
    let adds = |place: &str| {
        let is_there = |one: &Value| {
            let path = one["path"].as_str().unwrap_or_default();
            one["op"] == "add" && (path == place || path.starts_with(&format!("{place}/")))
        };
        operations.iter().any(is_there)
    };
    let networks = ["baremetal", "vsphere", "openstack"]
        .map(|platform| format!("/spec/platformSpec/{platform}/machineNetworks"));
    match object.kind.as_str() {
        "Infrastructure" if networks.iter().any(|place| adds(place)) => {
            Some("the network operator refuses it: removing machine networks is forbidden")
        }
        // They copy it into what they roll out: another one, the old one too, is a rollout more.
        "Etcd" | "KubeAPIServer" | "KubeControllerManager" | "KubeScheduler"
            if adds("/spec/forceRedeploymentReason") =>
        {
            Some("a rollout is not taken back: to put the old reason back starts another one")
        }
        "BareMetalHost" if adds("/metadata/annotations/reboot.metal3.io") => {
            Some("a boot is not taken back; the controller takes the annotation off itself")
        }
        _ => None,
    }
}

/// Of the step and of its undo, whatever the plan says of them: a plan is a file.
pub fn rights(step: &Step) -> BTreeSet<Permission> {
    let told = step.permissions.iter().cloned();
    told.chain(permissions(&step.action, &step.target)).collect()
}

/// Of the step and of its undo, and of what is read for it.
pub fn permissions(action: &Action, target: &Target) -> Vec<Permission> {
    let mut all = changing(action, target);
    for right in reading(action) {
        if !all.iter().any(|known| covers(known, &right)) {
            all.push(right);
        }
    }
    all
}

fn covers(known: &Permission, right: &Permission) -> bool {
    let all_names = Permission { name: right.name.clone(), ..known.clone() };
    known == right || (known.name.is_none() && all_names == *right)
}

/// What a maker makes it of.
fn reading(action: &Action) -> Vec<Permission> {
    let (Action::Create { content } | Action::Fill { content } | Action::WriteFile { content, .. }) =
        action
    else {
        return Vec::new();
    };
    let Content::Maker { maker, inputs } = content else { return Vec::new() };
    let known = Maker::named(maker).map(|maker| maker.reads).unwrap_or_default();
    let right = |place: &&str| {
        let filled = inputs.as_object().into_iter().flatten().fold(
            place.to_string(),
            |text, (key, value)| {
                text.replace(&format!("{{{key}}}"), value.as_str().unwrap_or_default())
            },
        );
        let object = resource(&filled.parse().ok()?)?;
        Some(Permission {
            verb: "get".into(),
            group: object.group,
            resource: object.plural,
            namespace: object.namespace,
            name: Some(object.name),
        })
    };
    known.iter().filter_map(right).collect()
}

fn changing(action: &Action, target: &Target) -> Vec<Permission> {
    let signing = |verb: &str, group: &str, resource: &str, name: Option<&str>| Permission {
        verb: verb.into(),
        group: group.into(),
        resource: resource.into(),
        namespace: None,
        name: name.map(str::to_string),
    };
    if let Action::Approve { signer, .. } = action {
        let group = "certificates.k8s.io";
        let name = match signer {
            Signer::Client => "kubernetes.io/kube-apiserver-client-kubelet",
            Signer::Serving => "kubernetes.io/kubelet-serving",
        };
        return vec![
            signing("list", "", "nodes", None),
            signing("list", group, "certificatesigningrequests", None),
            signing("update", group, "certificatesigningrequests/approval", None),
            signing("approve", group, "signers", Some(name)),
        ];
    }
    let Target::Api(object) = target else { return Vec::new() };
    // The copy of a Secret is a Secret beside it, whose name nobody knows yet, and it is read again.
    let is_copied = object.kind == "Secret"
        && matches!(action, Action::Patch { .. } | Action::Fill { .. } | Action::Delete);
    let verbs: &[&str] = match action {
        Action::Patch { .. } if is_copied => &["get", "patch", "create"],
        Action::Patch { .. } => &["get", "patch"],
        Action::Create { .. } => &["get", "create", "delete"],
        // What was there is kept beside it.
        Action::Fill { .. } => &["get", "update", "create"],
        Action::Delete => &["get", "delete", "create"],
        _ => &["get"],
    };
    let of_subresource = match action {
        Action::Patch { subresource: Some(name), .. } => Some(name),
        _ => None,
    };
    let one = |verb: &&str| {
        let resource = match of_subresource {
            Some(name) if *verb == "patch" => format!("{}/{name}", object.plural),
            _ => object.plural.clone(),
        };
        // Nor can rights to make something be tied to a name.
        let is_named = *verb != "create" && !(is_copied && *verb == "get");
        Permission {
            verb: (*verb).into(),
            group: object.group.clone(),
            resource,
            namespace: object.namespace.clone(),
            name: is_named.then(|| object.name.clone()),
        }
    };
    verbs.iter().map(one).collect()
}

pub fn rehearsal(action: &Action) -> Rehearsal {
    let impossible = |because: &str| Rehearsal::Impossible { because: because.into() };
    match action {
        Action::Create { content: Content::Maker { .. } }
        | Action::Fill { content: Content::Maker { .. } } => {
            impossible("it is made when it is written, and once")
        }
        Action::Patch { .. } | Action::Create { .. } | Action::Delete | Action::Fill { .. } => {
            Rehearsal::Server
        }
        Action::Approve { .. } => impossible("the request may not be there yet"),
        Action::WriteFile { .. } | Action::Retire { .. } | Action::Unit { .. } => {
            impossible("a node has no dry run")
        }
        Action::Power { .. } | Action::EjectMedia => impossible("a BMC has no dry run"),
        Action::Wait => impossible("it only waits"),
        Action::Hand { .. } => impossible("a person does it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::EntityId;

    fn shown_of(content: &str) -> Vec<String> {
        let content = Content::Plan { value: content.into() };
        let action = Action::WriteFile { path: "/a".into(), mode: 0o644, content };
        shown(&action, &Target::Node { name: "n".into() })
    }

    #[test]
    fn what_is_written_is_shown() {
        assert_eq!(shown_of("one\ntwo\n"), ["~ n:/a (mode 0644)", "+ one", "+ two"]);
        assert_eq!(shown_of(""), ["~ n:/a (mode 0644)", "+ (nothing: the file is empty)"]);
        assert_eq!(shown_of("password: hunter2")[1], "+ password: [redacted]");
        let wide = shown_of(&"x".repeat(1000));
        assert!(wide[1].ends_with('…') && wide[1].chars().count() < 200, "{}", wide[1]);
        let long = shown_of(&"x\n".repeat(1000));
        assert_eq!(long.len(), 202);
        assert_eq!(long[201], "+ … and 800 lines more");
    }

    /// Verbs with the name that each is tied to.
    fn rights(action: &Action, kind: &str) -> Vec<(String, Option<String>)> {
        let object = crate::resource(&EntityId::namespaced(kind, "n", "x")).into_iter();
        let rights = object.flat_map(|object| permissions(action, &Target::Api(object)));
        rights.map(|right| (right.verb, right.name)).collect()
    }

    #[test]
    fn what_a_maker_reads_is_a_right_of_the_step() {
        let inputs = serde_json::json!({"secret": "infra-user-data"});
        let content = Content::Maker { maker: "pointer-ignition".into(), inputs };
        let name = EntityId::namespaced("Secret", "openshift-machine-api", "infra-user-data");
        let target = Target::Api(resource(&name).unwrap());
        let all = permissions(&Action::Fill { content }, &target);
        let reads = all.iter().filter(|right| right.verb == "get");
        let reads: Vec<_> = reads.map(|right| right.name.as_deref().unwrap_or("any")).collect();
        assert_eq!(reads, ["any", "machine-config-server-ca", "root-ca"]);
        // Nobody is spared a review because the plan leaves rights out.
        let step: Step = serde_json::from_value(serde_json::json!({
            "number": 1, "title": "", "blast": 0, "action": {"do": "delete"},
            "target": target, "undo": {"by": "restore"}, "rehearsal": {"by": "server"},
        }))
        .unwrap();
        assert!(super::rights(&step).iter().any(|right| right.verb == "delete"));
        assert_eq!(step.reach(), 3);
    }

    #[test]
    fn a_dry_run_is_promised_only_where_there_is_one() {
        let content = Content::Maker { maker: "m".into(), inputs: Value::Null };
        for made in [Action::Create { content: content.clone() }, Action::Fill { content }] {
            assert!(matches!(rehearsal(&made), Rehearsal::Impossible { .. }));
        }
        let value = Value::Null;
        let told = Action::Create { content: Content::Plan { value } };
        assert_eq!(rehearsal(&told), Rehearsal::Server);
    }

    #[test]
    fn what_comes_back_as_something_else_is_not_called_an_undo() {
        let object = |kind: &str| {
            let entity = EntityId::cluster_scoped(kind, "cluster");
            Target::Api(crate::resource(&entity).unwrap_or_default())
        };
        let reason = serde_json::json!({"op": "add", "path": "/spec/forceRedeploymentReason",
            "value": "again"});
        let patch = Action::Patch { subresource: None, operations: vec![reason] };
        for kind in ["Etcd", "KubeAPIServer", "KubeControllerManager", "KubeScheduler"] {
            assert!(matches!(undo(&patch, &object(kind)), Undo::Impossible { .. }), "{kind}");
        }
        let request = object("CertificateSigningRequest");
        assert!(matches!(undo(&Action::Delete, &request), Undo::Impossible { .. }));
    }

    #[test]
    fn whoever_keeps_a_copy_of_a_secret_may_make_and_read_it() {
        let named = |verb: &str| (verb.to_string(), Some("x".to_string()));
        let any = |verb: &str| (verb.to_string(), None);
        let content = Content::Maker { maker: "m".into(), inputs: Value::Null };
        let fill = Action::Fill { content: content.clone() };
        assert_eq!(rights(&fill, "Secret"), [any("get"), named("update"), any("create")]);
        assert_eq!(rights(&fill, "ConfigMap"), [named("get"), named("update"), any("create")]);
        let patch = Action::Patch { subresource: None, operations: Vec::new() };
        assert_eq!(rights(&patch, "Secret"), [any("get"), named("patch"), any("create")]);
        assert_eq!(rights(&patch, "ConfigMap"), [named("get"), named("patch")]);
        // Of what is not there nothing is kept.
        let create = Action::Create { content };
        assert_eq!(rights(&create, "Secret"), [named("get"), any("create"), named("delete")]);
    }
}
