//! Files that a user names: anything may be behind the name.

use std::io::{self, Read};
use std::path::Path;

use fs_err::File;

/// All of a file, or of a pipe, if it is no larger than that.
pub fn read_limited(file: &Path, largest: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(file)?.take(largest + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > largest {
        let why = format!("{}: larger than {} MiB", file.display(), largest >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

/// Lists of nodes and BMCs, and what they name.
const LARGEST_TEXT: u64 = 16 << 20;

pub fn read_text(file: &Path) -> io::Result<String> {
    let bytes = read_limited(file, LARGEST_TEXT)?;
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is no UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_refused() {
        assert!(read_limited(Path::new("/dev/zero"), 1 << 20).is_err());
        assert_eq!(read_limited(Path::new("/dev/null"), 1 << 20).unwrap(), b"");
    }
}
