//! Real gathers, trimmed, that stand in `fixtures/base`.

use std::io::Read;
use std::path::Path;

use crate::tree::Tree;

pub(super) fn recorded(name: &str) -> Option<Tree> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/base");
    let file = fs_err::File::open(folder.join(format!("{name}.tar.xz"))).ok()?;
    let mut archive = tar::Archive::new(liblzma::read::XzDecoder::new(file));
    let mut tree = Tree::new();
    for entry in archive.entries().ok()? {
        let mut entry = entry.ok()?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let path = entry.path().ok()?.to_str()?.to_string();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).ok()?;
        tree.insert(path.strip_prefix("./").unwrap_or(&path).to_string(), bytes);
    }
    Some(tree)
}
