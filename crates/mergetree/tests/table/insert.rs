//! Rows become parts: by block, by partition, in order, and not at all when something fails.

use std::sync::Arc;

use crate::fixture::rows::{host, rows as make_rows};
use crate::fixture::{create, definition, id_column, ids, insert, part_names, read, settings, state, write};
use arrow::array::{Array, AsArray, RecordBatch, UInt8Array};
use arrow::compute::concat_batches;
use arrow::datatypes::{Int32Type, Int64Type};
use host::MemoryBudget;
use mergetree::TableError;
use mergetree::scan::{ColumnRange, ScanFilter, plan};
use mergetree::write::PartSink;
use model::{SortOrder, Value};

/// 900 ms a row and up to a minute of noise: 96,000 rows are a day.
const ROWS_PER_DAY: u64 = 96_000;

#[test]
fn a_block_becomes_one_sorted_part_per_partition() {
    let dir = tempfile::tempdir().unwrap();
    let table = create(&host(), dir.path(), definition(true));
    let batches: Vec<RecordBatch> =
        (0..5).map(|i| make_rows(&table.def, i * ROWS_PER_DAY / 2, 3000, false)).collect();
    insert(&table, &batches);
    let state = state(&table);
    let mut days: Vec<String> = state.parts().map(|part| part.partition.name().to_owned()).collect();
    days.dedup();
    assert!(days.len() >= 3 && state.part_count() == days.len(), "one part a day: {days:?}");
    for part in state.parts() {
        let (min, max) = (part.blocks.min, part.blocks.max);
        assert_eq!(part.name(), format!("{}_{min}_{max}_0", part.partition.name()));
        assert_eq!(part.sort_order, SortOrder::Key { version: 1 });
        assert!(read(&table, part).num_rows() > 0, "reading verifies order, bounds and checksum");
    }
    let all = concat_batches(&table.def.arrow_schema(), &batches).unwrap();
    let mut expected = id_column(&all);
    expected.sort_unstable();
    assert_eq!(ids(&table), expected);
}

#[test]
fn equal_keys_keep_their_order() {
    let dir = tempfile::tempdir().unwrap();
    let mut def = definition(false).as_ref().clone();
    (def.order_by, def.primary_key_len) = (vec!["`#2`".into()], 1);
    let table = create(&host(), dir.path(), Arc::new(def));
    insert(&table, &[make_rows(&table.def, 0, 9000, false), make_rows(&table.def, 9000, 9000, false)]);
    let rows = read(&table, state(&table).parts().next().unwrap());
    let kinds: &UInt8Array = rows.column(1).as_primitive();
    let ids = rows.column(0).as_primitive::<Int64Type>();
    for row in 1..rows.num_rows() {
        let (before, now) = (kinds.value(row - 1), kinds.value(row));
        assert!(before < now || (before == now && ids.value(row - 1) < ids.value(row)), "row {row}");
    }
}

#[test]
fn nulls_and_long_texts_sort() {
    let dir = tempfile::tempdir().unwrap();
    let mut def = definition(false).as_ref().clone();
    def.order_by = vec!["`#5`".into(), "`#6`".into()];
    let table = create(&host(), dir.path(), Arc::new(def));
    insert(&table, &[make_rows(&table.def, 0, 5000, false)]);
    let rows = read(&table, state(&table).parts().next().unwrap());
    let views = rows.column(4).as_primitive::<Int32Type>();
    let bodies = rows.column(5).as_string_view();
    let values = rows.num_rows() - views.null_count();
    assert!(values < rows.num_rows() && (0..values).all(|row| views.is_valid(row)), "NULL comes last");
    assert!((1..values).all(|row| views.value(row - 1) <= views.value(row)));
    let texts: Vec<&str> = (values..rows.num_rows()).map(|row| bodies.value(row)).collect();
    assert!(texts.is_sorted(), "among NULLs the second expression orders");
}

#[test]
fn a_table_without_a_key_keeps_rows_as_they_come() {
    let dir = tempfile::tempdir().unwrap();
    let mut def = definition(false).as_ref().clone();
    (def.order_by, def.primary_key_len) = (vec![], 0);
    let table = create(&host(), dir.path(), Arc::new(def));
    let batch = make_rows(&table.def, 7, 3000, false);
    insert(&table, std::slice::from_ref(&batch));
    let part = state(&table).parts().next().unwrap().clone();
    assert_eq!(part.sort_order, SortOrder::None);
    assert_eq!(read(&table, &part).columns(), batch.columns());
}

#[test]
fn too_many_partitions_fail_and_leave_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let table = create(&host(), dir.path(), definition(true));
    let mut limited = settings(&table.host.memory);
    limited.partitions_max = 4;
    let mut sink = PartSink::new(table.clone(), limited).unwrap();
    for day in 0..5 {
        sink.write(make_rows(&table.def, day * ROWS_PER_DAY, 10, false)).unwrap();
    }
    let error = sink.finish().unwrap_err();
    assert!(matches!(error, TableError::TooManyPartitions { max: 4 }));
    let start = "Too many partitions for single INSERT block (more than 4). The limit is controlled by";
    assert!(error.to_string().starts_with(start), "{error}");
    assert_eq!(table.store.list_files(table.def.id).unwrap(), []);
}

#[test]
fn a_sink_that_does_not_finish_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let table = create(&host(), dir.path(), definition(false));
    let memory = MemoryBudget::new(1 << 30);
    let mut every_batch = settings(&memory);
    every_batch.block_rows_min = 1;
    let mut sink = PartSink::new(table.clone(), every_batch).unwrap();
    sink.write(make_rows(&table.def, 0, 500, false)).unwrap();
    sink.write(make_rows(&table.def, 500, 500, false)).unwrap();
    assert_eq!(table.store.list_files(table.def.id).unwrap().len(), 2);
    sink.abort();
    assert_eq!(table.store.list_files(table.def.id).unwrap(), []);
    assert_eq!(memory.used(), 0);
}

#[test]
fn a_cut_ends_the_parts_there_and_the_sink_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let table = create(&host(), dir.path(), definition(false));
    let rows_of =
        |parts: Vec<model::SealedPart>| parts.iter().map(|part| part.descriptor().rows).sum::<u64>();
    let mut sink = PartSink::new(table.clone(), settings(&table.host.memory)).unwrap();
    assert_eq!(rows_of(sink.cut().unwrap()), 0);
    sink.write(make_rows(&table.def, 0, 300, false)).unwrap();
    sink.write(make_rows(&table.def, 300, 200, false)).unwrap();
    assert_eq!(rows_of(sink.cut().unwrap()), 500);
    sink.write(make_rows(&table.def, 500, 40, false)).unwrap();
    assert_eq!(rows_of(sink.finish().unwrap()), 40);
}

#[test]
fn little_memory_makes_smaller_parts_and_no_error() {
    let dir = tempfile::tempdir().unwrap();
    let table = create(&host(), dir.path(), definition(false));
    let memory = MemoryBudget::new(24 << 20);
    let mut sink = PartSink::new(table.clone(), settings(&memory)).unwrap();
    for i in 0..10 {
        sink.write(make_rows(&table.def, i * 8192, 8192, false)).unwrap();
    }
    let parts = sink.finish().unwrap();
    assert!((3..=8).contains(&parts.len()), "{} parts", parts.len());
    assert_eq!(parts.iter().map(|part| part.descriptor().rows).sum::<u64>(), 81_920);
    assert_eq!(memory.used(), 0, "every byte is returned");
}

#[test]
fn rows_of_another_shape_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let table = create(&host(), dir.path(), definition(false));
    let batch = make_rows(&table.def, 0, 10, false);
    let mut sink = PartSink::new(table.clone(), settings(&table.host.memory)).unwrap();
    let error = sink.write(batch.project(&[0, 1]).unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "rows do not fit table \"posts\": column CreationDate is missing");
    assert!(matches!(sink.write(batch.project(&[1, 0]).unwrap()), Err(TableError::Rows { .. })));
}

#[test]
fn nothing_is_visible_before_the_commit() {
    let dir = tempfile::tempdir().unwrap();
    let table = create(&host(), dir.path(), definition(false));
    let parts = write(&table, &[make_rows(&table.def, 0, 10, false)]);
    assert_eq!((parts.len(), part_names(&table).len()), (1, 0));
}

#[test]
fn scans_prune_parts_by_bounds() {
    let dir = tempfile::tempdir().unwrap();
    let table = create(&host(), dir.path(), definition(true));
    for day in 0..4 {
        insert(&table, &[make_rows(&table.def, day * ROWS_PER_DAY, 100, false)]);
    }
    let ids = |min: Option<i64>, max: Option<i64>, one_of: Option<Vec<i64>>| ScanFilter {
        columns: vec![ColumnRange {
            column: model::ColumnId(1),
            min: min.map(Value::Int),
            max: max.map(Value::Int),
            one_of: one_of.map(|values| values.into_iter().map(Value::Int).collect()),
        }],
    };
    let check = |filter: ScanFilter, parts: usize| {
        let plan =
            plan(&table.catalog.snapshot(), table.def.id, &filter, &table.keys.evolution).unwrap().unwrap();
        assert_eq!(plan.parts.len(), parts, "{filter:?}");
        assert_eq!(plan.pruned.parts as usize + parts, 4);
        assert_eq!(plan.pruned.rows, plan.pruned.parts * 100);
    };
    check(ScanFilter::default(), 4);
    check(ids(Some(0), Some(50), None), 1);
    check(ids(Some(150), None, None), 3);
    check(ids(None, None, Some(vec![5, ROWS_PER_DAY as i64 * 3])), 2);
    check(ids(Some(1_000_000), None, None), 0);
}
