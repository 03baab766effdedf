//! What one BMC told. What is not in it is unknown, never false.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::address::Endpoint;

pub const SCHEMA: &str = "plimsoll.bmc/v1";

/// A part of which any field may be missing, and which says nothing of those that are.
macro_rules! record {
    ($(#[$meta:meta])* $name:ident { $($(#[$note:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct $name {
            $($(#[$note])* #[serde(skip_serializing_if = "Absent::is_absent")] pub $field: $type,)*
        }
    };
}

/// A word of a fixed list; the first is what is not known otherwise.
macro_rules! word {
    ($(#[$meta:meta])* $name:ident { $first:ident, $($other:ident,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum $name { #[default] $first, $($other,)* }

    };
}

trait Absent {
    fn is_absent(&self) -> bool;
}

impl<T> Absent for Option<T> {
    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T> Absent for Vec<T> {
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl<K, V> Absent for BTreeMap<K, V> {
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

macro_rules! never_absent {
    ($($type:ty),*) => {
        $(impl Absent for $type {
            fn is_absent(&self) -> bool {
                false
            }
        })*
    };
}

never_absent!(String, bool, u16, Reach, Auth, Privilege);
never_absent!(ReachStatus, AuthStatus, Permission, Family);

record! { Reading {
    schema: String,
    name: String,
    /// When it was asked, by our clock.
    time: Option<String>,
    /// Without user information.
    address: String,
    endpoint: Option<Endpoint>,
    /// Whether its certificate had to be trusted. Older readings do not say it.
    verify: Option<bool>,
    reach: Reach,
    tls: Option<Tls>,
    auth: Auth,
    privilege: Privilege,
    service: Option<Service>,
    system: Option<System>,
    manager: Option<Manager>,
    virtual_media: Vec<VirtualMedia>,
    nics: Vec<Nic>,
    storage: Vec<Storage>,
    /// The scalar ones, passwords left out.
    bios: BTreeMap<String, String>,
    firmware: Vec<Firmware>,
    /// The newest first.
    events: Vec<Event>,
    /// What did not answer with 200.
    asked: Vec<Asked>,
    /// What could not be read.
    gaps: Vec<Gap>,
    complete: bool,
} }

record! { Reach {
    status: ReachStatus,
    detail: Option<String>,
} }

word! { ReachStatus {
    NotRedfish,
    Answered,
    Refused,
    TimedOut,
    NoRoute,
    Unresolved,
    Lost,
    TlsFailed,
} }

record! { Tls {
    trusted: Option<bool>,
    /// expired, not-yet-valid, unknown-issuer, wrong-name, self-signed, or other words.
    why: Option<String>,
    subject: Option<String>,
    issuer: Option<String>,
    not_before: Option<String>,
    not_after: Option<String>,
    names: Vec<String>,
    version: Option<String>,
} }

record! { Auth {
    status: AuthStatus,
    detail: Option<String>,
} }

word! { AuthStatus {
    Unknown,
    Accepted,
    Unauthorized,
    Forbidden,
    Locked,
} }

record! {
    /// Judged by what can be read. Nothing is tried.
    Privilege {
        virtual_media: Permission,
        boot_override: Permission,
        role: Option<String>,
        detail: Option<String>,
    }
}

word! { Permission {
    Unknown,
    Allowed,
    Denied,
} }

record! { Service {
    redfish_version: Option<String>,
    product: Option<String>,
    vendor: Option<String>,
    quirk: Family,
    /// iDRAC9, iLO 5 and the like.
    generation: Option<String>,
} }

word! { Family {
    Generic,
    Idrac,
    Ilo,
    Supermicro,
    Lenovo,
} }

record! { System {
    path: Option<String>,
    paths_offered: Vec<String>,
    manufacturer: Option<String>,
    model: Option<String>,
    sku: Option<String>,
    serial: Option<String>,
    uuid: Option<String>,
    bios_version: Option<String>,
    power: Option<String>,
    health: Option<String>,
    memory_gib: Option<f64>,
    processors: Option<Processors>,
    boot: Option<Boot>,
    secure_boot: Option<bool>,
    post_state: Option<String>,
} }

record! { Processors {
    count: Option<u64>,
    cores: Option<u64>,
    threads: Option<u64>,
    model: Option<String>,
} }

record! { Boot {
    /// uefi, legacy or dual.
    mode: Option<String>,
    override_enabled: Option<String>,
    override_target: Option<String>,
    override_mode: Option<String>,
    allowed_targets: Vec<String>,
} }

record! { Manager {
    path: Option<String>,
    model: Option<String>,
    firmware: Option<String>,
    /// As told.
    clock: Option<String>,
    /// Of the BMC's clock, before ours where it is negative.
    offset_seconds: Option<i64>,
    ntp: Option<Ntp>,
} }

record! { Ntp {
    enabled: Option<bool>,
    servers: Vec<String>,
} }

record! { VirtualMedia {
    id: String,
    path: Option<String>,
    media_types: Vec<String>,
    inserted: Option<bool>,
    /// Without user information and query.
    image: Option<String>,
    connected_via: Option<String>,
    can_insert: Option<bool>,
    can_eject: Option<bool>,
} }

record! { Nic {
    id: String,
    name: Option<String>,
    mac: Option<String>,
    enabled: Option<bool>,
    link: Option<Link>,
    speed_mbps: Option<u64>,
    model: Option<String>,
    firmware: Option<String>,
    port_id: Option<String>,
    transceiver: Option<Transceiver>,
} }

word! { Link {
    Down,
    Up,
    NoLink,
} }

record! { Transceiver {
    present: Option<bool>,
    vendor: Option<String>,
    part: Option<String>,
    serial: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
} }

record! { Storage {
    id: String,
    controller: Option<String>,
    firmware: Option<String>,
    raid_mode: Option<String>,
    drives: Vec<Drive>,
    volumes: Vec<Volume>,
} }

record! { Drive {
    id: String,
    model: Option<String>,
    serial: Option<String>,
    capacity_bytes: Option<u64>,
    media: Option<String>,
    protocol: Option<String>,
    health: Option<String>,
    /// What a root device hint can name it by: `wwn=…` or `serialNumber=…`.
    hint_name: Option<String>,
} }

record! { Volume {
    id: String,
    raid: Option<String>,
    capacity_bytes: Option<u64>,
} }

record! { Firmware {
    id: String,
    name: Option<String>,
    version: Option<String>,
} }

record! { Event {
    time: Option<String>,
    severity: Option<String>,
    message: Option<String>,
    id: Option<String>,
} }

record! { Asked {
    path: String,
    status: u16,
} }

record! { Gap {
    what: String,
    why: String,
} }
