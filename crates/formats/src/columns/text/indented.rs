//! Nested values as JSON over several lines.
//!
//! Invariant: the same JSON as `Style::Json`, with line ends where ClickHouse's JSON format breaks: after every member
//! of a map or tuple, and after every item of an array whose items are nested.

use super::nested::{comma, range, write_key};
use super::opening::Values;
use super::{ColumnText, Style};
use model::value::print;

/// Indentation of the JSON format.
pub(crate) const TABS: &[u8] = b"\t";

/// Breaks the line and indents the next by `depth` units.
fn line(depth: usize, unit: &[u8], out: &mut Vec<u8>) {
    out.push(b'\n');
    (0..depth).for_each(|_| out.extend_from_slice(unit));
}

/// The entries of a map as a list of objects.
fn write_entries(
    entries: std::ops::Range<usize>,
    mut columns: [&mut ColumnText; 2],
    depth: usize,
    unit: &[u8],
    out: &mut Vec<u8>,
) {
    out.push(b'[');
    for at in entries.clone() {
        comma(at > entries.start, out);
        line(depth + 1, unit, out);
        out.push(b'{');
        for (place, column) in columns.iter_mut().enumerate() {
            comma(place > 0, out);
            line(depth + 2, unit, out);
            out.extend_from_slice(if place > 0 { b"\"values\": " } else { b"\"keys\": " });
            column.write_indented(at, depth + 2, unit, out);
        }
        line(depth + 1, unit, out);
        out.push(b'}');
    }
    if !entries.is_empty() {
        line(depth, unit, out);
    }
    out.push(b']');
}

impl ColumnText {
    fn is_nested(&self) -> bool {
        matches!(self.values, Values::List(..) | Values::Map(..) | Values::Tuple(..))
    }

    /// Appends the value as JSON whose inner lines are indented by `depth` + 1 units and more.
    pub(crate) fn write_indented(&mut self, row: usize, depth: usize, unit: &[u8], out: &mut Vec<u8>) {
        if self.is_null(row) || !self.is_nested() {
            return self.write(row, Style::Json, out);
        }
        let options = std::sync::Arc::clone(&self.options);
        match &mut self.values {
            Values::List(offsets, items) => {
                let items_range = range(offsets, row);
                if !items.is_nested() || items_range.is_empty() {
                    return self.write(row, Style::Json, out);
                }
                out.push(b'[');
                let first = items_range.start;
                for at in items_range {
                    comma(at > first, out);
                    line(depth + 1, unit, out);
                    items.write_indented(at, depth + 1, unit, out);
                }
                line(depth, unit, out);
                out.push(b']');
            }
            Values::Map(offsets, keys, values) if options.writing.json_maps_as_lists => {
                write_entries(range(offsets, row), [keys, values], depth, unit, out);
            }
            Values::Map(offsets, keys, values) => {
                let entries = range(offsets, row);
                if entries.is_empty() {
                    return out.extend_from_slice(b"{}");
                }
                out.push(b'{');
                let first = entries.start;
                for at in entries {
                    comma(at > first, out);
                    line(depth + 1, unit, out);
                    write_key(keys, at, Style::Json, out);
                    out.extend_from_slice(b": ");
                    values.write_indented(at, depth + 1, unit, out);
                }
                line(depth, unit, out);
                out.push(b'}');
            }
            Values::Tuple(names, children) => {
                let named = !names.is_empty() && names.iter().all(Option::is_some);
                let object = named && options.tuples_as_objects;
                out.push(if object { b'{' } else { b'[' });
                let mut any = false;
                for (at, child) in children.iter_mut().enumerate() {
                    if object && options.writing.json_skips_nulls && child.is_null(row) {
                        continue;
                    }
                    comma(std::mem::replace(&mut any, true), out);
                    line(depth + 1, unit, out);
                    if object && let Some(name) = &names[at] {
                        print::json_string(name.as_bytes(), options.escape_slashes, out);
                        out.extend_from_slice(b": ");
                    }
                    child.write_indented(row, depth + 1, unit, out);
                }
                if object && !any {
                    out.push(b'\n');
                }
                line(depth, unit, out);
                out.push(if object { b'}' } else { b']' });
            }
            _ => {}
        }
    }
}
