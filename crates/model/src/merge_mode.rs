//! How rows of equal sort key become one: what the variants of MergeTree are.
//!
//! Invariant: a mode names columns by their ids, so that no ALTER changes what it means. Must not know: rows.

use std::sync::Arc;

use crate::column_type::ColumnType;
use crate::ids::ColumnId;

/// Of a MergeTree table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum MergeMode {
    /// Every row stays.
    #[default]
    Plain,
    /// The newest row stays: of the greatest version if there is one, and the last of those. A row with `is_deleted` = 1 is
    /// not seen by FINAL.
    Replacing { version: Option<ColumnId>, is_deleted: Option<ColumnId> },
    /// Numbers are added; of the other columns the first value stays. Rows whose sums are all 0 go. Without columns those
    /// of numbers that are in no key are meant.
    Summing { columns: Vec<ColumnId> },
    /// States are merged, and what is declared with a function is combined by it; of other columns the first value stays.
    Aggregating,
    /// Of each column the last value that is not NULL stays; without columns those that are in no key are meant.
    Coalescing { columns: Vec<ColumnId> },
    /// Rows of sign 1 and -1 cancel each other.
    Collapsing { sign: ColumnId },
    /// As `Collapsing`, among rows of the same version.
    VersionedCollapsing { sign: ColumnId, version: ColumnId },
}

impl MergeMode {
    pub fn is_plain(&self) -> bool {
        *self == MergeMode::Plain
    }

    /// ClickHouse's name of the engine.
    pub fn engine_name(&self) -> &'static str {
        match self {
            MergeMode::Plain => "MergeTree",
            MergeMode::Replacing { .. } => "ReplacingMergeTree",
            MergeMode::Summing { .. } => "SummingMergeTree",
            MergeMode::Aggregating => "AggregatingMergeTree",
            MergeMode::Coalescing { .. } => "CoalescingMergeTree",
            MergeMode::Collapsing { .. } => "CollapsingMergeTree",
            MergeMode::VersionedCollapsing { .. } => "VersionedCollapsingMergeTree",
        }
    }

    /// The columns of the engine's arguments, in their order.
    pub fn columns(&self) -> Vec<ColumnId> {
        match self {
            MergeMode::Plain | MergeMode::Aggregating => Vec::new(),
            MergeMode::Replacing { version, is_deleted } => {
                version.iter().chain(is_deleted).copied().collect()
            }
            MergeMode::Summing { columns } | MergeMode::Coalescing { columns } => columns.clone(),
            MergeMode::Collapsing { sign } => vec![*sign],
            MergeMode::VersionedCollapsing { sign, version } => vec![*sign, *version],
        }
    }
}

/// How the values of a column become one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Combining {
    /// They are states, and are merged.
    States,
    /// By an aggregate function, as it is written in a type: `max`, `groupArrayLastArray(3)`.
    By(Arc<str>),
}

/// Whether values of the type are added.
pub fn is_summed(column_type: &ColumnType) -> bool {
    use ColumnType as T;
    match column_type {
        T::Nullable(inner) => is_summed(inner),
        T::Int8 | T::Int16 | T::Int32 | T::Int64 | T::UInt8 | T::UInt16 | T::UInt32 | T::UInt64 => true,
        T::Float32 | T::Float64 | T::Decimal { .. } | T::Bool => true,
        _ => false,
    }
}
