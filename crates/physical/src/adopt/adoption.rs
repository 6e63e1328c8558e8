//! What the streams of one adopting load share, and what they ask of whoever knows the statement.
//!
//! Must not know: how rows become rows of the table.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::FieldRef;
use async_trait::async_trait;
use datafusion::common::{DataFusionError, Result};
use host::Runtimes;
use load::adoption::{AdoptionTerms, RowGroupDecision};
use mergetree::Table;
use mergetree::write::SinkSettings;
use model::{ColumnId, SealedPart};
use parts::sorted::key_columns;

use super::outputs::UnitPlan;
use super::row_group::{AdoptedLoad, Target};
use crate::error::{PhysicalError, into_datafusion};
use crate::nodes::unit_list::UnitList;
use crate::nodes::unit_scan::Queue;

/// Units whose footers are asked whether adoption is worth a try.
const UNITS_TRIED: usize = 4;

/// What has to be there for some of a table's columns to be made.
#[derive(Debug, Default)]
pub struct Needs {
    /// Whoever makes the columns knows what this says of them.
    pub wanted: Vec<bool>,
    /// Incoming columns, omission columns among them, each once.
    pub inputs: Vec<usize>,
    /// Copied columns from which others are computed.
    pub values_of: Vec<ColumnId>,
}

/// Where the rows go.
#[async_trait]
pub trait AdoptTarget: Send + Sync {
    fn table(&self) -> &Table;

    fn settings(&self) -> &SinkSettings;

    fn runtimes(&self) -> &Runtimes;

    /// What is needed to make all stored columns but those for which `is_copied` holds.
    fn needs(&self, is_copied: &dyn Fn(ColumnId) -> bool) -> Needs;

    /// Rows of the table; `rows_before` came before these.
    ///
    /// # Errors
    /// A value does not fit its column.
    fn rows(&self, rows_before: u64, batch: &RecordBatch) -> Result<RecordBatch>;

    /// Stored columns in the order of the table, without those that are not needed. `given` are incoming columns by position,
    /// `copied` gives the values of columns that are copied.
    ///
    /// # Errors
    /// A value does not fit its column.
    fn columns_beside(
        &self,
        rows: usize,
        needs: &Needs,
        given: &[Option<(ArrayRef, FieldRef)>],
        copied: &dyn Fn(ColumnId) -> Option<ArrayRef>,
    ) -> Result<Vec<Option<ArrayRef>>>;

    fn add_written(&self, rows: u64, bytes: u64);

    /// Takes parts that are durable, for the statement to commit or delete.
    fn add_uncommitted(&self, parts: Vec<SealedPart>);

    /// # Errors
    /// The statement was stopped.
    fn check_stopped(&self) -> Result<()>;

    /// Waits until the statement is stopped, and says so.
    async fn stopped(&self) -> DataFusionError;
}

/// Takes units that are done, with parts that hold them and nothing else: of a load that outlives its statement.
pub trait Stages: Send + Sync {
    /// Stored bytes of units that are worth parts of their own.
    fn bytes_min(&self) -> u64;

    /// A unit was read to its end.
    fn note_read(&self, unit: u32);

    /// Makes it known that these units are in these parts. Blocks.
    ///
    /// # Errors
    /// It is not known; the parts are deleted, unless somebody may know of them.
    fn stage(&self, units: Vec<u32>, parts: Vec<SealedPart>, rows: u64) -> Result<()>;
}

/// See the module.
pub struct Adoption {
    pub(super) load: AdoptedLoad,
    pub(super) units: Arc<UnitList>,
    pub(super) queue: Queue,
    pub(super) streams: usize,
    /// Columns that say where rows belong.
    pub(super) keys: Vec<ColumnId>,
    /// At the beginning of the statement.
    pub(super) terms: AdoptionTerms,
    /// Unsorted bytes that the statement has made.
    pub(super) debt: AtomicU64,
}

impl Adoption {
    /// The load of a plan into the table whose stored columns are `targets`.
    pub fn new(plan: UnitPlan, table: &Table, targets: Vec<Target>, terms: AdoptionTerms) -> Adoption {
        Adoption {
            load: AdoptedLoad { source: plan.source, outputs: plan.outputs, targets },
            units: plan.units,
            queue: plan.queue,
            streams: plan.streams,
            keys: [key_columns(&table.keys.sort), key_columns(&table.keys.partition)].concat(),
            terms,
            debt: AtomicU64::new(0),
        }
    }

    /// Whether any of the row groups at which the load begins can be copied in part.
    ///
    /// # Errors
    /// A footer cannot be read.
    pub async fn is_worth_a_try(&self) -> Result<bool> {
        // Files of units that are staged already may be gone.
        let files = self.load.source.files().len();
        for unit in self.units.all().iter().filter(|unit| unit.file < files).take(UNITS_TRIED) {
            let footer = self.load.source.footer(unit.file).await.map_err(into_datafusion)?;
            let Some(footer) = footer else { return Ok(false) };
            let row_group = unit.row_groups.as_ref().and_then(|groups| groups.first().copied()).unwrap_or(0);
            if row_group >= footer.num_row_groups() {
                continue;
            }
            let choice = self.load.choose(&footer, row_group, &[], self.terms());
            if matches!(choice.decision, RowGroupDecision::Adopt(_)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// As they are by now.
    pub(super) fn terms(&self) -> AdoptionTerms {
        let made = self.debt.load(Ordering::Relaxed);
        AdoptionTerms { unsorted_bytes: self.terms.unsorted_bytes.saturating_add(made), ..self.terms }
    }
}

pub(super) fn internal(message: impl Into<String>) -> DataFusionError {
    into_datafusion(PhysicalError::internal(message))
}
