//! A part is written, described, read in pieces, verified, and found when it is damaged.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::{Array, AsArray, RecordBatch, StringViewArray};
use arrow::compute::concat_batches;
use arrow::datatypes::Int64Type;
use host::{Runtimes, Workers};
use model::{ColumnId, SortOrder, TableKeys, Value};
use parquet::basic::Compression;
use parts::encoding::{LeafEncoding, PageCodec, ValueEncoding};
use parts::evolve::evolve;
use parts::{ColumnEncodings, PartError, PartSpec, PartStore, PartWriter, WritePurpose, open_part, verify};

use crate::rows::{Column, column, host, keys, rows as make_rows, spec, table};

fn store(dir: &tempfile::TempDir) -> PartStore {
    PartStore::local(host(), dir.path().to_owned())
}

const ALL: [u32; 9] = [1, 2, 3, 4, 5, 6, 7, 8, 9];

fn ids(columns: &[u32]) -> Vec<ColumnId> {
    columns.iter().copied().map(ColumnId).collect()
}

fn read_all(batches: impl Iterator<Item = Result<RecordBatch, PartError>>) -> RecordBatch {
    let batches: Vec<RecordBatch> = batches.map(Result::unwrap).collect();
    concat_batches(batches[0].schema_ref(), &batches).unwrap()
}

#[test]
fn rows_come_back_by_range_and_column() {
    let (dir, table) = (tempfile::tempdir().unwrap(), table());
    let store = store(&dir);
    for purpose in [WritePurpose::Insert, WritePurpose::Merge] {
        let batch = make_rows(&table, 0, 30_000, true);
        let mut writer = PartWriter::new(&store, spec(&table, purpose)).unwrap();
        writer.write(&batch.slice(0, 10_000)).unwrap();
        writer.end_row_group().unwrap();
        writer.write(&batch.slice(10_000, 20_000)).unwrap();
        let part = writer.finish().unwrap().into_descriptor();
        assert_eq!(part.rows, 30_000);
        let reader = open_part(&store, &part).unwrap();
        assert_eq!(reader.row_groups(), 2);
        let whole = read_all(reader.read(&ids(&ALL), None, 5000).unwrap());
        assert_eq!(whole.columns(), batch.columns());
        for (start, end) in [(0, 1), (9_999, 10_001), (12_345, 29_999), (29_999, 30_000)] {
            let read = read_all(reader.read_rows(&ids(&[1, 6]), start..end, 777).unwrap());
            let expected = batch.slice(start as usize, (end - start) as usize);
            assert_eq!(read.columns(), expected.project(&[0, 5]).unwrap().columns(), "{start}..{end}");
        }
        let found = verify(&store, &part, &keys(&table).sort).unwrap();
        assert_eq!((found.rows, found.bytes), (30_000, part.bytes));
        assert_eq!(found.bytes_uncompressed, part.bytes_uncompressed);
    }
}

#[test]
fn workers_write_the_pages_that_one_thread_writes() {
    let (dir, table) = (tempfile::tempdir().unwrap(), table());
    let (store, runtimes) = (store(&dir), Runtimes::new(2, 1).unwrap());
    let batch = make_rows(&table, 0, 40_000, true);
    let written = |workers: &Workers| {
        let mut writer = PartWriter::new(&store, spec(&table, WritePurpose::Merge)).unwrap();
        writer.use_workers(workers);
        for start in (0..40_000).step_by(5000) {
            writer.write(&batch.slice(start, 5000)).unwrap();
            if start == 20_000 {
                writer.end_row_group().unwrap();
            }
        }
        writer.finish().unwrap().into_descriptor()
    };
    let (alone, beside) = (written(&Workers::default()), written(&Workers::of(&runtimes, 3)));
    assert_eq!((alone.bytes, alone.rows, &alone.bounds), (beside.bytes, beside.rows, &beside.bounds));
    let pages = |part| {
        let reader = open_part(&store, part).unwrap();
        let groups = reader.metadata().row_groups().to_vec();
        (groups.iter().flat_map(|group| group.columns().to_vec()).collect::<Vec<_>>(), reader)
    };
    assert_eq!(pages(&alone).0, pages(&beside).0);
    assert_eq!(read_all(pages(&beside).1.read(&ids(&ALL), None, 5000).unwrap()).columns(), batch.columns());
    // A worker that nobody runs any more is an error of the part.
    runtimes.shutdown(Duration::from_secs(5));
    let mut writer = PartWriter::new(&store, spec(&table, WritePurpose::Merge)).unwrap();
    writer.use_workers(&Workers::of(&runtimes, 3));
    let refused = writer.write(&batch).and_then(|()| writer.end_row_group());
    assert!(refused.unwrap_err().to_string().contains("a worker ended"));
}

#[test]
fn text_is_packed_quicker_until_it_is_merged_unless_it_repeats_itself() {
    let batch = make_rows(&table(), 0, 4096, true);
    let codec = |batch: &RecordBatch, purpose| {
        let chosen = ColumnEncodings::choose(batch, purpose).leaf(5).unwrap();
        assert_eq!(chosen.values, ValueEncoding::Plain);
        chosen.codec
    };
    assert_eq!(codec(&batch, WritePurpose::Insert), PageCodec::QuickZstd);
    assert_eq!(codec(&batch, WritePurpose::Flush), PageCodec::QuickZstd);
    assert_eq!(codec(&batch, WritePurpose::Merge), PageCodec::Zstd(2));
    assert_eq!(codec(&batch.slice(0, 50), WritePurpose::Insert), PageCodec::Zstd(1), "too little to tell");
    let lines =
        (0..4096).map(|row| format!("{row} GET /index.html HTTP/1.1 200 Mozilla/5.0 (X11; Linux x86_64)"));
    let mut columns = batch.columns().to_vec();
    columns[5] = Arc::new(StringViewArray::from_iter_values(lines));
    let log = RecordBatch::try_new(batch.schema(), columns).unwrap();
    assert_eq!(codec(&log, WritePurpose::Insert), PageCodec::Zstd(1), "it would be more than a third larger");
}

#[test]
fn quick_pages_are_pages_of_zstd() {
    let (dir, table) = (tempfile::tempdir().unwrap(), table());
    let store = store(&dir);
    let batch = make_rows(&table, 0, 30_000, true);
    let quick = LeafEncoding { values: ValueEncoding::Plain, codec: PageCodec::QuickZstd };
    let dictionary = LeafEncoding { values: ValueEncoding::Dictionary, ..quick };
    let encodings = ColumnEncodings::uniform(quick, ALL.len()).with_leaf(7, dictionary);
    let spec = PartSpec { encodings: Some(Arc::new(encodings)), ..spec(&table, WritePurpose::Insert) };
    let mut writer = PartWriter::new(&store, spec).unwrap();
    writer.write(&batch.slice(0, 10_000)).unwrap();
    assert!(writer.memory_bytes() > 1_000_000, "packed pages are counted");
    writer.end_row_group().unwrap();
    writer.write(&batch.slice(10_000, 20_000)).unwrap();
    let part = writer.finish().unwrap().into_descriptor();
    let reader = open_part(&store, &part).unwrap();
    let whole = read_all(reader.read(&ids(&ALL), None, 5000).unwrap());
    assert_eq!(whole.columns(), batch.columns());
    let read = read_all(reader.read_rows(&ids(&[5, 6, 8]), 12_345..29_999, 777).unwrap());
    assert_eq!(read.columns(), batch.slice(12_345, 17_654).project(&[4, 5, 7]).unwrap().columns());
    verify(&store, &part, &keys(&table).sort).unwrap();
    for (group, pages) in reader.metadata().offset_index().unwrap().iter().enumerate() {
        for (leaf, index) in pages.iter().enumerate() {
            let chunk = reader.metadata().row_group(group).column(leaf);
            assert!(matches!(chunk.compression(), Compression::ZSTD(_)), "{group} {leaf}");
            let mut at = chunk.data_page_offset();
            for page in index.page_locations() {
                assert_eq!(page.offset, at, "{group} {leaf}");
                at += i64::from(page.compressed_page_size);
            }
            let (start, length) = chunk.byte_range();
            assert_eq!(u64::try_from(at).unwrap(), start + length, "{group} {leaf}");
        }
    }
    let body = reader.metadata().row_group(1).column(5);
    assert!(body.compressed_size() * 3 < body.uncompressed_size() * 2);
}

#[test]
fn the_descriptor_says_what_is_inside() {
    let (dir, table) = (tempfile::tempdir().unwrap(), table());
    let store = store(&dir);
    let batch = make_rows(&table, 100, 5000, true);
    let mut writer = PartWriter::new(&store, spec(&table, WritePurpose::Insert)).unwrap();
    writer.write(&batch).unwrap();
    let part = writer.finish().unwrap().into_descriptor();
    let id = part.bounds_of(ColumnId(1)).unwrap();
    assert_eq!((&id.min, &id.max, id.nulls), (&Some(Value::Int(100)), &Some(Value::Int(5099)), Some(0)));
    let views = batch.column(4);
    assert_eq!(part.bounds_of(ColumnId(5)).unwrap().nulls, Some(views.null_count() as u64));
    let body = part.bounds_of(ColumnId(6)).unwrap();
    assert_eq!((&body.min, &body.max), (&None, &None), "free text outside the key has no bounds");
    let reader = open_part(&store, &part).unwrap();
    let group = reader.metadata().row_group(0);
    let sorting: Vec<i32> = group.sorting_columns().unwrap().iter().map(|s| s.column_idx).collect();
    assert_eq!(sorting, [1, 2]);
    let pairs = reader.metadata().file_metadata().key_value_metadata().unwrap();
    assert!(pairs.iter().any(|p| p.key == "gristmill.part" && p.value == Some(part.id.to_string())));
    let ids: Vec<i32> =
        group.schema_descr().columns().iter().map(|c| c.self_type().get_basic_info().id()).collect();
    assert_eq!(ids, [1, 2, 3, 4, 5, 6, 7, 8, 9], "field ids are column ids");
    assert_eq!(store.list_files(table.id).unwrap()[0].part, Some(part.id));
}

#[test]
fn bounds_of_a_text_key_are_cut() {
    let (dir, table) = (tempfile::tempdir().unwrap(), table());
    let batch = make_rows(&table, 100, 5000, true);
    let by_body = TableKeys { sort: vec![Column::of(&table, 6)], ..TableKeys::default() };
    let spec =
        PartSpec { keys: Arc::new(by_body), sort: SortOrder::None, ..spec(&table, WritePurpose::Insert) };
    let mut writer = PartWriter::new(&store(&dir), spec).unwrap();
    writer.write(&batch).unwrap();
    let part = writer.finish().unwrap().into_descriptor();
    let body = part.bounds_of(ColumnId(6)).unwrap();
    let texts = batch.column(5).as_string_view();
    let least = texts.iter().flatten().min().unwrap();
    let greatest = texts.iter().flatten().max().unwrap();
    let Some((Value::Text(min), Value::Text(max))) = body.min.clone().zip(body.max.clone()) else {
        panic!("a text key has bounds")
    };
    assert!(min.len() <= 64 && least.starts_with(min.as_ref()));
    assert!(max.len() <= 64 && max.as_ref() >= greatest);
}

#[test]
fn nan_takes_the_bounds_away() {
    let (dir, table) = (tempfile::tempdir().unwrap(), table());
    let store = store(&dir);
    let batch = make_rows(&table, 0, 100, true);
    let mut columns = batch.columns().to_vec();
    let mut ratings = columns[8].as_primitive::<arrow::datatypes::Float64Type>().values().to_vec();
    ratings[50] = f64::NAN;
    columns[8] = Arc::new(arrow::array::Float64Array::from(ratings));
    let mut writer = PartWriter::new(&store, spec(&table, WritePurpose::Insert)).unwrap();
    writer.write(&RecordBatch::try_new(batch.schema(), columns).unwrap()).unwrap();
    let part = writer.finish().unwrap().into_descriptor();
    let rating = part.bounds_of(ColumnId(9)).unwrap();
    assert_eq!((&rating.min, &rating.max), (&None, &None));
}

#[test]
fn a_writer_that_is_dropped_leaves_nothing() {
    let (dir, table) = (tempfile::tempdir().unwrap(), table());
    let store = store(&dir);
    let mut writer = PartWriter::new(&store, spec(&table, WritePurpose::Insert)).unwrap();
    writer.write(&make_rows(&table, 0, 100, true)).unwrap();
    assert_eq!(store.list_files(table.id).unwrap().len(), 1);
    drop(writer);
    assert_eq!(store.list_files(table.id).unwrap(), []);
}

#[test]
fn one_wrong_byte_is_found() {
    let (dir, table) = (tempfile::tempdir().unwrap(), table());
    let store = store(&dir);
    let mut writer = PartWriter::new(&store, spec(&table, WritePurpose::Insert)).unwrap();
    writer.write(&make_rows(&table, 0, 2000, true)).unwrap();
    let part = writer.finish().unwrap().into_descriptor();
    let mut file = store.host().disk.open_append(&store.path(&part)).unwrap();
    file.write_at(part.bytes / 2, b"?").unwrap();
    let error = verify(&store, &part, &[]).unwrap_err();
    assert!(error.to_string().contains("its checksum is wrong"), "{error}");
    let mut shorter = part.clone();
    shorter.bytes += 1;
    assert!(matches!(verify(&store, &shorter, &[]), Err(PartError::Damaged { .. })));
}

#[test]
fn rows_out_of_order_are_found() {
    let (dir, table) = (tempfile::tempdir().unwrap(), table());
    let store = store(&dir);
    let mut writer = PartWriter::new(&store, spec(&table, WritePurpose::Insert)).unwrap();
    writer.write(&make_rows(&table, 0, 2000, false)).unwrap();
    let part = writer.finish().unwrap().into_descriptor();
    let error = verify(&store, &part, &keys(&table).sort).unwrap_err();
    assert!(matches!(error, PartError::Unsorted { .. }), "{error}");
}

#[test]
fn old_parts_are_read_by_column_id() {
    let (dir, table) = (tempfile::tempdir().unwrap(), table());
    let store = store(&dir);
    let batch = make_rows(&table, 0, 50, true);
    let mut writer = PartWriter::new(&store, spec(&table, WritePurpose::Insert)).unwrap();
    writer.write(&batch).unwrap();
    let part = writer.finish().unwrap().into_descriptor();
    let mut next = table.as_ref().clone();
    next.schema_version = 2;
    next.columns.retain(|c| c.id != ColumnId(4));
    next.columns[0].name = "Number".into();
    next.columns.push(column(10, "Score", "Nullable(Int32)"));
    let wanted: Vec<ColumnId> = next.columns.iter().map(|c| c.id).collect();
    let reader = open_part(&store, &part).unwrap();
    let read = read_all(reader.read(&wanted, None, 8192).unwrap());
    let now = evolve(&read, &next.arrow_schema(), &model::Evolution::default()).unwrap();
    let numbers = now.column_by_name("Number").unwrap();
    assert_eq!(numbers.as_primitive::<Int64Type>().value(49), 49, "a renamed column keeps its values");
    let scores = now.column_by_name("Score").unwrap();
    assert_eq!(scores.null_count(), 50, "a column added again is empty");
}
