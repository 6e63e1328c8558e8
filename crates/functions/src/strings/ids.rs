//! UUIDs and addresses of network cards as their bytes and numbers.
//!
//! Invariant: variant 1 has the bytes in the order of the text, variant 2 the first three groups the other way round.

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::UInt64Type;
use model::{ColumnType, raw_text};

use crate::cast::uuid_of_text;
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::constant_int;
use crate::kernel::types::takes_text;

/// The bytes of a UUID in the other variant.
fn turned(bytes: [u8; 16], variant: i64) -> [u8; 16] {
    let mut out = bytes;
    if variant == 2 {
        out[..4].reverse();
        out[4..6].reverse();
        out[6..8].reverse();
    }
    out
}

fn variant(args: &[ArgType], name: &str) -> Result<i64, FunctionError> {
    let variant = if args.len() > 1 { constant_int(args, 1) } else { Some(1) };
    variant.filter(|variant| matches!(variant, 1 | 2)).ok_or_else(|| {
        FunctionError::new(
            model::ErrorCode::ARGUMENT_OUT_OF_BOUND,
            format!("the variant of {name} is 1 or 2"),
        )
    })
}

fn given_variant(call: &Call<'_>) -> Result<i64, FunctionError> {
    if call.args.len() > 1 { Ok(call.ints(1)?.get(0)) } else { Ok(1) }
}

fn from_text(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (texts, variant) = (call.texts(0)?, given_variant(call)?);
    call.each_text(|row, out| {
        let bytes = uuid_of_text(texts.get(row)).unwrap_or([0; 16]);
        raw_text::push_fixed(&turned(bytes, variant), out);
        Ok(())
    })
}

fn from_uuid(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (arg, variant) = (call.arg(0)?, given_variant(call)?);
    let uuids = arg.array.as_fixed_size_binary();
    call.each_text(|row, out| {
        let bytes: [u8; 16] = uuids.value(arg.row(row)).try_into().unwrap_or([0; 16]);
        raw_text::push_fixed(&turned(bytes, variant), out);
        Ok(())
    })
}

fn to_text(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (texts, variant) = (call.texts(0)?, given_variant(call)?);
    call.each_text(|row, out| {
        let mut own = [0; 16];
        let bytes = texts.bytes(row);
        let used = bytes.len().min(16);
        own[..used].copy_from_slice(&bytes[..used]);
        for (at, byte) in turned(own, variant).iter().enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
                out.push('-');
            }
            out.push_str(&format!("{byte:02x}"));
        }
        Ok(())
    })
}

/// The first three bytes of an address, which name the maker.
fn maker(text: &str) -> Option<u64> {
    let bytes = text.as_bytes();
    if !matches!(bytes.len(), 8 | 17) {
        return None;
    }
    (0..3).try_fold(0, |sum, group| {
        let digits = text.get(group * 3..group * 3 + 2)?;
        Some(sum << 8 | u64::from(u8::from_str_radix(digits, 16).ok()?))
    })
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new(
            "UUIDStringToNum",
            1..=2,
            |args| {
                variant(args, "UUIDStringToNum")?;
                takes_text("UUIDStringToNum", 1, ColumnType::FixedString(16))(args)
            },
            from_text,
        )
        .doc(
            "UUIDStringToNum(text[, variant])",
            "The bytes of a UUID that is written; zeros for what is none.",
            "UUIDStringToNum('612f3c40-5d3b-217e-707b-6a546a3d7b29') -> 'a/<@];!~p{jTj={)'",
        ),
        ScalarFunction::new(
            "UUIDToNum",
            1..=2,
            |args| {
                variant(args, "UUIDToNum")?;
                match &args[0].column_type {
                    ColumnType::Uuid => Ok(ColumnType::FixedString(16)),
                    other => Err(FunctionError::illegal_type(other, "UUIDToNum")),
                }
            },
            from_uuid,
        )
        .doc(
            "UUIDToNum(uuid[, variant])",
            "The bytes of a UUID.",
            "UUIDToNum(toUUID('612f3c40-5d3b-217e-707b-6a546a3d7b29')) -> 'a/<@];!~p{jTj={)'",
        ),
        ScalarFunction::new(
            "UUIDNumToString",
            1..=2,
            |args| {
                variant(args, "UUIDNumToString")?;
                match &args[0].column_type {
                    ColumnType::FixedString(16) => Ok(ColumnType::String),
                    other => Err(FunctionError::illegal_type(other, "UUIDNumToString")),
                }
            },
            to_text,
        )
        .doc(
            "UUIDNumToString(bytes[, variant])",
            "The UUID of 16 bytes as text.",
            "UUIDNumToString(toFixedString('a/<@];!~p{jTj={)', 16)) -> '612f3c40-5d3b-217e-707b-6a546a3d7b29'",
        ),
        ScalarFunction::new("MACStringToOUI", 1..=1, takes_text("MACStringToOUI", 1, ColumnType::UInt64), |call| {
            let texts = call.texts(0)?;
            call.each::<UInt64Type>(|row| Ok(maker(texts.get(row)).unwrap_or(0)))
        })
        .doc(
            "MACStringToOUI(text)",
            "The first three bytes of the address of a network card, as a number.",
            "MACStringToOUI('01:02:03:04:05:06') -> 66051",
        ),
    ]
}
