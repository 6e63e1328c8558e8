//! A literal as another type, if it means the same there.
//!
//! Invariant: a literal that moved compares with every value of the new type as it did before.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringViewArray};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::Expr;
use functions::{CastMode, FunctionError, SessionValues};
use model::{ColumnType, ErrorCode};

use aggregates::typing::{convert, external, literal, literal_array, scalar_at};

/// What the literal is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// One side of `=`, `<` and their kin.
    Compare,
    /// An element of IN: what does not fit is in no set, and numbers and text become each other.
    Member,
}

/// The literal as `to`; `None` where it does not fit there, or where a session is needed and there is none.
pub(crate) fn literal_as(
    value: &ScalarValue,
    from: &ColumnType,
    to: &ColumnType,
    purpose: Purpose,
    session: Option<&SessionValues>,
) -> Result<Option<Expr>> {
    let (from, to) = (from.value_type(), to.value_type());
    if value.is_null() {
        return Ok(None);
    }
    if from == to {
        return Ok(Some(bare(&literal_array(value, from)?, to)?));
    }
    if purpose == Purpose::Compare
        && from.is_string()
        && let Some(number) = beyond(value.try_as_str().flatten().unwrap_or_default(), to)
    {
        return Ok(Some(number));
    }
    let default = SessionValues::default();
    let zone_matters =
        is_time(to) && (from.is_string() || matches!(from, ColumnType::Date | ColumnType::Date32));
    if zone_matters && session.is_none() {
        return Ok(None);
    }
    let session = session.unwrap_or(&default);
    let made = if from.is_string() {
        text_as(value, from, to, purpose, session)?
    } else if from.is_number() || *from == ColumnType::Bool {
        number_as(value, from, to, purpose, session)?
    } else if *from == ColumnType::Date32 && matches!(to, ColumnType::DateTime { .. }) {
        // It has no days of before 1970, and the zone is not the one in which they meet.
        None
    } else if matches!(from, ColumnType::Date | ColumnType::Date32) && is_time(to) {
        Some(convert(value, from, to, CastMode::Strict, session)?)
    } else {
        None
    };
    made.map(|array| bare(&array, to)).transpose()
}

/// A literal that carries no type: in a comparison only its value counts. A bare UUID or IPv6 address would read as text.
fn bare(array: &ArrayRef, column_type: &ColumnType) -> Result<Expr> {
    match column_type {
        ColumnType::Uuid | ColumnType::Ipv6 => literal(array, column_type),
        wide if wide.is_wide_integer() => literal(array, column_type),
        _ => Ok(Expr::Literal(scalar_at(array, 0)?, None)),
    }
}

fn is_time(column_type: &ColumnType) -> bool {
    matches!(column_type, ColumnType::DateTime { .. } | ColumnType::DateTime64 { .. })
}

fn text_as(
    value: &ScalarValue,
    from: &ColumnType,
    to: &ColumnType,
    purpose: Purpose,
    session: &SessionValues,
) -> Result<Option<ArrayRef>> {
    let text = value.try_as_str().flatten().unwrap_or_default();
    match to {
        // A conversion reads over the time of day; a comparison would take one moment for another.
        ColumnType::Date | ColumnType::Date32 if text.contains(':') => {
            let message = format!("cannot convert string '{text}' to type {to}: it has a time of day");
            Err(external(FunctionError::new(ErrorCode::TYPE_MISMATCH, message)))
        }
        ColumnType::String => Ok(Some(text_array(text))),
        ColumnType::FixedString(_) => Ok(Some(text_array(text.trim_end_matches('\0')))),
        // A value may be given by its number. A name that the enum does not have equals none of its values; both compare
        // as text then.
        ColumnType::Enum8(names) | ColumnType::Enum16(names) if names.number(text).is_none() => {
            match text.parse::<i16>().ok().filter(|number| names.name(*number).is_some()) {
                Some(number) => {
                    number_as(&ScalarValue::Int16(Some(number)), &ColumnType::Int16, to, purpose, session)
                }
                None => Ok(None),
            }
        }
        ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::Tuple(_) | ColumnType::Nothing => Ok(None),
        _ if to.is_number() && purpose == Purpose::Member => {
            let tried = convert(value, from, &to.clone().nullable(), CastMode::OrNull, session)?;
            let is_number = if to.is_integer() { is_whole(text) } else { text.trim().parse::<f64>().is_ok() };
            if tried.null_count() > 0 && !is_number {
                let message = format!("cannot convert string '{text}' to type {to}");
                return Err(external(FunctionError::new(ErrorCode::TYPE_MISMATCH, message)));
            }
            Ok((tried.null_count() == 0).then_some(tried))
        }
        _ => match convert(value, from, to, CastMode::Strict, session) {
            Ok(array) => Ok(Some(array)),
            Err(error) if to.is_address() => Err(error),
            Err(error) => {
                let message = format!("cannot convert string '{text}' to type {to}: {}", error.find_root());
                // Only whole numbers and Decimals do not say what was wrong with the text.
                let own = match error.find_root() {
                    DataFusionError::External(root) => {
                        root.downcast_ref::<FunctionError>().map(|own| own.code)
                    }
                    _ => None,
                };
                let is_plain = to.is_number() && !matches!(to, ColumnType::Float32 | ColumnType::Float64);
                // Nor what is left behind a value that was read.
                let says = |code: &ErrorCode| !is_plain && *code != ErrorCode::CANNOT_PARSE_TEXT;
                let code = own.filter(says).unwrap_or(ErrorCode::TYPE_MISMATCH);
                Err(external(FunctionError::new(code, message)))
            }
        },
    }
}

/// The text as a number that the type of integers does not have, which a conversion would wrap: in a type that has both.
fn beyond(text: &str, to: &ColumnType) -> Option<Expr> {
    if !is_whole(text) {
        return None;
    }
    // Whatever has more digits is beyond all of these types in the same way.
    let most = 10_i128.pow(DIGITS_MAX.into()) - 1;
    let end = if text.starts_with('-') { -most } else { most };
    let number = text.parse::<i128>().unwrap_or(end).clamp(-most, most);
    let (least, greatest) = integer_range(to)?;
    let literal = Expr::Literal(ScalarValue::Decimal128(Some(number), DIGITS_MAX, 0), None);
    (!(least..=greatest).contains(&number)).then_some(literal)
}

fn is_whole(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Digits of the widest Decimal of 128 bits.
const DIGITS_MAX: u8 = 38;

fn integer_range(column_type: &ColumnType) -> Option<(i128, i128)> {
    Some(match column_type {
        ColumnType::UInt8 => (0, u8::MAX.into()),
        ColumnType::UInt16 => (0, u16::MAX.into()),
        ColumnType::UInt32 => (0, u32::MAX.into()),
        ColumnType::UInt64 => (0, u64::MAX.into()),
        ColumnType::Int8 => (i8::MIN.into(), i8::MAX.into()),
        ColumnType::Int16 => (i16::MIN.into(), i16::MAX.into()),
        ColumnType::Int32 => (i32::MIN.into(), i32::MAX.into()),
        ColumnType::Int64 => (i64::MIN.into(), i64::MAX.into()),
        _ => return None,
    })
}

fn text_array(text: &str) -> ArrayRef {
    Arc::new(StringViewArray::from(vec![text]))
}

fn number_as(
    value: &ScalarValue,
    from: &ColumnType,
    to: &ColumnType,
    purpose: Purpose,
    session: &SessionValues,
) -> Result<Option<ArrayRef>> {
    match to {
        _ if from.is_wide_integer() && !to.is_number() && !to.is_string() => Ok(None),
        _ if to.is_string() && purpose == Purpose::Member => {
            Ok(Some(convert(value, from, &ColumnType::String, CastMode::Strict, session)?))
        }
        ColumnType::Bool => {
            let number = convert(value, from, &ColumnType::Float64, CastMode::Strict, session)?;
            let fits = match ScalarValue::try_from_array(&number, 0)? {
                ScalarValue::Float64(Some(number)) => number == 0.0 || number == 1.0,
                _ => false,
            };
            if fits { Ok(Some(convert(value, from, to, CastMode::Strict, session)?)) } else { Ok(None) }
        }
        ColumnType::Enum8(_) | ColumnType::Enum16(_) => {
            let plain = if matches!(to, ColumnType::Enum8(_)) { ColumnType::Int8 } else { ColumnType::Int16 };
            exact(value, from, &plain, session)
        }
        // A number that is no time of the type is none of its values, also where a conversion would take the nearest.
        _ if is_time(to) && from.is_integer() => exact(value, from, to, session),
        // The elements of IN are days since 1970; `=` compares no date with a number.
        ColumnType::Date if purpose == Purpose::Member && from.is_integer() => {
            days(value, from, (&ColumnType::UInt16, to), session)
        }
        ColumnType::Date32 if purpose == Purpose::Member && from.is_integer() => {
            days(value, from, (&ColumnType::Int32, to), session)
        }
        // The layout of an IPv4 address is its number.
        ColumnType::Ipv4 if from.is_integer() => exact(value, from, &ColumnType::UInt32, session),
        _ if to.is_wide_integer() || from.is_wide_integer() && to.is_number() => {
            let tried = convert(value, from, &to.clone().nullable(), CastMode::OrNull, session)?;
            Ok((tried.null_count() == 0).then_some(tried))
        }
        _ if to.is_number() => exact(value, from, to, session),
        _ => Ok(None),
    }
}

/// The day of that number, if there is one; `to` is the type of the numbers, and that of the days.
fn days(
    value: &ScalarValue,
    from: &ColumnType,
    (numbers, to): (&ColumnType, &ColumnType),
    session: &SessionValues,
) -> Result<Option<ArrayRef>> {
    let Some(number) = exact(value, from, numbers, session)? else { return Ok(None) };
    let number = ScalarValue::try_from_array(&number, 0)?;
    Ok(Some(convert(&number, numbers, to, CastMode::Strict, session)?))
}

/// The number as another type of numbers, if it comes back unchanged.
fn exact(
    value: &ScalarValue,
    from: &ColumnType,
    to: &ColumnType,
    session: &SessionValues,
) -> Result<Option<ArrayRef>> {
    let Ok(there) = convert(value, from, to, CastMode::Strict, session) else { return Ok(None) };
    let moved = ScalarValue::try_from_array(&there, 0)?;
    let Ok(back) = convert(&moved, to, from, CastMode::Strict, session) else { return Ok(None) };
    let original = ScalarValue::try_from_array(&literal_array(value, from)?, 0)?;
    let same_sign = is_negative(&moved)? == is_negative(&original)?;
    Ok((ScalarValue::try_from_array(&back, 0)? == original && same_sign).then_some(there))
}

/// Integers wrap there and back again; only the sign tells.
fn is_negative(value: &ScalarValue) -> Result<bool> {
    let zero = ScalarValue::new_zero(&value.data_type())?;
    Ok(value.partial_cmp(&zero) == Some(std::cmp::Ordering::Less))
}
