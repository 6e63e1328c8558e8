//! Whether an INSERT SELECT may copy column chunks, as far as statement and table tell.
//!
//! Must not know: what is in the files.

use std::sync::Arc;

use boundary::once::claim::Claim;
use datafusion::physical_plan::ExecutionPlan;
use formats::FormatKind;
use load::adoption::AdoptionTerms;
use mergetree::Table;
use mergetree::merge::memory_bytes_of;
use mergetree::write::adopt::unsorted_bytes;
use model::ColumnDef;
use physical::adopt::{Adoption, Target, UnitPlan};

use crate::context::execution::Execution;
use crate::context::services::Services;
use tables::conform::Conform;

/// What the load of this plan into a table may copy.
///
/// # Errors
/// Why it may copy nothing, whatever is in the files.
pub(crate) fn adoption_of(
    services: &Services,
    execution: &Execution,
    plan: &Arc<dyn ExecutionPlan>,
    (table, conform): (&Table, &Conform),
    claim: Option<&Claim>,
) -> Result<Adoption, &'static str> {
    if !execution.settings.get_bool("adopt") {
        return Err("adopt = 0");
    }
    if claim.is_some_and(Claim::is_by_rows) {
        return Err("the table compares rows with those of statements before");
    }
    if !table.def.mode.is_plain() {
        return Err("rows of equal key of the table become one");
    }
    if conform.has_constraints() {
        return Err("the table has constraints");
    }
    let plan = UnitPlan::of(plan).ok_or("the query does more than to choose columns of one source")?;
    if plan.source.format() != FormatKind::Parquet {
        return Err("only files of Parquet have pages to copy");
    }
    let column = |column: &ColumnDef| {
        let (output, has_default) = conform.input_of(column.id).unzip();
        Target {
            id: column.id,
            name: Arc::clone(&column.name),
            column_type: column.column_type.clone(),
            output,
            has_default: has_default.unwrap_or(false),
        }
    };
    let targets = table.def.stored_columns().map(column).collect();
    let state = execution.snapshot.table_by_id(table.def.id);
    let terms = AdoptionTerms {
        is_sorted: !table.keys.sort.is_empty(),
        takes_unsorted: true,
        is_filtered: false,
        unsorted_bytes: state.map_or(0, |state| unsorted_bytes(table, &state)),
        merge_memory_bytes: memory_bytes_of(services.host.memory.limit()),
        merges_stopped: !services.merges.may_run(table.def.id),
    };
    Ok(Adoption::new(plan, table, targets, terms))
}
