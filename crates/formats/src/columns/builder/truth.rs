//! The texts of a Bool, in each of the forms a cell may have.
//!
//! Invariant: what ClickHouse refuses as a Bool is refused. Must not know: columns.

use std::sync::Arc;

use crate::values::cell::{Cell, TextForm};
use scan::number::NumberError;

/// Whether a Bool may stand so: JSON knows two words and two numbers for it, and CSV no quotes around them.
pub(super) fn may_be_truth(cell: Cell<'_>) -> bool {
    match cell.form {
        TextForm::Json | TextForm::JsonPlain => matches!(cell.text, b"true" | b"false" | b"1" | b"0"),
        TextForm::CsvQuoted | TextForm::CsvDoubled(_) => false,
        // Another bare word is an expression.
        TextForm::Literal => match cell.text {
            [b'\'' | b'0'..=b'9' | b'-' | b'+' | b'.', ..] => true,
            word => [&b"true"[..], b"false", b"nan", b"inf", b"infinity"]
                .iter()
                .any(|known| word.eq_ignore_ascii_case(known)),
        },
        _ => true,
    }
}

/// A Bool by the settings' own words, or by the usual ones.
pub(super) fn truth(text: &[u8], words: &(Arc<str>, Arc<str>)) -> Result<bool, NumberError> {
    let own = |word: &str| !text.is_empty() && word.as_bytes() == text;
    match flag(text) {
        _ if own(&words.0) => Ok(true),
        _ if own(&words.1) => Ok(false),
        known => known.ok_or(NumberError::NotANumber),
    }
}

/// The words ClickHouse takes for a Bool.
fn flag(text: &[u8]) -> Option<bool> {
    match text {
        b"true" | b"1" => return Some(true),
        b"false" | b"0" => return Some(false),
        _ => {}
    }
    const WORDS: [(&[u8], bool); 14] = [
        (b"true", true),
        (b"false", false),
        (b"t", true),
        (b"f", false),
        (b"yes", true),
        (b"no", false),
        (b"y", true),
        (b"n", false),
        (b"on", true),
        (b"off", false),
        (b"enable", true),
        (b"disable", false),
        (b"enabled", true),
        (b"disabled", false),
    ];
    WORDS.iter().find(|(word, _)| word.eq_ignore_ascii_case(text)).map(|(_, value)| *value)
}
