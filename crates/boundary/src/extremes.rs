//! Extremes: the least and the greatest value of each column of a result, in a batch of two rows behind it.
//!
//! Invariant: rows pass as they are; totals do not count, and NULL and NaN are extremes only where there is nothing else.
//! Must not know: how a format shows them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StructArray, UInt64Array, make_comparator};
use arrow::compute::{SortOptions, concat, take};
use arrow::datatypes::{DataType, Float32Type, Float64Type, SchemaRef};
use arrow::error::ArrowError;
use formats::{EXTREMES_KEY, is_totals};
use futures::StreamExt;
use model::saturating::u64_of;
use parts::compact::compacted;
use sql::Settings;

use crate::error::Error;
use crate::request::Rows;

/// The rows with their extremes behind them, if the settings ask for them.
pub fn with_extremes(settings: &Settings, rows: Rows) -> Rows {
    if !settings.get_bool("extremes") {
        return rows;
    }
    let schema = Arc::clone(&rows.schema);
    let begun = (rows.stream, Extremes { schema, found: None });
    let stream = futures::stream::unfold(Some(begun), |running| async move {
        let (mut rows, mut extremes) = running?;
        match rows.next().await {
            Some(Ok(batch)) => match extremes.widen(&batch) {
                Ok(()) => Some((Ok(batch), Some((rows, extremes)))),
                Err(error) => Some((Err(failed(&error)), None)),
            },
            Some(Err(error)) => Some((Err(error), None)),
            None => extremes.found.map(|found| (Ok(found), None)),
        }
    });
    Rows { schema: rows.schema, stream: stream.boxed() }
}

fn failed(error: &ArrowError) -> Error {
    Error::internal(format!("extremes of a result: {error}"))
}

/// Those of the rows that came until now.
struct Extremes {
    schema: SchemaRef,
    found: Option<RecordBatch>,
}

impl Extremes {
    fn widen(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        if is_totals(batch) || batch.num_rows() == 0 || batch.num_columns() == 0 {
            return Ok(());
        }
        let mut columns = Vec::with_capacity(batch.num_columns());
        for (at, column) in batch.columns().iter().enumerate() {
            let own = extremes_of(column)?;
            columns.push(match &self.found {
                Some(found) => extremes_of(&concat(&[found.column(at).as_ref(), own.as_ref()])?)?,
                None => own,
            });
        }
        let marks = HashMap::from([(EXTREMES_KEY.to_owned(), String::new())]);
        let schema = self.schema.as_ref().clone().with_metadata(marks);
        // Two rows must not keep the texts of a batch.
        self.found = Some(compacted(&RecordBatch::try_new(Arc::new(schema), columns)?)?);
        Ok(())
    }
}

/// The least and the greatest value. Of tuples they are those of each element.
fn extremes_of(values: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    if let Some(tuples) = values.as_struct_opt().filter(|tuples| is_whole(tuples)) {
        let columns = tuples.columns().iter().map(extremes_of).collect::<Result<Vec<_>, _>>()?;
        return Ok(Arc::new(StructArray::try_new(tuples.fields().clone(), columns, None)?));
    }
    let nulls = values.logical_nulls();
    let is_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
    let is_nan = |row: usize| match values.data_type() {
        DataType::Float64 => values.as_primitive::<Float64Type>().value(row).is_nan(),
        DataType::Float32 => values.as_primitive::<Float32Type>().value(row).is_nan(),
        _ => false,
    };
    let mut present = (0..values.len()).filter(|row| !is_null(*row) && !is_nan(*row));
    let (mut least, mut greatest) = (0, 0);
    if let Some(first) = present.next() {
        (least, greatest) = (first, first);
        let order = make_comparator(values, values, SortOptions { descending: false, nulls_first: false })?;
        for row in present {
            if order(row, least).is_lt() {
                least = row;
            }
            if order(row, greatest).is_gt() {
                greatest = row;
            }
        }
    }
    take(values, &UInt64Array::from(vec![u64_of(least), u64_of(greatest)]), None)
}

fn is_whole(tuples: &StructArray) -> bool {
    tuples.null_count() == 0 && tuples.num_columns() > 0
}

#[cfg(test)]
mod tests {
    use arrow::array::{Float64Array, Int64Array, StringViewArray};

    use super::*;

    fn shown(values: ArrayRef) -> String {
        format!("{:?}", extremes_of(&values).unwrap()).replace(char::is_whitespace, "")
    }

    #[test]
    fn nothing_is_extreme_only_where_there_is_nothing_else() {
        assert!(shown(Arc::new(Float64Array::from(vec![f64::NAN, 2.0, 1.0]))).ends_with("[1.0,2.0,]"));
        assert!(shown(Arc::new(Float64Array::from(vec![f64::NAN]))).ends_with("[NaN,NaN,]"));
        assert!(shown(Arc::new(Int64Array::from(vec![None, Some(7), Some(-1)]))).ends_with("[-1,7,]"));
        assert!(shown(Arc::new(Int64Array::from(vec![None::<i64>, None]))).ends_with("[null,null,]"));
        assert!(shown(Arc::new(StringViewArray::from(vec!["b", "a"]))).ends_with("[\"a\",\"b\",]"));
    }
}
