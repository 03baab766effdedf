//! What may be shown of a line that stands beside a change: nobody knows what a key means that no field has, and
//! people write passwords into comments.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use plimsoll_install::{Expected, File, Release};
use plimsoll_model::redact::redact;

/// Of nmstate, whose keys are no fields of the installer.
const NMSTATE: [&str; 31] = [
    "address",
    "auto-dns",
    "auto-gateway",
    "auto-routes",
    "autoconf",
    "base-iface",
    "bridge",
    "config",
    "destination",
    "dhcp",
    "dns-resolver",
    "enabled",
    "id",
    "identifier",
    "ip",
    "ipv4",
    "ipv6",
    "link-aggregation",
    "mac-address",
    "mode",
    "mtu",
    "next-hop-address",
    "next-hop-interface",
    "options",
    "port",
    "prefix-length",
    "routes",
    "search",
    "server",
    "state",
    "vlan",
];

/// A comment with one of these may hold what nobody should see.
const LOOSE: [&str; 7] = ["password", "passwd", "login", "secret", "token", "root", "credential"];

/// Deeper than any field.
const DEEPEST: usize = 8;

static KEYS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let mut keys: BTreeSet<String> = NMSTATE.iter().map(|key| (*key).to_string()).collect();
    for file in [File::Install, File::Agent] {
        for release in Release::ALL {
            collect(Expected::of(file), release, DEEPEST, &mut keys);
        }
    }
    keys
});

fn collect(expected: Expected, release: Release, depth: usize, keys: &mut BTreeSet<String>) {
    let expected = expected.item().unwrap_or(expected);
    for key in expected.keys(release) {
        keys.insert(key.to_lowercase());
        if let Some((_, below)) = expected.field(key, release).filter(|_| depth > 0) {
            collect(below, release, depth - 1, keys);
        }
    }
}

/// Whether it is a key that a config can have, in any case.
pub fn is_of_a_file(key: &str) -> bool {
    KEYS.contains(&key.to_lowercase())
}

/// A line with its comment, or without what may be a secret in it.
pub fn without_loose_talk(line: &str) -> String {
    let comment = if line.trim_start().starts_with('#') { line.find('#') } else { line.find(" #") };
    let Some((before, comment)) = comment.map(|at| line.split_at(at)) else { return line.into() };
    let lower = comment.to_lowercase();
    let is_loose = LOOSE.iter().any(|word| lower.contains(word)) || redact(comment) != comment;
    if is_loose {
        format!("{}# …", &line[..before.len() + comment.len() - comment.trim_start().len()])
    } else {
        line.into()
    }
}
