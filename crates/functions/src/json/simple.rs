//! `simpleJSON...`, once called `visitParam...`: fields found by searching text, not by reading it as JSON.
//!
//! Invariant: a field is `"name":` with nothing between; the first one that occurs is taken, at whatever depth.

use model::ColumnType;

use super::document::unescape;
use crate::error::FunctionError;
use crate::kernel::call::Call;
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::Texts;
use crate::kernel::types::takes_text;

/// What follows `"name":`.
fn field<'t>(json: &'t str, name: &str) -> Option<&'t str> {
    let mut from = 0;
    while let Some(at) = json[from..].find(name) {
        let (start, end) = (from + at, from + at + name.len());
        if json[..start].ends_with('"') && json[end..].starts_with("\":") {
            return Some(&json[end + 2..]);
        }
        from = end.max(start + json[start..].chars().next().map_or(1, char::len_utf8));
        if from > json.len() {
            return None;
        }
    }
    None
}

/// The start of a text that reads as a number.
fn number(text: &str, fractions: bool) -> &str {
    let text = text.strip_prefix('"').unwrap_or(text);
    let is_part = |(at, c): (usize, char)| {
        c.is_ascii_digit()
            || at == 0 && matches!(c, '-' | '+')
            || fractions
                && (matches!(c, '.' | 'e' | 'E')
                    || matches!(c, '-' | '+') && text[..at].ends_with(['e', 'E']))
    };
    &text[..text.char_indices().find(|part| !is_part(*part)).map_or(text.len(), |(at, _)| at)]
}

/// A value up to the comma or bracket that ends it; empty where nothing does.
fn raw(text: &str) -> &str {
    let mut open = Vec::new();
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match (byte, open.last()) {
            (b'\\', _) => {
                bytes.next();
            }
            (b'"', Some(b'"')) => {
                open.pop();
            }
            (_, Some(b'"')) => {}
            (b'"', _) => open.push(b'"'),
            (b'{', _) => open.push(b'}'),
            (b'[', _) => open.push(b']'),
            (b'}' | b']' | b',', None) => return &text[..at],
            (close, Some(expected)) if close == *expected => {
                open.pop();
            }
            _ => {}
        }
    }
    ""
}

fn function(
    name: &'static str,
    result: ColumnType,
    kernel: impl Fn(&Call<'_>, &Texts, &Texts) -> Result<arrow::array::ArrayRef, FunctionError>
    + Send
    + Sync
    + 'static,
) -> ScalarFunction {
    ScalarFunction::new(name, 2..=2, takes_text(name, 2, result), move |call| {
        kernel(call, &call.texts(0)?, &call.texts(1)?)
    })
}

fn numbers() -> Vec<ScalarFunction> {
    use arrow::datatypes::{Float64Type, Int64Type, UInt64Type};
    vec![
        function("simpleJSONHas", ColumnType::UInt8, |call, json, names| {
            call.each_flag(|row| field(json.get(row), names.get(row)).is_some())
        })
        .aliases(&["visitParamHas"])
        .doc(
            "simpleJSONHas(json, name)",
            "Whether a field occurs.",
            "simpleJSONHas('{\"a\":1}', 'a') -> 1",
        ),
        function("simpleJSONExtractUInt", ColumnType::UInt64, |call, json, names| {
            call.each::<UInt64Type>(|row| {
                let found = field(json.get(row), names.get(row)).unwrap_or("");
                Ok(number(found, false).parse().unwrap_or(0))
            })
        })
        .aliases(&["visitParamExtractUInt"])
        .doc(
            "simpleJSONExtractUInt(json, name)",
            "The number of a field as UInt64.",
            "simpleJSONExtractUInt('{\"a\":1}', 'a') -> 1",
        ),
        function("simpleJSONExtractInt", ColumnType::Int64, |call, json, names| {
            call.each::<Int64Type>(|row| {
                let found = field(json.get(row), names.get(row)).unwrap_or("");
                Ok(number(found, false).parse().unwrap_or(0))
            })
        })
        .aliases(&["visitParamExtractInt"])
        .doc(
            "simpleJSONExtractInt(json, name)",
            "The number of a field as Int64.",
            "simpleJSONExtractInt('{\"a\":-1}', 'a') -> -1",
        ),
        function("simpleJSONExtractFloat", ColumnType::Float64, |call, json, names| {
            call.each::<Float64Type>(|row| {
                let found = field(json.get(row), names.get(row)).unwrap_or("");
                Ok(number(found, true).parse().unwrap_or(0.0))
            })
        })
        .aliases(&["visitParamExtractFloat"])
        .doc(
            "simpleJSONExtractFloat(json, name)",
            "The number of a field as Float64.",
            "simpleJSONExtractFloat('{\"a\":1.5}', 'a') -> 1.5",
        ),
    ]
}

fn fields() -> Vec<ScalarFunction> {
    vec![
        function("simpleJSONExtractBool", ColumnType::UInt8, |call, json, names| {
            call.each_flag(|row| {
                field(json.get(row), names.get(row)).is_some_and(|found| found.starts_with("true"))
            })
        })
        .aliases(&["visitParamExtractBool"])
        .doc(
            "simpleJSONExtractBool(json, name)",
            "1 where a field is true.",
            "simpleJSONExtractBool('{\"a\":true}', 'a') -> 1",
        ),
        function("simpleJSONExtractRaw", ColumnType::String, |call, json, names| {
            call.each_part(|row| field(json.get(row), names.get(row)).map_or("", raw))
        })
        .aliases(&["visitParamExtractRaw"])
        .doc(
            "simpleJSONExtractRaw(json, name)",
            "The value of a field as it is written.",
            "simpleJSONExtractRaw('{\"a\":[1,2]}', 'a') -> '[1,2]'",
        ),
        function("simpleJSONExtractString", ColumnType::String, |call, json, names| {
            call.each_text(|row, out| {
                let text = field(json.get(row), names.get(row)).and_then(|found| found.strip_prefix('"'));
                if text.is_some_and(|text| unescape(text, out).is_none()) {
                    out.clear();
                }
                Ok(())
            })
        })
        .aliases(&["visitParamExtractString"])
        .doc(
            "simpleJSONExtractString(json, name)",
            "The text of a field.",
            "simpleJSONExtractString('{\"a\":\"x\"}', 'a') -> 'x'",
        ),
    ]
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let mut out = numbers();
    out.extend(fields());
    out
}
