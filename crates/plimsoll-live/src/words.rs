//! Why the API did not answer, in words for the one who has to mend it.

use std::error::Error as _;

/// One request that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// Of HTTP, where there was an answer.
    pub status: Option<u16>,
    pub why: String,
    /// It may go well the next time.
    pub passing: bool,
}

pub fn refusal(error: &kube::Error) -> Trouble {
    if let kube::Error::Api(status) = error {
        return answered(status.code, &status.message);
    }
    let chain = chain(error);
    let (why, passing) = unanswered(&chain);
    Trouble { status: None, why, passing }
}

fn answered(code: u16, message: &str) -> Trouble {
    let why = match code {
        401 => "the API does not know the credential (401 Unauthorized): it has ended, or belongs to another cluster".into(),
        403 => format!("no permission: {message}; `plimsoll capture --rbac` prints the role to grant"),
        404 => "the API has no such thing (404)".into(),
        410 => "the list changed while it was read (410 Gone)".into(),
        429 => "the API is overloaded and asks to wait (429)".into(),
        code if code >= 500 => format!("the API server failed ({code}): {message}"),
        code => format!("the API refused it ({code}): {message}"),
    };
    Trouble { status: Some(code), why, passing: code == 410 || code == 429 || code >= 500 }
}

/// The error and what is behind it, the last being the nearest to the truth.
fn chain(error: &kube::Error) -> String {
    let mut all = error.to_string();
    let mut inner = error.source();
    while let Some(error) = inner {
        all.push_str(": ");
        all.push_str(&error.to_string());
        inner = error.source();
    }
    all
}

fn unanswered(chain: &str) -> (String, bool) {
    let lower = chain.to_ascii_lowercase();
    let has = |part: &str| lower.contains(part);
    if has("connection refused") {
        ("connection refused: nothing listens there".into(), true)
    } else if has("expired") {
        ("TLS: the server's certificate has expired".into(), false)
    } else if has("notvalidforname") || has("not valid for name") {
        ("TLS: the server's certificate is not for this name".into(), false)
    } else if has("unknownissuer") || has("unknown issuer") {
        ("TLS: the server's certificate is signed by an authority that the kubeconfig does not trust".into(), false)
    } else if has("certificaterequired") || has("certificate required") || has("bad certificate") {
        ("TLS: the server does not take the client certificate".into(), false)
    } else if has("certificate") || has("tls") || has("handshake") {
        (format!("TLS: {}", last(chain)), false)
    } else if has("dns") || has("lookup") || has("name or service not known") {
        ("its name does not resolve".into(), false)
    } else if has("timed out") || has("timeout") || has("deadline") {
        ("no answer in time".into(), true)
    } else if has("no route to host") || has("network is unreachable") {
        ("no route to it".into(), false)
    } else if has("reset") || has("closed") || has("broken pipe") || has("incomplete") {
        ("the connection was lost in the middle".into(), true)
    } else {
        (last(chain).to_string(), false)
    }
}

fn last(chain: &str) -> &str {
    chain.rsplit(": ").next().unwrap_or(chain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_to_fail_is_told_apart() {
        for (chain, told, passing) in [
            ("ServiceError: tcp connect error: Connection refused (os error 111)", "refused", true),
            ("ServiceError: invalid peer certificate: Expired", "has expired", false),
            ("client error (Connect): invalid peer certificate: UnknownIssuer", "authority", false),
            ("invalid peer certificate: NotValidForName", "not for this name", false),
            ("dns error: failed to lookup address information", "does not resolve", false),
            ("connection closed before message completed", "lost in the middle", true),
            ("something: else entirely", "else entirely", false),
        ] {
            let (why, may_pass) = unanswered(chain);
            assert!(why.contains(told), "{chain}: {why}");
            assert_eq!(may_pass, passing, "{chain}");
        }
        assert!(answered(403, "pods is forbidden").why.contains("--rbac"));
        assert!(answered(500, "etcd").passing && !answered(401, "").passing);
    }
}
