//! The text of a `fault.md`. Keys are read line by line: messages hold colons and braces, and would
//! have to be quoted twice in YAML.

use super::{Break, Fault, FaultError, Pick, Topology, WORDS};
use crate::edit::{Token, tokens};

type Found<T> = Result<T, (u32, String)>;

/// Every fault of a file: one, or several ways in which the same thing breaks.
pub fn parse_faults(path: &str, text: &str) -> Result<Vec<Fault>, FaultError> {
    let error = |(line, message)| FaultError { path: path.into(), line, message };
    let numbered: Vec<(u32, &str)> = (1u32..).zip(text.lines()).collect();
    let starts: Vec<usize> =
        (0..numbered.len()).filter(|&at| heading(numbered[at].1).is_some()).collect();
    if starts.first() != Some(&0) {
        return Err(error((1, "the file starts with '# fault: <id>'".into())));
    }
    let ends = starts.iter().skip(1).copied().chain([numbered.len()]);
    let parts = starts.iter().zip(ends).map(|(from, to)| &numbered[*from..to]);
    parts.map(|lines| read(path, lines).map_err(error)).collect()
}

fn read(path: &str, text: &[(u32, &str)]) -> Found<Fault> {
    let (first, id) = (text[0].0, heading(text[0].1).unwrap_or_default().to_string());
    let none = || (first, "there is no ```fault block".into());
    let (line, block) = fenced(text, "fault")?.ok_or_else(none)?;
    let edits = fenced(text, "edits")?.unwrap_or((first, String::new()));
    let mut fault = Fault {
        path: path.into(),
        id,
        roots: Vec::new(),
        pick: Pick::None,
        platforms: Vec::new(),
        minors: None,
        topologies: Vec::new(),
        installing: false,
        breaks: Vec::new(),
        cancels: Vec::new(),
        edits,
    };
    for (line, key, values) in keys(line, &block)? {
        take(&mut fault, key, values).map_err(|(at, message)| (at.unwrap_or(line), message))?;
    }
    if fault.roots.is_empty() {
        return Err((line, "root: is missing".into()));
    }
    Ok(fault)
}

fn heading(line: &str) -> Option<&str> {
    line.strip_prefix("# fault:").map(str::trim).filter(|id| !id.is_empty())
}

/// The block behind ```` ```word ````, and the line of its first line.
fn fenced(text: &[(u32, &str)], word: &str) -> Found<Option<(u32, String)>> {
    let mut lines = text.iter().copied();
    let mut found = None;
    while let Some((line, content)) = lines.next() {
        let Some(info) = content.strip_prefix("```") else { continue };
        let mut block = String::new();
        loop {
            match lines.next() {
                Some((_, "```")) => break,
                Some((_, content)) => {
                    block.push_str(content);
                    block.push('\n');
                }
                None => return Err((line, "the block has no end".into())),
            }
        }
        if info.trim() == word && found.replace((line + 1, block)).is_some() {
            return Err((line, format!("there is a second ```{word} block")));
        }
    }
    Ok(found)
}

type Values = Vec<(u32, String)>;

/// `key: value`, `key: [a, b]`, or `key:` with `- value` lines below.
fn keys(first: u32, block: &str) -> Found<Vec<(u32, &str, Values)>> {
    let mut found: Vec<(u32, &str, Values)> = Vec::new();
    for (line, content) in (first..).zip(block.lines()) {
        let trimmed = content.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        if let Some(item) = trimmed.strip_prefix("- ") {
            let (.., values) = found.last_mut().ok_or((line, "an item without a key".into()))?;
            values.push((line, item.trim().into()));
            continue;
        }
        let (key, value) =
            trimmed.split_once(':').ok_or((line, format!("'{trimmed}' is no 'key: value'")))?;
        if found.iter().any(|(_, known, _)| *known == key) {
            return Err((line, format!("{key}: is given twice")));
        }
        let value = value.trim();
        let inner = value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let values = match inner {
            Some(list) => list.split(',').map(str::trim).filter(|item| !item.is_empty()).collect(),
            None if value.is_empty() => Vec::new(),
            None => vec![value],
        };
        found.push((line, key, values.into_iter().map(|value| (line, value.into())).collect()));
    }
    Ok(found)
}

fn take(fault: &mut Fault, key: &str, values: Values) -> Result<(), (Option<u32>, String)> {
    let wrong = |message: String| (None, message);
    match key {
        "root" => {
            for (line, value) in values {
                let words: Vec<&str> = value.split_whitespace().collect();
                let [id, entity] = words[..] else {
                    return Err((Some(line), format!("'{value}' is not 'ID Kind/name'")));
                };
                if !entity.contains('/') {
                    return Err((Some(line), format!("'{entity}' is not Kind/name")));
                }
                fault.roots.push((id.into(), entity.into()));
            }
        }
        "pick" => {
            fault.pick = match one(values)?.as_str() {
                "master" => Pick::Master,
                "worker" => Pick::Worker,
                "node" => Pick::Node,
                "host" => Pick::Host,
                "none" => Pick::None,
                other => {
                    let known = "master, worker, node, host, none";
                    return Err(wrong(format!("pick: '{other}' is none of {known}")));
                }
            }
        }
        "platforms" => {
            for (line, value) in values {
                if !["baremetal", "none", "external"].contains(&value.as_str()) {
                    let known = "baremetal, none, external";
                    return Err((Some(line), format!("platforms: '{value}' is none of {known}")));
                }
                fault.platforms.push(value);
            }
        }
        "topologies" => {
            for (line, value) in values {
                fault.topologies.push(match value.as_str() {
                    "ha" => Topology::Ha,
                    "compact" => Topology::Compact,
                    "sno" => Topology::Sno,
                    _ => {
                        let known = "ha, compact, sno";
                        return Err((
                            Some(line),
                            format!("topologies: '{value}' is none of {known}"),
                        ));
                    }
                });
            }
        }
        "versions" => fault.minors = Some(minors(one(values)?.trim_matches('"')).map_err(wrong)?),
        "phase" => {
            fault.installing = match one(values)?.as_str() {
                "installed" => false,
                "installing" => true,
                other => {
                    return Err(wrong(format!(
                        "phase: '{other}' is neither installed nor installing"
                    )));
                }
            }
        }
        "breaks" => {
            for (line, value) in values {
                let read = broken(line, &value).map_err(|message| (Some(line), message))?;
                fault.breaks.push(read);
            }
        }
        "cancels" => fault.cancels = values.into_iter().map(|(_, value)| value).collect(),
        _ => {
            return Err(wrong(format!(
                "'{key}:' is not known; there are root, pick, platforms, versions, topologies, \
                 phase, breaks, cancels"
            )));
        }
    }
    Ok(())
}

fn one(values: Values) -> Result<String, (Option<u32>, String)> {
    let count = values.len();
    let mut values = values.into_iter();
    match (values.next(), count) {
        (Some((_, value)), 1) => Ok(value),
        _ => Err((None, "one value is expected".into())),
    }
}

/// `4.12..4.18`, `4.16..` or `..4.18`.
fn minors(text: &str) -> Result<(u32, u32), String> {
    let usage = || format!("versions: '{text}' is not written 4.12..4.18");
    let (from, to) = text.split_once("..").ok_or_else(usage)?;
    let minor = |text: &str, open: u32| match text {
        "" => Ok(open),
        text => text.strip_prefix("4.").and_then(|n| n.parse().ok()).ok_or_else(usage),
    };
    Ok((minor(from, 0)?, minor(to, u32::MAX)?))
}

fn broken(line: u32, text: &str) -> Result<Break, String> {
    let mut words = tokens(text)?.into_iter().map(|token| match token {
        Token::Word(word) | Token::Quoted(word) => word,
        Token::Pair(key, value) => format!("{key}={value}"),
    });
    let word = words.next().unwrap_or_default();
    let known = || WORDS.iter().map(|(word, ..)| *word).collect::<Vec<_>>().join(", ");
    let (word, count, usage) = WORDS
        .iter()
        .find(|(known, ..)| *known == word)
        .ok_or_else(|| format!("nothing breaks by '{word}'; there are {}", known()))?;
    let arguments: Vec<String> = words.collect();
    if arguments.len() != *count {
        return Err(format!("expected: {word} {usage}").trim_end().into());
    }
    Ok(Break { line, word, arguments })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# fault: kubelet-anonymous\n\nWhat happens.\n\n```fault\nroot: kubelet-anonymous Node/{node}\npick: master\nplatforms: [baremetal, none]\nversions: 4.12..4.18\ntopologies: [ha, sno]\nphase: installing\nbreaks:\n- mirror-pods-gone {node}\n- operator-degraded network X \"a: \\\"b\\\"\"\n```\n\n```edits\njournal kubelet {node} from={t} \"x\"\n```\n";

    fn error(from: &str, to: &str) -> String {
        parse_faults("f.md", &TEXT.replace(from, to)).unwrap_err().to_string()
    }

    #[test]
    fn a_fault_is_read() {
        let twice = format!("{TEXT}\n{TEXT}");
        let faults = parse_faults("f.md", &twice).unwrap();
        assert_eq!((faults.len(), faults[1].breaks[1].line), (2, 34));
        let fault = &faults[0];
        assert_eq!(fault.id, "kubelet-anonymous");
        assert_eq!(fault.roots, [("kubelet-anonymous".into(), "Node/{node}".into())]);
        assert_eq!((fault.pick, fault.minors), (Pick::Master, Some((12, 18))));
        assert_eq!(fault.topologies, [Topology::Ha, Topology::Sno]);
        assert!(fault.installing);
        assert_eq!(fault.breaks[1].arguments, ["network", "X", "a: \"b\""]);
        assert_eq!(fault.breaks[1].line, 14);
        assert_eq!(fault.edits.0, 18);
        assert!(fault.edits.1.starts_with("journal kubelet {node}"));
    }

    #[test]
    fn several_roots_and_no_breaks() {
        let text = "# fault: a\n```fault\nroot:\n- a Node/x\n- b Pod/n/y\nbreaks:\n```\n";
        let fault = &parse_faults("f.md", text).unwrap()[0];
        assert_eq!(fault.roots.len(), 2);
        assert!(fault.breaks.is_empty() && fault.edits.1.is_empty());
    }

    #[test]
    fn an_error_names_file_and_line() {
        assert_eq!(
            error("# fault: kubelet-anonymous", "# other"),
            "f.md:1: the file starts with '# fault: <id>'"
        );
        assert_eq!(
            error("pick: master", "pick: moon"),
            "f.md:7: pick: 'moon' is none of master, worker, node, host, none"
        );
        assert!(error("pick: master", "pack: master").starts_with("f.md:7: 'pack:' is not known"));
        assert!(
            error("mirror-pods-gone {node}", "sunspots").starts_with("f.md:13: nothing breaks")
        );
        assert_eq!(
            error("mirror-pods-gone {node}", "mirror-pods-gone"),
            "f.md:13: expected: mirror-pods-gone NODE"
        );
        assert!(error("4.12..4.18", "4.12").starts_with("f.md:9: versions: '4.12' is not written"));
        assert!(error("Node/{node}\n", "nowhere\n").starts_with("f.md:6: 'nowhere' is not Kind"));
        assert!(error("baremetal, none", "mars").starts_with("f.md:8: platforms: 'mars'"));
        assert!(
            error("pick: master", "root: b Node/x").starts_with("f.md:7: root: is given twice")
        );
        assert!(error("\"x\"\n```\n", "\"x\"\n").starts_with("f.md:17: the block has no end"));
    }
}
