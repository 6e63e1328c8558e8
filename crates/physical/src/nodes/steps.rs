//! How the steps of `planner::nodes` are carried out: the planner that DataFusion asks about nodes it does not know.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::Schema;
use async_trait::async_trait;
use chrono_tz::Tz;
use datafusion::catalog::Session;
use datafusion::common::{DFSchema, Result, internal_err};
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator, UserDefinedLogicalNode};
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};
use model::ErrorCode;
use model::type_arrow::from_field;
use planner::nodes::{ArrayJoin, Asof, Cut, Ends, Fill, without_apart};

use super::array_join::ArrayJoinExec;
use super::asof::{AsofExec, Match, Nearest, Side};
use super::blocks::{Blocks, BlocksExec, with_blocks};
use super::cut::{CutExec, Rule};
use super::drawn::{Drawn, DrawnExec, with_barriers};
use super::ends::EndsExec;
use super::fill::{Constant, FillExec, Plan, Written, alone_if_stale, rule};
use super::repeated::with_room;
use super::skip::{Skip, SkipExec, with_skips};
use super::wide_unions::divided;
use crate::error::{PhysicalError, into_datafusion};
use crate::unary::Unary;

/// Plans queries with our steps in them.
#[derive(Debug)]
pub struct Planner;

#[async_trait]
impl QueryPlanner for Planner {
    async fn create_physical_plan(
        &self,
        logical_plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(Steps)]);
        let ready =
            with_barriers(with_skips(with_blocks(with_room(without_apart(divided(logical_plan)?)?)?)?)?)?;
        planner.create_physical_plan(&ready, session).await
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
        let node = node.as_any();
        if let (Some(join), [left, right], [left_rows, right_rows]) =
            (node.downcast_ref::<Asof>(), logical_inputs, physical_inputs)
        {
            let compile = |expr: &Expr, schema: &DFSchema| {
                planner.create_physical_expr(expr, schema, session, planning)
            };
            let on = nearest(join, (left.schema(), right.schema()), compile)?;
            let schema = Arc::clone(join.schema().inner());
            let joined = AsofExec::new(Arc::clone(left_rows), Arc::clone(right_rows), on, schema);
            return Ok(Some(Arc::new(joined)));
        }
        let ([logical], [input]) = (logical_inputs, physical_inputs) else { return Ok(None) };
        if let Some(join) = node.downcast_ref::<ArrayJoin>() {
            let join = ArrayJoinExec { columns: join.positions(), keeps_empty: join.keeps_empty() };
            return Ok(Some(Unary::over(Arc::clone(input), join)?));
        }
        if let Some(fill) = node.downcast_ref::<Fill>() {
            let compile = |expr: &Expr, schema: &DFSchema| {
                planner.create_physical_expr(expr, schema, session, planning)
            };
            let zone = planner::session_time_zone(session.config_options());
            let plan = filled(fill, logical, zone, compile)?;
            return Ok(Some(FillExec::over(Arc::clone(input), plan)?));
        }
        if node.is::<Drawn>() {
            return Ok(Some(Unary::over(Arc::clone(input), DrawnExec)?));
        }
        if node.is::<Blocks>() {
            return Ok(Some(BlocksExec::over(Arc::clone(input))?));
        }
        if let Some(skip) = node.downcast_ref::<Skip>() {
            return Ok(Some(SkipExec::over(Arc::clone(input), skip.rows)?));
        }
        if let Some(ends) = node.downcast_ref::<Ends>() {
            return Ok(Some(EndsExec::over(Arc::clone(input), ends.clone())?));
        }
        let Some(cut) = node.downcast_ref::<Cut>() else { return Ok(None) };
        let keys = cut.keys.iter();
        let keys = keys.map(|key| planner.create_physical_expr(key, logical.schema(), session, planning));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let rule = Rule { kind: cut.kind, keys, skip: cut.skip, fetch: cut.fetch };
        Ok(Some(CutExec::over(Arc::clone(input), rule)?))
    }
}

/// What a FillExec needs of a node, with its expressions compiled and its constants computed.
fn filled(
    fill: &Fill,
    input: &LogicalPlan,
    zone: Tz,
    compile: impl Fn(&Expr, &DFSchema) -> Result<Arc<dyn PhysicalExpr>>,
) -> Result<Plan> {
    let schema = input.schema();
    let constant = |expr: &Option<Expr>| -> Result<Option<Constant>> {
        let Some(expr) = expr else { return Ok(None) };
        let empty = Arc::new(Schema::empty());
        let compiled = compile(expr, &DFSchema::empty())?;
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let row = RecordBatch::try_new_with_options(Arc::clone(&empty), vec![], &options)?;
        let column_type = from_field(compiled.return_field(&empty)?.as_ref());
        Ok(Some((compiled.evaluate(&row)?.into_array(1)?, column_type)))
    };
    let mut keys = vec![];
    for key in &fill.keys {
        let expr = compile(&key.expr, schema)?;
        let column_type = from_field(expr.return_field(schema.as_arrow())?.as_ref());
        let (from, to, step) = (constant(&key.from)?, constant(&key.to)?, constant(&key.step)?);
        let stale = constant(&key.stale)?;
        let written = Written { from, to, step, stale, descending: key.descending };
        keys.push((expr, rule(&column_type, written, zone)?));
    }
    alone_if_stale(keys.iter().map(|(_, rule)| rule))?;
    let prefix = fill.prefix.iter().map(|key| compile(key, schema)).collect::<Result<Vec<_>>>()?;
    let mut interpolated = vec![];
    for one in &fill.interpolated {
        let Some(at) = schema.maybe_index_of_column(&one.column) else {
            return internal_err!("column {} of INTERPOLATE is not there", one.column);
        };
        interpolated.push((at, one.value.as_ref().map(|value| compile(value, schema)).transpose()?));
    }
    Ok(Plan { keys, prefix, interpolated })
}

/// What an AsofExec needs of a node: each condition taken apart into what it asks of each side.
fn nearest(
    join: &Asof,
    (left, right): (&DFSchema, &DFSchema),
    compile: impl Fn(&Expr, &DFSchema) -> Result<Arc<dyn PhysicalExpr>>,
) -> Result<Match> {
    let sides = |condition: &Expr| match between(condition, left, right) {
        Some((one, op, other)) => Ok((compile(&one, left)?, op, compile(&other, right)?)),
        None => {
            let what = format!("the condition {condition} of an ASOF JOIN");
            Err(into_datafusion(PhysicalError::unsupported(what)))
        }
    };
    let (one, op, other) = sides(&join.nearest)?;
    let nearest = match op {
        Operator::GtEq => Nearest::GreaterOrEquals,
        Operator::Gt => Nearest::Greater,
        Operator::LtEq => Nearest::LessOrEquals,
        Operator::Lt => Nearest::Less,
        other => {
            let message = format!("ASOF JOIN needs one of <, <=, > and >= between its sides, not {other}");
            return Err(into_datafusion(PhysicalError::bad_input(
                ErrorCode::INVALID_JOIN_ON_EXPRESSION,
                message,
            )));
        }
    };
    let mut left_side = Side { equal: vec![], value: one };
    let mut right_side = Side { equal: vec![], value: other };
    for pair in &join.equal {
        let (one, _, other) = sides(pair)?;
        left_side.equal.push(one);
        right_side.equal.push(other);
    }
    let looks = join.looks.iter().map(|look| compile(look, left)).collect::<Result<Vec<_>>>()?;
    Ok(Match { left: left_side, right: right_side, nearest, looks, keeps_left: join.keeps_left })
}

/// What a condition compares: rules may have named it, turned it around, or put conditions of one side beside it.
fn between(condition: &Expr, left: &DFSchema, right: &DFSchema) -> Option<(Expr, Operator, Expr)> {
    let within = |expr: &Expr, schema: &DFSchema| {
        let columns = expr.column_refs();
        !columns.is_empty() && columns.iter().all(|column| schema.has_column(column))
    };
    split_conjunction(bare(condition)).into_iter().find_map(|part| {
        let Expr::BinaryExpr(BinaryExpr { left: one, op, right: other }) = bare(part) else { return None };
        let (one, other) = (one.as_ref(), other.as_ref());
        if within(one, left) && within(other, right) {
            return Some((one.clone(), *op, other.clone()));
        }
        let is_turned = within(other, left) && within(one, right);
        Some((other.clone(), op.swap().filter(|_| is_turned)?, one.clone()))
    })
}

/// An expression without the names that rules gave it to keep what it was called.
fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => bare(&alias.expr),
        other => other,
    }
}
