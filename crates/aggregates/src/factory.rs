//! Accumulators of an aggregate over columns that no plan has.
//!
//! Invariant: what is made sees the fields given here, whatever the plan's are. Must not know: who gives the rows.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::compute::cast;
use arrow::datatypes::{FieldRef, Schema};
use datafusion::common::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, GroupsAccumulator};
use datafusion::physical_expr::PhysicalExpr;

/// Makes accumulators of an aggregate.
#[derive(Clone, Debug)]
pub(super) struct Factory {
    pub(super) inner: Arc<AggregateUDF>,
    pub(super) fields: Vec<FieldRef>,
    pub(super) schema: Schema,
    pub(super) exprs: Vec<Arc<dyn PhysicalExpr>>,
    pub(super) return_field: FieldRef,
    pub(super) name: String,
    pub(super) ignore_nulls: bool,
    pub(super) is_distinct: bool,
}

impl Factory {
    fn args(&self) -> AccumulatorArgs<'_> {
        AccumulatorArgs {
            return_field: Arc::clone(&self.return_field),
            schema: &self.schema,
            ignore_nulls: self.ignore_nulls,
            order_bys: &[],
            is_reversed: false,
            name: &self.name,
            is_distinct: self.is_distinct,
            exprs: &self.exprs,
            expr_fields: &self.fields,
        }
    }

    pub(super) fn make(&self) -> Result<Box<dyn Accumulator>> {
        self.inner.accumulator(self.args())
    }

    /// For all groups at once, if the aggregate can.
    pub(super) fn make_groups(&self) -> Result<Option<Box<dyn GroupsAccumulator>>> {
        match self.inner.groups_accumulator_supported(self.args()) {
            true => self.inner.create_groups_accumulator(self.args()).map(Some),
            false => Ok(None),
        }
    }

    /// The columns in the layouts the inner aggregate takes.
    pub(super) fn laid_out(&self, columns: Vec<ArrayRef>) -> Result<Vec<ArrayRef>> {
        let columns = columns.into_iter().zip(&self.fields).map(|(column, field)| {
            let same = column.data_type() == field.data_type();
            Ok(if same { column } else { cast(&column, field.data_type())? })
        });
        columns.collect()
    }

    pub(super) fn state_fields(&self) -> Result<Vec<FieldRef>> {
        self.inner.state_fields(StateFieldsArgs {
            name: &self.name,
            input_fields: &self.fields,
            return_field: Arc::clone(&self.return_field),
            ordering_fields: &[],
            is_distinct: self.is_distinct,
        })
    }
}
