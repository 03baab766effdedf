//! A root and its repair → a plan without what only the objects themselves can tell.

mod asked;
mod by_hand;
mod place;
#[cfg(test)]
mod tests;
mod verbs;
mod verdicts;
mod writer;

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_engine::Pack;
use plimsoll_engine::pack::RepairRule;
use plimsoll_model::FactBase;
use plimsoll_model::diagnosis::{Diagnosis, Repair, Root, StateRef};
use plimsoll_model::plan::{
    Action, Hindrance, PLAN_SCHEMA, Plan, Reason, Step, Target, Undo, Verification,
};

pub use asked::asks;
pub use verbs::rights;
pub(crate) use verbs::{permissions, undo};
pub use verdicts::with_verdicts;
use writer::{Drafted, Writer};

/// Proofs that a plan quotes; the diagnosis has the rest.
const PROOFS: usize = 3;

/// What only the user knows, from `--set KEY=VALUE`.
pub type Answers = BTreeMap<String, String>;

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unplanned {
    /// Nothing is wrong.
    Healthy,
    /// Something is, and nothing is proven to be its cause.
    NoRoot,
    /// No root is meant by that name; these there are.
    NoSuchRoot(Vec<String>),
    /// The pack names no repair of it, or one that no pack defines.
    NoRepair(StateRef),
    /// It has no repair of that name; these it has.
    NoSuchRepair(Vec<String>),
    /// No pack knows a break-glass for it.
    NoBreakGlass(StateRef),
}

/// Which root is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The one that is best repaired first.
    First,
    /// From 1, as the diagnosis numbers them.
    Number(usize),
    /// `kubelet-anonymous`, or `Node/master-1: kubelet-anonymous` where several have it.
    Name(String),
}

pub fn choose<'d>(diagnosis: &'d Diagnosis, choice: &Choice) -> Result<&'d Root, Unplanned> {
    let known = || {
        let shown =
            |(index, root): (usize, &Root)| format!("{}. {}: {}", index + 1, root.entity, root.id);
        diagnosis.roots.iter().enumerate().map(shown).collect::<Vec<_>>()
    };
    if diagnosis.roots.is_empty() {
        return Err(match diagnosis.verdict {
            plimsoll_model::diagnosis::Verdict::Healthy => Unplanned::Healthy,
            _ => Unplanned::NoRoot,
        });
    }
    let found = match choice {
        Choice::First => diagnosis.roots.first(),
        Choice::Number(number) => number.checked_sub(1).and_then(|at| diagnosis.roots.get(at)),
        Choice::Name(name) => {
            let mut meant = diagnosis.roots.iter().filter(|root| {
                root.id == *name
                    || format!("{}: {}", root.entity, root.id) == *name
                    || format!("{}:{}", root.entity, root.id) == *name
            });
            // One name that means several roots means none.
            meant.next().filter(|_| meant.next().is_none())
        }
    };
    found.ok_or_else(|| Unplanned::NoSuchRoot(known()))
}

/// The plan for one root.
pub fn draft(
    pack: &Pack,
    base: &FactBase,
    diagnosis: &Diagnosis,
    root: &Root,
    answers: &Answers,
) -> Result<Plan, Unplanned> {
    let named = root.repairs.first().ok_or_else(|| Unplanned::NoRepair(root.state()))?;
    let rule = pack.repair(&named.id).filter(|rule| rule.break_glass.is_none());
    let rule = rule.ok_or_else(|| Unplanned::NoRepair(root.state()))?;
    Ok(written(rule, Some(named), base, diagnosis, root, answers))
}

/// What nobody is offered: the plan for one root that breaks a rule for a while.
pub fn draft_break_glass(
    pack: &Pack,
    base: &FactBase,
    diagnosis: &Diagnosis,
    root: &Root,
    answers: &Answers,
) -> Result<Plan, Unplanned> {
    let is_for = |rule: &&RepairRule| rule.break_glass.is_some() && rule.states.contains(&root.id);
    let rule = pack.repairs.iter().find(is_for);
    let rule = rule.ok_or_else(|| Unplanned::NoBreakGlass(root.state()))?;
    Ok(written(rule, None, base, diagnosis, root, answers))
}

/// Another repair of the root than the one that is proposed, by its name.
pub fn draft_named(
    pack: &Pack,
    base: &FactBase,
    diagnosis: &Diagnosis,
    root: &Root,
    answers: &Answers,
    name: &str,
) -> Result<Plan, Unplanned> {
    let proposed = root.repairs.first().filter(|named| named.id == name);
    let others = || {
        let is_other = |rule: &&RepairRule| {
            rule.break_glass.is_none()
                && rule.states.contains(&root.id)
                && root.repairs.first().is_none_or(|named| named.id != rule.id)
        };
        pack.repairs.iter().filter(is_other)
    };
    match proposed {
        Some(_) => draft(pack, base, diagnosis, root, answers),
        None => match others().find(|rule| rule.id == name) {
            Some(rule) => Ok(written(rule, None, base, diagnosis, root, answers)),
            None => {
                let known = root.repairs.iter().map(|named| named.id.clone());
                let known = known.chain(others().map(|rule| rule.id.clone()));
                Err(Unplanned::NoSuchRepair(known.collect()))
            }
        },
    }
}

/// The plan of this repair, for whichever root has it.
pub fn draft_of(
    pack: &Pack,
    base: &FactBase,
    diagnosis: &Diagnosis,
    repair: &str,
    answers: &Answers,
) -> Result<Plan, String> {
    let rule = pack.repair(repair).ok_or("no pack has it")?;
    let drafted = |root: &Root| match rule.break_glass {
        Some(_) => draft_break_glass(pack, base, diagnosis, root, answers).ok(),
        None => draft_named(pack, base, diagnosis, root, answers, repair).ok(),
    };
    let mut plans = diagnosis.roots.iter().filter_map(drafted);
    plans.find(|plan| plan.repair == repair).ok_or_else(|| "no root of this case has it".into())
}

/// It would act, and no case of its pack shows that it can be carried out, killed and taken back.
pub fn is_informing(rule: &RepairRule) -> bool {
    rule.acts() && !rule.is_tried
}

/// Why the plan is only for reading.
pub fn informing(pack: &Pack, plan: &Plan) -> Option<String> {
    if !plan.acts() {
        return None;
    }
    let id = &plan.repair;
    match pack.repair(id) {
        None => {
            Some(format!("no pack has repair '{id}': give the --pack that the plan was made with"))
        }
        Some(rule) if is_informing(rule) => Some(format!(
            "repair '{id}' only informs: no case of its pack has it carried out ('repair {id} holds')"
        )),
        Some(_) => None,
    }
}

/// What a plan says of itself that its repair does not: a plan is a file, and lets itself do more by it.
pub fn claims_too_much(pack: &Pack, plan: &Plan) -> Option<String> {
    let rule = pack.repair(&plan.repair);
    let during_rollout = rule.is_some_and(|rule| rule.during_rollout);
    let minutes = rule.and_then(|rule| rule.break_glass);
    if plan.during_rollout && !during_rollout {
        let why = "the plan says that it may be done during a rollout";
        return Some(format!("{why}, and repair '{}' does not", plan.repair));
    }
    let undone_otherwise = |step: &&Step| {
        let known = undo(&step.action, &step.target);
        // What a person does, or nobody, a person takes back.
        let is_ours = !matches!(step.action, Action::Hand { .. } | Action::Wait);
        is_ours && std::mem::discriminant(&step.undo) != std::mem::discriminant(&known)
    };
    if let Some(step) = plan.steps.iter().find(undone_otherwise) {
        let why = "is taken back in another way than what it does";
        return Some(format!("step {} of the plan {why}", step.number));
    }
    if plan.break_glass_minutes.is_some() && plan.break_glass_minutes != minutes {
        return Some(format!("the plan breaks a rule that repair '{}' does not", plan.repair));
    }
    None
}

fn written(
    rule: &RepairRule,
    proposed: Option<&Repair>,
    base: &FactBase,
    diagnosis: &Diagnosis,
    root: &Root,
    answers: &Answers,
) -> Plan {
    let writer = Writer::new(base, root, answers);
    let mut hindrances = Vec::new();
    let mut drafted = Vec::new();
    for step in &rule.steps {
        match writer.steps(step) {
            Ok(found) => drafted.extend(found),
            Err(why) => hindrances.push(Hindrance::of_all(why)),
        }
    }
    once_each(&mut drafted);
    if rolls_out_masters(&drafted) && !backs_up(&drafted) {
        drafted.insert(0, backup());
    }
    let steps = numbered(drafted, &mut hindrances);
    Plan {
        schema: PLAN_SCHEMA.into(),
        digest: String::new(),
        made_for: diagnosis.generated_for,
        cluster: diagnosis.cluster.clone(),
        root: root.state(),
        confidence: root.confidence,
        repair: rule.id.clone(),
        title: writer.told(&rule.title),
        answers: answers.clone(),
        reason: Reason {
            summary: root.summary.clone(),
            explains: root.explains.clone(),
            evidence: root.evidence.iter().take(PROOFS).cloned().collect(),
        },
        roots: diagnosis.roots.iter().map(Root::state).collect(),
        minutes: minutes(&steps, proposed.and_then(|repair| repair.minutes)),
        blast: blast(&steps, proposed.and_then(|repair| repair.blast)),
        during_rollout: rule.during_rollout,
        break_glass_minutes: rule.break_glass,
        steps,
        none: rule.none.as_deref().map(|text| writer.told(text)),
        hindrances,
        verify: verification(rule, &writer),
        never: rule.never.iter().map(|text| writer.told(text)).collect(),
        escalate: Some(writer.told(&rule.escalate)),
    }
}

/// The steps in their order, and what speaks against carrying them out today.
fn numbered(drafted: Vec<Drafted>, hindrances: &mut Vec<Hindrance>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut lacking = BTreeSet::new();
    for (number, Drafted { step, lacks, unmet }) in (1..).zip(drafted) {
        // What an earlier step does may bring it about.
        if !steps.iter().any(|step| step.action.acts()) {
            let not_now = |why: String| Hindrance::of_step(number, format!("not met now: {why}"));
            hindrances.extend(unmet.into_iter().map(not_now));
        }
        lacking.extend(lacks);
        steps.push(Step { number, ..step });
    }
    if !lacking.is_empty() {
        let all: Vec<String> = lacking.iter().map(|key| format!("--set {key}=VALUE")).collect();
        let why = format!("only you know it: give {}", all.join(" "));
        hindrances.push(Hindrance::of_all(why));
    }
    steps
}

/// From this level on, what goes wrong on the control plane is mended from a backup.
const BACKED_UP_FROM: u8 = 4;
const BACKUP: &str = "cluster-backup.sh";
const OF_CONTROL_PLANE: [&str; 4] =
    ["Etcd", "KubeAPIServer", "KubeControllerManager", "KubeScheduler"];

/// Whether a step restarts or reboots what the control plane runs on.
fn rolls_out_masters(drafted: &[Drafted]) -> bool {
    let of_masters = |target: &Target| match target {
        Target::Api(object) => match object.kind.as_str() {
            "MachineConfigPool" => object.name == "master",
            "MachineConfig" => object.name.contains("master"),
            "ConfigMap" => object.name == "root-ca",
            kind => OF_CONTROL_PLANE.contains(&kind),
        },
        _ => false,
    };
    let rolls_out = |step: &Step| step.reach() >= BACKED_UP_FROM && of_masters(&step.target);
    drafted.iter().any(|one| one.step.action.acts() && rolls_out(&one.step))
}

fn backs_up(drafted: &[Drafted]) -> bool {
    drafted.iter().any(|one| match &one.step.action {
        Action::Hand { run, .. } => run.iter().any(|line| line.contains(BACKUP)),
        _ => false,
    })
}

/// No program of ours restores etcd, so a person makes the backup that a person would restore.
fn backup() -> Drafted {
    // Beside older ones: the script mixes what it finds in a folder.
    let run = vec![format!(
        "oc debug --as-root node/MASTER -- chroot /host /usr/local/bin/{BACKUP} /home/core/assets/backup-$(date +%F-%H%M)"
    )];
    let expect = "snapshot_*.db and static_kuberesources_*.tar.gz, kept on another machine, and removed when all is well: they hold every Secret.";
    let action = Action::Hand { run, expect: expect.into() };
    let step = Step {
        number: 0,
        title: "Back up etcd on one master that is well, and copy the files off the machine".into(),
        rehearsal: verbs::rehearsal(&action),
        action,
        target: Target::Nothing,
        diff: Vec::new(),
        require: Vec::new(),
        unless: Vec::new(),
        expect: Vec::new(),
        undo: Undo::Nothing { because: "a backup changes nothing".into() },
        blast: 0,
        permissions: Vec::new(),
        minutes: Some(5),
        commands: Vec::new(),
    };
    Drafted { step, lacks: Vec::new(), unmet: Vec::new() }
}

/// What the steps take; where a step by hand does not say, at least what the repair as a whole takes.
fn minutes(steps: &[Step], whole: Option<u64>) -> Option<u64> {
    let known: u64 = steps.iter().filter_map(|step| step.minutes).sum();
    let all_known = !steps.is_empty() && steps.iter().all(|step| step.minutes.is_some());
    match whole {
        _ if all_known => Some(known),
        Some(whole) => Some(whole.max(known)),
        None => (known > 0).then_some(known),
    }
}

/// What a person changes by hand is known of the repair as a whole only.
fn blast(steps: &[Step], whole: Option<u8>) -> u8 {
    let known = steps.iter().map(|step| step.blast).max().unwrap_or(0);
    let by_hand = steps.iter().any(|step| matches!(step.action, Action::Hand { .. }));
    if by_hand { known.max(whole.unwrap_or(0)) } else { known }
}

/// Two nodes may lack the same config, and one node may have asked ten times.
fn once_each(drafted: &mut Vec<Drafted>) {
    let mut seen: Vec<(String, Target)> = Vec::new();
    drafted.retain(|Drafted { step, .. }| {
        let what = match &step.action {
            Action::Create { .. } => "create".into(),
            Action::Hand { .. } | Action::Wait => step.title.clone(),
            action => serde_json::to_string(action).unwrap_or_default(),
        };
        let key = (what, step.target.clone());
        let is_new = !seen.contains(&key);
        seen.extend(is_new.then_some(key));
        is_new
    });
}

fn verification(rule: &RepairRule, writer: &Writer) -> Vec<Verification> {
    let one = |rule: &plimsoll_engine::pack::VerifyRule| Verification {
        run: rule.run.as_ref().map(|line| writer.command(line, None)),
        expect: writer.told(&rule.expect),
    };
    rule.verify.iter().map(one).collect()
}
