//! The lint that users run on a pack of theirs finds nothing in the built-in one.

use std::process::Command;

#[test]
fn the_built_in_pack_has_no_problem() {
    let run = Command::new(env!("CARGO_BIN_EXE_plimsoll")).args(["knowledge", "lint"]).output();
    let output = run.expect("the binary runs");
    let problems = String::from_utf8_lossy(&output.stdout);
    let note = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && problems.is_empty(), "{problems}{note}");
    assert!(note.contains(" failure modes, no problem"), "{note}");
}
