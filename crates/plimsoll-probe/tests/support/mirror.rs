//! A real registry on the loopback, with a small made-up release in it.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use plimsoll_probe::registry::Digest;
use plimsoll_probe::{Outcome, Probe, Target};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::ask_within;
use super::pki::{Authority, Identity};
use super::real::{Server, free_port, have};

pub const REPOSITORY: &str = "ocp4/openshift4";
pub const USER: &str = "mirror";
pub const PASSWORD: &str = "hunter2-sesame";
pub const VERSION: &str = "4.18.14";
pub const COMPONENTS: [&str; 4] = ["cli", "etcd", "installer", "machine-config-operator"];

const IMAGE: &str = "application/vnd.oci.image.manifest.v1+json";
const LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";

/// What is in the registry, and where it keeps it.
pub struct Mirror {
    folder: TempDir,
    pub authority: Authority,
    pub release: Pushed,
    pub components: Vec<Pushed>,
    /// Two platforms, of which the first is the release.
    pub list: Digest,
}

pub struct Pushed {
    pub digest: Digest,
    pub config: Digest,
    pub layers: Vec<Digest>,
}

pub enum Wants {
    Nothing,
    Password,
    /// From this realm, signed by this identity.
    Token(String, String),
}

pub fn can_run() -> bool {
    have("docker-registry", "docker-registry") && have("apache2-utils", "htpasswd")
}

impl Mirror {
    pub async fn filled() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new("mirror-ca", (2020, 2030));
        let (_server, writer) = start(&folder, "writer", None, &Wants::Nothing).await;
        let mut components = Vec::new();
        let mut tags = Vec::new();
        for name in COMPONENTS {
            let layers = [layer(&[("common", b"common")]), layer(&[(name, name.as_bytes())])];
            let pushed = push(&writer, REPOSITORY, name, json!({}), &layers).await;
            let from = format!("quay.io/openshift-release-dev/ocp-v4.0-art-dev@{}", pushed.digest);
            tags.push(json!({"name": name, "from": {"kind": "DockerImage", "name": from}}));
            components.push(pushed);
        }
        let references = json!({
            "kind": "ImageStream", "apiVersion": "image.openshift.io/v1",
            "metadata": {"name": VERSION}, "spec": {"tags": tags},
        });
        let layers = [
            layer(&[("usr/bin/cluster-version-operator", b"\x7fELF")]),
            layer(&[
                ("release-manifests/0000_00_cluster-version-operator_00_namespace.yaml", b"a: b"),
                ("release-manifests/image-references", references.to_string().as_bytes()),
            ]),
        ];
        let labels = json!({"io.openshift.release": VERSION});
        let release = push(&writer, REPOSITORY, VERSION, labels, &layers).await;
        let list = push_list(&writer, [&release.digest, &components[0].digest]).await;
        Self { folder, authority, release, components, list }
    }

    pub async fn serve(&self, identity: &Identity, wants: &Wants) -> (Server, Target) {
        start(&self.folder, "tls", Some(identity), wants).await
    }

    pub async fn serve_plain(&self) -> (Server, Target) {
        start(&self.folder, "plain", None, &Wants::Nothing).await
    }

    /// Where the registry keeps what has this digest, manifests and blobs alike.
    pub fn file(&self, digest: &Digest) -> PathBuf {
        let digits = digest.as_str().strip_prefix("sha256:").unwrap();
        let blobs = self.folder.path().join("store/docker/registry/v2/blobs/sha256");
        blobs.join(&digits[..2]).join(digits).join("data")
    }
}

/// Waits until it answers. A port that somebody else took in the meantime is given up.
async fn start(
    folder: &TempDir,
    name: &str,
    identity: Option<&Identity>,
    wants: &Wants,
) -> (Server, Target) {
    let path = |file: &str| folder.path().join(format!("{name}-{file}"));
    for _ in 0..5 {
        let port = free_port();
        let mut http = json!({"addr": format!("127.0.0.1:{port}")});
        if let Some(identity) = identity {
            let pem = |der: &[u8]| pem("CERTIFICATE", der);
            let chain: String = identity.chain.iter().map(|der| pem(der)).collect();
            std::fs::write(path("certificate"), chain).unwrap();
            std::fs::write(path("key"), identity.key.serialize_pem()).unwrap();
            http["tls"] = json!({"certificate": path("certificate"), "key": path("key")});
        }
        let mut config = json!({
            "version": "0.1",
            "log": {"level": "error"},
            "storage": {
                "filesystem": {"rootdirectory": folder.path().join("store")},
                "cache": {"blobdescriptor": "inmemory"},
            },
            "http": http,
        });
        match wants {
            Wants::Nothing => {}
            Wants::Password => {
                let made =
                    Command::new("htpasswd").args(["-Bbn", USER, PASSWORD]).output().unwrap();
                std::fs::write(path("htpasswd"), made.stdout).unwrap();
                config["auth"] = json!({"htpasswd": {"realm": "lab", "path": path("htpasswd")}});
            }
            Wants::Token(realm, certificate) => {
                std::fs::write(path("tokens"), certificate).unwrap();
                config["auth"] = json!({"token": {"realm": realm, "service": "mirror",
                    "issuer": "lab", "rootcertbundle": path("tokens")}});
            }
        }
        std::fs::write(path("config.yml"), config.to_string()).unwrap();
        let mut command = Command::new("docker-registry");
        let mut server = Server::start(command.arg("serve").arg(path("config.yml")));
        let target = Target::new("127.0.0.1", port);
        for _ in 0..600 {
            let tcp = Probe::Tcp(target.clone());
            if ask_within(tcp, Duration::from_millis(500)).await.result == Outcome::Open {
                return (server, target);
            }
            if server.has_ended() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    panic!("the registry does not start");
}

pub fn pem(label: &str, der: &[u8]) -> String {
    use base64::Engine;
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
}

pub fn layer(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, bytes) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, path, *bytes).unwrap();
    }
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&builder.into_inner().unwrap()).unwrap();
    packed.finish().unwrap()
}

async fn push(
    writer: &Target,
    repository: &str,
    tag: &str,
    labels: Value,
    layers: &[Vec<u8>],
) -> Pushed {
    let config = json!({
        "os": "linux", "architecture": "amd64", "config": {"Labels": labels}, "made-for": tag,
        "rootfs": {"type": "layers", "diff_ids": []},
    });
    let config = config.to_string().into_bytes();
    let mut digests = vec![push_blob(writer, repository, &config).await];
    for layer in layers {
        digests.push(push_blob(writer, repository, layer).await);
    }
    let described = |media: &str, digest: &Digest, bytes: &[u8]| {
        let media = format!("application/vnd.oci.image.{media}");
        json!({"mediaType": media, "digest": digest, "size": bytes.len()})
    };
    let layer =
        |(digest, bytes): (&Digest, &Vec<u8>)| described("layer.v1.tar+gzip", digest, bytes);
    let manifest = json!({
        "schemaVersion": 2, "mediaType": IMAGE,
        "config": described("config.v1+json", &digests[0], &config),
        "layers": digests[1..].iter().zip(layers).map(layer).collect::<Vec<_>>(),
    });
    let digest = push_manifest(writer, repository, tag, IMAGE, &manifest).await;
    let config = digests.remove(0);
    Pushed { digest, config, layers: digests }
}

async fn push_list(writer: &Target, images: [&Digest; 2]) -> Digest {
    let platforms = ["amd64", "arm64"].into_iter().zip(images);
    let entry = |(architecture, digest)| {
        json!({"mediaType": IMAGE, "digest": digest, "size": 1,
            "platform": {"os": "linux", "architecture": architecture}})
    };
    let entries: Vec<Value> = platforms.map(entry).collect();
    let list = json!({"schemaVersion": 2, "mediaType": LIST, "manifests": entries});
    push_manifest(writer, REPOSITORY, "multi", LIST, &list).await
}

async fn push_manifest(
    writer: &Target,
    repository: &str,
    tag: &str,
    media: &str,
    manifest: &Value,
) -> Digest {
    let body = manifest.to_string().into_bytes();
    let path = format!("/v2/{repository}/manifests/{tag}");
    let answer = request(writer, "PUT", &path, media, &body).await;
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    Digest::of(&body)
}

async fn push_blob(writer: &Target, repository: &str, bytes: &[u8]) -> Digest {
    let begun = format!("/v2/{repository}/blobs/uploads/");
    let answer = request(writer, "POST", &begun, "text/plain", b"").await;
    let location = answer.lines().find_map(|line| line.strip_prefix("Location: ")).unwrap();
    let path = location.split_once(&writer.to_string()).unwrap().1;
    let digest = Digest::of(bytes);
    let path = format!("{path}&digest={digest}");
    let answer = request(writer, "PUT", &path, "application/octet-stream", bytes).await;
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    digest
}

async fn request(to: &Target, method: &str, path: &str, media: &str, body: &[u8]) -> String {
    let mut stream = TcpStream::connect((to.host.as_str(), to.port)).await.unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\nContent-Type: {media}\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), body].concat()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}
