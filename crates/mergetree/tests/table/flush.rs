//! Inline rows are readable at once, become parts in their place, and are never doubled or lost.

use std::sync::Arc;

use crate::fixture::rows::{column, host, rows as make_rows};
use crate::fixture::{commit, create, definition, handle, ids, insert, insert_inline, part_names, state};
use arrow::array::{Array, RecordBatch};
use catalog::Op;
use mergetree::flush::{self, FlushOutcome};
use mergetree::memtable;
use mergetree::merge::{plan_all, summaries};
use mergetree::scan::{ScanFilter, plan};

#[test]
fn inline_rows_are_read_in_batches_of_the_current_columns() {
    let dir = tempfile::tempdir().unwrap();
    let table = create(&host(), dir.path(), definition(false));
    for row in 0..50 {
        insert_inline(&table, &make_rows(&table.def, row, 1, false));
    }
    let batches = memtable::batches(&state(&table), &table.keys.evolution).unwrap();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [50], "not fifty batches");
    let expected: Vec<i64> = (0..50).collect();
    assert_eq!(crate::fixture::id_column(&batches[0]), expected, "in the order of insertion");

    let mut next = table.def.as_ref().clone();
    next.schema_version = 2;
    next.columns[0].name = "Number".into();
    next.columns.push(column(10, "Added", "Nullable(String)"));
    next.next_column_id = 11;
    commit(&table, vec![Op::AlterTable(next.clone())]).unwrap();
    let batches = memtable::batches(&state(&table), &table.keys.evolution).unwrap();
    assert_eq!(batches[0].schema(), next.arrow_schema());
    assert_eq!(batches[0].column(9).null_count(), 50);
    assert!(matches!(flush::run(&table).unwrap(), FlushOutcome::Lost), "its columns have changed");
    let table = handle(&table.host, Arc::clone(&table.catalog), dir.path(), Arc::new(next));
    assert!(matches!(flush::run(&table).unwrap(), FlushOutcome::Committed { rows: 50, parts: 1, .. }));
}

#[test]
fn a_flush_keeps_rows_in_their_place() {
    let dir = tempfile::tempdir().unwrap();
    let table = create(&host(), dir.path(), definition(false));
    insert_inline(&table, &make_rows(&table.def, 0, 3, false));
    insert_inline(&table, &make_rows(&table.def, 3, 2, false));
    insert(&table, &[make_rows(&table.def, 5, 100, false)]);
    insert_inline(&table, &make_rows(&table.def, 105, 1, false));
    let before = ids(&table);
    assert_eq!(part_names(&table), ["all_3_3_0"]);
    let snapshot = table.catalog.snapshot();
    assert!(matches!(flush::run(&table).unwrap(), FlushOutcome::Committed { rows: 6, parts: 2, .. }));
    assert_eq!(part_names(&table), ["all_1_2_0", "all_3_3_0", "all_4_4_0"]);
    assert_eq!(state(&table).inline_count(), 0);
    assert_eq!(ids(&table), before, "nothing is lost or doubled");
    let old = plan(&snapshot, table.def.id, &ScanFilter::default(), &table.keys.evolution).unwrap().unwrap();
    assert_eq!((old.parts.len(), old.inline.len()), (1, 1), "an older snapshot sees what it saw");
    assert_eq!(flush::run(&table).unwrap(), FlushOutcome::Nothing);
}

#[test]
fn a_flush_splits_by_partition() {
    let dir = tempfile::tempdir().unwrap();
    let table = create(&host(), dir.path(), definition(true));
    for day in 0..3 {
        insert_inline(&table, &make_rows(&table.def, day * 96_000, 5, false));
    }
    assert!(matches!(flush::run(&table).unwrap(), FlushOutcome::Committed { rows: 15, parts: 3, .. }));
    let partitions = state(&table).partitions().count();
    assert_eq!((partitions, ids(&table).len()), (3, 15));
}

#[test]
fn merges_do_not_reach_over_inline_rows() {
    let dir = tempfile::tempdir().unwrap();
    let table = create(&host(), dir.path(), definition(false));
    insert(&table, &[make_rows(&table.def, 0, 10, false)]);
    insert(&table, &[make_rows(&table.def, 10, 10, false)]);
    insert_inline(&table, &make_rows(&table.def, 20, 1, false));
    insert(&table, &[make_rows(&table.def, 30, 10, false)]);
    let now = state(&table);
    let neighbourhoods: Vec<u32> =
        summaries(&now, &[].into()).iter().map(|part| part.neighbourhood).collect();
    assert_eq!(neighbourhoods.iter().map(|n| n - neighbourhoods[0]).collect::<Vec<_>>(), [0, 0, 1]);
    let plans = plan_all(&now, None, true);
    assert_eq!(plans.iter().map(|plan| plan.inputs.len()).collect::<Vec<_>>(), [2]);
    let busy = [now.parts().nth(1).unwrap().id].into();
    assert_eq!(summaries(&now, &busy).len(), 2, "parts of a running merge are no candidates");
    flush::run(&table).unwrap();
    assert_eq!(plan_all(&state(&table), None, true)[0].inputs.len(), 4);
    assert_eq!(plan_all(&state(&table), Some("other"), true), []);
}
