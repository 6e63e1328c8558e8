//! Bytes read from the front: numbers, lengths, texts.
//!
//! Invariant: nothing is allocated for a declared length; what is not there yet is [`Stop::More`], which says how many
//! bytes are needed at least. Must not know: column types.

use model::ErrorCode;
use model::saturating::u64_of;

use crate::error::ValueError;

/// Why reading stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The bytes end too early; so many, counted from the first byte of the input, are needed at least.
    More(usize),
    Bad(ValueError),
}

impl From<ValueError> for Stop {
    fn from(error: ValueError) -> Self {
        Stop::Bad(error)
    }
}

/// Longest texts and arrays that are believed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Limits {
    pub(crate) text_bytes: u64,
    pub(crate) array_items: u64,
}

/// Names of columns and types are never longer.
pub(crate) const NAME_BYTES_MAX: u64 = 1 << 20;

pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at: at.min(bytes.len()) }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Bytes behind.
    pub(crate) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Bytes of the input, whether they were read or not.
    pub(crate) fn since(&self, from: usize, to: usize) -> &'a [u8] {
        self.bytes.get(from..to).unwrap_or_default()
    }

    /// The same, if there are so many from here on.
    #[inline]
    pub(crate) fn first_chunk<const COUNT: usize>(&self, from: usize) -> Option<&'a [u8; COUNT]> {
        self.bytes.get(from..)?.first_chunk()
    }

    #[inline]
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Stop> {
        let end = self.at.saturating_add(count);
        let taken = self.bytes.get(self.at..end).ok_or(Stop::More(end))?;
        self.at = end;
        Ok(taken)
    }

    /// `rows` values of `width` bytes.
    pub(crate) fn take_values(&mut self, rows: usize, width: usize) -> Result<&'a [u8], Stop> {
        self.take(rows.saturating_mul(width))
    }

    #[inline]
    pub(crate) fn byte(&mut self) -> Result<u8, Stop> {
        let byte = self.bytes.get(self.at).copied().ok_or(Stop::More(self.at + 1))?;
        self.at += 1;
        Ok(byte)
    }

    /// A flag: 0 or 1, so that bytes of another format are noticed.
    #[inline]
    pub(crate) fn flag(&mut self, what: &str) -> Result<bool, Stop> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            other => {
                let message = format!("{what} is {other} where 0 or 1 is expected");
                Err(ValueError::new(ErrorCode::INCORRECT_DATA, message).into())
            }
        }
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Stop> {
        let bytes = self.take(8)?;
        Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// A number in groups of seven bits, the lowest first.
    #[inline]
    pub(crate) fn number(&mut self) -> Result<u64, Stop> {
        let mut number = 0;
        for shift in (0..63).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        match self.byte()? {
            last @ (0 | 1) => Ok(number | u64::from(last) << 63),
            _ => Err(ValueError::new(
                ErrorCode::INCORRECT_DATA,
                "a number of variable length has more than 64 bits",
            )
            .into()),
        }
    }

    /// A length of at most `length_max`, which the setting `limit` holds.
    #[inline]
    pub(crate) fn length(&mut self, length_max: u64, what: &str, limit: &str) -> Result<usize, Stop> {
        let length = self.number()?;
        match usize::try_from(length) {
            Ok(fits) if length <= length_max => Ok(fits),
            _ => Err(too_long(length, length_max, what, limit).into()),
        }
    }

    #[inline]
    pub(crate) fn text(&mut self, limits: Limits) -> Result<&'a [u8], Stop> {
        // Most lengths are one byte.
        if let Some(short) = self.bytes.get(self.at).filter(|byte| **byte < 0x80)
            && u64::from(*short) <= limits.text_bytes
        {
            let start = self.at + 1;
            if let Some(text) = self.bytes.get(start..start + usize::from(*short)) {
                self.at = start + usize::from(*short);
                return Ok(text);
            }
        }
        let length = self.length(limits.text_bytes, "text", "format_binary_max_string_size")?;
        self.take(length)
    }

    pub(crate) fn items(&mut self, limits: Limits) -> Result<usize, Stop> {
        self.length(limits.array_items, "array", "format_binary_max_array_size")
    }

    /// A name of a column or of a type.
    pub(crate) fn name(&mut self) -> Result<&'a str, Stop> {
        let length = self.number()?;
        let fits = usize::try_from(length).ok().filter(|_| length <= NAME_BYTES_MAX);
        let Some(length) = fits else {
            let message =
                format!("a name of {length} bytes is declared, {NAME_BYTES_MAX} are the most there can be");
            return Err(ValueError::new(ErrorCode::INCORRECT_DATA, message).into());
        };
        let bytes = self.take(length)?;
        std::str::from_utf8(bytes)
            .map_err(|_| ValueError::new(ErrorCode::INCORRECT_DATA, "a name is not UTF-8").into())
    }
}

pub(crate) fn too_long(length: u64, length_max: u64, what: &str, limit: &str) -> ValueError {
    let code =
        if what == "text" { ErrorCode::TOO_LARGE_STRING_SIZE } else { ErrorCode::TOO_LARGE_ARRAY_SIZE };
    let message = format!(
        "{what} of length {length} is declared, {limit} allows {length_max}: raise it if the file is sound"
    );
    ValueError::new(code, message)
}

/// Appends a number in groups of seven bits.
pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(low_bits(number) | 0x80);
        number >>= 7;
    }
    out.push(low_bits(number));
}

fn low_bits(number: u64) -> u8 {
    u8::try_from(number & 0x7f).unwrap_or(0)
}

/// Appends the length and the bytes.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    put_number(out, u64_of(text.len()));
    out.extend_from_slice(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive() {
        for number in [0, 1, 127, 128, 300, 1 << 32, u64::MAX >> 1, u64::MAX] {
            let mut out = Vec::new();
            put_number(&mut out, number);
            assert_eq!(Cursor::new(&out, 0).number().unwrap(), number);
            let cut = Cursor::new(&out[..out.len() - 1], 0).number();
            assert!(matches!(cut, Err(Stop::More(needed)) if needed == out.len()), "{number}");
        }
        assert!(matches!(Cursor::new(&[0xff; 10], 0).number(), Err(Stop::Bad(_))));
    }

    #[test]
    fn declared_lengths_are_not_believed() {
        let limits = Limits { text_bytes: 100, array_items: 10 };
        let text = Cursor::new(&[101], 0).text(limits);
        assert!(matches!(text, Err(Stop::Bad(error)) if error.code == ErrorCode::TOO_LARGE_STRING_SIZE));
        let items = Cursor::new(&[11], 0).items(limits);
        assert!(matches!(items, Err(Stop::Bad(error)) if error.code == ErrorCode::TOO_LARGE_ARRAY_SIZE));
        assert!(matches!(Cursor::new(&[99, 1], 0).text(limits), Err(Stop::More(100))));
    }
}
