//! From where the API is reached: as `oc` would, and where that fails by every other way that is left,
//! each with the reason why it does not work. An API that is down is something to tell, no error.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Once;
use std::time::Duration;

use http_body_util::BodyExt;
use kube::config::Kubeconfig;
use plimsoll_model::capture::Attempt;
use plimsoll_model::redact;
use serde_json::Value;

use super::ask::{Deadline, Patience};
use super::config::{config_of, reason, tidy};
use super::proxy::Proxies;
use super::words::{NO_HEADER, Trouble, answered, own_fault, refusal, seconds};

const CONNECT: Duration = Duration::from_secs(10);
const ANSWER: Duration = Duration::from_secs(15);
/// Of the answer to who it is.
const LARGEST_ANSWER: usize = 64 << 10;
/// Where a master keeps kubeconfigs of its own, by the root under which its disk is seen.
const ON_A_MASTER: &str =
    "etc/kubernetes/static-pod-resources/kube-apiserver-certs/secrets/node-kubeconfigs";
const API: u16 = 6443;
const LOCAL: [&str; 3] = ["localhost", "localhost-recovery", "lb-int"];
/// Of one cluster; more addresses than control planes have are not tried.
const MOST_ENDPOINTS: usize = 8;

/// How the user wants to reach the cluster.
#[derive(Clone, Debug, Default)]
pub struct Vantage {
    /// The one that the user named.
    pub kubeconfig: Option<PathBuf>,
    /// Where `oc` looks else; one that does not exist is passed over.
    pub usual_kubeconfigs: Vec<PathBuf>,
    /// The current one where none is named.
    pub context: Option<String>,
    /// Addresses of control-plane nodes, to be tried where the usual way fails.
    pub endpoints: Vec<String>,
    /// Nodes that the user named for another reason, by name or address: each may be one of the control
    /// plane.
    pub nodes: Vec<String>,
    /// Where the disk of a master may be seen: `/`, `/host`.
    pub roots: Vec<PathBuf>,
    /// Of the environment.
    pub proxies: Proxies,
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
    /// The host of the proxy before it, which a reason may name.
    pub proxy: Option<String>,
}

/// One way that may be tried.
struct Way {
    vantage: String,
    /// The kubeconfig that it stands in.
    place: Option<String>,
    config: kube::Config,
    /// The proxy stands in the kubeconfig, and is not of the environment.
    names_proxy: bool,
}

/// Where what cannot be used stands.
enum Unfit {
    Kubeconfig(String),
    Environment(String),
}

impl Way {
    fn of(
        file: &Kubeconfig,
        context: Option<&str>,
        vantage: String,
        proxies: &Proxies,
    ) -> Result<Self, Unfit> {
        let of_file = config_of(file, context, &Proxies::default()).map_err(Unfit::Kubeconfig)?;
        let names_proxy = of_file.proxy_url.is_some();
        let config = config_of(file, context, proxies).map_err(Unfit::Environment)?;
        Ok(Self { vantage, place: None, config, names_proxy })
    }

    fn server(&self) -> String {
        redact(self.config.cluster_url.to_string().trim_end_matches('/')).to_string()
    }
}

/// What the API is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Read,
    Change,
}

pub async fn connect(
    wish: &Vantage,
    patience: Patience,
    deadline: Deadline,
    purpose: Purpose,
) -> Result<Connection, Unusable> {
    let limit = || ANSWER.min(patience.request).min(deadline.left());
    let usual = usual(wish);
    let mut connection = Connection {
        name: "kube:local".into(),
        cluster: None,
        attempts: Vec::new(),
        trusted: None,
        server: None,
        proxy: None,
    };
    let mut ways = Vec::new();
    let missing = match usual {
        Ok(way) => {
            connection.name.clone_from(&way.vantage);
            let url = &way.config.cluster_url;
            connection.server =
                url.host().map(|host| (host.to_string(), url.port_u16().unwrap_or(443)));
            let proxy = way.config.proxy_url.as_ref().and_then(http::Uri::host);
            connection.proxy = proxy.map(str::to_string);
            connection.trusted = way.config.root_cert.as_ref().map(|all| pem(all));
            ways.push(way);
            None
        }
        Err(missing) => Some(missing),
    };
    // Who changes something means the cluster that was named or is usual, and no other one.
    let local = match purpose {
        Purpose::Change if missing.is_none() => Vec::new(),
        _ => local(wish),
    };
    if let Some(missing) = missing
        && (local.is_empty() || wish.context.is_some() || wish.kubeconfig.is_some())
    {
        return Err(missing);
    }
    if let Some(usual) = ways.first() {
        match connection.attempt(usual, limit()).await {
            Ok(true) => return Ok(connection),
            Ok(false) => ways = direct(usual, wish, limit()).await?,
            Err(unusable) if local.is_empty() => return Err(unusable),
            Err(unusable) => {
                let (vantage, server) = (usual.vantage.clone(), usual.server());
                connection.attempts.push(Attempt { vantage, server, why: Some(unusable.0) });
                ways.clear();
            }
        }
    }
    for way in ways.iter().chain(&local) {
        // A kubeconfig of the node that is broken is one way less.
        if connection.attempt(way, limit()).await.unwrap_or(false) {
            break;
        }
    }
    Ok(connection)
}

/// The API for those who do more than read, by the same ways; but the node's own only where no other is
/// told of: those are of an administrator, and maybe of another cluster. One that does not answer is an
/// error here: nothing can be done without it.
pub async fn client(vantage: &Vantage, patience: Patience) -> Result<kube::Client, Unusable> {
    let deadline = Deadline::after(patience.budget);
    let connection = connect(vantage, patience, deadline, Purpose::Change).await?;
    if let Some(cluster) = connection.cluster {
        return Ok(cluster.client);
    }
    let tried = connection.attempts.iter().map(|attempt| {
        let why = attempt.why.as_deref().unwrap_or("no answer");
        format!("{} ({}): {why}", attempt.vantage, attempt.server)
    });
    let tried: Vec<String> = tried.collect();
    Err(Unusable(format!("the API does not answer: {}", tried.join("; "))))
}

impl Connection {
    /// What is wrong on this side is an error; what is wrong on the other is told.
    async fn attempt(&mut self, way: &Way, limit: Duration) -> Result<bool, Unusable> {
        let (vantage, server) = (way.vantage.clone(), way.server());
        let why = match answer(way.config.clone(), limit).await {
            Ok(client) => {
                self.cluster = Some(Cluster { client });
                None
            }
            Err(Failed::Here(why)) => {
                let place = way.place.as_deref().map(|place| format!(" of {place}"));
                let place = place.unwrap_or_default();
                return Err(Unusable(format!("'{vantage}'{place} cannot be used: {why}")));
            }
            Err(Failed::There(trouble)) => Some(trouble.behind(way.config.proxy_url.as_ref()).why),
        };
        self.attempts.push(Attempt { vantage, server, why });
        Ok(self.cluster.is_some())
    }
}

/// As `oc` finds it: the file named, those of `$KUBECONFIG`, `~/.kube/config`, the service account of a
/// pod.
fn usual(wish: &Vantage) -> Result<Way, Unusable> {
    let files: Vec<&PathBuf> = match &wish.kubeconfig {
        Some(file) => vec![file],
        None => wish.usual_kubeconfigs.iter().filter(|file| file.exists()).collect(),
    };
    let shown = |files: &[&PathBuf]| {
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        names.join(", ")
    };
    if files.is_empty() {
        if let (None, Ok(mut config)) = (&wish.context, kube::Config::incluster()) {
            tidy(&mut config.auth_info).map_err(|why| {
                Unusable(format!("the service account of this pod cannot be used: {why}"))
            })?;
            let vantage = "kube:service-account".into();
            return Ok(Way { vantage, place: None, config, names_proxy: false });
        }
        return Err(Unusable(match wish.usual_kubeconfigs.len() {
            0 => "no kubeconfig is given, and there is no usual place for one".into(),
            _ => {
                let looked: Vec<&PathBuf> = wish.usual_kubeconfigs.iter().collect();
                format!("no kubeconfig: there is no {}", shown(&looked))
            }
        }));
    }
    let mut config = Kubeconfig::default();
    for file in &files {
        let read = Kubeconfig::read_from(file).and_then(|read| config.clone().merge(read));
        config = read.map_err(|error| {
            Unusable(format!(
                "the kubeconfig {} cannot be used: {}",
                file.display(),
                reason(&error)
            ))
        })?;
    }
    let place = shown(&files);
    let known: Vec<&str> = config.contexts.iter().map(|context| context.name.as_str()).collect();
    let context = match wish.context.as_ref().or(config.current_context.as_ref()) {
        Some(context) if known.contains(&context.as_str()) => context.clone(),
        Some(context) => {
            let known = if known.is_empty() { "none".into() } else { known.join(", ") };
            return Err(Unusable(format!("no context '{context}' in {place}; there are: {known}")));
        }
        None => return Err(Unusable(format!("{place} has no current context"))),
    };
    let unusable =
        |why: &str| Unusable(format!("context '{context}' of {place} cannot be used: {why}"));
    let way = Way::of(&config, Some(&context), format!("kube:{context}"), &wish.proxies);
    let way = way.map_err(|unfit| match unfit {
        Unfit::Kubeconfig(why) => unusable(&why),
        Unfit::Environment(why) => Unusable(why),
    })?;
    let way = Way { place: Some(place.clone()), ..way };
    if way.config.cluster_url.scheme().is_none() {
        let server = redact(&way.config.cluster_url.to_string()).to_string();
        return Err(unusable(&format!("its server '{server}' has no https:// before it")));
    }
    Ok(way)
}

/// The API server of each control-plane node by its address, under the usual name.
async fn direct(usual: &Way, wish: &Vantage, limit: Duration) -> Result<Vec<Way>, Unusable> {
    let url = &usual.config.cluster_url;
    let Some(host) = url.host() else { return Ok(Vec::new()) };
    let port = url.port_u16().unwrap_or(443);
    let mut places: Vec<(String, u16)> = Vec::new();
    for endpoint in &wish.endpoints {
        let place = place(endpoint).ok_or_else(|| {
            Unusable(format!("--endpoint {endpoint}: give an address, or ADDRESS:PORT"))
        })?;
        places.push(place);
    }
    // A name may stand for several machines, of which the first does not answer.
    let resolved = resolve(host, port, limit).await;
    if resolved.len() > 1 {
        places.extend(resolved.into_iter().map(|address| (bracketed(address), port)));
    }
    let named = wish.nodes.iter().map(|node| resolve(node, API, limit));
    let named = futures::future::join_all(named).await.into_iter().flatten();
    places.extend(named.map(|address| (bracketed(address), API)));
    let mut known = BTreeSet::new();
    places.retain(|place| known.insert(place.clone()));
    let name = usual.config.tls_server_name.clone().unwrap_or_else(|| host.to_string());
    let way = |(host, port): (String, u16)| {
        let mut config = usual.config.clone();
        config.cluster_url = format!("https://{host}:{port}").parse().ok()?;
        config.tls_server_name = Some(name.clone());
        if !usual.names_proxy {
            config.proxy_url = wish.proxies.before(None, &config.cluster_url).ok()?;
        }
        let vantage = format!("control plane at {host}");
        Some(Way { vantage, place: usual.place.clone(), config, names_proxy: usual.names_proxy })
    };
    Ok(places.into_iter().take(MOST_ENDPOINTS).filter_map(way).collect())
}

/// A server of names that does not answer is not waited for: it may be down with the cluster.
async fn resolve(host: &str, port: u16, limit: Duration) -> BTreeSet<IpAddr> {
    let host = host.trim_matches(['[', ']']);
    let asked = tokio::time::timeout(limit, tokio::net::lookup_host((host, port))).await;
    let found = asked.ok().and_then(Result::ok);
    found.map(|all| all.map(|address| address.ip()).collect()).unwrap_or_default()
}

/// Host and port of a control-plane node. API servers listen on 6443, whatever the load balancer does.
pub fn place(endpoint: &str) -> Option<(String, u16)> {
    if let Ok(address) = endpoint.trim_matches(['[', ']']).parse::<IpAddr>() {
        return Some((bracketed(address), API));
    }
    let bare = endpoint.strip_prefix("https://").unwrap_or(endpoint).trim_end_matches('/');
    let authority: http::uri::Authority = bare.parse().ok()?;
    let (_, after) = bare.rsplit_once(']').unwrap_or(("", bare));
    let port = match after.rsplit_once(':') {
        Some((_, port)) => port.parse().ok()?,
        None => API,
    };
    let is_plain = !bare.contains('@') && !authority.host().is_empty();
    is_plain.then(|| (authority.host().to_string(), port))
}

fn bracketed(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

/// Kubeconfigs that a master has for itself, when this runs on one.
fn local(wish: &Vantage) -> Vec<Way> {
    let files = wish.roots.iter().flat_map(|root| {
        LOCAL.map(|name| (name, root.join(ON_A_MASTER).join(format!("{name}.kubeconfig"))))
    });
    let way = |(name, file): (&str, PathBuf)| {
        let config = Kubeconfig::read_from(file).ok()?;
        Way::of(&config, None, format!("{name}.kubeconfig of this node"), &wish.proxies).ok()
    };
    files.filter_map(way).collect()
}

/// What servers of TLS written in Go say to whoever speaks none.
const PLAIN: &[u8] = b"Client sent an HTTP request to an HTTPS server";

fn there(why: &str) -> Trouble {
    Trouble { why: why.into(), ..Trouble::default() }
}

enum Failed {
    /// Before anything was sent.
    Here(String),
    There(Trouble),
}

/// A client whose API answered who it is; a refusal by rights is an answer as well.
async fn answer(mut config: kube::Config, limit: Duration) -> Result<kube::Client, Failed> {
    config.connect_timeout = Some(CONNECT.min(limit));
    config.read_timeout = None;
    config.default_retry = false;
    // A plugin that makes credentials is run and waited for; it may hang.
    let has_plugin = config.auth_info.exec.is_some();
    let building = tokio::task::spawn_blocking(|| quietly(|| kube::Client::try_from(config)));
    let built = match tokio::time::timeout(limit, building).await {
        Ok(Ok(built)) => built,
        Ok(Err(_)) if has_plugin => {
            let why = format!("the token of its credential plugin {NO_HEADER}");
            return Err(Failed::Here(why));
        }
        Ok(Err(_)) => return Err(Failed::Here("its client could not be made".into())),
        Err(_) => {
            let why = format!("its credential plugin gave nothing within {} s", seconds(limit));
            return Err(Failed::Here(why));
        }
    };
    let client = built.map_err(|error| Failed::Here(own_fault(&error)))?;
    let ask = async {
        let request = http::Request::get("/version").body(kube::client::Body::empty());
        let request =
            request.map_err(|error| Trouble { why: error.to_string(), ..Trouble::default() })?;
        let response = client.send(request).await.map_err(|error| refusal(&error))?;
        let code = response.status().as_u16();
        let body = http_body_util::Limited::new(response.into_body(), LARGEST_ANSWER);
        let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        match code {
            403 => Ok(()),
            200..=299 if is_version(&body) => Ok(()),
            401 | 429 | 500.. => Err(answered(code, &body)),
            400 if body.starts_with(PLAIN) => {
                Err(there("an HTTPS server listens there, and the kubeconfig says http://"))
            }
            // Every API server knows its version.
            _ => Err(there("something answers there that is no API server (a proxy or a portal?)")),
        }
    };
    match tokio::time::timeout(limit, ask).await {
        Ok(Ok(())) => Ok(client),
        Ok(Err(trouble)) if trouble.is_own => Err(Failed::Here(trouble.why)),
        Ok(Err(trouble)) => Err(Failed::There(trouble)),
        Err(_) => {
            let why = format!("no answer within {} s", seconds(limit));
            Err(Failed::There(Trouble { why, ..Trouble::default() }))
        }
    }
}

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

struct Quiet;

impl Drop for Quiet {
    fn drop(&mut self) {
        IS_QUIET.set(false);
    }
}

/// The crate `kube` panics over a token of a plugin that no header can have. What comes of it is told in words, so
/// the words of the panic are kept from the user.
fn quietly<T>(run: impl FnOnce() -> T) -> T {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !IS_QUIET.get() {
                usual(panic);
            }
        }));
    });
    IS_QUIET.set(true);
    let _quiet = Quiet;
    run()
}

fn is_version(body: &[u8]) -> bool {
    let version: Option<Value> = serde_json::from_slice(body).ok();
    version.is_some_and(|version| version["gitVersion"].is_string())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_understood_or_refused() {
        let of = |text| place(text).map(|(host, port)| format!("{host}:{port}"));
        for (text, expected) in [
            ("192.0.2.1", "192.0.2.1:6443"),
            ("192.0.2.1:7443", "192.0.2.1:7443"),
            ("fd00::5", "[fd00::5]:6443"),
            ("[fd00::5]", "[fd00::5]:6443"),
            ("[fd00::5]:7443", "[fd00::5]:7443"),
            ("https://master-0:6443/", "master-0:6443"),
            ("master-0", "master-0:6443"),
        ] {
            assert_eq!(of(text).as_deref(), Some(expected), "{text}");
        }
        for text in ["", "a b", "127.0.0.1:99999", "user@host", "host:"] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[tokio::test]
    async fn a_plugin_whose_token_cannot_be_sent_is_told_of_and_no_panic() {
        let mut config = kube::Config::new("https://127.0.0.1:1".parse().unwrap());
        config.root_cert = Some(Vec::new());
        let credential = r#"{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "not-a-real\ntoken"}}"#;
        let plugin = serde_json::json!({
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "printf",
            "args": ["%s", credential],
            "interactiveMode": "Never",
        });
        config.auth_info.exec = Some(serde_json::from_value(plugin).unwrap());
        let Err(Failed::Here(why)) = answer(config, Duration::from_secs(60)).await else {
            panic!("it was taken");
        };
        assert_eq!(why, format!("the token of its credential plugin {NO_HEADER}"));
    }

    #[test]
    fn whose_proxy_is_strange_is_told() {
        let folder = std::env::temp_dir().join(format!("plimsoll-proxy-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("config");
        let text = |proxy: &str| {
            format!(
                "apiVersion: v1\nkind: Config\ncurrent-context: admin\ncontexts: [{{name: admin, context: {{cluster: one}}}}]\nclusters: [{{name: one, cluster: {{server: 'https://192.0.2.1:6443', {proxy}}}}}]\n"
            )
        };
        let strange = "http://joe:PXF SECRET@127.0.0.1:3128";
        let why = |https: Option<&str>, proxy: &str| {
            std::fs::write(&file, text(proxy)).unwrap();
            let proxies = Proxies { https: https.map(str::to_string), except: String::new() };
            let wish = Vantage { kubeconfig: Some(file.clone()), proxies, ..Vantage::default() };
            usual(&wish).err().unwrap().0
        };
        let of_environment = why(Some(strange), "insecure-skip-tls-verify: true");
        assert!(of_environment.starts_with("the proxy of the environment"), "{of_environment}");
        let of_file = why(None, &format!("proxy-url: '{strange}'"));
        assert!(of_file.starts_with("context 'admin' of "), "{of_file}");
        assert!(!format!("{of_environment}{of_file}").contains("SECRET"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
