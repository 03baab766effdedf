//! MachineConfigPools, MachineConfigs, and what nodes say of the config they run.

use plimsoll_model::{Entity, EntityId, Evidence, FactBase, Value};

use super::Facts;
use super::object::Object;

pub fn pool(object: &Object<'_>) -> Facts {
    let mut entity = Entity::default();
    for (kind, value, evidence) in object.conditions(&["status", "conditions"]) {
        let fact = match kind.as_str() {
            "Updated" => "updated",
            "Updating" => "updating",
            "Degraded" => "degraded",
            "NodeDegraded" => "nodeDegraded",
            "RenderDegraded" => "renderDegraded",
            _ => continue,
        };
        entity.set(fact, value, evidence);
    }
    for (field, fact) in [
        ("machineCount", "machines"),
        ("updatedMachineCount", "updatedMachines"),
        ("readyMachineCount", "readyMachines"),
        ("degradedMachineCount", "degradedMachines"),
        ("unavailableMachineCount", "unavailableMachines"),
    ] {
        if let Some(count) = object.int(&["status", field]) {
            entity.set(fact, count, object.cite_field(&["status", field]));
        }
    }
    if object.node(&["status"]).is_some() {
        // An absent name means the pool never converged; that is a fact, not a gap.
        let name = object.text(&["status", "configuration", "name"]).unwrap_or_default();
        entity.set("statusConfig", name, object.cite_field(&["status", "configuration", "name"]));
    }
    if let Some(sources) = object.node(&["status", "configuration", "source"]) {
        let names = sources.items().iter().filter_map(|one| one.text_at(&["name"]));
        let names: Vec<Value> = names.map(|name| Value::Text(name.into())).collect();
        let at = object.cite_field(&["status", "configuration", "source"]);
        entity.set("configSources", Value::List(names), at);
    }
    if let Some(name) = object.text(&["spec", "configuration", "name"]) {
        entity.set("specConfig", name, object.cite_field(&["spec", "configuration", "name"]));
    }
    let paused = object.node(&["spec", "paused"]).and_then(plimsoll_yaml::Node::as_bool);
    entity.set("paused", paused.unwrap_or(false), object.cite_field(&["spec", "paused"]));
    vec![(object.id("MachineConfigPool"), entity)]
}

pub fn config(object: &Object<'_>) -> Facts {
    let mut entity = Entity::default();
    entity.set("exists", true, object.cite_field(&["metadata", "name"]));
    vec![(object.id("MachineConfig"), entity)]
}

/// Configs that nodes of a pool name and that the daemon could not find in the cluster.
///
/// Built on what the daemon reports, not on the files of the gather: a MachineConfig whose file was
/// lost would otherwise look like one that never existed.
pub fn derive(base: &mut FactBase) {
    let mut missing: Vec<(String, String, Evidence)> = Vec::new();
    let mut asked = Vec::new();
    let mut silent: Vec<String> = Vec::new();
    for (id, entity) in base.entities.iter().filter(|(id, _)| id.kind == "Node") {
        let Some(mco) = entity.facts.get("mco") else { continue };
        let text = |key: &str| mco.get(key).and_then(Value::text).unwrap_or_default();
        let pool = pool_of(text("current")).or_else(|| pool_of(text("desired")));
        let Some(pool) = pool else { continue };
        asked.push(pool.to_string());
        // A degraded node that gives no reason leaves the question open.
        if text("state") == "Degraded" && text("reason").is_empty() {
            silent.push(pool.to_string());
        }
        if let Some(config) = missing_config(text("reason"))
            && text("state") == "Degraded"
            && let Some(at) = entity.provenance.get("mco.reason").and_then(|at| at.first())
        {
            let mut at = at.clone();
            at.text = plimsoll_model::clip(&format!("{id}: {}", at.text));
            missing.push((pool.to_string(), config.to_string(), at));
        }
    }
    asked.retain(|pool| !silent.contains(pool));
    for pool in asked {
        let id = EntityId::cluster_scoped("MachineConfigPool", &pool);
        let Some(entity) = base.entities.get_mut(&id) else { continue };
        let of_pool: Vec<_> = missing.iter().filter(|(name, _, _)| *name == pool).collect();
        let mut configs: Vec<String> =
            of_pool.iter().map(|(_, config, _)| config.clone()).collect();
        configs.sort();
        configs.dedup();
        let evidence = of_pool.iter().map(|(_, _, at)| at.clone()).collect();
        entity.derive("missingConfigs", configs, evidence);
    }
}

/// `rendered-<pool>-<32 hex digits>`
pub fn pool_of(config: &str) -> Option<&str> {
    let rest = config.strip_prefix("rendered-")?;
    let (pool, hash) = rest.rsplit_once('-')?;
    (hash.len() >= 10 && hash.bytes().all(|b| b.is_ascii_hexdigit())).then_some(pool)
}

/// The daemon's own words, up to 4.18 and from 4.19 on.
fn missing_config(reason: &str) -> Option<&str> {
    if let Some(rest) = reason.split("missing MachineConfig ").nth(1) {
        return rest.split_whitespace().next().map(|word| word.trim_end_matches(['.', '"', '\\']));
    }
    let rest = reason.split("bootstrap generated MC ").nth(1)?;
    rest.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pool_is_in_the_name_of_its_rendered_config() {
        assert_eq!(pool_of("rendered-master-553d5d527988f8cd22e7791f6013fe42"), Some("master"));
        assert_eq!(pool_of("rendered-my-pool-553d5d527988f8cd"), Some("my-pool"));
        assert_eq!(pool_of("99-worker-ssh"), None);
    }

    #[test]
    fn the_missing_config_is_read_from_the_daemons_words() {
        let old = "missing MachineConfig rendered-master-5\nmachineconfig \"x\" not found";
        assert_eq!(missing_config(old), Some("rendered-master-5"));
        let new = "bootstrap generated MC rendered-master-5 and in-cluster generated MC b for this node do not match";
        assert_eq!(missing_config(new), Some("rendered-master-5"));
        assert_eq!(missing_config("unexpected on-disk state"), None);
    }
}
