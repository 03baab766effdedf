//! A cascade as lines: state, entity, onset, in columns.

use plimsoll_model::Time;

use super::page::{FAINT, INDENT, Page, STRONG};
use crate::cascade::Cascade;
use crate::digest::entities;
use crate::wrap::{columns, cut_end, cut_entity, pad};
use crate::{safe, when, words};

/// Rows that all trees of one answer share, so that three roots fit on a screen.
const ROWS: usize = 18;
/// What every tree may have, however many there are.
const ROWS_EACH: usize = 4;
/// Branches deeper than this leave no room for words.
const DEEPEST: usize = 7;

/// Rows a tree may take: small trees leave their share to the large ones.
pub fn rows_allowed(trees: &[usize]) -> usize {
    (ROWS_EACH..=ROWS)
        .rev()
        .find(|most| trees.iter().map(|rows| rows.min(most)).sum::<usize>() <= ROWS)
        .unwrap_or(ROWS_EACH)
}

struct Row {
    label: String,
    entity: String,
    time: String,
}

pub fn draw(page: &mut Page, cascade: &Cascade, allowed: usize, now: Option<Time>) {
    let total = cascade.nodes.len();
    if total < 2 {
        return;
    }
    let shown = if total > allowed { allowed - 1 } else { total };
    let depth = |at: usize| cascade.nodes.get(at).map_or(0, |node| node.depth);
    let keep = |at: usize| at < shown && depth(at) <= DEEPEST;
    let order = cascade.preorder(keep);
    // The heading has just named the root: a short tree hangs from it directly.
    let hang = total <= 3;
    let rows: Vec<Row> = order
        .iter()
        .filter(|at| !hang || **at != 0)
        .filter_map(|at| row(cascade, *at, &keep, now))
        .collect();
    draw_rows(page, &rows, !hang);

    let states = |at: &usize| cascade.nodes.get(*at).map_or(0, |node| node.members.len());
    let hidden =
        (0..total).map(|at| states(&at)).sum::<usize>() - order.iter().map(states).sum::<usize>();
    if hidden > 0 {
        let hidden = words::count(u64::try_from(hidden).unwrap_or(u64::MAX));
        page.paragraph(INDENT, &format!("… and {hidden} more (--output html shows all)"), 1);
    }
}

fn row(
    cascade: &Cascade,
    at: usize,
    keep: &impl Fn(usize) -> bool,
    now: Option<Time>,
) -> Option<Row> {
    let node = cascade.nodes.get(at)?;
    let id = safe::line(node.members.first()?.0);
    let time = node.since.map(|since| when::moment(since, now)).unwrap_or_default();
    Some(Row { label: branch(cascade, at, keep) + &id, entity: entities(&node.members), time })
}

/// The lines that lead from the top to this node.
fn branch(cascade: &Cascade, at: usize, keep: &impl Fn(usize) -> bool) -> String {
    let mut pieces = Vec::new();
    let mut at = at;
    while let Some(parent) = cascade.nodes.get(at).and_then(|node| node.parent) {
        let siblings =
            cascade.nodes.get(parent).map(|node| node.children.as_slice()).unwrap_or_default();
        let is_last = siblings.iter().rfind(|sibling| keep(**sibling)) == Some(&at);
        pieces.push(match (pieces.is_empty(), is_last) {
            (true, true) => "└─ ",
            (true, false) => "├─ ",
            (false, true) => "   ",
            (false, false) => "│  ",
        });
        at = parent;
    }
    pieces.reverse();
    pieces.concat()
}

fn draw_rows(page: &mut Page, rows: &[Row], first_is_root: bool) {
    let width = page.width - INDENT;
    let time_columns = rows.iter().map(|row| columns(&row.time)).max().unwrap_or(0);
    // One overlong name must not push all entities to the right.
    let label_columns =
        rows.iter().map(|row| columns(&row.label)).max().unwrap_or(0).min(width * 2 / 5);
    for (at, row) in rows.iter().enumerate() {
        let room = width - time_columns - 2;
        let label = pad(&cut_end(&row.label, room * 2 / 3), label_columns);
        let room = room.saturating_sub(columns(&label) + 2);
        let entity = pad(&cut_entity(&row.entity, room), room);
        let style = if first_is_root && at == 0 { STRONG } else { anstyle::Style::new() };
        let time_gap = " ".repeat(time_columns.saturating_sub(columns(&row.time)));
        let (label, time) = (page.paint(style, &label), page.paint(FAINT, &row.time));
        page.line(&format!("{}{label}  {entity}  {time_gap}{time}", " ".repeat(INDENT)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_trees_leave_their_rows_to_large_ones() {
        assert_eq!(rows_allowed(&[7]), ROWS);
        assert_eq!(rows_allowed(&[100, 2, 1]), 15);
        assert_eq!(rows_allowed(&[100; 3]), 6);
        assert_eq!(rows_allowed(&[100; 50]), ROWS_EACH);
    }
}
