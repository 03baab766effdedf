//! The list of all images that a release is made of. It stands in a layer of the release image.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read};

use serde::Deserialize;

use super::image::Digest;
use super::manifest::word;

const FILE: &str = "release-manifests/image-references";
const FILE_BYTES: u64 = 4 << 20;
/// Of the layer, unpacked. Those of releases have a tenth of it.
const UNPACKED_BYTES: u64 = 512 << 20;
const GZIP: [u8; 2] = [0x1f, 0x8b];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Release {
    pub version: Option<String>,
    /// Two components may be one image; it is here by the first of its names.
    pub components: BTreeMap<Digest, String>,
    /// Entries of the list that name no image by digest.
    pub without_digest: usize,
}

/// The list in a layer, as bytes. Nothing where the layer holds none.
pub fn in_layer(layer: impl Read) -> io::Result<Option<Vec<u8>>> {
    within(layer, UNPACKED_BYTES)
}

fn within(layer: impl Read, most: u64) -> io::Result<Option<Vec<u8>>> {
    let mut layer = BufReader::new(layer);
    match layer.fill_buf()?.starts_with(&GZIP) {
        true => in_tar(flate2::bufread::MultiGzDecoder::new(layer).take(most)),
        false => in_tar(layer.take(most)),
    }
}

fn in_tar(tar: impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut archive = tar::Archive::new(tar);
    // Raw, so that no long name is ever read into memory: the one that is looked for is short.
    for entry in archive.entries()?.raw(true) {
        let entry = entry?;
        let path = entry.path_bytes();
        let path = path.strip_prefix(b"./").unwrap_or(&path);
        if path != FILE.as_bytes() || !entry.header().entry_type().is_file() {
            continue;
        }
        if entry.size() > FILE_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut list = Vec::new();
        let whole = entry.size();
        entry.take(FILE_BYTES).read_to_end(&mut list)?;
        return match list.len() as u64 == whole {
            true => Ok(Some(list)),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        };
    }
    Ok(None)
}

/// Nothing for what is no such list.
pub fn read(list: &[u8]) -> Option<Release> {
    #[derive(Deserialize)]
    struct Stream {
        kind: String,
        #[serde(default)]
        metadata: Metadata,
        spec: Spec,
    }
    #[derive(Default, Deserialize)]
    struct Metadata {
        #[serde(default)]
        name: String,
    }
    #[derive(Deserialize)]
    struct Spec {
        #[serde(default)]
        tags: Vec<Tag>,
    }
    #[derive(Deserialize)]
    struct Tag {
        #[serde(default)]
        name: String,
        #[serde(default)]
        from: Option<From>,
    }
    #[derive(Deserialize)]
    struct From {
        #[serde(default)]
        name: String,
    }
    let stream: Stream = serde_json::from_slice(list).ok()?;
    if stream.kind != "ImageStream" {
        return None;
    }
    let mut release = Release { version: word(&stream.metadata.name), ..Release::default() };
    for tag in stream.spec.tags {
        let image = tag.from.map(|from| from.name).unwrap_or_default();
        let digest = image.rsplit_once('@').and_then(|(_, digest)| digest.parse().ok());
        match (digest, word(&tag.name)) {
            (Some(digest), Some(name)) => {
                release.components.entry(digest).or_insert(name);
            }
            _ => release.without_digest += 1,
        }
    }
    Some(release)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (path, bytes) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            builder.append_data(&mut header, path, *bytes).unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn the_list_is_found_in_a_layer_packed_or_not() {
        let long = format!("manifests/{}", "x".repeat(300));
        let layer = tar(&[(&long, b"long"), (FILE, b"the list"), ("manifests/z", b"z")]);
        assert_eq!(in_layer(&layer[..]).unwrap().as_deref(), Some(&b"the list"[..]));
        assert_eq!(in_layer(&gzip(&layer)[..]).unwrap().as_deref(), Some(&b"the list"[..]));
        assert_eq!(in_layer(&tar(&[("a", b"b")])[..]).unwrap(), None);
        assert!(in_layer(&gzip(&layer)[..60]).is_err(), "cut off");
        let cut = layer.windows(8).position(|bytes| bytes == b"the list").unwrap() + 3;
        assert!(in_layer(&layer[..cut]).is_err(), "cut off in the middle of it");
        assert!(
            in_layer(
                &b"no archive at all, but long enough to be taken for a head of one ".repeat(20)[..]
            )
            .is_err()
        );
        let large = tar(&[(FILE, &vec![b' '; 5 << 20])]);
        assert_eq!(in_layer(&large[..]).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn a_small_layer_that_unpacks_to_much_is_left_in_the_middle() {
        let bomb = gzip(&tar(&[("zeros", &vec![0; 4 << 20]), (FILE, b"the list")]));
        assert!(bomb.len() < 64 << 10);
        assert!(within(&bomb[..], 1 << 20).is_err());
        assert!(within(&bomb[..], 8 << 20).unwrap().is_some());
    }

    #[test]
    fn of_the_list_digests_and_names_are_kept() {
        let image = |of: &[u8]| format!("quay.io/openshift-release-dev/ocp@{}", Digest::of(of));
        let list = serde_json::json!({
            "kind": "ImageStream",
            "apiVersion": "image.openshift.io/v1",
            "metadata": {"name": "4.18.14"},
            "spec": {"tags": [
                {"name": "etcd", "from": {"kind": "DockerImage", "name": image(b"etcd")}},
                {"name": "installer", "from": {"kind": "DockerImage", "name": image(b"i")}},
                {"name": "installer-artifacts", "from": {"name": image(b"i")}},
                {"name": "by-tag", "from": {"name": "quay.io/a/b:latest"}},
                {"name": "from-nowhere"}]},
        });
        let release = read(list.to_string().as_bytes()).unwrap();
        assert_eq!(release.version.as_deref(), Some("4.18.14"));
        assert_eq!(release.components[&Digest::of(b"etcd")], "etcd");
        assert_eq!(release.components[&Digest::of(b"i")], "installer");
        assert_eq!((release.components.len(), release.without_digest), (2, 2));
        for odd in ["", "{}", r#"{"kind":"List","spec":{}}"#, r#"{"kind":"ImageStream"}"#] {
            assert_eq!(read(odd.as_bytes()), None, "{odd}");
        }
    }
}
