//! Whether anybody answers already where the cluster's own addresses will be.

use plimsoll_install::{File, Judgement, parse_ip};
use plimsoll_model::EntityId;
use serde_json::Value as Json;

use super::seen::{Answer, Seen};
use super::{Facts, Told, baremetal};

pub fn extract(judgement: &Judgement, seen: &Seen, facts: &mut Facts) {
    let Some(baremetal) = baremetal(judgement).filter(|it| !it.is_user_managed()) else { return };
    let kinds = [
        (&baremetal.api_vips, "api", "apiVIPs"),
        (&baremetal.ingress_vips, "ingress", "ingressVIPs"),
    ];
    for (vips, of, field) in kinds {
        for (index, vip) in vips.iter().enumerate() {
            let Some(address) = parse_ip(vip.as_str()) else { continue };
            let id = EntityId::cluster_scoped("VIP", &address.to_string());
            let path = format!("platform.baremetal.{field}[{index}]");
            facts.looks_at(&id, "silence", (File::Install, &path, vip.place), vip.as_str());
            facts.entity(&id).derive("of", of, Vec::new());
            let target = address.to_string();
            let answer = seen.of("silent").find(|answer| answer.target == target);
            if let Some(answer) = answer.filter(|_| seen.has("vip")) {
                silence(&id, answer, facts);
            }
        }
    }
}

fn silence(id: &EntityId, answer: &Answer, facts: &mut Facts) {
    let result = &answer.result;
    let way = &result["way"];
    let name = &id.name;
    if answer.unreached().is_some() {
        facts.unseen(id, "silence", format!("there was no time to listen at {name}"));
        return;
    }
    if let Some(router) = way["router"].as_str() {
        let why = format!(
            "{name} is behind the router {router} from here, where silence proves nothing: run this on a machine in the machine network"
        );
        facts.unseen(id, "silence", why);
        return;
    }
    if matches!(way.as_str(), Some("nowhere" | "unknown")) {
        facts.unseen(id, "silence", format!("this machine has no way to {name}"));
        return;
    }
    let own = way.as_str() == Some("own");
    let list = |key: &str| result[key].as_array().map(Vec::as_slice).unwrap_or_default();
    let sure =
        |neighbour: &&Json| matches!(neighbour["state"].as_str(), Some("REACHABLE" | "COMPLETE"));
    let macs: Vec<&str> =
        list("neighbours").iter().filter(sure).filter_map(|it| it["mac"].as_str()).collect();
    let ports = |said: &str| -> Vec<String> {
        let tried = list("ports").iter().filter(|tried| tried["said"].as_str() == Some(said));
        tried.filter_map(|tried| Some(tried["port"].as_u64()?.to_string())).collect()
    };
    let (open, refused) = (ports("open"), ports("refused"));
    let echo = result["echo"].as_str() == Some("answered");
    let mut who = Vec::new();
    if own {
        who.push("it is an address of this machine".to_string());
    }
    if !macs.is_empty() {
        who.push(format!("MAC {}", macs.join(", ")));
    }
    if !open.is_empty() {
        who.push(format!("open ports {}", open.join(", ")));
    }
    if who.is_empty() && !refused.is_empty() {
        who.push(format!("ports {} refuse connections", refused.join(", ")));
    }
    if who.is_empty() && echo {
        who.push("it answers ping".to_string());
    }
    let heard = own || echo || !macs.is_empty() || !open.is_empty() || !refused.is_empty();
    let who = who.join(", ");
    let shown = if heard { format!("{name}: {who}") } else { format!("nobody answers at {name}") };
    let at = answer.says(&shown);
    let mut told = Told::new("silence");
    told.set("heard", heard, vec![at.clone()]);
    told.set("who", who, vec![at.clone()]);
    told.set("macs", macs, vec![at]);
    told.put(id, facts);
}
