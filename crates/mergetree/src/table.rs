//! A table as everything in this crate takes it: its definition, its compiled keys, and where its parts and facts are.
//!
//! Invariant: `keys` were compiled from `def`.

use std::sync::Arc;

use catalog::{Catalog, CommitOutcome, Op, Precondition, Transaction};
use host::Host;
use model::{Seq, SortOrder, TableDef, TableKeys};
use parts::{PartError, PartStore};

use crate::error::TableError;

/// Cheap to clone.
#[derive(Clone)]
pub struct Table {
    pub def: Arc<TableDef>,
    pub keys: Arc<TableKeys>,
    pub catalog: Arc<Catalog>,
    pub store: PartStore,
    pub host: Host,
}

impl Table {
    /// The order of parts written now; a table without a sort key keeps rows as they come.
    pub fn sort_order(&self) -> SortOrder {
        match self.keys.sort.is_empty() {
            true => SortOrder::None,
            false => SortOrder::Key { version: self.def.sort_key_version },
        }
    }

    /// Commits a transaction decided on `read_seq`.
    ///
    /// # Errors
    /// `Refused` if nothing happened, `OutcomeUnknown` if nobody knows.
    pub(crate) fn commit(
        &self,
        read_seq: Seq,
        preconditions: Vec<Precondition>,
        ops: Vec<Op>,
    ) -> Result<Seq, TableError> {
        let id = self.catalog.transaction_id();
        match self.catalog.commit(Transaction { preconditions, ..Transaction::new(id, read_seq, ops) })? {
            CommitOutcome::Committed(seq) => Ok(seq),
            CommitOutcome::Refused(why) => Err(why.into()),
            CommitOutcome::Unknown(why) => Err(TableError::OutcomeUnknown(why)),
        }
    }

    /// Passes a fault point between two steps.
    pub(crate) fn pass(&self, point: &'static str) -> Result<(), TableError> {
        self.host.faults.hit(point).map_err(|source| {
            PartError::Disk { action: "go on with", path: self.store.table_dir(self.def.id), source }.into()
        })
    }

    pub(crate) fn rows_error(&self, message: impl std::fmt::Display) -> TableError {
        TableError::Rows { table: self.def.name.to_string(), message: message.to_string() }
    }
}
