//! A table of ours as DataFusion sees it: parts and inline rows of one snapshot.
//!
//! Invariant: a scan reads exactly the state it was made with. Whoever runs the plan holds the snapshot until the last
//! batch, so no file it names is collected under it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use catalog::TableState;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DFSchema, Result};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::streaming::StreamingTableExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};
use mergetree::Table;
use mergetree::memtable::{MemtableCache, batches, batches_between};
use mergetree::write::collapse::columns_asked;
use mergetree::write::gather::gather;
use mergetree::write::partition::{Piece, split};
use model::table_def::column_id_of;
use model::{ColumnDef, ColumnId, Evolution, PartDescriptor, PartitionValue, Seq, TableEngine};

use super::final_scan::{Merged, Source};
use super::in_order::one_behind_the_other;
use super::older_parts::{OlderScan, is_unchanged, scan_older};
use super::part_bounds::prune;
use super::part_files::{PartScan, scan_parts};
use crate::error::into_datafusion;

/// Rows that one thread reads in a moment.
const ROWS_IN_ORDER_MAX: u64 = 4_000_000;

/// What a scan may pass over rows by.
type Predicate = Option<Arc<dyn PhysicalExpr>>;

/// Which columns are given, and what rows may be passed over by: compiled, and as it was asked.
type Asked<'a> = (Option<&'a Vec<usize>>, Predicate, &'a [Expr]);

/// A table that keeps parts, at one snapshot.
pub struct MergeTreeTable {
    state: Arc<TableState>,
    schema: SchemaRef,
    seq: Seq,
    memtables: Arc<MemtableCache>,
    older: OlderRows,
    merged: Option<FinalRead>,
}

/// What FINAL asks.
#[derive(Clone)]
pub struct FinalRead {
    pub table: Table,
    /// Rows of equal key in two partitions stay two rows.
    pub splits_partitions: bool,
}

/// How rows of older versions of the columns are read.
#[derive(Clone)]
pub struct OlderRows {
    pub evolution: Arc<Evolution>,
    /// Another statement would see the same.
    pub is_lasting: bool,
}

impl std::fmt::Debug for MergeTreeTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MergeTreeTable({} at {})", self.state.def.name, self.seq)
    }
}

impl MergeTreeTable {
    pub fn new(state: Arc<TableState>, seq: Seq, memtables: Arc<MemtableCache>, older: OlderRows) -> Self {
        let schema = state.def.arrow_schema();
        MergeTreeTable { state, schema, seq, memtables, older, merged: None }
    }

    /// The same with rows of equal key as one.
    pub fn with_final(self, merged: FinalRead) -> Self {
        MergeTreeTable { merged: Some(merged), ..self }
    }

    /// Whether a condition is true or false of all rows of a key.
    fn is_about_key(filter: &Expr, merged: &FinalRead) -> bool {
        let plain: Vec<ColumnId> = merged.table.keys.sort.iter().filter_map(|key| key.as_column()).collect();
        let is_plain =
            |name: &str| merged.table.def.column(name).is_some_and(|column| plain.contains(&column.id));
        !filter.is_volatile() && filter.column_refs().iter().all(|column| is_plain(&column.name))
    }

    /// Whether rows are to come in the order of insertion: of a log, unless it is so large that several threads read it.
    fn keeps_order(&self) -> bool {
        self.state.def.engine != TableEngine::MergeTree && self.state.rows() <= ROWS_IN_ORDER_MAX
    }

    fn inline_rows(&self) -> Result<Vec<RecordBatch>> {
        let rows = match self.older.is_lasting {
            true => self.memtables.batches(&self.state, &self.older.evolution),
            false => batches(&self.state, &self.older.evolution),
        };
        rows.map_err(into_datafusion)
    }

    /// The parts by the version of their columns, as far as what is asked of them has changed since; those of which it
    /// has not come first, under the current version.
    fn by_version(
        &self,
        parts: Vec<Arc<PartDescriptor>>,
        asked: &[&ColumnDef],
    ) -> BTreeMap<Reverse<u32>, Vec<Arc<PartDescriptor>>> {
        let current = self.state.def.schema_version;
        let mut changed: BTreeMap<u32, bool> = BTreeMap::new();
        let mut versions: BTreeMap<Reverse<u32>, Vec<Arc<PartDescriptor>>> = BTreeMap::new();
        for part in parts {
            let is_changed = *changed.entry(part.schema_version).or_insert_with(|| {
                let then = self.state.definition_of(part.schema_version);
                part.schema_version != current
                    && !then.is_some_and(|then| asked.iter().all(|now| is_unchanged(&then, now)))
            });
            let version = if is_changed { part.schema_version } else { current };
            versions.entry(Reverse(version)).or_default().push(part);
        }
        versions
    }

    /// The columns a scan gives or compares.
    fn asked(&self, projection: Option<&Vec<usize>>, filters: &[Expr]) -> Vec<&ColumnDef> {
        let def = &self.state.def;
        let mut asked: Vec<&ColumnDef> = match projection {
            None => def.stored_columns().collect(),
            Some(positions) => positions.iter().filter_map(|at| def.stored_columns().nth(*at)).collect(),
        };
        let compared = filters.iter().flat_map(Expr::column_refs);
        asked.extend(compared.filter_map(|column| def.column(&column.name)));
        asked
    }

    fn predicate(&self, session: &dyn Session, filters: &[Expr]) -> Result<Predicate> {
        let Some(filter) = conjunction(filters.to_vec()) else { return Ok(None) };
        let schema = DFSchema::try_from(Arc::clone(&self.schema))?;
        session.create_physical_expr(filter, &schema).map(Some)
    }

    /// Parts and inline rows by their block numbers, as one stream. The columns of such a table never change.
    fn scan_in_order(
        &self,
        session: &dyn Session,
        parts: &[Arc<PartDescriptor>],
        (projection, predicate, limit): (Option<&Vec<usize>>, Predicate, Option<usize>),
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let scan = |parts: &[Arc<PartDescriptor>]| {
            let (schema, predicate, table) =
                (Arc::clone(&self.schema), predicate.clone(), &self.state.def.name);
            scan_parts(
                session,
                PartScan { table, schema, parts, projection, predicate, limit, in_order: true },
            )
        };
        let (mut scans, mut first, mut from) = (Vec::new(), 0, 0);
        for (at, part) in parts.iter().enumerate() {
            let between = batches_between(&self.state, &self.older.evolution, from..part.blocks.min);
            let between = between.map_err(into_datafusion)?;
            if !between.is_empty() {
                if first < at {
                    scans.push(scan(&parts[first..at])?);
                }
                scans.push(self.inline_plan(between, projection)?);
                first = at;
            }
            from = from.max(part.blocks.max + 1);
        }
        if first < parts.len() {
            scans.push(scan(&parts[first..])?);
        }
        let rest = batches_between(&self.state, &self.older.evolution, from..u64::MAX);
        scans.push(self.inline_plan(rest.map_err(into_datafusion)?, projection)?);
        let schema = match projection {
            None => Arc::clone(&self.schema),
            Some(positions) => Arc::new(self.schema.project(positions)?),
        };
        one_behind_the_other(scans, schema)
    }

    fn inline_plan(
        &self,
        batches: Vec<RecordBatch>,
        projection: Option<&Vec<usize>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let plan =
            MemorySourceConfig::try_new_exec(&[batches], Arc::clone(&self.schema), projection.cloned())?;
        Ok(plan)
    }
}

#[async_trait]
impl TableProvider for MergeTreeTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        if let Some(merged) = &self.merged {
            // Any other condition would choose among the rows of a key before they are one.
            let pushed = |filter: &&Expr| match Self::is_about_key(filter, merged) {
                true => TableProviderFilterPushDown::Inexact,
                false => TableProviderFilterPushDown::Unsupported,
            };
            return Ok(filters.iter().map(pushed).collect());
        }
        // Inexact: pruning drops parts, row groups and pages; the filter above drops the rows.
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let predicate = self.predicate(session, filters)?;
        let mut parts: Vec<Arc<PartDescriptor>> = self.state.parts().cloned().collect();
        if let Some(predicate) = &predicate {
            parts = prune(&self.state, &self.schema, parts, predicate)?;
        }
        if let Some(merged) = &self.merged {
            return self.scan_final(session, &parts, (projection, predicate, filters), merged);
        }
        if self.keeps_order() {
            return self.scan_in_order(session, &parts, (projection, predicate, limit));
        }
        let inline = self.inline_rows()?;
        let mut inputs = self.scan_versions(session, parts, (projection, predicate, filters), limit)?;
        if !inline.is_empty() || inputs.is_empty() {
            inputs.push(self.inline_plan(inline, projection)?);
        }
        if inputs.len() == 1 { Ok(inputs.remove(0)) } else { UnionExec::try_new(inputs) }
    }
}

impl MergeTreeTable {
    /// One plan for the parts of each version of the columns.
    fn scan_versions(
        &self,
        session: &dyn Session,
        parts: Vec<Arc<PartDescriptor>>,
        (projection, predicate, filters): Asked<'_>,
        limit: Option<usize>,
    ) -> Result<Vec<Arc<dyn ExecutionPlan>>> {
        let mut inputs: Vec<Arc<dyn ExecutionPlan>> = Vec::with_capacity(2);
        let target = match projection {
            None => Arc::clone(&self.schema),
            Some(positions) => Arc::new(self.schema.project(positions)?),
        };
        for (Reverse(version), parts) in self.by_version(parts, &self.asked(projection, filters)) {
            let now = self.state.def.as_ref();
            let then =
                self.state.definition_of(version).filter(|then| then.schema_version != now.schema_version);
            let Some(then) = then else {
                let (schema, predicate) = (Arc::clone(&self.schema), predicate.clone());
                let table = &self.state.def.name;
                let scan =
                    PartScan { table, schema, parts: &parts, projection, predicate, limit, in_order: false };
                inputs.push(scan_parts(session, scan)?);
                continue;
            };
            let (target, evolution) = (Arc::clone(&target), &self.older.evolution);
            let scan = OlderScan { then: &then, target, parts: &parts, filters, now, limit, evolution };
            inputs.push(scan_older(session, scan)?);
        }
        Ok(inputs)
    }

    /// Parts and inline rows merged, by partition where rows of equal key are of one partition.
    fn scan_final(
        &self,
        session: &dyn Session,
        parts: &[Arc<PartDescriptor>],
        (projection, predicate, filters): Asked<'_>,
        merged: &FinalRead,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let table = &merged.table;
        let given = projection.cloned().unwrap_or_else(|| (0..self.schema.fields().len()).collect());
        let asked = columns_asked(&table.def, &table.keys);
        let is_asked = |at: &usize| {
            given.contains(at) || column_id_of(self.schema.field(*at)).is_some_and(|id| asked.contains(&id))
        };
        let read: Vec<usize> = (0..self.schema.fields().len()).filter(is_asked).collect();
        let read_schema = Arc::new(self.schema.project(&read)?);
        let place = |at: &usize| read.iter().position(|known| known == at).unwrap_or(0);
        let plans = |sources: Vec<Source>| -> Result<Arc<dyn ExecutionPlan>> {
            let schema = Arc::new(self.schema.project(&given)?);
            let rows = Merged {
                table: table.clone(),
                sources,
                read: Arc::clone(&read_schema),
                given: given.iter().map(place).collect(),
                schema: Arc::clone(&schema),
            };
            let plan = StreamingTableExec::try_new(schema, vec![Arc::new(rows)], None, None, false, None)?;
            Ok(Arc::new(plan))
        };
        let mut groups: BTreeMap<String, Vec<Source>> = BTreeMap::new();
        let splits = merged.splits_partitions || has_one_partition_a_key(table);
        let group =
            |partition: &PartitionValue| if splits { partition.name().to_owned() } else { String::new() };
        let mut from = 0;
        for part in parts.iter().map(Some).chain([None]) {
            let until = part.map_or(u64::MAX, |part| part.blocks.min);
            let between = batches_between(&self.state, &self.older.evolution, from..until.max(from));
            for piece in by_partition(table, between.map_err(into_datafusion)?)? {
                let rows = piece.1.iter().map(|rows| rows.project(&read)).collect::<Result<_, _>>()?;
                groups.entry(group(&piece.0)).or_default().push(Source::Rows(rows));
            }
            let Some(part) = part else { break };
            from = from.max(part.blocks.max + 1);
            let asked = (Some(&read), predicate.clone(), filters);
            let is_sorted = part.sort_order == table.sort_order();
            for plan in self.scan_versions(session, vec![Arc::clone(part)], asked, None)? {
                let source = if is_sorted { Source::Sorted(plan) } else { Source::Unsorted(plan) };
                groups.entry(group(&part.partition)).or_default().push(source);
            }
        }
        let mut streams = groups.into_values().map(plans).collect::<Result<Vec<_>>>()?;
        match streams.len() {
            0 => plans(Vec::new()),
            1 => Ok(streams.remove(0)),
            _ => {
                let schema = streams[0].schema();
                let at_once = session.config_options().execution.target_partitions.max(1);
                let share = streams.len().div_ceil(at_once);
                let shares = streams
                    .chunks(share)
                    .map(|some| one_behind_the_other(some.to_vec(), Arc::clone(&schema)));
                let mut shares = shares.collect::<Result<Vec<_>>>()?;
                if shares.len() == 1 { Ok(shares.remove(0)) } else { UnionExec::try_new(shares) }
            }
        }
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
