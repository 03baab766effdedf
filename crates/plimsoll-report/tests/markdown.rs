//! The incident report, as it is sent on.

mod support;

use plimsoll_report::markdown;

#[test]
fn an_incident_report() {
    insta::assert_snapshot!(markdown(&support::example()));
}

#[test]
fn a_healthy_cluster() {
    insta::assert_snapshot!(markdown(&support::healthy()));
}

#[test]
fn a_cluster_of_which_too_little_is_known() {
    insta::assert_snapshot!(markdown(&support::not_provable()));
}
