//! The report as a browser sees it. Runs where Chromium is installed.
#![expect(clippy::print_stdout, reason = "a check that did not run says so")]
#![expect(clippy::unwrap_used, reason = "a test stops at the first thing that is wrong")]

mod support;

use std::process::Command;

use plimsoll_model::Diagnosis;
use plimsoll_report::html;

const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

fn browser() -> Option<&'static str> {
    BROWSERS.into_iter().find(|name| {
        Command::new(name).arg("--version").output().is_ok_and(|run| run.status.success())
    })
}

/// The document after the browser has read it, or nothing where there is no browser.
fn dom(d: &Diagnosis) -> Option<String> {
    let Some(browser) = browser() else {
        println!("skipped: none of {} is installed", BROWSERS.join(", "));
        return None;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.html");
    std::fs::write(&file, html(d)).unwrap();
    let run = Command::new(browser)
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
        ])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    Some(String::from_utf8(run.stdout).unwrap())
}

fn assert_needs_no_network(dom: &str) {
    let rest = dom.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for link in ["http://", "https://", "src=", "@import", "url(//"] {
        assert!(!rest.contains(link), "refers to {link}");
    }
}

#[test]
fn an_incident_is_drawn() {
    let d = support::example();
    let Some(dom) = dom(&d) else { return };
    assert!(dom.contains("<title>Cluster diagnosis: Recoverable</title>"));
    assert!(dom.contains("<svg id=\"cascade\""));
    for (number, root) in (1..).zip(&d.roots) {
        let number: usize = number;
        assert!(dom.contains(&format!("<section class=\"card\" id=\"root-{number}\">")));
        assert!(dom.contains(&format!("{number}. {}: {}", root.entity, root.id)));
    }
    assert!(dom.contains("<details class=\"evidence\">"));
    assert!(dom.contains("<table id=\"timeline\">"));
    assert_needs_no_network(&dom);
}

#[test]
fn other_answers_are_drawn() {
    for d in [support::healthy(), support::not_provable()] {
        let Some(dom) = dom(&d) else { return };
        assert!(dom.contains("</html>") && dom.contains("<div class=\"verdict "));
        assert!(!dom.contains("<svg"), "nothing to draw, nothing drawn");
        assert_needs_no_network(&dom);
    }
}

#[test]
fn markup_from_outside_stays_text() {
    let mut d = support::example();
    let attack = "<script id=\"owned\">document.title = 'owned'</script><img src=x onerror=\"document.title = 'owned'\">";
    d.roots[0].evidence[0].text = attack.into();
    d.roots[0].summary = attack.into();
    d.edges[0].because = attack.into();
    d.roots[0].id = attack.into();
    let Some(dom) = dom(&d) else { return };
    assert!(!dom.contains("<title>owned"));
    assert!(!dom.contains("<img") && !dom.contains("<script id="));
}
