//! TPC-H `lineitem` as Parquet rows: the narrow, numeric counterpart of posts in benchmarks.
//!
//! Rows come from the `tpchgen` crate, which follows the specification; here they only become columns.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Date32Array, Decimal128Array, Int32Array, Int64Array, RecordBatch, StringArray,
};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use tpchgen::generators::{LineItem, LineItemGenerator, LineItemGeneratorIterator};

const PRECISION: u8 = 15;
const SCALE: i8 = 2;

pub(crate) fn schema() -> SchemaRef {
    let money = DataType::Decimal128(PRECISION, SCALE);
    let columns = [
        ("l_orderkey", DataType::Int64),
        ("l_partkey", DataType::Int64),
        ("l_suppkey", DataType::Int64),
        ("l_linenumber", DataType::Int32),
        ("l_quantity", money.clone()),
        ("l_extendedprice", money.clone()),
        ("l_discount", money.clone()),
        ("l_tax", money),
        ("l_returnflag", DataType::Utf8),
        ("l_linestatus", DataType::Utf8),
        ("l_shipdate", DataType::Date32),
        ("l_commitdate", DataType::Date32),
        ("l_receiptdate", DataType::Date32),
        ("l_shipinstruct", DataType::Utf8),
        ("l_shipmode", DataType::Utf8),
        ("l_comment", DataType::Utf8),
    ];
    Arc::new(Schema::new(columns.map(|(name, kind)| Field::new(name, kind, false)).to_vec()))
}

/// Part `number` of `files` of lineitem at a scale factor (1.0 is six million rows).
pub(crate) struct LineItems {
    rows: LineItemGeneratorIterator<'static>,
}

impl LineItems {
    pub(crate) fn new(scale: f64, number: u32, files: u32) -> LineItems {
        let part = |n: u32| i32::try_from(n).unwrap_or(i32::MAX);
        LineItems { rows: LineItemGenerator::new(scale, part(number) + 1, part(files.max(1))).iter() }
    }

    pub(crate) fn next_batch(&mut self, rows_max: u64) -> Option<Result<RecordBatch, ArrowError>> {
        let rows_max = usize::try_from(rows_max).unwrap_or(usize::MAX);
        let rows: Vec<LineItem<'static>> = self.rows.by_ref().take(rows_max).collect();
        (!rows.is_empty()).then(|| batch(&rows))
    }
}

fn batch(rows: &[LineItem<'static>]) -> Result<RecordBatch, ArrowError> {
    let long = |get: fn(&LineItem<'static>) -> i64| -> ArrayRef {
        Arc::new(rows.iter().map(get).collect::<Int64Array>())
    };
    let money = |get: fn(&LineItem<'static>) -> i64| -> Result<ArrayRef, ArrowError> {
        let cents: Decimal128Array = rows.iter().map(|row| Some(i128::from(get(row)))).collect();
        Ok(Arc::new(cents.with_precision_and_scale(PRECISION, SCALE)?))
    };
    let text = |get: fn(&LineItem<'static>) -> &'static str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(rows.iter().map(get)))
    };
    let date = |get: fn(&LineItem<'static>) -> i32| -> ArrayRef {
        Arc::new(Date32Array::from_iter_values(rows.iter().map(get)))
    };
    let columns = vec![
        long(|row| row.l_orderkey),
        long(|row| row.l_partkey),
        long(|row| row.l_suppkey),
        Arc::new(rows.iter().map(|row| row.l_linenumber).collect::<Int32Array>()),
        money(|row| row.l_quantity * 100)?,
        money(|row| row.l_extendedprice.into_inner())?,
        money(|row| row.l_discount.into_inner())?,
        money(|row| row.l_tax.into_inner())?,
        text(|row| row.l_returnflag),
        text(|row| row.l_linestatus),
        date(|row| row.l_shipdate.to_unix_epoch()),
        date(|row| row.l_commitdate.to_unix_epoch()),
        date(|row| row.l_receiptdate.to_unix_epoch()),
        text(|row| row.l_shipinstruct),
        text(|row| row.l_shipmode),
        text(|row| row.l_comment),
    ];
    RecordBatch::try_new(schema(), columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(files: u32, number: u32) -> usize {
        let mut items = LineItems::new(0.001, number, files);
        std::iter::from_fn(|| items.next_batch(1000)).map(|batch| batch.unwrap().num_rows()).sum()
    }

    #[test]
    fn parts_add_up_to_the_table() {
        let whole = rows(1, 0);
        assert!((5_900..6_100).contains(&whole), "{whole}");
        assert_eq!((0..3).map(|number| rows(3, number)).sum::<usize>(), whole);
    }
}
