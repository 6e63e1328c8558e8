//! Whether values as a file stores them are those of a column's type at rest.
//!
//! Pure. Invariant: what fits here is what `model/type_arrow.rs` and the Parquet library make of the type, value by value.
//! Must not know: row groups, keys.

use model::{ColumnType, Value};

use super::{ReencodeReason, StoredCodec, StoredColumn, StoredMeaning, StoredType, TimeTick};

/// Days of Date32, 1900-01-01 to 2299-12-31.
const DATE32_DAYS: (i64, i64) = (-25_567, 120_529);
/// Days of Date.
const DATE_DAYS: (i64, i64) = (0, 65_535);
/// Seconds of DateTime64, the same days.
const SECONDS: (i64, i64) = (DATE32_DAYS.0 * 86_400, (DATE32_DAYS.1 + 1) * 86_400 - 1);
/// Digits of a Decimal that is at rest in 32 and in 64 bits.
const DIGITS_32_MAX: u8 = 9;
const DIGITS_64_MAX: u8 = 18;

/// Why the stored pages are not those of `column_type`, as far as metadata tell.
pub(super) fn refusal(column_type: &ColumnType, stored: &StoredColumn) -> Option<ReencodeReason> {
    if stored.is_nested {
        return Some(ReencodeReason::Nested);
    }
    if let Some(reason) = type_refusal(plain(column_type), stored) {
        return Some(reason);
    }
    match stored.codec {
        StoredCodec::None | StoredCodec::Snappy | StoredCodec::Lz4Raw | StoredCodec::Zstd => {}
        StoredCodec::Other => return Some(ReencodeReason::Codec),
    }
    if stored.has_pages_v2 {
        return Some(ReencodeReason::PageVersion);
    }
    let has_nulls = stored.is_optional && stored.nulls.is_some_and(|nulls| nulls > 0);
    (has_nulls && !column_type.is_nullable()).then_some(ReencodeReason::Nulls)
}

/// The type without what says nothing of its values at rest.
fn plain(column_type: &ColumnType) -> &ColumnType {
    match column_type {
        ColumnType::Nullable(inner) | ColumnType::LowCardinality(inner) => plain(inner),
        other => other,
    }
}

fn type_refusal(column_type: &ColumnType, stored: &StoredColumn) -> Option<ReencodeReason> {
    let (physical, meaning) = (stored.physical, stored.meaning);
    let integer = |bits: u8, signed: bool| {
        let layout = if bits > 32 { StoredType::Int64 } else { StoredType::Int32 };
        // Without a meaning these are what they are laid out as.
        let is_plain = meaning == StoredMeaning::Plain && signed && bits >= 32;
        physical == layout && (is_plain || meaning == StoredMeaning::Integer { bits, signed })
    };
    let fits = match column_type {
        ColumnType::UInt8 => integer(8, false),
        ColumnType::UInt16 => integer(16, false),
        ColumnType::UInt32 => integer(32, false),
        ColumnType::UInt64 => integer(64, false),
        ColumnType::Int8 => integer(8, true),
        ColumnType::Int16 => integer(16, true),
        ColumnType::Int32 => integer(32, true),
        ColumnType::Int64 => integer(64, true),
        ColumnType::Float32 => physical == StoredType::Float && meaning == StoredMeaning::Plain,
        ColumnType::Float64 => physical == StoredType::Double && meaning == StoredMeaning::Plain,
        ColumnType::Bool => physical == StoredType::Boolean && meaning == StoredMeaning::Plain,
        ColumnType::String => {
            physical == StoredType::Bytes && matches!(meaning, StoredMeaning::Text | StoredMeaning::Plain)
        }
        ColumnType::Date | ColumnType::Date32 => {
            physical == StoredType::Int32 && meaning == StoredMeaning::Date
        }
        ColumnType::DateTime64 { precision, .. } => return time_refusal(*precision, stored),
        ColumnType::DateTime { .. } => return Some(unit_or_type(stored)),
        ColumnType::Decimal { precision, scale } => decimal_fits(*precision, *scale, stored),
        ColumnType::Uuid => physical == StoredType::FixedBytes(16) && meaning == StoredMeaning::Uuid,
        ColumnType::Enum8(_) | ColumnType::Enum16(_) => return Some(ReencodeReason::Enum),
        ColumnType::FixedString(_) => return Some(ReencodeReason::FixedString),
        ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::Tuple(_) => {
            return Some(ReencodeReason::Nested);
        }
        ColumnType::Int128
        | ColumnType::UInt128
        | ColumnType::Int256
        | ColumnType::UInt256
        | ColumnType::Ipv4
        | ColumnType::Ipv6
        | ColumnType::Nullable(_)
        | ColumnType::LowCardinality(_)
        | ColumnType::AggregateFunction(_)
        | ColumnType::Nothing => false,
    };
    (!fits).then_some(ReencodeReason::Type)
}

fn time_refusal(precision: u8, stored: &StoredColumn) -> Option<ReencodeReason> {
    // Other precisions are at rest in one of these units, as multiples of their own tick.
    let unit = match precision {
        3 => Some(TimeTick::Milliseconds),
        6 => Some(TimeTick::Microseconds),
        9 => Some(TimeTick::Nanoseconds),
        _ => None,
    };
    let fits = unit.is_some_and(|unit| stored.meaning == StoredMeaning::Timestamp(unit));
    (!fits || stored.physical != StoredType::Int64).then(|| unit_or_type(stored))
}

fn unit_or_type(stored: &StoredColumn) -> ReencodeReason {
    match (stored.physical, stored.meaning) {
        (StoredType::Int96, _) | (_, StoredMeaning::Timestamp(_)) => ReencodeReason::TimeUnit,
        _ => ReencodeReason::Type,
    }
}

/// Decimals of more digits are at rest in as many bytes as their digits need, which writers count differently.
fn decimal_fits(precision: u8, scale: u8, stored: &StoredColumn) -> bool {
    let StoredMeaning::Decimal { precision: stored_precision, scale: stored_scale } = stored.meaning else {
        return false;
    };
    if precision > DIGITS_64_MAX {
        return false;
    }
    let layout = if precision > DIGITS_32_MAX { StoredType::Int64 } else { StoredType::Int32 };
    let digits_fit = stored_precision <= u32::from(precision) && stored_scale == u32::from(scale);
    stored.physical == layout && digits_fit
}

/// Whether a value is one of the type; what is not there is.
pub(super) fn is_within(column_type: &ColumnType, value: Option<&Value>) -> bool {
    let between = |number: i64, (least, greatest): (i64, i64)| (least..=greatest).contains(&number);
    match (plain(column_type), value) {
        (ColumnType::Date, Some(Value::Int(days))) => between(*days, DATE_DAYS),
        (ColumnType::Date32, Some(Value::Int(days))) => between(*days, DATE32_DAYS),
        (ColumnType::DateTime64 { precision, .. }, Some(Value::Int(ticks))) => {
            let second = 10_i64.saturating_pow(u32::from(*precision));
            between(ticks.div_euclid(second), SECONDS)
        }
        (ColumnType::Decimal { precision, .. }, Some(Value::Decimal(number))) => {
            number.unsigned_abs() < 10_u128.saturating_pow(u32::from(*precision))
        }
        _ => true,
    }
}
