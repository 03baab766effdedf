//! Where a registry sends us: for a token, and for blobs that are kept elsewhere.

use http::Uri;

use super::found::Redirect;
use crate::target::Target;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub tls: bool,
    pub target: Target,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    pub origin: Origin,
    /// With its query.
    pub path: String,
}

impl Url {
    /// As `registry` names it, by an absolute URL or a path on itself. The one rule for all that is
    /// named so: HTTPS; HTTP only on the host of a registry that is itself asked by HTTP.
    pub fn named(text: &[u8], registry: &Origin, from: &Origin) -> Result<Self, Redirect> {
        let uri = Uri::try_from(text).map_err(|_| Redirect::Unusable)?;
        let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_string();
        let Some(authority) = uri.authority() else {
            let on_itself = path.starts_with('/') && !path.starts_with("//");
            return match on_itself {
                true => Ok(Self { origin: from.clone(), path }),
                false => Err(Redirect::Unusable),
            };
        };
        let tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(Redirect::Unusable),
        };
        // A name and password in a URL are for nobody to use.
        if authority.as_str().contains('@') {
            return Err(Redirect::Unusable);
        }
        let usual = if tls { 443 } else { 80 };
        let target: Target = match authority.as_str() == authority.host() {
            true => format!("{authority}:{usual}").parse(),
            false => authority.as_str().parse(),
        }
        .map_err(|_| Redirect::Unusable)?;
        let on_the_registry = target.host.eq_ignore_ascii_case(&registry.target.host);
        match tls || (!registry.tls && on_the_registry) {
            true => Ok(Self { origin: Origin { tls, target }, path }),
            false => Err(Redirect::Plain),
        }
    }

    pub fn with(mut self, parameters: &[(&str, &str)]) -> Self {
        for (name, value) in parameters {
            self.path.push(if self.path.contains('?') { '&' } else { '?' });
            self.path.push_str(name);
            self.path.push('=');
            self.path.push_str(&escaped(value));
        }
        self
    }
}

fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/".contains(&byte);
    text.bytes()
        .map(|byte| match plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(tls: bool, host: &str) -> Origin {
        Origin { tls, target: host.parse().unwrap() }
    }

    #[test]
    fn only_https_is_followed_and_http_on_the_host_of_a_plain_registry() {
        let secure = origin(true, "mirror.lab:8443");
        let plain = origin(false, "mirror.lab:5000");
        let named = |text: &str, registry: &Origin| Url::named(text.as_bytes(), registry, registry);
        let url = named("https://s3.lab/b/blob?sig=a%2Fb", &secure).unwrap();
        assert_eq!(
            (url.origin, url.path.as_str()),
            (origin(true, "s3.lab:443"), "/b/blob?sig=a%2Fb")
        );
        assert!(named("https://[2001:db8::5]:9000/x", &plain).is_ok());
        assert!(named("HTTP://Mirror.lab:9000/x", &plain).is_ok());
        assert_eq!(named("/v2/other?x", &secure).unwrap().origin, secure);
        for text in ["http://mirror.lab:9000/x", "http://s3.lab/x"] {
            assert_eq!(named(text, &secure), Err(Redirect::Plain), "{text}");
        }
        assert_eq!(named("http://s3.lab/x", &plain), Err(Redirect::Plain));
        for text in [
            "",
            "file:///etc/shadow",
            "ftp://a/b",
            "https://u:p@s3.lab/x",
            "//s3.lab/x",
            "two words",
            "s3.lab",
            "https://",
            "https://a:99999/",
            "*",
        ] {
            assert_eq!(named(text, &secure), Err(Redirect::Unusable), "{text}");
        }
    }

    #[test]
    fn parameters_are_added_to_what_is_there() {
        let own = origin(true, "mirror.lab:8443");
        let url = Url::named(b"https://auth.lab/token?a=b", &own, &own).unwrap();
        let url = url.with(&[("scope", "repository:a/b:pull"), ("service", "x y&z")]);
        assert_eq!(url.path, "/token?a=b&scope=repository:a/b:pull&service=x%20y%26z");
    }
}
