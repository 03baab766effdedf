//! What people are told to paste: it may be pasted twice, and by somebody tired.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

mod support;

use plimsoll_engine::pack::{RepairRule, VerbRule};

use support::PACK;

/// What a repair has people run.
fn of(rule: &RepairRule) -> impl Iterator<Item = &str> {
    let all = rule.steps.iter().flat_map(|step| match &step.verb {
        VerbRule::Hand { run, .. } => run,
        _ => &step.commands,
    });
    all.map(String::as_str)
}

/// The file that a command writes.
fn written(command: &str) -> Option<&str> {
    let (_, rest) = command.split_once(" > ")?;
    let file = rest.split([' ', ';', '\'', '"']).next()?;
    Some(file).filter(|file| !file.starts_with("/dev/"))
}

/// The second time it would be what the repair made of it.
#[test]
fn what_was_there_before_is_kept_once() {
    for rule in &PACK.repairs {
        let id = &rule.id;
        for line in of(rule) {
            for command in line.split("; ") {
                let is_kept = |file: &&str| file.contains("before") || file.contains("backup");
                if let Some(file) = written(command).filter(is_kept) {
                    assert!(command.contains(&format!("test -s {file} ||")), "{id}: {line}");
                }
            }
            let is_kept = [".before", ".failed"].iter().any(|end| line.contains(end));
            let is_copy = line.contains(" cp ") && is_kept;
            assert!(!is_copy || line.contains("test -e "), "{id}: {line}");
            assert!(!line.contains(">> ") || line.contains(" > "), "{id}: {line}");
        }
    }
}

/// A private key, a token, a pull secret: for nobody else, and not for longer than it is needed.
#[test]
fn a_secret_in_a_file_is_private_and_goes() {
    const SECRET: [&str; 5] = [
        " get secret",
        "create secret",
        "mcs-machine-config-content.json",
        "new-kubelet-bootstrap-kubeconfig",
        "MC_NAME -o yaml",
    ];
    let mut seen = 0;
    for rule in &PACK.repairs {
        for line in of(rule) {
            let is_secret = SECRET.iter().any(|part| line.contains(part));
            // A certificate is for everybody.
            let is_public = line.contains(r"tls\.crt") || line.contains("openssl x509");
            let Some(file) = written(line).filter(|_| is_secret && !is_public) else { continue };
            seen += 1;
            let id = &rule.id;
            assert!(line.contains("umask 077"), "{id}: {line}");
            let goes = |other: &str| {
                let moved = format!("mv -f {file} ");
                (other.contains("rm ") && other.contains(file)) || other.contains(&moved)
            };
            assert!(of(rule).any(goes), "{id}: {file} stays");
        }
    }
    assert!(seen > 10, "{seen}");
}

/// `oc get a,b NAME` fails for the kind that has none of that name.
#[test]
fn a_check_asks_for_a_name_of_one_kind() {
    for rule in &PACK.repairs {
        for run in rule.verify.iter().filter_map(|one| one.run.as_deref()) {
            let words: Vec<&str> = run.split_whitespace().collect();
            let is_of_two = words.windows(3).any(|three| match three {
                ["get", kinds, name] => kinds.contains(',') && !name.starts_with('-'),
                _ => false,
            });
            assert!(!is_of_two, "{}: {run}", rule.id);
            assert!(!run.contains(" <a"), "a shell reads that from a file: {}: {run}", rule.id);
        }
    }
}

/// Taking back what was kept the second time would leave the kubelet the administrator's for ever.
#[test]
fn the_borrowed_kubeconfig_is_never_kept_as_the_own_one() {
    let rule = PACK.repair("borrow-admin-identity").unwrap();
    let line = |what: &str| of(rule).find(|line| line.contains(what)).unwrap();
    let borrow = line("sudo install -m 0600");
    let refusal = borrow.find("grep -qs system:admin").unwrap();
    assert!(refusal < borrow.find("sudo cp -a").unwrap(), "{borrow}");
    let back = line("sudo mv /var/lib/kubelet/kubeconfig.before");
    let refusal = back.find("grep -qs system:admin /var/lib/kubelet/kubeconfig.before").unwrap();
    assert!(refusal < back.find("sudo mv").unwrap(), "{back}");
    assert!(of(rule).all(|line| !line.contains("kubelet-client-*.pem")), "the first of many");
}
