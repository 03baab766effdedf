use serde_json::{Value, json};

use super::machine_config::rendered;
use super::writer::Writer;
use super::{BaseParams, Platform, digest, uid};

pub(super) fn write(writer: &mut Writer) {
    let params = writer.params;
    for (number, node) in params.nodes().into_iter().enumerate() {
        writer.put(object(params, node, number));
    }
}

/// Seconds after the start of the installation at which a node registered.
pub(super) fn registered(params: &BaseParams, node: &str) -> i64 {
    let number = params.nodes().iter().position(|name| *name == node).unwrap_or(0) as i64;
    if params.is_master(node) { 240 + number * 11 } else { 1_500 + number * 9 }
}

fn object(params: &BaseParams, node: &str, number: usize) -> Value {
    let master = params.is_master(node);
    let born = registered(params, node);
    let mut addresses: Vec<Value> =
        params.ips(node).iter().map(|ip| json!({"address": ip, "type": "InternalIP"})).collect();
    addresses.push(json!({"address": node, "type": "Hostname"}));
    let beat = params.ago(130 + number as i64 * 17).to_string();
    let healthy = |name: &str, reason: &str, message: &str| {
        json!({"type": name, "status": "False", "reason": reason, "message": message,
               "lastHeartbeatTime": beat, "lastTransitionTime": params.stamp(born)})
    };
    let schedulable = !master || params.workers.is_empty();
    let mut spec = json!({});
    if !schedulable {
        spec["taints"] = json!([{"effect": "NoSchedule", "key": "node-role.kubernetes.io/master"}]);
    }
    if params.platform == Platform::BareMetal {
        let host = uid("BareMetalHost", "openshift-machine-api", node);
        spec["providerID"] = format!("baremetalhost:///openshift-machine-api/{node}/{host}").into();
    }
    let (cpu, memory) = if master { (16, 65_843_368) } else { (32, 131_912_004) };
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": node, "creationTimestamp": params.stamp(born), "resourceVersion": (params.etcd_revision() - 40 - number as i64 * 6).to_string(),
            "annotations": annotations(params, node, number), "labels": labels(node, master, schedulable)
        },
        "spec": spec,
        "status": {
            "addresses": addresses,
            "allocatable": {"cpu": format!("{}500m", cpu - 1), "ephemeral-storage": "429951412854", "hugepages-1Gi": "0", "hugepages-2Mi": "0", "memory": format!("{}Ki", memory - 1_150_976), "pods": "250"},
            "capacity": {"cpu": cpu.to_string(), "ephemeral-storage": "467722220Ki", "hugepages-1Gi": "0", "hugepages-2Mi": "0", "memory": format!("{memory}Ki"), "pods": "250"},
            "conditions": [
                healthy("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
                healthy("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
                healthy("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
                {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status",
                 "lastHeartbeatTime": beat, "lastTransitionTime": params.stamp(born + 84)}
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "images": [{"names": [params.image("pod")], "sizeBytes": 452_011_337}],
            "nodeInfo": {
                "architecture": "amd64", "bootID": uid("Boot", "", node), "containerRuntimeVersion": format!("cri-o://{}", params.runtime()),
                "kernelVersion": "5.14.0-427.68.1.el9_4.x86_64", "kubeProxyVersion": format!("v{}", params.kubernetes()), "kubeletVersion": format!("v{}", params.kubernetes()),
                "machineID": &digest(node)[..32], "operatingSystem": "linux",
                "osImage": format!("Red Hat Enterprise Linux CoreOS {}94.202505081634-0", params.minor().replace('.', "")), "systemUUID": uid("System", "", node)
            }
        }
    })
}

fn labels(node: &str, master: bool, schedulable: bool) -> Value {
    let mut labels = json!({
        "beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": node, "kubernetes.io/os": "linux", "node.openshift.io/os_id": "rhcos"
    });
    if master {
        labels["node-role.kubernetes.io/control-plane"] = "".into();
        labels["node-role.kubernetes.io/master"] = "".into();
    }
    if schedulable {
        labels["node-role.kubernetes.io/worker"] = "".into();
    }
    labels
}

fn annotations(params: &BaseParams, node: &str, number: usize) -> Value {
    let masked =
        |ip: &String| if ip.contains(':') { format!("{ip}/64") } else { format!("{ip}/24") };
    let networks: Vec<String> = params.ips(node).iter().map(masked).collect();
    let primary: serde_json::Map<String, Value> = params
        .families()
        .iter()
        .zip(&networks)
        .map(|(family, network)| (family.to_lowercase(), network.as_str().into()))
        .collect();
    let config = rendered(params, if params.is_master(node) { "master" } else { "worker" });
    let mco = "machineconfiguration.openshift.io";
    let mut all = json!({
        "k8s.ovn.org/host-cidrs": json!(networks).to_string(),
        "k8s.ovn.org/l3-gateway-config": format!("{{\"default\":{{\"mode\":\"shared\",\"bridge-id\":\"br-ex\",\"ip-addresses\":{},\"next-hops\":[\"{}\"],\"node-port-enable\":\"true\",\"vlan-id\":\"0\"}}}}", json!(networks), params.stranger(1)),
        "k8s.ovn.org/node-chassis-id": uid("Chassis", "", node),
        "k8s.ovn.org/node-id": (number + 2).to_string(),
        "k8s.ovn.org/node-primary-ifaddr": json!(primary).to_string(),
        "k8s.ovn.org/node-subnets": json!({"default": params.node_subnets(number)}).to_string(),
        "k8s.ovn.org/node-transit-switch-port-ifaddr": format!("{{\"ipv4\":\"100.88.0.{}/16\"}}", number + 2),
        "k8s.ovn.org/zone-name": node,
        "volumes.kubernetes.io/controller-managed-attach-detach": "true"
    });
    for (key, value) in [
        ("controlPlaneTopology", params.topology()),
        ("currentConfig", config.as_str()),
        ("desiredConfig", config.as_str()),
        ("desiredDrain", format!("uncordon-{config}").as_str()),
        ("lastAppliedDrain", format!("uncordon-{config}").as_str()),
        ("lastObservedServerCAAnnotation", "false"),
        ("lastSyncedControllerConfigResourceVersion", "24211"),
        ("reason", ""),
        ("state", "Done"),
    ] {
        all[format!("{mco}/{key}")] = value.into();
    }
    if params.platform == Platform::BareMetal {
        let machine = super::metal3::machine_name(params, node);
        all["machine.openshift.io/machine"] = format!("openshift-machine-api/{machine}").into();
    }
    all
}
