use std::sync::Arc;

use arrow::array::{
    ArrayRef, AsArray, BooleanArray, Decimal128Array, FixedSizeBinaryArray, Int8Array, Int64Array, ListArray,
    MapArray, RecordBatch, StringViewArray, StructArray, TimestampMillisecondArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::DataType;
use bytes::Bytes;
use catalog::InlineStatement;
use model::{ColumnDef, Seq, TableDef, TableEngine, TableId};

use super::{decode, decode_all, encode};

fn table(types: &[&str]) -> TableDef {
    let columns = types.iter().zip(1..).map(|(kind, id)| {
        ColumnDef::plain(id * 100, &format!("c{id}"), model::type_name::parse(kind).unwrap())
    });
    TableDef {
        next_column_id: 10_000,
        ..TableDef::plain(TableId::from_bytes([1; 16]), "t", TableEngine::MergeTree, columns.collect())
    }
}

fn statement(rows: u64, bytes: Bytes) -> InlineStatement {
    InlineStatement { seq: Seq(1), block: 7, schema_version: 1, rows, bytes }
}

fn batch(table: &TableDef, columns: Vec<ArrayRef>) -> RecordBatch {
    RecordBatch::try_new(table.arrow_schema(), columns).unwrap()
}

/// Three rows of everything.
fn everything() -> (TableDef, RecordBatch) {
    let table = table(&[
        "Int64",
        "Nullable(Int8)",
        "String",
        "Nullable(String)",
        "Bool",
        "UUID",
        "Decimal(20, 2)",
        "DateTime64(3, 'UTC')",
        "Array(Nullable(String))",
        "Map(String, Int64)",
        "Tuple(a Int8, b String)",
    ]);
    let schema = table.arrow_schema();
    let item = |i: usize| match schema.field(i).data_type() {
        DataType::List(item) | DataType::Map(item, _) => Arc::clone(item),
        _ => panic!("nested"),
    };
    let DataType::Struct(entry) = item(9).data_type().clone() else { panic!("map") };
    let DataType::Struct(tuple) = schema.field(10).data_type().clone() else { panic!("tuple") };
    let texts = StringViewArray::from(vec![Some("x"), None, Some("longer than twelve bytes")]);
    let entries = StructArray::new(
        entry,
        vec![Arc::new(StringViewArray::from(vec!["k", "l"])), Arc::new(Int64Array::from(vec![5, 6]))],
        None,
    );
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(vec![1, i64::MIN, -1])),
        Arc::new(Int8Array::from(vec![None, Some(-3), None])),
        Arc::new(StringViewArray::from(vec!["", "short", "a text that does not fit a view"])),
        Arc::new(StringViewArray::from(vec![None, Some("a text that does not fit a view"), Some("")])),
        Arc::new(BooleanArray::from(vec![true, false, true])),
        Arc::new(FixedSizeBinaryArray::try_from_iter([[1_u8; 16], [2; 16], [3; 16]].into_iter()).unwrap()),
        Arc::new(
            Decimal128Array::from(vec![1, -2, i128::from(i64::MAX)]).with_precision_and_scale(20, 2).unwrap(),
        ),
        Arc::new(TimestampMillisecondArray::from(vec![0, 1, -1]).with_timezone("UTC")),
        Arc::new(ListArray::new(item(8), OffsetBuffer::from_lengths([2, 0, 1]), Arc::new(texts), None)),
        Arc::new(MapArray::new(item(9), OffsetBuffer::from_lengths([0, 2, 0]), entries, None, false)),
        Arc::new(StructArray::new(
            tuple,
            vec![
                Arc::new(Int8Array::from(vec![1, 2, 3])),
                Arc::new(StringViewArray::from(vec!["p", "q", "r"])),
            ],
            None::<NullBuffer>,
        )),
    ];
    let rows = batch(&table, columns);
    (table, rows)
}

#[test]
fn every_type_comes_back() {
    let (table, rows) = everything();
    let bytes = encode(&table, &rows).unwrap();
    assert_eq!(decode(&table, &statement(3, bytes.clone())).unwrap(), rows);
    for (start, length) in [(1, 2), (2, 1), (0, 0)] {
        let cut = rows.slice(start, length);
        let bytes = encode(&table, &cut).unwrap();
        assert_eq!(
            decode(&table, &statement(length as u64, bytes)).unwrap(),
            cut,
            "a slice {start}+{length}"
        );
    }
    let joined = statement(6, [bytes.clone(), bytes.clone()].concat().into());
    let one = statement(3, bytes);
    assert_eq!(decode(&table, &joined).unwrap(), decode_all(&table, &[&one, &one]).unwrap(), "a group");
    let both = decode_all(&table, &[&one, &one]).unwrap();
    assert_eq!((both.slice(0, 3), both.slice(3, 3)), (rows.clone(), rows));
}

#[test]
fn a_row_is_small() {
    let types = ["Int64", "UInt8", "DateTime64(3, 'UTC')", "Int32", "Nullable(Int32)", "String"];
    let table = table(&types);
    let columns: Vec<ArrayRef> = table
        .arrow_schema()
        .fields()
        .iter()
        .map(|field| parts::evolve::default_array(field, 1).unwrap())
        .collect();
    let bytes = encode(&table, &batch(&table, columns)).unwrap();
    // Three of the statement; one a column and a bitmap, because of the NULL; 8, 1, 8, 4, 4 and 1 of the values.
    assert!(bytes.len() <= 36, "{} bytes", bytes.len());
}

#[test]
fn damage_is_an_error_and_never_a_panic() {
    let (table, rows) = everything();
    let good = encode(&table, &rows).unwrap();
    for end in 0..good.len() {
        assert!(decode(&table, &statement(3, good.slice(..end))).is_err(), "cut at {end}");
    }
    for position in 0..good.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = good.to_vec();
            bytes[position] ^= flip;
            // Other values are possible, other shapes are not.
            if let Ok(read) = decode(&table, &statement(3, bytes.into())) {
                assert_eq!(read.num_rows(), 3);
            }
        }
    }
    assert!(decode(&table, &statement(4, good)).is_err(), "the log says four rows");
}

#[test]
fn rows_of_another_table_are_refused() {
    let ours = table(&["Int64"]);
    let theirs = table(&["String"]);
    let rows = batch(&theirs, vec![Arc::new(StringViewArray::from(vec!["x"]))]);
    assert!(encode(&ours, &rows).is_err());
    assert_eq!(rows.column(0).as_string_view().value(0), "x");
}
