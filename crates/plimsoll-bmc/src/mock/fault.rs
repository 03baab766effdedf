//! Ways in which a service fails, lies or attacks.

use std::time::Duration;

use serde_json::Value;

#[derive(Clone, Debug)]
pub enum Fault {
    /// This status, with a Redfish error of this text.
    Status(u16, String),
    /// An answer, but late.
    Slow(Duration),
    /// Half of the body, then the connection ends.
    Cut,
    /// The connection ends without an answer.
    Reset,
    /// A field has another value. Null takes it away.
    Set(String, Value),
    /// The body is this, whatever it is.
    Raw(String),
    /// A body of so many bytes.
    Huge(usize),
    /// Lists in lists in lists.
    Deep(usize),
    /// A collection with always one more page.
    Endless,
    /// 308 to this place.
    Redirect(String),
    /// The credentials of the request, said back in this field.
    Echo(String),
}

impl Fault {
    pub fn status(status: u16) -> Self {
        Fault::Status(status, "It cannot be done.".into())
    }

    pub fn set(pointer: &str, value: Value) -> Self {
        Fault::Set(pointer.into(), value)
    }
}
