//! The only door to YAML: archives, packs and configs all come through here.
//!
//! `parse` gives a tree in which every node knows its line and column, within limits that the
//! caller sets. `cut` works on the text alone: it finds the items of a list, blanks what nobody
//! reads and peeks at an object's identity, so that most of an archive is never parsed at all;
//! `json` does the same for JSON.
//! `emit` writes the block style that `oc` writes. Callers never name the parser behind this.

mod cut;
mod emit;
mod json;
mod node;
mod parse;

pub use cut::{ListItem, Meta, blank_subtrees, peek_meta, split_list};
pub use emit::emit;
pub use json::{JsonList, blank_json_subtrees, is_json, peek_json_meta, split_json_list};
pub use node::{Key, Kind, Node};
pub use parse::{DuplicateKeys, Limits, YamlError, parse};
