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
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};
use mergetree::memtable::{MemtableCache, batches, batches_between};
use model::{ColumnDef, Evolution, PartDescriptor, Seq, TableEngine};
use planner::prewhere_of;

use super::in_order::one_behind_the_other;
use super::masks::MaskedParts;
use super::older_parts::{OlderScan, is_unchanged, scan_older};
use super::part_bounds::prune;
use super::part_columns::PartColumns;
use super::part_files::{PartScan, scan_parts};
use crate::error::into_datafusion;

/// Rows that one thread reads in a moment.
const ROWS_IN_ORDER_MAX: u64 = 4_000_000;

/// What a scan may pass over rows by.
pub(super) type Predicate = Option<Arc<dyn PhysicalExpr>>;

/// Which columns are given, and what rows may be passed over by: compiled, and as it was asked.
pub(super) type Asked<'a> = (Option<&'a Vec<usize>>, Predicate, &'a [Expr]);

/// A table that keeps parts, at one snapshot.
pub struct MergeTreeTable {
    pub(super) state: Arc<TableState>,
    /// The columns that are stored, and behind them those of parts that are asked.
    pub(super) schema: SchemaRef,
    stored: SchemaRef,
    part_columns: Option<Arc<PartColumns>>,
    seq: Seq,
    memtables: Arc<MemtableCache>,
    pub(super) older: OlderRows,
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
        let stored = state.def.arrow_schema();
        let schema = Arc::clone(&stored);
        MergeTreeTable { state, schema, stored, part_columns: None, seq, memtables, older }
    }

    /// With these columns behind those that are stored. Rows of such a table come in no order.
    #[must_use]
    pub fn with_part_columns(mut self, columns: Option<Arc<PartColumns>>) -> Self {
        if let Some(columns) = &columns {
            self.schema = columns.schema_behind(&self.stored);
        }
        self.part_columns = columns;
        self
    }

    /// Whether rows are to come in the order of insertion: of a log, unless it is so large that several threads read it; and
    /// where the order says which row of a key there is.
    fn keeps_order(&self) -> bool {
        match self.state.def.engine {
            TableEngine::MergeTree => false,
            TableEngine::Join => true,
            _ => self.state.rows() <= ROWS_IN_ORDER_MAX,
        }
    }

    fn inline_rows(&self) -> Result<Vec<RecordBatch>> {
        let rows = match self.older.is_lasting {
            true => self.memtables.batches(&self.state, &self.older.evolution),
            false => batches(&self.state, &self.older.evolution),
        };
        rows.map_err(into_datafusion)
    }

    /// Rows of the log under the first of their blocks, with the columns of parts; `None` where those are not asked.
    pub(super) fn told_rows(&self) -> Result<Option<Vec<(u64, RecordBatch)>>> {
        let Some(columns) = &self.part_columns else { return Ok(None) };
        columns.told_rows(&self.state, &self.stored, &self.inline_rows()?).map(Some)
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

    pub(super) fn predicate(&self, session: &dyn Session, filters: &[Expr]) -> Result<Predicate> {
        // Of no file can be asked which part it is.
        let is_stored =
            |filter: &&Expr| self.part_columns.as_ref().is_none_or(|columns| !columns.are_named_in(filter));
        let filters = filters.iter().map(|filter| prewhere_of(filter).unwrap_or(filter));
        let Some(filter) = conjunction(filters.filter(is_stored).cloned()) else { return Ok(None) };
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
            let (schema, predicate, def) = (Arc::clone(&self.schema), predicate.clone(), &self.state.def);
            scan_parts(
                session,
                PartScan {
                    def,
                    schema,
                    parts,
                    projection,
                    predicate,
                    limit,
                    in_order: true,
                    masked: None,
                    is_numbered: false,
                },
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
        if self.keeps_order() {
            return self.scan_in_order(session, &parts, (projection, predicate, limit));
        }
        if let Some(columns) = &self.part_columns {
            parts = columns.asked_for(session, filters, &self.state, parts)?;
        }
        let inline = match self.told_rows()? {
            Some(rows) => rows.into_iter().map(|(_, rows)| rows).collect(),
            None => self.inline_rows()?,
        };
        let mut inputs = self.scan_versions(session, parts, (projection, predicate, filters), limit, None)?;
        if !inline.is_empty() || inputs.is_empty() {
            inputs.push(self.inline_plan(inline, projection)?);
        }
        if inputs.len() == 1 { Ok(inputs.remove(0)) } else { UnionExec::try_new(inputs) }
    }
}

impl MergeTreeTable {
    /// One plan for the parts of each version of the columns.
    pub(super) fn scan_versions(
        &self,
        session: &dyn Session,
        parts: Vec<Arc<PartDescriptor>>,
        (projection, predicate, filters): Asked<'_>,
        limit: Option<usize>,
        masked: Option<&MaskedParts>,
    ) -> Result<Vec<Arc<dyn ExecutionPlan>>> {
        let mut inputs: Vec<Arc<dyn ExecutionPlan>> = Vec::with_capacity(2);
        let width = self.stored.fields().len();
        let given = projection.cloned().unwrap_or_else(|| (0..self.schema.fields().len()).collect());
        let stored: Vec<usize> = given.iter().copied().filter(|at| *at < width).collect();
        let telling = self.part_columns.as_ref().filter(|_| stored.len() < given.len());
        let told =
            |plan: Arc<dyn ExecutionPlan>, parts: &[Arc<PartDescriptor>]| -> Result<Arc<dyn ExecutionPlan>> {
                let Some(columns) = telling else { return Ok(plan) };
                columns.told(
                    plan,
                    (given.as_slice(), width),
                    self.schema.project(&given)?,
                    (self.state.as_ref(), parts),
                )
            };
        let (projection, is_numbered) = (Some(&stored), telling.is_some());
        let target = Arc::new(self.stored.project(&stored)?);
        for (Reverse(version), parts) in self.by_version(parts, &self.asked(projection, filters)) {
            let now = self.state.def.as_ref();
            let then =
                self.state.definition_of(version).filter(|then| then.schema_version != now.schema_version);
            let Some(then) = then else {
                let (schema, predicate) = (Arc::clone(&self.stored), predicate.clone());
                let (def, parts, in_order) = (now, parts.as_slice(), false);
                let scan = PartScan {
                    def,
                    schema,
                    parts,
                    projection,
                    predicate,
                    limit,
                    in_order,
                    masked,
                    is_numbered,
                };
                inputs.push(told(scan_parts(session, scan)?, parts)?);
                continue;
            };
            let (target, evolution) = (Arc::clone(&target), &self.older.evolution);
            let (then, parts) = (then.as_ref(), parts.as_slice());
            let scan = OlderScan { then, target, parts, filters, now, limit, evolution, masked, is_numbered };
            inputs.push(told(scan_older(session, scan)?, parts)?);
        }
        Ok(inputs)
    }
}
