//! `format(name[, structure], data)`: rows of a text in the statement.
//!
//! Invariant: the text is read as a file of it would be, columns that are not given included. Must not know: files.

use std::sync::Arc;

use arrow::datatypes::Schema;
use boundary::error::{Error, ErrorKind};
use datafusion::catalog::TableProvider;
use datafusion::datasource::MemTable;
use formats::{FormatKind, with_omissions};
use model::saturating::u64_of;
use model::type_arrow::to_field;
use model::{ErrorCode, raw_text};
use sources::columns_of_text;
use sources::schema::structure::{Structure, parse_with_defaults};
use sql::{CallArgument, CallValue, TableFunctionCall};

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::context::session_state::statement_state;
use crate::context::source_settings::{format_settings, inference_settings};
use tables::calls::source_defaults::{SourceDefaults, filled};

/// The table of a call.
pub(crate) fn format_table(
    services: &Services,
    execution: &Execution,
    call: &TableFunctionCall,
) -> Result<Arc<dyn TableProvider>, Error> {
    let text = |argument: &CallArgument| match (&argument.name, &argument.value) {
        (None, CallValue::Text(text) | CallValue::Word(text)) => Some(text.clone()),
        _ => None,
    };
    let texts: Option<Vec<String>> = call.arguments.iter().map(text).collect();
    let (name, structure, data) = match texts.as_deref() {
        Some([name, data]) => (name, None, data),
        Some([name, structure, data]) => (name, Some(structure), data),
        _ => {
            let message = "table function format takes the name of a format, a structure where it is known, and the data";
            return Err(Error::new(
                ErrorKind::BadInput,
                ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                message,
            )
            .with_hint("for example format(JSONEachRow, '{\"a\": 1}')"));
        }
    };
    let wrong = |code, message| Err(Error::new(ErrorKind::UnknownObject, code, message));
    let kind = match FormatKind::parse(name) {
        Some(kind) if kind.is_input() => kind,
        Some(_) => {
            let message = format!("format {name} is only written");
            return wrong(ErrorCode::FORMAT_IS_NOT_SUITABLE_FOR_INPUT, message);
        }
        None => return wrong(ErrorCode::UNKNOWN_FORMAT, format!("unknown format {name}")),
    };
    if kind == FormatKind::Parquet {
        return Err(Error::unsupported("table function format of Parquet").with_hint("read a file of it"));
    }
    let settings = format_settings(&execution.settings);
    let data = raw_text::bytes(data);
    let Structure { columns, defaults } = match structure {
        Some(structure) => parse_with_defaults(structure)?,
        None => {
            let columns = columns_of_text(kind, &data, &settings, &inference_settings(&execution.settings))?;
            Structure { columns, defaults: Vec::new() }
        }
    };
    let fields: Vec<_> = columns.iter().map(|(name, column_type)| to_field(name, column_type)).collect();
    let schema = Arc::new(Schema::new(fields));
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
