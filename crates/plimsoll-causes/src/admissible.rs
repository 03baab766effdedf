//! Which links the onsets allow. Only what can be proven counts against a link.

use crate::{Graph, Link, Node, Observed};

/// Onset stamps are coarse: clocks drift and conditions are polled.
pub const ONSET_SLACK_SECONDS: i64 = 120;

/// The earliest moment the node can have begun; `i64::MIN` when nothing bounds it.
pub(crate) fn earliest(node: &Node) -> i64 {
    match node {
        Node { observed: Observed::True, since: Some(since), since_exact: true, .. } => *since,
        _ => i64::MIN,
    }
}

/// The latest moment the node can have begun. "At or before" bounds it just as an exact onset does.
fn latest(node: &Node) -> i64 {
    match node {
        Node { observed: Observed::True, since: Some(since), .. } => *since,
        _ => i64::MAX,
    }
}

/// The earliest onset of an effect whose cause began no earlier than `cause_earliest`.
pub(crate) fn arrival(cause_earliest: i64, link: &Link) -> i64 {
    if cause_earliest == i64::MIN {
        i64::MIN
    } else {
        cause_earliest.saturating_add(link.delay_min.unwrap_or(0))
    }
}

/// Whether the node can have begun as late as `arrival`.
pub(crate) fn in_time(node: &Node, arrival: i64) -> bool {
    latest(node).saturating_add(ONSET_SLACK_SECONDS) >= arrival
}

/// Whether both ends exist and their onsets do not rule the link out.
pub fn admissible(graph: &Graph, link: &Link) -> bool {
    let (Some(cause), Some(effect)) = (graph.nodes.get(link.cause), graph.nodes.get(link.effect))
    else {
        return false;
    };
    let too_late = link.delay_max.is_some_and(|delay| {
        latest(cause).saturating_add(delay.saturating_add(ONSET_SLACK_SECONDS)) < earliest(effect)
    });
    in_time(effect, arrival(earliest(cause), link)) && !too_late
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Likelihood, Role, Strength};

    fn seen(since: Option<i64>, since_exact: bool) -> Node {
        Node {
            observed: Observed::True,
            strength: Strength::Strong,
            provable: true,
            root: None,
            role: Role::Fault,
            since,
            since_exact,
        }
    }

    fn allows(cause: Node, effect: Node, delay_min: Option<i64>, delay_max: Option<i64>) -> bool {
        let link =
            Link { cause: 0, effect: 1, likelihood: Likelihood::Always, delay_min, delay_max };
        admissible(
            &Graph { nodes: vec![cause, effect], links: vec![link], holds: Vec::new() },
            &link,
        )
    }

    #[test]
    fn an_effect_before_its_cause_is_no_effect() {
        let (early, late) = (seen(Some(0), true), seen(Some(1000), true));
        assert!(allows(early, late, None, None));
        assert!(!allows(late, early, None, None));
        assert!(allows(seen(Some(ONSET_SLACK_SECONDS), true), early, None, None));
    }

    #[test]
    fn delay_windows_bound_both_sides() {
        let (early, late) = (seen(Some(0), true), seen(Some(1000), true));
        assert!(!allows(early, late, Some(2000), None));
        assert!(!allows(early, late, None, Some(600)));
        assert!(allows(early, late, Some(900), Some(1000)));
    }

    #[test]
    fn an_onset_known_as_at_or_before_counts_only_where_it_proves() {
        let (early, late) = (seen(Some(0), true), seen(Some(1000), true));
        let by_late = seen(Some(1000), false);
        let by_early = seen(Some(0), false);
        assert!(allows(by_late, early, None, None), "the cause may have begun before");
        assert!(!allows(late, by_early, None, None), "the effect began before in any case");
        assert!(!allows(by_early, late, None, Some(600)), "the cause is older still");
        assert!(allows(early, by_late, None, Some(600)), "the effect may be older");
    }

    #[test]
    fn extreme_numbers_and_missing_nodes_do_not_overflow() {
        let far = seen(Some(i64::MAX), true);
        let past = seen(Some(i64::MIN), true);
        assert!(allows(past, far, Some(i64::MAX), None));
        assert!(!allows(past, far, None, Some(i64::MAX)), "the window ends long before");
        assert!(!allows(far, past, Some(i64::MAX), Some(i64::MIN)));
        let link = Link {
            cause: 0,
            effect: 7,
            likelihood: Likelihood::Always,
            delay_min: None,
            delay_max: None,
        };
        assert!(!admissible(
            &Graph { nodes: vec![far], links: vec![link], holds: Vec::new() },
            &link
        ));
    }
}
