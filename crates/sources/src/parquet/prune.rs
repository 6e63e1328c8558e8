//! Row groups that cannot hold a matching row, by the statistics in the footer.
//!
//! Pure. Invariant: a row group is dropped only if the statistics prove it; unknown means kept. Statistics are read
//! in the types of the table, not of the file, and only where reading keeps their order. Must not know: stores.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, UInt64Array};
use arrow::datatypes::{DataType, Field, SchemaRef};
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{Column, ScalarValue};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Literal;
use datafusion::physical_optimizer::pruning::{PruningPredicate, PruningPredicateBuilder};
use model::type_arrow::from_field;
use model::{ColumnType, raw_text};
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::statistics::Statistics;

use crate::parquet::layout;

/// A filter in the form that statistics can answer.
#[derive(Clone)]
pub(crate) struct RowGroupFilter {
    predicate: Arc<PruningPredicate>,
    schema: SchemaRef,
}

impl RowGroupFilter {
    /// `None` when statistics can say nothing about the filter.
    pub(crate) fn new(filter: Arc<dyn PhysicalExpr>, schema: &SchemaRef) -> Option<RowGroupFilter> {
        if compares_carried_bytes(&filter) {
            return None;
        }
        let predicate = PruningPredicateBuilder::new().with_file_schema(Arc::clone(schema)).build(filter)?;
        (!predicate.always_true()).then(|| RowGroupFilter { predicate, schema: Arc::clone(schema) })
    }

    /// What the filter proves of bloom filters' columns.
    pub(crate) fn predicate(&self) -> &PruningPredicate {
        &self.predicate
    }

    /// Columns of the table.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Of these row groups, the ones that may hold matching rows.
    pub(crate) fn keep(&self, footer: &ParquetMetaData, path: &str, row_groups: Vec<usize>) -> Vec<usize> {
        let Ok(file_schema) = layout::decoded_schema(footer, path) else { return row_groups };
        let groups = row_groups.iter().map(|i| footer.row_group(*i)).collect();
        let statistics = GroupStatistics { footer, groups, file_schema, table_schema: &self.schema };
        match self.predicate.prune(&statistics) {
            Ok(keep) => row_groups.into_iter().zip(keep).filter_map(|(i, keep)| keep.then_some(i)).collect(),
            Err(_) => row_groups,
        }
    }
}

/// Whether a text of the filter may stand for bytes that are no UTF-8: statistics and bloom filters have the bytes.
fn compares_carried_bytes(filter: &Arc<dyn PhysicalExpr>) -> bool {
    let carries = |node: &Arc<dyn PhysicalExpr>| {
        let value = node.downcast_ref::<Literal>().map(Literal::value);
        Ok(value.and_then(ScalarValue::try_as_str).flatten().is_some_and(raw_text::may_carry))
    };
    filter.exists(carries).unwrap_or(true)
}

/// The smallest (or largest) value of a column in each row group, as far as it is known.
pub(crate) fn bounds(
    footer: &ParquetMetaData,
    path: &str,
    schema: &SchemaRef,
    column: &str,
    largest: bool,
) -> Vec<Option<ScalarValue>> {
    let unknown = vec![None; footer.num_row_groups()];
    let Ok(file_schema) = layout::decoded_schema(footer, path) else { return unknown };
    let groups = footer.row_groups().iter().collect();
    let statistics = GroupStatistics { footer, groups, file_schema, table_schema: schema };
    let column = Column::from_name(column);
    let bounds = if largest { statistics.max_values(&column) } else { statistics.min_values(&column) };
    let Some(bounds) = bounds else { return unknown };
    let bound = |row| ScalarValue::try_from_array(&bounds, row).ok().filter(|bound| !bound.is_null());
    (0..unknown.len()).map(bound).collect()
}

struct GroupStatistics<'a> {
    footer: &'a ParquetMetaData,
    groups: Vec<&'a RowGroupMetaData>,
    file_schema: SchemaRef,
    table_schema: &'a SchemaRef,
}

impl GroupStatistics<'_> {
    fn converter(&self, column: &Column) -> Option<StatisticsConverter<'_>> {
        let schema = self.footer.file_metadata().schema_descr();
        StatisticsConverter::try_new(&column.name, &self.file_schema, schema).ok()
    }

    /// Bounds in the table's type, where making values of that type keeps their order.
    fn in_table_type(&self, column: &Column, bounds: ArrayRef) -> Option<ArrayRef> {
        let wanted = self.table_schema.field_with_name(&column.name).ok()?;
        if self.reads_null_as_default(column)? {
            return None;
        }
        let (from, to) = (bounds.data_type(), wanted.data_type());
        if from_field(wanted).is_wide_integer() {
            // The file orders them by their lowest byte.
            return None;
        }
        if from == to {
            return Some(bounds);
        }
        if !keeps_order(from, to) || is_enum(wanted) {
            return None;
        }
        if *from == DataType::BinaryView && bounds.as_binary_view().clone().to_string_view().is_err() {
            // Bytes that are no UTF-8 do not keep their order as text.
            return None;
        }
        // As values are read, or the bounds would be others' than theirs. A bound that is unknown stays so.
        let read = formats::conform(&bounds, &wanted.clone().with_nullable(true)).ok()?;
        (read.null_count() == bounds.null_count()).then_some(read)
    }

    /// Bounds in the order of the values: old writers compared all bytes as signed numbers.
    fn in_order(&self, column: &Column) -> bool {
        let Ok(field) = self.file_schema.field_with_name(&column.name) else { return false };
        let signed = field.data_type().is_signed_integer()
            || field.data_type().is_floating()
            || field.data_type().is_temporal()
            || *field.data_type() == DataType::Boolean;
        let leaf = self.converter(column).and_then(|converter| converter.parquet_column_index());
        let old = |group: &&RowGroupMetaData| {
            let statistics = leaf.and_then(|leaf| group.column(leaf).statistics());
            statistics.is_some_and(Statistics::is_min_max_deprecated)
        };
        signed || !self.groups.iter().any(old)
    }

    /// Whether rows may have the type's default where the file has NULL: neither the bounds cover it, nor is a row group
    /// of NULLs one whose comparisons are all NULL.
    fn reads_null_as_default(&self, column: &Column) -> Option<bool> {
        let wanted = self.table_schema.field_with_name(&column.name).ok()?;
        let stored = self.file_schema.field_with_name(&column.name).ok()?;
        let has_no_nulls =
            || self.stored_null_counts(column).is_some_and(|counts| counts.iter().all(|n| n == Some(0)));
        Some(stored.is_nullable() && !wanted.is_nullable() && !has_no_nulls())
    }

    /// As the footer has them: a count that is missing is unknown, not zero.
    fn stored_null_counts(&self, column: &Column) -> Option<UInt64Array> {
        let converter = self.converter(column)?.with_missing_null_counts_as_zero(false);
        converter.row_group_null_counts(self.groups.iter().copied()).ok()
    }
}

/// Whether a smaller value of the one type is never read as a larger one of the other.
fn keeps_order(from: &DataType, to: &DataType) -> bool {
    let zone = |data_type: &DataType| match data_type {
        DataType::Timestamp(_, zone) => zone.clone(),
        _ => None,
    };
    // Hours of a clock that is put back come twice.
    let same_clock = zone(from).is_some() || zone(to).is_none_or(|zone| &*zone == "UTC");
    match (from, to) {
        (DataType::BinaryView, DataType::Utf8View) => true,
        (DataType::Boolean, to) => to.is_numeric(),
        (DataType::Date32, to) if to.is_integer() => true,
        (from, to) if from.is_numeric() && to.is_numeric() => true,
        (from, to) if from.is_temporal() || from.is_integer() => to.is_temporal() && same_clock,
        _ => false,
    }
}

/// Numbers in a file may be no values of the enum, which is an error where they are read, not where they are bounds.
fn is_enum(field: &Field) -> bool {
    matches!(from_field(field).value_type(), ColumnType::Enum8(_) | ColumnType::Enum16(_))
}

impl PruningStatistics for GroupStatistics<'_> {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        if !self.in_order(column) {
            return None;
        }
        let bounds = self.converter(column)?.row_group_mins(self.groups.iter().copied()).ok()?;
        self.in_table_type(column, bounds)
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        let bounds = self.converter(column)?.row_group_maxes(self.groups.iter().copied()).ok()?;
        self.in_table_type(column, bounds)
    }

    fn num_containers(&self) -> usize {
        self.groups.len()
    }

    fn null_counts(&self, column: &Column) -> Option<ArrayRef> {
        if self.reads_null_as_default(column)? {
            return None;
        }
        Some(Arc::new(self.stored_null_counts(column)?))
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        let rows = self.groups.iter().map(|group| u64::try_from(group.num_rows()).ok());
        Some(Arc::new(rows.collect::<UInt64Array>()))
    }

    fn contained(&self, _column: &Column, _values: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}
