//! `format(name[, structure], data)`: rows of a text in the statement.
//!
//! Invariant: the text is read as a file of it would be, columns that are not given included. Must not know: files.

use std::sync::Arc;

use arrow::datatypes::Schema;
use boundary::error::Error;
use datafusion::catalog::TableProvider;
use datafusion::datasource::MemTable;
use formats::with_omissions;
use model::saturating::u64_of;
use sources::schema::structure::Structure;
use sql::TableFunctionCall;

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::context::session_state::statement_state;
use crate::context::source_settings::{format_settings, inference_settings};
use tables::calls::format_calls::FormatCall;
use tables::calls::source_defaults::{SourceDefaults, filled};

/// The columns of a call, of whose rows none is read but to tell types.
pub(crate) fn format_schema(execution: &Execution, call: &TableFunctionCall) -> Result<Schema, Error> {
    Ok(given(execution, call)?.schema())
}

fn given(execution: &Execution, call: &TableFunctionCall) -> Result<FormatCall, Error> {
    let settings = &execution.settings;
    FormatCall::given(call, &format_settings(settings), &inference_settings(settings))
}

/// The table of a call.
pub(crate) fn format_table(
    services: &Services,
    execution: &Execution,
    call: &TableFunctionCall,
) -> Result<Arc<dyn TableProvider>, Error> {
    let given = given(execution, call)?;
    let schema = Arc::new(given.schema());
    let FormatCall { kind, structure: Structure { columns, defaults }, data } = given;
    let settings = format_settings(&execution.settings);
    let has_default = |name: &str| defaults.iter().any(|(column, _)| column == name);
    let read = with_omissions(&schema, |field| has_default(field.name()));
    let mut reader = formats::new_reader(kind, read, &settings)?;
    let mut batches = Vec::new();
    reader.read(&data, true, &mut batches)?;
    if !defaults.is_empty() {
        let defaults = SourceDefaults::new(&statement_state(services, execution)?, &columns, &defaults)?;
        batches = filled(&defaults, &schema, batches)?;
    }
    let skipped = reader.rejected();
    if skipped > 0 {
        execution.progress.rejects.add("", reader.take_rejected(), skipped);
    }
    execution.progress.source.add_rows(batches.iter().map(arrow::array::RecordBatch::num_rows).sum());
    execution.progress.source.add_bytes(u64_of(data.len()));
    Ok(Arc::new(MemTable::try_new(schema, vec![batches])?))
}
