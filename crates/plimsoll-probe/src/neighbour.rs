//! Which machines answer for one address on the link. Two of them have the same address, and each
//! connection reaches whichever was heard last.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::process::Stdio;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::process::Command;
use tokio::time::{sleep, timeout};

use crate::answer::Outcome;
use crate::connect::connect_to;
use crate::reach::{Reach, shown};

const PROC_ARP: &str = "/proc/net/arp";
const COMMAND: Duration = Duration::from_secs(5);
const MOST_TRIES: u32 = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeighbourProbe {
    pub address: IpAddr,
    /// A connection to it makes the kernel ask who has the address.
    pub touch: u16,
    pub tries: u32,
    pub pause: Duration,
    /// Whether the kernel shall forget what it knows before each try. Else it asks again only when
    /// its entry is old, and even then asks the machine that it knows. Takes the right to administer
    /// the network, and touches nothing but this cache; without the right it does nothing.
    pub forget: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbours {
    /// Done; the first that sees a second machine is the last.
    pub tries: u32,
    /// Sorted. Empty for an address behind a router, and for one that nobody answers for.
    pub seen: Vec<Seen>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Seen {
    pub device: String,
    pub mac: String,
    /// As the kernel last put it: `REACHABLE`, `STALE`.
    pub state: String,
    /// In how many of the tries.
    pub count: u32,
}

impl Neighbours {
    /// More than one machine on one link answers for the address. That only one is seen proves
    /// nothing: the faster of two may be heard first every time.
    pub fn conflict(&self) -> bool {
        self.seen.windows(2).any(|pair| pair[0].device == pair[1].device)
    }
}

impl NeighbourProbe {
    pub async fn ask(&self, limit: Duration) -> (Option<IpAddr>, Outcome) {
        let mut seen: BTreeMap<(String, String), Seen> = BTreeMap::new();
        let mut tries = 0;
        while tries < self.tries.clamp(1, MOST_TRIES) {
            if tries > 0 {
                sleep(self.pause).await;
            }
            tries += 1;
            if self.forget {
                forget(self.address).await;
            }
            // Whether anything listens there is not the question.
            let _ = connect_to(SocketAddr::new(self.address, self.touch), limit).await;
            let entries = match table(self.address).await {
                Ok(entries) => entries,
                Err(why) => return (Some(self.address), why.into()),
            };
            for Entry { device, mac, state } in entries {
                let fresh = Seen {
                    device: device.clone(),
                    mac: mac.clone(),
                    state: String::new(),
                    count: 0,
                };
                let known = seen.entry((device, mac)).or_insert(fresh);
                known.count += 1;
                known.state = state;
            }
            let so_far = Neighbours { tries, seen: seen.values().cloned().collect() };
            if so_far.conflict() {
                return (Some(self.address), Outcome::Neighbours(so_far));
            }
        }
        let seen = Neighbours { tries, seen: seen.into_values().collect() };
        (Some(self.address), Outcome::Neighbours(seen))
    }
}

/// One line of the kernel's table. An entry without a MAC is none: the kernel asked in vain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub device: String,
    pub mac: String,
    pub state: String,
}

pub async fn table(address: IpAddr) -> Result<Vec<Entry>, Reach> {
    let address_text = address.to_string();
    if let Some(json) = ip(&["-j", "neigh", "show", "to", &address_text]).await {
        return Ok(from_ip(&json, address));
    }
    match std::fs::read(PROC_ARP) {
        Ok(text) if address.is_ipv4() => Ok(from_proc(&text, address)),
        _ => Err(Reach::Other("the neighbour table cannot be read".into())),
    }
}

async fn forget(address: IpAddr) {
    ip(&["neigh", "flush", "to", &address.to_string()]).await;
}

pub async fn ip(arguments: &[&str]) -> Option<Vec<u8>> {
    let output = tool("ip", arguments).await?;
    output.status.success().then_some(output.stdout)
}

/// Nothing where it cannot be started, or does not end.
pub async fn tool(name: &str, arguments: &[&str]) -> Option<std::process::Output> {
    let mut command = Command::new(name);
    command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    timeout(COMMAND, command.output()).await.ok()?.ok()
}

/// What `ip -j neigh` prints.
pub fn from_ip(json: &[u8], address: IpAddr) -> Vec<Entry> {
    #[derive(Deserialize)]
    struct Line {
        dst: String,
        #[serde(default)]
        dev: String,
        lladdr: Option<String>,
        #[serde(default)]
        state: Vec<String>,
    }
    let lines: Vec<Line> = serde_json::from_slice(json).unwrap_or_default();
    let ours = lines.into_iter().filter(|line| line.dst.parse() == Ok(address));
    ours.filter(|line| !line.state.iter().any(|state| state == "FAILED" || state == "INCOMPLETE"))
        .filter_map(|line| {
            let state = shown(line.state.join(","));
            Some(Entry { device: shown(line.dev), mac: mac(&line.lladdr?)?, state })
        })
        .collect()
}

/// What `/proc/net/arp` holds.
pub fn from_proc(text: &[u8], address: IpAddr) -> Vec<Entry> {
    let entry = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [ip, _, flags, mac_text, _, device] = words[..] else { return None };
        let complete = u32::from_str_radix(flags.trim_start_matches("0x"), 16).ok()? & 0x2 != 0;
        let ours = ip.parse() == Ok(address) && complete;
        let entry = Entry { device: shown(device), mac: mac(mac_text)?, state: "COMPLETE".into() };
        ours.then_some(entry)
    };
    String::from_utf8_lossy(text).lines().filter_map(entry).collect()
}

fn mac(text: &str) -> Option<String> {
    let parts: Vec<&str> = text.split(':').collect();
    let byte = |part: &&str| part.len() == 2 && u8::from_str_radix(part, 16).is_ok();
    (parts.len() == 6 && parts.iter().all(byte)).then(|| text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(state: &str) -> Entry {
        Entry { device: "eth0".into(), mac: "52:54:00:ab:cd:ef".into(), state: state.into() }
    }

    #[test]
    fn both_forms_of_the_table_are_read() {
        let address = "192.0.2.5".parse().unwrap();
        let json = br#"[{"dst":"192.0.2.5","dev":"eth0","lladdr":"52:54:00:AB:CD:EF","state":["REACHABLE"]},
            {"dst":"192.0.2.6","dev":"eth0","lladdr":"52:54:00:00:00:01","state":["STALE"]},
            {"dst":"192.0.2.5","dev":"eth1","state":["FAILED"]}]"#;
        assert_eq!(from_ip(json, address), [entry("REACHABLE")]);
        let proc =
            b"IP address       HW type     Flags       HW address            Mask     Device\n\
            192.0.2.5        0x1         0x2         52:54:00:ab:cd:ef     *        eth0\n\
            192.0.2.6        0x1         0x0         00:00:00:00:00:00     *        eth0\n";
        assert_eq!(from_proc(proc, address), [entry("COMPLETE")]);
        assert!(from_proc(proc, "192.0.2.6".parse().unwrap()).is_empty(), "nobody answered");
        for odd in [&b""[..], b"[]", b"{", b"[{}]", b"\xff\xff"] {
            assert!(from_ip(odd, address).is_empty() && from_proc(odd, address).is_empty());
        }
    }

    #[test]
    fn two_machines_on_one_link_are_a_conflict_and_two_links_are_none() {
        let seen = |device: &str, mac: &str| Seen {
            device: device.into(),
            mac: mac.into(),
            state: "REACHABLE".into(),
            count: 1,
        };
        let both = |second| Neighbours { tries: 2, seen: vec![seen("eth0", "a"), second] };
        assert!(both(seen("eth0", "b")).conflict());
        assert!(!both(seen("eth1", "a")).conflict());
    }
}
