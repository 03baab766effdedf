//! What `plimsoll check` costs: how fast it starts, and a config of a thousand hosts.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Result, bail};
use fs_err as fs;

use super::measure::{best, measure};
use super::{check as bar, release_build, utf8};
use crate::shell;

const START_BAR: f64 = 15.0;
const CHECK_BAR: f64 = 100.0;
/// A clock tick of the kernel is ten times a start, so that many are counted together.
const STARTS: usize = 50;

#[derive(clap::Args)]
pub struct Check {
    #[arg(long, default_value_t = 1000)]
    pub hosts: usize,
    /// Best of so many rounds.
    #[arg(long, default_value_t = 3)]
    pub rounds: u32,
    /// Fail when a bar is missed.
    #[arg(long)]
    pub bars: bool,
    /// Measure this binary instead of a release build.
    #[arg(long, value_name = "FILE")]
    pub binary: Option<PathBuf>,
}

pub fn run(args: &Check) -> Result<()> {
    let plimsoll = match &args.binary {
        Some(binary) => shell::root().join(binary),
        None => release_build()?,
    };
    let plimsoll = utf8(&plimsoll)?;
    let home = shell::root().join("target/bench");
    fs::create_dir_all(&home)?;
    let written = |name: &str, hosts: usize, network: Network| {
        let path = home.join(name);
        fs::write(&path, config(hosts, network))?;
        utf8(&path)
    };
    let small = written("small.yaml", 5, Network::Described)?;
    let plain = written("plain.yaml", args.hosts, Network::LeftToDhcp)?;
    let large = written("large.yaml", args.hosts, Network::Described)?;
    let rows: [(String, Vec<&str>, usize, f64); 5] = [
        ("a program that does nothing".into(), vec!["/bin/true"], STARTS, f64::INFINITY),
        ("plimsoll --version".into(), vec![&plimsoll, "--version"], STARTS, START_BAR),
        ("plimsoll check, 5 hosts".into(), vec![&plimsoll, "check", &small], STARTS, f64::INFINITY),
        (
            format!("plimsoll check, {} hosts", args.hosts),
            vec![&plimsoll, "check", &plain],
            10,
            CHECK_BAR,
        ),
        // Three times as many lines: told, so that nobody is surprised by it.
        (
            format!("  each with its network, {} lines", lines(&large)?),
            vec![&plimsoll, "check", &large],
            10,
            f64::INFINITY,
        ),
    ];
    println!("best of {} rounds, each run counted with its shell's fork", args.rounds.max(1));
    println!("{:36} {:>8} {:>8} {:>7}", "", "CPU ms", "wall ms", "MiB");
    let mut bars = Vec::new();
    for (name, program, times, most) in rows {
        let mut rounds = Vec::new();
        for _ in 0..args.rounds.max(1) {
            rounds.push(repeated(&program, times)?);
        }
        let cost = best(&rounds);
        let each = 1000.0 / times as f64;
        let (cpu, wall) = (cost.cpu * each, cost.wall * each);
        println!("{name:36} {cpu:8.1} {wall:8.1} {:7.0}", cost.mebibytes);
        bars.push((format!("CPU ms of {name}"), cpu, most));
    }
    let set = bars.iter().filter(|(_, _, most)| most.is_finite());
    let missed: Vec<String> =
        set.filter_map(|(name, value, most)| bar(name, *value, *most)).collect();
    for bar in &missed {
        println!("missed: {bar}");
    }
    if args.bars && !missed.is_empty() {
        bail!("{} of the bars are missed", missed.len());
    }
    Ok(())
}

fn repeated(program: &[&str], times: usize) -> Result<super::measure::Cost> {
    let times = times.to_string();
    let script = "n=$1; shift; while [ \"$n\" -gt 0 ]; do \"$@\" || exit; n=$((n-1)); done";
    measure(&[&["sh", "-c", script, "sh", &times], program].concat(), &[0])
}

fn lines(path: &str) -> Result<usize> {
    Ok(fs::read_to_string(path)?.lines().count())
}

#[derive(Clone, Copy, PartialEq)]
enum Network {
    Described,
    LeftToDhcp,
}

/// A config that the installer takes: three masters, the rest workers.
fn config(hosts: usize, network: Network) -> String {
    let workers = hosts.saturating_sub(3);
    let mut text = format!(
        "apiVersion: v1\nmetadata:\n  name: large\nbaseDomain: example.com\nnetworking:\n  networkType: OVNKubernetes\n  \
         machineNetwork:\n  - cidr: 198.18.0.0/16\n  clusterNetwork:\n  - cidr: 10.128.0.0/12\n    hostPrefix: 23\n  \
         serviceNetwork:\n  - 172.30.0.0/16\ncontrolPlane:\n  name: master\n  replicas: 3\ncompute:\n- name: worker\n  \
         replicas: {workers}\nplatform:\n  baremetal:\n    apiVIPs:\n    - 198.18.255.5\n    ingressVIPs:\n    \
         - 198.18.255.6\n    provisioningNetwork: Disabled\n    hosts:\n"
    );
    for n in 0..hosts {
        let role = if n < 3 { "master" } else { "worker" };
        let (high, low) = (n / 250, n % 250 + 1);
        let _ = write!(
            text,
            "    - name: {role}-{n}\n      role: {role}\n      bootMACAddress: 52:54:00:00:{high:02x}:{low:02x}\n      \
             rootDeviceHints:\n        deviceName: /dev/sda\n      bmc:\n        \
             address: redfish-virtualmedia://198.19.{high}.{low}/redfish/v1/Systems/1\n        username: admin\n        \
             password: not-a-password\n"
        );
        if network == Network::LeftToDhcp {
            continue;
        }
        let _ = write!(
            text,
            "      networkConfig:\n        interfaces:\n        - name: eno1\n          \
             type: ethernet\n          state: up\n          mac-address: 52:54:00:00:{high:02x}:{low:02x}\n          \
             ipv4:\n            enabled: true\n            dhcp: false\n            address:\n            \
             - ip: 198.18.{high}.{low}\n              prefix-length: 16\n        dns-resolver:\n          config:\n            \
             server:\n            - 198.18.255.2\n        routes:\n          config:\n          - destination: 0.0.0.0/0\n            \
             next-hop-address: 198.18.255.1\n            next-hop-interface: eno1\n"
        );
    }
    text.push_str(
        "pullSecret: '{\"auths\":{\"registry.example.com\":{\"auth\":\"bm90OmEtc2VjcmV0\"}}}'\nsshKey: ssh-ed25519 \
         AAAAC3NzaC1lZDI1NTE5AAAAIEdnsOcao1hlE7xkDzdU0dqYrYQxlRUl43ek0FMGYGmh throwaway@example.com\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_config_has_as_many_hosts_as_replicas() {
        let text = config(1000, Network::Described);
        assert_eq!(text.matches("\n    - name: ").count(), 1000);
        assert!(text.contains("replicas: 997"));
        assert_eq!(text.matches("role: master").count(), 3);
    }
}
