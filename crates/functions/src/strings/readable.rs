//! Numbers as people read them.
//!
//! Invariant: two digits after the point, units as ClickHouse names them.

use std::fmt::Write;

use model::ColumnType;

use crate::error::FunctionError;
use crate::kernel::call::ArgType;
use crate::kernel::registry::ScalarFunction;

const BINARY: [&str; 9] = [" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB", " ZiB", " YiB"];
const DECIMAL: [&str; 9] = [" B", " KB", " MB", " GB", " TB", " PB", " EB", " ZB", " YB"];
const COUNT: [&str; 22] = [
    "",
    " thousand",
    " million",
    " billion",
    " trillion",
    " quadrillion",
    " quintillion",
    " sextillion",
    " septillion",
    " octillion",
    " nonillion",
    " decillion",
    " undecillion",
    " duodecillion",
    " tredecillion",
    " quattuordecillion",
    " quindecillion",
    " sexdecillion",
    " septendecillion",
    " octodecillion",
    " novemdecillion",
    " vigintillion",
];

fn scaled(value: f64, base: f64, units: &[&str], out: &mut String) {
    let mut value = value;
    let mut unit = 0;
    while value.abs() >= base && unit + 1 < units.len() {
        value /= base;
        unit += 1;
    }
    let _infallible = match value.abs() {
        // So large a number is not written with its digits.
        1e60.. if value.is_finite() => write!(out, "{}{}", shown(value), units[unit]),
        _ if value.is_finite() => write!(out, "{value:.2}{}", units[unit]),
        _ => write!(out, "{}{}", shown(value), units[unit]),
    };
}

/// A float as it prints.
fn shown(value: f64) -> String {
    let mut out = String::new();
    crate::cast::write::float64(value, &mut out);
    out
}

/// Seconds of the units, from the largest: years of 365 and months of 30.5 days.
const SPANS: [(f64, &str); 6] = [
    (31_536_000.0, "year"),
    (2_635_200.0, "month"),
    (86_400.0, "day"),
    (3600.0, "hour"),
    (60.0, "minute"),
    (1.0, "second"),
];

fn time_delta(seconds: f64, largest: usize, out: &mut String) {
    if !seconds.is_finite() {
        out.push_str(&shown(seconds));
        return;
    }
    let mut rest = seconds.abs().trunc();
    let mut parts: Vec<String> = Vec::new();
    for (span, name) in SPANS.into_iter().skip(largest) {
        let count = (rest / span).trunc();
        rest -= count * span;
        if count > 0.0 {
            parts.push(format!("{count} {name}{}", if count == 1.0 { "" } else { "s" }));
        }
    }
    if parts.is_empty() {
        parts.push("0 seconds".to_owned());
    }
    if seconds < 0.0 {
        out.push('-');
    }
    let last = parts.len() - 1;
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            out.push_str(if index == last { " and " } else { ", " });
        }
        out.push_str(part);
    }
}

fn readable(name: &'static str, most: usize, write: fn(f64, &mut String)) -> ScalarFunction {
    let rule = move |args: &[ArgType]| match args.first() {
        Some(arg) if arg.column_type.is_number() => Ok(ColumnType::String),
        Some(arg) => Err(FunctionError::illegal_type(&arg.column_type, name)),
        None => Ok(ColumnType::String),
    };
    ScalarFunction::new(name, 1..=most, rule, move |call| {
        let numbers = call.floats(0)?;
        call.each_text(|row, out| {
            write(numbers.get(row), out);
            Ok(())
        })
    })
}

fn time_delta_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    match (&args[0].column_type, args.get(1).map(|arg| &arg.column_type)) {
        (number, None) if number.is_number() => Ok(ColumnType::String),
        (number, Some(unit)) if number.is_number() && unit.is_string() => Ok(ColumnType::String),
        (number, None) => Err(FunctionError::illegal_type(number, "formatReadableTimeDelta")),
        (_, Some(unit)) => Err(FunctionError::illegal_type(unit, "formatReadableTimeDelta")),
    }
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    vec![
        readable("formatReadableSize", 1, |value, out| scaled(value, 1024.0, &BINARY, out))
            .any_case()
            .aliases(&["FORMAT_BYTES"])
            .doc(
                "formatReadableSize(bytes)",
                "Bytes in powers of 1024.",
                "formatReadableSize(1536) -> '1.50 KiB'",
            ),
        readable("formatReadableDecimalSize", 1, |value, out| scaled(value, 1000.0, &DECIMAL, out)).doc(
            "formatReadableDecimalSize(bytes)",
            "Bytes in powers of 1000.",
            "formatReadableDecimalSize(1500) -> '1.50 KB'",
        ),
        readable("formatReadableQuantity", 1, |value, out| scaled(value, 1000.0, &COUNT, out)).doc(
            "formatReadableQuantity(n)",
            "A number with a word for its magnitude.",
            "formatReadableQuantity(1500) -> '1.50 thousand'",
        ),
        ScalarFunction::new("formatReadableTimeDelta", 1..=2, time_delta_type, |call| {
            let (numbers, units) =
                (call.floats(0)?, if call.args.len() > 1 { Some(call.texts(1)?) } else { None });
            call.each_text(|row, out| {
                let unit = units.as_ref().map_or("years", |units| units.get(row));
                let largest = SPANS.iter().position(|(_, name)| unit.strip_suffix('s') == Some(*name));
                let largest = largest.ok_or_else(|| {
                    let message = format!(
                        "'{unit}' is no unit of formatReadableTimeDelta: years, months, days, hours, \
                                           minutes and seconds are"
                    );
                    FunctionError::bad_argument(message)
                })?;
                time_delta(numbers.get(row), largest, out);
                Ok(())
            })
        })
        .doc(
            "formatReadableTimeDelta(seconds[, largest])",
            "A length of time in words, of units up to the one named.",
            "formatReadableTimeDelta(61) -> '1 minute and 1 second'",
        ),
    ]
}
