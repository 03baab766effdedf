//! Lines of a journal that somebody changed are found; what is taken follows line by line, and is a beginning
//! of the file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_model::session::read_entries;

fuzz_target!(|text: &[u8]| {
    let Ok((entries, good)) = read_entries(text) else { return };
    assert!(good <= text.len());
    assert_eq!(text[..good].iter().filter(|byte| **byte == b'\n').count(), entries.len());
    let (again, all) = read_entries(&text[..good]).expect("the good part is good");
    assert_eq!((again.len(), all), (entries.len(), good));
});
