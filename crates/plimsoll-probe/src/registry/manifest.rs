//! A manifest, as far as it says what else must be there.

use serde::Deserialize;

use super::image::Digest;
use crate::reach::shown;

/// In the order in which they are asked for.
pub const MEDIA_TYPES: [&str; 4] = [
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    pub digest: Digest,
    pub size: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manifest {
    Image {
        config: Descriptor,
        /// The lowest first. Without those that are kept elsewhere by their licence.
        layers: Vec<Descriptor>,
    },
    /// One image for each platform: `linux/amd64`.
    Index(Vec<(Descriptor, String)>),
}

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    manifests: Option<Vec<Entry>>,
    #[serde(default)]
    config: Option<Entry>,
    #[serde(default)]
    layers: Option<Vec<Entry>>,
}

#[derive(Deserialize)]
struct Entry {
    digest: Digest,
    size: u64,
    #[serde(default)]
    platform: Option<Platform>,
    #[serde(default)]
    urls: Option<Vec<serde::de::IgnoredAny>>,
}

#[derive(Deserialize)]
struct Platform {
    #[serde(default)]
    os: String,
    #[serde(default)]
    architecture: String,
    #[serde(default)]
    variant: Option<String>,
}

/// Nothing for what is no manifest of an image or of several. Its shape decides, not the media
/// type: registries were seen to send the wrong one.
pub fn read(bytes: &[u8]) -> Option<Manifest> {
    let document: Document = serde_json::from_slice(bytes).ok()?;
    match document {
        Document { manifests: Some(entries), config: None, layers: None } => {
            let platform = |entry: &Entry| entry.platform.as_ref().map(name).unwrap_or_default();
            let entries =
                entries.into_iter().map(|entry| (platform(&entry), entry)).map(split).collect();
            Some(Manifest::Index(entries))
        }
        Document { manifests: None, config: Some(config), layers: Some(layers) } => {
            let here = |entry: &Entry| entry.urls.as_ref().is_none_or(Vec::is_empty);
            let layers = layers.into_iter().filter(here).map(descriptor).collect();
            Some(Manifest::Image { config: descriptor(config), layers })
        }
        _ => None,
    }
}

fn split((platform, entry): (String, Entry)) -> (Descriptor, String) {
    (descriptor(entry), platform)
}

fn descriptor(entry: Entry) -> Descriptor {
    Descriptor { digest: entry.digest, size: entry.size }
}

fn name(platform: &Platform) -> String {
    let Platform { os, architecture, variant } = platform;
    let parts = [Some(os), Some(architecture), variant.as_ref()];
    let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
    word(&parts.join("/")).unwrap_or_default()
}

/// The one of ours that a header names, without its parameters.
pub fn media_type(header: &[u8]) -> Option<&'static str> {
    let text = std::str::from_utf8(header).ok()?;
    let bare = text.split(';').next()?.trim();
    MEDIA_TYPES.into_iter().find(|known| known.eq_ignore_ascii_case(bare))
}

/// A short text of few kinds of characters, fit to be kept: a version, a platform, a name.
pub fn word(text: &str) -> Option<String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._/+-".contains(&byte);
    ((1..=80).contains(&text.len()) && text.bytes().all(fits)).then(|| shown(text))
}

/// What the configuration of an image says of the release that it is, by its label.
pub fn release_label(config: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Image {
        config: Inner,
    }
    #[derive(Deserialize)]
    struct Inner {
        #[serde(rename = "Labels")]
        labels: Labels,
    }
    #[derive(Deserialize)]
    struct Labels {
        #[serde(rename = "io.openshift.release")]
        release: String,
    }
    let image: Image = serde_json::from_slice(config).ok()?;
    word(&image.config.labels.release)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(of: &str) -> String {
        Digest::of(of.as_bytes()).to_string()
    }

    #[test]
    fn an_image_names_its_blobs_and_an_index_its_images() {
        let image = serde_json::json!({
            "schemaVersion": 2,
            "config": {"digest": digest("config"), "size": 6, "mediaType": "x"},
            "layers": [{"digest": digest("a"), "size": 1},
                       {"digest": digest("b"), "size": 1, "urls": ["https://elsewhere"]}],
        });
        let Some(Manifest::Image { config, layers }) = read(image.to_string().as_bytes()) else {
            panic!()
        };
        assert_eq!((config.size, layers.len()), (6, 1));
        assert_eq!(layers[0].digest, Digest::of(b"a"));
        let index = serde_json::json!({"manifests": [
            {"digest": digest("a"), "size": 1, "platform": {"os": "linux", "architecture": "arm64", "variant": "v8"}},
            {"digest": digest("b"), "size": 1, "platform": {"os": "li nux", "architecture": "x"}}]});
        let Some(Manifest::Index(entries)) = read(index.to_string().as_bytes()) else { panic!() };
        assert_eq!((entries[0].1.as_str(), entries[1].1.as_str()), ("linux/arm64/v8", ""));
    }

    #[test]
    fn what_is_no_manifest_is_nothing() {
        for odd in [
            "",
            "{}",
            "[]",
            r#"{"manifests":[{"digest":"sha256:1","size":1}]}"#,
            r#"{"manifests":[],"layers":[]}"#,
            r#"{"config":{"digest":"x","size":-1},"layers":[]}"#,
        ] {
            assert_eq!(read(odd.as_bytes()), None, "{odd}");
        }
        assert_eq!(read(br#"{"manifests":[]}"#), Some(Manifest::Index(vec![])));
    }

    #[test]
    fn only_a_short_word_is_kept_of_a_label() {
        let label = |text: &str| {
            let json = serde_json::json!({"config": {"Labels": {"io.openshift.release": text}}});
            release_label(json.to_string().as_bytes())
        };
        assert_eq!(label("4.18.14").as_deref(), Some("4.18.14"));
        assert_eq!((label("4.18 \u{1b}"), label(""), label(&"4".repeat(81))), (None, None, None));
    }

    #[test]
    fn a_media_type_is_one_of_ours_or_none() {
        let header = b"application/vnd.oci.image.index.v1+json; charset=utf-8";
        assert_eq!(media_type(header), Some(MEDIA_TYPES[0]));
        assert_eq!((media_type(b"text/html"), media_type(b"\xff")), (None, None));
    }
}
