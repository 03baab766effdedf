//! The little that the installer reads of a host's network config.

use plimsoll_yaml::{Kind, Node};

use crate::decode::{Value, decode};
use crate::reader::At;
use crate::release::Release;
use crate::schema::{Shape, TEXT, Type, field};

/// Go spells out structs that have no name, tags and all.
macro_rules! address_go_type {
    () => {
        r#"[]struct { IP string "yaml:\"ip,omitempty\"" }"#
    };
}
macro_rules! family_go_type {
    () => {
        concat!("struct { Address ", address_go_type!(), r#" "yaml:\"address,omitempty\"" }"#)
    };
}
macro_rules! interface_go_type {
    () => {
        concat!(
            "struct { IPV4 ",
            family_go_type!(),
            r#" "yaml:\"ipv4,omitempty\""; IPV6 "#,
            family_go_type!(),
            r#" "yaml:\"ipv6,omitempty\"" }"#
        )
    };
}

const INTERFACES: Type =
    Type::List(concat!("[]", interface_go_type!()), &Type::Struct(&ADDRESSED_INTERFACE));

static ADDRESSES: Shape = Shape {
    name: "nmStateConfig",
    go_type: "agent.nmStateConfig",
    fields: &[field("Interfaces", INTERFACES)],
};
/// Until 4.15 the same type lived in another package.
static ADDRESSES_UNTIL_4_15: Shape = Shape {
    name: "nmStateConfig",
    go_type: "manifests.nmStateConfig",
    fields: &[field("Interfaces", INTERFACES)],
};
static ADDRESSED_INTERFACE: Shape = Shape {
    name: "",
    go_type: interface_go_type!(),
    fields: &[field("IPV4", Type::Struct(&FAMILY)), field("IPV6", Type::Struct(&FAMILY))],
};
static FAMILY: Shape = Shape {
    name: "",
    go_type: family_go_type!(),
    fields: &[field("Address", Type::List(address_go_type!(), &Type::Struct(&ADDRESS)))],
};
static ADDRESS: Shape = Shape {
    name: "",
    go_type: r#"struct { IP string "yaml:\"ip,omitempty\"" }"#,
    fields: &[field("IP", TEXT)],
};

static NAMES: Shape = Shape {
    name: "nmStateInterface",
    go_type: "agentconfig.nmStateInterface",
    fields: &[field(
        "Interfaces",
        Type::List(
            r#"[]struct { MACAddress string "json:\"mac-address,omitempty\""; Name string "json:\"name,omitempty\"" }"#,
            &Type::Struct(&NAMED_INTERFACE),
        ),
    )],
};
static NAMED_INTERFACE: Shape = Shape {
    name: "",
    go_type: r#"struct { MACAddress string "json:\"mac-address,omitempty\""; Name string "json:\"name,omitempty\"" }"#,
    fields: &[field("mac-address", TEXT), field("name", TEXT)],
};

fn read<T>(config: &Node, shape: &'static Shape, read: impl Fn(&Value) -> T) -> Result<T, String> {
    // The shapes are the same in every release; only the file's own keys change with it.
    let decoded = decode(config.clone(), shape, Release::V4_18);
    match decoded.errors.into_iter().next() {
        None => Ok(read(&decoded.root)),
        Some(fault) => Err(format!(
            "error unmarshalling NMStateConfig: error unmarshaling JSON: while decoding JSON: {}",
            fault.text
        )),
    }
}

/// All addresses in the order in which the installer looks: per interface IPv4, then IPv6.
pub(super) fn addresses(config: &Node, release: Release) -> Result<Vec<String>, String> {
    let shape = if release <= Release::V4_15 { &ADDRESSES_UNTIL_4_15 } else { &ADDRESSES };
    read(config, shape, |root| {
        let mut found = Vec::new();
        for interface in At::root(root).field("Interfaces").items().unwrap_or_default() {
            for family in ["IPV4", "IPV6"] {
                let list = interface.at(&[family, "Address"]).items().unwrap_or_default();
                let addresses = list.into_iter().map(|at| at.field("IP").text().value);
                found.extend(addresses.filter(|address| !address.is_empty()));
            }
        }
        found
    })
}

/// Interfaces that have a name and a MAC address.
pub(super) fn named_interfaces(config: &Node) -> Result<Vec<(String, String)>, String> {
    read(config, &NAMES, |root| {
        let interfaces = At::root(root).field("Interfaces").items().unwrap_or_default();
        let named = interfaces.into_iter().map(|interface| {
            (interface.field("name").text().value, interface.field("mac-address").text().value)
        });
        named.filter(|(name, mac)| !name.is_empty() && !mac.is_empty()).collect()
    })
}

/// Until 4.15 the installer searched the text of the config for an address.
pub(super) fn mentions(config: &Node, text: &str) -> bool {
    match &config.kind {
        Kind::Text(value) => value.contains(text),
        Kind::List(items) => items.iter().any(|item| mentions(item, text)),
        Kind::Map(entries) => {
            entries.iter().any(|(key, value)| key.name.contains(text) || mentions(value, text))
        }
        _ => false,
    }
}
