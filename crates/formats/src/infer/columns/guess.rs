//! What is known of a type, and of two together.
//!
//! Invariant: `join` is commutative; a joined type can hold both values.

use model::{ColumnType, TupleElement};

use crate::settings::{FormatSettings, InferNullable, JsonReading};

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
    /// Values that have nothing in common: no column holds them.
    Torn,
}

pub(super) const STRING: Guess = Guess::Type(ColumnType::String);

impl Guess {
    /// Whether SQL literals of both kinds cannot stand in one column, or values of JSON cannot but as text.
    pub(super) fn is_foreign_to(&self, other: &Guess, json: bool) -> bool {
        use ColumnType as T;
        let is_text = |guess: &Guess| {
            matches!(guess, Guess::Type(T::String | T::Date | T::DateTime { .. } | T::DateTime64 { .. }))
        };
        match (self.values(), other.values()) {
            (Guess::Unknown, _) | (_, Guess::Unknown) => false,
            (Guess::List(a), Guess::List(b)) => a.is_foreign_to(b, json),
            (Guess::Tuple(a), Guess::Tuple(b)) if a.len() == b.len() => {
                a.iter().zip(b).any(|(a, b)| a.is_foreign_to(b, json))
            }
            (Guess::Pairs(ak, av), Guess::Pairs(bk, bv)) => {
                ak.is_foreign_to(bk, json) || av.is_foreign_to(bv, json)
            }
            (Guess::Object(a), Guess::Object(b)) => a.iter().any(|(name, member)| {
                b.iter().any(|(other, of)| other == name && member.is_foreign_to(of, json))
            }),
            (a, b) => match joined(a.clone(), b.clone(), json) {
                Some(STRING) => !is_text(a) || !is_text(b),
                both => both.is_none(),
            },
        }
    }

    /// What is said where a column cannot hold values of both.
    pub(super) fn differs(&self, other: &Guess) -> String {
        format!("a value of type {} differs from earlier rows, which have {}", other.name(), self.name())
    }

    pub(super) fn null() -> Guess {
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

    /// Whether it holds values that have no type together; with `variants` whole numbers that no type holds are such.
    pub(super) fn is_torn(&self, variants: bool) -> bool {
        match self.values() {
            Guess::Torn => true,
            Guess::Whole { negative, above } => variants && *negative && *above,
            Guess::List(item) => item.is_torn(variants),
            Guess::Pairs(key, value) => key.is_torn(variants) || value.is_torn(variants),
            Guess::Tuple(items) => items.iter().any(|item| item.is_torn(variants)),
            Guess::Object(members) => members.iter().any(|(_, member)| member.is_torn(variants)),
            _ => false,
        }
    }

    /// Whether no value was seen.
    pub(super) fn is_unknown(&self) -> bool {
        *self.values() == Guess::Unknown
    }

    /// The type of a column that holds values of both; lists whose items have nothing in common are text.
    pub(super) fn join(&mut self, other: Guess) {
        let mine = std::mem::replace(self, Guess::Unknown);
        let both = if mine.is_foreign_to(&other, false) { None } else { joined(mine, other, false) };
        *self = both.unwrap_or(STRING);
    }

    /// As `join`; an object or list beside a plain value is an error, Bool and numbers agree on numbers.
    pub(super) fn join_json(&mut self, other: Guess, allowed: JsonReading) -> Result<(), String> {
        let plain =
            |guess: &Guess| matches!(guess.values(), Guess::Unknown | Guess::Whole { .. } | Guess::Type(_));
        let is_mixed = |a: &Guess, b: &Guess| plain(a) && !a.is_unknown() && !plain(b);
        let is_apart = self.is_apart_from(&other, allowed) || other.is_apart_from(self, allowed);
        if is_apart || is_mixed(self, &other) || is_mixed(&other, self) {
            return Err(self.differs(&other));
        }
        let mine = std::mem::replace(self, Guess::Unknown);
        if plain(&mine) && plain(&other) {
            *self = joined(mine, other, true).unwrap_or(STRING);
            return Ok(());
        }
        let message = mine.differs(&other);
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
            Guess::Tuple(items) => items.iter().any(incomplete),
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
            Guess::OrNull(_) | Guess::Torn => return None,
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
                // Of tuples among which one is NULL ClickHouse makes no element Nullable that none is NULL of.
                let nullable = match nullable {
                    InferNullable::Always if has_null => InferNullable::Seen,
                    other => other,
                };
                let typed = |guess: Guess| guess.typed(nullable, incomplete_as_string);
                let unnamed = |guess| Some(TupleElement { name: None, column_type: typed(guess)? });
                finish(ColumnType::Tuple(items.into_iter().map(unnamed).collect::<Option<_>>()?))
            }
            // An object without any member is kept as its text.
            Guess::Object(members) if members.is_empty() => finish(ColumnType::String),
            Guess::Object(members) => {
                let named = |(name, guess): (String, Guess)| {
                    Some(TupleElement { name: Some(name.into()), column_type: element(guess)? })
                };
                let tuple = ColumnType::Tuple(members.into_iter().map(named).collect::<Option<_>>()?);
                // ClickHouse does not remember NULLs beside objects.
                if nullable == InferNullable::Always { tuple.nullable() } else { tuple }
            }
        })
    }
}

/// `None` when the two have nothing in common but text.
pub(super) fn joined(a: Guess, b: Guess, json: bool) -> Option<Guess> {
    Some(match (a, b) {
        (Guess::OrNull(a), Guess::OrNull(b)) => or_null(*a, *b, json)?,
        (Guess::OrNull(a), b) | (b, Guess::OrNull(a)) => or_null(*a, b, json)?,
        (Guess::Torn, _) | (_, Guess::Torn) => Guess::Torn,
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
