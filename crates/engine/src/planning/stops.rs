//! Between the rules by which DataFusion plans, a statement that holds too much, or that nobody waits for any more, ends.
//!
//! Invariant: changes no plan. Must not know: what the rules do.

use std::sync::Arc;

use boundary::error::{Error, into_datafusion};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::{AnalyzerRule, OptimizerConfig, OptimizerRule};
use host::meter;

#[derive(Debug)]
struct Stop;

fn check() -> Result<()> {
    meter::check("planning").map_err(|refused| into_datafusion(Error::from(refused)))
}

impl OptimizerRule for Stop {
    fn name(&self) -> &str {
        "stop"
    }

    fn rewrite(&self, plan: LogicalPlan, _config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        check()?;
        Ok(Transformed::no(plan))
    }
}

impl AnalyzerRule for Stop {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        check()?;
        Ok(plan)
    }

    fn name(&self) -> &str {
        "stop"
    }
}

/// The session with a stop behind each of its rules.
pub(crate) fn with_stops(state: SessionState) -> SessionState {
    let optimizing = state.optimizers().iter().cloned();
    let optimizing =
        optimizing.flat_map(|rule| [rule, Arc::new(Stop) as Arc<dyn OptimizerRule + Send + Sync>]);
    let analyzing = state.analyzer().rules.iter().cloned();
    let analyzing = analyzing.flat_map(|rule| [rule, Arc::new(Stop) as Arc<dyn AnalyzerRule + Send + Sync>]);
    let (optimizing, analyzing) = (optimizing.collect(), analyzing.collect());
    SessionStateBuilder::new_from_existing(state)
        .with_optimizer_rules(optimizing)
        .with_analyzer_rules(analyzing)
        .build()
}
