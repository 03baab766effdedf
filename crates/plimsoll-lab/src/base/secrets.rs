//! Certificates, and the secrets and config maps that hold them.
//!
//! A gather keeps certificates and replaces every other value of a secret by its length. The
//! certificates are real ones, made once: root-ca for ten years, and below it the serving
//! certificate of the machine config server for `api-int` and the API address.

use base64::Engine;
use include_dir::{Dir, include_dir};
use serde_json::{Value, json};

use super::writer::Writer;
use super::{BaseParams, Phase, Platform};

static PEMS: Dir = include_dir!("$CARGO_MANIFEST_DIR/src/base/pki");

/// A PEM by file name; empty when there is none of that name.
pub(super) fn pem(name: &str) -> &'static str {
    PEMS.get_file(name).and_then(|file| file.contents_utf8()).unwrap_or_default()
}

/// The certificate that a node's kubelet speaks with.
pub fn client_certificate(node: &str) -> &'static str {
    pem(&format!("{node}.client.crt.pem"))
}

pub(super) struct Pki {
    pub root_ca: String,
    pub server: String,
}

impl Pki {
    /// A cluster of another name gets the certificates of the default one.
    pub fn of(params: &BaseParams) -> Self {
        let own = params.fqdn();
        let known = !pem(&format!("{own}.root-ca.pem")).is_empty();
        let fqdn = if known { own } else { BaseParams::default().fqdn() };
        Self {
            root_ca: pem(&format!("{fqdn}.root-ca.pem")).into(),
            server: pem(&format!("{fqdn}.machine-config-server.pem")).into(),
        }
    }

    pub fn base64(&self, text: &str) -> String {
        base64::engine::general_purpose::STANDARD.encode(text)
    }
}

const MCO: &str = "openshift-machine-config-operator";
const MACHINE_API: &str = "openshift-machine-api";

pub(super) fn write(writer: &mut Writer) {
    let params = writer.params;
    let pki = Pki::of(params);
    let length = |bytes: usize| pki.base64(&format!("{bytes} bytes long"));
    let secret = |namespace: &str, name: &str, kind: &str, data: Value| {
        json!({"apiVersion": "v1", "kind": "Secret", "type": kind, "data": data,
               "metadata": {"name": name, "namespace": namespace, "creationTimestamp": params.stamp(60)}})
    };
    let config = |namespace: &str, name: &str, data: Value, seconds: i64| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data,
               "metadata": {"name": name, "namespace": namespace, "creationTimestamp": params.stamp(seconds)}})
    };

    // From 4.19 on the machine config controller keeps a certificate authority of its own.
    let rotated = params.version.starts_with("4.19");
    let server_type = if rotated { "kubernetes.io/tls" } else { "Opaque" };
    let serving = json!({"tls.crt": pki.base64(&pki.server), "tls.key": length(1_679)});
    writer.put(secret(MCO, "machine-config-server-tls", server_type, serving));
    if rotated {
        writer.put(config(
            MCO,
            "machine-config-server-ca",
            json!({"ca-bundle.crt": pki.root_ca}),
            360,
        ));
        let authority = json!({"tls.crt": pki.base64(&pki.root_ca), "tls.key": length(1_675)});
        writer.put(secret(MCO, "machine-config-server-ca", "kubernetes.io/tls", authority));
    }
    writer.put(secret(
        MCO,
        "node-bootstrapper-token",
        "kubernetes.io/service-account-token",
        json!({"ca.crt": pki.base64(&pki.root_ca), "namespace": length(33), "service-ca.crt": pki.base64(&pki.root_ca), "token": length(1_172)}),
    ));
    for name in ["mcc-proxy-tls", "mco-proxy-tls", "proxy-tls"] {
        let serving = json!({"tls.crt": pki.base64(&pki.server), "tls.key": length(1_675)});
        writer.put(secret(MCO, name, "kubernetes.io/tls", serving));
    }
    for role in ["master", "worker"] {
        for name in [format!("{role}-user-data"), format!("{role}-user-data-managed")] {
            let data = json!({"disableTemplating": length(4), "userData": length(1_731)});
            writer.put(secret(MACHINE_API, &name, "Opaque", data));
        }
    }
    if params.platform == Platform::BareMetal {
        for host in params.hosts() {
            let data = json!({"password": length(8), "username": length(5)});
            writer.put(secret(MACHINE_API, &format!("{host}-bmc-secret"), "Opaque", data));
        }
        let data = json!({"htpasswd": length(69), "password": length(16), "username": length(11)});
        writer.put(secret(MACHINE_API, "metal3-ironic-password", "Opaque", data));
        let data = json!({"tls.crt": pki.base64(&pki.server), "tls.key": length(1_679)});
        writer.put(secret(MACHINE_API, "metal3-ironic-tls", "Opaque", data));
    }

    writer.put(config("kube-system", "root-ca", json!({"ca.crt": pki.root_ca}), 12));
    writer.put(config(
        "kube-system",
        "cluster-config-v1",
        json!({"install-config": install_config(params)}),
        5,
    ));
    if params.phase == Phase::Installed {
        writer.put(config("kube-system", "bootstrap", json!({"status": "complete"}), 1_290));
    }
    writer.put(config(MCO, "machine-config-osimageurl", json!({"baseOSContainerImage": params.image("rhel-coreos"), "osImageURL": "", "releaseVersion": params.version}), 340));
}

fn install_config(params: &BaseParams) -> String {
    let platform = match params.platform {
        Platform::BareMetal => format!(
            "platform:\n  baremetal:\n    apiVIPs:\n    - {}\n    ingressVIPs:\n    - {}\n    provisioningNetwork: Disabled\n",
            params.api_vips().join("\n    - "),
            params.ingress_vips().join("\n    - ")
        ),
        Platform::None => "platform:\n  none: {}\n".into(),
        Platform::External => "platform:\n  external:\n    platformName: lab\n".into(),
    };
    let pods: String = params
        .cluster_networks()
        .into_iter()
        .map(|(cidr, prefix)| format!("  - cidr: {cidr}\n    hostPrefix: {prefix}\n"))
        .collect();
    format!(
        "additionalTrustBundlePolicy: Proxyonly\napiVersion: v1\nbaseDomain: {}\ncompute:\n- architecture: amd64\n  hyperthreading: Enabled\n  name: worker\n  platform: {{}}\n  replicas: {}\ncontrolPlane:\n  architecture: amd64\n  hyperthreading: Enabled\n  name: master\n  platform: {{}}\n  replicas: {}\nmetadata:\n  creationTimestamp: null\n  name: {}\nnetworking:\n  clusterNetwork:\n{pods}  machineNetwork:\n  - cidr: {}\n  networkType: OVNKubernetes\n  serviceNetwork:\n  - {}\n{platform}publish: External\npullSecret: \"\"\nsshKey: |\n  ssh-ed25519 AAAA core\n",
        params.domain,
        params.wanted().1,
        params.wanted().0,
        params.cluster,
        params.machine_networks().join("\n  - cidr: "),
        params.service_networks().join("\n  - ")
    )
}
