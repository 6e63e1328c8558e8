//! How a merge divides its memory: which columns are read together, and how much of each.
//!
//! A hundred inputs hold a hundred pages of every column that is being read. If that is too much, the columns are written
//! in groups, one group after the other within each row group (a vertical merge); if there is plenty, all at once. Pure.
//! Invariant: the groups are disjoint and together all columns; a group that does not fit is a single column. What a
//! layout needs is at most what was granted, as long as that was at least [`MergeCosts::bytes_needed`].

use model::saturating::usize_of;

/// Memory of one merge: in the least of it a hundred parts of a gigabyte together fit. More of it makes the blocks larger in which
/// unsorted parts are sorted.
const MEMORY_BYTES_MIN: u64 = 256 << 20;
const MEMORY_BYTES_MAX: u64 = 2 << 30;
/// Of all memory, for one merge.
const MEMORY_SHARE: u64 = 32;

/// What one merge may hold, of so much for everything.
pub fn memory_bytes_of(all: u64) -> u64 {
    (all / MEMORY_SHARE).clamp(MEMORY_BYTES_MIN, MEMORY_BYTES_MAX)
}

/// What one column costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ColumnCost {
    /// Of pages and dictionaries while it is read, over all inputs.
    pub(crate) pages: u64,
    /// Of one row's value in a batch.
    pub(crate) row: u64,
}

/// What a merge costs, in bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MergeCosts {
    pub(crate) inputs: u64,
    /// Rows of the largest input, and of all.
    pub(crate) rows_max: u64,
    pub(crate) rows_total: u64,
    /// Rows held for one input at most.
    pub(crate) batch_rows_max: u64,
    /// Of all inputs in memory; a small merge shall not take more than it can use.
    pub(crate) bytes_total: u64,
    /// Of all inputs as files.
    pub(crate) encoded_total: u64,
    /// What is held all the time: footers, page indexes, and the pages of the key's columns, over all inputs.
    pub(crate) fixed: u64,
    /// The key of one row: its values, and its comparable bytes.
    pub(crate) key_row: u64,
    pub(crate) columns: Vec<ColumnCost>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MergeLayout {
    pub(crate) groups: Vec<ColumnGroup>,
    /// Rows of the key held for each input.
    pub(crate) key_batch_rows: usize,
    /// Bytes of a row group before encoding.
    pub(crate) row_group_bytes: u64,
    /// What is held of it, encoded, until it is written.
    pub(crate) row_group_held: u64,
    /// Bytes of rows gathered at once.
    pub(crate) chunk_bytes: u64,
}

impl MergeLayout {
    /// All columns in one group, at the same pace: more than was granted may be held where they did not fit.
    pub(crate) fn read_together(&mut self) {
        let batch_rows = self.groups.iter().map(|group| group.batch_rows).min().unwrap_or(1);
        let mut positions: Vec<usize> =
            self.groups.iter().flat_map(|group| group.positions.iter().copied()).collect();
        positions.sort_unstable();
        self.groups = vec![ColumnGroup { positions, batch_rows }];
    }
}

/// Columns that are read together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ColumnGroup {
    pub(crate) positions: Vec<usize>,
    /// Rows held for each input.
    pub(crate) batch_rows: usize,
}

/// ClickHouse's `merge_max_block_size`.
pub(crate) const BATCH_ROWS_MAX: u64 = 8192;
/// Smaller batches cost more in calls than they save.
const BATCH_ROWS_MIN: u64 = 16;
/// Rows held over all inputs; more would gain nothing.
const BATCH_ROWS_TOTAL: u64 = 128 * 1024;
/// Bytes of an encoded row group; a wide table's groups shall still have enough rows for one column's scan.
const ROW_GROUP_HELD_MAX: u64 = 64 << 20;
const ROW_GROUP_HELD_MIN: u64 = 4 << 20;
/// Before encoding: readers of every column hold a row group's pages.
const ROW_GROUP_BYTES_MAX: u64 = 512 << 20;
const CHUNK_BYTES_MAX: u64 = 8 << 20;
const CHUNK_BYTES_MIN: u64 = 256 << 10;
/// Batches over all inputs for which it is worth asking.
const BATCHES_BYTES_WANTED: u64 = 32 << 20;

impl MergeCosts {
    /// Rows of a batch of each input such that all batches together stay below `bytes`.
    fn batch_rows(&self, row: u64, bytes: u64) -> u64 {
        let inputs = self.inputs.max(1);
        let affordable = bytes / inputs / row.max(1);
        affordable
            .min(BATCH_ROWS_TOTAL / inputs)
            .clamp(BATCH_ROWS_MIN, self.batch_rows_max.max(BATCH_ROWS_MIN))
            .min(self.rows_max.max(1))
    }

    fn batches(&self, row: u64, bytes: u64) -> u64 {
        self.inputs * row * self.batch_rows(row, bytes)
    }

    fn largest_column(&self) -> ColumnCost {
        let whole = |column: &&ColumnCost| column.pages + self.batches(column.row, 0);
        self.columns.iter().max_by_key(whole).copied().unwrap_or(ColumnCost { pages: 0, row: 0 })
    }

    /// The order of a row group, if no two neighbours are of one input.
    fn order(&self) -> u64 {
        16 * self.rows_total.min(parts::writer::ROW_GROUP_ROWS_MAX)
    }

    fn row_group(&self, share: u64) -> u64 {
        share.clamp(ROW_GROUP_HELD_MIN, ROW_GROUP_HELD_MAX).min(self.bytes_total.max(1))
    }

    /// Bytes of rows that take up `held` bytes once encoded, judged by the inputs, which are encoded no better.
    fn row_group_bytes(&self, held: u64) -> u64 {
        let bytes = u128::from(held) * u128::from(self.bytes_total) / u128::from(self.encoded_total.max(1));
        u64::try_from(bytes).unwrap_or(u64::MAX).clamp(held, ROW_GROUP_BYTES_MAX.max(held))
    }

    fn chunk(&self, share: u64) -> u64 {
        share.clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX).min(self.bytes_total.max(1))
    }

    /// What it takes to read all columns at once, with batches of the best size.
    pub(crate) fn bytes_wanted(&self) -> u64 {
        let all = self.columns.iter().fold(ColumnCost { pages: 0, row: 0 }, |sum, column| sum.and(*column));
        let batches =
            self.batches(all.row, BATCHES_BYTES_WANTED) + self.batches(self.key_row, BATCHES_BYTES_WANTED);
        let written = self.row_group(u64::MAX) + 2 * self.chunk(u64::MAX);
        self.fixed + self.order() + all.pages + batches + written
    }

    /// Below this the merge would not keep its promise.
    pub(crate) fn bytes_needed(&self) -> u64 {
        let column = self.largest_column();
        let batches = self.batches(self.key_row, 0) + self.batches(column.row, 0);
        self.fixed + self.order() + column.pages + batches + self.row_group(0) + 2 * self.chunk(0)
    }

    /// Divides what was granted.
    pub(crate) fn layout(&self, granted: u64) -> MergeLayout {
        // Shares of what may be used as one likes; what is left is for columns, whose pages are the largest need.
        let spare = granted.saturating_sub(self.bytes_needed());
        let chunk_bytes = self.chunk(spare / 32);
        let row_group_held = self.row_group(spare / 4);
        let key_batch_rows = self.batch_rows(self.key_row, (spare / 8).min(BATCHES_BYTES_WANTED));
        let held = self.fixed + self.order() + self.inputs * self.key_row * key_batch_rows;
        let for_columns = granted.saturating_sub(held + row_group_held + 2 * chunk_bytes);
        let mut groups: Vec<(Vec<usize>, ColumnCost)> = Vec::new();
        for (position, column) in self.columns.iter().enumerate() {
            match groups.last_mut() {
                Some((group, cost)) if self.fits(cost.and(*column), for_columns) => {
                    group.push(position);
                    *cost = cost.and(*column);
                }
                _ => groups.push((vec![position], *column)),
            }
        }
        let groups = groups.into_iter().map(|(positions, cost)| {
            let bytes = for_columns.saturating_sub(cost.pages).min(BATCHES_BYTES_WANTED);
            let batch_rows = self.batch_rows(cost.row, bytes);
            ColumnGroup { positions, batch_rows: usize_of(batch_rows) }
        });
        MergeLayout {
            groups: groups.collect(),
            key_batch_rows: usize_of(key_batch_rows),
            row_group_bytes: self.row_group_bytes(row_group_held),
            row_group_held,
            chunk_bytes,
        }
    }

    /// Whether columns can be read together with batches of a useful size.
    fn fits(&self, cost: ColumnCost, bytes: u64) -> bool {
        let useful = self.inputs * cost.row * (BATCH_ROWS_MIN * 4).min(self.rows_max.max(1));
        cost.pages + useful <= bytes
    }
}

impl ColumnCost {
    fn and(self, other: ColumnCost) -> ColumnCost {
        ColumnCost { pages: self.pages + other.pages, row: self.row + other.row }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn costs(inputs: u64, columns: &[u64]) -> MergeCosts {
        let columns = columns.iter().map(|mib| ColumnCost { pages: mib * MIB, row: 24 }).collect();
        let (rows_max, bytes_total) = (1 << 20, 1 << 40);
        MergeCosts {
            inputs,
            rows_max,
            rows_total: inputs * rows_max,
            batch_rows_max: BATCH_ROWS_MAX,
            bytes_total,
            encoded_total: bytes_total / 4,
            fixed: MIB,
            key_row: 32,
            columns,
        }
    }

    fn check(inputs: u64, columns: &[u64], granted: u64, groups: &[&[usize]]) {
        let layout = costs(inputs, columns).layout(granted * MIB);
        let found: Vec<&[usize]> = layout.groups.iter().map(|group| group.positions.as_slice()).collect();
        assert_eq!(found, groups, "{inputs} inputs, {granted} MiB");
    }

    #[test]
    fn columns_are_read_together_as_far_as_memory_goes() {
        check(10, &[10, 10, 100], 1024, &[&[0, 1, 2]]);
        check(100, &[10, 10, 100], 256, &[&[0, 1, 2]]);
        check(100, &[110, 110, 110], 256, &[&[0], &[1], &[2]]);
        check(100, &[110, 30, 30, 110, 110], 256, &[&[0, 1, 2], &[3], &[4]]);
        check(100, &[500], 256, &[&[0]]);
        check(1, &[], 256, &[]);
    }

    /// Everything a layout holds, with the group that holds most.
    fn held(costs: &MergeCosts, layout: &MergeLayout) -> u64 {
        let group = |group: &ColumnGroup| {
            let columns = group.positions.iter().map(|position| costs.columns[*position]);
            let cost = columns.fold(ColumnCost { pages: 0, row: 0 }, ColumnCost::and);
            cost.pages + costs.inputs * cost.row * group.batch_rows as u64
        };
        let groups = layout.groups.iter().map(group).max().unwrap_or(0);
        let keys = costs.inputs * costs.key_row * layout.key_batch_rows as u64;
        costs.fixed + costs.order() + keys + groups + layout.row_group_held + 2 * layout.chunk_bytes
    }

    #[test]
    fn a_layout_never_needs_more_than_was_granted() {
        for inputs in [1, 2, 10, 100] {
            for rows_max in [1, 1000, 1 << 24] {
                for row in [1, 24, 1 << 10, 1 << 16] {
                    let columns = vec![ColumnCost { pages: inputs * MIB / 2, row }; 12];
                    let (rows_total, bytes_total) = (inputs * rows_max, inputs * rows_max * row * 12);
                    let fixed = inputs << 16;
                    let costs = MergeCosts {
                        inputs,
                        rows_max,
                        rows_total,
                        batch_rows_max: BATCH_ROWS_MAX,
                        bytes_total,
                        encoded_total: bytes_total / 5,
                        fixed,
                        key_row: 48,
                        columns,
                    };
                    let (needed, wanted) = (costs.bytes_needed(), costs.bytes_wanted());
                    assert!(needed <= wanted);
                    if row <= 24 {
                        assert_eq!(costs.layout(wanted).groups.len(), 1, "{inputs} {rows_max} {row}");
                    }
                    for granted in [needed, needed + 10 * MIB, u64::midpoint(needed, wanted), wanted] {
                        let layout = costs.layout(granted);
                        assert!(
                            held(&costs, &layout) <= granted,
                            "{inputs} {rows_max} {row} {granted} {layout:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_hundred_inputs_of_ten_columns_fit_256_mib() {
        let hundred = MergeCosts { fixed: 30 * MIB, ..costs(100, &[50; 10]) };
        assert!(hundred.bytes_needed() < 200 * MIB, "{}", hundred.bytes_needed());
    }

    #[test]
    fn row_groups_are_as_large_as_what_they_hold_encoded() {
        for (bytes, encoded, held, expected) in [
            (1000 * MIB, 200 * MIB, 64 * MIB, 320 * MIB),
            (1000 * MIB, 10 * MIB, 64 * MIB, 512 * MIB),
            (1000 * MIB, 2000 * MIB, 64 * MIB, 64 * MIB),
            (0, 0, 1, 1),
        ] {
            let costs = MergeCosts { bytes_total: bytes, encoded_total: encoded, ..costs(2, &[1]) };
            assert_eq!(costs.row_group_bytes(held), expected, "{bytes} {encoded} {held}");
        }
    }

    #[test]
    fn a_small_merge_asks_for_little() {
        let small =
            MergeCosts { rows_max: 10, rows_total: 20, bytes_total: 2000, fixed: 4096, ..costs(2, &[0; 10]) };
        assert!(small.bytes_wanted() < 64 << 10, "{}", small.bytes_wanted());
    }
}
