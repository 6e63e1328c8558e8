//! How the planner reads operators: arithmetic becomes our functions, comparisons stay DataFusion's.
//!
//! Invariant: an operator that our functions do not know is left to the next planner. Must not know: the session,
//! which the planner is not told; what depends on it is done by `analyzer`.

use arrow::datatypes::{DataType, Field};
use datafusion::common::{Column, DFSchema, Result, ScalarValue, TableReference};
use datafusion::functions::core::get_field;
use datafusion::logical_expr::planner::{
    ExprPlanner, PlannerResult, RawAggregateExpr, RawBinaryExpr, RawDictionaryExpr, RawFieldAccessExpr,
    RawWindowExpr,
};
use datafusion::logical_expr::{Expr, ExprSchemable, GetFieldAccess, Operator};
use functions::{CastMode, SessionValues};
use model::type_name::parse;
use model::{ColumnType, TupleElement};
use sqlparser::ast::BinaryOperator;

use super::comparison::{as_predicate, as_value, compare};
use super::distinct::compared;
use crate::aggregate;
use crate::scalar::adapter::{call, lookup};
use aggregates::typing::{convert, literal, type_of, type_of_field};

#[derive(Debug)]
pub(crate) struct Operators;

/// The function behind an operator.
fn function_of(op: &BinaryOperator) -> Option<&'static str> {
    Some(match op {
        BinaryOperator::Plus => "plus",
        BinaryOperator::Minus => "minus",
        BinaryOperator::Multiply => "multiply",
        BinaryOperator::Divide => "divide",
        BinaryOperator::Modulo => "modulo",
        BinaryOperator::DuckIntegerDivide | BinaryOperator::MyIntegerDivide => "intDiv",
        BinaryOperator::StringConcat => "concat",
        BinaryOperator::Xor => "xor",
        _ => return None,
    })
}

fn comparison_of(op: &BinaryOperator) -> Option<Operator> {
    Some(match op {
        BinaryOperator::Eq => Operator::Eq,
        BinaryOperator::NotEq => Operator::NotEq,
        BinaryOperator::Lt => Operator::Lt,
        BinaryOperator::LtEq => Operator::LtEq,
        BinaryOperator::Gt => Operator::Gt,
        BinaryOperator::GtEq => Operator::GtEq,
        _ => return None,
    })
}

/// Whether DataFusion has no type for the two sides of `<=>`, for which it asks before the rules see them.
fn is_bool_beside_other(left: &Expr, right: &Expr, schema: &DFSchema) -> Result<bool> {
    let (left, right) = (left.get_type(schema)?, right.get_type(schema)?);
    let is_bool = |layout: &DataType| *layout == DataType::Boolean;
    Ok(is_bool(&left) != is_bool(&right) && !left.is_null() && !right.is_null())
}

impl ExprPlanner for Operators {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let RawBinaryExpr { op, left, right } = expr;
        if let Some(name) = function_of(&op).filter(|name| lookup(name).is_some()) {
            let args = with_moment(name, vec![interval(left)?, interval(right)?], schema)?;
            let args = match of_tuples(name, args, schema) {
                Ok((name, args)) => return Ok(PlannerResult::Planned(call(name, args)?)),
                Err(args) => args,
            };
            return Ok(PlannerResult::Planned(call(name, args)?));
        }
        // A side whose type is not known yet is left for the rules.
        let known = left.get_type(schema).is_ok() && right.get_type(schema).is_ok();
        if let Some(op) = comparison_of(&op).filter(|_| known) {
            return Ok(PlannerResult::Planned(compare(left, op, right, schema, None)?));
        }
        if op == BinaryOperator::Spaceship && known && is_bool_beside_other(&left, &right, schema)? {
            let (left, right) = (as_value(left, schema)?, as_value(right, schema)?);
            let same = compared(left, Operator::IsNotDistinctFrom, right, schema, None)?;
            return Ok(PlannerResult::Planned(same));
        }
        if matches!(op, BinaryOperator::And | BinaryOperator::Or) && known {
            let (left, right) = (as_predicate(left, schema)?, as_predicate(right, schema)?);
            return Ok(PlannerResult::Original(RawBinaryExpr { op, left, right }));
        }
        Ok(PlannerResult::Original(RawBinaryExpr { op, left, right }))
    }

    fn plan_field_access(
        &self,
        expr: RawFieldAccessExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        let RawFieldAccessExpr { field_access, expr } = expr;
        let is_tuple = matches!(expr.get_type(schema)?, DataType::Struct(_));
        match field_access {
            GetFieldAccess::NamedStructField { name } if is_tuple => {
                if type_of(&expr, schema)?.is_nullable() {
                    return Ok(PlannerResult::Planned(call(
                        "tupleElement",
                        vec![expr, Expr::Literal(name, None)],
                    )?));
                }
                Ok(PlannerResult::Planned(get_field().call(vec![expr, Expr::Literal(name, None)])))
            }
            GetFieldAccess::NamedStructField { name } if lookup("arrayElement").is_some() => {
                Ok(PlannerResult::Planned(call("arrayElement", vec![expr, Expr::Literal(name, None)])?))
            }
            GetFieldAccess::ListIndex { key } if lookup("arrayElement").is_some() => {
                Ok(PlannerResult::Planned(call("arrayElement", vec![expr, *key])?))
            }
            field_access => Ok(PlannerResult::Original(RawFieldAccessExpr { field_access, expr })),
        }
    }

    fn plan_array_literal(&self, exprs: Vec<Expr>, _schema: &DFSchema) -> Result<PlannerResult<Vec<Expr>>> {
        match lookup("array") {
            Some(_) => Ok(PlannerResult::Planned(call("array", exprs)?)),
            None => Ok(PlannerResult::Original(exprs)),
        }
    }

    fn plan_make_map(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        match lookup("map") {
            Some(_) => Ok(PlannerResult::Planned(call("map", args)?)),
            None => Ok(PlannerResult::Original(args)),
        }
    }

    /// `{'UInt8': '1'}` is how the rewrite writes a literal of a type.
    fn plan_dictionary_literal(
        &self,
        expr: RawDictionaryExpr,
        _schema: &DFSchema,
    ) -> Result<PlannerResult<RawDictionaryExpr>> {
        let ([Expr::Literal(name, _)], [Expr::Literal(text, _)]) =
            (expr.keys.as_slice(), expr.values.as_slice())
        else {
            return Ok(PlannerResult::Original(expr));
        };
        let Some(to) = name.try_as_str().flatten().and_then(|name| parse(name).ok()) else {
            return Ok(PlannerResult::Original(expr));
        };
        let array = convert(text, &ColumnType::String, &to, CastMode::Strict, &SessionValues::default())?;
        Ok(PlannerResult::Planned(literal(&array, &to)?))
    }

    fn plan_struct_literal(
        &self,
        args: Vec<Expr>,
        is_named_struct: bool,
    ) -> Result<PlannerResult<Vec<Expr>>> {
        match lookup("tuple") {
            Some(_) if !is_named_struct => Ok(PlannerResult::Planned(call("tuple", args)?)),
            _ => Ok(PlannerResult::Original(args)),
        }
    }

    fn plan_compound_identifier(
        &self,
        field: &Field,
        qualifier: Option<&TableReference>,
        nested_names: &[String],
    ) -> Result<PlannerResult<Vec<Expr>>> {
        let column = Expr::Column(Column::from((qualifier, &std::sync::Arc::new(field.clone()))));
        if let [name] = nested_names
            && let Some(part) = subcolumn(&column, &type_of_field(field), name)?
        {
            return Ok(PlannerResult::Planned(part));
        }
        let (mut part, mut of) = (column, type_of_field(field));
        for (at, name) in nested_names.iter().enumerate() {
            let rest = nested_names[at..].join(".");
            if !has_element(&of, name) && functions::subcolumn_type(&of, &rest).is_some() {
                let path = Expr::Literal(ScalarValue::from(rest.as_str()), None);
                return Ok(PlannerResult::Planned(call("getSubcolumn", vec![part, path])?));
            }
            let args = vec![part, Expr::Literal(ScalarValue::from(name.as_str()), None)];
            // Elements of tuples in arrays are arrays of them, those of a tuple that is NULL are NULL.
            let is_field = match &of {
                ColumnType::Array(_) => false,
                ColumnType::Nullable(inner) => !matches!(**inner, ColumnType::Tuple(_)),
                _ => true,
            };
            part = if is_field { get_field().call(args) } else { call("tupleElement", args)? };
            of = functions::subcolumn_type(&of, name).unwrap_or(ColumnType::Nothing);
        }
        Ok(PlannerResult::Planned(part))
    }

    fn plan_aggregate(&self, expr: RawAggregateExpr) -> Result<PlannerResult<RawAggregateExpr>> {
        aggregate::plan(expr)
    }

    fn plan_window(&self, expr: RawWindowExpr) -> Result<PlannerResult<RawWindowExpr>> {
        aggregate::plan_window(expr)
    }
}

/// Whether tuples of a type, or those in arrays, have an element of that name.
fn has_element(of: &ColumnType, name: &str) -> bool {
    match of {
        ColumnType::Tuple(elements) => elements.iter().any(|element| element.name.as_deref() == Some(name)),
        ColumnType::Array(inner) | ColumnType::Nullable(inner) => has_element(inner, name),
        _ => false,
    }
}

/// `map.keys`, `array.size0`, `nullable.null`: what a column is kept in, by ClickHouse's names.
fn subcolumn(column: &Expr, column_type: &ColumnType, name: &str) -> Result<Option<Expr>> {
    let of = |function: &str, expr: Expr| call(function, vec![expr]);
    let column = column.clone();
    Ok(Some(match (column_type, name) {
        (ColumnType::Map(..), "keys") => of("mapKeys", column)?,
        (ColumnType::Map(..), "values") => of("mapValues", column)?,
        (ColumnType::Map(..) | ColumnType::Array(_), "size0") => of("length", column)?,
        (ColumnType::Nullable(_), "null") => of("isNull", column)?,
        _ => return Ok(None),
    }))
}

/// Whether it is the one part of an interval.
fn is_interval_part(part: &TupleElement) -> bool {
    part.name.as_deref().is_some_and(|name| name.starts_with("Interval"))
}

/// Whether it is a tuple of values; an interval is one of a name of its own.
fn is_tuple(expr: &Expr, schema: &DFSchema) -> bool {
    match type_of(expr, schema) {
        Ok(ColumnType::Tuple(parts)) => !parts.is_empty() && !parts.iter().any(is_interval_part),
        _ => false,
    }
}

fn is_interval(expr: &Expr, schema: &DFSchema) -> bool {
    matches!(type_of(expr, schema), Ok(ColumnType::Tuple(parts)) if parts.iter().any(is_interval_part))
}

fn is_text(expr: &Expr, schema: &DFSchema) -> bool {
    type_of(expr, schema).is_ok_and(|column_type| *column_type.value_type() == ColumnType::String)
}

/// The sides of an operator, where a text beside an interval is the moment that is written there.
fn with_moment(name: &str, mut args: Vec<Expr>, schema: &DFSchema) -> Result<Vec<Expr>> {
    let place = match (name, args.as_slice()) {
        ("plus" | "minus", [text, moved]) if is_interval(moved, schema) && is_text(text, schema) => 0,
        ("plus", [moved, text]) if is_interval(moved, schema) && is_text(text, schema) => 1,
        _ => return Ok(args),
    };
    let text = args.remove(place);
    args.insert(place, call("parseDateTime64BestEffort", vec![text])?);
    Ok(args)
}

/// The function of tuples behind an operator, with its arguments in order; else the arguments as they are.
fn of_tuples(
    name: &str,
    mut args: Vec<Expr>,
    schema: &DFSchema,
) -> std::result::Result<(&'static str, Vec<Expr>), Vec<Expr>> {
    let [left, right] = args.as_slice() else { return Err(args) };
    let function = match (name, is_tuple(left, schema), is_tuple(right, schema)) {
        ("plus", true, true) => "tuplePlus",
        ("minus", true, true) => "tupleMinus",
        ("multiply", true, true) => "dotProduct",
        ("multiply", true, false) => "tupleMultiplyByNumber",
        ("multiply", false, true) => {
            args.reverse();
            "tupleMultiplyByNumber"
        }
        ("divide", true, false) => "tupleDivideByNumber",
        ("intDiv", true, false) => "tupleIntDivByNumber",
        ("modulo", true, false) => "tupleModuloByNumber",
        _ => return Err(args),
    };
    Ok((function, args))
}

/// `INTERVAL '1' DAY` as our interval.
fn interval(expr: Expr) -> Result<Expr> {
    let Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(value)), _) = &expr else { return Ok(expr) };
    const NANOS_PER_SECOND: i64 = 1_000_000_000;
    let (name, amount) = match (value.months, value.days, value.nanoseconds) {
        (months, 0, 0) if months != 0 => ("toIntervalMonth", i64::from(months)),
        (0, days, 0) if days != 0 => ("toIntervalDay", i64::from(days)),
        (0, 0, nanos) if nanos % NANOS_PER_SECOND == 0 => ("toIntervalSecond", nanos / NANOS_PER_SECOND),
        _ => return Ok(expr),
    };
    if lookup(name).is_none() {
        return Ok(expr);
    }
    call(name, vec![Expr::Literal(ScalarValue::Int64(Some(amount)), None)])
}
