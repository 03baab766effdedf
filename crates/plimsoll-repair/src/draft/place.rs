//! Where the API has what the facts name without a namespace.

use plimsoll_model::EntityId;

const MACHINE_API: &str = "openshift-machine-api";
/// Kinds of the machine API and of metal3: there is one namespace of theirs, and names are told without it.
const OF_MACHINE_API: &[&str] = &[
    "BareMetalHost",
    "HardwareData",
    "HostFirmwareComponents",
    "HostFirmwareSettings",
    "Machine",
    "MachineHealthCheck",
    "MachineSet",
    "PreprovisioningImage",
];

/// With the namespace that a command has to name.
pub fn placed(entity: &EntityId) -> EntityId {
    let of_kind = OF_MACHINE_API.contains(&entity.kind.as_str()).then(|| MACHINE_API.to_string());
    EntityId { namespace: entity.namespace.clone().or(of_kind), ..entity.clone() }
}
