use std::path::{Path, PathBuf};

use plimsoll_engine::check::{Asked, ConfigFile, Knowledge, check};
use plimsoll_install::{Installer, Method};
use plimsoll_model::Snapshot;
use plimsoll_model::check::{Check as Answer, CheckVerdict};
use plimsoll_report::CheckShown;

use crate::args::{Check, CheckOutput, Example};
use crate::consumed;
use crate::documents::{Part, parts};
use crate::exit::{Failure, Outcome};
use crate::files::read_limited;
use crate::mend::mend;
use crate::output::{note, print, text_options};

/// A config that people wrote; more than this is none.
const LARGEST: u64 = 4 << 20;

/// Of a sentence behind `error: `.
const WIDTH: usize = 73;

pub fn run(args: &Check) -> Result<Outcome, Failure> {
    judged(args).map_err(|failure| match failure {
        Failure::Unreadable(said) => {
            let lines = said.lines().flat_map(|line| plimsoll_report::wrap(line, WIDTH));
            Failure::Unreadable(lines.collect::<Vec<_>>().join("\n"))
        }
        other => other,
    })
}

fn judged(args: &Check) -> Result<Outcome, Failure> {
    if let Some(kind) = args.example {
        print(example(kind))?;
        return Ok(Outcome::Fine);
    }
    if args.fix && args.output != CheckOutput::Text {
        let message = "--fix shows a diff: it goes with --output text alone".into();
        return Err(Failure::Usage(message));
    }
    let mut files = Files::read(&args.files)?;
    files.consumed.iter().for_each(|said| note(&args.talk, said));
    let knowledge = crate::knowledge::for_checks(&args.pack)?;
    known(&knowledge, "--only", &args.only)?;
    known(&knowledge, "--skip", &args.skip)?;
    let method = if args.agent || files.agent.is_some() { Method::Agent } else { Method::Ipi };
    if args.fix {
        if !files.consumed.is_empty() {
            let message = "--fix needs your own file: what the installer keeps is not to be edited";
            return Err(Failure::Usage(message.into()));
        }
        files = mend(args, files, method)?;
    }
    let suppressions = crate::config::read(args.config.as_deref())?.accepted;
    let (install, agent) =
        (files.install.as_ref().map(Named::as_config), files.agent.as_ref().map(Named::as_config));
    let mut seen = Snapshot { now: Some(args.now.unwrap_or_else(now)), ..Snapshot::default() };
    crate::check_live::look(args, method, install, agent, &mut seen)?;
    let asked = Asked {
        release: args.release,
        method,
        installer: Installer { fips: args.fips_installer, payload: args.payload.architecture() },
        install,
        agent,
        seen: &seen,
        only: &args.only,
        skip: &args.skip,
        suppressions: &suppressions,
    };
    let mut answer = check(&knowledge, &asked).map_err(|wrong| {
        let named = match wrong.file {
            plimsoll_install::File::Install => &files.install,
            plimsoll_install::File::Agent => &files.agent,
        };
        let name = named.as_ref().map_or(wrong.file.name(), |file| &file.name);
        let (line, column) = (wrong.line, wrong.column);
        Failure::Unreadable(format!("{name}:{line}:{column}: this is no YAML: {}", wrong.message))
    })?;
    answer.files.dedup();
    let verdict = answer.verdict;
    print(&render(args, answer))?;
    Ok(match verdict {
        CheckVerdict::Ready => Outcome::Fine,
        CheckVerdict::Blocked => Outcome::Found,
    })
}

/// A misspelt id would make a check that finds nothing, or one that still blocks.
fn known(knowledge: &Knowledge, option: &str, given: &[String]) -> Result<(), Failure> {
    let ids = knowledge.ids();
    let Some(unknown) = given.iter().find(|id| !ids.contains(id.as_str())) else { return Ok(()) };
    let mut message = format!("{option} {unknown}: there is no finding with this id");
    if let Some(id) = knowledge.nearest_id(unknown) {
        message.push_str(&format!("\nhint: is {id} meant?"));
    }
    Err(Failure::Usage(message))
}

#[expect(clippy::disallowed_methods, reason = "certificates end by the clock of this machine")]
fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

/// Scripts are given all that the installer says, each sentence with its field; people one finding a slip.
fn render(args: &Check, answer: Answer) -> String {
    let answer = &match args.output {
        CheckOutput::Json => answer,
        _ => answer.folded(),
    };
    match args.output {
        CheckOutput::Json => plimsoll_report::json(answer),
        CheckOutput::Markdown => plimsoll_report::check_markdown(answer),
        CheckOutput::Html => plimsoll_report::check_html(answer),
        CheckOutput::Junit => plimsoll_report::check_junit(answer),
        CheckOutput::Sarif => plimsoll_report::check_sarif(answer, env!("CARGO_PKG_VERSION")),
        CheckOutput::Text => {
            let shown = CheckShown { explain: args.explain };
            plimsoll_report::check_text(answer, &text_options(&args.talk), shown)
        }
    }
}

fn example(kind: Example) -> &'static str {
    match kind {
        Example::Baremetal => include_str!("../../examples/baremetal.yaml"),
        Example::Agent => include_str!("../../examples/agent.yaml"),
        Example::Sno => include_str!("../../examples/sno.yaml"),
        Example::Compact => include_str!("../../examples/compact.yaml"),
    }
}

/// A config as the user named it: a file, or one of the two documents in it.
pub struct Named {
    pub name: String,
    pub path: PathBuf,
    pub whole: String,
    pub part: Part,
}

impl Named {
    fn as_config(&self) -> ConfigFile<'_> {
        ConfigFile { name: &self.name, text: &self.part.text }
    }
}

#[derive(Default)]
pub struct Files {
    pub install: Option<Named>,
    pub agent: Option<Named>,
    /// What is said where the installer has taken the configs of a folder.
    consumed: Vec<String>,
}

impl Files {
    fn read(given: &[PathBuf]) -> Result<Self, Failure> {
        let mut files = Self::default();
        for path in given {
            if path.is_dir() {
                files.read_folder(path)?;
            } else {
                files.take(path)?;
            }
        }
        match (&files.install, &files.agent) {
            (None, None) if files.consumed.is_empty() => {
                Err(Failure::Usage("there is nothing to check".into()))
            }
            _ => Ok(files),
        }
    }

    fn read_folder(&mut self, folder: &Path) -> Result<(), Failure> {
        let names = ["install-config.yaml", "agent-config.yaml"];
        let there: Vec<PathBuf> =
            names.iter().map(|name| folder.join(name)).filter(|path| path.is_file()).collect();
        if there.is_empty() && consumed::was_here(folder) {
            return self.read_consumed(folder, &names);
        }
        if there.is_empty() {
            let folder = folder.display();
            let message = format!(
                "{folder} has neither install-config.yaml nor agent-config.yaml\nhint: the installer consumes them: check your own copy"
            );
            return Err(Failure::Unreadable(message));
        }
        there.iter().try_for_each(|path| self.take(path))
    }

    /// The installer was here: its own copies are judged, and what it made.
    fn read_consumed(&mut self, folder: &Path, names: &[&str]) -> Result<(), Failure> {
        let shown = folder.display();
        let mut reasons = Vec::new();
        for name in names {
            match consumed::kept(folder, name) {
                Ok((state, text)) => {
                    let path = PathBuf::from(format!("{}:{name}", state.display()));
                    self.put(&path, &text, Part::whole(&text), *name == "agent-config.yaml")?;
                    self.consumed.push(format!(
                        "note: the installer has consumed {shown}/{name}; judged is the copy in its state, \
                         and lines count in that"
                    ));
                }
                Err(why) => reasons.push(why),
            }
        }
        if self.install.is_none() && self.agent.is_none() {
            let why = reasons.first().map(String::as_str).unwrap_or_default();
            self.consumed.push(format!(
                "note: the installer has consumed the configs of {shown} and there is no copy ({why}); \
                 judged is only the age of what it made"
            ));
        }
        Ok(())
    }

    fn take(&mut self, path: &Path) -> Result<(), Failure> {
        self.add(path, text_of(path)?)
    }

    /// A file with one document of each kind is both files.
    pub fn add(&mut self, path: &Path, text: String) -> Result<(), Failure> {
        let mut parts = parts(&text);
        let both = |parts: &[Part]| match parts {
            [a, b] => says_agent(&a.text) != says_agent(&b.text),
            _ => false,
        };
        if !both(&parts) {
            let agent = is_agent_config(path, &text);
            return self.put(path, &text, Part::whole(&text), agent);
        }
        parts.drain(..).try_for_each(|part| {
            let agent = says_agent(&part.text);
            self.put(path, &text, part, agent)
        })
    }

    fn put(&mut self, path: &Path, whole: &str, part: Part, agent: bool) -> Result<(), Failure> {
        let name = path.display().to_string();
        let place = if agent { &mut self.agent } else { &mut self.install };
        if let Some(other) = place {
            let message = format!("{} and {name} are of one kind: give one", other.name);
            return Err(Failure::Usage(message));
        }
        *place = Some(Named { name, path: path.into(), whole: whole.into(), part });
        Ok(())
    }
}

/// By its name, or by a line that only such a file has.
fn is_agent_config(path: &Path, text: &str) -> bool {
    match path.file_name().and_then(|name| name.to_str()).unwrap_or_default() {
        "agent-config.yaml" => true,
        "install-config.yaml" => false,
        _ => says_agent(text),
    }
}

fn says_agent(text: &str) -> bool {
    let has = |key: &str| {
        text.lines()
            .any(|line| line.get(..key.len()).is_some_and(|start| start.eq_ignore_ascii_case(key)))
    };
    text.lines().any(|line| line.trim_end() == "kind: AgentConfig")
        || (has("rendezvousIP:") && !has("baseDomain:"))
}

fn text_of(path: &Path) -> Result<String, Failure> {
    let unreadable = |why: String| Failure::Unreadable(format!("{}: {why}", path.display()));
    let bytes = read_limited(path, LARGEST).map_err(|error| match error.kind() {
        std::io::ErrorKind::FileTooLarge => {
            unreadable(format!("larger than {} MiB: that is no config", LARGEST >> 20))
        }
        _ => unreadable(plimsoll_sources::plain(&error)),
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = &error.as_bytes()[..valid];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
        let is_wide = matches!(error.as_bytes(), [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
        let what = if is_wide { "this is UTF-16: save it as UTF-8" } else { "this is no UTF-8" };
        Failure::Unreadable(format!("{}:{line}:{column}: {what}", path.display()))
    })
}
