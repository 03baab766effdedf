//! The newest entries of a BMC's logs, without reading what years have left there.

use serde_json::Value;

use crate::client::Client;
use crate::quirks::{Log, Quirks};
use crate::value::{link, link_at, text};
use crate::walk::{is_full, named, pages};

/// Entries that are kept, of all logs together.
pub const KEPT: usize = 50;
/// Entries of one log that are asked for one by one.
const ASKED: usize = 20;
/// Logs of a service that is not known better.
const LOGS: usize = 4;
/// Pages of a log whose order is not known.
const PAGES: usize = 8;

pub struct Places {
    pub system: Option<String>,
    pub manager: Option<String>,
    pub of_system: Option<String>,
    pub of_manager: Option<String>,
}

pub async fn entries(client: &mut Client, quirks: &Quirks, places: &Places) -> Vec<Value> {
    let mut logs = known(quirks, places);
    if logs.is_empty() {
        logs = listed(client, places).await;
    }
    let mut entries = Vec::new();
    for log in logs {
        let Some(answer) = client.read(&log).await else { continue };
        let Some(path) = link_at(&answer.body, "/Entries").map(str::to_string) else { continue };
        let most = if quirks.newest_first { 1 } else { PAGES };
        let pages = pages(client, &path, quirks.expand, most).await;
        let all: Vec<&Value> = pages.iter().flat_map(|page| named(&page.body)).collect();
        if all.iter().any(|entry| is_full(entry)) {
            entries.extend(all.into_iter().filter(|entry| is_full(entry)).cloned());
        } else {
            let paths: Vec<String> = all.into_iter().filter_map(link).map(str::to_string).collect();
            entries.extend(newest(client, &paths).await);
        }
    }
    entries
}

fn known(quirks: &Quirks, places: &Places) -> Vec<String> {
    let path = |log: &Log| {
        let (folder, name) = match log {
            Log::OfManager(name) => (places.manager.as_deref()?, name),
            Log::OfSystem(name) => (places.system.as_deref()?, name),
        };
        Some(format!("{}/{name}", folder.trim_end_matches('/')))
    };
    quirks.logs.iter().filter_map(path).collect()
}

async fn listed(client: &mut Client, places: &Places) -> Vec<String> {
    let mut logs: Vec<String> = Vec::new();
    for folder in [&places.of_system, &places.of_manager].into_iter().flatten() {
        if let Some(answer) = client.read(folder).await {
            logs.extend(named(&answer.body).iter().filter_map(link).map(str::to_string));
        }
    }
    logs.dedup();
    logs.truncate(LOGS);
    logs
}

/// Entries that are only named, from the end where the newer ones are.
async fn newest(client: &mut Client, paths: &[String]) -> Vec<Value> {
    let (Some(first), Some(last)) = (paths.first(), paths.last()) else { return Vec::new() };
    let mut found = Vec::new();
    found.extend(client.read(first).await.map(|answer| answer.body));
    if paths.len() == 1 {
        return found;
    }
    found.extend(client.read(last).await.map(|answer| answer.body));
    let time = |entry: Option<&Value>| entry.and_then(|entry| text(entry, "/Created"));
    let rising = time(found.first()) <= time(found.last());
    let middle = &paths[1..paths.len() - 1];
    let rest: Vec<&String> = match rising {
        true => middle.iter().rev().take(ASKED).collect(),
        false => middle.iter().take(ASKED).collect(),
    };
    for path in rest {
        found.extend(client.read(path).await.map(|answer| answer.body));
    }
    found
}
