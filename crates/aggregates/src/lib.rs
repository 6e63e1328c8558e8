//! ClickHouse's aggregate functions: DataFusion's accumulators with ClickHouse's names, types and empty results, and their states
//! as values.
//!
//! Invariant: no name is given to two functions, so that re-registering them in any order gives the same session. Must not know:
//! statements, plans, scalar functions.

pub mod typing;
mod bytes;
mod kernels;
mod spare;
mod collected;
mod definition;
mod factory;
pub mod naming;
mod finish;
mod per_group;
mod float_extreme;
mod float_window;
mod framed;
mod nested_extreme;
pub mod own;
mod quantile;
pub mod combined;
mod table;
mod uniq;
mod wide_sum;
mod exact_average;
mod wrapped;
pub mod row_bytes;
pub mod states;
pub mod arranged;
pub mod scalars;
pub mod different;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::functions_aggregate;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{AggregateUDF, Expr};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, Literal};
use model::ColumnType;

use combined::Combined;
use framed::Framed;
use own::Own;
use quantile::Quantile;
use states::Stated;
use table::TABLE;
use uniq::Uniq;
use wrapped::Wrapped;

static ALL: LazyLock<Vec<Arc<AggregateUDF>>> = LazyLock::new(|| {
    let wrapped = TABLE.iter().map(|definition| AggregateUDF::from(Wrapped::new(definition)));
    let quantiles = quantile::TABLE
        .iter()
        .map(|(name, aliases, pick, several)| Quantile::new(name, aliases, *pick, *several));
    let quantiles = quantiles.map(AggregateUDF::from);
    let own = kernels::all().iter().map(|function| AggregateUDF::from(Own::new(function)));
    let uniq = std::iter::once(AggregateUDF::from(Uniq::default()));
    wrapped.chain(quantiles).chain(own).chain(uniq).map(Arc::new).collect()
});

static BY_NAME: LazyLock<HashMap<&'static str, &'static Arc<AggregateUDF>>> =
    LazyLock::new(|| ALL.iter().map(|udaf| (udaf.name(), udaf)).collect());

/// Every aggregate function to register.
pub fn all() -> Vec<Arc<AggregateUDF>> {
    let mut all = ALL.clone();
    // GROUPING SETS need it; it is resolved before anything runs.
    all.push(functions_aggregate::grouping::grouping_udaf());
    all.push(functions_aggregate::nth_value::nth_value_udaf());
    all.push(Arc::new(AggregateUDF::from(Combined::default())));
    all.push(Arc::new(AggregateUDF::from(Stated::default())));
    all
}

/// An aggregate function of ours.
pub fn named(name: &str) -> Result<Arc<AggregateUDF>> {
    match BY_NAME.get(name) {
        Some(udaf) => Ok(Arc::clone(udaf)),
        None => internal_err!("there is no aggregate function {name}"),
    }
}

/// Names, aliases and documentation, for the reference.
pub fn documentation() -> Vec<AggregateDoc> {
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
    let own = kernels::all().iter().map(|function| AggregateDoc {
        name: function.name,
        aliases: function.aliases.to_vec(),
        any_case: function.case_insensitive,
        syntax: function.doc.signature,
        description: function.doc.description,
        example: function.doc.example,
    });
    let uniq = std::iter::once(AggregateDoc {
        name: uniq::NAME,
        aliases: uniq::ALIASES.to_vec(),
        any_case: false,
        syntax: "uniq(x, ...)",
        description: "Number of different values, exact up to 65536 of them and within a percent or so beyond.",
        example: "uniq(user_id)",
    });
    table.chain(quantiles).chain(own).chain(uniq).collect()
}

/// One row of [`documentation`].
pub struct AggregateDoc {
    pub name: &'static str,
    pub aliases: Vec<&'static str>,
    pub any_case: bool,
    pub syntax: &'static str,
    pub description: &'static str,
    pub example: &'static str,
}

/// The aggregate as it is over frames of a window; as it is where that cannot be told from these arguments.
pub fn over_frames(func: &Arc<AggregateUDF>, args: &[Expr], fields: Vec<FieldRef>) -> Arc<AggregateUDF> {
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
pub fn nothing_of() -> Arc<AggregateUDF> {
    functions_aggregate::min_max::max_udaf()
}

/// Refuses arguments of types that are no numbers, although their layout is one's.
pub fn check_arguments(func: &AggregateUDF, types: &[ColumnType]) -> Result<()> {
    func.inner().downcast_ref::<Wrapped>().map_or(Ok(()), |wrapped| wrapped.check_numbers(types))
}

/// Whether its arguments are numbers that it takes as Float64.
pub fn takes_floats(func: &AggregateUDF) -> bool {
    let inner = func.inner();
    inner.downcast_ref::<Wrapped>().is_some_and(Wrapped::takes_floats)
        || inner.downcast_ref::<Quantile>().is_some_and(|quantile| !quantile.keeps_type())
}
