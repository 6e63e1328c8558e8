//! Rows that a statement carries: VALUES, or a format's text in the statement and its body.
//!
//! Invariant: constants are read straight into typed columns, without a plan; only a row that is more than constants is
//! planned, and that row alone. Must not know: what becomes of the rows.

use std::sync::Arc;

use arrow::array::RecordBatch;
use bytes::Bytes;
use datafusion::physical_plan::collect;
use formats::{FormatKind, RowReader};
use futures::StreamExt;
use futures::stream::BoxStream;
use sql::Statement;

use crate::context::StatementContext;
use crate::error::{Error, ErrorKind};
use crate::insert_shape::InsertShape;
use crate::query::plan;
use crate::request::BodyStream;
use crate::source_settings::format_settings;
use crate::statement_text::value_tuples;

pub(crate) type Batches = BoxStream<'static, Result<RecordBatch, Error>>;

/// The rows of VALUES: constants are read without a plan, anything else is planned as a query.
pub(crate) async fn value_rows(
    context: &Arc<StatementContext>,
    shape: &InsertShape,
    text: &str,
    body: Option<BodyStream>,
) -> Result<Batches, Error> {
    if text.trim().is_empty() && body.is_some() {
        return format_rows(context, shape, "Values", "", body);
    }
    let all = read_values(context, shape, text);
    if let Ok(batches) = all {
        return Ok(futures::stream::iter(batches.into_iter().map(Ok)).boxed());
    }
    // Some row is more than constants, or does not fit: each row is read by itself, planned where it must be.
    let mut batches = Vec::new();
    for row in value_tuples(text) {
        match read_values(context, shape, row) {
            Ok(read) => batches.extend(read),
            Err(unread) => match planned_values(context, row).await {
                Ok(planned) => batches.extend(with_width(planned, shape.width(), row)?),
                Err(error) if error.kind == ErrorKind::Syntax => return Err(unread),
                Err(error) => return Err(error),
            },
        }
    }
    Ok(futures::stream::iter(batches.into_iter().map(Ok)).boxed())
}

/// A planned row has as many values as the statement's columns.
fn with_width(planned: Vec<RecordBatch>, width: usize, row: &str) -> Result<Vec<RecordBatch>, Error> {
    match planned.iter().find(|batch| batch.num_columns() != width) {
        None => Ok(planned),
        Some(batch) => {
            let message = format!("{row} has {} value(s) for {width} column(s)", batch.num_columns());
            Err(Error::new(ErrorKind::Syntax, 62, message))
        }
    }
}

fn read_values(
    context: &StatementContext,
    shape: &InsertShape,
    text: &str,
) -> Result<Vec<RecordBatch>, Error> {
    let mut reader = new_reader(context, shape, FormatKind::Values)?;
    let mut batches = Vec::new();
    reader.read(text.as_bytes(), true, &mut batches)?;
    Ok(batches)
}

async fn planned_values(context: &Arc<StatementContext>, text: &str) -> Result<Vec<RecordBatch>, Error> {
    let parsed = sql::parse_one(&format!("SELECT * FROM (VALUES {text}) AS rows"))?;
    let Statement::Query(query) = parsed.statement else {
        return Err(Error::internal("VALUES did not parse as a query"));
    };
    let planned = plan(context, &query, None).await?;
    let physical = planned.physical().await?;
    Ok(collect(physical, planned.state.task_ctx()).await?)
}

fn new_reader(
    context: &StatementContext,
    shape: &InsertShape,
    kind: FormatKind,
) -> Result<Box<dyn RowReader>, Error> {
    let settings = format_settings(&context.settings);
    Ok(formats::new_typed_reader(kind, Arc::clone(&shape.reader), &shape.types, &settings)?)
}

/// Rows of `INSERT ... FORMAT`: what stands in the statement, then the body.
pub(crate) fn format_rows(
    context: &Arc<StatementContext>,
    shape: &InsertShape,
    format: &str,
    inline_data: &str,
    body: Option<BodyStream>,
) -> Result<Batches, Error> {
    let kind = match FormatKind::parse(format) {
        Some(kind) if kind.is_input() => kind,
        Some(_) => {
            return Err(Error::new(ErrorKind::BadInput, 73, format!("format {format} cannot be read")));
        }
        None => return Err(Error::new(ErrorKind::UnknownObject, 73, format!("unknown format {format}"))),
    };
    let reader = new_reader(context, shape, kind)?;
    // The line end behind the statement is no data; binary formats would read it as such.
    let is_blank = !kind.is_text() && inline_data.trim().is_empty();
    let inline_data = if is_blank { "" } else { inline_data };
    let first = Bytes::copy_from_slice(inline_data.as_bytes());
    let chunks =
        futures::stream::iter([Ok(first)]).chain(body.unwrap_or_else(|| futures::stream::empty().boxed()));
    let rejects = Arc::clone(&context.progress.rejects);
    Ok(crate::format_stream::read_batches(reader, chunks.boxed(), rejects))
}
