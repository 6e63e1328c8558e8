//! Masks of parts and rows of the log, beside a map of keys.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, UInt8Array, UInt32Array};
use arrow::datatypes::{Int64Type, UInt8Type, UInt32Type};
use host::{Host, SimHost};
use mergetree::masks::{MaskJob, MaskSource, RowMask, extend, rows_to_extend};
use mergetree::{Table, TableError};
use model::{ColumnId, MergeMode, TableDef, mix64};

use crate::tables::{create, definition, insert, live, read};

/// Key, version, whether it is deleted.
type Row = (i64, u32, u8);

fn table(host: &Host, root: &Path, has_version: bool, has_deleted: bool) -> Table {
    let mode = MergeMode::Replacing {
        version: has_version.then_some(ColumnId(2)),
        is_deleted: has_deleted.then_some(ColumnId(3)),
    };
    create(host, root, TableDef { mode, ..definition(&["Int64", "UInt32", "UInt8"], &[1]) })
}

fn batch(table: &Table, rows: &[Row]) -> RecordBatch {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0))),
        Arc::new(UInt32Array::from_iter_values(rows.iter().map(|row| row.1))),
        Arc::new(UInt8Array::from_iter_values(rows.iter().map(|row| row.2))),
    ];
    RecordBatch::try_new(table.def.arrow_schema(), columns).unwrap()
}

fn rows_of(batch: &RecordBatch) -> Vec<Row> {
    let keys = batch.column(0).as_primitive::<Int64Type>().values();
    let versions = batch.column(1).as_primitive::<UInt32Type>().values();
    let deleted = batch.column(2).as_primitive::<UInt8Type>().values();
    (0..batch.num_rows()).map(|row| (keys[row], versions[row], deleted[row])).collect()
}

/// The places of the rows that FINAL shows, by source.
fn shown(sources: &[Vec<Row>], has_version: bool, has_deleted: bool) -> Vec<Vec<usize>> {
    let mut newest: BTreeMap<i64, (u32, usize, usize)> = BTreeMap::new();
    for (source, rows) in sources.iter().enumerate() {
        for (row, (key, version, _)) in rows.iter().enumerate() {
            let version = if has_version { *version } else { 0 };
            let known = newest.entry(*key).or_insert((version, source, row));
            if version >= known.0 {
                *known = (version, source, row);
            }
        }
    }
    let mut shown = vec![Vec::new(); sources.len()];
    for (_, source, row) in newest.into_values() {
        if !has_deleted || sources[source][row].2 == 0 {
            shown[source].push(row);
        }
    }
    shown.iter_mut().for_each(|rows| rows.sort_unstable());
    shown
}

fn compute(
    table: &Table,
    sources: &[MaskSource],
    gone: &Arc<AtomicBool>,
) -> Result<Vec<RowMask>, TableError> {
    MaskJob::open(table, sources)?.run(gone)
}

fn live_rows(mask: &RowMask) -> Vec<usize> {
    (0..mask.rows()).filter(|row| mask.is_live(*row)).map(|row| row as usize).collect()
}

#[test]
fn masks_show_the_newest_row_of_each_key_however_they_are_cut_into_pieces() {
    for seed in 0..40 {
        let mut state = seed;
        let mut below = |n: u64| mix64::next(&mut state) % n;
        let (has_version, has_deleted) = (seed % 4 != 0, seed % 4 > 1);
        let ((host, _world), root) = (SimHost::new(seed), Path::new("/db"));
        let table = table(&host, root, has_version, has_deleted);
        let keys = [5, 300, 20_000][below(3) as usize];
        let mut rows = |count: u64| -> Vec<Row> {
            let row = |_| (below(keys) as i64 - 100, below(4) as u32, u8::from(below(5) == 0));
            (0..count).map(row).collect()
        };
        for count in [9_000, 1, 12_000, 50] {
            insert(&table, &batch(&table, &rows(count)));
        }
        let parts = live(&table);
        let log: Vec<RecordBatch> = [30, 1, 200].map(|count| batch(&table, &rows(count))).to_vec();
        let mut sources: Vec<MaskSource> = parts.iter().cloned().map(MaskSource::Part).collect();
        sources.insert(2, MaskSource::Rows(log.clone()));
        let mut stored: Vec<Vec<Row>> = parts.iter().map(|part| rows_of(&read(&table, part))).collect();
        stored.insert(2, log.iter().flat_map(rows_of).collect());
        let expected = shown(&stored, has_version, has_deleted);
        for pieces in [1, 2, 7] {
            let masks =
                MaskJob::open(&table, &sources).unwrap().run_in_pieces(pieces, &Arc::default()).unwrap();
            let found: Vec<Vec<usize>> = masks.iter().map(live_rows).collect();
            assert_eq!(found, expected, "seed {seed}, {pieces} pieces");
            let counts: Vec<usize> = masks.iter().map(|mask| mask.live_rows() as usize).collect();
            assert_eq!(counts, expected.iter().map(Vec::len).collect::<Vec<_>>());
        }
    }
}

#[test]
fn masks_of_a_few_rows_more_are_those_of_all_rows() {
    for seed in 0..16 {
        let mut state = seed + 1_000;
        let mut below = |n: u64| mix64::next(&mut state) % n;
        let (has_version, has_deleted) = (seed % 4 != 0, seed % 4 > 1);
        let ((host, _world), root) = (SimHost::new(seed), Path::new("/db"));
        let table = table(&host, root, has_version, has_deleted);
        let keys = [5, 3_000, 200_000][below(3) as usize];
        let mut rows = |count: u64| -> Vec<Row> {
            let row = |_| (below(keys) as i64, below(4) as u32, u8::from(below(5) == 0));
            (0..count).map(row).collect()
        };
        for count in [9_000, 12_000, 150_000 * (seed % 2)] {
            insert(&table, &batch(&table, &rows(count + 1)));
        }
        let mut sources: Vec<MaskSource> = live(&table).into_iter().map(MaskSource::Part).collect();
        let mut log = vec![batch(&table, &rows(20))];
        if seed % 3 > 0 {
            sources.push(MaskSource::Rows(log.clone()));
        }
        let mut masks = compute(&table, &sources, &Arc::default()).unwrap();
        sources.truncate(3);
        for _ in 0..4 {
            log.push(batch(&table, &rows(1 + seed % 5)));
            let now: Vec<MaskSource> =
                sources.iter().cloned().chain([MaskSource::Rows(log.clone())]).collect();
            let extended =
                extend(&table, &MaskJob::open(&table, &now).unwrap(), &masks, &Arc::default()).unwrap();
            let computed = compute(&table, &now, &Arc::default()).unwrap();
            let rows = |masks: &[RowMask]| masks.iter().map(live_rows).collect::<Vec<_>>();
            assert_eq!(rows(&extended), rows(&computed), "seed {seed}");
            masks = extended;
        }
        let taken = rows_to_extend(&sources, &masks);
        assert_eq!(taken, None, "a source less is no row more");
    }
}

#[test]
fn nobody_who_has_gone_is_worked_for_and_a_missing_part_is_an_error() {
    let ((host, _world), root) = (SimHost::new(1), Path::new("/db"));
    let table = table(&host, root, true, false);
    let rows: Vec<Row> = (0..4_000).map(|key| (key % 2, 1, 0)).collect();
    (0..3).for_each(|_| _ = insert(&table, &batch(&table, &rows)));
    let interleaved: Vec<Row> = (0..2_000).map(|key| (key * 2, 1, 0)).collect();
    let other: Vec<Row> = (0..2_000).map(|key| (key * 2 + 1, 1, 0)).collect();
    insert(&table, &batch(&table, &interleaved));
    insert(&table, &batch(&table, &other));
    let parts = live(&table);
    let sources: Vec<MaskSource> = parts.iter().cloned().map(MaskSource::Part).collect();
    let gone = Arc::new(AtomicBool::new(true));
    assert!(matches!(compute(&table, &sources, &gone), Err(TableError::Cancelled)));
    host.disk.remove_file(&table.store.path(&parts[1])).unwrap();
    let missing = compute(&table, &sources, &Arc::default()).unwrap_err();
    assert!(missing.to_string().contains(&parts[1].id.to_string()), "{missing}");
}
