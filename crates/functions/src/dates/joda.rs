//! Times as text by Joda's letters: `formatDateTimeInJodaSyntax`.
//!
//! Invariant: a letter stands for as many digits as it is repeated; text in single quotes stands for itself. Must not know:
//! MySQL's specifiers.

use std::fmt::Write;

use arrow::array::ArrayRef;
use model::calendar::names::{month_name, weekday_name};
use model::{ColumnType, ErrorCode};

use super::local::{Locals, check};
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::constant_text;
use crate::time::calendar::{date_of, day_of_week, day_of_year, iso_week};

/// What a format is made of.
#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// A letter, and how often it stands there.
    Letter(char, usize),
}

fn not_done(letter: char) -> FunctionError {
    FunctionError::new(ErrorCode::NOT_IMPLEMENTED, format!("'{letter}' in a format of Joda is not supported"))
}

/// Takes a format apart. Two quotes are one, inside of quoted text, too.
fn pieces(format: &str) -> Result<Vec<Piece>, FunctionError> {
    let (mut pieces, mut chars) = (Vec::new(), format.chars().peekable());
    while let Some(first) = chars.next() {
        match first {
            '\'' if chars.next_if_eq(&'\'').is_some() => pieces.push(Piece::Text("'".to_owned())),
            '\'' => {
                let mut text = String::new();
                loop {
                    match chars.next() {
                        Some('\'') if chars.next_if_eq(&'\'').is_some() => text.push('\''),
                        Some('\'') => break,
                        Some(other) => text.push(other),
                        None => return Err(FunctionError::bad_argument("a quote of a format does not end")),
                    }
                }
                pieces.push(Piece::Text(text));
            }
            letter if letter.is_ascii_alphabetic() => {
                let mut count = 1;
                while chars.next_if_eq(&letter).is_some() {
                    count += 1;
                }
                match letter {
                    'z' if count < 4 => return Err(not_done(letter)),
                    known if "GCYxweEyDMdaKhHkmsSz".contains(known) => {}
                    other => return Err(not_done(other)),
                }
                pieces.push(Piece::Letter(letter, count));
            }
            other => pieces.push(Piece::Text(other.to_string())),
        }
    }
    Ok(pieces)
}

/// Writes what a letter stands for.
fn letter(letter: char, count: usize, locals: &Locals, row: usize, out: &mut String) -> std::fmt::Result {
    let (day, time) = (locals.day(row), locals.time(row));
    let date = date_of(day);
    let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
    let name = |name: &'static str, least: usize| if count < least { &name[..3] } else { name };
    let number = match letter {
        'G' => {
            let names = if count < 4 { ["BC", "AD"] } else { ["Before Christ", "Anno Domini"] };
            return out.write_str(names[usize::from(date.year > 0)]);
        }
        'a' => return out.write_str(if hour < 12 { "AM" } else { "PM" }),
        'E' => return out.write_str(name(weekday_name(day_of_week(day)), 4)),
        'M' if count > 2 => return out.write_str(name(month_name(date.month), 4)),
        'z' => return out.write_str(locals.zone.name()),
        'S' => {
            let digits = format!("{:09}", locals.fraction(row) * (1_000_000_000 / locals.per_second));
            return write!(out, "{digits:0<count$.count$}");
        }
        'y' | 'Y' if count == 2 => return write!(out, "{:02}", date.year.rem_euclid(100)),
        'y' | 'Y' => i64::from(date.year),
        'x' => i64::from(iso_week(day).0),
        'C' => i64::from(date.year / 100),
        'w' => i64::from(iso_week(day).1),
        'e' => i64::from(day_of_week(day)),
        'D' => i64::from(day_of_year(day)),
        'M' => i64::from(date.month),
        'd' => i64::from(date.day),
        'K' => hour % 12,
        'h' => (hour + 11) % 12 + 1,
        'H' => hour,
        'k' => (hour + 23) % 24 + 1,
        'm' => minute,
        _ => second,
    };
    write!(out, "{number:0count$}")
}

fn format(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let locals = Locals::new(call, 0, 2)?;
    let templates = call.texts(1)?;
    let pieces = pieces(templates.get(0))?;
    call.each_text(|row, out| {
        let written = pieces.iter().try_for_each(|piece| match piece {
            Piece::Text(text) => out.write_str(text),
            Piece::Letter(name, count) => letter(*name, *count, &locals, row, out),
        });
        written.map_err(|_| FunctionError::bad_argument("cannot format a time"))
    })
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let rule = |args: &[ArgType]| {
        check(args, 0, "formatDateTimeInJodaSyntax")?;
        match constant_text(args, 1) {
            Some(_) => Ok(ColumnType::String),
            None if args[1].column_type.is_string() => {
                let message = "the format of formatDateTimeInJodaSyntax must be a constant";
                Err(FunctionError::new(ErrorCode::ILLEGAL_COLUMN, message))
            }
            None => Err(FunctionError::illegal_type(&args[1].column_type, "formatDateTimeInJodaSyntax")),
        }
    };
    vec![ScalarFunction::new("formatDateTimeInJodaSyntax", 2..=3, rule, format).doc(
        "formatDateTimeInJodaSyntax(t, format[, zone])",
        "A time as text by Joda's letters.",
        "formatDateTimeInJodaSyntax(toDate('2020-01-02'), 'dd.MM.yyyy') -> '02.01.2020'",
    )]
}
