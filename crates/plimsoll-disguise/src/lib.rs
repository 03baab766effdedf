//! Other names and addresses in place of a site's own, the same everywhere, so that what is told of
//! them stays true: who is in which network, who is meant by what, in which order.
//!
//! Lines stay lines. What holds a name where it cannot be replaced, as a certificate does, is taken out.

mod addresses;
mod certified;
mod hidden;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use addresses::Addresses;

/// What the other addresses depend on. Whoever has it can tell which is which.
pub type Key = [u8; 16];

/// What is known of the names of a site.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Of machines, with or without their domain.
    pub hosts: BTreeSet<String>,
    /// `ocp.example.com`: the one below which the API has its name.
    pub domains: BTreeSet<String>,
    /// `ocp-x7k2p`, which begins the names of machines and machine sets.
    pub infrastructures: BTreeSet<String>,
}

pub struct Disguise {
    words: Option<AhoCorasick>,
    replaced: Vec<(String, String)>,
    addresses: Addresses,
}

impl Disguise {
    /// Names that `known` has are called as they were before.
    pub fn new(
        names: &Names,
        key: Key,
        known: &BTreeMap<String, String>,
    ) -> Result<Self, aho_corasick::BuildError> {
        let mut all = known.clone();
        let hosts: Vec<(&str, &str)> = names.hosts.iter().filter_map(|host| parts(host)).collect();
        let own = hosts.iter().filter(|(name, _)| is_telling(name));
        name_all(&mut all, own.map(|(name, _)| name.to_ascii_lowercase()).collect(), "host-");
        let domains = hosts.iter().map(|(_, domain)| *domain);
        let domains = domains.chain(names.domains.iter().map(String::as_str));
        name_all(&mut all, domains.flat_map(domain_words).collect(), "site.example");
        name_all(&mut all, names.infrastructures.clone(), "cluster-");
        name_all(&mut all, cluster_names(names), "cluster-");
        let replaced: Vec<(String, String)> = all.into_iter().collect();
        let words = match replaced.is_empty() {
            true => None,
            false => Some(
                AhoCorasick::builder()
                    .match_kind(MatchKind::LeftmostLongest)
                    .ascii_case_insensitive(true)
                    .build(replaced.iter().map(|(name, _)| name))?,
            ),
        };
        Ok(Self { words, replaced, addresses: Addresses::new(key) })
    }

    /// What was replaced by which address so far.
    pub fn addresses(&self) -> BTreeMap<String, String> {
        self.addresses.replaced_so_far()
    }

    /// What is called how, to be kept by whom it belongs to.
    pub fn names(&self) -> BTreeMap<String, String> {
        self.replaced.iter().cloned().collect()
    }

    pub fn text<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        let mut text = Cow::Borrowed(text);
        let names = Self::with_other_names;
        // Names once more: where an address follows a word at once, another one may end it as a name does.
        for step in [Self::without_hidden, names, Self::with_other_addresses, names] {
            if let Some(changed) = step(self, &text) {
                text = Cow::Owned(changed);
            }
        }
        text
    }

    fn without_hidden(&self, text: &[u8]) -> Option<Vec<u8>> {
        let tells = |inside: &[u8]| {
            let is_of_site = |address| self.addresses.is_replaced(address);
            self.first_name(inside, 0).is_some()
                || certified::addresses(inside).into_iter().any(is_of_site)
        };
        hidden::without(text, &tells)
    }

    fn with_other_addresses(&self, text: &[u8]) -> Option<Vec<u8>> {
        self.addresses.replaced(text)
    }

    fn with_other_names(&self, text: &[u8]) -> Option<Vec<u8>> {
        let mut changed = Vec::new();
        let mut at = 0;
        while let Some((start, end, word)) = self.first_name(text, at) {
            changed.extend_from_slice(&text[at..start]);
            changed.extend_from_slice(self.replaced[word].1.as_bytes());
            at = end;
        }
        (at > 0).then(|| {
            changed.extend_from_slice(&text[at..]);
            changed
        })
    }

    /// A name that stands for itself, or as part of one: `etcd-master-0`, `master-0.ocp.example.com`.
    fn first_name(&self, text: &[u8], mut from: usize) -> Option<(usize, usize, usize)> {
        let words = self.words.as_ref()?;
        let is_word = |at: Option<usize>| {
            at.and_then(|at| text.get(at)).is_some_and(u8::is_ascii_alphanumeric)
        };
        loop {
            let found = words.find(aho_corasick::Input::new(text).range(from..))?;
            let (start, end) = (found.start(), found.end());
            if !is_word(start.checked_sub(1)) && !is_word(Some(end)) {
                return Some((start, end, found.pattern().as_usize()));
            }
            from = start + 1;
        }
    }
}

/// Numbered in the order of the names, so that what is sorted by name stays in its order.
fn name_all(all: &mut BTreeMap<String, String>, names: BTreeSet<String>, like: &str) {
    let new: Vec<String> = names.into_iter().filter(|name| !all.contains_key(name)).collect();
    let is_taken = |all: &BTreeMap<String, String>, other: &str| all.values().any(|is| is == other);
    // Alike in length, so that `host-10` does not come before `host-2`.
    let mut number = 100;
    for name in new {
        let other = loop {
            number += 1;
            let other = match like.split_once('.') {
                Some((first, rest)) => format!("{first}-{number}.{rest}"),
                None => format!("{like}{number}"),
            };
            if !is_taken(all, &other) {
                break other;
            }
        };
        all.insert(name, other);
    }
}

/// A host and its domain; nothing of an address.
fn parts(host: &str) -> Option<(&str, &str)> {
    let is_address = host.parse::<std::net::IpAddr>().is_ok();
    (!is_address).then(|| host.split_once('.').unwrap_or((host, "")))
}

/// What a cluster is called alone, as in the name of its virtual router: the first word of its domain, and
/// what stands before the five random letters of its infrastructure.
fn cluster_names(names: &Names) -> BTreeSet<String> {
    let of_domains = names.domains.iter().filter_map(|domain| domain.split('.').next());
    let random = |end: &str| end.len() == 5 && end.bytes().all(|b| b.is_ascii_alphanumeric());
    let of_infrastructures = names.infrastructures.iter().filter_map(|name| {
        name.rsplit_once('-').filter(|(_, end)| random(end)).map(|(name, _)| name)
    });
    let all = of_domains.chain(of_infrastructures).filter(|name| is_telling(name));
    all.map(str::to_ascii_lowercase).collect()
}

/// Words of Kubernetes and OpenShift: names of fields, kinds and parts, and what is read in logs.
static WORDS: LazyLock<BTreeSet<&str>> =
    LazyLock::new(|| include_str!("words.txt").split_whitespace().collect());

/// A host that is called `master` has the name of many other things, and is not known by it. Nor is
/// one by a number alone.
fn is_telling(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.len() > 2
        && name.bytes().any(|byte| byte.is_ascii_alphabetic())
        && !WORDS.contains(name.as_str())
}

/// A domain and the one above it; not the top, which is everybody's.
fn domain_words(domain: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = domain.trim_matches('.');
    while rest.contains('.') {
        words.push(rest.to_ascii_lowercase());
        rest = rest.split_once('.').map_or("", |(_, above)| above);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> Disguise {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_string()).collect();
        let names = Names {
            hosts: set(&["master-0", "master-1.ocp.corp.test", "worker", "10.1.2.3"]),
            domains: set(&["ocp.corp.test"]),
            infrastructures: set(&["ocp-x7k2p"]),
        };
        Disguise::new(&names, [7; 16], &BTreeMap::new()).unwrap()
    }

    fn said(text: &str) -> String {
        String::from_utf8(site().text(text.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn names_are_the_same_everywhere_and_parts_of_words_are_left_alone() {
        assert_eq!(
            said("Node/master-0 etcd-master-0 master-01 MASTER-0 node-role/master xmaster-0"),
            "Node/host-101 etcd-host-101 master-01 host-101 node-role/master xmaster-0"
        );
        assert_eq!(said("https://api.ocp.corp.test:6443"), "https://api.site-102.example:6443");
        assert_eq!(said("registry.corp.test/x"), "registry.site-101.example/x");
        assert_eq!(said("ocp-x7k2p-worker-0-abcde"), "cluster-101-worker-0-abcde");
    }

    #[test]
    fn a_word_that_is_everybodys_is_nobodys_name_and_any_other_is() {
        let hosts = ["titan", "worker", "Status", "saturn.corp.test", "42", "kubelet", "db"];
        let hosts = hosts.iter().map(|name| (*name).to_string()).collect();
        let site = Disguise::new(&Names { hosts, ..Names::default() }, [7; 16], &BTreeMap::new());
        let text = "Titan: saturn is up; status: {worker: 42}, kubelet on titanic, db";
        let said = site.unwrap().text(text.as_bytes()).into_owned();
        assert_eq!(
            String::from_utf8(said).unwrap(),
            "host-102: host-101 is up; status: {worker: 42}, kubelet on titanic, db"
        );
    }

    #[test]
    fn a_cluster_is_not_known_by_its_name_alone_unless_that_is_a_word() {
        let site = |domain: &str, infrastructure: &str| {
            let names = Names {
                domains: BTreeSet::from([domain.into()]),
                infrastructures: BTreeSet::from([infrastructure.into()]),
                ..Names::default()
            };
            Disguise::new(&names, [7; 16], &BTreeMap::new()).unwrap()
        };
        let text = b"ostest_API_0 ostest-x7k2p-worker-0 name: ostest, api.ostest.corp.test ostests";
        assert_eq!(
            String::from_utf8_lossy(&site("ostest.corp.test", "ostest-x7k2p").text(text)),
            "cluster-102_API_0 cluster-101-worker-0 name: cluster-102, api.site-102.example ostests"
        );
        let plain = b"openshift-release-dev/ocp-release";
        assert_eq!(&*site("ocp.corp.test", "ocp-x7k2p").text(plain), plain);
    }

    #[test]
    fn its_owner_can_find_every_address_again() {
        let site = site();
        let text =
            "192.168.111.20 10.128.0.5 52:54:00:aa:bb:cc fd2e:6f44:5dd8::14 192.168.111.0/24";
        let other = String::from_utf8(site.text(text.as_bytes()).into_owned()).unwrap();
        let known = site.addresses();
        let own: Vec<&str> = known.keys().map(String::as_str).collect();
        assert_eq!(
            own,
            ["192.168.111.0/24", "192.168.111.20", "52:54:00:aa:bb:cc", "fd2e:6f44:5dd8::14"]
        );
        for (own, instead) in &known {
            assert!(text.contains(own) && other.contains(instead.as_str()), "{own} {instead}");
        }
    }

    #[test]
    fn an_address_after_a_word_does_not_make_it_a_name() {
        let names = Names { hosts: BTreeSet::from(["master-0".into()]), ..Names::default() };
        let made = |byte| {
            let site = Disguise::new(&names, [byte; 16], &BTreeMap::new()).unwrap();
            String::from_utf8(site.text(b"node master-00:1::.ocp.test").into_owned()).unwrap()
        };
        let said: Vec<String> = (0..=255).map(made).collect();
        assert!(said.iter().all(|text| !text.contains("master-0:")), "{said:?}");
    }

    /// The extension alone, as it stands in a certificate, with enough before it to be one.
    #[test]
    fn a_certificate_for_an_address_of_the_site_goes() {
        use base64::Engine;
        let pem = |address: [u8; 4]| {
            let names = [&[0x06, 3, 0x55, 0x1d, 0x11, 0x04, 8, 0x30, 6, 0x87, 4][..], &address];
            let der = [&[0x30; 40][..], &names.concat()].concat();
            let encoded = base64::engine::general_purpose::STANDARD.encode(der);
            format!("-----BEGIN CERTIFICATE-----\n{encoded}\n-----END CERTIFICATE-----")
        };
        assert_eq!(said(&pem([192, 168, 111, 20])), "removed\n\n");
        let everywhere = pem([172, 30, 0, 1]);
        assert_eq!(said(&everywhere), everywhere, "every cluster has it");
    }

    #[test]
    fn what_was_named_once_keeps_its_name() {
        let known = site().names();
        let names =
            Names { hosts: BTreeSet::from(["a-1".into(), "master-1".into()]), ..Names::default() };
        let later = Disguise::new(&names, [7; 16], &known).unwrap();
        assert_eq!(&*later.text(b"master-1 a-1"), b"host-102 host-103");
    }
}
