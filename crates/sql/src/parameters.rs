//! Statement text before parsing and after: `{name:Type}` filled in, secrets masked.
//!
//! Invariant: a value never becomes syntax: it is quoted as a literal or as a name. Must not know: where values and
//! texts come from or go to.

use sqlparser::ast::Expr;

use crate::error::{ErrorCode, Result, SqlError};
use crate::escape::{always_quote_name, quote_text};
use crate::label::label;
use crate::scan::{Piece, PieceKind, Scanner};

/// Replaces `{name:Type}` by a cast of the given text, `{name:Identifier}` by a quoted name.
///
/// # Errors
/// UNKNOWN_QUERY_PARAMETER for a name without a value.
pub fn substitute_parameters(text: &str, values: &[(String, String)]) -> Result<String> {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    let mut pieces = Scanner::new(text, 0);
    while let Some(piece) = pieces.next() {
        if piece.kind != PieceKind::Symbol(b'{') {
            continue;
        }
        let Some((name, type_name, end)) = placeholder(text, piece.end) else { continue };
        let value = values.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        let value = value.ok_or_else(|| {
            SqlError::new(ErrorCode::UnknownQueryParameter, format!("substitution \"{name}\" is not set"))
                .at(piece.start)
        })?;
        out.push_str(&text[done..piece.start]);
        if type_name.eq_ignore_ascii_case("identifier") {
            out.push_str(&always_quote_name(value));
        } else {
            out.push_str(&typed(value, type_name));
        }
        done = end;
        pieces = Scanner::new(text, end);
    }
    out.push_str(&text[done..]);
    Ok(out)
}

fn typed(value: &str, type_name: &str) -> String {
    if value == "\\N" {
        return format!("CAST(NULL, {})", quote_text(type_name));
    }
    format!("CAST({}, {})", quote_text(value), quote_text(type_name))
}

/// `name:Type}` behind an opening brace: name, type, offset behind the brace that closes it.
fn placeholder(text: &str, from: usize) -> Option<(&str, &str, usize)> {
    let mut pieces = Scanner::new(text, from);
    let name = pieces.next().filter(|piece| piece.kind == PieceKind::Word)?;
    let colon = pieces.next().filter(|piece| piece.kind == PieceKind::Symbol(b':'))?;
    let close = pieces.find(|piece| matches!(piece.kind, PieceKind::Symbol(b'}') | PieceKind::Unclosed))?;
    let closed = close.kind == PieceKind::Symbol(b'}');
    closed.then(|| (&text[name.start..name.end], text[colon.end..close.start].trim(), close.end))
}

/// Table functions whose arguments may hold secrets, and how many arguments stand before the URL.
const WITH_SECRETS: &[(&str, usize)] = &[
    ("s3", 0),
    ("gcs", 0),
    ("oss", 0),
    ("cosn", 0),
    ("s3Cluster", 1),
    ("url", 0),
    ("urlCluster", 1),
    ("iceberg", 0),
    ("deltaLake", 0),
    ("S3", 0),
    ("azureBlobStorage", 0),
];

/// Named arguments that are secrets.
const SECRET_NAMES: &[&str] = &["secret_access_key", "session_token", "password", "account_key"];

/// The text as logs, process lists and errors may show it: secrets of table functions are `'[HIDDEN]'`.
pub fn masked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (start, end) in secrets(text) {
        if start >= done {
            out.push_str(&text[done..start]);
            out.push_str("'[HIDDEN]'");
            done = end;
        }
    }
    out.push_str(&text[done..]);
    out
}

fn secrets(text: &str) -> Vec<(usize, usize)> {
    let pieces: Vec<Piece> = Scanner::new(text, 0).take(PIECES_MAX).collect();
    let word = |piece: &Piece| &text[piece.start..piece.end];
    let mut found = vec![];
    for (at, piece) in pieces.iter().enumerate() {
        let opens = pieces.get(at + 1).is_some_and(|next| next.kind == PieceKind::Symbol(b'('));
        if piece.kind != PieceKind::Word || !opens {
            continue;
        }
        if let Some((_, skipped)) =
            WITH_SECRETS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word(piece)))
        {
            found.extend(of_call(text, &pieces[at + 2..], *skipped));
        } else if word(piece).eq_ignore_ascii_case("headers") {
            found.extend(values_of(&pieces[at + 2..]));
        }
    }
    found.sort_unstable();
    found
}

/// Pieces of a statement that are looked at; calls of table functions come before any data.
const PIECES_MAX: usize = 100_000;

/// Secrets among the positional and named arguments of one call.
fn of_call(text: &str, pieces: &[Piece], skipped: usize) -> Vec<(usize, usize)> {
    let (mut depth, mut arguments) = (0_usize, vec![vec![]]);
    for piece in pieces {
        match piece.kind {
            PieceKind::Symbol(b'(') => depth += 1,
            PieceKind::Symbol(b')') if depth == 0 => break,
            PieceKind::Symbol(b')') => depth -= 1,
            PieceKind::Symbol(b',') if depth == 0 => arguments.push(vec![]),
            _ if depth == 0 => arguments.last_mut().map_or((), |argument| argument.push(*piece)),
            _ => {}
        }
    }
    let mut found = vec![];
    let mut texts = vec![];
    for argument in arguments.iter().skip(skipped) {
        match argument.as_slice() {
            [only] if only.kind == PieceKind::Text => texts.push(*only),
            [name, _, value] if SECRET_NAMES.iter().any(|known| *known == &text[name.start..name.end]) => {
                found.push((value.start, value.end));
            }
            _ => {}
        }
    }
    // (url, key, secret, ..): the second text is a key unless it is a format.
    if let [_, second, third, rest @ ..] = texts.as_slice() {
        let is_format = |piece: &Piece| {
            let inner = text[piece.start..piece.end].trim_matches('\'');
            inner == "auto" || formats::FormatKind::parse(inner).is_some()
        };
        if !is_format(second) {
            found.push((third.start, third.end));
            found.extend(
                rest.first().filter(|fourth| !is_format(fourth)).map(|fourth| (fourth.start, fourth.end)),
            );
        }
    }
    found
}

/// Texts behind `=` up to the closing parenthesis.
fn values_of(pieces: &[Piece]) -> Vec<(usize, usize)> {
    let inside = pieces.iter().take_while(|piece| piece.kind != PieceKind::Symbol(b')'));
    let inside: Vec<&Piece> = inside.collect();
    let value = |pair: &[&Piece]| match pair {
        [equals, value] if equals.kind == PieceKind::Symbol(b'=') => Some((value.start, value.end)),
        _ => None,
    };
    inside.windows(2).filter_map(value).collect()
}

/// PARTITION expr as the partition's name: `202401`, `'2024-01-01'` -> `20240101`, `(1, 'a')` -> `1-a`, `tuple()` -> `all`.
pub fn partition_text(expr: &Expr) -> Result<String> {
    match expr {
        Expr::Tuple(parts) => {
            let parts = parts.iter().map(partition_text).collect::<Result<Vec<_>>>()?;
            Ok(parts.join("-"))
        }
        Expr::Nested(inner) => partition_text(inner),
        Expr::Function(call) if crate::dialect::name_of(call) == "tuple" => {
            let parts = crate::dialect::plain_args(call);
            if parts.is_empty() { Ok("all".to_owned()) } else { partition_text(&Expr::Tuple(parts)) }
        }
        Expr::Value(value) => match &value.value {
            sqlparser::ast::Value::SingleQuotedString(text) => Ok(without_date_dashes(text)),
            other => Ok(crate::label::literal(other)),
        },
        Expr::Identifier(name) if name.value.eq_ignore_ascii_case("all") => {
            Err(SqlError::not_implemented("PARTITION ALL"))
        }
        Expr::Function(call) if ["toDate", "toYYYYMM"].contains(&crate::dialect::name_of(call).as_str()) => {
            match crate::dialect::plain_args(call).as_slice() {
                [date] if crate::dialect::name_of(call) == "toDate" => partition_text(date),
                _ => Err(SqlError::bad_arguments(format!("partition {} is not a constant", label(expr)))),
            }
        }
        other => Err(SqlError::bad_arguments(format!("partition {} is not a constant", label(other)))),
    }
}

fn without_date_dashes(text: &str) -> String {
    let bytes = text.as_bytes();
    let digits = |range: std::ops::Range<usize>| bytes[range].iter().all(u8::is_ascii_digit);
    let is_date = bytes.len() == 10
        && bytes[4] == b'-'
        && bytes[7] == b'-'
        && digits(0..4)
        && digits(5..7)
        && digits(8..10);
    if is_date { text.replace('-', "") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::parse_expression;

    #[test]
    fn parameters_become_literals_and_names() {
        let values = [("x".to_owned(), "it's".to_owned()), ("t".to_owned(), "my table".to_owned())];
        let check = |text: &str, expected: &str| match substitute_parameters(text, &values) {
            Ok(made) => assert_eq!(made, expected),
            Err(e) => assert_eq!(e.message, expected),
        };
        check("SELECT {x:String} FROM {t:Identifier}", "SELECT CAST('it\\'s', 'String') FROM `my table`");
        check("SELECT '{x:String}'", "SELECT '{x:String}'");
        check("SELECT {y:UInt8}", "substitution \"y\" is not set");
        check("SELECT {x: Array(UInt8)}", "SELECT CAST('it\\'s', 'Array(UInt8)')");
    }

    #[test]
    fn secrets_are_hidden() {
        let check = |text: &str, expected: &str| assert_eq!(masked(text), expected);
        check(
            "SELECT * FROM s3('u', 'key', 'secret', 'CSV')",
            "SELECT * FROM s3('u', 'key', '[HIDDEN]', 'CSV')",
        );
        check("SELECT * FROM s3('u', 'CSV', 'a Int8')", "SELECT * FROM s3('u', 'CSV', 'a Int8')");
        check("s3Cluster('c', 'u', 'k', 's', 'tok')", "s3Cluster('c', 'u', 'k', '[HIDDEN]', '[HIDDEN]')");
        check("s3('u', headers('A' = 'token'))", "s3('u', headers('A' = '[HIDDEN]'))");
        check("s3(c, secret_access_key = 'x')", "s3(c, secret_access_key = '[HIDDEN]')");
        check("SELECT 's3(1, 2, 3)'", "SELECT 's3(1, 2, 3)'");
    }

    #[test]
    fn partitions_have_names() {
        let check = |text: &str, expected: &str| {
            assert_eq!(partition_text(&parse_expression(text).unwrap()).unwrap(), expected, "{text}");
        };
        check("202401", "202401");
        check("'2024-01-31'", "20240131");
        check("tuple()", "all");
        check("(1, 'a')", "1-a");
    }
}
