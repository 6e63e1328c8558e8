//! ArrayJoinExec: arrays in, one row for each of their elements out.
//!
//! Invariant: the arrays of a row have one length, or it is an error; rows keep their order. A batch out has at most as
//! many rows as the session's batches.

use std::fmt;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, ListArray, MapArray, RecordBatch, RecordBatchOptions, StructArray, UInt32Array,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{cast, interleave, take};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, Partitioning, PlanProperties};
use functions::row_bytes;
use futures::{StreamExt, TryStreamExt};
use model::ErrorCode;
use model::saturating::place_of;
use model::type_arrow::from_field;

use crate::error::{PhysicalError, into_datafusion};
use crate::unary::{Step, Unary};

#[derive(Clone)]
pub(crate) struct ArrayJoinExec {
    /// Columns of the input that are arrays.
    pub columns: Vec<usize>,
    /// An empty array gives a row.
    pub keeps_empty: bool,
}

impl Step for ArrayJoinExec {
    const NAME: &'static str = "ArrayJoinExec";

    fn shown(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ArrayJoinExec: columns={:?}, keeps_empty={}", self.columns, self.keeps_empty)
    }

    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Result<Arc<PlanProperties>> {
        let mut fields = input.schema().fields().to_vec();
        for column in &self.columns {
            let Some(field) = fields.get_mut(*column) else {
                return internal_err!("ARRAY JOIN of column {column}, which is not there");
            };
            *field = Arc::new(planner::nodes::element_field(field)?);
        }
        let schema = Arc::new(Schema::new_with_metadata(fields, input.schema().metadata().clone()));
        Ok(Arc::new(PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(input.properties().partitioning.partition_count()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        )))
    }

    fn execute(
        node: &Unary<Self>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let schema = node.schema();
        let joiner = Joiner {
            schema: Arc::clone(&schema),
            columns: node.step.columns.clone(),
            keeps_empty: node.step.keeps_empty,
            rows_max: context.session_config().batch_size().max(1),
        };
        let input = node.input.execute(partition, context)?;
        let rows = input.map(move |batch| {
            let batch = batch?;
            let ranges = joiner.ranges(&batch)?;
            let joiner = joiner.clone();
            let joined = ranges.into_iter().map(move |piece| joiner.joined(&joiner.cut(&batch, piece)?));
            Ok::<_, DataFusionError>(futures::stream::iter(joined))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows.try_flatten())))
    }
}

/// What is repeated beside the elements takes no more in one batch; a single row may.
const REPEATED_BYTES_MAX: usize = 16 << 20;

#[derive(Clone)]
struct Joiner {
    schema: SchemaRef,
    columns: Vec<usize>,
    keeps_empty: bool,
    rows_max: usize,
}

/// Rows of a batch, and of a single one that makes too many rows the elements from a place on.
#[derive(Clone, Copy)]
struct Piece {
    from: usize,
    rows: usize,
    elements: Option<(usize, usize)>,
}

impl Piece {
    fn rows(from: usize, rows: usize) -> Piece {
        Piece { from, rows, elements: None }
    }
}

impl Joiner {
    /// Pieces that make no more than the wanted rows each.
    fn ranges(&self, batch: &RecordBatch) -> Result<Vec<Piece>> {
        let lengths = self.lengths(batch)?;
        let repeated = self.repeated_bytes(batch, &lengths);
        let (mut ranges, mut from, mut made, mut bytes) = (vec![], 0, 0_usize, 0_usize);
        for (row, length) in lengths.iter().enumerate() {
            let width = repeated.get(row).copied().unwrap_or(0);
            let rows_max = self.rows_max.min(REPEATED_BYTES_MAX / width.max(1)).max(1);
            bytes = bytes.saturating_add(width.saturating_mul(*length));
            if made > 0 && (made + length > self.rows_max || bytes > REPEATED_BYTES_MAX) {
                bytes = width.saturating_mul(*length);
                ranges.push(Piece::rows(from, row - from));
                (from, made) = (row, 0);
            }
            if *length > rows_max {
                // Rows of no elements may stand in front of it; it is in pieces of its own.
                if from < row {
                    ranges.push(Piece::rows(from, row - from));
                }
                let starts = (0..*length).step_by(rows_max);
                let part = |start: usize| Some((start, rows_max.min(length - start)));
                ranges.extend(starts.map(|start| Piece { from: row, rows: 1, elements: part(start) }));
                (from, made, bytes) = (row + 1, 0, 0);
                continue;
            }
            made += length;
        }
        if from < lengths.len() {
            ranges.push(Piece::rows(from, lengths.len() - from));
        }
        Ok(ranges)
    }

    /// Bytes of each row that stand in every row made of it; none where all of them together are few.
    fn repeated_bytes(&self, batch: &RecordBatch, lengths: &[usize]) -> Vec<usize> {
        let is_repeated = |at: &usize| {
            !self.columns.contains(at) && batch.column(*at).data_type().primitive_width().is_none()
        };
        let repeated: Vec<&ArrayRef> =
            (0..batch.num_columns()).filter(is_repeated).map(|at| batch.column(at)).collect();
        let all: usize = repeated.iter().map(|column| row_bytes(column)).sum();
        let longest = lengths.iter().copied().max().unwrap_or(0);
        if all.saturating_mul(longest) <= REPEATED_BYTES_MAX {
            return vec![];
        }
        let of_row = |row: usize| repeated.iter().map(|column| row_bytes(&column.slice(row, 1))).sum();
        (0..batch.num_rows()).map(of_row).collect()
    }

    /// The rows of a piece, their arrays cut to its elements.
    fn cut(&self, batch: &RecordBatch, piece: Piece) -> Result<RecordBatch> {
        let rows = batch.slice(piece.from, piece.rows);
        let Some((start, count)) = piece.elements else { return Ok(rows) };
        let mut columns = rows.columns().to_vec();
        for at in &self.columns {
            columns[*at] = elements_of(&columns[*at], start, count)?;
        }
        Ok(RecordBatch::try_new(rows.schema(), columns)?)
    }

    /// Elements of every row's arrays.
    fn lengths(&self, batch: &RecordBatch) -> Result<Vec<usize>> {
        let mut all = self.columns.iter().map(|column| lengths_of(batch.column(*column)));
        let Some(first) = all.next() else { return internal_err!("ARRAY JOIN of nothing") };
        let first = first?;
        for other in all {
            if other? != first {
                let message = "sizes of ARRAY-JOIN-ed arrays do not match";
                return Err(into_datafusion(PhysicalError::bad_input(
                    ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH,
                    message,
                )));
            }
        }
        Ok(first)
    }

    fn joined(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let lengths = self.lengths(batch)?;
        let rows: usize = lengths.iter().map(|length| self.rows_of(*length)).sum();
        let mut origins = Vec::with_capacity(rows);
        for (row, length) in lengths.iter().enumerate() {
            let row = u32::try_from(row).unwrap_or(u32::MAX);
            origins.extend(std::iter::repeat_n(row, self.rows_of(*length)));
        }
        let origins = UInt32Array::from(origins);
        let mut columns = Vec::with_capacity(batch.num_columns());
        for (at, column) in batch.columns().iter().enumerate() {
            columns.push(match self.columns.contains(&at) {
                true => self.elements(column, at, &lengths)?,
                false => take(column, &origins, None)?,
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }

    fn rows_of(&self, length: usize) -> usize {
        if self.keeps_empty { length.max(1) } else { length }
    }

    /// The elements of all rows, one after the other, with a default for every empty array that is kept.
    fn elements(&self, column: &ArrayRef, at: usize, lengths: &[usize]) -> Result<ArrayRef> {
        let wanted = self.schema.field(at);
        let values = laid_out(flattened(column)?, wanted.data_type())?;
        if !self.keeps_empty || !lengths.contains(&0) {
            return Ok(values);
        }
        let default = functions::default_array(&from_field(wanted), 1);
        let (mut picks, mut next) = (Vec::with_capacity(values.len()), 0);
        for length in lengths {
            if *length == 0 {
                picks.push((1, 0));
            }
            picks.extend((next..next + length).map(|element| (0, element)));
            next += length;
        }
        Ok(interleave(&[values.as_ref(), default.as_ref()], &picks)?)
    }
}

fn lengths_of(column: &ArrayRef) -> Result<Vec<usize>> {
    let of = |offsets: &[i32]| -> Vec<usize> {
        let length = |(row, pair): (usize, &[i32])| match column.is_null(row) {
            true => 0,
            false => usize::try_from(pair[1] - pair[0]).unwrap_or(0),
        };
        offsets.windows(2).enumerate().map(length).collect()
    };
    match column.data_type() {
        DataType::List(_) => Ok(of(column.as_list::<i32>().value_offsets())),
        DataType::Map(..) => Ok(of(column.as_map().value_offsets())),
        other => internal_err!("ARRAY JOIN of {other}"),
    }
}

/// The one array of a column with some of its elements.
fn elements_of(column: &ArrayRef, start: usize, count: usize) -> Result<ArrayRef> {
    let first = |offsets: &[i32]| place_of(offsets.first().copied().unwrap_or(0)) + start;
    let offsets = OffsetBuffer::from_lengths([count]);
    match column.data_type() {
        DataType::List(field) => {
            let list = column.as_list::<i32>();
            let values = list.values().slice(first(list.value_offsets()), count);
            Ok(Arc::new(ListArray::try_new(Arc::clone(field), offsets, values, None)?))
        }
        DataType::Map(field, is_sorted) => {
            let map = column.as_map();
            let entries = map.entries().slice(first(map.value_offsets()), count);
            Ok(Arc::new(MapArray::try_new(Arc::clone(field), offsets, entries, None, *is_sorted)?))
        }
        other => internal_err!("ARRAY JOIN of {other}"),
    }
}

/// The elements of all rows that are not NULL.
fn flattened(column: &ArrayRef) -> Result<ArrayRef> {
    if column.null_count() > 0 {
        let rows = (0_u32..).take(column.len()).zip(0..column.len());
        let present = rows.filter(|(_, row)| column.is_valid(*row)).map(|(number, _)| number);
        let dense = take(column, &UInt32Array::from(present.collect::<Vec<u32>>()), None)?;
        if dense.null_count() > 0 {
            return internal_err!("an array that is there is NULL");
        }
        return flattened(&dense);
    }
    let range = |offsets: &[i32]| {
        let first = place_of(offsets.first().copied().unwrap_or(0));
        let last = place_of(offsets.last().copied().unwrap_or(0));
        (first, last.saturating_sub(first))
    };
    match column.data_type() {
        DataType::List(_) => {
            let list = column.as_list::<i32>();
            let (from, rows) = range(list.value_offsets());
            Ok(list.values().slice(from, rows))
        }
        DataType::Map(..) => {
            let map = column.as_map();
            let (from, rows) = range(map.value_offsets());
            Ok(Arc::new(map.entries().slice(from, rows)))
        }
        other => internal_err!("ARRAY JOIN of {other}"),
    }
}

/// The values under the names that the type gives the parts of a tuple.
fn laid_out(values: ArrayRef, wanted: &DataType) -> Result<ArrayRef> {
    if values.data_type() == wanted {
        return Ok(values);
    }
    match (values.as_struct_opt(), wanted) {
        (Some(tuple), DataType::Struct(fields)) if tuple.num_columns() == fields.len() => {
            let parts = tuple.columns().iter().zip(fields);
            let parts = parts.map(|(part, field)| laid_out(Arc::clone(part), field.data_type()));
            let (parts, nulls) = (parts.collect::<Result<Vec<_>>>()?, tuple.nulls().cloned());
            Ok(Arc::new(StructArray::try_new(fields.clone(), parts, nulls)?))
        }
        _ => Ok(cast(&values, wanted)?),
    }
}
