//! `_path`, `_file`, `_size`, `_time`, `_etag`, `_tags`, `_headers`, and partitions in paths: what is known of a row without
//! reading its file. `_row_number` is the one that whoever reads the file has to count.
//!
//! Invariant: a column of the file with the same name hides the virtual one; virtual columns are no part of `*`.
//! Must not know: how rows are read.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int64Array, MapArray, StringViewArray, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use datafusion::common::ScalarValue;
use model::ColumnType;
use model::type_arrow::{to_data_type, to_field};
use stores::error::{Result, SourceError};
use stores::files::listing::SourceFile;
use stores::keys::hive::{self, HiveColumn};
use stores::requests::facts::Pairs;

use crate::schema::conform::{Place, conform};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum VirtualColumn {
    Path,
    File,
    Size,
    Time,
    Etag,
    /// Of an object in a bucket; empty elsewhere.
    Tags,
    /// Of the answer that a page came with; only pages have it.
    Headers,
    /// Of the row in its file, the first being 0.
    RowNumber,
}

impl VirtualColumn {
    pub const ALL: [VirtualColumn; 8] = [
        VirtualColumn::Path,
        VirtualColumn::File,
        VirtualColumn::Size,
        VirtualColumn::Time,
        VirtualColumn::Etag,
        VirtualColumn::Tags,
        VirtualColumn::RowNumber,
        VirtualColumn::Headers,
    ];

    pub fn name(self) -> &'static str {
        match self {
            VirtualColumn::Path => "_path",
            VirtualColumn::File => "_file",
            VirtualColumn::Size => "_size",
            VirtualColumn::Time => "_time",
            VirtualColumn::Etag => "_etag",
            VirtualColumn::Tags => "_tags",
            VirtualColumn::Headers => "_headers",
            VirtualColumn::RowNumber => "_row_number",
        }
    }

    pub fn by_name(name: &str) -> Option<VirtualColumn> {
        VirtualColumn::ALL.into_iter().find(|column| column.name() == name)
    }

    pub fn column_type(self) -> ColumnType {
        let low = || Box::new(ColumnType::LowCardinality(Box::new(ColumnType::String)));
        match self {
            VirtualColumn::Tags => {
                ColumnType::Map(Box::new(ColumnType::String), Box::new(ColumnType::String))
            }
            VirtualColumn::Headers => ColumnType::Map(low(), low()),
            VirtualColumn::Path | VirtualColumn::File | VirtualColumn::Etag => {
                ColumnType::LowCardinality(Box::new(ColumnType::String))
            }
            VirtualColumn::Size => ColumnType::UInt64.nullable(),
            VirtualColumn::RowNumber => ColumnType::Int64.nullable(),
            VirtualColumn::Time => ColumnType::DateTime { time_zone: None }.nullable(),
        }
    }

    /// The value in every row of a file; NULL where rows differ.
    pub(crate) fn value(self, file: &SourceFile) -> ScalarValue {
        match self {
            VirtualColumn::Path => ScalarValue::Utf8View(Some(file.path.clone())),
            VirtualColumn::File => ScalarValue::Utf8View(Some(file.file.clone())),
            VirtualColumn::Size => ScalarValue::UInt64(Some(file.bytes)),
            VirtualColumn::Time => {
                ScalarValue::TimestampSecond(file.modified.map(|modified| modified.timestamp()), None)
            }
            VirtualColumn::Etag => ScalarValue::Utf8View(Some(file.etag.clone().unwrap_or_default())),
            VirtualColumn::Tags => pairs(&self.column_type(), file.tags.as_deref()),
            VirtualColumn::Headers => pairs(&self.column_type(), file.headers.as_deref()),
            VirtualColumn::RowNumber => ScalarValue::Int64(None),
        }
    }
}

/// One map of texts.
fn pairs(map: &ColumnType, pairs: Option<&Pairs>) -> ScalarValue {
    let of = |text: fn(&(String, String)) -> &str| -> ArrayRef {
        Arc::new(StringViewArray::from_iter_values(pairs.into_iter().flatten().map(text)))
    };
    let columns = vec![of(|(name, _)| name), of(|(_, value)| value)];
    let count = i32::try_from(columns[0].len()).unwrap_or(0);
    let data_type = to_data_type(map);
    let made = match &data_type {
        DataType::Map(entries, sorted) => match entries.data_type() {
            DataType::Struct(fields) => {
                StructArray::try_new(fields.clone(), columns, None).and_then(|values| {
                    let offsets = OffsetBuffer::new(vec![0, count].into());
                    MapArray::try_new(Arc::clone(entries), offsets, values, None, *sorted)
                })
            }
            other => Err(ArrowError::SchemaError(format!("a map of {other}"))),
        },
        other => Err(ArrowError::SchemaError(format!("{other} is no map"))),
    };
    // Both columns are as long as each other and of the map's types, so there is a map.
    made.map_or(ScalarValue::Null, |map| ScalarValue::Map(Arc::new(map)))
}

/// A column that is not stored in files; but for row numbers it has one value in all rows of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum FileColumn {
    Virtual(VirtualColumn),
    Hive(HiveColumn),
}

impl FileColumn {
    pub(crate) fn name(&self) -> &str {
        match self {
            FileColumn::Virtual(column) => column.name(),
            FileColumn::Hive(column) => &column.name,
        }
    }

    pub(crate) fn column_type(&self) -> ColumnType {
        match self {
            FileColumn::Virtual(column) => column.column_type(),
            FileColumn::Hive(column) => column.column_type.clone(),
        }
    }

    /// Whether rows of one file differ in it.
    pub(crate) fn counts_rows(&self) -> bool {
        *self == FileColumn::Virtual(VirtualColumn::RowNumber)
    }

    /// # Errors
    /// The path's text does not fit the type the column was given.
    pub(crate) fn value(&self, file: &SourceFile) -> Result<ScalarValue> {
        let column = match self {
            FileColumn::Virtual(column) => return Ok(column.value(file)),
            FileColumn::Hive(column) => column,
        };
        let text: ArrayRef =
            Arc::new(StringViewArray::from_iter([hive::value_of(&file.path, &column.name)?]));
        let field = to_field(&column.name, &column.column_type);
        let typed = conform(&text, &field, Place { file: &file.path, column: &column.name })?;
        ScalarValue::try_from_array(&typed, 0)
            .map_err(|error| SourceError::bad_arguments(format!("partition \"{}\": {error}", column.name)))
    }

    /// The value in each of `rows` rows, of which the first has the number `first` in its file.
    pub(crate) fn values(&self, file: &SourceFile, first: u64, rows: usize) -> Result<ArrayRef> {
        if self.counts_rows() {
            let numbers = (first..).map(|number| i64::try_from(number).unwrap_or(i64::MAX));
            return Ok(Arc::new(Int64Array::from_iter_values(numbers.take(rows))));
        }
        let value = self.value(file)?;
        value
            .to_array_of_size(rows)
            .map_err(|error| SourceError::corrupt(&file.path, format!("column \"{}\": {error}", self.name())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_layout_of_their_column() {
        let file = SourceFile {
            key: "a/x.csv".to_owned(),
            path: "b/a/x.csv".to_owned(),
            file: "x.csv".to_owned(),
            bytes: 7,
            modified: None,
            etag: None,
            headers: None,
            tags: None,
            unwrapped: None,
        };
        for column in VirtualColumn::ALL {
            assert_eq!(VirtualColumn::by_name(column.name()), Some(column));
            assert_eq!(
                column.value(&file).data_type(),
                to_data_type(&column.column_type()),
                "{}",
                column.name()
            );
        }
    }

    #[test]
    fn partitions_have_the_type_they_are_given() {
        let file = |path: &str| SourceFile {
            key: path.to_owned(),
            path: path.to_owned(),
            file: "f".to_owned(),
            bytes: 1,
            modified: None,
            etag: None,
            headers: None,
            tags: None,
            unwrapped: None,
        };
        for (path, type_name, shown) in [
            ("n=02/f", "Int64", Some("2")),
            ("n=02/f", "LowCardinality(String)", Some("02")),
            ("n=2024-01-02/f", "Date", Some("2024-01-02")),
            ("n=__HIVE_DEFAULT_PARTITION__/f", "Nullable(Int64)", Some("NULL")),
            ("n=300/f", "UInt8", None),
            ("n=x/f", "Int64", None),
        ] {
            let column_type = model::type_name::parse(type_name).unwrap();
            let column =
                FileColumn::Hive(HiveColumn { name: "n".to_owned(), column_type: column_type.clone() });
            let value = column.value(&file(path));
            assert_eq!(value.as_ref().ok().map(ToString::to_string).as_deref(), shown, "{path} {type_name}");
            if let Ok(value) = value {
                assert_eq!(value.data_type(), to_data_type(&column_type), "{path} {type_name}");
            }
        }
    }
}
