//! Power and virtual media of one machine. It is known by what its BMC says it is, never by its address.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use tokio::time::Instant;

use crate::client::{Client, Failure};
use crate::documents::{Documents, Media};
use crate::gather::Gathering;
use crate::inventory::media;
use crate::quirks::Quirks;
use crate::reading::VirtualMedia;
use crate::target::{Patience, Target};
use crate::value::{at, link_at, list, same_path, text, texts};
use crate::{address, reach, scrub, service_root};

const BETWEEN_LOOKS: Duration = Duration::from_secs(2);
/// At a slot that was ejected.
const LOOKS: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    On,
    Off,
}

impl Switch {
    /// As Redfish says it.
    pub fn state(self) -> &'static str {
        match self {
            Switch::On => "On",
            Switch::Off => "Off",
        }
    }
}

/// Why nothing came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unchanged {
    /// It does not answer; what was asked may have been done.
    Lost(String),
    /// It does not permit it.
    Refused(String),
    /// It cannot do it.
    Failed(String),
}

/// What a BMC says its machine is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    pub serial: Option<String>,
    pub uuid: Option<String>,
    pub model: Option<String>,
    /// On, Off, PoweringOn, PoweringOff.
    pub power: Option<String>,
    pub media: Vec<VirtualMedia>,
}

/// A BMC that answered, with the one system that is meant.
pub struct Hand {
    client: Client,
    target: Target,
    documents: Documents,
    quirks: &'static Quirks,
    path: String,
}

impl Hand {
    /// Looks for the system that the address names.
    pub async fn open(
        target: &Target,
        patience: &Patience,
        clock: impl Fn() -> Timestamp,
    ) -> Result<Self, Unchanged> {
        let said = |why: String| scrub::scrub_text(why, target);
        let lost = |why: String| Unchanged::Lost(said(why));
        let endpoint = address::parse(&target.address).map_err(Unchanged::Failed)?;
        let deadline = Instant::now() + patience.total;
        let looked = reach::look(&endpoint, target, patience, clock());
        let (address, _) = match tokio::time::timeout_at(deadline, looked).await {
            Ok(Ok(found)) => found,
            Ok(Err((reach, _))) => return Err(lost(reach.detail.unwrap_or_default())),
            Err(_) => return Err(lost("the time for this BMC is over".into())),
        };
        let mut client =
            Client::new(&endpoint, address, target, patience, deadline, clock()).map_err(lost)?;
        let root = service_root(&mut client).await;
        let root = root.map_err(|reach| lost(reach.detail.unwrap_or_default()))?;
        client.send_credentials();
        let unchanged = |failure: Failure| unchanged(failure, target);
        let mut gathering = Gathering::new(&mut client, clock, root);
        gathering.systems().await.map_err(unchanged)?;
        let path = meant(&gathering.documents.systems, endpoint.system_path.as_deref())?;
        let answer = gathering.client.get(&path).await.map_err(unchanged)?;
        gathering.documents.system = answer.body;
        gathering.documents.system_path = Some(path.clone());
        gathering.manager().await;
        gathering.media().await;
        let (documents, quirks) = (gathering.documents, gathering.quirks);
        Ok(Self { client, target: target.clone(), documents, quirks, path })
    }

    pub fn machine(&self) -> Machine {
        let system = &self.documents.system;
        let said = |text: String| scrub::scrub_text(text, &self.target);
        Machine {
            serial: text(system, "/SerialNumber").map(said),
            uuid: text(system, "/UUID").map(|uuid| said(uuid.to_ascii_lowercase())),
            model: text(system, "/Model").map(said),
            power: text(system, "/PowerState").map(said),
            media: media::all(&self.documents, self.quirks),
        }
    }

    /// Asks for it and waits until it is so.
    pub async fn switch(&mut self, to: Switch, limit: Duration) -> Result<(), Unchanged> {
        let offered = self.resets_offered().await;
        let wanted = match to {
            Switch::On => self.quirks.resets_on,
            Switch::Off => self.quirks.resets_off,
        };
        let Some(kind) = reset_type(&offered, wanted) else {
            let why = format!("it offers no way to switch it {}", to.state().to_lowercase());
            return Err(Unchanged::Failed(why));
        };
        let own = text(&self.documents.system, "/Actions/#ComputerSystem.Reset/target");
        let usual = format!("{}/Actions/ComputerSystem.Reset", self.path.trim_end_matches('/'));
        let place = own.unwrap_or(usual);
        let asked = self.client.post(&place, &json!({"ResetType": kind})).await;
        let refused = match asked {
            Ok(()) => None,
            // Some refuse to switch on what is on: whether it is so is seen below.
            Err(failure) if matches!(failure.status, Some(400 | 409 | 500)) => Some(failure),
            Err(failure) => return Err(unchanged(failure, &self.target)),
        };
        match (self.settled(to, refused.is_some(), limit).await, refused) {
            (Ok(()), _) => Ok(()),
            (Err(_), Some(failure)) => Err(unchanged(failure, &self.target)),
            (Err(trouble), None) => Err(trouble),
        }
    }

    /// Until it is on or off. `once`: it is so now, or it is not.
    async fn settled(&mut self, to: Switch, once: bool, limit: Duration) -> Result<(), Unchanged> {
        let end = Instant::now() + limit;
        loop {
            let state = self.power().await?;
            if state == to.state() {
                return Ok(());
            }
            if once || Instant::now() >= end {
                return Err(Unchanged::Failed(format!("it is still {state}")));
            }
            tokio::time::sleep(BETWEEN_LOOKS.min(limit)).await;
        }
    }

    /// Waits while it is on its way to on or off.
    pub async fn at_rest(&mut self, limit: Duration) -> Result<(), Unchanged> {
        let end = Instant::now() + limit;
        while self.power().await?.starts_with("Powering") && Instant::now() < end {
            tokio::time::sleep(BETWEEN_LOOKS.min(limit)).await;
        }
        Ok(())
    }

    async fn power(&mut self) -> Result<String, Unchanged> {
        let answer = self.client.get(&self.path.clone()).await;
        let answer = answer.map_err(|failure| unchanged(failure, &self.target))?;
        self.documents.system = answer.body;
        self.machine().power.ok_or_else(|| Unchanged::Failed("it does not tell its power".into()))
    }

    /// In the document itself or, as newer services have it, in one of its own.
    async fn resets_offered(&mut self) -> Vec<String> {
        let action = at(&self.documents.system, "/Actions/#ComputerSystem.Reset");
        let inline = texts(action, "/ResetType@Redfish.AllowableValues");
        let place = text(action, "/@Redfish.ActionInfo");
        match place {
            Some(place) if inline.is_empty() => {
                let Ok(answer) = self.client.get(&place).await else { return Vec::new() };
                let mut parameters = list(&answer.body, "/Parameters").iter();
                let of = parameters.find(|one| text(one, "/Name").as_deref() == Some("ResetType"));
                of.map(|of| texts(of, "/AllowableValues")).unwrap_or_default()
            }
            _ => inline,
        }
    }

    /// Every slot that holds something. How many there were.
    pub async fn eject(&mut self) -> Result<usize, Unchanged> {
        if let Some(why) = &self.documents.media_refused {
            return Err(Unchanged::Refused(scrub::scrub_text(why.clone(), &self.target)));
        }
        let full: Vec<Media> = self
            .documents
            .media
            .iter()
            .filter(|slot| is_full(slot, self.quirks))
            .cloned()
            .collect();
        for slot in &full {
            self.empty(slot).await.map_err(|failure| unchanged(failure, &self.target))?;
        }
        for _ in 0..LOOKS {
            if self.is_empty(&full).await? {
                return Ok(full.len());
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        Err(Unchanged::Failed("it took the request and still holds its media".into()))
    }

    async fn is_empty(&mut self, slots: &[Media]) -> Result<bool, Unchanged> {
        for slot in slots {
            let Some(path) = link_at(&slot.document, "").map(str::to_string) else { continue };
            let answer = self.client.get(&path).await;
            let answer = answer.map_err(|failure| unchanged(failure, &self.target))?;
            let now = Media { document: answer.body, allow: answer.allow };
            if is_full(&now, self.quirks) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn empty(&mut self, slot: &Media) -> Result<(), Failure> {
        let nothing = || Failure { status: Some(501), why: "it offers no way to eject".into() };
        let action = text(&slot.document, "/Actions/#VirtualMedia.EjectMedia/target");
        let path = link_at(&slot.document, "").map(str::to_string);
        let by_patch = || json!({"Image": null, "Inserted": false});
        match (action, path) {
            (Some(action), path) => match self.client.post(&action, &json!({})).await {
                Err(Failure { status: Some(404 | 405 | 501), .. }) if path.is_some() => {
                    self.client.patch(&path.unwrap_or_default(), &by_patch()).await
                }
                answer => answer,
            },
            (None, Some(path)) => self.client.patch(&path, &by_patch()).await,
            (None, None) => Err(nothing()),
        }
    }
}

/// The one that the address names; where it names none, the only one.
fn meant(offered: &[String], asked_for: Option<&str>) -> Result<String, Unchanged> {
    let failed = |why: &str| Err(Unchanged::Failed(why.into()));
    match (asked_for, offered) {
        (Some(path), _) => match offered.iter().find(|known| same_path(known, path)) {
            Some(known) => Ok(known.clone()),
            None => failed("the address names a system that the BMC does not have"),
        },
        (None, [only]) => Ok(only.clone()),
        (None, []) => failed("the BMC has no system"),
        (None, _) => failed("the BMC has several systems, and the address names none of them"),
    }
}

/// A service that does not say what it offers is asked for the usual.
fn reset_type(offered: &[String], wanted: &[&'static str]) -> Option<&'static str> {
    let mut wanted = wanted.iter().copied();
    match offered.is_empty() {
        true => wanted.next(),
        false => wanted.find(|kind| offered.iter().any(|one| one == kind)),
    }
}

fn is_full(slot: &Media, quirks: &Quirks) -> bool {
    let shown = media::of(slot, quirks);
    shown.inserted.unwrap_or(shown.image.is_some())
}

fn unchanged(failure: Failure, target: &Target) -> Unchanged {
    let why = scrub::scrub_text(failure.why, target);
    match failure.status {
        None => Unchanged::Lost(why),
        Some(401 | 403) => Unchanged::Refused(why),
        Some(_) => Unchanged::Failed(why),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::quirks::classify;

    #[test]
    fn the_best_offered_reset_is_taken_and_none_is_made_up() {
        let quirks = classify(&Value::Null, &Value::Null);
        let of = |offered: &[&str], wanted| {
            let offered: Vec<String> = offered.iter().map(|one| one.to_string()).collect();
            reset_type(&offered, wanted)
        };
        assert_eq!(of(&[], quirks.resets_off), Some("ForceOff"));
        assert_eq!(of(&["On", "GracefulShutdown"], quirks.resets_off), Some("GracefulShutdown"));
        assert_eq!(of(&["ForceOff", "GracefulShutdown"], quirks.resets_off), Some("ForceOff"));
        assert_eq!(of(&["ForceOn"], quirks.resets_on), Some("ForceOn"));
        assert_eq!(of(&["Nmi", "PowerCycle"], quirks.resets_off), None);
    }

    #[test]
    fn a_system_is_never_guessed() {
        let two = ["/redfish/v1/Systems/1".to_string(), "/redfish/v1/Systems/2".to_string()];
        assert_eq!(meant(&two, Some("/redfish/v1/Systems/2/")).unwrap(), two[1]);
        assert!(meant(&two, None).is_err());
        assert!(meant(&two[..1], Some("/redfish/v1/Systems/2")).is_err());
        assert_eq!(meant(&two[..1], None).unwrap(), two[0]);
        assert!(meant(&[], None).is_err());
    }
}
