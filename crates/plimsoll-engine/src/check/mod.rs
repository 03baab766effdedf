//! What is wrong with an install before anything boots: what the installer itself would refuse, and the
//! states of the packs that have a `severity`. The same facts, rules and causes as in a diagnosis; a
//! state that another one has caused is no finding of its own.

mod commands;
mod facts;
pub mod fix;
mod grouped;
mod ids;
mod meant;
mod page;
mod readings;
#[cfg(test)]
mod tests;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_causes::Observed;
use plimsoll_install::{
    ErrorType, File, Input, Installer, Judgement, Method, Refusal, Release, Stage, Unreadable,
    judge_by,
};
use plimsoll_model::check::{
    CHECK_SCHEMA, Check, CheckVerdict, Finding, InstallerStage, NotChecked, Origin, Severity,
    SuppressedFinding,
};
use plimsoll_model::{EntityId, Evidence, Snapshot, clip, redact};

use crate::ground;
use crate::pack::{LoadError, Pack, PackFile, StateRule, Via};
use crate::predicate::Truth;
use crate::rules::{self, Instance, Setting, bound, proof, shared};
use crate::summary;
use crate::suppress::Suppression;
use commands::{asks_nmstate, commands, is_refused_by_nmstate, verdict};
use facts::{Facts, Reads, Spot, Unseen};
use meant::Meant;
pub use page::page;
pub use words::Words;

const UNKNOWN_KEY: &str = "unknown-key";
/// In place of a key that may be a password.
const MASKED: &str = "…";

/// What the packs know of configs.
pub struct Knowledge {
    pub pack: Pack,
    pub words: Words,
}

impl Knowledge {
    pub fn load(files: &[PackFile]) -> Result<Self, Vec<LoadError>> {
        let words = Words::load(files)?;
        Ok(Self { pack: Pack::load_checks(files)?, words })
    }
}

/// A file as the user named it.
#[derive(Clone, Copy, Debug)]
pub struct ConfigFile<'a> {
    pub name: &'a str,
    pub text: &'a str,
}

pub struct Asked<'a> {
    pub release: Release,
    pub method: Method,
    pub installer: Installer,
    pub install: Option<ConfigFile<'a>>,
    pub agent: Option<ConfigFile<'a>>,
    /// What was seen outside of the files: probes, BMCs, the folder of the install.
    pub seen: &'a Snapshot,
    /// Ids; empty means all.
    pub only: &'a [String],
    pub skip: &'a [String],
    pub suppressions: &'a [Suppression],
}

impl Asked<'_> {
    fn file_name(&self, file: File) -> &str {
        let given = match file {
            File::Install => self.install,
            File::Agent => self.agent,
        };
        given.map_or(file.name(), |file| file.name)
    }
}

pub fn check(knowledge: &Knowledge, asked: &Asked<'_>) -> Result<Check, Unreadable> {
    let input = Input {
        install: asked.install.map(|file| file.text),
        agent: asked.agent.map(|file| file.text),
    };
    let judgement = judge_by(asked.installer, &input, asked.release, asked.method)?;
    let facts = facts::extract(&judgement, asked);
    let mut findings = refused(knowledge, asked, &judgement, &facts);
    findings.extend(readings::findings(&knowledge.words, asked, &judgement, &facts));
    let mut not_checked = not_asked(&judgement);
    let mut checked = plimsoll_install::rules().len() + readings::RULES.len();
    checked += own(knowledge, &facts, &mut findings, &mut not_checked);
    if asked.install.is_none() && asked.agent.is_none() {
        let about_age = |rule: &&StateRule| rule.when.reads_of("self").contains(&facts::AGE);
        checked = knowledge.pack.states.iter().filter(about_age).count();
        let why = "no config is left to judge, only what the installer made of it".into();
        not_checked = vec![NotChecked { id: "install-config".into(), why }];
    }
    // What nobody wants to hear of stops the installer all the same.
    let by_nmstate = asks_nmstate(&judgement)
        && findings.iter().any(|finding| is_refused_by_nmstate(finding, &facts));
    let refuses = |last: Stage| {
        let mut all = judgement.refusals.iter().filter(|it| facts.vip_of_dns(it).is_none());
        all.any(|refusal| refusal.stage <= last) || (by_nmstate && last >= Stage::AgentHosts)
    };
    let (findings, suppressed) = accepted(asked, findings);
    let meant = |finding: &Finding| {
        let file = [File::Install, File::Agent];
        let file = file.into_iter().find(|file| asked.file_name(*file) == finding.file)?;
        Meant::of(file, &finding.path)
    };
    let mut findings = grouped::grouped(findings, &meant);
    let rank = |finding: &Finding| {
        let file = [asked.install, asked.agent];
        let file = file.iter().flatten().position(|file| file.name == finding.file);
        (file.unwrap_or(usize::MAX), finding.line, finding.column, finding.severity)
    };
    findings.sort_by(|a, b| (rank(a), &a.id, &a.path).cmp(&(rank(b), &b.id, &b.path)));
    not_checked.sort();
    not_checked.dedup();
    let blocked = findings.iter().any(|finding| finding.severity == Severity::Error);
    Ok(Check {
        schema: CHECK_SCHEMA.into(),
        release: asked.release.to_string(),
        files: [asked.install, asked.agent].iter().flatten().map(|f| f.name.into()).collect(),
        verdict: if blocked { CheckVerdict::Blocked } else { CheckVerdict::Ready },
        installer_verdict: verdict(!refuses(Stage::AgentHosts)),
        installer_commands: commands(asked, &judgement, &refuses, by_nmstate, &findings),
        findings,
        suppressed,
        not_checked,
        checked: u64::try_from(checked).unwrap_or(u64::MAX),
    })
}

fn stage(stage: Stage) -> InstallerStage {
    match stage {
        Stage::Parse => InstallerStage::Parse,
        Stage::Convert => InstallerStage::Convert,
        Stage::Validate => InstallerStage::Validate,
        Stage::Provision => InstallerStage::Provision,
        Stage::AgentConfig => InstallerStage::AgentConfig,
        Stage::AgentHosts => InstallerStage::AgentHosts,
    }
}

/// What the installer itself says.
fn refused(
    knowledge: &Knowledge,
    asked: &Asked<'_>,
    judgement: &Judgement,
    facts: &Facts,
) -> Vec<Finding> {
    // What stands behind a misspelt `password` is one.
    let unknown: BTreeMap<(&str, u32, u32), &str> = (judgement.config.unknown_keys.iter())
        .map(|(file, it)| ((file.name(), it.place.line, it.place.column), it.key.as_str()))
        .collect();
    let told = |refusal: &Refusal, severity, origin| {
        let secret = secret_key(refusal);
        let masked = secret.map(|key| masked(refusal, key));
        let refusal = masked.as_ref().unwrap_or(refusal);
        let file = asked.file_name(refusal.file).to_string();
        let words = knowledge.words.about(refusal);
        let words = words.as_ref();
        Finding {
            id: refusal.rule.into(),
            severity,
            origin,
            stage: Some(stage(refusal.stage)),
            entity: facts.entity_at(refusal.file, &refusal.path),
            path: refusal.path.clone(),
            line: refusal.line,
            column: refusal.column,
            value: refusal.value.as_deref().map(|value| clip(&redact(value))),
            message: words::message(refusal, words.and_then(|words| words.title)),
            installer_message: Some(sentence(refusal)),
            hint: plain_hint(refusal).or_else(|| words.map(|words| words.hint.to_string())),
            why: words.and_then(|words| words.why).map(str::to_string),
            follows: None,
            evidence: vec![Evidence {
                source: file.clone(),
                path: file.clone(),
                line: Some(refusal.line.into()),
                pointer: None,
                time: None,
                text: match unknown.get(&(refusal.file.name(), refusal.line, refusal.column)) {
                    Some(_) if secret.is_some() => MASKED.into(),
                    Some(key) => clip(&redact(key)),
                    None => facts.line_of(refusal.file, refusal.line),
                },
            }],
            file,
        }
    };
    let all = |list: &[Refusal], severity, origin| -> Vec<Finding> {
        list.iter().map(|refusal| told(refusal, severity, origin)).collect()
    };
    let from_dns = |refusal: &Refusal| facts.vip_of_dns(refusal).is_some();
    let (taken, refused): (Vec<Refusal>, Vec<Refusal>) =
        judgement.refusals.iter().cloned().partition(from_dns);
    let mut found = all(&refused, Severity::Error, Origin::Installer);
    // One list that is missing may be refused for two reasons.
    let mut paths = BTreeSet::new();
    for refusal in taken.into_iter().filter(|refusal| paths.insert(refusal.path.clone())) {
        let Some((name, address)) = facts.vip_of_dns(&refusal) else { continue };
        let message =
            format!("No VIP is written, and the installer takes {address}: that is {name}");
        let finding = told(&refusal, Severity::Warning, Origin::Plimsoll);
        found.push(Finding { message, installer_message: None, stage: None, ..finding });
    }
    found.extend(all(&judgement.warnings, Severity::Warning, Origin::Installer));
    // In this run the installer would not come so far.
    found.extend(all(&judgement.later, Severity::Error, Origin::Plimsoll));
    for refusal in unknown_keys_behind_the_first(judgement) {
        let severity = match refusal.file {
            File::Install => Severity::Warning,
            File::Agent => Severity::Error,
        };
        let finding = told(&refusal, severity, Origin::Plimsoll);
        found.push(Finding { installer_message: None, ..finding });
    }
    found
}

/// A key below `bmc` that is like no field may be a password in the wrong place. Fields are words of letters.
fn secret_key(refusal: &Refusal) -> Option<&str> {
    let start = refusal.path.to_ascii_lowercase().rfind(".bmc.")? + ".bmc.".len();
    let key = refusal.path.get(start..)?;
    let is_word =
        key.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_' || byte == b'-');
    let is_field = is_word || Meant::of(refusal.file, &refusal.path).is_some();
    (refusal.rule == UNKNOWN_KEY && !is_field).then_some(key)
}

fn masked(refusal: &Refusal, key: &str) -> Refusal {
    Refusal {
        path: refusal
            .path
            .strip_suffix(key)
            .map(|path| format!("{path}{MASKED}"))
            .unwrap_or_default(),
        message: refusal.message.replace(key, MASKED),
        detail: refusal.detail.replace(key, MASKED),
        ..refusal.clone()
    }
}

/// The installer names the first, and the next one when that is mended.
fn unknown_keys_behind_the_first(judgement: &Judgement) -> Vec<Refusal> {
    let said = [&judgement.refusals, &judgement.warnings, &judgement.later].into_iter().flatten();
    let said: BTreeSet<(&str, &str)> = said
        .filter(|refusal| refusal.rule == UNKNOWN_KEY)
        .map(|refusal| (refusal.file.name(), refusal.path.as_str()))
        .collect();
    let all = judgement.config.unknown_keys.iter();
    all.filter(|(file, key)| !said.contains(&(file.name(), key.path.as_str())))
        .map(|(file, key)| Refusal {
            rule: UNKNOWN_KEY,
            file: *file,
            path: key.path.clone(),
            line: key.place.line,
            column: key.place.column,
            kind: ErrorType::Other,
            value: None,
            detail: String::new(),
            message: String::new(),
            stage: Stage::Parse,
        })
        .collect()
}

fn plain_hint(refusal: &Refusal) -> Option<String> {
    let is_key = refusal.rule == UNKNOWN_KEY;
    is_key.then(|| Some(Meant::of(refusal.file, &refusal.path)?.hint())).flatten()
}

/// The installer's own words. Where it shows no value there is nothing to take out of them, and
/// `Password: Required value` only looks as if there were. Some name the path themselves.
fn sentence(refusal: &Refusal) -> String {
    let said = match refusal.kind {
        ErrorType::Required | ErrorType::Forbidden => refusal.message.clone(),
        _ => redact(&refusal.message),
    };
    let has_path = refusal.path.is_empty() || said.starts_with(&refusal.path);
    if has_path { said } else { format!("{}: {said}", refusal.path) }
}

fn not_asked(judgement: &Judgement) -> Vec<NotChecked> {
    let outside = judgement.not_checked.iter();
    outside.map(|(id, why)| NotChecked { id: (*id).into(), why: why.clone() }).collect()
}

/// States of the packs. Gives how many rules there are.
fn own(
    knowledge: &Knowledge,
    facts: &Facts,
    findings: &mut Vec<Finding>,
    not_checked: &mut Vec<NotChecked>,
) -> usize {
    let pack = &knowledge.pack;
    // What is not there causes nothing, and there is much of it.
    let states = rules::run_without_false(pack, &facts.base);
    let grounded = ground::ground(pack, &facts.base, &states);
    let graph = &grounded.graph;
    let is_true = |node: usize| graph.nodes[node].observed == Observed::True;
    let explained: BTreeSet<usize> =
        graph.links.iter().filter(|link| is_true(link.cause)).map(|link| link.effect).collect();
    let setting = Setting::of(&facts.base);
    let context = shared(&facts.base);
    for (node, (id, instance)) in grounded.nodes.iter().enumerate() {
        let rule = &pack.states[instance.state];
        if is_true(node) && !explained.contains(&node) && rule.finding.is_some() {
            let hint = hint(rule, id, facts, &setting, &context);
            findings.extend(finding(rule, id, instance, facts, hint));
        }
    }
    let hiding = hiding(pack);
    let reads = pack.states.iter().map(|rule| Reads::of(&rule.when.reads_of("self")));
    let reads: Vec<Reads> = reads.collect();
    // A thousand hosts have one part in common that nobody asked for.
    let mut not_asked = BTreeSet::new();
    for (id, instances) in &states {
        for instance in instances {
            let rule = &pack.states[instance.state];
            if let (Truth::Unknown(what), Some(_)) = (&instance.truth, &rule.finding)
                && !is_hidden(&hiding, instances, instance)
            {
                match facts.live.unseen(id, &rule.id, &reads[instance.state]) {
                    Unseen::NothingToSee => {}
                    Unseen::NotAsked(part) => drop(not_asked.insert(part)),
                    Unseen::Told(why) => not_checked.push(why),
                    Unseen::InTheFiles => {
                        let why = facts.why_unknown(what);
                        not_checked.push(NotChecked { id: rule.id.clone(), why });
                    }
                }
            }
        }
    }
    not_checked.extend(
        not_asked
            .into_iter()
            .map(|part| NotChecked { id: part.into(), why: format!("not asked: --live={part}") }),
    );
    pack.states.iter().filter(|state| state.finding.is_some()).count()
}

/// By state: those that keep it from being seen on the same thing. Nobody asks the password of a BMC that
/// does not answer.
fn hiding(pack: &Pack) -> BTreeMap<usize, Vec<usize>> {
    let mut hiding: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for rule in pack.causes.iter().filter(|rule| rule.via == Via::Same) {
        hiding.entry(rule.to).or_default().push(rule.from);
    }
    hiding
}

fn is_hidden(
    hiding: &BTreeMap<usize, Vec<usize>>,
    instances: &[Instance],
    hidden: &Instance,
) -> bool {
    let by = hiding.get(&hidden.state).map(Vec::as_slice).unwrap_or_default();
    by.iter().any(|by| instances.iter().any(|other| other.state == *by && other.is_active()))
}

fn hint(
    rule: &StateRule,
    id: &EntityId,
    facts: &Facts,
    setting: &Setting,
    context: &kube_cel::cel::Context<'_>,
) -> Option<String> {
    let entity = facts.base.entities.get(id)?;
    let mut scope = context.new_inner_scope();
    scope.add_variable_from_value("self", bound(id, entity));
    let fits = |when: &crate::predicate::Predicate| when.truth(&scope) == Truth::True;
    let mut all = rule.recovery.iter().filter(|recovery| setting.allows(&recovery.applies));
    let recovery = all.find(|recovery| recovery.when.as_ref().is_none_or(fits))?;
    Some(summary::fill(&recovery.summary, id, Some(entity)))
}

fn finding(
    rule: &StateRule,
    id: &EntityId,
    instance: &Instance,
    facts: &Facts,
    hint: Option<String>,
) -> Option<Finding> {
    debug_assert!(instance.is_active());
    let told = rule.finding.as_ref()?;
    let entity = facts.base.entities.get(id)?;
    let spot = facts.spot(id, told.at.as_deref());
    let cluster = facts.base.entities.get(&EntityId::cluster());
    let Spot { file, path, line, column, value } = spot.cloned().unwrap_or_default();
    let mut evidence = proof(&rule.when, entity, cluster);
    facts.quote(&mut evidence);
    Some(Finding {
        id: rule.id.clone(),
        severity: told.severity,
        origin: Origin::Plimsoll,
        stage: None,
        entity: id.clone(),
        file,
        path,
        line,
        column,
        value: value.map(|value| clip(&redact(&value))),
        message: redact(&summary::fill(&rule.summary, id, Some(entity))),
        installer_message: None,
        hint: hint.map(|hint| redact(&hint)),
        why: told.why.clone(),
        follows: None,
        evidence,
    })
}

/// What the user does not want to hear of.
fn accepted(asked: &Asked<'_>, all: Vec<Finding>) -> (Vec<Finding>, Vec<SuppressedFinding>) {
    let mut open = Vec::new();
    let mut suppressed = Vec::new();
    for finding in all {
        let listed = asked
            .suppressions
            .iter()
            .find(|entry| entry.covers(&finding.id, &finding.entity.to_string(), asked.seen.now));
        let by = match listed {
            _ if asked.skip.contains(&finding.id) => Some("--skip".to_string()),
            _ if !asked.only.is_empty() && !asked.only.contains(&finding.id) => {
                Some("--only".to_string())
            }
            Some(entry) => Some(entry.reason.clone()),
            None => None,
        };
        match by {
            Some(by) => suppressed.push(SuppressedFinding { finding, by }),
            None => open.push(finding),
        }
    }
    (open, suppressed)
}
