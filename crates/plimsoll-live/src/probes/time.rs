//! Who tells a node the time.

use plimsoll_probe::Target;

/// A name or an address, without a port.
pub fn is_host(host: &str) -> bool {
    Target::new(host, super::NTP).to_string().parse::<Target>().is_ok()
}

/// Hosts of `server`, `pool` and `peer` in a chrony.conf.
pub fn servers(config: &str) -> Vec<String> {
    let host = |line: &str| {
        let mut words = line.split_whitespace();
        let names_one = ["server", "pool", "peer"].contains(&words.next()?);
        let host = words.next().filter(|_| names_one)?;
        is_host(host).then(|| host.to_string())
    };
    config.lines().filter_map(host).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_pools_and_peers_are_named_and_comments_are_not() {
        let config = "# server old.example.com\npool 2.rhel.pool.ntp.org iburst\n\
            server 192.0.2.123 iburst minpoll 4\npeer 2001:db8::123\nserver\ndriftfile /var/x\n\
            server a@b\n!server no\n";
        assert!(is_host("192.0.2.1") && !is_host("192.0.2.1:123") && !is_host("-x y"));
        assert_eq!(servers(config), ["2.rhel.pool.ntp.org", "192.0.2.123", "2001:db8::123"]);
    }
}
