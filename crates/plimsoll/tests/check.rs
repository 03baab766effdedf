//! `plimsoll check` from the outside: examples, formats, fixes, and files that nobody should write.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

struct Answer {
    code: i32,
    out: String,
    err: String,
}

fn plimsoll(folder: &Path, arguments: &[&str]) -> Answer {
    let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    Answer {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn check(folder: &Path, arguments: &[&str]) -> Answer {
    plimsoll(folder, &[&["check"], arguments].concat())
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    let answer = check(folder, &[arguments, &["--output", "json"]].concat());
    serde_json::from_str(&answer.out).unwrap_or_else(|_| panic!("{}{}", answer.out, answer.err))
}

fn base(name: &str) -> String {
    let bases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/install/bases");
    fs_err::read_to_string(bases.join(name)).unwrap()
}

fn good() -> String {
    base("bm-disabled.install-config.yaml")
}

/// A folder with these files.
fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        fs_err::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

const RELEASES: [&str; 7] = ["4.14", "4.15", "4.16", "4.17", "4.18", "4.19", "4.20"];

#[test]
fn every_example_is_ready_in_every_release() {
    let place = folder(&[]);
    for kind in ["baremetal", "agent", "sno", "compact"] {
        let example = check(place.path(), &["--example", kind]);
        assert_eq!(example.code, 0, "{}", example.err);
        let name = format!("{kind}.yaml");
        fs_err::write(place.path().join(&name), &example.out).unwrap();
        let longest = example.out.lines().map(|line| line.chars().count()).max();
        assert!(longest < Some(120), "{kind} has a line of {longest:?}");
        for release in RELEASES {
            let answer = json(place.path(), &[&name, "--release", release]);
            assert_eq!(answer["verdict"], "ready", "{kind} {release}: {answer:#}");
            // Its domain, pull secret and certificates are made up, and that is told.
            let made_up = [
                "base-domain-reserved",
                "bmc-certificate-not-verified",
                "pull-secret-lacks-registry",
            ];
            for finding in answer["findings"].as_array().unwrap() {
                let id = finding["id"].as_str().unwrap();
                assert!(made_up.contains(&id), "{kind} {release}: {finding:#}");
            }
            assert_eq!(answer["files"], serde_json::json!([name]));
        }
        let fixed = check(place.path(), &[&name, "--fix"]);
        assert!(fixed.out.starts_with("Nothing here can be mended by rote."), "{}", fixed.out);
    }
}

#[test]
fn a_file_with_both_configs_is_both_and_places_hold() {
    let place = folder(&[]);
    let both = check(place.path(), &["--example", "agent"]).out;
    let broken = both.replacen("rendezvousIP: 192.0.2.10", "rendezvousIP: 192.0.2.1O", 1);
    let line = 1 + broken.lines().position(|line| line.starts_with("rendezvousIP")).unwrap();
    fs_err::write(place.path().join("both.yaml"), &broken).unwrap();
    let answer = json(place.path(), &["both.yaml"]);
    let all = answer["findings"].as_array().unwrap();
    let finding = all.iter().find(|one| one["id"] == "rendezvous-ip-not-an-address").unwrap();
    assert_eq!(
        (finding["line"].as_u64(), finding["file"].as_str()),
        (Some(line as u64), Some("both.yaml"))
    );
    assert_eq!(finding["evidence"][0]["text"], "rendezvousIP: 192.0.2.1O");
}

#[test]
fn every_format_is_an_answer_and_follows_its_schema() {
    let bad = good().replacen("provisioningNetwork: Disabled", "provisioningNetwork: off", 1);
    let place = folder(&[("install-config.yaml", bad.as_bytes())]);
    let answer = json(place.path(), &["install-config.yaml"]);
    let schema = plimsoll_model::check::Check::json_schema();
    assert!(jsonschema::is_valid(&schema, &answer), "{answer:#}");
    assert_eq!(
        (&answer["schema"], &answer["verdict"]),
        (&"plimsoll.check/v1".into(), &"blocked".into())
    );
    for (format, has) in [
        ("markdown", "provisioning-network-unknown"),
        ("html", "</html>"),
        ("junit", "<testsuites"),
        ("sarif", "\"2.1.0\""),
    ] {
        let answer = check(place.path(), &["install-config.yaml", "--output", format]);
        assert_eq!(answer.code, 1);
        assert!(answer.out.contains(has), "{format}: {}", answer.out);
    }
    let sarif = check(place.path(), &["install-config.yaml", "-o", "sarif"]).out;
    let sarif: Value = serde_json::from_str(&sarif).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert!(results.iter().any(|one| one["ruleId"] == "provisioning-network-unknown"));
}

#[test]
fn a_secret_is_in_no_answer() {
    let bad = good()
        .replacen("password: password", "password: hunter2-secret", 1)
        .replacen("        address: idrac", "        adress: idrac", 1)
        .replacen("Zm9vOmJhcg==", "c2VjcmV0LXNlY3JldA==", 1)
        .replacen("apiVIPs:", "apivips:", 1);
    let place = folder(&[("install-config.yaml", bad.as_bytes())]);
    for arguments in [
        &["--output", "json"][..],
        &["--output", "html"],
        &["--output", "sarif"],
        &["--output", "junit"],
        &["--explain"],
        &["--fix"],
    ] {
        let answer = check(place.path(), &[&["install-config.yaml"], arguments].concat());
        for secret in ["hunter2-secret", "c2VjcmV0"] {
            assert!(!answer.out.contains(secret) && !answer.err.contains(secret), "{}", answer.out);
        }
    }
}

#[test]
fn a_fix_writes_a_copy_and_shows_what_it_changes() {
    let bad = good()
        .replacen("provisioningNetwork: Disabled", "provisioningNetwork: disabled # no PXE", 1)
        .replacen("192.168.111.5", "192.168.112.5", 1);
    let place = folder(&[("install-config.yaml", bad.as_bytes())]);
    let answer = check(place.path(), &["install-config.yaml", "--fix"]);
    assert_eq!(answer.code, 1, "{}", answer.err);
    for says in [
        "--- install-config.yaml\n+++ install-config.fixed.yaml\n@@ -",
        "-    provisioningNetwork: disabled # no PXE\n+    provisioningNetwork: Disabled # no PXE\n",
        "Wrote install-config.fixed.yaml.",
        "What is left:",
        "vip-outside-machine-network",
    ] {
        assert!(answer.out.contains(says), "no {says:?} in\n{}", answer.out);
    }
    let copy = place.path().join("install-config.fixed.yaml");
    let fixed = fs_err::read_to_string(&copy).unwrap();
    assert_eq!(fixed, bad.replacen(": disabled #", ": Disabled #", 1));
    assert_eq!(fs_err::read_to_string(place.path().join("install-config.yaml")).unwrap(), bad);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs_err::metadata(&copy).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "others may read it: {mode:o}");
    }
    // A second time the copy is in the way, and stays as it is.
    fs_err::write(&copy, "mine").unwrap();
    let again = check(place.path(), &["install-config.yaml", "--fix"]);
    assert_eq!((again.code, again.out.as_str()), (2, ""));
    assert!(again.err.contains("is already there"), "{}", again.err);
    assert_eq!(fs_err::read_to_string(&copy).unwrap(), "mine");
    let other = check(place.path(), &["install-config.yaml", "--fix", "-o", "json"]);
    assert_eq!(other.code, 2);
}

#[test]
fn both_configs_in_one_file_are_mended_in_one_copy() {
    let place = folder(&[]);
    let both = check(place.path(), &["--example", "sno"]).out;
    let broken = both
        .replacen("networkType: OVNKubernetes", "networkType: ovnkubernetes", 1)
        .replacen("macAddress: 00:00:5e:00:53:10", "macAddress: 00-00-5E-00-53-10", 1)
        .replacen("mac-address: 00:00:5e:00:53:10", "mac-address: 00-00-5E-00-53-10", 1);
    fs_err::write(place.path().join("both.yaml"), &broken).unwrap();
    let answer = check(place.path(), &["both.yaml", "--fix"]);
    assert_eq!(answer.code, 0, "{}{}", answer.out, answer.err);
    let copy = place.path().join("both.fixed.yaml");
    assert_eq!(fs_err::read_to_string(copy).unwrap(), both);
}

/// What a hostile or broken file is answered with: an exit code and a part of what is said.
#[test]
fn files_that_nobody_should_write() {
    let laughs: String = (1..12)
        .map(|n| format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 10].join(", ")))
        .collect();
    let laughs = format!("a0: &a0 [x, x, x, x]\n{laughs}");
    let deep = format!("a: {}{}\n", "[".repeat(5000), "]".repeat(5000));
    let indented: String = (0..5000).map(|n| format!("{}k:\n", " ".repeat(n))).collect();
    let long =
        format!("{}\nsshKey: {}\n", good().replacen("sshKey:", "x:", 1), "A".repeat(3 << 20));
    let large = "#".repeat(5 << 20);
    let crlf = good().replace('\n', "\r\n");
    let bom = format!("\u{feff}{}", good());
    let twice = format!("{}baseDomain: other.example.com\n", good());
    let tabs = good().replacen("  name: ostest", "\tname: ostest", 1);
    let nul = good().replacen("ostest", "os\0test", 1);
    let latin: Vec<u8> = b"metadata:\n  name: caf\xe9\n".to_vec();
    let cases: [(&str, &[u8], i32, &str); 16] = [
        ("laughs", laughs.as_bytes(), 66, "more than 200000 values"),
        ("deep", deep.as_bytes(), 66, "1:"),
        ("indented", indented.as_bytes(), 66, ":"),
        ("long", long.as_bytes(), 1, "ssh-key-unreadable"),
        ("large", large.as_bytes(), 66, "larger than 4 MiB"),
        ("crlf", crlf.as_bytes(), 0, "READY"),
        ("bom", bom.as_bytes(), 0, "READY"),
        ("twice", twice.as_bytes(), 1, "key-doubled"),
        ("tabs", tabs.as_bytes(), 66, "tabs.yaml:3:2"),
        ("nul", nul.as_bytes(), 66, "3:"),
        ("latin", &latin, 66, "latin.yaml:2:12: this is no UTF-8"),
        ("empty", b"", 1, "api-version-missing"),
        ("comment", b"# nothing\n", 1, "api-version-missing"),
        ("list", b"- apiVersion: v1\n", 1, "value-of-wrong-type"),
        ("word", b"hello\n", 1, "value-of-wrong-type"),
        ("open", b"a: [1, 2\nb: 3\n", 66, "open.yaml:"),
    ];
    for (name, bytes, code, says) in cases {
        let file = format!("{name}.yaml");
        let place = folder(&[(&file, bytes)]);
        for fix in [&[][..], &["--fix"]] {
            let answer = check(place.path(), &[&[file.as_str()], fix].concat());
            let said = format!("{}{}", answer.out, answer.err);
            assert_eq!(
                answer.code,
                code,
                "{name}: {}",
                said.chars().take(2000).collect::<String>()
            );
            let unbroken = said.replace('\n', " ");
            let shown = said.chars().take(2000).collect::<String>();
            assert!(unbroken.contains(says), "{name}: {shown}");
            let is_narrow = answer.err.lines().all(|line| line.chars().count() <= 80);
            assert!(is_narrow, "{name}: {}", answer.err);
            assert!(!said.contains("panicked"), "{name}");
            assert!(said.len() < 20_000, "{name}: {} bytes", said.len());
        }
    }
}

#[test]
fn not_yaml_has_a_line_and_a_column() {
    let place = folder(&[("install-config.yaml", b"apiVersion: v1\nmetadata: name: x\n")]);
    let answer = check(place.path(), &["install-config.yaml"]);
    assert_eq!((answer.code, answer.out.as_str()), (66, ""));
    assert!(answer.err.contains("install-config.yaml:2:"), "{}", answer.err);
}

#[test]
fn folders_and_pairs() {
    let (install, agent) =
        (base("agent-ha.install-config.yaml"), base("agent-ha.agent-config.yaml"));
    let both = folder(&[
        ("install-config.yaml", install.as_bytes()),
        ("agent-config.yaml", agent.as_bytes()),
        ("other.yaml", good().as_bytes()),
    ]);
    assert_eq!(check(both.path(), &["."]).code, 0);
    assert_eq!(check(both.path(), &["install-config.yaml", "agent-config.yaml"]).code, 0);
    let twice = check(both.path(), &["install-config.yaml", "other.yaml"]);
    assert_eq!(twice.code, 2);
    assert!(twice.err.contains("are of one kind"), "{}", twice.err);
    let empty = folder(&[]);
    let answer = check(empty.path(), &["."]);
    assert_eq!(answer.code, 66);
    assert!(answer.err.contains("neither install-config.yaml nor agent-config.yaml"));
    for (arguments, code) in
        [(&["no-such.yaml"][..], 66), (&[], 2), (&["x.yaml", "--release", "4.13"], 2)]
    {
        assert_eq!(check(empty.path(), arguments).code, code, "{arguments:?}");
    }
}

#[test]
fn an_id_that_there_is_not_is_wrong_usage() {
    let place = folder(&[("install-config.yaml", good().as_bytes())]);
    for (option, given, meant) in [
        ("--only", "vip-outside-machine-netwrok", "vip-outside-machine-network"),
        ("--skip", "gateway-of-link", "gateway-off-link"),
        ("--skip", "key-in-othercase", "key-in-other-case"),
    ] {
        let answer = check(place.path(), &["install-config.yaml", option, given]);
        assert_eq!(answer.code, 2, "{}{}", answer.out, answer.err);
        assert!(answer.err.contains(&format!("{option} {given}")), "{}", answer.err);
        assert!(answer.err.contains(&format!("is {meant} meant?")), "{}", answer.err);
        assert_eq!(answer.out, "");
        assert_eq!(check(place.path(), &["install-config.yaml", "--skip", meant]).code, 0);
    }
    let answer = check(place.path(), &["install-config.yaml", "--only", "zzz"]);
    assert!(answer.code == 2 && !answer.err.contains("meant"), "{}", answer.err);
}

#[test]
fn of_an_unknown_key_only_the_key_is_quoted_and_every_one_is_told() {
    let bad = good()
        .replacen(
            "        password: password\n",
            "        pasword: hunter2\n        password: x\n",
            1,
        )
        .replacen("baseDomain:", "basDomain: hunter2\nbaseDomain:", 1)
        .replacen("networkType:", "netwrokType: hunter2\n  networkType:", 1);
    let place = folder(&[("install-config.yaml", bad.as_bytes())]);
    let answer = json(place.path(), &["install-config.yaml"]);
    let unknown: Vec<&Value> = answer["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["id"] == "unknown-key")
        .collect();
    assert_eq!(unknown.len(), 3, "{answer:#}");
    let mut quoted: Vec<_> =
        unknown.iter().map(|one| one["evidence"][0]["text"].as_str().unwrap()).collect();
    quoted.sort_unstable();
    assert_eq!(quoted, ["basDomain", "netwrokType", "pasword"]);
    let by_installer = unknown.iter().filter(|one| one["origin"] == "installer").count();
    assert_eq!(by_installer, 1, "it names the first alone");
    assert!(unknown.iter().all(|one| one["severity"] == "warning"), "{answer:#}");
    assert_eq!(answer["verdict"], "ready");
    for format in ["text", "json", "markdown", "html", "junit", "sarif"] {
        let said = check(place.path(), &["install-config.yaml", "--output", format, "--explain"]);
        assert!(!said.out.contains("hunter2") && !said.err.contains("hunter2"), "{}", said.out);
    }
}

#[test]
fn a_password_is_neither_shown_nor_seen_where_there_is_none() {
    let proxy = "proxy:\n  httpProxy: 'http://joe:hunter2/secret@proxy:3128'\n  \
                 httpsProxy: ftp://joe:pa@hunter2@proxy:3128\n";
    let bad = [&good().replacen("        password: password\n", "", 1), proxy].concat();
    let place = folder(&[("install-config.yaml", bad.as_bytes())]);
    let answer = json(place.path(), &["install-config.yaml"]);
    let findings = answer["findings"].as_array().unwrap();
    let missing = findings.iter().find(|one| one["id"] == "bmc-password-missing").unwrap();
    let message = missing["installer_message"].as_str().unwrap();
    assert!(message.ends_with("BMC.Password: Required value: missing Password"), "{message}");
    for format in ["text", "json", "markdown", "html", "junit", "sarif"] {
        let said = check(place.path(), &["install-config.yaml", "--output", format, "--explain"]);
        assert!(!said.out.contains("hunter2"), "{}", said.out);
    }
}

#[test]
fn what_is_not_wanted_is_suppressed_and_told() {
    let bad = good().replacen("Disabled", "off", 1).replacen("192.168.111.5", "192.168.112.5", 1);
    let place = folder(&[("install-config.yaml", bad.as_bytes())]);
    let ids = |arguments: &[&str]| -> (Vec<String>, i32) {
        let all = [&["install-config.yaml"], arguments].concat();
        let answer = json(place.path(), &all);
        let found = answer["findings"].as_array().unwrap().iter();
        let code = check(place.path(), &all).code;
        (found.map(|f| f["id"].as_str().unwrap().to_string()).collect(), code)
    };
    let (all, code) = ids(&[]);
    assert!(all.len() >= 2 && code == 1, "{all:?}");
    let one = "vip-outside-machine-network";
    assert_eq!(ids(&["--only", one]).0, [one]);
    assert!(!ids(&["--skip", one]).0.contains(&one.to_string()));
    let skips: Vec<&str> = all.iter().flat_map(|id| ["--skip", id]).collect();
    assert_eq!(ids(&skips), (Vec::new(), 0));
    let toml = all.iter().map(|id| {
        format!("[[suppress]]\nid = \"{id}\"\nreason = \"CHG-1\"\nuntil = \"2999-12-31\"\n")
    });
    fs_err::write(place.path().join("plimsoll.toml"), toml.collect::<String>()).unwrap();
    assert_eq!(ids(&[]), (Vec::new(), 0));
    let _: PathBuf = place.path().into();
}

fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// As the installer keeps a config in its state.
fn state_with(name: &str, text: &str) -> String {
    use base64::Engine as _;
    let data = base64::engine::general_purpose::STANDARD.encode(text);
    let file = serde_json::json!({ "Filename": name, "Data": data });
    serde_json::json!({ "*installconfig.InstallConfig": { "config": {}, "file": file } })
        .to_string()
}

#[test]
fn what_the_installer_consumed_is_judged_by_what_it_keeps() {
    let bad = good().replace("provisioningNetwork: \"Disabled\"", "provisioningNetwork: Off");
    let bad = bad.replace("baseDomain:", "publish: Sometimes\nbaseDomain:");
    let state = state_with("install-config.yaml", &bad);
    let place = folder(&[(".openshift_install_state.json", state.as_bytes())]);
    let answer = check(place.path(), &["."]);
    assert_eq!(answer.code, 1, "{}{}", answer.out, answer.err);
    assert!(
        answer.err.contains("the installer has consumed ./install-config.yaml"),
        "{}",
        answer.err
    );
    let place_of_it = "./.openshift_install_state.json:install-config.yaml:";
    assert!(answer.out.contains(place_of_it), "{}", answer.out);
    assert!(answer.out.contains("publish-unknown"), "{}", answer.out);
    let fix = check(place.path(), &[".", "--fix"]);
    assert_eq!(fix.code, 2, "{}", fix.err);
}

#[test]
fn a_folder_without_any_config_is_judged_by_its_age() {
    let place = folder(&[("bootstrap.ign", b"{}")]);
    let young = check(place.path(), &["."]);
    assert_eq!(young.code, 0, "{}{}", young.out, young.err);
    let said = "There is no config that the installer could judge.";
    assert!(unwrapped(&young.out).contains(said), "{}", young.out);
    assert!(young.err.contains("judged is only the age of what it made"), "{}", young.err);
    let old = json(place.path(), &[".", "--now", "2099-01-01T00:00:00Z"]);
    assert_eq!(old["verdict"], "blocked", "{old:#}");
    assert_eq!(old["findings"][0]["id"], "install-assets-expired");
    assert_eq!(old["files"], serde_json::json!([]));
    let empty = folder(&[]);
    assert_eq!(check(empty.path(), &["."]).code, 66);
}

#[test]
fn each_command_of_the_installer_has_its_own_verdict() {
    let bad = good().replacen("    apiVIPs:", "    libvirtURI: \"%%\"\n    apiVIPs:", 1);
    let place = folder(&[("install-config.yaml", bad.as_bytes())]);
    let answer = json(place.path(), &["install-config.yaml"]);
    let commands = serde_json::json!([
        { "command": "create manifests", "verdict": "accept" },
        { "command": "create cluster", "verdict": "reject" },
    ]);
    assert_eq!(answer["installer_commands"], commands, "{answer:#}");
    assert_eq!(answer["installer_verdict"], "reject");
    let all = answer["findings"].as_array().unwrap();
    let fault = all.iter().find(|it| it["id"] == "libvirt-uri-unreadable").unwrap();
    assert_eq!(fault["stage"], "provision", "{answer:#}");
    let text = unwrapped(&check(place.path(), &["install-config.yaml"]).out);
    let said = "'create manifests' would accept it, 'create cluster' would reject it.";
    assert!(text.contains(said), "{text}");
}

#[test]
fn a_pull_secret_that_goes_on_at_the_left_edge_hides_no_fix() {
    let good = good();
    let (head, tail) = good.split_at(good.find("pullSecret:").unwrap());
    let rest = tail.split_once('\n').unwrap().1;
    let secret = "pullSecret: '{\n\"auths\": {\"quay.io\": {\"auth\": \"Zm9vOmJhcg==\"}}\n}'\n";
    let bad = format!("{}{secret}{rest}", head.replacen("baseDomain:", "basedomain:", 1));
    let place = folder(&[("install-config.yaml", bad.as_bytes())]);
    let answer = check(place.path(), &["install-config.yaml", "--fix", "--yes"]);
    assert!(answer.out.contains("basedomain becomes baseDomain"), "{}{}", answer.out, answer.err);
}

#[test]
fn what_nmstate_refuses_the_agents_installer_refuses() {
    let install = base("agent-ha.install-config.yaml");
    let agent = base("agent-ha.agent-config.yaml");
    let (before, rest) = agent.split_once("  networkConfig:\n").unwrap();
    let (_, after) = rest.split_once("- hostname: master-1\n").unwrap();
    let with = |config: &str| format!("{before}{config}- hostname: master-1\n{after}");
    let once = |old: &str, new: &str| agent.replacen(old, new, 1);
    for (text, verdict, id) in [
        (agent.clone(), "accept", ""),
        (with("  networkConfig: {}\n"), "reject", "network-config-empty"),
        (with("  networkConfig:\n    interfaces: []\n"), "reject", "network-config-empty"),
        (once("state: up", "state: UP"), "reject", "interface-state-unknown"),
        (once("next-hop-address:", "next-hop:"), "reject", "network-key-unknown"),
        (once("    routes:", "    rotues:"), "reject", "network-config-key-unknown"),
        (once("- ip: 192", "- ip: x192"), "reject", "network-config-unreadable"),
        (once("      ipv4:", "      ip4:"), "accept", "network-config-unreadable"),
    ] {
        let place = folder(&[
            ("install-config.yaml", install.as_bytes()),
            ("agent-config.yaml", text.as_bytes()),
        ]);
        let answer = json(place.path(), &["."]);
        assert_eq!(answer["installer_verdict"], verdict, "{id}: {answer:#}");
        assert_eq!(answer["installer_commands"][0]["verdict"], verdict, "{id}");
        let told = answer["findings"].as_array().unwrap().iter().any(|it| it["id"] == id);
        assert_eq!(told, !id.is_empty(), "{id}: {answer:#}");
    }
}

/// Text that people paste into the wrong place: in no format, and in no diff.
#[test]
fn what_stands_in_the_wrong_place_is_in_no_answer() {
    let key =
        "-----BEGIN RSA PRIVATE KEY-----\n    hunter2hunter2\n    -----END RSA PRIVATE KEY-----";
    let network = "    provisioningNetwork: Disabled\n";
    let bmc = "        username: admin\n";
    for (old, new) in [
        (network, format!("{network}    additionalNTPServers:\n    - ntp://u:hunter2@h\n")),
        (network, format!("{network}    libvirtURI: qemu+ssh//u:hunter2@h/system\n")),
        ("  name: ostest\n", format!("  name: |\n    {key}\n")),
        ("  name: ostest\n", "  # root / hunter2\n  name: ostest\n  memo: hunter2\n".into()),
        ("sshKey:", "proxy:\n  noProxy: http://u:hunter2@h, b\nsshKey:".into()),
        (bmc, format!("        hunter2: x\n{bmc}")),
        (bmc, "        username: [hunter2]\n".into()),
    ] {
        assert!(good().contains(old), "{old}");
        // Something that can be mended stands beside it.
        let text = good().replacen(old, &new, 1).replacen("baseDomain:", "basedomain:", 1);
        let place = folder(&[("install-config.yaml", text.as_bytes())]);
        for format in ["text", "json", "markdown", "html", "junit", "sarif"] {
            let said = check(place.path(), &["install-config.yaml", "--output", format]);
            assert!(!said.out.contains("hunter2"), "{new} {format}: {}", said.out);
            assert!(!said.err.contains("hunter2"), "{new} {format}: {}", said.err);
        }
        let answer = json(place.path(), &["install-config.yaml"]);
        let schema = plimsoll_model::check::Check::json_schema();
        assert!(jsonschema::is_valid(&schema, &answer), "{new}: {answer:#}");
        let said = check(place.path(), &["install-config.yaml", "--fix", "--explain"]);
        assert!(!said.out.contains("hunter2"), "{new}: {}", said.out);
    }
}
