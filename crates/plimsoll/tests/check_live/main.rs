//! `check --live` from the command line, against real servers and machines that are none. All of it is
//! on the loopback, or in network namespaces that the tests make.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot be set up has to stop; servers of time tell the time"
)]

mod bmcs;
#[path = "../../../plimsoll-probe/tests/support/mod.rs"]
mod support;

use std::net::UdpSocket;
use std::process::Command;
use std::time::Duration;

use base64::Engine;
use plimsoll_probe::Target;
use serde_json::{Value, json};
use support::mirror::{Mirror, PASSWORD as MIRROR_PASSWORD, REPOSITORY, USER, Wants, can_run, pem};
use support::namespace::{in_own_network, sh};
use support::real::{Server, have};
use tempfile::TempDir;

const SYSTEM: &str = "/redfish/v1/Systems/System.Embedded.1";
const PASSWORD: &str = "secret-of-the-bmc";

/// A config of three masters, as far as a test does not say otherwise.
struct Config {
    hosts: Vec<(String, String)>,
    resolver: Option<&'static str>,
    vips: (&'static str, &'static str),
    extra: String,
    platform: String,
    auth: String,
    /// The serial number that each host hints at.
    hint: Option<&'static str>,
}

impl Default for Config {
    fn default() -> Self {
        let hosts = (0..3).map(|number| {
            let address = format!("redfish-virtualmedia+http://127.0.0.1:{}{SYSTEM}", 10 + number);
            (format!("master-{number}"), address)
        });
        Self {
            hosts: hosts.collect(),
            resolver: None,
            vips: ("10.77.0.5", "10.77.0.6"),
            extra: String::new(),
            platform: String::new(),
            auth: base64::engine::general_purpose::STANDARD.encode("foo:bar"),
            hint: None,
        }
    }
}

impl Config {
    fn of(bmcs: &[String]) -> Self {
        let names = (0..).map(|number| format!("master-{number}"));
        Self { hosts: names.zip(bmcs.iter().cloned()).collect(), ..Self::default() }
    }

    fn text(&self) -> String {
        let mut text = format!(
            "apiVersion: v1\nmetadata:\n  name: lab\nbaseDomain: example.com\nnetworking:\n  networkType: OVNKubernetes\n  machineNetwork:\n  - cidr: 10.77.0.0/24\n  clusterNetwork:\n  - cidr: 10.128.0.0/14\n    hostPrefix: 23\n  serviceNetwork:\n  - 172.30.0.0/16\ncontrolPlane:\n  name: master\n  replicas: 3\ncompute:\n- name: worker\n  replicas: 0\nplatform:\n  baremetal:\n    apiVIPs:\n    - {}\n    ingressVIPs:\n    - {}\n    provisioningNetwork: Disabled\n{}    hosts:\n",
            self.vips.0, self.vips.1, self.platform
        );
        for (number, (name, address)) in self.hosts.iter().enumerate() {
            text += &format!(
                "    - name: {name}\n      role: master\n      bootMACAddress: b0:7b:25:00:11:2{}\n      bmc:\n        address: {address}\n        username: admin\n        password: {PASSWORD}\n",
                number + 1
            );
            if let Some(serial) = self.hint {
                text += &format!("      rootDeviceHints:\n        serialNumber: {serial}\n");
            }
            if let Some(resolver) = self.resolver {
                text += &format!(
                    "      networkConfig:\n        interfaces:\n        - name: eno1\n          type: ethernet\n          state: up\n          ipv4:\n            enabled: true\n            dhcp: false\n            address:\n            - ip: 10.77.0.1{number}\n              prefix-length: 24\n        dns-resolver:\n          config:\n            server:\n            - {resolver}\n        routes:\n          config:\n          - destination: 0.0.0.0/0\n            next-hop-address: 10.77.0.1\n            next-hop-interface: eno1\n"
                );
            }
        }
        let secret = json!({"auths": {"quay.io": {"auth": self.auth}}});
        text + &format!(
            "pullSecret: '{secret}'\nsshKey: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEdnsOcao1hlE7xkDzdU0dqYrYQxlRUl43ek0FMGYGmh throwaway@example.com\n{}",
            self.extra
        )
    }

    fn check(&self, live: &str, more: &[&str]) -> Answer {
        Answer::of(&self.text(), live, more)
    }
}

struct Answer {
    json: Value,
    /// Everything that was printed.
    text: String,
}

/// What the config of these tests is told for without anybody having looked outside.
const OF_THE_FILE: [&str; 8] = [
    "base-domain-reserved",
    "bmc-certificate-not-verified",
    "bmc-driver-not-for-dell",
    "bmc-over-http",
    "mirror-without-pull-secret",
    "mirror-ca-missing",
    "pull-secret-lacks-registry",
    "time-servers-missing",
];

impl Answer {
    fn of(config: &str, live: &str, more: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        fs_err::write(folder.path().join("install-config.yaml"), config).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
            .args(["check", "install-config.yaml", live, "--output", "json"])
            .args(["--timeout", "120"])
            .args(OF_THE_FILE.iter().flat_map(|id| ["--skip", id]))
            .args(more)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, talk) = (text(&output.stdout), text(&output.stderr));
        let json: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{talk}"));
        let blocked = json["verdict"] == "blocked";
        assert_eq!(output.status.code(), Some(i32::from(blocked)), "{talk}");
        for secret in [PASSWORD, MIRROR_PASSWORD] {
            assert!(!out.contains(secret) && !talk.contains(secret), "{out}{talk}");
        }
        Self { json, text: format!("{out}{talk}") }
    }

    /// `id entity`, of what Plimsoll itself says.
    fn found(&self) -> Vec<String> {
        let findings = self.json["findings"].as_array().unwrap();
        let own = findings.iter().filter(|finding| finding["origin"] == "plimsoll");
        let mut found: Vec<String> = own
            .map(|finding| {
                let text = |key: &str| finding[key].as_str().unwrap();
                format!("{} {}", text("id"), text("entity"))
            })
            .collect();
        // The resolvers of these tests are on this machine.
        found.retain(|one| !one.starts_with("dns-server-is-loopback"));
        found.sort();
        found
    }

    fn finding(&self, id: &str) -> &Value {
        let findings = self.json["findings"].as_array().unwrap();
        let found = findings.iter().find(|finding| finding["id"] == id);
        found.unwrap_or_else(|| panic!("no {id} in {}", self.text))
    }

    fn not_checked(&self) -> Vec<String> {
        let all = self.json["not_checked"].as_array().unwrap();
        let text = |each: &Value, key: &str| each[key].as_str().unwrap().to_string();
        all.iter().map(|each| format!("{}: {}", text(each, "id"), text(each, "why"))).collect()
    }
}

fn dnsmasq(records: &[&str]) -> Server {
    let mut command = Command::new("dnsmasq");
    command
        .args(["-k", "-C", "/dev/null", "--no-resolv", "--no-hosts", "--bind-interfaces"])
        .args(["--pid-file", "--user=root", "--listen-address=127.0.0.53", "--port=53"])
        .arg("--local=/example.com/")
        .args(["--local=/10.in-addr.arpa/"])
        .args(records);
    let server = Server::start(&mut command);
    let ready = || std::net::TcpStream::connect("127.0.0.53:53").is_ok();
    for _ in 0..600 {
        if ready() {
            return server;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("the resolver does not start");
}

#[test]
fn names_are_asked_of_the_resolvers_of_the_nodes() {
    let test = "names_are_asked_of_the_resolvers_of_the_nodes";
    if !have("dnsmasq-base", "dnsmasq") || !in_own_network(test) {
        return;
    }
    sh("ip link set lo up");
    let config = Config { resolver: Some("127.0.0.53"), ..Config::default() };
    let apps = "--address=/apps.lab.example.com/10.77.0.6";
    let nodes = [0, 1, 2].map(|n| format!("--host-record=master-{n}.lab.example.com,10.77.0.1{n}"));
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    {
        let all = [&["--host-record=api.lab.example.com,10.77.0.5", apps][..], &nodes].concat();
        let _server = dnsmasq(&all);
        let answer = config.check("--live=dns", &[]);
        assert_eq!(answer.found(), Vec::<String>::new(), "{}", answer.text);
        let asked = answer.not_checked();
        for part in ["vip", "bmc", "hardware", "ports", "host"] {
            assert!(asked.contains(&format!("{part}: not asked: --live={part}")), "{asked:?}");
        }
        let lines = asked.iter().filter(|line| line.contains("not asked")).count();
        assert_eq!(
            lines, 5,
            "nothing about clocks and mirrors, which the config has none of: {asked:?}"
        );
    }
    {
        let wrong = [
            "--host-record=api.lab.example.com,10.77.0.9",
            "--host-record=master-0.lab.example.com,10.77.0.99",
            nodes[1],
        ];
        let _server = dnsmasq(&wrong);
        let answer = config.check("--live=dns", &[]);
        let expected = [
            "apps-wildcard-missing InstallConfig/lab",
            "dns-missing-or-wrong InstallConfig/lab",
            "node-name-wrong InstallHost/master-0",
            "node-reverse-missing InstallHost/master-0",
            "node-reverse-missing InstallHost/master-2",
        ];
        assert_eq!(answer.found(), expected, "{}", answer.text);
        let api = answer.finding("dns-missing-or-wrong");
        let message = api["message"].as_str().unwrap();
        assert!(
            message.contains("api.lab.example.com is 10.77.0.9, not 10.77.0.5 (127.0.0.53)"),
            "{message}"
        );
        assert_eq!((&api["path"], &api["line"]), (&json!("baseDomain"), &json!(4)));
        let proof = &api["evidence"][0];
        assert_eq!(proof["path"], "probes/probes.json");
        assert!(proof["text"].as_str().unwrap().contains("127.0.0.53 says of api"), "{proof}");
        let apps = answer.finding("apps-wildcard-missing")["message"].as_str().unwrap();
        assert!(apps.contains("*.apps.lab.example.com does not resolve"), "{apps}");
        // Another one that is silent takes nothing from what this one says.
        let two = Some("127.0.0.53\n            - 127.0.0.54");
        let two = Config { resolver: two, ..Config::default() };
        let answer = two.check("--live=dns", &["--request-timeout", "1"]);
        let found = answer.found();
        for id in ["apps-wildcard-missing", "dns-missing-or-wrong", "dns-resolver-silent"] {
            assert!(found.contains(&format!("{id} InstallConfig/lab")), "{}", answer.text);
        }
        let silent = answer.finding("dns-resolver-silent")["message"].as_str().unwrap();
        assert!(silent.contains("127.0.0.54") && !silent.contains("127.0.0.53"), "{silent}");
    }
    {
        let all = [
            &[
                "--address=/lab.example.com/10.77.0.6",
                "--host-record=api.lab.example.com,10.77.0.5",
            ][..],
            &nodes,
        ]
        .concat();
        let _server = dnsmasq(&all);
        let answer = config.check("--live=dns", &[]);
        assert_eq!(
            answer.found(),
            ["dns-wildcard-catches-all InstallConfig/lab"],
            "{}",
            answer.text
        );
    }
    let answer = config.check("--live=dns", &["--request-timeout", "1"]);
    assert_eq!(answer.found(), ["dns-resolver-silent InstallConfig/lab"], "{}", answer.text);
    assert!(
        !answer.text.contains("apps-wildcard-missing"),
        "what it hides is not told: {}",
        answer.text
    );
}

#[test]
fn a_vip_that_somebody_has_is_named_with_its_mac() {
    let test = "a_vip_that_somebody_has_is_named_with_its_mac";
    if !in_own_network(test) {
        return;
    }
    sh("ip link set lo up
        ip link add br0 type bridge
        ip link set br0 up
        ip addr add 10.77.0.100/24 dev br0
        ip netns add n1
        ip link add v1 type veth peer name e1
        ip link set e1 netns n1
        ip link set v1 master br0 up
        ip -n n1 link set e1 address 52:54:00:00:00:01 up
        ip -n n1 addr add 10.77.0.5/24 dev e1
        ip -n n1 addr add 10.77.0.2/24 dev e1
        ip route add 10.88.0.0/24 via 10.77.0.2");
    let answer = Config::default().check("--live=vip", &[]);
    assert_eq!(answer.found(), ["vip-in-use VIP/10.77.0.5"], "{}", answer.text);
    let finding = answer.finding("vip-in-use");
    let message = finding["message"].as_str().unwrap();
    assert!(message.contains("MAC 52:54:00:00:00:01"), "{message}");
    assert_eq!(finding["path"], "platform.baremetal.apiVIPs[0]");
    let far = Config { vips: ("10.88.0.5", "10.88.0.6"), ..Config::default() };
    let answer = far.check("--live=vip", &["--request-timeout", "1"]);
    assert_eq!(answer.found(), Vec::<String>::new(), "{}", answer.text);
    let told = answer.not_checked();
    assert!(told.iter().any(|line| line.contains("behind the router 10.77.0.2")), "{told:?}");
}

/// Answers on UDP 123 as if it were so many seconds ahead, until the test ends.
fn ntp(address: &str, ahead: i64) {
    let socket = UdpSocket::bind((address, 123)).unwrap();
    std::thread::spawn(move || {
        let mut packet = [0; 128];
        while let Ok((_, from)) = socket.recv_from(&mut packet) {
            let time = jiff::Timestamp::now().as_second() + 2_208_988_800 + ahead;
            let stamp = (u64::try_from(time).unwrap() << 32).to_be_bytes();
            let mut reply = [0; 48];
            (reply[0], reply[1]) = (4 << 3 | 4, 1);
            reply[12..16].copy_from_slice(b"GPS\0");
            reply[24..32].copy_from_slice(&packet[40..48]);
            reply[32..40].copy_from_slice(&stamp);
            reply[40..48].copy_from_slice(&stamp);
            let _ = socket.send_to(&reply, from);
        }
    });
}

#[test]
fn servers_of_time_are_held_against_this_clock() {
    if !in_own_network("servers_of_time_are_held_against_this_clock") {
        return;
    }
    sh("ip link set lo up");
    for (address, ahead) in
        [("127.0.0.1", 0), ("127.0.0.2", 1), ("127.0.0.3", 900), ("127.0.0.4", 901)]
    {
        ntp(address, ahead);
    }
    let of = |servers: &[&str]| {
        let list: String = servers.iter().map(|server| format!("    - {server}\n")).collect();
        let platform = format!("    additionalNTPServers:\n{list}");
        Config { platform, ..Config::default() }.check("--live=clock", &["--request-timeout", "2"])
    };
    assert_eq!(of(&["127.0.0.1", "127.0.0.2"]).found(), Vec::<String>::new());
    let skewed = of(&["127.0.0.3", "127.0.0.4"]);
    assert_eq!(skewed.found(), ["clock-skew InstallConfig/lab"], "{}", skewed.text);
    let apart = of(&["127.0.0.1", "127.0.0.3", "127.0.0.4"]);
    assert_eq!(apart.found(), ["ntp-servers-disagree InstallConfig/lab"], "{}", apart.text);
    let silent = of(&["127.0.0.1", "127.0.0.9"]);
    assert_eq!(silent.found(), ["ntp-unreachable InstallConfig/lab"], "{}", silent.text);
    assert_eq!(
        silent.finding("ntp-unreachable")["path"],
        "platform.baremetal.additionalNTPServers"
    );
}

/// With the registry as the mirror of a release, and this password for it.
fn mirrored(registry: &Target, password: &str, bundle: Option<&str>) -> String {
    let auth = base64::engine::general_purpose::STANDARD.encode(format!("{USER}:{password}"));
    let secret = json!({"auths": {registry.to_string(): {"auth": auth}}});
    let text = Config::default().text();
    let start = text.find("pullSecret:").unwrap();
    let end = text.find("sshKey:").unwrap();
    let mut text = format!("{}pullSecret: '{secret}'\n{}", &text[..start], &text[end..]);
    for source in ["ocp-release", "ocp-v4.0-art-dev"] {
        let head = if source == "ocp-release" { "imageDigestSources:\n" } else { "" };
        text += &format!(
            "{head}- source: quay.io/openshift-release-dev/{source}\n  mirrors:\n  - {registry}/{REPOSITORY}\n"
        );
    }
    if let Some(pem) = bundle {
        let lines: String = pem.lines().map(|line| format!("  {line}\n")).collect();
        text += &format!("additionalTrustBundle: |\n{lines}");
    }
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_looked_for_in_the_mirror_to_its_last_blob() {
    if !can_run() {
        return;
    }
    let mirror = Mirror::filled().await;
    let identity = mirror.authority.issue(&["127.0.0.1"], (2020, 2030));
    let (server, registry) = mirror.serve(&identity, &Wants::Password).await;
    let ca = mirror.authority.0.pem();
    let image = |digest: &str| format!("quay.io/openshift-release-dev/ocp-release@{digest}");
    let release = image(mirror.release.digest.as_str());
    let good = mirrored(&registry, MIRROR_PASSWORD, Some(&ca));
    let live = "--live=mirror,ports";

    let answer = Answer::of(&good, live, &["--release-image", &release]);
    assert_eq!(answer.found(), Vec::<String>::new().tap_ports(), "{}", answer.text);
    let answer = Answer::of(&good, "--live=mirror", &[]);
    assert_eq!(answer.found(), Vec::<String>::new(), "{}", answer.text);
    let told = answer.not_checked();
    assert!(told.iter().any(|line| line.contains("give --release-image REF")), "{told:?}");

    let digest = format!("sha256:{}", "1".repeat(64));
    let answer = Answer::of(&good, "--live=mirror", &["--release-image", &image(&digest)]);
    let name = format!("Registry/{registry}");
    assert_eq!(answer.found(), [format!("release-image-missing {name}")], "{}", answer.text);

    fs_err::remove_file(mirror.file(&mirror.components[1].layers[1])).unwrap();
    let answer = Answer::of(&good, "--live=mirror", &["--release-image", &release]);
    assert_eq!(answer.found(), [format!("mirror-blobs-missing {name}")], "{}", answer.text);
    let finding = answer.finding("mirror-blobs-missing");
    let message = finding["message"].as_str().unwrap();
    assert!(message.contains(mirror.components[1].layers[1].as_str()), "{message}");
    assert!(message.contains("of etcd"), "{message}");
    assert_eq!(finding["path"], "imageDigestSources[0].mirrors[0]");

    let wrong = mirrored(&registry, "another-password", Some(&ca));
    let answer = Answer::of(&wrong, "--live=mirror", &["--release-image", &release]);
    assert_eq!(answer.found(), [format!("registry-auth-failed {name}")], "{}", answer.text);

    let other = support::pki::Authority::new("another-ca", (2020, 2030)).0.pem();
    let untrusting = mirrored(&registry, MIRROR_PASSWORD, Some(&other));
    let answer = Answer::of(&untrusting, "--live=mirror", &["--release-image", &release]);
    assert_eq!(answer.found(), [format!("registry-ca-mismatch {name}")], "{}", answer.text);
    assert!(!pem("CERTIFICATE", b"x").is_empty());

    drop(server);
    let answer = Answer::of(&good, live, &["--release-image", &release]);
    let about: Vec<String> =
        answer.found().into_iter().filter(|found| found.ends_with(&name)).collect();
    assert_eq!(about, [format!("registry-unreachable {name}")], "{}", answer.text);
}

trait TapPorts {
    fn tap_ports(self) -> Self;
}

/// Nothing listens where the default hosts have their BMCs.
impl TapPorts for Vec<String> {
    fn tap_ports(mut self) -> Self {
        self.extend((0..3).map(|n| format!("install-port-blocked InstallHost/master-{n}")));
        self
    }
}

#[test]
fn an_image_without_a_digest_is_wrong_usage() {
    let folder = TempDir::new().unwrap();
    fs_err::write(folder.path().join("install-config.yaml"), Config::default().text()).unwrap();
    for (arguments, told) in [
        (&["--live=mirror", "--release-image", "quay.io/a/b:4.18"][..], "has no digest"),
        (&["--release-image", "quay.io/a/b:4.18"], "--live"),
        (&["--live=nothing"], "invalid value 'nothing'"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
            .args(["check", "install-config.yaml"])
            .args(arguments)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let talk = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{talk}");
        assert!(talk.contains(told), "{talk}");
    }
}

#[test]
fn this_machine_is_looked_at() {
    if !in_own_network("this_machine_is_looked_at") {
        return;
    }
    // Interfaces are those of the network that the folder was mounted in.
    sh("mount -t sysfs none /sys");
    let config = Config::default();
    let answer = config.check("--live=host", &[]);
    let found = answer.found();
    // Its own `/run` and its own network have neither.
    for expected in ["bridge-missing InstallConfig/lab", "libvirt-not-running InstallConfig/lab"] {
        assert!(found.contains(&expected.to_string()), "{found:?} {}", answer.text);
    }
    sh("ip link add baremetal type bridge");
    let answer = config.check("--live=host", &[]);
    assert!(!answer.found().contains(&"bridge-missing InstallConfig/lab".to_string()));
}

#[test]
fn the_agent_based_install_needs_its_tools_and_its_sources_of_time() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    let install = Config::default().text();
    fs_err::write(at("install-config.yaml"), format!("{install}fips: true\n")).unwrap();
    let agent = "apiVersion: v1beta1\nkind: AgentConfig\nmetadata:\n  name: lab\nrendezvousIP: 10.77.0.10\nadditionalNTPSources:\n- 127.0.0.99\nhosts:\n- hostname: master-0\n  role: master\n  interfaces:\n  - name: eno1\n    macAddress: b0:7b:25:00:11:21\n  networkConfig:\n    interfaces:\n    - name: eno1\n      type: ethernet\n      state: up\n      mac-address: b0:7b:25:00:11:21\n      ipv4:\n        enabled: true\n        dhcp: false\n        address:\n        - ip: 10.77.0.10\n          prefix-length: 24\n";
    fs_err::write(at("agent-config.yaml"), agent).unwrap();
    fs_err::create_dir(at("empty")).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(["check", ".", "--live=host,clock", "--request-timeout", "1", "--output", "json"])
        .env("PATH", at("empty"))
        .current_dir(folder.path())
        .output()
        .unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let answer = Answer { text: json.to_string(), json };
    let found = answer.found();
    for expected in ["tool-missing", "oc-missing", "ntp-unreachable"] {
        let expected = format!("{expected} InstallConfig/lab");
        assert!(found.contains(&expected), "{expected}: {}", answer.text);
    }
    for other in ["libvirt-not-running", "bridge-missing"] {
        assert!(!found.iter().any(|id| id.starts_with(other)), "{}", answer.text);
    }
    let time = answer.finding("ntp-unreachable");
    assert_eq!((&time["path"], &time["line"]), (&json!("additionalNTPSources"), &json!(7)));
    let fips = fs_err::read_to_string("/proc/sys/crypto/fips_enabled").unwrap_or_default();
    if fips.trim() == "0" {
        assert_eq!(answer.finding("builder-not-fips")["file"], "");
    }
}
