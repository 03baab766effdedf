//! What is made when it is written. It may hold credentials: it is shown nowhere, and has no words for
//! itself.

use serde_json::Value;

use crate::target::Trouble;

pub struct Made(Content);

enum Content {
    Object(Value),
    Bytes(Vec<u8>),
}

impl Made {
    pub fn object(value: Value) -> Self {
        Self(Content::Object(value))
    }

    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self(Content::Bytes(bytes.into()))
    }

    pub fn into_object(self, what: &str) -> Result<Value, Trouble> {
        match self.0 {
            Content::Object(value) if value.is_object() => Ok(value),
            _ => Err(Trouble::Failed(format!("what was made for {what} is no object"))),
        }
    }

    /// A text in a plan is written as it is, anything else as JSON.
    pub fn into_bytes(self) -> Vec<u8> {
        match self.0 {
            Content::Object(Value::String(text)) => text.into_bytes(),
            Content::Object(value) => value.to_string().into_bytes(),
            Content::Bytes(bytes) => bytes,
        }
    }
}

pub trait Makers {
    fn make(&self, maker: &str, inputs: &Value) -> Result<Made, Trouble>;
}
