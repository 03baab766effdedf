//! The one-file report, as bytes. How it looks in a browser is in `html_in_chromium.rs`.

mod support;

use plimsoll_report::html;

#[test]
fn an_incident_report() {
    insta::assert_snapshot!(html(&support::example()));
}

#[test]
fn a_healthy_cluster() {
    insta::assert_snapshot!(html(&support::healthy()));
}

#[test]
fn a_cluster_of_which_too_little_is_known() {
    insta::assert_snapshot!(html(&support::not_provable()));
}
