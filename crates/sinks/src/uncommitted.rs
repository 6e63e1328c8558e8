//! Parts that are sealed and that no transaction names yet.
//!
//! Invariant: whatever is not taken by a commit is deleted when this goes away, so a failed or cancelled statement
//! leaves nothing behind. A crash leaves files that the next open collects.

use std::fmt;

use model::SealedPart;
use parking_lot::Mutex;
use parts::PartStore;

/// Collects the parts of all sinks of one statement.
pub struct UncommittedParts {
    store: PartStore,
    parts: Mutex<Vec<SealedPart>>,
}

impl UncommittedParts {
    pub fn new(store: PartStore) -> UncommittedParts {
        UncommittedParts { store, parts: Mutex::new(Vec::new()) }
    }

    pub fn add(&self, parts: Vec<SealedPart>) {
        self.parts.lock().extend(parts);
    }

    /// For the commit; the caller puts them back with `add` if the commit was refused.
    pub fn take(&self) -> Vec<SealedPart> {
        std::mem::take(&mut *self.parts.lock())
    }
}

impl UncommittedParts {
    /// Deletes them.
    pub fn discard(&self) {
        for part in self.take() {
            // Best effort: a file that stays is an orphan, and orphans are collected at open.
            let _ = self.store.delete(part.descriptor());
        }
    }
}

impl fmt::Debug for UncommittedParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UncommittedParts({})", self.parts.lock().len())
    }
}

impl Drop for UncommittedParts {
    fn drop(&mut self) {
        self.discard();
    }
}
