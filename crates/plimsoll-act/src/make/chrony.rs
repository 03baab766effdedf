//! Time servers for the nodes of a pool, by their owner: a MachineConfig.

use serde_json::{Value, json};

use super::{Made, Reads, data_url, failed, input};
use crate::target::Trouble;

/// Of `/etc/chrony.conf`.
const MODE: u32 = 0o644;

pub fn machine_config(inputs: &Value, _: &dyn Reads) -> Result<Made, Trouble> {
    let role = input(inputs, "role")?;
    if !role.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
        return Err(failed(format!("'{role}' is no role")));
    }
    // Whoever is asked for them types one text.
    let servers: Vec<&str> = match inputs.get("servers") {
        Some(Value::String(text)) => {
            text.split([',', ' ']).filter(|server| !server.is_empty()).collect()
        }
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if servers.is_empty() {
        return Err(failed("the plan names no time server"));
    }
    let is_name = |server: &str| {
        let fits = |c: char| c.is_ascii_alphanumeric() || ".:-".contains(c);
        !server.is_empty() && !server.starts_with('-') && server.chars().all(fits)
    };
    if let Some(odd) = servers.iter().find(|server| !is_name(server)) {
        return Err(failed(format!("'{odd}' is no time server")));
    }
    let lines: String = servers.iter().map(|server| format!("server {server} iburst\n")).collect();
    let text = format!(
        "{lines}driftfile /var/lib/chrony/drift\nmakestep 1.0 3\nrtcsync\nlogdir /var/log/chrony\n"
    );
    Ok(Made::object(json!({
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfig",
        "metadata": {
            "name": format!("99-{role}-chrony"),
            "labels": {"machineconfiguration.openshift.io/role": role},
        },
        "spec": {"config": {
            "ignition": {"version": "3.2.0"},
            "storage": {"files": [{
                "path": "/etc/chrony.conf", "mode": MODE, "overwrite": true,
                "contents": {"source": data_url(&text)},
            }]},
        }},
    })))
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::super::make;
    use super::super::support::Fake;
    use super::*;

    fn made(inputs: Value) -> Result<Value, Trouble> {
        let made = make("chrony-machine-config", &inputs, &Fake::default())?;
        Ok(made.into_object().unwrap())
    }

    #[test]
    fn servers_come_first_and_the_file_is_the_one_of_chrony() {
        let made = made(json!({"role": "worker", "servers": ["10.0.0.1", "ntp.lab"]})).unwrap();
        assert_eq!(made["metadata"]["name"], "99-worker-chrony");
        let file = &made["spec"]["config"]["storage"]["files"][0];
        assert_eq!(
            (file["path"].as_str(), file["mode"].as_u64()),
            (Some("/etc/chrony.conf"), Some(420))
        );
        let source = file["contents"]["source"].as_str().unwrap();
        let text = STANDARD.decode(source.rsplit(',').next().unwrap()).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.starts_with("server 10.0.0.1 iburst\nserver ntp.lab iburst\n"), "{text}");
    }

    #[test]
    fn a_server_is_a_name_and_nothing_more() {
        for servers in
            [json!([]), json!(["a\nallow all"]), json!(["-x"]), json!("a\nallow all"), json!(" , ")]
        {
            assert!(made(json!({"role": "worker", "servers": servers})).is_err(), "{servers}");
        }
        let typed = made(json!({"role": "worker", "servers": "10.0.0.1, ntp.lab"})).unwrap();
        let listed = made(json!({"role": "worker", "servers": ["10.0.0.1", "ntp.lab"]})).unwrap();
        assert_eq!(typed, listed);
        assert!(made(json!({"role": "Worker ", "servers": ["a"]})).is_err());
    }
}
