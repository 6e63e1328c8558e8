//! Rows of CustomSeparated: fields escaped by one rule, with given texts around fields, rows and the whole.
//!
//! Invariant: a field ends at the first delimiter its rule does not protect, however the delimiters are cut into pieces;
//! where both the field's and the row's delimiter match, the longer one counts. Must not know: types, headers.

use model::ErrorCode;

use crate::error::{FormatError, excerpt};
use crate::rows::delimited::CsvRows;
use crate::rows::split::{RowEnd, SplitError, SplitRows};
use crate::settings::{CustomText, EscapingRule, FormatSettings};
use crate::values::cell::{Cell, Syntax, TextForm, bare_value};
use scan::find::{ItemEnd, find_any};

/// Splitter of CustomSeparated.
pub(crate) struct CustomRows {
    text: CustomText,
    csv: CsvRows,
    null: Vec<u8>,
    empty: TextForm,
    /// Rows so far, header rows included.
    rows: u64,
}

/// What stands at a place.
enum Delimiter {
    Field,
    Row,
    Other,
    /// Perhaps a delimiter: its first bytes are the last there are.
    Cut,
}

/// Why a row is not there.
enum Stop {
    NeedsMore,
    Wrong(SplitError),
}

fn wrong(code: ErrorCode, message: String, at: usize, cell: usize) -> Stop {
    Stop::Wrong(SplitError { code, message, at, cell })
}

/// Behind `wanted`, which must stand at `at`.
fn expect(bytes: &[u8], at: usize, wanted: &str, last: bool, cell: usize) -> Result<usize, Stop> {
    let rest = bytes.get(at..).unwrap_or_default();
    if rest.starts_with(wanted.as_bytes()) {
        return Ok(at + wanted.len());
    }
    if !last && wanted.as_bytes().starts_with(rest) {
        return Err(Stop::NeedsMore);
    }
    let found = if rest.is_empty() { "the end of the text".to_owned() } else { excerpt(rest) };
    let message = format!("cannot parse input: expected \"{}\" before: {found}", wanted.escape_default());
    Err(wrong(ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED, message, at, cell))
}

/// The error of texts that do not end at the field's delimiter.
pub(crate) fn delimiter_unfit(settings: &FormatSettings) -> FormatError {
    let message = format!(
        "escaped texts of CustomSeparated end at a tab or line end, not at \"{}\" of format_custom_field_delimiter",
        settings.custom.field_delimiter.escape_default()
    );
    FormatError::new(ErrorCode::BAD_ARGUMENTS, message)
}

impl CustomRows {
    pub(crate) fn new(settings: &FormatSettings) -> Result<Self, FormatError> {
        settings.custom.rule.may_be_read()?;
        if settings.custom.field_delimiter.is_empty() {
            let message =
                "format_custom_field_delimiter is empty: fields of CustomSeparated cannot be told apart";
            return Err(FormatError::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        Ok(Self {
            text: settings.custom.clone(),
            csv: CsvRows::new(settings),
            null: settings.tsv_null.clone().into_bytes(),
            empty: if settings.tsv_empty_as_default { TextForm::Default } else { TextForm::Empty },
            rows: 0,
        })
    }

    /// What stands behind a row's last field; empty if only the end of the text does.
    fn row_stop(&self) -> &str {
        let stops = [&self.text.row_after, &self.text.row_between, &self.text.result_after];
        stops.into_iter().find(|stop| !stop.is_empty()).map_or("", String::as_str)
    }

    fn delimiter_at(&self, bytes: &[u8], at: usize, last: bool) -> Delimiter {
        let (field, row) = (self.text.field_delimiter.as_bytes(), self.row_stop().as_bytes());
        let rest = bytes.get(at..).unwrap_or_default();
        let (is_field, is_row) = (rest.starts_with(field), !row.is_empty() && rest.starts_with(row));
        let is_cut = |delimiter: &[u8]| delimiter.len() > rest.len() && delimiter.starts_with(rest);
        match (is_field, is_row) {
            _ if !last && (is_cut(field) || is_cut(row)) => Delimiter::Cut,
            (true, true) if row.len() > field.len() => Delimiter::Row,
            (true, _) => Delimiter::Field,
            (false, true) => Delimiter::Row,
            (false, false) => Delimiter::Other,
        }
    }

    /// End of text that goes to the next delimiter, and whether a backslash stands in it.
    fn text_end(&self, bytes: &[u8], at: usize, last: bool, escapes: bool) -> Result<(usize, bool), Stop> {
        let field = self.text.field_delimiter.as_bytes()[0];
        let row = self.row_stop().as_bytes().first().copied().unwrap_or(field);
        let backslash = if escapes { b'\\' } else { field };
        let (mut from, mut escaped) = (at, false);
        loop {
            let found = find_any(bytes.get(from..).unwrap_or_default(), [field, row, backslash]);
            let Some(stop) = found.map(|offset| from + offset) else {
                return if last { Ok((bytes.len(), escaped)) } else { Err(Stop::NeedsMore) };
            };
            if escapes && bytes[stop] == b'\\' {
                escaped = true;
                from = stop + 2;
                continue;
            }
            match self.delimiter_at(bytes, stop, last) {
                Delimiter::Field | Delimiter::Row => return Ok((stop, escaped)),
                Delimiter::Cut => return Err(Stop::NeedsMore),
                Delimiter::Other => from = stop + 1,
            }
        }
    }

    fn plain<'a>(&self, text: &'a [u8], escaped: bool) -> Cell<'a> {
        let form = match text {
            null if null == self.null => TextForm::Null,
            [] => self.empty,
            _ if escaped => TextForm::Escaped,
            _ => TextForm::Raw,
        };
        Cell { text, form }
    }

    fn csv_cell<'a>(
        &self,
        bytes: &'a [u8],
        at: usize,
        last: bool,
        cell: usize,
    ) -> Result<(Cell<'a>, usize), Stop> {
        let start = self.csv.skip_blanks(bytes, at);
        if bytes.get(start).is_some_and(|byte| self.csv.is_quote(*byte)) {
            return match self.csv.quoted(bytes, start, last) {
                Some((found, end)) => Ok((found, self.csv.skip_blanks(bytes, end))),
                None if last => Err(Stop::Wrong(CsvRows::not_closed(bytes, start, cell))),
                None => Err(Stop::NeedsMore),
            };
        }
        // Blanks ahead of bare text belong to it, as in ClickHouse.
        let (end, _) = self.text_end(bytes, at, last, false)?;
        let text = match &bytes[at..end] {
            // Windows line ends where the row ends with a line.
            [text @ .., b'\r'] if self.row_stop().starts_with('\n') => text,
            text => text,
        };
        Ok((self.csv.bare(text), end))
    }

    fn value<'a>(
        &self,
        syntax: Syntax,
        bytes: &'a [u8],
        at: usize,
        last: bool,
        cell: usize,
    ) -> Result<(Cell<'a>, usize), Stop> {
        let end = match bytes.get(at) {
            Some(byte) if *byte == syntax.quote() || matches!(byte, b'[' | b'{' | b'(') => {
                match syntax.value_end(bytes, at) {
                    ItemEnd::At(end) => end,
                    ItemEnd::Open if !last => return Err(Stop::NeedsMore),
                    ItemEnd::Open => {
                        let message = format!("value is not closed: {}", excerpt(&bytes[at..]));
                        return Err(wrong(ErrorCode::CANNOT_PARSE_QUOTED_STRING, message, at, cell));
                    }
                }
            }
            _ => self.text_end(bytes, at, last, false)?.0,
        };
        if end == at {
            let message = format!("a value is missing before: {}", excerpt(&bytes[at..]));
            return Err(wrong(ErrorCode::INCORRECT_DATA, message, at, cell));
        }
        // Where the first row may be names it is looked at as JSON.
        if syntax == Syntax::Json && self.rows == 0 && self.text.detect_header {
            bare_value(&bytes[at..end]).map_err(|error| wrong(error.code, error.message, at, cell))?;
        }
        Ok((syntax.cell(&bytes[at..end]), end))
    }

    /// Whether the text ends where a row might begin.
    fn end(&self, bytes: &[u8], at: usize, last: bool) -> Result<Option<RowEnd>, Stop> {
        let rest = bytes.get(at..).unwrap_or_default();
        let after = self.text.result_after.as_bytes();
        let is_blank = |rest: &[u8]| {
            let lines = self.text.skip_trailing_empty_lines;
            rest.is_empty() || lines && rest.iter().all(|byte| matches!(byte, b'\n' | b'\r'))
        };
        match rest.strip_prefix(after) {
            Some(rest) if is_blank(rest) && last => Ok(Some(RowEnd::Finished(bytes.len()))),
            Some(rest) if is_blank(rest) => Err(Stop::NeedsMore),
            None if !last && after.starts_with(rest) => Err(Stop::NeedsMore),
            None if rest.is_empty() => {
                let message = format!(
                    "the text ends without \"{}\", which format_custom_result_after_delimiter expects",
                    self.text.result_after.escape_default()
                );
                Err(wrong(ErrorCode::ATTEMPT_TO_READ_AFTER_EOF, message, at, 0))
            }
            _ => Ok(None),
        }
    }

    fn try_row<'a>(
        &self,
        bytes: &'a [u8],
        mut at: usize,
        last: bool,
        cells: &mut Vec<Cell<'a>>,
    ) -> Result<RowEnd, Stop> {
        let before = cells.len();
        if self.rows == 0 {
            at = expect(bytes, at, &self.text.result_before, last, 0)?;
        }
        if let Some(end) = self.end(bytes, at, last)? {
            return Ok(end);
        }
        if self.rows > 0 {
            at = expect(bytes, at, &self.text.row_between, last, 0)?;
        }
        at = expect(bytes, at, &self.text.row_before, last, 0)?;
        loop {
            let column = cells.len() - before;
            let (cell, end) = match self.text.rule {
                EscapingRule::Escaped => {
                    let (end, escaped) = self.text_end(bytes, at, last, true)?;
                    (self.plain(&bytes[at..end], escaped), end)
                }
                // Raw text ends at a tab or line end, whatever the delimiters are.
                EscapingRule::Raw | EscapingRule::Xml => {
                    match find_any(bytes.get(at..).unwrap_or_default(), [b'\t', b'\n']) {
                        Some(offset) => (self.plain(&bytes[at..at + offset], false), at + offset),
                        None if last => (self.plain(&bytes[at..], false), bytes.len()),
                        None => return Err(Stop::NeedsMore),
                    }
                }
                EscapingRule::Csv => self.csv_cell(bytes, at, last, column)?,
                EscapingRule::Json => self.value(Syntax::Json, bytes, at, last, column)?,
                EscapingRule::Quoted => self.value(Syntax::Literal, bytes, at, last, column)?,
            };
            cells.push(cell);
            match self.delimiter_at(bytes, end, last) {
                Delimiter::Cut => return Err(Stop::NeedsMore),
                Delimiter::Field => at = end + self.text.field_delimiter.len(),
                Delimiter::Row => return Ok(RowEnd::Row(end + self.text.row_after.len())),
                Delimiter::Other if end == bytes.len() && !last => return Err(Stop::NeedsMore),
                Delimiter::Other if end == bytes.len() && self.text.row_after.is_empty() => {
                    return Ok(RowEnd::Row(end));
                }
                Delimiter::Other => {
                    let next = match end == bytes.len() {
                        true => self.row_stop(),
                        false => self.text.field_delimiter.as_str(),
                    };
                    expect(bytes, end, next, true, column)?;
                }
            }
        }
    }
}

impl SplitRows for CustomRows {
    fn row<'a>(
        &mut self,
        bytes: &'a [u8],
        at: usize,
        last: bool,
        cells: &mut Vec<Cell<'a>>,
    ) -> Result<RowEnd, SplitError> {
        match self.try_row(bytes, at, last, cells) {
            Ok(end) => {
                self.rows += u64::from(matches!(end, RowEnd::Row(_)));
                Ok(end)
            }
            Err(Stop::NeedsMore) => Ok(RowEnd::Incomplete),
            Err(Stop::Wrong(error)) => Err(error),
        }
    }

    fn take_back(&mut self) {
        self.rows = self.rows.saturating_sub(1);
    }

    fn skipped_row(&mut self) {
        self.rows += 1;
    }

    /// Behind the next end of a row; without such a text the bad row is the rest.
    fn resume(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let stop = self.row_stop();
        let rest = bytes.get(at..)?;
        let offset = memchr::memmem::find(rest, stop.as_bytes()).filter(|_| !stop.is_empty())?;
        Some(at + offset + self.text.row_after.len())
    }
}
