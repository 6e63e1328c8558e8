//! What a load that copies column chunks asks of the statement that it is of.
//!
//! Must not know: what is copied.

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::FieldRef;
use async_trait::async_trait;
use boundary::error::{Error, into_datafusion};
use datafusion::common::{DataFusionError, Result};
use host::Runtimes;
use mergetree::Table;
use mergetree::write::SinkSettings;
use model::{ColumnId, SealedPart};
use physical::adopt::{AdoptTarget, Needs};

use crate::target::SinkTarget;

#[async_trait]
impl AdoptTarget for SinkTarget {
    fn table(&self) -> &Table {
        &self.table
    }

    fn settings(&self) -> &SinkSettings {
        &self.settings
    }

    fn runtimes(&self) -> &Runtimes {
        &self.runtimes
    }

    fn needs(&self, is_copied: &dyn Fn(ColumnId) -> bool) -> Needs {
        self.conform.needs(is_copied)
    }

    fn rows(&self, rows_before: u64, batch: &RecordBatch) -> Result<RecordBatch> {
        self.conform.apply_behind(rows_before, batch).map_err(into_datafusion)
    }

    fn columns_beside(
        &self,
        rows: usize,
        needs: &Needs,
        given: &[Option<(ArrayRef, FieldRef)>],
        copied: &dyn Fn(ColumnId) -> Option<ArrayRef>,
    ) -> Result<Vec<Option<ArrayRef>>> {
        self.conform.apply_beside(rows, needs, given, copied).map_err(into_datafusion)
    }

    fn add_written(&self, rows: u64, bytes: u64) {
        self.progress.add_written(rows, bytes);
    }

    fn add_uncommitted(&self, parts: Vec<SealedPart>) {
        self.uncommitted.add(parts);
    }

    fn check_stopped(&self) -> Result<()> {
        match self.stop.is_cancelled() {
            true => Err(into_datafusion(Error::cancelled())),
            false => Ok(()),
        }
    }

    async fn stopped(&self) -> DataFusionError {
        self.stop.cancelled().await;
        into_datafusion(Error::cancelled())
    }
}
