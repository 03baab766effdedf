//! `net/url`, as far as the installer looks at URLs.

use std::net::IpAddr;

use super::text::quote;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Url {
    pub scheme: String,
    pub opaque: String,
    /// With the port.
    pub host: String,
    pub query: String,
}

impl Url {
    /// `url.Parse`; the error is the whole sentence of `*url.Error`.
    pub fn parse(text: &str) -> Result<Url, String> {
        let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
        let fault = |fault: String| format!("parse {}: {fault}", quote(text));
        let url = parse(before, false).map_err(fault)?;
        unescape(fragment, Mode::Other).map_err(fault)?;
        Ok(url)
    }

    /// `url.ParseRequestURI`.
    pub fn parse_request(text: &str) -> Result<Url, String> {
        parse(text, true).map_err(|fault| format!("parse {}: {fault}", quote(text)))
    }

    pub fn hostname(&self) -> &str {
        let host = self.without_port();
        host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(host)
    }

    fn without_port(&self) -> &str {
        match self.host.rfind(':') {
            Some(at) if self.host[at + 1..].bytes().all(|b| b.is_ascii_digit()) => &self.host[..at],
            _ => &self.host,
        }
    }

    /// The first value of a key of the query.
    pub fn query_value(&self, key: &str) -> Option<String> {
        self.query.split('&').filter(|part| !part.contains(';')).find_map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let plus = |text: &str| unescape(&text.replace('+', " "), Mode::Other).ok();
            (plus(name)? == key).then(|| plus(value)).flatten()
        })
    }
}

/// The scheme is there: `validate.URI`.
pub(crate) fn uri_fault(text: &str) -> Option<String> {
    match Url::parse(text) {
        Err(fault) => Some(fault),
        Ok(url) if url.scheme.is_empty() => {
            Some(format!("invalid URI {} (no scheme)", quote(text)))
        }
        Ok(_) => None,
    }
}

fn parse(text: &str, for_request: bool) -> Result<Url, String> {
    if text.bytes().any(|b| b < b' ' || b == 0x7f) {
        return Err("net/url: invalid control character in URL".into());
    }
    if text.is_empty() && for_request {
        return Err("empty url".into());
    }
    if text == "*" {
        return Ok(Url::default());
    }
    let (scheme, rest) = scheme(text)?;
    let mut url = Url { scheme: scheme.to_ascii_lowercase(), ..Url::default() };
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    url.query = query.to_string();
    if !rest.starts_with('/') {
        if !url.scheme.is_empty() {
            url.opaque = rest.to_string();
            return Ok(url);
        }
        if for_request {
            return Err("invalid URI for request".into());
        }
        if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
            return Err("first path segment in URL cannot contain colon".into());
        }
    }
    let mut path = rest;
    let may_have_host = !url.scheme.is_empty() || (!for_request && !rest.starts_with("///"));
    if may_have_host && let Some(after) = rest.strip_prefix("//") {
        let end = after.find('/').unwrap_or(after.len());
        let authority;
        (authority, path) = after.split_at(end);
        url.host = host_of(authority)?;
    }
    unescape(path, Mode::Other)?;
    Ok(url)
}

fn scheme(text: &str) -> Result<(&str, &str), String> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err("missing protocol scheme".into()),
            b':' => return Ok((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

fn host_of(authority: &str) -> Result<String, String> {
    let Some((userinfo, after)) = authority.rsplit_once('@') else { return host(authority) };
    let host = host(after)?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
    if !userinfo.chars().all(allowed) {
        return Err("net/url: invalid userinfo".into());
    }
    let (name, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
    unescape(name, Mode::Other)?;
    unescape(password, Mode::Other)?;
    Ok(host)
}

fn host(host: &str) -> Result<String, String> {
    let Some(open) = host.rfind('[') else {
        if let Some(colon) = host.rfind(':') {
            check_port(&host[colon..])?;
        }
        return unescape(host, Mode::Host);
    };
    let close = host.rfind(']').ok_or("missing ']' in host")?;
    let port = &host[close + 1..];
    check_port(port)?;
    let inside = host.get(open + 1..close).unwrap_or_default();
    let name = match inside.find("%25") {
        Some(zone) => {
            unescape(&inside[..zone], Mode::Host)? + &unescape(&inside[zone..], Mode::Zone)?
        }
        None => unescape(inside, Mode::Host)?,
    };
    let address = name.split('%').next().unwrap_or_default();
    match address.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => Err("invalid IP-literal".into()),
        Ok(IpAddr::V6(_)) => Ok(format!("[{name}]{port}")),
        Err(_) => Err(format!("invalid host: {}", address_fault(&name))),
    }
}

/// `netip.ParseAddr` says more than this; what it finds first is not worth following.
fn address_fault(text: &str) -> String {
    format!("ParseAddr({}): unable to parse IP", quote(text))
}

fn check_port(port: &str) -> Result<(), String> {
    let digits = port.strip_prefix(':');
    if port.is_empty() || digits.is_some_and(|d| d.bytes().all(|b| b.is_ascii_digit())) {
        return Ok(());
    }
    Err(format!("invalid port {} after host", quote(port)))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Host,
    Zone,
    Other,
}

fn unescape(text: &str, mode: Mode) -> Result<String, String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if byte == b'%' {
            let code = bytes.get(at + 1..at + 3).filter(|c| c.iter().all(u8::is_ascii_hexdigit));
            let shown = || {
                let end = (at + 3).min(bytes.len());
                format!("invalid URL escape {}", quote(&String::from_utf8_lossy(&bytes[at..end])))
            };
            let Some(code) = code else { return Err(shown()) };
            let value = (hex(code[0]) << 4) | hex(code[1]);
            let percent = code == b"25";
            if mode == Mode::Host && hex(code[0]) < 8 && !percent {
                return Err(shown());
            }
            if mode == Mode::Zone && !percent && value != b' ' && !host_byte(value) {
                return Err(shown());
            }
            out.push(value);
            at += 3;
            continue;
        }
        if mode != Mode::Other && byte < 0x80 && !host_byte(byte) {
            let shown = quote(&char::from(byte).to_string());
            return Err(format!("invalid character {shown} in host name"));
        }
        out.push(byte);
        at += 1;
    }
    Ok(String::from_utf8_lossy(&out).into_owned())
}

fn hex(digit: u8) -> u8 {
    char::from(digit).to_digit(16).map_or(0, |value| value as u8)
}

fn host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"".contains(&byte)
}

/// `net.SplitHostPort`, without its reasons.
pub(crate) fn split_host_port(text: &str) -> Option<(&str, &str)> {
    let colon = text.rfind(':')?;
    let (host, open_rest) = if let Some(inner) = text.strip_prefix('[') {
        let close = inner.find(']')?;
        if close + 2 != colon {
            return None;
        }
        (&inner[..close], &text[close + 2..])
    } else {
        let host = &text[..colon];
        if host.contains(':') {
            return None;
        }
        (host, text)
    };
    if host.contains('[') || open_rest.contains(['[', ']']) {
        return None;
    }
    Some((host, &text[colon + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let url = Url::parse("redfish-virtualmedia+https://[fd00::1]:8000/redfish/v1").unwrap();
        assert_eq!(url.scheme, "redfish-virtualmedia+https");
        assert_eq!(url.hostname(), "fd00::1");
        let url = Url::parse_request("http://h/x.qcow2.gz?sha256=ab%63").unwrap();
        assert_eq!(url.query_value("sha256").as_deref(), Some("abc"));
        assert_eq!(Url::parse("ipmi:10.0.0.1").unwrap().opaque, "10.0.0.1");
    }

    #[test]
    fn faults_read_as_in_go() {
        let fault = |text: &str| Url::parse(text).unwrap_err();
        assert_eq!(
            fault("192.168.1.1:623"),
            r#"parse "192.168.1.1:623": first path segment in URL cannot contain colon"#
        );
        assert_eq!(fault("http://h:x"), r#"parse "http://h:x": invalid port ":x" after host"#);
        assert_eq!(
            fault("http://a b"),
            r#"parse "http://a b": invalid character " " in host name"#
        );
        assert_eq!(fault("://x"), r#"parse "://x": missing protocol scheme"#);
        assert_eq!(fault("http://h/%zz"), r#"parse "http://h/%zz": invalid URL escape "%zz""#);
        assert_eq!(Url::parse_request("proxy:3128x").map(|url| url.scheme).unwrap(), "proxy");
        assert_eq!(
            Url::parse_request("proxy").unwrap_err(),
            r#"parse "proxy": invalid URI for request"#
        );
        assert_eq!(uri_fault("foo").unwrap(), r#"invalid URI "foo" (no scheme)"#);
    }

    #[test]
    fn hosts_and_ports() {
        assert_eq!(split_host_port("h:1"), Some(("h", "1")));
        assert_eq!(split_host_port("[::1]:1"), Some(("::1", "1")));
        assert_eq!(split_host_port("::1:1"), None);
        assert_eq!(split_host_port("h"), None);
    }
}
