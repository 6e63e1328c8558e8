//! Cryptographic digests and checksums of one text.
//!
//! Invariant: a digest is a FixedString of its bytes, which text carries as `model::raw_text` does.

use arrow::array::ArrayRef;
use arrow::datatypes::{Int32Type, Int64Type, UInt32Type, UInt64Type};
use md5::Md5;
use model::{ColumnType, ErrorCode, raw_text};
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512, Sha512_256};

use super::checksum::{crc32, crc32_ieee, crc64, hive, java};
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::takes_text;

fn digest(name: &'static str, bytes: u32, digest: fn(&[u8]) -> Vec<u8>) -> ScalarFunction {
    ScalarFunction::new(name, 1..=1, takes_text(name, 1, ColumnType::FixedString(bytes)), move |call| {
        let texts = call.texts(0)?;
        call.each_text(|row, out| {
            raw_text::push_fixed(&digest(&texts.bytes(row)), out);
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

/// The first 8 bytes of MD5 as a number.
pub(super) fn half_md5(bytes: &[u8]) -> u64 {
    Md5::digest(bytes).iter().take(8).fold(0, |word, byte| word << 8 | u64::from(*byte))
}

fn java_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    use ColumnType::{Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    match args.first().map(|arg| &arg.column_type) {
        Some(ColumnType::String | ColumnType::FixedString(_) | Int8 | Int16 | Int32 | Int64) => Ok(Int32),
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
        ColumnType::String | ColumnType::FixedString(_) => {
            let texts = call.texts(0)?;
            call.each::<Int32Type>(|row| Ok(java(&texts.bytes(row))))
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
        ScalarFunction::new("hiveHash", 1..=1, takes_text("hiveHash", 1, ColumnType::Int32), |call| {
            let texts = call.texts(0)?;
            call.each::<Int32Type>(|row| Ok(hive(&texts.bytes(row))))
        })
        .doc(
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
                let keys = arrow::array::AsArray::as_primitive::<UInt64Type>(&keys).clone();
                let arg = call.arg(0)?;
                call.each::<Int32Type>(|row| {
                    let buckets = buckets.get(row);
                    if !(1..=32_768).contains(&buckets) {
                        let message = "jumpConsistentHash takes 1 to 32768 buckets";
                        return Err(FunctionError::bad_argument(message));
                    }
                    let bucket: <Int64Type as arrow::datatypes::ArrowPrimitiveType>::Native =
                        super::checksum::jump(keys.value(arg.row(row)), buckets);
                    Ok(crate::columns::number::wrap(bucket))
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
