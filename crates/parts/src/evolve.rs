//! Rows of an older version of the columns, as rows of the current one.
//!
//! Invariant: columns are matched by id, so a rename changes nothing, a dropped column disappears, and a column that
//! was dropped and added again starts anew: a column that did not exist yet is its DEFAULT, computed from the other
//! columns of its row, or the default of its type. NULL in a column that takes none any more is its DEFAULT, too. What is computed depends on nothing but the row, so a scan and a
//! merge agree. Must not know: how a default or a conversion is computed ([`Evolution`]).

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, Date32Array, FixedSizeBinaryArray, Int8Array, Int16Array,
    RecordBatch, RecordBatchOptions, StringViewArray, make_array, new_empty_array, new_null_array,
};
use arrow::buffer::{Buffer, MutableBuffer};
use arrow::compute::{interleave, is_null};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, i256};
use arrow::error::ArrowError;
use model::table_def::column_id_of;
use model::type_arrow::{FIELD_ID_KEY, from_field};
use model::{ColumnId, ColumnType, Evolution, RowExpr, WideInteger};

/// Defaults that need defaults that need defaults: more than this is a definition that refers to itself.
const DEPTH_MAX: usize = 32;

/// `batch` with exactly the columns of `target`, matched by field id. It must have [`columns_read`] of them.
///
/// # Errors
/// A value cannot become the target's.
pub fn evolve(
    batch: &RecordBatch,
    target: &SchemaRef,
    evolution: &Evolution,
) -> Result<RecordBatch, ArrowError> {
    if batch.schema_ref() == target {
        return Ok(batch.clone());
    }
    let columns = target.fields().iter().map(|field| column(batch, field, evolution, 0));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(target), columns, &options)
}

/// The columns of `source` that `target` is made of: those they share, and what the defaults of the others are computed
/// from.
pub fn columns_read(source: &Schema, target: &Schema, evolution: &Evolution) -> Vec<ColumnId> {
    let mut found = Vec::new();
    for id in target.fields().iter().filter_map(|field| column_id_of(field)) {
        collect(id, source, evolution, &mut found, 0);
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn collect(id: ColumnId, source: &Schema, evolution: &Evolution, found: &mut Vec<ColumnId>, depth: usize) {
    let stored = source.fields().iter().find(|field| column_id_of(field) == Some(id));
    found.extend(stored.map(|_| id));
    let is_filled = |stored: &Field| {
        evolution.column(id).is_some_and(|now| loses_null(&from_field(stored), &from_field(now)))
    };
    if stored.is_none_or(|stored| is_filled(stored))
        && let Some(default) = evolution.default_of(id)
        && depth < DEPTH_MAX
    {
        default.columns().iter().for_each(|id| collect(*id, source, evolution, found, depth + 1));
    }
}

fn column(
    batch: &RecordBatch,
    field: &Field,
    evolution: &Evolution,
    depth: usize,
) -> Result<ArrayRef, ArrowError> {
    let id = column_id_of(field);
    let failed = |error: model::RowExprError| ArrowError::CastError(error.to_string());
    let stored = batch.schema_ref().fields().iter().position(|f| id.is_some() && column_id_of(f) == id);
    if let Some(at) = stored {
        let values = batch.column(at);
        if is_merely_optional(batch.schema_ref().field(at), field) && values.null_count() == 0 {
            return Ok(Arc::clone(values));
        }
        let (then, now) = (from_field(batch.schema_ref().field(at)), from_field(field));
        let default = id.and_then(|id| evolution.default_of(id));
        return match default.filter(|_| loses_null(&then, &now) && values.logical_null_count() > 0) {
            None => evolution.convert(values, &then, &now).map_err(failed),
            Some(default) => {
                let present = evolution.convert(values, &then, &now.nullable()).map_err(failed)?;
                let defaults = computed(batch, field, default.as_ref(), evolution, depth)?;
                with_defaults(&present, &defaults)
            }
        };
    }
    match id.and_then(|id| evolution.default_of(id)) {
        None => default_array(field, batch.num_rows()),
        Some(default) => computed(batch, field, default.as_ref(), evolution, depth),
    }
}

/// Whether NULL was a value of a column and is none now.
fn loses_null(then: &ColumnType, now: &ColumnType) -> bool {
    then.is_nullable() && !now.is_nullable()
}

/// The values, and defaults where they are NULL.
fn with_defaults(values: &ArrayRef, defaults: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let missing = is_null(values)?;
    let picks: Vec<(usize, usize)> =
        (0..values.len()).map(|row| (usize::from(missing.value(row)), row)).collect();
    interleave(&[values.as_ref(), defaults.as_ref()], &picks)
}

/// The default of a column in each row.
fn computed(
    batch: &RecordBatch,
    field: &Field,
    default: &dyn RowExpr,
    evolution: &Evolution,
    depth: usize,
) -> Result<ArrayRef, ArrowError> {
    let failed = |error: model::RowExprError| ArrowError::CastError(error.to_string());
    if depth >= DEPTH_MAX {
        let message = format!("the DEFAULT of column {} refers to itself", field.name());
        return Err(ArrowError::SchemaError(message));
    }
    let known = inputs(batch, default.columns(), evolution, depth)?;
    let values = default.evaluate(&known).map_err(failed)?;
    evolution.convert(&values, default.column_type(), &from_field(field)).map_err(failed)
}

/// Whether two fields differ only in that values of the stored one could be NULL, as in a part that got its pages from another file
/// (`PartWriter::append_chunk`).
fn is_merely_optional(stored: &Field, target: &Field) -> bool {
    stored.data_type() == target.data_type()
        && stored.is_nullable()
        && from_field(stored) == from_field(target).nullable()
}

/// The columns a default is computed from, as they are now.
fn inputs(
    batch: &RecordBatch,
    ids: &[ColumnId],
    evolution: &Evolution,
    depth: usize,
) -> Result<RecordBatch, ArrowError> {
    let mut fields = Vec::with_capacity(ids.len());
    let mut columns = Vec::with_capacity(ids.len());
    for id in ids {
        let known = evolution
            .column(*id)
            .ok_or_else(|| ArrowError::SchemaError(format!("column {} of a DEFAULT does not exist", id.0)))?;
        let mut metadata = known.metadata().clone();
        metadata.insert(FIELD_ID_KEY.to_owned(), id.0.to_string());
        let field = known.clone().with_metadata(metadata);
        columns.push(column(batch, &field, evolution, depth + 1)?);
        fields.push(field);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
}

/// `rows` times NULL, or the default of a type that has no NULL: zero, the first of an enum, the empty text, the empty list.
///
/// # Errors
/// The layout is none of ours.
pub fn default_array(field: &Field, rows: usize) -> Result<ArrayRef, ArrowError> {
    if field.is_nullable() {
        return Ok(new_null_array(field.data_type(), rows));
    }
    let number = from_field(field).default_number();
    Ok(match field.data_type() {
        DataType::Date32 => Arc::new(Date32Array::from_value(number, rows)),
        DataType::Int8 => Arc::new(Int8Array::from_value(i8::try_from(number).unwrap_or(0), rows)),
        DataType::Int16 => Arc::new(Int16Array::from_value(i16::try_from(number).unwrap_or(0), rows)),
        DataType::Boolean => Arc::new(BooleanArray::from(vec![false; rows])),
        DataType::Utf8View => Arc::new(StringViewArray::from_iter_values(std::iter::repeat_n("", rows))),
        DataType::BinaryView => Arc::new(BinaryViewArray::from_iter_values(std::iter::repeat_n(b"", rows))),
        DataType::FixedSizeBinary(bytes) => {
            let mut zero = vec![0_u8; usize::try_from(*bytes).unwrap_or(0)];
            if let Some(kind) = WideInteger::of(&from_field(field)) {
                zero.clear();
                kind.encode(i256::ZERO, &mut zero);
            }
            let zeros = Buffer::from(zero.repeat(rows));
            Arc::new(FixedSizeBinaryArray::try_new(*bytes, zeros, None)?)
        }
        DataType::Struct(fields) => {
            let children = fields.iter().map(|f| default_array(f, rows)).collect::<Result<Vec<_>, _>>()?;
            Arc::new(arrow::array::StructArray::try_new_with_length(fields.clone(), children, None, rows)?)
        }
        DataType::List(item) => {
            let offsets = arrow::buffer::OffsetBuffer::from_lengths(std::iter::repeat_n(0, rows));
            let none = new_empty_array(item.data_type());
            Arc::new(arrow::array::ListArray::try_new(Arc::clone(item), offsets, none, None)?)
        }
        DataType::Map(entries, sorted) => {
            let offsets = arrow::buffer::OffsetBuffer::from_lengths(std::iter::repeat_n(0, rows));
            let none = new_empty_array(entries.data_type());
            let none = arrow::array::AsArray::as_struct(&none).clone();
            Arc::new(arrow::array::MapArray::try_new(Arc::clone(entries), offsets, none, None, *sorted)?)
        }
        other => zeros(other, rows)?,
    })
}

fn zeros(data_type: &DataType, rows: usize) -> Result<ArrayRef, ArrowError> {
    let width = data_type
        .primitive_width()
        .ok_or_else(|| ArrowError::NotYetImplemented(format!("a default of layout {data_type}")))?;
    // Bytes of a vector may begin anywhere; numbers begin where the processor wants them.
    let bytes = MutableBuffer::from_len_zeroed(width * rows);
    let data =
        arrow::array::ArrayData::builder(data_type.clone()).len(rows).add_buffer(bytes.into()).build()?;
    Ok(make_array(data))
}

/// The position of a column in a schema.
pub fn position_of(schema: &SchemaRef, id: ColumnId) -> Option<usize> {
    schema.fields().iter().position(|field| column_id_of(field) == Some(id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{AsArray, Int64Array};
    use arrow::datatypes::{Schema, UInt64Type};
    use model::type_arrow::{FIELD_ID_KEY, to_field};

    fn field(name: &str, id: u32, column_type: &str) -> Field {
        let column_type = model::type_name::parse(column_type).unwrap();
        let field = to_field(name, &column_type);
        let mut metadata = field.metadata().clone();
        metadata.insert(FIELD_ID_KEY.to_owned(), id.to_string());
        field.with_metadata(metadata)
    }

    #[test]
    fn renamed_dropped_added_and_added_again() {
        let old = Arc::new(Schema::new(vec![field("a", 1, "Int64"), field("b", 2, "Int64")]));
        let columns: Vec<ArrayRef> =
            vec![Arc::new(Int64Array::from(vec![1, 2])), Arc::new(Int64Array::from(vec![3, 4]))];
        let batch = RecordBatch::try_new(old, columns).unwrap();
        let kinds = [
            "String",
            "UInt64",
            "Nullable(Date)",
            "Array(String)",
            "UUID",
            "IPv6",
            "Int128",
            "Bool",
            "Tuple(a Int8)",
            "DateTime('UTC')",
            "Decimal(10, 2)",
            "Map(String, Int8)",
        ];
        let mut fields = vec![field("renamed", 2, "Int64"), field("a", 3, "UInt64")];
        fields.extend(kinds.iter().zip(4..).map(|(kind, id)| field(&format!("c{id}"), id, kind)));
        let target = Arc::new(Schema::new(fields));
        let now = evolve(&batch, &target, &Evolution::default()).unwrap();
        assert_eq!(now.column(0).as_ref(), batch.column(1).as_ref());
        assert_eq!(now.column(1).as_primitive::<UInt64Type>().values(), &[0, 0], "a new id starts empty");
        assert!(now.column(4).is_null(0));
        assert_eq!(now.num_columns(), 14);
        assert!(evolve(&now, &target, &Evolution::default()).is_ok());
        let _: ColumnType = from_field(target.field(0));
    }
}
