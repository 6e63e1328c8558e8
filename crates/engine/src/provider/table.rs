//! A table of ours as DataFusion sees it: parts and inline rows of one snapshot.
//!
//! Invariant: a scan reads exactly the state it was made with. Whoever runs the plan holds the snapshot until the last
//! batch, so no file it names is collected under it.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use catalog::TableState;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DFSchema, Result};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};
use mergetree::memtable::MemtableCache;
use model::{PartDescriptor, Seq};

use super::part_bounds::prune;
use super::part_files::{PartScan, scan_parts};
use crate::error::into_datafusion;

/// A MergeTree table at one snapshot.
pub(crate) struct MergeTreeTable {
    state: Arc<TableState>,
    schema: SchemaRef,
    seq: Seq,
    memtables: Arc<MemtableCache>,
}

impl std::fmt::Debug for MergeTreeTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MergeTreeTable({} at {})", self.state.def.name, self.seq)
    }
}

impl MergeTreeTable {
    pub(crate) fn new(state: Arc<TableState>, seq: Seq, memtables: Arc<MemtableCache>) -> Self {
        let schema = state.def.arrow_schema();
        MergeTreeTable { state, schema, seq, memtables }
    }

    fn predicate(&self, session: &dyn Session, filters: &[Expr]) -> Result<Option<Arc<dyn PhysicalExpr>>> {
        let Some(filter) = conjunction(filters.to_vec()) else { return Ok(None) };
        let schema = DFSchema::try_from(Arc::clone(&self.schema))?;
        session.create_physical_expr(filter, &schema).map(Some)
    }

    fn inline_plan(
        &self,
        batches: Vec<RecordBatch>,
        projection: Option<&Vec<usize>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let plan =
            MemorySourceConfig::try_new_exec(&[batches], Arc::clone(&self.schema), projection.cloned())?;
        Ok(plan)
    }
}

#[async_trait]
impl TableProvider for MergeTreeTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        // Inexact: pruning drops parts, row groups and pages; the filter above drops the rows.
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let predicate = self.predicate(session, filters)?;
        let mut parts: Vec<Arc<PartDescriptor>> = self.state.parts().cloned().collect();
        if let Some(predicate) = &predicate {
            parts = prune(&self.state.def, &self.schema, parts, predicate)?;
        }
        let inline = self.memtables.batches(&self.state).map_err(into_datafusion)?;
        let mut inputs: Vec<Arc<dyn ExecutionPlan>> = Vec::with_capacity(2);
        if !parts.is_empty() {
            let scan =
                PartScan { schema: Arc::clone(&self.schema), parts: &parts, projection, predicate, limit };
            inputs.push(scan_parts(session, scan)?);
        }
        if !inline.is_empty() || inputs.is_empty() {
            inputs.push(self.inline_plan(inline, projection)?);
        }
        if inputs.len() == 1 { Ok(inputs.remove(0)) } else { UnionExec::try_new(inputs) }
    }
}
