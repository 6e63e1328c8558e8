//! Nested values as elements of XML.
//!
//! Invariant: elements of arrays and tuples have no names, whatever the type says, as in ClickHouse.

use super::nested::range;
use super::opening::Values;
use super::{ColumnText, Style};

fn element(name: &str, column: &mut ColumnText, row: usize, out: &mut Vec<u8>) {
    tag("<", name, out);
    column.write(row, Style::Xml, out);
    tag("</", name, out);
}

fn tag(opens: &str, name: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(opens.as_bytes());
    out.extend_from_slice(name.as_bytes());
    out.push(b'>');
}

impl ColumnText {
    /// Lists, maps and tuples.
    pub(super) fn write_elements(&mut self, row: usize, out: &mut Vec<u8>) {
        match &mut self.values {
            Values::List(offsets, items) => {
                out.extend_from_slice(b"<array>");
                range(offsets, row).for_each(|at| element("elem", items, at, out));
                out.extend_from_slice(b"</array>");
            }
            Values::Map(offsets, keys, values) => {
                let entries = range(offsets, row);
                out.extend_from_slice(b"<map>");
                for at in entries {
                    out.extend_from_slice(b"<elem>");
                    element("key", keys, at, out);
                    element("value", values, at, out);
                    out.extend_from_slice(b"</elem>");
                }
                out.extend_from_slice(b"</map>");
            }
            Values::Tuple(_, children) => {
                out.extend_from_slice(b"<tuple>");
                children.iter_mut().for_each(|child| element("elem", child, row, out));
                out.extend_from_slice(b"</tuple>");
            }
            _ => {}
        }
    }
}
