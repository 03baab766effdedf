//! The order of the installer's steps: each is reached only when the one before it found nothing.

use crate::agent;
use crate::check::{self, Context, Crash, NotChecked};
use crate::config::{AgentConfig, Config, InstallConfig, convert, set_defaults};
use crate::decode::{Decoded, decode, unknown_text};
use crate::document::{self, DoubledKey, Source};
use crate::misreading::{self, Misread, Misreading};
use crate::provision;
use crate::reader::At;
use crate::refusal::{Collector, File, Refusal, Stage};
use crate::release::{Installer, Method, Release};
use crate::schema::{AGENT_CONFIG, INSTALL_CONFIG, Shape};
use crate::unread::{Unread, about_one, counted_by_installer};

/// Of one sentence of the installer that has a line for each fault of a kind.
const MOST_LINES: usize = 20;

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
    /// Values that are not of their type: nothing that rests on them is judged.
    pub unread: Unread,
    /// What it reads otherwise than people do.
    pub misreadings: Vec<Misreading>,
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

/// What the usual build of the installer says.
pub fn judge(input: &Input<'_>, release: Release, method: Method) -> Result<Judgement, Unreadable> {
    judge_by(Installer::default(), input, release, method)
}

pub fn judge_by(
    installer: Installer,
    input: &Input<'_>,
    release: Release,
    method: Method,
) -> Result<Judgement, Unreadable> {
    let mut state = State { installer, ..State::default() };
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
    let (mut ahead, agent) = match agent_text {
        Some(text) => {
            let mut ahead = State::default();
            let agent = ahead.read(text, File::Agent, &AGENT_CONFIG, release, AgentConfig::read)?;
            (ahead, Some(agent))
        }
        None => (State::default(), None),
    };
    state.unknown_keys.append(&mut ahead.unknown_keys);
    state.misreadings.append(&mut ahead.misreadings);
    let mut config = Config { install, agent, unknown_keys: Vec::new() };
    state.unread.append(&mut ahead.unread);
    state.unread.count_hosts_as_the_installer_does(&config);
    for misreading in &mut state.misreadings {
        if let Some(path) = counted_by_installer(misreading.file, &misreading.path, &config) {
            misreading.path = path;
        }
    }
    state.examine(&mut config, ahead, release, method);
    config.unknown_keys = state.unknown_keys;
    let verdict = if state.refusals.is_empty() { Verdict::Accept } else { Verdict::Reject };
    Ok(Judgement {
        verdict,
        refusals: state.refusals,
        warnings: state.warnings,
        later: state.later,
        not_checked: state.not_checked,
        unread: state.unread,
        misreadings: state.misreadings,
        config,
    })
}

#[derive(Default)]
struct State {
    installer: Installer,
    refusals: Vec<Refusal>,
    warnings: Vec<Refusal>,
    later: Vec<Refusal>,
    not_checked: NotChecked,
    unread: Unread,
    unknown_keys: Vec<(File, crate::UnknownKey)>,
    misreadings: Vec<Misreading>,
}

impl State {
    fn take(&mut self, out: Collector) {
        self.refusals.extend(out.refusals);
        self.warnings.extend(out.warnings);
    }

    /// A step of the installer. One that it does not come to tells what is still ahead, as far as that
    /// does not rest on what could not be read.
    fn step(&mut self, outs: impl IntoIterator<Item = Collector>) {
        let is_reached = self.refusals.is_empty();
        let before = self.later.len();
        for out in outs {
            if is_reached {
                self.take(out);
                continue;
            }
            for refusal in out.refusals {
                let mut told = self.refusals.iter().chain(&self.later[..before]);
                if told.any(|known| about_one(&known.path, &refusal.path)) {
                    continue;
                }
                match self.unread.below(&refusal) {
                    Some(path) => {
                        let why = format!("{path} is not of its type, and this rests on it");
                        self.not_checked.push((refusal.rule, why));
                    }
                    None => self.later.push(refusal),
                }
            }
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
        let doubled = document.doubled;
        let lines: Vec<_> = doubled
            .iter()
            .take(MOST_LINES)
            .map(|doubled| {
                let key = crate::go::text::quote(&doubled.key);
                format!("  line {}: key {key} already set in map", doubled.value_line)
            })
            .collect();
        let said = format!(
            "{head}: error converting YAML to JSON: yaml: unmarshal errors:\n{}",
            lines.join("\n")
        );
        for DoubledKey { path, place, merged, .. } in doubled {
            let rule = if merged { "key-over-merged-key" } else { "key-doubled" };
            out.plain(rule, path.as_str(), place, said.as_str());
            self.unread.push(file, path);
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
        let ahead = report_decoding(&decoded, file, &head, &mut out);
        self.later.extend(ahead.refusals);
        self.misreadings.extend(misread(&decoded, file, text));
        self.misreadings.extend(misreading::rest(file, text));
        self.misreadings.extend(misreading::cut(file, text));
        for fault in decoded.errors {
            self.unread.push(file, fault.path);
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
            let State { refusals, warnings, later, .. } = agent;
            match self.refusals.is_empty() {
                true => self.refusals = refusals,
                false => self.later.extend(refusals),
            }
            self.later.extend(later);
            self.warnings.extend(warnings);
            let install = config.install.as_ref();
            let outs = agent::check(install, agent_config, release, &mut self.not_checked);
            self.step(outs);
        }
    }

    /// False where the installer would crash.
    fn validate(&mut self, install: &InstallConfig, release: Release, method: Method) -> bool {
        let mut out = Collector::new(File::Install, Stage::Validate);
        let mut context = Context {
            config: install,
            release,
            method,
            installer: self.installer,
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

/// What of a file is read otherwise than it is written.
fn misread(decoded: &Decoded, file: File, text: &str) -> Vec<Misreading> {
    // Most files have no such value, and need not be cut into lines.
    let source = (!decoded.became_text.is_empty()).then(|| Source::new(text));
    let scalars = decoded.became_text.iter().filter_map(|it| {
        let written = source.as_ref()?.token(it.place.line, it.place.column)?;
        Misreading::of_scalar(file, it.path.clone(), it.place, written, it.text.clone())
    });
    let keys = decoded.one_field.iter().map(|it| {
        let (wins, loses) = (it.second.0.clone(), it.first.0.clone());
        let what = Misread::Key { wins, loses, other: it.first.1 };
        Misreading { file, path: it.path.clone(), place: it.second.1, what }
    });
    scalars.chain(keys).collect()
}

/// Go names one fault of decoding. Gives what it would name once that one is mended.
fn report_decoding(decoded: &Decoded, file: File, head: &str, out: &mut Collector) -> Collector {
    let middle = "error unmarshaling JSON: while decoding JSON";
    let mut ahead = Collector::new(file, Stage::Parse);
    let mut reached = out.refusals.is_empty();
    let first_unknown = decoded.unknown.first().filter(|_| decoded.unknown_first && reached);
    // An error of a value that reads itself hides an unknown key before it.
    let fatal = decoded.errors.iter().any(|error| error.rule == "network-unreadable");
    if let Some(unknown) = first_unknown.filter(|_| !fatal) {
        let text = format!("{head}: {middle}: {}", unknown_text(&unknown.key));
        if file == File::Agent {
            out.plain("unknown-key", unknown.path.as_str(), unknown.place, text);
            reached = false;
        } else {
            let text = format!("failed to parse first occurrence of unknown field: {text}");
            out.warn("unknown-key", &unknown.path, unknown.place, text);
        }
    }
    for error in &decoded.errors {
        let text = format!("{head}: {middle}: {}", error.text);
        let into = if std::mem::take(&mut reached) { &mut *out } else { &mut ahead };
        into.plain(error.rule, error.path.as_str(), error.place, text);
    }
    ahead
}
