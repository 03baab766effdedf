//! Certificate signing requests: who asks, for whom and for which names.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use plimsoll_model::{Entity, EntityId, Evidence, FactBase, Value};
use x509_parser::extensions::ParsedExtension;
use x509_parser::prelude::{FromDer, X509CertificationRequest};

use super::Facts;
use super::absence::Lists;
use super::certificates::name_of;
use super::object::Object;

const KIND: &str = "CertificateSigningRequest";

pub fn signing_request(object: &Object<'_>) -> Facts {
    let mut entity = Entity::default();
    for (path, fact) in
        [(&["spec", "signerName"][..], "signer"), (&["spec", "username"], "requestor")]
    {
        if let Some(text) = object.text(path) {
            entity.set(fact, text, object.cite_field(path));
        }
    }
    let conditions: Vec<String> =
        object.conditions(&["status", "conditions"]).into_iter().map(|(kind, _, _)| kind).collect();
    let at =
        object.cite(&["status", "conditions"], format!("conditions: {}", conditions.join(", ")));
    let has = |kind: &str| conditions.iter().any(|c| c == kind);
    entity.set("pending", conditions.is_empty(), at.clone());
    entity.set("approved", has("Approved"), at.clone());
    entity.set("denied", has("Denied") || has("Failed"), at);
    let issued = object.text(&["status", "certificate"]).is_some_and(|text| !text.is_empty());
    entity.set("issued", issued, object.cite(&["status"], format!("certificate issued: {issued}")));
    if let Some(created) = object.time(&["metadata", "creationTimestamp"]) {
        entity.set("created", created, object.cite_field(&["metadata", "creationTimestamp"]));
    }
    asked_for(object, &mut entity);
    if !entity.facts.contains_key("node")
        && let Some(node) =
            object.text(&["spec", "username"]).and_then(|user| user.strip_prefix("system:node:"))
    {
        entity.set("node", node, object.cite_field(&["spec", "username"]));
    }
    vec![(object.id(KIND), entity)]
}

/// Subject and names of the request itself.
fn asked_for(object: &Object<'_>, entity: &mut Entity) {
    let path = ["spec", "request"];
    let Some(Ok(pem)) = object.text(&path).map(|text| STANDARD.decode(text.trim())) else { return };
    let Some(Ok(block)) = x509_parser::pem::Pem::iter_from_buffer(&pem).next() else { return };
    let Ok((_, request)) = X509CertificationRequest::from_der(&block.contents) else { return };
    let subject = &request.certification_request_info.subject;
    let names: Vec<String> = request
        .requested_extensions()
        .into_iter()
        .flatten()
        .filter_map(|extension| match extension {
            ParsedExtension::SubjectAlternativeName(names) => Some(&names.general_names),
            _ => None,
        })
        .flatten()
        .filter_map(name_of)
        .collect();
    let common = subject.iter_common_name().next().and_then(|name| name.as_str().ok());
    let at = object.cite(&path, format!("{subject}, names: {}", names.join(", ")));
    if let Some(node) = common.and_then(|name| name.strip_prefix("system:node:")) {
        entity.set("node", node, at.clone());
    }
    entity.set("subject", subject.to_string(), at.clone());
    entity.set("names", names, at);
}

/// How many wait, and which names asked for are not those of the node.
pub fn derive(lists: &Lists, base: &mut FactBase) {
    let mut pending = 0i64;
    let mut found: Vec<(EntityId, Vec<String>)> = Vec::new();
    for (id, entity) in base.entities.iter().filter(|(id, _)| id.kind == KIND) {
        let text = |fact: &str| entity.facts.get(fact).and_then(Value::text);
        let of_kubelet = text("signer").is_some_and(|signer| signer.contains("kubelet"));
        if of_kubelet && entity.facts.get("pending") == Some(&Value::Bool(true)) {
            pending += 1;
        }
        let own = text("node")
            .and_then(|node| base.entities.get(&EntityId::cluster_scoped("Node", node)))
            .and_then(|node| node.facts.get("allAddresses"));
        if let (Some(own), Some(asked)) = (own, entity.facts.get("names")) {
            let strange = asked.texts().filter(|name| !own.texts().any(|own| own == *name));
            found.push((id.clone(), strange.map(str::to_string).collect()));
        }
    }
    for (id, strange) in found {
        let Some(entity) = base.entities.get_mut(&id) else { continue };
        let from: Vec<Evidence> = entity.provenance.get("names").cloned().unwrap_or_default();
        entity.derive("strangeNames", strange, from);
    }
    let asked = pending > 0 || base.entities.keys().any(|id| id.kind == KIND);
    if asked || lists.prove("certificates.k8s.io", "certificatesigningrequests", None) {
        let cluster = base.entities.entry(EntityId::cluster()).or_default();
        cluster.derive("pendingRequests", pending, Vec::new());
    }
}
