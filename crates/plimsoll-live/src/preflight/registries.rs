//! The registries that a config names, and what to look for in them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_install::{InstallConfig, Mirror};
use plimsoll_probe::registry::{Credential, Deep, Image, Reference};
use plimsoll_probe::{Bundle, RegistryProbe};
use plimsoll_yaml::Node;
use serde_json::Value;

use super::bmcs::at;
use super::{BadImage, Preflight};

const HTTPS: u16 = 443;
const MOST: usize = 16;
/// Where the images of a release come from.
const COMPONENTS: &str = "quay.io/openshift-release-dev/ocp-v4.0-art-dev";
/// What no registry has: asked for, it tells whether one may ask.
const NOTHING: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";
const SOME_REPOSITORY: &str = "openshift/release-images";

/// An image that is named by what it holds: mirrors are asked for no other.
pub fn release(text: &str) -> Result<Image, BadImage> {
    let image = Image::parse(text, HTTPS).map_err(|_| {
        BadImage(format!("'{text}' is no image: give HOST/REPOSITORY@sha256:DIGEST"))
    })?;
    match image.reference() {
        Reference::Digest(_) => Ok(image),
        Reference::Tag(_) => Err(BadImage(format!(
            "'{text}' has no digest, and mirrors are asked by digest: 'oc adm release info' shows it"
        ))),
    }
}

pub fn asked(wish: &Preflight<'_>, within: Duration) -> Vec<RegistryProbe> {
    let Some(install) = &wish.config.install else { return Vec::new() };
    let secret = pull_secret(wish.text);
    let mut bundles = vec![Bundle::system()];
    if !install.trust_bundle.is_empty() {
        let pem = install.trust_bundle.as_str().as_bytes();
        bundles.push(Bundle::from_pem("additionalTrustBundle", pem));
    }
    let bundles: Arc<[Bundle]> = bundles.into();
    let probe = |image: Image, components: Option<Deep>| RegistryProbe {
        credential: credential(&secret, &image),
        image,
        plain: false,
        bundles: bundles.clone(),
        components,
        within,
    };
    let release = wish.release_image.as_deref().and_then(|text| release(text).ok().zip(Some(text)));
    let Some((image, text)) = release else {
        let mirrors = mirrors(install).flat_map(|mirror| &mirror.mirrors);
        let named: BTreeSet<String> = mirrors.map(|mirror| mirror.value.clone()).collect();
        let images = named.iter().filter_map(|mirror| in_mirror(mirror, SOME_REPOSITORY, NOTHING));
        return images.take(MOST).map(|image| probe(image, None)).collect();
    };
    let digest = image.reference().to_string();
    let found = mirrored(install, text, &digest);
    // Where no mirror stands for it, it is looked for where it is.
    let places = if found.is_empty() { vec![image] } else { found };
    let parts = mirrored(install, &format!("{COMPONENTS}@{digest}"), &digest);
    places
        .into_iter()
        .take(MOST)
        .map(|place| {
            let beside = parts.iter().find(|part| part.registry == place.registry);
            let repository = beside.map(|part| part.repository().clone());
            probe(place, Some(Deep { repository, blobs: true }))
        })
        .collect()
}

fn mirrors(install: &InstallConfig) -> impl Iterator<Item = &Mirror> {
    install.digest_sources.iter().chain(&install.content_sources)
}

/// The places that stand for an image: the longest source counts.
fn mirrored(install: &InstallConfig, image: &str, digest: &str) -> Vec<Image> {
    let name = image.split('@').next().unwrap_or_default();
    let rest_of = |source: &str| {
        let rest = name.strip_prefix(source)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/').to_string())
    };
    let fitting =
        mirrors(install).filter_map(|mirror| Some((mirror, rest_of(mirror.source.as_str())?)));
    let longest = fitting.max_by_key(|(mirror, _)| mirror.source.as_str().len());
    let Some((mirror, rest)) = longest else { return Vec::new() };
    let mut found: Vec<Image> = mirror
        .mirrors
        .iter()
        .filter_map(|place| in_mirror(place.as_str(), &rest, digest))
        .collect();
    found.dedup();
    found
}

/// `rest` is what an image is called below its source, and so below the mirror.
fn in_mirror(mirror: &str, rest: &str, digest: &str) -> Option<Image> {
    let whole = mirror.contains('/') && (rest.is_empty() || digest == NOTHING);
    let name = if whole { mirror.to_string() } else { format!("{mirror}/{rest}") };
    Image::parse(&format!("{name}@{digest}"), HTTPS).ok()
}

fn pull_secret(text: &str) -> Value {
    let root = plimsoll_install::tree(text);
    let secret = root.as_ref().and_then(|root| at(root, &["pullSecret"]));
    let secret = secret.and_then(Node::as_text).unwrap_or_default();
    serde_json::from_str(secret).unwrap_or_default()
}

/// The entry that names most of the place: a registry, or a folder of it.
fn credential(secret: &Value, image: &Image) -> Option<Credential> {
    let registry = image.registry.to_string();
    let bare = registry.strip_suffix(":443").unwrap_or(&registry);
    let place = |registry: &str| format!("{registry}/{}/", image.repository());
    let places = [place(&registry), place(bare)];
    let fits = |key: &str| {
        let key = key.trim_start_matches("https://").trim_end_matches('/');
        places.iter().any(|place| place.starts_with(&format!("{key}/")))
    };
    let entries = secret.get("auths")?.as_object()?;
    let (_, entry) =
        entries.iter().filter(|(key, _)| fits(key)).max_by_key(|(key, _)| key.len())?;
    Credential::from_auth(entry.get("auth")?.as_str()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_install::{Input, Method, Release, judge};
    use serde_json::json;

    const DIGEST: &str = "sha256:1111111111111111111111111111111111111111111111111111111111111111";

    fn install(sources: &str) -> InstallConfig {
        let text = format!(
            "apiVersion: v1\nmetadata:\n  name: lab\nbaseDomain: example.com\nimageDigestSources:\n{sources}"
        );
        let input = Input { install: Some(&text), agent: None };
        judge(&input, Release::default(), Method::Ipi).unwrap().config.install.unwrap()
    }

    #[test]
    fn the_longest_source_says_where_an_image_is() {
        let config = install(
            "- source: quay.io\n  mirrors: [all.example:5000]\n- source: quay.io/openshift-release-dev/ocp-release\n  mirrors: ['one.example:5000/ocp4/openshift4', two.example/ocp]\n",
        );
        let of = |image: &str| -> Vec<String> {
            mirrored(&config, image, DIGEST).iter().map(ToString::to_string).collect()
        };
        let release = format!("quay.io/openshift-release-dev/ocp-release@{DIGEST}");
        let expected = [
            format!("one.example:5000/ocp4/openshift4@{DIGEST}"),
            format!("two.example:443/ocp@{DIGEST}"),
        ];
        assert_eq!(of(&release), expected);
        let other = format!("quay.io/other/image@{DIGEST}");
        assert_eq!(of(&other), [format!("all.example:5000/other/image@{DIGEST}")]);
        assert!(of(&format!("quay.iox/other@{DIGEST}")).is_empty());
    }

    #[test]
    fn the_credential_of_the_nearest_entry_is_used() {
        let secret = json!({"auths": {
            "one.example:5000": {"auth": "YTpi"},
            "one.example:5000/ocp4": {"auth": "Yzpk"},
            "two.example": {"auth": "ZTpm"},
        }});
        let of = |image: &str| {
            let image = Image::parse(&format!("{image}@{DIGEST}"), HTTPS).unwrap();
            credential(&secret, &image)
        };
        let known = |auth: &str| Some(Credential::from_auth(auth).unwrap());
        assert_eq!(of("one.example:5000/ocp4/openshift4"), known("Yzpk"));
        assert_eq!(of("one.example:5000/ocp"), known("YTpi"));
        assert_eq!(of("two.example/ocp"), known("ZTpm"));
        assert_eq!(of("three.example/ocp"), None);
    }

    #[test]
    fn a_release_is_named_by_its_digest() {
        assert!(release(&format!("quay.io/a/b@{DIGEST}")).is_ok());
        assert!(release("quay.io/a/b:4.18").unwrap_err().to_string().contains("no digest"));
        assert!(release("b").is_err());
    }
}
