//! What a value should have been. Every function gives `None` where it is right as it is, or where
//! nobody but its writer can know.

use plimsoll_install::{Network, Release};

/// A word of a field that takes only certain words.
pub fn word(path: &str, value: &str, release: Release) -> Option<(&'static str, &'static str)> {
    let (id, words): (&str, &[&str]) = match path {
        "additionalTrustBundlePolicy" => ("trust-bundle-policy-unknown", &["Proxyonly", "Always"]),
        "publish" => ("publish-unknown", &["External", "Internal"]),
        "platform.baremetal.provisioningNetwork" => {
            ("provisioning-network-unknown", &["Managed", "Unmanaged", "Disabled"])
        }
        "platform.baremetal.loadBalancer.type" => {
            ("load-balancer-type-unknown", &["OpenShiftManagedDefault", "UserManaged"])
        }
        "platform.baremetal.hosts.bootMode" => {
            ("boot-mode-unknown", &["UEFI", "UEFISecureBoot", "legacy"])
        }
        "controlPlane.hyperthreading" | "compute.hyperthreading" | "arbiter.hyperthreading" => {
            ("hyperthreading-unknown", &["Enabled", "Disabled"])
        }
        "controlPlane.architecture" | "compute.architecture" | "arbiter.architecture" => {
            return architecture(value).map(|word| ("architecture-unknown", word));
        }
        "controlPlane.fencing.credentials.certificateVerification" => {
            ("fencing-verification-unknown", &["Enabled", "Disabled"])
        }
        "compute.name" => ("compute-name-unknown", &["worker"]),
        "featureSet" => (
            "feature-set-unknown",
            &["CustomNoUpgrade", "DevPreviewNoUpgrade", "TechPreviewNoUpgrade"],
        ),
        "platform.baremetal.hosts.role" => ("host-without-role", &["master", "worker"]),
        "hosts.role" => ("host-role-unknown", &["master", "worker"]),
        "networking.networkType" => return network_type(value, release),
        _ => return None,
    };
    let meant = words.iter().find(|word| word.eq_ignore_ascii_case(value))?;
    (*meant != value).then_some((id, meant))
}

fn architecture(value: &str) -> Option<&'static str> {
    let lower = value.to_ascii_lowercase();
    let meant = match lower.as_str() {
        "amd64" | "x86_64" | "x86-64" => "amd64",
        "arm64" | "aarch64" => "arm64",
        "ppc64le" => "ppc64le",
        "s390x" => "s390x",
        _ => return None,
    };
    (meant != value).then_some(meant)
}

/// In 4.14 the old type is only deprecated, and may be meant.
fn network_type(value: &str, release: Release) -> Option<(&'static str, &'static str)> {
    const OVN: &str = "OVNKubernetes";
    let is = |name: &str| value.eq_ignore_ascii_case(name);
    let gone = release >= Release::V4_15 && (is("OpenShiftSDN") || is("Kuryr"));
    (gone || (is(OVN) && value != OVN)).then_some(("network-type-gone", OVN))
}

/// A network without the bits below its mask.
pub fn aligned(value: &str) -> Option<String> {
    let network = Network::parse(value)?;
    let masked = network.masked_address()?;
    (network.address() != Some(masked)).then(|| format!("{masked}/{}", network.prefix()))
}

/// The rule that complains of host bits there.
pub fn alignment_rule(path: &str) -> &'static str {
    match path {
        "networking.serviceNetwork" | "networking.serviceCIDR" => "service-network-not-aligned",
        "networking.clusterNetwork.cidr" | "networking.clusterNetworks.cidr" => {
            "cluster-network-not-aligned"
        }
        "networking.ovnKubernetesConfig.ipv4.internalJoinSubnet" => "join-subnet-not-aligned",
        "platform.baremetal.provisioningNetworkCIDR" => "provisioning-network-host-bits",
        _ => "machine-network-not-aligned",
    }
}

/// `52-54-00-12-34-AB`, `5254.0012.34ab` and `52:54:00:12:34:AB` are one address.
pub fn mac(value: &str) -> Option<String> {
    let digits: String = value.chars().filter(char::is_ascii_hexdigit).collect();
    let length = |separator: char, size: usize| {
        let parts: Vec<&str> = value.split(separator).collect();
        parts.len() * size == 12 && parts.iter().all(|part| part.len() == size)
    };
    let known = length(':', 2) || length('-', 2) || length('.', 4);
    let pairs: Vec<String> = digits
        .as_bytes()
        .chunks(2)
        .map(|pair| String::from_utf8_lossy(pair).to_lowercase())
        .collect();
    let address = pairs.join(":");
    (known && digits.len() == 12 && address != value).then_some(address)
}

pub fn no_proxy(value: &str) -> Option<String> {
    let parts: Vec<&str> = value.split([',', ' ']).filter(|part| !part.is_empty()).collect();
    let joined = parts.join(",");
    (value.contains(' ') && !joined.is_empty()).then_some(joined)
}

/// The one known key that is a slip of the finger away.
pub fn meant_key<'k>(key: &str, known: &[&'k str]) -> Option<&'k str> {
    if key.chars().count() < 4 {
        return None;
    }
    let lower = key.to_lowercase();
    let near = |other: &&&str| one_slip(&lower, &other.to_lowercase());
    let mut found = known.iter().filter(near);
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// One letter too many, too few or wrong, or two that changed places; a separator counts as nothing.
fn one_slip(a: &str, b: &str) -> bool {
    let plain = |text: &str| text.replace(['_', '-', ' '], "");
    let (a, b): (Vec<char>, Vec<char>) = (plain(a).chars().collect(), plain(b).chars().collect());
    let same = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[same..], &b[same..]);
    match (a, b) {
        ([], []) => true,
        ([_, a @ ..], b) | (b, [_, a @ ..]) if a == b => true,
        ([_, a @ ..], [_, b @ ..]) if a == b => true,
        ([x, y, a @ ..], [z, w, b @ ..]) => x == w && y == z && a == b,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_another_case_are_found_and_others_are_not() {
        for (path, value, meant) in [
            ("publish", "external", Some("External")),
            ("publish", "External", None),
            ("publish", "public", None),
            ("compute.architecture", "x86_64", Some("amd64")),
            ("controlPlane.architecture", "AARCH64", Some("arm64")),
            ("controlPlane.architecture", "mips", None),
            ("platform.baremetal.hosts.bootMode", "Legacy", Some("legacy")),
            ("networking.networkType", "OpenShiftSDN", Some("OVNKubernetes")),
            ("networking.networkType", "ovnkubernetes", Some("OVNKubernetes")),
            ("networking.networkType", "Calico", None),
        ] {
            assert_eq!(word(path, value, Release::V4_18).map(|(_, word)| word), meant, "{value}");
        }
        assert_eq!(word("networking.networkType", "OpenShiftSDN", Release::V4_14), None);
    }

    #[test]
    fn networks_lose_their_host_bits() {
        assert_eq!(aligned("192.0.2.17/24").as_deref(), Some("192.0.2.0/24"));
        assert_eq!(aligned("2001:db8::1/64").as_deref(), Some("2001:db8::/64"));
        for right in ["192.0.2.0/24", "192.0.2.1", "x/24", ""] {
            assert_eq!(aligned(right), None, "{right}");
        }
    }

    #[test]
    fn mac_addresses_have_one_form() {
        for (value, meant) in [
            ("52-54-00-12-34-AB", Some("52:54:00:12:34:ab")),
            ("5254.0012.34AB", Some("52:54:00:12:34:ab")),
            ("52:54:00:12:34:AB", Some("52:54:00:12:34:ab")),
            ("52:54:00:12:34:ab", None),
            ("52:54:00:12:34", None),
            ("52:54:00:12:34:zz", None),
            ("525400:1234:ab", None),
        ] {
            assert_eq!(mac(value).as_deref(), meant, "{value}");
        }
    }

    #[test]
    fn a_key_one_slip_away_is_found_when_there_is_one_alone() {
        let known = ["apiVIPs", "apiVIP", "ingressVIPs", "hosts", "provisioningNetwork", "bmc"];
        for (key, meant) in [
            ("ingresVIPs", Some("ingressVIPs")),
            ("ingrsesVIPs", Some("ingressVIPs")),
            ("provisioning_network", Some("provisioningNetwork")),
            ("hostss", Some("hosts")),
            ("apiVIPx", None),
            ("bmx", None),
            ("ingress", None),
        ] {
            assert_eq!(meant_key(key, &known), meant, "{key}");
        }
    }

    #[test]
    fn no_proxy_loses_its_spaces() {
        assert_eq!(no_proxy("a.com, b.com ,c").as_deref(), Some("a.com,b.com,c"));
        assert_eq!(no_proxy("a.com b.com").as_deref(), Some("a.com,b.com"));
        assert_eq!(no_proxy("a.com,b.com"), None);
    }
}
