//! `normalizeQuery` and its kin: a query without its literals, so that queries that differ in nothing else are the same.
//!
//! Invariant: texts and hashes are those of ClickHouse. It never fails: a quote that is not closed ends the text. Must not know:
//! grammar, plans.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringViewArray, UInt64Array};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use functions::{ArgType, Call, FunctionError, ScalarFunction, sip_hash_64};
use model::{ColumnType, ErrorCode};
use sql::lexer::scan::{PieceKind, Scanner};

/// A name of so many bytes or more is one of a thousand alike, as a UUID has 36 characters.
const NAME_BYTES_MAX: usize = 36;
/// So are names of more digits.
const NAME_DIGITS_MAX: usize = 2;

/// What the text of a query consists of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Token<'a> {
    Literal,
    Comma,
    /// One that may be another each time.
    Changing,
    Fixed(&'a str),
    /// Space and comments.
    Gap,
}

/// Whether a name that is not asked to be kept is likely to be made by a program.
fn is_changing(name: &str) -> bool {
    let digits = name.bytes().filter(u8::is_ascii_digit).count();
    digits > NAME_DIGITS_MAX
        || name.len() >= NAME_BYTES_MAX
        || name.bytes().any(|byte| byte.is_ascii_whitespace())
}

fn is_number(word: &str) -> bool {
    let of_radix = |prefix: &str, radix: u32| {
        word.strip_prefix(prefix)
            .is_some_and(|digits| !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix)))
    };
    of_radix("0x", 16) || of_radix("0b", 2) || word.replace('_', "").parse::<f64>().is_ok()
}

/// Behind an exponent with a sign, which the scanner cuts in front of the sign.
fn exponent_end(text: &str, start: usize, end: usize) -> Option<usize> {
    let mantissa = text[start..end].strip_suffix(['e', 'E'])?;
    let digits = text[end..].strip_prefix(['+', '-'])?;
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    (count > 0 && is_number(mantissa)).then_some(end + 1 + count)
}

fn tokens(text: &str, keep_names: bool) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(piece) = Scanner::new(text, at).next() {
        if piece.start > at && at > 0 {
            tokens.push(Token::Gap);
        }
        let mut end = piece.end;
        let written = &text[piece.start..piece.end];
        let name =
            || if !keep_names && is_changing(written) { Token::Changing } else { Token::Fixed(written) };
        tokens.push(match piece.kind {
            PieceKind::Unclosed => return tokens,
            PieceKind::Text | PieceKind::Heredoc => Token::Literal,
            PieceKind::Number => match exponent_end(text, piece.start, piece.end) {
                Some(behind) => {
                    end = behind;
                    Token::Literal
                }
                None if is_number(written) => Token::Literal,
                None => name(),
            },
            PieceKind::QuotedName => name(),
            // A function is none that changes.
            PieceKind::Word if text.as_bytes().get(piece.end) == Some(&b'(') => Token::Fixed(written),
            PieceKind::Word => name(),
            PieceKind::Symbol(b',') => Token::Comma,
            PieceKind::Symbol(_) => Token::Fixed(written),
        });
        at = end;
    }
    if at < text.len() && at > 0 {
        tokens.push(Token::Gap);
    }
    tokens
}

/// The marks that stand for what is not written.
struct Marks {
    literal: &'static str,
    /// Behind a literal: there are more.
    more: &'static str,
    changing: &'static str,
    gap: &'static str,
    /// Whether a sign behind a literal and a comma is one of the next literal.
    has_signs: bool,
}

const SHOWN: Marks = Marks { literal: "?", more: "..", changing: "`?`", gap: " ", has_signs: true };
const HASHED: Marks = Marks { literal: "\0", more: "\0", changing: "\u{1}", gap: "", has_signs: false };

/// Literals between which are only commas are one with a mark.
fn normalized(text: &str, keep_names: bool, marks: &Marks) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut literals, mut comma, mut gap) = (0_usize, false, false);
    let close = |out: &mut String, literals: &mut usize, comma: &mut bool, gap: &mut bool| {
        out.push_str(if *literals > 1 { marks.more } else { "" });
        out.push_str(if *comma { "," } else { "" });
        out.push_str(if *gap { marks.gap } else { "" });
        (*literals, *comma, *gap) = (0, false, false);
    };
    for token in tokens(text, keep_names) {
        match token {
            Token::Gap if literals > 0 => gap = true,
            Token::Gap => out.push_str(marks.gap),
            Token::Literal => {
                out.push_str(if literals == 0 { marks.literal } else { "" });
                (literals, comma, gap) = (literals + 1, false, false);
            }
            Token::Comma if literals > 0 => comma = true,
            Token::Comma => out.push(','),
            Token::Fixed("-" | "+") if marks.has_signs && comma => {}
            Token::Changing | Token::Fixed(_) => {
                close(&mut out, &mut literals, &mut comma, &mut gap);
                out.push_str(if let Token::Fixed(written) = token { written } else { marks.changing });
            }
        }
    }
    close(&mut out, &mut literals, &mut comma, &mut gap);
    out
}

/// What `normalizedQueryHash` says of a query.
pub fn normalized_query_hash(query: &str) -> u64 {
    hash(query, false)
}

fn hash(query: &str, keep_names: bool) -> u64 {
    sip_hash_64(normalized(query, keep_names, &HASHED).as_bytes())
}

fn texts(call: &Call<'_>) -> Result<StringViewArray, FunctionError> {
    let Some(query) = call.args.first() else {
        return Err(FunctionError::new(ErrorCode::LOGICAL_ERROR, "a call without its argument"));
    };
    let texts = cast(&query.array, &DataType::Utf8View)?;
    let texts = texts.as_string_view();
    let text = |row: usize| if texts.is_null(row) { "" } else { texts.value(row) };
    Ok(StringViewArray::from_iter_values((0..call.rows).map(|row| text(query.row(row)))))
}

fn function(name: &'static str, keep_names: bool, is_hash: bool) -> ScalarFunction {
    let rule = move |args: &[ArgType]| match args.iter().find(|arg| !arg.column_type.is_string()) {
        Some(other) => Err(FunctionError::illegal_type(&other.column_type, name)),
        None if is_hash => Ok(ColumnType::UInt64),
        None => Ok(ColumnType::String),
    };
    ScalarFunction::new(name, 1..=1, rule, move |call| {
        let texts = texts(call)?;
        let texts = texts.iter().map(Option::unwrap_or_default);
        let made: ArrayRef = match is_hash {
            true => Arc::new(UInt64Array::from_iter_values(texts.map(|text| hash(text, keep_names)))),
            false => Arc::new(StringViewArray::from_iter_values(
                texts.map(|text| normalized(text, keep_names, &SHOWN)),
            )),
        };
        Ok(made)
    })
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    vec![
        function("normalizeQuery", false, false).doc(
            "normalizeQuery(query)",
            "The query with ? for literals and for names that look made by a program.",
            "normalizeQuery('SELECT 1, 2 FROM t')",
        ),
        function("normalizeQueryKeepNames", true, false).doc(
            "normalizeQueryKeepNames(query)",
            "The query with ? for literals.",
            "normalizeQueryKeepNames('SELECT 1, 2 FROM t')",
        ),
        function("normalizedQueryHash", false, true).doc(
            "normalizedQueryHash(query)",
            "A hash that is the same for queries that differ in literals, and in names that look made by a program.",
            "normalizedQueryHash('SELECT 1')",
        ),
        function("normalizedQueryHashKeepNames", true, true).doc(
            "normalizedQueryHashKeepNames(query)",
            "A hash that is the same for queries that differ in literals.",
            "normalizedQueryHashKeepNames('SELECT 1')",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_names_that_change_are_left_out() {
        let shown = |text: &str| normalized(text, false, &SHOWN);
        assert_eq!(
            shown("SELECT 1, 'a', x FROM t WHERE y IN (1, 2, 3) -- c"),
            "SELECT ?.., x FROM t WHERE y IN (?..) "
        );
        assert_eq!(shown(" \n SELECT\n\t1"), "SELECT ?");
        assert_eq!(shown("SELECT 1 , "), "SELECT ?, ");
        assert_eq!(shown("SELECT 1 ,x"), "SELECT ?, x");
        assert_eq!(shown("SELECT 1 AS a,2"), "SELECT ? AS a,?");
        assert_eq!(shown("SELECT a12, a123, `x y`, f123(1e-5)"), "SELECT a12, `?`, `?`, f123(?)");
        assert_eq!(shown("SELECT 'unclosed"), "SELECT ");
        assert_eq!(shown("a - 5, -6, 1-5"), "a - ?..-?");
        assert_eq!(normalized("SELECT a123, 1, 2 x", false, &HASHED), "SELECT\u{1},\0\0x");
    }
}
