//! A merge stays within the memory it is granted, however many rows there are.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    clippy::clone_on_ref_ptr,
    reason = "tests fail by panicking, and their numbers are small"
)]

mod tables;

use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, StringViewBuilder, TimestampMillisecondArray,
    UInt8Array,
};
use arrow::datatypes::Int64Type;
use host::{Host, MemoryBudget, process};
use mergetree::Table;
use mergetree::merge::MergeOutcome;
use model::{ColumnId, TableDef, mix64};
use parts::{open_part, verify};
use tables::{alter, create, definition, files, insert, live, named_files, plan, run};

/// Like posts: a number, a kind, a time, a score, an author, a title, a body, tags.
const TYPES: [&str; 8] = [
    "Int64",
    "UInt8",
    "DateTime64(3, 'UTC')",
    "Float64",
    "String",
    "Nullable(String)",
    "String",
    "LowCardinality(String)",
];
/// By author and time: every part overlaps every other.
const KEY: [u32; 2] = [5, 3];
const MIB: u64 = 1 << 20;

struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        mix64::next(&mut self.0)
    }
}

/// About 420 bytes a row in memory.
fn rows(def: &TableDef, first: i64, count: i64) -> RecordBatch {
    let mut dice = Dice(first as u64);
    let [mut author, mut title, mut body, mut tags] = std::array::from_fn(|_| StringViewBuilder::new());
    for _ in 0..count {
        author.append_value(format!("author number {}", dice.next() % 50_000));
        title.append_option(
            (!dice.next().is_multiple_of(4)).then(|| format!("a title of {:x} words", dice.next())),
        );
        let words: Vec<String> = (0..8 + dice.next() % 20).map(|_| format!("{:x}", dice.next())).collect();
        body.append_value(words.join(" "));
        tags.append_value(["<rust>", "<sql>", "<python><pandas>"][(dice.next() % 3) as usize]);
    }
    let numbers = || first..first + count;
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(numbers())),
        Arc::new(UInt8Array::from_iter_values(numbers().map(|n| (n % 7) as u8))),
        Arc::new(
            TimestampMillisecondArray::from_iter_values(numbers().map(|n| n * 977)).with_timezone("UTC"),
        ),
        Arc::new(Float64Array::from_iter_values(numbers().map(|_| (dice.next() >> 20) as f64))),
        Arc::new(author.finish()),
        Arc::new(title.finish()),
        Arc::new(body.finish()),
        Arc::new(tags.finish()),
    ];
    RecordBatch::try_new(def.arrow_schema(), columns).unwrap()
}

/// As many parts, of as many rows each; returns the table and its bytes in memory.
fn table_of(root: &Path, parts: i64, rows_each: i64) -> (Table, u64) {
    let table = create(&Host::system(4 << 30).unwrap(), root, definition(&TYPES, &KEY));
    for part in 0..parts {
        insert(&table, &rows(&table.def, part * rows_each, rows_each));
    }
    let bytes = live(&table).iter().map(|part| part.bytes_uncompressed).sum();
    (table, bytes)
}

/// Merges everything within `budget` and finds every row again, once.
fn merge_within(table: &Table, parts: usize, budget: u64) {
    let memory = MemoryBudget::new(budget);
    let rows_before: u64 = live(table).iter().map(|part| part.rows).sum();
    let outcome = run(table, &plan(table), &memory).unwrap();
    assert!(matches!(outcome, MergeOutcome::Committed { inputs, .. } if inputs == parts), "{outcome:?}");
    assert!(memory.peak() <= budget && memory.used() == 0);
    let merged = live(table).remove(0);
    assert_eq!(merged.rows, rows_before);
    verify(&table.store, &merged, &table.keys.sort).unwrap();
    let mut seen = vec![false; usize::try_from(rows_before).unwrap()];
    for batch in open_part(&table.store, &merged).unwrap().read(&[ColumnId(1)], None, 8192).unwrap() {
        for number in batch.unwrap().column(0).as_primitive::<Int64Type>().values() {
            assert!(!std::mem::replace(&mut seen[*number as usize], true), "row {number} is there twice");
        }
    }
    assert!(seen.iter().all(|seen| *seen));
}

#[test]
fn twelve_parts_merge_within_a_quarter_of_their_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let (table, bytes) = table_of(dir.path(), 12, 42_000);
    assert!(bytes > 192 * MIB, "{bytes}");
    merge_within(&table, 12, 48 * MIB);
}

#[test]
fn parts_in_another_order_are_sorted_piece_by_piece() {
    let dir = tempfile::tempdir().unwrap();
    let (table, bytes) = table_of(dir.path(), 2, 60_000);
    assert!(bytes > 45 * MIB, "{bytes}");
    let sorted = alter(&table, |def| {
        def.order_by = vec!["`#6`".into()];
        def.primary_key_len = 1;
        def.sort_key_version = 2;
    });
    merge_within(&sorted, 2, 40 * MIB);
    assert_eq!(files(&sorted), named_files(&sorted), "the temporary parts are gone");
}

#[test]
#[ignore = "writes and merges a gigabyte: half a minute in a release build"]
fn a_hundred_parts_of_a_gigabyte_merge_within_256_mib() {
    let dir = tempfile::tempdir().unwrap();
    let (table, bytes) = table_of(dir.path(), 100, 26_000);
    assert!(bytes > 1024 * MIB, "{bytes}");
    let clock = Arc::clone(&table.host.clock);
    let (rss_before, started) = (process::peak_rss_bytes(), clock.monotonic());
    let rows: u64 = live(&table).iter().map(|part| part.rows).sum();
    let files: u64 = live(&table).iter().map(|part| part.bytes).sum();
    let memory = MemoryBudget::new(256 * MIB);
    let outcome = run(&table, &plan(&table), &memory).unwrap();
    let took = clock.monotonic() - started;
    let rss = process::peak_rss_bytes();
    println!(
        "{rows} rows, {} MiB in memory, {} MiB of files: {took:?}, {} MiB granted, peak RSS {} MiB (before {}): {outcome:?}",
        bytes / MIB,
        files / MIB,
        memory.peak() / MIB,
        rss / MIB,
        rss_before / MIB
    );
    assert!(matches!(outcome, MergeOutcome::Committed { inputs: 100, .. }), "{outcome:?}");
    assert!(memory.peak() <= 256 * MIB);
    assert!(rss <= rss_before.max(384 * MIB), "peak RSS {} MiB", rss / MIB);
    verify(&table.store, &live(&table)[0], &table.keys.sort).unwrap();
}
