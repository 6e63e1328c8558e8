//! ClickHouse's functions, operators and aggregates on DataFusion: one call installs them in a session.
//!
//! The rewrite may leave every scalar and aggregate function as a call under ClickHouse's name, the parameters of an
//! aggregate behind its arguments (`quantile(x, 0.9)`, `groupArray(x, 3)`); `CAST(x, 'T')` for casts, `_isTrue(x)` for
//! conditions that may be numbers, `{'UInt8': '1'}` for a literal of a type, and `_arrayMap(x -> _lambdaBody(..), a)` for
//! a call with a lambda.
//!
//! Recursive: a call is named by the digests that the calls in it keep.
//! Invariant: values and types are ClickHouse's; what pruning, hash joins and Parquet need to see (comparisons of bare
//! columns, AND, OR, IN) stays DataFusion's own. Must not know: tables, storage, who asks.

mod session;
mod marks;
mod typing;
mod preimage;
mod call_name;
mod scalar;
mod truth;
mod literals;
mod constant_set;
mod comparison;
mod short_circuit;
mod lambda;
mod closure;
mod aggregate;
mod window;
mod operators;
mod marked;
mod ordered;
mod lift;
mod filled;
mod bags;
mod widened;
mod nesting;
mod branches;
mod aggregated;
mod taken_apart;
mod rules;
mod documentation;

use std::sync::Arc;

use datafusion::execution::{SessionStateBuilder, SessionStateDefaults};
use datafusion::logical_expr::ScalarUDF;
use datafusion::logical_expr::planner::ExprPlanner;

use crate::relations::Relations;

pub(crate) use aggregate::combined::COMBINED;
pub(crate) use aggregate::own::PARAMETER_END;
pub(crate) use constant_set::CONSTANTS;
pub use documentation::{DocumentedFunction, documented_functions};
pub(crate) use filled::FILLED;
pub(crate) use lambda::{BODY, planned_name};
pub(crate) use marks::DISTINCT_BY;
pub use rules::typed_expression;
pub use session::{QueryRules, session_time_zone, with_query_rules, with_session_values};
pub(crate) use widened::WIDENED;

/// Installs functions, operators and rules in a session that is being built.
pub fn configure(builder: SessionStateBuilder) -> SessionStateBuilder {
    let mut planners: Vec<Arc<dyn ExprPlanner>> = vec![Arc::new(operators::Operators)];
    planners.extend(SessionStateDefaults::default_expr_planners());
    let mut scalars = scalar::all();
    scalars.push(Arc::new(ScalarUDF::from(truth::Truth::default())));
    scalars.push(Arc::new(ScalarUDF::from(filled::Filled::default())));
    scalars.push(Arc::new(ScalarUDF::from(widened::Widened::default())));
    scalars.push(Arc::new(ScalarUDF::from(constant_set::Constants::default())));
    scalars.extend(marks::all());
    scalars.push(Arc::new(ScalarUDF::from(lambda::Body::default())));
    builder
        .with_scalar_functions(scalars)
        .with_higher_order_functions(lambda::all())
        .with_aggregate_functions(aggregate::all())
        .with_window_functions(window::all())
        .with_expr_planners(planners)
        .with_relation_planners(vec![Arc::new(Relations)])
        .with_analyzer_rules(rules::analyzer_rules())
}

#[cfg(test)]
mod tests;
