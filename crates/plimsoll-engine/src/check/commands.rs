//! What each command of the installer would say of the files.

use plimsoll_install::{Judgement, Method, Stage};
use plimsoll_model::check::{CommandVerdict, Finding, InstallerVerdict, Severity};

use super::Asked;
use super::facts::Facts;

const BY_NMSTATE: &str = "network-config-refused-by-nmstate";
/// Where one of these holds nmstate refuses the whole network config; with each the fact that it is said of. The
/// agent's installer runs nmstatectl, and stops where there is none.
const REFUSED_BY_NMSTATE: [(&str, &str); 6] = [
    ("bond-mode-unknown", "bondModesUnknown"),
    ("interface-state-unknown", "interfaceStatesUnknown"),
    ("network-config-key-unknown", "networkKeysUnknown"),
    ("network-config-unreadable", "networkUnreadable"),
    ("network-key-unknown", "networkKeysBelow"),
    ("port-with-ip", "portsWithIp"),
];

pub fn verdict(accepts: bool) -> InstallerVerdict {
    if accepts { InstallerVerdict::Accept } else { InstallerVerdict::Reject }
}

/// In this run the agent's installer gives every network config to nmstatectl.
pub fn asks_nmstate(judgement: &Judgement) -> bool {
    judgement.not_checked.iter().any(|(rule, _)| *rule == BY_NMSTATE)
}

/// A family that is misspelt is all that nmstate drops without a word.
pub fn is_refused_by_nmstate(finding: &Finding, facts: &Facts) -> bool {
    let fact = REFUSED_BY_NMSTATE.iter().find(|(id, _)| *id == finding.id).map(|(_, fact)| fact);
    fact.is_some_and(|fact| facts.said(&finding.entity, fact).any(|said| !said.contains("(is ipv")))
}

/// `create cluster` looks at more than the commands before it.
pub fn commands(
    asked: &Asked<'_>,
    judgement: &Judgement,
    refuses: &dyn Fn(Stage) -> bool,
    by_nmstate: bool,
    findings: &[Finding],
) -> Vec<CommandVerdict> {
    let asks_dns = from_dns(judgement).filter(|_| !by_nmstate);
    let said = |command: &str, last: Stage| CommandVerdict {
        command: command.into(),
        verdict: verdict(!refuses(last)),
        unless: asks_dns.clone().filter(|_| refuses(last)),
    };
    match asked.method {
        Method::Ipi => {
            let mut all = vec![said("create manifests", Stage::Validate)];
            let install = judgement.config.install.as_ref();
            // Machines of which the installer knows nothing are installed by hand.
            if install.is_some_and(|config| config.platform.name() == "baremetal") {
                all.push(said("create cluster", Stage::Provision));
            }
            all
        }
        Method::Agent => {
            let is_network = |finding: &Finding| {
                finding.severity == Severity::Error && finding.path.contains("networkConfig")
            };
            let is_open = asks_nmstate(judgement) && !refuses(Stage::AgentHosts);
            let unless = (is_open && findings.iter().any(is_network))
                .then(|| "nmstatectl, which it runs, refuses a networkConfig".to_string());
            let told = said("agent create image", Stage::AgentHosts);
            vec![CommandVerdict { unless: unless.or(told.unless.clone()), ..told }]
        }
    }
}

/// Where VIPs that nobody wrote are all that it refuses: it asks the DNS for them first.
fn from_dns(judgement: &Judgement) -> Option<String> {
    let mut missing = judgement.refusals.iter().map(|refusal| refusal.rule);
    let domain = judgement.config.install.as_ref()?.cluster_domain();
    missing
        .all(|rule| rule == "vip-missing")
        .then(|| format!("its DNS has addresses for api.{domain} and test.apps.{domain}"))
}
