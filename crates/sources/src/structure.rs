//! The `structure` argument: `'a UInt8, b Array(String)'`.
//!
//! Pure. Invariant: names are unique; every type is one of ours.

use model::{ColumnType, type_name};

use crate::error::{Result, SourceError};

/// Names and types of a structure text.
pub fn parse(text: &str) -> Result<Vec<(String, ColumnType)>> {
    let mut columns: Vec<(String, ColumnType)> = Vec::new();
    for piece in pieces(text) {
        let (name, type_text) = name_and_type(piece).ok_or_else(|| {
            SourceError::bad_arguments(format!("structure \"{text}\" has no type in \"{piece}\""))
        })?;
        let column_type = type_name::parse(type_text)
            .map_err(|error| SourceError::bad_arguments(format!("structure \"{text}\": {error}")))?;
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
    Ok(columns)
}

/// The text between commas that are in no parentheses and no quotes.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut depth, mut start, mut quote) = (0_usize, 0, None);
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '`' | '"') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                pieces.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
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
    fn mistakes_are_named() {
        for (text, words) in
            [("", "no column"), ("a", "no type"), ("a Foo", "Foo"), ("a Int8, a Int8", "twice")]
        {
            assert!(parse(text).unwrap_err().to_string().contains(words), "{text}");
        }
    }
}
