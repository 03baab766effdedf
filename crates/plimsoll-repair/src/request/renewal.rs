//! The machine-approver's rule for renewals (`authorizeServingRenewal`): the certificate that the kubelet
//! serves today is good, is that of the node, and has exactly the names that are asked for.

use std::net::IpAddr;

use plimsoll_model::Time;
use x509_parser::extensions::GeneralName;
use x509_parser::pem::Pem;

use super::NODE_USER;
use super::decoded::{Asked, address};
use super::inventory::Serving;

pub fn is_of(shown: &Serving, asked: &Asked, node: &str, now: Time) -> Result<(), String> {
    if !shown.trusted {
        return Err("what it serves today is not signed by the authority of kubelets".into());
    }
    let first = Pem::iter_from_buffer(shown.pem.as_bytes()).next();
    let Some(Ok(first)) = first else { return Err("what it serves today is no PEM".into()) };
    let Ok(certificate) = first.parse_x509() else {
        return Err("what it serves today cannot be read".into());
    };
    let validity = certificate.validity();
    let second = now.as_second();
    if second < validity.not_before.timestamp() || second > validity.not_after.timestamp() {
        return Err("what it serves today is out of date".into());
    }
    let names: Vec<&str> =
        certificate.subject().iter_common_name().filter_map(|name| name.as_str().ok()).collect();
    let own = format!("{NODE_USER}{node}");
    if names != [own.as_str()] || asked.common_names != [own.as_str()] {
        return Err("what it serves today is of another name".into());
    }
    let Ok(alternative) = certificate.subject_alternative_name() else {
        return Err("the names that it serves under today cannot be read".into());
    };
    let (mut dns, mut addresses): (Vec<String>, Vec<IpAddr>) = (Vec::new(), Vec::new());
    for name in alternative.iter().flat_map(|names| &names.value.general_names) {
        match name {
            GeneralName::DNSName(name) => dns.push((*name).into()),
            GeneralName::IPAddress(bytes) => match address(bytes) {
                Some(address) => addresses.push(address),
                None => return Err("an address that it serves under cannot be read".into()),
            },
            _ => return Err("it serves under a name that no kubelet has".into()),
        }
    }
    let sorted = |names: &[String]| {
        let mut names = names.to_vec();
        names.sort();
        names
    };
    let in_order = |addresses: &[IpAddr]| {
        let mut addresses = addresses.to_vec();
        addresses.sort();
        addresses
    };
    let same = sorted(&dns) == sorted(&asked.dns)
        && in_order(&addresses) == in_order(&asked.addresses)
        && asked.other_names.is_empty();
    match same {
        true => Ok(()),
        false => Err("it asks for other names than it serves under today".into()),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::csr::Verdict;
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, SanType};

    use super::super::tests::{NOW, dns, good_names, inventory, ip, node, serving};
    use super::super::{Judgement, judge};
    use super::*;

    fn served(name: &str, names: Vec<SanType>, trusted: bool) -> Serving {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        params.subject_alt_names = names;
        let pem = params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem();
        Serving { pem, trusted }
    }

    /// On a cluster without Machines, where only the node itself knows its addresses.
    fn judged(shown: Option<Serving>, names: Vec<SanType>) -> Judgement {
        let mut inventory = inventory(&[("core", "nodes", node("worker-1", "192.0.2.21"))]);
        inventory.serving.extend(shown.map(|shown| ("worker-1".to_string(), shown)));
        judge(&serving(names), &inventory, NOW.parse().unwrap())
    }

    #[test]
    fn a_good_certificate_with_the_same_names_vouches_for_its_renewal() {
        let other_order = vec![ip("192.0.2.21"), dns("worker-1")];
        let judged = judged(Some(served("system:node:worker-1", other_order, true)), good_names());
        assert_eq!(judged.verdict, Verdict::Approve, "{:?}", judged.reasons);
        assert!(judged.reasons.iter().any(|why| why.starts_with("a renewal:")));
    }

    #[test]
    fn whatever_is_not_exactly_that_is_judged_as_before() {
        let own = "system:node:worker-1";
        let more = vec![dns("worker-1"), ip("192.0.2.21"), ip("192.0.2.99")];
        for (shown, what) in [
            (None, "nobody could ask"),
            (Some(served(own, good_names(), false)), "another authority"),
            (Some(served("system:node:worker-2", good_names(), true)), "another node"),
            (Some(served(own, more.clone(), true)), "it served under more"),
            (Some(served(own, vec![dns("worker-1")], true)), "it served under less"),
            (Some(Serving { pem: "x".into(), trusted: true }), "no certificate"),
        ] {
            assert_eq!(judged(shown, good_names()).verdict, Verdict::Hold, "{what}");
        }
    }

    #[test]
    fn a_name_of_somebody_else_is_refused_even_then() {
        let taken = || vec![dns("worker-1"), ip("192.0.2.10")];
        let judged = judged(Some(served("system:node:worker-1", taken(), true)), taken());
        assert_eq!(judged.verdict, Verdict::Deny, "{:?}", judged.reasons);
    }
}
