//! Services that others depend on, and who answers behind them.

use serde_json::{Value, json};

use super::writer::Writer;
use super::{BaseParams, hash};

const SERVICES: [(&str, &str, &str, u16); 4] = [
    ("default", "kubernetes", "https", 6443),
    ("openshift-etcd", "etcd", "etcd", 2379),
    ("openshift-kube-apiserver", "apiserver", "https", 6443),
    ("openshift-machine-config-operator", "machine-config-server", "mcs", 22623),
];

pub(super) fn write(writer: &mut Writer) {
    let params = writer.params;
    for (namespace, name, port, number) in SERVICES {
        let ports = json!([{"name": port, "port": number, "protocol": "TCP"}]);
        writer.put(endpoints(params, namespace, name, &ports));
        let address = match name {
            "kubernetes" => params.service_ip(1),
            _ => params.service_ip(hash(name) % 256 * 256 + hash(namespace) % 250 + 2),
        };
        writer.put(json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": namespace, "creationTimestamp": params.stamp(20)},
            "spec": {"clusterIP": address, "clusterIPs": [address], "internalTrafficPolicy": "Cluster", "ipFamilies": &params.families()[..1], "ipFamilyPolicy": "SingleStack", "ports": ports, "sessionAffinity": "None", "type": "ClusterIP"},
            "status": {"loadBalancer": {}}
        }));
    }
}

fn endpoints(params: &BaseParams, namespace: &str, name: &str, ports: &Value) -> Value {
    let addresses: Vec<Value> = params
        .masters
        .iter()
        .map(|node| json!({"ip": params.ip(node), "nodeName": node}))
        .collect();
    json!({
        "apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": name, "namespace": namespace, "creationTimestamp": params.stamp(20)},
        "subsets": [{"addresses": addresses, "ports": ports}]
    })
}
