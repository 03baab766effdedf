//! Servers as their BMCs show them. The shapes are those of the vendors; names and numbers are made up.

mod dell_r750;
mod generic;
mod hpe_dl380;
mod lenovo_sr650;
mod supermicro;

use serde_json::{Value, json};

pub use dell_r750::dell_r750;
pub use generic::generic;
pub use hpe_dl380::hpe_dl380;
pub use lenovo_sr650::lenovo_sr650;
pub use supermicro::supermicro;

fn link(path: impl Into<String>) -> Value {
    json!({"@odata.id": path.into()})
}

fn ok() -> Value {
    json!({"State": "Enabled", "Health": "OK"})
}

/// The actions of a slot of virtual media.
fn media_actions(path: &str) -> Value {
    let target = |name: &str| json!({"target": format!("{path}/Actions/VirtualMedia.{name}")});
    json!({
        "#VirtualMedia.InsertMedia": target("InsertMedia"),
        "#VirtualMedia.EjectMedia": target("EjectMedia"),
    })
}

fn log_entry(created: &str, severity: &str, id: &str, message: &str) -> Value {
    json!({
        "Name": "Log Entry", "Created": created, "Severity": severity, "MessageId": id,
        "Message": message,
    })
}
