//! Where the rows of a row group belong: the keys of the table in it, copied or made.
//!
//! Invariant: rows of several partitions, or out of order where that is not taken, are not written as they are. Must not know: how
//! columns are copied.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::concat;
use arrow::datatypes::Schema;
use datafusion::common::Result;
use load::adoption::{AdoptedAs, FoundKeys, SinkReason, settle};
use mergetree::write::adopt::find_keys;
use model::PartitionValue;
use model::table_def::column_id_of;

use super::AdoptStream;
use crate::adopt::row_group::CopiedColumn;
use crate::error::into_datafusion;

/// Where the rows of a row group belong.
pub(super) struct Settled {
    pub(super) partition: PartitionValue,
    /// The first and the last row, if rows are in the order of the sort key.
    pub(super) ends: Option<(RecordBatch, RecordBatch)>,
}

impl AdoptStream<'_> {
    /// Where the rows of a row group belong, and whether they are in order.
    pub(super) fn settled(
        &self,
        made: &[Vec<ArrayRef>],
        copied: &[Option<CopiedColumn>],
    ) -> Result<Result<Settled, SinkReason>> {
        let keys = self.key_rows(made, copied)?;
        let found = find_keys(self.target.table(), std::slice::from_ref(&keys)).map_err(into_datafusion)?;
        let facts = FoundKeys { in_order: found.in_order, partitions: found.partitions.len() };
        let adopted_as = match settle(facts, self.adoption.terms()) {
            Ok(adopted_as) => adopted_as,
            Err(reason) => return Ok(Err(reason)),
        };
        let is_sorted = adopted_as == AdoptedAs::Sorted && self.adoption.terms.is_sorted;
        let last = keys.num_rows().saturating_sub(1);
        let ends = is_sorted.then(|| (keys.slice(0, 1), keys.slice(last, 1)));
        let partition = found.partitions.into_iter().next().unwrap_or_else(PartitionValue::all);
        Ok(Ok(Settled { partition, ends }))
    }

    /// The columns of the keys.
    fn key_rows(&self, made: &[Vec<ArrayRef>], copied: &[Option<CopiedColumn>]) -> Result<RecordBatch> {
        let schema = self.target.table().def.arrow_schema();
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        for ((field, made), copied) in schema.fields().iter().zip(made).zip(copied) {
            if !column_id_of(field).is_some_and(|id| self.adoption.keys.contains(&id)) {
                continue;
            }
            let copied = copied.as_ref().and_then(|column| column.values.clone());
            let pieces: Vec<&dyn Array> = made.iter().map(AsRef::as_ref).collect();
            columns.push(match copied {
                Some(values) => values,
                None => concat(&pieces)?,
            });
            fields.push(Arc::clone(field));
        }
        let rows = columns.first().map_or(0, |column| column.len());
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
            .map_err(Into::into)
    }
}
