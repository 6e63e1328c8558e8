//! How FINAL is read: by masks where rows replace each other, by merging elsewhere; range of keys by range of keys.
//!
//! A mask is of all rows whose keys overlap, whatever is asked, and is kept. To compute one for a query that wants a few keys
//! would cost more than to merge those, so ranges are merged for such queries until they have merged as many rows as a mask
//! takes. Invariant: whichever way a range is read, the rows are the same. Must not know: what a row of a key becomes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::RecordBatch;
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use datafusion::catalog::Session;
use datafusion::common::cast::as_boolean_array;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::utils::conjunction;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::streaming::StreamingTableExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};
use mergetree::Table;
use mergetree::masks::{MaskSource, RowMask, Signature, SourceId, rows_to_extend};
use mergetree::memtable::batches_between;
use mergetree::write::collapse::columns_asked;
use mergetree::write::gather::gather;
use mergetree::write::partition::{Piece, split};
use model::saturating::usize_of;
use model::table_def::column_id_of;
use model::{ColumnId, MergeMode, PartDescriptor, PartId, PartitionValue};
use tokio::sync::OnceCell;

use super::final_scan::{Merged, Source};
use super::in_order::one_behind_the_other;
use super::key_ranges::{Item, apart, cuts};
use super::masks::{MaskRange, MaskedParts, MaskedRows, Masks, Place, SharedMasks, is_there};
use super::part_bounds::prune;
use super::table::MergeTreeTable;
use crate::error::into_datafusion;

/// What is asked of a FINAL read.
pub(super) struct FinalScan<'a> {
    pub(super) stored: &'a MergeTreeTable,
    pub(super) table: &'a Table,
    /// `None`: rows are merged as they are read.
    pub(super) masks: Option<&'a Arc<SharedMasks>>,
    /// Rows of equal key in two partitions stay two rows.
    pub(super) splits_partitions: bool,
    pub(super) session: &'a dyn Session,
    pub(super) projection: Option<&'a Vec<usize>>,
    pub(super) filters: &'a [Expr],
    /// Those of the filters that are true or false of all rows of a key.
    pub(super) key_filters: Vec<Expr>,
    /// Asked of rows before those of equal key become one: others are as if they were not there.
    pub(super) prewhere: Option<Expr>,
    pub(super) limit: Option<usize>,
}

/// Rows that were merged.
type Counted = Option<Arc<AtomicU64>>;

/// A stream of its own is worth so many rows.
const PIECE_ROWS: u64 = 256 * 1024;

/// How a range of keys is read.
enum Way {
    /// By masks that are known, or are computed when the plan runs.
    Masked(MaskRange),
    /// Its rows are counted, so that a mask is made when it would have been cheaper.
    Merged(Counted),
}

impl FinalScan<'_> {
    /// The plan; nothing is read for it.
    pub(super) fn plan(&self) -> Result<Arc<dyn ExecutionPlan>> {
        let with_key: HashSet<PartId> = self.pruned(&self.key_filters)?.iter().map(|part| part.id).collect();
        let asked: HashSet<PartId> = self.pruned(self.filters)?.iter().map(|part| part.id).collect();
        let may_be_asked = |item: &Item| match item {
            Item::Part(part) => asked.contains(&part.id),
            Item::Rows { .. } => true,
        };
        let (mut ranges, mut masked_items, mut merged) = (Vec::new(), Vec::new(), Vec::new());
        for items in self.groups()?.into_values() {
            for items in apart(self.table, &self.stored.state, items)? {
                // The rows of a key that are shown are among those of its range.
                if !items.iter().any(may_be_asked) {
                    continue;
                }
                let is_narrow = !self.key_filters.is_empty() || self.limit.is_some();
                match self.way(&items, is_narrow) {
                    Way::Masked(range) => {
                        let places = (0..items.len()).map(|source| (ranges.len(), source));
                        masked_items.extend(places.zip(items));
                        ranges.push(range);
                    }
                    Way::Merged(counted) => merged.push((items, counted)),
                }
            }
        }
        let mut inputs = self.masked(ranges, masked_items)?;
        inputs.extend(self.side_by_side(self.streams(merged, &with_key)?)?);
        match inputs.len() {
            0 => self.streamed(Vec::new(), None),
            1 => Ok(inputs.remove(0)),
            _ => UnionExec::try_new(inputs),
        }
    }

    fn pruned(&self, filters: &[Expr]) -> Result<Vec<Arc<PartDescriptor>>> {
        let parts: Vec<Arc<PartDescriptor>> = self.stored.state.parts().cloned().collect();
        match self.stored.predicate(self.session, filters)? {
            Some(predicate) => prune(&self.stored.state, &self.stored.schema, parts, &predicate),
            None => Ok(parts),
        }
    }

    /// All parts and rows of the log in the order of insertion: those that may have keys in common together.
    fn groups(&self) -> Result<BTreeMap<String, Vec<Item>>> {
        let (state, table) = (&self.stored.state, self.table);
        let splits = self.splits_partitions || has_one_partition_a_key(table);
        let group = |partition: &PartitionValue| match splits {
            true => partition.name().to_owned(),
            false => String::new(),
        };
        let told = self.stored.told_rows()?;
        let mut groups: BTreeMap<String, Vec<Item>> = BTreeMap::new();
        let mut from = 0;
        for part in state.parts().map(Some).chain([None]) {
            let blocks = from..part.map_or(u64::MAX, |part| part.blocks.min).max(from);
            let first_block = state.inline().map(|rows| rows.block).find(|block| blocks.contains(block));
            let between = match &told {
                Some(rows) => {
                    let within = rows.iter().filter(|(block, _)| blocks.contains(block));
                    within.map(|(_, rows)| rows.clone()).collect()
                }
                None => {
                    batches_between(state, &self.stored.older.evolution, blocks).map_err(into_datafusion)?
                }
            };
            for (partition, rows) in by_partition(table, between)? {
                let first_block = first_block.unwrap_or(from);
                let name = group(&partition);
                groups.entry(name).or_default().push(Item::Rows { partition, first_block, rows });
            }
            let Some(part) = part else { break };
            from = from.max(part.blocks.max + 1);
            groups.entry(group(&part.partition)).or_default().push(Item::Part(Arc::clone(part)));
        }
        Ok(groups)
    }

    fn way(&self, items: &[Item], is_narrow: bool) -> Way {
        let table = self.table;
        let is_sorted = |item: &Item| match item {
            Item::Part(part) => part.sort_order == table.sort_order(),
            Item::Rows { .. } => true,
        };
        let Some(shared) = self.masks.filter(|_| items.iter().all(is_sorted)) else {
            return Way::Merged(None);
        };
        let signature = Signature {
            schema_version: table.def.schema_version,
            sources: items.iter().map(source_id).collect(),
        };
        let (id, cache) = (table.def.id, shared.kept());
        let sources: Vec<MaskSource> = items.iter().map(mask_source).collect();
        if let Some(kept) = all_shown(table, items).or_else(|| cache.find(id, &signature)) {
            return Way::Masked(MaskRange { signature, sources, kept: Some(kept), before: None });
        }
        let before = cache.find_before(id, &signature);
        let to_extend = before.as_ref().and_then(|before| rows_to_extend(&sources, before));
        if is_narrow {
            let taken = to_extend.unwrap_or_else(|| items.iter().map(Item::rows).sum());
            let state = &self.stored.state;
            let merged_rows = cache.merged_rows(id, &signature, |source| is_there(state, source));
            if merged_rows.load(Ordering::Relaxed) < taken {
                return Way::Merged(Some(merged_rows));
            }
        }
        let before = before.filter(|_| to_extend.is_some());
        Way::Masked(MaskRange { signature, sources, kept: None, before })
    }

    /// Plans for the parts and for the rows of the log of these ranges.
    fn masked(
        &self,
        ranges: Vec<MaskRange>,
        items: Vec<(Place, Item)>,
    ) -> Result<Vec<Arc<dyn ExecutionPlan>>> {
        let Some(shared) = self.masks.filter(|_| !ranges.is_empty()) else {
            return Ok(Vec::new());
        };
        let (table, state) = (self.table.clone(), Arc::clone(&self.stored.state));
        let masks = Masks { table, state, shared: Arc::clone(shared), ranges, found: OnceCell::new() };
        let masks = Arc::new(masks);
        let mut places = HashMap::new();
        let mut sources: Vec<(Place, Vec<RecordBatch>)> = Vec::new();
        for (place, item) in items {
            match item {
                Item::Part(part) => _ = places.insert(part.id, place),
                Item::Rows { rows, .. } => sources.push((place, rows)),
            }
        }
        // Whatever a condition says: rows that replace others have been found already.
        let parts = self.pruned(self.filters)?.into_iter().filter(|part| places.contains_key(&part.id));
        let parts: Vec<Arc<PartDescriptor>> = parts.collect();
        let predicate = self.stored.predicate(self.session, self.filters)?;
        let masked = MaskedParts { masks: Arc::clone(&masks), places };
        let asked = (self.projection, predicate, self.filters);
        let mut inputs = match parts.is_empty() {
            true => Vec::new(),
            false => self.stored.scan_versions(self.session, parts, asked, None, Some(&masked))?,
        };
        if !sources.is_empty() {
            let given = self.given();
            for (_, rows) in &mut sources {
                *rows = rows.iter().map(|rows| rows.project(&given)).collect::<Result<_, _>>()?;
            }
            let schema = self.schema()?;
            let rows = MaskedRows { masks, sources, schema: Arc::clone(&schema) };
            let plan = StreamingTableExec::try_new(schema, vec![Arc::new(rows)], None, None, false, None)?;
            inputs.push(Arc::new(plan));
        }
        Ok(inputs)
    }

    /// The columns that are given.
    fn given(&self) -> Vec<usize> {
        self.projection.cloned().unwrap_or_else(|| (0..self.stored.schema.fields().len()).collect())
    }

    fn schema(&self) -> Result<SchemaRef> {
        Ok(Arc::new(self.stored.schema.project(&self.given())?))
    }

    /// The columns that are given and those that decide.
    fn columns_read(&self) -> Vec<usize> {
        let (given, table) = (self.given(), self.table);
        let asked = columns_asked(&table.def, &table.keys);
        let fields = self.stored.schema.fields();
        let before: HashSet<&str> =
            self.prewhere.iter().flat_map(Expr::column_refs).map(|c| c.name()).collect();
        let is_asked = |at: &usize| {
            given.contains(at)
                || column_id_of(&fields[*at]).is_some_and(|id| asked.contains(&id))
                || before.contains(fields[*at].name().as_str())
        };
        (0..fields.len()).filter(is_asked).collect()
    }

    /// A stream for each range that is merged, or several where there are fewer ranges than threads.
    fn streams(
        &self,
        ranges: Vec<(Vec<Item>, Counted)>,
        with_key: &HashSet<PartId>,
    ) -> Result<Vec<Arc<dyn ExecutionPlan>>> {
        let threads = self.session.config_options().execution.target_partitions.max(1);
        let share = threads / ranges.len().max(1);
        let mut streams = Vec::with_capacity(ranges.len());
        for (items, counted) in ranges {
            let rows: u64 = items.iter().map(Item::rows).sum();
            let pieces = share.min(usize_of(rows / PIECE_ROWS));
            // What a few keys are asked of is no work for several.
            let cuts = match pieces > 1 && self.key_filters.is_empty() && self.limit.is_none() {
                true => cuts(self.table, &self.stored.state, &items, pieces),
                false => Vec::new(),
            };
            if cuts.is_empty() {
                streams.push(self.merged(&items, with_key, None, counted)?);
                continue;
            }
            for cut in &cuts {
                streams.push(self.merged(&items, with_key, Some(cut), counted.clone())?);
            }
        }
        Ok(streams)
    }

    /// The rows of a range merged as they are read, all or those of a cut, and of PREWHERE; parts without a key that is asked for are left out.
    fn merged(
        &self,
        items: &[Item],
        with_key: &HashSet<PartId>,
        cut: Option<&Expr>,
        counted: Counted,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let read = self.columns_read();
        let filters: Vec<Expr> = self.key_filters.iter().chain(cut).chain(&self.prewhere).cloned().collect();
        let within = match conjunction(cut.into_iter().chain(&self.prewhere).cloned()) {
            None => None,
            Some(within) => {
                let schema = DFSchema::try_from(self.stored.schema.project(&read)?)?;
                Some(self.session.create_physical_expr(within, &schema)?)
            }
        };
        let mut sources = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Item::Rows { rows, .. } => {
                    let rows = rows.iter().map(|rows| Ok(rows.project(&read)?));
                    let rows = rows.map(|rows| rows.and_then(|rows| rows_within(rows, within.as_ref())));
                    sources.push(Source::Rows(rows.collect::<Result<_>>()?));
                }
                Item::Part(part) if with_key.contains(&part.id) => {
                    let predicate = self.stored.predicate(self.session, &filters)?;
                    let asked = (Some(&read), predicate, filters.as_slice());
                    let is_sorted = part.sort_order == self.table.sort_order();
                    let parts = vec![Arc::clone(part)];
                    for mut plan in self.stored.scan_versions(self.session, parts, asked, None, None)? {
                        if let Some(within) = &within {
                            plan = Arc::new(FilterExec::try_new(Arc::clone(within), plan)?);
                        }
                        sources.push(if is_sorted { Source::Sorted(plan) } else { Source::Unsorted(plan) });
                    }
                }
                Item::Part(_) => {}
            }
        }
        self.streamed(sources, counted)
    }

    fn streamed(&self, sources: Vec<Source>, counted: Counted) -> Result<Arc<dyn ExecutionPlan>> {
        let (read, schema) = (self.columns_read(), self.schema()?);
        let place = |at: &usize| read.iter().position(|known| known == at).unwrap_or(0);
        let rows = Merged {
            table: self.table.clone(),
            sources,
            read: Arc::new(self.stored.schema.project(&read)?),
            given: self.given().iter().map(place).collect(),
            schema: Arc::clone(&schema),
            counted,
        };
        Ok(Arc::new(StreamingTableExec::try_new(schema, vec![Arc::new(rows)], None, None, false, None)?))
    }

    /// As many streams as work at a time.
    fn side_by_side(&self, streams: Vec<Arc<dyn ExecutionPlan>>) -> Result<Vec<Arc<dyn ExecutionPlan>>> {
        if streams.len() < 2 {
            return Ok(streams);
        }
        let schema = streams[0].schema();
        let at_once = self.session.config_options().execution.target_partitions.max(1);
        let share = streams.len().div_ceil(at_once);
        let shares =
            streams.chunks(share).map(|some| one_behind_the_other(some.to_vec(), Arc::clone(&schema)));
        shares.collect()
    }
}

fn rows_within(rows: RecordBatch, within: Option<&Arc<dyn PhysicalExpr>>) -> Result<RecordBatch> {
    let Some(within) = within else { return Ok(rows) };
    let kept = within.evaluate(&rows)?.into_array(rows.num_rows())?;
    Ok(filter_record_batch(&rows, as_boolean_array(&kept)?)?)
}

fn source_id(item: &Item) -> SourceId {
    match item {
        Item::Part(part) => SourceId::Part(part.id),
        Item::Rows { partition, first_block, .. } => SourceId::Rows {
            partition: partition.name().into(),
            first_block: *first_block,
            rows: item.rows(),
        },
    }
}

fn mask_source(item: &Item) -> MaskSource {
    match item {
        Item::Part(part) => MaskSource::Part(Arc::clone(part)),
        Item::Rows { rows, .. } => MaskSource::Rows(rows.clone()),
    }
}

/// A part that a merge has written has one row a key, and is alone.
fn all_shown(table: &Table, items: &[Item]) -> Option<Arc<Vec<RowMask>>> {
    let keeps_deleted = matches!(table.def.mode, MergeMode::Replacing { is_deleted: Some(_), .. });
    match items {
        [Item::Part(part)] if part.level > 0 && !keeps_deleted => {
            Some(Arc::new(vec![RowMask::all(part.rows)]))
        }
        _ => None,
    }
}

/// Whether the key says which partition a row is of.
fn has_one_partition_a_key(table: &Table) -> bool {
    let plain: Vec<ColumnId> = table.keys.sort.iter().filter_map(|key| key.as_column()).collect();
    table.keys.partition.iter().flat_map(|key| key.columns()).all(|id| plain.contains(id))
}

/// Rows of the log by their partition.
fn by_partition(table: &Table, rows: Vec<RecordBatch>) -> Result<Vec<(PartitionValue, Vec<RecordBatch>)>> {
    if rows.iter().all(|batch| batch.num_rows() == 0) {
        return Ok(Vec::new());
    }
    let pieces = split(table, &rows, 0).map_err(into_datafusion)?;
    let of = |piece: Piece| match piece.rows {
        None => Ok((piece.partition, rows.clone())),
        Some(places) => Ok((piece.partition, vec![gather(&rows, &places)?])),
    };
    pieces.into_iter().map(of).collect()
}
