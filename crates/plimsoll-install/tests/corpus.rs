//! Every config of the corpus through every release: the verdict, each error's field, kind and
//! sentence, and the warnings must be what the installer's own code says.
//!
//! `fixtures/install/cases.jsonl` holds edits of the files in `fixtures/install/bases` and what the
//! validation code of openshift/installer, compiled from its release branches, said of the result.

mod support;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use plimsoll_install::{ErrorType, File, Input, Judgement, Refusal, Release, Stage, judge, rules};
use serde_json::Value;
use support::Case;

/// Field, kind and sentence; a plain error has only its sentence.
type Said = (String, String, String);

/// What Kubernetes calls the kinds in its API.
fn kind_name(kind: ErrorType) -> &'static str {
    match kind {
        ErrorType::Invalid => "FieldValueInvalid",
        ErrorType::Required => "FieldValueRequired",
        ErrorType::Duplicate => "FieldValueDuplicate",
        ErrorType::NotSupported => "FieldValueNotSupported",
        ErrorType::Forbidden => "FieldValueForbidden",
        ErrorType::NotFound => "FieldValueNotFound",
        ErrorType::TooMany => "FieldValueTooMany",
        ErrorType::TypeInvalid => "FieldValueTypeInvalid",
        ErrorType::Internal => "InternalError",
        ErrorType::Other => "",
    }
}

fn said_by_us(refusal: &Refusal) -> Said {
    let kind = kind_name(refusal.kind).to_string();
    let field = if kind.is_empty() { String::new() } else { refusal.path.clone() };
    (field, kind, normal(&refusal.detail))
}

fn said_by_installer(error: &Value) -> Said {
    let text = |i: usize| error[i].as_str().unwrap_or_default().to_string();
    let (field, kind, detail) = (text(0), text(1), normal(&text(2)));
    // Printed as a field error, but handed on as a plain one.
    match detail.split_once(": Required value: ") {
        Some((field, detail)) if kind.is_empty() => {
            (field.to_string(), "FieldValueRequired".to_string(), detail.to_string())
        }
        _ => (field, kind, detail),
    }
}

/// Which asset failed is said in front of an error.
const ASSETS: &[&str] = &[
    "failed to create install config: ",
    "failed to load asset \"Install Config\": ",
    "failed to load asset \"Agent Config\": ",
    "failed to fetch dependency of \"Agent Manifests\": ",
    "failed to fetch dependency of \"NMState Config\": ",
    "failed to generate asset \"NMState Config\": ",
    "failed to generate asset \"Agent Hosts\": ",
    "failed to create install config: ",
];

/// What cannot agree: names of assets, lists that Go prints in any order, and what depends on how
/// the installer was built.
fn normal(text: &str) -> String {
    let mut text = text.to_string();
    for prefix in ASSETS {
        text = text.strip_prefix(prefix).unwrap_or(&text).to_string();
    }
    // Go 1.24 names embedded structs; the releases before 4.20 are built with an older Go.
    text = text.replace(".TypeMeta.", ".");
    // Built with the tag for bare metal, 4.14 and 4.15 list that platform twice.
    text = text.replace("baremetal, baremetal,", "baremetal,");
    let list = text.strip_prefix("supported values: ").or_else(|| text.strip_prefix('['));
    if let Some(list) = list {
        let mut names: Vec<_> = list.trim_end_matches(']').split(", ").collect();
        names.sort_unstable();
        text = names.join(", ");
    }
    without_userinfo(&text)
}

/// The product never shows the user and password of a URL.
fn without_userinfo(text: &str) -> String {
    match (text.find("://"), text.find('@')) {
        (Some(scheme), Some(at)) if scheme < at && !text[scheme + 3..at].contains(['/', ' ']) => {
            format!("{}://[redacted]{}", &text[..scheme], &text[at..])
        }
        _ => text.to_string(),
    }
}

/// The state of a machine or a payload, which a pure function cannot know.
fn of_the_outside((field, _, detail): &Said) -> bool {
    detail.starts_with("could not find interface")
        || (field.to_lowercase().ends_with("osimage") && detail.is_empty())
}

fn warnings_of_installer(said: &Value) -> BTreeSet<String> {
    let texts = said["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str);
    texts
        .filter(|text| {
            !text.starts_with("Unable to validate the release image")
                && !text.contains("FIPS")
                && !text.contains("releaseImage value")
                && !text.contains("from additionalTrustBundle is")
        })
        // The installer prints a network config as a list of bytes.
        .map(|text| match text.split_once("&JSON{") {
            Some((head, _)) => format!("{head}&JSON{{…}} is ignored"),
            None => without_userinfo(text),
        })
        .collect()
}

/// Places lie in the file, and every rule is in the table, for this release.
fn check_form(judgement: &Judgement, input: &Input<'_>, release: Release, case: &str) {
    for refusal in judgement.refusals.iter().chain(&judgement.warnings) {
        let text = match refusal.file {
            File::Install => input.install,
            File::Agent => input.agent,
        };
        let lines = text.map_or(1, |text| text.split('\n').count());
        let line = usize::try_from(refusal.line).unwrap_or(usize::MAX);
        assert!(line >= 1 && line <= lines && refusal.column >= 1, "{case}: {refusal:?}");
        let rule = rules().iter().find(|rule| rule.id == refusal.rule);
        let known = rule.is_some_and(|rule| rule.releases.contains(&release));
        assert!(known, "{case} {release}: {refusal:?}");
    }
}

#[test]
fn the_corpus_agrees() {
    let mut report = String::new();
    let (mut judged, mut verdicts, mut whole) = (0, 0, 0);
    for Case { name, kind, method, install, agent, said } in &support::cases() {
        let input = Input { install: install.as_deref(), agent: agent.as_deref() };
        for said in said.as_array().unwrap() {
            let errors = said["errors"].as_array().unwrap().iter().map(said_by_installer);
            let theirs: BTreeSet<_> = errors.filter(|error| !of_the_outside(error)).collect();
            for release in said["releases"].as_array().unwrap() {
                let release: Release = release.as_str().unwrap().parse().unwrap();
                judged += 1;
                let Ok(judgement) = judge(&input, release, *method) else {
                    // What is not YAML has no sentence here, but the installer must refuse it, too.
                    verdicts += usize::from(!theirs.is_empty());
                    whole += usize::from(!theirs.is_empty());
                    continue;
                };
                check_form(&judgement, &input, release, name);
                // Where the corpus was made there was no nmstatectl, and that step was left out.
                let counted = |r: &&Refusal| {
                    (*kind != "install" || r.stage != Stage::Provision)
                        && r.rule != "network-config-empty"
                };
                let ours: BTreeSet<_> =
                    judgement.refusals.iter().filter(counted).map(said_by_us).collect();
                verdicts += usize::from(ours.is_empty() == theirs.is_empty());
                let crashed = ours.iter().any(|(.., detail)| detail.starts_with("runtime error"));
                let warned: BTreeSet<_> =
                    judgement.warnings.iter().map(|warning| warning.detail.clone()).collect();
                if ours == theirs && (crashed || warned == warnings_of_installer(said)) {
                    whole += 1;
                    continue;
                }
                writeln!(report, "{name} {release} {kind}").unwrap();
                writeln!(report, "  ours   {ours:?} {warned:?}").unwrap();
                writeln!(report, "  theirs {theirs:?} {:?}", said["warnings"]).unwrap();
            }
        }
    }
    println!("{judged} judgements: {verdicts} verdicts agree, {whole} agree in every word");
    assert_eq!((verdicts, whole), (judged, judged), "\n{report}");
}
