//! From where the API is reached: as `oc` would, and where that fails by every other way that is left,
//! each with the reason why it does not work. An API that is down is something to tell, no error.

use std::collections::BTreeSet;
use std::net::ToSocketAddrs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use plimsoll_model::capture::Attempt;

use super::words::{Trouble, answered, refusal};

const CONNECT: Duration = Duration::from_secs(10);
const ANSWER: Duration = Duration::from_secs(15);
/// Where a master keeps kubeconfigs of its own, by the root under which its disk is seen.
const ON_A_MASTER: &str =
    "etc/kubernetes/static-pod-resources/kube-apiserver-certs/secrets/node-kubeconfigs";
const LOCAL: [&str; 3] = ["localhost", "localhost-recovery", "lb-int"];
/// Of one cluster; more addresses than control planes have are not tried.
const MOST_ENDPOINTS: usize = 8;

/// How the user wants to reach the cluster.
#[derive(Clone, Debug, Default)]
pub struct Vantage {
    pub kubeconfig: Option<PathBuf>,
    /// The current one where none is named.
    pub context: Option<String>,
    /// Addresses of control-plane nodes, to be tried where the usual way fails.
    pub endpoints: Vec<String>,
    /// Where the disk of a master may be seen: `/`, `/host`.
    pub roots: Vec<PathBuf>,
}

/// A cluster whose API answered.
pub struct Cluster {
    pub client: kube::Client,
}

/// Nothing on this side says where a cluster is.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unusable(pub String);

pub struct Connection {
    /// `kube:CONTEXT`
    pub name: String,
    pub cluster: Option<Cluster>,
    pub attempts: Vec<Attempt>,
    /// Certificates of the authority that the kubeconfig trusts, and its server.
    pub trusted: Option<String>,
    pub server: Option<(String, u16)>,
}

/// One way that may be tried.
struct Way {
    vantage: String,
    config: kube::Config,
}

impl Way {
    fn server(&self) -> String {
        self.config.cluster_url.to_string().trim_end_matches('/').to_string()
    }
}

pub async fn connect(wish: &Vantage) -> Result<Connection, Unusable> {
    let usual = usual(wish).await;
    let mut connection = Connection {
        name: "kube:local".into(),
        cluster: None,
        attempts: Vec::new(),
        trusted: None,
        server: None,
    };
    let mut ways = Vec::new();
    let missing = match usual {
        Ok(way) => {
            connection.name.clone_from(&way.vantage);
            let url = &way.config.cluster_url;
            connection.server =
                url.host().map(|host| (host.to_string(), url.port_u16().unwrap_or(443)));
            connection.trusted = way.config.root_cert.as_ref().map(|all| pem(all));
            ways.push(way);
            None
        }
        Err(missing) => Some(missing),
    };
    let local = local(&wish.roots).await;
    if let Some(missing) = missing
        && (local.is_empty() || wish.context.is_some() || wish.kubeconfig.is_some())
    {
        return Err(missing);
    }
    if let Some(usual) = ways.first() {
        if connection.attempt(usual).await {
            return Ok(connection);
        }
        let direct = direct(usual, &wish.endpoints);
        ways = direct;
    }
    for way in ways.iter().chain(&local) {
        if connection.attempt(way).await {
            break;
        }
    }
    Ok(connection)
}

impl Connection {
    async fn attempt(&mut self, way: &Way) -> bool {
        let (vantage, server) = (way.vantage.clone(), way.server());
        let why = match answer(way.config.clone()).await {
            Ok(client) => {
                self.cluster = Some(Cluster { client });
                None
            }
            Err(trouble) => Some(trouble.why),
        };
        self.attempts.push(Attempt { vantage, server, why });
        self.cluster.is_some()
    }
}

/// As `oc` finds it: the file named, `$KUBECONFIG`, `~/.kube/config`, the service account of a pod.
async fn usual(wish: &Vantage) -> Result<Way, Unusable> {
    let read = match &wish.kubeconfig {
        Some(file) => Kubeconfig::read_from(file),
        None => Kubeconfig::read(),
    };
    let config = match read {
        Ok(config) => config,
        Err(error) => {
            if wish.kubeconfig.is_none()
                && wish.context.is_none()
                && let Ok(config) = kube::Config::incluster()
            {
                return Ok(Way { vantage: "kube:service-account".into(), config });
            }
            return Err(Unusable(match error {
                KubeconfigError::ReadConfig(..) | KubeconfigError::FindPath
                    if wish.kubeconfig.is_none() =>
                {
                    "no kubeconfig in $KUBECONFIG or ~/.kube/config".into()
                }
                error => format!("the kubeconfig cannot be used: {error}"),
            }));
        }
    };
    let known: Vec<&str> = config.contexts.iter().map(|context| context.name.as_str()).collect();
    let context = match wish.context.as_ref().or(config.current_context.as_ref()) {
        Some(context) if known.contains(&context.as_str()) => context.clone(),
        Some(context) => {
            let known = if known.is_empty() { "none".into() } else { known.join(", ") };
            return Err(Unusable(format!(
                "no context '{context}' in the kubeconfig; there are: {known}"
            )));
        }
        None => return Err(Unusable("the kubeconfig has no current context".into())),
    };
    let options = KubeConfigOptions { context: Some(context.clone()), ..Default::default() };
    let config = kube::Config::from_custom_kubeconfig(config, &options)
        .await
        .map_err(|error| Unusable(format!("context '{context}' cannot be used: {error}")))?;
    Ok(Way { vantage: format!("kube:{context}"), config })
}

/// The API server of each control-plane node by its address, under the usual name.
fn direct(usual: &Way, endpoints: &[String]) -> Vec<Way> {
    let url = &usual.config.cluster_url;
    let Some(host) = url.host() else { return Vec::new() };
    let port = url.port_u16().unwrap_or(443);
    let mut addresses: BTreeSet<String> = endpoints.iter().cloned().collect();
    // A name may stand for several machines, of which the first does not answer.
    let resolved: BTreeSet<String> = (host, port)
        .to_socket_addrs()
        .map(|all| all.map(|address| address.ip().to_string()).collect())
        .unwrap_or_default();
    if resolved.len() > 1 {
        addresses.extend(resolved);
    }
    let name = usual.config.tls_server_name.clone().unwrap_or_else(|| host.to_string());
    let way = |address: String| {
        let shown = if address.contains(':') { format!("[{address}]") } else { address.clone() };
        // The load balancer's port may be another; API servers listen on 6443.
        let port = if endpoints.contains(&address) && !shown.contains("]:") { 6443 } else { port };
        let (host, port) = match address.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') => (host.to_string(), port.parse().ok()?),
            _ => (shown, port),
        };
        let mut config = usual.config.clone();
        config.cluster_url = format!("https://{host}:{port}").parse().ok()?;
        config.tls_server_name = Some(name.clone());
        Some(Way { vantage: format!("control plane at {host}"), config })
    };
    addresses.into_iter().take(MOST_ENDPOINTS).filter_map(way).collect()
}

/// Kubeconfigs that a master has for itself, when this runs on one.
async fn local(roots: &[PathBuf]) -> Vec<Way> {
    let mut ways = Vec::new();
    for root in roots {
        for name in LOCAL {
            let file = root.join(ON_A_MASTER).join(format!("{name}.kubeconfig"));
            if let Some(config) = local_config(&file).await {
                ways.push(Way { vantage: format!("{name}.kubeconfig of this node"), config });
            }
        }
    }
    ways
}

async fn local_config(file: &Path) -> Option<kube::Config> {
    let config = Kubeconfig::read_from(file).ok()?;
    kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.ok()
}

/// A client whose API answered who it is; a refusal by rights is an answer as well.
async fn answer(mut config: kube::Config) -> Result<kube::Client, Trouble> {
    config.connect_timeout = Some(CONNECT);
    config.read_timeout = None;
    config.default_retry = false;
    let client = kube::Client::try_from(config).map_err(|error| refusal(&error))?;
    let request = http::Request::get("/version")
        .body(kube::client::Body::empty())
        .map_err(|error| Trouble { why: error.to_string(), ..Trouble::default() })?;
    let sent = tokio::time::timeout(ANSWER, client.send(request)).await;
    let response = match sent {
        Ok(sent) => sent.map_err(|error| refusal(&error))?,
        Err(_) => {
            let why = format!("no answer within {} s", ANSWER.as_secs());
            return Err(Trouble { why, ..Trouble::default() });
        }
    };
    match response.status().as_u16() {
        200..=299 | 403 => Ok(client),
        code => Err(answered(code, b"")),
    }
}

fn pem(certificates: &[Vec<u8>]) -> String {
    use base64::Engine;
    let wrapped = |der: &Vec<u8>| {
        let text = base64::engine::general_purpose::STANDARD.encode(der);
        let lines = text.as_bytes().chunks(64).map(String::from_utf8_lossy);
        let body = lines.map(|line| format!("{line}\n")).collect::<String>();
        format!("-----BEGIN CERTIFICATE-----\n{body}-----END CERTIFICATE-----\n")
    };
    certificates.iter().map(wrapped).collect()
}
