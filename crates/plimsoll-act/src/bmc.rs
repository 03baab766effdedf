//! Power and virtual media of one machine, through its BMC. The machine is the one whose serial number
//! was expected, whatever address answers.

use std::time::Duration;

use plimsoll_bmc::{Hand, HostBmc, Machine, Patience, Switch, Target as Address, Unchanged};
use plimsoll_model::plan::{Action, Power, Step, sha256};
use plimsoll_model::{EntityId, Time};
use plimsoll_repair::resource;

use crate::api::Api;
use crate::target::{Kept, Sight, Standing, Target, Trouble};

/// For a machine to be on or off.
const SETTLES: Duration = Duration::from_secs(120);

/// What tells one machine from every other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub serial: Option<String>,
    pub uuid: Option<String>,
    pub model: Option<String>,
}

pub struct BmcTarget {
    /// As the plan calls it.
    name: String,
    address: Address,
    patience: Patience,
    clock: fn() -> Time,
    serial: Option<String>,
    settles: Duration,
}

impl BmcTarget {
    pub fn new(name: &str, address: Address, patience: Patience, clock: fn() -> Time) -> Self {
        Self { name: name.into(), address, patience, clock, serial: None, settles: SETTLES }
    }

    /// Nothing is done to a machine with another serial number, or with none.
    pub fn expecting(mut self, serial: &str) -> Self {
        self.serial = Some(serial.into());
        self
    }

    /// How long a machine may take to be on or off.
    pub fn settling_within(mut self, limit: Duration) -> Self {
        self.settles = limit;
        self
    }

    pub fn identity(&self) -> Result<Identity, Trouble> {
        let machine = self.with(async |_, machine| Ok(machine))?;
        Ok(Identity { serial: machine.serial, uuid: machine.uuid, model: machine.model })
    }

    /// Opens the BMC, makes sure of the machine, and does it.
    fn with<T: Send>(
        &self,
        work: impl AsyncFnOnce(&mut Hand, Machine) -> Result<T, Unchanged> + Send,
    ) -> Result<T, Trouble> {
        let failed = |why: String| Trouble::Failed(why);
        let done = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map_err(|error| failed(error.to_string()))?.block_on(async {
                let mut hand = Hand::open(&self.address, &self.patience, self.clock)
                    .await
                    .map_err(|unchanged| self.trouble(unchanged))?;
                let machine = hand.machine();
                self.is_meant(&machine)?;
                work(&mut hand, machine).await.map_err(|unchanged| self.trouble(unchanged))
            })
        };
        // On a thread of its own: whoever calls may be in the middle of a runtime.
        std::thread::scope(|scope| {
            let waiting = scope.spawn(done);
            waiting.join().unwrap_or_else(|_| Err(failed("the request ended in a fault".into())))
        })
    }

    fn is_meant(&self, machine: &Machine) -> Result<(), Trouble> {
        let Some(expected) = &self.serial else { return Ok(()) };
        match &machine.serial {
            Some(serial) if serial.eq_ignore_ascii_case(expected) => Ok(()),
            other => {
                let other = other.as_deref().unwrap_or("unknown");
                let why = format!("{}: the machine is {other}, not {expected}", self.name);
                Err(Trouble::Stale(why))
            }
        }
    }

    fn trouble(&self, unchanged: Unchanged) -> Trouble {
        let said = |why: String| format!("BMC of {}: {why}", self.name);
        match unchanged {
            Unchanged::Lost(why) => Trouble::Lost(said(why)),
            Unchanged::Refused(why) => Trouble::Refused(said(why)),
            Unchanged::Failed(why) => Trouble::Failed(said(why)),
        }
    }

    fn machine_at_rest(&self) -> Result<Machine, Trouble> {
        self.with(async |hand, _| {
            hand.at_rest(self.settles).await?;
            Ok(hand.machine())
        })
    }

    fn switch(&self, to: Power) -> Result<String, Trouble> {
        let to = switch(to);
        self.with(async |hand, _| hand.switch(to, self.settles).await)?;
        Ok(format!("{} is {}", self.name, to.state()))
    }
}

/// The BMC behind a BareMetalHost. Its credentials are read for this and kept nowhere.
pub fn bmc_of_cluster(api: &Api, host: &str) -> Result<Option<Address>, Trouble> {
    const NAMESPACE: &str = "openshift-machine-api";
    let of = |kind: &str, name: &str| {
        let entity = EntityId::namespaced(kind, NAMESPACE, name);
        match resource(&entity) {
            Some(object) => api.get(&object),
            None => Ok(None),
        }
    };
    let Some(found) = of("BareMetalHost", host)? else { return Ok(None) };
    let Some(bmc) = HostBmc::of(&found).filter(|bmc| !bmc.credentials.is_empty()) else {
        return Ok(None);
    };
    let secret = of("Secret", &bmc.credentials)?;
    Ok(Some(bmc.target(secret.as_ref())))
}

fn switch(to: Power) -> Switch {
    match to {
        Power::On => Switch::On,
        Power::Off => Switch::Off,
    }
}

fn opposite(to: Power) -> Power {
    match to {
        Power::On => Power::Off,
        Power::Off => Power::On,
    }
}

fn foreign() -> Trouble {
    Trouble::Failed("this is nothing that a BMC does".into())
}

/// Slots that hold something, and what.
fn inserted(machine: &Machine) -> Vec<String> {
    let full = machine.media.iter().filter(|slot| slot.inserted.unwrap_or(slot.image.is_some()));
    full.map(|slot| format!("{} {}", slot.id, slot.image.as_deref().unwrap_or("something")))
        .collect()
}

fn hash(machine: &Machine, about: &str) -> String {
    let serial = machine.serial.as_deref().unwrap_or_default();
    sha256(format!("{serial}\n{about}").as_bytes())
}

impl Target for BmcTarget {
    fn look(&self, step: &Step) -> Result<Sight, Trouble> {
        let machine = self.machine_at_rest()?;
        match &step.action {
            Action::Power { to } => {
                let state = machine.power.as_deref().unwrap_or("unknown");
                let standing = match state {
                    state if state == switch(*to).state() => Standing::Done,
                    state if state == switch(opposite(*to)).state() => Standing::Ahead,
                    other => Standing::Elsewhere(format!("the power of {} is {other}", self.name)),
                };
                Ok(Sight { standing, hash: hash(&machine, state), object: None })
            }
            Action::EjectMedia => {
                let full = inserted(&machine);
                let standing = if full.is_empty() { Standing::Done } else { Standing::Ahead };
                Ok(Sight { standing, hash: hash(&machine, &full.join("\n")), object: None })
            }
            _ => Err(foreign()),
        }
    }

    /// A BMC has no dry run.
    fn rehearse(&self, _: &Step) -> Result<(), Trouble> {
        Ok(())
    }

    fn keep(&self, step: &Step) -> Result<Vec<Kept>, Trouble> {
        let machine = self.machine_at_rest()?;
        let serial = machine.serial.as_deref().unwrap_or("unknown");
        let about = match &step.action {
            Action::Power { .. } => machine.power.clone().unwrap_or_else(|| "unknown".into()),
            Action::EjectMedia => inserted(&machine).join(", "),
            _ => return Err(foreign()),
        };
        let place = format!("{} (serial number {serial}) had: {about}", self.name);
        Ok(vec![Kept { place, sha256: hash(&machine, &about) }])
    }

    fn act(&self, step: &Step) -> Result<String, Trouble> {
        match &step.action {
            Action::Power { to } => self.switch(*to),
            Action::EjectMedia => {
                let count = self.with(async |hand, _| hand.eject().await)?;
                Ok(format!("{}: {count} ejected", self.name))
            }
            _ => Err(foreign()),
        }
    }

    fn undo(&self, step: &Step, _: Option<&str>) -> Result<String, Trouble> {
        match &step.action {
            Action::Power { to } => self.switch(opposite(*to)),
            Action::EjectMedia => {
                Err(Trouble::Failed("what was in the drive is known to its owner only".into()))
            }
            _ => Err(foreign()),
        }
    }
}
