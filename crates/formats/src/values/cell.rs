//! One value of the input as it stands there: its bytes, and how they are escaped.
//!
//! Invariant: a cell borrows the input; `content` gives the value's own text, using a scratch buffer only when escapes
//! have to be undone. Must not know: column types.

use model::value::escapes::{self, fold_doubled, unescape};
use model::{ColumnType, ErrorCode};

use crate::error::{ValueError, excerpt};
use crate::settings::JsonReading;
use scan::find::{ItemEnd, contains, find_any, skip_space, value_end};
use scan::number;

/// How the bytes of a cell stand for a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextForm {
    /// The value's text as it is.
    Raw,
    /// Inside of a quoted CSV cell.
    CsvQuoted,
    /// Inside of a quoted CSV cell in which this quote is doubled at least once.
    CsvDoubled(u8),
    /// TabSeparated text with at least one backslash.
    Escaped,
    /// An SQL literal, quotes included where it has any.
    Literal,
    /// A JSON value, quotes included where it has any.
    Json,
    /// A JSON string without a backslash, quotes included.
    JsonPlain,
    /// Inside of a JSON string with at least one backslash; what it says is the value's text.
    JsonEscaped,
    /// NULL; a column that is not Nullable takes its default or refuses, by its settings.
    Null,
    /// Empty text: zero of a number, the empty string, an error for the rest.
    Empty,
    /// No value given: the column's default, NULL for a Nullable one.
    Default,
}

/// A value of the input.
#[derive(Clone, Copy, Debug)]
pub struct Cell<'a> {
    pub text: &'a [u8],
    pub form: TextForm,
}

impl Cell<'_> {
    pub const DEFAULT: Cell<'static> = Cell { text: &[], form: TextForm::Default };
}

impl Cell<'_> {
    /// Whether it is an empty text of JSON that stands for the default of its type, by the settings.
    #[inline]
    pub(crate) fn is_empty_default(self, column_type: &ColumnType, json: JsonReading) -> bool {
        json.empty_as_default
            && matches!(self.form, TextForm::Json | TextForm::JsonPlain)
            && self.text == b"\"\""
            && !column_type.value_type().is_string()
    }
}

impl<'a> Cell<'a> {
    /// The value's text with quotes and escapes undone.
    pub(crate) fn content(self, scratch: &'a mut Vec<u8>) -> Result<&'a [u8], ValueError> {
        match self.form {
            TextForm::Raw | TextForm::CsvQuoted | TextForm::Null | TextForm::Empty | TextForm::Default => {
                Ok(self.text)
            }
            TextForm::CsvDoubled(quote) => {
                scratch.clear();
                fold_doubled(self.text, quote, scratch);
                Ok(scratch)
            }
            TextForm::Escaped => {
                scratch.clear();
                unescape(self.text, None, scratch);
                Ok(scratch)
            }
            TextForm::JsonEscaped => {
                scratch.clear();
                unescape_json(self.text, scratch)?;
                Ok(scratch)
            }
            TextForm::Literal => match self.text {
                [b'\'', inner @ .., b'\''] if find_any(inner, [b'\'', b'\\']).is_none() => Ok(inner),
                [b'\'', inner @ .., b'\''] => {
                    scratch.clear();
                    unescape(inner, Some(b'\''), scratch);
                    Ok(scratch)
                }
                [b'\'', ..] => Err(ValueError::new(
                    ErrorCode::CANNOT_PARSE_QUOTED_STRING,
                    format!("string is not closed: {}", excerpt(self.text)),
                )),
                bare => Ok(bare),
            },
            TextForm::Json | TextForm::JsonPlain => match self.text {
                [b'"', inner @ .., b'"'] if self.form == TextForm::JsonPlain => Ok(inner),
                [b'"', inner @ .., b'"'] if !contains(inner, b'\\') => Ok(inner),
                [b'"', inner @ .., b'"'] => {
                    scratch.clear();
                    unescape_json(inner, scratch)?;
                    Ok(scratch)
                }
                bare => Ok(bare),
            },
        }
    }
}

/// Undoes the escapes of a JSON string's inside.
pub(crate) fn unescape_json(text: &[u8], out: &mut Vec<u8>) -> Result<(), ValueError> {
    escapes::unescape_json(text, out).map_err(|_| {
        let message = format!("wrong escape sequence in JSON string {}", excerpt(text));
        ValueError::new(ErrorCode::CANNOT_PARSE_ESCAPE_SEQUENCE, message)
    })
}

/// Whether a JSON value that is no string, list or object is one of those there are: a number, `true`, `false`, `null`.
pub(crate) fn bare_value(text: &[u8]) -> Result<(), ValueError> {
    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E');
    let parts = text.iter().position(|byte| !is_part(byte)).unwrap_or(text.len());
    let (code, message) = match text {
        [b'"' | b'{' | b'[', ..] | b"true" | b"false" | b"null" => return Ok(()),
        [b'0'..=b'9' | b'.' | b'-' | b'+', ..] if number::float::<f64>(text).is_ok() => return Ok(()),
        [b'-' | b'+', rest @ ..]
            if rest.eq_ignore_ascii_case(b"inf") || rest.eq_ignore_ascii_case(b"nan") =>
        {
            return Ok(());
        }
        [b'0'..=b'9' | b'.' | b'-' | b'+', ..] if number::float::<f64>(&text[..parts]).is_err() => {
            (ErrorCode::INCORRECT_DATA, format!("expected a number: {}", excerpt(text)))
        }
        [b'0'..=b'9' | b'.' | b'-' | b'+', ..] => (
            ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED,
            format!("cannot parse input: expected ',' behind the number in: {}", excerpt(text)),
        ),
        [first @ (b't' | b'f' | b'n'), ..] => {
            let word = match first {
                b't' => "true",
                b'f' => "false",
                _ => "null",
            };
            let message = format!("cannot parse input: expected {word} before: {}", excerpt(text));
            (ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED, message)
        }
        _ => (ErrorCode::INCORRECT_DATA, format!("cannot read a JSON field here: {}", excerpt(text))),
    };
    Err(ValueError::new(code, message))
}

/// Whether bytes are SQL literals or JSON, for nested values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Syntax {
    Literal,
    Json,
}

impl Syntax {
    pub(crate) fn quote(self) -> u8 {
        if self == Syntax::Json { b'"' } else { b'\'' }
    }

    fn is_null(self, text: &[u8]) -> bool {
        match self {
            Syntax::Json => text == b"null",
            Syntax::Literal => text.eq_ignore_ascii_case(b"null"),
        }
    }

    /// An element of a nested value as a cell.
    pub(crate) fn cell(self, text: &[u8]) -> Cell<'_> {
        let form = match self {
            _ if self.is_null(text) => TextForm::Null,
            Syntax::Json => TextForm::Json,
            Syntax::Literal => TextForm::Literal,
        };
        Cell { text, form }
    }

    pub(crate) fn value_end(self, text: &[u8], at: usize) -> ItemEnd {
        value_end(text, at, self.quote(), self == Syntax::Literal)
    }
}

/// The items of `[a, b]`, `(a, b)` or `{k: v}`, as slices of the text.
pub(crate) struct Items<'a> {
    text: &'a [u8],
    at: usize,
    close: u8,
    syntax: Syntax,
}

/// Key and value of a map or object.
pub(crate) type Pair<'a> = (&'a [u8], &'a [u8]);

/// The text is not such a list.
#[derive(Debug)]
pub(crate) struct NotAList;

impl<'a> Items<'a> {
    pub(crate) fn new(text: &'a [u8], open: u8, close: u8, syntax: Syntax) -> Result<Self, NotAList> {
        let at = skip_space(text, 0);
        if text.get(at) == Some(&open) { Ok(Self { text, at: at + 1, close, syntax }) } else { Err(NotAList) }
    }

    fn at_close(&mut self) -> Result<bool, NotAList> {
        self.at = skip_space(self.text, self.at);
        if self.text.get(self.at) != Some(&self.close) {
            return Ok(false);
        }
        self.at = skip_space(self.text, self.at + 1);
        if self.at == self.text.len() { Ok(true) } else { Err(NotAList) }
    }

    fn value(&mut self) -> Result<&'a [u8], NotAList> {
        let start = skip_space(self.text, self.at);
        match self.syntax.value_end(self.text, start) {
            ItemEnd::At(end) if end > start => {
                self.at = end;
                Ok(&self.text[start..end])
            }
            _ => Err(NotAList),
        }
    }

    /// After a value: past the comma, or at the closing bracket.
    fn separator(&mut self) -> Result<(), NotAList> {
        self.at = skip_space(self.text, self.at);
        match self.text.get(self.at) {
            Some(b',') => self.at += 1,
            Some(byte) if *byte == self.close => {}
            _ => return Err(NotAList),
        }
        Ok(())
    }

    /// The next item; `None` after the last.
    pub(crate) fn next(&mut self) -> Result<Option<&'a [u8]>, NotAList> {
        if self.at_close()? {
            return Ok(None);
        }
        let value = self.value()?;
        self.separator()?;
        Ok(Some(value))
    }

    /// The next `key: value`; `None` after the last.
    pub(crate) fn next_pair(&mut self) -> Result<Option<Pair<'a>>, NotAList> {
        if self.at_close()? {
            return Ok(None);
        }
        let key = self.value()?;
        self.at = skip_space(self.text, self.at);
        if self.text.get(self.at) != Some(&b':') {
            return Err(NotAList);
        }
        self.at += 1;
        let value = self.value()?;
        self.separator()?;
        Ok(Some((key, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(text: &str, form: TextForm) -> String {
        let mut scratch = Vec::new();
        let cell = Cell { text: text.as_bytes(), form };
        match cell.content(&mut scratch) {
            Ok(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn escapes_are_undone() {
        assert_eq!(content("a\"\"b", TextForm::CsvDoubled(b'"')), "a\"b");
        assert_eq!(content("a\\tb\\\\c\\x41\\q\\'", TextForm::Escaped), "a\tb\\cA\\q'");
        assert_eq!(content("'it''s \\'x\\''", TextForm::Literal), "it's 'x'");
        assert_eq!(content("\"\\u00e9\\ud83d\\ude00\\/\"", TextForm::Json), "é😀/");
        assert_eq!(content("\"\\ud83d\"", TextForm::Json), "wrong escape sequence in JSON string \\\\ud83d");
    }

    #[test]
    fn lists_are_walked() {
        let mut items = Items::new(b" [1, 'a]',[2,3] ]", b'[', b']', Syntax::Literal).unwrap();
        let mut seen = Vec::new();
        while let Some(item) = items.next().unwrap() {
            seen.push(String::from_utf8_lossy(item).into_owned());
        }
        assert_eq!(seen, ["1", "'a]'", "[2,3]"]);
        for wrong in ["[1", "[1 2]", "[1,,2]", "[1] x"] {
            let mut items = Items::new(wrong.as_bytes(), b'[', b']', Syntax::Literal).unwrap();
            let mut walked = std::iter::from_fn(|| items.next().transpose()).take(5);
            assert!(walked.any(|item| item.is_err()), "{wrong}");
        }
    }
}
