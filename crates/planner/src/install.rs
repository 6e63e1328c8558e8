//! ClickHouse's functions, operators and aggregates on DataFusion: one call installs them in a session.
//!
//! The rewrite may leave every scalar and aggregate function as a call under ClickHouse's name, the parameters of an
//! aggregate behind its arguments (`quantile(x, 0.9)`, `groupArray(x, 3)`); `CAST(x, 'T')` for casts, `_isTrue(x)` for
//! conditions that may be numbers, `{'UInt8': '1'}` for a literal of a type, and `_arrayMap(x -> _lambdaBody(..), a)` for
//! a call with a lambda.
//!
//! Invariant: values and types are ClickHouse's; what pruning, hash joins and Parquet need to see (comparisons of bare
//! columns, AND, OR, IN) stays DataFusion's own. Must not know: tables, storage, who asks.

use std::sync::Arc;

use datafusion::execution::{SessionStateBuilder, SessionStateDefaults};
use datafusion::logical_expr::ScalarUDF;
use datafusion::logical_expr::planner::ExprPlanner;

use crate::relations::Relations;
use crate::{analyzer, coercion, scalar, window};

/// Installs functions, operators and rules in a session that is being built.
pub fn configure(builder: SessionStateBuilder) -> SessionStateBuilder {
    let mut planners: Vec<Arc<dyn ExprPlanner>> = vec![Arc::new(coercion::operators::Operators)];
    planners.extend(SessionStateDefaults::default_expr_planners());
    let mut scalars = scalar::adapter::all();
    scalars.extend(aggregates::scalars::functions().iter().map(scalar::adapter::adapted));
    scalars.push(Arc::new(ScalarUDF::from(scalar::truth::Truth::default())));
    scalars.push(Arc::new(ScalarUDF::from(analyzer::filled::Filled::default())));
    scalars.push(Arc::new(ScalarUDF::from(scalar::widened::Widened::default())));
    scalars.extend(scalar::attached::Attached::all());
    scalars.extend(scalar::prewhere::Prewhere::all());
    scalars.push(scalar::row_bytes::RowBytes::function());
    scalars.push(scalar::settled::Settled::function());
    scalars.push(scalar::surely::Surely::function());
    scalars.push(Arc::new(ScalarUDF::from(scalar::constant_set::Constants::default())));
    scalars.extend(analyzer::marks::all());
    scalars.push(Arc::new(ScalarUDF::from(scalar::lambda::Body::default())));
    let optimizer_rules =
        analyzer::outer_joins::optimizer_rules().into_iter().map(analyzer::counted::counted);
    builder
        .with_scalar_functions(scalars)
        .with_higher_order_functions(scalar::lambda::all())
        .with_aggregate_functions(aggregates::all())
        .with_window_functions(window::all())
        .with_expr_planners(planners)
        .with_relation_planners(vec![Arc::new(Relations)])
        .with_analyzer_rules(analyzer::rules::analyzer_rules())
        .with_optimizer_rules(optimizer_rules.collect())
        .with_optimizer_rule(Arc::new(analyzer::constant_rows::ConstantRows))
        .with_optimizer_rule(Arc::new(analyzer::orderless::Orderless))
}

#[cfg(test)]
mod tests;
