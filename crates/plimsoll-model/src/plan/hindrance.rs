//! Why a plan cannot be carried out as it is.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Of one step, or of the whole plan. In JSON it is one sentence, which begins with `step N: ` where it is of
/// a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Hindrance {
    pub step: Option<usize>,
    pub why: String,
}

impl Hindrance {
    pub fn of_step(number: usize, why: impl Into<String>) -> Self {
        Self { step: Some(number), why: why.into() }
    }

    pub fn of_all(why: impl Into<String>) -> Self {
        Self { step: None, why: why.into() }
    }
}

impl fmt::Display for Hindrance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.step {
            Some(number) => write!(f, "step {number}: {}", self.why),
            None => f.write_str(&self.why),
        }
    }
}

impl From<Hindrance> for String {
    fn from(hindrance: Hindrance) -> Self {
        hindrance.to_string()
    }
}

impl From<String> for Hindrance {
    fn from(text: String) -> Self {
        let of_step = text.strip_prefix("step ").and_then(|rest| {
            let (number, why) = rest.split_once(": ")?;
            Some(Self::of_step(number.parse().ok()?, why))
        });
        of_step.unwrap_or_else(|| Self::of_all(text))
    }
}

impl JsonSchema for Hindrance {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Hindrance".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hindrance_is_one_sentence_and_reads_back() {
        for (hindrance, text) in [
            (Hindrance::of_step(2, "not met now: x"), "step 2: not met now: x"),
            (Hindrance::of_all("only you know it: y"), "only you know it: y"),
            (Hindrance::of_all("step by step: z"), "step by step: z"),
        ] {
            let json = serde_json::to_value(&hindrance).unwrap();
            assert_eq!(json, text);
            assert_eq!(serde_json::from_value::<Hindrance>(json).unwrap(), hindrance);
        }
    }
}
