//! ORDER BY and LIMIT: keys by position, alias, label or expression; marks behind them; NULLs last.
//!
//! Invariant: a key that is a column of the result is named as the plan names it.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use model::ErrorCode;
use sql::dialect::{call, name_of, plain_args, text};
use sql::printer::label::label;
use sql::reader::clauses::{COUNT_MARK, LIMIT_BY, ORDER_BY_ALL, WITH_TIES};
use sql::reader::head::ident;
use sql::{Result, SqlError};
use sqlparser::ast::{
    Expr, Ident, LimitClause, Offset, OffsetRows, OrderBy, OrderByExpr, OrderByKind, OrderByOptions,
    UnaryOperator, Value, visit_expressions,
};

use crate::Rewriter;
use crate::aliases::aggregates;
use crate::fill::Output;
use crate::lower::with_type;

/// Where an ORDER BY stands.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Place {
    /// Behind a UNION or a query in parentheses: names are those of the result and positions are the planner's business.
    BehindSet,
    Select {
        any_star: bool,
    },
}

/// A result column: what the query says, what the planner gets, the name it has there.
pub(crate) struct Column {
    pub(crate) written: Expr,
    pub(crate) lowered: Expr,
    pub(crate) alias: Option<String>,
    pub(crate) output: String,
}

impl Rewriter {
    /// The keys of a SELECT. A column that its `*` replaces is the result's.
    pub(crate) fn order_of_select(
        &mut self,
        order: OrderBy,
        columns: &[Column],
        any_star: bool,
    ) -> Result<OrderBy> {
        self.beside_replaced(|this| this.order_by(order, columns, Place::Select { any_star }))
    }

    pub(crate) fn order_by(&mut self, order: OrderBy, columns: &[Column], place: Place) -> Result<OrderBy> {
        let (set_operation, mut fills) = (place == Place::BehindSet, vec![]);
        let mut keys: Vec<OrderByExpr> = match order.kind {
            OrderByKind::All(options) => all_keys(columns, place, options),
            OrderByKind::Expressions(keys) => {
                let (mut lowered, mut seen): (Vec<OrderByExpr>, Vec<(Expr, bool)>) = (vec![], vec![]);
                for key in keys {
                    if is_call_of_all(&key.expr) {
                        lowered.extend(all_keys(columns, place, key.options));
                        continue;
                    }
                    let is_filled = key.with_fill.is_some();
                    if let Some(fill) = key.with_fill {
                        fills.push(self.fill(lowered.len(), fill)?);
                    }
                    let expr = match &key.expr {
                        Expr::Value(value) if set_operation && matches!(value.value, Value::Number(..)) => {
                            key.expr
                        }
                        Expr::Identifier(_) if set_operation => key.expr,
                        _ => self.order_expression(key.expr, columns)?,
                    };
                    filled_once((&expr, is_filled), columns, &mut seen)?;
                    lowered.push(order_key(expr, key.options));
                }
                lowered
            }
        };
        keys.extend(fills);
        if let Some(clause) = order.interpolate {
            let written = |column: &'_ Column| column.alias.clone().unwrap_or_else(|| label(&column.written));
            let names: Vec<String> = columns.iter().map(written).collect();
            let outputs = names.iter().zip(columns);
            let outputs = outputs.map(|(written, column)| Output { written, planned: &column.output });
            let outputs: Vec<Output<'_>> = outputs.collect();
            let any_star = place == Place::Select { any_star: true } || set_operation;
            keys.extend(self.interpolate(clause, &outputs, any_star)?);
        }
        Ok(OrderBy { kind: OrderByKind::Expressions(keys), interpolate: None })
    }

    /// A result column by position, alias, label or as the same expression; anything else is computed.
    fn order_expression(&mut self, key: Expr, columns: &[Column]) -> Result<Expr> {
        if let Expr::Function(function) = &key
            && [LIMIT_BY, WITH_TIES].contains(&name_of(function).as_str())
        {
            let mut args = vec![];
            for (at, arg) in plain_args(function).into_iter().enumerate() {
                if at >= 2 && matches!(&arg, Expr::Identifier(name) if is_all(name)) {
                    // BY ALL: every column that does not aggregate.
                    let plain = columns.iter().filter(|column| !aggregates(&column.written));
                    args.extend(plain.map(|column| Expr::Identifier(ident(&column.output))));
                    continue;
                }
                args.push(if at < 2 {
                    self.count(arg).map(marked)?
                } else {
                    self.order_expression(arg, columns)?
                });
            }
            return Ok(call(&name_of(function), args));
        }
        let is_number = matches!(&key, Expr::Value(value) if matches!(value.value, Value::Number(..)));
        if is_number && position(&key).is_none() {
            // DataFusion would take any number for a position.
            return Ok(Expr::Nested(Box::new(self.value(key)?)));
        }
        if self.manner.ignores_positions && is_number {
            return Ok(with_type(key));
        }
        if let Some(position) = position(&key) {
            let column = position.checked_sub(1).and_then(|index| columns.get(index));
            return match column {
                Some(column) => Ok(Expr::Identifier(ident(&column.output))),
                // Behind a `*` only the planner can count.
                None => Ok(key),
            };
        }
        if let Expr::Identifier(name) = &key
            && let Some(column) = columns.iter().find(|column| column.alias.as_ref() == Some(&name.value))
        {
            return Ok(Expr::Identifier(ident(&column.output)));
        }
        let lowered = self.value(key)?;
        let same = columns.iter().find(|column| column.lowered == lowered);
        Ok(same.map_or(lowered, |column| Expr::Identifier(ident(&column.output))))
    }

    pub(crate) fn limit(&mut self, limit: LimitClause) -> Result<LimitClause> {
        let (limit, offset) = match limit {
            LimitClause::OffsetCommaLimit { offset, limit } => (Some(limit), Some(offset)),
            LimitClause::LimitOffset { limit, offset, limit_by: _ } => {
                (limit, offset.map(|offset| offset.value))
            }
        };
        let limit = limit.map(|limit| self.count(limit)).transpose()?;
        let offset = offset.map(|offset| self.count(offset)).transpose()?;
        let offset = offset.map(|value| Offset { value, rows: OffsetRows::None });
        Ok(LimitClause::LimitOffset { limit, offset, limit_by: vec![] })
    }

    /// A count of LIMIT: a plain number stays one, also below 0.
    fn count(&mut self, expr: Expr) -> Result<Expr> {
        let digits = match &expr {
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => expr.as_ref(),
            other => other,
        };
        match digits {
            Expr::Value(value) if matches!(value.value, Value::Number(..)) => Ok(expr),
            _ => self.value(expr),
        }
    }
}

/// A plain number as a text that no statement has: DataFusion would take a number for the column that is the same number.
fn marked(count: Expr) -> Expr {
    match &count {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => text(format!("{COUNT_MARK}{digits}")),
            _ => count,
        },
        _ => count,
    }
}

/// The columns that keys name together with a table.
pub(crate) fn named_with_tables(order: &OrderBy) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let _ = visit_expressions(order, |expr| {
        if let Expr::CompoundIdentifier(parts) = expr {
            names.extend(parts.last().map(|part| part.value.clone()));
        }
        ControlFlow::<()>::Continue(())
    });
    names
}

/// The keys of ORDER BY ALL. The columns of a `*` only the planner knows.
fn all_keys(columns: &[Column], place: Place, options: OrderByOptions) -> Vec<OrderByExpr> {
    if columns.is_empty() || place == (Place::Select { any_star: true }) {
        return vec![order_key(call(ORDER_BY_ALL, vec![text("")]), options)];
    }
    let key = |column: &Column| order_key(Expr::Identifier(ident(&column.output)), options);
    columns.iter().map(key).collect()
}

fn is_call_of_all(key: &Expr) -> bool {
    matches!(key, Expr::Function(function) if name_of(function) == ORDER_BY_ALL)
}

/// Refuses WITH FILL of what is a key before it: it is filled already, or its order leaves nothing to be filled.
fn filled_once(
    (key, is_filled): (&Expr, bool),
    columns: &[Column],
    seen: &mut Vec<(Expr, bool)>,
) -> Result<()> {
    let column =
        columns.iter().find(|column| matches!(key, Expr::Identifier(name) if name.value == column.output));
    let value = column.map_or(key, |column| &column.lowered);
    if let Some((_, was_filled)) = seen.iter().find(|(before, _)| is_filled && before == value) {
        let message = match was_filled {
            true => format!("{} has WITH FILL twice in ORDER BY: write it once", label(key)),
            false => format!("{} is in ORDER BY with and without WITH FILL: write it once", label(key)),
        };
        return Err(SqlError::new(ErrorCode::INVALID_WITH_FILL_EXPRESSION, message));
    }
    seen.push((value.clone(), is_filled));
    Ok(())
}

fn is_all(name: &Ident) -> bool {
    name.quote_style.is_none() && name.value.eq_ignore_ascii_case("ALL")
}

pub(crate) fn order_key(expr: Expr, options: OrderByOptions) -> OrderByExpr {
    // ClickHouse puts NULLs last in both directions.
    let nulls_first = Some(options.nulls_first.unwrap_or(false));
    OrderByExpr { expr, options: OrderByOptions { asc: options.asc, nulls_first }, with_fill: None }
}

/// Window keys are ordered by the same rule.
pub(crate) fn window_key(expr: Expr, options: OrderByOptions) -> OrderByExpr {
    order_key(expr, options)
}

pub(crate) fn position(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}
