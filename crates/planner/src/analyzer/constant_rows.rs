//! UNION ALL of SELECTs of constants as the rows that they are: one batch, in the order in which they are written.
//!
//! ClickHouse promises no order of a UNION ALL either, but keeps it here; and one scan of constants is quicker than a plan
//! node for each row. Invariant: the columns keep the union's names and types.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::{Expr, LogicalPlan, Values};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// See the module.
#[derive(Debug)]
pub(crate) struct ConstantRows;

impl OptimizerRule for ConstantRows {
    fn name(&self) -> &str {
        "constant_rows"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Union(union) = &plan else { return Ok(Transformed::no(plan)) };
        let mut rows = vec![];
        for input in &union.inputs {
            if !add_rows(input, &mut rows) {
                return Ok(Transformed::no(plan));
            }
        }
        let fits = |row: &Vec<Expr>| {
            row.len() == union.schema.fields().len()
                && row.iter().zip(union.schema.fields()).all(|(cell, field)| match cell {
                    Expr::Literal(value, _) => value.data_type() == *field.data_type(),
                    _ => false,
                })
        };
        if rows.is_empty() || !rows.iter().all(fits) {
            return Ok(Transformed::no(plan));
        }
        Ok(Transformed::yes(LogicalPlan::Values(Values { schema: Arc::clone(&union.schema), values: rows })))
    }
}

/// Adds the rows of a SELECT of constants, or of what was made of some; false of anything else.
fn add_rows(plan: &LogicalPlan, rows: &mut Vec<Vec<Expr>>) -> bool {
    match plan {
        LogicalPlan::Values(values) => {
            rows.extend(values.values.iter().cloned());
            true
        }
        LogicalPlan::SubqueryAlias(alias) => add_rows(&alias.input, rows),
        LogicalPlan::Projection(projection) => {
            let LogicalPlan::EmptyRelation(one) = projection.input.as_ref() else { return false };
            let cells = projection.expr.iter().map(constant).collect::<Option<Vec<_>>>();
            match cells.filter(|_| one.produce_one_row) {
                Some(cells) => rows.push(cells),
                None => return false,
            }
            true
        }
        _ => false,
    }
}

fn constant(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::Literal(..) => Some(expr.clone()),
        Expr::Alias(alias) => constant(&alias.expr),
        _ => None,
    }
}
