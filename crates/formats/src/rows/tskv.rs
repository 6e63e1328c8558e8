//! Cells of TSKV: `name=value` pairs between tabs, escaped as TabSeparated is.
//!
//! Invariant: a row gives one cell per column of the table, in the table's order; a missing name is the default, a name
//! twice in a row is an error. Must not know: column types.

use std::collections::HashMap;

use model::ErrorCode;

use crate::error::excerpt;
use crate::rows::split::{NamedRows, RowEnd, SplitError, SplitRows, resume_unescaped};
use crate::settings::FormatSettings;
use crate::values::cell::{Cell, TextForm};
use scan::find::find_any;

/// The only field that may stand without a value; it says what the file is and nothing else.
const MARK: &[u8] = b"tskv";

/// Splitter of TSKV.
pub(crate) struct TskvRows {
    by_name: HashMap<Vec<u8>, usize>,
    null: Vec<u8>,
    skip_unknown: bool,
    scratch: Vec<u8>,
}

/// End of the text that starts at `at`, at one of `stops` that no backslash escapes; `None` when it is not in the bytes.
fn text_end<const N: usize>(bytes: &[u8], at: usize, last: bool, stops: [u8; N]) -> Option<(usize, bool)> {
    let (mut from, mut escaped) = (at, false);
    loop {
        match find_any(bytes.get(from..).unwrap_or_default(), stops) {
            Some(offset) if bytes[from + offset] == b'\\' => {
                escaped = true;
                from += offset + 2;
            }
            Some(offset) => return Some((from + offset, escaped)),
            None => return last.then_some((bytes.len(), escaped)),
        }
    }
}

fn escaped_form(escaped: bool) -> TextForm {
    if escaped { TextForm::Escaped } else { TextForm::Raw }
}

impl TskvRows {
    pub(crate) fn new<'n>(names: impl Iterator<Item = &'n str>, settings: &FormatSettings) -> Self {
        Self {
            by_name: names.enumerate().map(|(at, name)| (name.as_bytes().to_vec(), at)).collect(),
            null: settings.tsv_null.clone().into_bytes(),
            skip_unknown: settings.skip_unknown_fields,
            scratch: Vec::new(),
        }
    }

    fn value<'a>(&self, text: &'a [u8], escaped: bool) -> Cell<'a> {
        let form = match text {
            [] => TextForm::Empty,
            null if null == self.null => TextForm::Null,
            _ => escaped_form(escaped),
        };
        Cell { text, form }
    }
}

impl NamedRows for TskvRows {
    fn any_row<'a>(
        &mut self,
        bytes: &'a [u8],
        mut at: usize,
        last: bool,
        members: &mut Vec<(Cell<'a>, Cell<'a>)>,
    ) -> Result<RowEnd, SplitError> {
        if at >= bytes.len() {
            return Ok(if last { RowEnd::Finished(at) } else { RowEnd::Incomplete });
        }
        // An empty line is a row of defaults.
        if bytes[at] == b'\n' {
            return Ok(RowEnd::Row(at + 1));
        }
        loop {
            let Some((name_end, escaped)) = text_end(bytes, at, last, [b'=', b'\t', b'\n', b'\\']) else {
                return Ok(RowEnd::Incomplete);
            };
            let name = Cell { text: &bytes[at..name_end], form: escaped_form(escaped) };
            let mut end = name_end;
            if bytes.get(name_end) == Some(&b'=') {
                let start = name_end + 1;
                let Some((value_end, escaped)) = text_end(bytes, start, last, [b'\t', b'\n', b'\\']) else {
                    return Ok(RowEnd::Incomplete);
                };
                members.push((name, self.value(&bytes[start..value_end], escaped)));
                end = value_end;
            } else if name.text != MARK {
                let message = format!("field {} has no value: '=' is missing", excerpt(name.text));
                let cell = members.len();
                return Err(SplitError { code: ErrorCode::INCORRECT_DATA, message, at, cell });
            }
            if bytes.get(end) != Some(&b'\t') {
                return Ok(RowEnd::Row((end + 1).min(bytes.len())));
            }
            at = end + 1;
        }
    }
}

impl SplitRows for TskvRows {
    fn row<'a>(
        &mut self,
        bytes: &'a [u8],
        at: usize,
        last: bool,
        cells: &mut Vec<Cell<'a>>,
    ) -> Result<RowEnd, SplitError> {
        let mut members = Vec::with_capacity(self.by_name.len());
        let end = self.any_row(bytes, at, last, &mut members)?;
        if !matches!(end, RowEnd::Row(_)) {
            return Ok(end);
        }
        let first = cells.len();
        cells.resize(first + self.by_name.len(), Cell::DEFAULT);
        for (name, value) in members {
            let wrong =
                |message: String, cell| SplitError { code: ErrorCode::INCORRECT_DATA, message, at, cell };
            let text = name.content(&mut self.scratch).map_err(|error| wrong(error.message, 0))?;
            match self.by_name.get(text).copied() {
                Some(column) if cells[first + column].form == TextForm::Default => {
                    cells[first + column] = value;
                }
                Some(column) => {
                    return Err(wrong(format!("field {} stands twice in a row", excerpt(name.text)), column));
                }
                None if self.skip_unknown => {}
                None => return Err(wrong(format!("unknown field {} in TSKV row", excerpt(name.text)), 0)),
            }
        }
        Ok(end)
    }

    fn resume(&self, bytes: &[u8], at: usize) -> Option<usize> {
        resume_unescaped(bytes, at)
    }
}
