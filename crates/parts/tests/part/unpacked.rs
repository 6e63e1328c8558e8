//! Chunks of a part that are kept without compression give the rows the file has, under any pressure.
#![expect(clippy::single_range_in_vec_init, reason = "selections of one range are written so")]

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use bytes::{Buf, Bytes};
use host::MemoryBudget;
use model::PartDescriptor;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection, RowSelector,
};
use parquet::basic::Compression;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData};
use parquet::file::reader::{ChunkReader, Length};
use parts::{PartPages, PartStore, PartWriter, UnpackedPages, Wanted, WritePurpose};

use crate::rows::{COLUMNS, host, rows as make_rows, spec, table};

const ROWS: u64 = 40_000;
const PLENTY: u64 = 1 << 30;

/// A part, its bytes and its footer.
struct Part {
    _dir: tempfile::TempDir,
    store: PartStore,
    descriptor: PartDescriptor,
    bytes: Bytes,
    footer: Arc<ParquetMetaData>,
    rows: RecordBatch,
}

fn part(purpose: WritePurpose, cache: &Arc<UnpackedPages>) -> Part {
    let (dir, table) = (tempfile::tempdir().unwrap(), table());
    let store = PartStore::local(host(), dir.path().to_owned()).with_unpacked(Arc::clone(cache));
    let rows = make_rows(&table, 0, ROWS as usize, true);
    let mut writer = PartWriter::new(&store, spec(&table, purpose)).unwrap();
    writer.write(&rows.slice(0, 25_000)).unwrap();
    writer.end_row_group().unwrap();
    writer.write(&rows.slice(25_000, 15_000)).unwrap();
    let descriptor = writer.finish().unwrap().into_descriptor();
    let bytes = Bytes::from(std::fs::read(store.path(&descriptor)).unwrap());
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Required);
    let footer = Arc::clone(ArrowReaderMetadata::load(&bytes, options).unwrap().metadata());
    Part { _dir: dir, store, descriptor, bytes, footer, rows }
}

/// Reads as the engine's reader does: places in the file from there, the rest from the cache.
#[derive(Clone)]
struct Reader {
    file: Bytes,
    cache: Arc<UnpackedPages>,
    pages: Arc<PartPages>,
}

impl Reader {
    fn of(part: &Part, cache: &Arc<UnpackedPages>) -> Reader {
        let pages = cache.part(&part.descriptor.location.key);
        let reader = Reader { file: part.bytes.clone(), cache: Arc::clone(cache), pages };
        reader.view(part, &[]);
        reader
    }

    /// The ranges, and how many of them were kept.
    fn read(&self, ranges: &[Range<u64>]) -> ParquetResult<(Vec<Bytes>, usize)> {
        let (mut answers, mut here) = (Vec::new(), 0);
        for (range, wanted) in ranges.iter().zip(self.cache.wanted(&self.pages, ranges)?) {
            answers.push(match wanted {
                Wanted::Stored => {
                    let bytes = self.file.slice(range.start as usize..range.end as usize);
                    self.cache.note_stored(&self.pages, range, &bytes);
                    bytes
                }
                Wanted::Here { bytes, .. } => {
                    here += 1;
                    bytes
                }
                Wanted::Missing(mut fill) => {
                    while let Some(run) = fill.next_run() {
                        fill.take(&self.file[run.start as usize..run.end as usize])?;
                    }
                    self.cache.keep(&self.pages, fill)?.0
                }
            });
        }
        Ok((answers, here))
    }

    fn view(&self, part: &Part, columns: &[&str]) -> Arc<ParquetMetaData> {
        let wanted: HashSet<String> = columns.iter().map(|name| (*name).to_owned()).collect();
        self.cache.view(&self.pages, &part.footer, &wanted).unwrap()
    }

    /// Reads every chunk as a whole, as a scan does; returns how many were kept.
    fn scan(&self, footer: &ParquetMetaData) -> usize {
        let chunks = footer.row_groups().iter().flat_map(|group| group.columns());
        let ranges = chunks.map(|chunk| chunk.byte_range()).map(|(start, length)| start..start + length);
        self.read(&ranges.collect::<Vec<_>>()).unwrap().1
    }

    /// All rows, or some, decoded by the Parquet library.
    fn rows(&self, footer: &Arc<ParquetMetaData>, selection: Option<RowSelection>) -> RecordBatch {
        let metadata = ArrowReaderMetadata::try_new(Arc::clone(footer), ArrowReaderOptions::new()).unwrap();
        let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(self.clone(), metadata);
        if let Some(selection) = selection {
            builder = builder.with_row_selection(selection);
        }
        let batches: Vec<RecordBatch> = builder.build().unwrap().map(Result::unwrap).collect();
        concat_batches(batches[0].schema_ref(), &batches).unwrap()
    }
}

impl Length for Reader {
    fn len(&self) -> u64 {
        self.file.len() as u64
    }
}

impl ChunkReader for Reader {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(self.get_bytes(start, 64)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let answers = self.read(&[start..start + length as u64])?.0;
        answers.into_iter().next().ok_or_else(|| ParquetError::General("no answer".to_owned()))
    }
}

fn all_names() -> Vec<&'static str> {
    COLUMNS.iter().map(|(name, _)| *name).collect()
}

fn codecs(footer: &ParquetMetaData) -> Vec<Compression> {
    footer.row_groups().iter().flat_map(|group| group.columns()).map(|chunk| chunk.compression()).collect()
}

/// How many chunks the second footer shows without a codec that the first has one for.
fn unpacked(stored: &ParquetMetaData, shown: &ParquetMetaData) -> usize {
    codecs(stored).iter().zip(codecs(shown)).filter(|(stored, shown)| *stored != shown).count()
}

#[test]
fn a_chunk_is_kept_at_its_second_reading_and_gives_the_same_rows() {
    for purpose in [WritePurpose::Insert, WritePurpose::Merge] {
        let memory = MemoryBudget::new(PLENTY);
        let cache = UnpackedPages::new(memory.clone(), PLENTY);
        let part = part(purpose, &cache);
        let reader = Reader::of(&part, &cache);
        assert_eq!(unpacked(&part.footer, &reader.view(&part, &all_names())), 0, "nothing is known");
        assert_eq!(reader.scan(&part.footer), 0);
        let packed = codecs(&part.footer).iter().filter(|codec| **codec != Compression::UNCOMPRESSED).count();
        assert!(packed >= 6, "{packed}");
        let view = reader.view(&part, &all_names());
        assert_eq!(unpacked(&part.footer, &view), packed);
        assert!(Arc::ptr_eq(&view, &reader.view(&part, &all_names())), "it is made once");
        assert_eq!((reader.scan(&view), cache.size().1), (0, packed), "all were unpacked");
        assert_eq!(reader.scan(&view), packed, "all were there");
        assert_eq!(memory.used(), cache.size().0);
        let whole = reader.rows(&view, None);
        assert_eq!(whole.columns(), part.rows.columns());
        let some = vec![RowSelector::skip(9_000), RowSelector::select(17_000), RowSelector::skip(13_900)];
        let some = [some, vec![RowSelector::select(100)]].concat();
        let read = reader.rows(&view, Some(RowSelection::from(some)));
        let expected = [part.rows.slice(9_000, 17_000), part.rows.slice(39_900, 100)];
        let expected = concat_batches(expected[0].schema_ref(), &expected).unwrap();
        assert_eq!(read.columns(), expected.columns());
        let other = reader.rows(&part.footer, None);
        assert_eq!(other.columns(), part.rows.columns(), "the footer as it is stored stays true");
        part.store.delete(&part.descriptor).unwrap();
        assert_eq!((cache.size(), memory.used()), ((0, 0), 0), "a part that is deleted is forgotten");
    }
}

#[test]
fn a_footer_that_was_given_out_is_served_whatever_was_dropped() {
    let memory = MemoryBudget::new(PLENTY);
    let cache = UnpackedPages::new(memory.clone(), PLENTY);
    let part = part(WritePurpose::Merge, &cache);
    let reader = Reader::of(&part, &cache);
    reader.scan(&part.footer);
    let view = reader.view(&part, &all_names());
    assert_eq!(reader.rows(&view, None).columns(), part.rows.columns(), "page by page, nothing kept");
    let single_pages = cache.size().1;
    assert!(single_pages < 6, "a page of many is not kept, {single_pages} chunks of one page are");
    reader.scan(&view);
    assert!(cache.size().1 > single_pages);
    let held = reader.read(&[first_unpacked(&view)]).unwrap().0;
    let all = memory.try_grant("sort", PLENTY).expect("all that is kept gives way");
    assert_eq!(cache.size(), (0, 0));
    assert_eq!(reader.rows(&view, None).columns(), part.rows.columns());
    reader.scan(&view);
    assert_eq!(cache.size(), (0, 0), "there is no room while others need it");
    drop(all);
    assert_eq!(reader.read(&[first_unpacked(&view)]).unwrap().0, held);
    assert_eq!(cache.size().1, 1);
    cache.clear();
    assert_eq!(memory.used(), 0);
    let unknown = (1_u64 << 50)..(1_u64 << 50) + 10;
    assert!(reader.read(&[unknown]).is_err(), "an address nobody was given");
}

fn first_unpacked(view: &ParquetMetaData) -> Range<u64> {
    let chunks = view.row_groups().iter().flat_map(|group| group.columns());
    let mut ranges = chunks.map(|chunk| chunk.byte_range()).map(|(start, length)| start..start + length);
    ranges.find(|range| range.start > 1 << 40).unwrap()
}

#[test]
fn only_columns_that_are_read_and_fit_are_shown_unpacked() {
    let cache = UnpackedPages::new(MemoryBudget::new(PLENTY), 3 << 20);
    let part = part(WritePurpose::Merge, &cache);
    let reader = Reader::of(&part, &cache);
    reader.scan(&part.footer);
    let view = reader.view(&part, &["Author", "Body"]);
    let shown: Vec<&str> = part
        .footer
        .row_group(0)
        .columns()
        .iter()
        .zip(view.row_group(0).columns())
        .filter(|(stored, shown)| stored.compression() != shown.compression())
        .map(|(stored, _)| stored.column_descr().name())
        .collect();
    assert_eq!(shown, ["Author"], "the bodies are larger than a quarter of the memory");
    reader.scan(&view);
    assert!(cache.size().0 > 0 && cache.size().0 <= 3 << 20, "{:?}", cache.size());
    assert_eq!(reader.rows(&view, None).columns(), part.rows.columns());
}

#[test]
fn sizes_are_learnt_page_by_page_too() {
    let cache = UnpackedPages::new(MemoryBudget::new(PLENTY), PLENTY);
    let part = part(WritePurpose::Merge, &cache);
    let reader = Reader::of(&part, &cache);
    reader.rows(
        &part.footer,
        Some(RowSelection::from(vec![RowSelector::select(10), RowSelector::skip(39_990)])),
    );
    assert_eq!(unpacked(&part.footer, &reader.view(&part, &["Body"])), 0, "most pages are unknown");
    reader.rows(&part.footer, None);
    assert_eq!(unpacked(&part.footer, &reader.view(&part, &["Body"])), 2, "of both row groups");
}

#[test]
fn a_damaged_page_is_an_error_that_says_where() {
    let cache = UnpackedPages::new(MemoryBudget::new(PLENTY), PLENTY);
    let mut part = part(WritePurpose::Merge, &cache);
    Reader::of(&part, &cache).scan(&part.footer);
    let view = Reader::of(&part, &cache).view(&part, &["Body"]);
    let body = part.footer.row_group(0).column(5).byte_range();
    let mut damaged = part.bytes.to_vec();
    damaged[body.0 as usize + 20..body.0 as usize + 400].fill(0);
    part.bytes = Bytes::from(damaged);
    // A stored size that leaves no room for the header: the third field of the first page's header.
    let mut cut = part.bytes.to_vec();
    let header = body.0 as usize;
    let third = header + 1 + cut[header + 1..].iter().position(|byte| *byte & 0x80 == 0).unwrap() + 1;
    let third = third + 1 + cut[third + 1..].iter().position(|byte| *byte & 0x80 == 0).unwrap() + 1;
    let last = third + 1 + cut[third + 1..].iter().position(|byte| *byte & 0x80 == 0).unwrap();
    cut[third + 1..last].fill(0xfe);
    cut[last] = 0x3e;
    let whole = std::mem::replace(&mut part.bytes, Bytes::from(cut));
    assert!(Reader::of(&part, &cache).read(&[first_unpacked(&view)]).is_err());
    part.bytes = whole;
    let error = Reader::of(&part, &cache).read(&[first_unpacked(&view)]).unwrap_err().to_string();
    assert!(error.contains(&format!("at {} is damaged", body.0)), "{error}");
    assert_eq!(cache.size(), (0, 0));
}
