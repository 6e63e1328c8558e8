//! Which exports somebody in this process works on.
//!
//! Invariant: at most one works on an export. Must not know: what an export is.

use std::collections::BTreeSet;

use model::ExportId;
use parking_lot::Mutex;

/// The exports somebody in this process works on.
#[derive(Debug, Default)]
pub(crate) struct RunningExports {
    running: Mutex<BTreeSet<ExportId>>,
}

/// As long as it lives, nobody else touches the export.
pub(crate) struct Working<'a> {
    exports: &'a RunningExports,
    export: ExportId,
}

impl RunningExports {
    /// `None` if somebody works on it already.
    pub(crate) fn begin(&self, export: ExportId) -> Option<Working<'_>> {
        self.running.lock().insert(export).then_some(Working { exports: self, export })
    }

    pub(crate) fn is_running(&self, export: ExportId) -> bool {
        self.running.lock().contains(&export)
    }
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.exports.running.lock().remove(&self.export);
    }
}
