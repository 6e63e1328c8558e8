//! `splitBy..` of at most so many pieces where the last has what is left (`splitby_max_substrings_includes_remaining_string`).
//!
//! Invariant: what is left is what stood in the text, because pieces are joined by what they were split by; where that is not
//! known the call is refused. Must not know: how a text is split.

use std::ops::ControlFlow;

use sql::dialect::{call, name_of, number, plain_args};
use sql::printer::label::label;
use sql::{Result, SettingChange, SqlError};
use sqlparser::ast::{
    BinaryOperator, Expr, Ident, Query, Select, SelectItem, UnaryOperator, Value, VisitMut, VisitorMut,
};

/// The setting.
pub(crate) const SPLITS: &str = "splitby_max_substrings_includes_remaining_string";

/// Where a call takes how many pieces it makes.
fn place_of_limit(name: &str) -> Option<usize> {
    match name {
        "splitByChar" | "splitByString" | "splitByRegexp" => Some(2),
        "splitByWhitespace" | "splitByNonAlpha" | "splitByAlpha" | "alphaTokens" => Some(1),
        _ => None,
    }
}

/// The call of this name without its limit, of whose pieces those beyond are one, or left out; `None` if there is no limit.
pub(crate) fn limited(name: &str, args: &[Expr], keeps_rest: bool) -> Result<Option<Expr>> {
    let Some((limit, args)) =
        place_of_limit(name).filter(|place| args.len() == place + 1).and_then(|_| args.split_last())
    else {
        return Ok(None);
    };
    let refused = |what: &str| SqlError::not_implemented(format!("{SPLITS} with {name} {what}"));
    let Some(most) = whole_number(limit) else {
        return Err(refused("of a limit that is no constant number"));
    };
    let pieces = call(name, args.to_vec());
    if most <= 0 {
        return Ok(Some(pieces));
    }
    let begin = |most: i64| call("arraySlice", vec![pieces.clone(), number("1"), number(most.to_string())]);
    if !keeps_rest {
        return Ok(Some(begin(most)));
    }
    let (true, Some(separator)) = (matches!(name, "splitByChar" | "splitByString"), args.first()) else {
        return Err(refused("and a limit"));
    };
    let most_text = number(most.to_string());
    let rest = call("arraySlice", vec![pieces.clone(), most_text.clone()]);
    let rest = call("arrayStringConcat", vec![rest, separator.clone()]);
    let joined = call("arrayConcat", vec![begin(most - 1), call("array", vec![rest])]);
    let is_more = Expr::BinaryOp {
        left: Box::new(call("length", vec![pieces.clone()])),
        op: BinaryOperator::Gt,
        right: Box::new(most_text),
    };
    Ok(Some(call("if", vec![is_more, joined, pieces])))
}

fn whole_number(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => whole_number(expr).map(|number| -number),
        Expr::Nested(inner) => whole_number(inner),
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

/// The SELECT of a view under settings of its own, which hold whoever reads it; of these only this one can be another in a view.
///
/// # Errors
/// As those of a query under the setting.
pub fn under_settings(query: &mut Query, settings: &[SettingChange]) -> Result<()> {
    let own = settings.iter().rfind(|change| change.name == SPLITS);
    let Some(value) = own.and_then(|change| change.value.text()) else { return Ok(()) };
    let mut limiting = Limiting { keeps_rest: matches!(value, "1" | "true") };
    match query.visit(&mut limiting) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Limiting {
    keeps_rest: bool,
}

impl VisitorMut for Limiting {
    type Break = SqlError;

    /// A column keeps its name.
    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<SqlError> {
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expr) = item
                && !matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
            {
                let alias = Ident::with_quote('`', label(expr));
                *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<SqlError> {
        if let Expr::Function(function) = expr {
            match limited(&name_of(function), &plain_args(function), self.keeps_rest) {
                Ok(Some(whole)) => *expr = whole,
                Ok(None) => {}
                Err(error) => return ControlFlow::Break(error),
            }
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_the_last_piece() {
        let shown = |text: &str, keeps_rest: bool| {
            let Expr::Function(function) = sql::parse_expression(text).unwrap() else { return String::new() };
            match limited(&name_of(&function), &plain_args(&function), keeps_rest) {
                Ok(whole) => whole.map_or("as it is".to_owned(), |whole| whole.to_string().replace('`', "")),
                Err(error) => error.message,
            }
        };
        assert_eq!(
            shown("splitByChar('_', a, 2)", true),
            "if(length(splitByChar('_', a)) > 2, arrayConcat(arraySlice(splitByChar('_', a), 1, 1), \
             array(arrayStringConcat(arraySlice(splitByChar('_', a), 2), '_'))), splitByChar('_', a))"
        );
        assert_eq!(shown("splitByChar('_', a, 2)", false), "arraySlice(splitByChar('_', a), 1, 2)");
        assert_eq!(shown("splitByChar('_', a, -1)", true), "splitByChar('_', a)");
        assert_eq!(shown("splitByChar('_', a)", true), "as it is");
        assert!(shown("splitByRegexp('_', a, 2)", true).contains("with splitByRegexp and a limit"));
    }
}
