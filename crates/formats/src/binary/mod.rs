//! Formats whose values are bytes: Native, RowBinary, Arrow; and the values that Native and RowBinary have in common.
//!
//! Invariant: no declared size is believed before its bytes are there. Must not know: delimiters, writers.

pub(crate) mod wire;
pub(crate) mod views;
pub(crate) mod column;
pub(crate) mod to_array;
pub(crate) mod bulk;
pub(crate) mod cells;
pub(crate) mod from_array;
pub(crate) mod arrow_stream;
pub(crate) mod row_binary;
pub(crate) mod whole;
pub(crate) mod native;

use crate::settings::FormatSettings;
use wire::Limits;

impl From<&FormatSettings> for Limits {
    fn from(settings: &FormatSettings) -> Self {
        Self { text_bytes: settings.binary_text_bytes_max, array_items: settings.binary_array_items_max }
    }
}
