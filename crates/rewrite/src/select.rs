//! One SELECT: labels of its items, positions and aliases in GROUP BY.

mod beside;
mod prewhere;

use std::collections::BTreeSet;

use model::ErrorCode;
use sql::dialect::{name_of, plain_args, text};
use sql::printer::label::{label, unique};
use sql::reader::head::ident;
use sql::{Result, SqlError, constant_column, constant_rows};
use sqlparser::ast::{
    BinaryOperator, Distinct, ExceptSelectItem, Expr, GroupByExpr, Ident, OrderBy, Query, Select, SelectItem,
    SetExpr, SetOperator, SetQuantifier, TableFactor, WildcardAdditionalOptions,
};

use crate::aliases::{Scope, aggregates, is_key, names_column, with_expression};
use crate::distinct::{distinct_first, push_key, with_distinct_on};
use crate::lower::{nested, operation, with_type};
use crate::order::{Column, Place, named_with_tables, position};
use crate::paging::paged;
use crate::recursive::widen;
use crate::unions::with_last;
use crate::weight::SELECT_ELEMENTS;
use crate::{Rewriter, grouping_sets, source, totals, using_star};

impl Rewriter {
    /// `outermost`: its columns are the result's, so a clash of names is only a matter of display.
    pub(crate) fn query(&mut self, query: Query, outermost: bool) -> Result<Query> {
        let mut query = with_last(paged(query)?)?;
        self.scopes.push(Scope::default());
        let visible = self.weight.visible();
        if let Some(with) = &mut query.with {
            let mut tables = vec![];
            for mut table in std::mem::take(&mut with.cte_tables) {
                if let Some(expr) = with_expression(&table.query) {
                    let (name, expr) = (table.alias.name.value.clone(), expr.clone());
                    self.scope().add_with(&name, expr);
                } else {
                    let mark = self.weight.begin_item()?;
                    table.query = Box::new(self.query(*table.query, false)?);
                    self.weight.end_item(&table.alias.name.value, &mark)?;
                    if with.recursive {
                        widen(&mut table)?;
                    }
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
        self.weight.forget(visible);
        let renamed = std::mem::take(&mut self.renamed);
        if renamed.is_empty() { Ok(query) } else { around(query, &renamed) }
    }

    pub(crate) fn scope(&mut self) -> &mut Scope {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::default());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    pub(crate) fn body(
        &mut self,
        body: SetExpr,
        order: Option<OrderBy>,
        outermost: bool,
    ) -> Result<(SetExpr, Option<OrderBy>)> {
        match body {
            SetExpr::Select(select) => {
                self.scopes.push(Scope::default());
                self.scope().add_select(&select)?;
                if let Some(order) = &order {
                    self.scope().add_order(order)?;
                }
                let (select, order) = self.select(*select, order, outermost)?;
                self.scopes.pop();
                Ok((SetExpr::Select(Box::new(select)), order))
            }
            chain @ SetExpr::SetOperation { .. } => {
                let chain = self.set_operations(chain, outermost)?;
                let order = order.map(|order| self.order_by(order, &[], Place::BehindSet)).transpose()?;
                Ok((chain, order))
            }
            SetExpr::Query(query) => {
                let query = self.query(*query, outermost)?;
                let order = order.map(|order| self.order_by(order, &[], Place::BehindSet)).transpose()?;
                Ok((SetExpr::Query(Box::new(query)), order))
            }
            SetExpr::Table(table) => Ok((source::select_all(&table)?, order)),
            SetExpr::Values(values) => {
                let rows = values.rows.into_iter().map(|row| row.content).collect::<Vec<_>>();
                if let Some(query) = query_of_rows(&rows)? {
                    return self.body(SetExpr::Query(Box::new(query)), order, outermost);
                }
                let order = order.map(|order| self.order_by(order, &[], Place::BehindSet)).transpose()?;
                Ok((self.rows(&rows)?, order))
            }
            other => Ok((other, order)),
        }
    }

    /// VALUES as selects of one row each, so that their types meet as in any UNION; halved, to stay shallow.
    fn rows(&mut self, rows: &[Vec<Expr>]) -> Result<SetExpr> {
        if let [row] = rows {
            let mut body = *sql::parse_query("SELECT 1")?.body;
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
        check_width(select.projection.len())?;
        self.weight.elements += SELECT_ELEMENTS;
        let may_total = std::mem::take(&mut self.may_total);
        let has_totals = totals::take(&mut select.group_by);
        totals::having_as_where(&mut select);
        from_one(&mut select)?;
        self.one_chain(&mut select.from)?;
        using_star::name_subqueries(&mut select.from);
        self.scope().starred = using_star::parts(&select.from);
        self.scope().using = using_star::joined_columns(&mut select);
        let from = std::mem::take(&mut select.from);
        select.from = self.beside_replaced(|this| {
            from.into_iter().map(|table| this.joined(table)).collect::<Result<_>>()
        })?;
        self.scope().in_where = true;
        let first = self.prewhere(&mut select);
        let second = select.selection.take().map(|filter| self.condition(filter)).transpose();
        self.scope().in_where = false;
        select.selection = match (first?, second?) {
            (Some(first), Some(second)) => {
                Some(operation(nested(first), BinaryOperator::And, nested(second)))
            }
            (one, other) => one.or(other),
        };
        select.named_window = self.windows(std::mem::take(&mut select.named_window))?;
        self.scope().ordered = order.as_ref().map(named_with_tables).unwrap_or_default();
        let (mut columns, items) = self.items(std::mem::take(&mut select.projection), outermost)?;
        select.projection = items;
        select.group_by = self.group_by(select.group_by, &columns)?;
        let of_passing = select.having.is_some() && !self.manner.totals_before_having;
        select.having = grouping_sets::of_rows(&select.group_by, select.having);
        select.having = select.having.map(|having| self.condition(having)).transpose()?;
        select.qualify = select.qualify.map(|qualify| self.condition(qualify)).transpose()?;
        self.beside_conditions(&mut select, &mut columns, outermost);
        let any_star = columns.iter().any(Option::is_none);
        let columns: Vec<Column> = columns.into_iter().flatten().collect();
        let order = with_distinct_on(&mut select, order)?;
        let mut order = order.map(|order| self.order_of_select(order, &columns, any_star)).transpose()?;
        if let (Some(Distinct::Distinct), Some(order), false) = (&select.distinct, &mut order, any_star)
            && let Some(mark) = distinct_first(order, &outputs_of(&columns))
        {
            select.distinct = None;
            push_key(order, mark);
        }
        if let GroupByExpr::Expressions(keys, _) = &select.group_by
            && !self.manner.group_by_use_nulls
            && keys.iter().any(|key| matches!(key, Expr::Rollup(_) | Expr::Cube(_) | Expr::GroupingSets(_)))
        {
            let keys = grouping_sets::keys_of(keys);
            grouping_sets::fill(&mut select, order.as_mut(), &keys)?;
        }
        self.renamed = if self.scope().is_renamed { names_of(&columns) } else { Vec::new() };
        let aggregating = self.aggregating(&mut select, &columns);
        let (select, order) = self.with_array_joins(select, order, aggregating)?;
        if has_totals {
            // Rows of totals are the result's; ClickHouse has no place for those of a query inside.
            if may_total {
                self.totals_select = Some(totals::select_of(&select, of_passing)?);
            }
        }
        Ok((select, order))
    }

    /// Whether the SELECT has aggregates or keys; without keys it may have to be without a row where there is none.
    fn aggregating(&self, select: &mut Select, columns: &[Column]) -> bool {
        let has_keys = !matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty());
        let aggregates = columns.iter().any(|column| aggregates(&column.written));
        if aggregates && !has_keys && self.manner.nothing_for_empty {
            let has_rows = totals::rows_at_least("1");
            select.having = Some(match select.having.take() {
                Some(having) => operation(nested(having), BinaryOperator::And, has_rows),
                None => has_rows,
            });
        }
        aggregates || has_keys
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
                SelectItem::Wildcard(options) if self.is_of_using(&options) => {
                    let parts = self.scope().starred.clone().unwrap_or_default();
                    let without = |options: &mut WildcardAdditionalOptions, columns: &[Ident]| {
                        leave_out(options, columns.iter().map(|column| column.value.as_str()));
                    };
                    let joined = std::mem::take(&mut self.scope().using);
                    let stars = using_star::stars(&options, &parts, &joined, without);
                    self.scope().using = joined;
                    for star in stars {
                        out.push(match star {
                            SelectItem::ExprWithAlias { expr, alias } => {
                                SelectItem::ExprWithAlias { expr: self.value(expr)?, alias }
                            }
                            other => other,
                        });
                    }
                    columns.push(None);
                    continue;
                }
                star => {
                    out.push(self.star(star)?);
                    columns.push(None);
                    continue;
                }
            };
            let written = match &alias {
                Some(alias) if self.scope().is_joined_alias(alias) => Expr::Identifier(ident(alias)),
                _ => written,
            };
            let named = alias.clone().unwrap_or_else(|| label(&written));
            let lowered = match &alias {
                Some(alias) => self.defined(alias, written.clone())?,
                None => self.value(written.clone())?,
            };
            // `SELECT -t.id AS id .. ORDER BY t.id` means two columns.
            let is_beside = (outermost || !any_star)
                && !is_called(&lowered, &named)
                && self.scope().ordered.contains(&named);
            self.scope().is_renamed |= is_beside && !outermost;
            // Whatever a `*` brings may be called so.
            let clashes = !taken.insert(named.clone()) || (any_star && outermost) || is_beside;
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

    /// A `*` with nothing behind it but columns of USING, over tables joined with USING.
    fn is_of_using(&mut self, options: &WildcardAdditionalOptions) -> bool {
        let starred = self.scope().starred.as_deref().unwrap_or_default();
        let is_plain = options.opt_except.is_none() && options.opt_replace.is_none();
        let is_plain = is_plain || using_star::leaves_out_keys(options, starred);
        is_plain && self.scope().starred.is_some() && self.scope().joined_beside().next().is_none()
    }

    fn star(&mut self, mut item: SelectItem) -> Result<SelectItem> {
        if let SelectItem::Wildcard(options) = &mut item {
            leave_out(options, self.scope().joined_beside());
        }
        if let SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) = &mut item
            && let Some(replace) = &mut options.opt_replace
        {
            for element in &mut replace.items {
                let name = element.column_name.value.clone();
                element.expr = self.defined(&name, element.expr.clone())?;
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
                let plain = columns.iter().flatten().filter(|column| is_key(&column.lowered));
                plain.map(|column| column.lowered.clone()).collect()
            }
            GroupByExpr::Expressions(keys, modifiers) => {
                let keys = if modifiers.is_empty() { taken_apart(keys) } else { keys };
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
                if any_aggregate && self.manner.row_for_constant_keys && lowered.iter().all(is_constant) {
                    lowered.clear();
                }
                lowered
            }
        };
        Ok(GroupByExpr::Expressions(keys, vec![]))
    }

    fn group_key(&mut self, key: Expr, columns: &[Option<Column>]) -> Result<Expr> {
        self.scope().in_keys = true;
        let position = if self.manner.ignores_positions { None } else { position_of(&key, columns)? };
        let key = match position {
            // Once more, for arrayJoin to know that it is in a key.
            Some(Column { written, alias: Some(alias), .. }) => self.defined(alias, written.clone()),
            Some(column) => self.value(column.written.clone()),
            None => self.value(key),
        };
        self.scope().in_keys = false;
        // A number that an alias stands for is no position.
        key.map(with_type)
    }
}

/// Whether a lowered key is a literal, or one with its type.
fn is_constant(key: &Expr) -> bool {
    matches!(key, Expr::Value(_) | Expr::Dictionary(_))
}

/// Many rows of constants as a query that is planned once.
fn query_of_rows(rows: &[Vec<Expr>]) -> Result<Option<Query>> {
    let cells: Vec<Vec<&Expr>> = rows.iter().map(|row| row.iter().collect()).collect();
    let Some(text) = constant_rows(&cells) else { return Ok(None) };
    let width = cells.first().map_or(0, Vec::len);
    let columns = (1..=width).map(|number| format!("{} AS c{number}", constant_column(number)));
    let columns: Vec<String> = columns.collect();
    sql::parse_query(&format!("SELECT {} FROM {text}", columns.join(", "))).map(Some)
}

/// Refuses more columns than are planned in a second: each name is compared with all before it.
fn check_width(items: usize) -> Result<()> {
    const ITEMS_MAX: usize = 5000;
    if items <= ITEMS_MAX {
        return Ok(());
    }
    let message = format!(
        "SELECT has {items} columns, at most {ITEMS_MAX} can be written in one: take them with * or as arrays"
    );
    Err(SqlError::new(ErrorCode::TOO_MANY_COLUMNS, message))
}

/// Whether it is the column of this name.
fn is_called(lowered: &Expr, name: &str) -> bool {
    match lowered {
        Expr::Identifier(column) => column.value == name,
        Expr::CompoundIdentifier(parts) => parts.last().is_some_and(|column| column.value == name),
        _ => false,
    }
}

/// Of each column the name in the plan and the name that the query gives it.
fn names_of(columns: &[Column]) -> Vec<(String, String)> {
    let named = |column: &Column| column.alias.clone().unwrap_or_else(|| label(&column.written));
    columns.iter().map(|column| (column.output.clone(), named(column))).collect()
}

/// The query inside of one that gives its columns their names; of several with one name the first.
fn around(query: Query, names: &[(String, String)]) -> Result<Query> {
    let mut outer = sql::parse_query("SELECT 1 FROM (SELECT 1)")?;
    if let SetExpr::Select(select) = outer.body.as_mut() {
        let mut taken = BTreeSet::new();
        let items = names.iter().map(|(planned, name)| {
            let shown = if taken.insert(name) { name } else { planned };
            SelectItem::ExprWithAlias { expr: Expr::Identifier(ident(planned)), alias: ident(shown) }
        });
        select.projection = items.collect();
        if let Some(from) = select.from.first_mut()
            && let TableFactor::Derived { subquery, .. } = &mut from.relation
        {
            **subquery = query;
        }
    }
    Ok(outer)
}

fn outputs_of(columns: &[Column]) -> Vec<&str> {
    columns.iter().map(|column| column.output.as_str()).collect()
}

/// A SELECT without FROM reads `system.one`, which matters where it names its column.
fn from_one(select: &mut Select) -> Result<()> {
    if !select.from.is_empty() {
        return Ok(());
    }
    let is_star = |item: &SelectItem| matches!(item, SelectItem::Wildcard(_));
    let names = select.projection.iter().any(is_star) || names_column(select, "dummy");
    if names && let SetExpr::Select(one) = *sql::parse_query("SELECT 1 FROM system.one")?.body {
        select.from = one.from;
    }
    Ok(())
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

/// `()` and `tuple()` have one value only and split no group.
/// The keys with the parts of tuples in their places. A number in a tuple is itself, and would be a position outside of it.
fn taken_apart(keys: Vec<Expr>) -> Vec<Expr> {
    let parts = |key: Expr| match key {
        Expr::Tuple(parts) if !parts.is_empty() && !parts.iter().any(|part| position(part).is_some()) => {
            parts
        }
        other => vec![other],
    };
    keys.into_iter().flat_map(parts).collect()
}

fn is_empty_tuple(key: &Expr) -> bool {
    match key {
        Expr::Tuple(parts) => parts.is_empty(),
        Expr::Function(function) => name_of(function) == "tuple" && plain_args(function).is_empty(),
        _ => false,
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
                return Err(SqlError::new(ErrorCode::ILLEGAL_AGGREGATION, message));
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
