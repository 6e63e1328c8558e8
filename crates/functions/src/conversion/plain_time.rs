//! Times read the plain way, as `toDateTimeOrNull` and `toDateTimeOrZero` do: `YYYY-MM-DD[ hh:mm:ss]` or seconds.
//!
//! Invariant: digits stand at fixed places and all of the text is read, else it does not fit; days beyond the end of a
//! month go on into the next one. Must not know: the many notations that `toDateTime` reads.

use arrow::array::{ArrayRef, Int64Array};
use model::ColumnType;

use crate::error::FunctionError;
use crate::kernel::call::Call;
use crate::kernel::registry::with_nulls;
use crate::time::calendar::{SECONDS_PER_DAY, days_of};
use crate::time::temporal::{digits_of, from_ticks, power_of_ten, zone_of};
use crate::time::zone::Zone;

/// Last second of DateTime, where later ones stop.
const SECONDS_MAX: i64 = 4_294_967_295;
/// 1900-01-01: what no date of the calendar is as DateTime64.
const FIRST_DAY: i64 = -25_567;
/// From so many digits on, a number counts the ticks of a DateTime64 instead of seconds.
const TICKS_FROM_DIGITS: usize = 13;

/// The number in the digits from `at`, all of which have to be digits.
fn number(bytes: &[u8], at: usize, count: usize) -> Option<i64> {
    let digits = bytes.get(at..at + count)?;
    digits.iter().try_fold(0_i64, |sum, byte| {
        byte.is_ascii_digit().then(|| sum.saturating_mul(10).saturating_add(i64::from(byte - b'0')))
    })
}

fn run_of_digits(bytes: &[u8], at: usize) -> usize {
    bytes.iter().skip(at).take_while(|byte| byte.is_ascii_digit()).count()
}

/// Wall-clock seconds and where the text behind them begins; `None` inside for what is no date.
fn written(bytes: &[u8]) -> Option<(Option<i64>, usize)> {
    let (year, month, day) = (number(bytes, 0, 4)?, number(bytes, 5, 2)?, number(bytes, 8, 2)?);
    let (time, end) = match bytes.get(10) {
        Some(b' ' | b'T') => {
            (number(bytes, 11, 2)? * 3600 + number(bytes, 14, 2)? * 60 + number(bytes, 17, 2)?, 19)
        }
        _ => (0, 10),
    };
    let known = (1..=12).contains(&month) && (1..=31).contains(&day);
    let first = days_of(i32::try_from(year).ok()?, i32::try_from(month.clamp(1, 12)).ok()?, 1);
    let local = (i64::from(first) + day - 1) * SECONDS_PER_DAY + time;
    Some((known.then_some(local), end))
}

/// Ticks of 10^-digits seconds since the epoch.
fn ticks_of(bytes: &[u8], zone: &Zone, digits: Option<u32>) -> Option<i64> {
    let negative = digits.is_some() && bytes.first() == Some(&b'-');
    let per_second = power_of_ten(digits.unwrap_or(0));
    let (seconds, end) = if !negative && bytes.len() >= 5 && !bytes[4].is_ascii_digit() {
        let (local, end) = written(bytes)?;
        match (local, digits) {
            (Some(local), _) => (zone.to_epoch(local), end),
            (None, Some(_)) => (FIRST_DAY * SECONDS_PER_DAY, end),
            (None, None) => (0, end),
        }
    } else {
        let start = usize::from(negative);
        let count = run_of_digits(bytes, start);
        if count == 0 || !negative && count < 5 {
            return None;
        }
        let whole = number(bytes, start, count)?;
        if digits.is_some() && count >= TICKS_FROM_DIGITS {
            return (count + start == bytes.len()).then_some(if negative { -whole } else { whole });
        }
        (whole, start + count)
    };
    let Some(digits) = digits else {
        return (end == bytes.len()).then(|| seconds.clamp(0, SECONDS_MAX));
    };
    let mut fraction = 0;
    let mut last = end;
    if bytes.get(end) == Some(&b'.') {
        let count = run_of_digits(bytes, end + 1);
        last = end + 1 + count;
        let used = count.min(usize::try_from(digits).unwrap_or(0));
        let missing = digits - u32::try_from(used).unwrap_or(0);
        fraction = number(bytes, end + 1, used)? * power_of_ten(missing);
    }
    let magnitude = seconds.saturating_mul(per_second).saturating_add(fraction);
    (last == bytes.len()).then_some(if negative { -magnitude } else { magnitude })
}

/// Whether a conversion with OrNull or OrZero to this type reads its text here.
pub(crate) fn is_read_plainly(column_type: &ColumnType) -> bool {
    matches!(column_type.value_type(), ColumnType::DateTime { .. } | ColumnType::DateTime64 { .. })
}

/// The text of the first argument as times; what does not fit is zero or NULL.
pub(crate) fn read(call: &Call<'_>, or_zero: bool) -> Result<ArrayRef, FunctionError> {
    let (arg, result) = (call.arg(0)?, call.result_type.value_type());
    let zone = Zone::new(zone_of(result, call.session.time_zone));
    let digits = matches!(result, ColumnType::DateTime64 { .. }).then(|| digits_of(result));
    let texts = call.texts(0)?;
    let (mut ticks, mut valid) = (Vec::with_capacity(call.rows), Vec::with_capacity(call.rows));
    for row in 0..call.rows {
        let null = arg.is_null(row);
        let found = if null { None } else { ticks_of(&texts.bytes(row), &zone, digits) };
        valid.push(!null && (found.is_some() || or_zero));
        ticks.push(found.unwrap_or(0));
    }
    let made = from_ticks(Int64Array::from(ticks), result);
    if call.result_type.is_nullable() { with_nulls(&made, &valid.into()) } else { Ok(made) }
}
