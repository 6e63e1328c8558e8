//! One SELECT: labels of its items, positions and aliases in GROUP BY and ORDER BY, NULLs last.

use std::collections::BTreeSet;

use sqlparser::ast::{
    BinaryOperator, Distinct, ExceptSelectItem, Expr, GroupByExpr, Ident, Join, JoinOperator, LimitClause,
    NamedWindowExpr, Offset, OffsetRows, OrderBy, OrderByExpr, OrderByKind, OrderByOptions, Query, Select,
    SelectItem, SetExpr, SetOperator, SetQuantifier, TableWithJoins, Value, WildcardAdditionalOptions,
};

use crate::clauses::{LIMIT_BY, WITH_TIES};
use crate::dialect::{call, name_of, plain_args, text};
use crate::error::{Result, SqlError};
use crate::head::ident;
use crate::label::{label, unique};
use crate::rewrite::aliases::{Scope, aggregates, with_expression};
use crate::rewrite::array_join::together;
use crate::rewrite::distinct::{distinct_first, push_key, with_distinct_on};
use crate::rewrite::lower::{nested, operation, with_type};
use crate::rewrite::unions::with_last;
use crate::rewrite::{Rewriter, grouping_sets, source, totals};

/// A result column: what the query says, what the planner gets, the name it has there.
struct Column {
    written: Expr,
    lowered: Expr,
    alias: Option<String>,
    output: String,
}

/// Labels of a query's result; empty when a `*` stands in the SELECT.
pub(crate) fn labels(body: &SetExpr) -> Vec<String> {
    match body {
        SetExpr::Select(select) => {
            let items = select.projection.iter().map(named_item).collect::<Option<Vec<_>>>();
            let Some(items) = items else { return vec![] };
            let mut labels: Vec<String> = Vec::with_capacity(items.len());
            for (short, expr) in items {
                // A second column of a name shows its table, when it has one.
                let shown = match expr {
                    Expr::CompoundIdentifier(parts) if labels.contains(&short) => dotted(parts),
                    _ => short,
                };
                labels.push(shown);
            }
            labels
        }
        SetExpr::Query(query) => labels(&query.body),
        SetExpr::SetOperation { left, .. } => labels(left),
        _ => vec![],
    }
}

/// An item with its short name; a `*` has none.
fn named_item(item: &SelectItem) -> Option<(String, &Expr)> {
    match item {
        SelectItem::UnnamedExpr(expr) => Some((label(expr), expr)),
        SelectItem::ExprWithAlias { expr, alias } => Some((alias.value.clone(), expr)),
        _ => None,
    }
}

fn dotted(parts: &[Ident]) -> String {
    parts.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join(".")
}

impl Rewriter {
    /// `outermost`: its columns are the result's, so a clash of names is only a matter of display.
    pub(crate) fn query(&mut self, query: Query, outermost: bool) -> Result<Query> {
        let mut query = with_last(query)?;
        self.scopes.push(Scope::default());
        if let Some(with) = &mut query.with {
            let mut tables = vec![];
            for mut table in std::mem::take(&mut with.cte_tables) {
                if let Some(expr) = with_expression(&table.query) {
                    let (name, expr) = (table.alias.name.value.clone(), expr.clone());
                    self.scope().add_with(&name, expr);
                } else {
                    table.query = Box::new(self.query(*table.query, false)?);
                    tables.push(table);
                }
            }
            with.cte_tables = tables;
        }
        query.with = query.with.filter(|with| !with.cte_tables.is_empty());
        let order_by = query.order_by.take();
        query.limit_clause = query.limit_clause.map(|limit| self.limit(limit)).transpose()?;
        self.may_total = outermost && matches!(query.body.as_ref(), SetExpr::Select(_));
        let (body, order_by) = self.body(*query.body, order_by, outermost)?;
        query.body = Box::new(body);
        if let Some(select) = self.totals_select.take() {
            let body = Box::new(SetExpr::Select(Box::new(select)));
            self.totals = Some(Query { body, limit_clause: None, order_by: None, ..query.clone() });
        }
        query.order_by = order_by;
        self.scopes.pop();
        Ok(query)
    }

    pub(crate) fn scope(&mut self) -> &mut Scope {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::default());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    fn body(
        &mut self,
        body: SetExpr,
        order: Option<OrderBy>,
        outermost: bool,
    ) -> Result<(SetExpr, Option<OrderBy>)> {
        match body {
            SetExpr::Select(select) => {
                self.scopes.push(Scope::default());
                self.scope().add_select(&select)?;
                let (select, order) = self.select(*select, order, outermost)?;
                self.scopes.pop();
                Ok((SetExpr::Select(Box::new(select)), order))
            }
            SetExpr::SetOperation { left, op, set_quantifier, right } => {
                let set_quantifier = self.quantifier(op, set_quantifier)?;
                let left = Box::new(self.body(*left, None, outermost)?.0);
                let right = Box::new(self.body(*right, None, outermost)?.0);
                let order = order.map(|order| self.order_by(order, &[], true)).transpose()?;
                Ok((SetExpr::SetOperation { left, op, set_quantifier, right }, order))
            }
            SetExpr::Query(query) => {
                let query = self.query(*query, outermost)?;
                let order = order.map(|order| self.order_by(order, &[], true)).transpose()?;
                Ok((SetExpr::Query(Box::new(query)), order))
            }
            SetExpr::Table(table) => Ok((source::select_all(&table)?, order)),
            SetExpr::Values(values) => {
                let rows = values.rows.into_iter().map(|row| row.content).collect::<Vec<_>>();
                let order = order.map(|order| self.order_by(order, &[], true)).transpose()?;
                Ok((self.rows(&rows)?, order))
            }
            other => Ok((other, order)),
        }
    }

    /// VALUES as selects of one row each, so that their types meet as in any UNION; halved, to stay shallow.
    fn rows(&mut self, rows: &[Vec<Expr>]) -> Result<SetExpr> {
        if let [row] = rows {
            let mut body = *crate::parser::parse_query("SELECT 1")?.body;
            if let SetExpr::Select(select) = &mut body {
                let mut items = vec![];
                for (position, value) in row.iter().enumerate() {
                    let alias = ident(&format!("c{}", position + 1));
                    items.push(SelectItem::ExprWithAlias { expr: self.value(value.clone())?, alias });
                }
                select.projection = items;
            }
            return Ok(body);
        }
        if rows.is_empty() {
            return Err(SqlError::bad_arguments("VALUES has no rows"));
        }
        let (left, right) = rows.split_at(rows.len() / 2);
        let (left, right) = (Box::new(self.rows(left)?), Box::new(self.rows(right)?));
        let (op, set_quantifier) = (SetOperator::Union, SetQuantifier::All);
        Ok(SetExpr::SetOperation { left, op, set_quantifier, right })
    }

    fn select(
        &mut self,
        mut select: Select,
        order: Option<OrderBy>,
        outermost: bool,
    ) -> Result<(Select, Option<OrderBy>)> {
        let may_total = std::mem::take(&mut self.may_total);
        let has_totals = totals::take(&mut select.group_by);
        select.from = self.from(std::mem::take(&mut select.from))?;
        self.scope().in_where = true;
        let first = select.prewhere.take().map(|filter| self.condition(filter)).transpose();
        let second = select.selection.take().map(|filter| self.condition(filter)).transpose();
        self.scope().in_where = false;
        select.selection = match (first?, second?) {
            (Some(first), Some(second)) => {
                Some(operation(nested(first), BinaryOperator::And, nested(second)))
            }
            (one, other) => one.or(other),
        };
        let (columns, items) = self.items(std::mem::take(&mut select.projection), outermost)?;
        select.projection = items;
        select.group_by = self.group_by(select.group_by, &columns)?;
        select.having = select.having.map(|having| self.condition(having)).transpose()?;
        select.qualify = select.qualify.map(|qualify| self.condition(qualify)).transpose()?;
        for window in &mut select.named_window {
            if let NamedWindowExpr::WindowSpec(spec) = &mut window.1 {
                *spec = self.window(spec.clone())?;
            }
        }
        let any_star = columns.iter().any(Option::is_none);
        let columns: Vec<Column> = columns.into_iter().flatten().collect();
        let order = with_distinct_on(&mut select, order)?;
        let mut order = order.map(|order| self.order_by(order, &columns, false)).transpose()?;
        if let (Some(Distinct::Distinct), Some(order), false) = (&select.distinct, &mut order, any_star)
            && let Some(mark) = distinct_first(order, &outputs_of(&columns))
        {
            select.distinct = None;
            push_key(order, mark);
        }
        if let GroupByExpr::Expressions(keys, _) = &select.group_by
            && !self.group_by_use_nulls
            && keys.iter().any(|key| matches!(key, Expr::Rollup(_) | Expr::Cube(_) | Expr::GroupingSets(_)))
        {
            let keys = grouping_sets::keys_of(keys);
            grouping_sets::fill(&mut select, order.as_mut(), &keys);
        }
        let aggregating = columns.iter().any(|column| aggregates(&column.written))
            || !matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty());
        let (select, order) = self.with_array_joins(select, order, aggregating)?;
        if has_totals {
            self.totals_select = Some(totals::select_of(&select, may_total)?);
        }
        Ok((select, order))
    }

    /// FROM; an ARRAY JOIN behind several tables is of all of them.
    fn from(&mut self, from: Vec<TableWithJoins>) -> Result<Vec<TableWithJoins>> {
        let is_array_join = |join: &Join| {
            let of = &join.join_operator;
            matches!(of, JoinOperator::ArrayJoin | JoinOperator::LeftArrayJoin | JoinOperator::InnerArrayJoin)
        };
        let several = from.len() > 1;
        let mut from = from;
        let last = from.last_mut().filter(|last| several && last.joins.last().is_some_and(is_array_join));
        let arrays = last.map(|last| {
            let first = last.joins.iter().position(is_array_join).unwrap_or(0);
            last.joins.split_off(first)
        });
        if let Some(arrays) = arrays {
            let mut all = together(from)?;
            all.joins.extend(arrays);
            from = vec![all];
        }
        from.into_iter().map(|table| self.joined(table)).collect()
    }

    /// The items and, for each, its column; `None` for a `*`.
    fn items(
        &mut self,
        items: Vec<SelectItem>,
        outermost: bool,
    ) -> Result<(Vec<Option<Column>>, Vec<SelectItem>)> {
        let any_star = items
            .iter()
            .any(|item| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)));
        let mut taken = BTreeSet::new();
        let (mut columns, mut out) = (vec![], vec![]);
        for (position, item) in items.into_iter().enumerate() {
            let (written, alias) = match item {
                SelectItem::UnnamedExpr(expr) => (expr, None),
                SelectItem::ExprWithAlias { expr, alias } => (expr, Some(alias.value)),
                star => {
                    out.push(self.star(star)?);
                    columns.push(None);
                    continue;
                }
            };
            let named = alias.clone().unwrap_or_else(|| label(&written));
            let lowered = match &alias {
                Some(alias) => self.defined(alias, written.clone())?,
                None => self.value(written.clone())?,
            };
            let is_column = matches!(lowered, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
            let clashes = !taken.insert(named.clone()) || (any_star && outermost && is_column);
            let output = if clashes { unique(&named, position) } else { named.clone() };
            let keeps_name = !clashes && matches!(&lowered, Expr::Identifier(name) if name.value == named);
            let planned = if outermost { lowered.clone() } else { with_type(lowered.clone()) };
            out.push(match keeps_name {
                true => SelectItem::UnnamedExpr(planned),
                false => SelectItem::ExprWithAlias { expr: planned, alias: ident(&output) },
            });
            columns.push(Some(Column { written, lowered, alias, output }));
        }
        Ok((columns, out))
    }

    /// An item's definition, inside of which its alias means a column.
    fn defined(&mut self, alias: &str, expr: Expr) -> Result<Expr> {
        self.scope().enter(alias);
        let lowered = self.value(expr);
        self.scope().leave();
        lowered
    }

    fn star(&mut self, mut item: SelectItem) -> Result<SelectItem> {
        if let SelectItem::Wildcard(options) = &mut item {
            leave_out(options, self.scope().joined_beside());
        }
        if let SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) = &mut item
            && let Some(replace) = &mut options.opt_replace
        {
            for element in &mut replace.items {
                element.expr = self.value(element.expr.clone())?;
            }
        }
        Ok(item)
    }

    fn group_by(&mut self, group_by: GroupByExpr, columns: &[Option<Column>]) -> Result<GroupByExpr> {
        let keys = match group_by {
            GroupByExpr::All(modifiers) => {
                if !modifiers.is_empty() {
                    return Err(SqlError::not_implemented("a modifier of GROUP BY ALL"));
                }
                if columns.iter().any(Option::is_none) {
                    return Err(SqlError::not_implemented("GROUP BY ALL together with *"));
                }
                let plain = columns.iter().flatten().filter(|column| !aggregates(&column.lowered));
                plain.map(|column| column.lowered.clone()).collect()
            }
            GroupByExpr::Expressions(keys, modifiers) => {
                let (had_keys, mut lowered) = (!keys.is_empty(), vec![]);
                for key in grouping_sets::sets(keys, &modifiers)?.0 {
                    if !is_empty_tuple(&key) {
                        lowered.push(grouping_sets::lowered(key, |key| self.group_key(key, columns))?);
                    }
                }
                let any_aggregate = columns.iter().flatten().any(|column| aggregates(&column.written));
                if lowered.is_empty() && had_keys && !any_aggregate {
                    // Without a key and without an aggregate the planner would not group at all.
                    lowered.push(text(""));
                }
                lowered
            }
        };
        Ok(GroupByExpr::Expressions(keys, vec![]))
    }

    fn group_key(&mut self, key: Expr, columns: &[Option<Column>]) -> Result<Expr> {
        self.scope().in_keys = true;
        let key = match position_of(&key, columns)? {
            // Once more, for arrayJoin to know that it is in a key.
            Some(column) => self.value(column.written.clone()),
            None => self.value(key),
        };
        self.scope().in_keys = false;
        key
    }

    /// `set_operation`: names are those of the result and positions are the planner's business.
    fn order_by(&mut self, order: OrderBy, columns: &[Column], set_operation: bool) -> Result<OrderBy> {
        let keys = match order.kind {
            OrderByKind::All(options) => {
                if columns.is_empty() {
                    return Err(SqlError::not_implemented("ORDER BY ALL without named columns"));
                }
                let key = |column: &Column| order_key(Expr::Identifier(ident(&column.output)), options);
                columns.iter().map(key).collect()
            }
            OrderByKind::Expressions(keys) => {
                let mut lowered = vec![];
                for key in keys {
                    let expr = match &key.expr {
                        Expr::Value(value) if set_operation && matches!(value.value, Value::Number(..)) => {
                            key.expr
                        }
                        Expr::Identifier(_) if set_operation => key.expr,
                        _ => self.order_expression(key.expr, columns)?,
                    };
                    lowered.push(order_key(expr, key.options));
                }
                lowered
            }
        };
        Ok(OrderBy { kind: OrderByKind::Expressions(keys), interpolate: None })
    }

    /// A result column by position, alias, label or as the same expression; anything else is computed.
    fn order_expression(&mut self, key: Expr, columns: &[Column]) -> Result<Expr> {
        if let Expr::Function(function) = &key
            && [LIMIT_BY, WITH_TIES].contains(&name_of(function).as_str())
        {
            let mut args = vec![];
            for (at, arg) in plain_args(function).into_iter().enumerate() {
                args.push(if at < 2 { self.count(arg)? } else { self.order_expression(arg, columns)? });
            }
            return Ok(call(&name_of(function), args));
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

    fn limit(&mut self, limit: LimitClause) -> Result<LimitClause> {
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

    /// A count of LIMIT: a plain number stays one.
    fn count(&mut self, expr: Expr) -> Result<Expr> {
        match &expr {
            Expr::Value(value) if matches!(value.value, Value::Number(..)) => Ok(expr),
            _ => self.value(expr),
        }
    }
}

fn outputs_of(columns: &[Column]) -> Vec<&str> {
    columns.iter().map(|column| column.output.as_str()).collect()
}

/// `*` without these columns.
pub(crate) fn leave_out<'a>(options: &mut WildcardAdditionalOptions, names: impl Iterator<Item = &'a str>) {
    for name in names {
        match &mut options.opt_except {
            Some(except) => except.additional_elements.push(ident(name)),
            None => {
                let first_element = ident(name);
                options.opt_except = Some(ExceptSelectItem { first_element, additional_elements: vec![] });
            }
        }
    }
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

/// `()` and `tuple()` have one value only and split no group.
fn is_empty_tuple(key: &Expr) -> bool {
    match key {
        Expr::Tuple(parts) => parts.is_empty(),
        Expr::Function(function) => name_of(function) == "tuple" && plain_args(function).is_empty(),
        _ => false,
    }
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

/// The column that a number in GROUP BY means.
fn position_of<'a>(key: &Expr, columns: &'a [Option<Column>]) -> Result<Option<&'a Column>> {
    let Some(position) = position(key) else { return Ok(None) };
    let column = position.checked_sub(1).and_then(|index| columns.get(index));
    match column {
        Some(Some(column)) if columns[..position].iter().all(Option::is_some) => {
            if aggregates(&column.written) {
                let message = format!("aggregate function {} is found in GROUP BY", label(&column.written));
                return Err(SqlError::new(crate::error::ErrorCode::IllegalAggregation, message));
            }
            Ok(Some(column))
        }
        Some(_) => Err(SqlError::not_implemented("a position in GROUP BY behind *")),
        None => Err(SqlError::bad_arguments(format!(
            "positional argument out of bounds: {position} (expected in range [1, {}])",
            columns.len()
        ))),
    }
}
