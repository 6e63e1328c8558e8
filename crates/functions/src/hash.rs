//! Hashes of values.
//!
//! Invariant: the numbers are ClickHouse's: text hashes its bytes, a fixed string with its padding, numbers their
//! memory, least byte first. Several arguments are only taken where ClickHouse's way of combining them is known.

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{ToByteSlice, UInt32Type, UInt64Type};
use model::ColumnType;
use xxhash_rust::{xxh3::xxh3_64, xxh32::xxh32, xxh64::xxh64};

use crate::call::{ArgType, Call};
use crate::city::{city_hash, combine};
use crate::error::FunctionError;
use crate::number::with_number;
use crate::registry::ScalarFunction;

/// Appends the bytes of a row.
type RowBytes<'c> = Box<dyn Fn(usize, &mut Vec<u8>) + 'c>;

/// The bytes of each row of an argument that a hash runs over.
fn bytes<'c>(call: &'c Call<'_>, index: usize) -> Result<RowBytes<'c>, FunctionError> {
    let arg = call.arg(index)?;
    let plain = match &arg.column_type {
        ColumnType::Date => ColumnType::UInt16,
        ColumnType::Date32 => ColumnType::Int32,
        ColumnType::DateTime { .. } => ColumnType::UInt32,
        ColumnType::Bool => ColumnType::UInt8,
        ColumnType::Enum8(_) => ColumnType::Int8,
        ColumnType::Enum16(_) => ColumnType::Int16,
        other => other.clone(),
    };
    if let ColumnType::FixedString(length) = plain {
        let texts = call.texts(index)?;
        let length = usize::try_from(length).unwrap_or(0);
        return Ok(Box::new(move |row, out| {
            out.extend_from_slice(texts.get(row).as_bytes());
            out.resize(length, 0);
        }));
    }
    if !plain.is_number() || matches!(plain, ColumnType::Decimal { .. }) {
        let texts = call.texts(index)?;
        return Ok(Box::new(move |row, out| out.extend_from_slice(texts.get(row).as_bytes())));
    }
    let array = call.converted(index, &plain)?;
    with_number!(&plain, T => {
        let numbers = array.as_primitive::<T>().clone();
        Ok(Box::new(move |row: usize, out: &mut Vec<u8>| out.extend_from_slice(numbers.value(arg.row(row)).to_byte_slice())))
    }, else Err(FunctionError::illegal_type(&plain, "of a hash")))
}

fn hashable(
    name: &'static str,
    result: ColumnType,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    use ColumnType as C;
    move |args| {
        for arg in args {
            if let C::Array(_)
            | C::Map(..)
            | C::Tuple(_)
            | C::Uuid
            | C::Decimal { .. }
            | C::DateTime64 { .. } = arg.column_type
            {
                return Err(FunctionError::illegal_type(&arg.column_type, name));
            }
        }
        Ok(result.clone())
    }
}

/// Numbers are mixed as 64 bits, text is hashed; several arguments are combined from the left.
fn city_hash_64(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let mut columns = Vec::with_capacity(call.args.len());
    for (index, arg) in call.args.iter().enumerate() {
        columns.push((bytes(call, index)?, !arg.column_type.is_string()));
    }
    let mut buffer = Vec::new();
    call.each::<UInt64Type>(|row| {
        let mut result: Option<u64> = None;
        for (bytes, is_number) in &columns {
            buffer.clear();
            bytes(row, &mut buffer);
            let hash = match is_number {
                true => int_hash(buffer.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))),
                false => city_hash(&buffer),
            };
            result = Some(result.map_or(hash, |sofar| combine(sofar, hash)));
        }
        Ok(result.unwrap_or(0))
    })
}

fn hash64(name: &'static str, hash: fn(&[u8]) -> u64) -> ScalarFunction {
    ScalarFunction::new(name, 1..=1, hashable(name, ColumnType::UInt64), move |call| {
        let bytes = bytes(call, 0)?;
        let mut buffer = Vec::new();
        call.each::<UInt64Type>(|row| {
            buffer.clear();
            bytes(row, &mut buffer);
            Ok(hash(&buffer))
        })
    })
}

fn xx_hash_32(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let bytes = bytes(call, 0)?;
    let mut buffer = Vec::new();
    call.each::<UInt32Type>(|row| {
        buffer.clear();
        bytes(row, &mut buffer);
        Ok(xxh32(&buffer, 0))
    })
}

/// SipHash-2-4 with the zero key.
fn sip_hash(bytes: &[u8]) -> u64 {
    let mut state: [u64; 4] =
        [0x736f_6d65_7073_6575, 0x646f_7261_6e64_6f6d, 0x6c79_6765_6e65_7261, 0x7465_6462_7974_6573];
    let round = |v: &mut [u64; 4]| {
        v[0] = v[0].wrapping_add(v[1]);
        v[1] = v[1].rotate_left(13) ^ v[0];
        v[0] = v[0].rotate_left(32);
        v[2] = v[2].wrapping_add(v[3]);
        v[3] = v[3].rotate_left(16) ^ v[2];
        v[0] = v[0].wrapping_add(v[3]);
        v[3] = v[3].rotate_left(21) ^ v[0];
        v[2] = v[2].wrapping_add(v[1]);
        v[1] = v[1].rotate_left(17) ^ v[2];
        v[2] = v[2].rotate_left(32);
    };
    let mut absorb = |word: u64| {
        state[3] ^= word;
        round(&mut state);
        round(&mut state);
        state[0] ^= word;
    };
    let chunks = bytes.chunks_exact(8);
    let rest = chunks.remainder();
    for chunk in chunks {
        absorb(chunk.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)));
    }
    let length = u64::try_from(bytes.len()).unwrap_or(0) << 56;
    absorb(rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)) | length);
    state[2] ^= 0xFF;
    (0..4).for_each(|_| round(&mut state));
    state[0] ^ state[1] ^ state[2] ^ state[3]
}

/// Thomas Mueller's mix, which ClickHouse calls intHash64.
fn int_hash(value: u64) -> u64 {
    let mut x = value ^ 0x4CF2_D2BA_AE6D_A887;
    x ^= x >> 33;
    x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
    x ^= x >> 33;
    x = x.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

pub(crate) fn functions() -> Vec<ScalarFunction> {
    vec![
        hash64("xxHash64", |bytes| xxh64(bytes, 0)).doc(
            "xxHash64(x)",
            "xxHash of 64 bits.",
            "xxHash64('abc')",
        ),
        ScalarFunction::new("xxHash32", 1..=1, hashable("xxHash32", ColumnType::UInt32), xx_hash_32).doc(
            "xxHash32(x)",
            "xxHash of 32 bits.",
            "xxHash32('abc')",
        ),
        hash64("xxh3", xxh3_64).doc("xxh3(x)", "xxHash 3 of 64 bits.", "xxh3('abc')"),
        ScalarFunction::new(
            "cityHash64",
            1..=usize::MAX,
            hashable("cityHash64", ColumnType::UInt64),
            city_hash_64,
        )
        .doc("cityHash64(x, ...)", "CityHash of 64 bits over all arguments.", "cityHash64('abc', 1)"),
        hash64("sipHash64", sip_hash).doc("sipHash64(x)", "SipHash-2-4 of 64 bits.", "sipHash64('abc')"),
        ScalarFunction::new(
            "intHash64",
            1..=1,
            |args| match args.first() {
                Some(arg) if arg.column_type.is_integer() => Ok(ColumnType::UInt64),
                Some(arg) => Err(FunctionError::illegal_type(&arg.column_type, "intHash64")),
                None => Err(FunctionError::bad_argument("a number is needed")),
            },
            |call| {
                let numbers = call.converted(0, &ColumnType::UInt64)?;
                let numbers = numbers.as_primitive::<UInt64Type>();
                let arg = call.arg(0)?;
                call.each::<UInt64Type>(|row| Ok(int_hash(numbers.value(arg.row(row)))))
            },
        )
        .doc("intHash64(n)", "A mix of the bits of an integer.", "intHash64(1)"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sip_hash_of_known_texts() {
        // ClickHouse's sipHash64('') and sipHash64('abc').
        assert_eq!(sip_hash(b""), 2_202_906_307_356_721_367);
        assert_eq!(sip_hash(b"abc"), 4_596_069_200_710_135_518);
    }
}
