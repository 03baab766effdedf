//! The machine that the installer will run on, which is taken to be this one.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::process::Command;
use tokio::time::timeout;

use super::Preflight;

const COMMAND: Duration = Duration::from_secs(10);
/// What the installer starts, or what is needed beside it.
const TOOLS: [&str; 4] = ["nmstatectl", "oc", "podman", "virsh"];
const SOCKETS: [&str; 2] = ["libvirt-sock", "virtqemud-sock"];
const IMAGES: &str = "var/lib/libvirt/images";
const MOST_INTERFACES: usize = 1000;

/// What cannot be read is not in it.
pub async fn read(wish: &Preflight<'_>) -> Value {
    let root = &wish.root;
    let mut found = Map::new();
    let mut tell = |key: &str, value: Option<Value>| {
        found.extend(value.map(|value| (key.to_string(), value)));
    };
    let text = |path: &str| std::fs::read_to_string(root.join(path)).ok();
    tell("cpus", text("proc/cpuinfo").and_then(|text| cpus(&text)).map(Value::from));
    tell("memory_mib", text("proc/meminfo").and_then(|text| memory(&text)).map(Value::from));
    let fips = text("proc/sys/crypto/fips_enabled").map(|text| text.trim() == "1");
    tell("fips", fips.map(Value::from));
    tell("interfaces", interfaces(&root.join("sys/class/net")));
    tell("tools", wish.path.as_ref().map(|path| tools(path)));
    tell("libvirt", Some(libvirt(&root.join("var/run/libvirt")).into()));
    tell("free_mib", free(&wish.folder).await.map(Value::from));
    let images = root.join(IMAGES);
    if images.is_dir() {
        tell("images_free_mib", free(&images).await.map(Value::from));
    }
    Value::Object(found)
}

fn cpus(text: &str) -> Option<u64> {
    let count = text.lines().filter(|line| line.starts_with("processor")).count();
    (count > 0).then(|| u64::try_from(count).unwrap_or(u64::MAX))
}

fn memory(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib / 1024)
}

/// Each with whether it is a bridge.
fn interfaces(folder: &Path) -> Option<Value> {
    let mut found = Map::new();
    for entry in std::fs::read_dir(folder).ok()?.flatten().take(MOST_INTERFACES) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let bridge = entry.path().join("bridge").is_dir();
        found.insert(name, json!({"bridge": bridge}));
    }
    Some(Value::Object(found))
}

fn tools(path: &std::ffi::OsStr) -> Value {
    let folders: Vec<_> = std::env::split_paths(path).collect();
    let is_there = |tool: &str| folders.iter().any(|folder| folder.join(tool).is_file());
    TOOLS.iter().map(|tool| (tool.to_string(), Value::from(is_there(tool)))).collect()
}

/// Whether a daemon of libvirt takes connections.
fn libvirt(folder: &Path) -> bool {
    SOCKETS
        .iter()
        .any(|socket| std::os::unix::net::UnixStream::connect(folder.join(socket)).is_ok())
}

/// By `df`, which knows every kind of file system.
async fn free(folder: &Path) -> Option<u64> {
    let mut command = Command::new("df");
    command.args(["-Pk", "--"]).arg(folder).env("LC_ALL", "C");
    command.stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let output = timeout(COMMAND, command.output()).await.ok()?.ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let kib: u64 = text.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()?;
    Some(kib / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_the_kernel_are_read() {
        assert_eq!(cpus("processor\t: 0\nmodel\nprocessor\t: 1\n"), Some(2));
        assert_eq!(cpus("nothing"), None);
        assert_eq!(memory("MemTotal:       65536000 kB\nMemFree: 1 kB\n"), Some(64000));
    }

    #[tokio::test]
    async fn free_space_is_told_where_there_is_a_folder() {
        assert!(free(Path::new("/")).await.is_some_and(|free| free > 0));
        assert_eq!(free(Path::new("/no/such/folder")).await, None);
    }
}
