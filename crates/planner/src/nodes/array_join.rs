//! ARRAY JOIN as a step of a plan: arrays in, one row for each element out.
//!
//! Invariant: the columns are the input's, in its order; only the named ones change their type to their elements'.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::Field;
use datafusion::common::{Column, DFSchema, DFSchemaRef, Result, internal_err};
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNodeCore};
use functions::FunctionError;
use model::TupleElement;
use model::type_arrow::{from_field, to_field};
use model::{ColumnType, ErrorCode};

use super::needed;

/// See the module.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ArrayJoin {
    input: LogicalPlan,
    columns: Vec<Column>,
    keeps_empty: bool,
    schema: DFSchemaRef,
}

impl ArrayJoin {
    /// `keeps_empty`: LEFT, where an empty array gives one row with the default of its elements.
    pub fn try_new(input: LogicalPlan, columns: Vec<Column>, keeps_empty: bool) -> Result<ArrayJoin> {
        let fields = input.schema().iter().enumerate().map(|(at, (qualifier, field))| {
            let joined =
                columns.iter().any(|column| input.schema().maybe_index_of_column(column) == Some(at));
            let field = if joined { Arc::new(element_field(field)?) } else { Arc::clone(field) };
            Ok((qualifier.cloned(), field))
        });
        let fields = fields.collect::<Result<Vec<_>>>()?;
        let schema = DFSchema::new_with_metadata(fields, input.schema().metadata().clone())?;
        Ok(ArrayJoin { input, columns, keeps_empty, schema: Arc::new(schema) })
    }

    /// Where the arrays stand among the input's columns.
    pub fn positions(&self) -> Vec<usize> {
        let schema = self.input.schema();
        self.columns.iter().filter_map(|column| schema.maybe_index_of_column(column)).collect()
    }

    pub fn keeps_empty(&self) -> bool {
        self.keeps_empty
    }
}

/// The column that an array's elements make; of a map, its pairs.
pub fn element_field(array: &Field) -> Result<Field> {
    let column_type = from_field(array);
    let of_array = match &column_type {
        ColumnType::Nullable(inner) => inner.as_ref(),
        other => other,
    };
    let part = |name: &str, column_type: &ColumnType| TupleElement {
        name: Some(name.into()),
        column_type: column_type.clone(),
    };
    match of_array {
        ColumnType::Array(element) => Ok(to_field(array.name(), element)),
        ColumnType::Map(key, value) => {
            let pair = ColumnType::Tuple(vec![part("keys", key), part("values", value)]);
            Ok(to_field(array.name(), &pair))
        }
        _ => {
            let name = array.name();
            let message = format!("ARRAY JOIN requires array argument: {name} is a {column_type}");
            let error = FunctionError::new(ErrorCode::TYPE_MISMATCH, message);
            Err(datafusion::common::DataFusionError::External(Box::new(error)))
        }
    }
}

impl PartialOrd for ArrayJoin {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.columns.partial_cmp(&other.columns).filter(|order| order.is_ne() || self == other)
    }
}

impl UserDefinedLogicalNodeCore for ArrayJoin {
    fn name(&self) -> &str {
        "ArrayJoin"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        self.columns.iter().cloned().map(Expr::Column).collect()
    }

    /// A condition on an element says nothing about its array; all others move below.
    fn prevent_predicate_push_down_columns(&self) -> HashSet<String> {
        self.columns.iter().map(|column| column.name.clone()).collect()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let names: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
        write!(f, "ArrayJoin: {}{}", if self.keeps_empty { "LEFT " } else { "" }, names.join(", "))
    }

    fn with_exprs_and_inputs(&self, exprs: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        let columns = exprs.into_iter().map(|expr| match expr {
            Expr::Column(column) => Ok(column),
            other => internal_err!("ARRAY JOIN of {other}, which is no column"),
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let Some(input) = inputs.pop() else { return internal_err!("ARRAY JOIN has no input") };
        ArrayJoin::try_new(input, columns, self.keeps_empty)
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        Some(needed(output_columns, &self.expressions(), self.input.schema()))
    }
}
