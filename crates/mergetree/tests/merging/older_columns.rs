//! Rows of older columns: a merge, a flush and a scan make the same of them; a type that does not fit is found before.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringViewArray};
use arrow::datatypes::{Int32Type, Int64Type};
use catalog::{Op, Precondition, RefusedWhy, Transaction};
use host::{MemoryBudget, SimHost};
use mergetree::flush::{self, FlushOutcome};
use mergetree::merge::MergeOutcome;
use mergetree::scan::check_values;
use mergetree::{Table, TableError, inline, memtable};
use model::{ColumnId, DefaultKind, TableDef};

use crate::tables::{
    self, alter, column, commit, create, definition, insert, live, plan, read, read_all, run, state,
};

fn rows(def: &TableDef, numbers: &[i64]) -> RecordBatch {
    let texts = numbers.iter().map(|number| number.to_string());
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(numbers.to_vec())),
        Arc::new(Int64Array::from_iter_values(numbers.iter().map(|number| number * 10))),
        Arc::new(StringViewArray::from_iter_values(texts)),
    ];
    RecordBatch::try_new(def.arrow_schema(), columns).unwrap()
}

fn table() -> Table {
    let (host, _world) = SimHost::new(7);
    create(&host, &PathBuf::from("/data"), definition(&["Int64", "Int64", "String"], &[1]))
}

/// c2 is an Int32 now, c4 is c1 where rows lack it, c5 what c4 is, c3 is gone.
fn changed(table: &Table) -> Table {
    alter(table, |def| {
        def.columns.retain(|column| column.id != ColumnId(3));
        def.columns[1].column_type = model::ColumnType::Int32;
        for (id, of) in [(4, "`#1`"), (5, "`#4`")] {
            let mut new = column(id, "Nullable(Int64)");
            new.default = Some((DefaultKind::Default, of.into()));
            def.columns.push(new);
        }
        def.next_column_id = 6;
    })
}

#[track_caller]
fn check(rows: &RecordBatch, numbers: &[i64]) {
    assert_eq!(rows.column(0).as_primitive::<Int64Type>().values(), numbers);
    let tens: Vec<i32> = numbers.iter().map(|number| *number as i32 * 10).collect();
    assert_eq!(rows.column(1).as_primitive::<Int32Type>().values(), &tens[..]);
    for position in [2, 3] {
        assert_eq!(rows.column(position).as_primitive::<Int64Type>().values(), numbers, "c{}", position + 2);
    }
}

#[test]
fn a_merge_writes_what_was_read_with_much_memory_and_with_little() {
    for memory in [1 << 30, 80 << 10] {
        let old = table();
        insert(&old, &rows(&old.def, &[1, 3, 5]));
        insert(&old, &rows(&old.def, &[2, 4]));
        let new = changed(&old);
        check(&read_all(&new), &[1, 3, 5, 2, 4]);
        let merged = run(&new, &plan(&new), &MemoryBudget::new(memory)).unwrap();
        assert!(matches!(merged, MergeOutcome::Committed { .. }), "{merged:?}");
        let part = live(&new).remove(0);
        assert_eq!(part.schema_version, new.def.schema_version);
        check(&read(&new, &part), &[1, 2, 3, 4, 5]);
    }
}

#[test]
fn inline_rows_are_read_and_flushed_as_the_columns_are_now() {
    let old = table();
    let (schema_version, bytes) =
        (old.def.schema_version, inline::encode(&old.def, &rows(&old.def, &[1, 2])).unwrap());
    commit(&old.catalog, vec![Op::InlineRows { table: old.def.id, schema_version, rows: 2, bytes }]);
    let new = changed(&old);
    check(&memtable::batches(&state(&new), &new.keys.evolution).unwrap()[0], &[1, 2]);
    let flushed = flush::run(&new).unwrap();
    assert!(matches!(flushed, FlushOutcome::Committed { rows: 2, .. }), "{flushed:?}");
    check(&read_all(&new), &[1, 2]);
}

#[test]
fn values_that_do_not_convert_are_found_and_rows_that_come_meanwhile_refuse_the_change() {
    let old = table();
    insert(&old, &rows(&old.def, &[1, 3]));
    insert(&old, &rows(&old.def, &[2, 1 << 40]));
    let (before, mut def) = (state(&old), old.def.as_ref().clone());
    def.schema_version += 1;
    let check_as = |id: u32, column_type: &str, passed: &mut BTreeSet<_>| {
        let mut def = def.clone();
        def.columns[id as usize - 1].column_type = model::type_name::parse(column_type).unwrap();
        let next = tables::handle(&old.host, &old.store.root(), old.catalog.clone(), def);
        check_values(&next, &before, &[ColumnId(id)], passed, &AtomicBool::new(false))
    };
    let mut passed = BTreeSet::new();
    assert!(matches!(check_as(1, "Int32", &mut passed), Err(TableError::Part(_))));
    assert_eq!(passed.len(), 1, "the first part converts, the second does not");
    passed.clear();
    check_as(3, "Int64", &mut passed).unwrap();
    assert_eq!(passed.len(), 2);
    // Rows come between the check and the commit.
    let precondition = Precondition::NoRowsSince { table: old.def.id, next_block: before.next_block() };
    insert(&old, &rows(&old.def, &[5]));
    let ops = vec![Op::AlterTable(def)];
    let change = Transaction::new(old.catalog.transaction_id(), old.catalog.seq(), ops);
    let change = Transaction { preconditions: vec![precondition], ..change };
    match old.catalog.commit(change).unwrap() {
        catalog::CommitOutcome::Refused(why) => assert!(matches!(why, RefusedWhy::RowsAdded(_)), "{why}"),
        other => panic!("{other:?}"),
    }
}
