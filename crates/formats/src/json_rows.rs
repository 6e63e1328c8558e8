//! Cells of JSONEachRow and JSONCompactEachRow.
//!
//! Invariant: JSONEachRow gives one cell per column of the table, in the table's order, whatever order the keys have;
//! a key seen twice counts once, a missing one is the default. Objects may follow each other with white space, commas,
//! or inside one array.

use std::collections::HashMap;

use crate::cell::{Cell, Syntax, TextForm};
use crate::error::{code, excerpt};
use crate::scan::{ItemEnd, contains, depth_of, skip_space};
use crate::settings::FormatSettings;
use crate::split::{NamedRows, RowEnd, SplitError, SplitRows, resume_unescaped};
use crate::text::NULL_SIGN;

/// What stands between two rows: white space, commas, and the brackets of an array around all of them.
fn skip_between(bytes: &[u8], mut at: usize) -> usize {
    loop {
        at = skip_space(bytes, at);
        match bytes.get(at) {
            Some(b',' | b';') => at += 1,
            _ => return at,
        }
    }
}

fn unexpected(bytes: &[u8], at: usize, wanted: char, cell: usize) -> SplitError {
    let message = format!("cannot parse input: expected '{wanted}' before: {}", excerpt(&bytes[at..]));
    SplitError { code: code::CANNOT_PARSE_INPUT_ASSERTION_FAILED, message, at, cell }
}

fn cut(bytes: &[u8], at: usize, cell: usize) -> SplitError {
    let message = format!("JSON ends inside a row: {}", excerpt(&bytes[at..]));
    SplitError { code: code::INCORRECT_DATA, message, at, cell }
}

fn json_cell(text: &[u8]) -> Cell<'_> {
    Syntax::Json.cell(text)
}

/// A string as the text of any value; what is no string is read as the JSON value it is.
fn string_cell(text: &[u8]) -> Cell<'_> {
    let [b'"', inner @ .., b'"'] = text else { return json_cell(text) };
    let form = match inner {
        b"NULL" | b"null" => TextForm::Null,
        sign if sign == NULL_SIGN.as_bytes() => TextForm::Null,
        _ if contains(inner, b'\\') => TextForm::JsonEscaped,
        _ => TextForm::Raw,
    };
    Cell { text: inner, form }
}

/// Why a row stopped early.
enum Stop {
    NeedsMore,
    Wrong(SplitError),
}

fn settle(result: Result<usize, Stop>, bytes: &[u8], at: usize, last: bool) -> Result<RowEnd, SplitError> {
    match result {
        Ok(end) => Ok(RowEnd::Row(end)),
        Err(Stop::NeedsMore) if !last => Ok(RowEnd::Incomplete),
        Err(Stop::NeedsMore) => Err(cut(bytes, at, 0)),
        Err(Stop::Wrong(error)) => Err(error),
    }
}

fn value_at(bytes: &[u8], at: usize, cell: usize) -> Result<usize, Stop> {
    match Syntax::Json.value_end(bytes, at) {
        ItemEnd::At(end) if end > at => Ok(end),
        ItemEnd::At(_) => Err(Stop::Wrong(unexpected(bytes, at, '"', cell))),
        ItemEnd::Open => Err(Stop::NeedsMore),
    }
}

/// A value nobody reads is still no deeper than `input_format_json_max_depth` allows, as in ClickHouse.
fn skippable(key: &[u8], value: &[u8], depth_max: usize, at: usize) -> Result<(), SplitError> {
    // Fewer bytes cannot hold that many pairs of brackets.
    if value.len() / 2 <= depth_max || depth_of(value, b'"', false) <= depth_max {
        return Ok(());
    }
    let message = format!(
        "the value of field {} is nested deeper than {depth_max}, which input_format_json_max_depth allows",
        excerpt(key)
    );
    Err(SplitError { code: code::TOO_DEEP_RECURSION, message, at, cell: 0 })
}

/// The key as JSON has it, if it needs no escapes.
fn quoted(name: &[u8]) -> Vec<u8> {
    match name.iter().any(|byte| matches!(byte, b'"' | b'\\') || *byte < b' ') {
        true => Vec::new(),
        false => [b"\"", name, b"\""].concat(),
    }
}

/// Splitter of JSONEachRow.
pub(crate) struct JsonObjects {
    names: Vec<Vec<u8>>,
    by_name: HashMap<Vec<u8>, usize>,
    /// Names in quotes, in order, as keys mostly stand in a row; empty where a name has to be escaped.
    quoted: Vec<Vec<u8>>,
    /// Inside `[ ... ]` around all rows.
    in_array: bool,
    started: bool,
    skip_unknown: bool,
    /// Every value is a string.
    strings: bool,
    /// Deepest nesting of a value that is skipped.
    depth_max: usize,
    scratch: Vec<u8>,
}

impl JsonObjects {
    pub(crate) fn new<'n>(names: impl Iterator<Item = &'n str>, settings: &FormatSettings) -> Self {
        let names: Vec<Vec<u8>> = names.map(|name| name.as_bytes().to_vec()).collect();
        let by_name = names.iter().cloned().enumerate().map(|(at, name)| (name, at)).collect();
        let quoted = names.iter().map(|name| quoted(name)).collect();
        Self {
            names,
            by_name,
            quoted,
            in_array: false,
            started: false,
            skip_unknown: settings.skip_unknown_fields,
            strings: false,
            depth_max: settings.json.depth_max,
            scratch: Vec::new(),
        }
    }

    /// The same where every value stands in a string.
    pub(crate) fn of_strings(self) -> Self {
        Self { strings: true, ..self }
    }

    /// Column of a key; keys mostly come in the order of the columns, so `guess` is tried first.
    #[inline]
    fn column(&mut self, key: &[u8], guess: usize) -> Option<usize> {
        let inner = &key[1..key.len() - 1];
        if self.names.get(guess).is_some_and(|name| name == inner) {
            return Some(guess);
        }
        if let Some(found) = self.by_name.get(inner) {
            return Some(*found);
        }
        let cell = Cell { text: key, form: TextForm::Json };
        let name = cell.content(&mut self.scratch).ok()?;
        self.by_name.get(name).copied()
    }

    /// Walks the members of the object at `at`, calling `member` with key and value, and gives its end.
    /// `likely` are keys as they are expected in this order.
    fn members<'a>(
        bytes: &'a [u8],
        at: usize,
        likely: &[Vec<u8>],
        mut member: impl FnMut(&'a [u8], &'a [u8], usize) -> Result<(), SplitError>,
    ) -> Result<usize, Stop> {
        let mut at = skip_space(bytes, at + 1);
        let mut count = 0;
        loop {
            match bytes.get(at) {
                Some(b'"') => {}
                Some(b'}') => return Ok(at + 1),
                Some(_) => return Err(Stop::Wrong(unexpected(bytes, at, '"', count))),
                None => return Err(Stop::NeedsMore),
            }
            let key_end = match likely.get(count) {
                Some(key) if !key.is_empty() && bytes[at..].starts_with(key) => at + key.len(),
                _ => value_at(bytes, at, count)?,
            };
            let colon = skip_space(bytes, key_end);
            match bytes.get(colon) {
                Some(b':') => {}
                Some(_) => return Err(Stop::Wrong(unexpected(bytes, colon, ':', count))),
                None => return Err(Stop::NeedsMore),
            }
            let start = skip_space(bytes, colon + 1);
            let end = value_at(bytes, start, count)?;
            member(&bytes[at..key_end], &bytes[start..end], at).map_err(Stop::Wrong)?;
            count += 1;
            at = skip_space(bytes, end);
            match bytes.get(at) {
                Some(b',') => at = skip_space(bytes, at + 1),
                Some(b'}') => {}
                Some(_) => return Err(Stop::Wrong(unexpected(bytes, at, ',', count))),
                None => return Err(Stop::NeedsMore),
            }
        }
    }

    /// Start of the next object, or how the input ends.
    fn object_start(
        &mut self,
        bytes: &[u8],
        at: usize,
        last: bool,
    ) -> Result<Result<usize, RowEnd>, SplitError> {
        let mut at = skip_between(bytes, at);
        if !self.started && bytes.get(at) == Some(&b'[') {
            self.in_array = true;
            self.started = true;
            at = skip_between(bytes, at + 1);
        }
        if self.in_array && bytes.get(at) == Some(&b']') {
            self.in_array = false;
            at = skip_between(bytes, at + 1);
        }
        match bytes.get(at) {
            Some(b'{') => {
                self.started = true;
                Ok(Ok(at))
            }
            None if last && self.in_array => Err(cut(bytes, at, 0)),
            None if last => Ok(Err(RowEnd::Finished(at))),
            None => Ok(Err(RowEnd::Incomplete)),
            Some(_) => Err(unexpected(bytes, at, '{', 0)),
        }
    }
}

impl NamedRows for JsonObjects {
    fn any_row<'a>(
        &mut self,
        bytes: &'a [u8],
        at: usize,
        last: bool,
        members: &mut Vec<(Cell<'a>, Cell<'a>)>,
    ) -> Result<RowEnd, SplitError> {
        let (in_array, started) = (self.in_array, self.started);
        let start = match self.object_start(bytes, at, last)? {
            Ok(start) => start,
            Err(end) => return Ok(end),
        };
        let result = Self::members(bytes, start, &[], |key, value, _| {
            members.push((Cell { text: key, form: TextForm::Json }, json_cell(value)));
            Ok(())
        });
        let end = settle(result, bytes, start, last)?;
        if end == RowEnd::Incomplete {
            (self.in_array, self.started) = (in_array, started);
        }
        Ok(end)
    }
}

impl SplitRows for JsonObjects {
    fn resume(&self, bytes: &[u8], at: usize) -> Option<usize> {
        resume_unescaped(bytes, at)
    }

    fn row<'a>(
        &mut self,
        bytes: &'a [u8],
        at: usize,
        last: bool,
        cells: &mut Vec<Cell<'a>>,
    ) -> Result<RowEnd, SplitError> {
        // An incomplete row is read again from its start, opening bracket included.
        let (in_array, started) = (self.in_array, self.started);
        let start = match self.object_start(bytes, at, last)? {
            Ok(start) => start,
            Err(RowEnd::Incomplete) => {
                (self.in_array, self.started) = (in_array, started);
                return Ok(RowEnd::Incomplete);
            }
            Err(end) => return Ok(end),
        };
        let first = cells.len();
        cells.resize(first + self.names.len(), Cell::DEFAULT);
        let mut guess = 0;
        let likely = std::mem::take(&mut self.quoted);
        let result = Self::members(bytes, start, &likely, |key, value, at| {
            match self.column(key, guess) {
                Some(column) => {
                    guess = column + 1;
                    let cell = &mut cells[first + column];
                    if cell.form == TextForm::Default {
                        *cell = if self.strings { string_cell(value) } else { json_cell(value) };
                    }
                }
                None if self.skip_unknown => skippable(key, value, self.depth_max, at)?,
                None => {
                    let message = format!("unknown field {} in JSON row", excerpt(key));
                    return Err(SplitError { code: code::INCORRECT_DATA, message, at, cell: 0 });
                }
            }
            Ok(())
        });
        self.quoted = likely;
        let end = settle(result, bytes, start, last)?;
        if end == RowEnd::Incomplete {
            (self.in_array, self.started) = (in_array, started);
        }
        Ok(end)
    }
}

/// Splitter of rows that are lists: `[1, "a"]` of JSONCompactEachRow, `(1, 'a')` of Values.
pub(crate) struct ListRows {
    open: u8,
    close: u8,
    syntax: Syntax,
    /// Every value is a string.
    strings: bool,
}

impl ListRows {
    pub(crate) fn json() -> Self {
        Self { open: b'[', close: b']', syntax: Syntax::Json, strings: false }
    }

    /// JSON in which every value stands in a string.
    pub(crate) fn strings() -> Self {
        Self { strings: true, ..Self::json() }
    }

    pub(crate) fn values() -> Self {
        Self { open: b'(', close: b')', syntax: Syntax::Literal, strings: false }
    }

    fn items<'a>(&self, bytes: &'a [u8], start: usize, cells: &mut Vec<Cell<'a>>) -> Result<usize, Stop> {
        let mut at = skip_space(bytes, start + 1);
        let mut count = 0;
        if bytes.get(at) == Some(&self.close) {
            return Ok(at + 1);
        }
        loop {
            match self.syntax.value_end(bytes, at) {
                ItemEnd::At(end) if end > at => {
                    let text = &bytes[at..end];
                    cells.push(if self.strings { string_cell(text) } else { self.syntax.cell(text) });
                    at = skip_space(bytes, end);
                }
                ItemEnd::At(_) => {
                    return Err(Stop::Wrong(unexpected(bytes, at, char::from(self.close), count)));
                }
                ItemEnd::Open => return Err(Stop::NeedsMore),
            }
            match bytes.get(at) {
                Some(b',') => at = skip_space(bytes, at + 1),
                Some(byte) if *byte == self.close => return Ok(at + 1),
                Some(_) => return Err(Stop::Wrong(unexpected(bytes, at, ',', count))),
                None => return Err(Stop::NeedsMore),
            }
            count += 1;
        }
    }
}

impl SplitRows for ListRows {
    fn resume(&self, bytes: &[u8], at: usize) -> Option<usize> {
        resume_unescaped(bytes, at)
    }

    fn row<'a>(
        &mut self,
        bytes: &'a [u8],
        at: usize,
        last: bool,
        cells: &mut Vec<Cell<'a>>,
    ) -> Result<RowEnd, SplitError> {
        let start = skip_between(bytes, at);
        match bytes.get(start) {
            Some(byte) if *byte == self.open => {}
            None if last => return Ok(RowEnd::Finished(start)),
            None => return Ok(RowEnd::Incomplete),
            Some(_) => return Err(unexpected(bytes, start, char::from(self.open), 0)),
        }
        settle(self.items(bytes, start, cells), bytes, start, last)
    }
}
