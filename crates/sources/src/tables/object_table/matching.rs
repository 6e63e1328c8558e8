//! Which files of a table may hold rows that filters leave, by what is known of files without a request.
//!
//! Invariant: a filter that looks at a stored column leaves every file. Must not know: bounds of columns.

use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::datatypes::Schema;
use datafusion::common::{DataFusionError, ScalarValue};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::collect_columns;
use stores::error::{Result, SourceError};

use super::ObjectTable;
use crate::schema::virtual_columns::FileColumn;

impl ObjectTable {
    /// Files for which the filters that use virtual columns alone are true; no request is made.
    pub(crate) fn files_matching(&self, filters: &[Arc<dyn PhysicalExpr>]) -> Result<Vec<usize>> {
        let files = &self.source.files;
        let about_files: Vec<&Arc<dyn PhysicalExpr>> = filters
            .iter()
            .filter(|filter| {
                let columns = collect_columns(filter);
                !columns.is_empty()
                    && columns.iter().all(|column| self.file_constant(column.name()).is_some())
            })
            .collect();
        if about_files.is_empty() || files.is_empty() {
            return Ok((0..files.len()).collect());
        }
        let batch = self.file_rows()?;
        let broken = |error: DataFusionError| match SourceError::find(&error) {
            Some(ours) => ours.clone(),
            None => SourceError::bad_arguments(format!("a filter on files cannot be evaluated: {error}")),
        };
        let mut keep = vec![true; files.len()];
        for filter in about_files {
            let answer =
                filter.evaluate(&batch).and_then(|value| value.into_array(files.len())).map_err(broken)?;
            let Some(answer) = answer.as_any().downcast_ref::<BooleanArray>() else { continue };
            keep.iter_mut().zip(answer).for_each(|(keep, answer)| *keep &= answer == Some(true));
        }
        Ok((0..files.len()).filter(|i| keep[*i]).collect())
    }

    /// One row per file: NULLs for the file's own columns, and the virtual ones.
    fn file_rows(&self) -> Result<RecordBatch> {
        let broken = |error: String| SourceError::bad_arguments(format!("a filter on files failed: {error}"));
        let rows = self.source.files.len();
        let mut columns = Vec::new();
        let mut fields = Vec::new();
        for field in self.schema.fields() {
            fields.push(Arc::new(field.as_ref().clone().with_nullable(true)));
            let Some(column) = self.file_constant(field.name()) else {
                columns.push(arrow::array::new_null_array(field.data_type(), rows));
                continue;
            };
            let values: Vec<_> =
                self.source.files.iter().map(|file| column.value(file)).collect::<Result<_>>()?;
            let array = ScalarValue::iter_to_array(values);
            columns.push(array.map_err(|error| broken(error.to_string()))?);
        }
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
            .map_err(|error| broken(error.to_string()))
    }

    /// A column that has one value in all rows of a file.
    pub(super) fn file_constant(&self, name: &str) -> Option<&FileColumn> {
        self.constant(name).filter(|column| !column.counts_rows())
    }

    /// Whether the numbers of rows are among these columns: then a file is read from its beginning, in order.
    pub(crate) fn counts_rows(&self, projection: Option<&[usize]>) -> bool {
        let counts = |name: &str| self.constant(name).is_some_and(FileColumn::counts_rows);
        match projection {
            Some(positions) => positions.iter().any(|at| counts(self.schema.field(*at).name())),
            None => self.constants.iter().any(FileColumn::counts_rows),
        }
    }

    /// [`Self::counts_rows`] of batches of this schema.
    pub(super) fn counts_rows_in(&self, output: &Schema) -> bool {
        let counts = |name: &str| self.constant(name).is_some_and(FileColumn::counts_rows);
        output.fields().iter().any(|field| counts(field.name()))
    }
}
