//! Which calls may take long: they run beside the other tasks of their thread.
//!
//! Must not know: what functions compute.

use arrow::array::{Array, AsArray};
use arrow::buffer::Buffer;
use arrow::datatypes::DataType;
use functions::Arg;

/// Functions that make much of little.
const MAKE_MUCH: &[&str] = &[
    "range",
    "repeat",
    "space",
    "arrayResize",
    "arrayWithConstant",
    "leftPad",
    "rightPad",
    "leftPadUTF8",
    "rightPadUTF8",
    "replaceAll",
    "replaceRegexpAll",
    "format",
    "randomString",
    "randomPrintableASCII",
    "timeSlots",
];
/// Functions whose work grows with the square of a text.
const COMPARE_ALL: &[&str] = &[
    "editDistance",
    "editDistanceUTF8",
    "damerauLevenshteinDistance",
    "jaroSimilarity",
    "jaroWinklerSimilarity",
    "base58Encode",
    "base58Decode",
];
/// What is in the texts of an argument of theirs, from which on they take milliseconds.
const COMPARED_BYTES_MIN: usize = 2048;
/// What is in the arrays or the texts of an argument, from which on the other functions take milliseconds.
const ELEMENTS_MIN: usize = 1 << 19;
const TEXT_BYTES_MIN: usize = 16 << 20;
/// So few rows are made in no time, unless they are long themselves.
const ROWS_MIN: usize = 64;

/// Whether a call is worth some microseconds that keep other tasks going.
pub(super) fn may_take_long(name: &str, values: &[Arg], rows: usize) -> bool {
    // As many rows as that are the elements of arrays, which a lambda is applied to.
    rows >= ELEMENTS_MIN
        || rows >= ROWS_MIN && MAKE_MUCH.contains(&name)
        || COMPARE_ALL.contains(&name) && values.iter().any(|value| has_text(value, COMPARED_BYTES_MIN))
        || values.iter().any(|value| is_large(value.array.as_ref()))
}

/// Whether the texts of an argument may have so many bytes.
fn has_text(value: &Arg, bytes_min: usize) -> bool {
    let texts = value.array.as_string_view_opt();
    texts.is_some_and(|texts| bytes_of(texts.data_buffers()) >= bytes_min)
}

fn is_large(array: &dyn Array) -> bool {
    match array.data_type() {
        DataType::List(_) => array.as_list::<i32>().values().len() >= ELEMENTS_MIN,
        DataType::Map(..) => array.as_map().entries().len() >= ELEMENTS_MIN,
        DataType::Utf8View => bytes_of(array.as_string_view().data_buffers()) >= TEXT_BYTES_MIN,
        DataType::BinaryView => bytes_of(array.as_binary_view().data_buffers()) >= TEXT_BYTES_MIN,
        _ => false,
    }
}

/// At most: rows may share buffers with others that are not here.
fn bytes_of(buffers: &[Buffer]) -> usize {
    buffers.iter().map(Buffer::len).sum()
}
