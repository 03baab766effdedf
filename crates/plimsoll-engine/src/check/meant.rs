//! What a key that no field has may have been meant for: a field of another release, one a slip of the finger away,
//! or one that belongs to a mapping right above or below.

use plimsoll_install::{Expected, File, Release};

use super::fix::meant_key;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meant {
    Since(Release),
    Until(Release),
    Spelt { key: &'static str, path: String },
    Below { mapping: &'static str, path: String },
    Above { mapping: String, path: String },
}

impl Meant {
    /// `path` is that of the unknown key, as it is written.
    pub fn of(file: File, path: &str) -> Option<Self> {
        let mut parts: Vec<&str> = path.split('.').collect();
        let key = parts.pop()?;
        let newest = *Release::ALL.last()?;
        let mut levels = vec![Expected::of(file)];
        for part in &parts {
            let name = part.split('[').next().unwrap_or_default();
            let below = levels.last()?.field(name, newest)?.1;
            levels.push(below.item().unwrap_or(below));
        }
        let here = *levels.last()?;
        let known = |release: &&Release| here.field(key, **release).is_some();
        match (Release::ALL.iter().find(known), Release::ALL.iter().rfind(known)) {
            (Some(first), Some(last)) if *last == newest => return Some(Self::Since(*first)),
            (_, Some(last)) => return Some(Self::Until(*last)),
            _ => (),
        }
        let spelt = || {
            let key = meant_key(key, &here.keys(newest))?;
            Some(Self::Spelt { key, path: joined(&parts, key) })
        };
        spelt().or_else(|| below(here, key, &parts)).or_else(|| above(&levels, key, &parts))
    }

    /// The field that is meant, where it is one of this release.
    pub fn path(self) -> Option<String> {
        match self {
            Self::Since(_) | Self::Until(_) => None,
            Self::Spelt { path, .. } | Self::Below { path, .. } | Self::Above { path, .. } => {
                Some(path)
            }
        }
    }

    pub fn words(&self) -> String {
        match self {
            Self::Since(release) => format!("there is one since {release}"),
            Self::Until(release) => format!("there was one until {release}"),
            Self::Spelt { key, .. } => format!("is {key} meant?"),
            Self::Below { mapping, .. } => format!("it belongs below {mapping}"),
            Self::Above { mapping, .. } if mapping.is_empty() => {
                "it belongs to the outermost level".into()
            }
            Self::Above { mapping, .. } => format!("it belongs right below {mapping}"),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Since(release) => format!("Delete it, or install {release} or newer."),
            Self::Until(release) => format!("Delete it: releases after {release} do not read it."),
            Self::Spelt { key, .. } => format!("Write {key}."),
            Self::Below { mapping, .. } => format!("Indent it below {mapping}."),
            Self::Above { mapping, .. } if mapping.is_empty() => "Move it to the left edge.".into(),
            Self::Above { mapping, .. } => format!("Move it right below {mapping}."),
        }
    }
}

fn joined(parts: &[&str], key: &str) -> String {
    parts.iter().copied().chain([key]).collect::<Vec<_>>().join(".")
}

/// The one mapping here that has such a field.
fn below(here: Expected, key: &str, parts: &[&str]) -> Option<Meant> {
    let newest = *Release::ALL.last()?;
    let mappings = here.keys(newest).into_iter().filter_map(|mapping| {
        let (field, _) = here.field(mapping, newest)?.1.field(key, newest)?;
        Some((mapping, field))
    });
    let all: Vec<(&'static str, &'static str)> = mappings.collect();
    let [(mapping, field)] = all.as_slice() else { return None };
    let path = joined(parts, &format!("{mapping}.{field}"));
    Some(Meant::Below { mapping, path })
}

fn above(levels: &[Expected], key: &str, parts: &[&str]) -> Option<Meant> {
    let newest = *Release::ALL.last()?;
    let higher = levels.iter().enumerate().rev().skip(1);
    let mut found = higher.filter_map(|(at, level)| Some((at, level.field(key, newest)?.0)));
    let (at, field) = found.next()?;
    let parts = parts.get(..at)?;
    Some(Meant::Above { mapping: parts.join("."), path: joined(parts, field) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_looked_for_in_its_mapping_and_around_it() {
        for (path, words, meant) in [
            (
                "platform.baremetal.ingresVIPs",
                "is ingressVIPs meant?",
                Some("platform.baremetal.ingressVIPs"),
            ),
            (
                "platform.baremetal.hosts[2].address",
                "it belongs below bmc",
                Some("platform.baremetal.hosts[2].bmc.address"),
            ),
            ("platform.apivips", "it belongs below baremetal", Some("platform.baremetal.apiVIPs")),
            (
                "platform.baremetal.hosts[2].bmc.bootMACAddress",
                "it belongs right below platform.baremetal.hosts[2]",
                Some("platform.baremetal.hosts[2].bootMACAddress"),
            ),
            ("networking.baseDomain", "it belongs to the outermost level", Some("baseDomain")),
        ] {
            let found = Meant::of(File::Install, path).unwrap();
            assert_eq!((found.words().as_str(), found.path().as_deref()), (words, meant), "{path}");
        }
        for path in ["colour", "platform.baremetal.colour", "no.such.mapping", ""] {
            assert_eq!(Meant::of(File::Install, path), None, "{path}");
        }
    }
}
