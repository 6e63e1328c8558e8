//! Casts that must not lose anything: value to text and back, narrow to wide and back.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float32Array, Float64Array,
    Int64Array, StringViewArray, TimestampMillisecondArray, TimestampSecondArray, UInt64Array,
};
use functions::{CastMode, cast_column, default_array};
use model::{ColumnType, EVERY_TYPE, type_name};
use proptest::prelude::*;

fn named(name: &str) -> ColumnType {
    type_name::parse(name).expect("a value of the test")
}

/// The column as text, and read back.
fn through_text(array: &ArrayRef, column_type: &ColumnType) -> ArrayRef {
    let text =
        cast_column(array, column_type, &ColumnType::String, CastMode::Strict).expect("a value of the test");
    cast_column(&text, &ColumnType::String, column_type, CastMode::Strict).expect("a value of the test")
}

fn check(array: ArrayRef, name: &str) {
    let column_type = named(name);
    assert_eq!(&through_text(&array, &column_type), &array, "{name}");
}

proptest! {
    #[test]
    fn numbers_survive_text(signed: Vec<i64>, unsigned: Vec<u64>, doubles: Vec<f64>, singles: Vec<f32>) {
        check(Arc::new(Int64Array::from(signed)), "Int64");
        check(Arc::new(UInt64Array::from(unsigned)), "UInt64");
        let doubles: Vec<f64> = doubles.into_iter().filter(|value| !value.is_nan()).collect();
        check(Arc::new(Float64Array::from(doubles)), "Float64");
        let singles: Vec<f32> = singles.into_iter().filter(|value| !value.is_nan()).collect();
        check(Arc::new(Float32Array::from(singles)), "Float32");
    }

    #[test]
    fn times_survive_text(days in prop::collection::vec(0..65_536_i32, 0..20), seconds in prop::collection::vec(0..4_294_967_296_i64, 0..20), millis in prop::collection::vec(-62_135_596_800_000..253_402_300_800_000_i64, 0..20)) {
        check(Arc::new(Date32Array::from(days)), "Date");
        check(Arc::new(TimestampSecondArray::from(seconds).with_timezone("UTC")), "DateTime('UTC')");
        check(Arc::new(TimestampMillisecondArray::from(millis)), "DateTime64(3)");
    }

    #[test]
    fn decimals_and_uuids_survive_text(unscaled in prop::collection::vec(-999_999_999_999_999_999_i64..=999_999_999_999_999_999, 0..20), ids: Vec<[u8; 16]>) {
        let decimals = Decimal128Array::from(unscaled.into_iter().map(i128::from).collect::<Vec<_>>());
        check(Arc::new(decimals.with_precision_and_scale(18, 5).expect("a value of the test")), "Decimal(18, 5)");
        if !ids.is_empty() {
            check(Arc::new(FixedSizeBinaryArray::try_from_iter(ids.iter()).expect("a value of the test")), "UUID");
        }
    }

    #[test]
    fn texts_survive_arrays(texts: Vec<String>) {
        let array: ArrayRef = Arc::new(StringViewArray::from_iter_values(texts.iter().map(String::as_str)));
        let list = lists_of(array);
        check(list, "Array(String)");
    }

    #[test]
    fn narrowing_after_widening_is_nothing(values: Vec<i16>) {
        let small: ArrayRef = Arc::new(arrow::array::Int16Array::from(values));
        for wide in ["Int32", "Int64", "Float32", "Float64", "Decimal(18, 4)"] {
            let widened = cast_column(&small, &ColumnType::Int16, &named(wide), CastMode::Strict).expect("a value of the test");
            let back = cast_column(&widened, &named(wide), &ColumnType::Int16, CastMode::OrNull).expect("a value of the test");
            prop_assert_eq!(&back, &small);
        }
    }

    #[test]
    fn reading_any_text_never_panics(text: String) {
        let array: ArrayRef = Arc::new(StringViewArray::from(vec![text.as_str()]));
        for name in ["Int32", "UInt8", "Float64", "Date", "DateTime", "DateTime64(6)", "Decimal(9, 2)", "Decimal(60, 2)", "UUID", "Int128", "UInt256", "IPv4", "IPv6", "Bool", "Array(UInt8)", "Map(String, UInt8)", "Tuple(UInt8, String)", "Enum8('a' = 1)", "FixedString(4)"] {
            let quiet = cast_column(&array, &ColumnType::String, &named(name), CastMode::OrNull);
            prop_assert!(quiet.is_ok() || name.contains('('), "{} {:?}", name, quiet);
            let strict = cast_column(&array, &ColumnType::String, &named(name), CastMode::Strict);
            if let Err(error) = strict {
                prop_assert_eq!(error.row, 0);
                prop_assert!(!error.message.is_empty());
            }
        }
    }
}

/// One list per row of one element, and an empty one at the end.
fn lists_of(values: ArrayRef) -> ArrayRef {
    let field = Arc::new(model::type_arrow::to_field("item", &ColumnType::String));
    let mut lengths = vec![1; values.len()];
    lengths.push(0);
    let offsets = arrow::buffer::OffsetBuffer::from_lengths(lengths);
    Arc::new(arrow::array::ListArray::new(field, offsets, values, None))
}

#[test]
fn equal_types_cost_nothing() {
    let array: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let same = cast_column(&array, &ColumnType::Int64, &ColumnType::Int64, CastMode::Insert)
        .expect("a value of the test");
    assert!(Arc::ptr_eq(&array, &same));
    let nullable = cast_column(&array, &ColumnType::Int64, &named("Nullable(Int64)"), CastMode::Strict)
        .expect("a value of the test");
    assert!(Arc::ptr_eq(&array, &nullable));
}

#[test]
fn nulls_become_defaults_in_inserts_and_errors_in_casts() {
    let array: ArrayRef = Arc::new(Int64Array::from(vec![Some(5), None]));
    let from = named("Nullable(Int64)");
    let inserted =
        cast_column(&array, &from, &ColumnType::UInt32, CastMode::Insert).expect("a value of the test");
    assert_eq!(&inserted, &(Arc::new(arrow::array::UInt32Array::from(vec![5, 0])) as ArrayRef));
    let error = cast_column(&array, &from, &ColumnType::UInt32, CastMode::Strict).unwrap_err();
    assert_eq!((error.code.number(), error.row), (349, 1));
    let texts = cast_column(&array, &from, &named("Enum8('x' = 5, 'y' = 6)"), CastMode::Insert)
        .expect("a value of the test");
    assert_eq!(&texts, &(Arc::new(arrow::array::Int8Array::from(vec![5, 5])) as ArrayRef));
}

#[test]
fn the_first_bad_row_is_named() {
    let array: ArrayRef = Arc::new(StringViewArray::from(vec!["1", "x", "y"]));
    let error = cast_column(&array, &ColumnType::String, &ColumnType::UInt8, CastMode::Insert).unwrap_err();
    assert_eq!((error.row, error.value.as_str(), error.code.number()), (1, "x", 6));
    assert_eq!(error.message, "cannot parse string 'x' as UInt8: syntax error at begin of string");
}

#[test]
fn every_pair_of_types_converts_or_says_why_not() {
    for from in EVERY_TYPE.map(named) {
        for to in EVERY_TYPE.map(named) {
            let array = default_array(&from, 3);
            for mode in [CastMode::Strict, CastMode::Insert, CastMode::OrNull, CastMode::OrDefault] {
                match cast_column(&array, &from, &to, mode) {
                    Ok(made) => {
                        assert_eq!(made.len(), 3, "{from} to {to}");
                        assert_eq!(made.data_type(), &model::type_arrow::to_data_type(&to), "{from} to {to}");
                        let nulls = made.logical_null_count();
                        assert!(
                            nulls == 0 || to.is_nullable() || mode == CastMode::OrNull,
                            "{from} to {to} {mode:?}"
                        );
                    }
                    Err(error) => {
                        assert!(error.code.number() > 0 && !error.message.is_empty(), "{from} to {to}")
                    }
                }
            }
        }
    }
}
