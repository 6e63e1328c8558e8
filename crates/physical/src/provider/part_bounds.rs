//! The bounds of parts, in the shape DataFusion's pruning asks for.
//!
//! Invariant: a part is only pruned when its recorded bounds prove that no row can match; a part without bounds for a
//! column stays.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, UInt64Array, new_null_array};
use arrow::compute::concat;
use catalog::TableState;
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, Result, ScalarValue};
use datafusion::physical_optimizer::pruning::PruningPredicateBuilder;
use datafusion::physical_plan::PhysicalExpr;
use model::{ColumnBounds, ColumnDef, PartDescriptor, Value};

use arrow::datatypes::SchemaRef;

struct PartBounds<'a> {
    table: &'a TableState,
    schema: &'a SchemaRef,
    parts: &'a [Arc<PartDescriptor>],
}

impl PartBounds<'_> {
    /// Bounds of values of an older type say nothing about those of the type now.
    fn is_of_type(&self, part: &PartDescriptor, now: &ColumnDef) -> bool {
        let then = self.table.definition_of(part.schema_version);
        let then = then.as_ref().and_then(|then| then.column_by_id(now.id));
        then.is_some_and(|then| then.column_type == now.column_type)
    }

    fn values(&self, column: &Column, pick: fn(&ColumnBounds) -> Option<&Value>) -> Option<ArrayRef> {
        let now = self.table.def.column(&column.name)?;
        let data_type = self.schema.field_with_name(&column.name).ok()?.data_type();
        let of_part = |part: &Arc<PartDescriptor>| -> ArrayRef {
            let value = part.bounds_of(now.id).and_then(pick).filter(|_| self.is_of_type(part, now));
            let array = value.and_then(|value| value.to_array(data_type).ok());
            array.unwrap_or_else(|| new_null_array(data_type, 1))
        };
        let arrays: Vec<ArrayRef> = self.parts.iter().map(of_part).collect();
        let refs: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
        concat(&refs).ok()
    }
}

impl PruningStatistics for PartBounds<'_> {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        self.values(column, |bounds| bounds.min.as_ref())
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        self.values(column, |bounds| bounds.max.as_ref())
    }

    fn num_containers(&self) -> usize {
        self.parts.len()
    }

    fn null_counts(&self, column: &Column) -> Option<ArrayRef> {
        let now = self.table.def.column(&column.name)?;
        let of_part = |part: &Arc<PartDescriptor>| {
            part.bounds_of(now.id).and_then(|bounds| bounds.nulls).filter(|_| self.is_of_type(part, now))
        };
        let nulls = self.parts.iter().map(of_part);
        Some(Arc::new(nulls.collect::<UInt64Array>()))
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        Some(Arc::new(self.parts.iter().map(|part| Some(part.rows)).collect::<UInt64Array>()))
    }

    fn contained(&self, _column: &Column, _values: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}

/// The parts that may hold rows for which `predicate` is true.
pub(crate) fn prune(
    table: &TableState,
    schema: &SchemaRef,
    parts: Vec<Arc<PartDescriptor>>,
    predicate: &Arc<dyn PhysicalExpr>,
) -> Result<Vec<Arc<PartDescriptor>>> {
    if parts.is_empty() {
        return Ok(parts);
    }
    let builder = PruningPredicateBuilder::new().with_file_schema(Arc::clone(schema));
    let Ok(pruning) = builder.try_build(Arc::clone(predicate)) else {
        // A predicate that says nothing about bounds prunes nothing.
        return Ok(parts);
    };
    let keep = pruning.prune(&PartBounds { table, schema, parts: &parts })?;
    Ok(parts.into_iter().zip(keep).filter_map(|(part, keep)| keep.then_some(part)).collect())
}
