//! What functions tell about the block of rows they are asked in, and about values as they lie in it.
//!
//! Invariant: blocks are batches as they come; none of these is folded, as what they tell differs from batch to batch.

use std::time::Duration;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{UInt8Type, UInt64Type};
use model::saturating::u64_of;
use model::{ColumnType, ErrorCode, raw_text};

use crate::cast::CastMode;
use crate::columns::container::range;
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::raw::in_memory;
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::{integer_shape, is_float};

/// Longest sleep, in microseconds, as in ClickHouse.
const SLEEP_MICROS_MAX: f64 = 3_000_000.0;

fn seconds_type(
    name: &'static str,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| {
        let plain = args[0].column_type.value_type();
        let known = is_float(plain) || integer_shape(plain).is_some_and(|(_, signed)| !signed);
        if known { Ok(ColumnType::UInt8) } else { Err(FunctionError::illegal_type(plain, name)) }
    }
}

/// Waits once for a block, or once for each of its rows.
fn sleep(name: &'static str, each_row: bool) -> ScalarFunction {
    ScalarFunction::new(name, 1..=1, seconds_type(name), move |call: &Call<'_>| {
        if !call.arg(0)?.is_constant {
            let message = format!("the argument of {name} is a constant");
            return Err(FunctionError::new(ErrorCode::ILLEGAL_COLUMN, message));
        }
        let seconds = call.floats(0)?.get(0);
        let rows = if each_row { call.rows } else { call.rows.min(1) };
        let micros = seconds * 1e6 * f64::from(u32::try_from(rows).unwrap_or(u32::MAX));
        if !(0.0..=SLEEP_MICROS_MAX).contains(&micros) {
            let message =
                format!("the longest sleep is {SLEEP_MICROS_MAX} microseconds, {micros} are asked for");
            return Err(FunctionError::new(ErrorCode::TOO_SLOW, message));
        }
        if let Some(clock) = &call.session.clock {
            clock.sleep(Duration::from_secs_f64(micros / 1e6));
        }
        call.each::<UInt8Type>(|_| Ok(0))
    })
    .volatile()
}

fn of_block(name: &'static str, number: fn(&Call<'_>, usize) -> u64) -> ScalarFunction {
    ScalarFunction::new(
        name,
        0..=0,
        |_| Ok(ColumnType::UInt64),
        move |call| call.each::<UInt64Type>(|row| Ok(number(call, row))),
    )
    .volatile()
}

/// Bytes of the value of a row, as ClickHouse's columns have it.
fn bytes_of(array: &ArrayRef, column_type: &ColumnType, row: usize) -> u64 {
    if array.is_null(row) && column_type.is_nullable() {
        let text = if column_type.is_string() { 9 } else { 0 };
        return text.max(bytes_of_plain(column_type.value_type())) + u64::from(!column_type.is_string());
    }
    let null = u64::from(matches!(column_type, ColumnType::Nullable(_)));
    null + match column_type.value_type() {
        // Its bytes and the place of its end.
        ColumnType::String => u64_of(raw_text::bytes(array.as_string_view().value(row)).len()) + 8,
        ColumnType::Array(element) => {
            let list = array.as_list::<i32>();
            let own = range(list.value_offsets(), row);
            8 + own.map(|at| bytes_of(list.values(), element, at)).sum::<u64>()
        }
        ColumnType::Map(key, value) => {
            let map = array.as_map();
            let own = range(map.value_offsets(), row);
            8 + own.map(|at| bytes_of(map.keys(), key, at) + bytes_of(map.values(), value, at)).sum::<u64>()
        }
        ColumnType::Tuple(elements) => {
            let columns = array.as_struct().columns().iter().zip(elements);
            columns.map(|(column, element)| bytes_of(column, &element.column_type, row)).sum()
        }
        plain => bytes_of_plain(plain),
    }
}

fn bytes_of_plain(column_type: &ColumnType) -> u64 {
    use ColumnType as C;
    match column_type {
        C::UInt16 | C::Int16 | C::Date | C::Enum16(_) => 2,
        C::UInt32 | C::Int32 | C::Float32 | C::Date32 | C::DateTime { .. } | C::Ipv4 => 4,
        C::UInt64 | C::Int64 | C::Float64 | C::DateTime64 { .. } => 8,
        C::UInt128 | C::Int128 | C::Uuid | C::Ipv6 => 16,
        C::UInt256 | C::Int256 => 32,
        C::FixedString(length) => u64::from(*length),
        C::Decimal { precision, .. } => match precision {
            ..=9 => 4,
            10..=18 => 8,
            19..=38 => 16,
            _ => 32,
        },
        _ => 1,
    }
}

/// How many places the text of a value takes where it is shown.
fn visible_width(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let arg = call.arg(0)?;
    let texts = call.caster(CastMode::Strict).to_text(&arg.array, arg.column_type.value_type());
    let places = |text: &str| text.chars().map(|c| u64::from(!c.is_control()) + u64::from(is_wide(c))).sum();
    call.each::<UInt64Type>(|row| {
        let row = arg.row(row);
        Ok(if texts.is_null(row) { 4 } else { places(texts.value(row)) })
    })
}

fn is_wide(c: char) -> bool {
    matches!(u32::from(c),
        0x1100..=0x115F | 0x2E80..=0x303E | 0x3040..=0xA4CF | 0xAC00..=0xD7A3 | 0xF900..=0xFAFF
        | 0xFE30..=0xFE6F | 0xFF00..=0xFF60 | 0xFFE0..=0xFFE6 | 0x1_F300..=0x1_F64F | 0x2_0000..=0x3_FFFD)
}

/// The name of the column that holds values in memory.
pub(super) fn memory_name(column_type: &ColumnType) -> String {
    match in_memory(column_type) {
        _ if *column_type == ColumnType::Ipv4 => "IPv4".to_owned(),
        ColumnType::Decimal { precision, .. } => match precision {
            ..=9 => "Decimal32".to_owned(),
            10..=18 => "Decimal64".to_owned(),
            19..=38 => "Decimal128".to_owned(),
            _ => "Decimal256".to_owned(),
        },
        ColumnType::DateTime64 { .. } => "DateTime64".to_owned(),
        ColumnType::Array(element) if element.value_type() == element.as_ref() => {
            format!("Array({})", memory_name(&element))
        }
        other => other.to_string(),
    }
}

/// What a column is in memory, and whether it is one value for all rows.
fn column_name(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let arg = call.arg(0)?;
    let plain = memory_name(arg.column_type.value_type());
    let named = match arg.column_type.is_nullable() {
        true => format!("Nullable({plain})"),
        false => plain,
    };
    let named = if arg.is_constant { format!("Const({named})") } else { named };
    call.each_part(|_| &named)
}

fn values() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new("toColumnTypeName", 1..=1, |_| Ok(ColumnType::String), column_name)
            .own_nulls()
            .doc(
                "toColumnTypeName(x)",
                "What the column of values is in memory.",
                "toColumnTypeName(1) -> 'Const(UInt8)'",
            ),
        ScalarFunction::new(
            "byteSize",
            0..=usize::MAX,
            |_| Ok(ColumnType::UInt64),
            |call| {
                let sizes = call.args.iter().map(|arg| (arg, &arg.array, &arg.column_type));
                let sizes: Vec<_> = sizes.collect();
                call.each::<UInt64Type>(|row| {
                    Ok(sizes
                        .iter()
                        .map(|(arg, array, column_type)| bytes_of(array, column_type, arg.row(row)))
                        .sum())
                })
            },
        )
        .own_nulls()
        .doc("byteSize(x, ...)", "Bytes that the values take in memory.", "byteSize('abc') -> 11"),
        ScalarFunction::new("visibleWidth", 1..=1, |_| Ok(ColumnType::UInt64), visible_width)
            .own_nulls()
            .doc(
                "visibleWidth(x)",
                "Places that the value takes where it is shown.",
                "visibleWidth('abc') -> 3",
            ),
        ScalarFunction::new(
            "getSizeOfEnumType",
            1..=1,
            |args| match args[0].column_type.enum_values() {
                Some(_) => Ok(ColumnType::UInt32),
                None => Err(FunctionError::illegal_type(&args[0].column_type, "getSizeOfEnumType")),
            },
            |call| {
                let count = call.arg(0)?.column_type.enum_values().map_or(0, |values| values.iter().count());
                call.each::<arrow::datatypes::UInt32Type>(|_| Ok(u32::try_from(count).unwrap_or(0)))
            },
        )
        .doc(
            "getSizeOfEnumType(x)",
            "How many values the type of an enum has.",
            "getSizeOfEnumType(CAST('a', 'Enum8(\'a\' = 1)'))",
        ),
    ]
}

pub(crate) fn functions() -> Vec<ScalarFunction> {
    let mut out = values();
    out.extend([
        sleep("sleep", false).any_case().doc(
            "sleep(seconds)",
            "0, after waiting once for each block of rows; 3 seconds at most.",
            "sleep(0) -> 0",
        ),
        sleep("sleepEachRow", true).any_case().doc(
            "sleepEachRow(seconds)",
            "0, after waiting for each row; 3 seconds a block at most.",
            "sleepEachRow(0) -> 0",
        ),
        of_block("blockSize", |call, _| u64_of(call.rows)).doc(
            "blockSize()",
            "How many rows the block has.",
            "blockSize() -> 1",
        ),
        of_block("rowNumberInBlock", |_, row| u64_of(row)).doc(
            "rowNumberInBlock()",
            "The place of the row in its block, from 0.",
            "rowNumberInBlock() -> 0",
        ),
        ScalarFunction::new(
            "indexHint",
            0..=usize::MAX,
            |_| Ok(ColumnType::UInt8),
            |call| call.each::<UInt8Type>(|_| Ok(1)),
        )
        .own_nulls()
        .doc("indexHint(...)", "Always 1.", "indexHint(equals(1, 0)) -> 1"),
    ]);
    out
}
