//! Columns whose cells may be left out by a file and have a default: told to whoever asks, or filled here.
//!
//! Rows are read with omission columns (`formats::with_omissions`) of the columns that need them, and with what their
//! defaults are computed from, whatever of that the scan wants; then they become the rows it wants.
//! Invariant: a scan that names no omission column, and no column with a default, is read as it is. Must not know: how
//! expressions are computed.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Field, FieldRef, Schema, SchemaRef};
use formats::{column_of, with_omissions};
use futures::stream::StreamExt;
use stores::error::{Result, SourceError, SourceErrorKind};

use crate::parquet::decode::BatchStream;

/// Makes rows with omission columns rows without them: cells that ask have their defaults.
pub type Filling = Arc<dyn Fn(&RecordBatch) -> std::result::Result<RecordBatch, String> + Send + Sync>;

/// The defaults of a source's columns.
pub trait ColumnDefaults: fmt::Debug + Send + Sync {
    fn has_default(&self, column: &str) -> bool;

    /// The columns that the default of a column is computed from.
    fn needed(&self, column: &str) -> Vec<String>;

    /// How rows of this schema are filled.
    ///
    /// # Errors
    /// A default that cannot be computed from these columns.
    fn filling(&self, rows: &SchemaRef) -> std::result::Result<Filling, String>;
}

/// How a scan's rows are made of those that are read.
pub(crate) struct Omitted {
    /// What is read.
    pub read: SchemaRef,
    output: SchemaRef,
    filling: Option<Filling>,
}

impl Omitted {
    /// `None` if `output` can be read as it is. `find` gives the columns of the source by their names.
    pub(crate) fn of<'f>(
        output: &SchemaRef,
        defaults: Option<&Arc<dyn ColumnDefaults>>,
        find: impl Fn(&str) -> Option<&'f Field>,
    ) -> Result<Option<Omitted>> {
        let fields = output.fields();
        let has_default = |name: &str| defaults.is_some_and(|defaults| defaults.has_default(name));
        let told: HashSet<&String> = fields.iter().filter_map(|field| column_of(field)).collect();
        if told.is_empty() && !fields.iter().any(|field| has_default(field.name())) {
            return Ok(None);
        }
        let mut names: Vec<String> = fields
            .iter()
            .filter(|field| column_of(field).is_none())
            .map(|field| field.name().clone())
            .collect();
        names.extend(
            told.iter().filter(|name| !names.contains(name)).map(|name| (*name).clone()).collect::<Vec<_>>(),
        );
        let mut at = 0;
        while let Some(name) = names.get(at).cloned() {
            let needed = defaults.map(|defaults| defaults.needed(&name)).unwrap_or_default();
            for needed in needed {
                if !names.contains(&needed) {
                    names.push(needed);
                }
            }
            at += 1;
        }
        let missing = |name: &String| {
            let message = format!("a default needs the column \"{name}\", which the source does not have");
            SourceError::bad_arguments(message)
        };
        let columns: Vec<FieldRef> = names
            .iter()
            .map(|name| find(name).map(|field| Arc::new(field.clone())).ok_or_else(|| missing(name)))
            .collect::<Result<_>>()?;
        let columns: SchemaRef = Arc::new(Schema::new(columns));
        let read = with_omissions(&columns, |field| told.contains(field.name()) || has_default(field.name()));
        let fills = names.iter().any(|name| has_default(name));
        let filling = match defaults.filter(|_| fills) {
            Some(defaults) => Some(defaults.filling(&read).map_err(SourceError::bad_arguments)?),
            None => None,
        };
        Ok(Some(Omitted { read, output: Arc::clone(output), filling }))
    }

    /// The rows that the scan wants.
    pub(crate) fn stream(self, rows: BatchStream) -> BatchStream {
        rows.map(move |batch| self.rows(&batch?)).boxed()
    }

    fn rows(&self, read: &RecordBatch) -> Result<RecordBatch> {
        let failed = |message: String| SourceError::new(SourceErrorKind::BadValue, message);
        let filled = match &self.filling {
            Some(filling) => &filling(read).map_err(failed)?,
            None => read,
        };
        let mut columns = Vec::with_capacity(self.output.fields().len());
        for field in self.output.fields() {
            let column = filled.column_by_name(field.name()).or_else(|| read.column_by_name(field.name()));
            let column = column.ok_or_else(|| failed(format!("column \"{}\" was not read", field.name())))?;
            columns.push(Arc::clone(column));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(read.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.output), columns, &options)
            .map_err(|error| failed(error.to_string()))
    }
}
