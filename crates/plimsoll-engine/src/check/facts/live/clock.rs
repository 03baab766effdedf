//! Servers of time, held against the clock of this machine.

use plimsoll_install::{File, Judgement, Place, Placed};

use super::seen::{Seen, reach, word};
use super::{Facts, Sentences, Told, baremetal};

pub fn extract(judgement: &Judgement, seen: &Seen, facts: &mut Facts) {
    let agent = judgement.config.agent.as_ref();
    let of_agent = agent.map(|agent| agent.ntp_sources.as_slice()).unwrap_or_default();
    let of_install = baremetal(judgement).map(|it| it.ntp_servers.as_slice()).unwrap_or_default();
    let place = |all: &[Placed<String>]| all.first().map_or(Place::START, |server| server.place);
    let at = match (of_agent, of_install) {
        ([], []) => return,
        ([], all) => (File::Install, "platform.baremetal.additionalNTPServers", place(all)),
        (all, _) => (File::Agent, "additionalNTPSources", place(all)),
    };
    let names: Vec<&str> = of_agent.iter().chain(of_install).map(Placed::as_str).collect();
    let id = facts.config();
    facts.looks_at(&id, "ntp", at, &names.join(", "));
    if !seen.has("clock") {
        return;
    }
    let (mut silent, mut unset) = (Sentences::default(), Sentences::default());
    let mut offsets: Vec<(f64, String)> = Vec::new();
    let mut from = Vec::new();
    for answer in seen.of("ntp") {
        let server = answer.target.trim_end_matches(":123").to_string();
        if let Some(why) = answer.unreached().filter(|why| why != "not-done") {
            let why = reach(&why).to_string();
            silent.add(format!("{server} ({why})"), answer.says(&format!("{server}: {why}")));
        } else if let Some(offset) = answer.result["offset_seconds"].as_f64() {
            from.push(answer.says(&format!("{server} is {offset} s ahead of this machine")));
            offsets.push((offset, server));
        } else if answer.unreached().is_none() {
            let why = word(&answer.result["why"]);
            unset.add(format!("{server} ({why})"), answer.says(&format!("{server}: {why}")));
        }
    }
    let mut told = Told::new("ntp");
    silent.set(&mut told, "silent");
    unset.set(&mut told, "unset");
    offsets.sort_by(|one, other| one.0.total_cmp(&other.0));
    if let [first, .., last] = offsets.as_slice() {
        let apart = (last.0 - first.0).abs() as i64;
        told.set("apart", apart, from.clone());
        told.set("ahead", format!("{} ({} s)", last.1, last.0 as i64), Vec::new());
        told.set("behind", format!("{} ({} s)", first.1, first.0 as i64), Vec::new());
    } else if !offsets.is_empty() {
        told.set("apart", 0i64, from.clone());
    }
    if let Some((offset, server)) = offsets.get(offsets.len() / 2) {
        told.set("offset", *offset as i64, from);
        told.set("by", server.as_str(), Vec::new());
    }
    told.put(&id, facts);
}
