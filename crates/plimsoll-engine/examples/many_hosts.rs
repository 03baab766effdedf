//! How long the check of a large config takes: `cargo run --release -p plimsoll-engine --example
//! many_hosts [HOSTS]`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement at a terminal")]

use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

use plimsoll_engine::PackFile;
use plimsoll_engine::check::{Asked, ConfigFile, Knowledge, check};
use plimsoll_install::{Method, Release};
use plimsoll_model::Snapshot;

fn main() {
    let hosts = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1000);
    let mut files = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../knowledge/check"), &mut files);
    let started = Instant::now();
    let knowledge = Knowledge::load(&files).unwrap();
    println!("knowledge: {} states, {:?}", knowledge.pack.states.len(), started.elapsed());
    let text = config(hosts);
    let seen = Snapshot::default();
    let asked = Asked {
        release: Release::V4_18,
        method: Method::Ipi,
        installer: plimsoll_install::Installer::default(),
        install: Some(ConfigFile { name: "install-config.yaml", text: &text }),
        agent: None,
        seen: &seen,
        only: &[],
        skip: &[],
        suppressions: &[],
    };
    const TIMES: u32 = 10;
    let measured = |name: &str, run: &dyn Fn() -> usize| {
        let (before, started) = (cpu(), Instant::now());
        let count = (0..TIMES).map(|_| run()).last().unwrap_or(0);
        let (wall, cpu) = (started.elapsed() / TIMES, (cpu() - before) / u64::from(TIMES));
        println!("{name}: {wall:?}, CPU {cpu} ms, {count} findings");
    };
    println!("{hosts} hosts, {} bytes", text.len());
    measured("check", &|| check(&knowledge, &asked).unwrap().findings.len());
    let input = plimsoll_install::Input { install: Some(&text), agent: None };
    let judged = || plimsoll_install::judge(&input, Release::V4_18, Method::Ipi).unwrap();
    measured("of that the installer's own rules", &|| judged().refusals.len());
}

/// CPU of all threads in milliseconds, as Linux counts it.
fn cpu() -> u64 {
    let stat = fs_err::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks = |at: usize| fields[at].parse::<u64>().unwrap();
    (ticks(11) + ticks(12)) * 10
}

fn collect(folder: &Path, files: &mut Vec<PackFile>) {
    for entry in fs_err::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.ends_with("case.yaml") {
            let shown = path.to_string_lossy().into_owned();
            files.push(PackFile { path: shown, text: fs_err::read_to_string(&path).unwrap() });
        }
    }
}

fn config(hosts: usize) -> String {
    let workers = hosts - 3;
    let mut text = format!(
        "apiVersion: v1\nmetadata: {{name: ocp}}\nbaseDomain: acme.io\nnetworking:\n  machineNetwork: [{{cidr: 192.168.0.0/16}}]\n  clusterNetwork: [{{cidr: 10.128.0.0/13, hostPrefix: 23}}]\ncontrolPlane: {{name: master, replicas: 3}}\ncompute: [{{name: worker, replicas: {workers}}}]\npullSecret: '{{\"auths\":{{\"quay.io\":{{\"auth\":\"eA==\"}},\"registry.redhat.io\":{{\"auth\":\"eA==\"}}}}}}'\nplatform:\n  baremetal:\n    apiVIPs: [192.168.255.5]\n    ingressVIPs: [192.168.255.6]\n    provisioningNetwork: Disabled\n    hosts:\n"
    );
    for i in 0..hosts {
        let (high, low) = (i / 250, i % 250 + 2);
        let role = if i < 3 { "master" } else { "worker" };
        let mac = format!("52:54:00:00:{high:02x}:{low:02x}");
        write!(text, "    - name: host-{i}\n      role: {role}\n      bootMACAddress: {mac}\n      bmc:\n        address: redfish-virtualmedia://10.1.{high}.{low}/redfish/v1/Systems/1\n        username: root\n        password: x\n      rootDeviceHints:\n        serialNumber: S{i}\n      networkConfig:\n        interfaces:\n        - name: eno1\n          type: ethernet\n          state: up\n          mac-address: {mac}\n          mtu: 9000\n          ipv4:\n            enabled: true\n            dhcp: false\n            address:\n            - ip: 192.168.{high}.{low}\n              prefix-length: 16\n          ipv6:\n            enabled: false\n        dns-resolver:\n          config:\n            server:\n            - 10.2.0.53\n        routes:\n          config:\n          - destination: 0.0.0.0/0\n            next-hop-address: 192.168.255.1\n            next-hop-interface: eno1\n").unwrap();
    }
    text
}
