//! The Go types that the files are decoded into, by release: names of keys, kinds of values, and how
//! Go calls the type in an error.

mod agent;
mod baremetal;
mod install;

pub(crate) use agent::AGENT_CONFIG;
pub(crate) use install::INSTALL_CONFIG;

use crate::release::Release;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Type {
    /// The name Go prints for it.
    Text(&'static str),
    Bool,
    Int(&'static str, i64, i64),
    /// `ipnet.IPNet`, which reads itself.
    Network,
    List(&'static str, &'static Type),
    /// `map[string]string`.
    Labels,
    Struct(&'static Shape),
    /// Anything at all, kept as it is.
    Raw,
    /// A mapping of another platform, which is not followed.
    Foreign(&'static str),
}

#[derive(Debug)]
pub(crate) struct Shape {
    /// Without its package, as in "Go struct field Host.name".
    pub name: &'static str,
    /// With its package.
    pub go_type: &'static str,
    pub fields: &'static [Field],
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub name: &'static str,
    pub kind: Type,
    pub since: Release,
    pub until: Release,
    /// A field of `metav1.TypeMeta`, which is embedded: there numbers do not become text.
    pub embedded: bool,
}

pub(crate) const fn field(name: &'static str, kind: Type) -> Field {
    Field { name, kind, since: Release::V4_14, until: Release::V4_20, embedded: false }
}

impl Field {
    const fn since(mut self, release: Release) -> Self {
        self.since = release;
        self
    }

    const fn until(mut self, release: Release) -> Self {
        self.until = release;
        self
    }

    const fn embedded(mut self) -> Self {
        self.embedded = true;
        self
    }
}

impl Shape {
    /// The field that Go would choose for a key: the exact name, else the first that differs in case.
    pub fn field(&self, key: &str, release: Release) -> Option<&Field> {
        let mut known =
            self.fields.iter().filter(|f| f.since <= release && release <= f.until).peekable();
        known.peek()?;
        let mut folded = None;
        for field in known {
            if field.name == key {
                return Some(field);
            }
            if folded.is_none() && field.name.eq_ignore_ascii_case(key) {
                folded = Some(field);
            }
        }
        folded
    }
}

pub(crate) const TEXT: Type = Type::Text("string");
pub(crate) const TEXTS: Type = Type::List("[]string", &TEXT);
pub(crate) const INT64: Type = Type::Int("int64", i64::MIN, i64::MAX);
pub(crate) const INT32: Type = Type::Int("int32", i32::MIN as i64, i32::MAX as i64);
pub(crate) const UINT32: Type = Type::Int("uint32", 0, u32::MAX as i64);
pub(crate) const INT: Type = Type::Int("int", i64::MIN, i64::MAX);

pub(crate) const API_VERSION: Field = field("apiVersion", TEXT).embedded();
pub(crate) const KIND: Field = field("kind", TEXT).embedded();

pub(crate) static OBJECT_META: Shape = Shape {
    name: "ObjectMeta",
    go_type: "v1.ObjectMeta",
    fields: &[
        field("name", TEXT),
        field("generateName", TEXT),
        field("namespace", TEXT),
        field("selfLink", TEXT),
        field("uid", Type::Text("types.UID")),
        field("resourceVersion", TEXT),
        field("generation", INT64),
        field("creationTimestamp", Type::Raw),
        field("deletionTimestamp", Type::Raw),
        field("deletionGracePeriodSeconds", INT64),
        field("labels", Type::Labels),
        field("annotations", Type::Labels),
        field("ownerReferences", Type::List("[]v1.OwnerReference", &Type::Raw)),
        field("finalizers", TEXTS),
        field("managedFields", Type::List("[]v1.ManagedFieldsEntry", &Type::Raw)),
    ],
};
