//! Cells of JSONEachRow and JSONCompactEachRow.
//!
//! Invariant: JSONEachRow gives one cell per column of the table, in the table's order, whatever order the keys have;
//! a key that stands twice is an error, a missing one is the default. Objects may follow each other with white space, commas,
//! or inside one array.

mod ending;
mod members;

use crate::columns::text::NULL_SIGN;
use crate::error::{ValueError, excerpt};
use crate::rows::quick_rows::quick_rows;
use crate::rows::split::{NamedRows, Room, RowEnd, SplitError, SplitRows, Taken, resume_unescaped};
use crate::settings::FormatSettings;
use crate::values::cell::{Cell, Items, Syntax, TextForm, bare_value};
use members::Searched;
use model::ErrorCode;
use model::table_def::column_names::{Ambiguous, ColumnNames};
use scan::find::{ItemEnd, contains, depth_of, skip_space};
use scan::keys::Keys;

/// How deep a value that nobody reads is looked at.
const SKIPPED_DEPTH_MAX: usize = 16;

/// What stands between two rows: white space, commas, and the brackets of an array around all of them.
pub(crate) fn skip_between(bytes: &[u8], mut at: usize) -> usize {
    loop {
        at = skip_space(bytes, at);
        match bytes.get(at) {
            Some(b',' | b';') => at += 1,
            _ => return at,
        }
    }
}

pub(crate) fn unexpected(bytes: &[u8], at: usize, wanted: char, cell: usize) -> SplitError {
    let message = format!("cannot parse input: expected '{wanted}' before: {}", excerpt(&bytes[at..]));
    SplitError { code: ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED, message, at, cell }
}

/// A key has quotes.
pub(crate) fn no_key(bytes: &[u8], at: usize, cell: usize) -> SplitError {
    SplitError { code: ErrorCode::CANNOT_PARSE_QUOTED_STRING, ..unexpected(bytes, at, '"', cell) }
}

fn cut(bytes: &[u8], at: usize, cell: usize) -> SplitError {
    let message = format!("JSON ends inside a row: {}", excerpt(&bytes[at..]));
    SplitError { code: ErrorCode::INCORRECT_DATA, message, at, cell }
}

fn json_cell(text: &[u8]) -> Cell<'_> {
    Syntax::Json.cell(text)
}

/// A string as the text of any value.
fn string_cell(text: &[u8]) -> Result<Cell<'_>, String> {
    let [b'"', inner @ .., b'"'] = text else {
        return Err(format!("cannot parse JSON string: expected opening quote before: {}", excerpt(text)));
    };
    let form = match inner {
        b"NULL" | b"null" => TextForm::Null,
        sign if sign == NULL_SIGN.as_bytes() => TextForm::Null,
        _ if contains(inner, b'\\') => TextForm::JsonEscaped,
        _ => TextForm::Raw,
    };
    Ok(Cell { text: inner, form })
}

fn no_string(message: String, at: usize, cell: usize) -> Stop {
    Stop::Wrong(SplitError { code: ErrorCode::CANNOT_PARSE_QUOTED_STRING, message, at, cell })
}

/// Why a row stopped early.
pub(crate) enum Stop {
    NeedsMore,
    Wrong(SplitError),
}

pub(crate) fn settle(
    result: Result<usize, Stop>,
    bytes: &[u8],
    at: usize,
    last: bool,
) -> Result<RowEnd, SplitError> {
    match result {
        Ok(end) => Ok(RowEnd::Row(end)),
        Err(Stop::NeedsMore) if !last => Ok(RowEnd::Incomplete),
        Err(Stop::NeedsMore) => Err(cut(bytes, at, 0)),
        Err(Stop::Wrong(error)) => Err(error),
    }
}

pub(crate) fn value_at(bytes: &[u8], at: usize, cell: usize) -> Result<usize, Stop> {
    match Syntax::Json.value_end(bytes, at) {
        ItemEnd::At(end) if end > at => Ok(end),
        ItemEnd::At(_) => Err(Stop::Wrong(unexpected(bytes, at, '"', cell))),
        ItemEnd::Open => Err(Stop::NeedsMore),
    }
}

/// The end of the key at `at`, and of the colon behind it.
pub(crate) fn key_at(bytes: &[u8], at: usize, count: usize) -> Result<(usize, usize), Stop> {
    let key_end = value_at(bytes, at, count)?;
    let colon = skip_space(bytes, key_end);
    match bytes.get(colon) {
        Some(b':') => Ok((key_end, colon + 1)),
        Some(_) => Err(Stop::Wrong(unexpected(bytes, colon, ':', count))),
        None => Err(Stop::NeedsMore),
    }
}

/// Where the next key of an object stands, or its end, behind a value that ends at `at`.
#[inline]
fn next_member(bytes: &[u8], at: usize, count: usize) -> Result<usize, Stop> {
    let at = skip_space(bytes, at);
    match bytes.get(at) {
        Some(b',') => {
            let at = skip_space(bytes, at + 1);
            match bytes.get(at) {
                Some(b'}') => {
                    let message = format!(
                        "cannot parse JSON string: expected an opening quote before: {}",
                        excerpt(&bytes[at..])
                    );
                    let code = ErrorCode::CANNOT_PARSE_QUOTED_STRING;
                    Err(Stop::Wrong(SplitError { code, message, at, cell: count }))
                }
                _ => Ok(at),
            }
        }
        Some(b'}') => Ok(at),
        Some(_) => Err(Stop::Wrong(unexpected(bytes, at, ',', count))),
        None => Err(Stop::NeedsMore),
    }
}

/// A value nobody reads is still JSON, as deep as one is looked at.
fn well_formed(value: &[u8], depth: usize) -> Result<(), ValueError> {
    let no_list = |_| {
        let message = format!("cannot read a JSON field here: {}", excerpt(value));
        ValueError::new(ErrorCode::INCORRECT_DATA, message)
    };
    match value.first() {
        _ if depth > SKIPPED_DEPTH_MAX => {}
        Some(b'[') => {
            let mut items = Items::new(value, b'[', b']', Syntax::Json).map_err(no_list)?;
            while let Some(item) = items.next().map_err(no_list)? {
                well_formed(item, depth + 1)?;
            }
        }
        Some(b'{') => {
            let mut members = Items::new(value, b'{', b'}', Syntax::Json).map_err(no_list)?;
            while let Some((_, member)) = members.next_pair().map_err(no_list)? {
                well_formed(member, depth + 1)?;
            }
        }
        _ => bare_value(value)?,
    }
    Ok(())
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
    Err(SplitError { code: ErrorCode::TOO_DEEP_RECURSION, message, at, cell: 0 })
}

/// Splitter of JSONEachRow.
pub(crate) struct JsonObjects {
    columns: usize,
    by_name: ColumnNames,
    /// As rows before had them.
    keys: Keys,
    /// Inside `[ ... ]` around all rows.
    in_array: bool,
    started: bool,
    skip_unknown: bool,
    /// Members of an object that no column has are columns of their own: `a.b`.
    imports_nested: bool,
    /// Every value is a string.
    strings: bool,
    /// A comma may stand behind the last object of an array.
    pub(super) ends_with_comma: bool,
    /// Deepest nesting of a value that is skipped.
    depth_max: usize,
    scratch: Vec<u8>,
}

impl JsonObjects {
    pub(crate) fn new<'n>(names: impl Iterator<Item = &'n str>, settings: &FormatSettings) -> Self {
        let names: Vec<&str> = names.collect();
        let columns = names.len();
        let by_name = ColumnNames::new(names.into_iter(), settings.header.matching);
        Self {
            columns,
            by_name,
            keys: Keys::default(),
            in_array: false,
            started: false,
            skip_unknown: settings.skip_unknown_fields,
            imports_nested: settings.json.imports_nested,
            strings: false,
            ends_with_comma: false,
            depth_max: settings.json.depth_max,
            scratch: Vec::new(),
        }
    }

    /// The same where every value stands in a string.
    pub(crate) fn of_strings(self) -> Self {
        Self { strings: true, ..self }
    }

    /// Column of a key that stands in its quotes.
    fn column(&mut self, key: &[u8]) -> Result<Option<usize>, Ambiguous> {
        let cell = Cell { text: key, form: TextForm::Json };
        match cell.content(&mut self.scratch) {
            Ok(name) => self.by_name.find(name),
            Err(_) => Ok(None),
        }
    }

    /// A key that two columns could be meant by, or one that stands there again.
    fn unclear(key: &[u8], ambiguous: Option<Ambiguous>, at: usize, cell: usize) -> SplitError {
        let name = key.get(1..key.len().saturating_sub(1)).unwrap_or_default();
        let message = match ambiguous {
            Some(ambiguous) => ambiguous.message(name),
            None => format!("duplicate field \"{}\" in a JSON row", excerpt(name)),
        };
        SplitError { code: ErrorCode::INCORRECT_DATA, message, at, cell }
    }

    /// A value that no column has.
    fn unknown(&self, key: &[u8], value: &[u8], at: usize) -> Result<(), SplitError> {
        if self.skip_unknown {
            well_formed(value, 0).map_err(|error| SplitError {
                code: error.code,
                message: error.message,
                at,
                cell: 0,
            })?;
            return skippable(key, value, self.depth_max, at);
        }
        let message = format!("unknown field {} in JSON row", excerpt(key));
        Err(SplitError { code: ErrorCode::INCORRECT_DATA, message, at, cell: 0 })
    }

    /// Walks the members of the object at `at`, calling `member` with key and value, and gives its end.
    fn members<'a>(
        bytes: &'a [u8],
        at: usize,
        mut member: impl FnMut(&'a [u8], &'a [u8]),
    ) -> Result<usize, Stop> {
        let mut at = skip_space(bytes, at + 1);
        let mut count = 0;
        loop {
            match bytes.get(at) {
                Some(b'"') => {}
                Some(b'}') => return Ok(at + 1),
                Some(_) => return Err(Stop::Wrong(no_key(bytes, at, count))),
                None => return Err(Stop::NeedsMore),
            }
            let (key_end, start) = key_at(bytes, at, count)?;
            let start = skip_space(bytes, start);
            let end = match bytes.get(start) {
                Some(b',' | b'}') => start,
                _ => value_at(bytes, start, count)?,
            };
            member(&bytes[at..key_end], &bytes[start..end]);
            count += 1;
            at = next_member(bytes, end, count)?;
        }
    }

    /// Where among the rows it is, for [`Self::return_to`].
    pub(crate) fn place(&self) -> (bool, bool) {
        (self.in_array, self.started)
    }

    /// Goes back in front of a row that was not all there.
    pub(crate) fn return_to(&mut self, place: (bool, bool), end: RowEnd) {
        if end == RowEnd::Incomplete {
            (self.in_array, self.started) = place;
        }
    }

    /// Start of the next object, or how the input ends.
    pub(crate) fn object_start(
        &mut self,
        bytes: &[u8],
        at: usize,
        last: bool,
    ) -> Result<Result<usize, RowEnd>, SplitError> {
        let before = at;
        let mut at = skip_between(bytes, at);
        let is_closed = self.in_array && bytes.get(at) == Some(&b']');
        if is_closed && !self.ends_with_comma && contains(&bytes[before..at], b',') {
            return Err(unexpected(bytes, at, '{', 0));
        }
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
        let before = self.place();
        let start = match self.object_start(bytes, at, last)? {
            Ok(start) => start,
            Err(end) => return Ok(end),
        };
        let result = Self::members(bytes, start, |key, value| {
            members.push((Cell { text: key, form: TextForm::Json }, json_cell(value)));
        });
        let end = settle(result, bytes, start, last)?;
        self.return_to(before, end);
        Ok(end)
    }
}

impl SplitRows for JsonObjects {
    fn quick_rows<'a>(&mut self, bytes: &'a [u8], at: usize, room: Room, cells: &mut Vec<Cell<'a>>) -> Taken {
        // The first row may stand behind the bracket of an array around all of them.
        match self.started && room.width == self.columns {
            true => quick_rows(self, bytes, at, room, cells),
            false => Taken { rows: 0, next: at },
        }
    }

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
        let before = self.place();
        let start = match self.object_start(bytes, at, last)? {
            Ok(start) => start,
            Err(end) => {
                self.return_to(before, end);
                return Ok(end);
            }
        };
        let first = cells.len();
        cells.resize(first + self.columns, Cell::DEFAULT);
        let result = match self.values(bytes, start, &mut cells[first..], &mut Searched) {
            Err(Stop::NeedsMore) if last => {
                Err(Stop::Wrong(SplitError { code: ending::code(&bytes[start..]), ..cut(bytes, start, 0) }))
            }
            other => other,
        };
        let end = settle(result, bytes, start, last)?;
        self.return_to(before, end);
        Ok(end)
    }

    fn start_in_the_middle(&mut self) {
        // Only the first bytes of a file begin an array of all rows.
        self.started = true;
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

    /// In SQL what is no list of values is a wrong expression.
    fn unexpected(&self, bytes: &[u8], at: usize, wanted: char, cell: usize) -> SplitError {
        let error = unexpected(bytes, at, wanted, cell);
        let code = if self.syntax == Syntax::Literal { ErrorCode::SYNTAX_ERROR } else { error.code };
        SplitError { code, ..error }
    }

    fn items<'a>(&self, bytes: &'a [u8], start: usize, cells: &mut Vec<Cell<'a>>) -> Result<usize, Stop> {
        let mut at = skip_space(bytes, start + 1);
        let mut count = 0;
        if bytes.get(at) == Some(&self.close) {
            return Ok(at + 1);
        }
        loop {
            // Some values of JSON may be missing: their columns know.
            let may_miss = self.syntax == Syntax::Json
                && !self.strings
                && bytes.get(at).is_some_and(|byte| *byte == b',' || *byte == self.close);
            match self.syntax.value_end(bytes, at) {
                ItemEnd::At(end) if end > at || may_miss => {
                    let text = &bytes[at..end];
                    let cell = if self.strings { string_cell(text) } else { Ok(self.syntax.cell(text)) };
                    cells.push(cell.map_err(|message| no_string(message, at, count))?);
                    at = skip_space(bytes, end);
                }
                ItemEnd::At(_) => {
                    cells.push(Cell { text: &bytes[at..at], form: self.syntax.cell(b"").form });
                    return Err(Stop::Wrong(self.unexpected(bytes, at, char::from(self.close), count)));
                }
                ItemEnd::Open => return Err(Stop::NeedsMore),
            }
            match bytes.get(at) {
                Some(b',') => at = skip_space(bytes, at + 1),
                Some(byte) if *byte == self.close => return Ok(at + 1),
                Some(_) => return Err(Stop::Wrong(self.unexpected(bytes, at, ',', count))),
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
        settle(self.items(bytes, start, cells), bytes, start, last).map_err(|error| match self.syntax {
            Syntax::Literal => SplitError { code: ErrorCode::SYNTAX_ERROR, ..error },
            Syntax::Json => error,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts of a row's cells, `-` for a column that is not there.
    fn row(rows: &mut JsonObjects, text: &str) -> String {
        let mut cells = Vec::new();
        let end = rows.row(text.as_bytes(), 0, true, &mut cells).unwrap();
        assert_eq!(end, RowEnd::Row(text.len()), "{text}");
        let shown = |cell: &Cell<'_>| match cell.form {
            TextForm::Default => "-".to_owned(),
            _ => String::from_utf8(cell.text.to_vec()).unwrap(),
        };
        cells.iter().map(shown).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn rows_are_split_whatever_those_before_them_looked_like() {
        let cases = [
            (r#"{"a":1,"b":"x","a longer name":2.5}"#, r#"1 | "x" | 2.5"#),
            (r#"{"B":"y","A":-7,"a longer name":null}"#, r#"-7 | "y" | null"#),
            (r#"{ "a" : 1 , "b" : [1, {"a": 2}] }"#, r#"1 | [1, {"a": 2}] | -"#),
            (r#"{"x":{"a":3},"a":1,"b":""}"#, r#"1 | "" | -"#),
            (r#"{"\u0061":17,"b":"q\"r\\","ab":1}"#, r#"17 | "q\"r\\" | -"#),
            (r#"{"a":1,"b":true}"#, "1 | true | -"),
            (
                r#"{"ab":"a","a":12e3,"a longer nam":0,"b":1/2,"a longer name":"é,}"}"#,
                r#"12e3 | 1/2 | "é,}""#,
            ),
            (
                r#"{"a longer name":20240101123456789,"b":"twenty bytes of text"}"#,
                r#"- | "twenty bytes of text" | 20240101123456789"#,
            ),
            ("{}", "- | - | -"),
        ];
        let settings = FormatSettings { skip_unknown_fields: true, ..FormatSettings::default() };
        let new = || JsonObjects::new(["a", "b", "a longer name"].into_iter(), &settings);
        for (before, _) in cases {
            let mut rows = new();
            row(&mut rows, before);
            row(&mut rows, before);
            for (text, cells) in cases.iter().chain(cases.iter().rev()) {
                assert_eq!(row(&mut rows, text), *cells, "{text} behind {before}");
            }
        }
        for (text, message) in [
            (r#"{"a":1,"a":2}"#, r#"duplicate field "a" in a JSON row"#),
            (r#"{"a":1,"A":2}"#, r#"duplicate field "A" in a JSON row"#),
            (r#"{"a":1,}"#, "cannot parse JSON string: expected an opening quote before: }"),
            (r#"{"y":tru,"a":1}"#, "cannot parse input: expected true before: tru"),
            (r#"{"y":NULL,"a":1}"#, "cannot read a JSON field here: NULL"),
            (r#"{"y":1x,"a":1}"#, "cannot parse input: expected ',' behind the number in: 1x"),
        ] {
            let error = new().row(text.as_bytes(), 0, true, &mut Vec::new()).unwrap_err();
            assert_eq!(error.message, message, "{text}");
        }
        let strict = FormatSettings { skip_unknown_fields: false, ..FormatSettings::default() };
        let mut rows = JsonObjects::new(["a"].into_iter(), &strict);
        for _ in 0..2 {
            let error = rows.row(br#"{"a":1,"x":2}"#, 0, true, &mut Vec::new()).unwrap_err();
            assert_eq!((error.at, error.message.as_str()), (7, r#"unknown field \"x\" in JSON row"#));
        }
    }
}
