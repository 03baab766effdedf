//! What is asked of a BMC, in which order. What the answers mean is left to `inventory`.

use jiff::Timestamp;
use serde_json::Value;

use crate::client::{Client, Failure};
use crate::documents::{Adapter, Documents, Media, Unit};
use crate::quirks::{self, Quirks};
use crate::reading::Family;
use crate::value::{at, link, link_at, list, same_path, text};
use crate::walk::{linked, members, named, resolve};
use crate::{logs, value};

const MANAGERS: &str = "/redfish/v1/Managers";
const ACCOUNTS: &str = "/redfish/v1/AccountService/Accounts";
/// Chassis of one system that are looked into.
const CHASSIS: usize = 8;

pub struct Gathering<'c, C> {
    pub client: &'c mut Client,
    pub clock: C,
    pub documents: Documents,
    pub quirks: &'static Quirks,
}

impl<'c, C: Fn() -> Timestamp> Gathering<'c, C> {
    pub fn new(client: &'c mut Client, clock: C, root: Value) -> Self {
        let quirks = quirks::classify(&root, &Value::Null);
        let documents = Documents { root, ..Documents::default() };
        Self { client, clock, documents, quirks }
    }

    /// The first question with credentials. Where it fails, no second one is put: each could be
    /// the one that locks the account.
    pub async fn systems(&mut self) -> Result<(), Failure> {
        let path = link_at(&self.documents.root, "/Systems").unwrap_or("/redfish/v1/Systems");
        let answer = self.client.get(path).await?;
        let links = named(&answer.body).iter().filter_map(link);
        self.documents.systems = links.map(str::to_string).collect();
        Ok(())
    }

    pub async fn everything(&mut self, asked_for: Option<&str>) {
        self.system(asked_for).await;
        self.manager().await;
        self.media().await;
        self.network().await;
        self.storage().await;
        self.firmware().await;
        self.account().await;
        let places = logs::Places {
            system: self.documents.system_path.clone(),
            manager: self.documents.manager_path.clone(),
            of_system: link_at(&self.documents.system, "/LogServices").map(str::to_string),
            of_manager: link_at(&self.documents.manager, "/LogServices").map(str::to_string),
        };
        self.documents.entries = logs::entries(self.client, self.quirks, &places).await;
    }

    async fn system(&mut self, asked_for: Option<&str>) {
        let offered = self.documents.systems.clone();
        let only = match offered.as_slice() {
            [only] => Some(only.clone()),
            _ => None,
        };
        let wanted = match asked_for {
            Some(asked_for) => {
                let known = offered.iter().find(|path| same_path(path, asked_for));
                Some(known.cloned().unwrap_or_else(|| asked_for.to_string()))
            }
            None => offered.first().cloned(),
        };
        let Some(mut path) = wanted else {
            return self.client.gap("the system", "the service lists no system");
        };
        let mut answer = self.client.read(&path).await;
        if answer.as_ref().is_some_and(|answer| is_collection(&answer.body)) {
            self.client.gap(&path, "this is a list of systems, and no system");
            answer = None;
        }
        if answer.is_none()
            && let Some(only) = only.filter(|only| !same_path(only, &path))
        {
            self.client.gap(&path, "the address asks for this system, and the BMC has another");
            answer = self.client.read(&only).await;
            path = only;
        }
        let Some(answer) = answer else { return };
        (self.documents.system, self.documents.system_allow) = (answer.body, answer.allow);
        self.documents.system_path = Some(path);
        self.documents.bios = self.part("/Bios").await;
        self.documents.secure_boot = self.part("/SecureBoot").await;
        if value::number(&self.documents.system, "/ProcessorSummary/CoreCount").is_none() {
            self.documents.processors = self.collection("/Processors").await;
        }
    }

    pub async fn manager(&mut self) {
        let mut path = link_at(&self.documents.system, "/Links/ManagedBy/0").map(str::to_string);
        if path.is_none() {
            let folder = link_at(&self.documents.root, "/Managers").unwrap_or(MANAGERS).to_string();
            let answer = self.client.read(&folder).await;
            path = answer.and_then(|answer| Some(link(named(&answer.body).first()?)?.to_string()));
        }
        let Some(path) = path else { return };
        let before = (self.clock)();
        let Some(answer) = self.client.read(&path).await else { return };
        let after = (self.clock)();
        // The answer was made somewhere between the two.
        let half = after.as_second().saturating_sub(before.as_second()) / 2;
        let middle = before.as_second().saturating_add(half);
        self.documents.manager_at = Timestamp::from_second(middle).ok();
        self.documents.manager = answer.body;
        self.documents.manager_path = Some(path);
        if self.quirks.family == Family::Generic {
            self.quirks = quirks::classify(&self.documents.root, &self.documents.manager);
        }
        if let Some(path) = link_at(&self.documents.manager, "/NetworkProtocol") {
            let path = path.to_string();
            let answer = self.client.read(&path).await;
            self.documents.protocol = answer.map(|answer| answer.body).unwrap_or_default();
        }
    }

    /// Of the manager or, as an iDRAC10 and newer XCCs have it, of the system.
    pub async fn media(&mut self) {
        let folder = self.quirks.media_folder.zip(self.documents.manager_path.as_deref());
        let folder =
            folder.map(|(name, manager)| format!("{}/{name}", manager.trim_end_matches('/')));
        let places: Vec<String> = [&self.documents.manager, &self.documents.system]
            .iter()
            .filter_map(|document| link_at(document, "/VirtualMedia").map(str::to_string))
            .collect();
        let places = if places.is_empty() { folder.into_iter().collect() } else { places };
        for place in places {
            let answer = match self.client.get(&place).await {
                Ok(answer) => answer,
                Err(failure) => {
                    if !matches!(failure.status, Some(404 | 405 | 501)) {
                        self.client.gap(&place, failure.why.clone());
                    }
                    if failure.status == Some(403) {
                        self.documents.media_refused = Some(failure.why);
                    }
                    continue;
                }
            };
            // One by one: only an answer of its own tells what may be done with a slot.
            let answers = resolve(self.client, &place, named(&answer.body)).await;
            let media = answers
                .into_iter()
                .map(|answer| Media { document: answer.body, allow: answer.allow });
            self.documents.media = media.collect();
            if !self.documents.media.is_empty() {
                return;
            }
        }
    }

    async fn network(&mut self) {
        self.documents.ethernet = self.collection("/EthernetInterfaces").await;
        let mut folders: Vec<String> = Vec::new();
        let chassis: Vec<String> = list(&self.documents.system, "/Links/Chassis")
            .iter()
            .filter_map(link)
            .filter(|path| !self.quirks.avoided_chassis.iter().any(|part| path.contains(part)))
            .take(CHASSIS)
            .map(str::to_string)
            .collect();
        for path in chassis {
            let answer = self.client.read(&path).await;
            let folder = answer
                .and_then(|answer| link_at(&answer.body, "/NetworkAdapters").map(str::to_string));
            folders.extend(folder);
        }
        // An iLO 5 has the ports of its adapters here, and none or other ones in the chassis.
        let own = link_at(&self.documents.system, "/Oem/Hpe/Links/NetworkAdapters");
        folders.extend(own.map(str::to_string));
        for folder in folders {
            for answer in members(self.client, &folder, self.quirks.expand).await {
                let ports = ["/Ports", "/NetworkPorts"];
                let place = ports.iter().find(|place| link_at(&answer.body, place).is_some());
                let mut adapter = Adapter { adapter: answer.body, ..Adapter::default() };
                let expand = self.quirks.expand;
                if let Some(place) = place {
                    adapter.ports = linked(self.client, &adapter.adapter, place, expand).await;
                }
                let place = "/NetworkDeviceFunctions";
                adapter.functions = linked(self.client, &adapter.adapter, place, expand).await;
                self.documents.adapters.push(adapter);
            }
        }
    }

    async fn storage(&mut self) {
        let mut units = self.collection("/Storage").await;
        let mut volumes = "/Volumes";
        if units.is_empty() && self.quirks.smart_storage {
            units = self.smart_storage().await;
            volumes = "/Links/LogicalDrives";
        }
        if units.is_empty() {
            units = self.collection("/SimpleStorage").await;
        }
        for unit in units {
            let expand = self.quirks.expand;
            let of = link(&unit).unwrap_or("the drives").to_string();
            let named = list(&unit, "/Drives");
            let mut drives: Vec<Value> = resolve(self.client, &of, named)
                .await
                .into_iter()
                .map(|answer| answer.body)
                .collect();
            let place = "/Links/PhysicalDrives";
            drives.extend(linked(self.client, &unit, place, expand).await);
            let controllers = linked(self.client, &unit, "/Controllers", expand).await;
            let volumes = linked(self.client, &unit, volumes, expand).await;
            self.documents.storage.push(Unit { unit, controllers, drives, volumes });
        }
    }

    async fn smart_storage(&mut self) -> Vec<Value> {
        let smart = self.part("/Oem/Hpe/Links/SmartStorage").await;
        linked(self.client, &smart, "/Links/ArrayControllers", self.quirks.expand).await
    }

    async fn firmware(&mut self) {
        let Some(path) = link_at(&self.documents.root, "/UpdateService").map(str::to_string) else {
            return;
        };
        let Some(service) = self.client.read(&path).await else { return };
        let expand = self.quirks.expand;
        self.documents.firmware =
            linked(self.client, &service.body, "/FirmwareInventory", expand).await;
    }

    /// The account that was used, and its role. Many may not see them, which is no gap.
    async fn account(&mut self) {
        let Some(name) = self.client.username().map(str::to_string) else { return };
        if link_at(&self.documents.root, "/AccountService").is_none() {
            return;
        }
        let folder = format!("{ACCOUNTS}{}", self.quirks.expand.unwrap_or_default());
        let Ok(answer) = self.client.get(&folder).await else { return };
        for member in named(&answer.body) {
            let path = link(member).unwrap_or_default().to_string();
            let account = match crate::walk::is_full(member) {
                true => member.clone(),
                false => match self.client.get(&path).await {
                    Ok(answer) => answer.body,
                    Err(_) => continue,
                },
            };
            if at(&account, "/UserName").as_str() != Some(name.as_str()) {
                continue;
            }
            let role = link_at(&account, "/Links/Role").map(str::to_string);
            let role = role.or_else(|| {
                let id = text(&account, "/RoleId").filter(|id| !id.contains(['/', '?', '#']))?;
                Some(format!("/redfish/v1/AccountService/Roles/{id}"))
            });
            if let Some(role) = role {
                let answer = self.client.get(&role).await;
                self.documents.role = answer.map(|answer| answer.body).unwrap_or_default();
            }
            self.documents.account = account;
            return;
        }
    }

    /// A document that the system links to.
    async fn part(&mut self, pointer: &str) -> Value {
        let Some(path) = link_at(&self.documents.system, pointer).map(str::to_string) else {
            return Value::Null;
        };
        self.client.read(&path).await.map(|answer| answer.body).unwrap_or_default()
    }

    async fn collection(&mut self, pointer: &str) -> Vec<Value> {
        linked(self.client, &self.documents.system, pointer, self.quirks.expand).await
    }
}

/// A system has no members.
fn is_collection(body: &Value) -> bool {
    body.get("Members").is_some()
}
