//! Whether a proxy stands between this machine and an API server, decided as `oc` decides it.

use std::net::IpAddr;

use ipnet::IpNet;

const OF_ENVIRONMENT: &str = "the proxy of the environment (HTTPS_PROXY)";
const STRANGE: &str = "cannot be understood: it has to be http://, https:// or socks5:// with a host, \
     and a special character in its password has to be escaped, as %20 is";
const SCHEMES: [&str; 3] = ["http", "https", "socks5"];

/// What the environment says of proxies.
#[derive(Clone, Debug, Default)]
pub struct Proxies {
    /// `HTTPS_PROXY`
    pub https: Option<String>,
    /// `NO_PROXY`: who is reached without.
    pub except: String,
}

impl Proxies {
    /// One that a kubeconfig names is taken whatever the environment says.
    pub fn before(
        &self,
        named: Option<&str>,
        server: &http::Uri,
    ) -> Result<Option<http::Uri>, String> {
        let named = named.filter(|url| !url.is_empty());
        let of_environment = || self.https.as_deref().filter(|_| !self.spares(server));
        let Some(proxy) = named.or_else(of_environment) else { return Ok(None) };
        // Nothing of it is shown: nobody knows where its password would end.
        let whose = || if named.is_some() { "its proxy-url" } else { OF_ENVIRONMENT };
        url_of(proxy).map(Some).ok_or_else(|| format!("{} {STRANGE}", whose()))
    }

    fn spares(&self, server: &http::Uri) -> bool {
        let host = server.host().unwrap_or_default().trim_matches(['[', ']']).to_lowercase();
        let port = server.port_u16().unwrap_or(443);
        let address: Option<IpAddr> = host.parse().ok();
        host == "localhost"
            || address.is_some_and(|address| address.is_loopback())
            || self.except.split(',').any(|entry| matches(entry.trim(), &host, address, port))
    }
}

/// One without a scheme speaks HTTP.
fn url_of(proxy: &str) -> Option<http::Uri> {
    let url = match proxy.split_once("://") {
        // The name is looked up by the proxy in any case.
        Some(("socks5h", rest)) => format!("socks5://{rest}"),
        Some(_) => proxy.to_string(),
        None => format!("http://{proxy}"),
    };
    let url: http::Uri = url.parse().ok()?;
    let is_known = url.scheme_str().is_some_and(|scheme| SCHEMES.contains(&scheme));
    (is_known && url.host().is_some_and(|host| !host.is_empty())).then_some(url)
}

/// `*`, a network, or an address or domain with or without a port. A domain stands for those below it,
/// and for itself unless it begins with a dot.
fn matches(entry: &str, host: &str, address: Option<IpAddr>, port: u16) -> bool {
    let entry = entry.to_lowercase();
    if entry == "*" {
        return true;
    }
    if let Ok(network) = entry.parse::<IpNet>() {
        return address.is_some_and(|address| network.contains(&address));
    }
    let (name, only_port) = with_port(&entry);
    if only_port.is_some_and(|only| only != port) {
        return false;
    }
    if let Ok(excepted) = name.trim_matches(['[', ']']).parse::<IpAddr>() {
        return address == Some(excepted);
    }
    let name = name.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(name);
    match name.strip_prefix('.') {
        Some(domain) => is_below(host, domain),
        None => host == name && !name.is_empty() || is_below(host, name),
    }
}

fn with_port(entry: &str) -> (&str, Option<u16>) {
    let is_address = entry.parse::<IpAddr>().is_ok();
    let parts = entry.rsplit_once(':').filter(|_| !is_address);
    match parts.map(|(name, port)| (name, port.parse().ok())) {
        Some((name, Some(port))) => (name, Some(port)),
        _ => (entry, None),
    }
}

fn is_below(host: &str, domain: &str) -> bool {
    let before = host.strip_suffix(domain).filter(|_| !domain.is_empty());
    before.is_some_and(|before| before.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(except: &str, server: &str) -> Option<String> {
        let proxies = Proxies { https: Some("proxy:3128".into()), except: except.into() };
        let proxy = proxies.before(None, &server.parse().unwrap()).unwrap();
        proxy.map(|proxy| proxy.to_string())
    }

    #[test]
    fn who_is_excepted_is_reached_without_a_proxy() {
        let api = "https://api.lab.example.com:6443";
        for (except, server) in [
            ("", "https://localhost:6443"),
            ("", "https://127.0.0.1:6443"),
            ("", "https://[::1]:6443"),
            ("*", api),
            ("10.0.0.0/8,.example.com,", api),
            (" example.com , other", api),
            ("*.lab.example.com", api),
            ("API.lab.example.com", api),
            ("api.lab.example.com:6443", api),
            ("192.0.2.0/24", "https://192.0.2.5:6443"),
            ("192.0.2.5", "https://192.0.2.5:6443"),
            ("fd00::/8", "https://[fd00::5]:6443"),
            ("[fd00::5]:6443", "https://[fd00::5]:6443"),
        ] {
            assert_eq!(proxy(except, server), None, "{except} {server}");
        }
        for (except, server) in [
            ("", api),
            (",", api),
            ("ample.com", api),
            (".api.lab.example.com", api),
            ("api.lab.example.com:443", api),
            ("192.0.2.0/24", api),
            ("192.0.2.0/24", "https://192.0.3.5:6443"),
            ("fd00::", "https://[fd00::5]:6443"),
        ] {
            let expected = Some("http://proxy:3128/".into());
            assert_eq!(proxy(except, server), expected, "{except} {server}");
        }
    }

    #[test]
    fn the_proxy_of_a_kubeconfig_is_taken_in_any_case() {
        let proxies = Proxies { https: None, except: "*".into() };
        let server = "https://192.0.2.5:6443".parse().unwrap();
        let before =
            |named| proxies.before(Some(named), &server).map(|url| url.unwrap().to_string());
        assert_eq!(before("socks5h://10.0.0.9:1080").unwrap(), "socks5://10.0.0.9:1080/");
        assert_eq!(before("https://10.0.0.9").unwrap(), "https://10.0.0.9/");
        assert!(before("http://").unwrap_err().contains("its proxy"));
        assert!(proxies.before(Some(""), &server).unwrap().is_none());
    }

    #[test]
    fn of_what_cannot_be_understood_nothing_is_shown_but_whose_it_is() {
        let server = "https://192.0.2.5:6443".parse().unwrap();
        for proxy in [
            "http://joe:PXF SECRET@127.0.0.1:3128",
            "http://joe:PXF^SECRET@127.0.0.1:3128",
            "http://joe:PXF\"SECRET@127.0.0.1:3128",
            "joe:PXF SECRET@127.0.0.1",
            "ftp://joe:SECRET@127.0.0.1",
        ] {
            let proxies = Proxies { https: Some(proxy.into()), except: String::new() };
            let of_environment = proxies.before(None, &server).unwrap_err();
            assert!(of_environment.contains("HTTPS_PROXY"), "{of_environment}");
            let named = proxies.before(Some(proxy), &server).unwrap_err();
            assert!(named.contains("its proxy-url"), "{named}");
            for why in [of_environment, named] {
                assert!(!why.contains("SECRET") && !why.contains("joe"), "{why}");
            }
        }
    }
}
