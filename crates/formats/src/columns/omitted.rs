//! Cells that ask for the default of their column, told beside the rows.
//!
//! Behind the columns of a schema may stand *omission columns*, each of one column whose default is more than its type's
//! zero. A reader that is given such a schema fills them: true where the data say nothing of a cell, because its field
//! is missing, or empty where that stands for none, or NULL where the column knows none. The cell itself is zero or
//! NULL then, and whoever knows the default puts it in.
//! Invariant: they stand behind all others, and a schema without them costs nothing. Must not know: expressions.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, BooleanBufferBuilder};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use model::type_arrow::to_field;
use model::{ColumnType, ErrorCode};

use crate::error::FormatError;
use crate::settings::JsonReading;
use crate::values::cell::{Cell, TextForm};

/// Names, in the metadata of an omission column, the column it is of.
const OF_KEY: &str = "gristmill.omissions_of";

/// The column that an omission column is of; `None` for any other.
pub fn column_of(field: &Field) -> Option<&String> {
    if *field.data_type() == DataType::Boolean { field.metadata().get(OF_KEY) } else { None }
}

/// What the omission column of a column is called.
pub fn omissions_name(column: &str) -> String {
    format!("_omitted({column})")
}

/// The omission column of a column.
pub fn omissions_of(column: &Field) -> Field {
    let mut field = to_field(&omissions_name(column.name()), &ColumnType::Bool);
    field.metadata_mut().insert(OF_KEY.to_owned(), column.name().clone());
    field
}

/// The schema with an omission column for each column that is chosen; as it is if none is.
pub fn with_omissions(schema: &SchemaRef, mut is_chosen: impl FnMut(&Field) -> bool) -> SchemaRef {
    let added: Vec<FieldRef> = schema
        .fields()
        .iter()
        .filter(|field| is_chosen(field))
        .map(|field| Arc::new(omissions_of(field)))
        .collect();
    if added.is_empty() {
        return Arc::clone(schema);
    }
    let fields: Vec<FieldRef> = schema.fields().iter().cloned().chain(added).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// Where a schema has its omission columns.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Omissions {
    /// Columns in front of them.
    pub width: usize,
    /// Of each omission column, in order, the place of the column it is of.
    pub columns: Vec<usize>,
}

impl Omissions {
    /// # Errors
    /// One stands without the column it is of, or in front of another column.
    pub fn of(schema: &Schema) -> Result<Omissions, FormatError> {
        let fields = schema.fields();
        let behind = fields.iter().rev().take_while(|field| column_of(field).is_some()).count();
        let width = fields.len() - behind;
        if behind == 0 {
            return Ok(Omissions { width, columns: Vec::new() });
        }
        let wrong = |field: &FieldRef| {
            FormatError::new(
                ErrorCode::LOGICAL_ERROR,
                format!("\"{}\" stands in a wrong place", field.name()),
            )
        };
        if let Some(field) = fields[..width].iter().find(|field| column_of(field).is_some()) {
            return Err(wrong(field));
        }
        let place = |field: &FieldRef| {
            let of = column_of(field);
            let found = fields[..width].iter().position(|column| Some(column.name()) == of);
            found.ok_or_else(|| wrong(field))
        };
        Ok(Omissions { width, columns: fields[width..].iter().map(place).collect::<Result<_, _>>()? })
    }

    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }
}

/// The schema without its omission columns, and where they stand.
pub fn without_omissions(schema: &SchemaRef) -> Result<(SchemaRef, Omissions), FormatError> {
    let omissions = Omissions::of(schema)?;
    if omissions.is_empty() {
        return Ok((Arc::clone(schema), omissions));
    }
    let fields: Vec<FieldRef> = schema.fields()[..omissions.width].to_vec();
    Ok((Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())), omissions))
}

/// Collects one omission column.
pub(crate) struct Asked {
    /// The builder of its column.
    column: usize,
    is_nullable: bool,
    /// Whether the settings let any cell ask.
    may_ask: bool,
    column_type: ColumnType,
    json: JsonReading,
    /// The cells of a row that are its column's: one, or the elements of a tuple, or none.
    cells: Vec<usize>,
    bits: BooleanBufferBuilder,
}

impl Asked {
    pub(crate) fn new(column: usize, column_type: &ColumnType, may_ask: bool, json: JsonReading) -> Self {
        Self {
            column,
            is_nullable: column_type.is_nullable(),
            may_ask,
            column_type: column_type.clone(),
            json,
            cells: Vec::new(),
            bits: BooleanBufferBuilder::new(0),
        }
    }

    /// Says to which builder each cell of a row goes.
    pub(crate) fn map_cells(&mut self, builders: impl Iterator<Item = Option<usize>>) {
        let own = builders.enumerate().filter(|(_, builder)| *builder == Some(self.column));
        self.cells = own.map(|(cell, _)| cell).collect();
    }

    /// Takes rows of `width` cells each, all of which could be read.
    pub(crate) fn append(&mut self, cells: &[Cell<'_>], width: usize) {
        let asks = |cell: &Cell<'_>| match cell.form {
            TextForm::Default => true,
            TextForm::Null => !self.is_nullable,
            _ => cell.is_empty_default(&self.column_type, self.json),
        };
        for row in cells.chunks_exact(width.max(1)) {
            let mut own = self.cells.iter().filter_map(|cell| row.get(*cell));
            self.bits.append(self.may_ask && own.all(asks));
        }
    }

    pub(crate) fn finish(&mut self) -> ArrayRef {
        Arc::new(BooleanArray::new(self.bits.finish(), None))
    }
}

/// The omission column of a column that the data bring as this array, or do not bring, if cells may ask at all.
pub fn asked_in(array: Option<&ArrayRef>, column: &Field, rows: usize, may_ask: bool) -> ArrayRef {
    let bits = match array {
        _ if !may_ask => BooleanBuffer::new_unset(rows),
        None => BooleanBuffer::new_set(rows),
        Some(array) => match array.logical_nulls().filter(|_| !column.is_nullable()) {
            Some(nulls) => !nulls.inner(),
            None => BooleanBuffer::new_unset(rows),
        },
    };
    Arc::new(BooleanArray::new(bits, None))
}
