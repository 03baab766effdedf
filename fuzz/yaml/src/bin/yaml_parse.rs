//! Any text parses or is refused, and what parses survives being written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_yaml::{Kind, Limits, Node, emit, parse};

fuzz_target!(|text: &str| {
    if let Ok(node) = parse(text, &Limits::USER_FILE) {
        let written = emit(&node);
        match parse(&written, &Limits::OBJECT) {
            Ok(again) => assert!(same(&node, &again), "reads back differently:\n{written}"),
            Err(error) => panic!("does not read back: {error}\n{written}"),
        }
    }
    let _ = parse(text, &Limits::OBJECT);
});

/// Equal in all but position.
fn same(left: &Node, right: &Node) -> bool {
    match (&left.kind, &right.kind) {
        (Kind::List(left), Kind::List(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| same(l, r))
        }
        (Kind::Map(left), Kind::Map(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(l, r)| l.0.name == r.0.name && same(&l.1, &r.1))
        }
        (left, right) => left == right,
    }
}
