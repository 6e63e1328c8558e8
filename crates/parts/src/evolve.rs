//! Rows of an older version of the columns, as rows of the current one.
//!
//! Invariant: columns are matched by id, so a rename changes nothing, a dropped column disappears, and a column that
//! was dropped and added again starts empty. Must not know: DEFAULT expressions; a column that did not exist yet
//! reads as the default of its type, or NULL.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanArray, FixedSizeBinaryArray, RecordBatch, RecordBatchOptions, StringViewArray,
    make_array, new_empty_array, new_null_array,
};
use arrow::buffer::Buffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, SchemaRef};
use arrow::error::ArrowError;
use model::table_def::column_id_of;

/// `batch` with exactly the columns of `target`, matched by field id.
///
/// # Errors
/// A column has a type that cannot become the target's.
pub fn evolve(batch: &RecordBatch, target: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    if batch.schema_ref() == target {
        return Ok(batch.clone());
    }
    let source = batch.schema_ref();
    let columns = target.fields().iter().map(|field| {
        let id = column_id_of(field);
        match source.fields().iter().position(|f| column_id_of(f) == id && id.is_some()) {
            Some(at) if batch.column(at).data_type() == field.data_type() => Ok(Arc::clone(batch.column(at))),
            Some(at) => cast(batch.column(at), field.data_type()),
            None => default_array(field, batch.num_rows()),
        }
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(target), columns, &options)
}

/// `rows` times NULL, or the default of a type that has no NULL: zero, the empty text, the empty list.
///
/// # Errors
/// The layout is none of ours.
pub fn default_array(field: &Field, rows: usize) -> Result<ArrayRef, ArrowError> {
    if field.is_nullable() {
        return Ok(new_null_array(field.data_type(), rows));
    }
    Ok(match field.data_type() {
        DataType::Boolean => Arc::new(BooleanArray::from(vec![false; rows])),
        DataType::Utf8View => Arc::new(StringViewArray::from_iter_values(std::iter::repeat_n("", rows))),
        DataType::FixedSizeBinary(bytes) => {
            let width = usize::try_from(*bytes).unwrap_or(0);
            let zeros = Buffer::from(vec![0_u8; width * rows]);
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
    let data = arrow::array::ArrayData::builder(data_type.clone())
        .len(rows)
        .add_buffer(Buffer::from(vec![0_u8; width * rows]))
        .build()?;
    Ok(make_array(data))
}

/// The position of a column in a schema.
pub fn position_of(schema: &SchemaRef, id: model::ColumnId) -> Option<usize> {
    schema.fields().iter().position(|field| column_id_of(field) == Some(id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{AsArray, Int64Array};
    use arrow::datatypes::{Schema, UInt64Type};
    use model::ColumnType;
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
            "Bool",
            "Tuple(a Int8)",
            "DateTime('UTC')",
            "Decimal(10, 2)",
            "Map(String, Int8)",
        ];
        let mut fields = vec![field("renamed", 2, "Int64"), field("a", 3, "UInt64")];
        fields.extend(kinds.iter().zip(4..).map(|(kind, id)| field(&format!("c{id}"), id, kind)));
        let target = Arc::new(Schema::new(fields));
        let now = evolve(&batch, &target).unwrap();
        assert_eq!(now.column(0).as_ref(), batch.column(1).as_ref());
        assert_eq!(now.column(1).as_primitive::<UInt64Type>().values(), &[0, 0], "a new id starts empty");
        assert!(now.column(4).is_null(0));
        assert_eq!(now.num_columns(), 12);
        assert!(evolve(&now, &target).is_ok());
        let _: ColumnType = model::type_arrow::from_field(target.field(0));
    }
}
