//! Bounds that were found in the pages of a copied chunk, as statistics of the format.
//!
//! Pure. Invariant: no value is outside of them; bounds that the format cannot say are left out. Must not know: who found them.

use ::parquet::basic::Type;
use ::parquet::data_type::ByteArray;
use ::parquet::file::statistics::{Statistics, ValueStatistics};
use arrow::array::AsArray;
use arrow::datatypes::{DataType, Float32Type};
use model::Value;

use super::properties::STATISTICS_TEXT_BYTES_MAX;

/// Statistics of a leaf whose values are laid out as `layout`.
pub(super) fn statistics(layout: Type, nulls: u64, bounds: Option<(&Value, &Value)>) -> Statistics {
    let nulls = Some(nulls);
    match layout {
        Type::BOOLEAN => {
            let (min, max) = both(bounds, |value, _| match value {
                Value::Bool(value) => Some(*value),
                _ => None,
            });
            Statistics::boolean(min, max, None, nulls, false)
        }
        Type::INT32 => {
            let (min, max) = both(bounds, |value, _| in_32_bits(value));
            Statistics::int32(min, max, None, nulls, false)
        }
        Type::INT64 => {
            let (min, max) = both(bounds, |value, _| in_64_bits(value));
            Statistics::int64(min, max, None, nulls, false)
        }
        Type::FLOAT => {
            let (min, max) = both(bounds, |value, is_upper| {
                let array = float(value, is_upper)?.to_array(&DataType::Float32).ok()?;
                Some(array.as_primitive::<Float32Type>().value(0))
            });
            Statistics::float(min, max, None, nulls, false)
        }
        Type::DOUBLE => {
            let (min, max) = both(bounds, |value, is_upper| match float(value, is_upper)? {
                Value::Float(value) => Some(value),
                _ => None,
            });
            Statistics::double(min, max, None, nulls, false)
        }
        Type::BYTE_ARRAY => texts(nulls, bounds),
        Type::INT96 => Statistics::int96(None, None, None, nulls, false),
        Type::FIXED_LEN_BYTE_ARRAY => Statistics::fixed_len_byte_array(None, None, None, nulls, false),
    }
}

/// Both bounds in the layout, or none; `of` is told which one is the upper.
fn both<T>(
    bounds: Option<(&Value, &Value)>,
    of: impl Fn(&Value, bool) -> Option<T>,
) -> (Option<T>, Option<T>) {
    bounds.and_then(|(least, greatest)| Some((of(least, false)?, of(greatest, true)?))).unzip()
}

/// Numbers without a sign have the same bits.
fn in_32_bits(value: &Value) -> Option<i32> {
    match value {
        Value::Int(number) => i32::try_from(*number).ok(),
        Value::UInt(number) => u32::try_from(*number).ok().map(u32::cast_signed),
        Value::Decimal(number) => i32::try_from(*number).ok(),
        _ => None,
    }
}

fn in_64_bits(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        Value::UInt(number) => Some(number.cast_signed()),
        Value::Decimal(number) => i64::try_from(*number).ok(),
        _ => None,
    }
}

/// Zero has two signs: the bounds are those of both, as the format wants it.
fn float(value: &Value, is_upper: bool) -> Option<Value> {
    match value {
        Value::Float(value) if value.is_nan() => None,
        Value::Float(value) if *value == 0.0 => Some(Value::Float(if is_upper { 0.0 } else { -0.0 })),
        Value::Float(value) => Some(Value::Float(*value)),
        _ => None,
    }
}

fn texts(nulls: Option<u64>, bounds: Option<(&Value, &Value)>) -> Statistics {
    let short = match bounds {
        // An upper bound cannot just be cut.
        Some((Value::Text(least), Value::Text(greatest))) if greatest.len() <= STATISTICS_TEXT_BYTES_MAX => {
            Some((least, greatest))
        }
        _ => None,
    };
    let cut = short.map(|(least, _)| cut(least));
    let is_whole = short.zip(cut).is_some_and(|((least, _), cut)| least.len() == cut.len());
    let bytes = |text: &str| ByteArray::from(text.as_bytes().to_vec());
    let (min, max) = (cut.map(bytes), short.map(|(_, greatest)| bytes(greatest)));
    Statistics::ByteArray(ValueStatistics::new(min, max, None, nulls, false).with_min_is_exact(is_whole))
}

fn cut(text: &str) -> &str {
    let ends = 0..=STATISTICS_TEXT_BYTES_MAX.min(text.len());
    &text[..ends.rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(layout: Type, least: &Value, greatest: &Value) -> Statistics {
        statistics(layout, 3, Some((least, greatest)))
    }

    #[test]
    fn bounds_are_laid_out_as_the_values() {
        let number = Statistics::int32(Some(-1), Some(7), None, Some(3), false);
        assert_eq!(found(Type::INT32, &Value::Int(-1), &Value::Int(7)), number);
        let unsigned = Statistics::int32(Some(1), Some(-1), None, Some(3), false);
        assert_eq!(found(Type::INT32, &Value::UInt(1), &Value::UInt(u64::from(u32::MAX))), unsigned);
        let unsigned = Statistics::int64(Some(0), Some(-1), None, Some(3), false);
        assert_eq!(found(Type::INT64, &Value::UInt(0), &Value::UInt(u64::MAX)), unsigned);
        let decimal = Statistics::int64(Some(-5), Some(5), None, Some(3), false);
        assert_eq!(found(Type::INT64, &Value::Decimal(-5), &Value::Decimal(5)), decimal);
        let float = Statistics::float(Some(-0.5), Some(1.5), None, Some(3), false);
        assert_eq!(found(Type::FLOAT, &Value::Float(-0.5), &Value::Float(1.5)), float);
        let truth = Statistics::boolean(Some(false), Some(true), None, Some(3), false);
        assert_eq!(found(Type::BOOLEAN, &Value::Bool(false), &Value::Bool(true)), truth);
    }

    #[test]
    fn zero_is_between_its_signs() {
        let Statistics::Double(zero) = found(Type::DOUBLE, &Value::Float(0.0), &Value::Float(-0.0)) else {
            panic!("no doubles")
        };
        let signs = (
            zero.min_opt().map(|min| min.is_sign_negative()),
            zero.max_opt().map(|max| max.is_sign_negative()),
        );
        assert_eq!(signs, (Some(true), Some(false)));
    }

    #[test]
    fn what_cannot_be_said_is_left_out() {
        for (layout, least, greatest) in [
            (Type::DOUBLE, Value::Float(0.0), Value::Float(f64::NAN)),
            (Type::INT32, Value::Int(0), Value::Int(i64::MAX)),
            (Type::INT64, Value::Text("a".into()), Value::Text("b".into())),
            (
                Type::FIXED_LEN_BYTE_ARRAY,
                Value::Bytes((&[0_u8; 16][..]).into()),
                Value::Bytes((&[1_u8; 16][..]).into()),
            ),
            (Type::BYTE_ARRAY, Value::Text("a".into()), Value::Text("b".repeat(65).into())),
        ] {
            let found = found(layout, &least, &greatest);
            assert_eq!((found.min_bytes_opt(), found.max_bytes_opt()), (None, None), "{layout:?}");
            assert_eq!(found.null_count_opt(), Some(3), "{layout:?}");
        }
    }

    #[test]
    fn a_long_lower_bound_is_cut_between_characters() {
        let long = "ж".repeat(40);
        let found =
            found(Type::BYTE_ARRAY, &Value::Text(format!("a{long}").into()), &Value::Text("b".into()));
        assert_eq!(found.min_bytes_opt().map(<[u8]>::len), Some(63));
        assert!(!found.min_is_exact() && found.max_is_exact());
        let short =
            statistics(Type::BYTE_ARRAY, 0, Some((&Value::Text("a".into()), &Value::Text("b".into()))));
        assert!(short.min_is_exact());
    }
}
