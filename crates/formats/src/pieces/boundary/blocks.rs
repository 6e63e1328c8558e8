//! Where blocks of Native end, found without reading their values.
//!
//! A walk over the layout that `native` and `binary::bulk` read: numbers of fixed width are stepped over together, texts
//! length by length. It stops anywhere and goes on with the next bytes.
//! Invariant: of blocks that the reader reads without an error, an end is where the reader ends. Where the reader would
//! stop with an error, the walk is lost or goes past that place, so that the reader of the piece finds it.

use std::collections::HashMap;
use std::sync::Arc;

use model::saturating::usize_of;
use model::{ColumnType, type_name};

use crate::binary::bulk::{index_width, words_ahead};
use crate::binary::column::width;
use crate::binary::native::{COLUMNS_MAX, ROWS_MAX};
use crate::binary::wire::NAME_BYTES_MAX;

/// Types that are remembered; a body has few.
const TYPES_MAX: usize = 1000;

/// How the values of a type lie.
#[derive(Debug)]
enum Shape {
    /// Bytes of a value.
    Fixed(u64),
    Text,
    Nullable(Arc<Shape>),
    /// Also Map, whose items are its keys and then its values.
    List(Vec<Arc<Shape>>),
    Tuple(Vec<Arc<Shape>>),
    Dictionary(Arc<Shape>),
}

/// What stands next, once what stands above it in the stack is passed.
#[derive(Clone, Debug)]
enum Next {
    /// A block: the number of its columns, then of its rows.
    Block,
    Rows {
        columns: u64,
    },
    /// Name, type and values of a column.
    Column {
        rows: u64,
    },
    /// The length of the type's name, then the name.
    TypeLength {
        rows: u64,
    },
    TypeName {
        rows: u64,
        bytes: usize,
    },
    Values {
        shape: Arc<Shape>,
        rows: u64,
    },
    Texts(u64),
    Skip(u64),
    /// The end of the last row, which is the number of items.
    LastEnd(Arc<Shape>),
    /// Parts of a dictionary until all rows had one: flags, number of keys, keys, number of rows, indexes.
    Dictionary {
        keys: Arc<Shape>,
        rows: u64,
    },
    Keys {
        keys: Arc<Shape>,
        rows: u64,
        width: u64,
    },
    Indexes {
        keys: Arc<Shape>,
        rows: u64,
        width: u64,
    },
}

/// Why the walk stops.
enum Stop {
    /// The bytes are used up.
    More,
    /// This is no block, or one of a type that is not known.
    Lost,
}

#[derive(Clone, Debug, Default)]
pub(super) struct BlockScan {
    /// The last is the next; nothing between two blocks.
    stack: Vec<Next>,
    /// A number that began in the bytes before: what is known of it, and how many bits.
    number: u64,
    bits: u32,
    type_name: Vec<u8>,
    types: HashMap<Vec<u8>, (u64, Arc<Shape>)>,
    pub(super) is_lost: bool,
}

/// Bytes at hand.
struct Bytes<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl BlockScan {
    pub(super) fn advance(&mut self, bytes: &[u8]) -> Option<usize> {
        let (mut bytes, mut boundary) = (Bytes { bytes, at: 0 }, None);
        while !self.is_lost {
            let Some(next) = self.stack.pop() else {
                if bytes.at > 0 {
                    boundary = Some(bytes.at);
                }
                if bytes.at == bytes.bytes.len() {
                    break;
                }
                self.stack.push(Next::Block);
                continue;
            };
            match self.pass(next, &mut bytes) {
                Ok(()) => {}
                Err(Stop::More) => break,
                Err(Stop::Lost) => self.is_lost = true,
            }
        }
        boundary
    }

    /// Passes what is next, or puts back what is left of it.
    fn pass(&mut self, next: Next, bytes: &mut Bytes<'_>) -> Result<(), Stop> {
        match next {
            Next::Skip(count) => self.skip(count, bytes)?,
            Next::Texts(count) => self.texts(count, bytes)?,
            Next::Values { shape, rows } => self.values(&shape, rows)?,
            Next::Block => {
                let columns = self.varint(bytes, next)?;
                self.stack.push(Next::Rows { columns });
                if columns > COLUMNS_MAX {
                    return Err(Stop::Lost);
                }
            }
            Next::Rows { columns } => {
                let rows = self.varint(bytes, next)?;
                if rows > ROWS_MAX || columns == 0 && rows > 0 {
                    return Err(Stop::Lost);
                }
                let columns = usize::try_from(columns).map_err(|_| Stop::Lost)?;
                self.stack.extend(std::iter::repeat_n(Next::Column { rows }, columns));
            }
            Next::Column { rows } => self.stack.extend([Next::TypeLength { rows }, Next::Texts(1)]),
            Next::TypeLength { rows } => {
                let length = self.varint(bytes, next)?;
                if length > NAME_BYTES_MAX {
                    return Err(Stop::Lost);
                }
                let length = usize::try_from(length).map_err(|_| Stop::Lost)?;
                self.type_name.clear();
                self.stack.push(Next::TypeName { rows, bytes: length });
            }
            Next::TypeName { rows, bytes: length } => {
                let part = bytes.take(length - self.type_name.len());
                self.type_name.extend_from_slice(part);
                if self.type_name.len() < length {
                    self.stack.push(next);
                    return Err(Stop::More);
                }
                self.column_of_type(rows)?;
            }
            Next::LastEnd(ref shape) => {
                let shape = Arc::clone(shape);
                let rows = self.word(bytes, next)?;
                if let Shape::List(items) = shape.as_ref() {
                    self.all(items, rows);
                }
            }
            Next::Dictionary { .. } | Next::Keys { .. } | Next::Indexes { .. } => {
                self.dictionary(next, bytes)?;
            }
        }
        Ok(())
    }

    fn all(&mut self, shapes: &[Arc<Shape>], rows: u64) {
        let values = |shape: &Arc<Shape>| Next::Values { shape: Arc::clone(shape), rows };
        self.stack.extend(shapes.iter().rev().map(values));
    }

    fn values(&mut self, shape: &Arc<Shape>, rows: u64) -> Result<(), Stop> {
        if rows == 0 {
            return Ok(());
        }
        match shape.as_ref() {
            Shape::Fixed(width) => self.stack.push(Next::Skip(rows.saturating_mul(*width))),
            Shape::Text => self.stack.push(Next::Texts(rows)),
            Shape::Nullable(values) => {
                self.stack.extend([Next::Values { shape: Arc::clone(values), rows }, Next::Skip(rows)]);
            }
            Shape::List(_) => {
                let ends_before = (rows - 1).checked_mul(8).ok_or(Stop::Lost)?;
                self.stack.extend([Next::LastEnd(Arc::clone(shape)), Next::Skip(ends_before)]);
            }
            Shape::Tuple(elements) => self.all(elements, rows),
            Shape::Dictionary(keys) => {
                self.stack.push(Next::Dictionary { keys: Arc::clone(keys), rows });
            }
        }
        Ok(())
    }

    fn skip(&mut self, count: u64, bytes: &mut Bytes<'_>) -> Result<(), Stop> {
        let passed = bytes.take(usize_of(count)).len() as u64;
        if passed < count {
            self.stack.push(Next::Skip(count - passed));
            return Err(Stop::More);
        }
        Ok(())
    }

    fn texts(&mut self, mut left: u64, bytes: &mut Bytes<'_>) -> Result<(), Stop> {
        while left > 0 {
            // Most lengths are one byte.
            let length = match bytes.bytes.get(bytes.at) {
                Some(short) if *short < 0x80 && self.bits == 0 => {
                    bytes.at += 1;
                    u64::from(*short)
                }
                _ => self.varint(bytes, Next::Texts(left))?,
            };
            left -= 1;
            let here = (bytes.bytes.len() - bytes.at) as u64;
            if length > here {
                self.stack.push(Next::Texts(left));
                return self.skip(length, bytes);
            }
            bytes.at += usize::try_from(length).map_err(|_| Stop::Lost)?;
        }
        Ok(())
    }

    fn dictionary(&mut self, next: Next, bytes: &mut Bytes<'_>) -> Result<(), Stop> {
        match next {
            Next::Dictionary { rows: 0, .. } => {}
            Next::Dictionary { ref keys, rows } => {
                let keys = Arc::clone(keys);
                let width = index_width(self.word(bytes, next)?).map_err(|_| Stop::Lost)? as u64;
                self.stack.push(Next::Keys { keys, rows, width });
            }
            Next::Keys { ref keys, rows, width } => {
                let keys = Arc::clone(keys);
                let count = self.word(bytes, next)?;
                let indexes = Next::Indexes { keys: Arc::clone(&keys), rows, width };
                self.stack.extend([indexes, Next::Values { shape: keys, rows: count }]);
            }
            Next::Indexes { ref keys, rows, width } => {
                let keys = Arc::clone(keys);
                let here = self.word(bytes, next)?;
                if here == 0 || here > rows {
                    return Err(Stop::Lost);
                }
                let indexes = here.checked_mul(width).ok_or(Stop::Lost)?;
                self.stack.extend([Next::Dictionary { keys, rows: rows - here }, Next::Skip(indexes)]);
            }
            _ => {}
        }
        Ok(())
    }

    /// The column whose type has been read.
    fn column_of_type(&mut self, rows: u64) -> Result<(), Stop> {
        if rows == 0 {
            return Ok(());
        }
        let (words, shape) = match self.types.get(&self.type_name) {
            Some(known) => known.clone(),
            None => {
                let name = std::str::from_utf8(&self.type_name).map_err(|_| Stop::Lost)?;
                let column_type = type_name::parse(name).map_err(|_| Stop::Lost)?;
                let found = (words_ahead(&column_type), Shape::of(&column_type).ok_or(Stop::Lost)?);
                if self.types.len() < TYPES_MAX {
                    self.types.insert(self.type_name.clone(), found.clone());
                }
                found
            }
        };
        self.stack.extend([Next::Values { shape, rows }, Next::Skip(words.saturating_mul(8))]);
        Ok(())
    }

    /// A number in groups of seven bits; `again` is put back when it goes on in the next bytes.
    fn varint(&mut self, bytes: &mut Bytes<'_>, again: Next) -> Result<u64, Stop> {
        while let [byte] = bytes.take(1) {
            if self.bits == 63 && *byte > 1 {
                return Err(Stop::Lost);
            }
            self.number |= u64::from(*byte & 0x7f) << self.bits;
            self.bits += 7;
            if *byte < 0x80 {
                self.bits = 0;
                return Ok(std::mem::take(&mut self.number));
            }
        }
        self.stack.push(again);
        Err(Stop::More)
    }

    /// A number of eight bytes.
    fn word(&mut self, bytes: &mut Bytes<'_>, again: Next) -> Result<u64, Stop> {
        while let [byte] = bytes.take(1) {
            self.number |= u64::from(*byte) << self.bits;
            self.bits += 8;
            if self.bits == 64 {
                self.bits = 0;
                return Ok(std::mem::take(&mut self.number));
            }
        }
        self.stack.push(again);
        Err(Stop::More)
    }
}

impl<'a> Bytes<'a> {
    /// The next bytes, as many as there are up to `count`.
    fn take(&mut self, count: usize) -> &'a [u8] {
        let end = self.at.saturating_add(count).min(self.bytes.len());
        let taken = self.bytes.get(self.at..end).unwrap_or_default();
        self.at = end;
        taken
    }
}

impl Shape {
    /// `None`: values of this type are not laid out in a way that is known.
    fn of(column_type: &ColumnType) -> Option<Arc<Shape>> {
        if let ColumnType::LowCardinality(inner) = column_type {
            return Some(Arc::new(Shape::Dictionary(Shape::of_values(inner.value_type())?)));
        }
        let values = Shape::of_values(column_type.value_type())?;
        Some(if column_type.is_nullable() { Arc::new(Shape::Nullable(values)) } else { values })
    }

    fn of_values(value_type: &ColumnType) -> Option<Arc<Shape>> {
        use ColumnType as T;
        Some(Arc::new(match value_type {
            T::String | T::AggregateFunction(_) => Shape::Text,
            T::FixedString(width) => Shape::Fixed(u64::from(*width).max(1)),
            T::Array(item) => Shape::List(vec![Shape::of(item)?]),
            T::Map(key, value) => Shape::List(vec![Shape::of(key)?, Shape::of(value)?]),
            // A byte a row stands for what has no value.
            T::Nothing => Shape::Fixed(1),
            T::Tuple(elements) if elements.is_empty() => Shape::Fixed(1),
            T::Tuple(elements) => {
                let shapes = elements.iter().map(|element| Shape::of(&element.column_type));
                Shape::Tuple(shapes.collect::<Option<_>>()?)
            }
            fixed => Shape::Fixed(u64::try_from(width(fixed)).ok().filter(|width| *width > 0)?),
        }))
    }
}
