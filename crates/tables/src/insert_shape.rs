//! What an INSERT with one list of columns needs to know about its table, worked out once for all statements that look
//! the same: a single row takes less time than working it out.
//!
//! Invariant: a shape belongs to one definition of the table and one list of columns.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use boundary::error::Error;
use formats::{Omissions, with_omissions};
use mergetree::Table;
use model::ColumnType;
use model::type_arrow::to_field;

use crate::conform::{Conform, Defaults, insert_columns};
use crate::constraints::Constraints;

pub struct InsertShape {
    /// What readers of rows produce: the listed columns with their own types, and behind them the omission columns of those
    /// that have a default.
    pub reader: SchemaRef,
    /// Where the omission columns stand.
    pub omissions: Omissions,
    pub types: Vec<ColumnType>,
    pub table: Arc<Table>,
    pub conform: Arc<Conform>,
}

impl InsertShape {
    /// `columns` are those an INSERT lists, `None` for all insertable ones in order.
    pub fn new(
        table: Table,
        columns: Option<&[String]>,
        defaults: &Defaults,
        constraints: Option<Arc<Constraints>>,
    ) -> Result<InsertShape, Error> {
        let def = &table.def;
        let listed = insert_columns(def, columns)?;
        let fields: Vec<_> =
            listed.iter().map(|column| to_field(&column.name, &column.column_type)).collect();
        let reader: SchemaRef = Arc::new(Schema::new(fields));
        let types = formats::types_of(&reader);
        let has_default = |name: &str| def.column(name).is_some_and(|column| column.default.is_some());
        let reader = with_omissions(&reader, |field| has_default(field.name()));
        let omissions = Omissions::of(&reader)?;
        let conform = Conform::new(def, columns, listed.len(), defaults)?.with_native(Arc::clone(&reader))?;
        let conform = conform.with_constraints(constraints);
        Ok(InsertShape { reader, omissions, types, table: Arc::new(table), conform: Arc::new(conform) })
    }

    /// Where the omission column of a column stands, if it has one.
    pub fn omissions_of(&self, column: usize) -> Option<usize> {
        let place = self.omissions.columns.iter().position(|of| *of == column)?;
        Some(self.omissions.width + place)
    }

    /// Values of a row.
    pub fn width(&self) -> usize {
        self.omissions.width
    }
}
