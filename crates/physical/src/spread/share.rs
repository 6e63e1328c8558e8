//! A piece of a plan over a share of what it reads.
//!
//! Invariant: rows that are in no part belong to the server that was asked; what a join reads whole is read whole. Must not know: who has
//! which share.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::physical_expr::LexOrdering;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, replace_children_if_necessary};
use sources::{ObjectScanExec, UnitFeed};

use super::leaf::{Leaf, PartPiece, parts_of, rows_of, scan_of};

/// What one server reads of a piece of a plan.
#[derive(Clone, Debug, Default)]
pub struct Share {
    pub pieces: Vec<PartPiece>,
    /// Rows that are in no part, too.
    pub has_inline: bool,
    /// Where units of files come from.
    pub feed: Option<Arc<dyn UnitFeed>>,
}

/// The parts of each leaf that is shared, in the order of the plan: (leaf, part, bytes).
pub fn parts_to_share(plan: &Arc<dyn ExecutionPlan>) -> Vec<PartPiece> {
    let mut parts = Vec::new();
    let mut leaf = 0;
    visit(plan, &mut leaf, &mut |leaf, config| {
        if let Leaf::Parts(config) = config {
            parts.extend(parts_of(config).into_iter().map(|(part, file)| PartPiece {
                leaf,
                part,
                begin: 0,
                end: file.object_meta.size,
            }));
        }
    });
    parts
}

/// Rows of all parts that are shared. Shares themselves do not know how many they have.
pub fn rows_to_share(plan: &Arc<dyn ExecutionPlan>) -> u64 {
    let mut rows = 0;
    visit(plan, &mut 0, &mut |_, leaf| {
        if let Leaf::Parts(config) = leaf {
            rows += rows_of(config);
        }
    });
    rows
}

/// The scan of files that is shared, if there is one.
pub fn files_to_share(plan: &Arc<dyn ExecutionPlan>) -> Option<ObjectScanExec> {
    if let Some(Leaf::Files(scan)) = Leaf::of(plan.as_ref()) {
        return Some(scan.anew());
    }
    shared_inputs(plan).find_map(files_to_share)
}

fn visit(plan: &Arc<dyn ExecutionPlan>, next: &mut u32, seen: &mut dyn FnMut(u32, &Leaf<'_>)) {
    if let Some(leaf) = Leaf::of(plan.as_ref()) {
        seen(*next, &leaf);
        *next += 1;
        return;
    }
    shared_inputs(plan).for_each(|input| visit(input, next, seen));
}

/// The inputs of a node that are read in shares: of a join all but what is read whole.
fn shared_inputs(plan: &Arc<dyn ExecutionPlan>) -> impl Iterator<Item = &Arc<dyn ExecutionPlan>> {
    let is_join = plan.downcast_ref::<HashJoinExec>().is_some();
    plan.children().into_iter().skip(usize::from(is_join))
}

/// The piece over this share.
///
/// # Errors
/// The share names what the piece does not read.
pub fn over(plan: &Arc<dyn ExecutionPlan>, share: &Share) -> Result<Arc<dyn ExecutionPlan>> {
    replaced(plan, share, &mut 0)
}

fn replaced(plan: &Arc<dyn ExecutionPlan>, share: &Share, next: &mut u32) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(leaf) = Leaf::of(plan.as_ref()) {
        let number = *next;
        *next += 1;
        let groups = plan.output_partitioning().partition_count();
        return match leaf {
            Leaf::Parts(config) => {
                let pieces: Vec<PartPiece> =
                    share.pieces.iter().filter(|piece| piece.leaf == number).copied().collect();
                scan_of(config, &pieces, groups)
            }
            Leaf::Inline(_) if share.has_inline => Ok(Arc::clone(plan)),
            Leaf::Inline(config) => {
                let none = vec![Vec::new(); config.partitions().len()];
                let schema = config.original_schema();
                Ok(MemorySourceConfig::try_new_exec(&none, schema, config.projection().clone())?)
            }
            Leaf::Files(scan) => match &share.feed {
                Some(feed) => Ok(Arc::new(scan.fed_by(Arc::clone(feed)))),
                None => Ok(Arc::clone(plan)),
            },
        };
    }
    let is_join = plan.downcast_ref::<HashJoinExec>().is_some();
    let mut children = Vec::new();
    for (at, child) in plan.children().into_iter().enumerate() {
        children.push(match is_join && at == 0 {
            true => Arc::clone(child),
            false => replaced(child, share, next)?,
        });
    }
    replace_children_if_necessary(Arc::clone(plan), children)
}

/// The order in which each partition of a plan gives its rows, if it keeps to one.
pub fn order_of(plan: &Arc<dyn ExecutionPlan>) -> Option<LexOrdering> {
    plan.output_ordering().cloned()
}

/// All partitions as one, in the order that each of them has, with so many rows at most.
pub fn as_one(plan: Arc<dyn ExecutionPlan>, fetch: Option<usize>) -> Arc<dyn ExecutionPlan> {
    if plan.output_partitioning().partition_count() == 1 {
        return plan;
    }
    match order_of(&plan) {
        Some(order) => Arc::new(SortPreservingMergeExec::new(order, plan).with_fetch(fetch)),
        None => Arc::new(CoalescePartitionsExec::new(plan).with_fetch(fetch)),
    }
}
