//! INSERT ... FROM INFILE: as INSERT SELECT from `file()` in the columns that the INSERT fills.
//!
//! Pure. Invariant: the rest of the engine sees a SELECT and no file, so rows of files have one way in. The SELECT names the
//! omission columns of columns with a default, which say which fields a file leaves out. Must not know: files.

use boundary::error::{Error, ErrorKind};
use formats::{FormatKind, omissions_name};
use model::{ColumnDef, ColumnType, ErrorCode, TableDef};
use sql::escape::{quote_name, quote_text};
use sql::{Insert, InsertSource, Statement};
use stores::codecs::compression::Compression;

use tables::conform::insert_columns;

/// The INSERT as it runs into `def`: FROM INFILE became a SELECT.
pub fn as_select(insert: &Insert, def: &TableDef) -> Result<Insert, Error> {
    if !is_infile(insert) {
        return Ok(insert.clone());
    }
    let columns = insert_columns(def, insert.columns.as_deref())?;
    let columns: Vec<Filled> = columns.iter().map(Filled::of).collect();
    with_select(insert, &columns)
}

/// Whether the rows of an INSERT are in files that it names by FROM INFILE.
pub fn is_infile(insert: &Insert) -> bool {
    matches!(insert.source, InsertSource::Infile { .. })
}

/// [`as_select`] for a target that is no table of ours.
pub fn as_select_of(insert: &Insert, columns: &[(String, ColumnType)]) -> Result<Insert, Error> {
    let listed = |(name, column_type): &(String, ColumnType)| Filled {
        name: name.clone(),
        column_type: column_type.clone(),
        has_default: false,
    };
    let columns: Vec<Filled> = match &insert.columns {
        None => columns.iter().map(listed).collect(),
        Some(names) => {
            let find = |name: &String| columns.iter().find(|(column, _)| column == name).map(listed);
            let missing = |name: &str| {
                Error::new(
                    ErrorKind::UnknownObject,
                    ErrorCode::NO_SUCH_COLUMN_IN_TABLE,
                    format!("no such column {name} in the structure"),
                )
            };
            names.iter().map(|name| find(name).ok_or_else(|| missing(name))).collect::<Result<_, _>>()?
        }
    };
    with_select(insert, &columns)
}

/// A column that the file's rows fill.
struct Filled {
    name: String,
    column_type: ColumnType,
    /// Whether something stands for a field that is not there.
    has_default: bool,
}

impl Filled {
    fn of(column: &ColumnDef) -> Filled {
        let has_default = column.default.is_some();
        Filled { name: column.name.to_string(), column_type: column.column_type.clone(), has_default }
    }

    fn declared(&self) -> String {
        format!("{} {}", quote_name(&self.name), self.column_type)
    }
}

fn with_select(insert: &Insert, columns: &[Filled]) -> Result<Insert, Error> {
    let InsertSource::Infile { path, compression, format } = &insert.source else {
        return Ok(insert.clone());
    };
    let format = match format {
        Some(name) => name.clone(),
        None => format_of(path)?,
    };
    let declared: Vec<String> = columns.iter().map(Filled::declared).collect();
    let mut selected: Vec<String> = columns.iter().map(|column| quote_name(&column.name)).collect();
    // Which of its cells a file leaves out, for the defaults of the table.
    let asked = columns.iter().filter(|column| column.has_default);
    selected.extend(asked.map(|column| quote_name(&omissions_name(&column.name))));
    let text = format!(
        "SELECT {} FROM file({}, {}, {}, {})",
        selected.join(", "),
        quote_text(path),
        quote_text(&format),
        quote_text(&declared.join(", ")),
        quote_text(compression.as_deref().unwrap_or("auto")),
    );
    match sql::parse_one(&text)?.statement {
        Statement::Query(query) => Ok(Insert { source: InsertSource::Select(query), ..insert.clone() }),
        _ => Err(Error::internal("FROM INFILE became no SELECT")),
    }
}

/// ClickHouse looks at the name alone here, never into the file.
fn format_of(path: &str) -> Result<String, Error> {
    let plain = Compression::by_suffix(path).1;
    let found = FormatKind::of_file_name(plain).filter(|format| format.is_input());
    found.map(|format| format.name().to_owned()).ok_or_else(|| {
        Error::new(
            ErrorKind::BadInput,
            ErrorCode::BAD_ARGUMENTS,
            format!("the name of file \"{path}\" tells no format"),
        )
        .with_hint("add FORMAT and the format's name")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, columns: &[Filled]) -> Result<String, Error> {
        let Statement::Insert(insert) = sql::parse_one(text)?.statement else { panic!("no INSERT: {text}") };
        match with_select(&insert, columns)?.source {
            InsertSource::Select(query) => Ok(query.ast.to_string()),
            other => panic!("{other:?}"),
        }
    }

    fn columns() -> [Filled; 2] {
        let filled =
            |name: &str, column_type, has_default| Filled { name: name.to_owned(), column_type, has_default };
        [filled("a", ColumnType::UInt8, false), filled("the b", ColumnType::String, true)]
    }

    #[test]
    fn a_file_is_read_in_the_columns_it_fills() {
        for (text, wanted) in [
            ("INSERT INTO t FROM INFILE 'x.csv'", ["file('x.csv', 'CSV', 'a UInt8", "'auto')"]),
            ("INSERT INTO t FROM INFILE 'x*.tsv.gz'", ["file('x*.tsv.gz', 'TabSeparated'", "'auto')"]),
            (
                "INSERT INTO t FROM INFILE 'x' COMPRESSION 'zstd' FORMAT Values",
                ["file('x', 'Values'", "'zstd')"],
            ),
            (
                "INSERT INTO t FROM INFILE 'x' FORMAT CSV",
                ["`the b`, `_omitted(the b)` FROM", "`the b` String"],
            ),
        ] {
            let select = read(text, &columns()).unwrap();
            for part in wanted {
                assert!(select.contains(part), "{text}: {select}");
            }
        }
    }

    #[test]
    fn a_name_that_tells_no_format_is_an_error() {
        let error = read("INSERT INTO t FROM INFILE 'noext'", &columns()).unwrap_err();
        assert_eq!(error.code.number(), 36);
        assert!(error.message.contains("noext"));
    }
}
