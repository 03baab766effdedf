//! Small stories with a known answer.

mod support;

use plimsoll_causes::{
    Confidence, Graph, Likelihood, Link, Node, Prior, Role, RuledOut, blame, explain,
};
use support::{absent, at, common, confirmed, graph, link, role, root, roots, seen, unknown, weak};

#[test]
fn nothing_seen_means_nothing_to_say() {
    let told =
        explain(&graph(&[common(unknown()), unknown(), common(absent())], &[(0, 1), (2, 1)]));
    assert_eq!(told, plimsoll_causes::Explanation::default());
}

#[test]
fn a_chain_has_one_root_and_every_link() {
    let told = explain(&graph(&[common(seen()), seen(), seen()], &[(0, 1), (1, 2)]));
    assert_eq!(confirmed(&told), [0]);
    assert_eq!(told.roots[0].explains, [1, 2]);
    assert_eq!(told.chain, [0, 1]);
    assert!(told.unexplained.is_empty() && told.next_checks.is_empty() && !told.sensitive);
}

#[test]
fn two_faults_that_share_nothing_are_two_roots() {
    let told =
        explain(&graph(&[common(seen()), common(seen()), seen(), seen()], &[(0, 2), (1, 3)]));
    assert_eq!(confirmed(&told), [0, 1]);
    assert_eq!(told.roots[0].explains, [2]);
    assert_eq!(told.roots[1].explains, [3]);
}

#[test]
fn a_common_effect_belongs_to_both_roots() {
    let told = explain(&graph(&[common(seen()), common(seen()), seen()], &[(0, 2), (1, 2)]));
    assert_eq!(roots(&told), [0, 1]);
    assert_eq!(told.roots[0].explains, [2]);
    assert_eq!(told.roots[1].explains, [2]);
}

#[test]
fn a_fault_with_a_seen_cause_is_an_effect_even_if_it_could_be_a_root() {
    let told = explain(&graph(&[common(seen()), common(seen())], &[(0, 1)]));
    assert_eq!(confirmed(&told), [0]);
    let rarely = Graph {
        links: vec![link(0, 1, Likelihood::Rarely)],
        ..graph(&[common(seen()), common(seen())], &[])
    };
    assert_eq!(confirmed(&explain(&rarely)), [0, 1], "one in ten does not outweigh a common fault");
    let mut rare = rarely;
    rare.nodes[1].root = Some(Prior::Rare);
    assert_eq!(confirmed(&explain(&rare)), [0], "but it outweighs a rare one");
}

#[test]
fn onsets_break_a_cycle() {
    let nodes = [common(at(seen(), 0)), common(at(seen(), 1000)), common(at(seen(), 2000))];
    let told = explain(&graph(&nodes, &[(0, 1), (1, 2), (2, 0)]));
    assert_eq!(confirmed(&told), [0]);
    assert_eq!(told.chain, [0, 1]);
    assert!(told.deadlocks.is_empty());
}

#[test]
fn an_unknown_between_does_not_let_an_effect_precede_its_cause() {
    let nodes = [common(at(seen(), 5000)), unknown(), at(seen(), 0)];
    let told = explain(&graph(&nodes, &[(0, 1), (1, 2)]));
    assert_eq!(told.unexplained, [2]);
    assert!(told.chain.is_empty() && told.assumed.is_empty());
}

#[test]
fn a_ring_without_an_outside_cause_is_a_deadlock_and_explains_itself() {
    let nodes = [at(seen(), 60), at(seen(), 0), at(seen(), 30), seen()];
    let told = explain(&graph(&nodes, &[(0, 1), (1, 2), (2, 0), (2, 3)]));
    assert!(told.roots.is_empty() && told.unexplained.is_empty());
    assert_eq!(told.deadlocks.len(), 1);
    assert_eq!(told.deadlocks[0].members, [1, 2, 0]);
    assert_eq!(told.deadlocks[0].entry, Some(1));
    assert_eq!(told.chain, [0, 1, 2, 3]);
}

#[test]
fn a_member_that_can_be_a_root_is_the_root_of_its_ring() {
    let nodes = [seen(), common(seen()), seen()];
    let told = explain(&graph(&nodes, &[(0, 1), (1, 2), (2, 0)]));
    assert_eq!(confirmed(&told), [1]);
    assert_eq!(told.roots[0].explains, [0, 2]);
    assert_eq!(told.deadlocks[0].entry, Some(1));
    assert_eq!(told.chain, [1, 2], "no link enters the root");
}

#[test]
fn a_ring_with_two_possible_roots_confirms_neither() {
    let nodes = [common(at(seen(), 60)), common(at(seen(), 0))];
    let told = explain(&graph(&nodes, &[(0, 1), (1, 0)]));
    assert_eq!(roots(&told), [1]);
    assert_eq!(told.roots[0].confidence, Confidence::Probable);
}

#[test]
fn a_ring_set_off_from_outside_names_its_entry() {
    let nodes = [common(seen()), seen(), seen(), seen()];
    let told = explain(&graph(&nodes, &[(0, 1), (1, 2), (2, 3), (3, 2)]));
    assert_eq!(confirmed(&told), [0]);
    assert_eq!(told.roots[0].explains, [1, 2, 3]);
    assert_eq!(told.deadlocks[0].members, [2, 3]);
    assert_eq!(told.deadlocks[0].entry, Some(1));
}

#[test]
fn a_seen_cause_explains_an_unknown_one_away() {
    let told = explain(&graph(&[common(seen()), common(unknown()), seen()], &[(0, 2), (1, 2)]));
    assert_eq!(confirmed(&told), [0]);
    let alone = explain(&graph(&[common(absent()), common(unknown()), seen()], &[(0, 2), (1, 2)]));
    assert_eq!(roots(&alone), [1]);
}

#[test]
fn an_absent_effect_rules_its_cause_out() {
    // Both could explain 2; the effects that 0 would have had are not there.
    let nodes = [common(unknown()), common(unknown()), seen(), absent(), absent()];
    let mut graph = graph(&nodes, &[(0, 2), (1, 2), (0, 3), (0, 4)]);
    let told = explain(&graph);
    assert_eq!(roots(&told), [1]);
    assert!(told.alternatives.is_empty());
    // Less likely is not ruled out: only what always happens and did not says that.
    assert!(told.ruled_out.is_empty());
    graph.links[2].likelihood = Likelihood::Always;
    assert_eq!(explain(&graph).ruled_out, [RuledOut { node: 0, by: 3 }]);
}

#[test]
fn a_cause_seen_to_be_absent_rules_itself_out() {
    let told = explain(&graph(&[common(seen()), common(absent()), seen()], &[(0, 2), (1, 2)]));
    assert_eq!(told.ruled_out, [RuledOut { node: 1, by: 1 }]);
}

#[test]
fn an_unknown_cause_is_suspected_with_the_check_that_would_confirm_it() {
    let nodes = [common(unknown()), seen(), seen()];
    let told = explain(&graph(&nodes, &[(0, 1), (0, 2)]));
    assert_eq!(roots(&told), [0]);
    assert_eq!(told.roots[0].confidence, Confidence::Suspected);
    assert_eq!(told.roots[0].explains, [1, 2]);
    assert!(told.next_checks.iter().any(|check| check.node == 0 && check.gain > 0.0));
}

#[test]
fn an_unknown_cause_of_an_unknown_state_is_a_check_and_no_root() {
    let nodes = [common(unknown()), unknown(), seen(), seen()];
    let told = explain(&graph(&nodes, &[(0, 1), (1, 2), (1, 3)]));
    assert!(told.roots.is_empty());
    assert_eq!(told.unexplained, [2, 3]);
    assert!(told.next_checks.iter().any(|check| check.node == 0 && check.gain > 0.0));
}

#[test]
fn what_follows_from_an_unexplained_symptom_is_no_root() {
    let mut graph = graph(&[seen(), common(seen()), seen()], &[(0, 1), (1, 2)]);
    let told = explain(&graph);
    assert!(told.roots.is_empty());
    assert_eq!(told.unexplained, [0, 1, 2]);
    graph.nodes[0] = absent();
    assert_eq!(confirmed(&explain(&graph)), [1]);
    graph.nodes[0] = unknown();
    assert_eq!(roots(&explain(&graph)), [1]);
    assert!(confirmed(&explain(&graph)).is_empty(), "the symptom above may be there");
}

#[test]
fn of_what_nobody_explains_the_first_is_told() {
    let told = explain(&graph(&[seen(), seen(), seen()], &[(0, 1), (1, 2)]));
    assert_eq!(told.unexplained, [0, 1, 2]);
    assert_eq!(told.links_left, [0, 1]);
    assert!(told.chain.is_empty());
}

#[test]
fn one_weak_symptom_invents_no_root() {
    let told = explain(&graph(&[common(unknown()), weak(seen())], &[(0, 1)]));
    assert!(told.roots.is_empty());
    assert_eq!(told.unexplained, [1]);
    let strong = explain(&graph(&[root(unknown(), Prior::Rare), seen()], &[(0, 1)]));
    assert_eq!(strong.unexplained, [1], "nor does a strong one for a rare cause");
}

#[test]
fn a_weak_sign_convicts_only_with_its_effects_and_then_only_probably() {
    let lone = explain(&graph(&[root(weak(seen()), Prior::Uncommon)], &[]));
    assert!(lone.roots.is_empty());
    assert_eq!(lone.unexplained, [0]);
    let blamed = blame(&graph(&[root(weak(seen()), Prior::Uncommon)], &[]));
    assert_eq!(roots(&blamed), [0]);
    assert_eq!(blamed.roots[0].confidence, Confidence::Probable);
    assert!(blamed.unexplained.is_empty());
    let told = explain(&graph(&[root(weak(seen()), Prior::Uncommon), seen()], &[(0, 1)]));
    assert_eq!(roots(&told), [0]);
    assert_eq!(told.roots[0].confidence, Confidence::Probable);
}

#[test]
fn where_a_cause_would_not_show_nothing_is_confirmed() {
    let blind = Node { provable: false, ..common(seen()) };
    let told = explain(&graph(&[blind, seen()], &[(0, 1)]));
    assert_eq!(roots(&told), [0]);
    assert_eq!(told.roots[0].confidence, Confidence::Probable);
}

#[test]
fn two_unknown_causes_tie_and_each_would_tell() {
    let nodes = [common(unknown()), common(unknown()), seen(), unknown()];
    let told = explain(&graph(&nodes, &[(0, 2), (1, 2), (1, 3)]));
    assert_eq!(roots(&told), [0]);
    assert_eq!(told.roots[0].ties, [1]);
    assert!(told.alternatives[0].tie);
    assert_eq!(told.alternatives[0].separated_by, [0, 1, 3]);
    let checked: Vec<usize> = told.next_checks.iter().map(|check| check.node).collect();
    assert_eq!(checked.len(), 3);
    assert_eq!(told.next_checks[0].separates, [0, 1]);
}

#[test]
fn an_answer_that_hangs_on_the_exact_numbers_says_so() {
    // A common cause that sometimes has both effects, against an uncommon one that always has them.
    let nodes = [common(unknown()), root(unknown(), Prior::Uncommon), seen(), seen()];
    let mut close = graph(&nodes, &[]);
    for effect in [2, 3] {
        close.links.push(link(0, effect, Likelihood::Sometimes));
        close.links.push(link(1, effect, Likelihood::Always));
    }
    let told = explain(&close);
    assert_eq!((roots(&told), told.sensitive), (vec![1], true));
    close.nodes[0].root = Some(Prior::Rare);
    let told = explain(&close);
    assert_eq!((roots(&told), told.sensitive), (vec![1], false));
}

#[test]
fn an_unknown_that_could_stand_behind_a_seen_root_makes_it_probable() {
    let told = explain(&graph(&[common(unknown()), common(seen()), seen()], &[(0, 1), (1, 2)]));
    assert_eq!(roots(&told), [1]);
    assert_eq!(told.roots[0].confidence, Confidence::Probable);
    assert_eq!(told.roots[0].doubts, [0]);
    assert_eq!(told.alternatives.len(), 1);
    assert_eq!((told.alternatives[0].node, told.alternatives[0].instead_of), (0, 1));
    assert_eq!(told.next_checks[0].node, 0);
}

#[test]
fn one_unknown_behind_several_seen_faults_beats_them() {
    let nodes = [common(unknown()), common(seen()), common(seen()), common(seen())];
    let told = explain(&graph(&nodes, &[(0, 1), (0, 2), (0, 3)]));
    assert_eq!(roots(&told), [0]);
    assert_eq!(told.roots[0].confidence, Confidence::Suspected);
    assert_eq!(told.roots[0].explains, [1, 2, 3]);
}

#[test]
fn maintenance_explains_before_a_fault_does() {
    let nodes = [role(seen(), Role::Expected), common(seen()), seen(), seen()];
    let told = explain(&graph(&nodes, &[(0, 1), (1, 2), (2, 3)]));
    assert!(told.roots.is_empty());
    assert_eq!(told.expected, [1, 2, 3]);
    assert_eq!(told.chain, [0, 1, 2]);
}

#[test]
fn a_plain_and_nearly_certain_fault_is_blamed_during_maintenance() {
    let nodes = [role(seen(), Role::Expected), common(seen()), seen()];
    let told = explain(&graph(&nodes, &[(0, 2), (1, 2)]));
    assert_eq!(confirmed(&told), [1]);
    assert!(told.expected.is_empty());
    let mut sometimes = graph(&nodes, &[(0, 2)]);
    sometimes.links.push(link(1, 2, Likelihood::Sometimes));
    let told = explain(&sometimes);
    assert_eq!((roots(&told), told.expected), (vec![1], vec![2]));
}

#[test]
fn a_note_is_shown_as_an_effect_and_never_blamed() {
    let nodes = [common(seen()), role(seen(), Role::Note), role(common(seen()), Role::Note)];
    let told = explain(&graph(&nodes, &[(0, 1)]));
    assert_eq!(confirmed(&told), [0]);
    assert_eq!(told.roots[0].explains, [1]);
    assert!(told.unexplained.is_empty());
}

#[test]
fn effects_of_the_unexplained_are_unexplained_too() {
    let told = explain(&graph(&[seen(), seen()], &[(0, 1)]));
    assert_eq!(told.unexplained, [0, 1]);
}

#[test]
fn a_delay_window_keeps_an_old_fault_from_explaining_news() {
    let mut late = graph(&[common(at(seen(), 0)), at(seen(), 9000)], &[]);
    late.links.push(Link { delay_max: Some(600), ..link(0, 1, Likelihood::Always) });
    let told = explain(&late);
    assert_eq!((roots(&told), told.unexplained), (vec![0], vec![1]));
}

#[test]
fn links_to_nowhere_are_ignored() {
    let told = explain(&graph(&[common(seen())], &[(0, 9), (9, 0)]));
    assert_eq!(confirmed(&told), [0]);
}

#[test]
fn a_chain_of_a_hundred_thousand_does_not_overflow_the_stack() {
    let count = 100_000;
    let mut nodes = vec![seen(); count];
    nodes[0] = common(seen());
    let links: Vec<(usize, usize)> = (1..count).map(|node| (node - 1, node)).collect();
    let told = explain(&graph(&nodes, &links));
    assert_eq!(confirmed(&told), [0]);
    assert_eq!(told.roots[0].explains.len(), count - 1);
    let ring: Vec<(usize, usize)> = (0..count).map(|node| (node, (node + 1) % count)).collect();
    assert_eq!(explain(&graph(&nodes, &ring)).deadlocks[0].members.len(), count);
}

#[test]
fn a_hold_closes_a_ring_without_explaining_it() {
    let nodes = [at(common(seen()), 0), at(seen(), 600), at(seen(), 1200), at(seen(), 9000)];
    let mut held = graph(&nodes, &[(0, 1), (1, 2), (2, 3)]);
    assert!(explain(&held).deadlocks.is_empty());
    held.holds.push((3, 1));
    let answer = explain(&held);
    assert_eq!(answer.roots.iter().map(|root| root.node).collect::<Vec<_>>(), [0]);
    assert_eq!(answer.deadlocks.len(), 1);
    assert_eq!(answer.deadlocks[0].members, [1, 2, 3]);
    assert_eq!(answer.deadlocks[0].entry, Some(0));
}
