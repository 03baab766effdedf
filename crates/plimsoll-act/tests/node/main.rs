//! Files and services of a node: below a folder that holds its root, and over a real `sshd`.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

mod below_a_root;
mod killed;
mod over_ssh;
mod support;
