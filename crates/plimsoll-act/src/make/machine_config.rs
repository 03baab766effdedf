//! A rendered MachineConfig that is gone, from the copy that a node kept of it.

use serde_json::{Map, Value, json};

use super::{Made, Reads, failed, get, input};
use crate::bookkeeping::without_bookkeeping;
use crate::target::Trouble;

/// Where a node has it: as the machine-config server sent it, and as its daemon runs it.
const COPIES: [&str; 2] =
    ["/etc/mcs-machine-config-content.json", "/etc/machine-config-daemon/currentconfig"];

pub fn of_node(inputs: &Value, reads: &dyn Reads) -> Result<Made, Trouble> {
    let (node, name) = (input(inputs, "node")?, input(inputs, "name")?);
    let pool = match inputs.get("pool").and_then(Value::as_str) {
        Some(pool) => pool.to_string(),
        None => pool_of(name)?,
    };
    let mut config = copy(node, name, reads)?;
    let owner = get(reads, "MachineConfigPool", None, &pool)?;
    let uid = owner["metadata"]["uid"].as_str().unwrap_or_default();
    if uid.is_empty() {
        return Err(failed(format!("MachineConfigPool/{pool} tells no uid")));
    }
    without_bookkeeping(&mut config);
    let Some(metadata) = config["metadata"].as_object_mut() else {
        return Err(failed(format!("the copy on {node} has no metadata")));
    };
    own(metadata, &pool, uid);
    if let Some(map) = config.as_object_mut() {
        map.remove("status");
    }
    Ok(Made::object(config))
}

/// `rendered-worker-0123…`
fn pool_of(name: &str) -> Result<String, Trouble> {
    let rest = name.strip_prefix("rendered-").and_then(|rest| rest.rsplit_once('-'));
    match rest {
        Some((pool, hash)) if !pool.is_empty() && hash.chars().all(|c| c.is_ascii_hexdigit()) => {
            Ok(pool.into())
        }
        _ => Err(failed(format!("'{name}' is no rendered MachineConfig"))),
    }
}

/// The first copy of that name. Another config under this name would be worse than none.
fn copy(node: &str, name: &str, reads: &dyn Reads) -> Result<Value, Trouble> {
    let mut others = Vec::new();
    for path in COPIES {
        let bytes = match reads.file(node, path) {
            Ok(bytes) => bytes,
            Err(Trouble::Failed(_)) => continue,
            Err(trouble) => return Err(trouble),
        };
        let Ok(config) = serde_json::from_slice::<Value>(&bytes) else { continue };
        let is_it = config["kind"] == "MachineConfig" && config["spec"].is_object();
        match config["metadata"]["name"].as_str() {
            Some(found) if found == name && is_it => return Ok(config),
            Some(found) => others.push(format!("{path} is {found}")),
            None => {}
        }
    }
    let others = if others.is_empty() { String::new() } else { format!(": {}", others.join(", ")) };
    Err(failed(format!("{node} has no copy of {name}{others}")))
}

fn own(metadata: &mut Map<String, Value>, pool: &str, uid: &str) {
    let first = metadata.get_mut("ownerReferences").and_then(|owners| owners.get_mut(0));
    match first {
        Some(Value::Object(owner)) => {
            owner.insert("uid".into(), json!(uid));
        }
        _ => {
            let owner = json!([{
                "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
                "name": pool, "uid": uid, "controller": true, "blockOwnerDeletion": true,
            }]);
            metadata.insert("ownerReferences".into(), owner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::make;
    use super::super::support::Fake;
    use super::*;

    const NAME: &str = "rendered-master-0a1b2c3d4e5f60718293a4b5c6d7e8f9";

    fn config(name: &str) -> String {
        json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
            "metadata": {"name": name, "uid": "old", "resourceVersion": "7", "generation": 1,
                "creationTimestamp": null, "managedFields": [], "annotations": {"a": "b"},
                "ownerReferences": [{"kind": "MachineConfigPool", "name": "master", "uid": ""}]},
            "spec": {"config": {"ignition": {"version": "3.2.0"}}}, "status": {},
        })
        .to_string()
    }

    fn cluster() -> Fake {
        Fake::default().with("MachineConfigPool/master", json!({"metadata": {"uid": "pool-uid"}}))
    }

    fn made(cluster: &Fake) -> Result<Value, Trouble> {
        let inputs = json!({"node": "master-0", "name": NAME});
        Ok(make("machine-config-of-node", &inputs, cluster)?.into_object().unwrap())
    }

    #[test]
    fn the_copy_of_the_node_belongs_to_the_pool_that_there_is() {
        let made = made(&cluster().with_file("master-0", COPIES[0], &config(NAME))).unwrap();
        assert_eq!(
            made["metadata"],
            json!({"name": NAME, "annotations": {"a": "b"}, "ownerReferences": [
                {"kind": "MachineConfigPool", "name": "master", "uid": "pool-uid"}]})
        );
        assert_eq!(made["spec"]["config"]["ignition"]["version"], "3.2.0");
        assert!(made.get("status").is_none());
    }

    #[test]
    fn the_second_copy_serves_where_the_first_is_another() {
        let other = "rendered-master-ffffffffffffffffffffffffffffffff";
        let cluster = cluster().with_file("master-0", COPIES[0], &config(other)).with_file(
            "master-0",
            COPIES[1],
            &config(NAME),
        );
        assert_eq!(made(&cluster).unwrap()["metadata"]["name"], NAME);
    }

    #[test]
    fn another_config_is_never_written_under_this_name() {
        let other = "rendered-master-ffffffffffffffffffffffffffffffff";
        let said = made(&cluster().with_file("master-0", COPIES[0], &config(other))).unwrap_err();
        assert!(said.to_string().contains(&format!("{} is {other}", COPIES[0])), "{said}");
        assert!(made(&cluster()).is_err());
        let lost = made(&Fake::default().with_file("master-0", COPIES[0], &config(NAME)));
        assert_eq!(lost.unwrap_err().to_string(), "there is no MachineConfigPool/master");
        assert!(pool_of("99-worker-chrony").is_err());
    }
}
