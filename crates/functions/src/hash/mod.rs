//! Hashes of values.
//!
//! Invariant: the numbers are ClickHouse's, byte for byte, also for several arguments, arrays, tuples and maps.

mod columns;
mod digest;
mod keyed;

pub use model::hashes::city::{city_hash as city_hash_64, city_hash_128, combine as join_hashes_64};

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, UInt32Array, UInt64Array};
use arrow::datatypes::{Decimal128Type, UInt32Type, UInt64Type, i256};
use model::hashes::{city, farm, metro, murmur, sip, wy};
use model::{ColumnType, raw_text};
use xxhash_rust::{xxh3::xxh3_64, xxh32::xxh32, xxh64::xxh64};

use crate::columns::number::wrap;
use crate::columns::wide::column;
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use columns::Family;

/// What ClickHouse gives for a hash of nothing.
const NOTHING: u64 = 0xe28d_bde7_fe22_e41c;

/// What ClickHouse gives for a NULL inside of other values, in each size of hash.
const NULL_32: u32 = 0x03D9_A871;
const NULL_64: u64 = 0xC58A_D2DA_03D9_A871;
const NULL_128: u128 = 0x5715_F196_CBEA_7A40_C58A_D2DA_03D9_A871;

/// Thomas Mueller's mix, which ClickHouse calls intHash64.
fn int_hash(value: u64) -> u64 {
    let mut x = value ^ 0x4CF2_D2BA_AE6D_A887;
    x ^= x >> 33;
    x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
    x ^= x >> 33;
    x = x.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

/// SipHash-2-4 without a key: ClickHouse's sipHash64 of a text.
pub fn sip_hash_64(bytes: &[u8]) -> u64 {
    sip::sip64(bytes, (0, 0))
}

/// ClickHouse's intHash32 with the salt of the function of that name.
fn int_hash_32(value: u64) -> u32 {
    mix_32(value ^ 0x75D9_543D_E018_BF45)
}

/// Thomas Wang's mix of 64 bits to 32: ClickHouse's intHash32 without a salt.
pub fn mix_32(value: u64) -> u32 {
    let mut x = value;
    x = (!x).wrapping_add(x << 18);
    x ^= x.rotate_right(31);
    x = x.wrapping_mul(21);
    x ^= x.rotate_right(11);
    x = x.wrapping_add(x << 6);
    x ^= x.rotate_right(22);
    u32::try_from(x & 0xFFFF_FFFF).unwrap_or(0)
}

fn of_two_words(hash: fn(&[u8]) -> u64, low: u64, high: u64) -> u64 {
    hash(&(u128::from(high) << 64 | u128::from(low)).to_le_bytes())
}

fn sip_64(bytes: &[u8]) -> u64 {
    sip::sip64(bytes, (0, 0))
}

fn family(bytes: fn(&[u8]) -> u64, combine: fn(u64, u64) -> u64) -> Family<u64> {
    Family {
        bytes: Arc::new(bytes),
        number: None,
        length: int_hash,
        combine: Arc::new(combine),
        nothing: NOTHING,
        null: NULL_64,
    }
}

fn with_numbers(family: Family<u64>) -> Family<u64> {
    Family { number: Some(int_hash), ..family }
}

fn hash64(name: &'static str, family: Family<u64>) -> ScalarFunction {
    ScalarFunction::new(
        name,
        0..=usize::MAX,
        |_| Ok(ColumnType::UInt64),
        move |call| Ok(Arc::new(UInt64Array::from(family.rows(call)?))),
    )
}

fn hash32(name: &'static str, bytes: fn(&[u8]) -> u32) -> ScalarFunction {
    let combine = |a: u32, b: u32| int_hash_32(u64::from(a)) ^ b;
    let (bytes, combine) = (Arc::new(bytes), Arc::new(combine));
    let family =
        Family { bytes, number: None, length: int_hash_32, combine, nothing: 0xFE22_E41C, null: NULL_32 };
    ScalarFunction::new(
        name,
        0..=usize::MAX,
        |_| Ok(ColumnType::UInt32),
        move |call| Ok(Arc::new(UInt32Array::from(family.rows(call)?))),
    )
}

type Wide = [u8; 16];

fn family_128(
    bytes: impl Fn(&[u8]) -> Wide + Send + Sync + 'static,
    combine: impl Fn(Wide, Wide) -> Wide + Send + Sync + 'static,
) -> Family<Wide> {
    let word = |word: u64| u128::from(word).to_le_bytes();
    let length = |length: u64| u128::from(int_hash_32(length)).to_le_bytes();
    let (bytes, combine) = (Arc::new(bytes), Arc::new(combine));
    Family { bytes, number: None, length, combine, nothing: word(NOTHING), null: NULL_128.to_le_bytes() }
}

/// 128 bits as a FixedString.
fn wide_texts(call: &Call<'_>, hashes: &[Wide]) -> Result<ArrayRef, FunctionError> {
    call.each_text(|row, out| {
        raw_text::push_fixed(&hashes[row], out);
        Ok(())
    })
}

fn hash128(name: &'static str, bytes: fn(&[u8]) -> Wide, combine: fn(Wide, Wide) -> Wide) -> ScalarFunction {
    let family = family_128(bytes, combine);
    ScalarFunction::new(
        name,
        0..=usize::MAX,
        |_| Ok(ColumnType::FixedString(16)),
        move |call| wide_texts(call, &family.rows(call)?),
    )
}

fn joined(a: [u8; 16], b: [u8; 16]) -> Vec<u8> {
    [a, b].concat()
}

fn murmur_128(bytes: &[u8]) -> [u8; 16] {
    let (low, high) = murmur::murmur3_128(bytes);
    (u128::from(high) << 64 | u128::from(low)).to_le_bytes()
}

fn xxh3_128_bytes(bytes: &[u8]) -> Wide {
    xxhash_rust::xxh3::xxh3_128(bytes).to_le_bytes()
}

/// 128 bits as a number.
fn xxh3_128(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let hashes = family_128(xxh3_128_bytes, |a, b| xxh3_128_bytes(&joined(a, b))).rows(call)?;
    let number = |hash: &Wide| {
        let number = u128::from_le_bytes(*hash);
        let half = |bits: u128| i256::from_i128(i128::try_from(bits & u128::from(u64::MAX)).unwrap_or(0));
        half(number >> 64) << 64_u8 | half(number)
    };
    column(&hashes.iter().map(number).collect::<Vec<_>>(), &ColumnType::UInt128, None)
}

fn integer(
    name: &'static str,
    result: ColumnType,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| match args.first().map(|arg| &arg.column_type) {
        Some(number) if number.is_integer() => Ok(result.clone()),
        Some(ColumnType::Decimal { precision: ..=18, .. } | ColumnType::Ipv4) => Ok(result.clone()),
        Some(ColumnType::Date | ColumnType::Date32 | ColumnType::DateTime { .. } | ColumnType::Bool) => {
            Ok(result.clone())
        }
        Some(other) => Err(FunctionError::illegal_type(other, name)),
        None => Err(FunctionError::bad_argument("a number is needed")),
    }
}

/// The bits of an integer or date.
fn bits(call: &Call<'_>) -> Result<UInt64Array, FunctionError> {
    if let Some(decimals) = call.arg(0)?.array.as_primitive_opt::<Decimal128Type>() {
        // As it lies in memory, without its point.
        return Ok(decimals.unary(|value| wrap::<i64, u64>(i64::try_from(value).unwrap_or(0))));
    }
    Ok(call.converted(0, &ColumnType::UInt64)?.as_primitive::<UInt64Type>().clone())
}

/// The URL without a slash at its end, or its first levels.
fn url_part(url: &[u8], level: Option<i64>) -> &[u8] {
    let trimmed = |part: &'_ [u8]| match part {
        [.., b'/' | b'?' | b'#'] => part.len() - 1,
        _ => part.len(),
    };
    let Some(level) = level else { return &url[..trimmed(url)] };
    let text = url;
    let find = |from: usize| {
        text[from..].iter().position(|byte| matches!(byte, b'/' | b'?' | b'#')).map(|at| from + at)
    };
    let colon = text.windows(3).position(|window| window == b"://");
    let Some(colon) = colon else {
        // Without a scheme there is one level only.
        return if level == 0 { url } else { &[] };
    };
    if level < 0 {
        return &[];
    }
    let mut at = find(colon + 3).unwrap_or(text.len());
    for _ in 0..level {
        // Behind the last separator there is no further level.
        if at + 1 >= text.len() {
            return &[];
        }
        at = find(at + 1).unwrap_or(text.len());
    }
    // Levels end with their separator, which is left out as in the whole URL.
    let end = (at + 1).min(text.len());
    &text[..trimmed(&text[..end])]
}

fn url_hash(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let urls = call.texts(0)?;
    let levels = if call.args.len() > 1 { Some(call.ints(1)?) } else { None };
    call.each::<UInt64Type>(|row| {
        let level = levels.as_ref().map(|levels| levels.get(row));
        Ok(city::city_hash(url_part(&urls.bytes(row), level)))
    })
}

fn by_words() -> Vec<ScalarFunction> {
    vec![
        hash64("cityHash64", with_numbers(family(city::city_hash, city::combine))).doc(
            "cityHash64(x, ...)",
            "CityHash of 64 bits over all arguments.",
            "cityHash64('abc', 1)",
        ),
        hash64("farmHash64", with_numbers(family(farm::farm64, city::combine))).doc(
            "farmHash64(x, ...)",
            "FarmHash of 64 bits over all arguments.",
            "farmHash64('abc') -> 2640714258260161385",
        ),
        hash64("farmFingerprint64", with_numbers(family(farm::fingerprint64, farm::fingerprint_of_two))).doc(
            "farmFingerprint64(x, ...)",
            "FarmHash's portable fingerprint over all arguments.",
            "farmFingerprint64('abc') -> 2640714258260161385",
        ),
        hash64("metroHash64", with_numbers(family(metro::metro64, city::combine))).doc(
            "metroHash64(x, ...)",
            "MetroHash of 64 bits over all arguments.",
            "metroHash64('abc') -> 983152225323542437",
        ),
        hash64("xxHash64", family(|bytes| xxh64(bytes, 0), city::combine)).doc(
            "xxHash64(x, ...)",
            "xxHash of 64 bits over all arguments.",
            "xxHash64('abc')",
        ),
        hash64("xxh3", family(xxh3_64, city::combine)).doc(
            "xxh3(x, ...)",
            "xxHash 3 of 64 bits.",
            "xxh3('abc')",
        ),
        hash64("murmurHash2_64", family(|bytes| murmur::murmur2_64(bytes, 0), |a, b| int_hash(a) ^ b)).doc(
            "murmurHash2_64(x, ...)",
            "MurmurHash 2 of 64 bits over all arguments.",
            "murmurHash2_64('abc') -> 11297775770902552315",
        ),
        hash64("gccMurmurHash", family(murmur::gcc_murmur, |a, b| int_hash(a) ^ b)).doc(
            "gccMurmurHash(x, ...)",
            "The MurmurHash of GCC's library.",
            "gccMurmurHash('abc') -> 3663726644998027833",
        ),
        hash64(
            "murmurHash3_64",
            family(
                |bytes| {
                    let (low, high) = murmur::murmur3_128(bytes);
                    low ^ high
                },
                |a, b| int_hash(a) ^ b,
            ),
        )
        .doc(
            "murmurHash3_64(x, ...)",
            "MurmurHash 3, 128 bits folded to 64.",
            "murmurHash3_64('abc')",
        ),
        hash64("sipHash64", family(sip_64, |a, b| of_two_words(sip_64, a, b))).doc(
            "sipHash64(x, ...)",
            "SipHash-2-4 of 64 bits over all arguments.",
            "sipHash64('abc')",
        ),
        hash64("halfMD5", family(digest::half_md5, |a, b| of_two_words(digest::half_md5, a, b))).doc(
            "halfMD5(x, ...)",
            "The first 8 bytes of MD5 as a number, over all arguments.",
            "halfMD5('abc') -> 10376663631224000432",
        ),
    ]
}

fn of_other_sizes() -> Vec<ScalarFunction> {
    vec![
        hash64("wyHash64", family(wy::wy64, |a, b| of_two_words(wy::wy64, a, b))).doc(
            "wyHash64(x, ...)",
            "wyhash of 64 bits over all arguments.",
            "wyHash64('abc') -> 13006551795127091151",
        ),
        hash32("xxHash32", |bytes| xxh32(bytes, 0)).doc(
            "xxHash32(x, ...)",
            "xxHash of 32 bits.",
            "xxHash32('abc')",
        ),
        hash32("murmurHash2_32", |bytes| murmur::murmur2_32(bytes, 0)).doc(
            "murmurHash2_32(x, ...)",
            "MurmurHash 2 of 32 bits.",
            "murmurHash2_32('abc') -> 324500635",
        ),
        hash32("murmurHash3_32", murmur::murmur3_32).doc(
            "murmurHash3_32(x, ...)",
            "MurmurHash 3 of 32 bits.",
            "murmurHash3_32('abc') -> 3017643002",
        ),
        hash32("kafkaMurmurHash", murmur::kafka_murmur).doc(
            "kafkaMurmurHash(x, ...)",
            "The MurmurHash of Kafka's partitioner.",
            "kafkaMurmurHash('abc') -> 479470107",
        ),
        hash128("sipHash128", |bytes| sip::sip128(bytes, (0, 0)), |a, b| sip::sip128(&joined(a, b), (0, 0)))
            .doc(
                "sipHash128(x, ...)",
                "SipHash-2-4 of 128 bits, ClickHouse's variant.",
                "hex(sipHash128('abc'))",
            ),
        hash128(
            "sipHash128Reference",
            |bytes| sip::sip128_reference(bytes, (0, 0)),
            |a, b| sip::sip128_reference(&joined(a, b), (0, 0)),
        )
        .doc(
            "sipHash128Reference(x, ...)",
            "SipHash-2-4 of 128 bits as its authors define it.",
            "hex(sipHash128Reference('abc'))",
        ),
        hash128("murmurHash3_128", murmur_128, |a, b| murmur_128(&joined(a, b))).doc(
            "murmurHash3_128(x, ...)",
            "MurmurHash 3 of 128 bits.",
            "hex(murmurHash3_128('abc'))",
        ),
        ScalarFunction::new("xxh3_128", 0..=usize::MAX, |_| Ok(ColumnType::UInt128), xxh3_128).doc(
            "xxh3_128(x, ...)",
            "xxHash 3 of 128 bits as a number.",
            "hex(xxh3_128('abc')) -> '06B05AB6733A618578AF5F94892F3950'",
        ),
    ]
}

pub(crate) fn functions() -> Vec<ScalarFunction> {
    let mut out = by_words();
    out.extend(of_other_sizes());
    out.extend(keyed::functions());
    out.extend(digest::functions());
    out.extend([
        ScalarFunction::new(
            "URLHash",
            1..=2,
            crate::kernel::types::takes_text("URLHash", 1, ColumnType::UInt64),
            url_hash,
        )
        .doc(
            "URLHash(url[, level])",
            "CityHash of a URL without its last separator, or of its first levels.",
            "URLHash('http://a.b/')",
        ),
        ScalarFunction::new("intHash64", 1..=1, integer("intHash64", ColumnType::UInt64), |call| {
            let (numbers, arg) = (bits(call)?, call.arg(0)?);
            call.each::<UInt64Type>(|row| Ok(int_hash(numbers.value(arg.row(row)))))
        })
        .doc("intHash64(n)", "A mix of the bits of an integer.", "intHash64(1)"),
        ScalarFunction::new("intHash32", 1..=1, integer("intHash32", ColumnType::UInt32), |call| {
            let (numbers, arg) = (bits(call)?, call.arg(0)?);
            call.each::<UInt32Type>(|row| Ok(int_hash_32(numbers.value(arg.row(row)))))
        })
        .doc(
            "intHash32(n)",
            "A mix of the bits of an integer in 32 bits.",
            "intHash32(1) -> 1343103100",
        ),
    ]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sip_hash_of_known_texts() {
        // ClickHouse's sipHash64('') and sipHash64('abc').
        assert_eq!(sip_64(b""), 2_202_906_307_356_721_367);
        assert_eq!(sip_64(b"abc"), 4_596_069_200_710_135_518);
    }
}
