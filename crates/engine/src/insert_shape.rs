//! What an INSERT with one list of columns needs to know about its table, worked out once for all statements that look
//! the same: a single row takes less time than working it out.
//!
//! Invariant: a shape belongs to one definition of the table and one list of columns.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use model::TableDef;
use model::type_arrow::to_field;

use crate::conform::{Conform, Defaults, insert_columns};
use crate::error::Error;

pub(crate) struct InsertShape {
    /// What readers of rows produce: the listed columns with their own types.
    pub reader: SchemaRef,
    pub conform: Arc<Conform>,
}

impl InsertShape {
    /// `columns` are those an INSERT lists, `None` for all insertable ones in order.
    pub(crate) fn new(
        def: &TableDef,
        columns: Option<&[String]>,
        defaults: &Defaults,
    ) -> Result<InsertShape, Error> {
        let listed = insert_columns(def, columns)?;
        let fields: Vec<_> =
            listed.iter().map(|column| to_field(&column.name, &column.column_type)).collect();
        let reader: SchemaRef = Arc::new(Schema::new(fields));
        let conform = Conform::new(def, columns, listed.len(), defaults)?.with_native(Arc::clone(&reader));
        Ok(InsertShape { reader, conform: Arc::new(conform) })
    }

    /// Values of a row.
    pub(crate) fn width(&self) -> usize {
        self.reader.fields().len()
    }
}
