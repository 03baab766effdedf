//! What the gather says of itself.

use jiff::{SignedDuration, Timestamp};

use super::writer::Writer;
use crate::edit::container_time;

pub(super) fn write(writer: &mut Writer) {
    let params = writer.params;
    let before = |seconds: i64| params.now.checked_sub(SignedDuration::from_secs(seconds));
    let at = |seconds: i64| before(seconds).unwrap_or(params.now);
    writer.file(
        "version",
        format!(
            "openshift/must-gather\n{}-202505201605.p0.gb45ea65.assembly.stream.el9-b45ea65\n",
            params.version
        ),
    );
    let stamps: String = [(228, 0), (223, 1), (222, 1), (120, 108), (0, 227)]
        .iter()
        .map(|(ago, up)| format!("{} +0000 UTC m=+{up}.347883109\n", go_time(at(*ago))))
        .collect();
    writer.file("timestamp", stamps);
    // Every one of these errors stands in the gather of a healthy cluster.
    let lines = [
        (228, "[disk usage checker] Started"),
        (227, "Gathering data for ns/openshift-cluster-version..."),
        (
            225,
            "Warning: apps.openshift.io/v1 DeploymentConfig is deprecated in v4.14+, unavailable in v4.10000+",
        ),
        (224, "INFO: Gathering on-disk MachineConfig from degraded nodes"),
        (224, "INFO: Collecting host service logs for crio"),
        (224, "INFO: Collecting host service logs for kubelet"),
        (224, "INFO: Collecting host service logs for NetworkManager"),
        (223, "INFO: \"sriov-network-operator\" not detected. Skipping."),
        (222, "Gathering data for ns/kube-system..."),
        (221, "No resources found"),
        (221, "[disk usage checker] Volume usage percentage: current = 4 ; allowed = 70"),
        (9, "Wrote inspect data to must-gather."),
        (8, "error: inspection completed with the errors occurred while gathering data:"),
        (
            8,
            "    [skipping gathering secrets/support due to error: secrets \"support\" not found, skipping gathering sharedconfigmaps.sharedresource.openshift.io due to error: the server doesn't have a resource type \"sharedconfigmaps\"]",
        ),
        (6, "error: the server doesn't have a resource type \"clusters\""),
        (2, "INFO: Worker host service log collection to complete."),
    ];
    let log = lines.iter().map(|(ago, text)| format!("{} {text}\n", container_time(at(*ago))));
    writer.file("gather.logs", log.collect());
}

fn go_time(time: Timestamp) -> String {
    time.to_string().replace('T', " ").replace('Z', "")
}
