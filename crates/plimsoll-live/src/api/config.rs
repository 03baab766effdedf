//! What a kubeconfig says of one context. The crate `kube` would read the environment for this: it holds
//! `NO_PROXY` against the proxy and not against the server, and refuses one with a comma at its end.

use kube::config::{AuthInfo, Cluster, ExecAuthCluster, Kubeconfig, KubeconfigError};
use plimsoll_model::{clip, redact};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::proxy::Proxies;
use super::words::NO_HEADER;

/// Of the current context where none is named.
pub fn config_of(
    file: &Kubeconfig,
    context: Option<&str>,
    proxies: &Proxies,
) -> Result<kube::Config, String> {
    let context = context.or(file.current_context.as_deref()).ok_or("it has no current context")?;
    let context = file.contexts.iter().find(|one| one.name == context);
    let context = context.and_then(|one| one.context.as_ref()).ok_or("it has no such context")?;
    let cluster = file.clusters.iter().find(|one| one.name == context.cluster);
    let cluster = cluster.and_then(|one| one.cluster.as_ref());
    let cluster = cluster.ok_or_else(|| format!("it has no cluster '{}'", context.cluster))?;
    let url = cluster.server.as_deref().ok_or("its cluster has no server")?;
    let url: http::Uri =
        url.parse().map_err(|error| format!("its server cannot be understood: {error}"))?;
    let mut config = kube::Config::new(url);
    config.root_cert = authorities(cluster)?;
    config.accept_invalid_certs = cluster.insecure_skip_tls_verify.unwrap_or(false);
    config.disable_compression = cluster.disable_compression.unwrap_or(false);
    config.tls_server_name.clone_from(&cluster.tls_server_name);
    config.proxy_url = proxies.before(cluster.proxy_url.as_deref(), &config.cluster_url)?;
    // `oc` goes on where none is named, too, and not where one is that is not there.
    if let Some(named) = context.user.as_ref().filter(|named| !named.is_empty()) {
        let user = file.auth_infos.iter().find(|one| one.name == *named);
        let user = user.ok_or_else(|| format!("it has no user '{named}'"))?;
        config.auth_info = user.auth_info.clone().unwrap_or_default();
        tidy(&mut config.auth_info)?;
    }
    if let Some(plugin) = &mut config.auth_info.exec
        && plugin.provide_cluster_info
    {
        plugin.cluster = Some(ExecAuthCluster::try_from(cluster).map_err(|error| reason(&error))?);
    }
    Ok(config)
}

/// Editors and `echo` leave line feeds behind tokens. The crate `kube` would send them, and panic for it.
pub fn tidy(user: &mut AuthInfo) -> Result<(), String> {
    // Whoever serializes it is the only one who is shown the token.
    let shown = serde_json::to_value(&*user).unwrap_or_default();
    if let Some(token) = shown.get("token").and_then(serde_json::Value::as_str) {
        let token = sendable("token", token)?;
        user.token = (!token.is_empty()).then(|| token.into());
    }
    let file = user.token_file.as_ref().filter(|_| user.token.is_none());
    if let Some(Ok(text)) = file.map(std::fs::read_to_string) {
        let token = sendable("tokenFile", &text)?;
        // One that needs no help is read again when it is renewed.
        if token.len() < text.len() {
            user.token = Some(token.into());
        }
    }
    if let Some(provider) = &mut user.auth_provider
        && let Some(token) = provider.config.get_mut("id-token")
    {
        *token = sendable("id-token", token)?;
    }
    let names = [("username", &mut user.username), ("as", &mut user.impersonate)];
    for (key, name) in names {
        if let Some(name) = name {
            *name = sendable(key, name)?;
        }
    }
    Ok(())
}

/// Without white space at its ends, as `oc` takes what stands in a file.
fn sendable(key: &str, text: &str) -> Result<String, String> {
    let text = text.trim();
    match http::HeaderValue::from_bytes(text.as_bytes()) {
        Ok(_) => Ok(text.into()),
        Err(_) => Err(format!("its {key} {NO_HEADER}")),
    }
}

fn authorities(cluster: &Cluster) -> Result<Option<Vec<Vec<u8>>>, String> {
    let loaded = ExecAuthCluster::try_from(cluster).map_err(|error| reason(&error))?;
    let Some(pem) = loaded.certificate_authority_data else { return Ok(None) };
    let all = CertificateDer::pem_slice_iter(&pem).map(|one| one.map(|one| one.to_vec()));
    let all: Result<Vec<Vec<u8>>, _> = all.collect();
    all.map(Some).map_err(|_| "its certificate authority cannot be understood".into())
}

/// Without the lines of the file that the reason would quote: they may be credentials.
pub fn reason(error: &KubeconfigError) -> String {
    let why = match error {
        KubeconfigError::ReadConfig(error, _) => plimsoll_sources::plain(error),
        error => error.to_string(),
    };
    let first = why.lines().next().unwrap_or_default();
    clip(&redact(first.trim_start_matches("failed to ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "apiVersion: v1
kind: Config
current-context: one
contexts:
- name: one
  context: {cluster: one, user: admin}
- name: two
  context: {cluster: two}
- name: four
  context: {cluster: two, user: nobody}
- name: three
  context: {cluster: gone, user: admin}
clusters:
- name: one
  cluster: {server: 'https://api.one.example.com:6443', tls-server-name: api.one, proxy-url: 'http://10.0.0.9:3128'}
- name: two
  cluster: {server: 'https://api.two.example.com:6443', insecure-skip-tls-verify: true}
users:
- name: admin
  user: {token: not-a-real-token}
";

    #[test]
    fn each_context_has_its_own_server_user_and_proxy() {
        let file = Kubeconfig::from_yaml(FILE).unwrap();
        // As it stands on many a jump host: with a comma at the end.
        let proxies = Proxies {
            https: Some("http://proxy.example.com:3128".into()),
            except: "localhost,.two.example.com,".into(),
        };
        let one = config_of(&file, None, &proxies).unwrap();
        assert_eq!(one.cluster_url, "https://api.one.example.com:6443/");
        assert_eq!(one.tls_server_name.as_deref(), Some("api.one"));
        assert_eq!(one.proxy_url.unwrap(), "http://10.0.0.9:3128/");
        assert!(one.auth_info.token.is_some() && !one.accept_invalid_certs);
        let two = config_of(&file, Some("two"), &proxies).unwrap();
        assert!(two.proxy_url.is_none() && two.auth_info.token.is_none());
        assert!(two.accept_invalid_certs);
        let three = config_of(&file, Some("three"), &proxies);
        assert_eq!(three.unwrap_err(), "it has no cluster 'gone'");
        let four = config_of(&file, Some("four"), &proxies);
        assert_eq!(four.unwrap_err(), "it has no user 'nobody'");
    }

    /// The client is made as well: it panics over what it cannot send.
    #[tokio::test]
    async fn a_token_with_a_line_feed_is_tidied_and_one_with_a_bell_is_refused() {
        let file = std::env::temp_dir().join(format!("plimsoll-token-{}", std::process::id()));
        std::fs::write(&file, "not-a-real-token\n").unwrap();
        let of_file = format!("tokenFile: {}", file.display());
        let config = |user: &str| {
            let text = FILE.replace("token: not-a-real-token", user);
            config_of(&Kubeconfig::from_yaml(&text).unwrap(), None, &Proxies::default())
        };
        for user in [
            "token: \"not-a-real-token\\n\"",
            "token: ' not-a-real-token '",
            "username: \"admin\\n\", password: not-a-real-password",
            of_file.as_str(),
        ] {
            let mut made = config(user).unwrap();
            made.root_cert = Some(Vec::new());
            let shown = serde_json::to_string(&made.auth_info).unwrap();
            assert!(!shown.contains("\\n") && !shown.contains("token "), "{user}: {shown}");
            assert!(kube::Client::try_from(made).is_ok(), "{user}");
        }
        std::fs::remove_file(&file).unwrap();
        for (user, key) in [
            ("token: \"not-a-real\\u0007token\"", "token"),
            ("token: \"two\\nlines\"", "token"),
            ("username: \"ad\\u0007min\", password: not-a-real-password", "username"),
        ] {
            let why = config(user).unwrap_err();
            assert!(why.starts_with(&format!("its {key} has a character")), "{why}");
            assert!(!why.contains("real") && !why.contains("lines"), "{why}");
        }
    }
}
