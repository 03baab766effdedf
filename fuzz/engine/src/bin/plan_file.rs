//! A plan that somebody else wrote is read without a crash; what is sealed stays what it is through its own text,
//! and a change of one byte of what it says is found.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_model::plan::Plan;

fuzz_target!(|text: &[u8]| {
    let Ok(plan) = serde_json::from_slice::<Plan>(text) else { return };
    let _ = (plan.is_intact(), plan.acts());
    let sealed = plan.sealed();
    // Another schema is another format, whatever its digest.
    let known = sealed.is_intact();
    let written = serde_json::to_vec(&sealed).expect("a plan is JSON");
    let read: Plan = serde_json::from_slice(&written).expect("what was written is read");
    assert_eq!(read.is_intact(), known, "its text says something else");
    let mut changed = read;
    changed.title.push('x');
    assert!(!changed.is_intact(), "a plan that was changed is refused");
});
