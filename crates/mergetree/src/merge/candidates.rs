//! The parts of a table as the choice sees them, and the merges that people ask for.
//!
//! Invariant: parts that may not be merged with each other (an inline statement lies between their block numbers, or a
//! part of a running merge) are in different neighbourhoods. Pure.

use std::collections::HashSet;

use catalog::TableState;
use model::{PartId, SortOrder};

use super::choose::{MergeLimits, MergePlan, MergeReason, PartSummary, choose, plan};

/// Live parts but those of `busy`, by partition and block number.
pub fn summaries(table: &TableState, busy: &HashSet<PartId>) -> Vec<PartSummary> {
    let inline: Vec<u64> = table.inline().map(|statement| statement.block).collect();
    let between = |low: u64, high: u64| {
        let next = inline.partition_point(|block| *block <= low);
        inline.get(next).is_some_and(|block| *block < high)
    };
    let mut summaries = Vec::new();
    let mut neighbourhood = 0;
    for (_, group) in table.partitions() {
        neighbourhood += 1;
        let mut before = None;
        for part in group.parts() {
            if busy.contains(&part.id) || before.is_some_and(|block| between(block, part.blocks.min)) {
                neighbourhood += 1;
            }
            before = Some(part.blocks.max);
            if busy.contains(&part.id) {
                continue;
            }
            summaries.push(PartSummary {
                id: part.id,
                partition: part.partition.clone(),
                neighbourhood,
                level: part.level,
                rows: part.rows,
                bytes: part.bytes,
                created_ms: part.created_ms,
            });
        }
    }
    summaries
}

/// For how long an unsorted part waits for others that are merged with it.
const UNSORTED_MS_MAX: u64 = 5_000;

/// The merges of a table worth doing now, best first. If there is none, parts that are not sorted yet are sorted, neighbours together.
pub fn choose_for(
    table: &TableState,
    busy: &HashSet<PartId>,
    limits: &MergeLimits,
    now_ms: u64,
) -> Vec<MergePlan> {
    let parts = summaries(table, busy);
    match choose(&parts, limits, now_ms) {
        none if none.is_empty() => sorting(table, &parts, limits, now_ms),
        chosen => chosen,
    }
}

fn sorting(table: &TableState, parts: &[PartSummary], limits: &MergeLimits, now_ms: u64) -> Vec<MergePlan> {
    let mut plans = Vec::new();
    for neighbours in parts.chunk_by(|a, b| a.neighbourhood == b.neighbourhood) {
        for unsorted in neighbours.split(|part| !is_unsorted(table, part.id)) {
            let mut left = unsorted;
            while !left.is_empty() && plans.len() < limits.plans_max {
                let mut bytes = 0_u64;
                let fits = left.iter().take(limits.parts_max).take_while(|part| {
                    bytes = bytes.saturating_add(part.bytes);
                    bytes <= limits.bytes_max
                });
                let (now, later) = left.split_at(fits.count().max(1));
                let is_due = |part: &PartSummary| now_ms.saturating_sub(part.created_ms) >= UNSORTED_MS_MAX;
                if now.iter().all(is_due) {
                    plans.push(plan(now, MergeReason::Regular));
                }
                left = later;
            }
        }
    }
    plans
}

/// What OPTIMIZE asks for, in all partitions or the one of this name: with FINAL, one merge of all neighbours, or of a
/// single part that is in another order; without, the best merge of each partition, balanced or not.
pub fn plan_all(table: &TableState, partition: Option<&str>, is_final: bool) -> Vec<MergePlan> {
    plan_all_but(table, &HashSet::new(), partition, is_final)
}

/// The same without the parts of `damaged`, which stay as they are.
pub fn plan_all_but(
    table: &TableState,
    damaged: &HashSet<PartId>,
    partition: Option<&str>,
    is_final: bool,
) -> Vec<MergePlan> {
    let mut parts = summaries(table, damaged);
    parts.retain(|part| partition.is_none_or(|name| name == part.partition.name()));
    if is_final {
        let neighbours = parts.chunk_by(|a, b| a.neighbourhood == b.neighbourhood);
        let wanted =
            neighbours.filter(|parts| parts.len() > 1 || parts.iter().any(|part| is_unfinished(table, part)));
        return wanted.map(|parts| plan(parts, MergeReason::Final)).collect();
    }
    let limits = MergeLimits { base: 1.0, plans_max: 1, ..MergeLimits::default().of_table(&table.def) };
    let best = |parts: &[PartSummary]| {
        let alone = || joins_statements(table, parts).then(|| plan(parts, MergeReason::Optimize));
        choose(parts, &limits, 0).into_iter().next().or_else(alone)
    };
    let plans = parts.chunk_by(|a, b| a.partition == b.partition).filter_map(best);
    plans.map(|plan| MergePlan { reason: MergeReason::Optimize, ..plan }).collect()
}

/// Whether this is one part in which a flush has put the rows of several statements beside each other. Elsewhere each statement
/// would have its part, and to bring those together is what is asked for: rows of equal key become one.
fn joins_statements(table: &TableState, parts: &[PartSummary]) -> bool {
    let [part] = parts else { return false };
    let is_of_several = table.part(part.id).is_some_and(|part| part.blocks.min < part.blocks.max);
    part.level == 0 && !table.def.mode.is_plain() && is_of_several
}

/// Whether a merge of the part alone gives other rows, or the same in another order.
fn is_unfinished(table: &TableState, part: &PartSummary) -> bool {
    // What was inserted or flushed may have rows of equal key; a merge makes them one.
    is_unsorted(table, part.id) || (part.level == 0 && !table.def.mode.is_plain())
}

fn is_unsorted(table: &TableState, part: PartId) -> bool {
    let wanted = SortOrder::Key { version: table.def.sort_key_version };
    let order = table.part(part).map(|part| part.sort_order);
    !table.def.order_by.is_empty() && order.is_some_and(|order| order != wanted)
}
