//! What the user accepts, in every form: listed with its terms, blamed nowhere.

mod support;

use plimsoll_report::{TextOptions, html, markdown, text};

#[test]
fn what_is_accepted_is_listed_and_not_left_unexplained() {
    insta::assert_snapshot!(text(&support::accepting(), &TextOptions::default()));
}

#[test]
fn every_form_says_why_until_when_and_what_was_not_applied() {
    let d = support::accepting();
    for shown in [text(&d, &TextOptions::default()), markdown(&d), html(&d)] {
        let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in ["until 2027-01-31", "CHG-4711", "node-slow", "it ended on 2025-01-31"] {
            assert!(flat.contains(part), "{part} is missing in:\n{shown}");
        }
        assert!(!flat.contains("Not explained") && !flat.contains("Left:"), "{shown}");
    }
    assert!(!html(&d).contains("<b>Replacement"));
    assert!(markdown(&d).contains(r"\<b\>Replacement"));
}
