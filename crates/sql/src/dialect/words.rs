//! Operators that are words: `IN`, `DIV`, `MOD`, `IS DISTINCT FROM`.
//!
//! Invariant: a word that is none of them here consumes nothing.

use sqlparser::ast::{BinaryOperator, Expr};
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Word;

use super::{Parsed, call, is, membership};

pub(super) fn word_infix(
    word: &Word,
    parser: &mut Parser<'_>,
    left: &Expr,
    precedence: u8,
) -> Option<Parsed> {
    let negated = is(word, "NOT");
    if is(word, "IN") || negated {
        return membership(negated, parser, left);
    }
    if is(word, "IS") {
        return distinct(parser, left, precedence);
    }
    if !is(word, "DIV") && !is(word, "MOD") {
        return None;
    }
    parser.advance_token();
    let right = parser.parse_subexpr(precedence);
    Some(right.map(|right| match is(word, "DIV") {
        true => call("intDiv", vec![left.clone(), right]),
        false => Expr::BinaryOp {
            left: Box::new(left.clone()),
            op: BinaryOperator::Modulo,
            right: Box::new(right),
        },
    }))
}

/// `IS DISTINCT FROM`, whose right side sqlparser reads as far as it goes: `a IS DISTINCT FROM b ? 1 : 2` compared with all
/// of `b ? 1 : 2`.
fn distinct(parser: &mut Parser<'_>, left: &Expr, precedence: u8) -> Option<Parsed> {
    let negated = parser.parse_keywords(&[Keyword::IS, Keyword::NOT, Keyword::DISTINCT, Keyword::FROM]);
    if !negated && !parser.parse_keywords(&[Keyword::IS, Keyword::DISTINCT, Keyword::FROM]) {
        return None;
    }
    let right = parser.parse_subexpr(precedence);
    Some(right.map(|right| {
        let (left, right) = (Box::new(left.clone()), Box::new(right));
        if negated { Expr::IsNotDistinctFrom(left, right) } else { Expr::IsDistinctFrom(left, right) }
    }))
}
