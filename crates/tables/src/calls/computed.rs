//! Arguments of table functions that have to be computed: `numbers(toUInt64(5))`, `file(concat(a, '.csv'))`.
//!
//! Invariant: only calls of scalar functions and operators over constants are computed, each as a SELECT of its own before
//! the query is planned; names, and calls that mean something to the table function (`headers(..)`), stay as they are.

use std::ops::ControlFlow;

use arrow::datatypes::DataType;
use boundary::error::{Error, ErrorKind};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Expr as PlanExpr, LogicalPlan};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, ObjectName, Query, SelectItem, SetExpr, TableFactor,
    VisitMut, VisitorMut,
};
use model::ErrorCode;
use sql::dialect::name_of;

/// Table functions whose arguments are queries, rows or conditions.
const OWN_ARGUMENTS: &[&str] = &["view", "values"];

/// Calls that are arguments themselves.
const MEANT_AS_THEY_ARE: &[&str] =
    &["headers", "extra_credentials", "equals", "tuple", "array", "currentDatabase", "REGEXP", "COLUMNS"];

/// The first argument of a query that is to be computed.
pub fn first(query: &Query) -> Option<Expr> {
    let mut visit = Visit { found: None, value: None };
    let mut copy = query.clone();
    let _ = VisitMut::visit(&mut copy, &mut visit);
    visit.found
}

/// The query with a value in the place of that argument.
pub fn with_value(mut query: Query, value: Expr) -> Query {
    let mut visit = Visit { found: None, value: Some(value) };
    let _ = VisitMut::visit(&mut query, &mut visit);
    query
}

/// The value that a planned SELECT of one constant gives, as a literal.
///
/// # Errors
/// It is no constant.
pub fn literal_of(plan: &LogicalPlan) -> Result<Expr, Error> {
    let expr = match plan {
        LogicalPlan::Projection(projection) => projection.expr.first(),
        LogicalPlan::Values(values) => values.values.first().and_then(|row| row.first()),
        _ => None,
    };
    let mut expr = expr;
    while let Some(PlanExpr::Alias(alias)) = expr {
        expr = Some(&alias.expr);
    }
    let Some(PlanExpr::Literal(value, _)) = expr else { return Err(not_constant()) };
    match value {
        ScalarValue::Utf8(Some(text))
        | ScalarValue::Utf8View(Some(text))
        | ScalarValue::LargeUtf8(Some(text)) => Ok(sql::dialect::text(text.as_str())),
        number if number.data_type().is_numeric() && !number.is_null() => {
            let shown = number.cast_to(&DataType::Utf8)?;
            Ok(sql::dialect::number(shown.try_as_str().flatten().unwrap_or_default()))
        }
        _ => Err(not_constant()),
    }
}

fn not_constant() -> Error {
    let message = "an argument of a table function is not a constant text or number";
    Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message)
}

struct Visit {
    found: Option<Expr>,
    /// Put in the place of what is found.
    value: Option<Expr>,
}

impl VisitorMut for Visit {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        let TableFactor::Table { name, args: Some(args), .. } = factor else {
            return ControlFlow::Continue(());
        };
        if has_own_arguments(name) {
            return ControlFlow::Continue(());
        }
        for arg in &mut args.args {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = arg else { continue };
            let expr = match expr {
                // `structure = concat(..)`.
                Expr::BinaryOp { op: BinaryOperator::Eq, right, .. } => right.as_mut(),
                other => other,
            };
            if is_computed(expr) {
                self.found = Some(expr.clone());
                if let Some(value) = self.value.take() {
                    *expr = value;
                }
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }
}

fn has_own_arguments(name: &ObjectName) -> bool {
    let name = name.to_string();
    OWN_ARGUMENTS.iter().any(|own| name.eq_ignore_ascii_case(own))
}

/// Whether an argument is a call of a scalar function, or an operator with one in it.
fn is_computed(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_computed(inner),
        Expr::Function(call) => {
            let name = name_of(call);
            let is_meant = MEANT_AS_THEY_ARE.iter().any(|meant| name.eq_ignore_ascii_case(meant));
            !is_meant && (name == "CAST" || functions::lookup(&name).is_some())
        }
        Expr::BinaryOp { left, right, .. } => is_computed(left) || is_computed(right),
        _ => false,
    }
}

/// `SELECT argument`.
///
/// # Errors
/// None that a user can cause.
pub fn query_of(argument: Expr) -> Result<sql::Query, Error> {
    let mut query = sql::parse_query("SELECT 1")?;
    if let SetExpr::Select(select) = query.body.as_mut() {
        select.projection = vec![SelectItem::UnnamedExpr(argument)];
    }
    Ok(sql::Query::from(Box::new(query)))
}
