//! A pack comes from a stranger: any text loads or is refused with a place inside it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_engine::{Pack, PackFile};

fuzz_target!(|text: &str| {
    // A lone carriage return ends a line of YAML too.
    let lines = u32::try_from(text.matches(['\n', '\r']).count() + 1).unwrap_or(u32::MAX);
    for path in ["etcd/quorum-lost/case.yaml", "pack.yaml"] {
        let file = PackFile { path: path.into(), text: text.into() };
        if let Err(errors) = Pack::load(&[file]) {
            assert!(!errors.is_empty(), "refused without a reason");
            for error in errors {
                assert_eq!(error.path, path);
                assert!((1..=lines).contains(&error.line), "{error} is outside the file");
            }
        }
    }
});
