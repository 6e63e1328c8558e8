//! Random values of distributions, and random text.
//!
//! Invariant: all of them come from the session's stream, so that a seed replays a query.

use std::f64::consts::PI;

use arrow::array::ArrayRef;
use arrow::datatypes::{Float64Type, UInt8Type, UInt64Type};
use model::saturating::u64_of;
use model::{ColumnType, ErrorCode, raw_text};

use crate::columns::number::wrap;
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call, RandomStream};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::constant_int;
use crate::kernel::types::is_float;

/// Longest random text.
const LENGTH_MAX: i64 = 1 << 24;
/// Trials of one binomial or Poisson value.
const TRIALS_MAX: f64 = 1e6;

/// From 0 to below 1, in steps of 2^-53.
fn unit(call: &Call<'_>) -> f64 {
    wrap::<u64, f64>(call.session.random.next_u64() >> 11) / 9_007_199_254_740_992.0
}

/// Box and Muller's way to a normal value.
fn normal(call: &Call<'_>) -> f64 {
    (-2.0 * (1.0 - unit(call)).ln()).sqrt() * (2.0 * PI * unit(call)).cos()
}

fn parameters(
    name: &'static str,
    count: usize,
    result: ColumnType,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| match args
        .iter()
        .take(count)
        .find(|arg| !arg.column_type.is_number() || arg.constant.is_none())
    {
        Some(arg) if arg.column_type.is_number() => Err(FunctionError::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!("the parameters of {name} must be constant"),
        )),
        Some(arg) => Err(FunctionError::illegal_type(&arg.column_type, name)),
        None => Ok(result.clone()),
    }
}

fn check(holds: bool, name: &str, wanted: &str) -> Result<(), FunctionError> {
    if holds { Ok(()) } else { Err(FunctionError::bad_argument(format!("{name} needs {wanted}"))) }
}

fn float(
    name: &'static str,
    count: usize,
    draw: fn(&Call<'_>, f64, f64) -> Result<f64, FunctionError>,
) -> ScalarFunction {
    ScalarFunction::new(name, count..=count + 1, parameters(name, count, ColumnType::Float64), move |call| {
        let first = call.floats(0)?.get(0);
        let second = if count > 1 { call.floats(1)?.get(0) } else { 0.0 };
        call.each::<Float64Type>(|_| draw(call, first, second))
    })
    .volatile()
}

fn poisson(call: &Call<'_>, mean: f64) -> Result<u64, FunctionError> {
    check(mean > 0.0 && mean <= TRIALS_MAX, "randPoisson", "a mean above 0 and not above a million")?;
    if mean > 500.0 {
        // So far out the normal distribution is the same.
        return Ok(wrap::<f64, u64>((mean + mean.sqrt() * normal(call)).round().max(0.0)));
    }
    let limit = (-mean).exp();
    let (mut product, mut count) = (unit(call), 0);
    while product > limit {
        product *= unit(call);
        count += 1;
    }
    Ok(count)
}

fn lengths(
    name: &'static str,
    fixed: bool,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| {
        if !args[0].column_type.is_integer() {
            return Err(FunctionError::illegal_type(&args[0].column_type, name));
        }
        if !fixed {
            return Ok(ColumnType::String);
        }
        let length = constant_int(args, 0).filter(|length| (1..=LENGTH_MAX).contains(length));
        let length = length.and_then(|length| u32::try_from(length).ok());
        length.map(ColumnType::FixedString).ok_or_else(|| {
            FunctionError::new(
                ErrorCode::ILLEGAL_COLUMN,
                format!("{name} needs a constant length of 1 to {LENGTH_MAX}"),
            )
        })
    }
}

fn text(name: &'static str, fixed: bool, bytes_of: fn(u64) -> Drawn) -> ScalarFunction {
    ScalarFunction::new(
        name,
        1..=2,
        lengths(name, fixed),
        move |call: &Call<'_>| -> Result<ArrayRef, FunctionError> {
            let lengths = call.ints(0)?;
            call.each_text(|row, out| {
                let length = lengths.get(row);
                if !(0..=LENGTH_MAX).contains(&length) {
                    let message =
                        format!("{name} makes texts of up to {LENGTH_MAX} bytes, {length} asked for");
                    return Err(FunctionError::new(ErrorCode::TOO_LARGE_STRING_SIZE, message));
                }
                let bytes = drawn_text(call, length, bytes_of);
                if fixed {
                    raw_text::push_fixed(&bytes, out);
                } else {
                    raw_text::push(&bytes, out);
                }
                Ok(())
            })
        },
    )
    .volatile()
}

/// Bytes of a text that one draw gives, and how many.
type Drawn = ([u8; 8], usize);

/// So many bytes. The query's stream, which all threads share, is asked once a text.
fn drawn_text(call: &Call<'_>, length: i64, bytes_of: fn(u64) -> Drawn) -> Vec<u8> {
    let own = RandomStream::new(call.session.random.next_u64());
    let length = usize::try_from(length).unwrap_or(0);
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        let (drawn, count) = bytes_of(own.next_u64());
        bytes.extend_from_slice(&drawn[..count]);
    }
    bytes.truncate(length);
    bytes
}

fn any_bytes(bits: u64) -> Drawn {
    (bits.to_le_bytes(), 8)
}

/// Four characters, each of 16 bits: none of the 95 is noticeably more frequent.
fn printable(bits: u64) -> Drawn {
    let mut drawn = [b' '; 8];
    for (at, byte) in drawn.iter_mut().take(4).enumerate() {
        let part = (bits >> (16 * at)) & 0xFFFF;
        *byte += u8::try_from((part * 95) >> 16).unwrap_or(0);
    }
    (drawn, 4)
}

/// A character of Unicode, each as likely as any other; but for those of the last plane, which are for private use, and of which
/// some stand for bytes here.
fn any_character(stream: &RandomStream) -> char {
    const LAST_PLANE: u32 = 0x10_0000;
    loop {
        // 20 bits; those that are no character are half of a pair.
        let bits = u32::try_from(stream.next_u64() >> 44).unwrap_or(LAST_PLANE);
        if let Some(c) = char::from_u32(bits) {
            return c;
        }
    }
}

fn text_of_characters(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let lengths = call.ints(0)?;
    let most = LENGTH_MAX / 4;
    call.each_text(|row, out| {
        let length = lengths.get(row);
        if !(0..=most).contains(&length) {
            let message =
                format!("randomStringUTF8 makes texts of up to {most} characters, {length} asked for");
            return Err(FunctionError::new(ErrorCode::TOO_LARGE_STRING_SIZE, message));
        }
        let own = RandomStream::new(call.session.random.next_u64());
        out.extend((0..length).map(|_| any_character(&own)));
        Ok(())
    })
}

fn fuzzed_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let [texts, probability] = args else {
        return Err(FunctionError::bad_argument("a text and a probability are needed"));
    };
    if !texts.column_type.is_string() {
        return Err(FunctionError::illegal_type(&texts.column_type, "fuzzBits"));
    }
    if !is_float(&probability.column_type) || probability.constant.is_none() {
        let message = "the second argument of fuzzBits is a constant float";
        return Err(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message));
    }
    Ok(texts.column_type.clone())
}

/// The texts with each bit turned by a probability.
fn fuzzed(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (texts, probability) = (call.texts(0)?, call.floats(1)?);
    let fixed = matches!(call.result_type.value_type(), ColumnType::FixedString(_));
    call.each_text(|row, out| {
        let probability = probability.get(row);
        if !(0.0..=1.0).contains(&probability) {
            let message = "the second argument of fuzzBits is from 0 to 1";
            return Err(FunctionError::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, message));
        }
        let mut bytes = texts.bytes(row).into_owned();
        for byte in &mut bytes {
            for bit in 0..8 {
                *byte ^= u8::from(unit(call) < probability) << bit;
            }
        }
        if fixed {
            raw_text::push_fixed(&bytes, out);
        } else {
            raw_text::push(&bytes, out);
        }
        Ok(())
    })
}

fn counts() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new(
            "randBernoulli",
            1..=2,
            parameters("randBernoulli", 1, ColumnType::UInt8),
            |call| {
                let probability = call.floats(0)?.get(0);
                check((0.0..=1.0).contains(&probability), "randBernoulli", "a probability from 0 to 1")?;
                call.each::<UInt8Type>(|_| Ok(u8::from(unit(call) < probability)))
            },
        )
        .volatile()
        .doc("randBernoulli(p[, x])", "1 with probability p, else 0.", "randBernoulli(1) -> 1"),
        ScalarFunction::new(
            "randBinomial",
            2..=3,
            parameters("randBinomial", 2, ColumnType::UInt64),
            |call| {
                let (trials, probability) = (call.floats(0)?.get(0), call.floats(1)?.get(0));
                check((0.0..=1.0).contains(&probability), "randBinomial", "a probability from 0 to 1")?;
                check((0.0..=TRIALS_MAX).contains(&trials), "randBinomial", "up to a million trials")?;
                let trials = wrap::<f64, u64>(trials);
                call.each::<UInt64Type>(|_| {
                    let hits = (0..trials).filter(|_| unit(call) < probability).count();
                    Ok(u64_of(hits))
                })
            },
        )
        .volatile()
        .doc("randBinomial(n, p[, x])", "How many of n trials succeed.", "randBinomial(5, 1) -> 5"),
        ScalarFunction::new("randPoisson", 1..=2, parameters("randPoisson", 1, ColumnType::UInt64), |call| {
            let mean = call.floats(0)?.get(0);
            call.each::<UInt64Type>(|_| poisson(call, mean))
        })
        .volatile()
        .doc("randPoisson(mean[, x])", "A count of the Poisson distribution.", "randPoisson(3)"),
        ScalarFunction::new("fuzzBits", 2..=2, fuzzed_type, fuzzed).volatile().doc(
            "fuzzBits(text, p)",
            "The text with each of its bits turned with probability p.",
            "fuzzBits('abc', 0.) -> 'abc'",
        ),
    ]
}

pub(crate) fn functions() -> Vec<ScalarFunction> {
    let mut out = counts();
    out.extend([
        float("randUniform", 2, |call, low, high| {
            check(low <= high, "randUniform", "a lower bound not above the upper one")?;
            Ok(low + (high - low) * unit(call))
        })
        .doc(
            "randUniform(low, high[, x])",
            "A Float64 between two bounds.",
            "randUniform(5, 5) -> 5",
        ),
        float("randNormal", 2, |call, mean, deviation| {
            check(deviation >= 0.0, "randNormal", "a deviation not below 0")?;
            Ok(mean + deviation * normal(call))
        })
        .doc(
            "randNormal(mean, deviation[, x])",
            "A value of the normal distribution.",
            "randNormal(5, 0) -> 5",
        ),
        float("randLogNormal", 2, |call, mean, deviation| Ok((mean + deviation * normal(call)).exp())).doc(
            "randLogNormal(mean, deviation[, x])",
            "e to a value of the normal distribution.",
            "randLogNormal(0, 0) -> 1",
        ),
        float("randExponential", 1, |call, rate, _| {
            check(rate > 0.0, "randExponential", "a rate above 0")?;
            Ok(-(1.0 - unit(call)).ln() / rate)
        })
        .doc(
            "randExponential(rate[, x])",
            "A value of the exponential distribution.",
            "randExponential(3)",
        ),
        text("randomString", false, any_bytes).doc(
            "randomString(n[, x])",
            "n random bytes.",
            "randomString(10)",
        ),
        text("randomFixedString", true, any_bytes).doc(
            "randomFixedString(n)",
            "n random bytes as a FixedString.",
            "randomFixedString(5)",
        ),
        ScalarFunction::new(
            "randomStringUTF8",
            1..=2,
            lengths("randomStringUTF8", false),
            text_of_characters,
        )
        .volatile()
        .doc(
            "randomStringUTF8(n[, x])",
            "n random characters of Unicode.",
            "lengthUTF8(randomStringUTF8(0)) -> 0",
        ),
        text("randomPrintableASCII", false, printable).doc(
            "randomPrintableASCII(n[, x])",
            "n random characters of ASCII.",
            "length(randomPrintableASCII(7)) -> 7",
        ),
    ]);
    out
}
