//! The hosts of a config: those of install-config.yaml and of agent-config.yaml, one entity a machine.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_install::{AgentHost, File, Host, Judgement, Method, Place, Placed, RootDeviceHints};
use plimsoll_model::EntityId;

use super::nmstate::{Net, Text};
use super::{Facts, Found, is_plain};

pub struct Machine<'c> {
    pub id: EntityId,
    pub role: &'c str,
    /// Its name as it was written, and where.
    pub name: &'c Placed<String>,
    pub file: File,
    /// Of the item that names it.
    pub path: String,
    pub install: Option<(&'c Host, String)>,
    pub agent: Option<(&'c AgentHost, String)>,
    /// What is asked of its network, in which file, and below which path.
    pub net: Option<(Net, File, String)>,
}

impl Machine<'_> {
    pub fn net(&self) -> Option<&Net> {
        self.net.as_ref().map(|(net, ..)| net)
    }

    /// Something of its network config.
    pub fn at(&self, said: String, text: &Text) -> Found {
        let (file, path) = match &self.net {
            Some((_, file, path)) if text.path.is_empty() => (*file, path.clone()),
            Some((_, file, path)) => (*file, format!("{path}.{}", text.path)),
            None => (self.file, self.path.clone()),
        };
        let value = Some(text.value.clone()).filter(|value| !value.is_empty());
        Found { said, file, path, at: text.at, value }
    }

    pub fn network_place(&self) -> Place {
        let agent = self.agent.as_ref().map(|(host, _)| host.network_config_place);
        let install = self.install.as_ref().map(|(host, _)| host.network_config_place);
        match self.net {
            Some((_, File::Agent, _)) => agent.unwrap_or(self.name.place),
            _ => install.unwrap_or(self.name.place),
        }
    }

    /// The host as a whole.
    pub fn here(&self, said: String) -> Found {
        let value = Some(self.name.value.clone()).filter(|name| !name.is_empty());
        Found { said, file: self.file, path: self.path.clone(), at: self.name.place, value }
    }

    pub fn hints(&self) -> Option<(&RootDeviceHints, File, &str)> {
        let agent = self.agent.as_ref();
        let agent = agent.map(|(host, path)| (&host.root_device_hints, File::Agent, path.as_str()));
        agent.or_else(|| {
            let (host, path) = self.install.as_ref()?;
            Some((host.root_device_hints.as_ref()?, File::Install, path.as_str()))
        })
    }

    /// Whether it can become a control-plane node.
    pub fn may_be_master(&self) -> bool {
        matches!(self.role, "" | "master")
    }
}

pub fn read<'c>(judgement: &'c Judgement, method: Method, facts: &mut Facts) -> Vec<Machine<'c>> {
    let agents = judgement.config.agent.as_ref().filter(|_| method == Method::Agent);
    let agents: &[AgentHost] = agents.map_or(&[], |config| &config.hosts);
    let baremetal = judgement.config.install.as_ref().and_then(|it| it.platform.baremetal.as_ref());
    let installs: &[Host] = baremetal.map_or(&[], |baremetal| &baremetal.hosts);
    let mut names = Names::default();
    let mut machines: Vec<Machine<'c>> = Vec::with_capacity(agents.len() + installs.len());
    let mut by_name: BTreeMap<String, usize> = BTreeMap::new();
    let mut by_mac: BTreeMap<[u8; 6], usize> = BTreeMap::new();
    for (index, host) in agents.iter().enumerate() {
        let path = format!("hosts[{index}]");
        let mac = host.interfaces.first().map(|interface| interface.mac.value.as_str());
        let id = names.id(facts, &host.hostname.value, mac, &path);
        facts.agent_hosts.push(id.clone());
        by_name.entry(host.hostname.value.to_lowercase()).or_insert(index);
        for mac in host.interfaces.iter().filter_map(|interface| mac_of(&interface.mac.value)) {
            by_mac.entry(mac).or_insert(index);
        }
        let net = host.network_config.as_deref().map(Net::read);
        machines.push(Machine {
            id,
            role: host.role.as_str(),
            name: &host.hostname,
            file: File::Agent,
            net: net.map(|net| (net, File::Agent, format!("{path}.networkConfig"))),
            agent: Some((host, path.clone())),
            install: None,
            path: format!("{path}.hostname"),
        });
    }
    // Counted as the installer counts them, so that one path is one host in every finding.
    for (index, host) in installs.iter().enumerate() {
        let path = format!("platform.baremetal.hosts[{index}]");
        let mac = mac_of(&host.boot_mac.value).and_then(|mac| by_mac.get(&mac));
        let named = Some(host.name.value.to_lowercase()).filter(|name| !name.is_empty());
        let known = mac.or_else(|| by_name.get(&named?)).copied();
        // Hosts of agent-config.yaml win; only their BMCs are in the other file.
        if let Some(machine) = known.and_then(|index| machines.get_mut(index))
            && machine.install.is_none()
        {
            machine.install = Some((host, path));
            facts.install_hosts.push(machine.id.clone());
            continue;
        }
        let id = names.id(facts, &host.name.value, Some(&host.boot_mac.value), &path);
        facts.install_hosts.push(id.clone());
        let is_ignored = !agents.is_empty();
        let net = host.network_config.as_deref().filter(|_| !is_ignored).map(Net::read);
        machines.push(Machine {
            id,
            role: host.role.as_str(),
            name: &host.name,
            file: File::Install,
            net: net.map(|net| (net, File::Install, format!("{path}.networkConfig"))),
            agent: None,
            install: Some((host, path.clone())),
            path: format!("{path}.name"),
        });
    }
    for machine in &machines {
        facts.text(&machine.id, "name", machine.name, machine.file, &machine.path);
        facts.known(&machine.id, "role", machine.role);
    }
    refused(judgement, &machines, facts);
    machines
}

/// What the installer refused of each host.
fn refused(judgement: &Judgement, machines: &[Machine<'_>], facts: &mut Facts) {
    let mut rules: BTreeMap<EntityId, BTreeSet<&str>> = BTreeMap::new();
    for refusal in judgement.refusals.iter().chain(&judgement.later) {
        let id = facts.entity_at(refusal.file, &refusal.path);
        rules.entry(id).or_default().insert(refusal.rule);
    }
    for machine in machines {
        let rules = rules.get(&machine.id).into_iter().flatten().copied().collect::<Vec<_>>();
        facts.known(&machine.id, "refused", rules);
    }
}

/// Every machine has a name of its own, whatever the user wrote.
#[derive(Default)]
struct Names(BTreeMap<String, usize>);

impl Names {
    fn id(&mut self, facts: &Facts, name: &str, mac: Option<&str>, path: &str) -> EntityId {
        let written = [Some(name), mac].into_iter().flatten().find(|name| is_plain(name));
        let name = written.unwrap_or(path);
        let times = self.0.entry(name.to_string()).or_default();
        *times += 1;
        match *times {
            1 => facts.host(name),
            times => facts.host(&format!("{name}#{times}")),
        }
    }
}

/// A MAC address in any of the forms that people write.
pub fn mac_of(text: &str) -> Option<[u8; 6]> {
    let separator = text.chars().find(|c| !c.is_ascii_hexdigit());
    let width = match separator {
        Some(':' | '-') => 2,
        Some('.') => 4,
        None => 12,
        Some(_) => return None,
    };
    let mut digits = String::with_capacity(12);
    for group in text.split(|c| Some(c) == separator) {
        if group.len() != width || !group.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        digits.push_str(group);
    }
    let mut mac = [0; 6];
    if digits.len() != 12 {
        return None;
    }
    for (byte, pair) in mac.iter_mut().zip(digits.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(mac)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::mac_of;

    #[test]
    fn forms_of_one_mac_are_the_same() {
        let mac = mac_of("52:54:00:AA:bb:0c");
        assert!(mac.is_some());
        for form in ["52-54-00-aa-bb-0c", "5254.00aa.bb0c", "525400AABB0C"] {
            assert_eq!(mac_of(form), mac, "{form}");
        }
        for wrong in ["", "52:54:00:aa:bb", "52:54:00:aa:bb:0g", "52:54:00:aa:bb:0c:11", "52_54"] {
            assert_eq!(mac_of(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn a_printed_mac_reads_back(mac in any::<[u8; 6]>(), separator in "[:-]") {
            let text = mac.map(|byte| format!("{byte:02X}")).join(&separator);
            prop_assert_eq!(mac_of(&text), Some(mac));
        }

        #[test]
        fn no_text_crashes_it(text in "\\PC{0,30}") {
            let _ = mac_of(&text);
        }
    }
}
