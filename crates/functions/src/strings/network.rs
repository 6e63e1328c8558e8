//! Addresses as text and as numbers.
//!
//! Invariant: an IPv6 address as bytes is a FixedString(16), an IPv4 one a UInt32; where one of them is taken, so is the
//! type IPv6 or IPv4.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use arrow::array::{ArrayRef, AsArray, StringViewArray, UInt32Array};
use arrow::datatypes::{UInt32Type, UInt64Type};
use model::address::{V6, V6_BYTES, parse_v6};
use model::{ColumnType, ErrorCode, raw_text};

use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::takes_text;

fn number(
    name: &'static str,
    result: ColumnType,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| match args.first() {
        Some(arg) if arg.column_type.is_integer() || arg.column_type == ColumnType::Ipv4 => {
            Ok(result.clone())
        }
        Some(arg) => Err(FunctionError::illegal_type(&arg.column_type, name)),
        None => Err(FunctionError::bad_argument("a number is needed")),
    }
}

/// The 16 bytes of an IPv6 address.
pub(super) fn octets(
    name: &'static str,
    result: ColumnType,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| match args.first().map(|arg| &arg.column_type) {
        Some(ColumnType::Ipv6 | ColumnType::FixedString(16)) => Ok(result.clone()),
        Some(other) => Err(FunctionError::illegal_type(other, name)),
        None => Err(FunctionError::bad_argument("an address is needed")),
    }
}

/// The address of each row, of an IPv6 or of its bytes as text.
pub(super) fn addresses_v6(
    call: &Call<'_>,
    index: usize,
) -> Result<impl Fn(usize) -> [u8; V6_BYTES], FunctionError> {
    let array = call.converted(index, &ColumnType::Ipv6)?.as_fixed_size_binary().clone();
    let constant = call.arg(index)?.is_constant;
    Ok(move |row: usize| array.value(if constant { 0 } else { row }).try_into().unwrap_or_default())
}

fn bad_v4(text: &str) -> FunctionError {
    FunctionError::new(ErrorCode::CANNOT_PARSE_IPV4, format!("invalid IPv4 value '{text}'"))
}

fn bad_v6(text: &str) -> FunctionError {
    FunctionError::new(ErrorCode::CANNOT_PARSE_IPV6, format!("invalid IPv6 value '{text}'"))
}

fn address_v4(call: &Call<'_>, write: fn([u8; 4], &mut String)) -> Result<ArrayRef, FunctionError> {
    let array = call.converted(0, &ColumnType::UInt64)?;
    let (numbers, arg) = (array.as_primitive::<UInt64Type>(), call.arg(0)?);
    call.each_text(|row, out| {
        let bits = u32::try_from(numbers.value(arg.row(row)) & 0xFFFF_FFFF).unwrap_or(0);
        write(bits.to_be_bytes(), out);
        Ok(())
    })
}

fn to_bytes(name: &'static str, missing: Option<[u8; 16]>) -> ScalarFunction {
    ScalarFunction::new(name, 1..=1, takes_text(name, 1, ColumnType::FixedString(16)), move |call| {
        let texts = call.texts(0)?;
        call.each_text(|row, out| {
            let text = texts.get(row);
            let bytes = parse_v6(text.as_bytes()).or(missing).ok_or_else(|| bad_v6(text))?;
            raw_text::push_fixed(&bytes, out);
            Ok(())
        })
    })
}

fn or_null() -> ScalarFunction {
    let name = "IPv6StringToNumOrNull";
    let result = ColumnType::FixedString(16).nullable();
    ScalarFunction::new(name, 1..=1, takes_text(name, 1, result), |call| {
        let texts = call.texts(0)?;
        let bytes = |row: usize| {
            let mut out = String::new();
            raw_text::push_fixed(&parse_v6(texts.get(row).as_bytes())?, &mut out);
            Some(out)
        };
        Ok(std::sync::Arc::new((0..call.rows).map(bytes).collect::<StringViewArray>()))
    })
}

/// Whether an address is in a network of `address/length`.
fn in_range(address: &str, network: &str) -> Result<bool, FunctionError> {
    let bad = |what: &str| {
        FunctionError::new(ErrorCode::CANNOT_PARSE_TEXT, format!("neither IPv4 nor IPv6 address: '{what}'"))
    };
    let address: IpAddr = address.parse().map_err(|_| bad(address))?;
    let (base, length) = network.split_once('/').ok_or_else(|| {
        FunctionError::new(ErrorCode::CANNOT_PARSE_TEXT, format!("the network '{network}' has no /length"))
    })?;
    let base: IpAddr = base.parse().map_err(|_| bad(base))?;
    let length: u32 = length.parse().map_err(|_| bad(network))?;
    let bits = |address: IpAddr| match address {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()), 32),
        IpAddr::V6(v6) => (v6.to_bits(), 128),
    };
    let ((a, width), (b, other)) = (bits(address), bits(base));
    if length > other {
        return Err(FunctionError::new(
            ErrorCode::CANNOT_PARSE_TEXT,
            format!("the network '{network}' has a wrong length"),
        ));
    }
    Ok(width == other && (length == 0 || (a ^ b) >> (other - length) == 0))
}

fn v4_numbers() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new(
            "IPv4NumToString",
            1..=1,
            number("IPv4NumToString", ColumnType::String),
            |call| address_v4(call, |[a, b, c, d], out| out.push_str(&Ipv4Addr::new(a, b, c, d).to_string())),
        )
        .aliases(&["INET_NTOA"])
        .doc(
            "IPv4NumToString(n)",
            "A number as an IPv4 address.",
            "IPv4NumToString(3232235777) -> '192.168.1.1'",
        ),
        ScalarFunction::new(
            "IPv4NumToStringClassC",
            1..=1,
            number("IPv4NumToStringClassC", ColumnType::String),
            |call| address_v4(call, |[a, b, c, _], out| out.push_str(&format!("{a}.{b}.{c}.xxx"))),
        )
        .doc(
            "IPv4NumToStringClassC(n)",
            "As IPv4NumToString with xxx for the last byte.",
            "IPv4NumToStringClassC(3232235777) -> '192.168.1.xxx'",
        ),
        ScalarFunction::new(
            "IPv4StringToNum",
            1..=1,
            takes_text("IPv4StringToNum", 1, ColumnType::UInt32),
            |call| {
                let texts = call.texts(0)?;
                call.each::<UInt32Type>(|row| {
                    let text = texts.get(row);
                    text.parse::<Ipv4Addr>().map(Ipv4Addr::to_bits).map_err(|_| bad_v4(text))
                })
            },
        )
        .aliases(&["INET_ATON"])
        .doc(
            "IPv4StringToNum(text)",
            "An IPv4 address as a number.",
            "IPv4StringToNum('192.168.1.1') -> 3232235777",
        ),
        ScalarFunction::new(
            "IPv4StringToNumOrDefault",
            1..=1,
            takes_text("IPv4StringToNumOrDefault", 1, ColumnType::UInt32),
            |call| {
                let texts = call.texts(0)?;
                call.each::<UInt32Type>(|row| {
                    Ok(texts.get(row).parse::<Ipv4Addr>().map_or(0, Ipv4Addr::to_bits))
                })
            },
        )
        .doc(
            "IPv4StringToNumOrDefault(text)",
            "As IPv4StringToNum; 0 where that fails.",
            "IPv4StringToNumOrDefault('?') -> 0",
        ),
    ]
}

fn v4_questions() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new(
            "IPv4StringToNumOrNull",
            1..=1,
            takes_text("IPv4StringToNumOrNull", 1, ColumnType::UInt32.nullable()),
            |call| {
                let texts = call.texts(0)?;
                let number = |row: usize| texts.get(row).parse::<Ipv4Addr>().ok().map(Ipv4Addr::to_bits);
                Ok(std::sync::Arc::new((0..call.rows).map(number).collect::<UInt32Array>()))
            },
        )
        .doc(
            "IPv4StringToNumOrNull(text)",
            "As IPv4StringToNum; NULL where that fails.",
            "IPv4StringToNumOrNull('?') -> NULL",
        ),
        ScalarFunction::new(
            "isIPv4String",
            1..=1,
            takes_text("isIPv4String", 1, ColumnType::UInt8),
            |call| {
                let texts = call.texts(0)?;
                call.each_flag(|row| texts.get(row).parse::<Ipv4Addr>().is_ok())
            },
        )
        .doc(
            "isIPv4String(text)",
            "Whether text is an IPv4 address.",
            "isIPv4String('1.2.3.4') -> 1",
        ),
    ]
}

fn v4_functions() -> Vec<ScalarFunction> {
    let mut out = v4_numbers();
    out.extend(v4_questions());
    out
}

fn v6_functions() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new(
            "isIPv6String",
            1..=1,
            takes_text("isIPv6String", 1, ColumnType::UInt8),
            |call| {
                let texts = call.texts(0)?;
                call.each_flag(|row| texts.get(row).parse::<Ipv6Addr>().is_ok())
            },
        )
        .doc("isIPv6String(text)", "Whether text is an IPv6 address.", "isIPv6String('::1') -> 1"),
        to_bytes("IPv6StringToNum", None).aliases(&["INET6_ATON"]).doc(
            "IPv6StringToNum(text)",
            "An address as the 16 bytes of IPv6.",
            "hex(IPv6StringToNum('::1')) -> '00000000000000000000000000000001'",
        ),
        or_null().doc(
            "IPv6StringToNumOrNull(text)",
            "As IPv6StringToNum; NULL where that fails.",
            "IPv6StringToNumOrNull('?') -> NULL",
        ),
        to_bytes("IPv6StringToNumOrDefault", Some([0; 16])).doc(
            "IPv6StringToNumOrDefault(text)",
            "As IPv6StringToNum; zero bytes where that fails.",
            "hex(IPv6StringToNumOrDefault('?')) -> '00000000000000000000000000000000'",
        ),
        ScalarFunction::new(
            "IPv6NumToString",
            1..=1,
            octets("IPv6NumToString", ColumnType::String),
            |call| {
                let octets = addresses_v6(call, 0)?;
                call.each_text(|row, out| {
                    out.push_str(&V6(&octets(row)).to_string());
                    Ok(())
                })
            },
        )
        .aliases(&["INET6_NTOA"])
        .doc(
            "IPv6NumToString(bytes)",
            "16 bytes as an IPv6 address.",
            "IPv6NumToString(IPv6StringToNum('::1')) -> '::1'",
        ),
        ScalarFunction::new(
            "isIPAddressInRange",
            2..=2,
            |args| match args {
                [address, network] if address.column_type.is_address() => {
                    takes_text("isIPAddressInRange", 1, ColumnType::UInt8)(std::slice::from_ref(network))
                }
                _ => takes_text("isIPAddressInRange", 2, ColumnType::UInt8)(args),
            },
            |call| {
                let (addresses, networks) = (call.texts(0)?, call.texts(1)?);
                call.each::<arrow::datatypes::UInt8Type>(|row| {
                    in_range(addresses.get(row), networks.get(row)).map(u8::from)
                })
            },
        )
        .doc(
            "isIPAddressInRange(address, network)",
            "Whether an address is in a network.",
            "isIPAddressInRange('192.168.1.5', '192.168.0.0/16') -> 1",
        ),
    ]
}

fn ranges() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new("MACNumToString", 1..=1, number("MACNumToString", ColumnType::String), |call| {
            let numbers = call.ints(0)?;
            call.each_text(|row, out| {
                let bytes = numbers.get(row).to_be_bytes();
                let shown: Vec<String> = bytes[2..].iter().map(|byte| format!("{byte:02X}")).collect();
                out.push_str(&shown.join(":"));
                Ok(())
            })
        })
        .doc(
            "MACNumToString(n)",
            "A number as a MAC address.",
            "MACNumToString(1108152157446) -> '01:02:03:04:05:06'",
        ),
        ScalarFunction::new(
            "MACStringToNum",
            1..=1,
            takes_text("MACStringToNum", 1, ColumnType::UInt64),
            |call| {
                let texts = call.texts(0)?;
                call.each::<UInt64Type>(|row| {
                    let parts: Vec<_> =
                        texts.get(row).split(':').map(|part| u8::from_str_radix(part, 16)).collect();
                    let fits = parts.len() == 6 && parts.iter().all(Result::is_ok);
                    let known = parts.into_iter().flatten();
                    Ok(if fits { known.fold(0, |number, byte| number << 8 | u64::from(byte)) } else { 0 })
                })
            },
        )
        .doc(
            "MACStringToNum(text)",
            "A MAC address as a number; 0 if it is none.",
            "MACStringToNum('01:02:03:04:05:06') -> 1108152157446",
        ),
    ]
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let mut out = v4_functions();
    out.extend(v6_functions());
    out.extend(ranges());

    out
}
