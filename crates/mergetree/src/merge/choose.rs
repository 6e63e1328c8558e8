//! Chooses which parts to merge next.
//!
//! Pure: takes summaries and limits, returns plans; never reads a part, never touches the catalog. The idea is that of
//! ClickHouse's simple selector: among all ranges of neighbours, merge the one with the lowest cost per part saved, but
//! only if the range is balanced: its bytes must be `base` times those of its largest part. That keeps the number of
//! rewrites of a row logarithmic. With age and with the number of parts the demand falls from 5 to 2, so that a
//! quiet table still becomes few parts. Invariant: the plans of one call are disjoint, and each names neighbours in one
//! partition.

use model::{PartId, PartitionValue, TableDef};

/// What the choice looks at. Summaries come ordered by partition, then block number.
#[derive(Clone, PartialEq, Debug)]
pub struct PartSummary {
    pub id: PartId,
    pub partition: PartitionValue,
    /// Parts of one partition with different numbers have something between them that must stay there.
    pub neighbourhood: u32,
    pub level: u32,
    pub rows: u64,
    /// Of the file.
    pub bytes: u64,
    pub created_ms: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MergeReason {
    /// Chosen by cost.
    Regular,
    /// OPTIMIZE asked for the best merge, balanced or not.
    Optimize,
    /// OPTIMIZE FINAL asked for one part per partition.
    Final,
    /// DELETE or UPDATE writes parts anew, each by itself.
    Mutation,
}

/// Parts to be replaced by one. A plan is a wish; it becomes true only if its commit finds all inputs live.
#[derive(Clone, PartialEq, Debug)]
pub struct MergePlan {
    /// In block order.
    pub inputs: Vec<PartId>,
    pub partition: PartitionValue,
    pub rows_total: u64,
    /// Of the files.
    pub bytes_total: u64,
    /// Of the result.
    pub level: u32,
    pub reason: MergeReason,
}

/// What a merge may be. The defaults are ClickHouse's.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MergeLimits {
    /// Largest sum of input bytes (`max_bytes_to_merge_at_max_space_in_pool`).
    pub bytes_max: u64,
    /// Most inputs (`max_parts_to_merge_at_once`).
    pub parts_max: usize,
    /// Most plans of one call.
    pub plans_max: usize,
    /// How many times its largest part a range must weigh, at first.
    pub base: f64,
}

impl Default for MergeLimits {
    fn default() -> MergeLimits {
        MergeLimits { bytes_max: 150 << 30, parts_max: 100, plans_max: 16, base: 5.0 }
    }
}

impl MergeLimits {
    /// The same limits, but for what the table's own settings say.
    #[must_use]
    pub fn of_table(mut self, def: &TableDef) -> MergeLimits {
        self.bytes_max = def.setting("max_bytes_to_merge_at_max_space_in_pool").unwrap_or(self.bytes_max);
        self.parts_max = match def.setting("max_parts_to_merge_at_once") {
            Some(0) => usize::MAX,
            given => given.unwrap_or(self.parts_max),
        };
        // Below 1 a range would weigh more than its own parts.
        self.base = def.setting("merge_selector_base").map_or(self.base, |base: f64| base.max(1.0));
        self
    }
}

/// What every part weighs in addition: the cost of a file does not go to zero with its size.
const PART_BYTES_FIXED: f64 = 5.0 * 1024.0 * 1024.0;
/// What `base` falls to.
const BASE_MIN: f64 = 2.0;
/// Only the newest parts of a partition are looked at, so that a choice costs at most this times `parts_max` steps.
const PARTS_CONSIDERED_MAX: usize = 1000;
/// Ranges as light as this age fastest, as heavy as this slowest (bytes).
const LIGHT_BYTES: f64 = 1024.0 * 1024.0;
const HEAVY_BYTES: f64 = 100.0 * 1024.0 * 1024.0 * 1024.0;
/// At which age `base` begins to fall, and at which it has fallen; of a light and of a heavy range (seconds).
const AGE_BEGINS_S: (f64, f64) = (10.0, 3600.0);
const AGE_ENDS_S: (f64, f64) = (3600.0, 30.0 * 86_400.0);
/// At how many parts of a partition `base` begins to fall, and at which it has fallen.
const PARTS_BEGIN: f64 = 10.0;
const PARTS_END: f64 = 50.0;
/// Parts at the right end that are lighter than this share of the range are left to gather company.
const RIGHT_SHARE_MIN: f64 = 0.01;

/// The merges worth doing now, best first.
pub fn choose(parts: &[PartSummary], limits: &MergeLimits, now_ms: u64) -> Vec<MergePlan> {
    let mut found: Vec<Candidate> = Vec::new();
    for partition in parts.chunk_by(|a, b| a.partition == b.partition) {
        for neighbours in partition.chunk_by(|a, b| a.neighbourhood == b.neighbourhood) {
            choose_among(neighbours, partition.len(), limits, now_ms, &mut found);
        }
    }
    found.sort_by(|a, b| a.score.total_cmp(&b.score));
    found.truncate(limits.plans_max);
    found.into_iter().map(|candidate| plan(candidate.parts, MergeReason::Regular)).collect()
}

/// The plan that merges exactly these neighbours.
pub(crate) fn plan(parts: &[PartSummary], reason: MergeReason) -> MergePlan {
    MergePlan {
        inputs: parts.iter().map(|part| part.id).collect(),
        partition: parts.first().map_or_else(PartitionValue::all, |part| part.partition.clone()),
        rows_total: parts.iter().map(|part| part.rows).sum(),
        bytes_total: parts.iter().map(|part| part.bytes).sum(),
        level: parts.iter().map(|part| part.level + 1).max().unwrap_or(1),
        reason,
    }
}

struct Candidate<'a> {
    parts: &'a [PartSummary],
    score: f64,
}

/// The best range, then the best left and right of it, and so on.
fn choose_among<'a>(
    parts: &'a [PartSummary],
    parts_in_partition: usize,
    limits: &MergeLimits,
    now_ms: u64,
    found: &mut Vec<Candidate<'a>>,
) {
    let parts = &parts[parts.len().saturating_sub(PARTS_CONSIDERED_MAX)..];
    let (mut open, mut left) = (vec![parts], limits.plans_max.max(1));
    while let Some(parts) = open.pop() {
        let Some((start, end, score)) = best_range(parts, parts_in_partition, limits, now_ms) else {
            continue;
        };
        found.push(Candidate { parts: &parts[start..end], score });
        // The rest of these neighbours waits; those of other partitions may still have a better one.
        left -= 1;
        if left == 0 {
            return;
        }
        open.extend([&parts[..start], &parts[end..]]);
    }
}

fn best_range(
    parts: &[PartSummary],
    parts_in_partition: usize,
    limits: &MergeLimits,
    now_ms: u64,
) -> Option<(usize, usize, f64)> {
    let mut best: Option<(usize, usize, f64)> = None;
    for start in 0..parts.len() {
        let (mut sum, mut largest, mut youngest_s) = (0_u64, 0_u64, f64::INFINITY);
        for (count, part) in (1_usize..=limits.parts_max).zip(&parts[start..]) {
            sum = sum.saturating_add(part.bytes);
            if sum > limits.bytes_max {
                break;
            }
            largest = largest.max(part.bytes);
            youngest_s = youngest_s.min(number(now_ms.saturating_sub(part.created_ms)) / 1000.0);
            let range =
                Range { sum: number(sum), largest: number(largest), count: number(count as u64), youngest_s };
            if count < 2 || !range.is_balanced(number(parts_in_partition as u64), limits.base) {
                continue;
            }
            let score = range.score();
            if best.is_none_or(|(_, _, least)| score < least) {
                best = Some((start, start + count, score));
            }
        }
    }
    let (start, end, score) = best?;
    Some((start, trimmed(parts, start, end), score))
}

/// Leaves light parts at the right end out, as long as two remain.
fn trimmed(parts: &[PartSummary], start: usize, end: usize) -> usize {
    let sum = number(parts[start..end].iter().map(|part| part.bytes).sum());
    let light = |part: &PartSummary| number(part.bytes) < RIGHT_SHARE_MIN * sum;
    let kept = parts[start..end].iter().rposition(|part| !light(part)).map_or(end, |last| start + last + 1);
    kept.max(start + 2).min(end)
}

struct Range {
    sum: f64,
    largest: f64,
    count: f64,
    youngest_s: f64,
}

impl Range {
    /// Bytes to write per part that goes away; two parts weigh slightly too much on purpose, three are better.
    fn score(&self) -> f64 {
        (self.sum + PART_BYTES_FIXED * self.count) / (self.count - 1.9)
    }

    fn is_balanced(&self, parts_in_partition: f64, base: f64) -> bool {
        let weight = share((self.sum + 1.0).ln(), LIGHT_BYTES.ln(), HEAVY_BYTES.ln());
        let begins = between(weight, AGE_BEGINS_S);
        let ends = between(weight, AGE_ENDS_S);
        let aged = share(self.youngest_s, begins, ends);
        let crowded = share(parts_in_partition, PARTS_BEGIN, PARTS_END);
        let demand = between((aged + crowded).min(1.0), (base, BASE_MIN.min(base)));
        (self.sum + PART_BYTES_FIXED * self.count) / (self.largest + PART_BYTES_FIXED) >= demand
    }
}

/// Where `value` lies between two ends, cut to 0..=1.
fn share(value: f64, from: f64, to: f64) -> f64 {
    ((value - from) / (to - from)).clamp(0.0, 1.0)
}

fn between(share: f64, (from, to): (f64, f64)) -> f64 {
    from + share * (to - from)
}

#[expect(clippy::cast_precision_loss, reason = "a weight, not an address")]
fn number(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests;
