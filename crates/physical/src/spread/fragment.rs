//! Which piece of a plan several servers can work on, and if none, why.
//!
//! A piece *is shared* if its rows over disjoint shares of what it reads are, together, its rows: scans, what is done row by row, the
//! first step of an aggregation, the best rows of a sort, joins with a table that every server reads whole. What stands above it
//! must not ask how its input is divided.
//! Invariant: what is not known is not shared. The choice depends on the plan alone, so every server makes it for itself. Must not
//! know: how many servers there are.

use std::sync::Arc;

use datafusion::common::JoinType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::scalar_subquery::ScalarSubqueryExpr;
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{
    ExecutionPlan, ExecutionPlanProperties, Partitioning, replace_children_if_necessary,
};

use super::digest::DIGEST_ROWS_MAX;
use super::leaf::{Leaf, bytes_of};
use crate::nodes::array_join::ArrayJoinExec;
use crate::unary::Unary;

/// Steps above a piece: they take its rows in whatever order and division these come.
const ABOVE: [&str; 18] = [
    "AggregateExec",
    "RepartitionExec",
    "CoalescePartitionsExec",
    "CoalesceBatchesExec",
    "SortPreservingMergeExec",
    "SortExec",
    "GlobalLimitExec",
    "LocalLimitExec",
    "ProjectionExec",
    "FilterExec",
    "UnionExec",
    "HashJoinExec",
    "WindowAggExec",
    "BoundedWindowAggExec",
    "ScalarSubqueryExec",
    "CooperativeExec",
    "CutExec",
    "SkipExec",
];

/// Steps that are done row by row.
const BY_ROW: [&str; 5] =
    ["FilterExec", "ProjectionExec", "CoalesceBatchesExec", "CooperativeExec", "UnprunedExec"];

/// See the module.
#[derive(Clone)]
pub struct Fragment {
    pub plan: Arc<dyn ExecutionPlan>,
    /// Bytes of the files that it reads in shares.
    pub bytes: u64,
    /// How far it has fewer rows than it reads, as its steps tell: those are sent.
    pub leaves: Leaves,
    /// Whether it reads files outside, whose units are leased.
    pub reads_files: bool,
    /// Which child leads to it, from the root of the plan.
    path: Vec<usize>,
}

/// The name without what a node says of its way: `SortExec(TopK)`.
fn name_of(plan: &Arc<dyn ExecutionPlan>) -> &str {
    let name = plan.name();
    name.split_once('(').map_or(name, |(name, _)| name)
}

/// What is left of the rows that are read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Leaves {
    All,
    /// Those of a condition, which may be most.
    Some,
    /// Groups, or the first few.
    Few,
}

/// What is read in shares below a node.
#[derive(Clone, Copy, Default)]
struct Shared {
    bytes: u64,
    scans_of_files: usize,
    scans_of_parts: usize,
}

impl Fragment {
    /// The piece of a plan that reads most.
    ///
    /// # Errors
    /// There is none; why, for people.
    pub fn of(plan: &Arc<dyn ExecutionPlan>) -> Result<Fragment, String> {
        let (mut found, mut why) = (Vec::new(), None);
        find(plan, &mut Vec::new(), &mut found, &mut why);
        let largest = found.into_iter().max_by_key(|fragment| (fragment.leaves, fragment.bytes));
        largest.ok_or_else(|| why.unwrap_or_else(|| "it reads no table and no files".to_owned()))
    }

    /// The plan with something else in the place of this piece.
    ///
    /// # Errors
    /// A node does not take its input.
    pub fn replaced(
        &self,
        plan: &Arc<dyn ExecutionPlan>,
        by: Arc<dyn ExecutionPlan>,
    ) -> datafusion::common::Result<Arc<dyn ExecutionPlan>> {
        put(plan, &self.path, by)
    }
}

fn put(
    plan: &Arc<dyn ExecutionPlan>,
    path: &[usize],
    by: Arc<dyn ExecutionPlan>,
) -> datafusion::common::Result<Arc<dyn ExecutionPlan>> {
    let Some((at, rest)) = path.split_first() else { return Ok(by) };
    let mut children: Vec<Arc<dyn ExecutionPlan>> = plan.children().into_iter().cloned().collect();
    if let Some(child) = children.get_mut(*at) {
        *child = put(child, rest, by)?;
    }
    replace_children_if_necessary(Arc::clone(plan), children)
}

fn find(
    plan: &Arc<dyn ExecutionPlan>,
    path: &mut Vec<usize>,
    found: &mut Vec<Fragment>,
    why: &mut Option<String>,
) {
    match shared(plan) {
        Ok(Shared { bytes, scans_of_files, scans_of_parts }) if scans_of_files + scans_of_parts > 0 => {
            let (plan, path) = (Arc::clone(plan), path.clone());
            if scans_of_files > 1 || scans_of_files == 1 && scans_of_parts > 0 {
                why.get_or_insert_with(|| "it reads several lists of files together".to_owned());
                return;
            }
            let leaves = leaves(&plan);
            return found.push(Fragment { plan, bytes, leaves, reads_files: scans_of_files == 1, path });
        }
        Ok(_) => return,
        Err(reason) if !ABOVE.contains(&name_of(plan)) => {
            why.get_or_insert(reason);
            return;
        }
        // Of a scan below, or of this step, which the scans below are not concerned with.
        Err(_) => {}
    }
    for (at, child) in plan.children().into_iter().enumerate() {
        path.push(at);
        find(child, path, found, why);
        path.pop();
    }
}

/// What its steps leave.
fn leaves(plan: &Arc<dyn ExecutionPlan>) -> Leaves {
    let filters = match Leaf::of(plan.as_ref()) {
        Some(Leaf::Parts(config)) => config.file_source.filter().is_some(),
        _ => name_of(plan) == "FilterExec",
    };
    let here = match plan.fetch().is_some() || plan.is::<AggregateExec>() {
        true => Leaves::Few,
        false if filters => Leaves::Some,
        false => Leaves::All,
    };
    plan.children().into_iter().map(leaves).fold(here, Leaves::max)
}

/// What a piece reads in shares, if it is shared; or why it is not.
fn shared(plan: &Arc<dyn ExecutionPlan>) -> Result<Shared, String> {
    if let Some(leaf) = Leaf::of(plan.as_ref()) {
        return shared_leaf(plan, &leaf);
    }
    let name = name_of(plan);
    check_expressions(plan)?;
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        let keeps = matches!(
            join.join_type(),
            JoinType::Inner | JoinType::Right | JoinType::RightSemi | JoinType::RightAnti
        );
        if !keeps || *join.partition_mode() != PartitionMode::CollectLeft || join.fetch().is_some() {
            return Err("both sides of a join are divided by its keys".to_owned());
        }
        whole(join.left())?;
        return shared_below(join.right());
    }
    let children = plan.children();
    if name == "UnionExec" {
        return children.into_iter().try_fold(Shared::default(), |sum, child| {
            let more = shared_below(child)?;
            Ok(Shared {
                bytes: sum.bytes + more.bytes,
                scans_of_files: sum.scans_of_files + more.scans_of_files,
                scans_of_parts: sum.scans_of_parts + more.scans_of_parts,
            })
        });
    }
    let is_shared = BY_ROW.contains(&name) && plan.fetch().is_none()
        || name == "LocalLimitExec"
        || plan.is::<Unary<ArrayJoinExec>>()
        || plan
            .downcast_ref::<AggregateExec>()
            .is_some_and(|step| *step.mode() == AggregateMode::Partial && step.limit_options().is_none())
        || plan.downcast_ref::<SortExec>().is_some_and(|sort| {
            sort.preserve_partitioning()
                || sort.input().output_partitioning().partition_count() == 1 && sort.fetch().is_some()
        })
        || plan.downcast_ref::<RepartitionExec>().is_some_and(|step| {
            matches!(step.partitioning(), Partitioning::RoundRobinBatch(_)) && !step.preserve_order()
        });
    match (is_shared, children.as_slice()) {
        (true, [input]) => shared_below(input),
        _ => Err(format!("no step of it can be divided below {name}")),
    }
}

/// The same of an input: a limit of its one partition is of all its rows, and cannot be kept to by each server for itself.
fn shared_below(input: &Arc<dyn ExecutionPlan>) -> Result<Shared, String> {
    if input.fetch().is_some() && input.output_partitioning().partition_count() == 1 {
        return Err("a limit counts all rows".to_owned());
    }
    shared(input)
}

fn shared_leaf(plan: &Arc<dyn ExecutionPlan>, leaf: &Leaf<'_>) -> Result<Shared, String> {
    check_expressions(plan)?;
    match leaf {
        Leaf::Parts(config) if config.preserve_order || !config.output_ordering.is_empty() => {
            Err("the order of its rows counts".to_owned())
        }
        Leaf::Parts(config) if !config.file_source.table_schema().table_partition_cols().is_empty() => {
            Err("rows of the table are hidden by others".to_owned())
        }
        Leaf::Parts(config) => Ok(Shared { bytes: bytes_of(config), scans_of_parts: 1, ..Shared::default() }),
        Leaf::Inline(_) => Ok(Shared::default()),
        Leaf::Files(scan) if scan.is_local() => Err("the files are on this machine".to_owned()),
        Leaf::Files(scan) => Ok(Shared { bytes: scan.bytes(), scans_of_files: 1, ..Shared::default() }),
    }
}

/// Whether every server that makes this plan has the same rows of it: nothing is left to chance, or to who comes first.
fn whole(plan: &Arc<dyn ExecutionPlan>) -> Result<(), String> {
    check_expressions(plan)?;
    let differs = |what: &str| Err(format!("every server would have to read {what} of a join"));
    match Leaf::of(plan.as_ref()) {
        Some(Leaf::Parts(config)) if config.limit.is_none() && !config.preserve_order => return Ok(()),
        Some(Leaf::Inline(config)) => {
            let rows: usize = config.partitions().iter().flatten().map(|batch| batch.num_rows()).sum();
            return if rows <= DIGEST_ROWS_MAX { Ok(()) } else { differs("many new rows") };
        }
        Some(Leaf::Files(scan)) if !scan.is_local() && scan.fetch().is_none() => return Ok(()),
        Some(_) => return differs("what only one has"),
        None => {}
    }
    let name = name_of(plan);
    let is_same = plan.fetch().is_none()
        && (BY_ROW.contains(&name)
            || ["UnionExec", "CoalescePartitionsExec", "RepartitionExec"].contains(&name)
            || plan
                .downcast_ref::<AggregateExec>()
                .is_some_and(|step| step.aggr_expr().is_empty() && step.limit_options().is_none()));
    match is_same && !plan.children().is_empty() {
        true => plan.children().into_iter().try_for_each(whole),
        false => differs(&format!("the side with {name}")),
    }
}

/// What a node computes is the same wherever and whenever it is computed.
fn check_expressions(plan: &Arc<dyn ExecutionPlan>) -> Result<(), String> {
    let mut found = Ok(());
    let asked = plan.apply_expressions(&mut |expr| {
        found = std::mem::replace(&mut found, Ok(())).and_then(|()| check_expression(expr));
        Ok(TreeNodeRecursion::Continue)
    });
    if asked.is_err() {
        return Err(format!("what {} computes is not known", name_of(plan)));
    }
    found?;
    match Leaf::of(plan.as_ref()) {
        Some(Leaf::Parts(config)) => config.file_source.filter().as_ref().map_or(Ok(()), check_expression),
        _ => Ok(()),
    }
}

fn check_expression(expr: &Arc<dyn PhysicalExpr>) -> Result<(), String> {
    if is_volatile(expr) {
        return Err("it asks for random values".to_owned());
    }
    let waits = expr.exists(|part| Ok(part.is::<ScalarSubqueryExpr>())).unwrap_or(true);
    if waits { Err("it needs the value of a subquery".to_owned()) } else { Ok(()) }
}

/// Bytes of all files that a plan reads: what any piece of it reads at most.
pub fn bytes_read(plan: &dyn ExecutionPlan) -> u64 {
    match Leaf::of(plan) {
        Some(Leaf::Parts(config)) => bytes_of(config),
        Some(Leaf::Files(scan)) => scan.bytes(),
        Some(Leaf::Inline(_)) => 0,
        None => plan.children().into_iter().map(|child| bytes_read(child.as_ref())).sum(),
    }
}
