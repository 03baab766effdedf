//! Of an object that stands in several places, the one that counts; and objects that are there no more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use plimsoll_model::snapshot::{Collected, Form};
use plimsoll_model::{Document, Time};

use crate::store::FoundDocument;

/// What a newer source lists to the end and does not name was deleted since. Events only run out: they
/// tell of what was.
pub fn without_the_gone(
    found: Vec<FoundDocument>,
    collected: &BTreeSet<Collected>,
    taken: &[Option<Time>],
) -> Vec<FoundDocument> {
    let of = |source: usize| taken.get(source).copied().flatten();
    if taken.len() < 2 {
        return found;
    }
    let mut lists: BTreeMap<&str, Vec<&Collected>> = BTreeMap::new();
    for list in collected.iter().filter(|one| one.form == Form::List && one.plural != "events") {
        lists.entry(&list.plural).or_default().push(list);
    }
    let named: BTreeSet<Named> = found.iter().filter_map(Named::of).collect();
    let is_gone = |one: &FoundDocument| {
        let (Some(mut named_as), Some(then)) = (Named::of(one), of(one.document.source)) else {
            return false;
        };
        lists.get(&*one.document.plural).into_iter().flatten().any(|list| {
            named_as.source = list.source;
            let is_later = of(list.source).is_some_and(|now| now > then);
            is_later && lists_it(list, &one.document) && !named.contains(&named_as)
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

fn lists_it(list: &Collected, document: &Document) -> bool {
    list.group == *document.group
        && list.plural == *document.plural
        && list.namespace.as_deref().is_none_or(|own| document.namespace.as_deref() == Some(own))
}

/// One document for each object: the one that was read last, of those its newest version, and of equal ones
/// the file of its own.
pub fn without_duplicates(mut found: Vec<FoundDocument>, taken: &[Option<Time>]) -> Vec<Document> {
    fn place(f: &FoundDocument) -> (usize, &str, u64) {
        (f.document.source, &f.document.path, f.document.first_line)
    }
    // An etcd that was restored counts its versions from an older one on. Where a source does not tell its
    // time, nothing is left but them.
    let tell_all = taken.iter().all(Option::is_some);
    let read = |f: &FoundDocument| taken.get(f.document.source).copied().flatten();
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

    const TIMES: [&str; 2] = ["2025-12-03T18:00:00Z", "2025-12-03T19:00:00Z"];

    fn taken() -> Vec<Option<Time>> {
        TIMES.map(|time| time.parse().ok()).to_vec()
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

    fn left(collected: &BTreeSet<Collected>, taken: &[Option<Time>]) -> Vec<String> {
        let found = vec![found(0, "a", 7), found(0, "b", 8), found(1, "a", 3)];
        let kept = without_duplicates(without_the_gone(found, collected, taken), taken);
        kept.into_iter().map(|one| one.path.to_string()).collect()
    }

    #[test]
    fn what_a_newer_list_does_not_name_is_gone() {
        assert_eq!(left(&nodes(1, Form::List), &taken()), ["1/a"]);
        // A folder of objects proves no absence, an older list nothing of what came after it.
        assert_eq!(left(&nodes(1, Form::Objects), &taken()), ["0/b", "1/a"]);
        assert_eq!(left(&nodes(0, Form::List), &taken()), ["0/b", "1/a"]);
    }

    #[test]
    fn what_was_read_last_counts_and_its_version_where_no_time_is_known() {
        assert_eq!(left(&BTreeSet::new(), &taken()), ["0/b", "1/a"]);
        assert_eq!(left(&BTreeSet::new(), &[taken()[0], None]), ["0/a", "0/b"]);
    }
}
