//! APIs that work half: what ails them is told by its name, and what is left is read.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use plimsoll_bmc::Target;
use plimsoll_bmc::mock::{Server, generic};
use plimsoll_live::{Account, Live, Node, Patience, Request, Silent, Vantage};
use plimsoll_rig::{Fault, Faulty, VALID};

use crate::cluster::{Cluster, Shared, diagnose_live, live, request, trial};
use crate::support::NEEDS;

const NAMES: [&str; 2] = ["localhost", "127.0.0.1"];

pub fn trials(shared: &Shared) -> Vec<Trial> {
    let with = |name: &str, run: fn(&mut Cluster)| {
        trial(format!("trouble/{name}"), shared, move |mut cluster| {
            run(&mut cluster);
            Ok(())
        })
    };
    vec![
        with("machines-of-an-older-version", machines_of_an_older_version),
        with("a-list-that-never-ends", a_list_that_never_ends),
        with("half-the-rights", half_the_rights),
        with("overloaded", overloaded),
        with("failing", failing),
        with("slow", slow),
        with("cut", cut),
        with("killed-in-the-middle", killed_in_the_middle),
        with("etcd-gone", etcd_gone),
        with("killed-after-some-answers", killed_after_some_answers),
        with("a-list-that-changes", a_list_that_changes),
        with("a-log-that-comes-slowly", a_log_that_comes_slowly),
        with("a-log-that-stalls", a_log_that_stalls),
        with("a-log-that-breaks-off", a_log_that_breaks_off),
        with("small-pages", small_pages),
        with("a-kubelet-goes-silent", a_kubelet_goes_silent),
    ]
}

pub fn base() -> plimsoll_lab::Tree {
    let text = include_str!("../../../../fixtures/incidents/healthy.md");
    plimsoll_lab::parse_cases(text).unwrap()[0].tree().unwrap()
}

/// A kubeconfig of the administrator for another address.
pub fn by(cluster: &Cluster, server: &str, authority: &str) -> Vantage {
    let admin = cluster.server.authority.sign(("admin", &["system:masters"]), &[], VALID).unwrap();
    let file = cluster.server.kubeconfig("elsewhere", server, &admin, authority).unwrap();
    Vantage { kubeconfig: Some(file), ..Vantage::default() }
}

pub fn trusting(cluster: &Cluster, server: &str) -> Vantage {
    by(cluster, server, &cluster.server.authority.pem)
}

/// Why the first way did not work; and what is left is diagnosed, not refused.
pub fn reason(vantage: Vantage) -> String {
    let (live, _) = live(vantage.clone());
    assert!(live.is_without_api());
    let now = "2025-12-03T18:42:00Z".parse().unwrap();
    let (diagnosis, _) = diagnose_live(request(vantage, now), &NEEDS);
    assert!(diagnosis.sources[0].gaps.iter().any(|gap| gap.contains("the API at https://")));
    live.attempts()[0].why.clone().unwrap()
}

pub fn read(live: &Live) -> Account {
    live.write(&NEEDS, &Silent, std::io::sink()).unwrap()
}

pub fn refused(account: &Account) -> Vec<String> {
    let gaps = account.gaps.iter().filter(|gap| gap.refused);
    gaps.map(|gap| format!("{}: {}", gap.what, gap.why)).collect()
}

/// The preferred version of machine.openshift.io has no machines.
fn machines_of_an_older_version(cluster: &mut Cluster) {
    cluster.load(&base());
    let groups = cluster.server.kubectl(&["get", "--raw", "/apis/machine.openshift.io"], "");
    let groups: serde_json::Value = serde_json::from_str(&groups.unwrap()).unwrap();
    assert_eq!(groups["preferredVersion"]["version"], "v1", "{groups:#}");
    let (live, _) = live(cluster.vantage());
    let (_, files) = captured(&live);
    let folder = "capture/namespaces/openshift-machine-api/machine.openshift.io";
    let machines = files.get(&Path::new(folder).join("machines.yaml"));
    let machines = machines.unwrap_or_else(|| panic!("{:?}", files.keys()));
    assert!(String::from_utf8_lossy(machines).contains("machine.openshift.io/v1beta1"));
    let lists = whole_lists(&files);
    for plural in ["machines", "machinesets", "machinehealthchecks"] {
        assert!(lists.contains(&format!("machine.openshift.io/{plural}")), "{lists:?}");
    }
}

/// Every page has been forgotten when it is asked for, with a place to go on from.
fn a_list_that_never_ends(cluster: &mut Cluster) {
    cluster.load(&base());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let account = through(cluster, move |path| match path.contains("/nodes?") {
        true => {
            count.fetch_add(1, Ordering::Relaxed);
            Fault::Gone
        }
        false => Fault::None,
    });
    let refused = refused(&account);
    assert!(refused.len() == 1 && refused[0].starts_with("nodes: "), "{refused:?}");
    assert!(refused[0].contains("410"), "{refused:?}");
    assert!(asked.load(Ordering::Relaxed) < 20, "{asked:?}");
}

fn half_the_rights(cluster: &mut Cluster) {
    cluster.load(&base());
    let server = &cluster.server;
    let reader = server.authority.sign(("reader", &[]), &[], VALID).unwrap();
    let file =
        server.kubeconfig("reader", &server.server(), &reader, &server.authority.pem).unwrap();
    let vantage = Vantage { kubeconfig: Some(file), ..Vantage::default() };
    let half = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: half}\nrules:\n- apiGroups: [config.openshift.io, metal3.io]\n  resources: ['*']\n  verbs: [get, list]\n- apiGroups: ['']\n  resources: [nodes]\n  verbs: [get, list]\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: half}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: half}\nsubjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: reader}]\n";
    server.kubectl(&["apply", "-f", "-"], half).unwrap();
    let (partly, _) = live(vantage.clone());
    let refused_then = refused(&read(&partly));
    let has = |what: &str| refused_then.iter().any(|gap| gap.starts_with(what));
    assert!(has("pods: no permission") && !has("nodes:"), "{refused_then:?}");
    assert!(refused_then.iter().all(|gap| gap.contains("capture --rbac")), "{refused_then:?}");
    // What `capture --rbac=reader` prints is enough, and grants only reading.
    let manifests = plimsoll_live::manifests(&NEEDS, Some("reader"));
    let namespaces: BTreeSet<&str> =
        manifests.lines().filter_map(|line| line.trim().strip_prefix("namespace: ")).collect();
    let spaces: String = namespaces
        .iter()
        .map(|name| format!("---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n"))
        .collect();
    server.kubectl(&["apply", "-f", "-"], &spaces).unwrap();
    // The server learns of new namespaces a little later.
    let granted = || server.kubectl(&["apply", "-f", "-"], &manifests).is_ok();
    plimsoll_rig::wait_for("the roles", Duration::from_secs(20), granted).unwrap();
    server.kubectl(&["delete", "clusterrolebinding", "half"], "").unwrap();
    let (whole, _) = live(vantage);
    let refused = refused(&read(&whole));
    assert!(refused.is_empty(), "{refused:?}");
}

const PATIENCE: Patience =
    Patience { request: Duration::from_secs(12), budget: Duration::from_secs(180), page: 1000 };

/// The account of a reading through a proxy with these faults.
fn through(cluster: &Cluster, rule: impl Fn(&str) -> Fault + Send + Sync + 'static) -> Account {
    through_with(cluster, PATIENCE, rule).0
}

fn through_with(
    cluster: &Cluster,
    patience: Patience,
    rule: impl Fn(&str) -> Fault + Send + Sync + 'static,
) -> (Account, BTreeMap<PathBuf, Vec<u8>>) {
    let serving = cluster.server.authority.sign(("proxy", &[]), &NAMES, VALID).unwrap();
    let proxy = Faulty::start(&cluster.server, &serving, rule).unwrap();
    let now = "2025-12-03T18:42:00Z".parse().unwrap();
    let cluster = trusting(cluster, &proxy.server());
    let request = Request { patience, ..request(cluster, now) };
    captured(&Live::open(request, &Silent).unwrap())
}

fn captured(live: &Live) -> (Account, BTreeMap<PathBuf, Vec<u8>>) {
    let mut archive = Vec::new();
    let account = live.write(&NEEDS, &Silent, &mut archive).unwrap();
    (account, files(&archive))
}

/// The lists that a capture calls whole.
fn whole_lists(files: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<String> {
    let end = &files[Path::new("capture/plimsoll-capture-end.json")];
    let end: serde_json::Value = serde_json::from_slice(end).unwrap();
    serde_json::from_value(end["lists"].clone()).unwrap()
}

/// The first request for every `nth` path: whoever asks again gets an answer.
fn at_first(nth: usize, fault: Fault) -> impl Fn(&str) -> Fault {
    let known = Mutex::new(BTreeSet::new());
    move |path| {
        let mut known = known.lock().unwrap();
        let is_first = !path.starts_with("/version") && known.insert(path.to_string());
        if is_first && known.len() % nth == 1 { fault } else { Fault::None }
    }
}

/// Every `nth` request for it, from the first on.
fn every(nth: usize, fault: Fault) -> impl Fn(&str) -> Fault {
    let count = AtomicUsize::new(0);
    move |path| match path.starts_with("/version") {
        true => Fault::None,
        false if count.fetch_add(1, Ordering::Relaxed).is_multiple_of(nth) => fault,
        false => Fault::None,
    }
}

fn overloaded(cluster: &mut Cluster) {
    cluster.load(&base());
    let account = through(cluster, every(3, Fault::Status(429)));
    assert!(refused(&account).is_empty(), "{:?}", refused(&account));
}

fn failing(cluster: &mut Cluster) {
    cluster.load(&base());
    let account = through(cluster, |path| match path.contains("/pods?") {
        true => Fault::Status(500),
        false => Fault::None,
    });
    let refused = refused(&account);
    assert_eq!(refused, ["pods: the API server failed (500): a fault"]);
}

fn slow(cluster: &mut Cluster) {
    cluster.load(&base());
    // On a loaded machine everything is slow.
    let patience = Patience { request: Duration::from_secs(24), ..PATIENCE };
    let (account, _) = through_with(cluster, patience, |path| match path.contains("/events?") {
        true => Fault::Slow(Duration::from_secs(36)),
        false => Fault::None,
    });
    assert_eq!(refused(&account), ["events: no answer within 24 s"]);
}

fn cut(cluster: &mut Cluster) {
    cluster.load(&base());
    let account = through(cluster, at_first(5, Fault::Cut(700)));
    assert!(refused(&account).is_empty(), "{:?}", refused(&account));
    let account = through(cluster, |path| match path.contains("/nodes?") {
        true => Fault::Cut(700),
        false => Fault::None,
    });
    let refused = refused(&account);
    assert!(refused.len() == 1 && refused[0].starts_with("nodes: "), "{refused:?}");
}

fn killed_in_the_middle(cluster: &mut Cluster) {
    cluster.load(&base());
    let (live, _) = live(cluster.vantage());
    cluster.server.kill();
    let account = read(&live);
    cluster.server.restart().unwrap();
    let refused = refused(&account);
    assert!(refused.iter().any(|gap| gap.contains("lost while it was read")), "{refused:?}");
}

/// The API server runs and answers who it is, and has nothing more to say.
fn etcd_gone(cluster: &mut Cluster) {
    cluster.load(&base());
    let now = "2025-12-03T18:42:00Z".parse().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let bmc = runtime.block_on(Server::of(generic()).start()).unwrap();
    let target = Target {
        name: "master-0".into(),
        address: bmc.address(""),
        username: None,
        password: None,
        verify: false,
        ca_pem: None,
        more_ca_pem: None,
    };
    let request = Request {
        patience: Patience { budget: Duration::from_secs(300), ..PATIENCE },
        nodes: vec![Node::Here { root: "/".into() }],
        bmcs: vec![target],
        has_others: true,
        ..request(cluster.vantage(), now)
    };
    cluster.server.etcd.kill();
    let begun = Instant::now();
    let live = Live::open(request, &Silent).unwrap();
    let (account, files) = captured(&live);
    let took = begun.elapsed();
    cluster.server.etcd.restart().unwrap();
    cluster.server.wait_until_ready().unwrap();
    assert!(!live.is_without_api());
    let refused = refused(&account);
    assert!(refused.iter().any(|gap| gap.starts_with("pods: ")), "{refused:?}");
    assert!(whole_lists(&files).is_empty());
    // Four that are waited for, and the rest in a hurry: a tenth of what it would take.
    assert!(took < Duration::from_secs(75), "{took:?}: {refused:#?}");
    let has = |end: &str| files.keys().any(|path| path.to_string_lossy().ends_with(end));
    assert!(has("capture/bmc/master-0.json") && has("commands/date"), "{:?}", files.keys());
}

/// What was answered before is kept, and that it is not all is told.
fn killed_after_some_answers(cluster: &mut Cluster) {
    cluster.load(&base());
    let kill = cluster.server.killer();
    let asked = AtomicUsize::new(0);
    let (account, files) = through_with(cluster, PATIENCE, move |path| {
        let is_list = path.contains("?limit=");
        if is_list && asked.fetch_add(1, Ordering::Relaxed) == 20 {
            kill();
        }
        Fault::None
    });
    cluster.server.restart().unwrap();
    let refused = refused(&account);
    assert!(refused.iter().any(|gap| gap.contains("lost while it was read")), "{refused:?}");
    let lists = whole_lists(&files);
    assert!((10..=25).contains(&lists.len()), "{lists:?}");
    let whole = through_with(cluster, PATIENCE, |_| Fault::None);
    for (path, text) in &files {
        // A server that starts anew writes its own APIServices.
        let is_object = path.starts_with("capture/cluster-scoped-resources/config.openshift.io");
        assert!(!is_object || whole.1[path] == *text, "{}", path.display());
    }
    assert!(whole_lists(&whole.1).len() > lists.len());
}

/// etcd forgets the revision that a list is read at: the rest of it is of a later time.
fn a_list_that_changes(cluster: &mut Cluster) {
    cluster.load(&base());
    let forget = cluster.server.etcd.forgetter();
    // Hundreds of requests, none of which is to fail for another reason.
    let patience = Patience { page: 2, request: Duration::from_secs(20), ..PATIENCE };
    let (account, files) = through_with(cluster, patience, move |path| {
        if path.contains("/nodes?") && path.contains("continue=") {
            forget().unwrap();
        }
        Fault::None
    });
    let told = account.gaps.iter().find(|gap| gap.what == "nodes");
    assert!(told.is_some_and(|gap| gap.why.contains("410")), "{:?}", account.gaps);
    let lists = whole_lists(&files);
    assert!(!lists.contains(&"core/nodes".into()), "{lists:?}");
    // One page; longer ones may be hit too, as they are read at the same time.
    assert!(lists.contains(&"config.openshift.io/clusterversions".into()), "{lists:?}");
    let node = "capture/cluster-scoped-resources/core/nodes/worker-1.yaml";
    assert!(files.contains_key(Path::new(node)), "{:?}", files.keys());
}

const A_LOG: &str = "/log?container=";

/// The pauses are parts and multiples of the time of a request, which is ample for a loaded machine.
const FOR_LOGS: Patience =
    Patience { request: Duration::from_secs(8), budget: Duration::from_secs(600), page: 1000 };

/// The log of one container comes in parts, all else at once. Gives what was kept of it, and its whole text.
fn with_a_log_in_parts(
    cluster: &Cluster,
    parts: usize,
    pause: Duration,
) -> (Account, String, String) {
    cluster.load(&base());
    // Long enough that each part holds some of the text, whatever HTTP puts around it.
    let line =
        |at| format!("2025-12-03T18:{:02}:{:02}.000000000Z nothing to tell\n", at / 60, at % 60);
    let whole: String = (0..400).map(line).collect();
    cluster.server.kubelets.log("openshift-etcd/etcd-master-0/etcd", &whole);
    let (account, files) = through_with(cluster, FOR_LOGS, move |path| {
        match path.contains("/pods/etcd-master-0/log?container=etcd&") {
            true => Fault::Slowly(parts, pause),
            false => Fault::None,
        }
    });
    let path = "capture/namespaces/openshift-etcd/pods/etcd-master-0/etcd/etcd/logs/current.log";
    let kept = files.get(Path::new(path)).unwrap_or_else(|| panic!("{:?}", refused(&account)));
    (account, String::from_utf8(kept.clone()).unwrap(), whole)
}

/// For several times as long as one request may be silent, in parts each of which is there in good time.
fn a_log_that_comes_slowly(cluster: &mut Cluster) {
    let begun = Instant::now();
    let (account, kept, whole) = with_a_log_in_parts(cluster, 21, FOR_LOGS.request / 4);
    let took = begun.elapsed();
    assert!(took >= FOR_LOGS.request * 5, "{took:?}");
    assert!(refused(&account).is_empty(), "{:?}", refused(&account));
    assert!(kept == whole, "{} of {}", kept.len(), whole.len());
}

/// What came is kept, and that the rest did not is told: of this log, and of no other on its node.
fn a_log_that_stalls(cluster: &mut Cluster) {
    let (account, kept, whole) = with_a_log_in_parts(cluster, 2, FOR_LOGS.request * 3);
    let stalled = "the end of the current log of openshift-etcd/etcd-master-0/etcd: the answer stopped coming for 8 s";
    assert_eq!(refused(&account), [stalled]);
    assert!(whole.starts_with(&kept) && !kept.is_empty() && kept.len() < whole.len());
}

/// It says something of the kubelet, and nothing of the API server.
fn a_log_that_breaks_off(cluster: &mut Cluster) {
    cluster.load(&base());
    let account = through(cluster, |path| match path.contains(A_LOG) {
        true => Fault::Cut(700),
        false => Fault::None,
    });
    let refused = refused(&account);
    assert!(refused.iter().any(|gap| gap.contains("cut off")), "{refused:?}");
    assert!(!refused.iter().any(|gap| gap.contains("lost while it was read")), "{refused:?}");
}

/// However a list is cut into pages, it is the same list.
fn small_pages(cluster: &mut Cluster) {
    cluster.load(&base());
    let now = "2025-12-03T18:42:00Z".parse().unwrap();
    let (_, whole) = diagnose_live(request(cluster.vantage(), now), &NEEDS);
    let patience = Patience { page: 3, ..Patience::default() };
    let request = Request { patience, ..request(cluster.vantage(), now) };
    let (_, paged) = diagnose_live(request, &NEEDS);
    let (whole, paged) = (files(&whole), files(&paged));
    let paths: BTreeSet<_> = whole.keys().chain(paged.keys()).collect();
    let differing: Vec<_> =
        paths.into_iter().filter(|path| whole.get(*path) != paged.get(*path)).collect();
    assert!(differing.is_empty(), "{differing:?}");
}

/// The server writes its own address anew every ten seconds, whatever was loaded.
const OF_THE_SERVER: &str = "capture/namespaces/default/core/endpoints.yaml";

/// By path; the order of a tar is that in which answers came.
fn files(archive: &[u8]) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut archive = tar::Archive::new(archive);
    let read = |entry: std::io::Result<tar::Entry<'_, &[u8]>>| {
        let mut entry = entry.unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        (entry.path().unwrap().into_owned(), bytes)
    };
    let entries = archive.entries().unwrap().map(read);
    entries.filter(|(path, _)| path != Path::new(OF_THE_SERVER)).collect()
}

/// The real controller manager notes that a kubelet renews its lease no more, in its own words.
fn a_kubelet_goes_silent(cluster: &mut Cluster) {
    cluster.load(&base());
    let grace = ["--node-monitor-grace-period=8s", "--node-monitor-period=1s"];
    let controllers = cluster.server.controllers("nodelifecycle", &grace).unwrap();
    let renew = |server: &plimsoll_rig::ApiServer, seconds: u64| {
        let lease = |node: &str| {
            format!(
                "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {{name: {node}, namespace: kube-node-lease}}\nspec: {{holderIdentity: {node}, leaseDurationSeconds: 40, renewTime: '2025-12-03T18:42:{seconds:02}.000000Z'}}\n---\n"
            )
        };
        let alive = ["master-0", "master-1", "master-2", "worker-0"];
        let leases: String = alive.into_iter().map(lease).collect();
        server.kubectl(&["apply", "-f", "-"], &leases).is_ok()
    };
    cluster.server.kubectl(&["create", "namespace", "kube-node-lease"], "").ok();
    let mut seconds = 0;
    let ready = "jsonpath={.items[*].status.conditions[?(@.type==\"Ready\")].status}";
    plimsoll_rig::wait_for("a silent node", Duration::from_secs(90), || {
        seconds = (seconds + 1) % 60;
        renew(&cluster.server, seconds);
        let said = cluster.server.kubectl(&["get", "nodes", "-o", ready], "");
        said.is_ok_and(|said| said.trim() == "True True True True Unknown")
    })
    .unwrap();
    drop(controllers);
    let now = "2025-12-03T18:42:00Z".parse().unwrap();
    let (diagnosis, _) = diagnose_live(request(cluster.vantage(), now), &NEEDS);
    let active: Vec<String> = diagnosis
        .states
        .iter()
        .filter(|state| state.status == plimsoll_model::diagnosis::Status::Active)
        .map(|state| format!("{} {}", state.id, state.entity))
        .collect();
    assert!(active.contains(&"node-not-ready Node/worker-1".into()), "{active:#?}");
    assert!(!active.iter().any(|state| state.ends_with("Node/worker-0")), "{active:#?}");
}
