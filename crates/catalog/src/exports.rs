//! Exports that are not over: objects outside of the database that a statement is writing, or has committed and not yet
//! made visible.
//!
//! Invariant: an export that is not committed will be aborted, one that is committed will be completed, whoever does it.
//! Must not know: how objects are written, whose credentials there are.

use std::sync::Arc;

use imbl::OrdMap;
use model::{ExportId, ExportObject, Seq};

/// One export.
#[derive(Clone, PartialEq, Debug)]
pub struct ExportState {
    pub id: ExportId,
    /// Of the statement, for people.
    pub query_id: Arc<str>,
    pub objects: Vec<ExportObject>,
    /// All of it is to become visible; else none of it.
    pub is_committed: bool,
    pub rows: u64,
    pub opened: Seq,
    /// Milliseconds since the epoch.
    pub opened_ms: u64,
}

/// All exports that are not over.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Exports {
    by_id: OrdMap<ExportId, Arc<ExportState>>,
}

impl Exports {
    /// By id.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<ExportState>> {
        self.by_id.values()
    }

    pub fn get(&self, export: ExportId) -> Option<&Arc<ExportState>> {
        self.by_id.get(&export)
    }

    /// Adds objects to an export, which the first ones open.
    pub fn open(&mut self, export: ExportId, query_id: &Arc<str>, objects: &[ExportObject], at: (Seq, u64)) {
        match self.by_id.get_mut(&export) {
            Some(open) => Arc::make_mut(open).objects.extend_from_slice(objects),
            None => self.restore(ExportState {
                id: export,
                query_id: Arc::clone(query_id),
                objects: objects.to_vec(),
                is_committed: false,
                rows: 0,
                opened: at.0,
                opened_ms: at.1,
            }),
        }
    }

    /// `None` if there is no such export.
    pub fn commit(&mut self, export: ExportId, objects: &[ExportObject], rows: u64) -> Option<()> {
        let open = Arc::make_mut(self.by_id.get_mut(&export)?);
        (open.objects, open.is_committed, open.rows) = (objects.to_vec(), true, rows);
        Some(())
    }

    /// `None` if there is no such export.
    pub fn end(&mut self, export: ExportId) -> Option<()> {
        self.by_id.remove(&export).map(drop)
    }

    /// Puts an export back as it was.
    pub fn restore(&mut self, export: ExportState) {
        self.by_id.insert(export.id, Arc::new(export));
    }
}
