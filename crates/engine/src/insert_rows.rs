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
use model::TableDef;
use sources::SentParquet;
use sql::Statement;

use crate::conform::insert_columns;
use crate::context::StatementContext;
use crate::error::{Error, ErrorKind};
use crate::insert_shape::InsertShape;
use crate::query::plan;
use crate::request::BodyStream;
use crate::resolve::source_env;
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
        return SentRows::arrive(context, "Values", "", body).await?.rows(context, shape);
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

/// Data of `INSERT ... FORMAT`: what stands in the statement, then the body.
pub(crate) enum SentRows {
    /// Read as they come.
    Stream { kind: FormatKind, chunks: BodyStream },
    /// Read from their end, so that all of them must be there.
    Parquet(Box<SentParquet>),
}

impl SentRows {
    /// Finds the format, and takes what cannot be read as it comes.
    pub(crate) async fn arrive(
        context: &StatementContext,
        format: &str,
        inline_data: &str,
        body: Option<BodyStream>,
    ) -> Result<SentRows, Error> {
        let kind = match FormatKind::parse(format) {
            Some(kind) if kind.is_input() => kind,
            Some(_) => {
                return Err(Error::new(ErrorKind::BadInput, 73, format!("format {format} cannot be read")));
            }
            None => return Err(Error::new(ErrorKind::UnknownObject, 73, format!("unknown format {format}"))),
        };
        // The line end behind the statement is no data; binary formats would read it as such.
        let is_blank = !kind.is_text() && inline_data.trim().is_empty();
        let inline_data = if is_blank { "" } else { inline_data };
        let first = Bytes::copy_from_slice(inline_data.as_bytes());
        let body = body.unwrap_or_else(|| futures::stream::empty().boxed());
        let chunks = futures::stream::iter([Ok(first)]).chain(body).boxed();
        if kind != FormatKind::Parquet {
            return Ok(SentRows::Stream { kind, chunks });
        }
        let sent = Box::pin(SentParquet::arrive(source_env(context), chunks)).await?;
        Ok(SentRows::Parquet(Box::new(sent)))
    }

    /// The columns that the data fill, of those an INSERT lists (`None`: all): what a Parquet file does not have becomes the
    /// column's default, as if it had not been listed.
    pub(crate) fn columns(
        &self,
        def: &TableDef,
        listed: Option<&[String]>,
    ) -> Result<Option<Vec<String>>, Error> {
        let SentRows::Parquet(sent) = self else { return Ok(listed.map(<[String]>::to_vec)) };
        let all = insert_columns(def, listed)?;
        let found: Vec<String> =
            all.iter().map(|column| column.name.to_string()).filter(|name| sent.has_column(name)).collect();
        if found.len() == all.len() || !sent.may_lack_columns() {
            return Ok(listed.map(<[String]>::to_vec));
        }
        if found.is_empty() {
            let message = format!("the Parquet data have none of the columns of table \"{}\"", def.name);
            return Err(Error::new(ErrorKind::BadInput, 8, message)
                .with_hint("columns are found by their names; a SELECT from file() may give them others"));
        }
        Ok(Some(found))
    }

    pub(crate) fn rows(self, context: &StatementContext, shape: &InsertShape) -> Result<Batches, Error> {
        match self {
            SentRows::Stream { kind, chunks } => {
                let reader = new_reader(context, shape, kind)?;
                let rejects = Arc::clone(&context.progress.rejects);
                Ok(crate::format_stream::read_batches(reader, chunks, rejects))
            }
            SentRows::Parquet(sent) => {
                let rows = sent.rows(Arc::clone(&shape.reader), context.batch_rows())?;
                Ok(rows.map(|batch| batch.map_err(Error::from)).boxed())
            }
        }
    }
}
