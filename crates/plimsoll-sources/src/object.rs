//! Files of API objects, cut into documents. Nothing is parsed here.

use std::sync::Arc;

use memchr::memmem;
use plimsoll_model::Document;
use plimsoll_model::snapshot::{Collected, Form, GapStatus, ResourceNeed};
use plimsoll_yaml::{
    ListItem, Meta, blank_json_subtrees, blank_subtrees, is_json, peek_json_meta, peek_meta,
    split_json_list, split_list,
};

use crate::digest::Source;
use crate::layout::ObjectPlace;
use crate::store::{FoundDocument, Slot};

const CUT_LIST: &str = "the list ends before its end; its last object is not used";
const NO_OBJECT: &str = "it holds no object";
/// A larger object is no object of a cluster; etcd takes 1.5 MB.
const MAX_OBJECT: usize = 8 << 20;

/// Strings that all documents of a file share.
struct File<'f> {
    place: &'f ObjectPlace,
    path: Arc<str>,
    group: Arc<str>,
    plural: Arc<str>,
}

/// Keeps the objects in `text` that somebody asked for. `cut` says that its end is missing.
pub fn objects(
    source: &Source,
    slot: &mut Slot,
    path: &str,
    place: &ObjectPlace,
    text: &[u8],
    cut: bool,
) {
    let text = match std::str::from_utf8(text) {
        Ok(text) => text,
        // Half a character at the end of a cut file is no fault of its own.
        Err(error) if cut && error.error_len().is_none() => {
            std::str::from_utf8(&text[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return source.gap(GapStatus::Unreadable, path, "it is not UTF-8 text"),
    };
    let file = File {
        place,
        path: path.into(),
        group: place.group.as_str().into(),
        plural: place.plural.as_str().into(),
    };
    let form = match list_items(text) {
        Some((items, has_end)) => {
            let is_whole = !cut && has_end;
            if !is_whole {
                source.gap(GapStatus::Cut, path, CUT_LIST);
            }
            for item in items {
                keep(source, slot, &file, Form::List, item.first_line, &item.text);
            }
            if is_whole && place.name.is_none() { Form::List } else { Form::Objects }
        }
        None if cut => return,
        // What `oc` writes when it got no answer.
        None if text.is_empty() && path.ends_with(".json") => {
            return source.gap(GapStatus::NotCollected, path, "oc could not read it from the API");
        }
        // Insights keeps parts of some objects, without their names.
        None if is_json(text) && place.name.is_some() && meta_of(text).name.is_none() => return,
        None => {
            if let Err(why) = looks_whole(text, place) {
                source.gap(GapStatus::Unreadable, path, why);
                return;
            }
            keep(source, slot, &file, Form::Objects, 1, text);
            Form::Objects
        }
    };
    source.reading.store().collected.insert(Collected {
        group: place.group.clone(),
        plural: place.plural.clone(),
        namespace: place.namespace.clone(),
        form,
        source: source.index,
        path: if form == Form::List { path.into() } else { String::new() },
    });
}

/// The items that are there as a whole, and whether the list goes to its end.
fn list_items(text: &str) -> Option<(Vec<ListItem>, bool)> {
    if is_json(text) {
        return split_json_list(text).map(|list| (list.items, list.whole));
    }
    let is_list =
        text.starts_with("items:") || memmem::find(text.as_bytes(), b"\nitems:").is_some();
    let mut items = if is_list { split_list(text) } else { None }?;
    let is_whole = has_end(text);
    if !is_whole {
        items.pop();
    }
    Some((items, is_whole))
}

fn meta_of(text: &str) -> Meta<'_> {
    if is_json(text) { peek_json_meta(text) } else { peek_meta(text) }
}

/// `oc` sorts keys, so a list says what kind it is after its items.
fn has_end(text: &str) -> bool {
    let kind = memmem::rfind(text.as_bytes(), b"\nkind:").is_some() || text.starts_with("kind:");
    kind && text.ends_with('\n')
}

/// A single object must be recognisable, and one that stops in the middle of a line must at least
/// have its name: half a name would be an object that does not exist.
fn looks_whole(text: &str, place: &ObjectPlace) -> Result<(), &'static str> {
    let start = text.trim_start();
    if start.is_empty() {
        return Err("the file is empty");
    }
    match meta_of(text).name {
        None => Err(NO_OBJECT),
        Some(_) if is_json(text) => Ok(()),
        Some(name) if !text.ends_with('\n') && place.name.as_deref().is_some_and(|n| n != name) => {
            Err("it ends in the middle of a line")
        }
        Some(_) => Ok(()),
    }
}

fn keep(source: &Source, slot: &mut Slot, file: &File, form: Form, first_line: u64, text: &str) {
    let meta = meta_of(text);
    let namespace = file.place.namespace.as_deref().or(meta.namespace);
    let name = match form {
        Form::List => meta.name,
        Form::Objects => file.place.name.as_deref().or(meta.name),
    };
    let needs = source.reading.wants.needs_for(file.place, namespace, name);
    if needs.is_empty() {
        return;
    }
    let found = FoundDocument {
        form,
        name: name.map(Into::into),
        uid: meta.uid.map(Into::into),
        resource_version: meta.resource_version.and_then(|version| version.parse().ok()),
        document: Document {
            source: source.index,
            path: file.path.clone(),
            first_line,
            group: file.group.clone(),
            plural: file.plural.clone(),
            namespace: namespace.map(Into::into),
            text: String::new(),
        },
    };
    let dropped = dropped(&needs);
    let mut kept = if is_json(text) {
        blank_json_subtrees(text, &dropped)
    } else {
        blank_subtrees(text, &dropped)
    };
    if kept.len() > MAX_OBJECT {
        source.gap(GapStatus::Unreadable, &*file.path, "an object in it is larger than 8 MiB");
        let resource = (file.place.group.clone(), file.place.plural.clone());
        source.reading.store().not_all.insert(resource);
        return;
    }
    kept.shrink_to_fit();
    let document = Document { text: kept, ..found.document };
    source.put_object(slot, FoundDocument { document, ..found });
}

/// What none of the needs reads.
fn dropped(needs: &[&ResourceNeed]) -> Vec<String> {
    let (first, others) = needs.split_first().map_or((&[][..], &[][..]), |(f, o)| (&f.drop[..], o));
    let mut paths = vec!["metadata.managedFields".to_string()];
    paths.extend(first.iter().filter(|path| others.iter().all(|n| n.drop.contains(path))).cloned());
    paths
}
