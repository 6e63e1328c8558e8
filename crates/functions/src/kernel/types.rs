//! Type rules shared by functions: common types of branches, types of arithmetic.
//!
//! Invariant: the same types as ClickHouse, where it has a common type in our list; no common type is error 386.

use model::{ColumnType, ErrorCode, TupleElement};

use crate::cast::intervals;
use crate::error::FunctionError;
use crate::kernel::call::ArgType;

/// Bytes and sign of an integer type of a machine, Bool counted as UInt8.
pub(crate) fn integer_shape(column_type: &ColumnType) -> Option<(u8, bool)> {
    Some(match column_type {
        ColumnType::UInt8 | ColumnType::Bool => (1, false),
        ColumnType::UInt16 => (2, false),
        ColumnType::UInt32 => (4, false),
        ColumnType::UInt64 => (8, false),
        ColumnType::Int8 => (1, true),
        ColumnType::Int16 => (2, true),
        ColumnType::Int32 => (4, true),
        ColumnType::Int64 => (8, true),
        _ => return None,
    })
}

/// Bytes and sign of any integer type, also of the wide ones.
pub(crate) fn any_integer_shape(column_type: &ColumnType) -> Option<(u8, bool)> {
    match column_type {
        ColumnType::Int128 => Some((16, true)),
        ColumnType::UInt128 => Some((16, false)),
        ColumnType::Int256 => Some((32, true)),
        ColumnType::UInt256 => Some((32, false)),
        other => integer_shape(other),
    }
}

pub(crate) fn is_float(column_type: &ColumnType) -> bool {
    matches!(column_type, ColumnType::Float32 | ColumnType::Float64)
}

pub(crate) fn is_time(column_type: &ColumnType) -> bool {
    matches!(column_type, ColumnType::DateTime { .. } | ColumnType::DateTime64 { .. })
}

pub(crate) fn is_date(column_type: &ColumnType) -> bool {
    matches!(column_type, ColumnType::Date | ColumnType::Date32)
}

/// The integer type of that many bytes.
pub(crate) fn integer_of(bytes: u8, signed: bool) -> ColumnType {
    match (bytes, signed) {
        (1, false) => ColumnType::UInt8,
        (2, false) => ColumnType::UInt16,
        (4, false) => ColumnType::UInt32,
        (16, false) => ColumnType::UInt128,
        (32, false) => ColumnType::UInt256,
        (_, false) => ColumnType::UInt64,
        (1, true) => ColumnType::Int8,
        (2, true) => ColumnType::Int16,
        (4, true) => ColumnType::Int32,
        (16, true) => ColumnType::Int128,
        (32, true) => ColumnType::Int256,
        (_, true) => ColumnType::Int64,
    }
}

/// Bytes of the next larger integer; from 64 bits on sizes stay as they are.
pub(crate) fn next_size(bytes: u8) -> u8 {
    if bytes < 8 { bytes * 2 } else { bytes }
}

/// The first `texts` arguments must be text.
pub(crate) fn takes_text(
    name: &'static str,
    texts: usize,
    result: ColumnType,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync + 'static {
    move |args| {
        for arg in args.iter().take(texts) {
            let plain = arg.column_type.value_type();
            if !plain.is_string() && plain.enum_values().is_none() {
                return Err(FunctionError::illegal_type(&arg.column_type, name));
            }
        }
        Ok(result.clone())
    }
}

/// The type a value has inside an array, map or tuple: a bare NULL is Nullable there, so that `[NULL]` and `[]` differ.
pub(crate) fn contained(column_type: ColumnType) -> ColumnType {
    match column_type {
        ColumnType::Nothing => ColumnType::Nullable(Box::new(ColumnType::Nothing)),
        other => other,
    }
}

fn no_common(a: &ColumnType, b: &ColumnType) -> FunctionError {
    FunctionError::new(ErrorCode::NO_COMMON_TYPE, format!("there is no supertype for types {a}, {b}"))
}

/// How Decimals meet each other and integers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Decimals {
    /// As values: in a type that has room for the whole part of each beside the longest fraction.
    Whole,
    /// As ClickHouse stores them: the longest fraction in the widest storage among them. What has too many digits then is an
    /// error of whoever converts it.
    Stored,
}

/// The smallest type that holds values of all the types, as ClickHouse has it.
pub(crate) fn supertype<'a>(
    types: impl IntoIterator<Item = &'a ColumnType>,
) -> Result<ColumnType, FunctionError> {
    let types: Vec<&ColumnType> = types.into_iter().collect();
    let is_decimal = |one: &&ColumnType| matches!(one.value_type(), ColumnType::Decimal { .. });
    // An integer asks for room beside the longest fraction of all, not only beside that of its neighbour.
    if types.len() > 2 && types.iter().any(is_decimal) {
        let plain = types.iter().map(|one| one.value_type()).filter(|one| **one != ColumnType::Nothing);
        let common = stored_decimal(&plain.collect::<Vec<_>>())?;
        let nullable = types.iter().any(|one| one.is_nullable());
        return Ok(if nullable { common.nullable() } else { common });
    }
    met(types, Decimals::Stored)
}

/// The smallest type in which values of all the types can be compared: no Decimal of theirs is too long for it.
pub(crate) fn compared_supertype<'a>(
    types: impl IntoIterator<Item = &'a ColumnType>,
) -> Result<ColumnType, FunctionError> {
    met(types, Decimals::Whole)
}

fn met<'a>(
    types: impl IntoIterator<Item = &'a ColumnType>,
    decimals: Decimals,
) -> Result<ColumnType, FunctionError> {
    let mut common: Option<ColumnType> = None;
    for next in types {
        common = Some(match common {
            None => next.clone(),
            Some(common) => supertype_of(&common, next, decimals)?,
        });
    }
    Ok(common.unwrap_or(ColumnType::Nothing))
}

/// The type of values of which ClickHouse makes a Variant if 64-bit integers are among floats: Float64 here, and whoever converts
/// them sees to it that none is rounded.
pub(crate) fn branch_type<'a>(
    types: impl IntoIterator<Item = &'a ColumnType>,
) -> Result<ColumnType, FunctionError> {
    let types: Vec<ColumnType> = types.into_iter().cloned().collect();
    supertype(&types)
        .or_else(|error| floats_for_integers(&types).map_or(Err(error), |floats| supertype(&floats)))
}

/// The types with Float64 for each 64-bit integer; `None` where they do not stand beside a float.
pub fn floats_for_integers(types: &[ColumnType]) -> Option<Vec<ColumnType>> {
    let is_whole = |t: &ColumnType| matches!(t.value_type(), ColumnType::Int64 | ColumnType::UInt64);
    if !types.iter().any(is_whole) || !types.iter().any(|other| is_float(other.value_type())) {
        return None;
    }
    let float = |t: &ColumnType| match is_whole(t) {
        true if t.is_nullable() => ColumnType::Float64.nullable(),
        true => ColumnType::Float64,
        false => t.clone(),
    };
    Some(types.iter().map(float).collect())
}

fn supertype_of(a: &ColumnType, b: &ColumnType, decimals: Decimals) -> Result<ColumnType, FunctionError> {
    if a == b {
        return Ok(a.clone());
    }
    let nullable = a.is_nullable() || b.is_nullable();
    let plain = match (a.value_type(), b.value_type()) {
        (ColumnType::Nothing, _) => b.value_type().clone(),
        (_, ColumnType::Nothing) => a.value_type().clone(),
        (a, b) => plain_supertype(a, b, decimals)?,
    };
    let nests = matches!(plain, ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::Tuple(_));
    Ok(if nullable && !nests { plain.nullable() } else { plain })
}

fn plain_supertype(a: &ColumnType, b: &ColumnType, decimals: Decimals) -> Result<ColumnType, FunctionError> {
    use ColumnType as C;
    if a == b {
        return Ok(a.clone());
    }
    match (a, b) {
        // They lie in memory alike, and the first one is kept.
        (C::Bool, C::UInt8) | (C::UInt8, C::Bool) => Ok(a.clone()),
        (C::String | C::FixedString(_), other) | (other, C::String | C::FixedString(_))
            if other.is_string() || other.enum_values().is_some() =>
        {
            Ok(C::String)
        }
        // Different enums, and enums beside numbers, are their numbers.
        (C::Enum8(_) | C::Enum16(_), other) | (other, C::Enum8(_) | C::Enum16(_))
            if other.is_number() && !matches!(other, C::Decimal { .. }) || other.enum_values().is_some() =>
        {
            plain_supertype(&a.without_names(), &b.without_names(), decimals)
        }
        // The empty array takes the other's elements.
        (C::Array(a), other @ C::Array(_)) if **a == C::Nothing => Ok(other.clone()),
        (other @ C::Array(_), C::Array(b)) if **b == C::Nothing => Ok(other.clone()),
        (C::Array(a), C::Array(b)) => Ok(C::Array(Box::new(supertype_of(a, b, decimals)?))),
        (C::Map(ak, av), C::Map(bk, bv)) => {
            let (key, value) = (supertype_of(ak, bk, decimals)?, supertype_of(av, bv, decimals)?);
            Ok(C::Map(Box::new(key), Box::new(value)))
        }
        _ if a.is_interval() && b.is_interval() => interval_supertype(a, b),
        (C::Tuple(x), C::Tuple(y)) if x.len() == y.len() => tuple_supertype(x, y, decimals),
        (C::Decimal { .. }, _) | (_, C::Decimal { .. }) => match decimals {
            Decimals::Whole => whole_decimal(a, b),
            Decimals::Stored => stored_decimal(&[a, b]),
        },
        _ if is_float(a) || is_float(b) => float_supertype(a, b),
        _ if any_integer_shape(a).is_some() && any_integer_shape(b).is_some() => integer_supertype(a, b),
        _ => time_supertype(a, b),
    }
}

/// Intervals meet in the finer unit, if there is one.
fn interval_supertype(a: &ColumnType, b: &ColumnType) -> Result<ColumnType, FunctionError> {
    intervals::finer(a, b).cloned().ok_or_else(|| no_common(a, b))
}

fn tuple_supertype(
    a: &[TupleElement],
    b: &[TupleElement],
    decimals: Decimals,
) -> Result<ColumnType, FunctionError> {
    let merge = |(x, y): (&TupleElement, &TupleElement)| {
        let name = if x.name == y.name { x.name.clone() } else { None };
        Ok(TupleElement { name, column_type: supertype_of(&x.column_type, &y.column_type, decimals)? })
    };
    Ok(ColumnType::Tuple(a.iter().zip(b).map(merge).collect::<Result<_, FunctionError>>()?))
}

fn integer_supertype(a: &ColumnType, b: &ColumnType) -> Result<ColumnType, FunctionError> {
    let (Some((a_bytes, a_signed)), Some((b_bytes, b_signed))) = (any_integer_shape(a), any_integer_shape(b))
    else {
        return Err(no_common(a, b));
    };
    if a_signed == b_signed {
        return Ok(integer_of(a_bytes.max(b_bytes), a_signed));
    }
    let (signed, unsigned) = if a_signed { (a_bytes, b_bytes) } else { (b_bytes, a_bytes) };
    let bytes = signed.max(unsigned.saturating_mul(2));
    // ClickHouse has no common type of UInt64 and a signed integer of 64 bits or less.
    if unsigned == 8 && signed <= 8 || bytes > 32 {
        return Err(no_common(a, b));
    }
    Ok(integer_of(bytes, true))
}

/// Float32 holds integers of 16 bits and Float64 those of 32. None holds those of 64 bits, which would be rounded.
fn float_supertype(a: &ColumnType, b: &ColumnType) -> Result<ColumnType, FunctionError> {
    let fits_float32 = |t: &ColumnType| match t {
        ColumnType::Float32 => Some(true),
        ColumnType::Float64 => Some(false),
        other => integer_shape(other).filter(|(bytes, _)| *bytes < 8).map(|(bytes, _)| bytes <= 2),
    };
    match (fits_float32(a), fits_float32(b)) {
        (Some(true), Some(true)) => Ok(ColumnType::Float32),
        (Some(_), Some(_)) => Ok(ColumnType::Float64),
        _ => Err(no_common(a, b)),
    }
}

fn whole_decimal(a: &ColumnType, b: &ColumnType) -> Result<ColumnType, FunctionError> {
    let parts = |t: &ColumnType| match t {
        ColumnType::Decimal { precision, scale } => Some((*precision, *scale)),
        other => integer_shape(other).map(|(bytes, _)| (decimal_digits(bytes), 0)),
    };
    let (Some((p, s)), Some((q, t))) = (parts(a), parts(b)) else { return Err(no_common(a, b)) };
    let scale = s.max(t);
    let whole = (p - s).max(q - t);
    Ok(ColumnType::Decimal { precision: decimal_class(whole + scale), scale })
}

fn stored_decimal(types: &[&ColumnType]) -> Result<ColumnType, FunctionError> {
    let (mut scale, mut longest, mut integer) = (0, 0, None);
    for one in types {
        match one {
            ColumnType::Decimal { precision, scale: own } => {
                (scale, longest) = (scale.max(*own), longest.max(*precision));
            }
            other => match integer_shape(other) {
                Some((bytes, signed)) => integer = integer.max(Some((bytes, !signed))),
                None => {
                    let decimal = types.iter().find(|one| matches!(one, ColumnType::Decimal { .. }));
                    return Err(no_common(decimal.copied().unwrap_or(other), other));
                }
            },
        }
    }
    let room = match integer {
        None => 0,
        // As in ClickHouse, whose storage of that many bytes holds the integer although its digits are one more.
        Some((4, false)) if scale == 0 => 9,
        Some((8, false)) if scale == 0 => 18,
        Some((8, false)) => scale + 19,
        Some((bytes, _)) => scale + decimal_digits(bytes),
    };
    if room > 76 {
        return Err(no_common(types[0], types[types.len() - 1]));
    }
    // Decimals that differ in their digits alone keep those of the longest.
    let alike = |one: &&ColumnType| {
        matches!(one, ColumnType::Decimal { precision, scale: own }
            if *own == scale && decimal_class(*precision) == decimal_class(longest))
    };
    if types.iter().all(alike) {
        return Ok(ColumnType::Decimal { precision: longest, scale });
    }
    Ok(ColumnType::Decimal { precision: decimal_class(longest).max(decimal_class(room)), scale })
}

/// Digits of an integer of that many bytes.
fn decimal_digits(bytes: u8) -> u8 {
    match bytes {
        1 => 3,
        2 => 5,
        4 => 10,
        _ => 20,
    }
}

/// Largest precision of the storage that holds one.
pub(crate) fn decimal_class(precision: u8) -> u8 {
    match precision {
        0..=9 => 9,
        10..=18 => 18,
        19..=38 => 38,
        _ => 76,
    }
}

fn time_supertype(a: &ColumnType, b: &ColumnType) -> Result<ColumnType, FunctionError> {
    use ColumnType as C;
    let zone_of = |t: &ColumnType| match t {
        C::DateTime { time_zone } | C::DateTime64 { time_zone, .. } => time_zone.clone(),
        _ => None,
    };
    // The zone of the finer type, else of the first that has a time of day.
    let digits = |t: &ColumnType| match t {
        C::DateTime { .. } => 1,
        C::DateTime64 { precision, .. } => 2 + i32::from(*precision),
        _ => 0,
    };
    let time_zone = if digits(b) > digits(a) { zone_of(b) } else { zone_of(a) };
    let known = |t: &ColumnType| is_date(t) || is_time(t);
    if !known(a) || !known(b) {
        return Err(no_common(a, b));
    }
    match (a, b) {
        (C::DateTime64 { precision: p, .. }, C::DateTime64 { precision: q, .. }) => {
            Ok(C::DateTime64 { precision: *p.max(q), time_zone })
        }
        (C::DateTime64 { precision, .. }, _) | (_, C::DateTime64 { precision, .. }) => {
            Ok(C::DateTime64 { precision: *precision, time_zone })
        }
        // As in ClickHouse, which lets the zone go here.
        (C::Date32, C::DateTime { .. }) | (C::DateTime { .. }, C::Date32) => {
            Ok(C::DateTime64 { precision: 0, time_zone: None })
        }
        (C::DateTime { .. }, _) | (_, C::DateTime { .. }) => Ok(C::DateTime { time_zone }),
        _ => Ok(C::Date32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::type_name::parse;

    #[test]
    fn supertypes_are_clickhouses() {
        for (a, b, common) in [
            ("UInt8", "Int8", "Int16"),
            ("UInt32", "Int8", "Int64"),
            ("UInt16", "Float32", "Float32"),
            ("Int32", "Float32", "Float64"),
            ("Date", "DateTime", "DateTime"),
            ("Date", "Date32", "Date32"),
            ("Decimal(9, 2)", "Decimal(18, 4)", "Decimal(18, 4)"),
            ("Decimal(9, 3)", "Decimal(9, 2)", "Decimal(9, 3)"),
            ("Decimal(9, 0)", "Int32", "Decimal(9, 0)"),
            ("Decimal(9, 0)", "UInt32", "Decimal(18, 0)"),
            ("Decimal(9, 3)", "Int32", "Decimal(18, 3)"),
            ("Decimal(18, 0)", "Int64", "Decimal(18, 0)"),
            ("Decimal(18, 5)", "Int64", "Decimal(38, 5)"),
            ("Decimal(5, 2)", "Decimal(5, 3)", "Decimal(9, 3)"),
            ("Nullable(UInt8)", "UInt16", "Nullable(UInt16)"),
            ("FixedString(2)", "String", "String"),
            ("Array(UInt8)", "Array(Int8)", "Array(Int16)"),
            ("DateTime", "DateTime64(3)", "DateTime64(3)"),
            ("Nothing", "UInt8", "Nullable(UInt8)"),
            ("LowCardinality(String)", "String", "String"),
            ("Bool", "UInt8", "Bool"),
            ("Int128", "UInt64", "Int128"),
            ("Int128", "UInt128", "Int256"),
            ("UInt256", "UInt8", "UInt256"),
            ("Date32", "DateTime('Asia/Tokyo')", "DateTime64(0)"),
            ("Date", "DateTime('Asia/Tokyo')", "DateTime('Asia/Tokyo')"),
        ] {
            let found = supertype([&parse(a).unwrap(), &parse(b).unwrap()]).unwrap();
            assert_eq!(found.to_string(), common, "{a}, {b}");
        }
        let three = ["Decimal(9, 0)", "Int32", "Decimal(9, 5)"].map(|name| parse(name).unwrap());
        assert_eq!(supertype(&three).unwrap().to_string(), "Decimal(18, 5)");
        assert_eq!(compared_supertype(&three[..2]).unwrap().to_string(), "Decimal(18, 0)");
        for (a, b) in [
            ("UInt64", "Int8"),
            ("String", "UInt8"),
            ("Date", "UInt8"),
            ("UInt256", "Int8"),
            ("UInt64", "Float64"),
            ("Int64", "Float32"),
        ] {
            assert!(supertype([&parse(a).unwrap(), &parse(b).unwrap()]).is_err(), "{a}, {b}");
        }
    }
}
