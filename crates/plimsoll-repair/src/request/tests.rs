//! Real requests, made as a kubelet makes them, and one thing wrong with each.

#![allow(clippy::unwrap_used, reason = "tests")]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use rcgen::{CertificateParams, CustomExtension, DistinguishedName, DnType, KeyPair, SanType};
use serde_json::json;

use super::*;

pub(super) const NOW: &str = "2025-12-03T18:42:00Z";

fn now() -> Time {
    NOW.parse().unwrap()
}

fn ago(minutes: i64) -> String {
    (now() - SignedDuration::from_mins(minutes)).to_string()
}

struct Wanted<'w> {
    organizations: Vec<&'w str>,
    name: &'w str,
    unit: Option<&'w str>,
    names: Vec<SanType>,
    extension: bool,
}

impl Default for Wanted<'_> {
    fn default() -> Self {
        Self {
            organizations: vec!["system:nodes"],
            name: "system:node:worker-1",
            unit: None,
            names: Vec::new(),
            extension: false,
        }
    }
}

fn pem(wanted: &Wanted<'_>) -> String {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name = DistinguishedName::new();
    for (number, organization) in wanted.organizations.iter().enumerate() {
        // A second one of the same type would replace the first.
        let kind = match number {
            0 => DnType::OrganizationName,
            _ => DnType::CustomDnType(vec![2, 5, 4, 10]),
        };
        params.distinguished_name.push(kind, *organization);
    }
    params.distinguished_name.push(DnType::CommonName, wanted.name);
    if let Some(unit) = wanted.unit {
        params.distinguished_name.push(DnType::OrganizationalUnitName, unit);
    }
    params.subject_alt_names.clone_from(&wanted.names);
    if wanted.extension {
        let extension = CustomExtension::from_oid_content(&[1, 2, 3, 4], vec![5, 0]);
        params.custom_extensions.push(extension);
    }
    params.serialize_request(&KeyPair::generate().unwrap()).unwrap().pem().unwrap()
}

fn encoded(pem: &str) -> String {
    STANDARD.encode(pem)
}

pub(super) fn dns(name: &str) -> SanType {
    SanType::DnsName(name.try_into().unwrap())
}

pub(super) fn ip(address: &str) -> SanType {
    SanType::IpAddress(address.parse().unwrap())
}

fn client() -> Value {
    asked_by_bootstrapper(&pem(&Wanted::default()))
}

fn asked_by_bootstrapper(pem: &str) -> Value {
    json!({
        "metadata": {"name": "csr-aaaaa", "uid": "u-1", "creationTimestamp": ago(3)},
        "spec": {"request": encoded(pem), "signerName": CLIENT_SIGNER, "username": BOOTSTRAPPER,
            "groups": ["system:serviceaccounts", "system:serviceaccounts:openshift-machine-config-operator",
                "system:authenticated"],
            "usages": ["digital signature", "client auth"]},
        "status": {},
    })
}

pub(super) fn serving(names: Vec<SanType>) -> Value {
    let pem = pem(&Wanted { names, ..Wanted::default() });
    json!({
        "metadata": {"name": "csr-sssss", "uid": "u-2", "creationTimestamp": ago(1)},
        "spec": {"request": encoded(&pem), "signerName": SERVING_SIGNER,
            "username": "system:node:worker-1", "groups": ["system:nodes", "system:authenticated"],
            "usages": ["digital signature", "server auth"]},
    })
}

pub(super) fn good_names() -> Vec<SanType> {
    vec![dns("worker-1"), ip("192.0.2.21")]
}

fn machine(minutes: i64, node: Option<&str>) -> Value {
    json!({
        "metadata": {"name": "lab-worker-1", "creationTimestamp": ago(minutes)},
        "status": {
            "nodeRef": node.map(|name| json!({"name": name})),
            "addresses": [
                {"type": "InternalIP", "address": "192.0.2.21"},
                {"type": "InternalDNS", "address": "worker-1."},
                {"type": "Hostname", "address": "worker-1"}],
        },
    })
}

pub(super) fn node(name: &str, address: &str) -> Value {
    json!({"metadata": {"name": name}, "status": {
        "conditions": [{"type": "Ready", "status": "False"}],
        "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}]}})
}

fn host(minutes: i64) -> Value {
    json!({
        "metadata": {"name": "rack-3-u-7"},
        "spec": {"consumerRef": {"name": "lab-worker-1"}},
        "status": {
            "provisioning": {"state": "provisioned"},
            "operationHistory": {"provision": {"start": ago(minutes + 20), "end": ago(minutes)}},
            "hardware": {"hostname": "worker-1", "nics": [{"ip": "192.0.2.21"}, {"ip": "fe80::1%eno1"}, {}]},
        },
    })
}

/// A cluster that expects worker-1.
pub(super) fn inventory(objects: &[(&str, &str, Value)]) -> Inventory {
    let mut inventory = Inventory { all_nodes: true, ..Inventory::default() };
    for (group, plural, object) in objects {
        inventory.add(group, plural, object);
    }
    inventory.add("core", "nodes", &node("master-0", "192.0.2.10"));
    inventory
}

const MACHINES: (&str, &str) = ("machine.openshift.io", "machines");
const HOSTS: (&str, &str) = ("metal3.io", "baremetalhosts");

fn waiting() -> Inventory {
    inventory(&[(MACHINES.0, MACHINES.1, machine(30, None))])
}

fn joined() -> Inventory {
    inventory(&[
        (MACHINES.0, MACHINES.1, machine(300, Some("worker-1"))),
        ("core", "nodes", node("worker-1", "192.0.2.21")),
    ])
}

fn expecting(addresses: bool) -> Inventory {
    let addresses = if addresses { "\n  addresses: [192.0.2.21]" } else { "" };
    let expected = crate::expected::parse(&format!("nodes:\n- name: worker-1{addresses}\n"));
    Inventory { expected: expected.unwrap(), ..inventory(&[]) }
}

#[track_caller]
fn says(request: &Value, inventory: &Inventory, verdict: Verdict, text: &str) {
    let judged = judge(request, inventory, now());
    assert_eq!(judged.verdict, verdict, "{:#?}", judged.reasons);
    assert!(judged.reasons.iter().any(|reason| reason.contains(text)), "{:#?}", judged.reasons);
}

fn with(request: &Value, pointer: &str, value: Value) -> Value {
    let mut request = request.clone();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    request.pointer_mut(parent).unwrap()[key] = value;
    request
}

#[test]
fn a_first_join_goes_through_as_the_machine_approver_has_it() {
    let judged = judge(&client(), &waiting(), now());
    assert_eq!(judged.verdict, Verdict::Approve, "{:#?}", judged.reasons);
    assert_eq!((judged.node.as_deref(), judged.wave), (Some("worker-1"), Some(Signer::Client)));
    says(
        &client(),
        &waiting(),
        Verdict::Approve,
        "Machine lab-worker-1 was made 27 minutes before",
    );
    let legacy = json!(["key encipherment", "digital signature", "client auth"]);
    says(&with(&client(), "/spec/usages", legacy), &waiting(), Verdict::Approve, "Machine");
}

#[test]
fn the_time_of_a_machine_counts() {
    let of = |minutes| inventory(&[(MACHINES.0, MACHINES.1, machine(minutes, None))]);
    says(&client(), &of(122), Verdict::Approve, "119 minutes before");
    says(&client(), &of(124), Verdict::Hold, "Machine lab-worker-1 was made 121 minutes before");
    says(&client(), &of(2), Verdict::Hold, "nobody expects a node 'worker-1'");
    let taken = inventory(&[(MACHINES.0, MACHINES.1, machine(30, Some("worker-9")))]);
    says(&client(), &taken, Verdict::Hold, "has its Node already, worker-9");
}

#[test]
fn a_host_that_was_just_provisioned_is_expected() {
    let of = |host: Value, node| {
        inventory(&[(MACHINES.0, MACHINES.1, machine(600, node)), (HOSTS.0, HOSTS.1, host)])
    };
    says(
        &client(),
        &of(host(20), None),
        Verdict::Approve,
        "BareMetalHost rack-3-u-7 was provisioned",
    );
    says(&client(), &of(host(200), None), Verdict::Hold, "provisioned 197 minutes before");
    says(&client(), &of(host(-60), None), Verdict::Hold, "nobody expects");
    says(&client(), &of(host(20), Some("other")), Verdict::Hold, "has its Node already, other");
    let other = with(&host(20), "/status/provisioning/state", json!("inspecting"));
    says(&client(), &of(other, None), Verdict::Hold, "is not provisioned for a Machine");
    let lonely = inventory(&[(HOSTS.0, HOSTS.1, host(20))]);
    says(&client(), &lonely, Verdict::Hold, "Machine lab-worker-1 of rack-3-u-7 is not there");
}

#[test]
fn the_users_list_decides_where_nothing_else_does() {
    says(&client(), &inventory(&[]), Verdict::Hold, "--expect");
    says(&client(), &expecting(false), Verdict::Approve, "expected-nodes file names it");
    let unknown = Inventory { all_nodes: false, ..expecting(false) };
    says(&client(), &unknown, Verdict::Hold, "whether Node worker-1 exists already is not known");
    let unread = Inventory { gaps: vec!["Machines: forbidden (403)".into()], ..inventory(&[]) };
    says(&client(), &unread, Verdict::Hold, "Machines: forbidden");
}

#[test]
fn a_node_that_exists_joins_again_only_under_repair() {
    says(&client(), &joined(), Verdict::Hold, "Node worker-1 exists already (not Ready)");
    let repairing = |name: &str| Inventory { repairing: Some(name.into()), ..joined() };
    says(&client(), &repairing("worker-1"), Verdict::Approve, "is being repaired");
    says(&client(), &repairing("master-0"), Verdict::Hold, "exists already");
    // Naming a node that nobody knows vouches for nothing.
    let new = Inventory { repairing: Some("worker-1".into()), ..inventory(&[]) };
    says(&client(), &new, Verdict::Hold, "nobody expects");
}

#[test]
fn who_asks_is_exactly_who_may() {
    let request = client();
    let user = |name: &str| with(&request, "/spec/username", json!(name));
    for stranger in [
        "system:serviceaccount:default:builder",
        "system:admin",
        "system:node:worker-2",
        "system:node:worker-1 ",
        "system:node:",
    ] {
        says(&user(stranger), &waiting(), Verdict::Deny, "asks for a certificate of node");
    }
    says(&user(""), &waiting(), Verdict::Hold, "does not say who asks");
    for groups in [
        json!(["system:serviceaccounts", "system:authenticated"]),
        json!([
            "system:serviceaccounts",
            "system:authenticated",
            "system:masters",
            "system:serviceaccounts:openshift-machine-config-operator"
        ]),
        json!([]),
    ] {
        let request = with(&request, "/spec/groups", groups);
        says(&request, &waiting(), Verdict::Deny, "asks as the node-bootstrapper with groups");
    }
}

#[test]
fn a_node_renews_its_own_certificate() {
    let own = with(&client(), "/spec/username", json!("system:node:worker-1"));
    let own = with(&own, "/spec/groups", json!(["system:nodes", "system:authenticated"]));
    says(&own, &joined(), Verdict::Approve, "renews");
    says(&own, &inventory(&[]), Verdict::Hold, "there is no Node worker-1");
    says(&own, &expecting(false), Verdict::Approve, "expected-nodes");
    let lone = with(&own, "/spec/groups", json!(["system:authenticated"]));
    says(&lone, &joined(), Verdict::Deny, "is not in system:authenticated and system:nodes");
    let more = json!(["system:nodes", "system:authenticated", "system:masters"]);
    says(&with(&own, "/spec/groups", more), &joined(), Verdict::Hold, "is also in system:masters");
}

#[test]
fn the_subject_is_that_of_a_node_and_nothing_else() {
    let of = |wanted: Wanted<'_>| asked_by_bootstrapper(&pem(&wanted));
    let masters = vec!["system:nodes", "system:masters"];
    for organizations in [masters, vec!["system:masters"], vec![], vec!["system:nodes "]] {
        let request = of(Wanted { organizations, ..Wanted::default() });
        says(&request, &waiting(), Verdict::Deny, "must be system:nodes and nothing else");
    }
    for name in
        ["worker-1", "system:node:", "system:admin", "system:node:Worker-1", "system:node:a/b"]
    {
        let request = of(Wanted { name, ..Wanted::default() });
        says(&request, &waiting(), Verdict::Deny, "its name must be system:node:NAME");
    }
    let request = of(Wanted { unit: Some("x"), ..Wanted::default() });
    says(&request, &waiting(), Verdict::Deny, "more in it than organisation and name");
    let request = of(Wanted { name: "system:node:worker-2", ..Wanted::default() });
    says(&request, &waiting(), Verdict::Hold, "nobody expects a node 'worker-2'");
    let request = of(Wanted { extension: true, ..Wanted::default() });
    says(&request, &waiting(), Verdict::Hold, "asks for extension 1.2.3.4");
}

#[test]
fn usages_are_exactly_those_of_a_kubelet() {
    for usages in [
        json!(["digital signature", "client auth", "server auth"]),
        json!(["client auth"]),
        json!(["digital signature", "server auth"]),
        json!(["digital signature", "key encipherment", "client auth", "cert sign"]),
    ] {
        let request = with(&client(), "/spec/usages", usages);
        says(&request, &waiting(), Verdict::Deny, "are not those of a kubelet");
    }
    says(
        &with(&client(), "/spec/usages", json!([])),
        &waiting(),
        Verdict::Hold,
        "what the certificate is for",
    );
}

#[test]
fn a_client_certificate_has_no_names() {
    for name in [dns("worker-1"), ip("192.0.2.21"), SanType::URI("spiffe://x".try_into().unwrap())]
    {
        let request =
            asked_by_bootstrapper(&pem(&Wanted { names: vec![name], ..Wanted::default() }));
        says(&request, &waiting(), Verdict::Deny, "no alternative names");
    }
}

#[test]
fn what_cannot_be_read_is_held_and_what_is_forged_is_not() {
    let good = pem(&Wanted::default());
    let with_request = |text: String| with(&client(), "/spec/request", json!(text));
    for broken in [
        String::new(),
        "!".into(),
        encoded("hello"),
        encoded(&good.replace("REQUEST", "THING")),
        encoded(&format!("{good}{good}")),
        encoded(&format!("Proc-Type: 4\n{good}")),
        encoded(&good.replacen("-----\n", "-----\nX-Header: y\n\n", 1)),
        encoded("-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n"),
    ] {
        says(&with_request(broken), &waiting(), Verdict::Hold, "cannot be read");
    }
    // The subject of one with the signature of another.
    let der = |pem: &str| {
        let body: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
        STANDARD.decode(body).unwrap()
    };
    let (mut forged, other) = (der(&good), der(&pem(&Wanted::default())));
    let at = forged.len() - 60;
    let end = other.len() - 60;
    forged.splice(at.., other[end..].iter().copied());
    let body = STANDARD.encode(&forged);
    let forged =
        format!("-----BEGIN CERTIFICATE REQUEST-----\n{body}\n-----END CERTIFICATE REQUEST-----\n");
    says(
        &with_request(encoded(&forged)),
        &waiting(),
        Verdict::Deny,
        "its signature is not of the key",
    );
}

#[test]
fn it_is_neither_old_nor_of_tomorrow_nor_decided() {
    let at = |minutes| with(&client(), "/metadata/creationTimestamp", json!(ago(minutes)));
    let expecting = expecting(false);
    says(&at(59), &expecting, Verdict::Approve, "");
    says(&at(61), &expecting, Verdict::Hold, "made 61 minutes ago");
    says(&at(-1), &expecting, Verdict::Hold, "still to come");
    let timeless = with(&client(), "/metadata/creationTimestamp", Value::Null);
    says(&timeless, &expecting, Verdict::Hold, "when it was made");
    for condition in ["Approved", "Denied", "Failed"] {
        let decided =
            with(&client(), "/status/conditions", json!([{"type": condition, "status": "True"}]));
        assert!(!is_pending(&decided));
        says(&decided, &waiting(), Verdict::Hold, &format!("decided already: {condition}"));
    }
    let other = with(&client(), "/spec/signerName", json!("kubernetes.io/kube-apiserver-client"));
    assert!(!is_pending(&other));
    says(&other, &waiting(), Verdict::Hold, "is not one of kubelets");
}

#[test]
fn a_kubelet_serves_under_the_names_of_its_machine() {
    says(
        &serving(good_names()),
        &joined(),
        Verdict::Approve,
        "all 2 names are known of it by Machine lab-worker-1",
    );
    let upper = vec![dns("Worker-1."), ip("192.0.2.21")];
    says(&serving(upper), &joined(), Verdict::Approve, "all 2 names");
    for (name, why) in [
        (dns("api-int.lab.example"), "'api-int.lab.example' is no name or address of worker-1"),
        (dns("*.lab.example"), "is no name or address"),
        (ip("192.0.2.99"), "'192.0.2.99' is no name or address of worker-1"),
        (ip("192.0.2.10"), "'192.0.2.10' belongs to Node master-0"),
        (dns("master-0"), "'master-0' belongs to Node master-0"),
        (ip("::ffff:192.0.2.21"), "is no name or address"),
        (SanType::URI("spiffe://x".try_into().unwrap()), "not URI spiffe://x"),
        (SanType::Rfc822Name("a@b.example".try_into().unwrap()), "not mail a@b.example"),
    ] {
        let names = [good_names(), vec![name]].concat();
        says(&serving(names), &joined(), Verdict::Deny, why);
    }
    says(&serving(Vec::new()), &joined(), Verdict::Hold, "no name to serve under");
    let stranger = with(&serving(good_names()), "/spec/username", json!("system:node:master-0"));
    says(&stranger, &joined(), Verdict::Deny, "asks for a certificate of node 'worker-1'");
    let bootstrapper = with(&serving(good_names()), "/spec/username", json!(BOOTSTRAPPER));
    says(&bootstrapper, &joined(), Verdict::Deny, "asks for a certificate of node 'worker-1'");
}

#[test]
fn a_nodes_own_word_is_not_enough() {
    let mut machined = joined();
    machined.nodes.iter_mut().for_each(|node| node.addresses.add("192.0.2.77"));
    machined.nodes.retain(|node| node.name == "worker-1");
    let names = [good_names(), vec![ip("192.0.2.77")]].concat();
    says(
        &serving(names),
        &machined,
        Verdict::Hold,
        "'192.0.2.77' is an address of Node worker-1 by its own word",
    );
    let bare = || inventory(&[("core", "nodes", node("worker-1", "192.0.2.21"))]);
    says(&serving(good_names()), &bare(), Verdict::Hold, "only Node worker-1 itself says");
    let expected = expecting(false).expected;
    let vouched = Inventory { expected, ..bare() };
    says(&serving(good_names()), &vouched, Verdict::Approve, "are those of Node worker-1");
    let repaired = Inventory { repairing: Some("worker-1".into()), ..bare() };
    says(&serving(good_names()), &repaired, Verdict::Approve, "are those of Node worker-1");
    let names = [good_names(), vec![ip("192.0.2.78")]].concat();
    says(&serving(names.clone()), &vouched, Verdict::Deny, "'192.0.2.78' is no name");
    says(
        &serving(good_names()),
        &inventory(&[]),
        Verdict::Hold,
        "nothing tells the addresses of 'worker-1'",
    );
    says(&serving(good_names()), &expecting(true), Verdict::Approve, "the expected-nodes file");
    says(&serving(names), &expecting(true), Verdict::Deny, "'192.0.2.78' is no name");
    let infrastructure = json!({"metadata": {"name": "cluster"}, "status": {"platformStatus":
        {"baremetal": {"apiServerInternalIPs": ["192.0.2.5"], "ingressIPs": ["192.0.2.6"]}}}});
    let mut with_vip = joined();
    with_vip.add("config.openshift.io", "infrastructures", &infrastructure);
    let names = [good_names(), vec![ip("192.0.2.5")]].concat();
    says(&serving(names), &with_vip, Verdict::Deny, "'192.0.2.5' belongs to a VIP of the cluster");
}

#[test]
fn of_a_burst_only_the_newest_goes_through() {
    let named = |name: &str, minutes| {
        let request = with(&client(), "/metadata/name", json!(name));
        with(&request, "/metadata/creationTimestamp", json!(ago(minutes)))
    };
    let newest_but_strange = with(&named("csr-d", 1), "/spec/username", json!("system:admin"));
    let requests = [named("csr-a", 20), named("csr-c", 2), named("csr-b", 10), newest_but_strange];
    let judged = judge_all(&requests, &expecting(false), now());
    let verdicts: Vec<Verdict> = judged.iter().map(|one| one.verdict).collect();
    assert_eq!(verdicts, [Verdict::Hold, Verdict::Approve, Verdict::Hold, Verdict::Deny]);
    assert_eq!(judged[0].reasons, ["superseded: the same node asks again as csr-c"]);
    // It stays superseded when the newest is approved; not when that was denied.
    let decided = |kind: &str| {
        with(&named("csr-c", 2), "/status/conditions", json!([{"type": kind, "status": "True"}]))
    };
    let verdict = |newest: Value| {
        judge_all(&[named("csr-b", 10), newest], &expecting(false), now())[0].verdict
    };
    assert_eq!(verdict(decided("Approved")), Verdict::Hold);
    assert_eq!(verdict(decided("Denied")), Verdict::Approve);
    // Another wave is no burst.
    let both = [named("csr-a", 20), serving(good_names())];
    let judged = judge_all(&both, &expecting(true), now());
    assert!(judged.iter().all(|one| one.verdict == Verdict::Approve), "{judged:#?}");
}

#[test]
fn a_flood_holds_everything() {
    let good = client();
    let others = |count: usize, minutes| {
        (0..count).map(move |number| {
            let name = json!(format!("csr-{number:05}"));
            let request = with(&client_of_nobody(), "/metadata/name", name);
            with(&request, "/metadata/creationTimestamp", json!(ago(minutes)))
        })
    };
    let verdict = |requests: &[Value]| judge_all(requests, &waiting(), now())[0].clone();
    let fitting: Vec<Value> = std::iter::once(good.clone()).chain(others(100, 5)).collect();
    assert_eq!(verdict(&fitting).verdict, Verdict::Approve);
    let flood: Vec<Value> = std::iter::once(good.clone()).chain(others(101, 5)).collect();
    let held = verdict(&flood);
    assert_eq!(held.verdict, Verdict::Hold);
    assert!(held.reasons[0].starts_with("102 requests wait, and more than 101"), "{held:?}");
    // What is older than an hour is nobody's any more.
    let stale: Vec<Value> = std::iter::once(good).chain(others(101, 90)).collect();
    assert_eq!(verdict(&stale).verdict, Verdict::Approve);
}

fn client_of_nobody() -> Value {
    with(&client(), "/spec/request", json!(""))
}

/// Everything of it may be right or wrong.
fn any_request() -> impl Strategy<Value = (Value, Vec<String>, String)> {
    let organizations = prop::collection::vec(
        prop_oneof![4 => Just("system:nodes"), 1 => Just("system:masters"), 1 => Just("")],
        0..3,
    );
    let name = prop_oneof![
        4 => Just("system:node:worker-1".to_string()),
        1 => Just("system:node:worker-2".to_string()),
        1 => Just("system:node:".to_string()),
        1 => Just("system:admin".to_string()),
        1 => "system:node:[a-zA-Z0-9 .:-]{0,12}",
    ];
    let user = prop_oneof![
        3 => Just(BOOTSTRAPPER.to_string()),
        3 => Just("system:node:worker-1".to_string()),
        1 => Just("system:admin".to_string()),
    ];
    let signer = prop_oneof![Just(CLIENT_SIGNER), Just(SERVING_SIGNER)];
    (organizations, name, user, signer, any::<bool>(), -5i64..200).prop_map(
        |(organizations, name, user, signer, named, minutes)| {
            let names = if named { good_names() } else { Vec::new() };
            let wanted = Wanted {
                organizations: organizations.clone(),
                name: &name,
                names,
                ..Wanted::default()
            };
            let groups = match user.as_str() {
                BOOTSTRAPPER => BOOTSTRAPPER_GROUPS.to_vec(),
                _ => NODE_GROUPS.to_vec(),
            };
            let purpose = if signer == CLIENT_SIGNER { "client auth" } else { "server auth" };
            let request = json!({
                "metadata": {"name": "csr-x", "creationTimestamp": ago(minutes)},
                "spec": {"request": encoded(&pem(&wanted)), "signerName": signer, "username": user,
                    "groups": groups, "usages": ["digital signature", purpose]},
            });
            let organizations = organizations.into_iter().map(str::to_string).collect();
            (request, organizations, name)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn nothing_but_an_expected_node_is_ever_approved((request, organizations, name) in any_request()) {
        for inventory in [waiting(), joined(), expecting(true), Inventory { repairing: Some("worker-1".into()), ..joined() }] {
            let judged = judge(&request, &inventory, now());
            if judged.verdict == Verdict::Approve {
                prop_assert_eq!(&organizations, &["system:nodes"]);
                prop_assert_eq!(&name, "system:node:worker-1");
                prop_assert_eq!(judged.node.as_deref(), Some("worker-1"));
            }
        }
    }

    /// Whatever stands in a request, judging it ends, and approves nothing.
    #[test]
    fn noise_is_held(text in "[ -~]{0,200}") {
        let request = with(&client(), "/spec/request", json!(text));
        prop_assert_ne!(judge(&request, &waiting(), now()).verdict, Verdict::Approve);
        let request = with(&client(), "/spec/request", json!(STANDARD.encode(&text)));
        prop_assert_ne!(judge(&request, &waiting(), now()).verdict, Verdict::Approve);
    }
}
