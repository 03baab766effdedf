//! What the installer says: errors that stop it and warnings that do not.

use std::collections::HashSet;

use plimsoll_model::redact::without_userinfo;

use crate::place::{Place, Placed};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    Install,
    Agent,
}

impl File {
    pub fn name(self) -> &'static str {
        match self {
            File::Install => "install-config.yaml",
            File::Agent => "agent-config.yaml",
        }
    }
}

/// Kubernetes' kinds of field errors, and everything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorType {
    Invalid,
    Required,
    Duplicate,
    NotSupported,
    Forbidden,
    NotFound,
    TooMany,
    TypeInvalid,
    Internal,
    /// A plain error, such as one of decoding.
    Other,
}

impl ErrorType {
    /// How Kubernetes prints it.
    pub fn words(self) -> &'static str {
        match self {
            ErrorType::Invalid | ErrorType::TypeInvalid => "Invalid value",
            ErrorType::Required => "Required value",
            ErrorType::Duplicate => "Duplicate value",
            ErrorType::NotSupported => "Unsupported value",
            ErrorType::Forbidden => "Forbidden",
            ErrorType::NotFound => "Not found",
            ErrorType::TooMany => "Too many",
            ErrorType::Internal => "Internal error",
            ErrorType::Other => "",
        }
    }

    fn shows_value(self) -> bool {
        !matches!(
            self,
            ErrorType::Required | ErrorType::Forbidden | ErrorType::Internal | ErrorType::Other
        )
    }
}

/// Which step of the installer meets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Reading the file: nothing else is looked at.
    Parse,
    /// Deprecated fields become their successors: the first error ends it.
    Convert,
    /// Every target meets it.
    Validate,
    /// Only `create cluster` meets it.
    Provision,
    /// Only `agent create …` meets it, in agent-config.yaml.
    AgentConfig,
    /// Only `agent create …` meets it, once both files are read.
    AgentHosts,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Names the bad condition; see [`crate::rules`].
    pub rule: &'static str,
    pub file: File,
    /// As that release spells it. A plain error has none there; here it gets the path of the value.
    pub path: String,
    pub line: u32,
    pub column: u32,
    pub kind: ErrorType,
    /// What stands there, as the installer prints it where that can be read; never a secret.
    pub value: Option<String>,
    /// The installer's sentence without path, kind and value.
    pub detail: String,
    /// What the installer prints behind the path. A secret is `[redacted]`.
    pub message: String,
    pub stage: Stage,
}

impl Refusal {
    pub fn place(&self) -> Place {
        Place { line: self.line, column: self.column }
    }
}

pub(crate) const REDACTED: &str = "[redacted]";

/// The bad value of an error, as Kubernetes prints it.
#[derive(Clone, Debug)]
pub(crate) enum Bad {
    /// Printed as it is: numbers, and Go values already spelt out.
    Plain(String),
    Text(String),
    /// The installer prints Go's own structure, or what stands in another field.
    Misprinted {
        printed: String,
        stands: Option<String>,
    },
    /// Not to be shown.
    Secret,
    Nothing,
}

impl Bad {
    pub fn text(text: &str) -> Self {
        Bad::Text(text.to_string())
    }

    pub fn plain(value: impl ToString) -> Self {
        Bad::Plain(value.to_string())
    }

    /// What the installer prints, and what is said to stand there.
    fn shown(self) -> (Option<String>, Option<String>) {
        let printed = match self {
            Bad::Plain(text) => Some(without_userinfo(&text)),
            Bad::Text(text) => Some(crate::go::text::quote(&without_userinfo(&text))),
            Bad::Misprinted { printed, stands } => return (Some(printed), stands),
            Bad::Secret | Bad::Nothing => None,
        };
        (printed.clone(), printed)
    }
}

/// One finding before it has a file and a stage.
pub(crate) struct Finding {
    pub rule: &'static str,
    pub path: String,
    pub place: Place,
    pub kind: ErrorType,
    pub bad: Bad,
    pub detail: String,
}

/// What one step of the installer collects. Kubernetes prints the same sentence once.
pub(crate) struct Collector {
    /// Where the places of what comes next are.
    pub file: File,
    stage: Stage,
    seen: HashSet<String>,
    pub refusals: Vec<Refusal>,
    pub warnings: Vec<Refusal>,
}

/// A thousand hosts may have some faults each; more is no config of anybody.
const MOST: usize = 10_000;

impl Collector {
    /// Nothing more is taken; whoever compares everything with everything can stop.
    pub fn is_full(&self) -> bool {
        self.refusals.len() >= MOST
    }

    pub fn new(file: File, stage: Stage) -> Self {
        Self { file, stage, seen: HashSet::new(), refusals: Vec::new(), warnings: Vec::new() }
    }

    pub fn refuse(&mut self, finding: Finding) {
        if self.is_full() {
            return;
        }
        let refusal = self.refusal(finding);
        if self.seen.insert(format!("{}: {}", refusal.path, refusal.message)) {
            self.refusals.push(refusal);
        }
    }

    /// A warning is a plain line of the log.
    pub fn warn(&mut self, rule: &'static str, path: &str, place: Place, text: impl Into<String>) {
        let warning = self.refusal(Finding {
            rule,
            path: path.to_string(),
            place,
            kind: ErrorType::Other,
            bad: Bad::Nothing,
            detail: text.into(),
        });
        self.warnings.push(warning);
    }

    /// One of a value, which the line of the log does not quote.
    pub fn warn_of(
        &mut self,
        rule: &'static str,
        path: &str,
        value: &Placed<String>,
        text: String,
    ) {
        self.warn(rule, path, value.place, text);
        if let Some(warning) = self.warnings.last_mut() {
            warning.value = Some(crate::go::text::quote(value.as_str()));
        }
    }

    pub fn invalid(
        &mut self,
        rule: &'static str,
        path: impl Into<String>,
        place: Place,
        bad: Bad,
        detail: impl Into<String>,
    ) {
        let (path, detail) = (path.into(), detail.into());
        self.refuse(Finding { rule, path, place, kind: ErrorType::Invalid, bad, detail });
    }

    pub fn required(
        &mut self,
        rule: &'static str,
        path: impl Into<String>,
        place: Place,
        detail: impl Into<String>,
    ) {
        self.without_value(rule, path.into(), place, ErrorType::Required, detail.into());
    }

    pub fn forbidden(
        &mut self,
        rule: &'static str,
        path: impl Into<String>,
        place: Place,
        detail: impl Into<String>,
    ) {
        self.without_value(rule, path.into(), place, ErrorType::Forbidden, detail.into());
    }

    pub fn plain(
        &mut self,
        rule: &'static str,
        path: impl Into<String>,
        place: Place,
        detail: impl Into<String>,
    ) {
        self.without_value(rule, path.into(), place, ErrorType::Other, detail.into());
    }

    pub fn not_supported(
        &mut self,
        rule: &'static str,
        path: impl Into<String>,
        place: Place,
        bad: Bad,
        supported: &[&str],
    ) {
        let names: Vec<_> = supported.iter().map(|name| crate::go::text::quote(name)).collect();
        let detail = format!("supported values: {}", names.join(", "));
        let path = path.into();
        self.refuse(Finding { rule, path, place, kind: ErrorType::NotSupported, bad, detail });
    }

    pub fn duplicate(
        &mut self,
        rule: &'static str,
        path: impl Into<String>,
        place: Place,
        bad: Bad,
    ) {
        let path = path.into();
        let detail = String::new();
        self.refuse(Finding { rule, path, place, kind: ErrorType::Duplicate, bad, detail });
    }

    fn without_value(
        &mut self,
        rule: &'static str,
        path: String,
        place: Place,
        kind: ErrorType,
        detail: String,
    ) {
        self.refuse(Finding { rule, path, place, kind, bad: Bad::Nothing, detail });
    }

    fn refusal(&self, finding: Finding) -> Refusal {
        let Finding { rule, path, place, kind, bad, detail } = finding;
        let secret = matches!(bad, Bad::Secret);
        let (printed, value) = bad.shown();
        let detail = without_userinfo(&detail);
        let mut parts = Vec::new();
        if kind != ErrorType::Other {
            parts.push(kind.words().to_string());
        }
        if kind.shows_value() {
            match printed {
                Some(printed) => parts.push(printed),
                None if secret => parts.push(crate::go::text::quote(REDACTED)),
                None => {}
            }
        }
        if !detail.is_empty() {
            parts.push(detail.clone());
        }
        let value = value.filter(|_| kind.shows_value());
        Refusal {
            rule,
            file: self.file,
            path,
            line: place.line,
            column: place.column,
            kind,
            value,
            detail,
            message: parts.join(": "),
            stage: self.stage,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_sentence_is_said_once() {
        let mut out = Collector::new(File::Install, Stage::Validate);
        for _ in 0..2 {
            out.not_supported("publish", "publish", Place::START, Bad::text("x"), &["a", "b"]);
        }
        assert_eq!(out.refusals.len(), 1);
        assert_eq!(
            out.refusals[0].message,
            r#"Unsupported value: "x": supported values: "a", "b""#
        );
    }

    #[test]
    fn what_stands_there_may_differ_from_what_is_printed() {
        let mut out = Collector::new(File::Install, Stage::Validate);
        let stands = Some("10.0.0.1/24".to_string());
        let bad = Bad::Misprinted { printed: "net.IPNet{…}".into(), stands };
        out.invalid("r", "cidr", Place::START, bad, "host bits");
        assert_eq!(out.refusals[0].value.as_deref(), Some("10.0.0.1/24"));
        assert_eq!(out.refusals[0].message, "Invalid value: net.IPNet{…}: host bits");
    }

    #[test]
    fn a_secret_is_neither_in_the_value_nor_in_the_message() {
        let mut out = Collector::new(File::Install, Stage::Validate);
        out.invalid("r", "pullSecret", Place::START, Bad::Secret, "auths required");
        assert_eq!(out.refusals[0].value, None);
        assert_eq!(out.refusals[0].message, r#"Invalid value: "[redacted]": auths required"#);
    }
}
