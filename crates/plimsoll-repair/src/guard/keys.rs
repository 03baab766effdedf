//! What a maker makes goes where it belongs: a private key into its Secret, and nowhere else.

use plimsoll_model::plan::{Action, Content, Maker, Target};
use serde_json::Value;

use super::Scene;

/// The end of the first line of every private key in PEM.
const PRIVATE_KEY: &str = "PRIVATE KEY-----";
/// Of a file's mode: what others than its owner may do.
const OTHERS: u32 = 0o077;

const POINTER: &str = "pointer-ignition";

/// Whether a step writes what a maker makes.
pub fn is_made(action: &Action) -> bool {
    matches!(content(action), Some(Content::Maker { .. }))
}

fn content(action: &Action) -> Option<&Content> {
    match action {
        Action::Create { content }
        | Action::Fill { content }
        | Action::WriteFile { content, .. } => Some(content),
        _ => None,
    }
}

pub fn keys_go_where_they_belong(scene: &Scene) -> Vec<String> {
    let step = scene.step;
    match (content(&step.action), &step.action) {
        (Some(Content::Maker { maker, inputs }), action) => {
            let mut why = made(maker, action, &step.target);
            why.extend(of_another(maker, inputs, &step.target));
            why
        }
        (Some(Content::Plan { value }), _) if holds_a_key(value) => in_the_plan(),
        (None, Action::Patch { operations, .. }) if operations.iter().any(holds_a_key) => {
            in_the_plan()
        }
        _ => Vec::new(),
    }
}

fn made(maker: &str, action: &Action, target: &Target) -> Vec<String> {
    let (place, is_open) = match (action, target) {
        (Action::WriteFile { path, mode, .. }, _) => (path.clone(), mode & OTHERS != 0),
        (_, Target::Api(object)) => (object.entity().to_string(), false),
        _ => (String::new(), false),
    };
    match Maker::named(maker) {
        None => vec![format!("nobody makes '{maker}'")],
        Some(known) if !known.may_write(&place) => vec![format!(
            "what {maker} makes belongs into {} and nowhere else, not into {place}",
            known.place
        )],
        Some(_) if is_open => {
            vec![format!("others than root could read {place}, which lets somebody in")]
        }
        Some(_) => Vec::new(),
    }
}

/// A pointer is made of the Secret that it is written into: anything else there is not to be replaced.
fn of_another(maker: &str, inputs: &Value, target: &Target) -> Option<String> {
    let Target::Api(object) = target else { return None };
    let of = inputs["secret"].as_str();
    (maker == POINTER && of != Some(&object.name)).then(|| {
        format!("the pointer of {} would be written over {}", of.unwrap_or("nothing"), object.name)
    })
}

fn holds_a_key(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(PRIVATE_KEY),
        Value::Array(items) => items.iter().any(holds_a_key),
        Value::Object(map) => map.values().any(holds_a_key),
        _ => false,
    }
}

fn in_the_plan() -> Vec<String> {
    vec!["a private key stands in the plan: a plan holds no credentials, a maker makes them".into()]
}
