//! Times as text: `formatDateTime`, `monthName`, `dateName`.
//!
//! Invariant: specifiers are MySQL's as ClickHouse reads them: `%i` is the minute, `%M` the month's name.

use std::collections::HashMap;
use std::fmt::Write;

use model::calendar::names::{BARE_FRACTION, BARE_HALF, BARE_HOUR, BARE_MONTH, month_name, weekday_name};
use model::saturating::usize_of;
use model::{ColumnType, ErrorCode};

use super::local::{Locals, check};
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call, named_zone};
use crate::kernel::registry::ScalarFunction;
use crate::time::calendar::{date_of, day_of_week, day_of_year, iso_week};
use crate::time::temporal::power_of_ten;

/// Writes what one specifier stands for.
fn specifier(letter: char, locals: &Locals, row: usize, out: &mut String) -> Result<(), FunctionError> {
    let (day, time) = (locals.day(row), locals.time(row));
    let date = date_of(day);
    let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
    let half = (hour + 11) % 12 + 1;
    let (iso_year, iso) = iso_week(day);
    let written = match letter {
        'Y' => write!(out, "{:04}", date.year),
        'y' => write!(out, "{:02}", date.year.rem_euclid(100)),
        'C' => write!(out, "{:02}", date.year / 100),
        'm' | 'c' => write!(out, "{:02}", date.month),
        'M' => write!(out, "{}", month_name(date.month)),
        'b' => write!(out, "{}", &month_name(date.month)[..3]),
        'd' => write!(out, "{:02}", date.day),
        'e' => write!(out, "{}", date.day),
        'D' => write!(out, "{:02}/{:02}/{:02}", date.month, date.day, date.year.rem_euclid(100)),
        'F' => write!(out, "{:04}-{:02}-{:02}", date.year, date.month, date.day),
        'j' => write!(out, "{:03}", day_of_year(day)),
        'a' => write!(out, "{}", &weekday_name(day_of_week(day))[..3]),
        'W' => write!(out, "{}", weekday_name(day_of_week(day))),
        'u' => write!(out, "{}", day_of_week(day)),
        'w' => write!(out, "{}", day_of_week(day) % 7),
        'V' => write!(out, "{iso:02}"),
        'G' => write!(out, "{iso_year:04}"),
        'g' => write!(out, "{:02}", iso_year.rem_euclid(100)),
        'Q' => write!(out, "{}", (date.month - 1) / 3 + 1),
        'H' | 'k' => write!(out, "{hour:02}"),

        'h' | 'I' | 'l' => write!(out, "{half:02}"),
        'i' => write!(out, "{minute:02}"),
        's' | 'S' => write!(out, "{second:02}"),
        'p' => write!(out, "{}", if hour < 12 { "AM" } else { "PM" }),
        'r' => write!(out, "{half:02}:{minute:02} {}", if hour < 12 { "AM" } else { "PM" }),
        'R' => write!(out, "{hour:02}:{minute:02}"),
        'T' => write!(out, "{hour:02}:{minute:02}:{second:02}"),
        'f' => write!(out, "{:06}", locals.fraction(row) * 1_000_000 / locals.per_second),
        BARE_FRACTION => {
            let shown = locals.fraction(row) / power_of_ten(locals.digits.saturating_sub(locals.shown));
            write!(out, "{shown:0width$}", width = usize_of(locals.shown.into()))
        }
        BARE_MONTH => write!(out, "{}", date.month),
        BARE_HOUR => write!(out, "{hour}"),
        BARE_HALF => write!(out, "{half}"),
        'z' => return offset(locals, row, out),
        'n' => writeln!(out),
        't' => write!(out, "\t"),
        '%' => write!(out, "%"),
        later @ ('U' | 'v' | 'x' | 'X') => {
            let message = format!("'%{later}' in a format of times is not supported");
            return Err(FunctionError::new(ErrorCode::NOT_IMPLEMENTED, message));
        }
        other => {
            return Err(FunctionError::bad_argument(format!("wrong syntax '%{other}' in a format of times")));
        }
    };
    written.map_err(|_| FunctionError::bad_argument("cannot format a time"))
}

fn offset(locals: &Locals, row: usize, out: &mut String) -> Result<(), FunctionError> {
    let minutes = locals.zone.offset_at(locals.epoch(row)) / 60;
    let sign = if minutes < 0 { '-' } else { '+' };
    let minutes = minutes.abs();
    write!(out, "{sign}{:02}{:02}", minutes / 60, minutes % 60)
        .map_err(|_| FunctionError::bad_argument("cannot format a time"))
}

fn format(call: &Call<'_>) -> Result<arrow::array::ArrayRef, FunctionError> {
    let templates = call.texts(1)?;
    if call.args.get(2).is_some_and(|zone| !zone.is_constant) {
        return format_in_zones(call);
    }
    let locals = Locals::new(call, 0, 2)?;
    call.each_text(|row, out| write_template(templates.get(row), &locals, row, out))
}

/// Each row in a zone of its own.
fn format_in_zones(call: &Call<'_>) -> Result<arrow::array::ArrayRef, FunctionError> {
    let (templates, zones) = (call.texts(1)?, call.texts(2)?);
    let mut known: HashMap<String, Locals> = HashMap::new();
    for row in 0..call.rows {
        let name = zones.get(row);
        if !known.contains_key(name) {
            known.insert(name.to_owned(), Locals::within(call, 0, named_zone(name)?)?);
        }
    }
    call.each_text(|row, out| write_template(templates.get(row), &known[zones.get(row)], row, out))
}

pub(super) fn write_template(
    template: &str,
    locals: &Locals,
    row: usize,
    out: &mut String,
) -> Result<(), FunctionError> {
    let mut rest = template;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let Some(letter) = rest[at + 1..].chars().next() else {
            return Err(FunctionError::bad_argument("a format of times ends with %"));
        };
        specifier(letter, locals, row, out)?;
        rest = &rest[at + 1 + letter.len_utf8()..];
    }
    out.push_str(rest);
    Ok(())
}

fn text_of(name: &'static str, text: fn(&Locals, usize) -> &'static str) -> ScalarFunction {
    let rule = move |args: &[ArgType]| check(args, 0, name).map(|()| ColumnType::String);
    ScalarFunction::new(name, 1..=1, rule, move |call| {
        let locals = Locals::new(call, 0, 1)?;
        call.each_part(|row| text(&locals, row))
    })
    .any_case()
}

/// `dateName(part, t[, zone])`.
fn date_name(call: &Call<'_>) -> Result<arrow::array::ArrayRef, FunctionError> {
    let part = call.texts(0)?.get(0).to_ascii_lowercase();
    let locals = Locals::new(call, 1, 2)?;
    let template = match part.as_str() {
        "year" => "%Y",
        "quarter" => "%Q",
        "month" => "%M",
        "dayofyear" => "%j",
        "day" => "%e",
        "week" => "%V",
        "weekday" => "%W",
        "hour" => "%k",
        "minute" => "%i",
        "second" => "%S",
        _ => return Err(FunctionError::bad_argument(format!("'{part}' is not a part of a date"))),
    };
    call.each_text(|row, out| {
        write_template(template, &locals, row, out)?;
        let plain = out.trim_start().to_owned();
        let shown = plain.parse::<i64>().map_or(plain, |number| number.to_string());
        out.clear();
        out.push_str(&shown);
        Ok(())
    })
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let rule = |args: &[ArgType]| {
        check(args, 0, "formatDateTime")?;
        match args[1..].iter().find(|arg| !arg.column_type.is_string()) {
            Some(other) => Err(FunctionError::illegal_type(&other.column_type, "formatDateTime")),
            None => Ok(ColumnType::String),
        }
    };
    vec![
        ScalarFunction::new("formatDateTime", 2..=3, rule, format).any_case().aliases(&["DATE_FORMAT"]).doc(
            "formatDateTime(t, format[, zone])",
            "A time as text by MySQL's specifiers.",
            "formatDateTime(toDate('2020-01-02'), '%d.%m.%Y') -> '02.01.2020'",
        ),
        text_of("monthName", |locals, row| month_name(date_of(locals.day(row)).month)).doc(
            "monthName(t)",
            "The name of the month.",
            "monthName(toDate('2020-01-02')) -> 'January'",
        ),
        text_of("dayName", |locals, row| weekday_name(day_of_week(locals.day(row)))).doc(
            "dayName(t)",
            "The name of the day of the week.",
            "dayName(toDate('2020-01-02')) -> 'Thursday'",
        ),
        ScalarFunction::new(
            "dateName",
            2..=3,
            |args| check(args, 1, "dateName").map(|()| ColumnType::String),
            date_name,
        )
        .any_case()
        .doc(
            "dateName(part, t[, zone])",
            "A part of a time as text.",
            "dateName('month', toDate('2020-01-02')) -> 'January'",
        ),
    ]
}
