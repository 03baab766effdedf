//! What a registry was found to hold. Nothing in it is secret: no address that a server named, no
//! text that it chose freely.

use serde::{Deserialize, Serialize};

use super::image::Digest;
use crate::reach::Reach;
use crate::tls::{Ended, Tls};
use crate::trust::Trust;

/// Of one list in an answer. Those beyond are counted.
pub const FLAWS: usize = 256;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registry {
    /// Nothing without TLS. Where no bundle trusts the server, nothing was sent to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Box<Tls>>,
    /// Nothing where it was not sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ping: Option<Ping>,
    pub auth: Auth,
    pub manifest: Seen,
    /// The version of OpenShift that the image says it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// Of the image, and manifests of its platforms.
    pub blobs: Pieces,
    /// Where they were asked for, and the image was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub components: Option<Components>,
}

/// How it answers where every registry answers alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ping {
    Registry,
    /// With this status, and not as a registry does.
    Other(u16),
    Failed(Fault),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Auth {
    /// It did not come to that.
    NotAsked,
    /// It lets anybody read, or hands out tokens to anybody.
    NoneNeeded,
    Accepted,
    /// 401, for the credential that was given.
    Refused,
    /// It knows who asks, and does not let him: 403, or 401 for a token that was handed out for the
    /// credential. Quay says so of a repository that is not there, too.
    Forbidden,
    /// 401, and there was none to give.
    NoCredential,
    /// It asks in a way that is not answered: another scheme, or a token from somebody who is not
    /// asked by HTTPS.
    Unusable(String),
    /// What it sends us to for a token does not hand out one.
    TokenServer(Fault),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seen {
    NotAsked,
    Found {
        digest: Digest,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        media_type: Option<String>,
        /// Of an index, in its order: `linux/amd64`. Empty for a single image.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        platforms: Vec<String>,
    },
    /// 404, with the code of the specification where one was sent: `MANIFEST_UNKNOWN` for an image,
    /// `NAME_UNKNOWN` for a whole repository.
    Missing {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
    },
    /// There is a body, and it is another one.
    Mismatch {
        got: Digest,
    },
    Failed(Fault),
}

/// Why something cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The status of a HEAD.
    Head(u16),
    /// The status of a GET; for a blob, after a HEAD that was well.
    Get(u16),
    Size {
        expected: u64,
        said: u64,
    },
    Digest {
        got: Digest,
    },
    /// The body broke off, or did not even begin.
    Cut,
    /// Larger than what is read of such a thing.
    TooLarge,
    /// It came, and is not what it should be.
    Unreadable,
    Redirect(Redirect),
    Unreached(Reach),
    NoSession(Ended),
    Untrusted(Trust),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Redirect {
    TooMany,
    /// To somewhere without TLS.
    Plain,
    /// To nowhere.
    Unusable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Piece {
    Config,
    Layer,
    Manifest,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Flaw {
    pub digest: Digest,
    pub piece: Piece,
    /// The platform or the component, the first that needs it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub of: String,
    pub how: Fault,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pieces {
    pub checked: usize,
    /// Sorted by digest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flaws: Vec<Flaw>,
    /// Flaws beyond those.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: usize,
    /// Known and not checked, for their number or for want of time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Components {
    pub list: List,
    /// Images by digest in the list, each counted once.
    pub count: usize,
    /// Entries of the list without a digest.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub without_digest: usize,
    pub manifests: Pieces,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blobs: Option<Pieces>,
}

/// How the list of components was got.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum List {
    Read,
    /// The image has none: it is no release.
    None,
    Failed {
        layer: Digest,
        how: Fault,
    },
}

impl Pieces {
    /// Every flaw, sorted; the list is cut here.
    pub(super) fn of(checked: usize, mut flaws: Vec<Flaw>, left_out: usize) -> Self {
        flaws.sort();
        let more = flaws.len().saturating_sub(FLAWS);
        flaws.truncate(FLAWS);
        Self { checked, flaws, more, left_out }
    }
}

impl From<Reach> for Fault {
    fn from(why: Reach) -> Self {
        Fault::Unreached(why)
    }
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}
