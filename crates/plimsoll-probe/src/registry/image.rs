//! What is asked for: an image, by registry, repository and digest or tag.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::certificate::fingerprint;
use crate::target::Target;

/// `sha256:` and 64 hexadecimal digits in lower case. Mirrors of OpenShift know no other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

impl Digest {
    pub fn of(bytes: &[u8]) -> Self {
        Self(format!("sha256:{}", fingerprint(bytes)))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<aws_lc_rs::digest::Digest> for Digest {
    fn from(digest: aws_lc_rs::digest::Digest) -> Self {
        let digits: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        Self(format!("sha256:{digits}"))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Digest {
    type Err = NoImage;

    fn from_str(text: &str) -> Result<Self, NoImage> {
        let digits = text.strip_prefix("sha256:").ok_or(NoImage)?;
        let fits = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        match digits.len() == 64 && digits.bytes().all(fits) {
            true => Ok(Self(text.into())),
            false => Err(NoImage),
        }
    }
}

impl TryFrom<String> for Digest {
    type Error = NoImage;

    fn try_from(text: String) -> Result<Self, NoImage> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.0
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an image is HOST[:PORT]/REPOSITORY@sha256:DIGEST or HOST[:PORT]/REPOSITORY:TAG")]
pub struct NoImage;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reference {
    Digest(Digest),
    Tag(String),
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reference::Digest(digest) => digest.fmt(f),
            Reference::Tag(tag) => f.write_str(tag),
        }
    }
}

/// `ocp4/openshift4`. Safe in a path and in a scope, whatever else it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Repository(String);

impl FromStr for Repository {
    type Err = NoImage;

    fn from_str(name: &str) -> Result<Self, NoImage> {
        let fits =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
        let part = |part: &str| {
            part.bytes().all(fits) && part.starts_with(|first: char| first.is_ascii_alphanumeric())
        };
        match name.len() <= 255 && name.split('/').all(part) {
            true => Ok(Self(name.into())),
            false => Err(NoImage),
        }
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// `mirror.lab.example.com:8443/ocp4/openshift4@sha256:…`
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Image {
    pub registry: Target,
    repository: Repository,
    reference: Reference,
}

impl Image {
    /// `usual` is the port where the text names none. A digest beside a tag is what counts.
    pub fn parse(text: &str, usual: u16) -> Result<Self, NoImage> {
        let (host, rest) = text.split_once('/').ok_or(NoImage)?;
        let registry = host
            .parse::<Target>()
            .or_else(|_| format!("{host}:{usual}").parse())
            .map_err(|_| NoImage)?;
        let (name, digest) = match rest.split_once('@') {
            Some((name, digest)) => (name, Some(digest.parse()?)),
            None => (rest, None),
        };
        let (repository, tag) = match name.rsplit_once(':') {
            Some((repository, tag)) => (repository, Some(tag)),
            None => (name, None),
        };
        let repository = repository.parse()?;
        if !tag.is_none_or(is_tag) {
            return Err(NoImage);
        }
        let reference = match (digest, tag) {
            (Some(digest), _) => Reference::Digest(digest),
            (None, Some(tag)) => Reference::Tag(tag.into()),
            (None, None) => return Err(NoImage),
        };
        Ok(Self { registry, repository, reference })
    }

    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    pub fn reference(&self) -> &Reference {
        &self.reference
    }
}

impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { registry, repository, reference } = self;
        let mark = if matches!(reference, Reference::Digest(_)) { '@' } else { ':' };
        write!(f, "{registry}/{repository}{mark}{reference}")
    }
}

fn is_tag(tag: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=128).contains(&tag.len()) && tag.bytes().all(fits) && !tag.starts_with(['.', '-'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_reads_as_people_write_it() {
        let digest = format!("sha256:{}", "0a".repeat(32));
        for (text, shown) in [
            (format!("mirror.lab/ocp4/openshift4@{digest}"), "mirror.lab:443/ocp4/openshift4@"),
            (format!("mirror.lab:8443/ocp4:4.18@{digest}"), "mirror.lab:8443/ocp4@"),
            ("[2001:db8::5]:5000/a/b:4.18.1-x86_64".into(), "[2001:db8::5]:5000/a/b:4.18.1-x86_64"),
            ("192.0.2.5/a:b".into(), "192.0.2.5:443/a:b"),
        ] {
            let image = Image::parse(&text, 443).unwrap().to_string();
            assert!(image.starts_with(shown), "{text} as {image}");
        }
        let nothing = [
            "",
            "mirror.lab",
            "mirror.lab/a",
            "mirror.lab/A:b",
            "mirror.lab/../a:b",
            "mirror.lab/a//b:c",
            "mirror.lab/a:b c",
            "/a:b",
            "mirror.lab/a@sha256:00",
            "u:p@m.lab/a:b",
            "mirror.lab/a@sha512:00",
            "mirror.lab/a?x:b",
            "mirror.lab/a:.b",
        ];
        for text in nothing {
            assert_eq!(Image::parse(text, 443), Err(NoImage), "{text}");
        }
    }

    #[test]
    fn a_digest_is_made_of_bytes_and_read_back() {
        let digest = Digest::of(b"");
        assert!(digest.as_str().starts_with("sha256:e3b0c44298fc1c14"));
        assert_eq!(digest.as_str().parse(), Ok(digest.clone()));
        assert!(digest.as_str().to_uppercase().parse::<Digest>().is_err());
    }
}
