//! What is kept of a file that holds credentials: enough to tell whose they are, never the
//! credential itself.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

/// The form in which a file of a machine may be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Safe {
    /// The certificates of a PEM file; keys are left out.
    Certificates,
    /// Of a kubeconfig: names, the server, certificates, and which kind of credential there is.
    Kubeconfig,
    /// The name of an object, and nothing of its content.
    ObjectName,
    /// That it is there.
    Existence,
}

impl Safe {
    /// `None` for files that may be kept as they are.
    pub fn of(parts: &[&str]) -> Option<Self> {
        let file = parts.last()?;
        let has = |folder: &[&str]| parts.windows(folder.len()).any(|window| window == folder);
        let of_machine = has(&["etc", "kubernetes"])
            || has(&["var", "lib", "kubelet"])
            || has(&["etc", "machine-config-daemon"]);
        match *file {
            "mcs-machine-config-content.json" | "currentconfig" => Some(Safe::ObjectName),
            _ if !of_machine => None,
            "kubeconfig" => Some(Safe::Kubeconfig),
            _ if file.ends_with(".pem") || file.ends_with(".crt") => Some(Safe::Certificates),
            _ => Some(Safe::Existence),
        }
    }

    /// `None` when the file is not what it should be.
    pub fn reduce(self, bytes: &[u8]) -> Option<Vec<u8>> {
        match self {
            Safe::Certificates => Some(certificates(bytes)),
            Safe::Kubeconfig => std::str::from_utf8(bytes).ok().map(kubeconfig),
            Safe::ObjectName => object_name(bytes),
            Safe::Existence => Some(Vec::new()),
        }
    }
}

/// A file of a machine, by its path below the root, as it may be written anywhere; nothing of one that
/// is not what its name says.
pub fn without_secrets(path: &str, bytes: Vec<u8>) -> Option<Vec<u8>> {
    let parts: Vec<&str> = path.split('/').collect();
    match Safe::of(&parts) {
        Some(safe) => safe.reduce(&bytes),
        None => Some(bytes),
    }
}

const BEGIN: &[u8] = b"-----BEGIN CERTIFICATE-----";
const END: &[u8] = b"-----END CERTIFICATE-----";

/// Only the lines of certificates; all others are emptied, so that lines stay in place.
pub fn certificates(pem: &[u8]) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut inside = false;
    for line in pem.split_inclusive(|b| *b == b'\n') {
        let text = line.trim_ascii();
        inside |= text == BEGIN;
        if inside {
            kept.extend_from_slice(text);
        }
        // Whatever begins inside of a certificate ends it.
        inside &= text != END && (text == BEGIN || !text.starts_with(b"-----"));
        kept.push(b'\n');
    }
    kept
}

/// Keys with values that name something.
const NAMES: [&str; 9] = [
    "apiVersion",
    "client-certificate",
    "cluster",
    "current-context",
    "kind",
    "name",
    "server",
    "tls-server-name",
    "user",
];
/// Keys that have others below them.
const PARENTS: [&str; 7] =
    ["clusters", "cluster", "contexts", "context", "users", "user", "preferences"];
/// Keys whose presence tells how a user proves who it is.
const CREDENTIALS: [&str; 6] =
    ["client-key", "client-key-data", "exec", "password", "token", "tokenFile"];

/// A kubeconfig in block style, line by line. A line that is not known to be harmless is emptied, with
/// everything that stands deeper below it.
fn kubeconfig(text: &str) -> Vec<u8> {
    let mut kept = String::new();
    let mut hidden: Option<usize> = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        if hidden.is_none_or(|level| indent <= level) {
            let shown = kubeconfig_line(line, indent);
            let goes_on = shown.as_ref().is_some_and(|shown| shown.ends_with(':'));
            let dash = if line[indent..].starts_with("- ") { 2 } else { 0 };
            hidden = (!goes_on).then_some(indent + dash);
            kept += &shown.unwrap_or_default();
        }
        kept.push('\n');
    }
    kept.into_bytes()
}

fn kubeconfig_line(line: &str, indent: usize) -> Option<String> {
    let entry = line[indent..].strip_prefix("- ").unwrap_or(&line[indent..]);
    let (key, value) = entry.split_once(':')?;
    let value = value.trim();
    let before = format!("{}:", &line[..line.len() - entry.len() + key.len()]);
    let is_plain = !value.starts_with(['{', '[', '|', '>', '&', '*', '!', '#']);
    match key {
        _ if value.is_empty() && PARENTS.contains(&key) => Some(before),
        _ if NAMES.contains(&key) && is_plain && !value.is_empty() => {
            Some(format!("{before} {}", plimsoll_model::redact(value)))
        }
        "client-certificate-data" => {
            let pem = STANDARD.decode(value).ok()?;
            Some(format!("{before} {}", STANDARD.encode(certificates(&pem))))
        }
        _ if CREDENTIALS.contains(&key) => Some(format!("{before} removed")),
        _ => None,
    }
}

#[derive(Deserialize)]
struct Named {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
}

fn object_name(json: &[u8]) -> Option<Vec<u8>> {
    let named: Named = serde_json::from_slice(json).ok()?;
    let kept = serde_json::json!({"metadata": {"name": named.metadata.name}});
    Some(kept.to_string().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEM: &str = "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n-----BEGIN EC PRIVATE KEY-----\nS0VZ\n-----END EC PRIVATE KEY-----\n";

    fn reduced(safe: Safe, text: &str) -> String {
        String::from_utf8(safe.reduce(text.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn of_a_pem_file_only_certificates_are_left() {
        let kept = reduced(Safe::Certificates, PEM);
        assert!(kept.contains("QUJD") && !kept.contains("S0VZ") && !kept.contains("KEY"));
        assert_eq!(kept.lines().count(), PEM.lines().count());
        let unfinished =
            "-----BEGIN CERTIFICATE-----\nQUJD\n-----BEGIN RSA PRIVATE KEY-----\nS0VZ\n";
        assert!(!reduced(Safe::Certificates, unfinished).contains("S0VZ"));
    }

    #[test]
    fn a_kubeconfig_keeps_who_and_where_and_no_credential() {
        let embedded = STANDARD.encode(PEM);
        let text = format!(
            "apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: Q0E=\n    server: https://api-int.x:6443\n  name: local\nusers:\n- name: kubelet\n  user:\n    token: sesame.opensesame\n    client-certificate-data: {embedded}\n    client-key-data: S0VZ\n    client-key: |\n      name: hidden\n- {{name: flow, user: {{token: sesame}}}}\n- name: other\n  user: {{token: sesame}}\n"
        );
        let kept = reduced(Safe::Kubeconfig, &text);
        assert!(kept.contains("server: https://api-int.x:6443\n"));
        assert!(kept.contains("    token: removed\n    client-certificate-data: "));
        assert!(
            !kept.contains("sesame")
                && !kept.contains("hidden")
                && !kept.contains("S0VZ")
                && !kept.contains(&embedded)
        );
        assert_eq!(kept.lines().count(), text.lines().count());
    }

    #[test]
    fn of_an_object_only_its_name_is_left() {
        let text = r#"{"kind":"MachineConfig","metadata":{"name":"rendered-x","labels":{}},"spec":{"config":"SECRET"}}"#;
        assert_eq!(reduced(Safe::ObjectName, text), r#"{"metadata":{"name":"rendered-x"}}"#);
        assert_eq!(Safe::ObjectName.reduce(b"{"), None);
        let form = |path: &str| Safe::of(&path.split('/').collect::<Vec<_>>());
        assert_eq!(form("r/etc/kubernetes/kubeconfig"), Some(Safe::Kubeconfig));
        assert_eq!(form("r/etc/kubernetes/manifests/x.yaml"), Some(Safe::Existence));
        assert_eq!(form("var/lib/kubelet/pki/x.pem"), Some(Safe::Certificates));
        assert_eq!(form("etcd_info/member_list.json"), None);
    }
}
