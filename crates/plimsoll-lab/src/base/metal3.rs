//! Hosts, machines and the provisioning configuration.

use serde_json::{Value, json};

use super::config::infrastructure_name;
use super::writer::Writer;
use super::{BaseParams, Phase, hash, uid};

const NAMESPACE: &str = "openshift-machine-api";

pub(super) fn machine_set(params: &BaseParams) -> String {
    format!("{}-worker-0", infrastructure_name(params))
}

pub(crate) fn machine_name(params: &BaseParams, node: &str) -> String {
    match params.masters.iter().position(|master| master == node) {
        Some(number) => format!("{}-master-{number}", infrastructure_name(params)),
        None if params.is_master(node) => {
            format!("{}-master-{}", infrastructure_name(params), params.masters.len())
        }
        None => format!("{}-{}", machine_set(params), super::suffix(node, 5)),
    }
}

pub(super) fn write(writer: &mut Writer) {
    let params = writer.params;
    for (number, host) in params.hosts().into_iter().enumerate() {
        writer.put(bare_metal_host(params, host, number));
        writer.put(machine(params, host));
        if hardware_known(params, host) {
            writer.put(json!({
                "apiVersion": "metal3.io/v1alpha1", "kind": "HardwareData",
                "metadata": {"name": host, "namespace": NAMESPACE, "creationTimestamp": params.stamp(1_020)},
                "spec": {"hardware": hardware(params, host, number)}
            }));
        }
        writer.put(firmware(params, host));
        if !params.is_master(host) {
            writer.put(preprovisioning_image(params, host));
        }
    }
    writer.put(machine_set_object(params));
    writer.put(provisioning(params));
}

fn meta(params: &BaseParams, name: &str, seconds: i64) -> Value {
    json!({"name": name, "namespace": NAMESPACE, "creationTimestamp": params.stamp(seconds)})
}

/// Masters of an installer-provisioned cluster are adopted, never inspected from inside it; what
/// the bootstrap host learned of them is kept in an annotation and copied.
fn hardware_known(params: &BaseParams, host: &str) -> bool {
    params.is_master(host) || !params.workers.is_empty()
}

fn bare_metal_host(params: &BaseParams, host: &str, number: usize) -> Value {
    let master = params.is_master(host);
    let waiting = !master && params.phase == Phase::Installing;
    let state = match (master, waiting) {
        (true, _) => "externally provisioned",
        (false, true) => "provisioning",
        (false, false) => "provisioned",
    };
    let role = if master { "master" } else { "worker" };
    let credentials = json!({"name": format!("{host}-bmc-secret"), "namespace": NAMESPACE});
    let image = json!({"url": ""});
    let mut spec = json!({
        "architecture": "x86_64", "automatedCleaningMode": "metadata",
        "bmc": {"address": format!("redfish-virtualmedia://192.168.110.{}/redfish/v1/Systems/1", 20 + number), "credentialsName": format!("{host}-bmc-secret"), "disableCertificateVerification": true},
        "bootMACAddress": mac(host, 0), "bootMode": "UEFI",
        "consumerRef": {"apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "name": machine_name(params, host), "namespace": NAMESPACE},
        "online": true, "rootDeviceHints": {"deviceName": "/dev/sda"},
        "userData": {"name": format!("{role}-user-data-managed"), "namespace": NAMESPACE}
    });
    if master {
        spec["externallyProvisioned"] = true.into();
        spec["hardwareProfile"] = "unknown".into();
    } else {
        spec["customDeploy"] = json!({"method": "install_coreos"});
    }
    let span = |from: i64, to: i64| json!({"start": params.stamp(from), "end": params.stamp(to)});
    let never = json!({"start": null, "end": null});
    let provision = match (master, waiting) {
        (true, _) => never.clone(),
        (false, true) => json!({"start": params.stamp(1_130), "end": null}),
        (false, false) => span(1_130, 1_420),
    };
    let provision = match params.absent(host) {
        Some(absent) => {
            let start = super::pods::later(absent.provisioned, -290).to_string();
            json!({"start": start, "end": absent.provisioned.to_string()})
        }
        None => provision,
    };
    json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {
            "name": host, "namespace": NAMESPACE, "creationTimestamp": params.stamp(58), "generation": 2,
            "finalizers": ["baremetalhost.metal3.io"], "labels": {"installer.openshift.io/role": if master { "control-plane" } else { "worker" }}
        },
        "spec": spec,
        "status": {
            "errorCount": 0, "errorMessage": "",
            "goodCredentials": {"credentials": credentials, "credentialsVersion": "1540"},
            "hardware": hardware(params, host, number), "hardwareProfile": "unknown",
            "lastUpdated": params.stamp(1_430),
            "operationHistory": {"deprovision": never, "inspect": if master { never.clone() } else { span(760, 1_010) }, "provision": provision, "register": span(690, 742)},
            "operationalStatus": "OK", "poweredOn": true,
            "provisioning": {"ID": uid("IronicNode", "", host), "bootMode": "UEFI", "image": image, "rootDeviceHints": {"deviceName": "/dev/sda"}, "state": state},
            "triedCredentials": {"credentials": credentials, "credentialsVersion": "1540"}
        }
    })
}

fn mac(host: &str, port: u64) -> String {
    let n = hash(host);
    format!(
        "0c:42:a1:{:02x}:{:02x}:{:02x}",
        n & 0xff,
        (n >> 8) & 0xff,
        ((n >> 16) & 0xfe) + port % 2
    )
}

fn hardware(params: &BaseParams, host: &str, number: usize) -> Value {
    let master = params.is_master(host);
    let (model, count, memory) = if master {
        ("Intel(R) Xeon(R) Gold 6326 CPU @ 2.90GHz", 16, 65_536)
    } else {
        ("Intel(R) Xeon(R) Gold 6338N CPU @ 2.20GHz", 32, 131_072)
    };
    let disk = |name: &str, kind: &str, bytes: u64| json!({"hctl": "0:0:0:0", "model": "SSDSC2KG480G8R", "name": name, "rotational": false, "serialNumber": format!("PHYG{:08}", hash(host) % 100_000_000), "sizeBytes": bytes, "type": kind, "vendor": "ATA"});
    json!({
        "cpu": {"arch": "x86_64", "clockMegahertz": 2_900, "count": count, "flags": ["aes", "avx2", "avx512f", "vmx"], "model": model},
        "firmware": {"bios": {"date": "03/14/2025", "vendor": "Dell Inc.", "version": "1.16.2"}},
        "hostname": host,
        "nics": [
            {"ip": params.ip(host), "mac": mac(host, 0), "model": "0x15b3 0x1015", "name": "eno1", "pxe": true, "speedGbps": 25},
            {"mac": mac(host, 1), "model": "0x15b3 0x1015", "name": "eno2", "speedGbps": 25}
        ],
        "ramMebibytes": memory,
        "storage": [disk("/dev/sda", "SSD", 480_103_981_056), disk("/dev/sdb", "SSD", 480_103_981_056)],
        "systemVendor": {"manufacturer": "Dell Inc.", "productName": "PowerEdge R650 (SKU=NotProvided;ModelName=PowerEdge R650)", "serialNumber": format!("7XK{:04}", 1_000 + number * 37)}
    })
}

fn firmware(params: &BaseParams, host: &str) -> Value {
    json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "HostFirmwareSettings", "metadata": meta(params, host, 745),
        "spec": {"settings": {}},
        "status": {
            "conditions": [
                {"type": "Valid", "status": "True", "reason": "Success", "message": "", "lastTransitionTime": params.stamp(746), "observedGeneration": 1},
                {"type": "ChangeDetected", "status": "False", "reason": "Success", "message": "", "lastTransitionTime": params.stamp(746), "observedGeneration": 1}
            ],
            "settings": {"BootMode": "Uefi", "LogicalProc": "Enabled", "ProcVirtualization": "Enabled", "SriovGlobalEnable": "Enabled", "SysProfile": "PerfOptimized"}
        }
    })
}

/// What a host boots to be inspected; masters were inspected from the bootstrap host.
fn preprovisioning_image(params: &BaseParams, host: &str) -> Value {
    let condition = |name: &str, status: &str, message: &str| json!({"type": name, "status": status, "reason": "ImageSuccess", "message": message, "lastTransitionTime": params.stamp(752), "observedGeneration": 1});
    json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "PreprovisioningImage", "metadata": meta(params, host, 748),
        "spec": {"acceptFormats": ["iso", "initrd"], "architecture": "x86_64"},
        "status": {
            "architecture": "x86_64", "format": "iso", "networkData": {},
            "imageUrl": format!("http://metal3-image-customization-service.{NAMESPACE}.svc.cluster.local/{}", uid("PreprovisioningImage", NAMESPACE, host)),
            "conditions": [condition("Ready", "True", "Generated image"), condition("Error", "False", "")]
        }
    })
}

fn machine(params: &BaseParams, host: &str) -> Value {
    let master = params.is_master(host);
    let waiting = !master && params.phase == Phase::Installing;
    let role = if master { "master" } else { "worker" };
    let name = machine_name(params, host);
    let mut object_meta = meta(params, &name, if master { 57 } else { 1_060 });
    if let Some(absent) = params.absent(host).filter(|absent| !absent.master) {
        let made = super::pods::later(absent.provisioned, -310).max(params.installed);
        object_meta["creationTimestamp"] = made.to_string().into();
    }
    object_meta["annotations"] = json!({"metal3.io/BareMetalHost": format!("{NAMESPACE}/{host}")});
    object_meta["finalizers"] = json!(["machine.machine.openshift.io"]);
    object_meta["labels"] = json!({
        "machine.openshift.io/cluster-api-cluster": infrastructure_name(params),
        "machine.openshift.io/cluster-api-machine-role": role, "machine.openshift.io/cluster-api-machine-type": role
    });
    if !master {
        let set = machine_set(params);
        object_meta["ownerReferences"] = json!([{"apiVersion": "machine.openshift.io/v1beta1", "blockOwnerDeletion": true, "controller": true, "kind": "MachineSet", "name": set, "uid": uid("MachineSet", NAMESPACE, &set)}]);
    }
    let hooks = if master {
        json!({"preDrain": [{"name": "EtcdQuorumOperator", "owner": "clusteroperator/etcd"}]})
    } else {
        json!({})
    };
    let condition = |name: &str| json!({"type": name, "status": "True", "lastTransitionTime": params.stamp(1_080)});
    let mut status = json!({
        "addresses": [{"address": params.ip(host), "type": "InternalIP"}, {"address": host, "type": "Hostname"}, {"address": host, "type": "InternalDNS"}],
        "conditions": [condition("Drainable"), condition("InstanceExists"), condition("Terminable")],
        "lastUpdated": params.stamp(1_650), "phase": if waiting { "Provisioning" } else { "Running" }
    });
    if let Some(absent) = params.absent(host) {
        status["phase"] = "Provisioned".into();
        status["lastUpdated"] = absent.provisioned.to_string().into();
    }
    if master {
        status["conditions"][0] = json!({"type": "Drainable", "status": "False", "reason": "HookPresent", "severity": "Warning", "lastTransitionTime": params.stamp(1_080), "message": "Drain operation currently blocked by: [{Name:EtcdQuorumOperator Owner:clusteroperator/etcd}]"});
    }
    if !waiting && params.absent(host).is_none() {
        status["nodeRef"] = json!({"kind": "Node", "name": host, "uid": uid("Node", "", host)});
    }
    let host_uid = uid("BareMetalHost", NAMESPACE, host);
    json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "metadata": object_meta,
        "spec": {
            "lifecycleHooks": hooks, "metadata": {}, "providerID": format!("baremetalhost:///{NAMESPACE}/{host}/{host_uid}"),
            "providerSpec": {"value": {"apiVersion": "baremetal.cluster.k8s.io/v1alpha1", "customDeploy": {"method": "install_coreos"}, "hostSelector": {}, "image": {"checksum": "", "url": ""}, "kind": "BareMetalMachineProviderSpec", "metadata": {"creationTimestamp": null}, "userData": {"name": format!("{role}-user-data-managed")}}}
        },
        "status": status
    })
}

fn machine_set_object(params: &BaseParams) -> Value {
    let name = machine_set(params);
    let wanted = params.wanted().1;
    let ready = params.nodes().len() - params.masters.len();
    json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "metadata": meta(params, &name, 57),
        "spec": {"replicas": wanted, "selector": {"matchLabels": {"machine.openshift.io/cluster-api-machineset": name}},
                 "template": {"metadata": {"labels": {"machine.openshift.io/cluster-api-machineset": name}}, "spec": {"providerSpec": {"value": {"kind": "BareMetalMachineProviderSpec", "userData": {"name": "worker-user-data-managed"}}}}}},
        "status": {"availableReplicas": ready, "fullyLabeledReplicas": wanted, "observedGeneration": 1, "readyReplicas": ready, "replicas": wanted}
    })
}

fn provisioning(params: &BaseParams) -> Value {
    let daemon = |name: &str| json!({"group": "apps", "name": name, "namespace": NAMESPACE, "resource": "deployments", "lastGeneration": 1, "hash": ""});
    json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "Provisioning",
        "metadata": {"name": "provisioning-configuration", "generation": 1, "creationTimestamp": params.stamp(56), "finalizers": ["provisioning.metal3.io"]},
        "spec": {"preProvisioningOSDownloadURLs": {}, "provisioningMacAddresses": params.masters.iter().map(|host| mac(host, 0)).collect::<Vec<_>>(), "provisioningNetwork": "Disabled", "provisioningOSDownloadURL": "", "watchAllNamespaces": false},
        "status": {"generations": [daemon("metal3"), daemon("metal3-baremetal-operator"), daemon("metal3-image-customization")], "observedGeneration": 1, "readyReplicas": 0}
    })
}
