//! What a machine meets when it asks for its ignition. The logs of the asking are not here.

use plimsoll_model::{EntityId, FactBase};

/// The end of the server's certificate, for the states of machines that refuse it.
pub fn derive(base: &mut FactBase) {
    let id = EntityId::namespaced(
        "Secret",
        "openshift-machine-config-operator",
        "machine-config-server-tls",
    );
    let Some(secret) = base.entities.get(&id) else { return };
    let Some(ends) = secret.facts.get("notAfter").cloned() else { return };
    let from = secret.provenance.get("notAfter").cloned().unwrap_or_default();
    base.entities.entry(EntityId::cluster()).or_default().derive("mcsCertificateEnds", ends, from);
}
