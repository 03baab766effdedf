//! The order of the installer's steps: each is reached only when the one before it found nothing.

use crate::agent;
use crate::check::{self, Context, Crash, NotChecked};
use crate::config::{AgentConfig, Config, InstallConfig, convert, set_defaults};
use crate::decode::{Decoded, decode, unknown_text};
use crate::document;
use crate::provision;
use crate::reader::At;
use crate::refusal::{Collector, File, Refusal, Stage};
use crate::release::{Method, Release};
use crate::schema::{AGENT_CONFIG, INSTALL_CONFIG, Shape};

/// The texts of the files that are there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Input<'t> {
    pub install: Option<&'t str>,
    pub agent: Option<&'t str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Accept,
    Reject,
}

#[derive(Clone, Debug)]
pub struct Judgement {
    pub verdict: Verdict,
    /// In the order in which the installer finds them.
    pub refusals: Vec<Refusal>,
    pub warnings: Vec<Refusal>,
    /// What it would come to once those are mended: it stops at the step that refuses.
    pub later: Vec<Refusal>,
    /// Rules that need the outside world, and why.
    pub not_checked: Vec<(&'static str, String)>,
    pub config: Config,
}

/// A text that is not YAML at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}, line {line}, column {column}: {message}", file.name())]
pub struct Unreadable {
    pub file: File,
    pub line: u32,
    pub column: u32,
    pub message: String,
}

pub fn judge(input: &Input<'_>, release: Release, method: Method) -> Result<Judgement, Unreadable> {
    let mut state = State::default();
    let install = input
        .install
        .map(|text| {
            state.read(text, File::Install, &INSTALL_CONFIG, release, |root| {
                InstallConfig::read(root, release)
            })
        })
        .transpose()?;
    let agent_text = input.agent.filter(|_| method == Method::Agent);
    // A refusal of the first file hides the second, but its values are wanted all the same.
    let goes_on = state.refusals.iter().all(concerns_nothing_else);
    let (mut later, agent) = match agent_text {
        Some(text) => {
            let mut later = State::default();
            let agent = later.read(text, File::Agent, &AGENT_CONFIG, release, AgentConfig::read)?;
            (later, Some(agent))
        }
        None => (State::default(), None),
    };
    state.unknown_keys.append(&mut later.unknown_keys);
    let mut config = Config { install, agent, unknown_keys: Vec::new() };
    if goes_on {
        state.examine(&mut config, later, release, method);
    }
    config.unknown_keys = state.unknown_keys;
    let verdict = if state.refusals.is_empty() { Verdict::Accept } else { Verdict::Reject };
    Ok(Judgement {
        verdict,
        refusals: state.refusals,
        warnings: state.warnings,
        later: state.later,
        not_checked: state.not_checked,
        config,
    })
}

/// Whether what could not be read leaves the rest to be judged. Without its networks or hosts most of a
/// config would seem wrong.
fn concerns_nothing_else(refusal: &Refusal) -> bool {
    const APART: [&str; 9] = [
        "additionalTrustBundle",
        "additionalTrustBundlePolicy",
        "baseDomain",
        "fips",
        "imageContentSources",
        "imageDigestSources",
        "proxy",
        "publish",
        "sshKey",
    ];
    let first = refusal.path.split(['.', '[']).next().unwrap_or_default();
    APART.iter().any(|key| key.eq_ignore_ascii_case(first))
}

#[derive(Default)]
struct State {
    refusals: Vec<Refusal>,
    warnings: Vec<Refusal>,
    later: Vec<Refusal>,
    not_checked: NotChecked,
    unknown_keys: Vec<(File, crate::UnknownKey)>,
}

impl State {
    fn take(&mut self, out: Collector) {
        self.refusals.extend(out.refusals);
        self.warnings.extend(out.warnings);
    }

    /// A step of the installer. One that it does not come to tells what is still ahead.
    fn step(&mut self, outs: impl IntoIterator<Item = Collector>) {
        let is_reached = self.refusals.is_empty();
        for out in outs {
            if is_reached {
                self.take(out);
                continue;
            }
            let unread =
                |path: &str| self.refusals.iter().any(|known| about_one(&known.path, path));
            let ahead = out.refusals.into_iter().filter(|refusal| !unread(&refusal.path));
            self.later.extend(ahead.collect::<Vec<_>>());
        }
    }

    /// Text to config; what does not fit is a refusal, and what did fit is still read.
    fn read<T>(
        &mut self,
        text: &str,
        file: File,
        shape: &'static Shape,
        release: Release,
        read: impl Fn(At<'_>) -> T,
    ) -> Result<T, Unreadable> {
        let document = document::read(text, file)?;
        let mut out = Collector::new(file, Stage::Parse);
        let head = format!("failed to unmarshal {}", file.name());
        if let Some(first) = document.doubled.first() {
            let lines: Vec<_> = document
                .doubled
                .iter()
                .map(|doubled| {
                    let key = crate::go::text::quote(&doubled.key);
                    format!("  line {}: key {key} already set in map", doubled.value_line)
                })
                .collect();
            let text = format!(
                "{head}: error converting YAML to JSON: yaml: unmarshal errors:\n{}",
                lines.join("\n")
            );
            out.plain("key-doubled", first.key.as_str(), first.place, text);
        }
        if let Some((place, shown)) = document.null_key.filter(|_| out.refusals.is_empty()) {
            let word = if release <= Release::V4_15 { "Unsupported" } else { "unsupported" };
            let text = format!(
                "{head}: error converting YAML to JSON: {word} map key of type: %!s(<nil>), \
                 key: <nil>, value: {shown}"
            );
            out.plain("key-empty", "", place, text);
        }
        let decoded = decode(document.root, shape, release);
        let value = read(At::root(&decoded.root));
        if out.refusals.is_empty() {
            report_decoding(&decoded, file, &head, &mut out);
        }
        self.unknown_keys.extend(decoded.unknown.into_iter().map(|unknown| (file, unknown)));
        self.take(out);
        Ok(value)
    }

    fn examine(&mut self, config: &mut Config, agent: State, release: Release, method: Method) {
        let agent_config = config.agent.as_ref();
        if let Some(install) = &mut config.install {
            let mut out = Collector::new(File::Install, Stage::Convert);
            convert(install, release, &mut out);
            self.step([out]);
            set_defaults(install);
            if !self.validate(install, release, method) {
                return;
            }
            if method == Method::Ipi {
                let mut out = Collector::new(File::Install, Stage::Provision);
                provision::check(install, release, &mut out, &mut self.not_checked);
                self.step([out]);
                return;
            }
        }
        if method == Method::Agent {
            let State { refusals, warnings, .. } = agent;
            let readable = refusals.is_empty();
            match self.refusals.is_empty() {
                true => self.refusals = refusals,
                false => self.later.extend(refusals),
            }
            self.warnings.extend(warnings);
            if readable {
                let install = config.install.as_ref();
                let outs = agent::check(install, agent_config, release, &mut self.not_checked);
                self.step(outs);
            }
        }
    }

    /// False where the installer would crash.
    fn validate(&mut self, install: &InstallConfig, release: Release, method: Method) -> bool {
        let mut out = Collector::new(File::Install, Stage::Validate);
        let mut context = Context {
            config: install,
            release,
            method,
            out: &mut out,
            not_checked: &mut self.not_checked,
        };
        let crash = check::check(&mut context).err();
        if crash.is_none() && method == Method::Agent {
            agent::check_install_config(&mut context);
        }
        let goes_on = crash.is_none();
        if let Some(Crash { rule, path, place, text }) = crash {
            out.refusals.clear();
            out.plain(rule, path, place, text);
        }
        self.step([out]);
        goes_on
    }
}

/// One path is the other, or above it.
fn about_one(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    let rest = long.get(short.len()..).unwrap_or_default();
    long.get(..short.len()).is_some_and(|start| start.eq_ignore_ascii_case(short))
        && (rest.is_empty() || rest.starts_with(['.', '[']))
}

fn report_decoding(decoded: &Decoded, file: File, head: &str, out: &mut Collector) {
    let middle = "error unmarshaling JSON: while decoding JSON";
    let first_unknown = decoded.unknown.first().filter(|_| decoded.unknown_first);
    // An error of a value that reads itself hides an unknown key before it.
    let fatal = decoded.error.as_ref().filter(|error| error.rule == "network-unreadable");
    if let Some(unknown) = first_unknown.filter(|_| fatal.is_none()) {
        let text = format!("{head}: {middle}: {}", unknown_text(&unknown.key));
        if file == File::Agent {
            return out.plain("unknown-key", unknown.path.as_str(), unknown.place, text);
        }
        let text = format!("failed to parse first occurrence of unknown field: {text}");
        out.warn("unknown-key", &unknown.path, unknown.place, text);
    }
    if let Some(error) = &decoded.error {
        let text = format!("{head}: {middle}: {}", error.text);
        out.plain(error.rule, error.path.as_str(), error.place, text);
    }
}
