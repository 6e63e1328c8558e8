//! The fields of a small op by their numbers.
//!
//! Invariant: a field that is not known and may not be passed over is an error. Must not know: what the fields mean.

use super::VERSION;
use super::fields::{Field, FieldReader, FormatError};

/// The fields of a small op, looked up by number; the last one of a number stands.
pub(super) struct Attributes<'a> {
    what: &'static str,
    read: Vec<Field<'a>>,
}

/// No op that is read by attributes has a greater field number.
const ATTRIBUTE_MAX: u64 = 4;

impl<'a> Attributes<'a> {
    pub(super) fn read(what: &'static str, bytes: &'a [u8]) -> Result<Attributes<'a>, FormatError> {
        let mut reader = FieldReader::new(what, bytes);
        let mut read = Vec::new();
        while let Some(field) = reader.next_field()? {
            if field.number > ATTRIBUTE_MAX {
                field.skip(VERSION)?;
            } else {
                read.push(field);
            }
        }
        Ok(Attributes { what, read })
    }

    pub(super) fn all(&self, number: u64) -> impl Iterator<Item = &Field<'a>> {
        self.read.iter().filter(move |field| field.number == number)
    }

    fn field(&self, number: u64) -> Result<&Field<'a>, FormatError> {
        self.all(number).last().ok_or(FormatError::Missing { what: self.what, number })
    }

    pub(super) fn id(&self, number: u64) -> Result<[u8; 16], FormatError> {
        self.field(number)?.id()
    }

    pub(super) fn bytes(&self, number: u64) -> Result<&'a [u8], FormatError> {
        self.field(number)?.bytes()
    }

    /// Empty when not written.
    pub(super) fn text(&self, number: u64) -> Result<&'a str, FormatError> {
        self.all(number).last().map_or(Ok(""), Field::text)
    }

    /// Zero when not written.
    pub(super) fn uint(&self, number: u64) -> Result<u64, FormatError> {
        self.all(number).last().map_or(Ok(0), Field::uint)
    }

    pub(super) fn narrow(&self, number: u64) -> Result<u32, FormatError> {
        self.all(number).last().map_or(Ok(0), Field::narrow)
    }
}
