//! Text to typed columns: one builder per column, for every `ColumnType`.
//!
//! Invariant: after k successful appends the builder holds k rows; the finished array has the layout
//! `type_arrow::to_data_type` gives. After an error inside a nested value the builder must be dropped.
//! Must not know: where cells come from.

mod bare;
mod refusal;
mod store;

mod nested;
mod truth;

mod csv;
mod column;
mod texts;
mod parse;

use std::sync::Arc;

use arrow::array::{ArrayRef, NullBufferBuilder};
use model::{ColumnType, ErrorCode, Value};

use crate::error::{FormatError, ValueError, excerpt};
use crate::settings::{DateTimeInput, FormatSettings, JsonReading};
use crate::values::cell::{Cell, TextForm};
use model::calendar::zone::Zone;
pub(crate) use refusal::{Manner, omitted};
use store::Store;

/// What the readers of values need to know of the settings.
#[derive(Clone, Debug)]
pub(crate) struct BuilderOptions {
    pub(crate) null_as_default: bool,
    pub(crate) defaults_for_omitted_fields: bool,
    pub(crate) time_input: DateTimeInput,
    /// Words for true and false besides the usual ones.
    pub(crate) bool_words: (Arc<str>, Arc<str>),
    pub(crate) time_zone: Arc<str>,
    /// Enums are given by their numbers alone.
    pub(crate) enums_as_numbers: bool,
    /// Cells are those of CSV: values that are no text may stand in single quotes, and arrays without brackets.
    pub(crate) is_csv: bool,
    /// Lists are CSV of their own.
    pub(crate) lists_nested: bool,
    /// What cannot be read is the default.
    pub(crate) bad_as_default: bool,
    pub(crate) manner: Manner,
    pub(crate) json: JsonReading,
}

impl From<&FormatSettings> for BuilderOptions {
    fn from(settings: &FormatSettings) -> Self {
        Self {
            null_as_default: settings.null_as_default,
            defaults_for_omitted_fields: settings.defaults_for_omitted_fields,
            time_input: settings.date_time_input,
            bool_words: (settings.bool_true.as_str().into(), settings.bool_false.as_str().into()),
            time_zone: settings.time_zone.as_str().into(),
            enums_as_numbers: false,
            is_csv: false,
            lists_nested: false,
            bad_as_default: false,
            manner: Manner::Plain,
            json: settings.json,
        }
    }
}

/// Which of the cells given to [`TypedColumnBuilder::append_cells`] failed, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CellError {
    /// From 0.
    pub index: usize,
    pub error: ValueError,
}

/// Collects the values of one column.
#[derive(Debug)]
pub struct TypedColumnBuilder {
    column_type: ColumnType,
    options: BuilderOptions,
    /// Absent for a column that is not Nullable.
    nulls: Option<NullBufferBuilder>,
    store: Store,
    scratch: Vec<u8>,
    /// Rows of the last array: as many are made room for at once when the next begins.
    rows_expected: usize,
}

impl TypedColumnBuilder {
    /// A builder with ClickHouse's default settings and UTC.
    pub fn new(column_type: &ColumnType) -> Result<Self, FormatError> {
        Self::with_settings(column_type, &FormatSettings::default())
    }

    /// An unknown time zone is the only error.
    pub fn with_settings(column_type: &ColumnType, settings: &FormatSettings) -> Result<Self, FormatError> {
        Self::with_options(column_type, &BuilderOptions::from(settings))
    }

    pub(crate) fn with_options(
        column_type: &ColumnType,
        options: &BuilderOptions,
    ) -> Result<Self, FormatError> {
        Ok(Self {
            column_type: column_type.clone(),
            options: options.clone(),
            nulls: column_type.is_nullable().then(|| NullBufferBuilder::new(0)),
            store: Store::new(column_type.value_type(), options)?,
            scratch: Vec::new(),
            rows_expected: 0,
        })
    }

    pub fn column_type(&self) -> &ColumnType {
        &self.column_type
    }

    /// Rows appended since the start or the last `finish`.
    pub fn len(&self) -> usize {
        self.store.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads one value; the error says what could not be read and as which type.
    pub fn append_text(&mut self, text: &[u8], form: TextForm) -> Result<(), ValueError> {
        self.append_cells(std::iter::once(Cell { text, form }), "").map_err(|failed| failed.error)
    }

    pub fn append_default(&mut self) {
        if let Some(nulls) = &mut self.nulls {
            nulls.append(false);
        }
        self.store.push_default();
    }

    /// NULL, or what the settings make of it for a column that is not Nullable.
    pub fn append_null(&mut self) -> Result<(), ValueError> {
        self.append_text(&[], TextForm::Null)
    }

    /// A scalar; its kind must be the one `model::Value` documents for the column's layout.
    pub fn append_value(&mut self, value: &Value) -> Result<(), ValueError> {
        if *value == Value::Null {
            return self.append_null();
        }
        if !self.store.push_value(value) {
            let message = format!("value {value:?} does not fit type {}", self.column_type);
            return Err(ValueError::new(ErrorCode::TYPE_MISMATCH, message));
        }
        if let Some(nulls) = &mut self.nulls {
            nulls.append(true);
        }
        Ok(())
    }

    /// Keeps the first `rows` rows. What an error inside a nested value left behind goes with the others.
    pub(crate) fn truncate(&mut self, rows: usize) {
        if let Some(nulls) = &mut self.nulls {
            nulls.truncate(rows);
        }
        self.store.truncate(rows);
    }

    /// A builder of the same type and settings without rows.
    pub(crate) fn empty_twin(&self) -> Result<Self, FormatError> {
        Self::with_options(&self.column_type, &self.options)
    }

    /// The rows so far as an array; the builder is empty again.
    pub fn finish(&mut self) -> Result<ArrayRef, FormatError> {
        self.rows_expected = self.len();
        let nulls = self.nulls.as_mut().and_then(NullBufferBuilder::finish);
        self.store
            .finish(nulls)
            .map_err(|error| FormatError::new(ErrorCode::LOGICAL_ERROR, error.to_string()))
    }

    /// Children of a tuple, which CSV holds in cells of their own; `None` for other types.
    pub(crate) fn tuple_children(&mut self) -> Option<&mut [TypedColumnBuilder]> {
        match &mut self.store {
            Store::Tuple { children, .. } => Some(children),
            _ => None,
        }
    }

    /// Default for every row that a tuple's children have and the tuple has not yet counted.
    pub(crate) fn count_tuple_rows(&mut self) {
        if let Store::Tuple { children, rows, .. } = &mut self.store {
            children.iter_mut().for_each(TypedColumnBuilder::count_tuple_rows);
            *rows = children.first().map_or(*rows, TypedColumnBuilder::len);
        }
    }

    /// Reads a run of values, the hot path of every text format: one dispatch on the type per run. Cells that lie within `plain`
    /// are known to be text that carries no other bytes.
    pub fn append_cells<'a>(
        &mut self,
        cells: impl Iterator<Item = Cell<'a>>,
        plain: &str,
    ) -> Result<(), CellError> {
        let column = column::Column {
            plain,
            column_type: &self.column_type,
            options: &self.options,
            nulls: &mut self.nulls,
            scratch: &mut self.scratch,
            rows_expected: self.rows_expected,
        };
        parse::append(column, &mut self.store, cells)
    }
}

/// The error of a value that is not of its type.
pub(crate) fn unreadable(column_type: &ColumnType, text: &[u8]) -> ValueError {
    let (code, what) = match column_type.value_type() {
        ColumnType::Bool => (ErrorCode::CANNOT_PARSE_BOOL, "cannot read"),
        ColumnType::Uuid => (ErrorCode::CANNOT_PARSE_UUID, "cannot read"),
        ColumnType::Ipv4 => (ErrorCode::CANNOT_PARSE_IPV4, "cannot read"),
        ColumnType::Ipv6 => (ErrorCode::CANNOT_PARSE_IPV6, "cannot read"),
        ColumnType::Date | ColumnType::Date32 => (ErrorCode::CANNOT_PARSE_DATE, "cannot read"),
        ColumnType::DateTime { .. } | ColumnType::DateTime64 { .. } => {
            (ErrorCode::CANNOT_PARSE_DATETIME, "cannot read")
        }
        ColumnType::Enum8(_) | ColumnType::Enum16(_) => {
            (ErrorCode::UNKNOWN_ELEMENT_OF_ENUM, "unknown enum element")
        }
        ColumnType::Float32 | ColumnType::Float64 => (ErrorCode::CANNOT_PARSE_NUMBER, "cannot read"),
        ColumnType::Array(_) => (ErrorCode::CANNOT_READ_ARRAY_FROM_TEXT, "cannot read"),
        _ => (ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED, "cannot read"),
    };
    ValueError::new(code, format!("{what} \"{}\" as {column_type}", excerpt(text)))
}

/// Reads one value of any type: `text` as it stands in a TSV or CSV cell, or as a literal, by `form`. One row.
pub fn parse_value(
    text: &[u8],
    form: TextForm,
    column_type: &ColumnType,
    settings: &FormatSettings,
) -> Result<ArrayRef, FormatError> {
    let mut builder = TypedColumnBuilder::with_settings(column_type, settings)?;
    builder.append_text(text, form)?;
    builder.finish()
}

/// Zone of a time column: its own, else the session's.
fn zone_of(own: Option<&Arc<str>>, options: &BuilderOptions) -> Result<Zone, FormatError> {
    let name = own.unwrap_or(&options.time_zone);
    Zone::named(name)
        .ok_or_else(|| FormatError::new(ErrorCode::TYPE_MISMATCH, format!("unknown time zone \"{name}\"")))
}

#[cfg(test)]
mod tests;
