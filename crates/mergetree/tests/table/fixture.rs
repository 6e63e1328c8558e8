//! A table of posts in a catalog, on a real disk or a simulated one.

#[path = "../../../parts/tests/rows/mod.rs"]
#[expect(dead_code, reason = "made for the tests of parts too")]
pub(crate) mod rows;

use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt32Array};
use arrow::compute::concat_batches;
use arrow::datatypes::{Int64Type, TimestampMillisecondType};
use catalog::{Catalog, CatalogConfig, CommitOutcome, Op, TableState, Transaction};
use host::{Host, MemoryBudget};
use mergetree::Table;
use mergetree::write::{PartSink, SinkSettings};
use model::table_def::column_id_of;
use model::{
    ColumnId, ColumnType, Monotonicity, PartDescriptor, RowExpr, RowExprError, SealedPart, Seq, TableDef,
    TableKeys,
};
use parts::{PartStore, open_part};

pub(crate) const DATE: ColumnId = ColumnId(3);
pub(crate) const ALL: [u32; 9] = [1, 2, 3, 4, 5, 6, 7, 8, 9];

/// `toYYYYMMDD(CreationDate)`-like: the number of the day, as a partition key.
#[derive(Debug)]
struct Day;

impl RowExpr for Day {
    fn evaluate(&self, rows: &RecordBatch) -> Result<ArrayRef, RowExprError> {
        let at = rows.schema_ref().fields().iter().position(|f| column_id_of(f) == Some(DATE)).unwrap();
        let dates = rows.column(at).as_primitive::<TimestampMillisecondType>();
        Ok(Arc::new(UInt32Array::from_iter_values(dates.values().iter().map(|ms| (ms / 86_400_000) as u32))))
    }
    fn column_type(&self) -> &ColumnType {
        &ColumnType::UInt32
    }
    fn columns(&self) -> &[ColumnId] {
        &[DATE]
    }
    fn as_column(&self) -> Option<ColumnId> {
        None
    }
    fn monotonicity(&self) -> Option<Monotonicity> {
        Some(Monotonicity::Increasing)
    }
    fn text(&self) -> &str {
        "toDay(CreationDate)"
    }
}

/// The definition; partitioned by day or not at all, sorted by (PostTypeId, CreationDate).
pub(crate) fn definition(partitioned: bool) -> Arc<TableDef> {
    let mut def = rows::table().as_ref().clone();
    def.database = catalog::default_database_id();
    if partitioned {
        def.partition_by = vec!["toDay(`#3`)".into()];
    }
    Arc::new(def)
}

pub(crate) fn keys(def: &TableDef) -> Arc<TableKeys> {
    let sort = def.order_by.iter().map(|text| {
        let id = text.trim_matches(['`', '#']).parse().unwrap();
        rows::Column::of(def, id)
    });
    let partition: Vec<Arc<dyn RowExpr>> =
        if def.partition_by.is_empty() { vec![] } else { vec![Arc::new(Day)] };
    Arc::new(TableKeys { sort: sort.collect(), partition, ..TableKeys::default() })
}

pub(crate) fn handle(host: &Host, catalog: Arc<Catalog>, root: &Path, def: Arc<TableDef>) -> Table {
    let store = PartStore::local(host.clone(), root.to_owned());
    Table { keys: keys(&def), def, catalog, store, host: host.clone() }
}

/// A new database with the table in it.
pub(crate) fn create(host: &Host, root: &Path, def: Arc<TableDef>) -> Table {
    let catalog = Arc::new(Catalog::open(host, root, CatalogConfig::default()).unwrap());
    let table = handle(host, catalog, root, def);
    commit(&table, vec![Op::CreateTable(table.def.as_ref().clone())]).unwrap();
    table
}

pub(crate) fn commit(table: &Table, ops: Vec<Op>) -> Option<Seq> {
    let transaction = Transaction::new(table.catalog.transaction_id(), table.catalog.seq(), ops);
    match table.catalog.commit(transaction) {
        Ok(CommitOutcome::Committed(seq)) => Some(seq),
        _ => None,
    }
}

pub(crate) fn settings(memory: &MemoryBudget) -> SinkSettings {
    SinkSettings {
        block_rows_min: 1_048_449,
        block_bytes_min: 268_402_944,
        partitions_max: 100,
        memory: memory.clone(),
        load: None,
        collapses: false,
    }
}

pub(crate) fn write(table: &Table, batches: &[RecordBatch]) -> Vec<SealedPart> {
    let mut sink = PartSink::new(table.clone(), settings(&table.host.memory)).unwrap();
    batches.iter().for_each(|batch| sink.write(batch.clone()).unwrap());
    sink.finish().unwrap()
}

/// Inserts as one statement through a sink.
pub(crate) fn insert(table: &Table, batches: &[RecordBatch]) {
    let parts = write(table, batches);
    commit(table, parts.into_iter().map(Op::AddPart).collect()).unwrap();
}

/// Inserts as one statement through the log.
pub(crate) fn insert_inline(table: &Table, batch: &RecordBatch) {
    let bytes = mergetree::inline::encode(&table.def, batch).unwrap();
    let rows = batch.num_rows() as u64;
    let (id, schema_version) = (table.def.id, table.def.schema_version);
    commit(table, vec![Op::InlineRows { table: id, schema_version, rows, bytes }]).unwrap();
}

pub(crate) fn state(table: &Table) -> Arc<TableState> {
    table.catalog.snapshot().table_by_id(table.def.id).unwrap()
}

pub(crate) fn part_names(table: &Table) -> Vec<String> {
    state(table).parts().map(|part| part.name()).collect()
}

/// The rows of a part, which is verified on the way.
pub(crate) fn read(table: &Table, part: &PartDescriptor) -> RecordBatch {
    parts::verify(&table.store, part, &table.keys.sort).unwrap();
    let columns: Vec<ColumnId> = ALL.into_iter().map(ColumnId).collect();
    let batches = open_part(&table.store, part).unwrap().read(&columns, None, 8192).unwrap();
    let batches: Vec<RecordBatch> = batches.map(Result::unwrap).collect();
    concat_batches(&table.def.arrow_schema(), &batches).unwrap()
}

/// The `Id`s of all rows, parts and inline rows alike, in ascending order.
pub(crate) fn ids(table: &Table) -> Vec<i64> {
    let state = state(table);
    let parts = state.parts().map(|part| read(table, part));
    let inline = mergetree::memtable::batches(&state, &table.keys.evolution).unwrap();
    let mut ids: Vec<i64> = parts.chain(inline).flat_map(|batch| id_column(&batch)).collect();
    ids.sort_unstable();
    ids
}

pub(crate) fn id_column(batch: &RecordBatch) -> Vec<i64> {
    let ids = batch.column(0).as_primitive::<Int64Type>();
    assert_eq!(ids.null_count(), 0);
    ids.values().to_vec()
}
