//! What the installer expects at a place of a file, for whoever wants to mend one.

use crate::refusal::File;
use crate::release::Release;
use crate::schema::{AGENT_CONFIG, INSTALL_CONFIG, Shape, Type};

#[derive(Clone, Copy, Debug)]
pub struct Expected(Type);

/// What a scalar is decoded into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    Text,
    Bool,
    Integer,
    Network,
}

impl Expected {
    /// The whole file.
    pub fn of(file: File) -> Self {
        Self(Type::Struct(match file {
            File::Install => &INSTALL_CONFIG,
            File::Agent => &AGENT_CONFIG,
        }))
    }

    /// The field that the installer takes a key for, by its true name; case does not matter to it.
    pub fn field(self, key: &str, release: Release) -> Option<(&'static str, Expected)> {
        let field = self.shape()?.field(key, release)?;
        Some((field.name, Expected(field.kind)))
    }

    /// The keys that a mapping here may have.
    pub fn keys(self, release: Release) -> Vec<&'static str> {
        let fields = self.shape().map(|shape| shape.fields).unwrap_or_default();
        let known = fields.iter().filter(|field| (field.since..=field.until).contains(&release));
        known.map(|field| field.name).collect()
    }

    /// An item of a list.
    pub fn item(self) -> Option<Expected> {
        match self.0 {
            Type::List(_, item) => Some(Expected(*item)),
            _ => None,
        }
    }

    pub fn is_mapping(self) -> bool {
        matches!(self.0, Type::Struct(_) | Type::Labels | Type::Foreign(_))
    }

    /// Anything at all, kept as it is.
    pub fn is_anything(self) -> bool {
        matches!(self.0, Type::Raw)
    }

    pub fn scalar(self) -> Option<Scalar> {
        match self.0 {
            Type::Text(_) => Some(Scalar::Text),
            Type::Bool => Some(Scalar::Bool),
            Type::Int(..) => Some(Scalar::Integer),
            Type::Network => Some(Scalar::Network),
            _ => None,
        }
    }

    fn shape(self) -> Option<&'static Shape> {
        match self.0 {
            Type::Struct(shape) => Some(shape),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_in_any_case_and_only_in_its_releases() {
        let root = Expected::of(File::Install);
        let (name, platform) = root.field("PLATFORM", Release::V4_18).unwrap();
        assert_eq!(name, "platform");
        let (_, baremetal) = platform.field("baremetal", Release::V4_18).unwrap();
        assert_eq!(baremetal.field("apivips", Release::V4_18).unwrap().0, "apiVIPs");
        assert!(baremetal.field("additionalNTPServers", Release::V4_17).is_none());
        assert!(baremetal.keys(Release::V4_18).contains(&"additionalNTPServers"));
        let (_, hosts) = baremetal.field("hosts", Release::V4_18).unwrap();
        let host = hosts.item().unwrap();
        assert!(host.is_mapping() && host.scalar().is_none());
        assert!(host.field("networkConfig", Release::V4_18).unwrap().1.is_anything());
        let (_, pool) = root.field("controlPlane", Release::V4_18).unwrap();
        let replicas = pool.field("replicas", Release::V4_18).unwrap().1;
        assert_eq!(replicas.scalar(), Some(Scalar::Integer));
    }
}
