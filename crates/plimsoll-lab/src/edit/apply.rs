//! Edits put into a tree.

use jiff::Timestamp;
use plimsoll_yaml::{Kind, Node};

use super::lines::{
    container_time, journal_time, klog_header, merge, read_container_time, read_journal_time, times,
};
use super::{Condition, Edit, EditError, Event, FieldPath, Repeated, Segment, Target, Value, Verb};
use crate::kinds;
use crate::objects;
use crate::tree::Tree;

/// The end of the gather, which is what relative times count from.
pub fn gather_time(tree: &Tree) -> Option<Timestamp> {
    let text = String::from_utf8_lossy(tree.get("timestamp")?);
    text.lines().filter_map(go_time).max()
}

/// `2025-12-03 18:42:00.75 +0000 UTC m=+0.34`, in UTC only.
fn go_time(line: &str) -> Option<Timestamp> {
    let mut words = line.split(' ');
    let (date, time, zone) = (words.next()?, words.next()?, words.next()?);
    if zone != "+0000" {
        return None;
    }
    format!("{date}T{time}Z").parse().ok()
}

pub fn apply(tree: &mut Tree, edits: &[Edit]) -> Result<(), EditError> {
    for edit in edits {
        one(tree, &edit.verb).map_err(|message| EditError { line: edit.line, message })?;
    }
    Ok(())
}

fn one(tree: &mut Tree, verb: &Verb) -> Result<(), String> {
    let now = || gather_time(tree).ok_or("the tree has no timestamp file that could be read");
    match verb {
        Verb::Set { target, path, value } => {
            let value = match value {
                Value::Yaml(node) => node.clone(),
                Value::Time(when) => Node::text_node(&to_second(when.resolve(now()?))),
            };
            update(tree, target, &|object| path.set(object, value.clone()))
        }
        Verb::Unset { target, path } => update(tree, target, &|object| path.unset(object)),
        Verb::Condition { target, condition } => {
            let since = match &condition.since {
                Some(since) => Some(to_second(since.resolve(now()?))),
                None => None,
            };
            update(tree, target, &|object| set_condition(object, condition, since.as_deref()))
        }
        Verb::Delete { target } => {
            let copies =
                objects::delete(tree, target.resource, target.namespace.as_deref(), &target.name)?;
            found(copies, target)
        }
        Verb::Create { object } => {
            let kind = object.text_at(&["kind"]).unwrap_or_default();
            let version = object.text_at(&["apiVersion"]).unwrap_or_default();
            let resource = kinds::of_object(version, kind)
                .ok_or_else(|| format!("'{kind}' is not in the table of kinds"))?;
            objects::create(tree, resource, object)
        }
        Verb::Journal { unit, node, lines } => {
            let now = now()?;
            journal(tree, unit, node, lines, now)
        }
        Verb::Log { namespace, pod, container, previous, lines } => {
            let now = now()?;
            let file = if *previous { "previous" } else { "current" };
            log(tree, &format!("namespaces/{namespace}/pods"), pod, container, file, lines, now)
        }
        Verb::Event { namespace, event } => {
            let now = now()?;
            objects::create(tree, resource("Event")?, &event_object(namespace, event, now))
        }
        Verb::File { path, content } => {
            tree.insert(path.clone(), content.clone().into_bytes());
            Ok(())
        }
        Verb::Remove { glob } => {
            let before = tree.len();
            tree.retain(|path, _| !path_matches(glob, path));
            if tree.len() == before {
                return Err(format!("no file fits {glob}"));
            }
            Ok(())
        }
    }
}

fn resource(alias: &str) -> Result<&'static kinds::Resource, String> {
    kinds::by_alias(alias).ok_or_else(|| format!("'{alias}' is not in the table of kinds"))
}

fn to_second(time: Timestamp) -> String {
    Timestamp::from_second(time.as_second()).unwrap_or(time).to_string()
}

fn update(
    tree: &mut Tree,
    target: &Target,
    change: &dyn Fn(&mut Node) -> Result<(), String>,
) -> Result<(), String> {
    let copies =
        objects::update(tree, target.resource, target.namespace.as_deref(), &target.name, change)?;
    found(copies, target)
}

fn found(copies: usize, target: &Target) -> Result<(), String> {
    if copies > 0 {
        return Ok(());
    }
    let alias = target.resource.alias;
    Err(match &target.namespace {
        Some(namespace) => format!("there is no {alias}/{namespace}/{}", target.name),
        None => format!("there is no {alias}/{}", target.name),
    })
}

fn set_condition(
    object: &mut Node,
    condition: &Condition,
    since: Option<&str>,
) -> Result<(), String> {
    let mut set = |field: &str, value: &str| {
        let segments = ["status", "conditions"].map(|key| Segment::Key(key.into()));
        let mut path = FieldPath(segments.to_vec());
        path.0.push(Segment::Named(condition.name.clone()));
        path.0.push(Segment::Key(field.into()));
        path.set(object, Node::text_node(value))
    };
    set("status", &condition.status)?;
    for (field, value) in [
        ("reason", condition.reason.as_deref()),
        ("message", condition.message.as_deref()),
        ("lastTransitionTime", since),
    ] {
        if let Some(value) = value {
            set(field, value)?;
        }
    }
    Ok(())
}

fn journal(
    tree: &mut Tree,
    unit: &str,
    node: &str,
    lines: &Repeated,
    now: Timestamp,
) -> Result<(), String> {
    let labels = objects::find(tree, resource("Node")?, None, node)
        .and_then(|object| object.at(&["metadata", "labels"]).cloned());
    let is_worker =
        labels.is_some_and(|labels| labels.get("node-role.kubernetes.io/master").is_none());
    let role = if is_worker { "workers" } else { "masters" };
    let path = format!("host_service_logs/{role}/{unit}_service.log");
    let program = if unit == "kubelet" { "kubenswrapper" } else { unit };
    let new = times(lines, now)?
        .into_iter()
        .map(|time| {
            let header = lines.klog.map(|severity| klog_header(severity, time, 2_451));
            let stamp = journal_time(time);
            let head = format!("{stamp} {node} {program}[2451]: {}", header.unwrap_or_default());
            (time, format!("{head}{}", lines.text))
        })
        .collect();
    let old = tree.get(&path).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let text = merge(&old.unwrap_or_default(), new, &|line| read_journal_time(line, now));
    tree.insert(path, text.into_bytes());
    Ok(())
}

fn log(
    tree: &mut Tree,
    pods: &str,
    pod: &str,
    container: &str,
    file: &str,
    lines: &Repeated,
    now: Timestamp,
) -> Result<(), String> {
    let prefix = format!("{pods}/");
    let mut names: Vec<String> = tree
        .range(prefix.clone()..)
        .map_while(|(path, _)| path.strip_prefix(&prefix))
        .filter_map(|rest| rest.split('/').next())
        .filter(|name| objects::matches(pod, name))
        .map(str::to_string)
        .collect();
    names.dedup();
    if names.is_empty() {
        return Err(format!("there is no pod {pod} in {pods}"));
    }
    for name in names {
        let path = format!("{prefix}{name}/{container}/{container}/logs/{file}.log");
        let new = times(lines, now)?
            .into_iter()
            .map(|time| {
                let header = lines.klog.map(|severity| klog_header(severity, time, 1));
                let header = header.unwrap_or_default();
                (time, format!("{} {header}{}", container_time(time), lines.text))
            })
            .collect();
        let old = tree.get(&path).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        let text = merge(&old.unwrap_or_default(), new, &read_container_time);
        tree.insert(path, text.into_bytes());
    }
    Ok(())
}

fn event_object(namespace: &str, event: &Event, now: Timestamp) -> Node {
    let map = |entries: Vec<(&str, Node)>| {
        let mut node = Node::new(Kind::Map(Vec::new()));
        for (key, value) in entries {
            node.insert(key, value);
        }
        node
    };
    let text = Node::text_node;
    let (first, last) = (
        to_second(event.since.resolve(now)),
        to_second(event.until.resolve(now).max(event.since.resolve(now))),
    );
    let name = format!("{}.{:016x}", event.name, crate::base::hash(&format!("{event:?}")));
    let mut involved = map(vec![("kind", text(&event.kind)), ("name", text(&event.name))]);
    if let Some(resource) = kinds::by_alias(&event.kind) {
        involved.insert("apiVersion", text(&resource.api_version()));
        if resource.namespaced {
            involved.insert("namespace", text(namespace));
        }
    }
    map(vec![
        ("apiVersion", text("v1")),
        ("count", Node::new(Kind::Int(event.count.into()))),
        ("eventTime", Node::new(Kind::Null)),
        ("firstTimestamp", text(&first)),
        ("involvedObject", involved),
        ("kind", text("Event")),
        ("lastTimestamp", text(&last)),
        ("message", text(&event.message)),
        (
            "metadata",
            map(vec![
                ("creationTimestamp", text(&first)),
                ("name", text(&name)),
                ("namespace", text(namespace)),
                ("uid", text(&crate::base::uid("Event", namespace, &name))),
            ]),
        ),
        ("reason", text(&event.reason)),
        ("type", text(&event.severity)),
    ])
}

fn path_matches(glob: &str, path: &str) -> bool {
    fn parts(glob: &[&str], path: &[&str]) -> bool {
        match (glob.split_first(), path.split_first()) {
            (None, None) => true,
            (Some((&"**", rest)), _) => (0..=path.len()).any(|skip| parts(rest, &path[skip..])),
            (Some((head, rest)), Some((part, path))) => {
                objects::matches(head, part) && parts(rest, path)
            }
            _ => false,
        }
    }
    let glob: Vec<&str> = glob.split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    parts(&glob, &path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_names_files_by_segments() {
        assert!(path_matches("etcd_info/*", "etcd_info/member_list.json"));
        assert!(path_matches("namespaces/**", "namespaces/a/core/pods.yaml"));
        assert!(path_matches("**/secrets.yaml", "namespaces/a/core/secrets.yaml"));
        assert!(path_matches("namespaces/openshift-*/core/**", "namespaces/openshift-etcd/core/x"));
        assert!(!path_matches("namespaces/*", "namespaces/a/core/pods.yaml"));
    }

    #[test]
    fn the_gather_ends_at_its_last_timestamp() {
        let text = "2025-12-03 18:38:12.1 +0000 UTC m=+0.1\n2025-12-03 18:42:00 +0000 UTC m=+2\n";
        let tree = Tree::from([("timestamp".to_string(), text.as_bytes().to_vec())]);
        assert_eq!(gather_time(&tree).map(|t| t.to_string()), Some("2025-12-03T18:42:00Z".into()));
        assert_eq!(gather_time(&Tree::new()), None);
    }
}
