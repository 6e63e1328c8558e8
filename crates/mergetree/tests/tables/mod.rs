//! A table over a host of the test's choice, its keys as engine would compile them, and everything that is in it.
#![allow(dead_code, reason = "each test file uses its share")]

#[path = "../../../parts/tests/rows/mod.rs"]
mod rows;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::{CastOptions, cast_with_options, concat_batches};
use arrow::error::ArrowError;
use catalog::{Catalog, CatalogConfig, CommitOutcome, Op, TableState, Transaction, default_database_id};
use host::{Host, MemoryBudget};
use mergetree::merge::{self, MergeOutcome, MergePlan, MergeProgress};
use mergetree::write::{PartSink, SinkSettings};
use mergetree::{Table, TableError};
use model::type_arrow::{to_data_type, to_field};
use model::{
    ColumnDef, ColumnId, ColumnType, Conversion, Evolution, PartDescriptor, RowExpr, RowExprError, Seq,
    TableDef, TableEngine, TableId, TableKeys,
};
use parts::evolve::evolve;
use parts::{PartStore, open_part};
use rows::Column;

pub(crate) fn column(id: u32, column_type: &str) -> ColumnDef {
    rows::column(id, &format!("c{id}"), column_type)
}

/// Columns 1, 2, ... of these types, sorted by some of them.
pub(crate) fn definition(types: &[&str], key: &[u32]) -> TableDef {
    let columns = (1..).zip(types).map(|(id, column_type)| column(id, column_type)).collect();
    TableDef {
        database: default_database_id(),
        order_by: key.iter().map(|id| format!("`#{id}`").into()).collect(),
        primary_key_len: key.len() as u32,
        ..TableDef::plain(TableId::from_bytes([7; 16]), "t", TableEngine::MergeTree, columns)
    }
}

fn compile(def: &TableDef, texts: &[Arc<str>]) -> Vec<Arc<dyn RowExpr>> {
    texts.iter().map(|text| Column::of(def, text.trim_matches(['`', '#']).parse().unwrap())).collect()
}

pub(crate) fn open_catalog(host: &Host, root: &Path) -> Catalog {
    try_open_catalog(host, root).unwrap()
}

pub(crate) fn try_open_catalog(host: &Host, root: &Path) -> Result<Catalog, catalog::CatalogError> {
    Catalog::open(host, root, CatalogConfig::default())
}

/// Arrow's casts, which refuse what does not fit instead of making it NULL.
#[derive(Debug)]
struct ArrowCasts;

impl Conversion for ArrowCasts {
    fn convert(&self, values: &ArrayRef, _: &ColumnType, to: &ColumnType) -> Result<ArrayRef, RowExprError> {
        let strict = CastOptions { safe: false, ..CastOptions::default() };
        let failed =
            |error: ArrowError| RowExprError { expression: to.to_string(), message: error.to_string() };
        cast_with_options(values, &to_data_type(to), &strict).map_err(failed)
    }
}

/// Defaults here are other columns: `` `#1` ``.
fn evolution(def: &TableDef) -> Evolution {
    let columns = def.columns.iter().map(|column| (column.id, to_field(&column.name, &column.column_type)));
    let default = |column: &ColumnDef| {
        let (_, text) = column.default.as_ref()?;
        Some((column.id, compile(def, std::slice::from_ref(text)).remove(0)))
    };
    Evolution::new(columns.collect(), def.columns.iter().filter_map(default).collect(), Arc::new(ArrowCasts))
}

/// A handle of a table of `catalog`, with this definition.
pub(crate) fn handle(host: &Host, root: &Path, catalog: Arc<Catalog>, def: TableDef) -> Table {
    handle_in(host, PartStore::local(host.clone(), root.to_owned()), catalog, def)
}

/// The same with its parts in any store.
pub(crate) fn handle_in(host: &Host, store: PartStore, catalog: Arc<Catalog>, def: TableDef) -> Table {
    let keys = TableKeys {
        sort: compile(&def, &def.order_by),
        partition: compile(&def, &def.partition_by),
        combined: std::collections::BTreeMap::new(),
        evolution: Arc::new(evolution(&def)),
    };
    Table { def: Arc::new(def), keys: Arc::new(keys), catalog, store, host: host.clone() }
}

/// A new table in a new root.
pub(crate) fn create(host: &Host, root: &Path, def: TableDef) -> Table {
    let catalog = Arc::new(open_catalog(host, root));
    commit(&catalog, vec![Op::CreateTable(def.clone())]);
    handle(host, root, catalog, def)
}

/// The same table after a change of its definition.
pub(crate) fn alter(table: &Table, change: impl FnOnce(&mut TableDef)) -> Table {
    let mut def = table.def.as_ref().clone();
    def.schema_version += 1;
    change(&mut def);
    commit(&table.catalog, vec![Op::AlterTable(def.clone())]);
    handle(&table.host, &table.store.root(), table.catalog.clone(), def)
}

pub(crate) fn try_commit(catalog: &Catalog, ops: Vec<Op>) -> Option<Seq> {
    let transaction = Transaction::new(catalog.transaction_id(), catalog.seq(), ops);
    match catalog.commit(transaction) {
        Ok(CommitOutcome::Committed(seq)) => Some(seq),
        _ => None,
    }
}

#[track_caller]
pub(crate) fn commit(catalog: &Catalog, ops: Vec<Op>) -> Seq {
    try_commit(catalog, ops).unwrap()
}

pub(crate) fn sink_settings(memory: &MemoryBudget) -> SinkSettings {
    SinkSettings {
        block_rows_min: u64::MAX,
        block_bytes_min: u64::MAX,
        partitions_max: 0,
        memory: memory.clone(),
        load: None,
        collapses: false,
    }
}

/// One part of these rows, not committed.
pub(crate) fn write(table: &Table, rows: &RecordBatch) -> Result<Vec<model::SealedPart>, TableError> {
    let mut sink = PartSink::new(table.clone(), sink_settings(&table.host.memory))?;
    sink.write(rows.clone())?;
    sink.finish()
}

#[track_caller]
pub(crate) fn insert(table: &Table, rows: &RecordBatch) -> Seq {
    commit(&table.catalog, write(table, rows).unwrap().into_iter().map(Op::AddPart).collect())
}

pub(crate) fn state(table: &Table) -> Arc<TableState> {
    table.catalog.snapshot().table_by_id(table.def.id).unwrap()
}

pub(crate) fn live(table: &Table) -> Vec<Arc<PartDescriptor>> {
    state(table).parts().cloned().collect()
}

/// A plan of all live parts.
pub(crate) fn plan(table: &Table) -> MergePlan {
    let mut plans = merge::plan_all(&state(table), None, true);
    assert_eq!(plans.len(), 1, "one partition of several parts");
    plans.remove(0)
}

/// A plan of all live parts, if there are several.
pub(crate) fn plan_of(state: &Arc<TableState>) -> Option<MergePlan> {
    merge::plan_all(state, None, true).pop().filter(|_| state.part_count() > 1)
}

pub(crate) fn run(
    table: &Table,
    plan: &MergePlan,
    memory: &MemoryBudget,
) -> Result<MergeOutcome, TableError> {
    merge::run(table, plan, memory, &MergeProgress::default(), &AtomicBool::new(false))
}

/// All rows of a part with the table's columns.
pub(crate) fn read(table: &Table, part: &PartDescriptor) -> RecordBatch {
    let schema = table.def.arrow_schema();
    let columns: Vec<ColumnId> = table.def.columns.iter().map(|column| column.id).collect();
    let reader = open_part(&table.store, part).unwrap();
    let batches = reader
        .read(&columns, None, 1000)
        .unwrap()
        .map(|batch| evolve(&batch.unwrap(), &schema, &table.keys.evolution).unwrap());
    concat_batches(&schema, &batches.collect::<Vec<_>>()).unwrap()
}

/// All rows of all live parts, part after part.
pub(crate) fn read_all(table: &Table) -> RecordBatch {
    let parts: Vec<RecordBatch> = live(table).iter().map(|part| read(table, part)).collect();
    concat_batches(&table.def.arrow_schema(), &parts).unwrap()
}

/// Paths of all files of the table.
pub(crate) fn files(table: &Table) -> BTreeSet<PathBuf> {
    let files = table.store.list_files(table.def.id).unwrap();
    files.iter().map(|file| table.store.storage().place(&file.key)).collect()
}

/// Paths of the files that the catalog names.
pub(crate) fn named_files(table: &Table) -> BTreeSet<PathBuf> {
    let state = state(table);
    let removed = state.removed().map(|part| table.store.path(&part.descriptor));
    state.parts().map(|part| table.store.path(part)).chain(removed).collect()
}
