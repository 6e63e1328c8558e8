//! FixedString: its zero bytes, and the functions of text that do not take it.
//!
//! Invariant: columns are kept without the zero bytes at the ends of values, functions see them. The code of a refusal
//! is the one ClickHouse has for that function.

use arrow::array::{Array, StringViewArray, StringViewBuilder};
use model::{ColumnType, ErrorCode, raw_text};

use crate::error::FunctionError;
use crate::kernel::call::ArgType;

/// Refused by the type of the argument.
const BY_TYPE: [&str; 57] = [
    "alphaTokens",
    "appendTrailingCharIfAbsent",
    "byteHammingDistance",
    "damerauLevenshteinDistance",
    "decodeXMLComponent",
    "editDistance",
    "encodeXMLComponent",
    "extract",
    "extractAll",
    "hasSubsequence",
    "hasSubsequenceCaseInsensitive",
    "jaroSimilarity",
    "jaroWinklerSimilarity",
    "leftUTF8",
    "multiMatchAllIndices",
    "multiMatchAny",
    "multiMatchAnyIndex",
    "multiSearchAllPositions",
    "multiSearchAllPositionsCaseInsensitive",
    "multiSearchAllPositionsCaseInsensitiveUTF8",
    "multiSearchAllPositionsUTF8",
    "multiSearchAny",
    "multiSearchAnyCaseInsensitive",
    "multiSearchAnyCaseInsensitiveUTF8",
    "multiSearchAnyUTF8",
    "multiSearchFirstIndex",
    "multiSearchFirstIndexCaseInsensitive",
    "multiSearchFirstIndexCaseInsensitiveUTF8",
    "multiSearchFirstIndexUTF8",
    "multiSearchFirstPosition",
    "multiSearchFirstPositionCaseInsensitive",
    "multiSearchFirstPositionCaseInsensitiveUTF8",
    "multiSearchFirstPositionUTF8",
    "naturalSortKey",
    "ngramDistance",
    "ngramDistanceCaseInsensitive",
    "ngramDistanceCaseInsensitiveUTF8",
    "ngramDistanceUTF8",
    "ngramSearch",
    "ngramSearchCaseInsensitive",
    "ngramSearchUTF8",
    "overlay",
    "overlayUTF8",
    "regexpExtract",
    "regexpQuoteMeta",
    "repeat",
    "rightUTF8",
    "splitByChar",
    "splitByNonAlpha",
    "splitByRegexp",
    "splitByString",
    "splitByWhitespace",
    "stringBytesEntropy",
    "stringBytesUniq",
    "stringJaccardIndex",
    "stringJaccardIndexUTF8",
    "substringIndex",
];

/// Refused by the column.
const BY_COLUMN: [&str; 18] = [
    "basename",
    "countSubstrings",
    "countSubstringsCaseInsensitive",
    "cutQueryString",
    "decodeURLComponent",
    "decodeURLFormComponent",
    "encodeURLComponent",
    "encodeURLFormComponent",
    "firstLine",
    "hasToken",
    "locate",
    "position",
    "positionCaseInsensitive",
    "positionCaseInsensitiveUTF8",
    "positionUTF8",
    "reverseUTF8",
    "soundex",
    "toValidUTF8",
];

/// Refused as a bad argument.
const BY_VALUE: [&str; 3] = ["initcapUTF8", "lowerUTF8", "upperUTF8"];

/// An error where a FixedString is given to a function that takes none.
pub(crate) fn check(name: &str, args: &[ArgType]) -> Result<(), FunctionError> {
    let is_fixed = |arg: &ArgType| matches!(arg.column_type.value_type(), ColumnType::FixedString(_));
    let Some(index) = args.iter().position(is_fixed) else { return Ok(()) };
    let code = match name {
        // Only a needle is refused by its type.
        _ if BY_COLUMN.contains(&name) && index == usize::from(name == "locate") => ErrorCode::ILLEGAL_COLUMN,
        _ if BY_COLUMN.contains(&name) || BY_TYPE.contains(&name) => ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
        "substringUTF8" => ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
        _ if BY_VALUE.contains(&name) => ErrorCode::BAD_ARGUMENTS,
        _ => return Ok(()),
    };
    let message = format!("function {name} takes String, and argument {} is a FixedString", index + 1);
    Err(FunctionError::new(code, message))
}

/// The values of a FixedString with the zero bytes at their ends, which columns are kept without.
pub(crate) fn with_padding(array: &StringViewArray, length: usize) -> StringViewArray {
    let mut builder = StringViewBuilder::with_capacity(array.len());
    let mut value = String::new();
    for text in array {
        value.clear();
        let text = text.unwrap_or_default();
        value.push_str(text);
        let missing = length.saturating_sub(raw_text::bytes(text).len());
        value.extend(std::iter::repeat_n('\0', missing));
        builder.append_value(&value);
    }
    let (views, buffers, _) = builder.finish().into_parts();
    // Valid UTF-8 by what it was made of; only the places of NULLs are added.
    StringViewArray::try_new(views, buffers, array.nulls().cloned()).unwrap_or_else(|_| array.clone())
}

/// The values of a FixedString as columns are kept: without zero bytes at their ends.
pub(crate) fn without_padding(array: &StringViewArray) -> StringViewArray {
    array.iter().map(|text| text.map(|text| text.trim_end_matches('\0'))).collect()
}
