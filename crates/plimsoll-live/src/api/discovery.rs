//! Which of the needed resources the cluster offers, and under which version.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt;
use serde::Deserialize;

use super::ask::Asker;
use super::plan::Want;
use crate::gaps::Gaps;

const JSON: &str = "application/json";
/// As many as lists are read at once later: each more is another connection, with certificates of its own.
const AT_ONCE: usize = 4;

/// A resource as the cluster offers it.
#[derive(Clone, Debug)]
pub struct Offer {
    /// `/api/v1`, `/apis/metal3.io/v1alpha1`
    pub base: String,
    pub kind: String,
    pub api_version: String,
    pub namespaced: bool,
    pub singular: String,
    pub short_names: Vec<String>,
}

/// By group and plural.
pub type Offers = BTreeMap<(String, String), Offer>;

#[derive(Deserialize)]
struct Groups {
    groups: Vec<Group>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Group {
    name: String,
    preferred_version: Version,
    #[serde(default)]
    versions: Vec<Version>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    group_version: String,
}

#[derive(Deserialize)]
struct Resources {
    resources: Vec<Resource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    name: String,
    kind: String,
    namespaced: bool,
    #[serde(default)]
    singular_name: String,
    #[serde(default)]
    short_names: Vec<String>,
}

impl Group {
    /// The preferred one first.
    fn versions(self) -> Vec<String> {
        let preferred = self.preferred_version.group_version;
        let others = self.versions.into_iter().map(|version| version.group_version);
        let others: Vec<String> = others.filter(|version| *version != preferred).collect();
        [vec![preferred], others].concat()
    }
}

/// What is wanted and offered. A cluster without some kind of thing has nothing of it to tell.
pub async fn offers(asker: &Asker, wants: &[Want], gaps: &Gaps) -> Offers {
    let all = match asker.json::<Groups>("/apis", JSON).await {
        Ok(all) => all.groups,
        Err(trouble) => {
            gaps.add("the list of API groups", &trouble.why);
            Vec::new()
        }
    };
    let mut versions: BTreeMap<String, Vec<String>> =
        all.into_iter().map(|group| (group.name.clone(), group.versions())).collect();
    versions.insert("core".into(), vec!["v1".into()]);
    let mut wanted: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for want in wants {
        wanted.entry(&want.group).or_default().insert(&want.plural);
    }
    let groups = wanted.iter().filter_map(|(group, plurals)| {
        let versions = versions.get(*group)?;
        Some(offers_of_group(asker, (*group, plurals), versions, gaps))
    });
    let found: Vec<Offers> =
        futures::stream::iter(groups).buffer_unordered(AT_ONCE).collect().await;
    found.into_iter().flatten().collect()
}

/// Not every version of a group has all of its resources: of machine.openshift.io the preferred v1 has
/// no Machines. The others are asked as long as something is wanted that was not found.
async fn offers_of_group(
    asker: &Asker,
    (group, plurals): (&str, &BTreeSet<&str>),
    versions: &[String],
    gaps: &Gaps,
) -> Offers {
    let mut offers = Offers::new();
    let mut missing = plurals.clone();
    for version in versions {
        if missing.is_empty() {
            break;
        }
        let base = match group {
            "core" => "/api/v1".to_string(),
            _ => format!("/apis/{version}"),
        };
        let resources = match asker.json::<Resources>(&base, JSON).await {
            Ok(found) => found.resources,
            Err(trouble) => {
                gaps.add(format!("resources of {version}"), &trouble.why);
                continue;
            }
        };
        for resource in resources {
            if missing.remove(resource.name.as_str()) {
                let key = (group.to_string(), resource.name.clone());
                offers.insert(key, Offer::new(&base, version, resource));
            }
        }
    }
    offers
}

impl Offer {
    fn new(base: &str, version: &str, resource: Resource) -> Self {
        let Resource { kind, namespaced, singular_name, short_names, .. } = resource;
        let singular = if singular_name.is_empty() { kind.to_lowercase() } else { singular_name };
        Self {
            base: base.into(),
            kind,
            api_version: version.into(),
            namespaced,
            singular,
            short_names,
        }
    }
}
