//! A statement's text before and beside parsing: parameters put in, secrets taken out.
//!
//! Invariant: text inside quotes and comments is never taken for syntax; a masked text never shows the secret part of a
//! source's arguments.

use crate::error::{Error, ErrorKind};

/// Functions whose text arguments may be secrets, with the number of leading text arguments that are not.
const SECRET_FUNCTIONS: &[(&str, usize)] =
    &[("s3", 1), ("s3cluster", 2), ("gcs", 1), ("oss", 1), ("azureblobstorage", 0), ("url", 1)];

/// One piece of a text.
enum Piece<'a> {
    /// Copied as it is: words, symbols, comments.
    Plain(&'a str),
    /// With its quotes.
    Quoted(&'a str),
}

/// Cuts a text into quoted literals and the rest.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let (mut found, mut start, mut at) = (Vec::new(), 0, 0);
    let bytes = text.as_bytes();
    while at < bytes.len() {
        let end = match bytes[at] {
            b'\'' | b'"' | b'`' => quoted_end(bytes, at),
            b'-' if bytes.get(at + 1) == Some(&b'-') => {
                at += text[at..].find('\n').unwrap_or(text.len() - at);
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at += text[at..].find("*/").map_or(text.len() - at, |length| length + 2);
                continue;
            }
            _ => {
                at += 1;
                continue;
            }
        };
        found.push(Piece::Plain(&text[start..at]));
        found.push(Piece::Quoted(&text[at..end]));
        (start, at) = (end, end);
    }
    found.push(Piece::Plain(&text[start..]));
    found
}

fn quoted_end(bytes: &[u8], start: usize) -> usize {
    let quote = bytes[start];
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            byte if byte == quote && bytes.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The text as logs and process lists may show it: `s3('url', '[HIDDEN]', '[HIDDEN]')`.
pub(crate) fn masked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // How many more text arguments of the current source may be shown; `None` outside of one.
    let (mut shown, mut depth) = (None, 0_usize);
    for piece in pieces(text) {
        match piece {
            Piece::Plain(plain) => {
                for (at, c) in plain.char_indices() {
                    match c {
                        '(' if shown.is_some() => depth += 1,
                        '(' => {
                            shown = open_arguments(&plain[..at]);
                            depth = 0;
                        }
                        ')' if depth > 0 => depth -= 1,
                        ')' => shown = None,
                        _ => {}
                    }
                }
                out.push_str(plain);
            }
            Piece::Quoted(quoted) => match &mut shown {
                Some(0) if !is_harmless(quoted) => out.push_str("'[HIDDEN]'"),
                Some(left) => {
                    *left = left.saturating_sub(1);
                    out.push_str(quoted);
                }
                None => out.push_str(quoted),
            },
        }
    }
    out
}

/// The number of showable arguments, if the word before `(` is a source's name.
fn open_arguments(before: &str) -> Option<usize> {
    let word: String =
        before.trim_end().chars().rev().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let word: String = word.chars().rev().collect::<String>().to_ascii_lowercase();
    SECRET_FUNCTIONS.iter().find(|(name, _)| *name == word).map(|(_, shown)| *shown)
}

/// Formats, compressions and structures help to read a log and are no secrets.
fn is_harmless(quoted: &str) -> bool {
    let inside = quoted.trim_matches('\'');
    let is_structure = inside.split_once(' ').is_some_and(|(_, rest)| {
        let first = rest.split(',').next().unwrap_or("");
        model::type_name::parse(first).is_ok()
    });
    inside == "auto" || formats::FormatKind::parse(inside).is_some() || is_structure
}

/// The rows of a VALUES text, each with its parentheses.
pub(crate) fn value_tuples(text: &str) -> Vec<&str> {
    let (mut rows, mut depth, mut start, mut at) = (Vec::new(), 0_usize, 0, 0);
    for piece in pieces(text) {
        match piece {
            Piece::Quoted(quoted) => at += quoted.len(),
            Piece::Plain(plain) => {
                for byte in plain.bytes() {
                    match byte {
                        b'(' | b'[' | b'{' => {
                            if depth == 0 {
                                start = at;
                            }
                            depth += 1;
                        }
                        b')' | b']' | b'}' => {
                            depth = depth.saturating_sub(1);
                            if depth == 0 {
                                rows.push(&text[start..=at]);
                            }
                        }
                        _ => {}
                    }
                    at += 1;
                }
            }
        }
    }
    rows
}

/// Puts the values of `{name:Type}` into a statement, as typed literals.
pub(crate) fn with_parameters(text: &str, params: &[(String, String)]) -> Result<String, Error> {
    if params.is_empty() {
        return Ok(text.to_owned());
    }
    let mut out = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Quoted(quoted) => out.push_str(quoted),
            Piece::Plain(plain) => substitute(plain, params, &mut out)?,
        }
    }
    Ok(out)
}

fn substitute(plain: &str, params: &[(String, String)], out: &mut String) -> Result<(), Error> {
    let mut rest = plain;
    while let Some(open) = rest.find('{') {
        let Some(close) = rest[open..].find('}').map(|at| open + at) else { break };
        out.push_str(&rest[..open]);
        let inside = &rest[open + 1..close];
        match inside.split_once(':') {
            Some((name, type_name)) if name.trim().chars().all(|c| c.is_alphanumeric() || c == '_') => {
                let value = params.iter().find(|(given, _)| given == name.trim()).ok_or_else(|| {
                    let message = format!("substitution `{}` is not set", name.trim());
                    Error::new(ErrorKind::BadInput, 456, message)
                })?;
                let (value, type_name) = (sql::escape::quote_text(&value.1), type_name.trim());
                out.push_str(&format!("CAST({value}, {})", sql::escape::quote_text(type_name)));
            }
            _ => out.push_str(&rest[open..=close]),
        }
        rest = &rest[close + 1..];
    }
    out.push_str(rest);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_and_the_rest_is_not() {
        for (text, shown) in [
            (
                "SELECT 's3(x)' FROM s3('u', 'key', 'secret', 'CSV')",
                "SELECT 's3(x)' FROM s3('u', '[HIDDEN]', '[HIDDEN]', 'CSV')",
            ),
            (
                "INSERT INTO t SELECT * FROM s3Cluster('default', 'u', 'k', 's') WHERE a = 'b'",
                "INSERT INTO t SELECT * FROM s3Cluster('default', 'u', '[HIDDEN]', '[HIDDEN]') WHERE a = 'b'",
            ),
            ("SELECT concat('a', 'b')", "SELECT concat('a', 'b')"),
            (
                "SELECT * FROM s3('u', NOSIGN, 'Parquet', 'a Int8, b String')",
                "SELECT * FROM s3('u', NOSIGN, 'Parquet', 'a Int8, b String')",
            ),
        ] {
            assert_eq!(masked(text), shown);
        }
    }

    #[test]
    fn values_are_cut_into_rows() {
        assert_eq!(value_tuples("(1, ')'), ([2], f(3)) , ('a''(')"), ["(1, ')')", "([2], f(3))", "('a''(')"]);
        assert!(value_tuples(" ").is_empty());
    }

    #[test]
    fn parameters_become_typed_literals() {
        let params = [("x".to_owned(), "it's".to_owned())];
        assert_eq!(
            with_parameters("SELECT {x:String}, '{x:String}'", &params).unwrap(),
            "SELECT CAST('it\\'s', 'String'), '{x:String}'"
        );
        assert_eq!(with_parameters("SELECT {y:Int8}", &params).unwrap_err().code, 456);
    }
}
