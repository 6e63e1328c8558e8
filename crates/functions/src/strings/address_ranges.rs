//! Networks of addresses, and addresses made into others.
//!
//! Invariant: a prefix longer than an address is the whole address, as in ClickHouse.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, FixedSizeBinaryArray, PrimitiveArray};
use arrow::buffer::Buffer;
use arrow::datatypes::UInt32Type;
use model::address::{V6, V6_BYTES, mapped};
use model::{ColumnType, TupleElement, raw_text};

use super::network::{addresses_v6, octets};
use crate::columns::container::{tuple_of, unnamed};
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;

fn pair(of: &ColumnType) -> Vec<TupleElement> {
    vec![TupleElement { name: None, column_type: of.clone() }; 2]
}

/// An IPv4 address or its number.
fn bits_v4(
    name: &'static str,
    result: ColumnType,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| match args.first().map(|arg| &arg.column_type) {
        Some(ColumnType::Ipv4 | ColumnType::UInt8 | ColumnType::UInt16 | ColumnType::UInt32) => {
            Ok(result.clone())
        }
        Some(other) => Err(FunctionError::illegal_type(other, name)),
        None => Err(FunctionError::bad_argument("an address is needed")),
    }
}

fn addresses_v4(call: &Call<'_>) -> Result<impl Fn(usize) -> u32, FunctionError> {
    let array = call.converted(0, &ColumnType::UInt32)?.as_primitive::<UInt32Type>().clone();
    let constant = call.arg(0)?.is_constant;
    Ok(move |row: usize| array.value(if constant { 0 } else { row }))
}

fn v4_range(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (address, prefix) = (addresses_v4(call)?, call.ints(1)?);
    let hosts = |row: usize| {
        let host_bits = u32::try_from(32 - prefix.get(row).clamp(0, 32)).unwrap_or(0);
        u32::MAX.checked_shr(32 - host_bits).unwrap_or(0)
    };
    let first: PrimitiveArray<UInt32Type> =
        (0..call.rows).map(|row| Some(address(row) & !hosts(row))).collect();
    let last: PrimitiveArray<UInt32Type> =
        (0..call.rows).map(|row| Some(address(row) | hosts(row))).collect();
    Ok(tuple_of(&pair(&ColumnType::Ipv4), vec![Arc::new(first), Arc::new(last)], None, call.rows)?)
}

fn v6_range(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (address, prefix) = (addresses_v6(call, 0)?, call.ints(1)?);
    let (mut first, mut last) = (Vec::new(), Vec::new());
    for row in 0..call.rows {
        let host_bits = u32::try_from(128 - prefix.get(row).clamp(0, 128)).unwrap_or(0);
        let hosts = u128::MAX.checked_shr(128 - host_bits).unwrap_or(0);
        let bits = u128::from_be_bytes(address(row));
        first.extend((bits & !hosts).to_be_bytes());
        last.extend((bits | hosts).to_be_bytes());
    }
    let column =
        |bytes: Vec<u8>| -> ArrayRef { Arc::new(FixedSizeBinaryArray::new(16, Buffer::from(bytes), None)) };
    Ok(tuple_of(&pair(&ColumnType::Ipv6), vec![column(first), column(last)], None, call.rows)?)
}

/// The address without its last bytes: so many of an IPv6 address, so many of one that stands for IPv4.
fn cut(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (address, of_v6, of_v4) = (addresses_v6(call, 0)?, call.ints(1)?, call.ints(2)?);
    call.each_text(|row, out| {
        let mut octets = address(row);
        let is_mapped = model::address::unmapped(&octets).is_some();
        let count = if is_mapped { of_v4.get(row) } else { of_v6.get(row) };
        let count = usize::try_from(count).unwrap_or(0).min(V6_BYTES);
        octets[V6_BYTES - count..].fill(0);
        out.push_str(&V6(&octets).to_string());
        Ok(())
    })
}

fn v6_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let of_number = bits_v4("IPv4ToIPv6", ColumnType::FixedString(16))(args)?;
    Ok(if args[0].column_type == ColumnType::Ipv4 { ColumnType::Ipv6 } else { of_number })
}

fn to_v6(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let address = addresses_v4(call)?;
    if *call.result_type.value_type() == ColumnType::Ipv6 {
        let bytes: Vec<u8> = (0..call.rows).flat_map(|row| mapped(address(row))).collect();
        return Ok(Arc::new(FixedSizeBinaryArray::new(16, Buffer::from(bytes), None)));
    }
    call.each_text(|row, out| {
        raw_text::push_fixed(&mapped(address(row)), out);
        Ok(())
    })
}

/// The bytes of the second argument are a number, in ClickHouse a UInt8.
fn with_number(
    first: impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync + 'static,
    name: &'static str,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync + 'static {
    move |args| match args.iter().skip(1).find(|arg| !arg.column_type.is_integer()) {
        Some(other) => Err(FunctionError::illegal_type(&other.column_type, name)),
        None => first(args),
    }
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let (v4_pair, v6_pair) =
        (unnamed([ColumnType::Ipv4, ColumnType::Ipv4]), unnamed([ColumnType::Ipv6, ColumnType::Ipv6]));
    let v4_name = "IPv4CIDRToRange";
    let v6_name = "IPv6CIDRToRange";
    vec![
        ScalarFunction::new(v4_name, 2..=2, with_number(bits_v4(v4_name, v4_pair), v4_name), v4_range).doc(
            "IPv4CIDRToRange(address, prefix)",
            "The first and the last address of a network.",
            "IPv4CIDRToRange(toIPv4('192.168.5.2'), 16) -> ('192.168.0.0','192.168.255.255')",
        ),
        ScalarFunction::new(v6_name, 2..=2, with_number(octets(v6_name, v6_pair), v6_name), v6_range).doc(
            "IPv6CIDRToRange(address, prefix)",
            "The first and the last address of a network.",
            "IPv6CIDRToRange(toIPv6('2001:db8::1'), 32) -> ('2001:db8::','2001:db8:ffff:ffff:ffff:ffff:ffff:ffff')",
        ),
        ScalarFunction::new(
            "cutIPv6",
            3..=3,
            with_number(octets("cutIPv6", ColumnType::String), "cutIPv6"),
            cut,
        )
        .doc(
            "cutIPv6(address, bytes, bytes_of_v4)",
            "The text of an address whose last bytes are zero: other counts for addresses that stand for IPv4.",
            "cutIPv6(toIPv6('2001:db8::1:2'), 2, 0) -> '2001:db8::1:0'",
        ),
        ScalarFunction::new("IPv4ToIPv6", 1..=1, v6_type, to_v6).doc(
            "IPv4ToIPv6(address)",
            "The IPv6 address that stands for an IPv4 one; of a number its bytes.",
            "IPv6NumToString(IPv4ToIPv6(toIPv4('1.2.3.4'))) -> '::ffff:1.2.3.4'",
        ),
    ]
}
