//! Texts of a column as Arrow's views: sixteen bytes a text, which hold a short one whole and say where a long one lies.
//!
//! The bytes of a column are copied at once, with the lengths between the texts, and only if one of them is long; a
//! text by itself is never copied. Invariant: views point into `buffers`. Bytes need not be UTF-8 before
//! [`Views::into_array`], which makes them without looking again where they are ASCII.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringViewArray, StringViewBuilder};
use arrow::buffer::{Buffer, NullBuffer, ScalarBuffer};
use model::raw_text;
use model::saturating::u64_of;

use super::wire::{Cursor, Limits, Stop, too_long};

/// The longest text that a view holds itself.
const SHORT_BYTES_MAX: usize = 12;
/// Arrow counts the bytes of a buffer in 31 bits.
const BUFFER_BYTES_MAX: usize = i32::MAX as usize;

#[derive(Debug, Default)]
pub(crate) struct Views {
    views: Vec<u128>,
    buffers: Vec<Buffer>,
    has_others_than_ascii: bool,
}

impl Views {
    pub(crate) fn len(&self) -> usize {
        self.views.len()
    }

    pub(crate) fn truncate(&mut self, rows: usize) {
        self.views.truncate(rows);
    }

    pub(crate) fn push_empty(&mut self) {
        self.views.push(0);
    }

    /// Appends `rows` texts, each behind its length; none if there is an error.
    pub(crate) fn read(&mut self, rows: usize, cursor: &mut Cursor<'_>, limits: Limits) -> Result<(), Stop> {
        let before = (self.views.len(), self.buffers.len());
        let read = self.append(rows, cursor, limits);
        if read.is_err() {
            // Views of a buffer that was not kept would point at nothing.
            self.views.truncate(before.0);
            self.buffers.truncate(before.1);
        }
        read
    }

    fn append(&mut self, rows: usize, cursor: &mut Cursor<'_>, limits: Limits) -> Result<(), Stop> {
        let mut start = cursor.at();
        // A text takes a byte at least.
        self.views.reserve(rows.min(cursor.left()));
        let (mut index, mut is_long) = (self.buffers.len() as u128, false);
        for _ in 0..rows {
            let before = cursor.at();
            let text = cursor.text(limits)?;
            if text.len() <= SHORT_BYTES_MAX {
                self.views.push(text.len() as u128 | short(text, cursor) << 32);
                continue;
            }
            if cursor.at() - start > BUFFER_BYTES_MAX {
                if text.len() >= BUFFER_BYTES_MAX - 16 {
                    let most = u64_of(BUFFER_BYTES_MAX);
                    return Err(too_long(u64_of(text.len()), most, "text", "the layout of texts").into());
                }
                self.keep(cursor.since(start, before), is_long);
                (start, index) = (before, self.buffers.len() as u128);
            }
            is_long = true;
            let prefix = text.first_chunk().map_or(0, |prefix| u32::from_le_bytes(*prefix));
            let offset = (cursor.at() - text.len() - start) as u128;
            self.views.push(text.len() as u128 | u128::from(prefix) << 32 | index << 64 | offset << 96);
        }
        self.keep(cursor.since(start, cursor.at()), is_long);
        Ok(())
    }

    fn keep(&mut self, bytes: &[u8], is_long: bool) {
        self.has_others_than_ascii |= !bytes.is_ascii();
        if is_long {
            self.buffers.push(Buffer::from(bytes));
        }
    }

    pub(crate) fn into_array(self, nulls: Option<NullBuffer>) -> ArrayRef {
        let views = ScalarBuffer::from(self.views);
        if !self.has_others_than_ascii && nulls.as_ref().is_none_or(|nulls| nulls.len() == views.len()) {
            // To look at every text again would take as long as to read it.
            #[expect(unsafe_code, reason = "a check of each text that is known to pass")]
            // SAFETY: `append` makes every view of a text that it has just read: a short one holds its bytes and zeros behind
            // them, a long one its first four bytes and where it lies in the buffer that the same call pushes; a call that
            // fails leaves none. `keep` has seen all bytes of all texts, short and long, and they are ASCII, which is UTF-8
            // wherever it is cut. There are as many marks of NULL as views.
            return Arc::new(unsafe { StringViewArray::new_unchecked(views, self.buffers, nulls) });
        }
        let array = StringViewArray::try_new(views.clone(), self.buffers.clone(), nulls.clone());
        let may_carry = |array: &StringViewArray| array.iter().flatten().any(raw_text::may_carry);
        if let Ok(array) = array
            && !may_carry(&array)
        {
            return Arc::new(array);
        }
        // Bytes that are no UTF-8 are carried in text.
        let mut carried = StringViewBuilder::with_capacity(views.len());
        for (row, view) in views.iter().enumerate() {
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                carried.append_null();
                continue;
            }
            let whole = view.to_le_bytes();
            carried.append_value(raw_text::carry(text_of(&whole, &self.buffers)));
        }
        Arc::new(carried.finish())
    }
}

/// The text that was read last, as a number.
#[inline]
fn short(text: &[u8], cursor: &Cursor<'_>) -> u128 {
    // Bytes behind it are read with it where there are some, since a copy of a length that is not known costs a call.
    match cursor.first_chunk::<SHORT_BYTES_MAX>(cursor.at() - text.len()) {
        Some(chunk) => {
            let (low, high) = (chunk.first_chunk::<8>(), chunk.last_chunk::<4>());
            let low = u128::from(low.map_or(0, |low| u64::from_le_bytes(*low)));
            let high = u128::from(high.map_or(0, |high| u32::from_le_bytes(*high)));
            (low | high << 64) & !(u128::MAX << (8 * text.len()))
        }
        None => text.iter().rev().fold(0, |number, byte| number << 8 | u128::from(*byte)),
    }
}

fn text_of<'a>(view: &'a [u8; 16], buffers: &'a [Buffer]) -> &'a [u8] {
    let number = |at: usize| {
        let bytes = view.get(at..).and_then(<[u8]>::first_chunk);
        usize::try_from(bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))).unwrap_or(0)
    };
    let length = number(0);
    if length <= SHORT_BYTES_MAX {
        return view.get(4..4 + length).unwrap_or_default();
    }
    let text = || buffers.get(number(8))?.get(number(12)..number(12) + length);
    text().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use arrow::array::{Array, AsArray};

    use super::super::wire::put_text;
    use super::*;

    #[test]
    fn texts_of_every_length_and_any_bytes_survive() {
        let limits = Limits { text_bytes: 1000, array_items: 0 };
        let of_length = |length: usize| (0..length).map(|at| b'a' + u8::try_from(at % 26).unwrap()).collect();
        let ascii: Vec<Vec<u8>> = (0..300).map(of_length).collect();
        let short: Vec<Vec<u8>> = (0..=12).map(of_length).collect();
        let mixed = vec![
            b"\xd0\xb6".to_vec(),
            "жжжжжжжжж".into(),
            b"\xff".to_vec(),
            b"a long text, then \xff".to_vec(),
        ];
        let carried = vec!["\u{10feff}".into(), "also in a long text \u{10fe80}".into(), Vec::new()];
        for texts in [ascii, short, mixed, carried] {
            let mut bytes = Vec::new();
            texts.iter().for_each(|text| put_text(&mut bytes, text));
            let mut views = Views::default();
            let mut cursor = Cursor::new(&bytes, 0);
            // In two parts, as keys of dictionaries come.
            let first = texts.len() / 3;
            views.read(first, &mut cursor, limits).unwrap();
            views.read(texts.len() - first, &mut cursor, limits).unwrap();
            assert_eq!((cursor.at(), views.len()), (bytes.len(), texts.len()));
            let array = views.into_array(None);
            let read: Vec<Vec<u8>> = array
                .as_string_view()
                .iter()
                .map(|text| raw_text::bytes(text.unwrap()).into_owned())
                .collect();
            assert_eq!(read, texts);
            array.to_data().validate_full().unwrap();
        }
    }

    #[test]
    fn a_read_that_fails_leaves_nothing() {
        let limits = Limits { text_bytes: 100, array_items: 0 };
        let mut bytes = Vec::new();
        put_text(&mut bytes, b"a text that is kept in a buffer");
        let whole = bytes.len();
        put_text(&mut bytes, b"another one that is kept in a buffer");
        let mut views = Views::default();
        views.read(1, &mut Cursor::new(&bytes[..whole], 0), limits).unwrap();
        assert!(views.read(2, &mut Cursor::new(&bytes[..bytes.len() - 1], 0), limits).is_err());
        views.read(1, &mut Cursor::new(&bytes[whole..], 0), limits).unwrap();
        let array = views.into_array(None);
        array.to_data().validate_full().unwrap();
        assert_eq!(
            (array.len(), array.as_string_view().value(1)),
            (2, "another one that is kept in a buffer")
        );
    }
}
