//! Objects in a tree, found by identity in every file that holds them.

use plimsoll_model::EntityId;
use plimsoll_yaml::{Kind, Limits, Node, emit, parse};
use serde_json::Value;

use crate::kinds::{Forms, RESOURCES, Resource};
use crate::sources_of::json_of;
use crate::tree::Tree;

pub(crate) fn text_of(node: &Node) -> Vec<u8> {
    format!("---\n{}", emit(node)).into_bytes()
}

fn read(tree: &Tree, path: &str) -> Result<Option<Node>, String> {
    let Some(bytes) = tree.get(path) else { return Ok(None) };
    let text = std::str::from_utf8(bytes).map_err(|_| format!("{path} is not UTF-8"))?;
    parse(text, &Limits::OBJECT).map(Some).map_err(|error| format!("{path}: {error}"))
}

pub(crate) fn name_of(node: &Node) -> &str {
    node.text_at(&["metadata", "name"]).unwrap_or_default()
}

/// `*` stands for any text.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, tail)) => name.strip_prefix(head).is_some_and(|rest| {
            rest.char_indices()
                .map(|(at, _)| at)
                .chain([rest.len()])
                .any(|at| matches(tail, &rest[at..]))
        }),
    }
}

/// Files that hold single objects whose name fits.
fn object_files(
    tree: &Tree,
    resource: &Resource,
    namespace: Option<&str>,
    name: &str,
) -> Vec<String> {
    let pattern = resource.object_path(namespace, name);
    if !name.contains('*') {
        return tree.contains_key(&pattern).then_some(pattern).into_iter().collect();
    }
    let head = pattern.split('*').next().unwrap_or_default().to_string();
    tree.range(head.clone()..)
        .map(|(path, _)| path)
        .take_while(|path| path.starts_with(&head))
        .filter(|path| {
            let file = path.rsplit('/').next().unwrap_or(path);
            let object = file.strip_suffix(".yaml").unwrap_or(file);
            matches(name, object) && **path == resource.object_path(namespace, object)
        })
        .cloned()
        .collect()
}

/// Changes every copy of the objects that fit. Gives back how many copies there were.
pub(crate) fn update(
    tree: &mut Tree,
    resource: &Resource,
    namespace: Option<&str>,
    name: &str,
    change: &dyn Fn(&mut Node) -> Result<(), String>,
) -> Result<usize, String> {
    let mut copies = 0;
    for path in object_files(tree, resource, namespace, name) {
        if let Some(mut object) = read(tree, &path)? {
            change(&mut object)?;
            copies += 1;
            tree.insert(path, text_of(&object));
        }
    }
    let path = resource.list_path(namespace);
    let Some(mut list) = read(tree, &path)? else { return Ok(copies) };
    let before = copies;
    if let Some(Node { kind: Kind::List(items), .. }) = list.get_mut("items") {
        for item in items.iter_mut().filter(|item| matches(name, name_of(item))) {
            change(item)?;
            copies += 1;
        }
    }
    if copies > before {
        tree.insert(path, text_of(&list));
    }
    Ok(copies)
}

/// Takes every copy away, a pod together with its logs.
pub(crate) fn delete(
    tree: &mut Tree,
    resource: &Resource,
    namespace: Option<&str>,
    name: &str,
) -> Result<usize, String> {
    let mut copies = 0;
    for path in object_files(tree, resource, namespace, name) {
        tree.remove(&path);
        copies += 1;
        if resource.alias == "Pod"
            && let Some((folder, _)) = path.rsplit_once('/')
        {
            let folder = format!("{folder}/");
            tree.retain(|path, _| !path.starts_with(&folder));
        }
    }
    let path = resource.list_path(namespace);
    let Some(mut list) = read(tree, &path)? else { return Ok(copies) };
    let before = copies;
    if let Some(Node { kind: Kind::List(items), .. }) = list.get_mut("items") {
        let all = items.len();
        items.retain(|item| !matches(name, name_of(item)));
        copies += all - items.len();
    }
    if copies > before {
        tree.insert(path, text_of(&list));
    }
    Ok(copies)
}

/// Adds an object in the forms that must-gather writes for its kind.
pub(crate) fn create(tree: &mut Tree, resource: &Resource, object: &Node) -> Result<(), String> {
    let name = name_of(object).to_string();
    let namespace = object.text_at(&["metadata", "namespace"]).map(str::to_string);
    if name.is_empty() {
        return Err("the object has no metadata.name".into());
    }
    if namespace.is_some() != resource.namespaced {
        let should = if resource.namespaced { "needs a" } else { "has no" };
        return Err(format!("a {} {should} namespace", resource.kind()));
    }
    let namespace = namespace.as_deref();
    delete(tree, resource, namespace, &name)?;
    if resource.forms != Forms::List {
        tree.insert(resource.object_path(namespace, &name), text_of(object));
    }
    let path = resource.list_path(namespace);
    let mut list = match read(tree, &path)? {
        Some(list) => list,
        None if resource.forms == Forms::List => empty_list(resource),
        None => return Ok(()),
    };
    if !matches!(list.get("items"), Some(Node { kind: Kind::List(_), .. })) {
        list.insert("items", Node::new(Kind::List(Vec::new())));
    }
    if let Some(Node { kind: Kind::List(items), .. }) = list.get_mut("items") {
        items.push(object.clone());
    }
    tree.insert(path, text_of(&list));
    Ok(())
}

pub(crate) fn empty_list(resource: &Resource) -> Node {
    let mut meta = Node::new(Kind::Map(Vec::new()));
    meta.insert("resourceVersion", Node::text_node("1"));
    let mut list = Node::new(Kind::Map(Vec::new()));
    list.insert("apiVersion", Node::text_node(&resource.api_version()));
    list.insert("items", Node::new(Kind::List(Vec::new())));
    list.insert("kind", Node::text_node(&format!("{}List", resource.kind())));
    list.insert("metadata", meta);
    list
}

/// The one object of that identity, from whichever file holds it.
pub(crate) fn find(
    tree: &Tree,
    resource: &Resource,
    namespace: Option<&str>,
    name: &str,
) -> Option<Node> {
    if let Ok(Some(object)) = read(tree, &resource.object_path(namespace, name)) {
        return Some(object);
    }
    let list = read(tree, &resource.list_path(namespace)).ok()??;
    list.get("items")?.items().iter().find(|item| name_of(item) == name).cloned()
}

/// The object as a gather shows it, if it is there. Of two kinds by one name, the one whose group is meant.
pub fn object(tree: &Tree, group: &str, entity: &EntityId) -> Result<Option<Value>, String> {
    let is_it = |one: &&Resource| one.kind() == entity.kind && one.group == group;
    let resource = RESOURCES.iter().find(is_it);
    let resource = resource.ok_or_else(|| format!("the lab knows no {}.{group}", entity.kind))?;
    let found = find(tree, resource, entity.namespace.as_deref(), &entity.name);
    Ok(found.map(|node| json_of(&node)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        assert!(matches("machine-config-server-*", "machine-config-server-x7k2p"));
        assert!(matches("*-master-1", "etcd-master-1"));
        assert!(matches("a*b*c", "a-b-b-c"));
        assert!(!matches("a*c", "a-b"));
        assert!(!matches("etcd", "etcd-x"));
    }
}
