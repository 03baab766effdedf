//! Transcripts of the command line: what is typed, what is printed, how it ends.

#[test]
fn transcripts() {
    trycmd::TestCases::new().case("tests/cmd/*.md");
}
