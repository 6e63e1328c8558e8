//! Looks at every page of a column chunk: unpacks and decodes it, counts its values, and finds what is true of them.
//!
//! The ordinary decoder does it, given the chunk's bytes and a footer without statistics and page index, so what passes here is
//! read alike from a part. Invariant: bytes that are no pages are an error that names file, row group, column and page, never a
//! panic. Must not know: where the bytes came from, what they are wanted for.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;
use bytes::{Buf, Bytes};
use crc_fast::CrcAlgorithm;
use host::guarded;
use model::saturating::u64_of;
use model::{Value, raw_text};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Compression;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::schema::types::ColumnDescriptor;
use stores::error::{Result, SourceError};

use super::extremes::extremes;
use super::page_walk::{self, StoredPage, WalkError};
use crate::parquet::layout;

/// Rows decoded at once: what is made of them is still in the processor's cache when it is looked at.
const BATCH_ROWS: usize = 8192;

/// What is wanted of a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChunkWanted {
    /// The column, counted as the file's leaves are.
    pub leaf: usize,
    /// Whether its values are to be kept, as those of keys are; texts have bounds only then.
    pub keeps_values: bool,
    /// Decoded bytes of a page, above which none is unpacked.
    pub page_bytes_max: u64,
}

/// What was found in a chunk.
#[derive(Debug)]
pub struct VerifiedChunk {
    pub pages: Vec<StoredPage>,
    /// NULLs included.
    pub rows: u64,
    pub nulls: u64,
    /// Then there is no order that the bounds could tell.
    pub has_nan: bool,
    /// `None` where all is NULL, or no order is known.
    pub least: Option<Value>,
    pub greatest: Option<Value>,
    /// Whether a text is not UTF-8, or has characters that carry bytes which are not. Then the pages cannot be a String's.
    pub has_raw_bytes: bool,
    /// Of its decoded values.
    pub value_bytes: u64,
    /// Of the largest page, decoded.
    pub largest_page_bytes: u64,
    /// In the layout of the file; empty unless they were wanted.
    pub kept: Vec<ArrayRef>,
}

/// Why pages cannot be copied, although they may be sound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnfitPages {
    Version2,
    Layout,
    TooLarge,
}

#[derive(Debug)]
pub enum Verified {
    Chunk(Box<VerifiedChunk>),
    Unfit(UnfitPages),
}

/// Verifies chunks of one row group.
#[derive(Debug)]
pub(crate) struct Verifier {
    path: String,
    row_group: usize,
    rows: u64,
    /// Of this row group alone, without a page index.
    arrow: ArrowReaderMetadata,
}

impl Verifier {
    pub(crate) fn new(footer: &ParquetMetaData, path: &str, row_group: usize) -> Result<Verifier> {
        let corrupt = |problem: &str| {
            SourceError::corrupt(
                path,
                format!("\"{path}\" cannot be decoded: row group {row_group}: {problem}"),
            )
        };
        let group = footer.row_groups().get(row_group).cloned().ok_or_else(|| corrupt("there is none"))?;
        let rows = u64::try_from(group.num_rows()).map_err(|_| corrupt("its number of rows is negative"))?;
        let alone = Arc::new(ParquetMetaData::new(footer.file_metadata().clone(), vec![group]));
        let options = ArrowReaderOptions::new().with_schema(layout::decoded_schema(&alone, path)?);
        let arrow = ArrowReaderMetadata::try_new(alone, options).map_err(|e| corrupt(&e.to_string()))?;
        Ok(Verifier { path: path.to_owned(), row_group, rows, arrow })
    }

    /// Looks at all of a chunk, whose bytes begin at `begin` of the file.
    ///
    /// # Errors
    /// The bytes are no pages, or not those that the footer says.
    pub(crate) fn verify(&self, wanted: ChunkWanted, begin: u64, chunk: &Bytes) -> Result<Verified> {
        let Some(leaf) = self.arrow.metadata().row_group(0).columns().get(wanted.leaf) else {
            return Err(self.broken("", "", &format!("there is no column {}", wanted.leaf)));
        };
        let codec = leaf.compression();
        let (leaf, column) = (leaf.column_descr(), leaf.column_path().string());
        if !is_flat(leaf) {
            return Ok(Verified::Unfit(UnfitPages::Layout));
        }
        let pages = match page_walk::pages(chunk, self.rows, leaf.max_def_level() > 0) {
            Ok(pages) => pages,
            Err(WalkError::Version2) => return Ok(Verified::Unfit(UnfitPages::Version2)),
            // Whether what cannot be walked can be read is for the ordinary reader to say.
            Err(WalkError::Layout | WalkError::Broken(..)) => return Ok(Verified::Unfit(UnfitPages::Layout)),
        };
        if let Some(page) = pages.iter().position(|page| !has_its_sum(page, chunk)) {
            return Err(self.broken(
                &column,
                &format!(", page {page}"),
                "its content is not that of its checksum",
            ));
        }
        let is_plain = codec == Compression::UNCOMPRESSED;
        if is_plain && pages.iter().any(|page| u64_of(page.content.len()) != u64::from(page.decoded_bytes)) {
            return Ok(Verified::Unfit(UnfitPages::Layout));
        }
        let largest = pages.iter().map(|page| u64::from(page.decoded_bytes)).max().unwrap_or(0);
        if largest > wanted.page_bytes_max {
            return Ok(Verified::Unfit(UnfitPages::TooLarge));
        }
        let mut found = Found::default();
        self.decode(wanted.leaf, ChunkBytes { begin, bytes: chunk.clone() }, wanted.keeps_values, &mut found)
            .map_err(|problem| self.broken(&column, &behind(&pages, found.rows), &problem))?;
        if found.rows != self.rows {
            let problem = format!("{} of {} rows could be decoded", found.rows, self.rows);
            return Err(self.broken(&column, &behind(&pages, found.rows), &problem));
        }
        Ok(Verified::Chunk(Box::new(found.chunk(pages, largest))))
    }

    fn decode(
        &self,
        leaf: usize,
        source: ChunkBytes,
        keeps_values: bool,
        found: &mut Found,
    ) -> std::result::Result<(), String> {
        let mut reader = guarded(|| self.reader(leaf, source))?.map_err(|error| error.to_string())?;
        while let Some(batch) = guarded(|| reader.next())? {
            let batch = batch.map_err(|error| error.to_string())?;
            let Some(values) = batch.columns().first() else { return Err("it has no values".to_owned()) };
            found.add(values, keeps_values)?;
        }
        Ok(())
    }

    fn reader(&self, leaf: usize, source: ChunkBytes) -> ParquetResult<ParquetRecordBatchReader> {
        let mask = ProjectionMask::leaves(self.arrow.parquet_schema(), [leaf]);
        ParquetRecordBatchReaderBuilder::new_with_metadata(source, self.arrow.clone())
            .with_projection(mask)
            .with_batch_size(BATCH_ROWS)
            .build()
    }

    fn broken(&self, column: &str, page: &str, problem: &str) -> SourceError {
        let (path, row_group) = (&self.path, self.row_group);
        let message = format!(
            "\"{path}\" cannot be decoded: column \"{column}\", row group {row_group}{page}: {problem}"
        );
        SourceError::corrupt(path, message)
    }
}

/// Whether a row has one value, or none.
fn is_flat(leaf: &ColumnDescriptor) -> bool {
    leaf.max_rep_level() == 0 && leaf.max_def_level() <= 1 && leaf.path().parts().len() == 1
}

/// Whether a page is what the file's checksum of it says, if there is one.
fn has_its_sum(page: &StoredPage, chunk: &Bytes) -> bool {
    let Some(crc) = page.crc else { return true };
    let found = crc_fast::checksum(CrcAlgorithm::Crc32IsoHdlc, &chunk[page.content.clone()]);
    found == u64::from(crc)
}

/// The pages of values, each with its number in the chunk.
fn data_pages(pages: &[StoredPage]) -> impl Iterator<Item = (usize, &StoredPage)> {
    pages.iter().enumerate().filter(|(_, page)| !page.is_dictionary)
}

/// Where the rows are that could not be decoded: several pages may be decoded at once.
fn behind(pages: &[StoredPage], row: u64) -> String {
    page_of(pages, row).map(|page| format!(", page {page} or behind")).unwrap_or_default()
}

/// The page in which a row is.
fn page_of(pages: &[StoredPage], row: u64) -> Option<usize> {
    let mut end = 0;
    let mut found = data_pages(pages).filter(|(_, page)| {
        end += u64::from(page.values);
        row < end
    });
    found.next().map(|(number, _)| number)
}

/// What was seen so far.
#[derive(Default)]
struct Found {
    rows: u64,
    nulls: u64,
    has_nan: bool,
    has_raw_bytes: bool,
    has_no_order: bool,
    bounds: Option<(Value, Value)>,
    value_bytes: u64,
    kept: Vec<ArrayRef>,
}

impl Found {
    fn add(&mut self, values: &ArrayRef, keeps_values: bool) -> std::result::Result<(), String> {
        let nulls = values.null_count();
        self.rows += u64_of(values.len());
        self.nulls += u64_of(nulls);
        self.value_bytes += value_bytes(values);
        self.has_raw_bytes |= has_raw_bytes(values);
        self.has_nan |= has_nan(values);
        if self.has_raw_bytes {
            return Ok(());
        }
        let values: ArrayRef = match values.as_binary_view_opt() {
            Some(bytes) => Arc::new(bytes.clone().to_string_view().map_err(|error| error.to_string())?),
            None => Arc::clone(values),
        };
        let is_text = matches!(values.data_type(), DataType::Utf8View);
        if nulls < values.len() && (keeps_values || !is_text) {
            self.widen(extremes(&values));
        }
        self.has_no_order |= is_text && !keeps_values;
        if keeps_values {
            self.kept.push(values);
        }
        Ok(())
    }

    fn widen(&mut self, more: Option<(Value, Value)>) {
        let Some((least, greatest)) = more else {
            self.has_no_order = true;
            return;
        };
        self.bounds = Some(match self.bounds.take() {
            None => (least, greatest),
            Some((old_least, old_greatest)) => (
                if least.order(&old_least).is_lt() { least } else { old_least },
                if greatest.order(&old_greatest).is_gt() { greatest } else { old_greatest },
            ),
        });
    }

    fn chunk(self, pages: Vec<StoredPage>, largest_page_bytes: u64) -> VerifiedChunk {
        let is_known = !(self.has_nan || self.has_no_order || self.has_raw_bytes);
        let (least, greatest) = self.bounds.filter(|_| is_known).unzip();
        VerifiedChunk {
            pages,
            rows: self.rows,
            nulls: self.nulls,
            has_nan: self.has_nan,
            least,
            greatest,
            has_raw_bytes: self.has_raw_bytes,
            value_bytes: self.value_bytes,
            largest_page_bytes,
            kept: self.kept,
        }
    }
}

/// Bytes of the values; texts count with their own length and their view.
fn value_bytes(values: &ArrayRef) -> u64 {
    let rows = u64_of(values.len());
    match values.data_type() {
        DataType::Boolean => rows.div_ceil(8),
        DataType::Utf8View => rows * 16 + u64_of(values.as_string_view().total_buffer_bytes_used()),
        DataType::BinaryView => rows * 16 + u64_of(values.as_binary_view().total_buffer_bytes_used()),
        DataType::FixedSizeBinary(bytes) => rows * u64::try_from(*bytes).unwrap_or(0),
        other => rows * other.primitive_width().map_or(0, u64_of),
    }
}

fn has_raw_bytes(values: &ArrayRef) -> bool {
    let is_raw = |text: &[u8]| matches!(raw_text::carry(text), Cow::Owned(_));
    match values.data_type() {
        DataType::Utf8View => values.as_string_view().iter().flatten().any(|text| is_raw(text.as_bytes())),
        DataType::BinaryView => values.as_binary_view().iter().flatten().any(is_raw),
        _ => false,
    }
}

fn has_nan(values: &ArrayRef) -> bool {
    use arrow::datatypes::{Float32Type, Float64Type};
    match values.data_type() {
        DataType::Float32 => values.as_primitive::<Float32Type>().iter().flatten().any(f32::is_nan),
        DataType::Float64 => values.as_primitive::<Float64Type>().iter().flatten().any(f64::is_nan),
        _ => false,
    }
}

/// The bytes of one chunk, where they stand in its file.
struct ChunkBytes {
    begin: u64,
    bytes: Bytes,
}

impl ChunkBytes {
    fn behind(&self, start: u64) -> ParquetResult<Bytes> {
        let skipped = start.checked_sub(self.begin).and_then(|skipped| usize::try_from(skipped).ok());
        let skipped = skipped.filter(|skipped| *skipped <= self.bytes.len());
        let skipped =
            skipped.ok_or_else(|| ParquetError::EOF(format!("byte {start} is not in the chunk")))?;
        Ok(self.bytes.slice(skipped..))
    }
}

impl Length for ChunkBytes {
    fn len(&self) -> u64 {
        self.begin.saturating_add(u64_of(self.bytes.len()))
    }
}

impl ChunkReader for ChunkBytes {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(self.behind(start)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let mut bytes = self.behind(start)?;
        if bytes.len() < length {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} are not in the chunk")));
        }
        bytes.truncate(length);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests;
