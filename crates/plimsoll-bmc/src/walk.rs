//! Collections: their pages, and their members, which may be there or only named.

use serde_json::Value;

use crate::client::{Answer, Client};
use crate::value::{link, link_at, list, same_path};

/// Pages of one collection.
const PAGES: usize = 20;
/// Members of one collection that are asked for one by one.
const MEMBERS: usize = 64;

/// The pages of a collection, as many as wanted. A service may say that there is always one more.
pub async fn pages(
    client: &mut Client,
    path: &str,
    expand: Option<&str>,
    most: usize,
) -> Vec<Answer> {
    let mut pages: Vec<Answer> = Vec::new();
    let mut seen = vec![path.to_string()];
    let mut next = match expand {
        // A service may know the query for some collections only.
        Some(query) => match client.get(&format!("{path}{query}")).await {
            Ok(answer) => Some(answer),
            Err(_) => client.read(path).await,
        },
        None => client.read(path).await,
    };
    while let Some(answer) = next.take() {
        let place = answer.body["Members@odata.nextLink"].as_str().map(str::to_string);
        pages.push(answer);
        let Some(place) = place else { break };
        if seen.contains(&place) || pages.len() >= PAGES {
            client.gap(path, "its pages have no end");
            break;
        }
        if pages.len() >= most {
            break;
        }
        next = client.read(&place).await;
        seen.push(place);
    }
    pages
}

/// Members as they stand in a page. The count that a service tells is not believed.
pub fn named(page: &Value) -> &[Value] {
    list(page, "/Members")
}

/// Every member in full, asked for where only its path is told.
pub async fn members(client: &mut Client, path: &str, expand: Option<&str>) -> Vec<Answer> {
    let pages = pages(client, path, expand, PAGES).await;
    let named: Vec<Value> = pages.iter().flat_map(|page| named(&page.body)).cloned().collect();
    resolve(client, path, &named).await
}

/// The documents that a list names, or holds.
pub async fn resolve(client: &mut Client, of: &str, named: &[Value]) -> Vec<Answer> {
    let mut found: Vec<Answer> = Vec::new();
    let mut asked = 0;
    for member in named {
        if is_full(member) {
            found.push(Answer { body: member.clone(), allow: Vec::new() });
            continue;
        }
        // A member without a place cannot be asked for.
        let Some(path) = link(member) else { continue };
        let known = |answer: &Answer| link(&answer.body).is_some_and(|told| same_path(told, path));
        if found.iter().any(known) {
            continue;
        }
        asked += 1;
        if asked > MEMBERS {
            client.gap(of, format!("it has more than {MEMBERS} members"));
            break;
        }
        found.extend(client.read(path).await);
    }
    found
}

/// The members of the collection that a document links to.
pub async fn linked(
    client: &mut Client,
    document: &Value,
    pointer: &str,
    expand: Option<&str>,
) -> Vec<Value> {
    let Some(path) = link_at(document, pointer).map(str::to_string) else { return Vec::new() };
    members(client, &path, expand).await.into_iter().map(|answer| answer.body).collect()
}

pub fn is_full(member: &Value) -> bool {
    member.as_object().is_some_and(|fields| {
        fields.contains_key("Id") || fields.contains_key("Name") || fields.contains_key("MemberId")
    })
}
