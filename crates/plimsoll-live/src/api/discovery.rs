//! Which of the needed resources the cluster offers, and under which version.

use std::collections::BTreeMap;

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
struct Resource {
    name: String,
    kind: String,
    namespaced: bool,
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
    let mut groups: Vec<&str> = wants.iter().map(|want| want.group.as_str()).collect();
    groups.sort_unstable();
    groups.dedup();
    let versions = groups.iter().filter_map(|group| {
        let version = match *group {
            "core" => "v1".to_string(),
            group => {
                let found = all.iter().find(|one| one.name == group)?;
                found.preferred_version.group_version.clone()
            }
        };
        Some(((*group).to_string(), version))
    });
    let versions: Vec<(String, String)> = versions.collect();
    let found = futures::stream::iter(versions)
        .map(|(group, version)| async move {
            let base = match group.as_str() {
                "core" => "/api/v1".to_string(),
                _ => format!("/apis/{version}"),
            };
            let resources = asker.json::<Resources>(&base, JSON).await;
            (group, version, base, resources)
        })
        .buffer_unordered(AT_ONCE)
        .collect::<Vec<_>>()
        .await;
    let mut offers = Offers::new();
    for (group, version, base, resources) in found {
        let resources = match resources {
            Ok(found) => found.resources,
            Err(trouble) => {
                gaps.add(format!("resources of {version}"), &trouble.why);
                continue;
            }
        };
        for Resource { name, kind, namespaced } in resources {
            let offer =
                Offer { base: base.clone(), kind, api_version: version.clone(), namespaced };
            offers.insert((group.clone(), name), offer);
        }
    }
    offers
}
