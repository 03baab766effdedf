//! What the facts read, so that sources keep that and nothing else.

use plimsoll_model::Needs;
use plimsoll_model::snapshot::ResourceNeed;

use crate::pack::Pack;

pub fn needs(pack: &Pack) -> Needs {
    Needs {
        now: None,
        resources: resources(),
        signatures: pack.signatures.iter().map(|rule| rule.spec.clone()).collect(),
        files: ["member_list", "endpoint_health", "endpoint_status", "alarm_list"]
            .iter()
            // As a gather has them, and as each master tells them itself.
            .flat_map(|name| ["", "nodes/*/"].map(|of| format!("{of}etcd_info/{name}.json")))
            .chain(super::node_root::FILES.iter().map(|path| (*path).into()))
            .chain([super::bmc::FILES.into(), super::probes::FILES.into()])
            .collect(),
    }
}

fn resources() -> Vec<ResourceNeed> {
    let need = |group: &str, plural: &str| ResourceNeed {
        group: group.into(),
        plural: plural.into(),
        namespaces: Vec::new(),
        names: Vec::new(),
        drop: Vec::new(),
    };
    let dropping = |group: &str, plural: &str, drop: &[&str]| ResourceNeed {
        drop: drop.iter().map(|path| (*path).into()).collect(),
        ..need(group, plural)
    };
    let within = |group: &str, plural: &str, namespaces: &[&str]| ResourceNeed {
        namespaces: namespaces.iter().map(|name| (*name).into()).collect(),
        ..need(group, plural)
    };
    let mut all = vec![
        dropping(
            "config.openshift.io",
            "clusterversions",
            &["status.availableUpdates", "status.conditionalUpdates"],
        ),
        need("config.openshift.io", "infrastructures"),
        dropping(
            "config.openshift.io",
            "clusteroperators",
            &["status.relatedObjects", "metadata.ownerReferences"],
        ),
        dropping("core", "nodes", &["status.images", "status.volumesAttached"]),
        dropping(
            "core",
            "pods",
            &[
                "spec.containers",
                "spec.initContainers",
                "spec.volumes",
                "spec.tolerations",
                "spec.affinity",
            ],
        ),
        dropping("core", "events", &["source"]),
        need("certificates.k8s.io", "certificatesigningrequests"),
        need("machineconfiguration.openshift.io", "machineconfigpools"),
        dropping("machineconfiguration.openshift.io", "machineconfigs", &["spec", "status"]),
        need("config.openshift.io", "networks"),
        dropping("metal3.io", "baremetalhosts", &["status.hardware.cpu.flags"]),
        dropping("metal3.io", "hardwaredata", &["spec.hardware.cpu.flags"]),
        need("metal3.io", "hostfirmwarecomponents"),
        need("metal3.io", "hostfirmwaresettings"),
        need("metal3.io", "preprovisioningimages"),
        need("metal3.io", "provisionings"),
        dropping("machine.openshift.io", "machines", &["spec.providerSpec"]),
        dropping(
            "machine.openshift.io",
            "machinesets",
            // Only the name of the user-data is read of it: what bare metal and vSphere have beside that tells where a
            // site has its machines and images.
            &[
                "spec.selector",
                "spec.template.metadata",
                "spec.template.spec.lifecycleHooks",
                "spec.template.spec.metadata",
                "spec.template.spec.taints",
                "spec.template.spec.providerSpec.value.credentialsSecret",
                "spec.template.spec.providerSpec.value.customDeploy",
                "spec.template.spec.providerSpec.value.dataDisks",
                "spec.template.spec.providerSpec.value.hostSelector",
                "spec.template.spec.providerSpec.value.image",
                "spec.template.spec.providerSpec.value.metadata",
                "spec.template.spec.providerSpec.value.network",
                "spec.template.spec.providerSpec.value.snapshot",
                "spec.template.spec.providerSpec.value.tagIDs",
                "spec.template.spec.providerSpec.value.template",
                "spec.template.spec.providerSpec.value.workspace",
            ],
        ),
        need("machine.openshift.io", "machinehealthchecks"),
        dropping("apps", "deployments", &["spec.template"]),
        dropping("apps", "daemonsets", &["spec.template"]),
        need("core", "persistentvolumeclaims"),
        within("core", "configmaps", &["kube-system", "openshift-etcd"]),
        within(
            "core",
            "secrets",
            &[
                "openshift-config-managed",
                "openshift-etcd",
                "openshift-kube-apiserver",
                "openshift-kube-apiserver-operator",
                "openshift-kube-controller-manager",
                "openshift-kube-controller-manager-operator",
                "openshift-kube-scheduler",
                "openshift-machine-api",
                "openshift-machine-config-operator",
            ],
        ),
        dropping("core", "endpoints", &["metadata.managedFields"]),
        dropping(
            "apiregistration.k8s.io",
            "apiservices",
            &["metadata.managedFields", "spec.caBundle"],
        ),
    ];
    for plural in ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"] {
        all.push(dropping("admissionregistration.k8s.io", plural, &["metadata.managedFields"]));
    }
    for plural in [
        "etcds",
        "kubeapiservers",
        "kubecontrollermanagers",
        "kubeschedulers",
        "authentications",
        "networks",
        "openshiftapiservers",
        "openshiftcontrollermanagers",
    ] {
        all.push(dropping(
            "operator.openshift.io",
            plural,
            &["spec.observedConfig", "status.generations"],
        ));
    }
    all
}
