//! Rows of a query that go no further than memory: into tables without parts, or, being few, into the log.
//!
//! Invariant: an INSERT becomes visible whole. Must not know: parts, views.

use std::sync::Arc;

use boundary::error::Error;
use boundary::request::Rows;
use catalog::TableState;
use datafusion::common::stats::Precision;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use futures::StreamExt;
use model::TableEngine;

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::query::select::{PlannedQuery, stream_of};
use tables::conform::Conform;
use tables::memory::Gathered;

/// A plan of so few rows, as far as it knows beforehand, is no load.
const FEW_ROWS: usize = 8192;

/// Whether a plan knows that it gives few rows: they may go into the log as those of VALUES do.
pub(super) fn has_few_rows(plan: &dyn ExecutionPlan) -> bool {
    let statistics = StatisticsContext::new().compute(plan, &StatisticsArgs::new());
    statistics.is_ok_and(|known| matches!(known.num_rows, Precision::Exact(rows) if rows <= FEW_ROWS))
}

/// Engines without parts: Null counts, Memory keeps.
pub(super) async fn drain_into(
    services: &Services,
    execution: &Arc<Execution>,
    table: &TableState,
    planned: &PlannedQuery,
    physical: Arc<dyn ExecutionPlan>,
    conform: &Conform,
) -> Result<Rows, Error> {
    let schema = physical.schema();
    let mut rows = stream_of(services, execution, &planned.state, physical, schema)?;
    let (mut kept, mut rows_read) = (Gathered::new(&execution.memory), 0);
    while let Some(batch) = rows.next().await {
        let batch = conform.apply_behind(rows_read, &batch?)?;
        rows_read += batch.num_rows() as u64;
        execution.progress.add_written(batch.num_rows() as u64, batch.get_array_memory_size() as u64);
        if table.def.engine == TableEngine::Memory && !execution.rolls_back {
            kept.push(batch)?;
        }
    }
    services.memory_tables_of(&execution.temporary, &table.def).append(table.def.id, kept.into_batches())?;
    Ok(Rows::none())
}
