//! Certificate requests of kubelets: read with everything that says who is expected, and approved one by
//! one. There is no call that approves more than one.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use kube::Client;
use plimsoll_model::plan::Signer;
use plimsoll_model::{Time, clip};
use plimsoll_probe::{Bundle, Outcome, TlsProbe, Trust};
use plimsoll_repair::is_plain_name;
use plimsoll_repair::request::{Inventory, NODES, Serving, VOUCHERS, is_pending, judge, wave};
use serde_json::{Value, json};

use crate::ask::{Refusal, ask, get, list};

const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

/// Every request of a kubelet, decided or not: what `judge_all` wants to see.
pub async fn all(client: &Client) -> Result<Vec<Value>, Refusal> {
    let mut found = list(client, REQUESTS).await?;
    found.retain(|request| wave(request).is_some());
    Ok(found)
}

/// Those that wait for an answer.
pub async fn pending(client: &Client) -> Result<Vec<Value>, Refusal> {
    let mut found = all(client).await?;
    found.retain(is_pending);
    Ok(found)
}

/// Everything in the cluster that says who is expected. A resource that the cluster does not have says
/// nothing; one that may not be read is a gap.
pub async fn inventory(client: &Client) -> Result<Inventory, Refusal> {
    let mut inventory = Inventory::default();
    for voucher in VOUCHERS {
        match list(client, &voucher.path()).await {
            Ok(found) => {
                found.iter().for_each(|one| inventory.add(voucher.group, voucher.plural, one));
            }
            // Every cluster has Nodes, and who is there is never guessed.
            Err(refusal) if voucher == NODES => return Err(refusal),
            Err(refusal) if refusal.code == Some(404) => {}
            Err(refusal) => inventory.gaps.push(format!("{}: {refusal}", voucher.called)),
        }
    }
    inventory.all_nodes = true;
    Ok(inventory)
}

const KUBELET_AUTHORITY: &str =
    "/api/v1/namespaces/openshift-config-managed/configmaps/csr-controller-ca";
const KUBELETS: &str = "kubelets";
/// A kubelet that is there answers at once.
const ANSWERS: Duration = Duration::from_secs(5);
/// Kubelets that are asked at once; more requests than this are a flood, and judged without.
const MOST_ASKED: usize = 64;

/// What the kubelets that ask for a serving certificate serve today: a renewal is judged by it. Who cannot
/// be asked from here is judged without.
pub async fn ask_kubelets(
    client: &Client,
    requests: &[Value],
    inventory: &mut Inventory,
    now: Time,
) {
    let asks = |one: &&Value| is_pending(one) && wave(one) == Some(Signer::Serving);
    let names = requests.iter().filter(asks).filter_map(|one| judge(one, inventory, now).node);
    let names: BTreeSet<String> = names.collect();
    let places = names.into_iter().filter_map(|name| {
        let kubelet = inventory.node(&name)?.kubelet?;
        Some((name, kubelet))
    });
    let places: Vec<(String, (IpAddr, u16))> = places.take(MOST_ASKED).collect();
    if places.is_empty() {
        return;
    }
    let authority = match get(client, KUBELET_AUTHORITY).await {
        Ok(found) => found["data"]["ca-bundle.crt"].as_str().unwrap_or_default().to_string(),
        Err(refusal) if refusal.code == Some(404) => return,
        Err(refusal) => return inventory.gaps.push(format!("CA of kubelets: {refusal}")),
    };
    let bundles: Arc<[Bundle]> = [Bundle::from_pem(KUBELETS, authority.as_bytes())].into();
    let mut asking = tokio::task::JoinSet::new();
    for (name, (address, port)) in places {
        let target = plimsoll_probe::Target::new(address.to_string(), port);
        let probe = TlsProbe { target, name: None, bundles: bundles.clone() };
        asking.spawn(async move { (name, probe.ask(ANSWERS, now).await.1) });
    }
    while let Some(answer) = asking.join_next().await {
        let Ok((name, Outcome::Tls(tls))) = answer else { continue };
        // A certificate that nobody proved to have the key of is only a text.
        let (Some(pem), None) = (tls.chain.first(), &tls.ended) else { continue };
        let trusted = tls.trust.get(KUBELETS) == Some(&Trust::Trusted);
        inventory.serving.insert(name, Serving { pem: pem.clone(), trusted });
    }
}

/// Approves this request as it was read: another one under its name, or one that somebody changed since,
/// is refused by the API server (409).
pub async fn approve(
    client: &Client,
    request: &Value,
    why: &str,
    now: Time,
) -> Result<(), Refusal> {
    let refused = |why: &str| Err(Refusal { code: None, why: why.into() });
    let text = |pointer: &str| request.pointer(pointer).and_then(Value::as_str);
    let Some(name) = text("/metadata/name").filter(|name| is_plain_name(name)) else {
        return refused("the request has no name");
    };
    if text("/metadata/uid").is_none() || text("/metadata/resourceVersion").is_none() {
        return refused(
            "it does not say which request it was: uid and resourceVersion are missing",
        );
    }
    if !is_pending(request) {
        return refused("it does not wait for an answer");
    }
    let mut approved = request.clone();
    approved["apiVersion"] = "certificates.k8s.io/v1".into();
    approved["kind"] = "CertificateSigningRequest".into();
    let now = now.to_string();
    approved["status"] = json!({"conditions": [{
        "type": "Approved", "status": "True", "reason": "PlimsollApprove",
        "message": clip(&format!("Approved by plimsoll: {why}")),
        "lastUpdateTime": now, "lastTransitionTime": now,
    }]});
    let path = format!("{REQUESTS}/{name}/approval");
    ask(client, Method::PUT, &path, Some(&approved)).await.map(|_| ())
}

/// Whether the signer gave its certificate. Approved is not issued.
pub async fn is_issued(client: &Client, name: &str) -> Result<bool, Refusal> {
    if !is_plain_name(name) {
        return Ok(false);
    }
    let request = get(client, &format!("{REQUESTS}/{name}")).await?;
    let certificate = request.pointer("/status/certificate").and_then(Value::as_str);
    Ok(certificate.is_some_and(|text| !text.is_empty()))
}
