//! Every fact that a rule may read, for those who write rules.

use crate::markdown::escape::{cell, code, prose};
use crate::markdown::{section, table};

/// A kind, and its facts with what they hold.
type Kind<'a> = (&'a str, &'a [(&'a str, &'a str)]);

/// `relations` are (name, kind it starts at, kind it leads to); `of_hits` is known of every log hit.
pub fn facts_markdown(
    kinds: &[Kind<'_>],
    relations: &[(&str, &str, &str)],
    of_hits: &[&str],
) -> String {
    let hits: Vec<String> = of_hits.iter().map(|field| code(field)).collect();
    let mut out: Vec<String> = [
        "# Facts",
        "",
        "What `when`, `since`, `recovered`, `proven` and `guard` may read, and what a sentence may name in",
        "braces. Made by `cargo xtask gen`; `plimsoll knowledge facts` prints the same page.",
        "",
        "- Everything has `name`, `namespace` and `kind`.",
        "- A fact that was not collected is missing, and makes a rule *unknown*. `has(self.x)` asks for it.",
        "- Times are seconds since 1970: `now - self.created > hours(2)`.",
        "- A condition has `status`, `reason`, `message` and `since`.",
        "- `events` are by reason: `'FailedMount' in self.events`.",
    ]
    .map(str::to_string)
    .into();
    out.push(format!(
        "- `self.logs['signature']` has {} and the named groups of its pattern.",
        hits.join(", ")
    ));
    for (kind, facts) in kinds {
        section(&mut out, &prose(kind));
        let rows = facts.iter().map(|(fact, holds)| vec![cell(&code(fact)), cell(&prose(holds))]);
        table(&mut out, &["Fact", "Holds"], rows);
    }
    section(&mut out, "Relations");
    out.extend([
        "What `via` may walk; `pod-on-node~` walks one against its direction.".to_string(),
        String::new(),
    ]);
    let rows = relations
        .iter()
        .map(|(name, from, to)| vec![cell(&code(name)), cell(&prose(from)), cell(&prose(to))]);
    table(&mut out, &["Relation", "From", "To"], rows);
    out.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_fact_and_relation_is_there() {
        let kinds: [Kind<'_>; 1] = [("Node", &[("ready", "condition"), ("taints", "keys")])];
        let page = facts_markdown(&kinds, &[("pod-on-node", "Pod", "Node")], &["count"]);
        for text in [
            "## Node",
            "`ready` | condition",
            "`taints` | keys",
            "`count` and",
            "`pod-on-node` | Pod",
        ] {
            assert!(page.contains(text), "{text}: {page}");
        }
    }
}
