//! Defaults of the columns of files: those that a structure gives them, and those that a table outside declares.
//!
//! Invariant: they are computed over the columns of the file alone, as the rows are read. Must not know: files, formats.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use boundary::error::Error;
use datafusion::execution::SessionState;
use formats::without_omissions;
use model::type_arrow::from_field;
use model::{ColumnDef, ColumnType, DefaultKind, RowExpr, TableDef, TableEngine, TableId};
use sources::{ColumnDefaults, Filling};

use crate::conform::{Conform, Defaults};
use crate::row_expr::compile;

/// See the module.
#[derive(Debug)]
pub struct SourceDefaults {
    def: TableDef,
    /// One for each column of the definition.
    defaults: Defaults,
}

impl SourceDefaults {
    /// `texts` are the defaults of some of the columns, by their names; `state` is the statement's.
    pub fn new(
        state: &SessionState,
        columns: &[(String, ColumnType)],
        texts: &[(String, String)],
    ) -> Result<SourceDefaults, Error> {
        let column = |(at, (name, column_type)): (usize, &(String, ColumnType))| {
            plain_column(at + 1, name, column_type.clone())
        };
        let mut columns: Vec<ColumnDef> = columns.iter().enumerate().map(column).collect();
        for (name, text) in texts {
            let wrong = |error: Error| error.in_context(&format!("in the DEFAULT of column {name}"));
            let parsed = sql::parse_expression(text).map_err(|error| wrong(error.into()))?;
            let stored = sql::stored_expr(&parsed, &columns).map_err(|error| wrong(error.into()))?;
            if let Some(column) = columns.iter_mut().find(|column| column.name.as_ref() == name) {
                column.default = Some((DefaultKind::Default, stored.into()));
            }
        }
        let def = def_of(columns);
        let compiled = |column: &ColumnDef| match &column.default {
            Some((_, text)) => compile(state, &def, text).map(|(default, _)| Some(default)),
            None => Ok(None),
        };
        let defaults = def.columns.iter().map(compiled).collect::<Result<_, _>>()?;
        Ok(SourceDefaults { def, defaults })
    }

    fn default(&self, column: &str) -> Option<&Arc<dyn RowExpr>> {
        let place = self.def.columns.iter().position(|known| known.name.as_ref() == column)?;
        self.defaults.get(place)?.as_ref()
    }

    /// A table of these columns, in their order.
    fn conform(&self, rows: &SchemaRef) -> Result<Conform, Error> {
        let (plain, _) = without_omissions(rows)?;
        let (mut columns, mut defaults) = (Vec::new(), Defaults::new());
        for field in plain.fields() {
            let known = self.def.columns.iter().find(|column| column.name.as_ref() == field.name());
            defaults.push(self.default(field.name()).cloned());
            columns.push(known.cloned().unwrap_or_else(|| {
                // One that the structure does not name, as the path of the file is.
                let id = self.def.columns.len() + columns.len() + 1;
                plain_column(id, field.name(), from_field(field))
            }));
        }
        let width = columns.len();
        Conform::new(&def_of(columns), None, width, &defaults)?.with_native(Arc::clone(rows))
    }
}

impl ColumnDefaults for SourceDefaults {
    fn has_default(&self, column: &str) -> bool {
        self.default(column).is_some()
    }

    fn needed(&self, column: &str) -> Vec<String> {
        let needed = self.default(column).map(|default| default.columns()).unwrap_or_default();
        let named = needed.iter().filter_map(|id| self.def.column_by_id(*id));
        named.map(|column| column.name.to_string()).collect()
    }

    fn filling(&self, rows: &SchemaRef) -> Result<Filling, String> {
        let conform = self.conform(rows).map_err(|error| error.to_string())?;
        Ok(Arc::new(move |batch: &RecordBatch| conform.apply(batch).map_err(|error| error.to_string())))
    }
}

/// Batches of `rows`, which has the omission columns of these defaults, with their defaults.
pub fn filled(
    defaults: &SourceDefaults,
    schema: &SchemaRef,
    rows: Vec<RecordBatch>,
) -> Result<Vec<RecordBatch>, Error> {
    let Some(first) = rows.first() else { return Ok(rows) };
    let conform = defaults.conform(&first.schema())?;
    let relabelled = |batch: &RecordBatch| {
        let columns = conform.apply(batch)?.columns().to_vec();
        RecordBatch::try_new(Arc::clone(schema), columns).map_err(|error| Error::internal(error.to_string()))
    };
    rows.iter().map(relabelled).collect()
}

fn plain_column(id: usize, name: &str, column_type: ColumnType) -> ColumnDef {
    ColumnDef::plain(u32::try_from(id).unwrap_or(u32::MAX), name, column_type)
}

fn def_of(columns: Vec<ColumnDef>) -> TableDef {
    TableDef::plain(TableId::from_random_bytes([0; 16]), "files", TableEngine::Null, columns)
}
