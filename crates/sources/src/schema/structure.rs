//! The `structure` argument: `'a UInt8, b Array(String)'`.
//!
//! Pure. Invariant: names are unique; every type is one of ours.

use model::{ColumnType, type_name};
use stores::error::{Result, SourceError};

/// Columns of a structure text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Structure {
    pub columns: Vec<(String, ColumnType)>,
    /// Of some columns the text of their DEFAULT.
    pub defaults: Vec<(String, String)>,
}

/// Names and types of a structure text that gives no column a default.
pub fn parse(text: &str) -> Result<Vec<(String, ColumnType)>> {
    let Structure { columns, defaults } = parse_with_defaults(text)?;
    match defaults.first() {
        None => Ok(columns),
        Some((name, _)) => Err(SourceError::bad_arguments(format!(
            "structure \"{text}\": column \"{name}\" can have no DEFAULT here"
        ))),
    }
}

/// Names, types and defaults of a structure text.
pub fn parse_with_defaults(text: &str) -> Result<Structure> {
    let mut columns: Vec<(String, ColumnType)> = Vec::new();
    let mut defaults = Vec::new();
    for piece in pieces(text) {
        let no_type =
            || SourceError::bad_arguments(format!("structure \"{text}\" has no type in \"{piece}\""));
        let (name, declared) = name_and_type(piece).ok_or_else(no_type)?;
        let (type_text, default) = type_and_default(declared);
        if type_text.is_empty() {
            return Err(no_type());
        }
        match default {
            None => {}
            Some((word, expression)) if word.eq_ignore_ascii_case("DEFAULT") && !expression.is_empty() => {
                defaults.push((name.clone(), expression.to_owned()));
            }
            Some((word, _)) => {
                return Err(SourceError::bad_arguments(format!(
                    "structure \"{text}\": columns of files can have a DEFAULT, column \"{name}\" has {word}"
                )));
            }
        }
        let (type_text, is_nullable) = without_null(type_text);
        let column_type = type_name::parse(type_text)
            .map_err(|error| SourceError::bad_arguments(format!("structure \"{text}\": {error}")))?;
        let column_type = if is_nullable { column_type.nullable() } else { column_type };
        if columns.iter().any(|(known, _)| *known == name) {
            return Err(SourceError::bad_arguments(format!(
                "structure \"{text}\" names column \"{name}\" twice"
            )));
        }
        columns.push((name, column_type));
    }
    if columns.is_empty() {
        return Err(SourceError::bad_arguments("the structure names no column"));
    }
    Ok(Structure { columns, defaults })
}

/// The type without NULL or NOT NULL behind it, and whether it was NULL.
fn without_null(type_text: &str) -> (&str, bool) {
    let before = |text: &str, word: &str| {
        let at = text.len().checked_sub(word.len())?;
        let ends = text.get(at..)?.eq_ignore_ascii_case(word);
        let rest = text[..at].trim_end();
        (ends && rest.len() < at && !rest.is_empty()).then_some(rest.len())
    };
    match before(type_text, "NULL") {
        Some(end) => match before(&type_text[..end], "NOT") {
            Some(end) => (&type_text[..end], false),
            None => (&type_text[..end], true),
        },
        None => (type_text, false),
    }
}

/// Words that may stand behind a type.
const WORDS: [&str; 6] = ["DEFAULT", "MATERIALIZED", "ALIAS", "EPHEMERAL", "CODEC", "COMMENT"];

/// The type, and the word behind it with what that brings.
fn type_and_default(declared: &str) -> (&str, Option<(&str, &str)>) {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    for (at, c) in outside(declared) {
        if !is_word(c) || declared[..at].ends_with(is_word) {
            continue;
        }
        let rest = &declared[at..];
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        if WORDS.iter().any(|word| word.eq_ignore_ascii_case(&rest[..end])) {
            return (declared[..at].trim_end(), Some((&rest[..end], rest[end..].trim())));
        }
    }
    (declared, None)
}

/// The characters that are in no parentheses and no quotes, with their places.
fn outside(text: &str) -> impl Iterator<Item = (usize, char)> {
    let (mut depth, mut quote, mut escaped) = (0_usize, None, false);
    text.char_indices().filter(move |(_, c)| {
        match (quote, *c) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '`' | '"') => quote = Some(*c),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            (None, _) => return depth == 0,
        }
        false
    })
}

/// The text between commas that are in no parentheses and no quotes.
fn pieces(text: &str) -> Vec<&str> {
    let (mut pieces, mut start) = (Vec::new(), 0);
    for (at, _) in outside(text).filter(|(_, c)| *c == ',') {
        pieces.push(&text[start..at]);
        start = at + 1;
    }
    pieces.push(&text[start..]);
    pieces.into_iter().map(str::trim).filter(|piece| !piece.is_empty()).collect()
}

fn name_and_type(piece: &str) -> Option<(String, &str)> {
    let quote = piece.chars().next().filter(|c| matches!(c, '`' | '"'));
    let (name, rest) = match quote {
        Some(quote) => {
            let end = piece[1..].find(quote)? + 1;
            (&piece[1..end], &piece[end + 1..])
        }
        None => piece.split_at(piece.find(char::is_whitespace)?),
    };
    let rest = rest.trim();
    (!name.is_empty() && !rest.is_empty()).then(|| (name.to_owned(), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_types_and_commas_inside() {
        let columns = parse("a UInt8, `b c` Array(String),\n d Decimal(9, 2), e Enum8('x, (' = 1)").unwrap();
        let shown: Vec<String> = columns.iter().map(|(name, t)| format!("{name}:{t}")).collect();
        assert_eq!(shown, ["a:UInt8", "b c:Array(String)", "d:Decimal(9, 2)", "e:Enum8('x, (' = 1)"]);
    }

    #[test]
    fn defaults_stand_behind_types() {
        let found = parse_with_defaults(
            "a UInt8, b String default concat('x, y', toString(a)), c Enum8('DEFAULT' = 1) DEFAULT 'DEFAULT', d Array(Int8)",
        )
        .unwrap();
        let shown: Vec<String> = found.columns.iter().map(|(name, t)| format!("{name}:{t}")).collect();
        assert_eq!(shown, ["a:UInt8", "b:String", "c:Enum8('DEFAULT' = 1)", "d:Array(Int8)"]);
        let defaults: Vec<_> = found.defaults.iter().map(|(name, text)| format!("{name}={text}")).collect();
        assert_eq!(defaults, ["b=concat('x, y', toString(a))", "c='DEFAULT'"]);
        for (text, word) in [
            ("a UInt8 MATERIALIZED 1", "MATERIALIZED"),
            ("a UInt8 ephemeral", "ephemeral"),
            ("a DEFAULT 1", "no type"),
            ("a UInt8 DEFAULT", "DEFAULT"),
        ] {
            assert!(parse_with_defaults(text).is_err_and(|e| e.to_string().contains(word)), "{text}");
        }
        assert!(parse("a UInt8 DEFAULT 1").is_err());
    }

    #[test]
    fn mistakes_are_named() {
        for (text, words) in
            [("", "no column"), ("a", "no type"), ("a Foo", "Foo"), ("a Int8, a Int8", "twice")]
        {
            assert!(parse(text).unwrap_err().to_string().contains(words), "{text}");
        }
    }
}
