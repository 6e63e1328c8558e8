//! Cryptographic digests and checksums of one text.
//!
//! Invariant: a digest is a FixedString of its bytes, which text carries as `model::raw_text` does.

use std::borrow::Cow;

use arrow::array::{ArrayRef, AsArray, FixedSizeBinaryArray, UInt32Array};
use arrow::datatypes::{Int32Type, UInt32Type, UInt64Type};
use md5::Md5;
use model::hashes::checksum::{crc32, crc32_ieee, crc64, hive, java, java_utf16, jump};
use model::hashes::md4::md4;
use model::{ColumnType, ErrorCode, raw_text};
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512, Sha512_256};

use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::Texts;
use crate::kernel::types::takes_text;

/// Texts, or addresses as they lie in memory: the lowest byte of IPv4 first. Behind them whether they are one for all rows.
enum Bytes {
    Texts(Texts),
    V4(UInt32Array, bool),
    V6(FixedSizeBinaryArray, bool),
}

impl Bytes {
    fn of(call: &Call<'_>) -> Result<Bytes, FunctionError> {
        let arg = call.arg(0)?;
        Ok(match arg.column_type.value_type() {
            ColumnType::Ipv4 => Bytes::V4(arg.array.as_primitive().clone(), arg.is_constant),
            ColumnType::Ipv6 => Bytes::V6(arg.array.as_fixed_size_binary().clone(), arg.is_constant),
            _ => Bytes::Texts(call.texts(0)?),
        })
    }

    fn get(&self, row: usize) -> Cow<'_, [u8]> {
        let place = |is_constant: bool| if is_constant { 0 } else { row };
        match self {
            Bytes::Texts(texts) => texts.bytes(row),
            Bytes::V4(words, one) => Cow::Owned(words.value(place(*one)).to_le_bytes().to_vec()),
            Bytes::V6(octets, one) => Cow::Borrowed(octets.value(place(*one))),
        }
    }
}

/// Texts and IPv6, and where `any_address` IPv4, too.
fn takes_bytes(
    name: &'static str,
    any_address: bool,
    result: ColumnType,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync + 'static {
    move |args| match args[0].column_type.value_type() {
        ColumnType::Ipv6 => Ok(result.clone()),
        ColumnType::Ipv4 if any_address => Ok(result.clone()),
        _ => takes_text(name, 1, result.clone())(args),
    }
}

fn digest(name: &'static str, bytes: u32, digest: fn(&[u8]) -> Vec<u8>) -> ScalarFunction {
    let rule = takes_bytes(name, false, ColumnType::FixedString(bytes));
    ScalarFunction::new(name, 1..=1, rule, move |call| {
        let given = Bytes::of(call)?;
        call.each_text(|row, out| {
            raw_text::push_fixed(&digest(&given.get(row)), out);
            Ok(())
        })
    })
}

fn checksum64(name: &'static str, sum: fn(&[u8]) -> u64) -> ScalarFunction {
    ScalarFunction::new(name, 1..=1, takes_text(name, 1, ColumnType::UInt64), move |call| {
        let texts = call.texts(0)?;
        call.each::<UInt64Type>(|row| Ok(sum(&texts.bytes(row))))
    })
}

fn checksum32(name: &'static str, sum: fn(&[u8]) -> u32) -> ScalarFunction {
    ScalarFunction::new(name, 1..=1, takes_text(name, 1, ColumnType::UInt32), move |call| {
        let texts = call.texts(0)?;
        call.each::<UInt32Type>(|row| Ok(sum(&texts.bytes(row))))
    })
}

fn hashed(name: &'static str, hash: fn(&[u8]) -> Option<i32>) -> ScalarFunction {
    ScalarFunction::new(name, 1..=1, takes_bytes(name, true, ColumnType::Int32), move |call| {
        let given = Bytes::of(call)?;
        let odd = || FunctionError::bad_argument(format!("{name} takes text of UTF-16"));
        call.each::<Int32Type>(|row| hash(&given.get(row)).ok_or_else(odd))
    })
}

/// The first 8 bytes of MD5 as a number.
pub(super) fn half_md5(bytes: &[u8]) -> u64 {
    Md5::digest(bytes).iter().take(8).fold(0, |word, byte| word << 8 | u64::from(*byte))
}

fn java_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    use ColumnType::{Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    match args.first().map(|arg| &arg.column_type) {
        Some(ColumnType::String | ColumnType::FixedString(_) | ColumnType::Ipv4 | ColumnType::Ipv6) => {
            Ok(Int32)
        }
        Some(Int8 | Int16 | Int32 | Int64) => Ok(Int32),
        Some(unsigned @ (UInt8 | UInt16 | UInt32 | UInt64)) => {
            let message =
                format!("javaHash of {unsigned} is not supported: Java has no unsigned numbers; convert it");
            Err(FunctionError::new(ErrorCode::NOT_IMPLEMENTED, message))
        }
        Some(other) => Err(FunctionError::illegal_type(other, "javaHash")),
        None => Err(FunctionError::bad_argument("a value is needed")),
    }
}

fn java_hash(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    match &call.arg(0)?.column_type {
        ColumnType::String | ColumnType::FixedString(_) | ColumnType::Ipv4 | ColumnType::Ipv6 => {
            let given = Bytes::of(call)?;
            call.each::<Int32Type>(|row| Ok(java(&given.get(row))))
        }
        ColumnType::Int64 => {
            let numbers = call.ints(0)?;
            call.each::<Int32Type>(|row| {
                let bits = numbers.get(row);
                // Java's Long.hashCode: the halves of the bits joined by exclusive OR.
                Ok(crate::columns::number::wrap::<i64, i32>(
                    bits ^ crate::columns::number::wrap::<u64, i64>(bits.cast_unsigned() >> 32),
                ))
            })
        }
        _ => {
            let numbers = call.ints(0)?;
            call.each::<Int32Type>(|row| Ok(crate::columns::number::wrap::<i64, i32>(numbers.get(row))))
        }
    }
}

fn digests() -> Vec<ScalarFunction> {
    vec![
        digest("MD4", 16, |bytes| md4(bytes).to_vec()).doc(
            "MD4(text)",
            "The MD4 digest.",
            "hex(MD4('abc')) -> 'A448017AAF21D8525FC10AE87AA6729D'",
        ),
        digest("MD5", 16, |bytes| Md5::digest(bytes).to_vec()).any_case().doc(
            "MD5(text)",
            "The MD5 digest.",
            "hex(MD5('abc')) -> '900150983CD24FB0D6963F7D28E17F72'",
        ),
        digest("SHA1", 20, |bytes| Sha1::digest(bytes).to_vec()).any_case().aliases(&["SHA"]).doc(
            "SHA1(text)",
            "The SHA-1 digest.",
            "hex(SHA1('abc')) -> 'A9993E364706816ABA3E25717850C26C9CD0D89D'",
        ),
        digest("SHA224", 28, |bytes| Sha224::digest(bytes).to_vec()).any_case().doc(
            "SHA224(text)",
            "The SHA-224 digest.",
            "hex(SHA224('abc'))",
        ),
        digest("SHA256", 32, |bytes| Sha256::digest(bytes).to_vec()).any_case().doc(
            "SHA256(text)",
            "The SHA-256 digest.",
            "hex(SHA256('abc'))",
        ),
        digest("SHA384", 48, |bytes| Sha384::digest(bytes).to_vec()).any_case().doc(
            "SHA384(text)",
            "The SHA-384 digest.",
            "hex(SHA384('abc'))",
        ),
        digest("SHA512", 64, |bytes| Sha512::digest(bytes).to_vec()).any_case().doc(
            "SHA512(text)",
            "The SHA-512 digest.",
            "hex(SHA512('abc'))",
        ),
        digest("SHA512_256", 32, |bytes| Sha512_256::digest(bytes).to_vec()).any_case().doc(
            "SHA512_256(text)",
            "The SHA-512/256 digest.",
            "hex(SHA512_256('abc'))",
        ),
    ]
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let mut out = digests();
    out.extend([
        checksum32("CRC32", crc32).any_case().doc(
            "CRC32(text)",
            "The checksum of zlib.",
            "CRC32('abc') -> 891568578",
        ),
        checksum32("CRC32IEEE", crc32_ieee).any_case().doc(
            "CRC32IEEE(text)",
            "CRC-32 of IEEE 802.3 without its inversions.",
            "CRC32IEEE('abc') -> 3395655888",
        ),
        checksum64("CRC64", crc64).any_case().doc(
            "CRC64(text)",
            "CRC-64 of ECMA-182 without its inversions.",
            "CRC64('abc') -> 14276787454831668577",
        ),
        ScalarFunction::new("javaHash", 1..=1, java_type, java_hash).doc(
            "javaHash(x)",
            "Java's hashCode of a text or a signed number.",
            "javaHash('abc') -> 96354",
        ),
        hashed("javaHashUTF16LE", java_utf16).doc(
            "javaHashUTF16LE(text)",
            "Java's hashCode of a text of UTF-16, the lower bytes first.",
            "javaHashUTF16LE('abcd') -> 806434",
        ),
        hashed("hiveHash", |bytes| Some(hive(bytes))).doc(
            "hiveHash(text)",
            "Hive's hash: javaHash without its sign.",
            "hiveHash('abc') -> 96354",
        ),
        ScalarFunction::new(
            "jumpConsistentHash",
            2..=2,
            |args| match args.iter().find(|arg| !arg.column_type.is_integer()) {
                Some(arg) => Err(FunctionError::illegal_type(&arg.column_type, "jumpConsistentHash")),
                None => Ok(ColumnType::Int32),
            },
            |call| {
                let (keys, buckets) = (call.converted(0, &ColumnType::UInt64)?, call.ints(1)?);
                let keys = keys.as_primitive::<UInt64Type>().clone();
                let arg = call.arg(0)?;
                call.each::<Int32Type>(|row| {
                    let buckets = buckets.get(row);
                    if !(1..=32_768).contains(&buckets) {
                        let message = "jumpConsistentHash takes 1 to 32768 buckets";
                        return Err(FunctionError::bad_argument(message));
                    }
                    Ok(crate::columns::number::wrap::<i64, i32>(jump(keys.value(arg.row(row)), buckets)))
                })
            },
        )
        .doc(
            "jumpConsistentHash(key, buckets)",
            "The bucket of a key; few keys move when a bucket is added.",
            "jumpConsistentHash(256, 16) -> 3",
        ),
    ]);
    out
}
