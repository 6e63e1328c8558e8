//! The tables of TPC-H as Parquet rows: the narrow, numeric counterpart of posts in benchmarks.
//!
//! Rows come from the `tpchgen` crate, which follows the specification; here they only become columns.

mod tables;

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, Date32Array, Decimal128Array, Int32Array, Int64Array, RecordBatch, StringArray, StringBuilder,
};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use clap::ValueEnum;
use model::saturating::usize_of;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};

use super::write::FileRows;

const PRECISION: u8 = 15;
const SCALE: i8 = 2;

/// A table of the specification.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Table {
    Lineitem,
    Orders,
    Customer,
    Part,
    Partsupp,
    Supplier,
    Nation,
    Region,
}

/// How a column's value is had from a row.
enum Get<T> {
    Long(fn(&T) -> i64),
    Int(fn(&T) -> i32),
    /// In hundredths.
    Money(fn(&T) -> i64),
    Text(fn(&T) -> &'static str),
    Shown(fn(&T) -> &dyn std::fmt::Display),
    /// Days since 1970-01-01.
    Date(fn(&T) -> i32),
}

type Columns<T> = [(&'static str, Get<T>)];

impl Table {
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Nation and region are a handful of rows.
    pub(crate) fn files(self, files: u32) -> u32 {
        if matches!(self, Table::Nation | Table::Region) { 1 } else { files }
    }

    pub(crate) fn schema(self) -> SchemaRef {
        match self {
            Table::Lineitem => schema(tables::LINEITEM),
            Table::Orders => schema(tables::ORDERS),
            Table::Customer => schema(tables::CUSTOMER),
            Table::Part => schema(tables::PART),
            Table::Partsupp => schema(tables::PARTSUPP),
            Table::Supplier => schema(tables::SUPPLIER),
            Table::Nation => schema(tables::NATION),
            Table::Region => schema(tables::REGION),
        }
    }

    /// Part `number` of `files` at a scale factor (1.0 is six million rows of lineitem).
    pub(crate) fn rows(self, scale: f64, number: u32, files: u32) -> Box<dyn FileRows> {
        let number = i32::try_from(number).unwrap_or(i32::MAX - 1) + 1;
        let files = i32::try_from(self.files(files).max(1)).unwrap_or(i32::MAX);
        match self {
            Table::Lineitem => {
                TableRows::boxed(LineItemGenerator::new(scale, number, files).iter(), tables::LINEITEM)
            }
            Table::Orders => {
                TableRows::boxed(OrderGenerator::new(scale, number, files).iter(), tables::ORDERS)
            }
            Table::Customer => {
                TableRows::boxed(CustomerGenerator::new(scale, number, files).iter(), tables::CUSTOMER)
            }
            Table::Part => TableRows::boxed(PartGenerator::new(scale, number, files).iter(), tables::PART),
            Table::Partsupp => {
                TableRows::boxed(PartSuppGenerator::new(scale, number, files).iter(), tables::PARTSUPP)
            }
            Table::Supplier => {
                TableRows::boxed(SupplierGenerator::new(scale, number, files).iter(), tables::SUPPLIER)
            }
            Table::Nation => {
                TableRows::boxed(NationGenerator::new(scale, number, files).iter(), tables::NATION)
            }
            Table::Region => {
                TableRows::boxed(RegionGenerator::new(scale, number, files).iter(), tables::REGION)
            }
        }
    }
}

struct TableRows<T: 'static> {
    rows: Box<dyn Iterator<Item = T>>,
    columns: &'static Columns<T>,
}

impl<T: 'static> TableRows<T> {
    fn boxed(rows: impl Iterator<Item = T> + 'static, columns: &'static Columns<T>) -> Box<dyn FileRows> {
        Box::new(TableRows { rows: Box::new(rows), columns })
    }
}

impl<T: 'static> FileRows for TableRows<T> {
    fn next_batch(&mut self, rows_max: u64) -> Option<Result<RecordBatch, ArrowError>> {
        let rows_max = usize_of(rows_max);
        let rows: Vec<T> = self.rows.by_ref().take(rows_max).collect();
        (!rows.is_empty()).then(|| {
            let columns: Result<Vec<ArrayRef>, ArrowError> =
                self.columns.iter().map(|(_, get)| column(get, &rows)).collect();
            RecordBatch::try_new(schema(self.columns), columns?)
        })
    }
}

fn schema<T>(columns: &Columns<T>) -> SchemaRef {
    let fields = columns.iter().map(|(name, get)| {
        let data_type = match get {
            Get::Long(_) => DataType::Int64,
            Get::Int(_) => DataType::Int32,
            Get::Money(_) => DataType::Decimal128(PRECISION, SCALE),
            Get::Text(_) | Get::Shown(_) => DataType::Utf8,
            Get::Date(_) => DataType::Date32,
        };
        Field::new(*name, data_type, false)
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn column<T>(get: &Get<T>, rows: &[T]) -> Result<ArrayRef, ArrowError> {
    Ok(match get {
        Get::Long(get) => Arc::new(rows.iter().map(get).collect::<Int64Array>()),
        Get::Int(get) => Arc::new(rows.iter().map(get).collect::<Int32Array>()),
        Get::Money(get) => {
            let cents: Decimal128Array = rows.iter().map(|row| Some(i128::from(get(row)))).collect();
            Arc::new(cents.with_precision_and_scale(PRECISION, SCALE)?)
        }
        Get::Text(get) => Arc::new(StringArray::from_iter_values(rows.iter().map(get))),
        Get::Shown(get) => {
            let mut texts = StringBuilder::new();
            for row in rows {
                write!(texts, "{}", get(row))
                    .map_err(|_| ArrowError::ComputeError("a text of TPC-H cannot be shown".to_owned()))?;
                texts.append_value("");
            }
            Arc::new(texts.finish())
        }
        Get::Date(get) => Arc::new(Date32Array::from_iter_values(rows.iter().map(get))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(table: Table, files: u32, number: u32) -> usize {
        let mut rows = table.rows(0.001, number, files);
        std::iter::from_fn(|| rows.next_batch(1000)).map(|batch| batch.unwrap().num_rows()).sum()
    }

    #[test]
    fn parts_add_up_to_the_table() {
        for (table, expected) in [
            (Table::Lineitem, 5_900..6_100),
            (Table::Orders, 1_500..1_501),
            (Table::Customer, 150..151),
            (Table::Part, 200..201),
            (Table::Partsupp, 800..801),
            (Table::Supplier, 10..11),
            (Table::Nation, 25..26),
            (Table::Region, 5..6),
        ] {
            let whole = rows(table, 1, 0);
            assert!(expected.contains(&whole), "{}: {whole}", table.name());
            let parts = (0..table.files(3)).map(|number| rows(table, 3, number)).sum::<usize>();
            assert_eq!(parts, whole, "{}", table.name());
        }
    }

    #[test]
    fn texts_are_those_of_the_specification() {
        let mut supplier = Table::Supplier.rows(0.001, 0, 1);
        let batch = supplier.next_batch(1).unwrap().unwrap();
        let name = batch["s_name"].as_any().downcast_ref::<StringArray>().unwrap().value(0).to_owned();
        assert_eq!(name, "Supplier#000000001");
        assert_eq!(batch.num_columns(), 7);
    }
}
