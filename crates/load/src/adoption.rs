//! Adoption as a decision: which columns of a row group are copied into a part as they are stored, and which row groups are
//! read, sorted and written as ever.
//!
//! Pure. Invariant: a column is spliced only if its stored values, read as the table's type, are the values that reading and
//! casting them would give. What a file says of its values is never a reason to splice, only one not to: what was found in
//! them is asked about by [`confirm`] and [`settle`]. Must not know: files, formats, how columns are copied.

use model::{ColumnType, Value};

mod fit;

/// Decoded bytes of a page that is copied: readers of a part hold one of each column.
pub const PAGE_BYTES_MAX: u64 = 8 << 20;
/// Rows of a row group that is copied.
pub const ROW_GROUP_ROWS_MAX: u64 = 1 << 20;
/// Decoded bytes of the columns of a row group that is copied.
pub const ROW_GROUP_BYTES_MAX: u64 = 512 << 20;
/// Unsorted bytes of a table, in units of the memory of one merge, up to which more may be made.
pub const DEBT_MERGES_MAX: u64 = 4;

/// How values are laid out in a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoredType {
    Boolean,
    Int32,
    Int64,
    Int96,
    Float,
    Double,
    Bytes,
    FixedBytes(u32),
}

/// The unit of a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeTick {
    Milliseconds,
    Microseconds,
    Nanoseconds,
}

/// What the values of a page mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoredMeaning {
    /// Nothing but their layout.
    Plain,
    Integer {
        bits: u8,
        signed: bool,
    },
    Text,
    Date,
    Timestamp(TimeTick),
    Decimal {
        precision: u32,
        scale: u32,
    },
    Uuid,
    /// What no column of a table is at rest.
    Other,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoredCodec {
    None,
    Snappy,
    Lz4Raw,
    Zstd,
    /// One that parts do not use.
    Other,
}

/// What the metadata of a file say of one column of one row group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoredColumn {
    pub physical: StoredType,
    pub meaning: StoredMeaning,
    /// Whether it is in a list, a map or a tuple.
    pub is_nested: bool,
    /// Whether its pages have levels that tell NULLs.
    pub is_optional: bool,
    pub codec: StoredCodec,
    /// Whether a data page is known to be of version 2.
    pub has_pages_v2: bool,
    pub compressed_bytes: u64,
    pub decoded_bytes: u64,
    /// As the file claims: good enough not to begin.
    pub nulls: Option<u64>,
}

impl StoredColumn {
    /// Whether it is bytes of which the file does not say that they are text.
    pub fn is_unmarked_text(&self) -> bool {
        self.physical == StoredType::Bytes && self.meaning == StoredMeaning::Plain
    }
}

/// Where the values of a column of the table come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnOrigin<'a> {
    /// The SELECT hands this column of the file on as it is.
    Stored(&'a StoredColumn),
    /// The SELECT computes them, or they are the column's default.
    Computed,
    /// This file does not have the column.
    Missing,
    /// It has, and it is known already that its pages cannot be copied.
    Refused(ReencodeReason),
}

/// A column of the table, and where it comes from.
#[derive(Clone, Copy, Debug)]
pub struct WantedColumn<'a> {
    pub column_type: &'a ColumnType,
    pub origin: ColumnOrigin<'a>,
}

/// What decides of the table and the statement, whatever the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AdoptionTerms {
    /// Whether the table sorts its rows: not with `ORDER BY ()`.
    pub is_sorted: bool,
    /// Whether rows in any order may become a part: no merge of the table but the ordinary one relies on the order.
    pub takes_unsorted: bool,
    /// Whether the statement leaves rows out.
    pub is_filtered: bool,
    /// Bytes of the table's parts that are not sorted yet.
    pub unsorted_bytes: u64,
    /// Memory of one merge.
    pub merge_memory_bytes: u64,
    pub merges_stopped: bool,
}

impl AdoptionTerms {
    /// Why no more unsorted bytes may be made.
    fn debt(&self) -> Option<SinkReason> {
        let limit = self.merge_memory_bytes.saturating_mul(DEBT_MERGES_MAX);
        match self {
            _ if !self.is_sorted => None,
            _ if self.merges_stopped => Some(SinkReason::MergesStopped),
            _ if self.unsorted_bytes > limit => Some(SinkReason::Debt),
            _ => None,
        }
    }
}

/// What becomes of one column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnDecision {
    /// Its pages are copied, once they are verified.
    Splice,
    /// It is decoded and encoded anew.
    Reencode(ReencodeReason),
}

/// Why the pages of a column are not copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReencodeReason {
    Computed,
    Missing,
    Nested,
    Type,
    TimeUnit,
    Enum,
    FixedString,
    Codec,
    PageVersion,
    PageBytes,
    Pages,
    Nulls,
    Range,
    Bytes,
}

impl ReencodeReason {
    /// For EXPLAIN LOAD.
    pub fn text(self) -> &'static str {
        match self {
            ReencodeReason::Computed => "the statement computes it",
            ReencodeReason::Missing => "the file does not have it",
            ReencodeReason::Nested => "it is an array, a map or a tuple",
            ReencodeReason::Type => "the file has it in another type",
            ReencodeReason::TimeUnit => "the file has its times in another unit",
            ReencodeReason::Enum => "an enum is stored as its number, not as its name",
            ReencodeReason::FixedString => "a FixedString is stored without its zero bytes",
            ReencodeReason::Codec => "its pages have a codec that parts do not use",
            ReencodeReason::PageVersion => "its pages are of version 2",
            ReencodeReason::PageBytes => "one of its pages is larger than 8 MiB",
            ReencodeReason::Pages => "its pages are laid out or encoded as those of parts are not",
            ReencodeReason::Nulls => "it has NULLs, which become defaults",
            ReencodeReason::Range => "it has values outside the range of its type",
            ReencodeReason::Bytes => "it has text that is not UTF-8, or is not known to be",
        }
    }
}

/// Why a row group is read, sorted and written as ever.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SinkReason {
    Filter,
    Order,
    Debt,
    MergesStopped,
    Empty,
    Rows,
    DecodedBytes,
    NothingFits,
    Partitions,
}

impl SinkReason {
    /// For EXPLAIN LOAD.
    pub fn text(self) -> &'static str {
        match self {
            SinkReason::Filter => "the statement leaves rows out",
            SinkReason::Order => "the table takes sorted rows only",
            SinkReason::Debt => "the table has too many bytes that wait to be sorted",
            SinkReason::MergesStopped => "merges, which sort, are stopped",
            SinkReason::Empty => "it has no rows",
            SinkReason::Rows => "it has more than 1048576 rows",
            SinkReason::DecodedBytes => "it is larger than 512 MiB",
            SinkReason::NothingFits => "none of its columns can be copied",
            SinkReason::Partitions => "its rows belong to several partitions",
        }
    }
}

/// What becomes of one row group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RowGroupDecision {
    /// One decision for each wanted column.
    Adopt(Vec<ColumnDecision>),
    Sink(SinkReason),
}

/// Decides before a byte of the row group is read.
pub fn decide(rows: u64, wanted: &[WantedColumn<'_>], terms: AdoptionTerms) -> RowGroupDecision {
    let refused = match terms {
        _ if terms.is_filtered => Some(SinkReason::Filter),
        _ if rows == 0 => Some(SinkReason::Empty),
        _ if rows > ROW_GROUP_ROWS_MAX => Some(SinkReason::Rows),
        _ if decoded_bytes(wanted) > ROW_GROUP_BYTES_MAX => Some(SinkReason::DecodedBytes),
        _ => terms.debt(),
    };
    if let Some(reason) = refused {
        return RowGroupDecision::Sink(reason);
    }
    let columns: Vec<ColumnDecision> = wanted.iter().map(decide_column).collect();
    match columns.contains(&ColumnDecision::Splice) {
        true => RowGroupDecision::Adopt(columns),
        false => RowGroupDecision::Sink(SinkReason::NothingFits),
    }
}

fn decoded_bytes(wanted: &[WantedColumn<'_>]) -> u64 {
    let bytes = wanted.iter().map(|column| match column.origin {
        ColumnOrigin::Stored(stored) => stored.decoded_bytes,
        ColumnOrigin::Computed | ColumnOrigin::Missing | ColumnOrigin::Refused(_) => 0,
    });
    bytes.fold(0, u64::saturating_add)
}

fn decide_column(wanted: &WantedColumn<'_>) -> ColumnDecision {
    let refused = match wanted.origin {
        ColumnOrigin::Stored(stored) => fit::refusal(wanted.column_type, stored),
        ColumnOrigin::Computed => Some(ReencodeReason::Computed),
        ColumnOrigin::Missing => Some(ReencodeReason::Missing),
        ColumnOrigin::Refused(reason) => Some(reason),
    };
    refused.map_or(ColumnDecision::Splice, ColumnDecision::Reencode)
}

/// Why the stored values are not those of `column_type`, as far as metadata tell; for the type in which a statement reads them, if that
/// is not the table's.
pub fn refusal(column_type: &ColumnType, stored: &StoredColumn) -> Option<ReencodeReason> {
    fit::refusal(column_type, stored)
}

/// What verification found in the values of a column.
#[derive(Clone, Copy, Debug)]
pub struct FoundValues<'a> {
    pub nulls: u64,
    /// `None` where no order is known, or there is no value.
    pub least: Option<&'a Value>,
    pub greatest: Option<&'a Value>,
    /// Whether a text is not UTF-8, or carries bytes that are not.
    pub has_raw_bytes: bool,
    /// Decoded bytes of the largest page.
    pub largest_page_bytes: u64,
}

/// Decides anew about a column whose values were looked at.
pub fn confirm(column_type: &ColumnType, found: FoundValues<'_>) -> ColumnDecision {
    let refused = match found {
        _ if found.largest_page_bytes > PAGE_BYTES_MAX => Some(ReencodeReason::PageBytes),
        _ if found.nulls > 0 && !column_type.is_nullable() => Some(ReencodeReason::Nulls),
        _ if found.has_raw_bytes => Some(ReencodeReason::Bytes),
        _ if !fit::is_within(column_type, found.least) => Some(ReencodeReason::Range),
        _ if !fit::is_within(column_type, found.greatest) => Some(ReencodeReason::Range),
        _ => None,
    };
    refused.map_or(ColumnDecision::Splice, ColumnDecision::Reencode)
}

/// What the keys of a row group's rows turned out to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FoundKeys {
    /// Whether the rows are in the order of the sort key.
    pub in_order: bool,
    pub partitions: usize,
}

/// What kind of part a row group becomes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AdoptedAs {
    /// Its rows are in order: no merge has to sort it.
    Sorted,
    Unsorted,
}

/// Decides anew about a row group whose keys were looked at.
///
/// # Errors
/// Why it goes to the sorting sink.
pub fn settle(keys: FoundKeys, terms: AdoptionTerms) -> Result<AdoptedAs, SinkReason> {
    if keys.partitions > 1 {
        return Err(SinkReason::Partitions);
    }
    if keys.in_order || !terms.is_sorted {
        return Ok(AdoptedAs::Sorted);
    }
    if !terms.takes_unsorted {
        return Err(SinkReason::Order);
    }
    terms.debt().map_or(Ok(AdoptedAs::Unsorted), Err)
}

#[cfg(test)]
mod tests;
