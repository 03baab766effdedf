//! The person at the console, or the words that were given in their place.

use std::cell::RefCell;
use std::io::{BufRead, IsTerminal};
use std::time::{Duration, Instant};

use plimsoll_act::{BY_HAND, Consent};
use plimsoll_model::plan::{Action, Step};

use crate::args::{Fix, Talk};
use crate::exit;
use crate::output::note;

/// What was said already is said again after this.
const AGAIN: Duration = Duration::from_secs(60);

pub struct Console<'a> {
    talk: &'a Talk,
    confirmed: &'a [String],
    said: RefCell<Option<(String, Instant)>>,
}

impl<'a> Console<'a> {
    pub fn new(args: &'a Fix) -> Self {
        Self { talk: &args.talk, confirmed: &args.confirm, said: RefCell::default() }
    }

    fn typed(&self, question: &str) -> Option<String> {
        if !self.is_there() {
            return None;
        }
        anstream::eprint!("{question} ");
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).ok()?;
        Some(line.trim().to_string())
    }
}

impl Consent for Console<'_> {
    fn is_there(&self) -> bool {
        std::io::stdin().is_terminal()
    }

    fn names(&self, step: &Step, name: &str) -> bool {
        if self.confirmed.iter().any(|given| given == name) {
            return true;
        }
        let question = format!("{}\ntype {name} to go on:", step.title);
        self.typed(&question).is_some_and(|typed| typed == name)
    }

    fn did(&self, step: &Step) -> bool {
        if self.confirmed.iter().any(|given| given == BY_HAND) {
            return true;
        }
        if let (true, Action::Hand { run, expect }) = (self.is_there(), &step.action) {
            let lines = run.iter().map(|line| format!("  $ {line}\n")).collect::<String>();
            anstream::eprintln!("{lines}  then: {expect}");
        }
        self.typed("type done when it is:").is_some_and(|typed| typed == "done")
    }

    fn hears(&self, text: &str) {
        let mut said = self.said.borrow_mut();
        if said.as_ref().is_some_and(|(last, at)| last == text && at.elapsed() < AGAIN) {
            return;
        }
        note(self.talk, text);
        *said = Some((text.to_string(), Instant::now()));
    }

    fn wants_to_stop(&self) -> bool {
        exit::is_asked_to_stop()
    }
}
