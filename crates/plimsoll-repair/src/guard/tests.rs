//! One step at a time, on a cluster of which nothing is known.

use serde_json::json;

use super::*;

fn plan(action: &Json, target: &Json) -> Plan {
    let step = json!({
        "number": 1, "title": "", "blast": 2, "action": action, "target": target,
        "undo": {"by": "restore"}, "rehearsal": {"by": "server"},
    });
    serde_json::from_value(json!({
        "schema": "plimsoll.plan/v1", "digest": "", "made_for": null, "cluster": {},
        "root": {"id": "broken", "entity": "Cluster/cluster"}, "confidence": "confirmed",
        "repair": "r", "title": "", "roots": [], "blast": 2, "steps": [step], "verify": [],
        "reason": {"summary": "", "explains": [], "evidence": []},
    }))
    .unwrap()
}

fn object(name: &str) -> Json {
    let entity: EntityId = name.parse().unwrap();
    let mut target = json!(crate::resource(&entity).unwrap());
    target["in"] = "api".into();
    target
}

/// Names of the guards that speak against it, where the object is seen as given.
fn refused(action: &Json, target: &Json, seen: Option<&Json>) -> Vec<&'static str> {
    let plan = plan(action, target);
    let scene = Scene {
        plan: &plan,
        step: &plan.steps[0],
        base: &FactBase::default(),
        diagnosis: None,
        object: seen,
        break_glass: false,
    };
    refusals(&scene).into_iter().map(|refusal| refusal.guard).collect()
}

fn literal(value: Json) -> Json {
    json!({"from": "plan", "value": value})
}

fn made(maker: &str, inputs: Json) -> Json {
    json!({"from": "maker", "maker": maker, "inputs": inputs})
}

#[test]
fn what_a_secret_holds_is_made() {
    let secret = object("Secret/openshift-machine-api/worker-0-bmc-secret");
    let password = || literal(json!({"stringData": {"password": "x"}}));
    for verb in ["create", "fill"] {
        let of = |content: Json| refused(&json!({"do": verb, "content": content}), &secret, None);
        assert_eq!(of(password()), ["secret"], "{verb}");
        assert_eq!(of(literal(json!({"type": "Opaque"}))), ["secret"], "{verb}");
        assert_eq!(of(made("mcs-tls-secret", json!({}))), Vec::<&str>::new(), "{verb}");
    }
    let config = object("ConfigMap/default/settings");
    let create = json!({"do": "create", "content": password()});
    assert_eq!(refused(&create, &config, None), Vec::<&str>::new());
}

#[test]
fn a_patch_leaves_the_data_of_a_secret_alone() {
    let secret = object("Secret/openshift-machine-api/worker-0-bmc-secret");
    let patch = |operation: Json| json!({"do": "patch", "operations": [operation]});
    for operation in [
        json!({"op": "replace", "path": "/data/password", "value": "eA=="}),
        json!({"op": "add", "path": "/stringData", "value": {"password": "x"}}),
        json!({"op": "add", "path": "/stringData/password", "value": "x"}),
        json!({"op": "replace", "path": "", "value": {}}),
        json!({"op": "copy", "from": "/data/password", "path": "/metadata/labels/shown"}),
    ] {
        let found = refused(&patch(operation.clone()), &secret, None);
        assert!(found.contains(&"secret"), "{operation}");
    }
    let mark = json!({"op": "add", "path": "/metadata/labels/mark", "value": "yes"});
    assert_eq!(refused(&patch(mark), &secret, None), Vec::<&str>::new());
    // Which Secret a host names is no credential.
    let host = object("BareMetalHost/openshift-machine-api/worker-0");
    let name = json!({"op": "replace", "path": "/spec/bmc/credentialsName", "value": "other"});
    assert_eq!(refused(&patch(name), &host, None), Vec::<&str>::new());
}

#[test]
fn a_file_that_lets_somebody_in_is_made() {
    let node = json!({"in": "node", "name": "worker-0"});
    let write = |path: &str, content: Json| {
        let action = json!({"do": "write-file", "path": path, "mode": 384, "content": content});
        let found = refused(&action, &node, None);
        found.into_iter().filter(|guard| ["file", "identity"].contains(guard)).collect::<Vec<_>>()
    };
    let text = || literal(json!("kind: Config"));
    let bootstrap = "/etc/kubernetes/kubeconfig";
    assert_eq!(write(bootstrap, text()), ["file"]);
    assert_eq!(write(bootstrap, made("bootstrap-kubeconfig", json!({}))), Vec::<&str>::new());
    assert_eq!(write("/var/lib/kubelet/kubeconfig", text()), ["identity"]);
    for path in ["/var/lib/kubelet/pki/kubelet-client-current.pem", "/etc/kubernetes/x.kubeconfig"]
    {
        assert_eq!(write(path, text()), ["file"], "{path}");
    }
}

#[test]
fn only_what_comes_back_is_deleted() {
    let delete = |name: &str| {
        let found = refused(&json!({"do": "delete"}), &object(name), None);
        found.contains(&"delete")
    };
    for name in [
        "Machine/openshift-machine-api/worker-0",
        "MachineSet/openshift-machine-api/worker",
        "Node/worker-0",
        "BareMetalHost/openshift-machine-api/worker-0",
        "MachineConfig/99-worker-ssh",
        "MachineConfig/rendered-worker-1",
        "Etcd/cluster",
        "Infrastructure/cluster",
        "ConfigMap/kube-system/root-ca",
    ] {
        assert!(delete(name), "{name}");
    }
    for name in ["Pod/default/web", "CertificateSigningRequest/csr-1", "Secret/default/token"] {
        assert!(!delete(name), "{name}");
    }
}

/// Every node reboots for it, and whoever reads of the repair is told who watches.
#[test]
fn the_root_authority_is_not_changed_without_a_quorum() {
    let fill = json!({"do": "fill", "content": made("mcs-root-ca-configmap", json!({}))});
    let root = object("ConfigMap/kube-system/root-ca");
    assert_eq!(refused(&fill, &root, None), ["quorum"]);
    let plan = plan(&fill, &root);
    let step = &plan.steps[0];
    assert!(watching(&step.action, &step.target, step.blast).any(|guard| guard == "quorum"));
}

/// With an unknown number of members, nothing that reboots masters is let through.
#[test]
fn a_config_is_of_the_pool_that_its_label_names() {
    let label = |role: &str| {
        let labels = json!({"machineconfiguration.openshift.io/role": role});
        json!({"metadata": {"labels": labels}})
    };
    let create = |name: &str, content: Json| {
        let action = json!({"do": "create", "content": content});
        refused(&action, &object(&format!("MachineConfig/{name}")), None)
    };
    let nothing = Vec::<&str>::new();
    assert_eq!(create("99-worker-in-name-only", literal(label("master"))), ["quorum"]);
    assert_eq!(create("99-ssh", literal(label("worker"))), nothing);
    assert_eq!(create("99-worker-ssh", literal(json!({}))), ["quorum"]);
    assert_eq!(create("rendered-worker-1", literal(json!({}))), nothing);
    assert_eq!(create("rendered-worker-1", literal(label("master"))), ["quorum"]);
    let chrony = |role: &str| made("chrony-machine-config", json!({"role": role}));
    assert_eq!(create("99-worker-chrony", chrony("worker")), nothing);
    assert_eq!(create("99-worker-chrony", chrony("master")), ["quorum"]);
    let other = made("mcs-ca-configmap", json!({"role": "worker"}));
    assert_eq!(create("99-worker-chrony", other), ["quorum"]);

    let config = object("MachineConfig/99-worker-ssh");
    let patch = |path: &str, seen: Option<&Json>| {
        let operation = json!({"op": "add", "path": path, "value": "x"});
        refused(&json!({"do": "patch", "operations": [operation]}), &config, seen)
    };
    let (worker, master) = (label("worker"), label("master"));
    assert_eq!(patch("/spec/osImageURL", None), ["quorum"]);
    assert_eq!(patch("/spec/osImageURL", Some(&worker)), nothing);
    assert_eq!(patch("/spec/osImageURL", Some(&master)), ["quorum"]);
    assert_eq!(patch("/metadata/labels", Some(&worker)), ["quorum"]);
    let delete = |seen: &Json| refused(&json!({"do": "delete"}), &config, Some(seen));
    assert_eq!(delete(&worker), ["delete"]);
    assert_eq!(delete(&master), ["delete", "quorum"]);
}
