//! Row groups that cannot hold a value asked for, by the bloom filters of their columns.
//!
//! Filters of all row groups that statistics keep are fetched in one set of ranged requests, and kept with the footer.
//! Invariant: a row group is dropped only if its filter proves that a value is not there; a filter that cannot be
//! understood, or is larger than what it could save, proves nothing. Only columns whose stored values are hashed as ours
//! would be count. Must not know: how rows are read.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::datatypes::{DataType, SchemaRef};
use bytes::{Buf, Bytes};
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, ScalarValue};
use host::guarded;
use model::ColumnType;
use model::saturating::u64_of;
use model::type_arrow::from_field;
use parquet::basic::Type as PhysicalType;
use parquet::bloom_filter::Sbbf;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{ChunkReader, Length};
use stores::error::Result;
use stores::files::fetch::FileReader;

use crate::cache::footer::BloomPlace;
use crate::env::SourceEnv;
use crate::parquet::layout;
use crate::parquet::prune::RowGroupFilter;

/// Bytes of filters of one file that are fetched together.
const BATCH_BYTES_MAX: u64 = 16 << 20;
/// A filter whose length the footer does not tell ends at the next thing it does tell of, but not after this.
const UNKNOWN_LENGTH_MAX: u64 = 1 << 20;

/// A column whose filters can be asked.
struct Asked {
    name: String,
    leaf: usize,
    hashed: Hashed,
}

/// What was hashed when the filter was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Hashed {
    Text,
    Signed32,
    Unsigned32,
    Signed64,
    Unsigned64,
}

/// Of these row groups, the ones that may hold matching rows.
pub(crate) async fn keep(
    env: &SourceEnv,
    reader: &FileReader,
    footer: &ParquetMetaData,
    filters: &[RowGroupFilter],
    row_groups: Vec<usize>,
) -> Result<Vec<usize>> {
    let Some(asked) = asked(footer, &reader.file.path, filters) else { return Ok(row_groups) };
    let worth = |row_group: usize| {
        let ranges = ranges(footer, row_group, &asked, reader.file.bytes);
        let bytes: u64 = ranges.iter().map(|(_, range)| range.end - range.start).sum();
        let group_bytes = u64::try_from(footer.row_group(row_group).compressed_size()).unwrap_or(0);
        (if bytes < group_bytes { ranges } else { Vec::new() }, bytes)
    };
    let mut kept = Vec::with_capacity(row_groups.len());
    let mut waiting = row_groups.into_iter().peekable();
    while waiting.peek().is_some() {
        let (mut batch, mut wanted, mut batch_bytes) = (Vec::new(), Vec::new(), 0_u64);
        while let Some(row_group) = waiting.next_if(|_| batch_bytes < BATCH_BYTES_MAX) {
            let (ranges, bytes) = worth(row_group);
            batch_bytes = batch_bytes.saturating_add(bytes);
            batch.push(row_group);
            wanted.extend(ranges);
        }
        let blooms = load(env, reader, footer, &wanted, batch_bytes).await?;
        kept.extend(batch.into_iter().filter(|row_group| {
            let known = GroupBlooms { row_group: *row_group, asked: &asked, blooms: &blooms };
            filters.iter().all(|filter| {
                filter.predicate().prune(&known).map_or(true, |answers| answers.iter().all(|keep| *keep))
            })
        }));
    }
    Ok(kept)
}

/// Columns that the filters compare with constants and that may have bloom filters; `None` if there are none.
fn asked(footer: &ParquetMetaData, path: &str, filters: &[RowGroupFilter]) -> Option<Vec<Asked>> {
    let names: HashSet<&str> = filters
        .iter()
        .flat_map(|filter| filter.predicate().literal_guarantees())
        .map(|guarantee| guarantee.column.name.as_str())
        .collect();
    if names.is_empty() {
        return None;
    }
    let table = filters.first()?.schema();
    let decoded = layout::decoded_schema(footer, path).ok()?;
    let descriptor = footer.file_metadata().schema_descr();
    let column = |name: &str| {
        let is_it = |leaf: &usize| {
            let column = descriptor.column(*leaf);
            column.max_rep_level() == 0 && matches!(column.path().parts(), [only] if only == name)
        };
        let leaf = (0..descriptor.num_columns()).find(is_it)?;
        let hashed = hashed(name, table, &decoded, descriptor.column(leaf).physical_type())?;
        Some(Asked { name: name.to_owned(), leaf, hashed })
    };
    let asked: Vec<Asked> = names.into_iter().filter_map(column).collect();
    (!asked.is_empty()).then_some(asked)
}

/// What the filters of a column hashed, if values of the table's type can be hashed alike.
fn hashed(name: &str, table: &SchemaRef, decoded: &SchemaRef, physical: PhysicalType) -> Option<Hashed> {
    let (wanted, stored) = (table.field_with_name(name).ok()?, decoded.field_with_name(name).ok()?);
    if stored.is_nullable() && !wanted.is_nullable() {
        // NULL is read as the default, which the filter does not hold.
        return None;
    }
    match (physical, stored.data_type(), wanted.data_type()) {
        (PhysicalType::BYTE_ARRAY, DataType::Utf8View | DataType::BinaryView, DataType::Utf8View) => {
            matches!(from_field(wanted).value_type(), ColumnType::String).then_some(Hashed::Text)
        }
        (PhysicalType::INT32, DataType::UInt8 | DataType::UInt16 | DataType::UInt32, to) => {
            to.is_integer().then_some(Hashed::Unsigned32)
        }
        (PhysicalType::INT32, DataType::Int8 | DataType::Int16 | DataType::Int32, to) => {
            to.is_integer().then_some(Hashed::Signed32)
        }
        (PhysicalType::INT32, DataType::Date32, DataType::Date32) => Some(Hashed::Signed32),
        (PhysicalType::INT64, DataType::UInt64, to) => to.is_integer().then_some(Hashed::Unsigned64),
        (PhysicalType::INT64, DataType::Int64, to) => to.is_integer().then_some(Hashed::Signed64),
        (PhysicalType::INT64, from @ DataType::Timestamp(..), to) => (from == to).then_some(Hashed::Signed64),
        _ => None,
    }
}

/// Where the filters of a row group lie.
fn ranges(
    footer: &ParquetMetaData,
    row_group: usize,
    asked: &[Asked],
    file_bytes: u64,
) -> Vec<(BloomPlace, Range<u64>)> {
    let metadata = footer.row_group(row_group);
    let range = |column: &Asked| {
        let chunk = metadata.column(column.leaf);
        let start = u64::try_from(chunk.bloom_filter_offset()?).ok()?;
        let end = match chunk.bloom_filter_length() {
            Some(length) => start.checked_add(u64::try_from(length).ok()?)?,
            None => next_offset(footer, start).unwrap_or(file_bytes).min(start + UNKNOWN_LENGTH_MAX),
        };
        (start < end && end <= file_bytes).then_some(((row_group, column.leaf), start..end))
    };
    asked.iter().filter_map(range).collect()
}

/// The first place behind this one that the footer names.
fn next_offset(footer: &ParquetMetaData, behind: u64) -> Option<u64> {
    let chunks = footer.row_groups().iter().flat_map(|group| group.columns());
    let offsets = chunks.flat_map(|chunk| {
        let page = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
        [Some(page), chunk.bloom_filter_offset(), chunk.column_index_offset(), chunk.offset_index_offset()]
    });
    offsets.flatten().filter_map(|offset| u64::try_from(offset).ok()).filter(|offset| *offset > behind).min()
}

/// The filters at these places, as far as they can be understood; the ones not known yet are fetched.
async fn load(
    env: &SourceEnv,
    reader: &FileReader,
    footer: &ParquetMetaData,
    wanted: &[(BloomPlace, Range<u64>)],
    bytes: u64,
) -> Result<HashMap<BloomPlace, Arc<Sbbf>>> {
    let footers = env.schema_cache.footers();
    let mut blooms = footers.blooms(reader);
    let unknown: Vec<&(BloomPlace, Range<u64>)> =
        wanted.iter().filter(|(place, _)| !blooms.contains_key(place)).collect();
    let mut grant = env.memory.empty_grant("bloom filters");
    // Without memory for filters the row groups are read.
    if unknown.is_empty() || grant.try_grow(bytes).is_err() {
        return Ok(blooms);
    }
    let ranges: Vec<Range<u64>> = unknown.iter().map(|(_, range)| range.clone()).collect();
    let fetched = reader.get_ranges(&ranges).await?;
    let mut found = HashMap::new();
    for ((place, range), bytes) in unknown.into_iter().zip(fetched) {
        let chunk = footer.row_group(place.0).column(place.1);
        let bloom = guarded(|| match chunk.bloom_filter_length() {
            Some(_) => Sbbf::from_bytes(&bytes).map(Some),
            None => Sbbf::read_from_column_chunk(chunk, &Window { start: range.start, bytes }),
        });
        // A damaged filter is as good as none.
        if let Ok(Ok(Some(bloom))) = bloom
            && bloom.num_blocks() > 0
        {
            found.insert(*place, Arc::new(bloom));
        }
    }
    footers.put_blooms(reader, &found);
    blooms.extend(found);
    Ok(blooms)
}

/// Bytes of a file from `start` on, to a reader that counts from the file's beginning.
struct Window {
    start: u64,
    bytes: Bytes,
}

impl Window {
    fn offset(&self, at: u64) -> ParquetResult<usize> {
        let offset = at.checked_sub(self.start).and_then(|offset| usize::try_from(offset).ok());
        offset
            .filter(|offset| *offset <= self.bytes.len())
            .ok_or_else(|| ParquetError::EOF(format!("byte {at} was not fetched")))
    }
}

impl Length for Window {
    fn len(&self) -> u64 {
        self.start + u64_of(self.bytes.len())
    }
}

impl ChunkReader for Window {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(self.bytes.slice(self.offset(start)?..).reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let from = self.offset(start)?;
        let until = from.saturating_add(length);
        match until <= self.bytes.len() {
            true => Ok(self.bytes.slice(from..until)),
            // A header is asked for with the bytes it has at most. Of bits a part would tell lies.
            false if from == 0 => Ok(self.bytes.clone()),
            false => Err(ParquetError::EOF(format!("{length} bytes at {start} were not fetched"))),
        }
    }
}

/// What the filters of one row group say.
struct GroupBlooms<'a> {
    row_group: usize,
    asked: &'a [Asked],
    blooms: &'a HashMap<BloomPlace, Arc<Sbbf>>,
}

impl PruningStatistics for GroupBlooms<'_> {
    fn min_values(&self, _column: &Column) -> Option<ArrayRef> {
        None
    }

    fn max_values(&self, _column: &Column) -> Option<ArrayRef> {
        None
    }

    fn num_containers(&self) -> usize {
        1
    }

    fn null_counts(&self, _column: &Column) -> Option<ArrayRef> {
        None
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        None
    }

    fn contained(&self, column: &Column, values: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        let asked = self.asked.iter().find(|asked| asked.name == column.name)?;
        let bloom = self.blooms.get(&(self.row_group, asked.leaf))?;
        let absent = values.iter().all(|value| !may_hold(bloom, asked.hashed, value));
        Some(BooleanArray::from(vec![absent.then_some(false)]))
    }
}

/// Whether a value may be among those hashed; in doubt it may.
fn may_hold(bloom: &Sbbf, hashed: Hashed, value: &ScalarValue) -> bool {
    if let ScalarValue::Dictionary(_, value) = value {
        return may_hold(bloom, hashed, value);
    }
    if hashed == Hashed::Text {
        return value.try_as_str().flatten().is_none_or(|text| bloom.check(text));
    }
    let Some(number) = as_integer(value) else { return true };
    // A number that the stored type does not have is in no row.
    match hashed {
        Hashed::Text => true,
        Hashed::Signed32 => i32::try_from(number).is_ok_and(|number| bloom.check(&number)),
        Hashed::Unsigned32 => u32::try_from(number).is_ok_and(|number| bloom.check(&number)),
        Hashed::Signed64 => i64::try_from(number).is_ok_and(|number| bloom.check(&number)),
        Hashed::Unsigned64 => u64::try_from(number).is_ok_and(|number| bloom.check(&number)),
    }
}

fn as_integer(value: &ScalarValue) -> Option<i128> {
    Some(match value {
        ScalarValue::Int8(value) => i128::from((*value)?),
        ScalarValue::Int16(value) => i128::from((*value)?),
        ScalarValue::Int32(value) | ScalarValue::Date32(value) => i128::from((*value)?),
        ScalarValue::Int64(value)
        | ScalarValue::TimestampSecond(value, _)
        | ScalarValue::TimestampMillisecond(value, _)
        | ScalarValue::TimestampMicrosecond(value, _)
        | ScalarValue::TimestampNanosecond(value, _) => i128::from((*value)?),
        ScalarValue::UInt8(value) => i128::from((*value)?),
        ScalarValue::UInt16(value) => i128::from((*value)?),
        ScalarValue::UInt32(value) => i128::from((*value)?),
        ScalarValue::UInt64(value) => i128::from((*value)?),
        _ => return None,
    })
}
