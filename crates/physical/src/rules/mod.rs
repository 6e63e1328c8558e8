//! DataFusion's rules over physical plans, where they would change rows.
//!
//! Invariant: no rule but these is added or taken away. Must not know: what a plan is for.

mod barrier;
mod endless_builds;
mod optional_sides;
mod same_names;
mod typed_statistics;

use std::sync::Arc;

use datafusion::execution::SessionStateBuilder;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;

type Rule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// Installs the rules in a session that is being built.
pub fn configure(builder: SessionStateBuilder) -> SessionStateBuilder {
    let known = PhysicalOptimizer::new().rules.into_iter();
    let first: Rule = Arc::new(optional_sides::OptionalSides);
    let rules = std::iter::once(first).chain(
        known.map(typed_statistics::typed).map(same_names::guarded).flat_map(endless_builds::followed),
    );
    builder.with_physical_optimizer_rules(rules.collect())
}
