//! Where things stand, what is a default, what is never shown, and what hostile input may cost.

use std::time::{Duration, Instant};

use plimsoll_install::{File, Input, Judgement, Method, Refusal, Release, Verdict, judge};
use proptest::prelude::*;

const BASE: &str = include_str!("../../../fixtures/install/bases/bm-managed.install-config.yaml");
const AGENT_INSTALL: &str =
    include_str!("../../../fixtures/install/bases/agent-ha.install-config.yaml");
const NONE: &str = include_str!("../../../fixtures/install/bases/none-upi.install-config.yaml");
const AGENT: &str = include_str!("../../../fixtures/install/bases/agent-ha.agent-config.yaml");

fn ipi(text: &str) -> Judgement {
    let input = Input { install: Some(text), agent: None };
    judge(&input, Release::V4_18, Method::Ipi).unwrap_or_else(|error| panic!("{error}"))
}

fn only(judgement: &Judgement) -> &Refusal {
    assert_eq!(judgement.refusals.len(), 1, "{:#?}", judgement.refusals);
    &judgement.refusals[0]
}

/// The text that stands where a refusal points.
fn pointed_at<'t>(text: &'t str, refusal: &Refusal) -> &'t str {
    let line = text.lines().nth(refusal.line as usize - 1).unwrap_or_default();
    &line[refusal.column as usize - 1..]
}

#[test]
fn a_value_is_pointed_at_itself() {
    let text = BASE.replace("    - 192.168.111.5\n", "    - 10.0.0.5\n");
    let judgement = ipi(&text);
    let refusal = only(&judgement);
    assert_eq!(refusal.rule, "vip-outside-machine-network");
    assert_eq!(refusal.path, "platform.baremetal.apiVIPs");
    assert_eq!(
        refusal.message,
        "Invalid value: \"10.0.0.5\": IP expected to be in one of the machine networks: \
         192.168.111.0/24"
    );
    assert_eq!(pointed_at(&text, refusal), "10.0.0.5");
}

#[test]
fn what_is_missing_is_pointed_at_by_the_nearest_key_above() {
    let text = BASE.replacen("        address: ipmi://192.168.111.101\n", "", 1);
    let judgement = ipi(&text);
    let refusal = only(&judgement);
    assert_eq!(refusal.rule, "bmc-address-missing");
    assert_eq!(refusal.path, "platform.baremetal.hosts[0].BMC.Address");
    assert_eq!(pointed_at(&text, refusal), "bmc:");
    let without_name = BASE.replacen("    - name: master-1\n      role", "    - role", 1);
    let refusals = ipi(&without_name).refusals;
    assert_eq!(refusals[0].rule, "host-name-missing");
    assert_eq!(pointed_at(&without_name, &refusals[0]), "role: master");
}

#[test]
fn hosts_are_counted_in_the_order_of_the_installer_and_placed_in_that_of_the_file() {
    let text = BASE.replacen("role: master", "role: worker", 1).replacen(
        "bootMACAddress: 52:54:00:00:00:10",
        "bootMACAddress: 52:54:00:00:00:12",
        1,
    );
    let judgement = ipi(&text);
    let doubled =
        judgement.refusals.iter().find(|refusal| refusal.rule == "host-boot-mac-doubled").unwrap();
    // master-0 became a worker, so it comes after both masters.
    assert_eq!(doubled.path, "platform.baremetal.hosts[2].BootMACAddress");
    assert_eq!(pointed_at(&text, doubled), "52:54:00:00:00:12");
    let hosts =
        &judgement.config.install.as_ref().unwrap().platform.baremetal.as_ref().unwrap().hosts;
    assert_eq!(hosts[2].index_in_file, 0);
}

#[test]
fn an_unknown_key_is_a_warning_in_one_file_and_an_error_in_the_other() {
    let text = BASE.replace("baseDomain:", "basDomain: x\nbaseDomain:");
    let judgement = ipi(&text);
    assert_eq!(judgement.verdict, Verdict::Accept);
    assert_eq!(judgement.warnings[0].rule, "unknown-key");
    assert_eq!(pointed_at(&text, &judgement.warnings[0]), "basDomain: x");
    let agent = AGENT.replace("rendezvousIP:", "rendevousIP:");
    let input = Input { install: Some(AGENT_INSTALL), agent: Some(&agent) };
    let judgement = judge(&input, Release::V4_18, Method::Agent).unwrap();
    let refusal = only(&judgement);
    assert_eq!((refusal.rule, refusal.file), ("unknown-key", File::Agent));
    assert!(pointed_at(&agent, refusal).starts_with("rendevousIP"));
}

#[test]
fn a_default_knows_that_nobody_wrote_it() {
    let text = BASE.replace("  machineNetwork:\n  - cidr: 192.168.111.0/24\n", "");
    let judgement = ipi(&text);
    let networking = &judgement.config.install.as_ref().unwrap().networking;
    assert_eq!(networking.machine[0].value.to_string(), "10.0.0.0/16");
    assert!(!networking.machine[0].written);
    assert_eq!(
        text.lines().nth(networking.machine[0].place.line as usize - 1),
        Some("networking:")
    );
}

#[test]
fn only_bare_metal_needs_the_machine_api() {
    let off = "capabilities:\n  baselineCapabilitySet: None\n  additionalEnabledCapabilities:\n  \
               - CloudCredential\n  - Ingress\n  - OperatorLifecycleManager\n";
    let judgement = ipi(&[NONE, "\n", off].concat());
    assert_eq!(judgement.refusals, [], "{:#?}", judgement.refusals);
    let ours = BASE.replace(
        "platform:\n",
        &format!("{}platform:\n", off.replace("  - Ingress", "  - baremetal\n  - Ingress")),
    );
    let judgement = ipi(&ours);
    assert!(judgement.verdict == Verdict::Reject, "bare metal without MachineAPI");
}

#[test]
fn as_many_replicas_as_a_number_can_say_are_survived() {
    let most = "replicas: 9223372036854775807";
    let workers = AGENT_INSTALL.replace("replicas: 2", most);
    let edge = format!("- name: edge\n  {most}\n- name: worker\n  {most}\n");
    let pools = AGENT_INSTALL.replace("- name: worker\n  replicas: 2\n", &edge);
    let alone = pools.replace("replicas: 3", "replicas: 1");
    for text in [&workers, &pools, &alone, &workers.replace("replicas: 3", most)] {
        assert!(text.contains(most));
        for release in Release::ALL {
            let input = Input { install: Some(text), agent: Some(AGENT) };
            judge(&input, release, Method::Agent).unwrap();
        }
    }
}

#[test]
fn a_text_that_is_not_yaml_has_a_place() {
    let input = Input { install: Some("a: [1,\nb: 2\n"), agent: None };
    let error = judge(&input, Release::V4_18, Method::Ipi).unwrap_err();
    assert_eq!(error.file, File::Install);
    assert!(error.line >= 1 && !error.message.is_empty());
}

#[test]
fn secrets_are_in_no_part_of_an_answer() {
    let text = BASE
        .replace("password: password", "password: s3cr3t-bmc")
        .replace("address: ipmi://192.168.111.102", "address: https://joe:s3cr3t-url@10.0.0.1")
        .replace("provisioningNetwork: Managed", "provisioningNetwork: Disabled")
        .lines()
        .filter(|line| !line.starts_with("pullSecret") && !line.starts_with("sshKey"))
        .chain([
            "pullSecret: '{\"auths\": {\"quay.io\": {\"password\": \"s3cr3t-pull\"}}}'",
            "sshKey: s3cr3t-key",
            "additionalTrustBundle: |\n  -----BEGIN RSA PRIVATE KEY-----\n  s3cr3tkey\n",
            "proxy: {httpProxy: 'ftp://joe:s3cr3t-proxy@h'}",
        ])
        .collect::<Vec<_>>()
        .join("\n");
    let judgement = ipi(&text);
    assert!(judgement.refusals.len() >= 4, "{:#?}", judgement.refusals);
    let said = format!("{:?} {:?}", judgement.refusals, judgement.warnings);
    assert!(!said.contains("s3cr3t"), "{said}");
    let mut config = judgement.config;
    let install = config.install.as_mut().unwrap();
    assert_eq!(install.pull_secret_registries, ["quay.io"]);
    // The bundle and addresses are handed on as they are; what is a secret by its nature is not.
    install.trust_bundle.value.clear();
    install.proxy = None;
    if let Some(baremetal) = &mut install.platform.baremetal {
        baremetal.hosts.iter_mut().for_each(|host| host.bmc.address.value.clear());
    }
    assert!(!format!("{config:?}").contains("s3cr3t"));
}

#[test]
fn a_thousand_hosts_are_judged_in_no_time() {
    let (head, _) = BASE.split_once("    hosts:\n").unwrap();
    let tail = &BASE[BASE.find("pullSecret").unwrap()..];
    let mut text = head.replace("replicas: 2", "replicas: 997") + "    hosts:\n";
    for i in 0..1000 {
        let role = if i < 3 { "master" } else { "worker" };
        text.push_str(&format!(
            "    - name: host-{i}\n      role: {role}\n      bootMACAddress: 52:54:00:00:{:02x}:{:02x}\n      bmc:\n        address: ipmi://10.1.{}.{}\n        username: admin\n        password: x\n      rootDeviceHints:\n        deviceName: /dev/sda\n      networkConfig:\n        interfaces:\n        - name: eno1\n          type: ethernet\n          ipv4:\n            enabled: true\n            address:\n            - ip: 192.168.111.{}\n              prefix-length: 24\n",
            i / 256, i % 256, i / 250, i % 250 + 1, i % 250 + 1
        ));
    }
    text.push_str(tail);
    let start = Instant::now();
    let judgement = ipi(&text);
    let took = start.elapsed();
    assert_eq!(judgement.refusals, []);
    println!("{took:?}");
    // Well under 20 ms with optimisation; this is a debug build on a machine that others use.
    assert!(took < Duration::from_millis(500), "{took:?}");
}

#[test]
fn wide_input_is_not_quadratic() {
    let keys: String = (0..60_000).map(|i| format!("k{i}: 1\n")).collect();
    let vips: String =
        (0..60_000).map(|i| format!("    - 10.0.{}.{}\n", i / 256, i % 256)).collect();
    let text = BASE.replace("    - 192.168.111.5\n", &vips) + &keys;
    let start = Instant::now();
    let judgement = ipi(&text);
    assert_eq!(only(&judgement).rule, "vips-too-many");
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

/// Each with each, or all of them in each sentence, would fill any memory.
#[test]
fn what_is_told_of_hostile_lists_is_bounded() {
    let networks = "  - 10.0.0.0/8\n".repeat(20_000);
    let many_networks = BASE.replace("  - 172.30.0.0/16\n", &networks);
    assert_ne!(many_networks, BASE);
    let twice: String = (0..20_000).map(|i| format!("k{i}: 1\nk{i}: 1\n")).collect();
    let merges = format!("x: &a {{k: 1}}\ny:\n{}", "  <<: *a\n".repeat(60_000));
    for text in [many_networks, format!("{BASE}{twice}"), format!("{BASE}{merges}")] {
        let judgement = ipi(&text);
        let all = judgement.refusals.iter().chain(&judgement.later);
        let told: usize = all.map(|refusal| refusal.message.len() + refusal.path.len()).sum();
        assert!(!judgement.refusals.is_empty() && told < 50 << 20, "{told} bytes are told");
    }
}

fn survives(text: &str) -> bool {
    for release in [Release::V4_14, Release::V4_20] {
        for method in [Method::Ipi, Method::Agent] {
            for input in [
                Input { install: Some(text), agent: None },
                Input { install: Some(text), agent: Some(AGENT) },
                Input { install: Some(AGENT_INSTALL), agent: Some(text) },
            ] {
                let _ = judge(&input, release, method);
            }
        }
    }
    true
}

fn a_value() -> impl Strategy<Value = String> {
    prop_oneof![
        "[0-9a-f:./]{0,24}",
        "-?[0-9]{1,20}",
        prop_oneof![Just(i64::MAX), Just(i64::MIN), Just(1), Just(0)].prop_map(|n| n.to_string()),
        "[a-zA-Z0-9+:/@?%=\\[\\].-]{0,40}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_survived(text in "\\PC{0,200}") {
        prop_assert!(survives(&text));
    }

    #[test]
    fn any_piece_put_anywhere_is_survived(
        at in 0usize..3000,
        drop in 0usize..40,
        piece in "[ \\t\\n:#'\"&*!|>\\[\\]{},a-z0-9./~<-]{0,20}",
    ) {
        let at = at.min(BASE.len());
        let end = (at + drop).min(BASE.len());
        let text = [&BASE[..at], piece.as_str(), &BASE[end..]].concat();
        prop_assert!(survives(&text));
    }

    #[test]
    fn any_value_of_a_key_is_survived(
        base in prop_oneof![Just(BASE), Just(AGENT_INSTALL), Just(AGENT)],
        changes in proptest::collection::vec((0usize..100, a_value()), 1..4),
    ) {
        let mut lines: Vec<String> = base.lines().map(str::to_string).collect();
        for (line, value) in changes {
            let line = line % lines.len();
            if let Some((key, _)) = lines[line].clone().split_once(':') {
                lines[line] = format!("{key}: {value}");
            }
        }
        prop_assert!(survives(&lines.join("\n")));
    }
}
