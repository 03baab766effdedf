//! Whether what a plan demands of a thing is true of it now.

use plimsoll_engine::predicate::{self, Truth};
use plimsoll_engine::rules;
use plimsoll_model::plan::Condition;
use plimsoll_model::{Entity, EntityId, FactBase};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Holds,
    /// It is known not to hold.
    Fails,
    /// What is missing to tell. Nothing goes on from here either.
    Unknown(String),
}

pub fn holds(base: &FactBase, condition: &Condition) -> Answer {
    let predicate = match predicate::compile(&condition.that, &["self", "cluster", "now"]) {
        Ok(predicate) => predicate,
        Err(refused) => return Answer::Unknown(refused.message),
    };
    // Of a thing that is not there nothing is known, not even that it is not.
    let nothing = Entity::default();
    let entity = base.entities.get(&condition.on).unwrap_or(&nothing);
    let mut scope = rules::shared(base);
    scope.add_variable_from_value("self", rules::bound(&condition.on, entity));
    match predicate.truth(&scope) {
        Truth::True => Answer::Holds,
        Truth::False => Answer::Fails,
        Truth::Unknown(why) => Answer::Unknown(why),
    }
}

/// As text and number facts are asked for outside of CEL.
pub fn fact<'b>(
    base: &'b FactBase,
    entity: &EntityId,
    path: &str,
) -> Option<&'b plimsoll_model::Value> {
    let mut parts = path.split('.');
    let first = base.entities.get(entity)?.facts.get(parts.next()?)?;
    parts.try_fold(first, |value, key| value.get(key))
}
