//! JSON in which values stand column by column:
//!
//! ```text
//! JSONColumns              {"a": [1, 2], "b": ["x", "y"]}
//! JSONCompactColumns       [[1, 2], ["x", "y"]]
//! JSONColumnsWithMetadata  {"meta": [..], "data": {"a": [1, 2], ..}, "rows": 2, ..}
//! ```
//!
//! Invariant: nothing is split before all of the text is there; every column has as many values. Must not know: types.

use model::ErrorCode;

use crate::error::excerpt;
use crate::rows::json::each_row::no_key;
use crate::rows::split::{NamedRows, RowEnd, SplitError, SplitRows};
use crate::settings::FormatSettings;
use crate::values::cell::{Cell, Syntax, TextForm};
use model::format_kind::FormatKind;
use model::table_def::column_names::ColumnNames;
use scan::find::{ItemEnd, skip_space};

/// Splitter of values that stand column by column.
pub(crate) struct JsonColumns {
    kind: FormatKind,
    by_name: ColumnNames,
    width: usize,
    skip_unknown: bool,
    /// The next value of each column that is there; `None` before the text is looked at.
    columns: Option<Vec<Column>>,
    /// Behind the columns that are read: more of them may follow.
    behind: usize,
}

/// A list of values.
struct Column {
    /// Key in its quotes: where it stands.
    key: std::ops::Range<usize>,
    /// Which cell of a row it is; `None` where nobody asked for it.
    cell: Option<usize>,
    /// Where its next value stands, or the end of the list.
    next: usize,
}

fn wrong(bytes: &[u8], at: usize, wanted: &str) -> SplitError {
    let message = format!(
        "cannot parse JSON columns: expected {wanted} before: {}",
        excerpt(&bytes[at.min(bytes.len())..])
    );
    SplitError { code: ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED, message, at, cell: 0 }
}

/// The place of a byte that must come next.
fn expect(bytes: &[u8], at: usize, byte: u8) -> Result<usize, SplitError> {
    let at = skip_space(bytes, at);
    match bytes.get(at) {
        Some(found) if *found == byte => Ok(at + 1),
        _ => Err(wrong(bytes, at, &format!("'{}'", char::from(byte)))),
    }
}

fn value_end(bytes: &[u8], at: usize) -> Result<usize, SplitError> {
    match Syntax::Json.value_end(bytes, at) {
        ItemEnd::At(end) if end > at => Ok(end),
        _ => Err(wrong(bytes, at, "a value")),
    }
}

/// Calls `member` with every key and the place of its value; `member` gives the value's end.
fn members(
    bytes: &[u8],
    at: usize,
    mut member: impl FnMut(std::ops::Range<usize>, usize) -> Result<usize, SplitError>,
) -> Result<usize, SplitError> {
    let mut at = skip_space(bytes, expect(bytes, at, b'{')?);
    if bytes.get(at) == Some(&b'}') {
        return Ok(at + 1);
    }
    loop {
        if bytes.get(at).is_some_and(|byte| *byte != b'"') {
            return Err(no_key(bytes, at, 0));
        }
        let key = at..value_end(bytes, at)?;
        let value = skip_space(bytes, expect(bytes, key.end, b':')?);
        let end = skip_space(bytes, member(key, value)?);
        match bytes.get(end) {
            Some(b',') => at = skip_space(bytes, end + 1),
            Some(b'}') => return Ok(end + 1),
            _ => return Err(wrong(bytes, end, "',' or '}'")),
        }
    }
}

impl JsonColumns {
    pub(crate) fn new<'n>(
        kind: FormatKind,
        names: impl Iterator<Item = &'n str>,
        settings: &FormatSettings,
    ) -> Self {
        let names: Vec<&str> = names.collect();
        let width = names.len();
        let by_name = ColumnNames::new(names.into_iter(), settings.header.matching);
        Self { kind, by_name, width, skip_unknown: settings.skip_unknown_fields, columns: None, behind: 0 }
    }

    /// Where every list starts, of the columns that are read next.
    fn lists(&mut self, bytes: &[u8]) -> Result<Vec<Column>, SplitError> {
        let start = self.behind;
        let mut found = Vec::new();
        let mut list = |key: std::ops::Range<usize>, at: usize| {
            let next = skip_space(bytes, expect(bytes, at, b'[')?);
            found.push(Column { key, cell: None, next });
            value_end(bytes, at)
        };
        match self.kind {
            FormatKind::JsonCompactColumns => {
                let mut at = skip_space(bytes, expect(bytes, start, b'[')?);
                while bytes.get(at) != Some(&b']') {
                    at = skip_space(bytes, list(at..at, at)?);
                    match bytes.get(at) {
                        Some(b',') => at = skip_space(bytes, at + 1),
                        Some(b']') => {}
                        _ => return Err(wrong(bytes, at, "',' or ']'")),
                    }
                }
                self.behind = at + 1;
            }
            FormatKind::JsonColumnsWithMetadata => {
                let mut is_described = false;
                self.behind = members(bytes, start, |key, at| match &bytes[key] {
                    b"\"data\"" if is_described => members(bytes, at, &mut list),
                    b"\"meta\"" => {
                        is_described = true;
                        value_end(bytes, at)
                    }
                    _ if is_described => value_end(bytes, at),
                    other => {
                        let message = format!("expected field \"meta\", found {}", excerpt(other));
                        Err(SplitError { code: ErrorCode::INCORRECT_DATA, message, at, cell: 0 })
                    }
                })?;
            }
            _ => self.behind = members(bytes, start, &mut list)?,
        }
        Ok(found)
    }

    /// Whether more columns follow, as blocks that were written one after the other do.
    fn goes_on(&self, bytes: &[u8]) -> bool {
        matches!(bytes.get(skip_space(bytes, self.behind)), Some(b'{' | b'['))
    }

    /// The lists with the cells they are.
    fn open(&mut self, bytes: &[u8]) -> Result<Vec<Column>, SplitError> {
        let mut columns = self.lists(bytes)?;
        let mut taken = vec![false; self.width];
        for (place, column) in columns.iter_mut().enumerate() {
            let fail = |message: String| SplitError {
                code: ErrorCode::INCORRECT_DATA,
                message,
                at: column.key.start,
                cell: 0,
            };
            if self.kind == FormatKind::JsonCompactColumns {
                column.cell = Some(place).filter(|place| *place < self.width);
            } else {
                let (key, mut scratch) = (&bytes[column.key.clone()], Vec::new());
                let content = Cell { text: key, form: TextForm::Json }.content(&mut scratch);
                let name = content.map_err(|error| fail(error.message))?;
                column.cell = self.by_name.find(name).map_err(|ambiguous| fail(ambiguous.message(name)))?;
            }
            match column.cell {
                Some(cell) if std::mem::replace(&mut taken[cell], true) => {
                    return Err(fail(format!("column {} stands twice", excerpt(&bytes[column.key.clone()]))));
                }
                // Which of too many lists are meant nobody can say.
                None if self.width > 0
                    && (!self.skip_unknown || self.kind == FormatKind::JsonCompactColumns) =>
                {
                    let key = excerpt(&bytes[column.key.clone()]);
                    return Err(fail(format!("unknown column {key} in JSON columns")));
                }
                _ => {}
            }
        }
        columns.retain(|column| column.cell.is_some() || self.width == 0);
        Ok(columns)
    }
}

/// Takes one value of every list; `None` at their common end.
fn row<'a>(
    bytes: &'a [u8],
    columns: &mut [Column],
    mut value: impl FnMut(&Column, &'a [u8]),
) -> Result<Option<usize>, SplitError> {
    let at_end = |column: &Column| bytes.get(column.next) == Some(&b']');
    let ended = columns.iter().filter(|column| at_end(column)).count();
    if ended == columns.len() {
        return Ok(None);
    }
    if let Some(short) = columns.iter().find(|column| at_end(column)) {
        let message = "the columns have different numbers of values".to_owned();
        return Err(SplitError { code: ErrorCode::INCORRECT_DATA, message, at: short.next, cell: 0 });
    }
    let mut reached = 0;
    for column in columns {
        let end = value_end(bytes, column.next)?;
        value(column, &bytes[column.next..end]);
        let behind = skip_space(bytes, end);
        column.next = match bytes.get(behind) {
            Some(b',') => skip_space(bytes, behind + 1),
            Some(b']') => behind,
            _ => return Err(wrong(bytes, behind, "',' or ']'")),
        };
        reached = reached.max(end);
    }
    Ok(Some(reached))
}

impl SplitRows for JsonColumns {
    fn row<'a>(
        &mut self,
        bytes: &'a [u8],
        _at: usize,
        last: bool,
        cells: &mut Vec<Cell<'a>>,
    ) -> Result<RowEnd, SplitError> {
        if !last {
            return Ok(RowEnd::Incomplete);
        }
        if skip_space(bytes, 0) == bytes.len() {
            return Ok(RowEnd::Finished(bytes.len()));
        }
        let first = cells.len();
        loop {
            let mut columns = match self.columns.take() {
                Some(columns) => columns,
                None => self.open(bytes)?,
            };
            // Inference asks for no column by name, and gets all of them.
            let width = if self.width == 0 { columns.len() } else { self.width };
            cells.resize(first + width, Cell::DEFAULT);
            let mut place = 0;
            let end = row(bytes, &mut columns, |column, text| {
                if let Some(cell) = cells.get_mut(first + column.cell.unwrap_or(place)) {
                    *cell = Syntax::Json.cell(text);
                }
                place += 1;
            })?;
            if let Some(end) = end {
                self.columns = Some(columns);
                return Ok(RowEnd::Row(end));
            }
            cells.truncate(first);
            if !self.goes_on(bytes) {
                self.columns = Some(columns);
                return Ok(RowEnd::Finished(bytes.len()));
            }
        }
    }
}

impl NamedRows for JsonColumns {
    fn any_row<'a>(
        &mut self,
        bytes: &'a [u8],
        _at: usize,
        last: bool,
        members: &mut Vec<(Cell<'a>, Cell<'a>)>,
    ) -> Result<RowEnd, SplitError> {
        if !last {
            return Ok(RowEnd::Incomplete);
        }
        let mut columns = match self.columns.take() {
            Some(columns) => columns,
            None => self.lists(bytes)?,
        };
        let end = row(bytes, &mut columns, |column, text| {
            let key = Cell { text: &bytes[column.key.clone()], form: TextForm::Json };
            members.push((key, Syntax::Json.cell(text)));
        })?;
        self.columns = Some(columns);
        Ok(end.map_or(RowEnd::Finished(bytes.len()), RowEnd::Row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(kind: FormatKind, text: &str) -> Result<Vec<String>, String> {
        let mut splitter = JsonColumns::new(kind, ["a", "b"].into_iter(), &FormatSettings::default());
        let (mut found, mut at) = (Vec::new(), 0);
        loop {
            let mut cells = Vec::new();
            match splitter.row(text.as_bytes(), at, true, &mut cells).map_err(|error| error.message)? {
                RowEnd::Row(next) => at = next,
                _ => return Ok(found),
            }
            let shown = |cell: &Cell<'_>| String::from_utf8_lossy(cell.text).into_owned();
            found.push(cells.iter().map(shown).collect::<Vec<_>>().join(" "));
        }
    }

    #[test]
    fn columns_become_rows() {
        use FormatKind::{
            JsonColumns as Named, JsonColumnsWithMetadata as Described, JsonCompactColumns as Listed,
        };
        for (kind, text) in [
            (Named, r#"{"b": ["x" , "y"], "other": [3], "a": [1,2]}"#),
            (Listed, r#" [[1, 2], ["x", "y"]] "#),
            (Described, r#"{"meta": [], "data": {"a": [1, 2], "b": ["x","y"]}, "rows": 2}"#),
        ] {
            assert_eq!(rows(kind, text).unwrap(), ["1 \"x\"", "2 \"y\""], "{text}");
        }
        assert_eq!(rows(Named, r#"{"a": [1]}"#).unwrap(), ["1 "]);
        assert!(rows(Named, r#"{"a": [], "b": []}"#).unwrap().is_empty());
        assert!(rows(Named, r#"{"a": [1], "b": []}"#).unwrap_err().contains("different numbers"));
        assert!(rows(Named, r#"{"a": [1], "a": [2]}"#).unwrap_err().contains("twice"));
        assert!(rows(Named, r#"{"a": [1"#).is_err());
        assert!(rows(Named, r#"{"a": ["x""y"]}"#).unwrap_err().contains("expected ','"));
        assert!(rows(Listed, "[[1] [2]]").is_err());
        assert!(rows(Listed, "[[1], [2], [3]]").is_err());
        let blocks = r#"{"a": [1], "b": [2]} {"a": [], "b": []} {"b": [4], "a": [3]}"#;
        assert_eq!(rows(Named, blocks).unwrap(), ["1 2", "3 4"]);
    }
}
