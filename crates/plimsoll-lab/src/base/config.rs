//! config.openshift.io, the operator's Network and the ingress controller.

use serde_json::{Value, json};

use super::writer::Writer;
use super::{BaseParams, Phase, Platform, uid};

const CAPABILITIES: [&str; 17] = [
    "Build",
    "CSISnapshot",
    "CloudControllerManager",
    "CloudCredential",
    "Console",
    "DeploymentConfig",
    "ImageRegistry",
    "Ingress",
    "Insights",
    "MachineAPI",
    "NodeTuning",
    "OperatorLifecycleManager",
    "OperatorLifecycleManagerV1",
    "Storage",
    "baremetal",
    "marketplace",
    "openshift-samples",
];

pub(super) fn write(writer: &mut Writer) {
    let params = writer.params;
    writer.put(cluster_version(params));
    writer.put(infrastructure(params));
    writer.put(network(params));
    writer.put(operator_network(params));
    writer.put(feature_gate(params));
    let fqdn = params.fqdn();
    let schedulable = params.workers.is_empty();
    for (kind, spec, status) in [
        ("DNS", json!({"baseDomain": fqdn, "platform": {"type": ""}}), json!({})),
        ("Proxy", json!({"trustedCA": {"name": ""}}), json!({})),
        (
            "Scheduler",
            json!({"mastersSchedulable": schedulable, "policy": {"name": ""}}),
            json!({}),
        ),
        (
            "APIServer",
            json!({"audit": {"profile": "Default"}, "clientCA": {"name": ""}, "encryption": {}, "servingCerts": {}}),
            Value::Null,
        ),
        ("OAuth", json!({}), Value::Null),
        (
            "Console",
            json!({"authentication": {"logoutRedirect": ""}}),
            json!({"consoleURL": format!("https://console-openshift-console.apps.{fqdn}")}),
        ),
        (
            "Authentication",
            json!({"oauthMetadata": {"name": ""}, "serviceAccountIssuer": "", "type": "", "webhookTokenAuthenticator": {"kubeConfig": {"name": "webhook-authentication-integrated-oauth"}}}),
            json!({"integratedOAuthMetadata": {"name": "oauth-openshift"}, "oidcClients": []}),
        ),
        (
            "Ingress",
            json!({"domain": format!("apps.{fqdn}"), "loadBalancer": {"platform": {"type": ""}}}),
            json!({"componentRoutes": [], "defaultPlacement": if params.single_node() || schedulable { "ControlPlane" } else { "Workers" }}),
        ),
    ] {
        writer.put(singleton(kind, spec, status));
    }
    writer.put(ingress_controller(params));
}

fn singleton(kind: &str, spec: Value, status: Value) -> Value {
    let mut object = json!({
        "apiVersion": "config.openshift.io/v1", "kind": kind,
        "metadata": {"name": "cluster", "generation": 1}, "spec": spec
    });
    if !status.is_null() {
        object["status"] = status;
    }
    object
}

fn cluster_version(params: &BaseParams) -> Value {
    let start = params.stamp(45);
    let version = &params.version;
    let image = params.release_image();
    let installed = params.phase == Phase::Installed;
    let done = if installed { params.stamp(2_460) } else { start.clone() };
    let is = |good: bool| if good { "True" } else { "False" };
    let (available, progress) = match installed {
        true => (format!("Done applying {version}"), format!("Cluster version is {version}")),
        false => {
            (String::new(), format!("Working towards {version}: 561 of 930 done (60% complete)"))
        }
    };
    let completion = if installed { Value::from(done.clone()) } else { Value::Null };
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
        "metadata": {"name": "version", "generation": 2},
        "spec": {"clusterID": uid("Cluster", "", &params.fqdn())},
        "status": {
            "availableUpdates": null,
            "capabilities": {"enabledCapabilities": CAPABILITIES, "knownCapabilities": CAPABILITIES},
            "conditions": [
                {"type": "RetrievedUpdates", "status": "False", "lastTransitionTime": start, "reason": "NoChannel", "message": "The update channel has not been configured."},
                {"type": "ImplicitlyEnabledCapabilities", "status": "False", "lastTransitionTime": start, "reason": "AsExpected", "message": "Capabilities match configured spec"},
                {"type": "ReleaseAccepted", "status": "True", "lastTransitionTime": start, "reason": "PayloadLoaded",
                 "message": format!("Payload loaded version=\"{version}\" image=\"{image}\" architecture=\"amd64\"")},
                {"type": "Available", "status": is(installed), "lastTransitionTime": done, "message": available},
                {"type": "Failing", "status": "False", "lastTransitionTime": done},
                {"type": "Progressing", "status": is(!installed), "lastTransitionTime": done, "message": progress}
            ],
            "desired": {"image": image, "version": version},
            "history": [{"completionTime": completion, "image": image, "startedTime": start, "state": if installed { "Completed" } else { "Partial" }, "verified": false, "version": version}],
            "observedGeneration": 2, "versionHash": "YViSz5GpqGA="
        }
    })
}

fn infrastructure(params: &BaseParams) -> Value {
    let fqdn = params.fqdn();
    let topology = params.topology();
    let compact = params.wanted().1 < 2;
    let (platform, spec, status) = match params.platform {
        Platform::BareMetal => {
            let vips = json!({
                "apiServerInternalIPs": params.api_vips(), "ingressIPs": params.ingress_vips(),
                "machineNetworks": params.machine_networks()
            });
            let mut status = vips.clone();
            status["apiServerInternalIP"] = params.api_vip.clone().into();
            status["ingressIP"] = params.ingress_vip.clone().into();
            status["loadBalancer"] = json!({"type": "OpenShiftManagedDefault"});
            (
                "BareMetal",
                json!({"baremetal": vips, "type": "BareMetal"}),
                json!({"baremetal": status, "type": "BareMetal"}),
            )
        }
        Platform::None => ("None", json!({"type": "None"}), json!({"type": "None"})),
        Platform::External => (
            "External",
            json!({"external": {"platformName": "lab"}, "type": "External"}),
            json!({"external": {"cloudControllerManager": {"state": ""}}, "type": "External"}),
        ),
    };
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "Infrastructure",
        "metadata": {"name": "cluster", "generation": 1},
        "spec": {"cloudConfig": {"name": ""}, "platformSpec": spec},
        "status": {
            "apiServerInternalURI": format!("https://api-int.{fqdn}:6443"),
            "apiServerURL": format!("https://api.{fqdn}:6443"),
            "controlPlaneTopology": topology, "cpuPartitioning": "None", "etcdDiscoveryDomain": "",
            "infrastructureName": infrastructure_name(params),
            "infrastructureTopology": if compact && params.wanted().1 > 0 { "SingleReplica" } else { topology },
            "platform": platform, "platformStatus": status
        }
    })
}

pub(super) fn infrastructure_name(params: &BaseParams) -> String {
    format!("{}-{}", params.cluster, super::suffix(&params.fqdn(), 5))
}

fn pod_networks(params: &BaseParams) -> Vec<Value> {
    let networks = params.cluster_networks().into_iter();
    networks.map(|(cidr, prefix)| json!({"cidr": cidr, "hostPrefix": prefix})).collect()
}

fn network(params: &BaseParams) -> Value {
    let networks = pod_networks(params);
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "Network",
        "metadata": {"name": "cluster", "generation": 3},
        "spec": {
            "clusterNetwork": networks, "externalIP": {"policy": {}}, "networkType": "OVNKubernetes",
            "networkDiagnostics": {"mode": "", "sourcePlacement": {}, "targetPlacement": {}},
            "serviceNetwork": params.service_networks()
        },
        "status": {
            "clusterNetwork": networks, "clusterNetworkMTU": 1400, "networkType": "OVNKubernetes",
            "serviceNetwork": params.service_networks(),
            "conditions": [{"type": "NetworkDiagnosticsAvailable", "status": "True", "reason": "AsExpected",
                            "message": "", "observedGeneration": 0, "lastTransitionTime": params.stamp(700)}]
        }
    })
}

fn operator_network(params: &BaseParams) -> Value {
    let condition = |name: &str, status: &str, seconds: i64| json!({"type": name, "status": status, "reason": "", "message": "", "lastTransitionTime": params.stamp(seconds)});
    json!({
        "apiVersion": "operator.openshift.io/v1", "kind": "Network",
        "metadata": {"name": "cluster", "generation": 41, "creationTimestamp": params.stamp(200)},
        "spec": {
            "clusterNetwork": pod_networks(params),
            "defaultNetwork": {"ovnKubernetesConfig": {"egressIPConfig": {}, "gatewayConfig": {"ipv4": {}, "ipv6": {}, "routingViaHost": false},
                "genevePort": 6081, "ipsecConfig": {"mode": "Disabled"}, "mtu": 1400}, "type": "OVNKubernetes"},
            "deployKubeProxy": false, "disableMultiNetwork": false, "disableNetworkDiagnostics": false,
            "logLevel": "Normal", "managementState": "Managed", "observedConfig": null, "operatorLogLevel": "Normal",
            "serviceNetwork": params.service_networks(), "unsupportedConfigOverrides": null, "useMultiNetworkPolicy": false
        },
        "status": {
            "conditions": [
                condition("ManagementStateDegraded", "False", 200), condition("Degraded", "False", 380),
                condition("Upgradeable", "True", 200), condition("Progressing", "False", 640),
                condition("Available", "True", 420)
            ],
            "readyReplicas": 0, "version": params.version
        }
    })
}

fn feature_gate(params: &BaseParams) -> Value {
    let named =
        |names: &[&str]| -> Vec<Value> { names.iter().map(|name| json!({"name": name})).collect() };
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "FeatureGate",
        "metadata": {"name": "cluster", "generation": 1}, "spec": {},
        "status": {"featureGates": [{
            "version": params.version,
            "disabled": named(&["AutomatedEtcdBackup", "DNSNameResolver", "EventedPLEG", "Example", "GatewayAPI", "MachineConfigNodes", "NodeSwap", "VolumeGroupSnapshot"]),
            "enabled": named(&["AdminNetworkPolicy", "BareMetalLoadBalancer", "BuildCSIVolumes", "ChunkSizeMiB", "HardwareSpeed", "KMSv1", "MultiArchInstallAWS", "NetworkDiagnosticsConfig", "NetworkSegmentation", "PrivateHostedZoneAWS", "ValidatingAdmissionPolicy"])
        }]}
    })
}

fn ingress_controller(params: &BaseParams) -> Value {
    let replicas = if params.single_node() { 1 } else { 2 };
    let available = params.phase == Phase::Installed || params.workers.is_empty();
    let is = |good: bool| if good { "True" } else { "False" };
    json!({
        "apiVersion": "operator.openshift.io/v1", "kind": "IngressController",
        "metadata": {"name": "default", "namespace": "openshift-ingress-operator", "generation": 2, "creationTimestamp": params.stamp(600)},
        "spec": {"httpCompression": {}, "replicas": replicas, "tuningOptions": {"reloadInterval": "0s"}},
        "status": {
            "availableReplicas": if available { replicas } else { 0 }, "domain": format!("apps.{}", params.fqdn()),
            "endpointPublishingStrategy": {"hostNetwork": {"httpPort": 80, "httpsPort": 443, "protocol": "TCP", "statsPort": 1936}, "type": "HostNetwork"},
            "observedGeneration": 2, "selector": "ingresscontroller.operator.openshift.io/deployment-ingresscontroller=default",
            "conditions": [
                {"type": "Admitted", "status": "True", "reason": "Valid", "lastTransitionTime": params.stamp(605)},
                {"type": "DeploymentAvailable", "status": is(available), "reason": "DeploymentAvailable", "message": "The deployment has Available status condition set to True", "lastTransitionTime": params.stamp(1_680)},
                {"type": "Available", "status": is(available), "lastTransitionTime": params.stamp(1_680)},
                {"type": "Progressing", "status": is(!available), "lastTransitionTime": params.stamp(1_700)},
                {"type": "Degraded", "status": "False", "lastTransitionTime": params.stamp(1_700)}
            ]
        }
    })
}
