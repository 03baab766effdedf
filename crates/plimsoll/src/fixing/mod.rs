//! What `fix` needs around a plan: the cluster as it is, the person at the console, and a place to keep
//! what must outlive the process.

pub mod console;
pub mod hands;
pub mod record;
pub mod state;
pub mod world;
