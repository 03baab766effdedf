//! Who speaks for one request: Machine, BareMetalHost, the user's list, or the node's own certificate.

use std::net::IpAddr;

use plimsoll_model::Time;
use serde_json::Value;

use super::decoded::Asked;
use super::inventory::{Addresses, Inventory};
use super::{Findings, JOIN, SKEW, created, renewal};

/// One request, and who could vouch for it.
pub struct Rule<'r> {
    pub request: &'r Value,
    pub asked: &'r Asked,
    pub node: &'r str,
    pub inventory: &'r Inventory,
    pub now: Time,
}

impl Rule<'_> {
    /// A kubelet without an identity of its own: somebody else has to know the node.
    pub fn first_join(&self, found: &mut Findings) {
        let node = self.node;
        if let Some(known) = self.inventory.node(node) {
            let ready = if known.ready { "Ready" } else { "not Ready" };
            return match self.inventory.repairing.as_deref() == Some(node) {
                true => found.vouch(format!("Node {node} exists, {ready}, and is being repaired")),
                false => found.hold(format!(
                    "Node {node} exists already ({ready}): its kubelet lost its identity, or \
                     somebody takes its name; --node {node} says that you are repairing it"
                )),
            };
        }
        if !self.inventory.all_nodes {
            found.hold(format!("whether Node {node} exists already is not known from this data"));
        }
        let mut against = Vec::new();
        let vouchers = [self.by_machine(), self.by_host(), self.by_user()];
        for voucher in vouchers {
            match voucher {
                Ok(by) => return found.vouch(by),
                Err(why) => against.push(why),
            }
        }
        let against: Vec<String> = against.into_iter().flatten().collect();
        let against =
            if against.is_empty() { String::new() } else { format!(" ({})", against.join("; ")) };
        found.hold(format!(
            "nobody expects a node '{node}'{against}: an expected-nodes file that names it would \
             decide (--expect)"
        ));
    }

    /// As the machine-approver has it.
    fn by_machine(&self) -> Result<String, Option<String>> {
        let machine = self.inventory.machine_called(self.node);
        let Some(machine) = machine else { return Err(self.inventory.gap_of("Machine").cloned()) };
        let name = &machine.name;
        if let Some(node) = &machine.node {
            return Err(Some(format!("Machine {name} has its Node already, {node}")));
        }
        let (Some(made), Some(asked)) = (machine.created, created(self.request)) else {
            return Err(Some(format!("Machine {name} does not say when it was made")));
        };
        let after = asked.duration_since(made);
        match -SKEW < after && after < JOIN {
            true => Ok(format!("Machine {name} was made {} minutes before", after.as_mins())),
            false => Err(Some(format!(
                "Machine {name} was made {} minutes before, and {} are allowed",
                after.as_mins(),
                JOIN.as_mins()
            ))),
        }
    }

    /// Hardware takes longer than a cloud: counted from when the disk was written.
    fn by_host(&self) -> Result<String, Option<String>> {
        let host = self.inventory.host_called(self.node);
        let Some(host) = host else { return Err(self.inventory.gap_of("BareMetalHost").cloned()) };
        let name = &host.name;
        let (true, Some(consumer)) = (host.provisioned, &host.consumer) else {
            return Err(Some(format!("BareMetalHost {name} is not provisioned for a Machine")));
        };
        let machine = self.inventory.machines.iter().find(|machine| machine.name == *consumer);
        match machine {
            Some(machine) if machine.node.is_none() => {}
            Some(machine) => {
                let node = machine.node.as_deref().unwrap_or_default();
                return Err(Some(format!("Machine {consumer} has its Node already, {node}")));
            }
            None => return Err(Some(format!("Machine {consumer} of {name} is not there"))),
        }
        let ((Some(begun), Some(ended)), Some(asked)) = (host.provision, created(self.request))
        else {
            return Err(Some(format!("BareMetalHost {name} does not say when it was provisioned")));
        };
        let (since_begun, since_ended) = (asked.duration_since(begun), asked.duration_since(ended));
        match since_begun > -SKEW && since_ended < JOIN {
            true => Ok(format!(
                "BareMetalHost {name} was provisioned for Machine {consumer} at {ended}"
            )),
            false => Err(Some(format!(
                "BareMetalHost {name} was provisioned {} minutes before, and {} are allowed",
                since_ended.as_mins(),
                JOIN.as_mins()
            ))),
        }
    }

    fn by_user(&self) -> Result<String, Option<String>> {
        match self.inventory.expected(self.node) {
            Some(_) => Ok("the expected-nodes file names it".into()),
            None => Err(None),
        }
    }

    /// The node proves by its certificate that it was let in before.
    pub fn renewal(&self, found: &mut Findings) {
        let node = self.node;
        match self.inventory.node(node) {
            Some(_) => found.vouch(format!("Node {node} renews its certificate")),
            None if self.inventory.expected(node).is_some() => {
                found.vouch("the expected-nodes file names it");
            }
            None => found.hold(format!("there is no Node {node} that could renew anything")),
        }
    }

    pub fn serving(&self, found: &mut Findings) {
        for name in &self.asked.other_names {
            found.deny(format!("a kubelet serves under names and addresses, not {name}"));
        }
        let names = self.asked.dns.iter().map(|name| Err(name.as_str()));
        let names: Vec<Result<IpAddr, &str>> =
            names.chain(self.asked.addresses.iter().map(|address| Ok(*address))).collect();
        if names.is_empty() {
            return found.hold("it asks for no name to serve under");
        }
        let (vouched, by) = self.inventory.vouched(self.node);
        let own = self.inventory.node(self.node).map(|node| &node.addresses);
        let renews = self.serves_the_same();
        for name in &names {
            match &renews {
                Some(Ok(())) => {
                    self.is_nobody_elses(*name, found);
                }
                _ => self.name(*name, &vouched, own, found),
            }
        }
        match own {
            _ if matches!(renews, Some(Ok(()))) => found.vouch(format!(
                "a renewal: the valid certificate that {} serves today has the same {} names",
                self.node,
                names.len()
            )),
            _ if !vouched.is_empty() => {
                let count = names.len();
                found.vouch(format!("all {count} names are known of it by {}", by.join(", ")));
            }
            Some(_) if self.is_vouched_for() => {
                found.vouch(format!("all {} names are those of Node {}", names.len(), self.node));
            }
            Some(_) => found.hold(format!(
                "that these names are its own, only Node {} itself says: an expected-nodes file \
                 that names it would decide (--expect)",
                self.node
            )),
            None => found.hold(format!(
                "nothing tells the addresses of '{}': a Machine, or an expected-nodes file with \
                 its addresses, would decide (--expect)",
                self.node
            )),
        }
    }

    /// Against the certificate that the kubelet shows today; `None` where nobody could ask for it.
    fn serves_the_same(&self) -> Option<Result<(), String>> {
        let shown = self.inventory.serving.get(self.node)?;
        Some(renewal::is_of(shown, self.asked, self.node, self.now))
    }

    fn is_nobody_elses(&self, name: Result<IpAddr, &str>, found: &mut Findings) -> bool {
        let Some(owner) = self.inventory.other_owner(self.node, name) else { return true };
        let shown = match name {
            Ok(address) => address.to_string(),
            Err(name) => name.into(),
        };
        found.deny(format!("'{shown}' belongs to {owner}"));
        false
    }

    /// A person says that this node is meant to be here.
    fn is_vouched_for(&self) -> bool {
        self.inventory.expected(self.node).is_some()
            || self.inventory.repairing.as_deref() == Some(self.node)
    }

    fn name(
        &self,
        name: Result<IpAddr, &str>,
        vouched: &Addresses,
        own: Option<&Addresses>,
        found: &mut Findings,
    ) {
        let shown = match name {
            Ok(address) => address.to_string(),
            Err(name) => name.into(),
        };
        let has = |addresses: &Addresses| match name {
            Ok(address) => addresses.ips.contains(&address),
            Err(name) => addresses.has_name(name),
        };
        if !self.is_nobody_elses(name, found) || has(vouched) {
            return;
        }
        match own {
            Some(own) if has(own) && !vouched.is_empty() => found.hold(format!(
                "'{shown}' is an address of Node {} by its own word only",
                self.node
            )),
            Some(own) if has(own) => {}
            None if vouched.is_empty() => {}
            _ => found.deny(format!("'{shown}' is no name or address of {}", self.node)),
        }
    }
}
