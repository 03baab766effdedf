//! One resource, listed page by page and written as a must-gather holds it: a list file for each
//! namespace, or one for what has none; and a file for each object where tools look for that.

use serde::Deserialize;
use serde_json::Value;

use super::ask::METADATA_ONLY;
use super::discovery::Offer;
use super::plan::Want;
use super::shape::{node, shape};
use super::words::Trouble;
use super::{Reading, text_at};
use crate::archive::Closed;

/// Items of a page where each may have a megabyte.
const PAGE_OF_LARGE: usize = 50;
const LARGE: [&str; 4] = ["configmaps", "machineconfigs", "secrets", "hardwaredata"];
/// How often a list may change while it is read, before it is given up: etcd is compacted every five minutes.
const MOST_CHANGES: usize = 10;
/// A list file above this is written as one file an object.
const LARGEST_LIST: usize = 48 << 20;

/// Where `omc` opens the file of one object, and no list.
const ONE_FILE_EACH: [(&str, &str); 4] = [
    ("certificates.k8s.io", "certificatesigningrequests"),
    ("config.openshift.io", "clusterversions"),
    ("core", "nodes"),
    ("machineconfiguration.openshift.io", "machineconfigs"),
];

#[derive(Deserialize)]
struct Page {
    kind: Option<String>,
    #[serde(default)]
    metadata: PageMeta,
    /// `null` of a list of metadata with nothing in it.
    #[serde(default)]
    items: Option<Vec<Value>>,
}

impl Page {
    /// What says so little may be nobody's list, and proves no absence.
    fn items(self) -> Result<(Vec<Value>, String), Trouble> {
        match self.items {
            Some(items) => Ok((items, self.metadata.next)),
            None if self.kind.as_deref().is_some_and(|kind| kind.ends_with("List")) => {
                Ok((Vec::new(), self.metadata.next))
            }
            None => {
                let why = "no list came: the answer has neither items nor the kind of a list";
                Err(Trouble { why: why.into(), ..Trouble::default() })
            }
        }
    }
}

#[derive(Default, Deserialize)]
struct PageMeta {
    #[serde(default, rename = "continue")]
    next: String,
}

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

/// Reads all that is wanted of a resource.
pub async fn read(reading: &Reading<'_>, want: &Want, offer: &Offer) {
    let places: Vec<Option<&str>> = match want.namespaces.as_slice() {
        namespaces if offer.namespaced && !namespaces.is_empty() => {
            namespaces.iter().map(|namespace| Some(namespace.as_str())).collect()
        }
        _ => vec![None],
    };
    for namespace in places {
        let mut list = List::new(reading, want, offer, namespace);
        let place = namespace.map(|name| format!(" in {name}")).unwrap_or_default();
        match list.read().await {
            Ok(()) if list.changes > 0 => {
                let why =
                    "the list changed while it was read (410): what came or went may be missing";
                reading.gaps.note(format!("{}{place}", want.title()), why);
            }
            Ok(()) if namespace.is_none() => reading.listed(want),
            Ok(()) => {}
            Err(Stop::Closed) => return,
            Err(Stop::Trouble(trouble)) => {
                // What came before the trouble is true, and proves nothing of the rest.
                if list.write_objects().await.is_err() {
                    return;
                }
                reading.gaps.add(format!("{}{place}", want.title()), &trouble.why);
            }
        }
    }
}

struct List<'l, 'g> {
    reading: &'l Reading<'g>,
    want: &'l Want,
    offer: &'l Offer,
    place: Option<&'l str>,
    /// Items of one namespace, each as an item of a YAML list.
    items: Vec<(String, String)>,
    size: usize,
    /// Some are written already, each in a file of its own.
    in_files: bool,
    /// How often the rest was of a later time than what came before: such a list proves no absence.
    changes: usize,
    /// Of the items.
    namespace: Option<String>,
}

impl<'l, 'g> List<'l, 'g> {
    fn new(
        reading: &'l Reading<'g>,
        want: &'l Want,
        offer: &'l Offer,
        place: Option<&'l str>,
    ) -> Self {
        Self {
            reading,
            want,
            offer,
            place,
            items: Vec::new(),
            size: 0,
            in_files: false,
            changes: 0,
            namespace: place.map(str::to_string),
        }
    }

    /// Pages come in the order of namespaces, so one namespace is in memory at a time.
    async fn read(&mut self) -> Result<(), Stop> {
        let Self { want, offer, .. } = *self;
        let path = match self.place {
            Some(namespace) => format!("{}/namespaces/{namespace}/{}", offer.base, want.plural),
            None => format!("{}/{}", offer.base, want.plural),
        };
        let large = LARGE.contains(&want.plural.as_str()) && !want.metadata_only();
        let limit = if large { PAGE_OF_LARGE } else { self.reading.asker.page() };
        let accept = if want.metadata_only() { METADATA_ONLY } else { "application/json" };
        let mut next = String::new();
        loop {
            let query = match next.is_empty() {
                true => format!("{path}?limit={limit}"),
                false => format!("{path}?limit={limit}&continue={next}"),
            };
            let page: Page = match self.reading.asker.json(&query, accept).await {
                Err(Trouble { go_on: Some(token), .. }) if self.changes < MOST_CHANGES => {
                    next = token;
                    self.changes += 1;
                    continue;
                }
                page => page?,
            };
            let (items, then) = page.items()?;
            for item in items {
                self.take(item).await?;
            }
            if !next.is_empty() && next == then {
                let why = "the API does not go on with the list".into();
                return Err(Stop::Trouble(Trouble { why, ..Trouble::default() }));
            }
            next = then;
            if next.is_empty() {
                return Ok(self.write_list().await?);
            }
        }
    }

    async fn take(&mut self, mut item: Value) -> Result<(), Closed> {
        let name = text_at(&item, "/metadata/name");
        if !self.want.names.is_empty() && !self.want.names.contains(&name) {
            return Ok(());
        }
        self.reading.notice(self.want, &item);
        let namespace = text_at(&item, "/metadata/namespace");
        shape(&mut item, &self.want.drop, self.want.is_secret());
        if let Some(object) = item.as_object_mut() {
            object.insert("apiVersion".into(), self.offer.api_version.clone().into());
            object.insert("kind".into(), self.offer.kind.clone().into());
        }
        if self.offer.namespaced {
            if self.namespace.as_ref().is_some_and(|known| *known != namespace) {
                self.write_list().await?;
            }
            self.namespace = Some(namespace);
        }
        let text = plimsoll_yaml::emit(&node(Value::Array(vec![item])));
        self.size += text.len();
        self.items.push((name, text));
        // Objects that have a file each need not wait for the end of their list.
        let Want { group, plural, .. } = self.want;
        let each = ONE_FILE_EACH.contains(&(group.as_str(), plural.as_str()));
        if each || self.size > LARGEST_LIST {
            self.write_objects().await?;
            self.in_files = true;
        }
        Ok(())
    }

    fn folder(&self) -> Option<String> {
        let Want { group, plural, .. } = self.want;
        match (&self.namespace, self.offer.namespaced) {
            (Some(namespace), _) => Some(format!("namespaces/{namespace}/{group}/{plural}")),
            (None, false) => Some(format!("cluster-scoped-resources/{group}/{plural}")),
            (None, true) => None,
        }
    }

    async fn write_list(&mut self) -> Result<(), Closed> {
        if std::mem::take(&mut self.in_files) || self.changes > 0 {
            return self.write_objects().await;
        }
        let Some(folder) = self.folder() else { return Ok(()) };
        let mut text = format!("apiVersion: {}\n", self.offer.api_version);
        text.push_str(if self.items.is_empty() { "items: []\n" } else { "items:\n" });
        self.items.drain(..).for_each(|(_, item)| text.push_str(&item));
        self.size = 0;
        text.push_str(&format!("kind: {}List\n", self.offer.kind));
        self.reading.out.add(format!("{folder}.yaml"), text).await
    }

    async fn write_objects(&mut self) -> Result<(), Closed> {
        let Some(folder) = self.folder() else { return Ok(()) };
        self.size = 0;
        for (name, item) in std::mem::take(&mut self.items) {
            // From an item of a list to an object of its own: without the dash and its indentation.
            let object: String = item
                .lines()
                .map(|line| format!("{}\n", line.get(2..).unwrap_or_default()))
                .collect();
            self.reading.out.add(format!("{folder}/{name}.yaml"), object).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_answer_is_no_empty_list() {
        let items = |text: &str| serde_json::from_str::<Page>(text).unwrap().items();
        for text in ["{}", r#"{"kind": "Status", "status": "Success"}"#, r#"{"items": null}"#] {
            assert!(items(text).unwrap_err().why.starts_with("no list came"), "{text}");
        }
        for text in [r#"{"items": []}"#, r#"{"kind": "PartialObjectMetadataList", "items": null}"#]
        {
            assert!(items(text).unwrap().0.is_empty(), "{text}");
        }
        let page = r#"{"kind": "PodList", "metadata": {"continue": "next"}, "items": [{}]}"#;
        assert_eq!(items(page).unwrap().1, "next");
    }
}
