//! A source read by units: the table a load plans over.
//!
//! Invariant: one `UnitTable` is scanned by one plan once; its queue is empty afterwards.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use load::{LoadPlan, UnitQueue, UnitSource};
use sources::{ObjectTable, SourceUnit};

use super::unit_ends::UnitEnds;
use super::unit_list::UnitList;
use super::unit_scan::{Queue, UnitScanExec};

pub struct UnitTable {
    table: Arc<ObjectTable>,
    units: Arc<UnitList>,
    queue: Queue,
    /// Units that all who read side by side share, and how many streams they are.
    streams: usize,
    partitions: usize,
    ends: Option<Arc<UnitEnds>>,
}

impl UnitTable {
    /// `plan` may leave out units: those are not read.
    pub fn new(table: Arc<ObjectTable>, units: Vec<SourceUnit>, plan: &LoadPlan, partitions: usize) -> Self {
        let queue = Queue::Here(UnitQueue::new(plan.hand_out_order(partitions * 2)));
        UnitTable {
            table,
            units: Arc::new(UnitList::new(units)),
            queue,
            streams: partitions,
            partitions,
            ends: None,
        }
    }

    /// A table whose units somebody hands out, to `streams` streams in all.
    pub fn leased(
        table: Arc<ObjectTable>,
        units: Arc<UnitList>,
        source: Arc<dyn UnitSource>,
        (partitions, streams): (usize, usize),
    ) -> Self {
        UnitTable { table, units, queue: Queue::Leased(source), streams, partitions, ends: None }
    }

    /// The same, noting where units end.
    pub fn with_ends(mut self, ends: Arc<UnitEnds>) -> Self {
        self.ends = Some(ends);
        self
    }
}

impl std::fmt::Debug for UnitTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "UnitTable({} units)", self.units.len())
    }
}

#[async_trait]
impl TableProvider for UnitTable {
    fn schema(&self) -> SchemaRef {
        self.table.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _session: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let scan = UnitScanExec::new(
            Arc::clone(&self.table),
            Arc::clone(&self.units),
            self.queue.clone(),
            projection.cloned(),
            (self.partitions, self.streams),
            self.ends.clone(),
        )?;
        Ok(Arc::new(scan))
    }
}
