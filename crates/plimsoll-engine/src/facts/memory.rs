//! What was understood of documents, for whoever looks at the same cluster again and again: most of it is
//! as it was. The answer is the same as without.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plimsoll_model::Document;

use super::Facts;

/// Looks after which a document that was not seen again is forgotten.
const KEPT_FOR: u64 = 16;

/// Two hashes with keys that nobody outside knows, so that no document can be made to look like another.
type Key = (u64, u64);

#[derive(Debug, Default)]
pub struct Memory {
    hashers: (RandomState, RandomState),
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    look: u64,
    facts: HashMap<Key, (u64, Arc<Facts>)>,
}

impl Memory {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another look begins: what was not seen for long is forgotten.
    pub(super) fn look(&self) {
        let mut known = self.known();
        known.look += 1;
        let oldest = known.look.saturating_sub(KEPT_FOR);
        known.facts.retain(|_, (seen, _)| *seen >= oldest);
    }

    /// The facts of this document of that source, as `read` finds them.
    pub(super) fn recall<E>(
        &self,
        source: &str,
        document: &Document,
        read: impl FnOnce() -> Result<Facts, E>,
    ) -> Result<Facts, E> {
        let Document { source: _, path, first_line, group, plural, namespace, text } = document;
        let of = (source, path, first_line, group, plural, namespace, text);
        let key = (self.hashers.0.hash_one(of), self.hashers.1.hash_one(of));
        if let Some(facts) = self.known().seen(&key) {
            return Ok(facts.as_ref().clone());
        }
        let facts = Arc::new(read()?);
        let mut known = self.known();
        let look = known.look;
        known.facts.insert(key, (look, facts.clone()));
        drop(known);
        Ok(facts.as_ref().clone())
    }
}

impl Known {
    fn seen(&mut self, key: &Key) -> Option<Arc<Facts>> {
        let look = self.look;
        let (seen, facts) = self.facts.get_mut(key)?;
        *seen = look;
        Some(facts.clone())
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::EntityId;

    use super::*;

    fn document(text: &str) -> Document {
        Document {
            source: 0,
            path: "a.yaml".into(),
            first_line: 1,
            group: "core".into(),
            plural: "nodes".into(),
            namespace: None,
            text: text.into(),
        }
    }

    fn read(memory: &Memory, source: &str, text: &str) -> bool {
        let mut was_read = false;
        let facts = memory.recall(source, &document(text), || {
            was_read = true;
            Ok::<_, ()>(vec![(EntityId::cluster(), Default::default())])
        });
        assert_eq!(facts.unwrap().len(), 1);
        was_read
    }

    #[test]
    fn a_document_is_read_once_as_long_as_it_is_the_same_of_the_same_source() {
        let memory = Memory::default();
        memory.look();
        assert!(read(&memory, "a", "x"));
        assert!(!read(&memory, "a", "x"));
        assert!(read(&memory, "b", "x"));
        assert!(read(&memory, "a", "y"));
        assert!(!read(&memory, "a", "x"));
    }

    #[test]
    fn what_is_not_seen_again_is_forgotten() {
        let memory = Memory::default();
        assert!(read(&memory, "a", "x"));
        for _ in 0..KEPT_FOR {
            memory.look();
        }
        assert!(!read(&memory, "a", "x"));
        for _ in 0..=KEPT_FOR {
            memory.look();
        }
        assert!(read(&memory, "a", "x"));
        assert_eq!(memory.known().facts.len(), 1);
    }

    #[test]
    fn what_cannot_be_read_is_told_each_time() {
        let memory = Memory::default();
        for _ in 0..2 {
            assert!(memory.recall("a", &document("x"), || Err::<Facts, _>("no")).is_err());
        }
    }
}
