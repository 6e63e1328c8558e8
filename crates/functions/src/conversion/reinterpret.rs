//! The bytes of a value read as those of another type: `reinterpret` and its kin.
//!
//! Invariant: bytes are taken from the first one on, and those that are missing are zero; what they mean is not looked at.

use std::sync::Arc;

use arrow::array::{ArrayRef, FixedSizeBinaryArray, Int64Array, PrimitiveArray};
use arrow::buffer::Buffer;
use arrow::datatypes::{
    Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, UInt32Type, i256,
};
use model::{ColumnType, ErrorCode, raw_text};

use crate::cast::{CastMode, is_wide, typed};
use crate::columns::number::{Number, with_number};
use crate::columns::wide;
use crate::conversion::accurate::named_type;
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::raw::memory;
use crate::kernel::registry::ScalarFunction;
use crate::time::temporal::{digits_of, from_ticks, power_of_ten, precision_of};

/// Bytes of the longest value that is no text.
const BYTES_MAX: usize = 32;

/// How many bytes a value has in memory; `None` for texts and nests.
fn width(column_type: &ColumnType) -> Option<u32> {
    use ColumnType as C;
    Some(match column_type {
        C::UInt8 | C::Int8 | C::Bool | C::Enum8(_) => 1,
        C::UInt16 | C::Int16 | C::Date | C::Enum16(_) => 2,
        C::UInt32 | C::Int32 | C::Float32 | C::Date32 | C::DateTime { .. } | C::Ipv4 => 4,
        C::UInt64 | C::Int64 | C::Float64 | C::DateTime64 { .. } => 8,
        C::UInt128 | C::Int128 | C::Uuid | C::Ipv6 => 16,
        C::UInt256 | C::Int256 => 32,
        C::Decimal { precision, .. } => match precision {
            ..=9 => 4,
            10..=18 => 8,
            19..=38 => 16,
            _ => 32,
        },
        C::FixedString(length) => *length,
        _ => return None,
    })
}

fn check(source: &ColumnType, target: &ColumnType) -> Result<(), FunctionError> {
    let readable = width(source).is_some() || source.is_string();
    let writable = target.is_string()
        || width(target).is_some() && target.enum_values().is_none() && *target != ColumnType::Bool;
    if readable && writable {
        return Ok(());
    }
    let message = format!("cannot reinterpret {source} as {target}");
    Err(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message))
}

/// The first bytes of each row, and how many of them were there.
struct Rows {
    bytes: Vec<[u8; BYTES_MAX]>,
}

impl Rows {
    /// The number that so many bytes are, least one first.
    fn number(bytes: &[u8; BYTES_MAX], width: usize) -> i128 {
        let mut word = [0; 16];
        word[..width.min(16)].copy_from_slice(&bytes[..width.min(16)]);
        i128::from_le_bytes(word)
    }

    fn signed(bytes: &[u8; BYTES_MAX], width: usize) -> i128 {
        let unused = 128 - u32::try_from(width.min(16) * 8).unwrap_or(0);
        Self::number(bytes, width) << unused >> unused
    }

    fn map<T: arrow::datatypes::ArrowPrimitiveType>(
        &self,
        value: impl Fn(&[u8; BYTES_MAX]) -> T::Native,
    ) -> PrimitiveArray<T> {
        PrimitiveArray::from_iter_values(self.bytes.iter().map(value))
    }

    fn fixed(&self, value: impl Fn(&[u8; BYTES_MAX]) -> [u8; 16]) -> ArrayRef {
        let bytes: Vec<u8> = self.bytes.iter().flat_map(value).collect();
        Arc::new(FixedSizeBinaryArray::new(16, Buffer::from(bytes), None))
    }

    fn column(&self, target: &ColumnType) -> Result<ArrayRef, FunctionError> {
        Ok(match target {
            ColumnType::Float32 => Arc::new(self.map::<Float32Type>(|bytes| {
                f32::from_bits(<u32 as Number>::wrap_int(Self::number(bytes, 4)))
            })),
            ColumnType::Float64 => Arc::new(self.map::<Float64Type>(|bytes| {
                f64::from_bits(<u64 as Number>::wrap_int(Self::number(bytes, 8)))
            })),
            ColumnType::Date => {
                Arc::new(self.map::<Date32Type>(|bytes| <i32 as Number>::wrap_int(Self::number(bytes, 2))))
            }
            ColumnType::Date32 => {
                Arc::new(self.map::<Date32Type>(|bytes| <i32 as Number>::wrap_int(Self::signed(bytes, 4))))
            }
            ColumnType::DateTime { .. } | ColumnType::DateTime64 { .. } => {
                let is_seconds = matches!(target, ColumnType::DateTime { .. });
                let up = power_of_ten(digits_of(target) - precision_of(target).min(digits_of(target)));
                let ticks = self.bytes.iter().map(|bytes| match is_seconds {
                    true => <i64 as Number>::wrap_int(Self::number(bytes, 4)),
                    false => <i64 as Number>::wrap_int(Self::signed(bytes, 8)).wrapping_mul(up),
                });
                from_ticks(Int64Array::from_iter_values(ticks), target)
            }
            ColumnType::Ipv4 => {
                Arc::new(self.map::<UInt32Type>(|bytes| <u32 as Number>::wrap_int(Self::number(bytes, 4))))
            }
            ColumnType::Ipv6 => self.fixed(|bytes| std::array::from_fn(|at| bytes[at])),
            // Two words, the high one first, each with its least byte first.
            ColumnType::Uuid => {
                self.fixed(|bytes| std::array::from_fn(|at| bytes[if at < 8 { 7 - at } else { 23 - at }]))
            }
            decimal @ ColumnType::Decimal { .. } => self.decimals(decimal),
            large if large.is_wide_integer() => {
                let numbers: Vec<i256> = self.bytes.iter().map(|bytes| i256::from_le_bytes(*bytes)).collect();
                wide::column(&numbers, large, None)?
            }
            number => with_number!(number, T => {
                Arc::new(self.map::<T>(|bytes| Number::wrap_int(Self::number(bytes, 8))))
            }, else return Err(FunctionError::illegal_type(number, "reinterpret"))),
        })
    }

    fn decimals(&self, target: &ColumnType) -> ArrayRef {
        let bytes_used = width(target).map_or(16, |width| usize::try_from(width).unwrap_or(16));
        if is_wide(target) {
            return typed(self.map::<Decimal256Type>(|bytes| i256::from_le_bytes(*bytes)), target);
        }
        typed(self.map::<Decimal128Type>(|bytes| Self::signed(bytes, bytes_used)), target)
    }
}

fn reinterpret(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (arg, target) = (call.arg(0)?, call.result_type.value_type());
    let memory = memory(&arg.array, &arg.column_type, &call.caster(CastMode::Strict))?;
    let mut bytes = Vec::new();
    if target.is_string() {
        return call.each_text(|row, out| {
            bytes.clear();
            memory(arg.row(row), &mut bytes);
            match target {
                ColumnType::FixedString(length) => bytes.resize(usize::try_from(*length).unwrap_or(0), 0),
                // A text of its own keeps its zero bytes.
                _ if arg.column_type == ColumnType::String => {}
                _ => bytes.truncate(bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)),
            }
            raw_text::push(&bytes, out);
            Ok(())
        });
    }
    let mut rows = Rows { bytes: Vec::with_capacity(call.rows) };
    for row in 0..call.rows {
        bytes.clear();
        memory(arg.row(row), &mut bytes);
        let mut own = [0; BYTES_MAX];
        let used = bytes.len().min(BYTES_MAX);
        own[..used].copy_from_slice(&bytes[..used]);
        // A shorter target sees its own bytes only.
        let kept = width(target).map_or(BYTES_MAX, |width| usize::try_from(width).unwrap_or(BYTES_MAX));
        own[kept.min(BYTES_MAX)..].fill(0);
        if matches!(target, ColumnType::Int256 | ColumnType::Int128)
            && kept < BYTES_MAX
            && own[kept - 1] > 0x7F
        {
            own[kept..].fill(0xFF);
        }
        rows.bytes.push(own);
    }
    rows.column(target)
}

fn named(name: &'static str, target: ColumnType) -> ScalarFunction {
    let rule = move |args: &[ArgType]| check(&args[0].column_type, &target).map(|()| target.clone());
    ScalarFunction::new(name, 1..=1, rule, reinterpret)
}

fn fixed_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    match width(&args[0].column_type) {
        Some(bytes) => Ok(ColumnType::FixedString(bytes)),
        None => {
            let message = format!("cannot reinterpret {} as FixedString", args[0].column_type);
            Err(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message))
        }
    }
}

pub(crate) fn functions() -> Vec<ScalarFunction> {
    use ColumnType as C;
    let targets = [
        ("reinterpretAsUInt8", C::UInt8),
        ("reinterpretAsUInt16", C::UInt16),
        ("reinterpretAsUInt32", C::UInt32),
        ("reinterpretAsUInt64", C::UInt64),
        ("reinterpretAsUInt128", C::UInt128),
        ("reinterpretAsUInt256", C::UInt256),
        ("reinterpretAsInt8", C::Int8),
        ("reinterpretAsInt16", C::Int16),
        ("reinterpretAsInt32", C::Int32),
        ("reinterpretAsInt64", C::Int64),
        ("reinterpretAsInt128", C::Int128),
        ("reinterpretAsInt256", C::Int256),
        ("reinterpretAsFloat32", C::Float32),
        ("reinterpretAsFloat64", C::Float64),
        ("reinterpretAsDate", C::Date),
        ("reinterpretAsDateTime", C::DateTime { time_zone: None }),
        ("reinterpretAsUUID", C::Uuid),
    ];
    let documented = |(name, target)| {
        named(name, target).doc(
            "reinterpretAsUInt32(x)",
            "The value of another type that has the bytes of x.",
            "reinterpretAsUInt32('abc') -> 6513249",
        )
    };
    let mut out: Vec<ScalarFunction> = targets.into_iter().map(documented).collect();
    out.extend([
        named("reinterpretAsString", C::String).doc(
            "reinterpretAsString(x)",
            "The bytes of x without zero bytes at their end.",
            "reinterpretAsString(65) -> 'A'",
        ),
        ScalarFunction::new("reinterpretAsFixedString", 1..=1, fixed_type, reinterpret).doc(
            "reinterpretAsFixedString(x)",
            "The bytes of x.",
            "reinterpretAsFixedString(65) -> 'A'",
        ),
        ScalarFunction::new(
            "reinterpret",
            2..=2,
            |args| {
                let target = named_type(args)?;
                check(&args[0].column_type, &target).map(|()| target)
            },
            reinterpret,
        )
        .doc(
            "reinterpret(x, 'T')",
            "The value of the named type that has the bytes of x.",
            "reinterpret('abc', 'UInt32') -> 6513249",
        ),
    ]);
    out
}
