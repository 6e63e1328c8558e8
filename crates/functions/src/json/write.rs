//! JSON as text.
//!
//! Invariant: what is written is valid JSON without blanks; numbers are written as ClickHouse prints them.

use super::document::{Item, Kind};
use crate::cast::write;

/// Text in quotes.
pub(super) fn quoted(text: &str, escape_slash: bool, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '/' if escape_slash => out.push_str("\\/"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\u{1f}' | '\u{2028}' | '\u{2029}' => {
                const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
                out.push_str("\\u");
                for shift in [12, 8, 4, 0] {
                    let digit = usize::try_from(u32::from(c) >> shift & 15).unwrap_or(0);
                    out.push(char::from(DIGITS[digit]));
                }
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

/// A value of a document.
pub(super) fn item(item: Item<'_>, out: &mut String) {
    match item.kind() {
        Kind::Null => out.push_str("null"),
        Kind::Bool(value) => out.push_str(if value { "true" } else { "false" }),
        Kind::Int(value) => out.push_str(itoa::Buffer::new().format(value)),
        Kind::UInt(value) => out.push_str(itoa::Buffer::new().format(value)),
        Kind::Double(value) => write::float64(value, out),
        Kind::Whole { .. } => out.push_str(item.digits()),
        Kind::Text { .. } => quoted(item.text().unwrap_or(""), false, out),
        Kind::Array => {
            out.push('[');
            for (index, element) in item.elements().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                self::item(element, out);
            }
            out.push(']');
        }
        Kind::Object => {
            out.push('{');
            for (index, (key, value)) in item.pairs().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                quoted(key, false, out);
                out.push(':');
                self::item(value, out);
            }
            out.push('}');
        }
    }
}

/// A value as a String: text itself, all else as JSON.
pub(super) fn plain(item: Item<'_>, out: &mut String) {
    match item.text() {
        Some(text) => out.push_str(text),
        None => self::item(item, out),
    }
}
