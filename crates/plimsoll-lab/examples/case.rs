//! Writes a base, or the tree of one case of a file, into a folder or a .tar.gz to diagnose:
//! `cargo run -p plimsoll-lab --example case -- BASE|FILE.md[:N] FOLDER|FILE.tar.gz`

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, folder] = arguments.as_slice() else {
        return Err("give a base or FILE.md[:N], and a folder".into());
    };
    let tree = match plimsoll_lab::base::base(what) {
        Some(tree) => tree,
        None => {
            let (file, number) = what.rsplit_once(':').unwrap_or((what, "1"));
            let cases = plimsoll_lab::parse_cases(&fs_err::read_to_string(file)?)?;
            let number: usize = number.parse()?;
            cases.get(number.wrapping_sub(1)).ok_or("no such case in that file")?.tree()?
        }
    };
    match folder.strip_suffix(".tar.gz") {
        Some(_) => plimsoll_lab::write_tar_gz(&tree, "must-gather.local.5512", Path::new(folder))?,
        None => plimsoll_lab::write_folder(&tree, Path::new(folder))?,
    }
    Ok(())
}
