//! TCP ports that an install needs and that can be tried from here: of BMCs and mirrors.

use std::collections::BTreeSet;

use plimsoll_install::{BmcAddress, File, Judgement};
use plimsoll_model::EntityId;

use super::mirror::{entity, registry};
use super::seen::{Answer, Seen, reach};
use super::{Facts, Told, hosts};

pub fn extract(judgement: &Judgement, seen: &Seen, facts: &mut Facts) {
    for (host, path) in hosts(judgement) {
        let Some(target) = target(host.bmc.address.as_str()) else { continue };
        let id = facts.host(&host.name.value);
        let path = format!("{path}.bmc.address");
        facts.looks_at(&id, "ports", (File::Install, &path, host.bmc.address.place), &target);
        tried(&id, &target, seen, facts);
    }
    let registries: BTreeSet<EntityId> =
        facts.entities.keys().filter(|id| id.kind == "Registry").cloned().collect();
    for id in registries {
        let spot = facts.spots.get(&id).and_then(|spots| spots.get("mirror")).cloned();
        facts.live.applies(&id, "ports");
        if let Some(spot) = spot {
            facts.stand(&id, "ports", spot);
        }
        debug_assert_eq!(entity(&registry(&id.name)), id);
        tried(&id, &registry(&id.name), seen, facts);
    }
}

/// Where Redfish is spoken.
fn target(address: &str) -> Option<String> {
    plimsoll_install::bmc_driver(address).ok()?;
    BmcAddress::read(address).tcp()
}

fn tried(id: &EntityId, target: &str, seen: &Seen, facts: &mut Facts) {
    let answer: Option<&Answer> = seen.of("tcp").find(|answer| answer.target == target);
    let Some(answer) = answer.filter(|_| seen.has("ports")) else { return };
    let mut told = Told::new("ports");
    let why = answer.unreached();
    if why.as_deref() == Some("not-done") {
        facts.unseen(id, "ports", "the time for all probes was over");
        return;
    }
    let words = why.as_deref().map_or("open", reach).to_string();
    let at = answer.says(&format!("{target}: {words}"));
    told.set("open", why.is_none(), vec![at]);
    told.set("target", target, Vec::new());
    told.set("why", words, Vec::new());
    told.put(id, facts);
}
