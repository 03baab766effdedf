//! What the API told of the cluster itself that others go on with: where it is reached, whom it trusts,
//! and where the BMCs of its hosts are.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use plimsoll_bmc::HostBmc;
use plimsoll_disguise::Names;
use serde_json::Value;

use super::text_at;

#[derive(Clone, Debug, Default)]
pub struct ClusterSeen {
    pub hosts: Vec<HostBmc>,
    pub api_url: String,
    pub api_vips: Vec<String>,
    pub ingress_vips: Vec<String>,
    /// Certificates of authorities, by who trusts them.
    pub bundles: Vec<(String, String)>,
    /// What a disguise would have to replace.
    pub names: Names,
}

impl ClusterSeen {
    pub fn object(&mut self, group: &str, plural: &str, object: &Value) {
        let name = text_at(object, "/metadata/name");
        match (group, plural) {
            ("core", "nodes") => {
                self.names.hosts.insert(name);
            }
            ("metal3.io", "baremetalhosts") => {
                self.hosts.extend(HostBmc::of(object));
                self.names.hosts.insert(name);
            }
            ("config.openshift.io", "infrastructures") => {
                self.api_url = text_at(object, "/status/apiServerURL");
                let infrastructure = text_at(object, "/status/infrastructureName");
                self.names
                    .infrastructures
                    .extend(Some(infrastructure).filter(|name| !name.is_empty()));
                self.api_vips = vips(object, "apiServerInternalIP");
                self.ingress_vips = vips(object, "ingressIP");
            }
            ("core", "configmaps") if name == "root-ca" => {
                let pem = text_at(object, "/data/ca.crt");
                if !pem.is_empty() {
                    self.bundles.push(("root-ca".into(), pem));
                }
            }
            // From 4.19 on. Of several that sign in turn, the config map of this name knows all.
            ("core", "secrets") if name == "machine-config-server-ca" => {
                let pem = STANDARD.decode(text_at(object, "/data/tls.crt")).unwrap_or_default();
                if let Some(pem) = String::from_utf8(pem).ok().filter(|pem| !pem.is_empty()) {
                    self.bundles.push((name, pem));
                }
            }
            ("core", "secrets") => {
                if let Some(pool) = name.strip_suffix("-user-data")
                    && let Some(pem) = pointer_authorities(object)
                {
                    self.bundles.push((format!("user-data/{pool}"), pem));
                }
            }
            _ => {}
        }
    }
}

fn vips(object: &Value, key: &str) -> Vec<String> {
    let platforms = object.pointer("/status/platformStatus").and_then(Value::as_object);
    let on_premises = platforms.into_iter().flatten().map(|(_, platform)| platform);
    let found = on_premises.filter_map(|platform| {
        let list = platform.get(format!("{key}s")).and_then(Value::as_array);
        match list {
            Some(list) => Some(list.iter().filter_map(Value::as_str).map(str::to_string).collect()),
            None => platform.get(key).and_then(Value::as_str).map(|vip| vec![vip.to_string()]),
        }
    });
    found.collect::<Vec<Vec<String>>>().concat()
}

/// The authorities that a new machine is told to trust.
fn pointer_authorities(secret: &Value) -> Option<String> {
    let data = STANDARD.decode(text_at(secret, "/data/userData")).ok()?;
    let config: Value = serde_json::from_slice(&data).ok()?;
    let all = config.pointer("/ignition/security/tls/certificateAuthorities")?.as_array()?;
    let pems = all.iter().filter_map(|authority| {
        let source = authority["source"].as_str()?;
        let encoded = source.split_once("base64,")?.1;
        String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
    });
    let all: String = pems.collect();
    (!all.is_empty()).then_some(all)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_cluster_is_reached_and_trusted_by_is_noticed() {
        let mut seen = ClusterSeen::default();
        seen.object(
            "config.openshift.io",
            "infrastructures",
            &json!({"status": {
            "apiServerURL": "https://api.lab.example.com:6443",
            "platformStatus": {"type": "BareMetal", "baremetal": {
                "apiServerInternalIPs": ["192.0.2.5"], "ingressIP": "192.0.2.6"}}}}),
        );
        let pointer = json!({"ignition": {"security": {"tls": {"certificateAuthorities": [
            {"source": format!("data:text/plain;base64,{}", STANDARD.encode("PEM"))}]}}}});
        let data = json!({"userData": STANDARD.encode(pointer.to_string())});
        let secret = json!({"metadata": {"name": "worker-user-data"}, "data": data});
        seen.object("core", "secrets", &secret);
        let authority = json!({"metadata": {"name": "machine-config-server-ca"},
            "data": {"tls.crt": STANDARD.encode("CA"), "tls.key": STANDARD.encode("KEY")}});
        seen.object("core", "secrets", &authority);
        assert_eq!(
            (seen.api_vips, seen.ingress_vips),
            (vec!["192.0.2.5".into()], vec!["192.0.2.6".into()])
        );
        let bundle = |name: &str, pem: &str| (name.to_string(), pem.to_string());
        let bundles = [bundle("user-data/worker", "PEM"), bundle("machine-config-server-ca", "CA")];
        assert_eq!(seen.bundles, bundles);
    }
}
