//! `_path`, `_file`, `_size`, `_time`, `_etag`: what is known of a row without reading its file.
//!
//! Invariant: a column of the file with the same name hides the virtual one; virtual columns are no part of `*`.
//! Must not know: how rows are read.

use datafusion::common::ScalarValue;
use model::ColumnType;

use crate::listing::SourceFile;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum VirtualColumn {
    Path,
    File,
    Size,
    Time,
    Etag,
}

impl VirtualColumn {
    pub const ALL: [VirtualColumn; 5] = [
        VirtualColumn::Path,
        VirtualColumn::File,
        VirtualColumn::Size,
        VirtualColumn::Time,
        VirtualColumn::Etag,
    ];

    pub fn name(self) -> &'static str {
        match self {
            VirtualColumn::Path => "_path",
            VirtualColumn::File => "_file",
            VirtualColumn::Size => "_size",
            VirtualColumn::Time => "_time",
            VirtualColumn::Etag => "_etag",
        }
    }

    pub fn by_name(name: &str) -> Option<VirtualColumn> {
        VirtualColumn::ALL.into_iter().find(|column| column.name() == name)
    }

    pub fn column_type(self) -> ColumnType {
        match self {
            VirtualColumn::Path | VirtualColumn::File | VirtualColumn::Etag => {
                ColumnType::LowCardinality(Box::new(ColumnType::String))
            }
            VirtualColumn::Size => ColumnType::UInt64.nullable(),
            VirtualColumn::Time => ColumnType::DateTime { time_zone: None }.nullable(),
        }
    }

    /// The value in every row of a file.
    pub(crate) fn value(self, file: &SourceFile) -> ScalarValue {
        match self {
            VirtualColumn::Path => ScalarValue::Utf8View(Some(file.path.clone())),
            VirtualColumn::File => ScalarValue::Utf8View(Some(file.file.clone())),
            VirtualColumn::Size => ScalarValue::UInt64(Some(file.bytes)),
            VirtualColumn::Time => {
                ScalarValue::TimestampSecond(file.modified.map(|modified| modified.timestamp()), None)
            }
            VirtualColumn::Etag => ScalarValue::Utf8View(Some(file.etag.clone().unwrap_or_default())),
        }
    }
}

#[cfg(test)]
mod tests {
    use model::type_arrow::to_data_type;

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
}
