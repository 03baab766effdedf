//! Any bytes are an archive, or a gap, or a plain refusal; as they are and as a .tar.gz.
#![no_main]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use fuzz_sources::needs;
use libfuzzer_sys::fuzz_target;
use plimsoll_sources::{NoProgress, read};
use tempfile::TempDir;

static FOLDER: LazyLock<TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a folder"));

fuzz_target!(|bytes: &[u8]| {
    check(&FOLDER.path().join("must-gather.tar"), bytes);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(bytes).expect("memory");
    check(&FOLDER.path().join("must-gather.tar.gz"), &gzip.finish().expect("memory"));
});

fn check(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).expect("a temporary file");
    match read(&[PathBuf::from(path)], &needs(), &NoProgress) {
        Ok(snapshot) => assert_eq!(snapshot.sources.len(), 1),
        Err(error) => assert!(!error.reason.is_empty(), "refused without a reason"),
    }
    let left = std::fs::read_dir(FOLDER.path()).expect("the folder").count();
    assert!(left <= 2, "something was unpacked to disk");
}
