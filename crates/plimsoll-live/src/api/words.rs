//! Why the API did not answer, in words for the one who has to mend it.

use std::borrow::Cow;
use std::error::Error;
use std::time::Duration;

use kube::client::AuthError;
use plimsoll_model::{clip, redact};
use serde::Deserialize;

/// One request that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trouble {
    /// Of HTTP, where there was an answer.
    pub status: Option<u16>,
    pub why: String,
    /// Nothing was sent: what is wrong is on this side.
    pub is_own: bool,
    /// It may go well the next time.
    pub passing: bool,
    /// Nothing came in the time that was given for it.
    pub silent: bool,
    /// The answer had begun.
    pub midway: bool,
    /// How long the server asks to wait before that.
    pub wait: Option<Duration>,
    /// Where to go on, of a list that changed while it was read.
    pub go_on: Option<String>,
    /// A kubelet refuses the API server: no right of the user's would help.
    pub of_kubelet: bool,
}

/// How the reason begins where it is a proxy that failed, and not the server behind it.
const PROXY: &str = "the proxy";
/// Said of a credential.
pub const NO_HEADER: &str =
    "has a character that no header of HTTP can have (a line feed in the middle?)";

impl Trouble {
    /// What stands in the way is named: without it the server would be blamed for a proxy that is down.
    pub fn behind(self, proxy: Option<&http::Uri>) -> Self {
        let Some(host) = proxy.and_then(http::Uri::host) else { return self };
        let port = proxy.and_then(http::Uri::port_u16);
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        let why = match self.why.strip_prefix(PROXY) {
            Some(rest) => format!("{PROXY} {host}{port}{rest}"),
            None if self.status.is_none() => {
                format!("{} (by way of {PROXY} {host}{port})", self.why)
            }
            None => return self,
        };
        Self { why, ..self }
    }
}

/// Whole seconds that are told: of less than one, one.
pub fn seconds(time: Duration) -> u128 {
    time.as_nanos().div_ceil(1_000_000_000).max(1)
}

/// In short, as of anything else that lacks.
pub const NO_LOGS: &str =
    "no permission: cannot get pods/log; 'plimsoll capture --rbac' prints the role to grant";

#[derive(Default, Deserialize)]
struct Status {
    #[serde(default)]
    message: String,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default, rename = "continue")]
    go_on: String,
}

pub fn refusal(error: &kube::Error) -> Trouble {
    if let kube::Error::Api(status) = error {
        return answered(status.code, status.message.as_bytes());
    }
    if credentials(error).is_some() {
        return Trouble { why: own_fault(error), is_own: true, ..Trouble::default() };
    }
    unanswered(&chain(error))
}

/// The credentials of the kubeconfig could not be had.
fn credentials(error: &kube::Error) -> Option<&AuthError> {
    match error {
        kube::Error::Auth(error) => Some(error),
        error => {
            let mut inner = error.source();
            while let Some(error) = inner {
                if let Some(found) = error.downcast_ref::<AuthError>() {
                    return Some(found);
                }
                inner = error.source();
            }
            None
        }
    }
}

/// Of the server's long sentence, what is not allowed and where: the same for everything of one kind in one place.
fn lacking(message: &str) -> Option<String> {
    let (_, rest) = message.split_once(" cannot ")?;
    let (verb, rest) = rest.split_once(" resource \"")?;
    let (resource, rest) = rest.split_once("\" in API group \"")?;
    let (group, rest) = rest.split_once('"')?;
    let group = if group.is_empty() { String::new() } else { format!(".{group}") };
    let place =
        match rest.split_once("in the namespace \"").and_then(|(_, name)| name.split_once('"')) {
            Some((name, _)) => format!("in {name}"),
            None => "in the cluster".into(),
        };
    Some(clip(&redact(&format!("cannot {verb} {resource}{group} {place}"))))
}

/// Why no client could be made. What a plugin wrote stays with it: it may be a credential.
pub fn own_fault(error: &kube::Error) -> String {
    let plugin = "its credential plugin";
    match credentials(error) {
        Some(AuthError::AuthExecStart(error)) => format!("{plugin} cannot be started: {error}"),
        Some(AuthError::AuthExecRun { cmd, out }) => {
            let said = String::from_utf8_lossy(&out.stderr);
            let last = said.lines().rev().find(|line| !line.trim().is_empty());
            let said = last.map(|line| format!(": {}", redact(line.trim()))).unwrap_or_default();
            clip(&format!("{plugin} '{}' failed ({}){said}", program(cmd), out.status))
        }
        Some(AuthError::AuthExecParse(_) | AuthError::ExecPluginFailed) => {
            format!("{plugin} gave no credential that can be read")
        }
        Some(AuthError::InvalidBearerToken(_)) => format!("its token {NO_HEADER}"),
        Some(error) => {
            let why = error.to_string();
            clip(&redact(why.lines().next().unwrap_or_default()))
        }
        None => {
            let why = chain(error);
            clip(&redact(why.lines().next().unwrap_or_default()))
        }
    }
}

/// Of a command as it is shown for programmers: variables first, then every word in quotes.
fn program(shown: &str) -> &str {
    let words = match shown.starts_with('"') {
        true => shown.get(1..),
        false => shown.split_once("\" \"").map(|(_, words)| words),
    };
    words.and_then(|words| words.split('"').next()).unwrap_or_default()
}

pub fn answered(code: u16, body: &[u8]) -> Trouble {
    let status: Status = serde_json::from_slice(body).unwrap_or_default();
    let message = match status.message.is_empty() {
        true => clip(&redact(&String::from_utf8_lossy(body))),
        false => clip(&redact(&without_path(&status.message))),
    };
    let by_kubelet = by_kubelet(code, &message);
    let of_kubelet = by_kubelet.is_some();
    let why = by_kubelet.unwrap_or_else(|| reason(code, &status.message, message));
    let go_on = Some(status.metadata.go_on).filter(|token| code == 410 && !token.is_empty());
    let passing = code == 429 || code >= 500;
    Trouble { status: Some(code), why, passing, go_on, of_kubelet, ..Trouble::default() }
}

fn reason(code: u16, said: &str, shown: String) -> String {
    match code {
        401 => "the API does not know the credential (401): it has ended, or belongs to another cluster".into(),
        403 if said.contains("User \"system:anonymous\"") => {
            "no credential: the kubeconfig names no user that the API knows (it sees system:anonymous); log in first".into()
        }
        403 => {
            let lacks = lacking(said).unwrap_or(shown);
            format!("no permission: {lacks}; 'plimsoll capture --rbac' prints the role to grant")
        }
        404 => "the API has no such thing (404)".into(),
        410 => "the list changed while it was read (410)".into(),
        429 => "the API is overloaded and asks to wait (429)".into(),
        code => {
            let word = if code >= 500 { "the API server failed" } else { "the API refused it" };
            let colon = if shown.trim().is_empty() { "" } else { ": " };
            format!("{word} ({code}){colon}{shown}")
        }
    }
}

/// What a kubelet says to the API server, which passes it on as an answer of its own.
fn by_kubelet(code: u16, message: &str) -> Option<String> {
    match code {
        403 => {
            let (_, rest) = message.split_once("Forbidden (user=")?;
            let (refused, _) = rest.split_once(')')?;
            Some(format!("the kubelet refuses the API server (403): user={refused}"))
        }
        401 if message.contains("( pods/log ") => {
            Some("the kubelet does not know the credential of the API server (401)".into())
        }
        _ => None,
    }
}

/// Of what the API server asked of another, `Get "https://HOST:PORT/PATH": WHY`, without the path: who
/// does not answer gives the same reason for everything that is asked of him.
fn without_path(message: &str) -> Cow<'_, str> {
    let found = (|| {
        let (url, why) = message.strip_prefix("Get \"")?.split_once("\": ")?;
        let (scheme, rest) = url.split_once("://")?;
        let (host, _) = rest.split_once(['/', '?'])?;
        Some(format!("{scheme}://{host}: {why}"))
    })();
    found.map_or(Cow::Borrowed(message), Cow::Owned)
}

/// The error and what is behind it, the last being the nearest to the truth.
fn chain(error: &dyn Error) -> String {
    let mut all = error.to_string();
    let mut inner = error.source();
    while let Some(error) = inner {
        let why = error.to_string();
        // Many an error says itself what is behind it.
        if !all.contains(&why) {
            all.push_str(": ");
            all.push_str(&why);
        }
        inner = error.source();
    }
    all
}

/// What each way to fail is called, by what stands in the error; the first that fits.
const WAYS: [(&[&str], &str, bool); 12] = [
    (
        &["causedasendentity"],
        "the server shows the certificate of an authority as its own (CA:TRUE), which oc takes and Plimsoll does not: \
         reach it by another way, such as --endpoint",
        false,
    ),
    (&["connection refused"], "connection refused: nothing listens there", true),
    (
        &["certificate expired", "expired"],
        "TLS: the server's certificate has expired, or our clock is wrong",
        false,
    ),
    (
        &["notvalidyet", "not valid yet"],
        "TLS: the server's certificate is not valid yet, or our clock is wrong",
        false,
    ),
    (
        &["notvalidforname", "not valid for name"],
        "TLS: the server's certificate is not for this name",
        false,
    ),
    (
        &["unknownissuer", "unknown issuer"],
        "TLS: the server's certificate is signed by an authority that the kubeconfig does not trust",
        false,
    ),
    (
        &[
            "certificaterequired",
            "certificate required",
            "bad certificate",
            "certificateunknown",
            "unknownca",
        ],
        "TLS: the server does not take the client certificate",
        false,
    ),
    (
        &["dns error", "failed to lookup", "name or service not known"],
        "its name does not resolve",
        false,
    ),
    (&["invalidcontenttype"], "what listens there speaks no TLS (plain HTTP?)", false),
    (&["no route to host", "network is unreachable", "unreachable"], "no route to it", true),
    (&["timed out", "timeout", "deadline"], "no answer in time", true),
    (
        &["reset", "closed", "broken pipe", "incomplete", "eof", "canceled"],
        "the connection was lost in the middle",
        true,
    ),
];

/// How errors of what goes through a proxy begin.
const TUNNELS: [&str; 2] = ["tunnel error: ", "socks error: "];

fn way(lower: &str) -> Option<(&'static str, bool)> {
    let found = WAYS.iter().find(|(signs, _, _)| signs.iter().any(|sign| lower.contains(sign)));
    found.map(|(_, why, passing)| (*why, *passing))
}

/// Before anything came to the server that is meant.
fn of_proxy(said: &str) -> Trouble {
    let is = |signs: &[&str]| signs.iter().any(|sign| said.contains(sign));
    let (why, passing) = if is(&["authorization required", "user/pass", "credentials"]) {
        let why = "does not take the name and password that it was given, or wants some (407)";
        (why.to_string(), false)
    } else if is(&["underlying connection", "io error", "end of file"]) {
        let why = way(said).map(|(why, _)| format!(": {why}")).unwrap_or_default();
        (format!("does not answer{why}"), true)
    } else {
        ("does not let us through to it".to_string(), true)
    };
    Trouble { why: format!("{PROXY} {why}"), passing, ..Trouble::default() }
}

fn unanswered(chain: &str) -> Trouble {
    let lower = chain.to_ascii_lowercase();
    if let Some((_, said)) = TUNNELS.iter().find_map(|tunnel| lower.split_once(*tunnel)) {
        return of_proxy(said);
    }
    let last = chain.rsplit(": ").next().unwrap_or(chain);
    let (why, passing) = match way(&lower) {
        Some((why, passing)) => (why.to_string(), passing),
        None if lower.contains("tls") || lower.contains("certificate") => {
            (format!("TLS: {last}"), false)
        }
        None => (clip(&redact(last)), false),
    };
    Trouble { why, passing, ..Trouble::default() }
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
            ("invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))", "as its own", false),
            ("invalid peer certificate: NotValidForName", "not for this name", false),
            ("dns error: failed to lookup address information", "does not resolve", false),
            ("connection closed before message completed", "lost in the middle", true),
            ("something: else entirely", "else entirely", false),
        ] {
            let trouble = unanswered(chain);
            assert!(trouble.why.contains(told), "{chain}: {}", trouble.why);
            assert_eq!(trouble.passing, passing, "{chain}");
        }
        assert!(answered(403, b"pods is forbidden").why.contains("--rbac"));
        let anonymous = br#"{"message": "pods is forbidden: User \"system:anonymous\" cannot list resource \"pods\" in API group \"\" at the cluster scope"}"#;
        let why = answered(403, anonymous).why;
        assert!(why.contains("no credential") && !why.contains("--rbac"), "{why}");
        let forbidden = br#"{"message": "pods \"etcd-master-0\" is forbidden: User \"few\" cannot get resource \"pods/log\" in API group \"\" in the namespace \"openshift-etcd\""}"#;
        let why = answered(403, forbidden).why;
        assert!(why.starts_with("no permission: cannot get pods/log in openshift-etcd; "), "{why}");
        assert!(answered(500, b"etcd").passing && !answered(401, b"").passing);
        let kubelet = br#"{"message": "Get \"https://192.0.2.1:10250/containerLogs/a/b/c?tailLines=9\": dial tcp 192.0.2.1:10250: connect: connection refused"}"#;
        assert_eq!(
            answered(500, kubelet).why,
            "the API server failed (500): https://192.0.2.1:10250: dial tcp 192.0.2.1:10250: connect: connection refused"
        );
        let gone = br#"{"message": "too old", "metadata": {"continue": "next"}}"#;
        assert_eq!(answered(410, gone).go_on.as_deref(), Some("next"));
    }

    #[test]
    fn a_kubelet_that_refuses_the_api_server_is_no_lack_of_rights() {
        let told = "the kubelet refuses the API server (403): user=system:kube-apiserver, verb=get, resource=nodes, subresource=proxy";
        let of_log = br#"{"message": "Forbidden (user=system:kube-apiserver, verb=get, resource=nodes, subresource=proxy) ( pods/log etcd-master-0)"}"#;
        let of_journal =
            b"Forbidden (user=system:kube-apiserver, verb=get, resource=nodes, subresource=proxy)";
        for body in [&of_log[..], &of_journal[..]] {
            let trouble = answered(403, body);
            assert_eq!((trouble.why.as_str(), trouble.of_kubelet), (told, true));
        }
        let unknown = br#"{"message": "the server has asked for the client to provide credentials ( pods/log etcd-master-0)"}"#;
        assert!(answered(401, unknown).of_kubelet && !answered(401, b"Unauthorized").of_kubelet);
        assert!(!answered(403, b"pods is forbidden").of_kubelet);
    }

    #[test]
    fn a_proxy_that_fails_is_named_and_not_the_api() {
        let proxy: http::Uri = "http://joe:secret@127.0.0.1:3128".parse().unwrap();
        for (chain, told) in [
            (
                "client error (Connect): tunnel error: failed to create underlying connection: tcp connect error: Connection refused (os error 111)",
                "the proxy 127.0.0.1:3128 does not answer: connection refused: nothing listens there",
            ),
            (
                "client error (Connect): SOCKS error: failed to create underlying connection",
                "the proxy 127.0.0.1:3128 does not answer",
            ),
            (
                "client error (Connect): tunnel error: unsuccessful",
                "the proxy 127.0.0.1:3128 does not let us through to it",
            ),
            ("deadline has elapsed", "no answer in time (by way of the proxy 127.0.0.1:3128)"),
        ] {
            assert_eq!(unanswered(chain).behind(Some(&proxy)).why, told, "{chain}");
        }
        let wants = unanswered("tunnel error: proxy authorization required").behind(Some(&proxy));
        assert!(wants.why.contains("(407)") && !wants.why.contains("secret"), "{}", wants.why);
        let own = answered(503, b"").behind(Some(&proxy)).why;
        assert_eq!(own, "the API server failed (503)");
        assert_eq!(unanswered("unexpected eof").behind(None).why, unanswered("eof").why);
    }

    #[test]
    fn no_time_that_was_waited_is_none() {
        assert_eq!(seconds(Duration::from_millis(990)), 1);
        assert_eq!(seconds(Duration::ZERO), 1);
        assert_eq!(seconds(Duration::from_secs(12)), 12);
    }
}
