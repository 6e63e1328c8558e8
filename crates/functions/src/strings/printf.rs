//! `printf`: values written by C's format strings.
//!
//! Invariant: a placeholder's letter fits the type of its argument, or the call is refused before any row is read.

use std::fmt::Write;

use arrow::array::ArrayRef;
use model::ColumnType;

use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::constant_text;

/// One `%` of a template: flags, width, precision and the letter.
struct Placeholder<'t> {
    flags: &'t str,
    width: usize,
    precision: Option<usize>,
    letter: char,
}

/// What is between the percent signs, and the placeholders after each piece.
fn placeholder(rest: &str) -> Option<(Placeholder<'_>, &str)> {
    let flags = rest.len() - rest.trim_start_matches(['-', '+', ' ', '#', '0']).len();
    let (flags, rest) = rest.split_at(flags);
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (width, rest) = rest.split_at(digits);
    let (precision, rest) = match rest.strip_prefix('.') {
        Some(after) => {
            let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            (Some(after[..digits].parse().unwrap_or(0)), &after[digits..])
        }
        None => (None, rest),
    };
    let letter = rest.chars().next()?;
    let width: usize = width.parse().unwrap_or(0);
    // Nobody needs more; it bounds what one row can take.
    (width <= 4096 && precision.is_none_or(|precision: usize| precision <= 4096)).then_some(())?;
    Some((Placeholder { flags, width, precision, letter }, &rest[letter.len_utf8()..]))
}

/// How many places a character takes where text is padded: two where it is wide, as in East Asian writing and emoji.
fn places_of(c: char) -> usize {
    let is_wide = matches!(u32::from(c),
        0x1100..=0x115F | 0x2329 | 0x232A | 0x2E80..=0x303E | 0x3040..=0xA4CF | 0xAC00..=0xD7A3
        | 0xF900..=0xFAFF | 0xFE10..=0xFE19 | 0xFE30..=0xFE6F | 0xFF00..=0xFF60 | 0xFFE0..=0xFFE6
        | 0x1_F300..=0x1_F64F | 0x1_F900..=0x1_F9FF | 0x2_0000..=0x2_FFFD | 0x3_0000..=0x3_FFFD);
    1 + usize::from(is_wide)
}

impl Placeholder<'_> {
    fn pad(&self, sign: &str, body: &str, numeric: bool, out: &mut String) {
        let places: usize = body.chars().map(places_of).sum();
        let fill = self.width.saturating_sub(sign.len() + places);
        if self.flags.contains('-') {
            out.push_str(sign);
            out.push_str(body);
            out.extend(std::iter::repeat_n(' ', fill));
        } else if numeric && self.flags.contains('0') {
            out.push_str(sign);
            out.extend(std::iter::repeat_n('0', fill));
            out.push_str(body);
        } else {
            out.extend(std::iter::repeat_n(' ', fill));
            out.push_str(sign);
            out.push_str(body);
        }
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.flags.contains('+'), self.flags.contains(' ')) {
            (true, ..) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            _ => "",
        }
    }

    fn integer(&self, value: i64, out: &mut String) {
        let bits = value.cast_unsigned();
        match self.letter {
            'x' => {
                self.pad(if self.flags.contains('#') { "0x" } else { "" }, &format!("{bits:x}"), true, out)
            }
            'X' => {
                self.pad(if self.flags.contains('#') { "0X" } else { "" }, &format!("{bits:X}"), true, out)
            }
            'o' => self.pad(if self.flags.contains('#') { "0" } else { "" }, &format!("{bits:o}"), true, out),
            'c' => self.pad(
                "",
                &char::from_u32(u32::try_from(bits & 0xFF).unwrap_or(0))
                    .map_or_else(String::new, String::from),
                false,
                out,
            ),
            'u' => self.pad("", &bits.to_string(), true, out),
            _ => self.pad(self.sign(value < 0), &value.unsigned_abs().to_string(), true, out),
        }
    }

    fn float(&self, value: f64, out: &mut String) {
        let precision = self.precision.unwrap_or(6);
        let magnitude = value.abs();
        let body = match self.letter {
            'f' | 'F' => format!("{magnitude:.precision$}"),
            'e' | 'E' => scientific(magnitude, precision, self.letter),
            _ => general(magnitude, precision.max(1), self.letter),
        };
        self.pad(self.sign(value.is_sign_negative()), &body, value.is_finite(), out);
    }
}

fn scientific(value: f64, precision: usize, letter: char) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    let mark = if letter.is_ascii_uppercase() { 'E' } else { 'e' };
    format!("{mantissa}{mark}{sign}{:02}", exponent.abs())
}

/// The shorter of both forms, without zeros at the end.
fn general(value: f64, precision: usize, letter: char) -> String {
    let digits = format!("{:.*e}", precision - 1, value);
    let exponent: i32 = digits.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let whole = i32::try_from(precision).unwrap_or(i32::MAX);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if exponent < -4 || exponent >= whole {
        let text = scientific(value, precision - 1, if letter == 'G' { 'E' } else { 'e' });
        let at = text.find(['e', 'E']).unwrap_or(text.len());
        return format!("{}{}", trimmed(&text[..at]), &text[at..]);
    }
    let decimals = usize::try_from(whole - 1 - exponent).unwrap_or(0);
    trimmed(&format!("{value:.decimals$}"))
}

fn printf_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    if !args[0].column_type.is_string() {
        return Err(FunctionError::illegal_type(&args[0].column_type, "printf"));
    }
    if let Some(template) = constant_text(args, 0) {
        let mut index = 1;
        let mut rest = template.as_str();
        while let Some(at) = rest.find('%') {
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix('%') {
                rest = after;
                continue;
            }
            let (place, after) =
                placeholder(rest).ok_or_else(|| FunctionError::bad_argument("wrong format of printf"))?;
            let arg = args
                .get(index)
                .ok_or_else(|| FunctionError::bad_argument("printf has fewer arguments than its format"))?;
            let fits = match place.letter {
                's' => arg.column_type.is_string(),
                'd' | 'i' | 'u' | 'x' | 'X' | 'o' | 'c' => arg.column_type.is_integer(),
                'f' | 'F' | 'e' | 'E' | 'g' | 'G' => arg.column_type.is_number(),
                _ => false,
            };
            if !fits {
                let message = format!("printf cannot write a {} as %{}", arg.column_type, place.letter);
                return Err(FunctionError::bad_argument(message));
            }
            index += 1;
            rest = after;
        }
    }
    Ok(ColumnType::String)
}

fn printf(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let templates = call.texts(0)?;
    let texts: Vec<_> = (0..call.args.len()).map(|index| call.texts(index)).collect::<Result<_, _>>()?;
    call.each_text(|row, out| {
        let mut rest = templates.get(row);
        let mut index = 1;
        while let Some(at) = rest.find('%') {
            out.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix('%') {
                out.push('%');
                rest = after;
                continue;
            }
            let wrong = || FunctionError::bad_argument("the format of printf does not fit its arguments");
            let (place, after) = placeholder(rest).ok_or_else(wrong)?;
            let text = texts.get(index).ok_or_else(wrong)?.get(row);
            match place.letter {
                's' if !call.arg(index)?.column_type.is_string() => return Err(wrong()),
                's' => {
                    let most = place.precision.unwrap_or(usize::MAX);
                    place.pad("", &text.chars().take(most).collect::<String>(), false, out);
                }
                'f' | 'F' | 'e' | 'E' | 'g' | 'G' => place.float(text.parse().map_err(|_| wrong())?, out),
                _ => match text.parse::<i64>() {
                    Ok(value) => place.integer(value, out),
                    Err(_) => {
                        write!(out, "{}", text.parse::<u64>().map_err(|_| wrong())?).map_err(|_| wrong())?
                    }
                },
            }
            index += 1;
            rest = after;
        }
        out.push_str(rest);
        Ok(())
    })
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    vec![ScalarFunction::new("printf", 1..=usize::MAX, printf_type, printf).doc(
        "printf(format, a, ...)",
        "Arguments written as C's printf does.",
        "printf('%d: %s', 1, 'a') -> '1: a'",
    )]
}
