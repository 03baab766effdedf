/// A YAML value and where it stands. Lines and columns count from 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub line: u32,
    pub column: u32,
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Null,
    Bool(bool),
    Int(i64),
    /// Above `i64::MAX`: identifiers that must not lose a digit.
    UInt(u64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    /// In the order of the file.
    Map(Vec<(Key, Node)>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    pub name: String,
    pub line: u32,
    pub column: u32,
}

impl Node {
    /// A node that comes from no file.
    pub fn new(kind: Kind) -> Self {
        Self { line: 0, column: 0, kind }
    }

    pub fn text_node(text: &str) -> Self {
        Self::new(Kind::Text(text.into()))
    }

    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.kind {
            Kind::Map(entries) => entries.iter().find(|(k, _)| k.name == key).map(|(_, v)| v),
            _ => None,
        }
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        match &mut self.kind {
            Kind::Map(entries) => entries.iter_mut().find(|(k, _)| k.name == key).map(|(_, v)| v),
            _ => None,
        }
    }

    /// The node at a path of mapping keys.
    pub fn at(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    pub fn text_at(&self, path: &[&str]) -> Option<&str> {
        self.at(path).and_then(Node::as_text)
    }

    pub fn as_text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self.kind {
            Kind::Bool(value) => Some(value),
            _ => None,
        }
    }

    pub fn as_int(&self) -> Option<i64> {
        match self.kind {
            Kind::Int(value) => Some(value),
            _ => None,
        }
    }

    pub fn items(&self) -> &[Node] {
        match &self.kind {
            Kind::List(items) => items,
            _ => &[],
        }
    }

    pub fn entries(&self) -> &[(Key, Node)] {
        match &self.kind {
            Kind::Map(entries) => entries,
            _ => &[],
        }
    }

    /// Sets `key`, keeping its place in the order when it is there already.
    pub fn insert(&mut self, key: &str, value: Node) {
        if let Some(old) = self.get_mut(key) {
            *old = value;
            return;
        }
        if !matches!(self.kind, Kind::Map(_)) {
            self.kind = Kind::Map(Vec::new());
        }
        if let Kind::Map(entries) = &mut self.kind {
            entries.push((Key { name: key.into(), line: 0, column: 0 }, value));
        }
    }

    pub fn remove(&mut self, key: &str) {
        if let Kind::Map(entries) = &mut self.kind {
            entries.retain(|(k, _)| k.name != key);
        }
    }

    /// What kind of value this is, for messages.
    pub fn kind_name(&self) -> &'static str {
        match self.kind {
            Kind::Null => "nothing",
            Kind::Bool(_) => "a boolean",
            Kind::Int(_) | Kind::UInt(_) | Kind::Float(_) => "a number",
            Kind::Text(_) => "text",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a mapping",
        }
    }
}
