//! `printf`: arguments written into a template as C's function of that name does.
//!
//! Invariant: widths, precisions and flags mean what they mean there; whole numbers are 64 bits wide unless the template
//! names another size. Must not know: other templates, such as those of times.

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{Float32Type, Float64Type};
use model::{ColumnType, ErrorCode};

use crate::columns::number::{Number, with_number};
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::{Texts, constant_text};
use crate::kernel::types::{integer_shape, is_float};

/// Widest field and longest precision: it bounds what one row can take.
const WIDTH_MAX: usize = 4096;

/// Digits behind the point of a float whose bits are written out.
const HEX_DIGITS: usize = 13;

/// One `%` of a template: flags, width, precision, the size of an integer in bits, and the letter.
struct Placeholder<'t> {
    flags: &'t str,
    width: usize,
    precision: Option<usize>,
    bits: u32,
    letter: char,
}

/// The placeholder that begins behind a percent sign, and what follows it.
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
    let sized = rest.trim_start_matches(['h', 'l', 'L', 'z', 'j', 't']);
    let bits = match &rest[..rest.len() - sized.len()] {
        "hh" => 8,
        "h" => 16,
        "" | "l" | "ll" | "L" | "z" | "j" | "t" => 64,
        _ => return None,
    };
    let letter = sized.chars().next()?;
    let width: usize = if width.is_empty() { 0 } else { width.parse().ok()? };
    (width <= WIDTH_MAX && precision.is_none_or(|precision: usize| precision <= WIDTH_MAX)).then_some(())?;
    Some((Placeholder { flags, width, precision, bits, letter }, &sized[letter.len_utf8()..]))
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
    fn has(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }

    fn pad(&self, sign: &str, body: &str, numeric: bool, out: &mut String) {
        let places: usize = body.chars().map(places_of).sum();
        let fill = self.width.saturating_sub(sign.len() + places);
        if self.has('-') {
            out.push_str(sign);
            out.push_str(body);
            out.extend(std::iter::repeat_n(' ', fill));
        } else if numeric && self.has('0') {
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
        match (negative, self.has('+'), self.has(' ')) {
            (true, ..) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            _ => "",
        }
    }

    /// A number of 64 bits, cut to the size that the template names.
    fn integer(&self, value: i128, out: &mut String) {
        let signed = match self.bits {
            8 => i64::from(<i8 as Number>::wrap_int(value)),
            16 => i64::from(<i16 as Number>::wrap_int(value)),
            _ => <i64 as Number>::wrap_int(value),
        };
        let bits = signed.cast_unsigned() & u64::MAX >> (64 - self.bits);
        let alternate = self.has('#') && bits != 0;
        let (prefix, digits) = match self.letter {
            'c' => {
                let byte = char::from(<u8 as Number>::wrap_int(value));
                return self.pad("", byte.encode_utf8(&mut [0; 4]), false, out);
            }
            'x' => (if alternate { "0x" } else { "" }, format!("{bits:x}")),
            'X' => (if alternate { "0X" } else { "" }, format!("{bits:X}")),
            'o' => ("", format!("{bits:o}")),
            'u' => ("", bits.to_string()),
            _ => ("", signed.unsigned_abs().to_string()),
        };
        let is_signed = matches!(self.letter, 'd' | 'i');
        let sign = self.sign(is_signed && signed < 0);
        let zeros = self.precision.unwrap_or(0).saturating_sub(digits.len());
        let octal = self.letter == 'o' && alternate && zeros == 0;
        let body = format!("{}{}{digits}", "0".repeat(zeros), if octal { "0" } else { "" });
        self.pad(&format!("{sign}{prefix}"), &body, self.precision.is_none(), out);
    }

    fn float(&self, value: f64, out: &mut String) {
        let magnitude = value.abs();
        let upper = self.letter.is_ascii_uppercase();
        let body = if !value.is_finite() {
            let name = if value.is_nan() { "nan" } else { "inf" };
            if upper { name.to_ascii_uppercase() } else { name.to_owned() }
        } else {
            let precision = self.precision.unwrap_or(6);
            match self.letter {
                'f' | 'F' => {
                    let text = format!("{magnitude:.precision$}");
                    if self.has('#') && precision == 0 { format!("{text}.") } else { text }
                }
                'e' | 'E' => scientific(magnitude, precision, upper, self.has('#')),
                'a' | 'A' => in_hex(magnitude, self.precision, upper),
                _ => general(magnitude, precision.max(1), upper, self.has('#')),
            }
        };
        let is_negative = value.is_sign_negative() && !value.is_nan();
        self.pad(self.sign(is_negative), &body, value.is_finite(), out);
    }
}

fn scientific(value: f64, precision: usize, upper: bool, keeps_point: bool) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    let mark = if upper { 'E' } else { 'e' };
    let point = if keeps_point && precision == 0 { "." } else { "" };
    format!("{mantissa}{point}{mark}{sign}{:02}", exponent.abs())
}

/// The shorter of both forms, without zeros at the end unless they are asked for.
fn general(value: f64, precision: usize, upper: bool, keeps_zeros: bool) -> String {
    let digits = format!("{:.*e}", precision - 1, value);
    let exponent: i32 = digits.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let whole = i32::try_from(precision).unwrap_or(i32::MAX);
    let trimmed = |text: &str| match text.contains('.') && !keeps_zeros {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if exponent < -4 || exponent >= whole {
        let text = scientific(value, precision - 1, upper, keeps_zeros);
        let at = text.find(['e', 'E']).unwrap_or(text.len());
        return format!("{}{}", trimmed(&text[..at]), &text[at..]);
    }
    let decimals = usize::try_from(whole - 1 - exponent).unwrap_or(0);
    trimmed(&format!("{value:.decimals$}"))
}

/// The bits of a float: `0x1.8p+0`.
fn in_hex(value: f64, precision: Option<usize>, upper: bool) -> String {
    const FRACTION_BITS: u32 = 52;
    let bits = value.to_bits();
    let (biased, fraction) = (bits >> FRACTION_BITS, bits & ((1 << FRACTION_BITS) - 1));
    let exponent = if biased == 0 { -1022 } else { i64::try_from(biased).unwrap_or(0) - 1023 };
    let mut mantissa = if biased == 0 { fraction } else { fraction | 1 << FRACTION_BITS };
    if let Some(kept) = precision.filter(|kept| *kept < HEX_DIGITS) {
        let dropped = u32::try_from(HEX_DIGITS - kept).unwrap_or(0) * 4;
        mantissa = (mantissa + (1 << (dropped - 1))) >> dropped << dropped;
    }
    let digits = format!("{:013x}", mantissa & ((1 << FRACTION_BITS) - 1));
    let digits = match precision {
        Some(kept) if kept <= HEX_DIGITS => digits[..kept].to_owned(),
        Some(kept) => format!("{digits}{}", "0".repeat(kept - HEX_DIGITS)),
        None => digits.trim_end_matches('0').to_owned(),
    };
    let point = if digits.is_empty() { "" } else { "." };
    let text = format!("0x{:x}{point}{digits}p{exponent:+}", mantissa >> FRACTION_BITS);
    if upper { text.to_ascii_uppercase() } else { text }
}

/// What a template is made of: text, and placeholders.
enum Piece<'t> {
    Text(&'t str),
    Place(Placeholder<'t>),
}

fn pieces(template: &str) -> Result<Vec<Piece<'_>>, FunctionError> {
    let mut out = Vec::new();
    let mut rest = template;
    while let Some(at) = rest.find('%') {
        out.push(Piece::Text(&rest[..at]));
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            out.push(Piece::Text("%"));
            rest = after;
            continue;
        }
        let wrong = || FunctionError::bad_argument(format!("wrong format of printf: '{template}'"));
        let (place, after) = placeholder(rest).ok_or_else(wrong)?;
        out.push(Piece::Place(place));
        rest = after;
    }
    out.push(Piece::Text(rest));
    Ok(out)
}

fn check_count(wanted: usize, given: usize, template: &str) -> Result<(), FunctionError> {
    if wanted == given {
        return Ok(());
    }
    let message = format!("printf has {given} arguments for the {wanted} places of '{template}'");
    Err(FunctionError::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message))
}

fn printf_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    if !args[0].column_type.is_string() {
        return Err(FunctionError::illegal_type(&args[0].column_type, "printf"));
    }
    let known = |t: &ColumnType| t.is_string() || is_float(t) || integer_shape(t).is_some();
    if let Some(other) = args.iter().find(|arg| !known(&arg.column_type)) {
        return Err(FunctionError::illegal_type(&other.column_type, "printf"));
    }
    if let Some(template) = constant_text(args, 0) {
        let pieces = pieces(&template)?;
        let places = pieces.iter().filter(|piece| matches!(piece, Piece::Place(_))).count();
        check_count(places, args.len() - 1, &template)?;
    }
    Ok(ColumnType::String)
}

/// The values of an argument.
enum Values {
    Text(Texts),
    Integers(Vec<i128>, bool),
    Floats(Vec<f64>, bool),
}

impl Values {
    fn of(call: &Call<'_>, index: usize) -> Result<Self, FunctionError> {
        let arg = call.arg(index)?;
        Ok(match &arg.column_type {
            text if text.is_string() => Values::Text(call.texts(index)?),
            ColumnType::Float32 => {
                let floats = arg.array.as_primitive::<Float32Type>().values().iter();
                Values::Floats(floats.map(|value| f64::from(*value)).collect(), arg.is_constant)
            }
            ColumnType::Float64 => {
                Values::Floats(arg.array.as_primitive::<Float64Type>().values().to_vec(), arg.is_constant)
            }
            ColumnType::Bool => {
                let flags = arg.array.as_boolean();
                let numbers = (0..flags.len()).map(|row| i128::from(flags.value(row)));
                Values::Integers(numbers.collect(), arg.is_constant)
            }
            number => with_number!(number, T => {
                let numbers = arg.array.as_primitive::<T>().values().iter().map(|value| value.int());
                Values::Integers(numbers.collect(), arg.is_constant)
            }, else return Err(FunctionError::illegal_type(number, "printf"))),
        })
    }

    fn write(&self, place: &Placeholder<'_>, row: usize, out: &mut String) -> Result<(), FunctionError> {
        let at = |is_constant: bool| if is_constant { 0 } else { row };
        match (self, place.letter) {
            (Values::Text(texts), 's') => {
                let text = texts.get(row);
                let end = place.precision.and_then(|most| text.char_indices().nth(most));
                place.pad("", end.map_or(text, |(end, _)| &text[..end]), false, out);
            }
            (Values::Integers(values, constant), 'd' | 'i' | 'u' | 'x' | 'X' | 'o' | 'c') => {
                place.integer(values[at(*constant)], out);
            }
            (Values::Floats(values, constant), 'f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' | 'A') => {
                place.float(values[at(*constant)], out);
            }
            (_, letter) => {
                return Err(FunctionError::bad_argument(format!(
                    "printf cannot write this argument as %{letter}"
                )));
            }
        }
        Ok(())
    }
}

fn printf(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let templates = call.texts(0)?;
    let values = (1..call.args.len()).map(|index| Values::of(call, index)).collect::<Result<Vec<_>, _>>()?;
    call.each_text(|row, out| {
        let template = templates.get(row);
        let mut index = 0;
        for piece in pieces(template)? {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Place(place) => {
                    match values.get(index) {
                        Some(values) => values.write(&place, row, out)?,
                        None => return check_count(index + 1, values.len(), template),
                    }
                    index += 1;
                }
            }
        }
        check_count(index, values.len(), template)
    })
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    vec![ScalarFunction::new("printf", 1..=usize::MAX, printf_type, printf).doc(
        "printf(format, a, ...)",
        "Arguments written as C's printf does.",
        "printf('%d: %s', 1, 'a') -> '1: a'",
    )]
}
