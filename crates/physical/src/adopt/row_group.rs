//! One row group of a load: which of its columns are copied, and the proof that they may be.
//!
//! The decisions are those of `load::adoption`; here they are given what they decide about. Invariant: a chunk is handed on only
//! after every one of its pages was looked at. Must not know: how the other columns become rows of the table.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, make_array};
use arrow::compute::concat;
use arrow::datatypes::{DataType, FieldRef};
use load::adoption::{
    AdoptionTerms, ColumnDecision, ColumnOrigin, FoundValues, PAGE_BYTES_MAX, ReencodeReason,
    RowGroupDecision, StoredColumn, WantedColumn, confirm, decide, refusal,
};
use model::type_arrow::{from_field, to_data_type};
use model::{ColumnId, ColumnType, Value};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parts::CopiedChunk;
use sources::{ChunkWanted, ObjectTable, RowGroupChunks, UnfitPages, Verified, VerifiedChunk};

use super::chunk_facts::{copied_chunk, stored_column};
use super::outputs::Outputs;
use crate::error::PhysicalError;

/// A stored column of the table that is loaded.
#[derive(Clone, Debug)]
pub struct Target {
    pub id: ColumnId,
    pub name: Arc<str>,
    pub column_type: ColumnType,
    /// The output of the SELECT that it is given, if any.
    pub output: Option<usize>,
    /// Whether NULL may ask for something else than NULL.
    pub has_default: bool,
}

/// What the streams of one load share.
#[derive(Debug)]
pub(super) struct AdoptedLoad {
    pub source: Arc<ObjectTable>,
    pub outputs: Outputs,
    /// In the order of the table.
    pub targets: Vec<Target>,
}

/// What becomes of a row group, as far as its footer tells.
#[derive(Clone, Debug)]
pub(super) struct GroupChoice {
    pub decision: RowGroupDecision,
    /// Of each target, where it is copied from: a column of the file, counted as leaves are.
    pub leaves: Vec<Option<usize>>,
}

impl GroupChoice {
    /// The positions of the targets that are copied.
    pub(super) fn copied(&self) -> impl Iterator<Item = usize> + '_ {
        self.leaves.iter().enumerate().filter_map(|(at, leaf)| leaf.map(|_| at))
    }
}

/// A column that is copied.
#[derive(Debug)]
pub(super) struct CopiedColumn {
    pub chunk: CopiedChunk,
    /// Its values, in the layout of the table, where they were wanted.
    pub values: Option<ArrayRef>,
}

/// What looking at a chunk came to.
#[derive(Debug)]
pub(super) enum VerifiedColumn {
    Copied(Box<CopiedColumn>),
    /// It has to be decoded after all.
    Refused(ReencodeReason),
}

impl AdoptedLoad {
    /// Decides about a row group by its footer. `refused` are the targets of which it is known already that they cannot be
    /// copied out of this file, and why.
    pub(super) fn choose(
        &self,
        footer: &ParquetMetaData,
        row_group: usize,
        refused: &[Option<ReencodeReason>],
        terms: AdoptionTerms,
    ) -> GroupChoice {
        let group = footer.row_group(row_group);
        let found: Vec<Option<(usize, StoredColumn)>> =
            self.targets.iter().map(|target| self.stored(footer, group, target)).collect();
        let types: Vec<ColumnType> = self.targets.iter().map(|target| self.strict_type(target)).collect();
        let origin = |(at, target): (usize, &Target)| match (&found[at], refused.get(at).copied().flatten()) {
            _ if target.output.is_none() => ColumnOrigin::Computed,
            (_, Some(reason)) => ColumnOrigin::Refused(reason),
            // Read in a narrower type than the table's, some values are errors.
            (Some((_, stored)), None) => match self.source_type(target).filter(|_| self.is_same(target)) {
                Some(read_as) => match refusal(&read_as, stored) {
                    None => ColumnOrigin::Stored(stored),
                    Some(reason) => ColumnOrigin::Refused(reason),
                },
                None => ColumnOrigin::Refused(ReencodeReason::Type),
            },
            (None, None) => match self.source_field(target) {
                Some(field) if field.data_type().is_nested() => ColumnOrigin::Refused(ReencodeReason::Nested),
                Some(field) if self.source.is_stored(field.name()) => ColumnOrigin::Missing,
                _ => ColumnOrigin::Computed,
            },
        };
        let origins: Vec<ColumnOrigin<'_>> = self.targets.iter().enumerate().map(origin).collect();
        let wanted = types.iter().zip(origins);
        let wanted: Vec<WantedColumn<'_>> =
            wanted.map(|(column_type, origin)| WantedColumn { column_type, origin }).collect();
        let rows = u64::try_from(group.num_rows()).unwrap_or(0);
        let decision = decide(rows, &wanted, terms);
        let is_spliced = |at: usize| match &decision {
            RowGroupDecision::Adopt(columns) => columns.get(at) == Some(&ColumnDecision::Splice),
            RowGroupDecision::Sink(_) => false,
        };
        let leaves = found.iter().enumerate().map(|(at, found)| found.filter(|_| is_spliced(at)));
        GroupChoice { leaves: leaves.map(|found| found.map(|(leaf, _)| leaf)).collect(), decision }
    }

    /// Looks at all of the chunk that a target is to be copied from.
    ///
    /// # Errors
    /// The chunk is damaged.
    pub(super) fn verify(
        &self,
        (footer, row_group): (&ParquetMetaData, usize),
        chunks: &RowGroupChunks,
        (at, leaf): (usize, usize),
        keeps_values: bool,
    ) -> Result<VerifiedColumn, PhysicalError> {
        let target = &self.targets[at];
        let wanted = ChunkWanted { leaf, keeps_values, page_bytes_max: PAGE_BYTES_MAX };
        let mut verified = match chunks.verify(wanted)? {
            Verified::Chunk(verified) => *verified,
            Verified::Unfit(why) => return Ok(VerifiedColumn::Refused(unfit(why))),
        };
        let stored = footer.row_group(row_group).column(leaf);
        // A part's text is checked with all of its dictionary, of which unmarked text here shows what rows use.
        let is_unmarked = stored_column(stored).is_unmarked_text();
        let has_unseen = is_unmarked && verified.pages.iter().any(|page| page.is_dictionary);
        let found = FoundValues {
            nulls: verified.nulls,
            least: verified.least.as_ref(),
            greatest: verified.greatest.as_ref(),
            has_raw_bytes: verified.has_raw_bytes || has_unseen,
            largest_page_bytes: verified.largest_page_bytes,
        };
        let read_as = self.source_type(target).unwrap_or_else(|| target.column_type.clone());
        for column_type in [self.strict_type(target), read_as] {
            if let ColumnDecision::Reencode(reason) = confirm(&column_type, found) {
                return Ok(VerifiedColumn::Refused(reason));
            }
        }
        if has_wide_steps(&verified, &target.column_type) {
            return Ok(VerifiedColumn::Refused(ReencodeReason::Pages));
        }
        let values = match keeps_values {
            true => Some(kept_values(&mut verified, &target.column_type)?),
            false => None,
        };
        let missing = || PhysicalError::internal(format!("column {leaf} was not fetched"));
        let bytes = chunks.bytes(leaf).ok_or_else(missing)?.clone();
        let chunk = copied_chunk(stored, bytes, verified);
        Ok(VerifiedColumn::Copied(Box::new(CopiedColumn { chunk, values })))
    }

    fn stored(
        &self,
        footer: &ParquetMetaData,
        group: &RowGroupMetaData,
        target: &Target,
    ) -> Option<(usize, StoredColumn)> {
        let column = self.outputs.source_column(target.output?)?;
        let leaf = self.source.stored_leaf(footer, column)?;
        Some((leaf, stored_column(group.column(leaf))))
    }

    fn source_field(&self, target: &Target) -> Option<FieldRef> {
        let column = self.outputs.source_column(target.output?)?;
        let schema = self.source.schema();
        let (_, field) = schema.fields().find(column)?;
        Some(Arc::clone(field))
    }

    /// In which the source gives the column's values.
    fn source_type(&self, target: &Target) -> Option<ColumnType> {
        self.source_field(target).map(|field| from_field(&field))
    }

    /// Whether the source gives the column's values as what they are, so that nothing happens to them on their way.
    fn is_same(&self, target: &Target) -> bool {
        let Some(read_as) = self.source_type(target) else { return false };
        is_same_at_rest(plain(&read_as), plain(&target.column_type))
    }

    /// The type of the table's column, which NULL belongs to only if NULL stays NULL on the way.
    fn strict_type(&self, target: &Target) -> ColumnType {
        let keeps_nulls = self.source_type(target).is_some_and(|read_as| read_as.is_nullable());
        match keeps_nulls && !target.has_default {
            true => target.column_type.clone(),
            false => plain(&target.column_type).clone(),
        }
    }
}

/// Whether differences between numbers are stored that may be too large for numbers of as many bits: the Parquet library (59)
/// cannot pass over several of the same size, so that some questions about the part could not be answered.
fn has_wide_steps(verified: &VerifiedChunk, column_type: &ColumnType) -> bool {
    const DELTA_BINARY_PACKED: u32 = 5;
    if verified.pages.iter().all(|page| page.encoding != DELTA_BINARY_PACKED) {
        return false;
    }
    let number = |value: &Option<Value>| match value {
        Some(Value::Int(number)) => Some(i128::from(*number)),
        Some(Value::UInt(number)) => Some(i128::from(*number)),
        Some(Value::Decimal(number)) => Some(*number),
        _ => None,
    };
    let is_short = to_data_type(column_type).primitive_width().is_some_and(|bytes| bytes <= 4);
    let half = if is_short { i128::from(i32::MAX) } else { i128::from(i64::MAX) } / 2;
    let ends = number(&verified.least).zip(number(&verified.greatest));
    ends.is_some_and(|(least, greatest)| greatest - least > half)
}

fn unfit(why: UnfitPages) -> ReencodeReason {
    match why {
        UnfitPages::Version2 => ReencodeReason::PageVersion,
        UnfitPages::Layout => ReencodeReason::Pages,
        UnfitPages::TooLarge => ReencodeReason::PageBytes,
    }
}

/// The type without what says nothing of its values at rest.
fn plain(column_type: &ColumnType) -> &ColumnType {
    match column_type {
        ColumnType::Nullable(inner) | ColumnType::LowCardinality(inner) => plain(inner),
        other => other,
    }
}

/// Whether casting values of one type to the other changes nothing of those that the other has, both without NULL.
fn is_same_at_rest(from: &ColumnType, to: &ColumnType) -> bool {
    match (from, to) {
        (ColumnType::Date32, ColumnType::Date) => true,
        (ColumnType::DateTime64 { precision: from, .. }, ColumnType::DateTime64 { precision: to, .. }) => {
            from == to
        }
        (
            ColumnType::Decimal { precision: from, scale: from_scale },
            ColumnType::Decimal { precision: to, scale: to_scale },
        ) => from <= to && from_scale == to_scale,
        (from, to) => from == to,
    }
}

/// The values that were kept, as one array in the layout of the table's column.
fn kept_values(verified: &mut VerifiedChunk, column_type: &ColumnType) -> Result<ArrayRef, PhysicalError> {
    let failed = |error: arrow::error::ArrowError| PhysicalError::internal(error.to_string());
    let kept = std::mem::take(&mut verified.kept);
    let arrays: Vec<&dyn Array> = kept.iter().map(AsRef::as_ref).collect();
    let values = concat(&arrays).map_err(failed)?;
    let layout = to_data_type(column_type);
    if *values.data_type() == layout {
        return Ok(values);
    }
    // Zones and digits are what is said of the values, not what they are.
    let same = matches!(
        (values.data_type(), &layout),
        (DataType::Timestamp(from, _), DataType::Timestamp(to, _)) if from == to
    ) || matches!(
        (values.data_type(), &layout),
        (DataType::Decimal128(_, from), DataType::Decimal128(_, to)) if from == to
    );
    if !same {
        let from = values.data_type();
        return Err(PhysicalError::internal(format!(
            "values in {from} were taken for those of {column_type}"
        )));
    }
    let relabelled = values.to_data().into_builder().data_type(layout).build().map_err(failed)?;
    Ok(make_array(relabelled))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::type_name;

    fn same(from: &str, to: &str) -> bool {
        let parsed = |name: &str| type_name::parse(name).unwrap();
        is_same_at_rest(plain(&parsed(from)), plain(&parsed(to)))
    }

    #[test]
    fn what_a_cast_changes_is_not_the_same() {
        for (from, to) in [
            ("Nullable(Int64)", "Int64"),
            ("String", "LowCardinality(Nullable(String))"),
            ("Nullable(Date32)", "Date"),
            ("DateTime64(3, 'UTC')", "DateTime64(3, 'Europe/Berlin')"),
            ("Decimal(9, 2)", "Decimal(18, 2)"),
        ] {
            assert!(same(from, to), "{from}, {to}");
        }
        for (from, to) in [
            ("Int64", "UInt64"),
            ("Date", "Date32"),
            ("DateTime64(3)", "DateTime64(6)"),
            ("DateTime64(3)", "DateTime"),
            ("Decimal(18, 2)", "Decimal(9, 2)"),
            ("Decimal(18, 2)", "Decimal(18, 3)"),
            ("String", "FixedString(3)"),
            ("UInt8", "Bool"),
        ] {
            assert!(!same(from, to), "{from}, {to}");
        }
    }
}
