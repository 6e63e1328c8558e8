//! ClickHouse's aggregate functions: DataFusion's accumulators with ClickHouse's names, types and empty results.
//!
//! Invariant: no name is given to two functions, so that re-registering them in any order gives the same session.

mod collected;
mod definition;
mod finish;
mod per_group;
mod float_extreme;
mod float_window;
mod framed;
mod nested_extreme;
pub(crate) mod own;
mod quantile;
pub(crate) mod combined;
mod table;
mod wide_sum;
mod wrapped;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::functions_aggregate;
use datafusion::logical_expr::expr::{AggregateFunction, Sort, WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::planner::{PlannerResult, RawAggregateExpr, RawWindowExpr};
use datafusion::logical_expr::{AggregateUDF, Expr, WindowFunctionDefinition};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, Literal};

use model::ColumnType;

use crate::scalar::adapter::call;
use combined::Combined;
use framed::Framed;
use own::Own;
use quantile::Quantile;
use table::TABLE;
use wrapped::Wrapped;

static ALL: LazyLock<Vec<Arc<AggregateUDF>>> = LazyLock::new(|| {
    let wrapped = TABLE.iter().map(|definition| AggregateUDF::from(Wrapped::new(definition)));
    let quantiles = quantile::TABLE
        .iter()
        .map(|(name, aliases, pick, several)| Quantile::new(name, aliases, *pick, *several));
    let quantiles = quantiles.map(AggregateUDF::from);
    let own = functions::aggregates::all().iter().map(|function| AggregateUDF::from(Own::new(function)));
    wrapped.chain(quantiles).chain(own).map(Arc::new).collect()
});

static BY_NAME: LazyLock<HashMap<&'static str, &'static Arc<AggregateUDF>>> =
    LazyLock::new(|| ALL.iter().map(|udaf| (udaf.name(), udaf)).collect());

/// Every aggregate function to register.
pub(crate) fn all() -> Vec<Arc<AggregateUDF>> {
    let mut all = ALL.clone();
    // GROUPING SETS need it; it is resolved before anything runs.
    all.push(functions_aggregate::grouping::grouping_udaf());
    all.push(functions_aggregate::nth_value::nth_value_udaf());
    all.push(Arc::new(AggregateUDF::from(Combined::default())));
    all
}

/// An aggregate function of ours.
pub(crate) fn named(name: &str) -> Result<Arc<AggregateUDF>> {
    match BY_NAME.get(name) {
        Some(udaf) => Ok(Arc::clone(udaf)),
        None => internal_err!("there is no aggregate function {name}"),
    }
}

/// Names, aliases and documentation, for the reference.
pub(crate) fn documentation() -> Vec<AggregateDoc> {
    let table = TABLE.iter().map(|definition| AggregateDoc {
        name: definition.name,
        aliases: definition.aliases.to_vec(),
        any_case: definition.any_case,
        syntax: definition.syntax,
        description: definition.description,
        example: definition.example,
    });
    let quantiles = quantile::TABLE.iter().map(|(name, aliases, _, several)| AggregateDoc {
        name,
        aliases: aliases.to_vec(),
        any_case: false,
        syntax: if *several { "quantiles(level, ...)(x)" } else { "quantile[(level)](x)" },
        description: if *several {
            "The values at these levels."
        } else {
            "The value at a level; 0.5 if none is given."
        },
        example: if *several { "quantiles(0.5, 0.9)(price)" } else { "quantile(0.9)(price)" },
    });
    let own = functions::aggregates::all().iter().map(|function| AggregateDoc {
        name: function.name,
        aliases: function.aliases.to_vec(),
        any_case: function.case_insensitive,
        syntax: function.doc.signature,
        description: function.doc.description,
        example: function.doc.example,
    });
    table.chain(quantiles).chain(own).collect()
}

/// One row of [`documentation`].
pub(crate) struct AggregateDoc {
    pub(crate) name: &'static str,
    pub(crate) aliases: Vec<&'static str>,
    pub(crate) any_case: bool,
    pub(crate) syntax: &'static str,
    pub(crate) description: &'static str,
    pub(crate) example: &'static str,
}

/// Replaces calls that are other aggregates in disguise.
pub(crate) fn plan(mut expr: RawAggregateExpr) -> Result<PlannerResult<RawAggregateExpr>> {
    if let Some(func) = combined::bound(&expr.func, &mut expr.args)? {
        return Ok(PlannerResult::Original(RawAggregateExpr { func, ..expr }));
    }
    if let Some(func) = own::bound(&expr.func, &mut expr.args) {
        return Ok(PlannerResult::Original(RawAggregateExpr { func, ..expr }));
    }
    match expr.func.name() {
        "uniqExact" => Ok(PlannerResult::Planned(count_distinct(expr)?)),
        "count" if expr.distinct && expr.args.len() > 1 => Ok(PlannerResult::Planned(count_distinct(expr)?)),
        "argMin" | "argMax" if expr.args.len() == 2 => Ok(PlannerResult::Planned(extreme(expr)?)),
        "avgWeighted" if expr.args.len() == 2 => Ok(PlannerResult::Planned(weighted(expr)?)),
        "uniq" if expr.args.len() > 1 => {
            let filter = with_values(&expr.args, expr.filter);
            let args = vec![call("toString", vec![call("tuple", expr.args)?])?];
            Ok(PlannerResult::Original(RawAggregateExpr { args, filter, ..expr }))
        }
        "groupConcat" if expr.args.len() == 1 => {
            let mut args = expr.args;
            args.push(Expr::Literal(ScalarValue::Utf8View(Some(String::new())), None));
            Ok(PlannerResult::Original(RawAggregateExpr { args, ..expr }))
        }
        _ => Ok(PlannerResult::Original(expr)),
    }
}

/// The same over a window, where rows have an order already.
pub(crate) fn plan_window(mut expr: RawWindowExpr) -> Result<PlannerResult<RawWindowExpr>> {
    if let WindowFunctionDefinition::AggregateUDF(func) = &expr.func_def {
        match func.name() {
            name @ ("argMin" | "argMax") if expr.args.len() == 2 => {
                let best = combined::by_best(name, named("any")?, name == "argMax");
                // Rows with a NULL in any argument are none.
                expr.filter = with_values(&expr.args[..1], expr.filter);
                expr.func_def = WindowFunctionDefinition::AggregateUDF(best);
                return Ok(PlannerResult::Original(expr));
            }
            "avgWeighted" if expr.args.len() == 2 => {
                return Ok(PlannerResult::Planned(weighted_over(expr)?));
            }
            _ => {}
        }
        let bound = match combined::bound(func, &mut expr.args)? {
            Some(func) => Some(func),
            None => own::bound(func, &mut expr.args),
        };
        if let Some(func) = bound {
            expr.func_def = WindowFunctionDefinition::AggregateUDF(func);
        }
    }
    Ok(PlannerResult::Original(expr))
}

/// The aggregate as it is over frames of a window; as it is where that cannot be told from these arguments.
pub(crate) fn over_frames(
    func: &Arc<AggregateUDF>,
    args: &[Expr],
    fields: Vec<FieldRef>,
) -> Arc<AggregateUDF> {
    if func.inner().is::<Framed>() {
        return Arc::clone(func);
    }
    match value_of_nothing(func, args, fields) {
        Ok(nothing) => Arc::new(AggregateUDF::from(Framed::new(Arc::clone(func), nothing))),
        Err(_) => Arc::clone(func),
    }
}

/// What an aggregate of such arguments gives over no rows.
fn value_of_nothing(func: &AggregateUDF, args: &[Expr], fields: Vec<FieldRef>) -> Result<ScalarValue> {
    let layouts: Vec<DataType> = fields.iter().map(|field| field.data_type().clone()).collect();
    let wanted = func.inner().coerce_types(&layouts)?.into_iter();
    let fields: Vec<FieldRef> = wanted
        .zip(fields)
        .map(|(wanted, field)| match *field.data_type() == wanted {
            true => field,
            false => Arc::new(Field::new(field.name(), wanted, field.is_nullable())),
        })
        .collect();
    let exprs = args.iter().zip(&fields).enumerate().map(|(at, (arg, field))| match arg {
        Expr::Literal(value, _) => Arc::new(Literal::new(value.clone())) as Arc<dyn PhysicalExpr>,
        _ => Arc::new(Column::new(field.name(), at)) as Arc<dyn PhysicalExpr>,
    });
    let mut accumulator = func.accumulator(AccumulatorArgs {
        return_field: func.return_field(&fields)?,
        schema: &Schema::new(fields.clone()),
        ignore_nulls: false,
        order_bys: &[],
        is_reversed: false,
        name: func.name(),
        is_distinct: false,
        exprs: &exprs.collect::<Vec<_>>(),
        expr_fields: &fields,
    })?;
    accumulator.evaluate()
}

/// The aggregate of nothing but NULLs.
pub(crate) fn nothing_of() -> Arc<AggregateUDF> {
    functions_aggregate::min_max::max_udaf()
}

/// Refuses arguments of types that are no numbers, although their layout is one's.
pub(crate) fn check_arguments(func: &AggregateUDF, types: &[ColumnType]) -> Result<()> {
    func.inner().downcast_ref::<Wrapped>().map_or(Ok(()), |wrapped| wrapped.check_numbers(types))
}

/// Whether its arguments are numbers that it takes as Float64.
pub(crate) fn takes_floats(func: &AggregateUDF) -> bool {
    let inner = func.inner();
    inner.downcast_ref::<Wrapped>().is_some_and(Wrapped::takes_floats)
        || inner.downcast_ref::<Quantile>().is_some_and(|quantile| !quantile.keeps_type())
}

/// DataFusion turns a distinct count into two steps of grouping, which is its fastest way.
fn count_distinct(expr: RawAggregateExpr) -> Result<Expr> {
    let (args, filter) = match expr.args.len() {
        0 | 1 => (expr.args, expr.filter),
        _ => {
            // A tuple is never NULL, and rows with a NULL are none.
            let filter = with_values(&expr.args, expr.filter);
            (vec![call("tuple", expr.args)?], filter)
        }
    };
    let count = named("count")?;
    Ok(Expr::AggregateFunction(AggregateFunction::new_udf(count, args, true, filter, vec![], None)))
}

/// The filter that also leaves out rows in which one of these is NULL.
fn with_values(args: &[Expr], filter: Option<Box<Expr>>) -> Option<Box<Expr>> {
    let tests = args.iter().map(|arg| Expr::IsNotNull(Box::new(arg.clone())));
    let all = filter.map(|filter| *filter).into_iter().chain(tests);
    all.reduce(Expr::and).map(Box::new)
}

/// `argMin(x, by)` is the first x ordered by `by`.
fn extreme(expr: RawAggregateExpr) -> Result<Expr> {
    let is_max = expr.func.name() == "argMax";
    let mut args = expr.args;
    let by = args.pop().unwrap_or(Expr::Literal(ScalarValue::Null, None));
    let order = vec![Sort::new(by, !is_max, false)];
    let any = named("any")?;
    Ok(Expr::AggregateFunction(AggregateFunction::new_udf(any, args, false, expr.filter, order, None)))
}

fn weighted(expr: RawAggregateExpr) -> Result<Expr> {
    let sum = named("sum")?;
    let weight = expr.args.get(1).cloned().unwrap_or(Expr::Literal(ScalarValue::Null, None));
    // Rows with a NULL in any argument are none.
    let filter = with_values(&expr.args, expr.filter);
    let of = |arg: Expr| {
        let sum = Arc::clone(&sum);
        Expr::AggregateFunction(AggregateFunction::new_udf(
            sum,
            vec![arg],
            false,
            filter.clone(),
            vec![],
            None,
        ))
    };
    call("divide", vec![of(call("multiply", expr.args)?), of(weight)])
}

/// `avgWeighted` over a window.
fn weighted_over(expr: RawWindowExpr) -> Result<Expr> {
    let sum = named("sum")?;
    let weight = expr.args.get(1).cloned().unwrap_or(Expr::Literal(ScalarValue::Null, None));
    let filter = with_values(&expr.args, expr.filter);
    let product = call("multiply", expr.args)?;
    let of = |arg: Expr| {
        let fun = WindowFunctionDefinition::AggregateUDF(Arc::clone(&sum));
        let params = WindowFunctionParams {
            args: vec![arg],
            partition_by: expr.partition_by.clone(),
            order_by: expr.order_by.clone(),
            window_frame: expr.window_frame.clone(),
            filter: filter.clone(),
            null_treatment: expr.null_treatment,
            distinct: false,
        };
        Expr::WindowFunction(Box::new(WindowFunction { fun, params }))
    };
    call("divide", vec![of(product), of(weight)])
}
