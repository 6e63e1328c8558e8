//! JSON objects that are more, or less, than rows: with names of their own (JSONObjectEachRow), or as texts (JSONAsString).
//!
//! ```text
//! JSONObjectEachRow  {"row_1": {"a": 1}, "row_2": {"a": 2}}
//! JSONAsString       {"a": 1} {"a": 2}, or [{"a": 1}, {"a": 2}]
//! ```
//!
//! Invariant: rows are found as those of JSONEachRow are. Must not know: column types.

use model::ErrorCode;

use crate::rows::json::each_row::{
    JsonObjects, Stop, key_at, no_key, settle, skip_between, unexpected, value_at,
};
use crate::rows::split::{NamedRows, RowEnd, SplitError, SplitRows, resume_unescaped};
use crate::settings::FormatSettings;
use crate::values::cell::{Cell, TextForm};
use scan::find::skip_space;

/// Splitter of JSONObjectEachRow: one object whose members are the rows. What the rows are called is passed over.
pub(crate) struct NamedObjects {
    rows: JsonObjects,
    /// Behind the bracket in front of all rows.
    is_open: bool,
}

impl NamedObjects {
    pub(crate) fn new(rows: JsonObjects) -> Self {
        Self { rows, is_open: false }
    }

    /// Start of the next row's value, or how the input ends.
    fn value_start(&self, bytes: &[u8], at: usize, last: bool) -> Result<Result<usize, RowEnd>, SplitError> {
        let wait = |at: usize| match last {
            true => Err(SplitError {
                code: ErrorCode::INCORRECT_DATA,
                message: "JSON ends inside the object of all rows".to_owned(),
                at,
                cell: 0,
            }),
            false => Ok(Err(RowEnd::Incomplete)),
        };
        let mut at = skip_between(bytes, at);
        if !self.is_open {
            match bytes.get(at) {
                Some(b'{') => at = skip_between(bytes, at + 1),
                None if last => return Ok(Err(RowEnd::Finished(at))),
                None => return Ok(Err(RowEnd::Incomplete)),
                Some(_) => return Err(unexpected(bytes, at, '{', 0)),
            }
        }
        match bytes.get(at) {
            Some(b'}') => return Ok(Err(RowEnd::Finished(bytes.len()))),
            Some(b'"') => {}
            Some(_) => return Err(no_key(bytes, at, 0)),
            None => return wait(at),
        }
        match key_at(bytes, at, 0) {
            Ok((_, behind)) if skip_space(bytes, behind) < bytes.len() => Ok(Ok(skip_space(bytes, behind))),
            Ok(_) | Err(Stop::NeedsMore) => wait(at),
            Err(Stop::Wrong(error)) => Err(error),
        }
    }

    fn one(
        &mut self,
        bytes: &[u8],
        at: usize,
        last: bool,
        row: impl FnOnce(&mut JsonObjects, usize) -> Result<RowEnd, SplitError>,
    ) -> Result<RowEnd, SplitError> {
        let start = match self.value_start(bytes, at, last)? {
            Ok(start) => start,
            Err(end) => {
                // Behind the end there is nothing to wait for.
                self.is_open &= !matches!(end, RowEnd::Finished(_));
                return Ok(end);
            }
        };
        if bytes[start] != b'{' {
            return Err(unexpected(bytes, start, '{', 0));
        }
        let end = row(&mut self.rows, start)?;
        self.is_open |= matches!(end, RowEnd::Row(_));
        Ok(end)
    }
}

impl SplitRows for NamedObjects {
    fn row<'a>(
        &mut self,
        bytes: &'a [u8],
        at: usize,
        last: bool,
        cells: &mut Vec<Cell<'a>>,
    ) -> Result<RowEnd, SplitError> {
        self.one(bytes, at, last, |rows, start| rows.row(bytes, start, last, cells))
    }

    fn resume(&self, bytes: &[u8], at: usize) -> Option<usize> {
        resume_unescaped(bytes, at)
    }
}

impl NamedRows for NamedObjects {
    fn any_row<'a>(
        &mut self,
        bytes: &'a [u8],
        at: usize,
        last: bool,
        members: &mut Vec<(Cell<'a>, Cell<'a>)>,
    ) -> Result<RowEnd, SplitError> {
        self.one(bytes, at, last, |rows, start| rows.any_row(bytes, start, last, members))
    }
}

/// Splitter of JSONAsString: every object is one text.
pub(crate) struct ObjectTexts(JsonObjects);

impl ObjectTexts {
    pub(crate) fn new(settings: &FormatSettings) -> Self {
        let mut objects = JsonObjects::new(std::iter::empty(), settings);
        objects.ends_with_comma = true;
        Self(objects)
    }
}

impl SplitRows for ObjectTexts {
    fn row<'a>(
        &mut self,
        bytes: &'a [u8],
        at: usize,
        last: bool,
        cells: &mut Vec<Cell<'a>>,
    ) -> Result<RowEnd, SplitError> {
        let before = self.0.place();
        let start = self.0.object_start(bytes, at, last);
        let start = match start.map_err(|error| SplitError { code: ErrorCode::INCORRECT_DATA, ..error })? {
            Ok(start) => start,
            Err(end) => {
                self.0.return_to(before, end);
                return Ok(end);
            }
        };
        let end = settle(value_at(bytes, start, 0), bytes, start, last)?;
        match end {
            RowEnd::Row(end) => cells.push(Cell { text: &bytes[start..end], form: TextForm::Raw }),
            other => self.0.return_to(before, other),
        }
        Ok(end)
    }

    fn resume(&self, bytes: &[u8], at: usize) -> Option<usize> {
        resume_unescaped(bytes, at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cells of all rows, given the text byte by byte as long as a row is not whole.
    fn cells(mut rows: impl SplitRows, text: &str) -> Result<Vec<String>, String> {
        let (mut found, mut at, mut until) = (Vec::new(), 0, 0);
        loop {
            let mut cells = Vec::new();
            let seen = &text.as_bytes()[..until];
            match rows.row(seen, at, until == text.len(), &mut cells).map_err(|error| error.message)? {
                RowEnd::Row(next) => {
                    at = next;
                    found.extend(cells.iter().map(|cell| String::from_utf8_lossy(cell.text).into_owned()));
                }
                RowEnd::Incomplete => until += 1,
                RowEnd::Finished(_) => return Ok(found),
            }
        }
    }

    #[test]
    fn objects_with_names_are_rows() {
        let settings = FormatSettings::default();
        let rows = || NamedObjects::new(JsonObjects::new(["a"].into_iter(), &settings));
        for (text, expected) in [
            (r#" {"row_1": {"a": 1}, "r\"2" : {"a":"x"} } "#, Some(vec!["1", "\"x\""])),
            ("{}", Some(vec![])),
            ("", Some(vec![])),
            (r#"{"row_1": {"a": 1}"#, None),
            (r#"{"row_1": 5}"#, None),
            (r#"{"row_1": {"a": 1"#, None),
        ] {
            let expected = expected.map(|rows| rows.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(cells(rows(), text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn objects_are_texts() {
        let settings = FormatSettings::default();
        for text in [r#"{"a": 1}{"b": [{}]}"#, r#" [{"a": 1} , {"b": [{}]}] "#, "{\"a\": 1}\n{\"b\": [{}]}\n"]
        {
            let expected = [r#"{"a": 1}"#, r#"{"b": [{}]}"#];
            assert_eq!(cells(ObjectTexts::new(&settings), text).unwrap(), expected, "{text}");
        }
        assert!(cells(ObjectTexts::new(&settings), "5").is_err());
    }
}
