//! The same step for who does it by hand, as lines that a shell takes as they are.

use plimsoll_model::plan::{Action, Content, Object, Power, Target};
use plimsoll_model::{EntityId, FactBase, Value as Fact};
use serde_json::Value;

const ANNOTATIONS: &str = "/metadata/annotations/";
const JSON: &str = "-H 'Content-Type: application/json'";
/// Where files of a node are put that are moved aside.
const ASIDE: &str = "/var/lib/plimsoll/aside";

pub fn commands(base: &FactBase, root: &EntityId, action: &Action, target: &Target) -> Vec<String> {
    match (action, target) {
        (Action::Patch { subresource, operations }, Target::Api(object)) => {
            vec![patch(object, subresource.as_deref(), operations)]
        }
        (Action::Delete, Target::Api(object)) => vec![format!("oc delete {}", named(object))],
        (Action::Create { content: Content::Plan { value } }, Target::Api(_)) => {
            vec![format!("printf '%s' {} | oc create -f -", quoted(&value.to_string()))]
        }
        (Action::Approve { node, .. }, _) => approve(root, node),
        (Action::Unit { unit, verb }, Target::Node { name }) => {
            vec![on(name, &format!("sudo systemctl {} {unit}", verb.word()))]
        }
        (Action::Retire { paths }, Target::Node { name }) => {
            let paths = paths.join(" ");
            // Only root sees what a pattern stands for there.
            let script = quoted(&format!("mkdir -p {ASIDE} && mv -n {paths} {ASIDE}/"));
            vec![on(name, &format!("sudo sh -c {script}"))]
        }
        (Action::Power { to }, Target::Bmc { host, .. }) => power(base, host, *to),
        (Action::EjectMedia, Target::Bmc { host, .. }) => eject(base, host),
        _ => Vec::new(),
    }
}

/// One word for a shell, whatever is in it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// One command for the shell of a node: the shell here takes it as one word.
fn on(node: &str, command: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || " -_./@:".contains(c);
    match command.chars().all(plain) {
        true => format!("ssh core@{node} {command}"),
        false => {
            let mut word = String::new();
            for c in command.chars() {
                if "\\\"$`".contains(c) {
                    word.push('\\');
                }
                word.push(c);
            }
            format!("ssh core@{node} \"{word}\"")
        }
    }
}

/// With its group: `images` are those of the registry, and `machines` may be of another API.
fn named(object: &Object) -> String {
    let group = if object.group.is_empty() { "" } else { "." };
    let name = format!("{}{group}{}/{}", object.plural, object.group, object.name);
    match &object.namespace {
        Some(namespace) => format!("-n {namespace} {name}"),
        None => name,
    }
}

fn patch(object: &Object, subresource: Option<&str>, operations: &[Value]) -> String {
    // A JSON patch cannot add to annotations where the object has none.
    let annotations: Option<Vec<String>> = operations.iter().map(annotation).collect();
    if let (Some(all), None) = (annotations, subresource) {
        let all: Vec<String> = all.iter().map(|one| quoted(one)).collect();
        return format!("oc annotate --overwrite {} {}", named(object), all.join(" "));
    }
    let sub = subresource.map(|name| format!(" --subresource={name}")).unwrap_or_default();
    let patch = quoted(&Value::Array(operations.to_vec()).to_string());
    format!("oc patch {} --type=json{sub} -p {patch}", named(object))
}

/// `KEY=VALUE`, where that is all the operation does.
fn annotation(operation: &Value) -> Option<String> {
    if operation["op"] != "add" {
        return None;
    }
    let key = operation["path"].as_str()?.strip_prefix(ANNOTATIONS)?;
    let value = operation["value"].as_str()?;
    Some(format!("{}={value}", key.replace("~1", "/").replace("~0", "~")))
}

/// Never by `oc adm certificate approve` alone: who asks is judged first, by the same rule.
fn approve(root: &EntityId, node: &str) -> Vec<String> {
    // Only a node that is being repaired may ask again although it is there.
    let of_node = if root.kind == "Node" { format!(" --node {node}") } else { String::new() };
    vec![
        format!("plimsoll csr{of_node}   # which requests wait, and what the rule says of each"),
        format!("plimsoll csr{of_node} --approve   # those that the rule lets through, by name"),
    ]
}

/// The BMC as the cluster knows it, and the path of the system there.
fn bmc(base: &FactBase, host: &str) -> (String, String) {
    let host_of_cluster = EntityId::cluster_scoped("BareMetalHost", host);
    let text = |name: &str| {
        let found = crate::condition::fact(base, &host_of_cluster, name);
        found.and_then(Fact::text).filter(|text| !text.is_empty()).map(str::to_string)
    };
    let address = text("bmcHost").unwrap_or_else(|| "BMC_ADDRESS".into());
    let system = text("bmcPath").filter(|path| path.starts_with("/redfish/"));
    (address, system.unwrap_or_else(|| "/redfish/v1/Systems/SYSTEM_ID".into()))
}

fn power(base: &FactBase, host: &str, to: Power) -> Vec<String> {
    let (address, system) = bmc(base, host);
    let kind = if to == Power::On { "On" } else { "ForceOff" };
    let ask = format!("curl -sk -u BMC_USER https://{address}{system}");
    let body = format!("-d '{{\"ResetType\": \"{kind}\"}}'");
    let reset = format!("https://{address}{system}/Actions/ComputerSystem.Reset");
    vec![
        format!("{ask} | jq '.SerialNumber, .PowerState'   # it is the machine that is meant"),
        format!("curl -sk -u BMC_USER -X POST {JSON} {body} {reset}"),
    ]
}

fn eject(base: &FactBase, host: &str) -> Vec<String> {
    let (address, _) = bmc(base, host);
    let managers = format!("https://{address}/redfish/v1/Managers");
    let media = format!("{managers}/MANAGER_ID/VirtualMedia");
    vec![
        format!("curl -sk -u BMC_USER {managers} | jq '.Members'   # MANAGER_ID"),
        format!("curl -sk -u BMC_USER {media} | jq '.Members'   # DRIVE: the one with an image"),
        format!(
            "curl -sk -u BMC_USER -X POST {JSON} -d '{{}}' {media}/DRIVE/Actions/VirtualMedia.EjectMedia"
        ),
    ]
}

#[cfg(test)]
mod tests {
    use plimsoll_model::plan::UnitVerb;
    use serde_json::json;

    use super::*;

    fn host() -> Target {
        Target::Api(Object {
            group: "metal3.io".into(),
            version: "v1alpha1".into(),
            plural: "baremetalhosts".into(),
            kind: "BareMetalHost".into(),
            namespace: Some("openshift-machine-api".into()),
            name: "worker-1".into(),
            ..Object::default()
        })
    }

    fn told(action: Action, target: Target) -> Vec<String> {
        let root = EntityId::cluster_scoped("CertificateSigningRequest", "csr-1");
        commands(&FactBase::default(), &root, &action, &target)
    }

    fn patch_of(operations: Vec<Value>) -> Action {
        Action::Patch { subresource: None, operations }
    }

    #[test]
    fn an_annotation_needs_no_others() {
        let mark = json!({"op": "add", "path": "/metadata/annotations/a.io~1b", "value": "x'y"});
        assert_eq!(
            told(patch_of(vec![mark]), host()),
            [
                r"oc annotate --overwrite -n openshift-machine-api baremetalhosts.metal3.io/worker-1 'a.io/b=x'\''y'"
            ]
        );
        let other = json!({"op": "replace", "path": "/spec/online", "value": true});
        let lines = told(patch_of(vec![other]), host());
        assert!(lines.iter().all(|line| line.contains(" --type=json -p '[{")), "{lines:?}");
    }

    #[test]
    fn a_script_for_root_passes_two_shells() {
        let node = || Target::Node { name: "master-1".into() };
        let retire = Action::Retire { paths: vec!["/a".into(), "/b/c-*".into()] };
        assert_eq!(
            told(retire, node()),
            [
                "ssh core@master-1 \"sudo sh -c 'mkdir -p /var/lib/plimsoll/aside && mv -n /a /b/c-* /var/lib/plimsoll/aside/'\""
            ]
        );
        let stop = Action::Unit { unit: "kubelet".into(), verb: UnitVerb::Stop };
        assert_eq!(told(stop, node()), ["ssh core@master-1 sudo systemctl stop kubelet"]);
    }

    #[test]
    fn nobody_is_told_to_approve_what_was_not_judged() {
        let approve = Action::Approve {
            node: "worker-1".into(),
            signer: plimsoll_model::plan::Signer::Client,
        };
        let lines = told(approve, Target::Nothing);
        assert!(lines.iter().all(|line| line.starts_with("plimsoll csr")), "{lines:?}");
        assert!(!lines.iter().any(|line| line.contains("--node")), "it may be somebody else");
    }
}
