//! Rows inside a JSON document, as the formats JSON and JSONCompact write them:
//!
//! ```text
//! {"meta": [{"name": "a", "type": "UInt8"}, ..], "data": [row, row, ..], "rows": 2, ..}
//! ```
//!
//! Invariant: what stands before the rows is read once and may be of any length; rows stream; what follows them is
//! skipped. Text that is no such document is rows alone, as ClickHouse reads it. Must not know: how a row is split.

use model::type_name;
use model::{ColumnType, ErrorCode};

use crate::error::{FormatError, excerpt};
use crate::rows::split::{RowEnd, SplitError, SplitRows, resume_unescaped};
use crate::values::cell::{Cell, Items, Syntax, TextForm};
use model::format_kind::FormatKind;
use scan::find::{ItemEnd, skip_space};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// Nothing was read.
    Start,
    /// Among the rows of a document.
    Rows,
    /// Behind them.
    End,
    /// This is no document.
    Bare,
}

/// Splitter of a document around the splitter of its rows.
pub(crate) struct Document<S> {
    rows: S,
    place: Place,
    asked: Asked,
    /// Rows are lists: only `meta` says what their values are.
    is_of_lists: bool,
    /// For each asked column its place in a row; `None`: rows are as they are asked for.
    places: Option<Places>,
}

/// The columns that are read, where rows are lists; none where each value has its name.
#[derive(Default)]
struct Asked {
    names: Vec<String>,
    skip_unknown: bool,
}

/// Where the values of a row stand, by the names in `meta`.
struct Places {
    of_asked: Vec<Option<usize>>,
    written: usize,
}

/// What stands before the rows.
enum Opening<'a> {
    /// The rows start here; `meta` is the list of columns.
    Document {
        rows: usize,
        meta: &'a [u8],
    },
    Bare,
    NeedsMore,
}

fn expected(bytes: &[u8], at: usize, wanted: &str) -> SplitError {
    let message = format!("cannot parse JSON document: expected {wanted} before: {}", excerpt(&bytes[at..]));
    SplitError { code: ErrorCode::INCORRECT_DATA, message, at, cell: 0 }
}

/// Reads members up to what is named `data`, a list or an object.
fn opening(bytes: &[u8], at: usize, data: u8) -> Result<Opening<'_>, SplitError> {
    let mut at = skip_space(bytes, at);
    match bytes.get(at) {
        None => return Ok(Opening::NeedsMore),
        Some(b'{') => at = skip_space(bytes, at + 1),
        Some(_) => return Ok(Opening::Bare),
    }
    let (mut meta, mut first) = (&bytes[..0], true);
    loop {
        let ItemEnd::At(key_end) = Syntax::Json.value_end(bytes, at) else { return Ok(Opening::NeedsMore) };
        let key = &bytes[at..key_end];
        // ClickHouse takes an object for a document by its first member.
        if first && key != b"\"meta\"" {
            return Ok(Opening::Bare);
        }
        first = false;
        let colon = skip_space(bytes, key_end);
        let start = match bytes.get(colon) {
            Some(b':') => skip_space(bytes, colon + 1),
            Some(_) => return Err(expected(bytes, colon, "':'")),
            None => return Ok(Opening::NeedsMore),
        };
        if key == b"\"data\"" {
            return match bytes.get(start) {
                Some(byte) if *byte == data => Ok(Opening::Document { rows: start + 1, meta }),
                Some(_) => Err(expected(bytes, start, "the list \"data\"")),
                None => Ok(Opening::NeedsMore),
            };
        }
        let end = match Syntax::Json.value_end(bytes, start) {
            ItemEnd::At(end) if end > start => end,
            ItemEnd::At(_) => return Err(expected(bytes, start, "a value")),
            ItemEnd::Open => return Ok(Opening::NeedsMore),
        };
        if key == b"\"meta\"" {
            meta = &bytes[start..end];
        }
        let comma = skip_space(bytes, end);
        at = match bytes.get(comma) {
            Some(b',') => skip_space(bytes, comma + 1),
            Some(_) => return Err(expected(bytes, comma, "the list \"data\"")),
            None => return Ok(Opening::NeedsMore),
        };
    }
}

/// Columns and where the rows start, if `sample` is the start of a document; its member `meta` says them.
pub(crate) fn declared(
    kind: FormatKind,
    sample: &[u8],
) -> Result<Option<Vec<(String, ColumnType)>>, FormatError> {
    let wrong = |message: String| FormatError::new(ErrorCode::INCORRECT_DATA, message);
    let data = if kind == FormatKind::JsonColumnsWithMetadata { b'{' } else { b'[' };
    let meta = match opening(sample, 0, data).map_err(|error| wrong(error.message))? {
        Opening::Document { meta, .. } => meta,
        Opening::Bare => return Ok(None),
        Opening::NeedsMore => return Err(wrong("the document ends before its list \"data\"".to_owned())),
    };
    let columns = listed(meta)?.into_iter().map(|(name, of)| {
        let column_type =
            type_name::parse(&of).map_err(|error| wrong(error.to_string()).in_column(&*name))?;
        Ok((name, column_type))
    });
    columns.collect::<Result<_, FormatError>>().map(Some)
}

/// Names and types of the columns that `meta` lists, as they are written.
fn listed(meta: &[u8]) -> Result<Vec<(String, String)>, FormatError> {
    let not_columns = |_| {
        let message = format!("\"meta\" does not list columns: {}", excerpt(meta));
        FormatError::new(ErrorCode::INCORRECT_DATA, message)
    };
    let mut columns = Vec::new();
    let mut items = Items::new(meta, b'[', b']', Syntax::Json).map_err(not_columns)?;
    while let Some(item) = items.next().map_err(not_columns)? {
        let (mut name, mut of) = (String::new(), String::new());
        let mut members = Items::new(item, b'{', b'}', Syntax::Json).map_err(not_columns)?;
        while let Some((key, value)) = members.next_pair().map_err(not_columns)? {
            let mut scratch = Vec::new();
            let text = Cell { text: value, form: TextForm::Json }.content(&mut scratch)?;
            match key {
                b"\"name\"" => name = String::from_utf8_lossy(text).into_owned(),
                b"\"type\"" => of = String::from_utf8_lossy(text).into_owned(),
                _ => {}
            }
        }
        columns.push((name, of));
    }
    Ok(columns)
}

impl Asked {
    fn places(&self, meta: &[u8], at: usize) -> Result<Option<Places>, SplitError> {
        if self.names.is_empty() {
            return Ok(None);
        }
        let refused = |code: ErrorCode, message: String| SplitError { code, message, at, cell: 0 };
        let listed = listed(meta).map_err(|error| refused(error.code, error.message))?;
        let is_unknown = |name: &String| !self.names.contains(name);
        if !self.skip_unknown
            && let Some((name, _)) = listed.iter().find(|(name, _)| is_unknown(name))
        {
            let message = format!(
                "column \"{name}\" of \"meta\" is not among those that are read; with input_format_skip_unknown_fields = 1 \
                 it is passed over"
            );
            return Err(refused(ErrorCode::INCORRECT_DATA, message));
        }
        let place = |asked: &String| listed.iter().position(|(name, _)| name == asked);
        let of_asked = self.names.iter().map(place).collect();
        Ok(Some(Places { of_asked, written: listed.len() }))
    }
}

impl Places {
    /// The cells of one row, which are the last ones, in the order that is asked for.
    fn arrange(&self, cells: &mut Vec<Cell<'_>>, before: usize, at: usize) -> Result<(), SplitError> {
        let row = cells.split_off(before);
        if row.len() != self.written {
            let message = format!("row has {} columns, {} are in \"meta\"", row.len(), self.written);
            let code = ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED;
            return Err(SplitError { code, message, at, cell: row.len().min(self.written) });
        }
        let absent = Cell { text: b"", form: TextForm::Default };
        cells.extend(self.of_asked.iter().map(|place| place.map_or(absent, |place| row[place])));
        Ok(())
    }
}

impl<S> Document<S> {
    pub(crate) fn new(rows: S) -> Self {
        Self { rows, place: Place::Start, asked: Asked::default(), is_of_lists: false, places: None }
    }

    /// Of rows that are lists: `meta` says which column a value is of.
    pub(crate) fn of_lists<'n>(rows: S, names: impl Iterator<Item = &'n str>, skip_unknown: bool) -> Self {
        let asked = Asked { names: names.map(str::to_owned).collect(), skip_unknown };
        Self { asked, is_of_lists: true, ..Self::new(rows) }
    }

    /// The splitter of the rows, for text that turned out to be rows alone.
    pub(crate) fn into_rows(self) -> S {
        self.rows
    }
}

impl<S: SplitRows> SplitRows for Document<S> {
    fn row<'a>(
        &mut self,
        bytes: &'a [u8],
        at: usize,
        last: bool,
        cells: &mut Vec<Cell<'a>>,
    ) -> Result<RowEnd, SplitError> {
        let (before, mut at) = (self.place, at);
        if self.place == Place::Start {
            match opening(bytes, at, b'[')? {
                Opening::Document { rows, meta } => {
                    self.places = self.asked.places(meta, at)?;
                    self.place = Place::Rows;
                    at = rows;
                }
                Opening::Bare if self.is_of_lists && bytes.get(skip_space(bytes, at)) == Some(&b'{') => {
                    let message = format!("expected field \"meta\" first: {}", excerpt(&bytes[at..]));
                    let key = skip_space(bytes, skip_space(bytes, at) + 1);
                    let code = match bytes.get(key) {
                        Some(b'"') => ErrorCode::INCORRECT_DATA,
                        _ => ErrorCode::CANNOT_PARSE_QUOTED_STRING,
                    };
                    return Err(SplitError { code, message, at, cell: 0 });
                }
                Opening::Bare => self.place = Place::Bare,
                Opening::NeedsMore if last && skip_space(bytes, at) < bytes.len() => {
                    return Err(expected(bytes, at, "the list \"data\""));
                }
                Opening::NeedsMore if last => return Ok(RowEnd::Finished(bytes.len())),
                Opening::NeedsMore => return Ok(RowEnd::Incomplete),
            }
        }
        if self.place == Place::Rows {
            let mut next = skip_space(bytes, at);
            if bytes.get(next) == Some(&b',') {
                next = skip_space(bytes, next + 1);
            }
            match bytes.get(next) {
                Some(b']') => self.place = Place::End,
                None if last => return Err(expected(bytes, next, "a row or the end of \"data\"")),
                _ => {}
            }
        }
        if self.place == Place::End {
            return Ok(RowEnd::Finished(bytes.len()));
        }
        let known = cells.len();
        let end = self.rows.row(bytes, at, last, cells);
        if let (Ok(RowEnd::Row(_)), Some(places)) = (&end, &self.places) {
            places.arrange(cells, known, at)?;
        }
        // A row that is not complete is split again from where it started, the opening included.
        if matches!(end, Ok(RowEnd::Incomplete)) {
            self.place = before;
        }
        end
    }

    fn resume(&self, bytes: &[u8], at: usize) -> Option<usize> {
        resume_unescaped(bytes, at)
    }
}
