//! An Enum beside a constant text that names none of its values.
//!
//! Invariant: as in ClickHouse such a text stands in no order with any value, and NULL stays unknown. Must not know: equality, to
//! which a text that is no name is just another one.

use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Expr, Operator};
use model::ColumnType;

use crate::types::literals::{Purpose, literal_as};
use aggregates::typing::literal_of;

/// What `left op right` answers, if one side is such a text and the operator asks for an order.
pub(super) fn unordered(
    left: (&Expr, &ColumnType),
    op: Operator,
    right: (&Expr, &ColumnType),
) -> Result<Option<Expr>> {
    if !matches!(op, Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq) {
        return Ok(None);
    }
    for ((named, enum_type), (text, text_type)) in [(left, right), (right, left)] {
        let is_pair =
            enum_type.value_type().enum_values().is_some() && *text_type.value_type() == ColumnType::String;
        let Some(value) = literal_of(text).filter(|value| is_pair && !value.is_null()) else { continue };
        if literal_as(value, text_type, enum_type, Purpose::Compare, None)?.is_some() {
            continue;
        }
        // A written `false` would be a Bool.
        let never = named.clone().is_null();
        return Ok(Some(match enum_type.is_nullable() {
            true => Expr::Literal(ScalarValue::Boolean(None), None).and(never),
            false => never,
        }));
    }
    Ok(None)
}
