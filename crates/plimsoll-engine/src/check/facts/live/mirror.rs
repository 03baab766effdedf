//! Registries that the config names as mirrors: the way, the trust, the credential, and whether a
//! release is in them.

use std::collections::BTreeMap;

use plimsoll_install::{File, Judgement, Place};
use plimsoll_model::{EntityId, Evidence};
use serde_json::Value as Json;

use super::seen::{Answer, Seen, reach, word};
use super::{Facts, Sentences, Told};

const HTTPS: &str = ":443";
/// Of what is missing, shown.
const MOST: usize = 5;
const BUNDLE: &str = "additionalTrustBundle";

pub fn registry(place: &str) -> String {
    let host = place.split('/').next().unwrap_or_default();
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if has_port { host.into() } else { format!("{host}{HTTPS}") }
}

pub fn entity(registry: &str) -> EntityId {
    EntityId::cluster_scoped("Registry", registry.strip_suffix(HTTPS).unwrap_or(registry))
}

pub fn extract(judgement: &Judgement, seen: &Seen, facts: &mut Facts) {
    let Some(install) = &judgement.config.install else { return };
    let lists = [
        ("imageDigestSources", &install.digest_sources),
        ("imageContentSources", &install.content_sources),
    ];
    let mut places: BTreeMap<String, (String, Place, String)> = BTreeMap::new();
    for (field, sources) in lists {
        for (index, source) in sources.iter().enumerate() {
            for (number, mirror) in source.mirrors.iter().enumerate() {
                let path = format!("{field}[{index}].mirrors[{number}]");
                let at = (path, mirror.place, mirror.value.clone());
                places.entry(registry(mirror.as_str())).or_insert(at);
            }
        }
    }
    let asked: Vec<&Answer> = seen.of("registry").filter(|_| seen.has("mirror")).collect();
    // A release that no mirror stands for is looked for where it is.
    for answer in &asked {
        let at = ("pullSecret".to_string(), Place::START, String::new());
        places.entry(registry(&answer.target)).or_insert(at);
    }
    for (registry_name, (path, place, shown)) in places {
        let id = entity(&registry_name);
        for fact in ["mirror", "release"] {
            facts.looks_at(&id, fact, (File::Install, &path, place), &shown);
        }
        if seen.release_image.is_none() {
            let why = "which release is not known: give --release-image REF";
            facts.unseen(&id, "release", why);
        }
        let of: Vec<&Answer> = asked
            .iter()
            .copied()
            .filter(|answer| registry(&answer.target) == registry_name)
            .collect();
        if of.is_empty() {
            continue;
        }
        way(&id, &of, !install.trust_bundle.is_empty(), facts);
        if seen.release_image.is_some() {
            release(&id, &of, facts);
        }
    }
}

/// Of several repositories of one registry the worst word counts.
fn way(id: &EntityId, answers: &[&Answer], has_bundle: bool, facts: &mut Facts) {
    let mut told = Told::new("mirror");
    told.set("hasBundle", has_bundle, Vec::new());
    for answer in answers {
        if let Some(why) = answer.unreached() {
            if why == "not-done" {
                facts.unseen(id, "mirror", reach(&why));
                return;
            }
            let words = reach(&why).to_string();
            let at = answer.says(&format!("{}: {words}", answer.target));
            told.set("reach", why, vec![at]);
            told.set("reachDetail", words, Vec::new());
            break;
        }
        told.set("reach", "answered", vec![answer.says(&format!("{} answers", answer.target))]);
        trust(answer, &mut told);
        let ping = &answer.result["ping"];
        if !ping.is_null() {
            let is_registry = ping.as_str() == Some("registry");
            let at = answer.says(&format!("GET /v2/: {}", word(ping)));
            told.set("isRegistry", is_registry, vec![at]);
        }
        let auth = word(&answer.result["auth"]);
        if !matches!(auth.as_str(), "" | "not-asked") {
            let at = answer.says(&format!("{}: authentication {auth}", answer.target));
            let bad = !matches!(auth.as_str(), "accepted" | "none-needed");
            if bad || !told.map.contains_key("auth") {
                told.set("auth", auth, vec![at]);
                told.set(
                    "repository",
                    answer.target.split('@').next().unwrap_or_default(),
                    Vec::new(),
                );
            }
        }
    }
    told.put(id, facts);
}

fn trust(answer: &Answer, told: &mut Told) {
    let tls = &answer.result["tls"];
    let Some(by) = tls["trust"].as_object() else {
        if let Some(ended) = tls.get("ended").filter(|ended| !ended.is_null()) {
            let why = format!("no TLS session: {}", word(ended));
            told.set("tlsEnded", why.as_str(), vec![answer.says(&why)]);
        }
        return;
    };
    let trusted = |name: &str| by.get(name).and_then(Json::as_str) == Some("trusted");
    let any = by.values().any(|trust| trust.as_str() == Some("trusted"));
    let verdicts: Vec<String> =
        by.iter().map(|(name, trust)| format!("{name}: {}", word(trust))).collect();
    let issuer = tls["leaf"]["issuer"].as_str().unwrap_or("unknown");
    let text = format!("issuer {issuer}; {}", verdicts.join(", "));
    let at = || vec![answer.says(&text)];
    told.set("trusted", any, at());
    told.set("onlyHere", any && !trusted(BUNDLE), at());
    let own = by.get(BUNDLE).or_else(|| by.values().next());
    told.set("trustWhy", own.map(word).unwrap_or_default(), at());
    told.set("issuer", issuer, at());
}

fn release(id: &EntityId, answers: &[&Answer], facts: &mut Facts) {
    let mut told = Told::new("release");
    let mut missing = Sentences::default();
    let (mut flaws, mut checked, mut left) = (0i64, 0i64, 0i64);
    let mut from: Vec<Evidence> = Vec::new();
    for answer in answers {
        let manifest = &answer.result["manifest"];
        if manifest.as_str() == Some("not-asked") || manifest.is_null() {
            let name = &id.name;
            facts.unseen(id, "release", format!("it did not come to that at {name}"));
            return;
        }
        let found = manifest.get("found").is_some();
        let words = if found { "found".into() } else { word(manifest) };
        let at = answer.says(&format!("{}: manifest {words}", answer.target));
        told.set("found", found, vec![at]);
        told.set("image", answer.target.as_str(), Vec::new());
        told.set("why", words, Vec::new());
        if !found {
            told.put(id, facts);
            return;
        }
        if let Some(version) = answer.result["release"].as_str() {
            told.set("version", version, Vec::new());
        }
        let components = &answer.result["components"];
        let lists = [&answer.result["blobs"], &components["manifests"], &components["blobs"]];
        for pieces in lists {
            let count = |key: &str| pieces[key].as_i64().unwrap_or(0);
            checked += count("checked");
            left += count("left_out");
            let all = pieces["flaws"].as_array().map(Vec::as_slice).unwrap_or_default();
            flaws += count("more") + i64::try_from(all.len()).unwrap_or(0);
            for flaw in all.iter().take(MOST.saturating_sub(missing.texts.len())) {
                let of = flaw["of"].as_str().filter(|of| !of.is_empty());
                let of = of.map(|of| format!(" of {of}")).unwrap_or_default();
                let text = format!(
                    "{} {}{of} ({})",
                    flaw["piece"].as_str().unwrap_or("part"),
                    flaw["digest"].as_str().unwrap_or_default(),
                    word(&flaw["how"])
                );
                let at = answer.says(&text);
                missing.add(text, at);
            }
        }
        if let Some(list) = components["list"].get("failed") {
            flaws += 1;
            let text = format!("the list of its images ({})", word(&list["how"]));
            let at = answer.says(&text);
            missing.add(text, at);
        }
        from.push(answer.says(&format!("{checked} parts looked at, {flaws} of them not there")));
    }
    missing.set(&mut told, "missing");
    told.set("flaws", flaws, from.clone());
    told.set("checked", checked, from.clone());
    told.set("leftOut", left, from);
    told.put(id, facts);
}
