//! Reads a mapping strictly: every key known, every value of its type, every error with its place.

use plimsoll_yaml::{Kind, Node};

use super::{LoadError, Place};

pub struct Fields<'n> {
    pub path: &'n str,
    node: &'n Node,
}

impl<'n> Fields<'n> {
    pub fn new(
        path: &'n str,
        node: &'n Node,
        known: &[&str],
        errors: &mut Vec<LoadError>,
    ) -> Option<Fields<'n>> {
        let fields = Fields { path, node };
        if !matches!(node.kind, Kind::Map(_)) {
            errors.push(
                fields.error(node, format!("expected a mapping, found {}", node.kind_name())),
            );
            return None;
        }
        for (key, _) in node.entries() {
            if !known.contains(&key.name.as_str()) {
                errors.push(LoadError {
                    path: path.into(),
                    line: key.line,
                    column: key.column,
                    message: format!(
                        "unknown key '{}'; known here: {}",
                        key.name,
                        known.join(", ")
                    ),
                });
            }
        }
        Some(fields)
    }

    pub fn error(&self, node: &Node, message: impl Into<String>) -> LoadError {
        LoadError::at(&self.place_of(node), message)
    }

    pub fn here(&self, message: impl Into<String>) -> LoadError {
        self.error(self.node, message)
    }

    /// At the value of `key`, which is better than at the whole mapping.
    pub fn at(&self, key: &str, message: impl Into<String>) -> LoadError {
        self.error(self.get(key).unwrap_or(self.node), message)
    }

    pub fn place(&self) -> Place {
        self.place_of(self.node)
    }

    pub fn place_of(&self, node: &Node) -> Place {
        Place { path: self.path.into(), line: node.line.max(1), column: node.column.max(1) }
    }

    pub fn get(&self, key: &str) -> Option<&'n Node> {
        self.node.get(key)
    }

    pub fn text(&self, key: &str, errors: &mut Vec<LoadError>) -> Option<&'n str> {
        let node = self.get(key)?;
        let text = node.as_text();
        if text.is_none() {
            errors.push(
                self.error(node, format!("'{key}' must be text, found {}", node.kind_name())),
            );
        }
        text
    }

    pub fn required(&self, key: &str, errors: &mut Vec<LoadError>) -> String {
        match self.get(key) {
            None => {
                errors.push(self.here(format!("'{key}' is missing")));
                String::new()
            }
            Some(_) => self.text(key, errors).unwrap_or_default().trim().to_string(),
        }
    }

    pub fn texts(&self, key: &str, errors: &mut Vec<LoadError>) -> Vec<String> {
        let Some(node) = self.get(key) else { return Vec::new() };
        match &node.kind {
            Kind::Text(text) => vec![text.clone()],
            Kind::List(items) => items
                .iter()
                .filter_map(|item| {
                    let text = item.as_text();
                    if text.is_none() {
                        errors.push(self.error(
                            item,
                            format!("'{key}' must hold texts, found {}", item.kind_name()),
                        ));
                    }
                    text.map(str::to_string)
                })
                .collect(),
            _ => {
                errors.push(self.error(node, format!("'{key}' must be text or a list of texts")));
                Vec::new()
            }
        }
    }

    pub fn number(&self, key: &str, errors: &mut Vec<LoadError>) -> Option<u64> {
        let node = self.get(key)?;
        let number = node.as_int().and_then(|number| u64::try_from(number).ok());
        if number.is_none() {
            errors.push(self.error(node, format!("'{key}' must be a whole number")));
        }
        number
    }

    pub fn flag(&self, key: &str, errors: &mut Vec<LoadError>) -> bool {
        let Some(node) = self.get(key) else { return false };
        node.as_bool().unwrap_or_else(|| {
            errors.push(self.error(node, format!("'{key}' must be true or false")));
            false
        })
    }

    pub fn list(&self, key: &str, errors: &mut Vec<LoadError>) -> &'n [Node] {
        let Some(node) = self.get(key) else { return &[] };
        if !matches!(node.kind, Kind::List(_)) {
            errors.push(
                self.error(node, format!("'{key}' must be a list, found {}", node.kind_name())),
            );
        }
        node.items()
    }

    /// One of a few words.
    pub fn word<T: Copy>(
        &self,
        key: &str,
        words: &[(&str, T)],
        errors: &mut Vec<LoadError>,
    ) -> Option<T> {
        let node = self.get(key)?;
        let found = node.as_text().and_then(|text| words.iter().find(|(word, _)| *word == text));
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            errors.push(self.error(node, format!("'{key}' must be one of: {}", known.join(", "))));
        }
        found.map(|(_, value)| *value)
    }
}

/// `90s`, `15m`, `2h`, `3d` in seconds.
pub fn duration(text: &str) -> Option<i64> {
    let unit = text.chars().last()?;
    let number: i64 = text.strip_suffix(unit)?.trim().parse().ok()?;
    let factor = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86400,
        _ => return None,
    };
    number.checked_mul(factor)
}
