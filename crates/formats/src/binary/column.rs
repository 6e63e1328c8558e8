//! The values of one column between wire and array, in the wire's own form.
//!
//! Invariant: `len` counts whole values; `truncate` takes back the rest of a row that was not all there. Values of
//! fixed width lie end to end, least byte first, as both binary formats have them; texts lie end to end with their
//! ends beside them. Must not know: readers, files.

use arrow::buffer::MutableBuffer;
use model::ColumnType;

use super::views::Views;

/// Which of the two ways of writing values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Layout {
    /// Row by row: LowCardinality is not seen.
    Rows,
    /// Column by column: LowCardinality is a dictionary.
    Columns,
}

#[derive(Debug)]
pub(crate) struct Column {
    /// 1 for NULL; `None` for a type that knows no NULL, and for dictionaries, whose key 0 is NULL.
    pub(crate) nulls: Option<Vec<u8>>,
    pub(crate) values: Values,
}

#[derive(Debug)]
pub(crate) enum Values {
    Fixed {
        width: usize,
        bytes: MutableBuffer,
        default: Vec<u8>,
    },
    /// Also FixedString, without its padding, and states.
    Text {
        ends: Vec<i64>,
        bytes: Vec<u8>,
    },
    /// Also Map, whose items are tuples of key and value.
    /// Texts that were read column by column: nobody asks for their cells.
    Views(Views),
    List {
        ends: Vec<i32>,
        item: Box<Column>,
    },
    Tuple {
        rows: usize,
        children: Vec<Column>,
    },
    Dictionary {
        keys: Box<Column>,
        indexes: Vec<u32>,
    },
    Nothing(usize),
}

impl Column {
    pub(crate) fn new(column_type: &ColumnType, layout: Layout) -> Column {
        match column_type {
            ColumnType::LowCardinality(inner) if layout == Layout::Columns => {
                let keys = Box::new(Column { nulls: None, values: Values::new(inner.value_type(), layout) });
                Column { nulls: None, values: Values::Dictionary { keys, indexes: Vec::new() } }
            }
            other => Column {
                nulls: other.is_nullable().then(Vec::new),
                values: Values::new(other.value_type(), layout),
            },
        }
    }

    pub(crate) fn len(&self) -> usize {
        match &self.values {
            Values::Fixed { width, bytes, .. } => bytes.len().checked_div(*width).unwrap_or(0),
            Values::Text { ends, .. } => ends.len(),
            Values::Views(views) => views.len(),
            Values::List { ends, .. } => ends.len(),
            Values::Tuple { rows, .. } | Values::Nothing(rows) => *rows,
            Values::Dictionary { indexes, .. } => indexes.len(),
        }
    }

    /// Bytes of a value of fixed width, or of a text.
    pub(crate) fn cell(&self, row: usize) -> &[u8] {
        match &self.values {
            Values::Fixed { width, bytes, .. } => &bytes.as_slice()[row * width..(row + 1) * width],
            Values::Text { ends, bytes } => {
                let start = row.checked_sub(1).map_or(0, |before| offset(ends[before]));
                &bytes[start..offset(ends[row])]
            }
            _ => &[],
        }
    }

    /// Items of a list.
    pub(crate) fn items(&self, row: usize) -> std::ops::Range<usize> {
        match &self.values {
            Values::List { ends, .. } => {
                let start = row.checked_sub(1).map_or(0, |before| ends[before]);
                offset(i64::from(start))..offset(i64::from(ends[row]))
            }
            _ => 0..0,
        }
    }

    pub(crate) fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.get(row).is_some_and(|null| *null != 0))
    }

    pub(crate) fn push_text(&mut self, text: &[u8]) {
        if let Values::Text { ends, bytes } = &mut self.values {
            bytes.extend_from_slice(text);
            ends.push(i64::try_from(bytes.len()).unwrap_or(i64::MAX));
        }
    }

    /// NULL where the type knows it, else the type's default.
    pub(crate) fn push_default(&mut self) {
        if let Some(nulls) = &mut self.nulls {
            nulls.push(1);
        }
        self.values.push_default();
    }

    pub(crate) fn truncate(&mut self, rows: usize) {
        if let Some(nulls) = &mut self.nulls {
            nulls.truncate(rows);
        }
        match &mut self.values {
            Values::Fixed { width, bytes, .. } => bytes.truncate(rows * *width),
            Values::Text { ends, bytes } => {
                ends.truncate(rows);
                bytes.truncate(ends.last().map_or(0, |end| offset(*end)));
            }
            Values::Views(views) => views.truncate(rows),
            Values::List { ends, item } => {
                ends.truncate(rows);
                item.truncate(ends.last().map_or(0, |end| offset(i64::from(*end))));
            }
            Values::Tuple { rows: known, children } => {
                *known = rows.min(*known);
                children.iter_mut().for_each(|child| child.truncate(rows));
            }
            Values::Dictionary { indexes, .. } => indexes.truncate(rows),
            Values::Nothing(known) => *known = rows.min(*known),
        }
    }
}

impl Values {
    fn new(value_type: &ColumnType, layout: Layout) -> Values {
        use ColumnType as T;
        let child = |column_type: &T| Column::new(column_type, layout);
        match value_type {
            T::String | T::FixedString(_) | T::AggregateFunction(_) => {
                Values::Text { ends: Vec::new(), bytes: Vec::new() }
            }
            T::Array(item) => Values::List { ends: Vec::new(), item: Box::new(child(item)) },
            T::Map(key, value) => {
                let entry = Values::Tuple { rows: 0, children: vec![child(key), child(value)] };
                Values::List { ends: Vec::new(), item: Box::new(Column { nulls: None, values: entry }) }
            }
            T::Tuple(elements) => Values::Tuple {
                rows: 0,
                children: elements.iter().map(|element| child(&element.column_type)).collect(),
            },
            T::Nothing => Values::Nothing(0),
            fixed => {
                let width = width(fixed);
                let least = fixed.enum_values().and_then(|names| names.iter().next());
                let default = match least {
                    Some((number, _)) => number.to_le_bytes()[..width.min(2)].to_vec(),
                    None => vec![0; width],
                };
                Values::Fixed { width, bytes: MutableBuffer::new(0), default }
            }
        }
    }

    pub(crate) fn push_default(&mut self) {
        match self {
            Values::Fixed { bytes, default, .. } => bytes.extend_from_slice(default),
            Values::Text { ends, .. } => ends.push(ends.last().copied().unwrap_or(0)),
            Values::Views(views) => views.push_empty(),
            Values::List { ends, .. } => ends.push(ends.last().copied().unwrap_or(0)),
            Values::Tuple { rows, children } => {
                *rows += 1;
                children.iter_mut().for_each(Column::push_default);
            }
            Values::Dictionary { indexes, .. } => indexes.push(0),
            Values::Nothing(rows) => *rows += 1,
        }
    }
}

/// Bytes of a value on the wire; 0 for types without a fixed width.
pub(crate) fn width(value_type: &ColumnType) -> usize {
    use ColumnType as T;
    match value_type {
        T::UInt8 | T::Int8 | T::Bool | T::Enum8(_) => 1,
        T::UInt16 | T::Int16 | T::Date | T::Enum16(_) => 2,
        T::UInt32 | T::Int32 | T::Ipv4 | T::Float32 | T::Date32 | T::DateTime { .. } => 4,
        T::UInt64 | T::Int64 | T::Float64 | T::DateTime64 { .. } => 8,
        T::Uuid | T::Ipv6 | T::Int128 | T::UInt128 => 16,
        T::Int256 | T::UInt256 => 32,
        // ClickHouse keeps decimals in the least integer that holds their digits.
        T::Decimal { precision: ..=9, .. } => 4,
        T::Decimal { precision: ..=18, .. } => 8,
        T::Decimal { precision: ..=38, .. } => 16,
        T::Decimal { .. } => 32,
        _ => 0,
    }
}

/// An end that was made from a length in memory.
pub(crate) fn offset(end: i64) -> usize {
    usize::try_from(end).unwrap_or(0)
}
