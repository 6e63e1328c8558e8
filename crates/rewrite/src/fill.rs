//! WITH FILL and INTERPOLATE: marks behind the keys of ORDER BY, which become a step of the plan.
//!
//! Invariant: inside INTERPOLATE a name is a column of the result, never what an alias stands for, because the values
//! are those of the row before.

use model::ErrorCode;
use sql::dialect::{call, number};
use sql::reader::clauses::{FILL, INTERPOLATE, stale_step};
use sql::reader::head::ident;
use sql::{Result, SqlError};
use sqlparser::ast::{
    Expr, Ident, Interpolate, InterpolateExpr, OrderByExpr, OrderByOptions, Value, WithFill,
};

use crate::Rewriter;
use crate::order::order_key;

/// A column of the result: the name that is written, the name it has in the plan.
pub(crate) struct Output<'a> {
    pub(crate) written: &'a str,
    pub(crate) planned: &'a str,
}

impl Rewriter {
    /// The mark of a filled key that stands at this place among the keys.
    pub(crate) fn fill(&mut self, place: usize, fill: WithFill) -> Result<OrderByExpr> {
        let null = || Expr::Value(Value::Null.into());
        let mut args = vec![number(place.to_string())];
        let (step, stale) = match fill.step.as_ref().and_then(stale_step) {
            Some((step, stale)) => (Some(step), Some(stale)),
            None => (fill.step, None),
        };
        if matches!(&stale, Some(Expr::Value(stale)) if stale.value == Value::Null) {
            let message = "the STALENESS of WITH FILL cannot be NULL";
            return Err(SqlError::new(ErrorCode::INVALID_WITH_FILL_EXPRESSION, message));
        }
        for bound in [fill.from, fill.to, step, stale] {
            args.push(bound.map(|bound| self.value(bound)).transpose()?.unwrap_or_else(null));
        }
        Ok(mark(FILL, args))
    }

    /// The marks of INTERPOLATE.
    pub(crate) fn interpolate(
        &mut self,
        clause: Interpolate,
        outputs: &[Output<'_>],
        any_star: bool,
    ) -> Result<Vec<OrderByExpr>> {
        let Some(items) = clause.exprs else { return Ok(vec![mark(INTERPOLATE, vec![])]) };
        outputs.iter().for_each(|output| self.scope().enter(output.written));
        let marks = items.into_iter().map(|item| self.interpolated(item, outputs, any_star)).collect();
        outputs.iter().for_each(|_| self.scope().leave());
        marks
    }

    fn interpolated(
        &mut self,
        item: InterpolateExpr,
        outputs: &[Output<'_>],
        any_star: bool,
    ) -> Result<OrderByExpr> {
        let InterpolateExpr { column: Ident { value: name, .. }, expr } = item;
        let output = outputs.iter().find(|output| output.written == name);
        let planned = match output {
            Some(output) => output.planned,
            None if any_star => name.as_str(),
            None => {
                let message = format!("unknown identifier {name} in INTERPOLATE");
                return Err(SqlError::new(ErrorCode::UNKNOWN_IDENTIFIER, message));
            }
        };
        let mut args = vec![Expr::Identifier(ident(planned))];
        args.extend(expr.map(|expr| self.value(expr)).transpose()?);
        Ok(mark(INTERPOLATE, args))
    }
}

fn mark(name: &str, args: Vec<Expr>) -> OrderByExpr {
    order_key(call(name, args), OrderByOptions { asc: None, nulls_first: None })
}
