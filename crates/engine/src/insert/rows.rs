//! Rows that a statement carries in a format: its text in the statement, then the body.
//!
//! Invariant: what can be read as it comes is never held whole. Must not know: what becomes of the rows.

use std::sync::Arc;

use arrow::array::RecordBatch;
use boundary::error::{Error, ErrorKind};
use boundary::request::BodyStream;
use bytes::Bytes;
use formats::{FormatKind, RecordBoundaries};
use futures::StreamExt;
use model::saturating::usize_of;
use model::{ErrorCode, TableDef};
use sources::SentParquet;

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::context::source_settings::format_settings;
use crate::insert::values::arriving_values;
use crate::resolve::calls::source_env;
use sinks::arriving::pieces::{BodyPlan, read_body};
use sinks::turns::Batches;
use tables::conform::insert_columns;
use tables::insert_shape::InsertShape;

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
        services: &Services,
        execution: &Execution,
        format: &str,
        inline_data: &str,
        body: Option<BodyStream>,
    ) -> Result<SentRows, Error> {
        let kind = match FormatKind::parse(format) {
            Some(kind) if kind.is_input() => kind,
            Some(_) => {
                return Err(Error::new(
                    ErrorKind::BadInput,
                    ErrorCode::FORMAT_IS_NOT_SUITABLE_FOR_INPUT,
                    format!("format {format} is only written"),
                ));
            }
            None => {
                return Err(Error::new(
                    ErrorKind::UnknownObject,
                    ErrorCode::UNKNOWN_FORMAT,
                    format!("unknown format {format}"),
                ));
            }
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
        let sent = Box::pin(SentParquet::arrive(source_env(services, execution), chunks)).await?;
        Ok(SentRows::Parquet(Box::new(sent)))
    }

    /// Refuses data that have none of the columns that an INSERT lists (`None`: all): a column that is missing becomes its
    /// default, but rows of nothing else are a mistake.
    pub(crate) fn check(&self, def: &TableDef, listed: Option<&[String]>) -> Result<(), Error> {
        let SentRows::Parquet(sent) = self else { return Ok(()) };
        let all = insert_columns(def, listed)?;
        if !sent.may_lack_columns() || all.iter().any(|column| sent.has_column(&column.name)) {
            return Ok(());
        }
        let message = format!("the Parquet data have none of the columns of table \"{}\"", def.name);
        Err(Error::new(ErrorKind::BadInput, ErrorCode::THERE_IS_NO_COLUMN, message)
            .with_hint("columns are found by their names; a SELECT from file() may give them others"))
    }

    pub(crate) fn rows(
        self,
        services: &Arc<Services>,
        execution: &Arc<Execution>,
        shape: &Arc<InsertShape>,
    ) -> Result<Batches, Error> {
        match self {
            SentRows::Stream { kind: FormatKind::Values, chunks } => {
                arriving_values(services, execution, shape, chunks)
            }
            SentRows::Stream { kind, chunks } => {
                read_body(body_plan(services, execution, shape, kind), chunks)
            }
            SentRows::Parquet(sent) => {
                let rows = sent.rows(Arc::clone(&shape.reader), execution.batch_rows())?;
                Ok(rows.map(|batch| batch.map_err(Error::from)).boxed())
            }
        }
    }
}

/// Bytes of a piece that one task parses: as many as stay in a core's own cache with what is made of them.
const PIECE_BYTES: u64 = 1 << 20;

/// How the data of an INSERT are read: by one reader, or in pieces by several, as far as settings and format let them.
fn body_plan(
    services: &Services,
    execution: &Execution,
    shape: &Arc<InsertShape>,
    kind: FormatKind,
) -> BodyPlan {
    let settings = format_settings(&execution.settings);
    let number = |name: &str| usize_of(execution.settings.get_u64(name));
    let piece_bytes = match execution.settings.is_changed("min_chunk_bytes_for_parallel_parsing") {
        true => execution.settings.get_u64("min_chunk_bytes_for_parallel_parsing"),
        false => PIECE_BYTES,
    };
    let threads = match number("max_parsing_threads") {
        _ if !execution.settings.get_bool("input_format_parallel_parsing") => 1,
        0 => services.threads_of(&execution.settings),
        given => given.min(services.threads_of(&execution.settings)),
    };
    let (boundaries, shape) = (RecordBoundaries::with_blocks(kind, &settings), Arc::clone(shape));
    BodyPlan {
        make_reader: Arc::new(move |start| {
            formats::new_typed_reader_at(kind, Arc::clone(&shape.reader), &shape.types, &settings, start)
        }),
        boundaries,
        has_long_records: !kind.is_text(),
        threads,
        piece_bytes: usize_of(piece_bytes).clamp(64 << 10, 16 << 20),
        rejects: Arc::clone(&execution.progress.rejects),
        runtimes: services.runtimes.clone(),
        memory: execution.memory.clone(),
    }
}

/// Rows as they stand in the log.
pub(crate) fn encoded(table: &mergetree::Table, batches: &[RecordBatch]) -> Result<Bytes, Error> {
    if let [only] = batches {
        return Ok(mergetree::inline::encode(&table.def, only)?);
    }
    let batch = arrow::compute::concat_batches(&table.def.arrow_schema(), batches)
        .map_err(|e| Error::internal(e.to_string()))?;
    Ok(mergetree::inline::encode(&table.def, &batch)?)
}
