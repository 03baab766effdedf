//! Clusters in the middle of planned work: nothing is wrong with them, though much is not ready.

use jiff::SignedDuration;

use super::{BaseParams, Phase, metal};
use crate::edit;
use crate::tree::Tree;

/// Twenty minutes into an installation.
pub(super) fn installing() -> Option<Tree> {
    let default = BaseParams::default();
    let installed = default.now.checked_sub(SignedDuration::from_mins(20)).ok()?;
    let params = BaseParams { phase: Phase::Installing, installed, ..default };
    changed(metal(&params), include_str!("installing.edits"))
}

/// From 4.18.14 to 4.18.20, the control plane done, the first worker rebooting.
pub(super) fn upgrading() -> Option<Tree> {
    changed(metal(&BaseParams::default()), include_str!("upgrading.edits"))
}

fn changed(mut tree: Tree, text: &str) -> Option<Tree> {
    let edits = edit::parse_edits(text, 1).ok()?;
    edit::apply(&mut tree, &edits).ok()?;
    Some(tree)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_edits_of_the_variants_fit_their_base() {
        for text in [include_str!("installing.edits"), include_str!("upgrading.edits")] {
            edit::parse_edits(text, 1).unwrap();
        }
        let edits = edit::parse_edits(include_str!("upgrading.edits"), 1).unwrap();
        edit::apply(&mut metal(&BaseParams::default()), &edits).unwrap();
        assert!(installing().is_some());
    }
}
