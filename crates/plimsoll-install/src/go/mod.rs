//! How Go's own libraries read and print things, as far as the installer's verdicts depend on it.

pub(crate) mod address;
pub(crate) mod certificate;
pub(crate) mod json;
pub(crate) mod pem;
pub(crate) mod reference;
pub(crate) mod scalar;
pub(crate) mod ssh;
pub(crate) mod text;
pub(crate) mod url;
