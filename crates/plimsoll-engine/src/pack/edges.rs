//! `causes:` of a `case.yaml` → edges between states, with the way from entity to entity.

use plimsoll_causes::Likelihood;

use super::fields::{Fields, duration};
use super::load::Loader;
use super::{CauseRule, Via};
use crate::facts::schema;

impl<'n> Loader<'n> {
    /// `from` may name several states that do the same to the effect.
    pub(super) fn edges(&mut self, case: usize, fields: &Fields<'n>) {
        let to = fields.required("to", &mut self.errors);
        let causes = fields.texts("from", &mut self.errors);
        if causes.is_empty() {
            self.errors.push(fields.here("'from' is missing"));
        }
        for from in causes {
            self.edge(case, fields, &from, &to);
        }
    }

    fn edge(&mut self, case: usize, fields: &Fields<'n>, from: &str, to: &str) {
        let (froms, tos) = (self.states_meant(from), self.states_meant(to));
        if let Some(unknown) = [(&froms, from), (&tos, to)].iter().find(|(all, _)| all.is_empty()) {
            self.errors.push(fields.here(format!("no state '{}'", unknown.1)));
            return;
        }
        // Of states with one name those are meant that the relation joins.
        let text = fields.required("via", &mut self.errors);
        let kind = |index: usize| self.pack.states[index].on.clone();
        let mut refused = None;
        let mut pairs = froms.iter().flat_map(|from| tos.iter().map(move |to| (*from, *to)));
        let joined = pairs.find_map(|(from, to)| {
            parse_via(&text, &kind(from), &kind(to))
                .map(|via| (from, to, via))
                .map_err(|message| refused = refused.take().or(Some(message)))
                .ok()
        });
        let Some((from_index, to_index, via)) = joined else {
            self.errors.extend(refused.map(|message| fields.here(message)));
            return;
        };
        let (from_kind, to_kind) = (kind(from_index), kind(to_index));
        let words = [
            ("always", Likelihood::Always),
            ("usually", Likelihood::Usually),
            ("sometimes", Likelihood::Sometimes),
            ("rarely", Likelihood::Rarely),
        ];
        let likelihood = fields.word("likelihood", &words, &mut self.errors);
        if fields.get("likelihood").is_none() {
            self.errors.push(fields.here("'likelihood' is missing"));
        }
        let (delay_min, delay_max) = self.delay(fields);
        self.sentence(fields, "because", &[]);
        let scope =
            [("cause", from_kind.as_str()), ("effect", to_kind.as_str()), ("cluster", "Cluster")];
        let guard = self.predicate(fields, "guard", &scope);
        let rule = CauseRule {
            id: format!("{}/{from}->{to}", self.pack.cases[case].id),
            at: fields.place(),
            from: from_index,
            to: to_index,
            via,
            likelihood: likelihood.unwrap_or(Likelihood::Sometimes),
            delay_min,
            delay_max,
            guard,
            keeps: fields.flag("keeps", &mut self.errors),
            applies: self.applies(fields),
            because: fields.required("because", &mut self.errors),
            source: fields.required("source", &mut self.errors),
        };
        self.pack.causes.push(rule);
    }

    fn delay(&mut self, fields: &Fields<'n>) -> (Option<i64>, Option<i64>) {
        let Some(node) = fields.get("delay") else { return (None, None) };
        let known = ["min", "max"];
        let Some(inner) = Fields::new(fields.path, node, &known, &mut self.errors) else {
            return (None, None);
        };
        let mut bound = |key: &str| {
            let seconds = inner.text(key, &mut self.errors).map(duration)?;
            if seconds.is_none() {
                let message = format!("'{key}' must look like 90s, 15m, 2h or 3d");
                self.errors.push(inner.at(key, message));
            }
            seconds
        };
        (bound("min"), bound("max"))
    }
}

/// `same`, `any`, or relations such as `pod-on-node~ operand-of`, checked kind by kind.
fn parse_via(text: &str, from: &str, to: &str) -> Result<Via, String> {
    match text {
        "same" if from == to => return Ok(Via::Same),
        "same" => return Err(format!("via 'same' needs one kind, not {from} and {to}")),
        "any" => return Ok(Via::Any),
        _ => {}
    }
    let mut at = from.to_string();
    let mut path = Vec::new();
    for step in text.split_whitespace() {
        let (name, inverse) = step.strip_suffix('~').map_or((step, false), |name| (name, true));
        // `workload-of` starts at two kinds; both rows are the same relation.
        let rows = schema::RELATIONS.iter().filter(|(relation, _, _)| *relation == name);
        let next = rows
            .map(|(_, start, end)| if inverse { (*end, *start) } else { (*start, *end) })
            .find(|(start, _)| {
                *start == at || (name == "workload-of" && !inverse && at == "DaemonSet")
            })
            .map(|(_, end)| end);
        match next {
            Some(next) => at = next.into(),
            None => return Err(format!("no relation '{step}' from a {at}")),
        }
        path.push((name.to_string(), inverse));
    }
    if path.is_empty() || at != to {
        return Err(format!("via '{text}' leads to a {at}, not to a {to}"));
    }
    Ok(Via::Path(path))
}
