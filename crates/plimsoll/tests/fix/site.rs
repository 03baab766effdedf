//! One trial's folder, and the program run in it.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_lab::{Case, Tree, parse_cases};
use plimsoll_rig::{VALID, wait_for};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::actor::Kubectl;
use crate::bmcs::Bmcs;
use crate::cluster::Cluster;

pub const NOW: &str = "2025-12-03T18:42:00Z";
pub const FIXER: &str = "fixer";

pub struct Site {
    pub folder: TempDir,
    pub config: PathBuf,
    /// Before the arguments of every run: sources, and the time where it is another one.
    pub sources: Vec<String>,
    pub now: String,
    /// Where programs are looked for first.
    pub programs: Option<PathBuf>,
    /// What a limit is set by, and the program run under it.
    pub under: Vec<String>,
    /// Of its machines, where somebody speaks to them.
    pub bmcs: Option<Arc<Bmcs>>,
}

impl Site {
    pub fn new(cluster: &Cluster) -> Self {
        Self::new_at(cluster.server.admin().unwrap(), NOW.into())
    }

    pub fn new_at(config: PathBuf, now: String) -> Self {
        let folder = TempDir::new().unwrap();
        // Nobody sits at a terminal here, and only what is felt is named.
        fs_err::write(folder.path().join("plimsoll.toml"), "[unattended]\nblast = 2\n").unwrap();
        Self {
            folder,
            config,
            sources: Vec::new(),
            now,
            programs: None,
            under: Vec::new(),
            bmcs: None,
        }
    }

    pub fn hands(&self) -> Kubectl {
        Kubectl(self.config.clone())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let program = [env!("CARGO_BIN_EXE_plimsoll").to_string()];
        let mut words = self.under.iter().chain(&program);
        let mut command = Command::new(words.next().unwrap());
        command.args(words);
        let state = self.state();
        if let Some(programs) = &self.programs {
            command.env("PATH", format!("{}:/usr/bin:/bin", programs.display()));
        }
        command
            .arg("fix")
            .args(arguments)
            .args(&self.sources)
            .args(["--now", &self.now, "--no-probe", "--state"])
            .arg(state)
            .args(["--poll", "1"])
            .current_dir(self.folder.path())
            .env("KUBECONFIG", &self.config);
        command
    }

    pub fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    pub fn fix(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    pub fn fix_as(&self, arguments: &[String]) -> Output {
        self.fix(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }

    pub fn begin(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// The plan, as it is shown.
    pub fn plan(&self, arguments: &[&str]) -> Value {
        let output = self.fix(&[arguments, &["--output", "json"]].concat());
        assert_eq!(output.status.code(), Some(1), "{}", words(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Kills it as soon as its journal is as far as that, and counts its lines; or how it ended before.
    pub fn kill_at(
        &self,
        arguments: &[&str],
        digest: &str,
        far: impl Fn(&[Value]) -> bool,
    ) -> Result<usize, Output> {
        let mut command = self.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        while child.try_wait().unwrap().is_none() {
            if far(&self.events(digest)) {
                child.kill().unwrap();
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let ended = child.wait_with_output().unwrap();
        match ended.status.signal() {
            Some(_) => Ok(self.events(digest).len()),
            None => Err(ended),
        }
    }

    /// From here on the program is run by somebody with these rights, and to look at everything.
    pub fn with_rights_of(&mut self, cluster: &Cluster, plan: &Value) {
        let steps = plan["steps"].as_array().unwrap();
        let rights = steps.iter().flat_map(|step| step["permissions"].as_array().cloned());
        let rights: Vec<Value> = rights.flatten().collect();
        let server = &cluster.server;
        server.kubectl(&["apply", "-f", "-"], &roles(&rights).to_string()).unwrap();
        let fixer = server.authority.sign((FIXER, &[]), &[], VALID).unwrap();
        let pem = &server.authority.pem;
        self.config = server.kubeconfig(FIXER, &server.server(), &fixer, pem).unwrap();
        // The server learns of a role a moment later.
        let may = |right: &Value| {
            let of = |key: &str| right[key].as_str().unwrap_or_default().to_string();
            let (resource, sub) = match of("resource").split_once('/') {
                Some((resource, sub)) => (resource.to_string(), format!("--subresource={sub}")),
                None => (of("resource"), "--subresource=".into()),
            };
            let what = format!("{resource}.{}/{}", of("group"), of("name"));
            let what = what.replace("./", "/");
            let as_fixer = ["auth", "can-i", &of("verb"), what.trim_end_matches('/')];
            let namespace = of("namespace");
            let more = [sub.as_str(), "-n", &namespace, "--as", FIXER];
            server.kubectl(&[&as_fixer[..], &more].concat(), "").is_ok()
        };
        let last = rights.iter().rfind(|right| right["resource"] != "signers");
        // Who changes nothing in the cluster looks at it.
        let to_look = json!({"verb": "list", "resource": "nodes"});
        let last = last.unwrap_or(&to_look);
        wait_for("the role", Duration::from_secs(20), || may(last)).unwrap();
    }

    /// Of every whole line of its journal.
    pub fn events(&self, digest: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.journal(digest)).unwrap_or_default();
        let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        whole.map(|line| serde_json::from_str::<Value>(line).unwrap()["event"].clone()).collect()
    }

    /// Everything that the program wrote down on this machine.
    pub fn written(&self) -> String {
        let plan = self.folder.path().join("plan.json");
        let mut all = std::fs::read_to_string(plan).unwrap_or_default();
        let mut folders = vec![self.state()];
        while let Some(folder) = folders.pop() {
            for entry in fs_err::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => all += &String::from_utf8_lossy(&fs_err::read(&path).unwrap()),
                }
            }
        }
        all
    }

    pub fn journal(&self, digest: &str) -> PathBuf {
        self.state().join("sessions").join(digest).join("journal.jsonl")
    }
}

pub fn words(output: &Output) -> String {
    let (said, told) = (&output.stdout, &output.stderr);
    format!("{}\n{}", String::from_utf8_lossy(said), String::from_utf8_lossy(told))
}

/// Every right of the plan and no other to change anything, but for the lock.
fn roles(rights: &[Value]) -> Value {
    let rule = |right: &Value| {
        let mut rule = json!({"apiGroups": [right["group"]], "resources": [right["resource"]],
            "verbs": [right["verb"]]});
        if right["name"].is_string() {
            rule["resourceNames"] = json!([right["name"]]);
        }
        rule
    };
    let mut rules: Vec<Value> = rights.iter().map(rule).collect();
    rules.push(json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]}));
    rules.push(json!({"apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
        "verbs": ["create", "update"]}));
    let group = "rbac.authorization.k8s.io";
    let api = format!("{group}/v1");
    json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": api, "kind": "ClusterRole", "metadata": {"name": FIXER}, "rules": rules},
        {"apiVersion": api, "kind": "ClusterRoleBinding", "metadata": {"name": FIXER},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": FIXER},
            "subjects": [{"apiGroup": group, "kind": "User", "name": FIXER}]},
    ]})
}

/// The first case of a file.
pub fn case(path: &str) -> Tree {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs_err::read_to_string(root.join(path)).unwrap();
    parse_cases(&text).unwrap()[0].tree().unwrap()
}

/// The case of a file with this heading, and more edits.
pub fn named_case(path: &str, heading: &str, more: &str) -> Tree {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs_err::read_to_string(root.join(path)).unwrap();
    let cases = parse_cases(&text).unwrap();
    let found = cases.into_iter().find(|case| case.name.ends_with(heading));
    let mut case = found.unwrap_or_else(|| panic!("{path} has no case '{heading}'"));
    case.edits.extend(edited(&case.base, more).edits);
    case.tree().unwrap()
}

/// A base with edits, as cases are written.
pub fn edited(base: &str, edits: &str) -> Case {
    let text = format!(
        "# x\n\n## fires: x\n\n```edits base={base}\n{edits}\n```\n\n```expect\nverdict recoverable\n```\n"
    );
    parse_cases(&text).unwrap().remove(0)
}
