//! Cells of CSV and TabSeparated rows.
//!
//! Invariant: quoted CSV cells may hold delimiters and line ends; LF and CR LF end a row. Must not know: types, headers.

mod csv;
#[cfg(test)]
mod quick_tests;
mod tabs;

use model::ErrorCode;

use crate::error::excerpt;
use crate::rows::quick_rows::quick_rows;
use crate::rows::split::{Room, RowEnd, SplitError, SplitRows, Taken, resume_unescaped};
use crate::settings::FormatSettings;
use crate::values::cell::{Cell, TextForm};
use scan::find::{ends_escaped, find_any, number_length};

/// Splitter of CSV.
pub(crate) struct CsvRows {
    delimiter: u8,
    null: Vec<u8>,
    double_quotes: bool,
    single_quotes: bool,
    empty: TextForm,
    trim: bool,
    /// Blanks around a cell are a part of it.
    keeps_blanks: bool,
    /// A CR alone ends a row.
    cr_ends: bool,
    skip_empty_end: bool,
    /// What looks like a number is neither NULL nor holds a delimiter.
    numbers_are_plain: bool,
}

/// Whether nothing but line ends follows.
fn only_line_ends(rest: &[u8]) -> bool {
    matches!(rest.first(), Some(b'\n' | b'\r')) && rest.iter().all(|byte| matches!(byte, b'\n' | b'\r'))
}

impl CsvRows {
    pub(crate) fn new(settings: &FormatSettings) -> Self {
        let null = settings.csv_null.clone().into_bytes();
        let delimiter = settings.csv_delimiter;
        let null_is_number = !null.is_empty() && number_length(&null) == null.len();
        Self {
            delimiter,
            numbers_are_plain: !null_is_number && number_length(&[delimiter]) == 0,
            null,
            double_quotes: settings.csv_double_quotes,
            single_quotes: settings.csv_single_quotes,
            empty: if settings.csv_empty_as_default { TextForm::Default } else { TextForm::Empty },
            trim: settings.csv_trim_whitespace,
            keeps_blanks: settings.delimited.csv_keeps_blanks,
            cr_ends: settings.csv_cr_ends_row,
            skip_empty_end: settings.delimited.csv_skip_trailing_empty_lines,
        }
    }

    fn is_blank(&self, byte: u8) -> bool {
        matches!(byte, b' ' | b'\t') && byte != self.delimiter
    }

    pub(crate) fn is_quote(&self, byte: u8) -> bool {
        byte == b'"' && self.double_quotes || byte == b'\'' && self.single_quotes
    }

    /// Behind the blanks that may stand around a cell.
    pub(crate) fn skip_blanks(&self, bytes: &[u8], mut at: usize) -> usize {
        while self.trim && !self.keeps_blanks && bytes.get(at).is_some_and(|byte| self.is_blank(*byte)) {
            at += 1;
        }
        at
    }

    /// End of the bare cell at `at`. A CR that no LF follows belongs to the cell, as in ClickHouse.
    #[inline]
    fn bare_end(&self, bytes: &[u8], at: usize, last: bool) -> Option<usize> {
        let mut from = at;
        loop {
            let found = find_any(&bytes[from..], [self.delimiter, b'\n', b'\r']);
            let Some(end) = found.map(|offset| from + offset) else {
                return last.then_some(bytes.len());
            };
            match bytes.get(end + 1) {
                _ if bytes[end] != b'\r' || self.delimiter == b'\r' => return Some(end),
                Some(b'\n') => return Some(end),
                Some(_) if self.cr_ends => return Some(end),
                Some(_) => from = end + 1,
                None => return last.then_some(end),
            }
        }
    }

    /// End of the cell at `at` if it is a number, or some other bare text of a number's characters.
    #[inline]
    fn number_end(&self, bytes: &[u8], at: usize) -> Option<usize> {
        if !self.numbers_are_plain {
            return None;
        }
        let rest = bytes.get(at..)?;
        let length = number_length(rest);
        let ends = rest.get(length).is_some_and(|byte| *byte == self.delimiter || *byte == b'\n');
        (length > 0 && ends).then_some(at + length)
    }

    #[inline]
    pub(crate) fn bare<'a>(&self, mut text: &'a [u8]) -> Cell<'a> {
        if self.trim {
            while let [rest @ .., last] = text
                && self.is_blank(*last)
            {
                text = rest;
            }
        }
        let form = if text == self.null.as_slice() {
            TextForm::Null
        } else if text.is_empty() {
            self.empty
        } else {
            TextForm::Raw
        };
        Cell { text, form }
    }

    /// The quoted cell whose quote stands at `at`, and where it ends; `None` when it is not closed.
    #[inline]
    pub(crate) fn quoted<'a>(&self, bytes: &'a [u8], at: usize, last: bool) -> Option<(Cell<'a>, usize)> {
        let quote = bytes[at];
        let start = at + 1;
        let mut doubled = false;
        let mut from = start;
        loop {
            let end = from + find_any(&bytes[from..], [quote])?;
            match bytes.get(end + 1) {
                Some(next) if *next == quote => {
                    doubled = true;
                    from = end + 2;
                }
                // The quote may be the first half of a doubled one.
                None if !last => return None,
                _ => {
                    let text = &bytes[start..end];
                    let form = match doubled {
                        true => TextForm::CsvDoubled(quote),
                        false if text.is_empty() => TextForm::Empty,
                        false => TextForm::CsvQuoted,
                    };
                    return Some((Cell { text, form }, end + 1));
                }
            }
        }
    }

    #[inline]
    fn after_cell(&self, bytes: &[u8], at: usize, last: bool, cell: usize) -> Result<AfterCell, SplitError> {
        let delimiter = self.delimiter;
        let row = |end| Ok(AfterCell::End(RowEnd::Row(end)));
        match bytes.get(at) {
            Some(byte) if *byte == delimiter => Ok(AfterCell::Cell),
            Some(b'\n') => row(at + 1),
            Some(b'\r') => match bytes.get(at + 1) {
                Some(b'\n') => row(at + 2),
                None if last => row(at + 1),
                None => Ok(AfterCell::End(RowEnd::Incomplete)),
                Some(_) if self.cr_ends => row(at + 1),
                Some(_) => {
                    let message = "carriage return (\\r) is not followed by a line feed (\\n); \
                                   input_format_csv_allow_cr_end_of_line = 1 takes it for the end of a row"
                        .to_owned();
                    Err(SplitError { code: ErrorCode::INCORRECT_DATA, message, at, cell })
                }
            },
            None if last => row(at),
            None => Ok(AfterCell::End(RowEnd::Incomplete)),
            Some(_) => {
                let delimiter = char::from(delimiter).escape_default();
                let message =
                    format!("cannot parse input: expected '{delimiter}' before: {}", excerpt(&bytes[at..]));
                Err(SplitError { code: ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED, message, at, cell })
            }
        }
    }

    pub(crate) fn not_closed(bytes: &[u8], at: usize, cell: usize) -> SplitError {
        let message = format!("quoted cell is not closed: {}", excerpt(&bytes[at..]));
        SplitError { code: ErrorCode::CANNOT_PARSE_QUOTED_STRING, message, at, cell }
    }
}

impl SplitRows for CsvRows {
    fn quick_rows<'a>(&mut self, bytes: &'a [u8], at: usize, room: Room, cells: &mut Vec<Cell<'a>>) -> Taken {
        match self.has_quick_rows() {
            true => quick_rows(&*self, bytes, at, room, cells),
            false => Taken { rows: 0, next: at },
        }
    }

    fn resume(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let ends = if self.cr_ends { [b'\n', b'\r'] } else { [b'\n'; 2] };
        find_any(bytes.get(at..)?, ends).map(|offset| at + offset + 1)
    }

    #[inline]
    fn row<'a>(
        &mut self,
        bytes: &'a [u8],
        mut at: usize,
        last: bool,
        cells: &mut Vec<Cell<'a>>,
    ) -> Result<RowEnd, SplitError> {
        if at >= bytes.len() {
            return Ok(if last { RowEnd::Finished(at) } else { RowEnd::Incomplete });
        }
        if self.skip_empty_end && only_line_ends(&bytes[at..]) {
            return Ok(if last { RowEnd::Finished(bytes.len()) } else { RowEnd::Incomplete });
        }
        let before = cells.len();
        loop {
            at = self.skip_blanks(bytes, at);
            match bytes.get(at) {
                Some(byte) if self.is_quote(*byte) => {
                    let Some((cell, mut end)) = self.quoted(bytes, at, last) else {
                        if last {
                            let error = Self::not_closed(bytes, at, cells.len() - before);
                            cells.push(Cell { text: &bytes[at + 1..], form: TextForm::CsvQuoted });
                            return Err(error);
                        }
                        return Ok(RowEnd::Incomplete);
                    };
                    while !self.keeps_blanks && bytes.get(end).is_some_and(|byte| self.is_blank(*byte)) {
                        end += 1;
                    }
                    cells.push(cell);
                    at = end;
                }
                _ => match self.number_end(bytes, at) {
                    Some(end) => {
                        cells.push(Cell { text: &bytes[at..end], form: TextForm::Raw });
                        at = end;
                    }
                    None => {
                        let Some(end) = self.bare_end(bytes, at, last) else { return Ok(RowEnd::Incomplete) };
                        cells.push(self.bare(&bytes[at..end]));
                        at = end;
                    }
                },
            }
            match self.after_cell(bytes, at, last, cells.len() - before - 1)? {
                AfterCell::Cell => at += 1,
                AfterCell::End(end) => return Ok(end),
            }
        }
    }
}

enum AfterCell {
    Cell,
    End(RowEnd),
}

/// Splitter of TabSeparated and TabSeparatedRaw.
pub(crate) struct TsvRows {
    null: Vec<u8>,
    raw: bool,
    crlf: bool,
    skip_empty_end: bool,
    empty: TextForm,
    rows: u64,
}

impl TsvRows {
    pub(crate) fn new(settings: &FormatSettings, raw: bool) -> Self {
        Self {
            null: settings.tsv_null.clone().into_bytes(),
            raw,
            crlf: settings.tsv_input_crlf,
            skip_empty_end: settings.delimited.tsv_skip_trailing_empty_lines,
            empty: if settings.tsv_empty_as_default { TextForm::Default } else { TextForm::Empty },
            rows: 0,
        }
    }

    #[inline]
    fn cell<'a>(&self, text: &'a [u8], escaped: bool) -> Cell<'a> {
        let form = if text == self.null.as_slice() {
            TextForm::Null
        } else if text.is_empty() {
            self.empty
        } else if escaped {
            TextForm::Escaped
        } else {
            TextForm::Raw
        };
        Cell { text, form }
    }

    /// The last cell of a row without the CR of a CR LF; on the first row a CR that is not allowed is an error.
    fn line_end<'a>(&mut self, text: &'a [u8], at: usize, cell: usize) -> Result<&'a [u8], SplitError> {
        let [rest @ .., b'\r'] = text else { return Ok(text) };
        if self.crlf {
            return Ok(rest);
        }
        if self.rows > 0 || self.raw {
            return Ok(text);
        }
        let message = "row ends with a carriage return: the file has Windows line ends, \
                       set input_format_tsv_crlf_end_of_line = 1 to read it"
            .to_owned();
        Err(SplitError { code: ErrorCode::INCORRECT_DATA, message, at, cell })
    }
}

impl SplitRows for TsvRows {
    fn quick_rows<'a>(&mut self, bytes: &'a [u8], at: usize, room: Room, cells: &mut Vec<Cell<'a>>) -> Taken {
        // The first row says whether the file has Windows line ends.
        if self.rows == 0 {
            return Taken { rows: 0, next: at };
        }
        quick_rows(&*self, bytes, at, room, cells)
    }

    fn resume(&self, bytes: &[u8], at: usize) -> Option<usize> {
        resume_unescaped(bytes, at)
    }

    #[inline]
    fn row<'a>(
        &mut self,
        bytes: &'a [u8],
        mut at: usize,
        last: bool,
        cells: &mut Vec<Cell<'a>>,
    ) -> Result<RowEnd, SplitError> {
        if at >= bytes.len() {
            return Ok(if last { RowEnd::Finished(at) } else { RowEnd::Incomplete });
        }
        if self.skip_empty_end && only_line_ends(&bytes[at..]) {
            return Ok(if last { RowEnd::Finished(bytes.len()) } else { RowEnd::Incomplete });
        }
        let before = cells.len();
        // In raw text a backslash is a character; searching for the tab twice costs nothing.
        let backslash = if self.raw { b'\t' } else { b'\\' };
        loop {
            let start = at;
            let mut escaped = false;
            let end = loop {
                let rest = bytes.get(at..).unwrap_or_default();
                // Behind the first backslash only the cell's end is looked for, which is one wide search for a long
                // text; what the escapes are is for whoever undoes them.
                let found = match escaped {
                    false => find_any(rest, [b'\t', b'\n', backslash]),
                    true => find_any(rest, [b'\t', b'\n']),
                };
                match found {
                    Some(offset) if escaped && ends_escaped(&rest[..offset]) => at += offset + 1,
                    Some(offset) if rest[offset] == b'\\' => {
                        escaped = true;
                        at += offset + 2;
                    }
                    Some(offset) => break at + offset,
                    None if last => break bytes.len(),
                    None => return Ok(RowEnd::Incomplete),
                }
            };
            let text = &bytes[start..end];
            if bytes.get(end) == Some(&b'\t') {
                cells.push(self.cell(text, escaped));
                at = end + 1;
                continue;
            }
            let text = self.line_end(text, start, cells.len() - before)?;
            cells.push(self.cell(text, escaped));
            self.rows += 1;
            return Ok(RowEnd::Row((end + 1).min(bytes.len())));
        }
    }

    fn start_in_the_middle(&mut self) {
        // The check for Windows line ends is of the file's first row alone.
        self.rows = 1;
    }
}

/// Splitter of LineAsString: every line is one cell.
pub(crate) struct LineRows;

impl SplitRows for LineRows {
    fn row<'a>(
        &mut self,
        bytes: &'a [u8],
        at: usize,
        last: bool,
        cells: &mut Vec<Cell<'a>>,
    ) -> Result<RowEnd, SplitError> {
        if at >= bytes.len() {
            return Ok(if last { RowEnd::Finished(at) } else { RowEnd::Incomplete });
        }
        let end = match find_any(&bytes[at..], [b'\n']) {
            Some(offset) => at + offset,
            None if last => bytes.len(),
            None => return Ok(RowEnd::Incomplete),
        };
        cells.push(Cell { text: &bytes[at..end], form: TextForm::Raw });
        Ok(RowEnd::Row((end + 1).min(bytes.len())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_cells_end_at_the_first_bare_tab_or_line_end() {
        // text -> its cells, and where the next row starts
        for (text, cells, next) in [
            ("a\\tb\tc\n", vec!["a\\tb", "c"], 7),
            ("a\\\\\tc\nx", vec!["a\\\\", "c"], 6),
            ("a\\\tb\tc\n", vec!["a\\\tb", "c"], 7),
            ("\\n\\\\\\\nb\\\\\nc", vec!["\\n\\\\\\\nb\\\\"], 10),
            ("\\\\\\\\\nb", vec!["\\\\\\\\"], 5),
            ("x\\\n\\\ty", vec!["x\\\n\\\ty"], 6),
        ] {
            let mut rows = TsvRows::new(&FormatSettings::default(), false);
            let mut found = Vec::new();
            let end = rows.row(text.as_bytes(), 0, true, &mut found).unwrap();
            let found: Vec<&str> = found.iter().map(|cell| std::str::from_utf8(cell.text).unwrap()).collect();
            assert_eq!((end, found), (RowEnd::Row(next), cells), "{text:?}");
        }
    }
}
