//! How the steps of `sql::nodes` are carried out: the planner that DataFusion asks about nodes it does not know.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::Result;
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{LogicalPlan, UserDefinedLogicalNode};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};
use sql::nodes::{ArrayJoin, Cut};

use super::array_join::ArrayJoinExec;
use super::cut::{CutExec, Rule};

/// Plans queries with our steps in them.
#[derive(Debug)]
pub(crate) struct Planner;

#[async_trait]
impl QueryPlanner for Planner {
    async fn create_physical_plan(
        &self,
        logical_plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(Steps)]);
        planner.create_physical_plan(logical_plan, session).await
    }
}

struct Steps;

#[async_trait]
impl ExtensionPlanner for Steps {
    async fn plan_extension(
        &self,
        planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        logical_inputs: &[&LogicalPlan],
        physical_inputs: &[Arc<dyn ExecutionPlan>],
        session: &dyn Session,
        planning: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let ([logical], [input]) = (logical_inputs, physical_inputs) else { return Ok(None) };
        let node = node.as_any();
        if let Some(join) = node.downcast_ref::<ArrayJoin>() {
            let planned = ArrayJoinExec::try_new(Arc::clone(input), join.positions(), join.keeps_empty())?;
            return Ok(Some(Arc::new(planned)));
        }
        let Some(cut) = node.downcast_ref::<Cut>() else { return Ok(None) };
        let keys = cut.keys.iter();
        let keys = keys.map(|key| planner.create_physical_expr(key, logical.schema(), session, planning));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let rule = Rule { kind: cut.kind, keys, skip: cut.skip, fetch: cut.fetch };
        Ok(Some(Arc::new(CutExec::new(Arc::clone(input), rule))))
    }
}
