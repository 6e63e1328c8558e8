//! SQLInsert: statements that put the rows into a table.
//!
//! ```text
//! INSERT INTO table (`a`, `b`) VALUES (1, 'x'), (2, 'y');
//! ```
//! Invariant: a statement holds `output_format_sql_insert_max_batch_size` rows at most. Names are not escaped, as in ClickHouse.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::{Columns, OutputStats, RowWriter};
use crate::columns::text::Style;
use crate::error::FormatError;
use crate::settings::FormatSettings;

pub(super) struct SqlInsertWriter {
    settings: FormatSettings,
    columns: Columns,
    /// What a statement begins with.
    head: Vec<u8>,
    /// Of the statement that is open.
    rows: u64,
    any_row: bool,
}

impl SqlInsertWriter {
    pub(super) fn new(settings: &FormatSettings) -> Self {
        let settings = settings.clone();
        Self { settings, columns: Columns::default(), head: vec![], rows: 0, any_row: false }
    }
}

impl RowWriter for SqlInsertWriter {
    fn start(&mut self, schema: &SchemaRef, _: &mut Vec<u8>) -> Result<(), FormatError> {
        self.columns = Columns::of(schema);
        let written = &self.settings.sql_insert;
        let verb = if written.replaces { "REPLACE" } else { "INSERT" };
        let quote = if written.quotes_names { "`" } else { "" };
        let names: Vec<String> = self.columns.names.iter().map(|n| format!("{quote}{n}{quote}")).collect();
        let names = if written.names_columns { format!(" ({})", names.join(", ")) } else { String::new() };
        self.head = format!("{verb} INTO {}{names} VALUES ", written.table).into_bytes();
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let mut columns = self.columns.open(batch, &self.settings)?;
        for row in 0..batch.num_rows() {
            out.extend_from_slice(if self.rows == 0 { &self.head } else { b", " });
            out.push(b'(');
            for (at, column) in columns.iter_mut().enumerate() {
                if at > 0 {
                    out.extend_from_slice(b", ");
                }
                column.write(row, Style::Quoted, out);
            }
            out.push(b')');
            self.any_row = true;
            self.rows += 1;
            if self.rows >= self.settings.sql_insert.rows_max {
                self.rows = 0;
                out.extend_from_slice(b";\n");
            }
        }
        Ok(())
    }

    fn finish(&mut self, _: &OutputStats, out: &mut Vec<u8>) -> Result<(), FormatError> {
        if self.rows > 0 || !self.any_row {
            out.extend_from_slice(b";\n");
        }
        Ok(())
    }
}
