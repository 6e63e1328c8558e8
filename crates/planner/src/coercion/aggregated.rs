//! Aggregate functions with arguments of ClickHouse's types.
//!
//! Invariant: what an aggregate gives over a NULL without a type is decided here, before any row is read.

use aggregates::arranged::{arranged, arranged_of_different, is_blind_to_different, shows_order};
use aggregates::row_bytes::is_counted_as_bytes;
use arrow::compute::SortOptions;
use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::{AggregateUDF, Expr, ExprSchemable, SortExpr};
use model::ColumnType;
use model::type_arrow::from_data_type;

use super::comparison::{as_value, cast_to};
use super::sort_keys::sort_keys;
use crate::scalar::adapter::call;
use crate::scalar::row_bytes::bytes_of;
use aggregates::typing::type_of;
use aggregates::{check_arguments, nothing_of, takes_floats};

pub(crate) fn typed_aggregate(mut function: AggregateFunction, schema: &DFSchema) -> Result<Expr> {
    function.params.args = values(function.params.args, schema)?;
    let types = types_of(&function.params.args, schema)?;
    // ClickHouse's aggregates of a NULL without a type are that NULL; counts are 0.
    if types.contains(&ColumnType::Nothing) && !is_count(function.func.name()) {
        function.params.args = vec![Expr::Literal(ScalarValue::Null, None)];
        (function.func, function.params.distinct) = (nothing_of(), false);
        return Ok(Expr::AggregateFunction(function));
    }
    // argMin and argMax, of rows that have what they are ordered by: there may be none.
    if let ("any", [by], [of]) = (function.func.name(), &function.params.order_by[..], &types[..])
        && function.params.null_treatment.is_none()
        && type_of(&by.expr, schema)?.is_nullable()
    {
        let is_there = Expr::IsNotNull(Box::new(by.expr.clone()));
        let filter = function.params.filter.take();
        function.params.filter = Some(Box::new(match filter {
            Some(filter) => filter.and(is_there),
            None => is_there,
        }));
        function.params.args = vec![or_null(function.params.args.remove(0), of)?];
    }
    function.params.order_by = sort_keys(function.params.order_by, schema)?;
    let of_different = function.params.distinct && is_blind_to_different(&function.func);
    if !of_different && !function.params.order_by.is_empty() && shows_order(&function.func) {
        let (keys, options) = keys_of(&mut function);
        function.func = arranged(function.func, options);
        function.params.args.extend(keys);
        return Ok(Expr::AggregateFunction(function));
    }
    check_arguments(&function.func, &types_of(&function.params.args, schema)?)?;
    if takes_floats(&function.func) {
        function.params.args = floats(function.params.args, schema)?;
    }
    if let ("count", true, [counted]) =
        (function.func.name(), function.params.distinct, function.params.args.as_slice())
        && is_counted_as_bytes(&counted.get_type(schema)?)
    {
        function.params.args = vec![bytes_of(function.params.args.remove(0))];
    }
    if function.func.name() == "groupConcat" {
        function.params.args = joined(function.params.args, schema)?;
    }
    function.params.args = constants_as_taken(function.params.args, &function.func, schema)?;
    if of_different {
        let (keys, options) = keys_of(&mut function);
        function.params.distinct = false;
        function.func = arranged_of_different(function.func, options);
        function.params.args.extend(keys);
    }
    Ok(Expr::AggregateFunction(function))
}

/// The keys of an aggregate, which it gives away, and how it is sorted by each.
fn keys_of(function: &mut AggregateFunction) -> (Vec<Expr>, Vec<SortOptions>) {
    let keys = std::mem::take(&mut function.params.order_by);
    let options = |key: &SortExpr| SortOptions { descending: !key.asc, nulls_first: key.nulls_first };
    let options = keys.iter().map(options).collect();
    (keys.into_iter().map(|key| key.expr).collect(), options)
}

/// Constants that may be NULL in the layouts that the aggregate takes: DataFusion's cast of one forgets that it may be NULL, and so
/// would a result over no rows.
fn constants_as_taken(args: Vec<Expr>, func: &AggregateUDF, schema: &DFSchema) -> Result<Vec<Expr>> {
    let is_constant = |arg: &Expr| arg.column_refs().is_empty() && !arg.is_volatile();
    if !args.iter().any(is_constant) {
        return Ok(args);
    }
    let layouts = args.iter().map(|arg| arg.get_type(schema)).collect::<Result<Vec<DataType>>>()?;
    let Ok(taken) = func.inner().coerce_types(&layouts) else { return Ok(args) };
    let converted = args.into_iter().zip(layouts).zip(taken).map(|((arg, layout), taken)| {
        let differs = layout != taken && layout != DataType::Null;
        if differs && is_constant(&arg) && type_of(&arg, schema)?.is_nullable() {
            return cast_to(arg, &from_data_type(&taken).nullable());
        }
        Ok(arg)
    });
    converted.collect()
}

fn is_count(aggregate: &str) -> bool {
    aggregate.starts_with("count") || aggregate.starts_with("uniq")
}

/// A value that may be NULL, which it is where no row has what it is looked for by.
pub(super) fn or_null(value: Expr, of: &ColumnType) -> Result<Expr> {
    if of.is_nullable() || !can_be_nullable(of.value_type()) {
        return Ok(value);
    }
    cast_to(value, &of.value_type().clone().nullable())
}

fn can_be_nullable(column_type: &ColumnType) -> bool {
    !matches!(column_type, ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::Tuple(_))
}

pub(crate) fn types_of(args: &[Expr], schema: &DFSchema) -> Result<Vec<ColumnType>> {
    args.iter().map(|arg| type_of(arg, schema)).collect()
}

pub(crate) fn values(args: Vec<Expr>, schema: &DFSchema) -> Result<Vec<Expr>> {
    args.into_iter().map(|arg| as_value(arg, schema)).collect()
}

/// Wide integers as Float64, which DataFusion's accumulators cannot make of them.
pub(super) fn floats(args: Vec<Expr>, schema: &DFSchema) -> Result<Vec<Expr>> {
    let float = |arg: Expr| {
        let is_wide = type_of(&arg, schema)?.is_wide_integer();
        if is_wide { call("toFloat64", vec![arg]) } else { Ok(arg) }
    };
    args.into_iter().map(float).collect()
}

/// What is joined to one text is text, and stays NULL.
pub(super) fn joined(mut args: Vec<Expr>, schema: &DFSchema) -> Result<Vec<Expr>> {
    if let Some(value) = args.first_mut()
        && !type_of(value, schema)?.is_string()
    {
        *value = call("toString", vec![value.clone()])?;
    }
    Ok(args)
}
