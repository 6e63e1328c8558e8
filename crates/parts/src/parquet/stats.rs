//! Bounds of the columns of a part, out of its footer.
//!
//! Invariant: no value of the column is outside its bounds. Where that cannot be promised (nested columns, NaN, a cut
//! text that cannot be rounded up) there is no bound.

use ::parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use ::parquet::file::metadata::ParquetMetaData;
use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, Schema};
use model::table_def::column_id_of;
use model::{ColumnBounds, Value};

use super::properties::STATISTICS_TEXT_BYTES_MAX;

/// Bounds of every top-level column that is not nested. `has_nan` tells columns, by position, in which NaN was seen:
/// NaN is above every bound the library keeps.
pub(crate) fn column_bounds(
    metadata: &ParquetMetaData,
    schema: &Schema,
    has_nan: &[bool],
) -> Vec<ColumnBounds> {
    let parquet_schema = metadata.file_metadata().schema_descr();
    let mut bounds = Vec::with_capacity(schema.fields().len());
    for (position, field) in schema.fields().iter().enumerate() {
        let Some(column) = column_id_of(field) else { continue };
        if field.data_type().is_nested() || *field.data_type() == DataType::Null {
            continue;
        }
        let leaf = (0..parquet_schema.num_columns())
            .find(|leaf| parquet_schema.get_column_root_idx(*leaf) == position);
        let converter =
            leaf.and_then(|leaf| StatisticsConverter::from_column_index(leaf, field, parquet_schema).ok());
        let Some(converter) = converter else { continue };
        let groups = metadata.row_groups();
        let counts = converter.row_group_null_counts(groups).ok().filter(|counts| counts.null_count() == 0);
        let ordered = !has_nan.get(position).copied().unwrap_or(false);
        // Only a row group of NULLs may have no extreme.
        let only_nulls = |group: usize| {
            let rows = groups.get(group).and_then(|g| u64::try_from(g.num_rows()).ok());
            counts.as_ref().is_some_and(|counts| Some(counts.value(group)) == rows)
        };
        let extreme = |array: Option<ArrayRef>, pick: fn(&Value, &Value) -> bool| {
            let array = array.filter(|_| ordered)?;
            let whole = (0..array.len()).all(|group| !array.is_null(group) || only_nulls(group));
            whole.then(|| extreme_of(&array, pick)).flatten()
        };
        let min = extreme(converter.row_group_mins(groups).ok(), |a, b| a.order(b).is_lt());
        let max = extreme(converter.row_group_maxes(groups).ok(), |a, b| a.order(b).is_gt());
        let nulls = counts.as_ref().map(|counts| counts.values().iter().sum());
        bounds.push(ColumnBounds {
            column,
            min: min.and_then(|value| cut(value, false)),
            max: max.and_then(|value| cut(value, true)),
            nulls,
        });
    }
    bounds
}

/// The extreme of the row groups' values.
fn extreme_of(array: &ArrayRef, better: fn(&Value, &Value) -> bool) -> Option<Value> {
    let mut found: Option<Value> = None;
    for row in (0..array.len()).filter(|row| !array.is_null(*row)) {
        let value = Value::at(array, row)?;
        if found.as_ref().is_none_or(|best| better(&value, best)) {
            found = Some(value);
        }
    }
    found
}

/// The library leaves a text long that it cannot round up; a lower bound may simply be cut.
fn cut(value: Value, is_upper: bool) -> Option<Value> {
    match &value {
        Value::Text(text) if text.len() > STATISTICS_TEXT_BYTES_MAX => {
            let end =
                (0..=STATISTICS_TEXT_BYTES_MAX).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
            (!is_upper).then(|| Value::Text(text[..end].into()))
        }
        _ => Some(value),
    }
}
