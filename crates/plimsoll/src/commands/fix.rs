//! `plimsoll fix`: the plan, and what is done with it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_act::{
    Alone, Api, Held, Lease, Log, Pace, Transaction, Turn, missing_rights, own_name,
};
use plimsoll_live::Request;
use plimsoll_model::EntityId;
use plimsoll_model::diagnosis::Diagnosis;
use plimsoll_model::plan::{Hindrance, Permission, Plan};
use plimsoll_model::session::{Event, Outcome as Became};
use plimsoll_repair::{Answers, Choice, Unplanned};

use crate::args::{Fix, PlanOutput};
use crate::commands::csr;
use crate::exit::{self, Failure, Outcome};
use crate::fixing::console::Console;
use crate::fixing::hands::{Hands, Reader, without_a_way};
use crate::fixing::record::{record, user};
use crate::fixing::state::{Begun, State};
use crate::fixing::world::{Site, observe};
use crate::live;
use crate::output::{complain, note, print, text_options};

pub fn run(args: &Fix) -> Result<Outcome, Failure> {
    let (choice, sources) = names(&args.names);
    let site = Site::new(args, sources)?;
    let state = State::open(args.state.as_deref())?;
    match &args.apply {
        Some(digest) => apply(args, &site, &state, digest, &choice),
        None if args.resume || args.rollback => go_on(args, &site, &state),
        None => show(args, &site, &state, &choice),
    }
}

/// Names of roots, and sources. Of several roots none is meant, and `no_plan` says so.
fn names(names: &[PathBuf]) -> (Choice, Vec<PathBuf>) {
    let choice = match roots(names).as_slice() {
        [] => Choice::First,
        [one] => match one.parse::<usize>() {
            Ok(number) => Choice::Number(number),
            Err(_) => Choice::Name(one.to_string()),
        },
        several => Choice::Name(several.join(" and ")),
    };
    let is_source = |name: &&PathBuf| !is_root(name, names.len());
    (choice, names.iter().filter(is_source).cloned().collect())
}

fn roots(names: &[PathBuf]) -> Vec<&str> {
    let roots = names.iter().filter(|name| is_root(name, names.len()));
    roots.filter_map(|name| name.to_str()).collect()
}

/// A number or something of the form of an id. A word that is no file beside others is one that was mistyped;
/// alone it may be a file that is not there.
fn is_root(name: &Path, of: usize) -> bool {
    let text = name.to_str().unwrap_or_default();
    let (entity, id) = text.rsplit_once(':').map_or((None, text), |(a, b)| (Some(a), b));
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let is_number = text.bytes().all(|b| b.is_ascii_digit());
    let is_id = id.contains('-') || is_number || (of > 1 && entity.is_none());
    let of_entity = entity.is_none_or(|entity| entity.contains('/'));
    let id = id.trim();
    !id.is_empty() && id.bytes().all(plain) && is_id && of_entity && !name.exists()
}

fn answers(args: &Fix) -> Result<Answers, Failure> {
    let one = |text: &String| {
        let (key, value) = text.split_once('=').filter(|(key, _)| !key.is_empty())?;
        Some((key.to_string(), value.to_string()))
    };
    let wrong = |text: &String| Failure::Usage(format!("--set {text}: give KEY=VALUE"));
    args.set.iter().map(|text| one(text).ok_or_else(|| wrong(text))).collect()
}

fn show(args: &Fix, site: &Site, state: &State, choice: &Choice) -> Result<Outcome, Failure> {
    let answers = answers(args)?;
    let (base, diagnosis) = site.examine()?;
    let (pack, answers) = (&site.pack, &answers);
    let planned = plimsoll_repair::choose(&diagnosis, choice).and_then(|root| match &args.repair {
        Some(id) => plimsoll_repair::draft_named(pack, &base, &diagnosis, root, answers, id),
        None if args.break_glass => {
            plimsoll_repair::draft_break_glass(pack, &base, &diagnosis, root, answers)
        }
        None => plimsoll_repair::draft(pack, &base, &diagnosis, root, answers),
    });
    let plan = match planned {
        Ok(plan) => plan,
        Err(why) => return no_plan(args, &diagnosis, &why),
    };
    let asked = plimsoll_repair::asks(pack, &plan.repair);
    if let Some(key) = answers.keys().find(|key| !asked.contains(*key)) {
        let known: Vec<String> = asked.iter().map(|key| format!("--set {key}=VALUE")).collect();
        let known = if known.is_empty() { "nothing".into() } else { known.join(", ") };
        let message =
            format!("--set {key}=…: {} does not ask for it; it asks for {known}", plan.repair);
        return Err(Failure::Usage(message));
    }
    let waits = base.entities.keys().any(|id| id.kind == "CertificateSigningRequest");
    let plan = if waits { csr::told_in(plan, args, &site.sources) } else { plan };
    let mut plan = match site.connect() {
        Ok(Some(api)) => plimsoll_repair::exact(plan.clone(), &observe(&api, &plan)),
        Ok(None) => hindered(
            plan,
            "it was made without the API: give kube:CONTEXT for one that can be carried out",
        ),
        // An API that does not answer is a finding, and plans by hand are for that.
        Err(Failure::Unreadable(why)) => hindered(plan, &why),
        Err(failure) => return Err(failure),
    };
    if let Some(before) = state.failed_before(&plan) {
        let why = format!(
            "it was tried on the same thing and ended {}: --again to try it again",
            plimsoll_report::outcome(before)
        );
        if !args.again {
            plan = hindered(plan, &why);
        }
    }
    if let Some(why) = plimsoll_repair::informing(pack, &plan) {
        plan = hindered(plan, &why);
    }
    if let Some(file) = &args.save {
        state.save(&plan, file)?;
    }
    state.remember(&plan)?;
    print(&match args.output {
        PlanOutput::Json => plimsoll_report::json(&plan),
        PlanOutput::Markdown => plimsoll_report::plan_markdown(&plan),
        PlanOutput::Text => plimsoll_report::plan_text(&plan, &text_options(&args.talk)),
    })?;
    let others = diagnosis.roots.len() - 1;
    if others > 0 {
        note(&args.talk, &format!("hint: {others} more to fix; 'plimsoll diagnose' lists them"));
    }
    if plan.acts() && plan.hindrances.is_empty() {
        let short = plimsoll_report::short(&plan);
        let glass = if args.break_glass { " --break-glass" } else { "" };
        note(&args.talk, &format!("hint: plimsoll fix --apply {short}{glass} carries it out"));
    }
    Ok(Outcome::Found)
}

fn hindered(mut plan: Plan, why: &str) -> Plan {
    if plan.acts() {
        plan.hindrances.push(Hindrance::of_all(why));
    }
    plan.sealed()
}

fn no_plan(args: &Fix, diagnosis: &Diagnosis, why: &Unplanned) -> Result<Outcome, Failure> {
    let (text, outcome) = match why {
        Unplanned::Healthy => ("Nothing to fix: the cluster is healthy.".into(), Outcome::Fine),
        Unplanned::NoRoot => {
            let mut unread = diagnosis.sources.iter().filter(|source| !source.complete);
            let gap = unread.find_map(|source| source.gaps.first());
            let gap = gap.map(|gap| format!(" Not read: {gap}")).unwrap_or_default();
            let text = format!("Nothing to plan for: {}.{gap}", diagnosis.reason);
            let hint = "'plimsoll diagnose' with the same sources says what could not be read, and \
                        what to look at next";
            note(&args.talk, &format!("hint: {hint}"));
            (text, Outcome::NotProvable)
        }
        Unplanned::NoSuchRoot(known) => {
            let known = known.join("\n  ");
            let why = match roots(&args.names).as_slice() {
                [] => "no such root".into(),
                [one] => format!("no such root: {one}"),
                several => {
                    format!("a plan is for one root, and {} are given", several.join(" and "))
                }
            };
            return Err(Failure::Usage(format!("{why}; there are:\n  {known}")));
        }
        Unplanned::NoSuchRepair(known) => {
            let known = known.join("\n  ");
            return Err(Failure::Usage(format!("it has no such repair; there are:\n  {known}")));
        }
        Unplanned::NoBreakGlass(state) => {
            let text = format!("No pack knows a break-glass for {} ({}).", state.id, state.entity);
            (text, Outcome::Found)
        }
        Unplanned::NoRepair(state) => {
            let text = format!(
                "No pack knows a repair of {} ({}). 'plimsoll explain {}' tells what is known of it.",
                state.id, state.entity, state.id
            );
            (text, Outcome::Found)
        }
    };
    match args.output {
        PlanOutput::Json => print(&plimsoll_report::json(&serde_json::json!({
            "schema": plimsoll_model::plan::PLAN_SCHEMA, "steps": [], "none": text,
        })))?,
        _ => print(&format!("{text}\n"))?,
    }
    Ok(outcome)
}

fn refused(why: &[String]) -> Result<Outcome, Failure> {
    why.iter().for_each(|one| complain(&format!("refused: {one}")));
    Ok(Outcome::Refused)
}

/// A root that is named beside a plan is the one that it is for.
fn is_for(plan: &Plan, choice: &Choice) -> bool {
    let (id, entity) = (&plan.root.id, &plan.root.entity);
    match choice {
        Choice::First => true,
        // Numbers change with every diagnosis.
        Choice::Number(_) => false,
        Choice::Name(name) => {
            name == id || *name == format!("{entity}:{id}") || *name == format!("{entity}: {id}")
        }
    }
}

fn apply(
    args: &Fix,
    site: &Site,
    state: &State,
    digest: &str,
    choice: &Choice,
) -> Result<Outcome, Failure> {
    let plan = state.plan(digest, args.plan.as_deref())?;
    if !is_for(&plan, choice) {
        let (id, entity) = (&plan.root.id, &plan.root.entity);
        return Err(Failure::Usage(format!("that plan is for {entity}: {id}; name no other root")));
    }
    if !plan.is_intact() {
        return refused(&["the plan was changed after it was made".into()]);
    }
    if !plan.acts() && plan.steps.is_empty() {
        return refused(&["there is nothing in this plan that could be done".into()]);
    }
    if !plan.hindrances.is_empty() {
        return refused(&plan.hindrances.iter().map(ToString::to_string).collect::<Vec<_>>());
    }
    if plan.break_glass_minutes.is_some() && !args.break_glass {
        let why = "it breaks a rule on purpose: give --break-glass if you mean it";
        return refused(&[why.into()]);
    }
    if let (Some(before), false) = (state.failed_before(&plan), args.again) {
        let why = format!(
            "it was tried on the same thing and ended {}; --again tries it again",
            plimsoll_report::outcome(before)
        );
        return refused(&[why]);
    }
    let Some(_lock) = state.lock()? else {
        return refused(&["another 'plimsoll fix' is at work on this machine".into()]);
    };
    if let Some(why) = not_of_its_pack(site, &plan) {
        return refused(&[why]);
    }
    let api = site.connect()?;
    if let Some(why) = of_another_cluster(api.as_ref(), &plan) {
        return refused(&[why]);
    }
    if let Some(refused) = without_rights(args, api.as_ref(), &plan)? {
        return Ok(refused);
    }
    let lease = match lease(api.as_ref(), &plan, state)? {
        Ok(lease) => lease,
        Err(why) => return refused(&[why]),
    };
    let ways = Ways::new(api.as_ref(), &plan, site)?;
    let missing = ways.missing(&plan);
    if !missing.is_empty() {
        return refused(&missing);
    }
    let begun = state.begin(&plan, live::clock)?;
    carry_out(args, site, &ways, lease.as_ref(), begun)
}

/// What a plan does that its pack does not let it.
fn not_of_its_pack(site: &Site, plan: &Plan) -> Option<String> {
    let informing = || plimsoll_repair::informing(&site.pack, plan);
    plimsoll_repair::claims_too_much(&site.pack, plan).or_else(informing)
}

/// What the steps are done by, and how to each node and BMC of the plan.
struct Ways<'a> {
    api: Option<&'a Api>,
    request: Option<Request>,
    reader: Reader<'a>,
}

impl<'a> Ways<'a> {
    fn new(api: Option<&'a Api>, plan: &Plan, site: &Site) -> Result<Self, Failure> {
        let request = site.request()?;
        let reader = Reader::new(api, plan, request.as_ref(), site);
        Ok(Self { api, request, reader })
    }

    fn missing(&self, plan: &Plan) -> Vec<String> {
        without_a_way(plan, &self.reader, self.request.as_ref())
    }
}

/// Rights that are missing, told one by one and as what would grant them.
fn without_rights(args: &Fix, api: Option<&Api>, plan: &Plan) -> Result<Option<Outcome>, Failure> {
    let Some(api) = api else { return Ok(None) };
    let missing = missing_rights(api, plan).map_err(|t| Failure::Unreadable(t.to_string()))?;
    if missing.is_empty() {
        return Ok(None);
    }
    let outcome = refused(&missing.iter().map(lacking).collect::<Vec<_>>())?;
    let user = own_name(api).unwrap_or_else(|| "USER".into());
    let grants = plimsoll_repair::grants(&missing, &user);
    note(&args.talk, "hint: who may grant them applies what stands on stdout (| oc apply -f -)");
    print(&grants)?;
    Ok(Some(outcome))
}

/// A plan is for the cluster that it was made from, whatever the kubeconfig names today. What cannot be
/// told is no yes.
fn of_another_cluster(api: Option<&Api>, plan: &Plan) -> Option<String> {
    let Some(api) = api else {
        let why = "no live cluster is given, and the plan changes one: add kube:CONTEXT";
        return plan.acts().then(|| why.to_string());
    };
    let version = EntityId::cluster_scoped("ClusterVersion", "version");
    let found = match plimsoll_repair::resource(&version).map(|version| api.get(&version)) {
        Some(Err(trouble)) => {
            return Some(format!("it cannot be told which cluster this is: {trouble}"));
        }
        Some(Ok(Some(found))) => found,
        Some(Ok(None)) | None => serde_json::Value::Null,
    };
    let now = found.pointer("/spec/clusterID").and_then(serde_json::Value::as_str);
    match (&plan.cluster.id, now) {
        (Some(known), Some(now)) if known == now => None,
        (Some(known), Some(now)) => {
            Some(format!("the plan was made for cluster {known}, and this is {now}"))
        }
        _ => Some(
            "it cannot be told whether this is the cluster that the plan was made for: \
                   ClusterVersion/version names no clusterID"
                .into(),
        ),
    }
}

fn lacking(right: &Permission) -> String {
    let Permission { verb, group, resource, namespace, name } = right;
    let group = if group.is_empty() { "core" } else { group };
    let place = namespace.as_ref().map(|space| format!(" in {space}")).unwrap_or_default();
    let name = name.as_ref().map(|name| format!(" '{name}'")).unwrap_or_default();
    format!("no right to {verb} {resource}.{group}{name}{place}")
}

/// Or why it cannot be had. The same plan from another folder is another session.
fn lease<'a>(
    api: Option<&'a Api>,
    plan: &Plan,
    state: &State,
) -> Result<Result<Option<Lease<'a>>, String>, Failure> {
    let Some(api) = api else { return Ok(Ok(None)) };
    let holder = format!("{}.{}", plan.digest, state.identity()?);
    Ok(match Lease::take(api, &holder, live::clock) {
        Ok(lease) => Ok(Some(lease)),
        Err(Held::By(who)) => {
            let short: String = who.chars().take(12).collect();
            Err(format!(
                "another session is at work on this cluster: {short}; if it was killed, go on with \
                 it where it was, or wait two minutes"
            ))
        }
        Err(Held::Trouble(trouble)) => Err(format!("the lease cannot be taken: {trouble}")),
    })
}

fn go_on(args: &Fix, site: &Site, state: &State) -> Result<Outcome, Failure> {
    let Some(_lock) = state.lock()? else {
        return refused(&["another 'plimsoll fix' is at work on this machine".into()]);
    };
    let begun = state.begun(args.session.as_deref(), live::clock)?;
    if !begun.plan.is_intact() {
        return refused(&["the plan of this session was changed".into()]);
    }
    // What was begun or done again after an end is not over.
    let last = begun.journal.entries().iter().rev().find_map(|entry| match &entry.event {
        Event::Ended { outcome, .. } => Some(Some(*outcome)),
        Event::Began { .. } | Event::Intends { .. } => Some(None),
        _ => None,
    });
    let last = last.flatten();
    let over = match last {
        Some(Became::Fixed) if args.resume => Some("it is fixed: there is nothing to go on with"),
        Some(Became::RolledBack) => Some("it was taken back: 'plimsoll fix' makes a new plan"),
        _ if args.rollback && begun.journal.entries().is_empty() => {
            Some("nothing was done: there is nothing to take back")
        }
        _ => None,
    };
    if let Some(why) = over {
        return refused(&[why.into()]);
    }
    // Whatever is there may be taken back.
    if let Some(why) = not_of_its_pack(site, &begun.plan).filter(|_| args.resume) {
        return refused(&[why]);
    }
    let api = site.connect()?;
    if let Some(why) = of_another_cluster(api.as_ref(), &begun.plan) {
        return refused(&[why]);
    }
    // Who takes it back does so with whatever rights and ways are left.
    if args.resume
        && let Some(refused) = without_rights(args, api.as_ref(), &begun.plan)?
    {
        return Ok(refused);
    }
    let lease = match lease(api.as_ref(), &begun.plan, state)? {
        Ok(lease) => lease,
        Err(why) => return refused(&[why]),
    };
    let ways = Ways::new(api.as_ref(), &begun.plan, site)?;
    let missing = ways.missing(&begun.plan);
    if args.resume && !missing.is_empty() {
        return refused(&missing);
    }
    carry_out(args, site, &ways, lease.as_ref(), begun)
}

fn carry_out(
    args: &Fix,
    site: &Site,
    ways: &Ways,
    lease: Option<&Lease>,
    mut begun: Begun,
) -> Result<Outcome, Failure> {
    site.watch(&begun.plan);
    let poll = Duration::from_secs(args.poll);
    let Ways { api, request, reader } = ways;
    let hands = Hands::new(*api, &begun.plan, &begun.folder, request.as_ref(), reader, poll)
        .map_err(|trouble| Failure::Unreadable(trouble.to_string()))?;
    let console = Console::new(args);
    let mut transaction = Transaction {
        plan: &begun.plan,
        targets: &hands,
        world: site,
        consent: &console,
        turn: lease.map_or(&Alone as &dyn Turn, |lease| lease),
        log: &mut begun.journal,
        pace: Pace {
            poll,
            settle: Duration::from_secs(args.settle),
            dwell: Duration::from_secs(args.dwell),
            ..Pace::default()
        },
        unattended: site.unattended,
        // Who goes on with it said so when it was begun.
        break_glass: begun.plan.break_glass_minutes.is_some(),
        again: args.again,
        by: user(),
    };
    exit::changing(true);
    let short = plimsoll_report::short(&begun.plan);
    exit::on_interrupt(Some(Box::new(move || {
        complain(&format!(
            "stopped in the middle of a step, and nothing is taken back\n\
             hint: plimsoll fix --resume --session {short} goes on, --rollback takes it back"
        ));
    })));
    let ended = match args.rollback {
        true => transaction.roll_back(),
        false => transaction.apply(),
    };
    exit::changing(false);
    exit::on_interrupt(None);
    let ended = ended.map_err(|error| Failure::Unreadable(error.to_string()))?;
    record(args, &begun, &ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words are parted by bars, because a name may have a blank.
    fn read(words: &str) -> (Choice, usize) {
        let words: Vec<PathBuf> =
            words.split('|').filter(|word| !word.is_empty()).map(PathBuf::from).collect();
        let (choice, sources) = names(&words);
        (choice, sources.len())
    }

    #[test]
    fn a_name_is_a_root_or_a_source_and_nothing_is_dropped() {
        let named = |name: &str| Choice::Name(name.into());
        for (words, choice, sources) in [
            ("", Choice::First, 0),
            ("2", Choice::Number(2), 0),
            ("kube:lab-1|ssh:all", Choice::First, 2),
            ("kubelet-anonymous|kube:", named("kubelet-anonymous"), 1),
            ("Node/a-1: kubelet-anonymous", named("Node/a-1: kubelet-anonymous"), 0),
            // What may be a file that is not there is told as that.
            ("nosuch", Choice::First, 1),
            ("nosuch|gather.tar.gz", named("nosuch"), 1),
            ("1|3|gather.tar.gz", named("1 and 3"), 1),
            ("gather.tar.gz|2", Choice::Number(2), 1),
        ] {
            assert_eq!(read(words), (choice, sources), "{words}");
        }
    }
}
