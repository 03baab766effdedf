use std::sync::Arc;

use plimsoll_yaml::Node;

use crate::config::RootDeviceHints;
use crate::place::{Place, Placed};
use crate::reader::At;

#[derive(Clone, Debug)]
pub struct AgentConfig {
    pub api_version: Placed<String>,
    pub name: Placed<String>,
    pub rendezvous_ip: Placed<String>,
    pub ntp_sources: Vec<Placed<String>>,
    pub boot_artifacts_base_url: Placed<String>,
    pub minimal_iso: Placed<bool>,
    pub hosts: Vec<AgentHost>,
    pub hosts_place: Place,
}

#[derive(Clone, Debug)]
pub struct AgentHost {
    pub place: Place,
    pub hostname: Placed<String>,
    pub role: Placed<String>,
    pub interfaces: Vec<Interface>,
    pub interfaces_place: Place,
    pub root_device_hints: RootDeviceHints,
    pub network_config: Option<Arc<Node>>,
    /// A key without a value, which the installer takes for a config all the same.
    pub network_config_is_null: bool,
    pub network_config_place: Place,
}

#[derive(Clone, Debug)]
pub struct Interface {
    pub place: Place,
    /// An item without content, at which the installer crashes.
    pub is_null: bool,
    pub name: Placed<String>,
    pub mac: Placed<String>,
}

impl AgentConfig {
    pub(crate) fn read(root: At<'_>) -> Self {
        let hosts = root.field("hosts");
        Self {
            api_version: root.field("apiVersion").text(),
            name: root.at(&["metadata", "name"]).text(),
            rendezvous_ip: root.field("rendezvousIP").text(),
            ntp_sources: root.field("additionalNTPSources").texts(),
            boot_artifacts_base_url: root.field("bootArtifactsBaseURL").text(),
            minimal_iso: root.field("minimalISO").bool(),
            hosts: hosts.items().unwrap_or_default().into_iter().map(AgentHost::read).collect(),
            hosts_place: hosts.key_place(),
        }
    }
}

impl AgentHost {
    fn read(at: At<'_>) -> Self {
        let interfaces = at.field("interfaces");
        let network_config = at.field("networkConfig");
        Self {
            place: at.place(),
            hostname: at.field("hostname").text(),
            role: at.field("role").text(),
            interfaces: interfaces
                .items()
                .unwrap_or_default()
                .into_iter()
                .map(|at| Interface {
                    place: at.place(),
                    is_null: !at.is_there(),
                    name: at.field("name").text(),
                    mac: at.field("macAddress").text(),
                })
                .collect(),
            interfaces_place: interfaces.key_place(),
            root_device_hints: RootDeviceHints::read(at.field("rootDeviceHints")),
            network_config: network_config.raw(),
            network_config_is_null: at.has_null("networkConfig"),
            network_config_place: network_config.key_place(),
        }
    }
}
