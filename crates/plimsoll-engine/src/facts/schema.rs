//! Every kind, fact and relation that a pack may name. A typo in a pack is a load error because of
//! this table; without it, a misspelt fact would silently be unknown.

/// (kind, facts with what they hold). Facts in `MAPS` have fields or free keys below them.
pub const KINDS: &[(&str, &[(&str, &str)])] = &[
    (
        "Cluster",
        &[
            ("available", "ClusterVersion condition"),
            ("progressing", "ClusterVersion condition"),
            ("failing", "ClusterVersion condition"),
            ("version", "last completed version, else the desired one"),
            ("desired", "version that is being worked towards"),
            ("minor", "18 for 4.18.x"),
            ("installed", "some version was completed once"),
            ("updating", "a later version is being rolled out"),
            ("changeStarted", "when the newest version was started"),
            ("installStarted", "when the first version was started"),
            ("id", "cluster id"),
            ("platform", "BareMetal, None, External, …"),
            ("topology", "HighlyAvailable, SingleReplica, …"),
            ("controlPlaneNodes", "control-plane nodes that joined"),
            ("operatorsCountTwo", "etcd or authentication reports two where three should be"),
            ("staticPodNodes", "nodes that the static-pod operators run on"),
            ("workers", "worker nodes that joined"),
            ("etcdMembers", "members in etcd's own list"),
            ("etcdAlarms", "alarms that etcd reports"),
            ("logs", "hits of signatures about the whole cluster"),
        ],
    ),
    (
        "ClusterOperator",
        &[
            ("available", "condition"),
            ("degraded", "condition"),
            ("progressing", "condition"),
            ("upgradeable", "condition"),
            ("created", "creation time"),
            ("details", "conditions of the operator.openshift.io object, by type"),
            ("latestRevision", "latest static-pod revision"),
            ("nodeStatuses", "static-pod revision of each node"),
            ("logs", "hits of signatures about the operator"),
        ],
    ),
    (
        "Node",
        &[
            ("ready", "condition"),
            ("memoryPressure", "condition"),
            ("diskPressure", "condition"),
            ("pidPressure", "condition"),
            ("controlPlane", "has the master or control-plane role"),
            ("unschedulable", "cordoned"),
            ("created", "creation time"),
            ("mco", "machine-config annotations: current, desired, state, reason, …"),
            ("addresses", "internal addresses"),
            ("subnets", "subnets of the primary interface"),
            ("events", "events by reason"),
            ("logs", "hits of signatures in the node's journals"),
        ],
    ),
    (
        "MachineConfigPool",
        &[
            ("updated", "condition"),
            ("updating", "condition"),
            ("degraded", "condition"),
            ("nodeDegraded", "condition"),
            ("renderDegraded", "condition"),
            ("machines", "machines in the pool"),
            ("updatedMachines", "machines on the pool's config"),
            ("readyMachines", "machines updated and ready"),
            ("degradedMachines", "machines that report degraded"),
            ("unavailableMachines", "machines that are not available"),
            ("specConfig", "rendered config wanted"),
            ("statusConfig", "rendered config last converged on; empty before the first time"),
            ("paused", "spec.paused"),
            ("missingConfigs", "configs that nodes name and the daemon cannot find"),
            ("logs", "hits of signatures about the pool"),
        ],
    ),
    ("MachineConfig", &[("exists", "was collected")]),
    (
        "Infrastructure",
        &[
            ("platform", "platform type"),
            ("topology", "controlPlaneTopology; empty when the status lacks it"),
            ("infrastructureTopology", "infrastructureTopology; empty when the status lacks it"),
            ("apiInternal", "apiServerInternalURI"),
            ("api", "apiServerURL"),
            ("apiVips", "API VIPs"),
            ("ingressVips", "ingress VIPs"),
            ("machineNetworks", "machine networks"),
            ("loadBalancer", "OpenShiftManagedDefault or UserManaged"),
            ("vipsOutside", "VIPs in no machine network; empty where the operator does not check"),
            ("firstVipOutside", "one of them is the first of its kind, which cannot be changed"),
            ("vipsOutsideOnNodeSubnet", "every such VIP lies in a subnet of a control-plane node"),
            ("nodeSubnetsOfVips", "the node subnets that hold such VIPs"),
        ],
    ),
    (
        "BareMetalHost",
        &[
            ("state", "provisioning state"),
            ("operationalStatus", "OK, error, …"),
            ("errorType", "error type; empty when there is none"),
            ("errorMessage", "error message; empty when there is none"),
            ("errorCount", "consecutive errors"),
            ("bmcAddress", "BMC address"),
            ("bootMode", "boot mode"),
            ("poweredOn", "power as last seen"),
            ("online", "power as wanted"),
            ("registerStarted", "time"),
            ("registerEnded", "time"),
            ("inspectStarted", "time"),
            ("inspectEnded", "time"),
            ("provisionStarted", "time"),
            ("provisionEnded", "time"),
            ("lastUpdated", "time"),
            ("created", "creation time"),
            ("consumer", "Machine that uses the host"),
            ("controlPlane", "meant for the control plane"),
            ("joined", "its node is in the cluster"),
            ("node", "name of that node"),
            ("events", "events by reason"),
            ("logs", "hits of signatures about the host"),
        ],
    ),
    (
        "Machine",
        &[
            ("phase", "phase"),
            ("errorMessage", "error message"),
            ("node", "nodeRef"),
            ("host", "BareMetalHost behind it"),
            ("created", "creation time"),
            ("events", "events by reason"),
        ],
    ),
    (
        "Pod",
        &[
            ("exists", "false: the namespace's list does not have it"),
            ("installed", "a static pod whose operator installed a revision on the node"),
            ("phase", "phase"),
            ("mirror", "mirror of a static pod"),
            ("ready", "all containers ready"),
            ("node", "node it is on"),
            ("restarts", "restarts of all containers"),
            ("deleting", "has a deletion time"),
            ("created", "creation time"),
            ("waiting", "reason that a container waits for; empty when none does"),
            ("waitingMessage", "its message"),
            ("lastExit", "reason of the last termination"),
            ("lastExitTime", "its time"),
            ("readyCondition", "condition"),
            ("scheduled", "condition"),
            ("owner", "Kind/name of the owner"),
            ("events", "warning events by reason"),
            ("logs", "hits of signatures in its logs"),
        ],
    ),
    (
        "Deployment",
        &[
            ("desired", "replicas wanted"),
            ("created_pods", "pods that exist"),
            ("ready", "pods ready"),
            ("updated", "pods of the newest revision"),
            ("available", "condition"),
            ("replicaFailure", "condition"),
            ("progressing", "condition"),
            ("observed", "the controller has seen the newest generation"),
        ],
    ),
    (
        "DaemonSet",
        &[
            ("desired", "pods wanted"),
            ("ready", "pods ready"),
            ("unavailable", "pods not available"),
            ("updated", "pods of the newest revision"),
            ("logs", "hits of signatures about it"),
        ],
    ),
    (
        "CertificateSigningRequest",
        &[
            ("signer", "signer name"),
            ("requestor", "user that asks"),
            ("node", "node that it is for"),
            ("pending", "neither approved nor denied"),
            ("approved", "approved"),
            ("denied", "denied or failed"),
            ("issued", "has a certificate"),
            ("created", "creation time"),
        ],
    ),
    (
        "Secret",
        &[
            ("exists", "false: the namespace's list does not have it"),
            ("created", "creation time"),
            ("subject", "of its certificate"),
            ("issuer", "of its certificate"),
            ("notBefore", "of its certificate"),
            ("notAfter", "of its certificate"),
            ("names", "DNS names and addresses in its certificate"),
            ("logs", "hits of signatures about it"),
        ],
    ),
    (
        "ConfigMap",
        &[
            ("exists", "false: the namespace's list does not have it"),
            ("created", "creation time"),
            ("subject", "of its CA"),
            ("issuer", "of its CA"),
            ("notBefore", "of its CA"),
            ("notAfter", "of its CA"),
            ("names", "names in its CA"),
            ("status", "data.status of kube-system/bootstrap"),
            ("endpoints", "values of openshift-etcd/etcd-endpoints"),
            ("keys", "keys of openshift-etcd/etcd-endpoints"),
            (
                "controlPlaneReplicas",
                "control-plane nodes asked for, of kube-system/cluster-config-v1",
            ),
            ("logs", "hits of signatures about it"),
        ],
    ),
    (
        "EtcdMember",
        &[("started", "has a name"), ("id", "member id"), ("healthy", "endpoint health")],
    ),
    ("VIP", &[("logs", "hits of signatures about the address")]),
];

/// (relation, kind it starts at, kind it leads to)
pub const RELATIONS: &[(&str, &str, &str)] = &[
    ("pod-on-node", "Pod", "Node"),
    ("operand-of", "Pod", "ClusterOperator"),
    ("pod-of-deployment", "Pod", "Deployment"),
    ("pod-of-daemonset", "Pod", "DaemonSet"),
    ("workload-of", "Deployment", "ClusterOperator"),
    ("node-in-pool", "Node", "MachineConfigPool"),
    ("host-is-node", "BareMetalHost", "Node"),
    ("machine-on-host", "Machine", "BareMetalHost"),
    ("machine-is-node", "Machine", "Node"),
    ("request-of-node", "CertificateSigningRequest", "Node"),
    ("request-of-host", "CertificateSigningRequest", "BareMetalHost"),
    ("member-on-node", "EtcdMember", "Node"),
    ("operator-needs", "ClusterOperator", "ClusterOperator"),
];

pub fn has_kind(kind: &str) -> bool {
    KINDS.iter().any(|(name, _)| *name == kind)
}

/// Whether `path` (`degraded.status`) starts at a fact of `kind`.
pub fn has_fact(kind: &str, path: &str) -> bool {
    let first = path.split('.').next().unwrap_or(path);
    first.is_empty()
        || matches!(first, "name" | "namespace" | "kind")
        || KINDS
            .iter()
            .find(|(name, _)| *name == kind)
            .is_some_and(|(_, facts)| facts.iter().any(|(fact, _)| *fact == first))
}
