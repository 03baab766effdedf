//! Checks made by hand for the tests of the renderers.

use plimsoll_model::check::*;
use plimsoll_model::{EntityId, Evidence};

pub const FILE: &str = "install-config.yaml";

pub fn finding(id: &str, severity: Severity, line: u32, message: &str) -> Finding {
    Finding {
        id: id.into(),
        severity,
        origin: Origin::Plimsoll,
        stage: None,
        entity: EntityId::cluster_scoped("InstallConfig", "prod"),
        file: FILE.into(),
        path: "platform.baremetal".into(),
        line,
        column: 7,
        value: None,
        message: message.into(),
        installer_message: None,
        hint: None,
        why: None,
        follows: None,
        evidence: vec![],
    }
}

/// Nothing is wrong.
pub fn ready() -> Check {
    Check {
        schema: CHECK_SCHEMA.into(),
        release: "4.18".into(),
        files: vec![FILE.into()],
        verdict: CheckVerdict::Ready,
        installer_verdict: InstallerVerdict::Accept,
        installer_commands: vec![],
        findings: vec![],
        suppressed: vec![],
        not_checked: vec![],
        checked: 214,
    }
}

/// Two errors and a warning in the file, an error on the network, given in no order.
pub fn blocked() -> Check {
    let live = Finding {
        entity: EntityId::cluster_scoped("BareMetalHost", "master-2"),
        file: String::new(),
        path: String::new(),
        line: 0,
        column: 0,
        hint: Some("Give baseboard account 'ocp' the role Administrator on 10.46.121.12.".into()),
        evidence: vec![Evidence {
            source: "bmc:hosts.yaml".into(),
            path: "redfish/v1/AccountService/Accounts/3".into(),
            line: None,
            pointer: Some("/RoleId".into()),
            time: None,
            text: "RoleId: ReadOnly".into(),
        }],
        ..finding(
            "bmc-privilege",
            Severity::Error,
            0,
            "The BMC of master-2 lets 'ocp' read and not boot: its role is ReadOnly.",
        )
    };
    let vip = Finding {
        origin: Origin::Installer,
        stage: Some(InstallerStage::Validate),
        path: "platform.baremetal.apiVIPs[0]".into(),
        value: Some("10.46.124.13".into()),
        installer_message: Some(
            "platform.baremetal.apiVIPs: Invalid value: \"10.46.124.13\": IP expected to be in one \
             of the machine networks: 10.46.120.0/22"
                .into(),
        ),
        hint: Some("Append the subnet that holds the VIP to networking.machineNetwork.".into()),
        why: Some(
            "keepalived looks for an interface whose subnet holds the VIP.\n\nWhere there is none \
             the VIP comes up on no node, and the bootstrap waits for the API until it gives up \
             (openshift/installer, pkg/types/validation)."
                .into(),
        ),
        ..finding(
            "vip-outside-machine-network",
            Severity::Error,
            27,
            "VIP 10.46.124.13 is in no machine network (10.46.120.0/22).",
        )
    };
    let mac = Finding {
        entity: EntityId::cluster_scoped("BareMetalHost", "worker-1"),
        path: "platform.baremetal.hosts[4].bootMACAddress".into(),
        value: Some("52:54:00:AA:00:04".into()),
        column: 25,
        hint: Some("Read the MAC of the port that boots worker-1 from its BMC.".into()),
        why: Some("Ironic knows a host by its MAC: the second one never registers.".into()),
        follows: None,
        evidence: vec![Evidence {
            source: FILE.into(),
            path: FILE.into(),
            line: Some(52),
            pointer: Some("/platform/baremetal/hosts/3/bootMACAddress".into()),
            time: None,
            text: "bootMACAddress: 52:54:00:aa:00:04".into(),
        }],
        ..finding(
            "duplicate-mac",
            Severity::Error,
            61,
            "worker-0 and worker-1 boot from the same MAC 52:54:00:aa:00:04; only the case of its \
             letters differs.",
        )
    };
    let unverified = Finding {
        path: "platform.baremetal.hosts[0].bmc.disableCertificateVerification".into(),
        ..finding(
            "bmc-unverified",
            Severity::Warning,
            27,
            "Anybody between here and the BMC of master-0 can read its password.",
        )
    };
    let accepted = finding("ntp-missing", Severity::Warning, 9, "No source of time is named.");
    let left = |id: &str, why: &str| NotChecked { id: id.into(), why: why.into() };
    Check {
        verdict: CheckVerdict::Blocked,
        installer_verdict: InstallerVerdict::Reject,
        findings: vec![live, unverified, mac, vip],
        suppressed: vec![SuppressedFinding {
            finding: accepted,
            by: "the switch serves time, CHG-4711".into(),
        }],
        not_checked: vec![
            left("dns-api-missing", "the network was not asked"),
            left("pull-secret-expired", "the registry was not asked"),
            left("vip-in-use", "the network was not asked"),
        ],
        ..ready()
    }
}

/// What a file or a BMC may hold to break out of any of the formats.
pub const ATTACK: &str = "\u{1b}[31mred\u{1b}]0;owned\u{7} ]]> <script>alert(1)</script> \"quoted\" \
    'single' & &amp; \u{0}\u{fffe}\u{ffff}\u{202e}gnp |cell| `code` [link](http://evil.example)\n\
    # heading\n- item\n```\nout\r\nmore\ttab {0}";

/// The same everywhere, and ten thousand characters of it.
pub fn hostile() -> Check {
    let text = format!("{ATTACK}{}", "x".repeat(10_000));
    let proof = Evidence {
        source: text.clone(),
        path: text.clone(),
        line: None,
        pointer: Some(text.clone()),
        time: None,
        text: text.clone(),
    };
    // A slash would move the borders between its parts.
    let name = text.replace('/', "");
    let some = || Some(text.clone());
    let bad = |file: &str, at: u32| Finding {
        id: text.clone(),
        entity: EntityId::namespaced("Kind", &name, &name),
        file: file.into(),
        path: text.clone(),
        line: at,
        column: at,
        value: some(),
        installer_message: some(),
        hint: some(),
        why: Some(format!("{text}\n\n").repeat(50)),
        follows: None,
        evidence: vec![proof.clone(); 3],
        ..finding("", Severity::Error, 0, &text)
    };
    Check {
        release: text.clone(),
        files: vec![text.clone(), "漢字".repeat(5_000)],
        verdict: CheckVerdict::Blocked,
        installer_verdict: InstallerVerdict::Reject,
        findings: vec![
            bad(&text, u32::MAX),
            bad("", 0),
            bad(&"漢字".repeat(5_000), 1),
            Finding { severity: Severity::Warning, ..bad("/etc/\u{1b}x", 0) },
        ],
        suppressed: vec![SuppressedFinding { finding: bad(&text, 1), by: text.clone() }; 9],
        not_checked: (0..50)
            .map(|at| NotChecked { id: format!("{at}{text}"), why: format!("{text}{}", at % 9) })
            .collect(),
        checked: u64::MAX,
        ..ready()
    }
}
