//! Of an object that stands in several places, the one that counts; and objects that are there no more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use plimsoll_model::snapshot::{Collected, Form};
use plimsoll_model::{Document, Time};

use crate::store::FoundDocument;

/// A source whose ClusterVersion has another id than that of a source before it, that one, and both ids.
pub fn of_another_cluster<'f>(
    found: impl Iterator<Item = &'f FoundDocument>,
) -> Option<(usize, (usize, String), String)> {
    let mut first: Option<(usize, &str)> = None;
    for one in found {
        let (source, Some(id)) = (one.document.source, cluster_id(one)) else { continue };
        let known = *first.get_or_insert((source, id));
        if known.0 != source && known.1 != id {
            return Some((source, (known.0, known.1.into()), id.into()));
        }
    }
    None
}

/// It stands behind its name, which its managed fields have as well.
fn cluster_id(found: &FoundDocument) -> Option<&str> {
    let is_version = &*found.document.plural == "clusterversions";
    let mut behind = found.document.text.split("clusterID").skip(1).filter(|_| is_version);
    behind.find_map(|rest| {
        let id = rest.trim_start_matches(['"', '\'', ':', ' ']);
        let end = id.find(|c: char| !c.is_ascii_hexdigit() && c != '-').unwrap_or(id.len());
        (end == 36).then(|| &id[..end])
    })
}

/// From when to when a source was gathered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    pub began: Option<Time>,
    pub ended: Option<Time>,
}

/// What is listed whole: by group, plural and namespace, and the sources that do.
type Lists<'c> = BTreeMap<(&'c str, &'c str, Option<&'c str>), Vec<usize>>;

/// What a source that was begun later lists to the end and does not name was deleted since. Events only run
/// out: they tell of what was.
pub fn without_the_gone(
    found: Vec<FoundDocument>,
    collected: &BTreeSet<Collected>,
    spans: &[Span],
) -> Vec<FoundDocument> {
    if spans.len() < 2 {
        return found;
    }
    let of = |source: usize| spans.get(source).copied().unwrap_or_default();
    let mut lists = Lists::new();
    for list in collected.iter().filter(|one| one.form == Form::List && one.plural != "events") {
        let key = (list.group.as_str(), list.plural.as_str(), list.namespace.as_deref());
        lists.entry(key).or_default().push(list.source);
    }
    let named: BTreeSet<Named> = found.iter().filter_map(Named::of).collect();
    let is_gone = |one: &FoundDocument| {
        let Document { source, group, plural, namespace, .. } = &one.document;
        let (Some(mut named_as), Some(then)) = (Named::of(one), of(*source).ended) else {
            return false;
        };
        let of_all = lists.get(&(&**group, &**plural, None));
        let own = namespace.as_deref().map(|own| (&**group, &**plural, Some(own)));
        let of_own = own.and_then(|own| lists.get(&own));
        of_all.into_iter().chain(of_own).flatten().any(|list| {
            named_as.source = *list;
            of(*list).began.is_some_and(|began| began > then) && !named.contains(&named_as)
        })
    };
    let gone: Vec<bool> = found.iter().map(is_gone).collect();
    let kept = found.into_iter().zip(gone).filter(|(_, gone)| !gone);
    kept.map(|(one, _)| one).collect()
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Named {
    source: usize,
    group: Arc<str>,
    plural: Arc<str>,
    namespace: Option<Arc<str>>,
    name: String,
}

impl Named {
    fn of(found: &FoundDocument) -> Option<Self> {
        let Document { source, group, plural, namespace, .. } = &found.document;
        let (group, plural, namespace) = (group.clone(), plural.clone(), namespace.clone());
        Some(Self { source: *source, group, plural, namespace, name: found.name.clone()? })
    }
}

/// One document for each object: the one that was read last, of those its newest version, and of equal ones
/// the file of its own.
pub fn without_duplicates(mut found: Vec<FoundDocument>, spans: &[Span]) -> Vec<Document> {
    fn place(f: &FoundDocument) -> (usize, &str, u64) {
        (f.document.source, &f.document.path, f.document.first_line)
    }
    // An etcd that was restored counts its versions from an older one on. Where a source does not tell its
    // time, nothing is left but them.
    let read = |f: &FoundDocument| spans.get(f.document.source).and_then(|span| span.ended);
    let tell_all = found.iter().all(|f| read(f).is_some());
    let later = |f: &FoundDocument| tell_all.then(|| read(f));
    found.sort_by(|a, b| {
        let newest = b.resource_version.cmp(&a.resource_version);
        let last = later(b).cmp(&later(a)).then(newest);
        last.then(b.form.cmp(&a.form)).then_with(|| place(a).cmp(&place(b)))
    });
    // Those with a uid first: one without is a duplicate of any object of its name.
    let (with_uid, without): (Vec<_>, Vec<_>) = found.into_iter().partition(|f| f.uid.is_some());
    let mut uids = BTreeSet::new();
    let mut names = BTreeSet::new();
    let mut kept = Vec::new();
    for one in with_uid.into_iter().chain(without) {
        let document = &one.document;
        let resource = (document.group.clone(), document.plural.clone());
        let name = (resource.clone(), document.namespace.clone(), one.name.clone());
        // The newest comes first, so an older one of the same name was deleted and made again.
        let first_of_name = one.name.is_none() || !names.contains(&name);
        let is_new = match &one.uid {
            Some(uid) => uids.insert((resource, uid.clone())) && first_of_name,
            None => first_of_name,
        };
        if is_new {
            names.insert(name);
            kept.push(one);
        }
    }
    kept.sort_by(|a, b| place(a).cmp(&place(b)));
    kept.into_iter().map(|one| one.document).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A gather of half an hour, and one right after it.
    fn taken() -> Vec<Span> {
        let at = |minute: u8| format!("2025-12-03T18:{minute}:00Z").parse().ok();
        vec![Span { began: at(10), ended: at(40) }, Span { began: at(50), ended: at(55) }]
    }

    fn found(source: usize, name: &str, version: u64) -> FoundDocument {
        let document = Document {
            source,
            path: format!("{source}/{name}").into(),
            first_line: 1,
            group: "core".into(),
            plural: "nodes".into(),
            namespace: None,
            text: String::new(),
        };
        let (name, uid) = (Some(name.to_string()), Some(format!("uid-{name}")));
        FoundDocument { document, form: Form::Objects, name, uid, resource_version: Some(version) }
    }

    fn nodes(source: usize, form: Form) -> BTreeSet<Collected> {
        let (group, plural) = ("core".to_string(), "nodes".to_string());
        BTreeSet::from([Collected {
            group,
            plural,
            namespace: None,
            form,
            source,
            path: String::new(),
        }])
    }

    fn left(collected: &BTreeSet<Collected>, taken: &[Span]) -> Vec<String> {
        let found = vec![found(0, "a", 7), found(0, "b", 8), found(1, "a", 3)];
        let kept = without_duplicates(without_the_gone(found, collected, taken), taken);
        kept.into_iter().map(|one| one.path.to_string()).collect()
    }

    #[test]
    fn a_source_of_another_cluster_is_told() {
        let version = |source: usize, id: &str| {
            let mut one = found(source, "version", 1);
            one.document.plural = "clusterversions".into();
            one.document.text =
                format!(r#"{{"managedFields":[{{"f:clusterID":{{}}}}],"clusterID":"{id}"}}"#);
            one
        };
        let (a, b) =
            ("1f0a639d-0000-4000-8000-000000000001", "c4a7cc45-0000-4000-8000-000000000002");
        let all = [version(0, a), version(1, a), found(1, b, 1), version(2, b)];
        assert_eq!(of_another_cluster(all[..3].iter()), None);
        let told = of_another_cluster(all.iter());
        assert_eq!(told, Some((2, (0, a.to_string()), b.to_string())));
    }

    #[test]
    fn what_a_newer_list_does_not_name_is_gone() {
        assert_eq!(left(&nodes(1, Form::List), &taken()), ["1/a"]);
        // A folder of objects proves no absence, an older list nothing of what came after it.
        assert_eq!(left(&nodes(1, Form::Objects), &taken()), ["0/b", "1/a"]);
        assert_eq!(left(&nodes(0, Form::List), &taken()), ["0/b", "1/a"]);
        // One that began before the other ended may have asked before it was made.
        let both = [taken()[0], Span { began: taken()[0].began, ..taken()[1] }];
        assert_eq!(left(&nodes(1, Form::List), &both), ["0/b", "1/a"]);
    }

    #[test]
    fn what_was_read_last_counts_and_its_version_where_no_time_is_known() {
        assert_eq!(left(&BTreeSet::new(), &taken()), ["0/b", "1/a"]);
        let untold = [taken()[0], Span::default()];
        assert_eq!(left(&BTreeSet::new(), &untold), ["0/a", "0/b"]);
        // Of a source without objects, such as a log, nobody asks the time.
        let with_log = [taken()[0], taken()[1], Span::default()];
        assert_eq!(left(&BTreeSet::new(), &with_log), ["0/b", "1/a"]);
    }
}
