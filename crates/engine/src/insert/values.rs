//! VALUES: rows of constants, or of expressions.
//!
//! Invariant: constants are read straight into columns of the table's types, without a plan; only a value that is more
//! than a constant is planned, and the values beside it keep every digit. Must not know: what becomes of the rows.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::DataType;
use boundary::error::{Error, ErrorKind};
use boundary::request::BodyStream;
use bytes::BytesMut;
use datafusion::physical_plan::collect;
use formats::{FormatError, FormatKind, FormatSettings};
use functions::cast::type_default_array;
use futures::{FutureExt, StreamExt};
use model::type_arrow::from_field;
use model::{ColumnDef, ColumnType, ErrorCode};
use sql::Statement;
use sql::lexer::values::{rows, values};

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::context::source_settings::format_settings;
use crate::query::select::plan;
use boundary::stack_room::Roomy;
use sinks::arriving::stream::read_batches;
use sinks::turns::Batches;
use tables::conform::cast_value_into;
use tables::insert_shape::InsertShape;

/// Part of no format.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Expressions planned as one query: planning has a price of its own, which they share.
const PLANNED_TOGETHER_MAX: usize = 128;
/// Bytes of a body that are cut into rows at once.
const PIECE_BYTES: usize = 256 << 10;

/// The rows of a statement's text, or of its body where the text ends with VALUES.
pub(crate) async fn value_rows(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    shape: &Arc<InsertShape>,
    text: &str,
    body: Option<BodyStream>,
) -> Result<Batches, Error> {
    if text.trim().is_empty()
        && let Some(body) = body
    {
        return arriving_values(services, execution, shape, body);
    }
    let mut read = Reading::new(services, execution, shape);
    let batches = match read.rows_of(text.as_bytes()).await {
        Ok(batches) => batches,
        Err(_) if read.tolerates() => {
            let text = bytes::Bytes::copy_from_slice(text.as_bytes());
            return read.tolerant(futures::stream::iter([Ok(text)]).boxed());
        }
        Err(error) => return Err(error),
    };
    Ok(futures::stream::iter(batches.into_iter().map(Ok)).boxed())
}

/// The rows of a text that arrives in chunks; no more of it is held than a piece and the row it cuts.
pub(crate) fn arriving_values(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    shape: &Arc<InsertShape>,
    chunks: BodyStream,
) -> Result<Batches, Error> {
    let read = Reading::new(services, execution, shape);
    if read.tolerates() {
        return read.tolerant(chunks);
    }
    let pieces = futures::stream::unfold(Some((read, chunks, BytesMut::new())), |state| async move {
        let (mut read, mut chunks, mut held) = state?;
        match read.next_piece(&mut chunks, &mut held).await {
            Ok((batches, ended)) => Some((Ok(batches), (!ended).then_some((read, chunks, held)))),
            Err(error) => Some((Err(error), None)),
        }
    });
    Ok(pieces
        .flat_map(|piece| match piece {
            Ok(batches) => futures::stream::iter(batches.into_iter().map(Ok).collect::<Vec<_>>()),
            Err(error) => futures::stream::iter(vec![Err(error)]),
        })
        .boxed())
}

struct Reading {
    services: Arc<Services>,
    execution: Arc<Execution>,
    shape: Arc<InsertShape>,
    settings: Arc<FormatSettings>,
    /// Rows and bytes of the text before the piece at hand.
    rows_before: u64,
    bytes_before: u64,
}

/// A row whose values become known one by one.
struct Mixed {
    values: Vec<Option<OneValue>>,
}

/// A value, and whether it asks for the default of its column.
struct OneValue {
    array: ArrayRef,
    asks: bool,
}

/// Rows in the order of the text.
enum Piece {
    Read(Vec<RecordBatch>),
    Mixed(Mixed),
}

/// What a value is to the reader of constants.
enum Constant {
    Read(OneValue),
    /// More than a constant.
    No,
    /// A number that the column cannot hold.
    Unfit,
}

/// A value that must be planned.
struct Planned<'a> {
    piece: usize,
    column: usize,
    text: &'a str,
    /// What the reader of constants said of its row.
    unread: Error,
}

impl Reading {
    fn new(services: &Arc<Services>, execution: &Arc<Execution>, shape: &Arc<InsertShape>) -> Self {
        let settings = format_settings(&execution.settings);
        Self {
            services: Arc::clone(services),
            execution: Arc::clone(execution),
            shape: Arc::clone(shape),
            settings,
            rows_before: 0,
            bytes_before: 0,
        }
    }

    /// Whether rows that cannot be read are skipped; then the reader of constants counts them.
    fn tolerates(&self) -> bool {
        self.settings.allow_errors_num > 0 || self.settings.allow_errors_ratio_billionths > 0
    }

    fn tolerant(&self, chunks: BodyStream) -> Result<Batches, Error> {
        let schema = Arc::clone(&self.shape.reader);
        let reader =
            formats::new_typed_reader(FormatKind::Values, schema, &self.shape.types, &self.settings)?;
        Ok(read_batches(reader, chunks, Arc::clone(&self.execution.progress.rejects)))
    }

    /// The rows of the next piece, and whether it was the last.
    async fn next_piece(
        &mut self,
        chunks: &mut BodyStream,
        held: &mut BytesMut,
    ) -> Result<(Vec<RecordBatch>, bool), Error> {
        let mut wanted = held.len().max(PIECE_BYTES);
        loop {
            let ended = loop {
                match chunks.next().await {
                    Some(chunk) => held.extend_from_slice(&chunk?),
                    None => break true,
                }
                if held.len() >= wanted {
                    break false;
                }
            };
            if self.bytes_before == 0 && held.starts_with(BYTE_ORDER_MARK) {
                let _ = held.split_to(BYTE_ORDER_MARK.len());
            }
            let row_bytes_max = match self.settings.row_bytes_max {
                0 => usize::MAX,
                bytes => bytes,
            };
            // What cannot become a row, or is too long for one, is wrong already.
            let decided = rows(held).decided(held).filter(|at| held.len() - at <= row_bytes_max);
            let end = if ended { held.len() } else { decided.unwrap_or(held.len()) };
            if end > 0 || ended {
                let piece = held.split_to(end);
                let batches = self.rows_of(&piece).await?;
                self.rows_before += batches.iter().map(|batch| batch.num_rows() as u64).sum::<u64>();
                self.bytes_before += piece.len() as u64;
                return Ok((batches, ended));
            }
            // One row longer than the piece: it is looked at again when there is twice as much.
            wanted = held.len().saturating_mul(2);
        }
    }

    async fn rows_of(&mut self, text: &[u8]) -> Result<Vec<RecordBatch>, Error> {
        match self.constants(text, 0, 0) {
            Ok(batches) => Ok(batches),
            Err(unread) => self.row_by_row(text, unread).await,
        }
    }

    /// The rows of `text`, which stands behind so many rows and bytes of the piece.
    fn constants(&self, text: &[u8], row: usize, at: usize) -> Result<Vec<RecordBatch>, Error> {
        let read = read_constants(text, &self.shape.reader, &self.shape.types, &self.settings);
        read.map_err(|mut error| {
            error.row = error.row.map(|own| own + self.rows_before + row as u64);
            error.position = error.position.map(|own| own + self.bytes_before + at as u64);
            Error::from(error)
        })
    }

    /// Some row is more than constants, or does not fit: `unread` is what was said of it.
    async fn row_by_row(&mut self, text: &[u8], unread: Error) -> Result<Vec<RecordBatch>, Error> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut planned = Vec::new();
        let found = rows(text);
        if found.complete.is_empty() || found.rest.is_some() {
            return Err(unread);
        }
        for (index, row) in found.complete.into_iter().enumerate() {
            match self.constants(&text[row.clone()], index, row.start) {
                Ok(batches) => match pieces.last_mut() {
                    Some(Piece::Read(before)) => before.extend(batches),
                    _ => pieces.push(Piece::Read(batches)),
                },
                Err(unread) => {
                    let Ok(written) = std::str::from_utf8(&text[row]) else { return Err(unread) };
                    let (mixed, more) = self.split_row(written, pieces.len(), unread)?;
                    planned.extend(more);
                    pieces.push(Piece::Mixed(mixed));
                }
            }
        }
        for together in planned.chunks(PLANNED_TOGETHER_MAX) {
            for (value, known) in together.iter().zip(self.evaluate(together).await?) {
                if let Piece::Mixed(mixed) = &mut pieces[value.piece] {
                    mixed.values[value.column] = Some(known);
                }
            }
        }
        let mut batches = Vec::with_capacity(pieces.len());
        for piece in pieces {
            match piece {
                Piece::Read(read) => batches.extend(read),
                Piece::Mixed(mixed) => batches.push(self.whole_row(mixed)?),
            }
        }
        let joined = concat_batches(&self.shape.reader, &batches);
        joined.map(|batch| vec![batch]).map_err(|e| Error::internal(e.to_string()))
    }

    /// The values of a row that are constants, and those that are more.
    fn split_row<'a>(
        &self,
        written: &'a str,
        piece: usize,
        unread: Error,
    ) -> Result<(Mixed, Vec<Planned<'a>>), Error> {
        let texts = values(written);
        if texts.len() != self.shape.width() {
            let message =
                format!("{written} has {} value(s) for {} column(s)", texts.len(), self.shape.width());
            return Err(Error::new(ErrorKind::Syntax, ErrorCode::SYNTAX_ERROR, message));
        }
        let (mut known, mut planned) = (Vec::with_capacity(texts.len()), Vec::new());
        for (column, text) in texts.into_iter().enumerate() {
            let constant = match self.constant(column, text)? {
                Constant::Read(value) => Some(value),
                Constant::No if text.eq_ignore_ascii_case("DEFAULT") => {
                    let array = type_default_array(&self.shape.types[column], 1);
                    Some(OneValue { array, asks: true })
                }
                // No expression begins so, and a parameter has a name.
                Constant::No
                    if text.starts_with('{') && text[1..].trim_start().starts_with(['}', '\'', '"']) =>
                {
                    return Err(unread);
                }
                Constant::No => None,
                // As an expression it would be a Float64, and lose the digits that do not fit.
                Constant::Unfit => return Err(unread),
            };
            if constant.is_none() {
                planned.push(Planned { piece, column, text, unread: unread.clone() });
            }
            known.push(constant);
        }
        Ok((Mixed { values: known }, planned))
    }

    /// A value alone, if it is a constant of its column's type.
    fn constant(&self, column: usize, text: &str) -> Result<Constant, Error> {
        let places: Vec<usize> = std::iter::once(column).chain(self.shape.omissions_of(column)).collect();
        let schema = self.shape.reader.project(&places).map_err(|e| Error::internal(e.to_string()))?;
        let types = std::slice::from_ref(&self.shape.types[column]);
        let is_decimal = matches!(types[0].value_type(), ColumnType::Decimal { .. });
        let is_unfit = is_decimal || types[0].is_integer() && is_beyond_machine(text);
        let written = format!("({text})");
        Ok(match read_constants(written.as_bytes(), &Arc::new(schema), types, &self.settings) {
            Ok(read) => match &read[..] {
                [batch] if batch.num_rows() == 1 => {
                    let asks = batch.columns().get(1).is_some_and(|asks| asks.as_boolean().value(0));
                    Constant::Read(OneValue { array: Arc::clone(batch.column(0)), asks })
                }
                _ => Constant::No,
            },
            Err(error) if is_unfit && error.code == ErrorCode::ARGUMENT_OUT_OF_BOUND => Constant::Unfit,
            Err(_) => Constant::No,
        })
    }

    /// Expressions by one query, or one by one where that fails, so that the first wrong one is named.
    async fn evaluate(&self, together: &[Planned<'_>]) -> Result<Vec<OneValue>, Error> {
        if let Ok(known) = self.evaluate_at_once(together).await {
            return Ok(known);
        }
        let mut known = Vec::with_capacity(together.len());
        for value in together {
            match self.evaluate_at_once(std::slice::from_ref(value)).await {
                Ok(one) => known.extend(one),
                Err(error) if error.kind == ErrorKind::Syntax => return Err(value.unread.clone()),
                Err(error) => return Err(error),
            }
        }
        Ok(known)
    }

    async fn evaluate_at_once(&self, together: &[Planned<'_>]) -> Result<Vec<OneValue>, Error> {
        let texts: Vec<&str> = together.iter().map(|value| value.text).collect();
        // Each is an expression by itself: no value brings clauses or names for the others.
        texts.iter().try_for_each(|text| sql::parse_expression(text).map(drop))?;
        // A line end, since a value may end with a comment.
        let parsed = sql::parse_one(&format!("SELECT {}\n", texts.join("\n, ")))?;
        let Statement::Query(query) = parsed.statement else {
            return Err(Error::internal("VALUES did not parse as a query"));
        };
        let rows = async {
            let planned = plan(&self.services, &self.execution, &query, None).await?;
            let physical = planned.physical().await?;
            Ok::<_, Error>(collect(physical, planned.state.task_ctx()).await?)
        };
        let batches = Roomy::new(parsed.measure, rows.boxed()).await?;
        let row = match &batches[..] {
            [row] if row.num_rows() == 1 && row.num_columns() == together.len() => row,
            _ => {
                let message = format!("{} is not one value", texts.join(", "));
                return Err(Error::new(ErrorKind::Syntax, ErrorCode::SYNTAX_ERROR, message));
            }
        };
        let cast = |(at, value): (usize, &Planned<'_>)| {
            let (target, array) = (self.target(value.column)?, row.column(at));
            let asks = array.logical_null_count() > 0 && !target.column_type.is_nullable();
            let is_unfit = asks || null_inside(array, &target.column_type);
            if is_unfit && !self.settings.null_as_default {
                return Err(null_unfit(value.text, target));
            }
            let array = cast_value_into(array, &from_field(row.schema_ref().field(at)), target)?;
            Ok(OneValue { array, asks })
        };
        together.iter().enumerate().map(cast).collect()
    }

    /// The table's column that takes a row's value.
    fn target(&self, column: usize) -> Result<&ColumnDef, Error> {
        let name = self.shape.reader.field(column).name();
        let target = self.shape.table.def.column(name);
        target.ok_or_else(|| Error::internal(format!("column {name} is not in its table")))
    }

    fn whole_row(&self, mixed: Mixed) -> Result<RecordBatch, Error> {
        let known: Option<Vec<OneValue>> = mixed.values.into_iter().collect();
        let known = known.ok_or_else(|| Error::internal("a value of VALUES stayed unknown"))?;
        let may_ask = self.settings.defaults_for_omitted_fields;
        let omission = |column: &usize| -> ArrayRef {
            let asks = known.get(*column).is_some_and(|value| value.asks && may_ask);
            Arc::new(BooleanArray::from(vec![asks]))
        };
        let omissions: Vec<ArrayRef> = self.shape.omissions.columns.iter().map(omission).collect();
        let columns = known.into_iter().map(|value| value.array).chain(omissions).collect();
        RecordBatch::try_new(Arc::clone(&self.shape.reader), columns)
            .map_err(|e| Error::internal(e.to_string()))
    }
}

/// Whether it is a whole number of more than 64 bits. One of fewer a smaller type wraps, as it does a computed one.
fn is_beyond_machine(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let machine = i128::from(i64::MIN)..=i128::from(u64::MAX);
    is_whole && !text.parse::<i128>().is_ok_and(|number| machine.contains(&number))
}

/// NULL for a column that knows none, where the settings do not make the default of it.
fn null_unfit(text: &str, column: &ColumnDef) -> Error {
    let message = format!(
        "cannot insert NULL into column {} of type {}: its value is {text}",
        column.name, column.column_type
    );
    Error::new(ErrorKind::BadInput, ErrorCode::TYPE_MISMATCH, message)
        .with_hint("input_format_null_as_default = 1 makes it the default")
}

/// The rows of `text` if they are constants, all of them: none is skipped.
fn read_constants(
    text: &[u8],
    schema: &arrow::datatypes::SchemaRef,
    types: &[ColumnType],
    settings: &FormatSettings,
) -> Result<Vec<RecordBatch>, FormatError> {
    let strict;
    let settings = match settings.allow_errors_num > 0 || settings.allow_errors_ratio_billionths > 0 {
        false => settings,
        true => {
            strict =
                FormatSettings { allow_errors_num: 0, allow_errors_ratio_billionths: 0, ..settings.clone() };
            &strict
        }
    };
    let mut reader = formats::new_typed_reader(FormatKind::Values, Arc::clone(schema), types, settings)?;
    let mut batches = Vec::new();
    reader.read(text, true, &mut batches)?;
    Ok(batches)
}

/// Whether an array, a map or a tuple has a NULL where the type has none.
fn null_inside(array: &ArrayRef, to: &ColumnType) -> bool {
    let is_unfit = |values: &ArrayRef, to: &ColumnType| {
        values.logical_null_count() > 0 && !to.is_nullable() || null_inside(values, to)
    };
    match (array.data_type(), to.value_type()) {
        (DataType::List(_), ColumnType::Array(element)) => is_unfit(array.as_list::<i32>().values(), element),
        (DataType::Map(..), ColumnType::Map(_, value)) => is_unfit(array.as_map().values(), value),
        (DataType::Struct(_), ColumnType::Tuple(elements)) => array
            .as_struct()
            .columns()
            .iter()
            .zip(elements)
            .any(|(column, to)| is_unfit(column, &to.column_type)),
        _ => false,
    }
}
