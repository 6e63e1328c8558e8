//! How many sinks an INSERT has, and how each forms its blocks: settings of the statement and memory that it may have.
//!
//! Invariant: what a setting says is obeyed; what it does not say is planned. Must not know: rows.

use datafusion::logical_expr::LogicalPlan;
use host::MemoryBudget;
use load::{SinkRequest, plan_sinks};
use mergetree::write::SinkSettings;
use model::{TableDef, TableEngine};
use physical::provider::insertion_order::comes_in_order;
use sql::Settings;

use crate::query::select::PlannedQuery;

/// 0 = no limit.
pub(super) fn partitions_max(settings: &Settings) -> u64 {
    match settings.get_bool("throw_on_max_partitions_per_insert_block") {
        true => settings.get_u64("max_partitions_per_insert_block"),
        false => 0,
    }
}

pub(crate) fn sink_settings(
    threads: usize,
    settings: &Settings,
    memory: &MemoryBudget,
) -> (SinkSettings, usize) {
    let given = |name: &str| settings.is_changed(name).then(|| settings.get_u64(name));
    let plan = plan_sinks(SinkRequest {
        cores: threads as u64,
        insert_threads: settings.get_u64("max_insert_threads"),
        block_rows_min: given("min_insert_block_size_rows"),
        block_bytes_min: given("min_insert_block_size_bytes"),
        memory_bytes_max: memory.limit(),
    });
    let sinks = usize::try_from(plan.sinks).unwrap_or(1).max(1);
    let sink = SinkSettings {
        block_rows_min: plan.block_rows_min,
        block_bytes_min: plan.block_bytes_min,
        partitions_max: partitions_max(settings),
        memory: memory.clone(),
        load: None,
        collapses: settings.get_bool("optimize_on_insert"),
    };
    (sink, sinks)
}

/// How many of `sinks` may work side by side on rows of a body, or of a query. They number their blocks as they end. Where
/// rows come in an order, and the last row of a key stays or a log keeps them all, one sink stores them in it. Whoever says
/// how many has as many.
pub(super) fn sinks_of(
    def: &TableDef,
    settings: &Settings,
    sinks: usize,
    query: Option<&LogicalPlan>,
) -> usize {
    let decides = !def.mode.is_plain() || def.engine != TableEngine::MergeTree;
    let decides = decides && !settings.is_changed("max_insert_threads");
    let is_one = match query {
        // Rows that no key orders stay as they came.
        None => decides || def.order_by.is_empty(),
        Some(rows) => decides && comes_in_order(rows),
    };
    if is_one { 1 } else { sinks }
}

/// Rows on their way into views, whose tables may keep the last row of a key: those that come in an order stay in it.
pub(super) fn keep_order(planned: &mut PlannedQuery, settings: &Settings) {
    if !settings.is_changed("max_insert_threads") && comes_in_order(&planned.logical) {
        planned.state.config_mut().options_mut().execution.target_partitions = 1;
    }
}
