//! `case.md`: the page of a failure mode, by its fixed headings. The Markdown inside a section is not
//! understood here, except for fences and for links from page to page.

use plimsoll_model::knowledge::Page;

use crate::pack::Pack;

/// In this order, each once.
pub const HEADINGS: [&str; 6] =
    ["What you see", "Why", "How to confirm", "How to fix", "Is the fix safe", "Sources"];

struct Section<'t> {
    line: u32,
    heading: &'t str,
    lines: Vec<&'t str>,
}

/// The title with what stands before the first `##`, then one section a `##`.
fn sections(text: &str) -> Vec<Section<'_>> {
    let mut sections = Vec::new();
    let mut section = Section { line: 1, heading: "", lines: Vec::new() };
    let mut fenced = false;
    for (number, line) in (1..).zip(text.lines()) {
        fenced ^= line.trim_start().starts_with("```");
        match line.strip_prefix("## ").filter(|_| !fenced) {
            Some(heading) => {
                let next = Section { line: number, heading: heading.trim(), lines: Vec::new() };
                sections.push(std::mem::replace(&mut section, next));
            }
            None => section.lines.push(line),
        }
    }
    sections.push(section);
    sections
}

/// The page as its sections, with links to other pages as `<id>.md`.
pub fn read(text: &str, pack: &Pack) -> Page {
    let sections = sections(text);
    let body = |heading: &str| {
        let lines = sections.iter().filter(|section| section.heading == heading);
        let lines: Vec<&str> = lines.flat_map(|section| section.lines.iter().copied()).collect();
        linked(lines.join("\n").trim(), pack)
    };
    let intro = body("");
    let [what_you_see, why, how_to_confirm, how_to_fix, is_the_fix_safe, sources] =
        HEADINGS.map(body);
    Page {
        intro: intro
            .strip_prefix("# ")
            .and_then(|rest| rest.split_once('\n'))
            .map_or(intro.clone(), |(_, rest)| rest.trim().to_string()),
        what_you_see,
        why,
        how_to_confirm,
        how_to_fix,
        is_the_fix_safe,
        sources,
    }
}

/// What is wrong with a page, by line.
pub fn problems(id: &str, text: &str, pack: &Pack) -> Vec<(u32, String)> {
    let mut found = Vec::new();
    let sections = sections(text);
    let title = format!("# {id}");
    if text.lines().next() != Some(title.as_str()) {
        found.push((1, format!("the page must begin with '{title}'")));
    }
    let known = sections.iter().skip(1).filter(|section| HEADINGS.contains(&section.heading));
    let order: Vec<usize> = known
        .clone()
        .filter_map(|section| HEADINGS.iter().position(|heading| *heading == section.heading))
        .collect();
    for (section, pair) in known.clone().skip(1).zip(order.windows(2)) {
        if pair[1] <= pair[0] {
            let heading = section.heading;
            found.push((section.line, format!("'## {heading}' is out of order, or there twice")));
        }
    }
    for heading in HEADINGS {
        let mut with = sections.iter().filter(|section| section.heading == heading);
        match with.next() {
            None => found.push((1, format!("'## {heading}' is missing"))),
            Some(section) if section.lines.iter().all(|line| line.trim().is_empty()) => {
                found.push((section.line, format!("'## {heading}' is empty")));
            }
            Some(_) => {}
        }
    }
    for section in sections.iter().skip(1) {
        if !HEADINGS.contains(&section.heading) {
            let all = HEADINGS.join(", ");
            let heading = section.heading;
            found.push((section.line, format!("no heading '## {heading}'; there are {all}")));
        }
    }
    for (number, line) in (1..).zip(text.lines()) {
        for target in links(line).map(|(_, target)| target) {
            if let Some(id) = page_named(target).filter(|id| case_of(pack, id).is_none()) {
                found.push((number, format!("the link to '{target}': no failure mode '{id}'")));
            }
        }
    }
    found.sort();
    found
}

/// Markdown links of a line: where the target starts, and the target.
fn links(line: &str) -> impl Iterator<Item = (usize, &str)> {
    line.match_indices("](").filter_map(|(at, open)| {
        let start = at + open.len();
        let end = line[start..].find(')')?;
        Some((start, &line[start..start + end]))
    })
}

/// The failure mode that a link leads to, if it leads to a page of a pack and not into the world.
fn page_named(target: &str) -> Option<&str> {
    if target.contains(':') || target.starts_with('#') {
        return None;
    }
    let path = target.split('#').next().unwrap_or(target);
    let path = path.strip_suffix("/case.md").or_else(|| path.strip_suffix(".md")).unwrap_or(path);
    path.trim_end_matches('/').rsplit('/').next().filter(|id| !id.is_empty())
}

fn case_of<'p>(pack: &'p Pack, id: &str) -> Option<&'p str> {
    pack.cases.iter().map(|case| case.id.as_str()).find(|known| *known == id)
}

fn linked(text: &str, pack: &Pack) -> String {
    let mut out = String::with_capacity(text.len());
    for (number, line) in text.lines().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        let mut done = 0;
        for (start, target) in links(line) {
            if let Some(id) = page_named(target).and_then(|id| case_of(pack, id)) {
                out.push_str(&line[done..start]);
                out.push_str(id);
                out.push_str(".md");
                done = start + target.len();
            }
        }
        out.push_str(&line[done..]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::PackFile;

    const PAGE: &str = "# a\n\nIntro.\n\n## What you see\n\nx\n```\n## no heading\n```\n\n## Why\n\nSee [b](../../net/b/case.md) and [w](https://x/y).\n\n## How to confirm\n\nx\n\n## How to fix\n\nx\n\n## Is the fix safe\n\nx\n\n## Sources\n\nx\n";

    fn pack() -> Pack {
        let text = "id: b\ntitle: B\nstates: []\n";
        let file = PackFile { path: "net/b/case.yaml".into(), text: text.into() };
        Pack::load(&[file]).unwrap()
    }

    #[test]
    fn a_page_is_read_by_its_headings_and_links_lead_to_pages() {
        let page = read(PAGE, &pack());
        assert_eq!(page.intro, "Intro.");
        assert!(page.what_you_see.contains("## no heading"));
        assert_eq!(page.why, "See [b](b.md) and [w](https://x/y).");
        assert_eq!(problems("a", PAGE, &pack()), []);
    }

    #[test]
    fn what_is_missing_out_of_order_or_dangling_is_named_with_its_line() {
        let says = |text: &str| {
            let found = problems("a", text, &pack());
            found.iter().map(|(line, text)| format!("{line}: {text}")).collect::<Vec<_>>()
        };
        assert_eq!(says(&PAGE.replace("# a\n", "# b\n")), ["1: the page must begin with '# a'"]);
        let swapped = PAGE.replace("## Why", "## X").replace("## How to confirm", "## Why");
        let swapped = swapped.replace("## X", "## How to confirm");
        assert_eq!(says(&swapped), ["16: '## Why' is out of order, or there twice"]);
        assert!(
            says(&PAGE.replace("## Sources\n\nx\n", ""))[0].contains("'## Sources' is missing")
        );
        assert!(says(&PAGE.replace("## Sources\n\nx\n", "## Sources\n"))[0].contains("is empty"));
        assert!(says(&PAGE.replace("/b/case", "/c/case"))[0].starts_with("14: the link to"));
        assert!(says(&format!("{PAGE}## More\n\nx\n"))[0].contains("no heading '## More'"));
    }
}
