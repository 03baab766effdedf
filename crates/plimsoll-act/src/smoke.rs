//! A small workload that proves what conditions only claim: that a new namespace and a new pod come to
//! run. It is made, waited for and taken away, and nothing else is touched.

use std::time::{Duration, Instant};

use http::Method;
use kube::Client;
use serde_json::{Value, json};

use crate::ask::{Refusal, ask, get, list};

/// Every name of it begins like this, so that what a killed run left is found.
pub const PREFIX: &str = "plimsoll-smoke-";
const NAME: &str = "plimsoll-smoke";
/// Where an image is that the cluster has already pulled: namespace and container.
const IMAGES: [(&str, &str); 3] = [
    ("openshift-dns", "dns-node-resolver"),
    ("openshift-multus", "kube-multus"),
    ("openshift-ingress-canary", "serve-healthcheck-canary"),
];
const POLL: Duration = Duration::from_secs(2);

/// What is going to be made.
#[derive(Clone, Debug)]
pub struct Smoke {
    pub namespace: String,
    pub image: String,
}

/// An image that runs in the cluster already, so that only the cluster is tried and no registry.
pub async fn image(client: &Client) -> Result<Option<String>, Refusal> {
    for (namespace, container) in IMAGES {
        let pods = list(client, &format!("/api/v1/namespaces/{namespace}/pods")).await?;
        let running = pods.iter().filter(|pod| pod["status"]["phase"] == "Running");
        let containers = running.filter_map(|pod| pod["spec"]["containers"].as_array()).flatten();
        let images = containers.filter(|one| one["name"] == container);
        if let Some(image) = images.filter_map(|one| one["image"].as_str()).next() {
            return Ok(Some(image.into()));
        }
    }
    Ok(None)
}

impl Smoke {
    /// `suffix` makes the names of two runs differ.
    pub fn new(suffix: &str, image: String) -> Self {
        Self { namespace: format!("{PREFIX}{suffix}"), image }
    }

    pub async fn make(&self, client: &Client) -> Result<(), Refusal> {
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": self.namespace, "labels": {"app.kubernetes.io/managed-by": "plimsoll"}},
        });
        ask(client, Method::POST, "/api/v1/namespaces", Some(&namespace)).await?;
        let deployments = format!("/apis/apps/v1/namespaces/{}/deployments", self.namespace);
        ask(client, Method::POST, &deployments, Some(&self.deployment())).await.map(|_| ())
    }

    fn deployment(&self) -> Value {
        let labels = json!({"app": NAME});
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": NAME, "labels": labels},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {
                        "terminationGracePeriodSeconds": 0,
                        "automountServiceAccountToken": false,
                        "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
                        "containers": [{
                            "name": "sleep", "image": self.image, "imagePullPolicy": "IfNotPresent",
                            "command": ["/bin/sh", "-c", "sleep 3600"],
                            "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}},
                            "securityContext": {"allowPrivilegeEscalation": false,
                                "capabilities": {"drop": ["ALL"]}},
                        }],
                    },
                },
            },
        })
    }

    /// Waits until it runs, or says why it does not.
    pub async fn runs(&self, client: &Client, limit: Duration) -> Result<(), String> {
        let path = format!("/apis/apps/v1/namespaces/{}/deployments/{NAME}", self.namespace);
        let until = Instant::now() + limit;
        loop {
            let seen = get(client, &path).await;
            let available =
                seen.as_ref().ok().and_then(|one| one["status"]["availableReplicas"].as_i64());
            if available.is_some_and(|count| count > 0) {
                return Ok(());
            }
            if Instant::now() >= until {
                let why = match seen {
                    Ok(_) => self.why_not(client).await,
                    Err(refusal) => refusal.to_string(),
                };
                return Err(format!("it did not run within {} s: {why}", limit.as_secs()));
            }
            tokio::time::sleep(POLL).await;
        }
    }

    async fn why_not(&self, client: &Client) -> String {
        let pods = list(client, &format!("/api/v1/namespaces/{}/pods", self.namespace)).await;
        let pods = match pods {
            Ok(pods) if pods.is_empty() => return "no pod was made for it".into(),
            Ok(pods) => pods,
            Err(refusal) => return refusal.to_string(),
        };
        let said = pods.iter().flat_map(|pod| {
            let waiting = pod["status"]["containerStatuses"].as_array().into_iter().flatten();
            let waiting = waiting.filter_map(|one| one["state"]["waiting"]["reason"].as_str());
            let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
            let conditions = conditions.filter(|one| one["status"] == "False");
            waiting.chain(conditions.filter_map(|one| one["message"].as_str())).collect::<Vec<_>>()
        });
        let said = said.map(str::to_string).next();
        said.map_or("its pod waits, and does not say for what".into(), |text| {
            plimsoll_model::clip(&text)
        })
    }

    /// Takes away all of it, and waits until it is gone. What is gone already is no fault.
    pub async fn clear(&self, client: &Client, limit: Duration) -> Result<(), String> {
        let namespace = format!("/api/v1/namespaces/{}", self.namespace);
        let deployment = format!("/apis/apps/v1/namespaces/{}/deployments/{NAME}", self.namespace);
        for path in [&deployment, &namespace] {
            match ask(client, Method::DELETE, path, None).await {
                Ok(_) => {}
                Err(refusal) if matches!(refusal.code, Some(404 | 409)) => {}
                Err(refusal) => return Err(self.left(&refusal.to_string())),
            }
        }
        let until = Instant::now() + limit;
        loop {
            match get(client, &namespace).await {
                Err(refusal) if refusal.code == Some(404) => return Ok(()),
                _ if Instant::now() >= until => {
                    return Err(self.left(&format!("it is not gone after {} s", limit.as_secs())));
                }
                _ => tokio::time::sleep(POLL).await,
            }
        }
    }

    fn left(&self, why: &str) -> String {
        let namespace = &self.namespace;
        format!("namespace {namespace} is left ({why}); oc delete namespace {namespace}")
    }
}
