//! Keys that rows are sorted by, wherever they are: ORDER BY, windows, and aggregates that take rows in an order.
//!
//! Invariant: NULL and NaN stand on the side that the key says, inside tuples, too. A tuple is sorted by its elements one after the
//! other, which is ClickHouse's order of tuples; whole, the rows of one batch would be compared by one rule and those of two by another.

use aggregates::typing::{external, type_of};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::SortExpr;
use functions::FunctionError;
use model::ErrorCode;

use super::comparison::{elements_of, is_float};
use crate::scalar::adapter::call;
use crate::scalar::settled::unsettled;

/// The same order by keys that DataFusion sorts as ClickHouse does. Made of its own answer it gives the same keys.
pub(crate) fn sort_keys(keys: Vec<SortExpr>, schema: &DFSchema) -> Result<Vec<SortExpr>> {
    let mut sorted: Vec<SortExpr> = Vec::with_capacity(keys.len());
    for key in keys {
        let column_type = type_of(&key.expr, schema)?;
        if column_type.state().is_some() {
            let message = format!("{column_type} is not allowed in ORDER BY: states have no order");
            return Err(external(FunctionError::new(ErrorCode::ILLEGAL_COLUMN, message)));
        }
        if let Some(elements) = elements_of((&key.expr, &column_type))?.filter(|found| !found.is_empty()) {
            let element = |expr| SortExpr::new(expr, key.asc, key.nulls_first);
            sorted.extend(sort_keys(elements.into_iter().map(element).collect(), schema)?);
            continue;
        }
        if is_float(&column_type) {
            let is_nan = call("isNaN", vec![unsettled(&key.expr).clone()])?;
            let before = SortExpr::new(is_nan, !key.nulls_first, key.nulls_first);
            if sorted.last() != Some(&before) {
                sorted.push(before);
            }
        }
        sorted.push(key);
    }
    Ok(sorted)
}
