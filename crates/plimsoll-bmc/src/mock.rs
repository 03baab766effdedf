//! A Redfish service in this process: hardware to read, and ways to be broken.

mod certificate;
mod fault;
mod profiles;
mod server;
mod tree;

pub use certificate::Certificate;
pub use fault::Fault;
pub use profiles::{dell_r750, generic, hpe_dl380, lenovo_sr650, supermicro};
pub use server::{Builder, Request, Server};
pub use tree::Tree;
