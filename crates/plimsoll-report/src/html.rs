//! The whole answer in one file that needs nothing else. Here the diagnosis is turned into plain
//! strings; `templates/report.html` lays them out and escapes every one of them.

pub(crate) mod view;

use askama::Template;
use plimsoll_model::Diagnosis;

use view::Report;

pub fn html(d: &Diagnosis) -> String {
    let report: Report = view::report(d);
    #[expect(clippy::expect_used, reason = "writing strings into a string has no way to fail")]
    report.render().expect("the report is always rendered")
}
