//! The type of one value.
//!
//! Invariant: a value of a type that is guessed can be read as that type. Must not know: columns, rows.

use model::ColumnType;

use super::guess::{Guess, STRING, joined};
use crate::error::FormatError;
use crate::settings::FormatSettings;
use crate::values::cell::{Cell, Items, NotAList, Syntax, TextForm};
use model::calendar::date_text::{ZERO_DATE, date, time};
use scan::number;

/// What the cells are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    Csv,
    Tsv,
    Json,
    Literal,
}

/// Deepest nesting looked into; deeper values are text.
const DEPTH_MAX: usize = 32;

/// The text of a JSON string, quotes included in `text`.
pub(super) fn json_text(text: &[u8]) -> Result<String, FormatError> {
    let mut scratch = Vec::new();
    let content = Cell { text, form: TextForm::Json }.content(&mut scratch)?;
    Ok(String::from_utf8_lossy(content).into_owned())
}

impl Guess {
    pub(super) fn of(cell: Cell<'_>, source: Source, settings: &FormatSettings) -> Guess {
        let mut scratch = Vec::new();
        match cell.form {
            TextForm::Null => Guess::null(),
            TextForm::Default => Guess::Unknown,
            // ClickHouse learns nothing from it in TabSeparated.
            TextForm::Empty if source == Source::Tsv => Guess::Unknown,
            TextForm::Empty => STRING,
            TextForm::Json | TextForm::JsonPlain => Guess::json(cell.text, settings),
            TextForm::Literal => {
                literal(cell.text, settings, 0).unwrap_or_else(|| match is_float(cell.text) {
                    // A number of which no type holds all digits, or with an exponent.
                    true => Guess::Unknown,
                    false => STRING,
                })
            }
            TextForm::Raw
            | TextForm::CsvQuoted
            | TextForm::Escaped
            | TextForm::CsvDoubled(_)
            | TextForm::JsonEscaped => {
                let types = match source {
                    Source::Csv => settings.guessing.csv_types,
                    Source::Tsv => settings.guessing.tsv_types,
                    Source::Json | Source::Literal => true,
                };
                let Some(content) = cell.content(&mut scratch).ok().filter(|_| types) else { return STRING };
                let quoted = matches!(cell.form, TextForm::CsvQuoted | TextForm::CsvDoubled(_));
                // The word is taken for NULL where it cannot be read as one, too; of CSV only in quotes.
                let is_word = source == Source::Tsv || quoted && source == Source::Csv;
                if is_word && content.eq_ignore_ascii_case(b"null") {
                    return Guess::null();
                }
                // A bare cell of CSV is never taken for a list: its commas would end it.
                let may_nest = quoted || source != Source::Csv;
                if let Some(nested) = nested_text(content, source, settings).filter(|_| may_nest) {
                    return nested;
                }
                match quoted {
                    true => in_quotes(content, settings.guessing.csv_numbers_in_quotes, settings),
                    // Only here ClickHouse takes the float, and the lost digits.
                    false if source == Source::Csv && is_beyond_words(content, settings) => {
                        Guess::Type(ColumnType::Float64)
                    }
                    false if source == Source::Tsv && is_padded(content, settings) => STRING,
                    false if source == Source::Tsv && is_truth(content) => Guess::Type(ColumnType::Bool),
                    false => word(content, settings),
                }
            }
        }
    }

    /// Whether a value in a cell of its own is of no type at all, so that it cannot be read as any.
    pub(super) fn is_garbled(cell: Cell<'_>, settings: &FormatSettings) -> bool {
        match cell.form {
            TextForm::Literal => literal(cell.text, settings, 0).is_none() && !is_float(cell.text),
            TextForm::Json if matches!(cell.text.first(), Some(b'{' | b'[')) => {
                // What is nested more deeply is not looked into.
                let opened = cell.text.iter().filter(|byte| matches!(byte, b'{' | b'[')).count();
                opened <= DEPTH_MAX && json(cell.text, settings, 0).is_none()
            }
            TextForm::Json if cell.text.first() != Some(&b'"') => json(cell.text, settings, 0).is_none(),
            _ => false,
        }
    }

    pub(super) fn json(value: &[u8], settings: &FormatSettings) -> Guess {
        json(value, settings, 0).unwrap_or(STRING)
    }
}

fn is_truth(text: &[u8]) -> bool {
    text.eq_ignore_ascii_case(b"true") || text.eq_ignore_ascii_case(b"false")
}

fn is_float(text: &[u8]) -> bool {
    number::float::<f64>(text).is_ok()
}

fn word(text: &[u8], settings: &FormatSettings) -> Guess {
    if matches!(text, b"true" | b"false") {
        return Guess::Type(ColumnType::Bool);
    }
    number(text, settings).or_else(|| dated(text, settings)).unwrap_or(STRING)
}

/// What text in quotes is: a number only where that is wanted.
fn in_quotes(text: &[u8], numbers: bool, settings: &FormatSettings) -> Guess {
    let number = || numbers.then(|| number(text, settings)).flatten();
    dated(text, settings).or_else(number).unwrap_or(STRING)
}

/// A whole number of more than 64 bits: a float would lose its last digits.
fn is_beyond_words(text: &[u8], settings: &FormatSettings) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let is_whole = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    settings.infer_integers
        && is_whole
        && number::signed::<i64>(text).is_err()
        && number::unsigned::<u64>(text).is_err()
}

/// `007`: as a number it would lose its zeros. ClickHouse sees it so in TabSeparated alone.
fn is_padded(text: &[u8], settings: &FormatSettings) -> bool {
    text.len() > 1 && text.starts_with(b"0") && !text.contains(&b'.') && number(text, settings).is_some()
}

fn number(text: &[u8], settings: &FormatSettings) -> Option<Guess> {
    if settings.infer_integers {
        if let Ok(whole) = number::signed::<i64>(text) {
            return Some(Guess::Whole { negative: whole < 0, above: false });
        }
        if number::unsigned::<u64>(text).is_ok() {
            return Some(Guess::Whole { negative: false, above: true });
        }
        if is_beyond_words(text, settings) {
            return Some(STRING);
        }
    }
    if settings.guessing.exponents && text.iter().any(u8::is_ascii_digit) {
        return number::float::<f64>(text).is_ok().then_some(Guess::Type(ColumnType::Float64));
    }
    // ClickHouse takes no exponents for numbers here: `1e5` is as likely an identifier.
    let unsigned = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
    let digits =
        unsigned.iter().any(u8::is_ascii_digit) && unsigned.iter().all(|b| b.is_ascii_digit() || *b == b'.');
    let word = [&b"nan"[..], b"inf", b"infinity"].iter().any(|word| unsigned.eq_ignore_ascii_case(word));
    (digits && number::float::<f64>(text).is_ok() || word).then_some(Guess::Type(ColumnType::Float64))
}

fn dated(text: &[u8], settings: &FormatSettings) -> Option<Guess> {
    // A bare number is no date, and a year alone is a number; ten characters are the shortest date.
    if text.len() < 8
        || text.iter().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-')) && !text.contains(&b'-')
    {
        return None;
    }
    // Nobody can tell what no date means in a column that is not declared; a date without separators is a number and more.
    if text.starts_with(ZERO_DATE) || text[..8].iter().all(u8::is_ascii_digit) {
        return None;
    }
    // A type that cannot hold the time would read another one.
    let is_date = date(text).is_some_and(|days| u16::try_from(days).is_ok());
    if settings.infer_dates && is_date && !text.iter().all(u8::is_ascii_digit) {
        return Some(Guess::Type(ColumnType::Date));
    }
    if !settings.infer_datetimes {
        return None;
    }
    let found = time(text, settings.date_time_input)?;
    let of_epoch = found.seconds - found.offset.unwrap_or(0);
    // So far the nanoseconds of DateTime64(9) reach.
    if of_epoch.checked_mul(1_000_000_000).is_none_or(|nanos| nanos.checked_add(found.nanos.into()).is_none())
    {
        return None;
    }
    let is_whole = found.nanos == 0 && !has_fraction(text) && u32::try_from(of_epoch).is_ok();
    let column_type = if is_whole && !settings.guessing.only_datetime64 {
        ColumnType::DateTime { time_zone: None }
    } else {
        ColumnType::DateTime64 { precision: 9, time_zone: None }
    };
    Some(Guess::Type(column_type))
}

fn has_fraction(text: &[u8]) -> bool {
    let colon = text.iter().position(|b| *b == b':').unwrap_or(text.len());
    text[colon..].contains(&b'.')
}

/// Arrays, maps and tuples in CSV and TabSeparated cells. ClickHouse keeps tuples in CSV cells as text.
fn nested_text(text: &[u8], source: Source, settings: &FormatSettings) -> Option<Guess> {
    match text.first()? {
        b'(' if source == Source::Csv => None,
        b'[' | b'{' | b'(' => match literal(text, settings, 0)? {
            // `[]` alone says nothing; it stays text like any other unknown.
            Guess::List(item) if item.is_unknown() => Some(Guess::List(item)),
            other => Some(other),
        },
        _ => None,
    }
}

fn literal(text: &[u8], settings: &FormatSettings, depth: usize) -> Option<Guess> {
    let syntax = Syntax::Literal;
    if depth > DEPTH_MAX {
        return None;
    }
    if syntax.cell(text).form == TextForm::Null {
        return Some(Guess::null());
    }
    match text.first()? {
        b'[' => list(text, syntax, settings, |item| literal(item, settings, depth + 1)),
        b'{' => {
            let (mut key, mut value) = (Guess::Unknown, Guess::Unknown);
            let mut items = Items::new(text, b'{', b'}', syntax).ok()?;
            while let Some((k, v)) = items.next_pair().ok()? {
                let (next_key, next) = (literal(k, settings, depth + 1)?, literal(v, settings, depth + 1)?);
                if key.is_foreign_to(&next_key, false) || value.is_foreign_to(&next, false) {
                    return None;
                }
                key.join(next_key);
                value.join(next);
            }
            Some(Guess::Pairs(Box::new(key), Box::new(value)))
        }
        b'(' => {
            let mut guesses = Vec::new();
            let mut items = Items::new(text, b'(', b')', syntax).ok()?;
            while let Some(item) = items.next().ok()? {
                guesses.push(literal(item, settings, depth + 1)?);
            }
            Some(Guess::Tuple(guesses))
        }
        b'\'' => {
            let mut scratch = Vec::new();
            let content = syntax.cell(text).content(&mut scratch).ok()?;
            Some(dated(content, settings).unwrap_or(STRING))
        }
        _ if is_truth(text) => Some(Guess::Type(ColumnType::Bool)),
        _ => match word(text, settings) {
            STRING => None,
            known => Some(known),
        },
    }
}

fn list(
    text: &[u8],
    syntax: Syntax,
    settings: &FormatSettings,
    mut item: impl FnMut(&[u8]) -> Option<Guess>,
) -> Option<Guess> {
    let json = syntax == Syntax::Json;
    let mut items = Items::new(text, b'[', b']', syntax).ok()?;
    let mut guess = Guess::Unknown;
    while let Some(text) = items.next().ok()? {
        let found = item(text)?;
        let variants = settings.guessing.variants;
        let is_foreign = (variants || !json) && guess.is_foreign_to(&found, json);
        if is_foreign && !variants {
            // No literal holds values of several kinds.
            return None;
        }
        let of_objects = matches!((&guess, &found), (Guess::Object(_), Guess::Object(_)));
        let apart = if of_objects { Guess::Torn } else { STRING };
        guess = match is_foreign {
            true => Guess::Torn,
            false => joined(guess, found, json).unwrap_or(apart),
        };
    }
    Some(Guess::List(Box::new(guess)))
}

fn json(text: &[u8], settings: &FormatSettings, depth: usize) -> Option<Guess> {
    if depth > DEPTH_MAX {
        return None;
    }
    // A value that is missing is read as a number.
    let Some(first) = text.first() else { return Some(Guess::Whole { negative: false, above: false }) };
    match first {
        b'[' => list(text, Syntax::Json, settings, |item| json(item, settings, depth + 1)),
        b'{' if !settings.guessing.json_named_tuples => Some(STRING),
        b'{' => object(text, settings, depth).ok(),
        b'"' => {
            let text = json_text(text).ok()?;
            Some(in_quotes(text.as_bytes(), settings.guessing.json_numbers_in_quotes, settings))
        }
        // In capitals it is taken for one, and not read.
        b'n' | b'N' if text.eq_ignore_ascii_case(b"null") => Some(Guess::null()),
        _ if is_truth(text) => Some(Guess::Type(ColumnType::Bool)),
        // The beginning of a value that there is, which says nothing and is not read.
        b'n' | b't' | b'f' | b'-' | b'+' if depth == 0 && is_begun(text) => Some(Guess::Unknown),
        _ => {
            let float = || is_float(text).then_some(Guess::Type(ColumnType::Float64));
            number(text, settings).or_else(float)
        }
    }
}

/// Whether a word of JSON begins so, or a number.
fn is_begun(text: &[u8]) -> bool {
    matches!(text, b"-" | b"+") || [&b"true"[..], b"false", b"null"].iter().any(|word| word.starts_with(text))
}

fn object(text: &[u8], settings: &FormatSettings, depth: usize) -> Result<Guess, NotAList> {
    let mut members: Vec<(String, Guess)> = Vec::new();
    let mut items = Items::new(text, b'{', b'}', Syntax::Json)?;
    while let Some((key, value)) = items.next_pair()? {
        // A key stands in double quotes.
        let name = json_text(key).ok().filter(|_| key.starts_with(b"\"")).ok_or(NotAList)?;
        if members.iter().all(|(known, _)| *known != name) {
            members.push((name, json(value, settings, depth + 1).ok_or(NotAList)?));
        }
    }
    Ok(Guess::Object(members))
}
