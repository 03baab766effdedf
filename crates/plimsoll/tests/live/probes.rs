//! Probes from end to end, in a network of their own: the real API server behind a VIP, servers of TLS in
//! place of the machine-config server, of ingress and of kubelets, and dnsmasq for the names.

use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use libtest_mimic::{Failed, Trial};
use plimsoll_lab::parse_cases;
use plimsoll_rig::{ApiServer, Authority, Objects, VALID, definitions, wait_for};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::doors::{Door, relay};
use crate::namespace::{in_own_network, sh};
use crate::real::{Server, have};
use crate::support::NEEDS;

const NAME: &str = "probes/from-outside";
const NOW: &str = "2025-12-03T18:42:00Z";
const DOMAIN: &str = "lab.example.com";
const INTERNAL: &str = "api-int.lab.example.com";
const LIMIT: Duration = Duration::from_secs(30);
/// What the machine-config server gives away, and nobody may keep.
const BODY: &str = "{\"ignition\": {\"secret\": \"hunter2hunter2\"}}";
const MACHINES: &str = "ip link set lo up
    ip netns add far
    ip link add lab0 type veth peer name far0
    ip link set far0 netns far
    ip addr add 192.168.111.1/24 dev lab0
    ip link set lab0 up
    ip -n far link set far0 address 52:54:00:00:01:24 up
    ip -n far addr add 192.168.111.24/24 dev far0
    for last in 4 5 20 21 22 23; do ip addr add 192.168.111.$last/32 dev lo; done
    echo 'nameserver 127.0.0.1' > /run/resolv.conf
    mount --bind /run/resolv.conf /etc/resolv.conf";
const CASE: &str = "# a cluster with doors

## quiet: all is well

```edits base=metal-3-2
set Infrastructure/cluster status.apiServerURL = https://api.lab.example.com:6443
set Infrastructure/cluster status.apiServerInternalURI = https://api-int.lab.example.com:6443
```

```expect
no roots
```
";

pub fn trials() -> Vec<Trial> {
    vec![Trial::test(NAME, || {
        if have("dnsmasq-base", "dnsmasq") && in_own_network(NAME) {
            run();
        }
        Ok::<(), Failed>(())
    })]
}

struct World {
    server: ApiServer,
    folder: TempDir,
    config: String,
    /// How far the clock of master-2 is ahead.
    ahead: Arc<AtomicI64>,
    machine_configs: Door,
    pointed: Authority,
    _others: Vec<Door>,
    _names: Server,
}

fn run() {
    let mut world = World::new();
    all_is_well(&world);
    two_things_are_wrong(&world);
    without_the_api(&mut world);
}

impl World {
    fn new() -> Self {
        sh(MACHINES);
        let folder = TempDir::new().unwrap();
        let server = ApiServer::start(folder.path()).unwrap();
        server.define(&definitions().unwrap()).unwrap();
        let tree = parse_cases(CASE).unwrap()[0].tree().unwrap();
        server.load(Objects::of_gather(&tree, &NEEDS).unwrap()).unwrap();
        relay("192.168.111.5:6443", server.port);
        let pointed = Authority::new("machine-config-server-ca").unwrap();
        let shown = pointed.sign(("system:machine-config-server", &[]), &[INTERNAL], VALID);
        let doors = ["5", "20", "21", "22"].map(|last| format!("192.168.111.{last}:22623"));
        let doors: Vec<&str> = doors.iter().map(String::as_str).collect();
        let given = || {
            let length = BODY.len();
            format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{BODY}")
        };
        let machine_configs = Door::open(&doors, &shown.unwrap(), given);
        let routers = Authority::new("ingress-operator").unwrap();
        let apps = format!("*.apps.{DOMAIN}");
        let route = routers.sign((&apps, &[]), &[&apps], VALID).unwrap();
        let ingress = Door::open(&["192.168.111.4:443"], &route, || {
            "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n".into()
        });
        let ahead = Arc::new(AtomicI64::new(0));
        let kubelet = server.authority.sign(("system:node:lab", &[]), &["localhost"], VALID);
        let kubelet = kubelet.unwrap();
        let right = ["20", "21", "23"].map(|last| format!("192.168.111.{last}:10250"));
        let right: Vec<&str> = right.iter().map(String::as_str).collect();
        let of_others = Door::open(&right, &kubelet, || unauthorized(0));
        let late = ahead.clone();
        let of_one = Door::open(&["192.168.111.22:10250"], &kubelet, move || {
            unauthorized(late.load(Ordering::SeqCst))
        });
        let admin = server.authority.sign(("admin", &["system:masters"]), &[], VALID).unwrap();
        let url = format!("https://api.{DOMAIN}:6443");
        let config = server.kubeconfig("lab", &url, &admin, &server.authority.pem).unwrap();
        let world = Self {
            config: config.display().to_string(),
            _names: names(),
            _others: vec![ingress, of_others, of_one],
            server,
            folder,
            ahead,
            machine_configs,
            pointed,
        };
        world.trust_in_routers(&routers.pem);
        world.trust_of_machine_configs(&world.pointed.pem);
        world.point_new_machines();
        world
    }

    fn apply(&self, object: &Value) {
        let namespace = object["metadata"]["namespace"].as_str().unwrap();
        self.server.kubectl(&["create", "namespace", namespace], "").ok();
        wait_for("the object", LIMIT, || {
            self.server.kubectl(&["apply", "-f", "-"], &object.to_string()).is_ok()
        })
        .unwrap();
    }

    fn bundle(&self, namespace: &str, name: &str, pem: &str) {
        self.apply(&json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": namespace}, "data": {"ca-bundle.crt": pem}}));
    }

    fn trust_in_routers(&self, pem: &str) {
        self.bundle("openshift-config-managed", "default-ingress-cert", pem);
    }

    fn trust_of_machine_configs(&self, pem: &str) {
        self.bundle("openshift-machine-config-operator", "machine-config-server-ca", pem);
    }

    fn point_new_machines(&self) {
        let source = format!("data:text/plain;base64,{}", STANDARD.encode(&self.pointed.pem));
        let pointer = json!({"ignition": {"version": "3.2.0",
            "config": {"merge": [{"source": format!("https://{INTERNAL}:22623/config/worker")}]},
            "security": {"tls": {"certificateAuthorities": [{"source": source}]}}}});
        self.apply(&json!({"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "worker-user-data", "namespace": "openshift-machine-api"},
            "data": {"userData": STANDARD.encode(pointer.to_string())}}));
    }

    fn plimsoll(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_plimsoll"))
            .args(arguments)
            .current_dir(self.folder.path())
            .env("KUBECONFIG", &self.config)
            .output()
            .unwrap()
    }

    /// The exit code and the answer; what was kept of it gives the same, byte for byte.
    fn diagnose(&self, kept: &str) -> (Option<i32>, Value) {
        let live = self.plimsoll(&[
            "diagnose",
            "--keep",
            kept,
            "--output",
            "json",
            "--now",
            NOW,
            "--ntp-server",
            "192.168.111.1",
        ]);
        let text = |output: &Output| String::from_utf8(output.stdout.clone()).unwrap();
        let archived = self.plimsoll(&["diagnose", kept, "--output", "json"]);
        assert_eq!(text(&archived), text(&live), "{}", String::from_utf8_lossy(&live.stderr));
        (live.status.code(), serde_json::from_str(&text(&live)).unwrap())
    }

    /// What a probe found, by its id.
    fn found(&self, kept: &str, id: &str) -> Value {
        let record = self.file(kept, "capture/probes/probes.json");
        let record: Value = serde_json::from_str(&record).unwrap();
        let mut answers = record["answers"].as_array().unwrap().iter();
        let ids: Vec<&str> = answers.clone().filter_map(|one| one["id"].as_str()).collect();
        let found = answers.find(|one| one["id"] == id).map(|one| one["result"].clone());
        found.unwrap_or_else(|| panic!("{id} is not among {ids:#?}"))
    }

    fn file(&self, kept: &str, member: &str) -> String {
        let output = Command::new("tar")
            .args(["xzOf", kept, member])
            .current_dir(self.folder.path())
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    }
}

fn names() -> Server {
    let server = Server::start(
        Command::new("dnsmasq")
            .args(["-k", "-C", "/dev/null", "--no-resolv", "--no-hosts", "--bind-interfaces"])
            .args(["--pid-file", "--user=root", "--listen-address=127.0.0.1", "--port=53"])
            .arg(format!("--local=/{DOMAIN}/"))
            .args(["--local=/111.168.192.in-addr.arpa/"])
            .arg(format!("--host-record=api.{DOMAIN},192.168.111.5"))
            .arg(format!("--host-record={INTERNAL},192.168.111.5"))
            .arg(format!("--address=/apps.{DOMAIN}/192.168.111.4")),
    );
    let resolves = || {
        let address = format!("api.{DOMAIN}:6443");
        std::net::ToSocketAddrs::to_socket_addrs(&address).is_ok()
    };
    wait_for("names", LIMIT, resolves).unwrap();
    server
}

/// What a kubelet says to a stranger, by a clock that is so many seconds ahead.
#[expect(clippy::disallowed_methods, reason = "a clock that is probed has to go")]
fn unauthorized(ahead: i64) -> String {
    let time = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(ahead);
    let date = time.strftime("%a, %d %b %Y %H:%M:%S GMT");
    format!("HTTP/1.1 401 Unauthorized\r\nDate: {date}\r\nContent-Length: 12\r\n\r\nUnauthorized")
}

fn roots(answer: &Value) -> Vec<String> {
    let all = answer["roots"].as_array().unwrap().iter();
    let word = |root: &Value, key: &str| root[key].as_str().unwrap_or_default().to_string();
    let shown = |root| {
        format!("{} {} {}", word(root, "id"), word(root, "entity"), word(root, "confidence"))
    };
    all.map(shown).collect()
}

fn all_is_well(world: &World) {
    let (code, answer) = world.diagnose("well.tar.gz");
    assert_eq!((code, roots(&answer)), (Some(0), Vec::new()), "{answer:#}");
    let found = |id: &str| world.found("well.tar.gz", id);
    for (id, bundle) in [
        ("tls/api.lab.example.com:6443", "kubeconfig"),
        ("tls/192.168.111.5:6443/api-int.lab.example.com", "kubeconfig"),
        ("tls/192.168.111.5:22623/api-int.lab.example.com", "machine-config-server-ca"),
        ("tls/192.168.111.21:22623/api-int.lab.example.com", "user-data/worker"),
        ("tls/192.168.111.4:443/console-openshift-console.apps.lab.example.com", "ingress-ca"),
    ] {
        let tls = found(id);
        assert_eq!(tls["trust"][bundle], "trusted", "{id}: {tls:#}");
    }
    let given = found("https/192.168.111.5:22623/api-int.lab.example.com/config/worker");
    assert_eq!(given["status"], 200, "{given:#}");
    assert_eq!(found("http-date/192.168.111.20:10250/healthz")["is"], "clock");
    let resolved = found("dns/api.lab.example.com/a/system");
    assert_eq!(resolved["said"]["addresses"], json!(["192.168.111.5"]), "{resolved:#}");
    let near = found("neighbour/192.168.111.24");
    assert_eq!(near["seen"][0]["mac"], "52:54:00:00:01:24", "{near:#}");
    assert_eq!(found("ntp/192.168.111.1:123")["is"], "unreached");
    let everything = Command::new("tar")
        .args(["xzOf", "well.tar.gz"])
        .current_dir(world.folder.path())
        .output()
        .unwrap();
    assert!(!String::from_utf8_lossy(&everything.stdout).contains("hunter2"), "a body was kept");
}

/// The server got a new authority that new machines are not told of, and a clock is off.
fn two_things_are_wrong(world: &World) {
    let new = Authority::new("machine-config-server-ca").unwrap();
    let shown = new.sign(("system:machine-config-server", &[]), &[INTERNAL], VALID).unwrap();
    world.machine_configs.show(&shown);
    world.trust_of_machine_configs(&new.pem);
    world.ahead.store(900, Ordering::SeqCst);
    let (code, answer) = world.diagnose("wrong.tar.gz");
    let pointer = "Secret/openshift-machine-api/worker-user-data";
    let mut found = roots(&answer);
    found.sort();
    let expected = [
        "clock-skew Node/master-2 confirmed".to_string(),
        format!("mcs-ca-mismatch {pointer} probable"),
    ];
    assert_eq!((code, found), (Some(1), expected.to_vec()), "{answer:#}");
    let cited = answer.to_string();
    assert!(cited.contains("from workstation: tls/192.168.111.5:22623"), "{answer:#}");
}

/// What is left is told: that the API does not answer, and what else does.
fn without_the_api(world: &mut World) {
    world.server.kill();
    world.ahead.store(0, Ordering::SeqCst);
    let (code, answer) = world.diagnose("without.tar.gz");
    assert_eq!(code, Some(3), "{answer:#}");
    let gaps = answer["sources"][0]["gaps"].to_string();
    assert!(gaps.contains("the API at https://api.lab.example.com:6443"), "{gaps}");
    let found = |id: &str| world.found("without.tar.gz", id);
    let api = found("tls/api.lab.example.com:6443");
    assert!(api["leaf"].is_null(), "{api:#}");
    let shown = found("tls/api-int.lab.example.com:22623/api-int.lab.example.com");
    assert_eq!(shown["leaf"]["subject"], "CN=system:machine-config-server", "{shown:#}");
    assert_eq!(found("dns/api.lab.example.com/a/system")["is"], "dns");
}
