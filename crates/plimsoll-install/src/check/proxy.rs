use crate::check::Context;
use crate::config::Networking;
use crate::go::address::{Network, parse_ip};
use crate::go::text::quote;
use crate::go::url::Url;
use crate::names::no_proxy_domain_fault;
use crate::place::Placed;
use crate::refusal::{Bad, Collector};

pub(crate) fn check(context: &mut Context<'_>) {
    let Some(proxy) = &context.config.proxy else { return };
    let networking = &context.config.networking;
    if proxy.http.is_empty() && proxy.https.is_empty() {
        let text = "must include httpProxy or httpsProxy";
        context.out.required("proxy-empty", "proxy", proxy.place, text);
    }
    for (path, url, schemes) in [
        ("proxy.httpProxy", &proxy.http, &["http"][..]),
        ("proxy.httpsProxy", &proxy.https, &["http", "https"][..]),
    ] {
        if !url.is_empty() {
            check_url(path, url, schemes, context.out);
            check_address(path, url, networking, context.out);
        }
    }
    check_no_proxy(&proxy.no_proxy, context.out);
}

fn check_url(path: &str, url: &Placed<String>, schemes: &[&str], out: &mut Collector) {
    match Url::parse_request(url.as_str()) {
        Err(fault) => {
            out.invalid("proxy-url-unreadable", path, url.place, Bad::text(url.as_str()), fault);
        }
        Ok(parsed) if schemes.contains(&parsed.scheme.as_str()) => {}
        Ok(parsed) => {
            let bad = Bad::text(&parsed.scheme);
            out.not_supported("proxy-scheme-unknown", path, url.place, bad, schemes);
        }
    }
}

fn check_address(path: &str, url: &Placed<String>, networking: &Networking, out: &mut Collector) {
    let Ok(parsed) = Url::parse_request(url.as_str()) else { return };
    let Some(address) = parse_ip(parsed.hostname()) else { return };
    let mut refuse = |text: &str| {
        out.invalid("proxy-inside-cluster", path, url.place, Bad::text(url.as_str()), text);
    };
    let holds = |network: &Network| network.contains(address);
    if networking.cluster.iter().any(|network| holds(&network.cidr.value)) {
        refuse("proxy value is part of the cluster networks");
    }
    if networking.service.iter().any(|network| holds(&network.value)) {
        refuse("proxy value is part of the service networks");
    }
    let join = networking.ovn.as_ref().and_then(|ovn| ovn.join_subnet.as_ref());
    if join.is_some_and(|network| holds(&network.value)) {
        refuse("proxy value is part of the ovn-kubernetes IPv4 InternalJoinSubnet");
    }
}

fn check_no_proxy(no_proxy: &Placed<String>, out: &mut Collector) {
    let text = no_proxy.as_str();
    if matches!(text, "" | "*") {
        return;
    }
    let path = "proxy.noProxy";
    let mut refuse = |rule: &'static str, fault: String| {
        out.invalid(rule, path, no_proxy.place, Bad::text(text), fault);
    };
    if text.contains(' ') {
        refuse("no-proxy-has-spaces", "noProxy must not have spaces".into());
    }
    for (i, element) in text.split(',').enumerate() {
        let element = element.trim();
        let fits = no_proxy_domain_fault(element).is_none()
            || Network::parse(element).is_some()
            || parse_ip(element).is_some();
        if !fits {
            let fault = format!(
                "each element of noProxy must be a IP, CIDR or domain without wildcard characters, \
                 which is violated by element {i} {}",
                quote(element)
            );
            refuse("no-proxy-element-invalid", fault);
        }
    }
}
