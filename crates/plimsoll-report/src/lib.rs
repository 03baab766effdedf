//! One diagnosis, four ways to read it; one check, six. Pure functions from a
//! [`plimsoll_model::Diagnosis`] or a [`plimsoll_model::check::Check`] to a `String`: nothing here
//! writes, asks the terminal, or adds a fact or a judgement of its own.
//!
//! Everything in them that came out of a cluster or a file is untrusted. It passes [`safe`] before it
//! is laid out, and each format escapes it once more in its own way.

mod captured;
mod cascade;
mod check;
mod csr;
mod digest;
mod explain;
mod facts;
mod graph;
mod html;
mod json;
mod knowledge;
mod markdown;
mod moves;
mod plan;
mod ring;
mod safe;
mod session;
mod text;
mod verify;
mod when;
mod words;
mod wrap;

use std::fmt;
use std::str::FromStr;

pub use captured::captured_text;
pub use check::{CheckShown, check_html, check_junit, check_markdown, check_sarif, check_text};
pub use csr::csr_text;
pub use explain::{explain_markdown, explain_text};
pub use facts::facts_markdown;
pub use html::html;
pub use json::json;
pub use knowledge::{index_markdown, list_text};
pub use markdown::markdown;
pub use moves::moves_text;
pub use plan::{plan_markdown, plan_text, short};
pub use session::{outcome, session_markdown, session_text};
pub use text::{EvidenceShown, TextOptions, text};
pub use verify::verify_text;
pub use wrap::wrap;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    #[default]
    Text,
    Json,
    Markdown,
    Html,
}

impl Format {
    pub const ALL: [Format; 4] = [Self::Text, Self::Json, Self::Markdown, Self::Html];

    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Markdown => "markdown",
            Self::Html => "html",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[derive(Debug, PartialEq, Eq)]
pub struct UnknownFormat(pub String);

impl fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is not one of text, json, markdown, html", self.0)
    }
}

impl std::error::Error for UnknownFormat {}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| UnknownFormat(name.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_reads_back_as_written() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        assert_eq!("yaml".parse::<Format>(), Err(UnknownFormat("yaml".into())));
    }
}
