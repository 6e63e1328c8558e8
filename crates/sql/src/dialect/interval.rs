//! `INTERVAL 1 DAY` in its spellings -> `toIntervalDay(1)`.
//!
//! Invariant: a column that is only named `interval` consumes nothing.

use model::column_type::INTERVAL_UNITS;
use sqlparser::ast::Expr;
use sqlparser::dialect::{Dialect, Precedence};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::{DIALECT, INNER_ALIAS, Parsed, call, is, number, text_of};

/// `MONTH`, `months`, `SQL_TSI_MONTH` -> `Month`.
pub fn interval_unit(word: &str) -> Option<&'static str> {
    let word = word.strip_prefix("SQL_TSI_").unwrap_or(word);
    let singular = word.strip_suffix(['s', 'S']).unwrap_or(word);
    INTERVAL_UNITS.iter().find(|unit| unit.eq_ignore_ascii_case(singular)).copied()
}

/// `INTERVAL 1 DAY`, `INTERVAL '1' DAY`, `INTERVAL '1 day'` -> `toIntervalDay(1)`. `None`: a column named so.
pub(super) fn interval(parser: &mut Parser<'_>) -> Option<Parsed> {
    let tried = parser.maybe_parse(|parser| {
        parser.advance_token();
        let amount = parser.parse_subexpr(DIALECT.prec_value(Precedence::PlusMinus))?;
        let amount = named_amount(parser, amount)?;
        if let Token::Word(word) = &parser.peek_token_ref().token
            && let Some(unit) = interval_unit(&word.value)
        {
            parser.advance_token();
            return Ok(call(&format!("toInterval{unit}"), vec![whole_number(amount)]));
        }
        worded_interval(&amount).ok_or_else(|| ParserError::ParserError("not an interval".to_owned()))
    });
    tried.transpose()
}

/// `INTERVAL '2' AS n MINUTE`: the name is the amount's, which stays the text that it is.
fn named_amount(parser: &mut Parser<'_>, amount: Expr) -> Parsed {
    let is_alias = match &parser.peek_token_ref().token {
        Token::Word(word) => is(word, "AS"),
        Token::CustomBinaryOperator(operator) => operator == INNER_ALIAS,
        _ => false,
    };
    let unit_follows = matches!(&parser.peek_nth_token_ref(2).token, Token::Word(word) if interval_unit(&word.value).is_some());
    if !is_alias || !unit_follows {
        return Ok(amount);
    }
    parser.advance_token();
    let is_text = text_of(&amount).is_some();
    let named = Expr::Named { expr: Box::new(amount), name: parser.parse_identifier()? };
    Ok(if is_text { call("toInt64", vec![named]) } else { named })
}

fn whole_number(amount: Expr) -> Expr {
    match text_of(&amount).map(str::trim) {
        Some(digits) if digits.parse::<i64>().is_ok() => number(digits),
        _ => amount,
    }
}

/// `'1 day'`, `'1 day 2 hours'` is a sum of intervals; only single ones are understood.
fn worded_interval(amount: &Expr) -> Option<Expr> {
    let (digits, unit) = text_of(amount)?.trim().split_once(' ')?;
    let unit = interval_unit(unit.trim())?;
    digits.parse::<i64>().ok()?;
    Some(call(&format!("toInterval{unit}"), vec![number(digits)]))
}
