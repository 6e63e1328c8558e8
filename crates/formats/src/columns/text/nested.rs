//! Lists, maps and tuples as text.
//!
//! Invariant: elements are literals or JSON, whatever style the whole is in; in CSV the literal as a whole is quoted.

use std::sync::Arc;

use arrow::buffer::OffsetBuffer;
use model::saturating::place_of;

use super::opening::Values;
use super::{ColumnText, Style};
use model::value::print;

/// Indentation of tuples in tables.
const SPACES: &[u8] = b"  ";

impl ColumnText {
    /// Lists, maps and tuples. In CSV the literal as a whole is quoted; elsewhere elements are literals or JSON.
    pub(super) fn nested(&mut self, row: usize, style: Style, out: &mut Vec<u8>) {
        if style == Style::Csv {
            let mut literal = Vec::new();
            self.nested(row, Style::Quoted, &mut literal);
            return print::csv_quoted(&literal, out);
        }
        let inner = if style == Style::Json { Style::Json } else { Style::Quoted };
        let json = inner == Style::Json;
        let options = Arc::clone(&self.options);
        match &mut self.values {
            Values::List(offsets, items) => {
                out.push(b'[');
                for at in range(offsets, row) {
                    comma(at > range(offsets, row).start, out);
                    items.write(at, inner, out);
                }
                out.push(b']');
            }
            Values::Map(offsets, keys, values) if json && options.writing.json_maps_as_lists => {
                out.push(b'[');
                for at in range(offsets, row) {
                    comma(at > range(offsets, row).start, out);
                    out.extend_from_slice(b"{\"keys\":");
                    keys.write(at, inner, out);
                    out.extend_from_slice(b",\"values\":");
                    values.write(at, inner, out);
                    out.push(b'}');
                }
                out.push(b']');
            }
            Values::Map(offsets, keys, values) => {
                out.push(b'{');
                for at in range(offsets, row) {
                    comma(at > range(offsets, row).start, out);
                    write_key(keys, at, inner, out);
                    out.push(b':');
                    values.write(at, inner, out);
                }
                out.push(b'}');
            }
            Values::Tuple(names, children) => {
                let named = !names.is_empty() && names.iter().all(Option::is_some);
                if named && options.indent_named_tuples {
                    return self.write_indented(row, 0, SPACES, out);
                }
                let object = json && options.tuples_as_objects && named;
                let (open, close) = if object {
                    (b'{', b'}')
                } else if json {
                    (b'[', b']')
                } else {
                    (b'(', b')')
                };
                out.push(open);
                let mut any = false;
                for (at, child) in children.iter_mut().enumerate() {
                    if object && options.writing.json_skips_nulls && child.is_null(row) {
                        continue;
                    }
                    comma(std::mem::replace(&mut any, true), out);
                    if object && let Some(name) = &names[at] {
                        print::json_string(name.as_bytes(), options.escape_slashes, out);
                        out.push(b':');
                    }
                    child.write(row, inner, out);
                }
                out.push(close);
            }
            _ => {}
        }
    }

    /// The elements of a tuple column, which CSV writes as columns of their own.
    pub(crate) fn tuple_children(&mut self) -> Option<&mut [ColumnText]> {
        match &mut self.values {
            Values::Tuple(_, children) => Some(children),
            _ => None,
        }
    }
}

pub(super) fn comma(wanted: bool, out: &mut Vec<u8>) {
    if wanted {
        out.push(b',');
    }
}

pub(super) fn range(offsets: &OffsetBuffer<i32>, row: usize) -> std::ops::Range<usize> {
    let at = |row: usize| place_of(offsets[row]);
    at(row)..at(row + 1)
}

/// JSON keys are strings, whatever their type.
pub(super) fn write_key(keys: &mut ColumnText, at: usize, style: Style, out: &mut Vec<u8>) {
    let start = out.len();
    keys.write(at, style, out);
    if style == Style::Json && out.get(start) != Some(&b'"') {
        out.insert(start, b'"');
        out.push(b'"');
    }
}
