//! Row groups of other files as parts: in their own order, and sorted by the merge that comes anyway.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::datatypes::Int64Type;
use bytes::Bytes;
use catalog::Op;
use host::Host;
use mergetree::Table;
use mergetree::write::adopt::{AdoptedColumn, AdoptedParts, AdoptedRows, find_keys, unsorted_bytes};
use model::{PartitionValue, SortOrder, TableDef, Value};
use parquet::basic::{Compression, Type};
use parts::{CopiedChunk, CopiedPage, verify};

use crate::tables::{commit, create, definition, insert, live, plan, read_all, run, state};

const ROWS: i64 = 200;

fn table(host: &Host, root: &Path, partition_by: Option<&str>) -> Table {
    let def = definition(&["Int64", "Int64"], &[1]);
    create(host, root, TableDef { partition_by: partition_by.into_iter().map(Into::into).collect(), ..def })
}

fn rows(table: &Table, keys: &[i64]) -> RecordBatch {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(keys.to_vec())),
        Arc::new(Int64Array::from_iter_values(keys.iter().map(|key| key * 10))),
    ];
    RecordBatch::try_new(table.def.arrow_schema(), columns).unwrap()
}

/// One page of these numbers without a codec, whose levels say that none is NULL.
fn chunk(numbers: &[i64]) -> CopiedChunk {
    let run = (numbers.len() << 1) as u16;
    let mut content = vec![3, 0, 0, 0, (run & 0x7f) as u8 | 0x80, (run >> 7) as u8, 1];
    content.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    let page = CopiedPage {
        is_dictionary: false,
        content: 0..content.len(),
        decoded_bytes: content.len() as u32,
        values: numbers.len() as u32,
        encoding: 0,
        crc: None,
    };
    let (least, greatest) = (numbers.iter().min().unwrap(), numbers.iter().max().unwrap());
    CopiedChunk {
        bytes: Bytes::from(content),
        pages: vec![page],
        layout: Type::INT64,
        compression: Compression::UNCOMPRESSED,
        is_optional: true,
        nulls: 0,
        has_nan: false,
        bounds: Some((Value::Int(*least), Value::Int(*greatest))),
        value_bytes: 8 * numbers.len() as u64,
    }
}

/// Adopts rows whose key is copied and whose second column is encoded, a row group each.
fn adopt(table: &Table, row_groups: &[&[i64]]) {
    let mut adopted = AdoptedParts::new(table.clone(), None);
    for keys in row_groups {
        let batch = rows(table, keys);
        let found = find_keys(table, std::slice::from_ref(&batch)).unwrap();
        let [partition] = found.partitions.as_slice() else { panic!("{found:?}") };
        let half = keys.len() / 2;
        let values = vec![batch.column(1).slice(0, half), batch.column(1).slice(half, keys.len() - half)];
        let ends = (batch.slice(0, 1), batch.slice(keys.len() - 1, 1));
        let rows = AdoptedRows {
            columns: vec![AdoptedColumn::Copied(chunk(keys)), AdoptedColumn::Values(values)],
            partition: partition.clone(),
            ends: found.in_order.then_some(ends),
        };
        adopted.write(rows).unwrap();
    }
    let ops = adopted.finish().unwrap().into_iter().map(Op::AddPart);
    commit(&table.catalog, ops.collect());
}

fn numbers(batch: &RecordBatch, column: usize) -> Vec<i64> {
    batch.column(column).as_primitive::<Int64Type>().values().to_vec()
}

#[test]
fn keys_tell_order_and_partitions() {
    let (dir, host) = (tempfile::tempdir().unwrap(), Host::system(1 << 30).unwrap());
    let table = table(&host, dir.path(), Some("`#2`"));
    let found = |batches: &[&[i64]]| {
        let batches: Vec<RecordBatch> = batches.iter().map(|keys| rows(&table, keys)).collect();
        let found = find_keys(&table, &batches).unwrap();
        (found.in_order, found.partitions.len())
    };
    assert_eq!(found(&[&[1, 1], &[1]]), (true, 1));
    assert_eq!(found(&[&[1, 2], &[2, 3]]), (true, 3));
    assert_eq!(found(&[&[1, 2], &[1]]), (false, 2));
    assert_eq!(found(&[&[2, 1]]), (false, 2));
}

#[test]
fn rows_in_order_become_a_sorted_part() {
    let (dir, host) = (tempfile::tempdir().unwrap(), Host::system(1 << 30).unwrap());
    let table = table(&host, dir.path(), None);
    let keys: Vec<i64> = (0..ROWS).collect();
    adopt(&table, &[&keys]);
    let parts = live(&table);
    assert_eq!(parts[0].sort_order, table.sort_order());
    assert_ne!(parts[0].sort_order, SortOrder::None);
    assert_eq!(parts[0].partition, PartitionValue::all());
    verify(&table.store, &parts[0], &table.keys.sort).unwrap();
    assert_eq!(read_all(&table), rows(&table, &keys));
}

#[test]
fn a_merge_sorts_what_was_adopted_out_of_order() {
    let (dir, host) = (tempfile::tempdir().unwrap(), Host::system(1 << 30).unwrap());
    let table = table(&host, dir.path(), None);
    let keys: Vec<i64> = (0..ROWS).map(|row| row * 77 % ROWS).collect();
    adopt(&table, &[&keys]);
    insert(&table, &rows(&table, &[5, ROWS + 5]));
    assert_eq!(live(&table)[0].sort_order, SortOrder::None);
    assert_eq!(unsorted_bytes(&table, &state(&table)), live(&table)[0].bytes);
    run(&table, &plan(&table), &host.memory).unwrap();
    let parts = live(&table);
    assert_eq!((parts.len(), parts[0].sort_order), (1, table.sort_order()));
    assert_eq!(unsorted_bytes(&table, &state(&table)), 0);
    verify(&table.store, &parts[0], &table.keys.sort).unwrap();
    let mut expected = keys;
    expected.extend([5, ROWS + 5]);
    expected.sort_unstable();
    let merged = read_all(&table);
    assert_eq!(numbers(&merged, 0), expected);
    assert_eq!(numbers(&merged, 1), expected.iter().map(|key| key * 10).collect::<Vec<_>>());
}

#[test]
fn row_groups_share_a_part_as_far_as_their_order_allows() {
    let (dir, host) = (tempfile::tempdir().unwrap(), Host::system(1 << 30).unwrap());
    let table = table(&host, dir.path(), None);
    let (first, second): (Vec<i64>, Vec<i64>) = ((0..100).collect(), (99..150).collect());
    let backwards: Vec<i64> = (0..50).rev().collect();
    adopt(&table, &[&first, &second, &first, &backwards, &backwards]);
    let found: Vec<(u64, bool)> =
        live(&table).iter().map(|part| (part.rows, part.sort_order != SortOrder::None)).collect();
    assert_eq!(found, [(151, true), (100, true), (100, false)]);
    for part in live(&table) {
        let keys = if part.sort_order == SortOrder::None { &[][..] } else { &table.keys.sort };
        verify(&table.store, &part, keys).unwrap();
    }
    run(&table, &plan(&table), &host.memory).unwrap();
    let mut expected = [&first[..], &second, &first, &backwards, &backwards].concat();
    expected.sort_unstable();
    assert_eq!(numbers(&read_all(&table), 0), expected);
}

#[test]
fn columns_of_different_lengths_are_no_part() {
    let (dir, host) = (tempfile::tempdir().unwrap(), Host::system(1 << 30).unwrap());
    let table = table(&host, dir.path(), None);
    let is_refused = |columns: Vec<AdoptedColumn>| {
        let rows = AdoptedRows { columns, partition: PartitionValue::all(), ends: None };
        AdoptedParts::new(table.clone(), None).write(rows).is_err()
    };
    let values = || AdoptedColumn::Values(vec![Arc::new(Int64Array::from(vec![1, 2]))]);
    assert!(is_refused(vec![AdoptedColumn::Copied(chunk(&[1, 2, 3])), values()]));
    assert!(is_refused(vec![AdoptedColumn::Copied(chunk(&[1, 2]))]));
    assert!(!is_refused(vec![AdoptedColumn::Copied(chunk(&[1, 2])), values()]));
}
