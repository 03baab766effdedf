//! The user's own list of nodes that may join, read strictly: a line that means something else than was
//! meant would let a stranger in.
//!
//! ```yaml
//! nodes:
//! - name: worker-3
//!   addresses: [192.0.2.13, worker-3.lab.example]   # where they are known
//! ```

use plimsoll_yaml::{Kind, Limits, Node};

use crate::request::Addresses;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    pub name: String,
    pub addresses: Addresses,
}

/// What is wrong with the file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misread {
    pub line: u32,
    pub column: u32,
    pub message: String,
}

pub fn parse(text: &str) -> Result<Vec<Expected>, Misread> {
    let root = plimsoll_yaml::parse(text, &Limits::USER_FILE).map_err(|error| Misread {
        line: error.line,
        column: error.column,
        message: error.message,
    })?;
    known(&root, &["nodes"], "the file")?;
    let nodes = root.get("nodes").ok_or_else(|| at(&root, "'nodes' is missing".into()))?;
    if !matches!(nodes.kind, Kind::List(_)) {
        return Err(at(nodes, format!("'nodes' is a list, not {}", nodes.kind_name())));
    }
    let mut found: Vec<Expected> = Vec::new();
    for item in nodes.items() {
        let expected = node(item)?;
        if found.iter().any(|known| known.name == expected.name) {
            return Err(at(item, format!("'{}' is named twice", expected.name)));
        }
        found.push(expected);
    }
    match found.is_empty() {
        true => Err(at(nodes, "it names no node".into())),
        false => Ok(found),
    }
}

fn node(item: &Node) -> Result<Expected, Misread> {
    known(item, &["name", "addresses"], "a node")?;
    let name = item.get("name").ok_or_else(|| at(item, "'name' is missing".into()))?;
    let text = name.as_text().ok_or_else(|| at(name, "'name' must be text".into()))?;
    if !is_node_name(text) {
        let why = format!("'{text}' is no name of a node: a-z, 0-9, '-' and '.'");
        return Err(at(name, why));
    }
    let mut addresses = Addresses::default();
    if let Some(list) = item.get("addresses") {
        if !matches!(list.kind, Kind::List(_)) {
            return Err(at(list, format!("'addresses' is a list, not {}", list.kind_name())));
        }
        for one in list.items() {
            let text = one.as_text().unwrap_or_default();
            let is_address = text.parse::<std::net::IpAddr>().is_ok();
            if !is_address && (!is_node_name(text) || is_almost_an_address(text)) {
                return Err(at(one, format!("'{text}' is neither an address nor a host name")));
            }
            addresses.add(text);
        }
        if addresses.is_empty() {
            return Err(at(list, "leave 'addresses' out where none is known".into()));
        }
        // A kubelet asks for its name beside its addresses.
        addresses.add(text);
    }
    Ok(Expected { name: text.into(), addresses })
}

fn known(node: &Node, keys: &[&str], what: &str) -> Result<(), Misread> {
    if !matches!(node.kind, Kind::Map(_)) {
        let known = keys.join("', '");
        return Err(at(node, format!("{what} has '{known}', and this is {}", node.kind_name())));
    }
    match node.entries().iter().find(|(key, _)| !keys.contains(&key.name.as_str())) {
        Some((key, _)) => Err(Misread {
            line: key.line,
            column: key.column,
            message: format!("unknown key '{}'; there is '{}'", key.name, keys.join("', '")),
        }),
        None => Ok(()),
    }
}

fn at(node: &Node, message: String) -> Misread {
    Misread { line: node.line, column: node.column, message }
}

/// As Kubernetes names nodes: a DNS subdomain.
pub(crate) fn is_node_name(text: &str) -> bool {
    let part = |part: &str| {
        let of_it = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !part.is_empty()
            && part.bytes().all(of_it)
            && !part.starts_with('-')
            && !part.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(part)
}

/// `192.0.2.300` would be a host name.
fn is_almost_an_address(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn names_and_addresses_are_read() {
        let text = "nodes:\n- name: worker-3\n  addresses: [192.0.2.13, 'fd00::13', Worker-3.lab.example]\n";
        let found = parse(&text.replace("Worker", "worker")).unwrap();
        assert_eq!(found[0].name, "worker-3");
        let names: Vec<&String> = found[0].addresses.names.iter().collect();
        assert_eq!(names, ["worker-3", "worker-3.lab.example"]);
        assert_eq!(found[0].addresses.ips.len(), 2);
        assert!(parse("nodes: [{name: a}]").unwrap()[0].addresses.is_empty());
    }

    #[test]
    fn everything_else_is_an_error_with_its_place() {
        for (text, place, says) in [
            ("nodes:\n- nam: a\n", (2, 3), "unknown key 'nam'"),
            ("nodes:\n- name: a\n  address: [192.0.2.1]\n", (3, 3), "unknown key 'address'"),
            ("hosts: []\n", (1, 1), "unknown key 'hosts'"),
            ("nodes: []\n", (1, 8), "it names no node"),
            ("nodes: a\n", (1, 8), "'nodes' is a list"),
            ("- a\n", (1, 1), "the file has 'nodes'"),
            ("nodes:\n- a\n", (2, 3), "a node has 'name', 'addresses'"),
            ("nodes:\n- addresses: [a]\n", (2, 3), "'name' is missing"),
            ("nodes:\n- name: Worker\n", (2, 9), "'Worker' is no name"),
            ("nodes:\n- name: a*\n", (2, 9), "'a*' is no name"),
            ("nodes:\n- name: 7\n", (2, 9), "'name' must be text"),
            ("nodes:\n- name: a\n- name: a\n", (3, 3), "'a' is named twice"),
            ("nodes:\n- name: a\n  addresses: b\n", (3, 14), "'addresses' is a list"),
            ("nodes:\n- name: a\n  addresses: []\n", (3, 14), "leave 'addresses' out"),
            (
                "nodes:\n- name: a\n  addresses: [192.0.2.300]\n",
                (3, 15),
                "'192.0.2.300' is neither",
            ),
            (
                "nodes:\n- name: a\n  addresses: [192.0.2.0/24]\n",
                (3, 15),
                "'192.0.2.0/24' is neither",
            ),
        ] {
            let found = parse(text).unwrap_err();
            assert!(found.message.starts_with(says), "{text}: {}", found.message);
            assert_eq!((found.line, found.column), place, "{text}: {}", found.message);
        }
        assert!(parse("nodes: [").is_err() && parse("").is_err());
    }
}
