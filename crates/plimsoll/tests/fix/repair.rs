//! One repair, from what is broken to what is verified: carried out with the rights that its plan names
//! and no others, taken back, and killed at every line of its journal.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use libtest_mimic::Trial;
use plimsoll_lab::Tree;
use plimsoll_rig::{Kubelets, Running};
use serde_json::Value;

use crate::actor::{Actor, Kubectl};
use crate::bmcs::Bmcs;
use crate::cluster::{Cluster, Shared, trial};
use crate::objects::{self, Objects, Part, differences, outside};
use crate::site::{Site, words};

pub const QUICK: [&str; 4] = ["--dwell", "1", "--settle", "120"];

/// What somebody who is in the cluster beside us sees and has.
pub struct Scene {
    pub hands: Kubectl,
    pub healthy: &'static Objects,
    /// What nodes tell of themselves.
    pub kubelets: Kubelets,
    /// Where the program is run.
    pub folder: PathBuf,
    pub bmcs: Option<Arc<Bmcs>>,
}

/// When machines are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    CarriedOut,
    TakenBack,
}

pub struct Repair {
    pub id: &'static str,
    /// Tells it from another row of the same repair.
    pub variant: &'static str,
    pub tree: fn() -> Tree,
    /// Of its machines, for as long as they are held.
    pub bmcs: fn() -> Option<Bmcs>,
    /// What is there before, beside the objects of the case.
    pub before: fn(&Scene),
    /// What the program is run with: sources, and the time.
    pub run: fn(&mut Site),
    /// Real controllers, for as long as they are held.
    pub controllers: fn(&Cluster) -> Vec<Running>,
    /// Where it is not the first.
    pub root: &'static [&'static str],
    /// What only the user knows, and types.
    pub answers: &'static [&'static str],
    /// Names that are typed for what is felt.
    pub typed: &'static [&'static str],
    /// What is done by those who react, over and over.
    pub reacts: fn(&Scene),
    /// Somebody else decides otherwise after the plan was shown.
    pub overtakes: Option<fn(&Kubectl)>,
    /// What those who react may write.
    pub theirs: &'static [Part],
    /// What the plan may write.
    pub ours: &'static [Part],
    /// What has to be so in the end.
    pub holds: fn(&Kubectl) -> Result<(), String>,
    /// What the machines have to be then, and what was done to them.
    pub machines: fn(&Bmcs, Moment) -> Result<(), String>,
    /// Whether everything can be taken back.
    pub reversible: bool,
    /// What is told of that which cannot.
    pub remains: &'static [&'static str],
}

#[expect(clippy::disallowed_methods, reason = "how long it may take is for the environment to say")]
fn every_line() -> bool {
    std::env::var("PLIMSOLL_EVERY_LINE").is_ok_and(|all| all == "1")
}

/// What is the same for most.
pub const USUAL: Repair = Repair {
    id: "",
    variant: "",
    tree: Tree::new,
    bmcs: || None,
    before: |_| (),
    run: |_| (),
    controllers: |_| Vec::new(),
    root: &[],
    answers: &[],
    typed: &[],
    reacts: |_| (),
    overtakes: None,
    theirs: &[],
    ours: &[],
    holds: |_| Ok(()),
    machines: |_, _| Ok(()),
    reversible: true,
    remains: &[],
};

pub fn trials(shared: &Shared, repairs: &'static [Repair]) -> Vec<Trial> {
    let mut all = Vec::new();
    for repair in repairs {
        let with = |name: &str, run: fn(&mut Cluster, &Repair)| {
            trial(format!("{}{}/{name}", repair.id, repair.variant), shared, move |mut cluster| {
                run(&mut cluster, repair);
                Ok(())
            })
        };
        all.push(with("killed-gone-on-with-and-taken-back", carried_out));
        if every_line() {
            all.push(with("killed-at-every-line", killed_at_every_line));
        }
        if repair.overtakes.is_some() {
            all.push(with("somebody-was-faster", overtaken));
        }
    }
    all
}

/// A plan that was shown, and the cluster as it was.
pub struct Shown {
    pub site: Site,
    pub plan: Value,
    pub before: Objects,
    _controllers: Vec<Running>,
}

impl Repair {
    /// Who is in the cluster while it is repaired.
    fn scene(&self, cluster: &Cluster, site: &Site) -> Scene {
        Scene {
            hands: Kubectl(cluster.server.admin().unwrap()),
            healthy: objects::healthy(cluster),
            kubelets: cluster.server.kubelets.clone(),
            folder: site.folder.path().into(),
            bmcs: site.bmcs.clone(),
        }
    }

    fn load(&self, cluster: &Cluster, site: &Site) {
        cluster.load(&(self.tree)());
        (self.before)(&self.scene(cluster, site));
    }

    /// It is broken, and here is where the program is run.
    pub fn site(&self, cluster: &Cluster) -> Site {
        objects::healthy(cluster);
        let mut site = Site::new(cluster);
        site.bmcs = (self.bmcs)().map(Arc::new);
        self.load(cluster, &site);
        (self.run)(&mut site);
        site
    }

    pub fn shown(&self, cluster: &Cluster) -> Shown {
        let controllers = (self.controllers)(cluster);
        let mut site = self.site(cluster);
        let answers = self.answers.iter().flat_map(|answer| ["--set", answer]);
        let asked = self.root.iter().copied().chain(answers).chain(["--save", "plan.json"]);
        let plan = site.plan(&asked.collect::<Vec<_>>());
        assert_eq!(plan["repair"], self.id, "{plan:#}");
        assert_eq!(plan["hindrances"], Value::Null, "{plan:#}");
        site.with_rights_of(cluster, &plan);
        let before = objects::all(&Kubectl(cluster.server.admin().unwrap()));
        Shown { site, plan, before, _controllers: controllers }
    }

    pub fn act(&self, cluster: &Cluster, site: &Site) -> Actor {
        let (scene, reacts) = (self.scene(cluster, site), self.reacts);
        Actor::start(scene.hands.clone(), move |_| reacts(&scene))
    }

    pub fn words<'w>(&self, first: &[&'w str]) -> Vec<&'w str> {
        let typed = self.typed.iter().chain(&["by-hand"]).flat_map(|name| ["--confirm", name]);
        [first, &QUICK].concat().into_iter().chain(typed).collect()
    }

    /// For what reboots machines again when it is taken back.
    fn way_back(&self, first: &[&str]) -> Vec<String> {
        let typed =
            self.typed.iter().flat_map(|name| ["--confirm".into(), format!("take back {name}")]);
        first.iter().map(ToString::to_string).chain(typed).collect()
    }

    /// As the plan leaves it, and nothing else was touched.
    pub fn after(&self, hands: &Kubectl, before: &Objects, when: &str) -> Objects {
        (self.holds)(hands).unwrap_or_else(|why| panic!("{} {when}: {why}", self.id));
        let now = objects::all(hands);
        let found = differences(before, &now);
        let parts = [self.theirs, self.ours].concat();
        assert_eq!(outside(&found, &parts), Vec::<String>::new(), "{} {when}", self.id);
        now
    }

    fn look_at_machines(&self, site: &Site, when: Moment) {
        let Some(bmcs) = &site.bmcs else { return };
        (self.machines)(bmcs, when).unwrap_or_else(|why| panic!("{} {when:?}: {why}", self.id));
    }

    /// As it was, but for what others did.
    fn as_before(&self, hands: &Kubectl, before: &Objects, when: &str) {
        let found = differences(before, &objects::all(hands));
        let parts = match self.reversible {
            true => self.theirs.to_vec(),
            false => [self.theirs, self.ours].concat(),
        };
        assert_eq!(outside(&found, &parts), Vec::<String>::new(), "{} {when}", self.id);
    }
}

impl Shown {
    pub fn digest(&self) -> &str {
        self.plan["digest"].as_str().unwrap()
    }

    /// What its journal says so far.
    pub fn events(&self) -> Vec<Value> {
        self.site.events(self.digest())
    }

    /// Numbers of steps that are done by the program.
    fn acting(&self) -> Vec<Value> {
        let steps = self.plan["steps"].as_array().unwrap().iter();
        let acts = steps
            .filter(|step| !["hand", "wait"].contains(&step["action"]["do"].as_str().unwrap()));
        acts.map(|step| step["number"].clone()).collect()
    }
}

/// Killed at its last act, where it may have been done or not; gone on with, verified, and taken back.
fn carried_out(cluster: &mut Cluster, repair: &Repair) {
    let hands = Kubectl(cluster.server.admin().unwrap());
    let shown = repair.shown(cluster);
    let act = shown.acting().pop().unwrap();
    let is_at_it = |one: &Value| one["what"] == "intends" && one["step"] == act;
    let apply = repair.words(&["--apply", shown.digest()]);
    let actor = repair.act(cluster, &shown.site);
    let killed = shown.site.kill_at(&apply, shown.digest(), |events| events.iter().any(is_at_it));
    killed.unwrap_or_else(|done| panic!("{}", words(&done)));
    let on = shown.site.fix(&repair.words(&["--resume", "--output", "json"]));
    assert_eq!(on.status.code(), Some(0), "{}", words(&on));
    let session: Value = serde_json::from_slice(&on.stdout).unwrap();
    assert_eq!(session["outcome"], "fixed", "{session:#}");
    drop(actor);
    let after = repair.after(&hands, &shown.before, "carried out");
    repair.look_at_machines(&shown.site, Moment::CarriedOut);
    let back = shown.site.fix_as(&repair.way_back(&["--rollback", "--output", "json"]));
    assert_eq!(back.status.code(), Some(1), "{}", words(&back));
    let session: Value = serde_json::from_slice(&back.stdout).unwrap();
    let says = session["says"].as_str().unwrap();
    assert!(repair.remains.iter().all(|one| says.contains(one)), "{session:#}");
    if repair.reversible {
        let by_hand = "what was done by hand is taken back by hand";
        let says = says.replace(by_hand, "");
        let left = says.strip_prefix("left: ").unwrap_or_default().replace("step", "");
        assert!(!left.contains(char::is_alphabetic), "{session:#}");
    }
    repair.as_before(&hands, &shown.before, "taken back");
    repair.look_at_machines(&shown.site, Moment::TakenBack);
    let told = [words(&on), words(&back), shown.site.written()].concat();
    let keys = [objects::keys(&shown.before), objects::keys(&after)].concat();
    assert!(!keys.iter().any(|key| told.contains(key)), "{}: a key was told", repair.id);
}

/// Killed at every line, it is taken back; and killed at every point one after the other, it is gone on with
/// until it is done.
fn killed_at_every_line(cluster: &mut Cluster, repair: &Repair) {
    let hands = Kubectl(cluster.server.admin().unwrap());
    let (mut points, mut lines) = (0, 1);
    loop {
        let shown = repair.shown(cluster);
        let apply = repair.words(&["--apply", shown.digest()]);
        let actor = repair.act(cluster, &shown.site);
        let far = |events: &[Value]| events.len() >= lines;
        let Ok(met) = shown.site.kill_at(&apply, shown.digest(), far) else { break };
        points += 1;
        let back = shown.site.fix_as(&repair.way_back(&["--rollback"]));
        assert_eq!(back.status.code(), Some(1), "{met}: {}", words(&back));
        drop(actor);
        repair.as_before(&hands, &shown.before, &format!("killed at {met}, {}", words(&back)));
        lines = met + 1;
    }
    assert!(points >= 4, "{}: killed {points} times only", repair.id);
    let shown = repair.shown(cluster);
    let (apply, resume) = (repair.words(&["--apply", shown.digest()]), repair.words(&["--resume"]));
    let actor = repair.act(cluster, &shown.site);
    // A life begins as the one before it did: at each point of a step it is killed once.
    let point = |event: &Value| [event["what"].to_string(), event["step"].to_string()];
    let mut met = BTreeSet::new();
    let done = loop {
        let arguments = if met.is_empty() { &apply } else { &resume };
        let news = |events: &[Value]| events.last().is_some_and(|at| !met.contains(&point(at)));
        match shown.site.kill_at(arguments, shown.digest(), news) {
            Ok(_) => met.extend(shown.events().iter().map(point)),
            Err(done) => break done,
        }
    };
    // Killed after its last line, there is nothing to go on with; what it held runs out by itself.
    let over = words(&done).contains("nothing to go on with");
    if over {
        hands.run(&["delete", "lease", "plimsoll-fix", "-n", "kube-system", "--ignore-not-found"]);
    }
    assert!(done.status.code() == Some(0) || over, "{}", words(&done));
    drop(actor);
    repair.after(&hands, &shown.before, "gone on with");
    repair.look_at_machines(&shown.site, Moment::CarriedOut);
}

/// Somebody decides otherwise after the plan was made: nothing is done.
fn overtaken(cluster: &mut Cluster, repair: &Repair) {
    let shown = repair.shown(cluster);
    let hands = Kubectl(cluster.server.admin().unwrap());
    repair.overtakes.unwrap()(&hands);
    let before = objects::all(&hands);
    assert_ne!(differences(&shown.before, &before), Vec::<String>::new());
    let done = shown.site.fix(&repair.words(&["--apply", shown.digest()]));
    assert_eq!(done.status.code(), Some(4), "{}", words(&done));
    assert_eq!(differences(&before, &objects::all(&hands)), Vec::<String>::new());
}
