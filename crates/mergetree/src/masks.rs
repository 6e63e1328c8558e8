//! Masks: which rows of a ReplacingMergeTree FINAL shows, found out once for many queries.
//!
//! Which rows of a key are replaced depends on keys, versions and the order of insertion alone, never on what a query asks,
//! so it is one bit a row, and FINAL a plain scan. Invariant: a mask is of exactly the rows it was computed of; of other
//! rows, if only one more, there is another mask. Must not know: queries.

mod row_mask;
mod sources;
mod splits;
mod replaced;
mod extended;
mod kept;

pub use extended::{extend, rows_to_extend};
pub use kept::{MaskCache, Signature, SourceId};
pub use replaced::MaskJob;
pub use row_mask::RowMask;
pub use sources::MaskSource;

use model::MergeMode;

use crate::table::Table;

/// Whether rows of the table are shown or not by a mask: those of other modes become rows that nobody stored.
pub fn can_mask(table: &Table) -> bool {
    let has_floats = table.keys.sort.iter().any(|key| {
        // One NaN is another's equal, and need not stand beside it.
        model::type_arrow::to_data_type(key.column_type()).is_floating()
    });
    matches!(table.def.mode, MergeMode::Replacing { .. }) && !table.keys.sort.is_empty() && !has_floats
}
