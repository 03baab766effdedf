//! The doors of a cluster by their role: what each shows, and from where it was seen.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::{Entity, EntityId, Evidence, FactBase, Time, Value};

use super::read::{Found, Probe, Tls};
use super::{Known, Map};

const API: u16 = 6443;
const MCS: u16 = 22623;
const INGRESS: u16 = 443;
const MCO: &str = "openshift-machine-config-operator";

/// One door from one vantage.
struct Endpoint<'p> {
    role: &'static str,
    probes: Vec<&'p Probe>,
    /// Called by a name or an address that its certificate must have.
    official: bool,
    /// At such a name or address, and not at one machine behind it.
    at_front: bool,
}

pub fn derive(probes: &[Probe], known: &Known, base: &mut FactBase) {
    let endpoints = endpoints(probes, known);
    let reaching: BTreeSet<(&str, &str)> = probes
        .iter()
        .filter(|probe| matches!(probe.reach(), Some("open" | "refused")))
        .filter(|probe| {
            known.node(probe).is_none_or(|node| probe.vantage != format!("node/{node}"))
        })
        .map(|probe| (probe.vantage.as_str(), probe.host.as_str()))
        .collect();
    let mut roles: BTreeMap<&str, (Map, Vec<Evidence>)> = BTreeMap::new();
    for endpoint in &endpoints {
        let (role, from) = roles.entry(endpoint.role).or_default();
        let facts = endpoint.facts(&reaching);
        let open = facts.get("reach").and_then(Value::text) == Some("open");
        for key in ["reach", "vantage", "tls", "status"] {
            let better = key == "reach" && open;
            if let Some(value) = facts.get(key).filter(|_| better || !role.contains_key(key)) {
                role.insert(key.into(), value.clone());
            }
        }
        let all = role.entry("endpoints".into()).or_insert_with(|| Value::List(Vec::new()));
        if let Value::List(all) = all {
            all.push(Value::Map(facts));
        }
        from.extend(endpoint.probes.iter().map(|probe| probe.at.clone()));
    }
    for (name, role) in known.names() {
        let questions: Vec<&Probe> =
            probes.iter().filter(|probe| probe.is_question() && name.fits(&probe.host)).collect();
        if let Some(dns) = dns(&questions) {
            let (role, from) = roles.entry(role).or_default();
            role.insert("dns".into(), Value::Map(dns));
            from.extend(questions.iter().map(|probe| probe.at.clone()));
        }
    }
    served(&endpoints, &reaching, base);
    configs(probes, base);
    let cluster = base.entities.entry(EntityId::cluster()).or_default();
    let mut map = Map::new();
    for (role, (facts, from)) in roles {
        map.insert(role.into(), Value::Map(facts));
        cluster.provenance.insert(format!("probes.{role}"), from);
    }
    if !map.is_empty() {
        cluster.facts.insert("probes".into(), Value::Map(map));
    }
}

/// Inside before outside, what is called by its own name before the rest.
fn endpoints<'p>(probes: &'p [Probe], known: &Known) -> Vec<Endpoint<'p>> {
    let mut all: BTreeMap<_, Endpoint<'p>> = BTreeMap::new();
    for probe in probes.iter().filter(|probe| probe.reach().is_some()) {
        let Some(role) = known.role(probe) else { continue };
        let official = known.is_official(role, &probe.asked);
        let outside = !probe.is_inside();
        let key = (role, outside, !official, &probe.vantage, &probe.host, &probe.asked);
        let at_front = known.is_official(role, &probe.host);
        let fresh = || Endpoint { role, probes: Vec::new(), official, at_front };
        all.entry(key).or_insert_with(fresh).probes.push(probe);
    }
    all.into_values().collect()
}

impl Endpoint<'_> {
    fn facts(&self, reaching: &BTreeSet<(&str, &str)>) -> Map {
        let first = self.probes[0];
        let open = self.probes.iter().any(|probe| probe.reach() == Some("open"));
        let reach = if open { "open" } else { first.reach().unwrap_or("other") };
        let elsewhere =
            reaching.iter().any(|(vantage, host)| *vantage == first.vantage && *host != first.host);
        let mut map = Map::new();
        let mut set = |key: &str, value: Value| drop(map.insert(key.into(), value));
        set("host", first.host.as_str().into());
        set("asked", first.asked.as_str().into());
        set("official", self.official.into());
        set("reach", reach.into());
        set("vantage", first.vantage.as_str().into());
        set("inside", first.is_inside().into());
        set("elsewhere", elsewhere.into());
        for probe in &self.probes {
            match &probe.found {
                Found::Tls(tls) => set("tls", Value::Map(certificate(tls))),
                Found::Status(status) => set("status", (*status).into()),
                _ => {}
            }
        }
        map
    }

    fn evidence(&self) -> Vec<Evidence> {
        self.probes.iter().map(|probe| probe.at.clone()).collect()
    }

    /// Some client refuses what is shown here, or it is past its end.
    fn is_refused(&self) -> bool {
        let refused = |tls: &Tls, time: Option<Time>| {
            tls.trust.iter().any(|(_, verdict)| verdict != "trusted")
                || tls.not_after.zip(time).is_some_and(|(end, time)| end < time)
        };
        let tls = |probe: &&Probe| match &probe.found {
            Found::Tls(tls) => refused(tls, probe.time),
            _ => false,
        };
        self.probes.iter().any(tls)
    }
}

fn certificate(tls: &Tls) -> Map {
    let mut map = Map::new();
    for (key, text) in [("ended", &tls.ended), ("subject", &tls.subject), ("issuer", &tls.issuer)] {
        if let Some(text) = text {
            map.insert(key.into(), text.as_str().into());
        }
    }
    for (key, time) in [("notBefore", tls.not_before), ("notAfter", tls.not_after)] {
        if let Some(time) = time {
            map.insert(key.into(), time.into());
        }
    }
    if tls.subject.is_some() {
        map.insert("names".into(), tls.names.clone().into());
    }
    let by = |fits: &dyn Fn(&str) -> bool| -> Vec<String> {
        let bundles = tls.trust.iter().filter(|(_, verdict)| fits(verdict));
        bundles.map(|(bundle, _)| bundle.clone()).collect()
    };
    map.insert("trustedBy".into(), by(&|verdict| verdict == "trusted").into());
    let refusals: BTreeSet<&str> =
        tls.trust.iter().map(|(_, verdict)| verdict.as_str()).filter(|v| *v != "trusted").collect();
    map.insert("refusals".into(), refusals.into_iter().collect::<Vec<_>>().into());
    let trust = tls.trust.iter().map(|(bundle, said)| (bundle.clone(), said.as_str().into()));
    map.insert("trust".into(), Value::Map(trust.collect()));
    map
}

/// What the doors show, with those whom it concerns: the API's operator, the certificate of the
/// machine-config server and the pointer that new machines trust it by, and the VIPs.
fn served(endpoints: &[Endpoint<'_>], reaching: &BTreeSet<(&str, &str)>, base: &mut FactBase) {
    let of = |roles: &[&str]| -> Vec<&Endpoint<'_>> {
        endpoints.iter().filter(|endpoint| roles.contains(&endpoint.role)).collect()
    };
    let mcs = of(&["mcs"]);
    for (id, shown) in [
        (EntityId::cluster_scoped("ClusterOperator", "kube-apiserver"), of(&["api", "apiInt"])),
        (EntityId::namespaced("Secret", MCO, "machine-config-server-tls"), mcs.clone()),
        (EntityId::namespaced("Secret", "openshift-machine-api", "worker-user-data"), mcs.clone()),
    ] {
        let refused = shown.iter().any(|endpoint| endpoint.is_refused());
        if !refused && !base.entities.contains_key(&id) {
            continue;
        }
        let seen: Vec<Map> = shown
            .iter()
            .map(|endpoint| endpoint.facts(reaching))
            .filter(|facts| facts.contains_key("tls"))
            .collect();
        if seen.is_empty() {
            continue;
        }
        let from: Vec<Evidence> = shown.iter().flat_map(|endpoint| endpoint.evidence()).collect();
        let lacking: Vec<Value> = seen.iter().filter_map(lacking_name).collect();
        let seen: Vec<Value> = seen.into_iter().map(Value::Map).collect();
        let entity = base.entities.entry(id).or_default();
        entity.derive("served", Value::List(seen), from.clone());
        entity.derive("namesLacking", Value::List(lacking), from);
    }
    for endpoint in mcs.iter().filter(|endpoint| endpoint.at_front) {
        let first = endpoint.probes[0];
        let Some(address) = first.address else { continue };
        let id = EntityId::cluster_scoped("VIP", &address.to_string());
        let vip: &mut Entity = base.entities.entry(id).or_default();
        let open = vip.facts.get("mcs").and_then(|mcs| mcs.get("reach")?.text()) == Some("open");
        if !open {
            let facts = endpoint.facts(reaching);
            let kept = ["reach", "vantage", "inside", "elsewhere"];
            let kept = facts.into_iter().filter(|(key, _)| kept.contains(&key.as_str())).collect();
            vip.derive("mcs", Value::Map(kept), endpoint.evidence());
        }
    }
}

/// The name by which the door should be called, where its certificate does not have it.
fn lacking_name(shown: &Map) -> Option<Value> {
    let official = shown.get("official") == Some(&Value::Bool(true));
    let mut refusals = shown.get("tls")?.get("refusals")?.texts();
    (official && refusals.any(|why| why == "wrong-name")).then(|| shown.get("asked").cloned())?
}

/// What the machine-config server answers to those who ask for the config of a pool.
fn configs(probes: &[Probe], base: &mut FactBase) {
    let mut pools: BTreeMap<&str, (bool, bool, Vec<Evidence>)> = BTreeMap::new();
    for probe in probes.iter().filter(|probe| probe.port == Some(MCS)) {
        let Found::Status(status) = probe.found else { continue };
        let Some(pool) = probe.path.strip_prefix("/config/").filter(|pool| !pool.is_empty()) else {
            continue;
        };
        let (given, failed, from) = pools.entry(pool).or_default();
        *given |= (200..300).contains(&status);
        *failed |= status == 500;
        from.push(probe.at.clone());
    }
    for (pool, (given, failed, from)) in pools {
        let id = EntityId::cluster_scoped("MachineConfigPool", pool);
        let map = Map::from([("given".into(), given.into()), ("failed".into(), failed.into())]);
        base.entities.entry(id).or_default().derive("served", Value::Map(map), from);
    }
}

/// What DNS says of one name, from the best vantage.
fn dns(questions: &[&Probe]) -> Option<Map> {
    let best = questions.iter().max_by_key(|probe| probe.is_inside())?;
    let same: Vec<&Found> = questions
        .iter()
        .filter(|probe| probe.vantage == best.vantage)
        .map(|probe| &probe.found)
        .collect();
    let mut addresses: Vec<String> = Vec::new();
    let mut words: Vec<&str> = Vec::new();
    let mut resolvers: Vec<&str> = Vec::new();
    for found in same {
        match found {
            Found::Dns { resolver, said, addresses: all } => {
                addresses.extend(all.iter().cloned());
                words.push(said);
                resolvers.push(resolver);
            }
            Found::Unreached(_) => words.push("unanswered"),
            _ => {}
        }
    }
    let said = match words.first()? {
        _ if !addresses.is_empty() => "addresses",
        first if words.iter().all(|word| word == first) => first,
        // One type of record may be refused where the other is plainly not there.
        _ => {
            words.iter().find(|word| !["nxdomain", "no-data"].contains(word)).unwrap_or(&"no-data")
        }
    };
    addresses.sort();
    addresses.dedup();
    Some(Map::from([
        ("said".into(), said.into()),
        ("addresses".into(), addresses.into()),
        ("resolver".into(), resolvers.first().copied().unwrap_or_default().into()),
        ("vantage".into(), best.vantage.as_str().into()),
        ("inside".into(), best.is_inside().into()),
    ]))
}

/// Names that play one role.
enum Names {
    Exactly(String),
    /// With the dot.
    EndingIn(String),
}

impl Names {
    fn fits(&self, host: &str) -> bool {
        match self {
            Names::Exactly(name) => host == name,
            Names::EndingIn(end) => host.ends_with(end),
        }
    }
}

impl Probe {
    fn is_question(&self) -> bool {
        let asked = matches!(self.found, Found::Dns { .. } | Found::Unreached(_));
        asked && self.port.is_none()
    }
}

impl Known {
    fn names(&self) -> Vec<(Names, &'static str)> {
        let Some(domain) = &self.domain else { return Vec::new() };
        vec![
            (Names::Exactly(format!("api.{domain}")), "api"),
            (Names::Exactly(format!("api-int.{domain}")), "apiInt"),
            (Names::EndingIn(format!(".apps.{domain}")), "ingress"),
        ]
    }

    fn role(&self, probe: &Probe) -> Option<&'static str> {
        let internal = self.domain.as_ref().is_some_and(|d| probe.host == format!("api-int.{d}"));
        let apps = |domain: &String| probe.asked.ends_with(&format!(".apps.{domain}"));
        match probe.port? {
            API if internal => Some("apiInt"),
            API => Some("api"),
            MCS => Some("mcs"),
            INGRESS if self.domain.as_ref().is_some_and(apps) => Some("ingress"),
            _ => None,
        }
    }

    fn is_official(&self, role: &str, asked: &str) -> bool {
        let named =
            |prefix: &str| self.domain.as_ref().is_some_and(|d| asked == format!("{prefix}.{d}"));
        // The first VIP only: one that was added later is in no certificate.
        let vip = asked.parse().is_ok_and(|address| self.api_vips.first() == Some(&address));
        match role {
            "api" => named("api"),
            "apiInt" => named("api-int"),
            "mcs" => named("api-int") || vip,
            _ => true,
        }
    }
}
