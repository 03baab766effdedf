//! What an earlier run of the installer left in the folder.

use super::Facts;
use crate::check::Asked;

/// Where the command line puts the age of the install folder, in hours.
const FILE: &str = "install-folder/age-hours";
/// The fact that it becomes.
pub const AGE: &str = "assetHours";

pub fn extract(asked: &Asked<'_>, facts: &mut Facts) {
    let age = asked.seen.files.iter().find(|((_, path), _)| path == FILE);
    let hours =
        age.and_then(|(_, text)| std::str::from_utf8(text).ok()?.trim().parse::<i64>().ok());
    if let Some(hours) = hours {
        let id = facts.config();
        facts.known(&id, AGE, hours);
    }
}
