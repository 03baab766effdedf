//! What can be mended by rote: edits of the text that leave everything else as it is, comments, order,
//! line ends and all. Pure: texts in, edits out; who writes them where is not decided here.
//!
//! One walk over each file, with the installer's own types beside it, gives every edit. Then the result
//! is judged, and what would bring an error that was not there before is taken back.

mod diff;
mod quotes;
mod source;
mod values;
mod walk;
mod words;

use std::collections::BTreeSet;

use plimsoll_install::{File, Input, Method, Refusal, Release, Stage, judge};
use plimsoll_model::redact;

pub use diff::diff;
pub use source::Edit;
pub(super) use values::meant_key;

/// A fix is that of one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// The rule it is for, or the name of the untidiness that no rule complains of.
    pub id: &'static str,
    pub file: File,
    pub line: u32,
    /// For people: what becomes what. Never a secret.
    pub what: String,
    pub edits: Vec<Edit>,
}

/// Ids of fixes that are no rules of the installer: it takes these, but another reader may not.
pub const TIDY: &[&str] =
    &["key-in-other-case", "vip-field-deprecated", "mac-in-other-form", "api-version-old"];

const RENAMES: &str = "unknown-key";

/// Every fix of these texts, those of one file in the order of its lines. `wanted` says of an id
/// whether its fixes are.
pub fn fixes(
    input: &Input<'_>,
    release: Release,
    method: Method,
    wanted: &dyn Fn(&str) -> bool,
) -> Vec<Fix> {
    let agent = input.agent.filter(|_| method == Method::Agent);
    let misread = judge(input, release, method).map(|it| it.misreadings).unwrap_or_default();
    let mut fixes = Vec::new();
    for (file, text) in [(File::Install, input.install), (File::Agent, agent)] {
        if let Some(text) = text {
            let mut own = walk::fixes(text, file, release);
            own.extend(quotes::fixes(text, file, &misread));
            own.sort_by_key(|fix| fix.line);
            fixes.extend(own);
        }
    }
    fixes.retain(|fix| wanted(fix.id));
    let mut fixes = harmless(input, release, method, fixes);
    for fix in &mut fixes {
        fix.what = redact(&fix.what);
    }
    fixes
}

/// A text with edits of it; nothing else changes.
pub fn apply(text: &str, edits: &[Edit]) -> String {
    source::apply(text, edits.iter())
}

/// The text of a file with its fixes.
pub fn mended(text: &str, file: File, fixes: &[Fix]) -> String {
    let edits = fixes.iter().filter(|fix| fix.file == file).flat_map(|fix| &fix.edits);
    source::apply(text, edits)
}

/// Without the kinds of fixes that bring an error of their own. A key that nobody read may hide one,
/// and is told all the same.
fn harmless(input: &Input<'_>, release: Release, method: Method, mut fixes: Vec<Fix>) -> Vec<Fix> {
    let renamed: Vec<Fix> = fixes.iter().filter(|fix| fix.id == RENAMES).cloned().collect();
    let verdict = |fixes: &[Fix]| Said::of(input, release, method, fixes);
    let before = verdict(&renamed);
    if before.unreadable {
        return Vec::new();
    }
    if !verdict(&fixes).is_worse_than(&before) {
        return fixes;
    }
    let ids: BTreeSet<&str> = fixes.iter().map(|fix| fix.id).filter(|id| *id != RENAMES).collect();
    let mut kept = renamed;
    for id in ids {
        let mut with = kept.clone();
        with.extend(fixes.iter().filter(|fix| fix.id == id).cloned());
        if !verdict(&with).is_worse_than(&before) {
            kept = with;
        }
    }
    fixes.retain(|fix| kept.contains(fix));
    fixes
}

/// What the installer says of texts, as far as a fix can change it.
struct Said {
    ids: BTreeSet<&'static str>,
    /// The step at which it stopped; none where it came to its end.
    stopped: Option<Stage>,
    unreadable: bool,
}

impl Said {
    fn of(input: &Input<'_>, release: Release, method: Method, fixes: &[Fix]) -> Self {
        let text = |text: Option<&str>, file| text.map(|text| mended(text, file, fixes));
        let install = text(input.install, File::Install);
        let agent = text(input.agent, File::Agent);
        let input = Input { install: install.as_deref(), agent: agent.as_deref() };
        match judge(&input, release, method) {
            Ok(judgement) => {
                let refusals: &[Refusal] = &judgement.refusals;
                Self {
                    ids: refusals.iter().chain(&judgement.later).map(|it| it.rule).collect(),
                    stopped: refusals.iter().map(|refusal| refusal.stage).max(),
                    unreadable: false,
                }
            }
            Err(_) => Self { ids: BTreeSet::new(), stopped: None, unreadable: true },
        }
    }

    /// An error of a later step was hidden by those before it; reading names one error at a time.
    fn is_worse_than(&self, before: &Said) -> bool {
        if self.unreadable {
            return true;
        }
        let new = self.ids.difference(&before.ids).next().is_some();
        let further = match (before.stopped, self.stopped) {
            (Some(Stage::Parse | Stage::Convert), _) => true,
            (Some(before), Some(now)) => now > before,
            _ => false,
        };
        new && !further
    }
}
