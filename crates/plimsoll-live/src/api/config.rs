//! What a kubeconfig says of one context. The crate `kube` would read the environment for this: it holds
//! `NO_PROXY` against the proxy and not against the server, and refuses one with a comma at its end.

use kube::config::{Cluster, ExecAuthCluster, Kubeconfig, KubeconfigError};
use plimsoll_model::{clip, redact};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::proxy::Proxies;

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
    }
    if let Some(plugin) = &mut config.auth_info.exec
        && plugin.provide_cluster_info
    {
        plugin.cluster = Some(ExecAuthCluster::try_from(cluster).map_err(|error| reason(&error))?);
    }
    Ok(config)
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
}
