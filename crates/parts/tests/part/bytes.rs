//! No byte of a part is wrong unnoticed: whoever reads gets the rows that were written, or an error that names the place.
#![expect(clippy::disallowed_methods, reason = "files are damaged on purpose")]

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int64Builder, ListBuilder, RecordBatch, StringViewBuilder, make_array};
use arrow::compute::concat_batches;
use model::{ColumnId, PartDescriptor, PartId, PartLocation, TableDef, TableId};
use parts::{PartError, PartStore, PartWriter, WritePurpose, open_part, verify};

use crate::rows::{column, host, keys, rows as make_rows, spec, table};

fn store(dir: &tempfile::TempDir) -> PartStore {
    PartStore::local(host(), dir.path().to_owned())
}

/// The table of the other tests with two nested columns.
fn nested_table() -> Arc<TableDef> {
    let mut def = table().as_ref().clone();
    def.columns.push(column(10, "Numbers", "Array(Nullable(Int64))"));
    def.columns.push(column(11, "Words", "Array(String)"));
    def.next_column_id = 12;
    def.into()
}

/// Rows with every kind of encoding, NULLs, empty texts and empty arrays.
fn nested_rows(def: &TableDef, count: usize) -> RecordBatch {
    let flat = make_rows(&table(), 0, count, true);
    let mut numbers = ListBuilder::new(Int64Builder::new());
    let mut words = ListBuilder::new(StringViewBuilder::new());
    for row in 0..count {
        (0..row % 3).for_each(|at| numbers.values().append_option((at > 0).then_some(row as i64)));
        numbers.append(true);
        (0..row % 4).for_each(|at| words.values().append_value("word ".repeat(at)));
        words.append(true);
    }
    let schema = def.arrow_schema();
    let nested: [ArrayRef; 2] = [Arc::new(numbers.finish()), Arc::new(words.finish())];
    let mut columns = flat.columns().to_vec();
    for array in nested {
        let data_type = schema.field(columns.len()).data_type();
        // The same values; only the names inside differ.
        let array = array.to_data().into_builder().data_type(data_type.clone()).build();
        columns.push(make_array(array.unwrap()));
    }
    RecordBatch::try_new(schema, columns).unwrap()
}

fn write(
    store: &PartStore,
    def: &Arc<TableDef>,
    rows: &RecordBatch,
    purpose: WritePurpose,
) -> PartDescriptor {
    let mut writer = PartWriter::new(store, spec(def, purpose)).unwrap();
    let half = rows.num_rows() / 2;
    writer.write(&rows.slice(0, half)).unwrap();
    writer.end_row_group().unwrap();
    writer.write(&rows.slice(half, rows.num_rows() - half)).unwrap();
    writer.finish().unwrap().into_descriptor()
}

fn read(store: &PartStore, part: &PartDescriptor) -> Result<RecordBatch, PartError> {
    let columns: Vec<ColumnId> = (1..12).map(ColumnId).collect();
    let reader = open_part(store, part)?;
    let batches = reader.read(&columns, None, 8192)?.collect::<Result<Vec<_>, _>>()?;
    Ok(concat_batches(batches[0].schema_ref(), &batches).unwrap())
}

/// Writes one byte; returns what was there.
fn poke(store: &PartStore, part: &PartDescriptor, at: u64, byte: impl FnOnce(u8) -> u8) -> u8 {
    let path = store.path(part);
    let mut old = [0];
    store.host().disk.open_read(&path).unwrap().read_at(at, &mut old).unwrap();
    store.host().disk.open_append(&path).unwrap().write_at(at, &[byte(old[0])]).unwrap();
    old[0]
}

#[test]
fn every_flipped_byte_is_an_error_or_changes_nothing() {
    let (dir, def) = (tempfile::tempdir().unwrap(), nested_table());
    let store = store(&dir);
    for purpose in [WritePurpose::Insert, WritePurpose::Merge] {
        let rows = nested_rows(&def, 14);
        let part = write(&store, &def, &rows, purpose);
        assert_eq!(read(&store, &part).unwrap(), rows);
        verify(&store, &part, &keys(&def).sort).unwrap();
        let (mut pages, mut tails) = (0, 0);
        for at in 0..part.bytes {
            let old = poke(&store, &part, at, |byte| byte ^ (1 << (at % 8)));
            match read(&store, &part) {
                Ok(read) => assert!(at < 4 && read == rows, "byte {at} of {}", part.bytes),
                Err(PartError::Checksum { place, .. }) if place.contains("row group") => pages += 1,
                Err(PartError::Checksum { .. }) => tails += 1,
                Err(error) => panic!("byte {at}: {error}"),
            }
            poke(&store, &part, at, |_| old);
        }
        let tail = part.bytes - part.tail.unwrap().begin;
        assert_eq!((pages + 4, tails), (part.bytes - tail, tail));
        assert_eq!(read(&store, &part).unwrap(), rows);
    }
}

#[test]
fn the_error_names_the_place_and_the_part_is_remembered() {
    let (dir, table) = (tempfile::tempdir().unwrap(), table());
    let store = store(&dir);
    let rows = make_rows(&table, 0, 20_000, true);
    let part = write(&store, &table, &rows, WritePurpose::Insert);
    let reader = open_part(&store, &part).unwrap();
    let index = reader.metadata().offset_index().unwrap()[1][5].clone();
    let page = u64::try_from(index.page_locations[1].offset).unwrap();
    poke(&store, &part, page + 100, |byte| byte ^ 1);
    let all = |column| {
        let batches = open_part(&store, &part)?.read(&[ColumnId(column)], None, 8192)?;
        batches.collect::<Result<Vec<_>, PartError>>()
    };
    assert_eq!(store.health().of(&part), (None, None));
    let error = all(6).unwrap_err();
    let place = format!("part {} is damaged: column Body, row group 1, page 1 (at byte {page})", part.id);
    assert!(error.to_string().starts_with(&place), "{error}");
    assert_eq!(error.damaged_part(), Some(part.id));
    let (checked, damage) = store.health().of(&part);
    assert_eq!((checked, damage.as_deref()), (None, Some(error.to_string().as_str())));
    assert!(store.health().damaged(part.table).contains(&part.id));
    all(1).unwrap();
    let range = reader.read_rows(&[ColumnId(6)], 0..9_000, 8192).unwrap();
    assert_eq!(range.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 9_000, "other pages are read");
    let dictionary = reader.metadata().row_group(0).column(7).dictionary_page_offset().unwrap();
    poke(&store, &part, u64::try_from(dictionary).unwrap() + 3, |byte| byte ^ 0x40);
    let error = all(8).unwrap_err().to_string();
    assert!(error.contains("column Tags, row group 0, the dictionary"), "{error}");
    store.delete(&part).unwrap();
    assert_eq!(store.health().damaged(part.table).len(), 0);
}

#[test]
fn a_part_that_lost_its_end_is_damaged() {
    let (dir, table) = (tempfile::tempdir().unwrap(), table());
    let store = store(&dir);
    let part = write(&store, &table, &make_rows(&table, 0, 2000, true), WritePurpose::Insert);
    let mut file = store.host().disk.open_append(&store.path(&part)).unwrap();
    for bytes in [part.bytes - 1, part.tail.unwrap().begin + 3, part.bytes / 2, 4, 0] {
        file.set_len(bytes).unwrap();
        let error = read(&store, &part).unwrap_err();
        assert!(error.is_damage(), "{bytes}: {error}");
    }
}

/// A part as versions before the sums wrote it: 60 rows, two row groups.
fn part_without_sums(store: &PartStore) -> PartDescriptor {
    let id = PartId::parse("98ec56b4-f868-4346-b5ce-e5503afbae19").unwrap();
    let table_id = TableId::from_bytes([7; 16]);
    let newer = write(store, &table(), &make_rows(&table(), 0, 60, true), WritePurpose::Insert);
    let key = PartStore::key(table_id, id);
    let path = store.root().join(&key);
    std::fs::write(path, include_bytes!("../fixtures/part_without_sums.parquet")).unwrap();
    PartDescriptor {
        id,
        location: PartLocation { store: 0, key: key.into(), owner_nodes: Vec::new() },
        checksum: 4_293_851_520_718_320_018,
        tail: None,
        bytes: 22_225,
        ..newer
    }
}

#[test]
fn a_part_without_sums_is_compared_as_a_whole_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(&dir);
    let part = part_without_sums(&store);
    let rows = make_rows(&table(), 0, 60, true);
    verify(&store, &part, &keys(&table()).sort).unwrap();
    poke(&store, &part, 9_000, |byte| byte ^ 4);
    assert_eq!(read(&store, &part).unwrap().num_rows(), 60, "it is compared once in a process");
    for at in [4, 9_000, 21_000, 22_224] {
        let fresh = PartStore::local(host(), dir.path().to_owned());
        let part = part_without_sums(&fresh);
        let old = poke(&fresh, &part, at, |byte| byte ^ 4);
        // All readers at once.
        std::thread::scope(|scope| {
            let readers: Vec<_> = (0..4).map(|_| scope.spawn(|| read(&fresh, &part))).collect();
            for reader in readers {
                let error = reader.join().unwrap().unwrap_err();
                assert!(matches!(error, PartError::Checksum { .. }), "{error}");
            }
        });
        assert!(fresh.health().damaged(part.table).contains(&part.id));
        poke(&fresh, &part, at, |_| old);
        assert_eq!(read(&fresh, &part).unwrap(), rows);
    }
}
