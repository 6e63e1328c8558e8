//! Chunks of other files, built by hand, become columns of a part beside those that are encoded here.

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{Int64Type, UInt8Type};
use bytes::Bytes;
use model::{ColumnId, Evolution, PartDescriptor, SortOrder, Value};
use parquet::basic::{Compression, Type, ZstdLevel};
use parts::evolve::evolve;
use parts::{
    CopiedChunk, CopiedPage, PartError, PartSpec, PartStore, PartWriter, WritePurpose, open_part, verify,
};

use crate::rows::{host, keys, rows as make_rows, spec, table};

const ROWS: usize = 300;
const PLAIN: u32 = 0;
const RLE_DICTIONARY: u32 = 8;

/// Contents of pages and what their headers said, with a few bytes where the headers were.
#[derive(Default)]
struct Built {
    bytes: Vec<u8>,
    pages: Vec<CopiedPage>,
}

impl Built {
    fn add(&mut self, content: &[u8], values: usize, encoding: u32, is_zstd: bool) {
        let stored = if is_zstd { zstd::bulk::compress(content, 1).unwrap() } else { content.to_vec() };
        self.bytes.extend_from_slice(b"header");
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(&stored);
        self.pages.push(CopiedPage {
            is_dictionary: false,
            content: begin..self.bytes.len(),
            decoded_bytes: content.len() as u32,
            values: values as u32,
            encoding,
            crc: None,
        });
    }

    fn chunk(self, layout: Type, compression: Compression, bounds: (Value, Value)) -> CopiedChunk {
        CopiedChunk {
            bytes: Bytes::from(self.bytes),
            pages: self.pages,
            layout,
            compression,
            is_optional: false,
            nulls: 0,
            has_nan: false,
            bounds: Some(bounds),
            value_bytes: 8 * ROWS as u64,
        }
    }
}

/// The column Id as three pages without a codec.
fn ids(batch: &RecordBatch) -> CopiedChunk {
    let mut built = Built::default();
    for page in batch.column(0).as_primitive::<Int64Type>().values().chunks(120) {
        let content: Vec<u8> = page.iter().flat_map(|value| value.to_le_bytes()).collect();
        built.add(&content, page.len(), PLAIN, false);
    }
    built.chunk(Type::INT64, Compression::UNCOMPRESSED, (Value::Int(0), Value::Int(ROWS as i64 - 1)))
}

/// A run of equal values in the hybrid of runs and bits; its length takes two bytes.
fn run(length: usize, value: u8) -> [u8; 3] {
    let head = (length << 1) as u16;
    [(head & 0x7f) as u8 | 0x80, (head >> 7) as u8, value]
}

/// The column PostTypeId as a dictionary and a page, OPTIONAL, in zstd; it is sorted.
fn types(batch: &RecordBatch) -> CopiedChunk {
    let values = batch.column(1).as_primitive::<UInt8Type>().values();
    let mut entries = values.to_vec();
    entries.dedup();
    let mut built = Built::default();
    let dictionary: Vec<u8> = entries.iter().flat_map(|entry| i32::from(*entry).to_le_bytes()).collect();
    built.add(&dictionary, entries.len(), PLAIN, true);
    built.pages[0].is_dictionary = true;
    let levels = run(ROWS, 1);
    let mut content = (levels.len() as u32).to_le_bytes().to_vec();
    content.extend(levels);
    content.push(8);
    for (index, entry) in entries.iter().enumerate() {
        content.extend(run(values.iter().filter(|value| *value == entry).count(), index as u8));
    }
    built.add(&content, ROWS, RLE_DICTIONARY, true);
    let bounds = (Value::UInt(u64::from(entries[0])), Value::UInt(u64::from(entries[entries.len() - 1])));
    let zstd = Compression::ZSTD(ZstdLevel::try_new(1).unwrap());
    CopiedChunk { is_optional: true, ..built.chunk(Type::INT32, zstd, bounds) }
}

fn write(store: &PartStore, batch: &RecordBatch) -> Result<PartDescriptor, PartError> {
    let table = table();
    let optional = [(ColumnId(2), true)];
    let spec = PartSpec { sort: SortOrder::None, ..spec(&table, WritePurpose::Insert) };
    let mut writer = PartWriter::adopting(store, spec, &optional)?;
    writer.choose_encodings(batch);
    writer.append_chunk(0, &ids(batch))?;
    writer.append_chunk(1, &types(batch))?;
    for position in 2..batch.num_columns() {
        writer.write_column(position, batch.column(position))?;
    }
    writer.end_row_group()?;
    // Behind the copied chunks, a row group as ever.
    writer.write(batch)?;
    Ok(writer.finish()?.into_descriptor())
}

#[test]
fn copied_chunks_are_read_as_those_that_are_written() {
    let (dir, table) = (tempfile::tempdir().unwrap(), table());
    let store = PartStore::local(host(), dir.path().to_owned());
    let batch = make_rows(&table, 0, ROWS, true);
    let part = write(&store, &batch).unwrap();
    assert_eq!(part.rows, 2 * ROWS as u64);
    let reader = open_part(&store, &part).unwrap();
    assert!(reader.schema().field(1).is_nullable());
    let columns: Vec<ColumnId> = (1..=9).map(ColumnId).collect();
    let batches: Vec<RecordBatch> =
        reader.read(&columns, None, 64).unwrap().map(|rows| rows.unwrap()).collect();
    let read = concat_batches(batches[0].schema_ref(), &batches).unwrap();
    let read = evolve(&read, &table.arrow_schema(), &Evolution::default()).unwrap();
    let expected = concat_batches(batch.schema_ref(), [&batch, &batch]).unwrap();
    assert_eq!(read.columns(), expected.columns());
    // Across the borders of pages, by the rebuilt index.
    let some: Vec<RecordBatch> =
        reader.read_rows(&columns[..2], 118..245, 50).unwrap().map(|rows| rows.unwrap()).collect();
    let some = concat_batches(some[0].schema_ref(), &some).unwrap();
    assert_eq!(some.column(0).as_ref(), batch.column(0).slice(118, 127).as_ref());
    assert_eq!(some.column(1).as_ref(), batch.column(1).slice(118, 127).as_ref());
    let verified = verify(&store, &part, &keys(&table).sort).unwrap();
    assert_eq!(verified.rows, part.rows);
    let mut checked = 0;
    reader.check_pages(|bytes| checked += bytes).unwrap();
    assert!(checked > 0);
}

#[test]
fn bounds_are_those_that_were_handed_in() {
    let (dir, table) = (tempfile::tempdir().unwrap(), table());
    let store = PartStore::local(host(), dir.path().to_owned());
    let batch = make_rows(&table, 0, ROWS, true);
    let part = write(&store, &batch).unwrap();
    let id = part.bounds_of(ColumnId(1)).unwrap();
    assert_eq!((&id.min, &id.max), (&Some(Value::Int(0)), &Some(Value::Int(ROWS as i64 - 1))));
    assert_eq!(id.nulls, Some(0));
    let kinds = batch.column(1).as_primitive::<UInt8Type>().values();
    let kind = part.bounds_of(ColumnId(2)).unwrap();
    assert_eq!(kind.min, Some(Value::UInt(u64::from(kinds[0]))));
    assert_eq!(kind.max, Some(Value::UInt(u64::from(kinds[ROWS - 1]))));
}

#[test]
fn a_flipped_byte_of_a_copied_page_is_found() {
    let (dir, table) = (tempfile::tempdir().unwrap(), table());
    let store = PartStore::local(host(), dir.path().to_owned());
    let batch = make_rows(&table, 0, ROWS, true);
    let part = write(&store, &batch).unwrap();
    let path = store.path(&part);
    let mut old = [0];
    store.host().disk.open_read(&path).unwrap().read_at(1500, &mut old).unwrap();
    store.host().disk.open_append(&path).unwrap().write_at(1500, &[old[0] ^ 1]).unwrap();
    let error = open_part(&store, &part).unwrap().check_pages(|_| ()).unwrap_err();
    assert!(error.to_string().contains("column Id, row group 0, page 1"), "{error}");
}

#[test]
fn chunks_that_cannot_be_the_columns_are_refused() {
    let (dir, table) = (tempfile::tempdir().unwrap(), table());
    let store = PartStore::local(host(), dir.path().to_owned());
    let batch = make_rows(&table, 0, ROWS, true);
    let refused = |position: usize, chunk: CopiedChunk| {
        let mut writer = PartWriter::new(&store, spec(&table, WritePurpose::Insert)).unwrap();
        writer.append_chunk(position, &chunk).unwrap_err().to_string()
    };
    assert!(refused(1, types(&batch)).contains("optional: true"));
    assert!(refused(3, ids(&batch)).contains("INT64"));
    assert!(refused(9, ids(&batch)).contains("there is no column 9"));
    let mut wrong_sum = ids(&batch);
    wrong_sum.pages[2].crc = Some(7);
    assert!(refused(0, wrong_sum).contains("page 2: its checksum is wrong"));
    let mut unknown = ids(&batch);
    unknown.pages[0].encoding = 4;
    assert!(refused(0, unknown).contains("encoding 4 is not known"));
    let mut outside = ids(&batch);
    outside.pages[2].content.end += 1;
    assert!(refused(0, outside).contains("not within its chunk"));
    let mut writer = PartWriter::new(&store, spec(&table, WritePurpose::Insert)).unwrap();
    writer.append_chunk(0, &ids(&batch)).unwrap();
    assert!(writer.append_chunk(0, &ids(&batch)).is_err(), "a column has one chunk");
    assert!(writer.write_column(0, batch.column(0)).is_err());
    assert!(writer.end_row_group().is_err(), "the other columns are empty");
}
