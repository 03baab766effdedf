//! Names, as the resolvers of the nodes answer for them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use plimsoll_install::{File, Judgement, Place, Placed, parse_ip};
use plimsoll_model::{EntityId, Evidence};

use super::seen::{SYSTEM, Said, Seen, reach};
use super::{Facts, Sentences, Told, baremetal, hosts};

pub fn extract(judgement: &Judgement, seen: &Seen, facts: &mut Facts) {
    let Some(install) = &judgement.config.install else { return };
    if install.base_domain.is_empty() || install.name.is_empty() {
        return;
    }
    let id = facts.config();
    let domain = install.cluster_domain().to_ascii_lowercase();
    let at = (File::Install, "baseDomain", install.base_domain.place);
    facts.looks_at(&id, "dns", at, install.base_domain.as_str());
    let nodes = nodes(judgement);
    for node in &nodes {
        let host = facts.host(&node.name);
        facts.looks_at(&host, "dns", (node.file, &node.path, node.place), &node.name);
    }
    if seen.has("dns") {
        missing_vips(judgement, &domain, seen, facts);
        cluster(judgement, &domain, seen, &id, facts);
        for node in &nodes {
            of_node(node, &domain, seen, facts);
        }
    }
}

/// Where no VIP is written, the installer takes the first address of a name, by the resolver of the machine
/// that it runs on. A name below `apps` stands for the one that it asks for.
fn missing_vips(judgement: &Judgement, domain: &str, seen: &Seen, facts: &mut Facts) {
    let Some(baremetal) = baremetal(judgement) else { return };
    let label = &seen.label;
    let sides = [
        (&baremetal.api_vips, "platform.baremetal.apiVIPs", "api", "api"),
        (&baremetal.ingress_vips, "platform.baremetal.ingressVIPs", label.as_str(), "test"),
    ];
    for (vips, path, asked, meant) in sides {
        let apps = if meant == "test" { "apps." } else { "" };
        let name = format!("{asked}.{apps}{domain}");
        let own = seen.of("dns").filter(|answer| answer.target.eq_ignore_ascii_case(&name));
        let own = own.filter(|answer| answer.resolver_asked() == SYSTEM);
        let address = own.filter_map(|answer| answer.said()).find_map(|(_, said)| match said {
            Said::Addresses(addresses) => addresses.first().copied(),
            _ => None,
        });
        if let Some(address) = address.filter(|_| vips.is_empty()) {
            let name = format!("{meant}.{apps}{domain}");
            facts.live.vips.insert(path, (name, address.to_string()));
        }
    }
}

/// What one resolver says of one name, both families taken together.
#[derive(Default)]
struct Answered {
    addresses: BTreeSet<IpAddr>,
    /// Why there is none.
    nothing: Option<String>,
    at: Vec<Evidence>,
}

/// By resolver. A resolver that does not answer is not in it.
fn answers(seen: &Seen, name: &str) -> BTreeMap<String, Answered> {
    let mut found: BTreeMap<String, Answered> = BTreeMap::new();
    for answer in seen.of("dns").filter(|answer| answer.target.eq_ignore_ascii_case(name)) {
        let Some((resolver, said)) = answer.said() else { continue };
        let shown = match &said {
            Said::Addresses(addresses) => list(addresses),
            Said::Names(names) => names.join(", "),
            Said::Nothing(why) => why.clone(),
        };
        let at = answer.says(&format!("{resolver} says of {name}: {shown}"));
        let one = found.entry(resolver).or_default();
        match said {
            Said::Addresses(addresses) => {
                one.addresses.extend(addresses);
                one.at.insert(0, at);
            }
            Said::Names(_) => {}
            Said::Nothing(why) => {
                one.nothing.get_or_insert(why);
                one.at.push(at);
            }
        }
    }
    found
}

fn list<'i>(addresses: impl IntoIterator<Item = &'i IpAddr>) -> String {
    addresses.into_iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Faults of a name that should have these addresses, or any where none is known. Nothing if nobody
/// answered.
fn faults(seen: &Seen, name: &str, wanted: &[IpAddr]) -> Option<Sentences> {
    let mut found = Sentences::default();
    let answers = answers(seen, name);
    if answers.is_empty() {
        return None;
    }
    for (resolver, said) in answers {
        let Some(at) = said.at.first().cloned() else { continue };
        let lacking: Vec<&IpAddr> =
            wanted.iter().filter(|address| !said.addresses.contains(address)).collect();
        let strange: Vec<&IpAddr> =
            said.addresses.iter().filter(|address| !wanted.contains(address)).collect();
        if said.addresses.is_empty() {
            let why = said.nothing.as_deref().unwrap_or("no address");
            found.add(format!("{name} does not resolve ({resolver}: {why})"), at);
        } else if !wanted.is_empty() && !strange.is_empty() {
            let (is, should) = (list(strange), list(wanted));
            found.add(format!("{name} is {is}, not {should} ({resolver})"), at);
        } else if !lacking.is_empty() {
            found.add(format!("{name} is not {} as well ({resolver})", list(lacking)), at);
        }
    }
    Some(found)
}

fn cluster(judgement: &Judgement, domain: &str, seen: &Seen, id: &EntityId, facts: &mut Facts) {
    let mut told = Told::new("dns");
    let addresses = |vips: &[Placed<String>]| -> Vec<IpAddr> {
        vips.iter().filter_map(|vip| parse_ip(vip.as_str())).collect()
    };
    let platform = baremetal(judgement);
    let api = platform.map(|it| addresses(&it.api_vips)).unwrap_or_default();
    let ingress = platform.map(|it| addresses(&it.ingress_vips)).unwrap_or_default();
    let managed = platform.is_some_and(|it| !it.is_user_managed());
    let mut names = vec![format!("api.{domain}")];
    if !managed {
        names.push(format!("api-int.{domain}"));
    }
    let mut found = Sentences::default();
    let mut answered = true;
    for name in names {
        match faults(seen, &name, &api) {
            Some(some) => {
                some.texts.into_iter().zip(some.from).for_each(|(text, at)| found.add(text, at));
            }
            None => answered = false,
        }
    }
    // A fault that was seen is one, whoever else is silent.
    if answered || !found.texts.is_empty() {
        found.set(&mut told, "api");
    }
    let label = &seen.label;
    if let Some(mut found) = faults(seen, &format!("{label}.apps.{domain}"), &ingress) {
        let star = |text: &String| text.replacen(label.as_str(), "*", 1);
        found.texts = found.texts.iter().map(star).collect();
        found.set(&mut told, "apps");
    }
    let nobody = answers(seen, &format!("{label}.{domain}"));
    if !nobody.is_empty() {
        let mut caught = Sentences::default();
        for (resolver, said) in nobody {
            if let (false, Some(at)) = (said.addresses.is_empty(), said.at.first()) {
                let text = format!("*.{domain} is {} ({resolver})", list(&said.addresses));
                caught.add(text, at.clone());
            }
        }
        caught.set(&mut told, "catchAll");
    }
    silent(seen, &mut told);
    told.put(id, facts);
}

/// Resolvers that answer nothing at all.
fn silent(seen: &Seen, told: &mut Told) {
    let mut heard: BTreeSet<String> = BTreeSet::new();
    let mut mute: BTreeMap<String, (String, Evidence)> = BTreeMap::new();
    for answer in seen.of("dns") {
        if let Some((resolver, _)) = answer.said() {
            heard.insert(resolver);
        } else if let Some(why) = answer.unreached().filter(|why| why != "not-done") {
            let resolver = answer.resolver_asked();
            let why = reach(&why).to_string();
            let at = answer.says(&format!("{resolver} was asked for {}: {why}", answer.target));
            mute.entry(resolver).or_insert((why, at));
        }
    }
    let mut silent = Sentences::default();
    for (resolver, (why, at)) in mute {
        // Of this machine's several, one that answers is enough.
        let another = resolver == SYSTEM && !heard.is_empty();
        if !heard.contains(&resolver) && !another {
            silent.add(format!("{resolver} ({why})"), at);
        }
    }
    silent.set(told, "silent");
    told.set("resolvers", heard.into_iter().collect::<Vec<_>>(), Vec::new());
}

/// A machine, by the name that the config gives it.
struct Node {
    name: String,
    addresses: Vec<IpAddr>,
    /// Whether the name is set on the machine, and not asked for.
    named: bool,
    file: File,
    path: String,
    place: Place,
}

fn nodes(judgement: &Judgement) -> Vec<Node> {
    let by_agent = judgement.config.agent.is_some();
    let install = hosts(judgement).into_iter().map(|(host, path)| Node {
        name: host.name.value.clone(),
        addresses: host.network_config.as_deref().map(addresses).unwrap_or_default(),
        named: by_agent,
        file: File::Install,
        path: format!("{path}.name"),
        place: host.name.place,
    });
    let agent = judgement.config.agent.iter().flat_map(|agent| agent.hosts.iter().enumerate());
    let agent = agent.filter(|(_, host)| !host.hostname.is_empty()).map(|(index, host)| Node {
        name: host.hostname.value.clone(),
        addresses: host.network_config.as_deref().map(addresses).unwrap_or_default(),
        named: true,
        file: File::Agent,
        path: format!("hosts[{index}].hostname"),
        place: host.hostname.place,
    });
    install.chain(agent).collect()
}

fn addresses(network: &plimsoll_yaml::Node) -> Vec<IpAddr> {
    let interfaces = network.get("interfaces").map(plimsoll_yaml::Node::items).unwrap_or_default();
    interfaces
        .iter()
        .flat_map(|interface| ["ipv4", "ipv6"].map(|family| interface.at(&[family, "address"])))
        .flatten()
        .flat_map(plimsoll_yaml::Node::items)
        .filter_map(|address| address.text_at(&["ip"])?.parse().ok())
        .collect()
}

fn of_node(node: &Node, domain: &str, seen: &Seen, facts: &mut Facts) {
    let lower = node.name.to_ascii_lowercase();
    let full = if lower.contains('.') { lower.clone() } else { format!("{lower}.{domain}") };
    let short = lower.split('.').next().unwrap_or_default().to_string();
    let mut told = Told::new("dns");
    let mut other = Sentences::default();
    let mut known = false;
    for (resolver, said) in answers(seen, &full) {
        known = true;
        let strange: Vec<&IpAddr> =
            said.addresses.iter().filter(|it| !node.addresses.contains(it)).collect();
        let missed = !node.addresses.is_empty()
            && !said.addresses.is_empty()
            && !node.addresses.iter().any(|it| said.addresses.contains(it));
        if let (true, Some(at)) = (missed, said.at.first()) {
            let (is, should) = (list(strange), list(&node.addresses));
            other.add(format!("{full} is {is}, not {should} ({resolver})"), at.clone());
        }
    }
    let mut missing = Sentences::default();
    for address in &node.addresses {
        let target = address.to_string();
        for answer in seen.of("dns").filter(|answer| answer.target == target) {
            let Some((resolver, said)) = answer.said() else { continue };
            known = true;
            match said {
                Said::Names(names) => {
                    let is_it = |name: &String| *name == full || *name == short;
                    if !names.iter().any(is_it) {
                        let text =
                            format!("{address} is {}, not {full} ({resolver})", names.join(", "));
                        let at = answer.says(&text);
                        other.add(text, at);
                    }
                }
                Said::Nothing(why) => {
                    let text = format!("{address} ({resolver}: {why})");
                    let at = answer.says(&format!("{resolver} says of {address}: {why}"));
                    missing.add(text, at);
                }
                Said::Addresses(_) => {}
            }
        }
    }
    if known {
        other.set(&mut told, "other");
        missing.set(&mut told, "reverseMissing");
        told.set("named", node.named, Vec::new());
    }
    let id = facts.host(&node.name);
    told.put(&id, facts);
}
