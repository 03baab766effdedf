//! Requests of a kubelet that nobody answers: both waves, asked for by a kubelet that has nothing but what
//! it was given, and signed by the real controller.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use plimsoll_lab::Tree;
use plimsoll_rig::{ApiServer, Running};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, SanType};
use serde_json::{Value, json};

use crate::actor::Kubectl;
use crate::objects::{Part, heal};
use crate::repair::{Repair, Scene, USUAL};
use crate::site::edited;

const MACHINE: &str = "ostest-cktts-worker-0-njsv9";
const CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const SERVING: &str = "kubernetes.io/kubelet-serving";
pub const BOOTSTRAPPER: &str =
    "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper";
const JOINED: &[Part] = &[
    ("Machine/openshift-machine-api/ostest-cktts-worker-0-njsv9", "/status"),
    ("Node/worker-1", ""),
    ("CertificateSigningRequest/csr-serving", ""),
    ("CertificateSigningRequest/csr-client", "/status"),
];

pub static REPAIRS: &[Repair] = &[Repair {
    id: "approve-verified-csr",
    tree: expecting_worker,
    before: |scene| {
        ask(scene, &scene.hands, "csr-client", CLIENT, &as_bootstrapper());
    },
    // The rules go by the clock of this machine, and a request is only missed after ten minutes.
    run: |site| site.now = at(SignedDuration::from_mins(11)),
    // By this clock other things are wrong with the cluster of a year ago.
    root: &["client-csr-pending"],
    typed: &["worker-1"],
    controllers: |cluster| vec![signer(&cluster.server)],
    reacts: kubelet,
    theirs: JOINED,
    holds: |hands| {
        for name in ["csr-client", "csr-serving"] {
            let request = hands.json(&["get", "csr", name]).unwrap_or_default();
            let by = &request["status"]["conditions"][0];
            if by["type"] != "Approved" || !request["status"]["certificate"].is_string() {
                return Err(format!("{name}: {:#}", request["status"]));
            }
        }
        Ok(())
    },
    // What is signed is signed.
    reversible: false,
    ..USUAL
}];

#[expect(clippy::disallowed_methods, reason = "requests have the clock of this machine")]
fn at(later: SignedDuration) -> String {
    (Timestamp::now() + later).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A Machine of half an hour ago whose node is to come.
fn expecting_worker() -> Tree {
    let made = at(-SignedDuration::from_mins(30));
    let edits = format!(
        "delete Node/worker-1\nunset Machine/{MACHINE} status.nodeRef\nset Machine/{MACHINE} metadata.creationTimestamp = \"{made}\""
    );
    edited("metal-3-2", &edits).tree().unwrap()
}

pub fn signer(server: &ApiServer) -> Running {
    signer_and(server, "csrsigning", &[])
}

/// And other controllers in the same process, with what they are started with.
pub fn signer_and(server: &ApiServer, names: &str, more: &[&str]) -> Running {
    let authority = server.authority.write(&server.folder, "signer").unwrap();
    let key = server.authority.write_key(&server.folder, "signer").unwrap();
    let files = [
        format!("--cluster-signing-cert-file={}", authority.display()),
        format!("--cluster-signing-key-file={}", key.display()),
    ];
    server.controllers(names, &[&[files[0].as_str(), &files[1]], more].concat()).unwrap()
}

/// Who asks first: known by its group, as a token would say it.
fn as_bootstrapper() -> Vec<String> {
    let groups =
        ["system:serviceaccounts", "system:serviceaccounts:openshift-machine-config-operator"];
    let groups = groups.iter().flat_map(|group| ["--as-group".to_string(), group.to_string()]);
    ["--as".to_string(), BOOTSTRAPPER.to_string()].into_iter().chain(groups).collect()
}

/// A request with a key of its own, which stays in the folder of whoever asks.
fn ask(scene: &Scene, hands: &Kubectl, name: &str, signer: &str, by: &[String]) {
    let (mut params, key) =
        (CertificateParams::new(Vec::new()).unwrap(), KeyPair::generate().unwrap());
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, "system:nodes");
    params.distinguished_name.push(DnType::CommonName, "system:node:worker-1");
    let purpose = if signer == CLIENT { "client auth" } else { "server auth" };
    if signer == SERVING {
        let address = SanType::IpAddress("192.168.111.24".parse().unwrap());
        params.subject_alt_names = vec![SanType::DnsName("worker-1".try_into().unwrap()), address];
    }
    let pem = params.serialize_request(&key).unwrap().pem().unwrap();
    fs_err::write(scene.folder.join(format!("{name}.key")), key.serialize_pem()).unwrap();
    let request = json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
        "metadata": {"name": name},
        "spec": {"request": STANDARD.encode(pem), "signerName": signer,
            "usages": ["digital signature", "key encipherment", purpose]},
    });
    let by: Vec<&str> = by.iter().map(String::as_str).collect();
    hands.create_as(&request, &by).unwrap();
}

fn certificate(hands: &Kubectl, name: &str) -> Option<String> {
    let request: Value = hands.json(&["get", "csr", name])?;
    let text = request["status"]["certificate"].as_str()?;
    String::from_utf8(STANDARD.decode(text).ok()?).ok()
}

/// Whoever has the certificate that was issued, and its key.
fn itself(scene: &Scene, certificate: &str) -> Kubectl {
    let admin = fs_err::read(&scene.hands.0).unwrap();
    let mut config: Value = serde_json::from_slice(&admin).unwrap();
    let key = fs_err::read(scene.folder.join("csr-client.key")).unwrap();
    config["users"][0]["user"] = json!({
        "client-certificate-data": STANDARD.encode(certificate),
        "client-key-data": STANDARD.encode(key),
    });
    let file = scene.folder.join("kubelet.kubeconfig");
    fs_err::write(&file, config.to_string()).unwrap();
    Kubectl(file)
}

/// Asks for its second certificate with the first, and registers its node when it has both.
fn kubelet(scene: &Scene) {
    let Some(client) = certificate(&scene.hands, "csr-client") else { return };
    if scene.hands.run(&["get", "csr", "csr-serving"]).is_none() {
        ask(scene, &itself(scene, &client), "csr-serving", SERVING, &[]);
    }
    if certificate(&scene.hands, "csr-serving").is_some() {
        heal(&scene.hands, scene.healthy, &JOINED[..2]);
    }
}
