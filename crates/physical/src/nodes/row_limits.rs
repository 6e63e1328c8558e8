//! What a plan may read, sort, group, keep apart, look up and join: `max_rows_to_read` and its kin.
//!
//! Invariant: a plan within its limits gives the same rows; one that goes beyond fails, or goes on with what it has where it
//! may break off. It is put into a plan when the plan is run. Must not know: settings.

mod size;
mod counted;
mod keys;

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinType, Result};
use datafusion::physical_expr::expressions::InListExpr;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr, replace_children_if_necessary};
use model::saturating::u64_of;

pub use counted::Read;
use counted::{Counted, LimitExec};
use keys::{KeysExec, Rule};
use size::What;
pub use size::{Overflow, SizeLimit};

use crate::error::into_datafusion;

/// The limits of one statement.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RowLimits {
    pub read: SizeLimit,
    /// Of what this server reads itself.
    pub read_here: SizeLimit,
    pub sorted: SizeLimit,
    pub grouped: SizeLimit,
    pub distinct: SizeLimit,
    /// Of the values of an IN.
    pub in_set: SizeLimit,
    pub joined: SizeLimit,
    /// Whether WITH TOTALS counts groups, so that none may be left out.
    pub has_totals: bool,
}

/// The plan within its limits.
///
/// # Errors
/// A list of IN is too long already; a node does not take its input back.
pub fn with_row_limits(
    plan: Arc<dyn ExecutionPlan>,
    limits: RowLimits,
    read: &Read,
) -> Result<Arc<dyn ExecutionPlan>> {
    if (RowLimits { has_totals: false, ..limits }) == RowLimits::default() {
        return Ok(plan);
    }
    let done = plan.transform_up(|node| {
        if limits.in_set.rows > 0 && limits.in_set.overflow == Overflow::Throw {
            check_lists(&node, limits.in_set)?;
        }
        match node.children().is_empty() {
            true => reading(node, &limits, read),
            false => stepping(node, &limits),
        }
    })?;
    Ok(done.data)
}

/// A leaf within the limits of reading.
fn reading(
    leaf: Arc<dyn ExecutionPlan>,
    limits: &RowLimits,
    read: &Read,
) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let mut node = leaf;
    let mut is_changed = false;
    for (limit, what) in [(limits.read_here, What::ReadHere), (limits.read, What::Read)] {
        if limit.is_set() {
            node = LimitExec::over(&node, limit, what, Counted::Reads(Arc::clone(read)))?;
            is_changed = true;
        }
    }
    Ok(if is_changed { Transformed::yes(node) } else { Transformed::no(node) })
}

/// A step within its own limits: what it is given is counted.
fn stepping(node: Arc<dyn ExecutionPlan>, limits: &RowLimits) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    if let Some(sort) = node.downcast_ref::<SortExec>().filter(|_| limits.sorted.is_set()) {
        // Of each batch no more are kept than are asked for.
        let counted = Counted::Passing { seen: Arc::default(), kept: sort.fetch() };
        return with_input(&node, 0, |input| LimitExec::over(input, limits.sorted, What::Sorted, counted));
    }
    if let Some(join) = node.downcast_ref::<HashJoinExec>() {
        return match set_side(join) {
            Some((at, keys)) if limits.in_set.is_set() => {
                let sets = vec![keys];
                let rule = Rule { sets, limit: limits.in_set, what: What::Set, has_totals: false };
                with_input(&node, at, |input| KeysExec::over(input, rule))
            }
            None if limits.joined.is_set() => {
                let counted = Counted::Passing { seen: Arc::default(), kept: None };
                with_input(&node, 1, |input| LimitExec::over(input, limits.joined, What::Joined, counted))
            }
            _ => Ok(Transformed::no(node)),
        };
    }
    match node.downcast_ref::<AggregateExec>().and_then(|groups| rule_of(groups, limits)) {
        Some(rule) => with_input(&node, 0, |input| KeysExec::over(input, rule)),
        None => Ok(Transformed::no(node)),
    }
}

/// The keys of the first step of an aggregation, and how many of them there may be. DISTINCT is a GROUP BY without
/// aggregates by now.
fn rule_of(groups: &AggregateExec, limits: &RowLimits) -> Option<Rule> {
    let is_first = matches!(
        groups.mode(),
        AggregateMode::Partial | AggregateMode::Single | AggregateMode::SinglePartitioned
    );
    if !is_first {
        return None;
    }
    let (limit, what) = match groups.aggr_expr().is_empty() {
        true if limits.distinct.is_set() => (limits.distinct, What::Distinct),
        _ => (limits.grouped, What::Grouped),
    };
    let group_by = groups.group_expr();
    let keys_of = |left_out: &Vec<bool>| {
        let keys = group_by.expr().iter().zip(left_out).filter(|(_, is_null)| !**is_null);
        keys.map(|((key, _), _)| Arc::clone(key)).collect::<Vec<_>>()
    };
    let sets: Vec<Vec<Arc<dyn PhysicalExpr>>> =
        group_by.groups().iter().map(keys_of).filter(|keys| !keys.is_empty()).collect();
    let has_totals = limits.has_totals;
    (limit.is_set() && !sets.is_empty()).then_some(Rule { sets, limit, what, has_totals })
}

/// Of a join that asks whether a row is in a set: which input has the set, and its keys.
fn set_side(join: &HashJoinExec) -> Option<(usize, Vec<Arc<dyn PhysicalExpr>>)> {
    let on = join.on().iter();
    match join.join_type() {
        JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => {
            Some((1, on.map(|(_, right)| Arc::clone(right)).collect()))
        }
        JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => {
            Some((0, on.map(|(left, _)| Arc::clone(left)).collect()))
        }
        _ => None,
    }
}

/// Lists that are written are there before a row is read; they are not broken off.
fn check_lists(node: &Arc<dyn ExecutionPlan>, limit: SizeLimit) -> Result<()> {
    node.apply_expressions(&mut |expr| {
        expr.apply(|part| {
            if let Some(list) = part.downcast_ref::<InListExpr>() {
                limit.goes_on(What::Set, u64_of(list.len()), 0).map_err(into_datafusion)?;
            }
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(())
}

/// The node with a step over one of its inputs.
fn with_input(
    node: &Arc<dyn ExecutionPlan>,
    at: usize,
    over: impl FnOnce(&Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>>,
) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let mut inputs: Vec<Arc<dyn ExecutionPlan>> = node.children().into_iter().cloned().collect();
    if let Some(input) = inputs.get_mut(at) {
        *input = over(input)?;
    }
    Ok(Transformed::yes(replace_children_if_necessary(Arc::clone(node), inputs)?))
}
