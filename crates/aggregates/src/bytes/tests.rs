//! States go through bytes and come back equal; bytes that are none are refused.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Float64Array, Int64Array, ListArray, StringViewArray,
    StructArray, UInt64Array,
};
use arrow::datatypes::{DataType, Field, Fields, Int64Type, UInt8Type};
use proptest::prelude::*;

use super::{decode, encode};

/// Two rows of every layout that states have.
fn columns() -> Vec<ArrayRef> {
    let texts = StringViewArray::from(vec![Some("a text that is longer than twelve bytes"), None]);
    let member = Field::new("m", DataType::Utf8View, true);
    let structs = StructArray::new(
        Fields::from(vec![member]),
        vec![Arc::new(texts.clone())],
        Some(vec![true, false].into()),
    );
    let nested = ListArray::from_iter_primitive::<UInt8Type, _, _>([Some(vec![Some(1), None]), Some(vec![])]);
    vec![
        Arc::new(UInt64Array::from(vec![Some(7), None])),
        Arc::new(Float64Array::from(vec![-0.0, f64::NAN])),
        Arc::new(BooleanArray::from(vec![Some(true), Some(false)])),
        Arc::new(texts),
        Arc::new(BinaryArray::from(vec![&b"\xff\x00"[..], b""])),
        Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>([None, Some(vec![Some(5), Some(6)])])),
        Arc::new(nested),
        Arc::new(structs),
    ]
}

fn layouts(columns: &[ArrayRef]) -> Vec<DataType> {
    columns.iter().map(|column| column.data_type().clone()).collect()
}

#[test]
fn states_come_back_equal() {
    let columns = columns();
    let bytes = encode(&columns).unwrap();
    let read = decode(&bytes, &layouts(&columns)).unwrap();
    for (read, column) in read.iter().zip(&columns) {
        assert_eq!(format!("{read:?}"), format!("{column:?}"));
    }
    // Of a slice, too.
    let sliced: Vec<ArrayRef> = columns.iter().map(|column| column.slice(1, 1)).collect();
    let read = decode(&encode(&sliced).unwrap(), &layouts(&columns)).unwrap();
    for (read, column) in read.iter().zip(&sliced) {
        assert_eq!(format!("{read:?}"), format!("{column:?}"));
    }
}

#[test]
fn bytes_are_those_of_the_first_release() {
    let sum: ArrayRef = Arc::new(Int64Array::from(vec![Some(258), None]));
    let texts: ArrayRef = Arc::new(ListArray::from_iter_primitive::<UInt8Type, _, _>([
        Some(vec![Some(9), None]),
        Some(vec![]),
    ]));
    let bytes = encode(&[sum, texts]).unwrap();
    assert_eq!(bytes.value(0), [1, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 2, 2, 1, 0, 9, 0]);
    assert_eq!(bytes.value(1), [1, 1, 0, 0]);
}

proptest! {
    #[test]
    fn other_bytes_are_refused_or_read(flips in prop::collection::vec((0_usize..200, any::<u8>()), 1..6), cut in 0_usize..200) {
        let columns = columns();
        let mut bytes = encode(&columns).unwrap().value(0).to_vec();
        for (at, byte) in flips {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        bytes.truncate(cut.max(1));
        let mutated = arrow::array::BinaryViewArray::from_iter_values([&bytes]);
        if let Ok(read) = decode(&mutated, &layouts(&columns)) {
            prop_assert!(read.iter().all(|column| column.len() == 1));
        }
    }
}
