//! Numbers, texts and tagged fields as bytes: the alphabet of the log's payload and of checkpoints.
//!
//! ```text
//! field := key payload          key := varint of number << 3 | critical << 2 | wire
//! wire  0 varint (LEB128)   1 length varint, bytes   2 sixteen bytes   3 eight bytes, little-endian
//! ```
//! Invariant: a reader skips a field whose number it does not know, unless the writer marked it critical. Must not
//! know: what the fields mean.

use model::saturating::u64_of;
use thiserror::Error;

/// Why bytes could not be read. None of these says that a disk lied: checksums are the log's business.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum FormatError {
    #[error("{what} ends early")]
    Truncated { what: &'static str },
    #[error("{what} has no field {number}")]
    Missing { what: &'static str, number: u64 },
    #[error("{what} has a field {number} that cannot be read: {problem}")]
    Malformed { what: &'static str, number: u64, problem: String },
    #[error(
        "{what} has a field {number} that must be understood, and format version {known} does not know it"
    )]
    UnknownField { what: &'static str, number: u64, known: u64 },
    #[error(
        "{what} of kind {kind} ({name}) is not known to format version {known}; version {needed} is needed"
    )]
    UnknownKind { what: &'static str, kind: u64, name: &'static str, known: u64, needed: u64 },
    #[error("{what} needs format version {needed}, and this program reads up to version {known}")]
    NewerVersion { what: &'static str, known: u64, needed: u64 },
}

const WIRE_VARINT: u64 = 0;
const WIRE_BYTES: u64 = 1;
const WIRE_ID: u64 = 2;
const WIRE_FIXED64: u64 = 3;
const CRITICAL: u64 = 4;

pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(low_byte(value) | 0x80);
        value >>= 7;
    }
    out.push(low_byte(value));
}

fn low_byte(value: u64) -> u8 {
    value.to_le_bytes()[0] & 0x7f
}

/// Writes fields one after the other.
#[derive(Default)]
pub struct FieldWriter {
    out: Vec<u8>,
}

impl FieldWriter {
    pub fn into_bytes(self) -> Vec<u8> {
        self.out
    }

    fn key(&mut self, number: u64, wire: u64) {
        put_varint(&mut self.out, number << 3 | wire);
    }

    /// Zero is not written; a reader starts from zero.
    pub fn uint(&mut self, number: u64, value: u64) {
        if value != 0 {
            self.uint_some(number, value);
        }
    }

    /// Written even when zero, for numbers whose absence means something else.
    pub fn uint_some(&mut self, number: u64, value: u64) {
        self.key(number, WIRE_VARINT);
        put_varint(&mut self.out, value);
    }

    pub fn fixed64(&mut self, number: u64, value: u64) {
        self.key(number, WIRE_FIXED64);
        self.out.extend_from_slice(&value.to_le_bytes());
    }

    pub fn id(&mut self, number: u64, id: &[u8; 16]) {
        self.key(number, WIRE_ID);
        self.out.extend_from_slice(id);
    }

    /// Written even when empty.
    pub fn bytes(&mut self, number: u64, bytes: &[u8]) {
        self.key(number, WIRE_BYTES);
        put_varint(&mut self.out, u64_of(bytes.len()));
        self.out.extend_from_slice(bytes);
    }

    /// An empty text is not written.
    pub fn text(&mut self, number: u64, text: &str) {
        if !text.is_empty() {
            self.bytes(number, text.as_bytes());
        }
    }

    pub fn nested(&mut self, number: u64, write: impl FnOnce(&mut FieldWriter)) {
        let mut inner = FieldWriter::default();
        write(&mut inner);
        self.bytes(number, &inner.out);
    }

    /// As [`FieldWriter::uint_some`], for a meaning that a reader without it would get wrong.
    pub fn uint_critical(&mut self, number: u64, value: u64) {
        self.key(number, CRITICAL | WIRE_VARINT);
        put_varint(&mut self.out, value);
    }
}

/// The payload of one field.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Payload<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
    Id([u8; 16]),
    Fixed64(u64),
}

/// One field as read; the accessors check that the payload has the shape the number promises.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Field<'a> {
    what: &'static str,
    pub number: u64,
    critical: bool,
    payload: Payload<'a>,
}

impl<'a> Field<'a> {
    pub fn malformed(&self, problem: impl Into<String>) -> FormatError {
        FormatError::Malformed { what: self.what, number: self.number, problem: problem.into() }
    }

    pub fn uint(&self) -> Result<u64, FormatError> {
        match self.payload {
            Payload::Varint(value) | Payload::Fixed64(value) => Ok(value),
            _ => Err(self.malformed("expected a number")),
        }
    }

    /// A number that must fit the narrower type of the caller.
    pub fn narrow<T: TryFrom<u64>>(&self) -> Result<T, FormatError> {
        T::try_from(self.uint()?).map_err(|_| self.malformed("the number is too large"))
    }

    pub fn id(&self) -> Result<[u8; 16], FormatError> {
        match self.payload {
            Payload::Id(id) => Ok(id),
            _ => Err(self.malformed("expected sixteen bytes")),
        }
    }

    pub fn bytes(&self) -> Result<&'a [u8], FormatError> {
        match self.payload {
            Payload::Bytes(bytes) => Ok(bytes),
            _ => Err(self.malformed("expected bytes")),
        }
    }

    pub fn text(&self) -> Result<&'a str, FormatError> {
        std::str::from_utf8(self.bytes()?).map_err(|_| self.malformed("the text is not UTF-8"))
    }

    /// The fields inside this one.
    pub fn nested(&self, what: &'static str) -> Result<FieldReader<'a>, FormatError> {
        Ok(FieldReader::new(what, self.bytes()?))
    }

    /// What a reader does with a number it does not know.
    pub fn skip(&self, known: u64) -> Result<(), FormatError> {
        if self.critical {
            return Err(FormatError::UnknownField { what: self.what, number: self.number, known });
        }
        Ok(())
    }
}

/// Reads fields one after the other until the bytes end.
#[derive(Clone, Debug)]
pub struct FieldReader<'a> {
    what: &'static str,
    rest: &'a [u8],
}

impl<'a> FieldReader<'a> {
    /// `what` names the thing in errors.
    pub fn new(what: &'static str, bytes: &'a [u8]) -> FieldReader<'a> {
        FieldReader { what, rest: bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn missing(&self, number: u64) -> FormatError {
        FormatError::Missing { what: self.what, number }
    }

    /// The next field, or `None` at the end.
    pub fn next_field(&mut self) -> Result<Option<Field<'a>>, FormatError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let (number, critical) = (key >> 3, key & CRITICAL != 0);
        let payload = match key & 3 {
            WIRE_VARINT => Payload::Varint(self.varint()?),
            WIRE_ID => Payload::Id(self.array()?),
            WIRE_FIXED64 => Payload::Fixed64(u64::from_le_bytes(self.array()?)),
            _ => Payload::Bytes(self.sized()?),
        };
        Ok(Some(Field { what: self.what, number, critical, payload }))
    }

    pub fn varint(&mut self) -> Result<u64, FormatError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let (first, rest) = self.rest.split_first().ok_or(FormatError::Truncated { what: self.what })?;
            self.rest = rest;
            let bits = u64::from(first & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if first & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(FormatError::Malformed { what: self.what, number: 0, problem: "number above 64 bits".to_owned() })
    }

    /// A length and as many bytes.
    pub fn sized(&mut self) -> Result<&'a [u8], FormatError> {
        let length = self.varint()?;
        let length = usize::try_from(length).ok().filter(|length| *length <= self.rest.len());
        let (taken, rest) = self.rest.split_at(length.ok_or(FormatError::Truncated { what: self.what })?);
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], FormatError> {
        let (taken, rest) =
            self.rest.split_first_chunk::<N>().ok_or(FormatError::Truncated { what: self.what })?;
        self.rest = rest;
        Ok(*taken)
    }
}
