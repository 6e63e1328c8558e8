//! Rows of Regexp: lines taken apart by a pattern, whose groups are the cells.
//!
//! Invariant: a line is a row if the pattern is of all of it; another is an error or passed over, by the settings. Must not
//! know: types.

use model::ErrorCode;
use regex::bytes::Regex;

use crate::error::{FormatError, excerpt};
use crate::rows::delimited::CsvRows;
use crate::rows::split::{RowEnd, SplitError, SplitRows};
use crate::settings::{EscapingRule, FormatSettings, LinePattern};
use crate::values::cell::{Cell, Syntax, TextForm};
use scan::find::{ItemEnd, contains, find_any};

/// Splitter of Regexp.
pub(crate) struct PatternRows {
    text: LinePattern,
    pattern: Regex,
    csv: CsvRows,
    csv_delimiter: u8,
    null: Vec<u8>,
}

fn wrong(message: String, at: usize, cell: usize) -> SplitError {
    SplitError { code: ErrorCode::INCORRECT_DATA, message, at, cell }
}

impl PatternRows {
    pub(crate) fn new(settings: &FormatSettings) -> Result<Self, FormatError> {
        let text = settings.custom.pattern.clone();
        text.rule.may_be_read()?;
        let refused = |message: String| FormatError::new(ErrorCode::BAD_ARGUMENTS, message);
        if text.pattern.is_empty() {
            return Err(refused("format Regexp needs a pattern: format_regexp is empty".to_owned()));
        }
        let pattern = Regex::new(&format!("^(?:{})$", text.pattern))
            .map_err(|_| refused(format!("format_regexp is no regular expression: {}", text.pattern)))?;
        Ok(Self {
            text,
            pattern,
            csv: CsvRows::new(settings),
            csv_delimiter: settings.csv_delimiter,
            null: settings.tsv_null.clone().into_bytes(),
        })
    }

    /// What the pattern found, as a cell; `None` where more stands there than one value.
    fn cell<'a>(&self, found: &'a [u8]) -> Option<Cell<'a>> {
        let syntax = match self.text.rule {
            EscapingRule::Escaped | EscapingRule::Raw | EscapingRule::Xml => {
                let escapes = self.text.rule == EscapingRule::Escaped && contains(found, b'\\');
                let form = match found {
                    null if null == self.null => TextForm::Null,
                    [] => TextForm::Empty,
                    _ if escapes => TextForm::Escaped,
                    _ => TextForm::Raw,
                };
                return Some(Cell { text: found, form });
            }
            EscapingRule::Csv if found.first().is_some_and(|byte| self.csv.is_quote(*byte)) => {
                let (cell, end) = self.csv.quoted(found, 0, true)?;
                return (end == found.len()).then_some(cell);
            }
            EscapingRule::Csv => return (!contains(found, self.csv_delimiter)).then(|| self.csv.bare(found)),
            EscapingRule::Json => Syntax::Json,
            EscapingRule::Quoted => Syntax::Literal,
        };
        let is_closed = match found.first() {
            Some(byte) if *byte == syntax.quote() || matches!(byte, b'[' | b'{' | b'(') => {
                matches!(syntax.value_end(found, 0), ItemEnd::At(end) if end == found.len())
            }
            _ => true,
        };
        is_closed.then(|| syntax.cell(found))
    }
}

impl SplitRows for PatternRows {
    fn row<'a>(
        &mut self,
        bytes: &'a [u8],
        mut at: usize,
        last: bool,
        cells: &mut Vec<Cell<'a>>,
    ) -> Result<RowEnd, SplitError> {
        loop {
            if at >= bytes.len() {
                return Ok(if last { RowEnd::Finished(at) } else { RowEnd::Incomplete });
            }
            let end = match find_any(&bytes[at..], [b'\n']) {
                Some(offset) => at + offset,
                None if last => bytes.len(),
                None => return Ok(RowEnd::Incomplete),
            };
            let next = (end + 1).min(bytes.len());
            let line = bytes[at..end].strip_suffix(b"\r").unwrap_or(&bytes[at..end]);
            let Some(captures) = self.pattern.captures(line) else {
                if self.text.skips_others {
                    at = next;
                    continue;
                }
                let message =
                    format!("the line is not of the pattern {}: {}", self.text.pattern, excerpt(line));
                return Err(wrong(message, at, 0));
            };
            for (cell, group) in captures.iter().skip(1).enumerate() {
                let found = group.map_or(&line[..0], |group| group.as_bytes());
                let Some(found) = self.cell(found) else {
                    let message =
                        format!("more than one value stands in the part {} of a line", excerpt(found));
                    return Err(wrong(message, at, cell));
                };
                cells.push(found);
            }
            return Ok(RowEnd::Row(next));
        }
    }
}
