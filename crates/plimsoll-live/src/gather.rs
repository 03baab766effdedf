//! Reads a cluster through its API, with reading verbs only, and hands over files as a must-gather
//! would hold them. What cannot be read is a gap; one refusal does not stop the rest.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use futures::StreamExt;
use kube::Client;
use plimsoll_model::snapshot::{Gap, GapStatus, Needs};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc::Sender;
use tokio::time::Instant;

use crate::logs::{PodSeen, wanted_logs};
use crate::plan::{Want, plan};
use crate::shape::{node, shape};
use crate::words::{Trouble, refusal};

const PAGE: usize = 500;
const LISTS_AT_ONCE: usize = 4;
const LOGS_AT_ONCE: usize = 8;
const TRIES: u32 = 4;
/// A list file above this is written as one file an object, which no longer proves absence.
const LARGEST_LIST: usize = 48 << 20;
/// The end of a log is where what is wrong now stands.
const LOG_LINES: usize = 20_000;

pub struct Member {
    pub path: String,
    pub bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For one request.
    pub request: Duration,
    /// For everything.
    pub budget: Duration,
}

pub struct Gathering<'g> {
    client: Client,
    needs: &'g Needs,
    patience: Patience,
    deadline: Instant,
    out: Sender<Member>,
    gaps: Mutex<Vec<Gap>>,
    pods: Mutex<Vec<PodSeen>>,
    /// Nodes that are not plainly well.
    ailing: Mutex<Vec<String>>,
}

/// A resource as the cluster offers it.
#[derive(Clone, Debug)]
struct Offer {
    /// `/api/v1`, `/apis/metal3.io/v1alpha1`
    base: String,
    kind: String,
    api_version: String,
    namespaced: bool,
}

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    metadata: PageMeta,
    #[serde(default)]
    items: Vec<Value>,
}

#[derive(Default, Deserialize)]
struct PageMeta {
    #[serde(default, rename = "continue")]
    next: String,
}

/// Nobody reads on the other side any more.
struct Closed;

enum Stop {
    Trouble(Trouble),
    Closed,
}

impl From<Trouble> for Stop {
    fn from(trouble: Trouble) -> Self {
        Stop::Trouble(trouble)
    }
}

impl From<Closed> for Stop {
    fn from(_: Closed) -> Self {
        Stop::Closed
    }
}

impl<'g> Gathering<'g> {
    pub fn new(client: Client, needs: &'g Needs, patience: Patience, out: Sender<Member>) -> Self {
        Self {
            client,
            needs,
            patience,
            deadline: Instant::now() + patience.budget,
            out,
            gaps: Mutex::default(),
            pods: Mutex::default(),
            ailing: Mutex::default(),
        }
    }

    /// Objects first; then the logs of what does not look well, and of all that there is few of.
    pub async fn run(self) -> Vec<Gap> {
        let offers = self.offers().await;
        let wants = plan(self.needs);
        let lists = wants.iter().filter_map(|want| {
            let offer = offers.get(&(want.group.clone(), want.plural.clone()))?;
            Some(self.read(want, offer))
        });
        futures::stream::iter(lists).buffer_unordered(LISTS_AT_ONCE).collect::<()>().await;
        let pods = std::mem::take(&mut *lock(&self.pods));
        let ailing = std::mem::take(&mut *lock(&self.ailing));
        let logs = wanted_logs(self.needs, &pods, &ailing);
        let reads = logs.iter().map(|log| self.log(log));
        futures::stream::iter(reads).buffer_unordered(LOGS_AT_ONCE).collect::<()>().await;
        let mut gaps = self.gaps.into_inner().unwrap_or_default();
        gaps.sort();
        gaps.dedup();
        gaps
    }

    fn gap(&self, what: String, why: String) {
        lock(&self.gaps).push(Gap { status: GapStatus::NotCollected, what, why });
    }

    /// What the cluster offers of the resources that are needed.
    async fn offers(&self) -> BTreeMap<(String, String), Offer> {
        let mut groups: Vec<String> = plan(self.needs).into_iter().map(|want| want.group).collect();
        groups.dedup();
        let all = match self.get::<Value>("/apis").await {
            Ok(all) => all,
            Err(trouble) => {
                self.gap("the list of API groups".into(), trouble.why);
                Value::Null
            }
        };
        let preferred = |group: &str| -> Option<String> {
            let groups = all.get("groups")?.as_array()?;
            let found = groups.iter().find(|one| one["name"] == group)?;
            found["preferredVersion"]["groupVersion"].as_str().map(str::to_string)
        };
        let mut offers = BTreeMap::new();
        for group in groups {
            let version = match group.as_str() {
                "core" => Some("v1".to_string()),
                group => preferred(group),
            };
            // A cluster without this kind of thing has nothing of it to tell.
            let Some(version) = version else { continue };
            let base = match group.as_str() {
                "core" => "/api/v1".to_string(),
                _ => format!("/apis/{version}"),
            };
            let found = match self.get::<Value>(&base).await {
                Ok(found) => found,
                Err(trouble) => {
                    self.gap(format!("resources of {version}"), trouble.why);
                    continue;
                }
            };
            for resource in found["resources"].as_array().into_iter().flatten() {
                let text = |key: &str| resource[key].as_str().unwrap_or_default().to_string();
                let offer = Offer {
                    base: base.clone(),
                    kind: text("kind"),
                    api_version: version.clone(),
                    namespaced: resource["namespaced"].as_bool().unwrap_or_default(),
                };
                offers.insert((group.clone(), text("name")), offer);
            }
        }
        offers
    }

    async fn read(&self, want: &Want, offer: &Offer) {
        let places: Vec<Option<&str>> = match want.namespaces.as_slice() {
            namespaces if offer.namespaced && !namespaces.is_empty() => {
                namespaces.iter().map(|namespace| Some(namespace.as_str())).collect()
            }
            _ => vec![None],
        };
        for namespace in places {
            match self.list(want, offer, namespace).await {
                Ok(()) => {}
                Err(Stop::Closed) => return,
                Err(Stop::Trouble(trouble)) => {
                    let place = namespace.map(|name| format!(" in {name}")).unwrap_or_default();
                    self.gap(format!("{}{place}", want.title()), trouble.why);
                }
            }
        }
    }

    /// Pages come in the order of namespaces, so one namespace is in memory at a time.
    async fn list(&self, want: &Want, offer: &Offer, place: Option<&str>) -> Result<(), Stop> {
        let path = match place {
            Some(namespace) => format!("{}/namespaces/{namespace}/{}", offer.base, want.plural),
            None => format!("{}/{}", offer.base, want.plural),
        };
        let mut file = ListFile { namespace: place.map(str::to_string), ..ListFile::default() };
        let mut next = String::new();
        loop {
            let query = match next.is_empty() {
                true => format!("{path}?limit={PAGE}"),
                false => format!("{path}?limit={PAGE}&continue={next}"),
            };
            let page: Page = self.get(&query).await?;
            for mut item in page.items {
                let name = text_at(&item, "/metadata/name");
                if !want.names.is_empty() && !want.names.contains(&name) {
                    continue;
                }
                self.notice(want, &item);
                let namespace = text_at(&item, "/metadata/namespace");
                shape(&mut item, &want.drop, want.is_secret());
                if let Some(object) = item.as_object_mut() {
                    object.insert("apiVersion".into(), offer.api_version.clone().into());
                    object.insert("kind".into(), offer.kind.clone().into());
                }
                if !offer.namespaced {
                    let text = plimsoll_yaml::emit(&node(item));
                    let folder = format!("cluster-scoped-resources/{}", want.group);
                    self.hand_over(format!("{folder}/{}/{name}.yaml", want.plural), text).await?;
                    continue;
                }
                if file.namespace.as_ref().is_some_and(|known| *known != namespace) {
                    self.finish(want, offer, std::mem::take(&mut file)).await?;
                }
                file.namespace = Some(namespace);
                file.push(name, plimsoll_yaml::emit(&node(Value::Array(vec![item]))));
            }
            next = page.metadata.next;
            if next.is_empty() {
                return Ok(self.finish(want, offer, file).await?);
            }
        }
    }

    async fn finish(&self, want: &Want, offer: &Offer, file: ListFile) -> Result<(), Closed> {
        let Some(namespace) = file.namespace else { return Ok(()) };
        let folder = format!("namespaces/{namespace}/{}/{}", want.group, want.plural);
        if file.size <= LARGEST_LIST {
            let mut text = format!("apiVersion: {}\n", offer.api_version);
            text.push_str(if file.items.is_empty() { "items: []\n" } else { "items:\n" });
            file.items.iter().for_each(|(_, item)| text.push_str(item));
            text.push_str(&format!("kind: {}List\n", offer.kind));
            return self.hand_over(format!("{folder}.yaml"), text).await;
        }
        for (name, item) in file.items {
            // From an item of a list to an object of its own.
            let object: String =
                item.lines().map(|line| format!("{}\n", line.get(2..).unwrap_or_default())).collect();
            self.hand_over(format!("{folder}/{name}.yaml"), object).await?;
        }
        Ok(())
    }

    /// Remembers whose logs may be worth reading.
    fn notice(&self, want: &Want, item: &Value) {
        match (want.group.as_str(), want.plural.as_str()) {
            ("core", "pods") => lock(&self.pods).extend(PodSeen::of(item)),
            ("core", "nodes") if !is_well(item) => {
                lock(&self.ailing).push(text_at(item, "/metadata/name"));
            }
            _ => {}
        }
    }

    async fn log(&self, log: &crate::logs::WantedLog) {
        let crate::logs::WantedLog { namespace, pod, container, previous } = log;
        let query = format!(
            "/api/v1/namespaces/{namespace}/pods/{pod}/log?container={container}&timestamps=true&tailLines={LOG_LINES}{}",
            if *previous { "&previous=true" } else { "" }
        );
        let era = if *previous { "previous" } else { "current" };
        match self.text(&query).await {
            Ok(text) => {
                let clean = plimsoll_model::redact::redact(&text).to_string();
                let folder = format!("namespaces/{namespace}/pods/{pod}/{container}/{container}");
                let _ = self.hand_over(format!("{folder}/logs/{era}.log"), clean).await;
            }
            // A container that never ran has no log; that is no news.
            Err(trouble) if trouble.status == Some(400) => {}
            Err(trouble) => self.gap(format!("log of {namespace}/{pod} {container}"), trouble.why),
        }
    }

    async fn hand_over(&self, path: String, text: String) -> Result<(), Closed> {
        self.out.send(Member { path, bytes: text.into_bytes() }).await.map_err(|_| Closed)
    }

    async fn get<T: serde::de::DeserializeOwned>(&self, path: &str) -> Result<T, Trouble> {
        let text = self.text(path).await?;
        serde_json::from_str(&text).map_err(|error| Trouble {
            status: None,
            why: format!("the answer is no JSON that could be read: {error}"),
            passing: false,
        })
    }

    /// One request, tried again while the trouble looks like one that passes.
    async fn text(&self, path: &str) -> Result<String, Trouble> {
        let mut tries = 0;
        loop {
            let request = http::Request::get(path).body(Vec::new()).map_err(|error| Trouble {
                status: None,
                why: error.to_string(),
                passing: false,
            })?;
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let why = "the time that was given for the whole reading is over".into();
                return Err(Trouble { status: None, why, passing: false });
            }
            let limit = self.patience.request.min(left);
            let trouble = match tokio::time::timeout(limit, self.client.request_text(request)).await {
                Ok(Ok(text)) => return Ok(text),
                Ok(Err(error)) => refusal(&error),
                Err(_) => Trouble {
                    status: None,
                    why: format!("no answer within {} s", limit.as_secs()),
                    passing: true,
                },
            };
            tries += 1;
            if !trouble.passing || tries == TRIES {
                return Err(trouble);
            }
            tokio::time::sleep(Duration::from_millis(250 << tries)).await;
        }
    }
}

/// Items of one namespace, each as an item of a YAML list.
#[derive(Default)]
struct ListFile {
    namespace: Option<String>,
    items: Vec<(String, String)>,
    size: usize,
}

impl ListFile {
    fn push(&mut self, name: String, item: String) {
        self.size += item.len();
        self.items.push((name, item));
    }
}

pub fn text_at(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string()
}

/// Ready, schedulable, and as the machine-config operator wants it.
fn is_well(node: &Value) -> bool {
    let conditions = node.pointer("/status/conditions").and_then(Value::as_array);
    let ready = conditions.into_iter().flatten().any(|condition| {
        condition["type"] == "Ready" && condition["status"] == "True"
    });
    let config = |key: &str| {
        let annotations = node.pointer("/metadata/annotations")?;
        annotations.get(format!("machineconfiguration.openshift.io/{key}"))?.as_str()
    };
    ready
        && node.pointer("/spec/unschedulable").and_then(Value::as_bool) != Some(true)
        && config("state").is_none_or(|state| state == "Done")
        && config("currentConfig") == config("desiredConfig")
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
