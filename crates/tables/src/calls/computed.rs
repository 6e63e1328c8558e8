//! Arguments of table functions that have to be computed: `numbers(toUInt64(5))`, `file(concat(a, '.csv'))`.
//!
//! Invariant: only calls of scalar functions and operators over constants are computed, each as a SELECT of its own before
//! the query is planned; names, and calls that mean something to the table function (`headers(..)`), stay as they are. A call
//! outside of a query, as INSERT INTO FUNCTION has it, is computed as one that a query reads.

use std::ops::ControlFlow;

use arrow::datatypes::DataType;
use boundary::error::{Error, ErrorKind};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Expr as PlanExpr, LogicalPlan};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, Ident, ObjectName, Query, SelectItem,
    SetExpr, TableFactor, TableFunctionArgs, VisitMut, VisitorMut,
};
use model::ErrorCode;
use sql::dialect::name_of;

/// Table functions whose arguments are queries, rows or conditions.
const OWN_ARGUMENTS: &[&str] = &["view", "values"];

/// Calls that are arguments themselves.
const MEANT_AS_THEY_ARE: &[&str] =
    &["headers", "extra_credentials", "equals", "tuple", "array", "REGEXP", "COLUMNS"];
/// Of `merge(currentDatabase(), ..)`, too.
const CURRENT_DATABASE: &[&str] = &["currentDatabase", "database"];

/// `SELECT * FROM call`, in which its arguments can be computed; `None` where there are none to compute.
///
/// # Errors
/// It has no list of arguments.
pub fn query_over(call: &Function) -> Result<Option<sql::Query>, Error> {
    let (name, args) = sql::arguments_of(call)?;
    let mut query = sql::parse_query("SELECT * FROM f()")?;
    if let Some(factor) = factor_of(&mut query)
        && let TableFactor::Table { name: named, args: written, .. } = factor
    {
        *named = ObjectName::from(vec![Ident::new(name)]);
        *written = Some(TableFunctionArgs { args, settings: None });
    }
    Ok(first(&query).is_some().then(|| sql::Query::from(Box::new(query))))
}

/// The call that such a query reads.
///
/// # Errors
/// Not all of its arguments are constants.
pub fn call_of(mut query: Query) -> Result<sql::TableFunctionCall, Error> {
    match factor_of(&mut query) {
        Some(TableFactor::Table { name, args: Some(args), .. }) => {
            let name = name.to_string().replace('`', "");
            Ok(sql::written_call(&sql::WrittenCall { name: &name, arguments: &args.args })?)
        }
        _ => Err(not_constant()),
    }
}

fn factor_of(query: &mut Query) -> Option<&mut TableFactor> {
    match query.body.as_mut() {
        SetExpr::Select(select) => select.from.first_mut().map(|from| &mut from.relation),
        _ => None,
    }
}

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
            if is_computed(expr, &name.to_string()) {
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

/// Whether an argument of a table function is a call of a scalar function, or an operator with one in it.
fn is_computed(expr: &Expr, table_function: &str) -> bool {
    match expr {
        Expr::Nested(inner) => is_computed(inner, table_function),
        Expr::Function(call) => {
            let is_one_of =
                |names: &[&str]| names.iter().any(|known| name_of(call).eq_ignore_ascii_case(known));
            let is_meant = is_one_of(MEANT_AS_THEY_ARE)
                || is_one_of(CURRENT_DATABASE) && table_function.eq_ignore_ascii_case("merge");
            !is_meant && is_scalar(call)
        }
        Expr::BinaryOp { op: BinaryOperator::StringConcat, .. } => true,
        Expr::BinaryOp { left, right, .. } => [left, right].into_iter().any(|side| match side.as_ref() {
            // Whatever the table function means by a call of that name, an operator takes its value.
            Expr::Function(call) => is_scalar(call),
            other => is_computed(other, table_function),
        }),
        _ => false,
    }
}

fn is_scalar(call: &Function) -> bool {
    let name = name_of(call);
    name == "CAST" || functions::lookup(&name).is_some()
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
