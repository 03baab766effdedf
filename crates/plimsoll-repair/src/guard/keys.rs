//! What a maker makes goes where it belongs: a private key into its Secret, and nowhere else.

use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use plimsoll_model::plan::{Action, Content, Maker, Target};
use serde_json::Value;

use super::Scene;

/// The end of the first line of every private key in PEM.
const PRIVATE_KEY: &str = "PRIVATE KEY-----";
/// Of a file's mode: what others than its owner may do.
const OTHERS: u32 = 0o077;

/// How often one thing may be wrapped into another: a kubeconfig of a Secret in a file of a MachineConfig.
const WRAPPED: usize = 3;
/// Shorter than any key.
const SHORTEST: usize = 40;

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
        Value::String(text) => tells_a_key(text, WRAPPED),
        Value::Array(items) => items.iter().any(holds_a_key),
        Value::Object(map) => map.values().any(holds_a_key),
        _ => false,
    }
}

/// As it stands there, or in base64: of a data URL, of a kubeconfig, folded by lines or not.
fn tells_a_key(text: &str, wrapped: usize) -> bool {
    if text.contains(PRIVATE_KEY) {
        return true;
    }
    let Some(wrapped) = wrapped.checked_sub(1) else { return false };
    // What is folded is one word without its folds; else it stands among other words.
    let whole: String = text.split_whitespace().collect();
    let words = text.split(|c: char| !is_of_base64(c));
    [whole.as_str()].into_iter().chain(words).filter(|word| word.len() >= SHORTEST).any(|word| {
        let bytes = decoded(word.trim_end_matches('='));
        bytes.is_some_and(|bytes| tells_a_key(&String::from_utf8_lossy(&bytes), wrapped))
    })
}

fn is_of_base64(c: char) -> bool {
    c.is_ascii_alphanumeric() || "+/-_=".contains(c)
}

fn decoded(word: &str) -> Option<Vec<u8>> {
    let lenient = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let by = |alphabet| GeneralPurpose::new(alphabet, lenient).decode(word).ok();
    by(&STANDARD).or_else(|| by(&URL_SAFE))
}

fn in_the_plan() -> Vec<String> {
    vec!["a private key stands in the plan: a plan holds no credentials, a maker makes them".into()]
}
