//! The type of one value, and of two together.
//!
//! Invariant: `join` is commutative; a joined type can hold both values.

use model::{ColumnType, TupleElement};

use crate::error::FormatError;
use crate::settings::{FormatSettings, InferNullable, JsonReading};
use crate::values::cell::{Cell, Items, NotAList, Syntax, TextForm};
use crate::values::date_text::{ZERO_DATE, date, time};
use scan::number;

/// What the cells are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    Csv,
    Tsv,
    Json,
    Literal,
}

/// What is known of a column's type; never Nullable at the top.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Guess {
    /// Nothing so far.
    Unknown,
    /// NULLs among values of another kind, or only NULLs.
    OrNull(Box<Guess>),
    /// Whole numbers: whether one is below zero, whether one is above the largest Int64.
    Whole {
        negative: bool,
        above: bool,
    },
    Type(ColumnType),
    List(Box<Guess>),
    Pairs(Box<Guess>, Box<Guess>),
    /// Elements without names.
    Tuple(Vec<Guess>),
    /// A JSON object.
    Object(Vec<(String, Guess)>),
}

const STRING: Guess = Guess::Type(ColumnType::String);

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
            TextForm::Empty => STRING,
            TextForm::Json | TextForm::JsonPlain => Guess::json(cell.text, settings),
            TextForm::Literal => literal(cell.text, settings, 0).unwrap_or(STRING),
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
                    false => word(content, settings),
                }
            }
        }
    }

    fn null() -> Guess {
        Guess::OrNull(Box::new(Guess::Unknown))
    }

    /// What the values are that are not NULL.
    fn values(&self) -> &Guess {
        match self {
            Guess::OrNull(values) => values,
            other => other,
        }
    }

    pub(super) fn without_null(self) -> Guess {
        match self {
            Guess::OrNull(values) => *values,
            other => other,
        }
    }

    pub(super) fn is_text(&self) -> bool {
        *self.values() == STRING
    }

    /// Whether no value was seen.
    pub(super) fn is_unknown(&self) -> bool {
        *self.values() == Guess::Unknown
    }

    pub(super) fn json(value: &[u8], settings: &FormatSettings) -> Guess {
        json(value, settings, 0).unwrap_or(STRING)
    }

    /// The type of a column that holds values of both.
    pub(super) fn join(&mut self, other: Guess) {
        let mine = std::mem::replace(self, Guess::Unknown);
        *self = joined(mine, other, false).unwrap_or(STRING);
    }

    /// As `join`; an object or list beside a plain value is an error, Bool and numbers agree on numbers.
    pub(super) fn join_json(&mut self, other: Guess, allowed: JsonReading) -> Result<(), String> {
        let differs = |mine: &Guess| {
            format!("a value of type {} differs from earlier rows, which have {}", other.name(), mine.name())
        };
        if self.is_apart_from(&other, allowed) || other.is_apart_from(self, allowed) {
            return Err(differs(self));
        }
        let mine = std::mem::replace(self, Guess::Unknown);
        let plain =
            |guess: &Guess| matches!(guess.values(), Guess::Unknown | Guess::Whole { .. } | Guess::Type(_));
        if plain(&mine) && plain(&other) {
            *self = joined(mine, other, true).unwrap_or(STRING);
            return Ok(());
        }
        let message = differs(&mine);
        *self = joined(mine, other, true).ok_or(message)?;
        Ok(())
    }

    /// Whether settings keep a column from holding both, although a type could.
    fn is_apart_from(&self, other: &Guess, allowed: JsonReading) -> bool {
        let (mine, other) = (self.values(), other.values());
        let is_number = |guess: &Guess| {
            matches!(guess, Guess::Whole { .. } | Guess::Type(ColumnType::Int64 | ColumnType::Float64))
        };
        let is_bool = *mine == Guess::Type(ColumnType::Bool);
        is_bool && is_number(other) && !allowed.bools_as_numbers
            || is_bool && *other == STRING && !allowed.bools_as_strings
            || is_number(mine) && *other == STRING && !allowed.numbers_as_strings
    }

    fn name(&self) -> String {
        self.clone().plain_type().map_or_else(|| "NULL".to_owned(), |t| t.to_string())
    }

    fn plain_type(self) -> Option<ColumnType> {
        self.typed(InferNullable::Never, true)
    }

    /// The finished type; `None` for a column of NULLs when those may not become text.
    pub(super) fn into_type(self, settings: &FormatSettings) -> Option<ColumnType> {
        self.typed(settings.guessing.nullable, settings.guessing.incomplete_as_string)
    }

    /// Whether it is a list or map of which nobody knows what it holds; such text stays text outside of JSON.
    pub(super) fn is_incomplete(&self) -> bool {
        let incomplete = |guess: &Guess| guess.is_unknown() || guess.is_incomplete();
        match self.values() {
            Guess::List(item) => incomplete(item),
            Guess::Pairs(key, value) => incomplete(key) || incomplete(value),
            _ => false,
        }
    }

    fn typed(self, nullable: InferNullable, incomplete_as_string: bool) -> Option<ColumnType> {
        let has_null = matches!(self, Guess::OrNull(_));
        let guess = self.without_null();
        let finish = |column_type: ColumnType| match nullable {
            InferNullable::Always => column_type.nullable(),
            InferNullable::Seen if has_null => column_type.nullable(),
            InferNullable::Seen | InferNullable::Never => column_type,
        };
        let element = |guess: Guess| guess.typed(nullable, incomplete_as_string);
        Some(match guess {
            // One alone is around values.
            Guess::OrNull(_) => return None,
            Guess::Unknown if incomplete_as_string => finish(ColumnType::String),
            Guess::Unknown => return None,
            Guess::Whole { above: false, .. } => finish(ColumnType::Int64),
            Guess::Whole { negative: false, .. } => finish(ColumnType::UInt64),
            // No type of whole numbers holds both, and a Float64 would show other digits.
            Guess::Whole { .. } => finish(ColumnType::String),
            Guess::Type(column_type) => finish(column_type),
            Guess::List(item) => ColumnType::Array(Box::new(element(*item)?)),
            Guess::Pairs(key, value) => {
                let key = key.typed(InferNullable::Never, incomplete_as_string)?;
                ColumnType::Map(Box::new(key), Box::new(element(*value)?))
            }
            Guess::Tuple(items) => {
                let unnamed = |guess| Some(TupleElement { name: None, column_type: element(guess)? });
                ColumnType::Tuple(items.into_iter().map(unnamed).collect::<Option<_>>()?)
            }
            // An object without any member is kept as its text.
            Guess::Object(members) if members.is_empty() => finish(ColumnType::String),
            Guess::Object(members) => {
                let named = |(name, guess): (String, Guess)| {
                    Some(TupleElement { name: Some(name.into()), column_type: element(guess)? })
                };
                ColumnType::Tuple(members.into_iter().map(named).collect::<Option<_>>()?)
            }
        })
    }
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
        b'[' => list(text, syntax, |item| literal(item, settings, depth + 1)),
        b'{' => {
            let (mut key, mut value) = (Guess::Unknown, Guess::Unknown);
            let mut items = Items::new(text, b'{', b'}', syntax).ok()?;
            while let Some((k, v)) = items.next_pair().ok()? {
                key.join(literal(k, settings, depth + 1)?);
                value.join(literal(v, settings, depth + 1)?);
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
        _ => match word(text, settings) {
            STRING => None,
            known => Some(known),
        },
    }
}

fn list(text: &[u8], syntax: Syntax, mut item: impl FnMut(&[u8]) -> Option<Guess>) -> Option<Guess> {
    let mut items = Items::new(text, b'[', b']', syntax).ok()?;
    let mut guess = Guess::Unknown;
    while let Some(text) = items.next().ok()? {
        let found = item(text)?;
        guess = joined(guess, found, syntax == Syntax::Json).unwrap_or(STRING);
    }
    Some(Guess::List(Box::new(guess)))
}

fn json(text: &[u8], settings: &FormatSettings, depth: usize) -> Option<Guess> {
    if depth > DEPTH_MAX {
        return None;
    }
    match text.first()? {
        b'[' => list(text, Syntax::Json, |item| json(item, settings, depth + 1)),
        b'{' if !settings.guessing.json_named_tuples => Some(STRING),
        b'{' => object(text, settings, depth).ok(),
        b'"' => {
            let text = json_text(text).ok()?;
            Some(in_quotes(text.as_bytes(), settings.guessing.json_numbers_in_quotes, settings))
        }
        b'n' if text == b"null" => Some(Guess::null()),
        b't' | b'f' => Some(Guess::Type(ColumnType::Bool)),
        _ => {
            let float = || number::float::<f64>(text).is_ok().then_some(Guess::Type(ColumnType::Float64));
            number(text, settings).or_else(float)
        }
    }
}

fn object(text: &[u8], settings: &FormatSettings, depth: usize) -> Result<Guess, NotAList> {
    let mut members: Vec<(String, Guess)> = Vec::new();
    let mut items = Items::new(text, b'{', b'}', Syntax::Json)?;
    while let Some((key, value)) = items.next_pair()? {
        let name = json_text(key).map_err(|_| NotAList)?;
        if members.iter().all(|(known, _)| *known != name) {
            members.push((name, json(value, settings, depth + 1).ok_or(NotAList)?));
        }
    }
    Ok(Guess::Object(members))
}

/// `None` when the two have nothing in common but text.
fn joined(a: Guess, b: Guess, json: bool) -> Option<Guess> {
    Some(match (a, b) {
        (Guess::OrNull(a), Guess::OrNull(b)) => or_null(*a, *b, json)?,
        (Guess::OrNull(a), b) | (b, Guess::OrNull(a)) => or_null(*a, b, json)?,
        (Guess::Unknown, other) | (other, Guess::Unknown) => other,
        (a, b) if a == b => a,
        (Guess::Whole { negative, above }, Guess::Whole { negative: n, above: a }) => {
            Guess::Whole { negative: negative || n, above: above || a }
        }
        (Guess::Whole { .. }, Guess::Type(ColumnType::Float64))
        | (Guess::Type(ColumnType::Float64), Guess::Whole { .. }) => Guess::Type(ColumnType::Float64),
        (whole @ Guess::Whole { .. }, Guess::Type(ColumnType::Bool))
        | (Guess::Type(ColumnType::Bool), whole @ Guess::Whole { .. })
            if json =>
        {
            whole
        }
        (Guess::Whole { .. }, Guess::Type(_)) | (Guess::Type(_), Guess::Whole { .. }) => STRING,
        (Guess::Type(a), Guess::Type(b)) => Guess::Type(joined_types(a, b, json)),
        (Guess::List(a), Guess::List(b)) => Guess::List(Box::new(joined(*a, *b, json).unwrap_or(STRING))),
        (Guess::Pairs(ak, av), Guess::Pairs(bk, bv)) => {
            Guess::Pairs(Box::new(joined(*ak, *bk, json)?), Box::new(joined(*av, *bv, json)?))
        }
        (Guess::Tuple(a), Guess::Tuple(b)) if a.len() == b.len() => {
            let pairs = a.into_iter().zip(b);
            Guess::Tuple(pairs.map(|(a, b)| joined(a, b, json)).collect::<Option<_>>()?)
        }
        (Guess::Object(mut a), Guess::Object(b)) => {
            for (name, guess) in b {
                match a.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, known)) => {
                        *known = joined(std::mem::replace(known, Guess::Unknown), guess, json)?;
                    }
                    None => a.push((name, guess)),
                }
            }
            Guess::Object(a)
        }
        // JSON text beside an object is read as the object's text.
        (Guess::Type(ColumnType::String), _) | (_, Guess::Type(ColumnType::String)) => STRING,
        _ => return None,
    })
}

/// Of values with NULLs among them. Outside of JSON a column that becomes text because its values differ forgets them, as
/// in ClickHouse.
fn or_null(a: Guess, b: Guess, json: bool) -> Option<Guess> {
    let is_text = |guess: &Guess| *guess == Guess::Unknown || *guess == STRING;
    let remembers = json || is_text(&a) && is_text(&b);
    let both = joined(a, b, json)?;
    Some(if remembers || both != STRING { Guess::OrNull(Box::new(both)) } else { both })
}

fn joined_types(a: ColumnType, b: ColumnType, json: bool) -> ColumnType {
    use ColumnType as T;
    let time = |t: &T| matches!(t, T::Date | T::DateTime { .. } | T::DateTime64 { .. });
    match (&a, &b) {
        (T::Bool, T::Float64) if json => b,
        (T::Float64, T::Bool) if json => a,
        (T::DateTime64 { .. }, other) if time(other) => a,
        (other, T::DateTime64 { .. }) if time(other) => b,
        (T::DateTime { .. }, T::Date) => a,
        (T::Date, T::DateTime { .. }) => b,
        _ => T::String,
    }
}
