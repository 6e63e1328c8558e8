//! ARRAY JOIN and `arrayJoin(x)`: both become a join of FROM with arrays, in parentheses, which `relations` plans.
//!
//! Equal calls of arrayJoin are one. A call beside aggregates multiplies rows after them, unless it is in a key, in an
//! aggregate or in WHERE.

use std::ops::ControlFlow;

use aggregates::naming;
use sql::dialect::name_of;
use sql::printer::label::label;
use sql::reader::head::ident;
use sql::{Result, SqlError};
use sqlparser::ast::{
    Distinct, Expr, Ident, Join, JoinConstraint, JoinOperator, OrderBy, Query, Select, SelectItem, SetExpr,
    TableFactor, TableWithJoins, VisitMut, VisitorMut, WildcardAdditionalOptions, visit_expressions,
};

use crate::Rewriter;
use crate::access::{names_in, path_of};
use crate::aliases::aggregates;
use crate::select::leave_out;

/// A call of arrayJoin in one SELECT.
#[derive(Clone)]
pub(crate) struct Call {
    array: Expr,
    /// The column that stands for it.
    name: String,
    /// Found in WHERE, in a key or inside an aggregate.
    before_aggregation: bool,
}

/// An array with the name of the column its elements make.
fn named(array: Expr, name: &str) -> Expr {
    Expr::Named { expr: Box::new(array), name: ident(name) }
}

fn unnested(arrays: Vec<Expr>) -> TableFactor {
    TableFactor::UNNEST {
        alias: None,
        array_exprs: arrays,
        with_offset: false,
        with_offset_alias: None,
        with_ordinality: false,
    }
}

fn in_parentheses(relation: TableFactor, join: Join) -> TableFactor {
    let table_with_joins = Box::new(TableWithJoins { relation, joins: vec![join] });
    TableFactor::NestedJoin { table_with_joins, alias: None }
}

/// A join as a table factor of its own, with what stands left of it.
pub(crate) fn nested(left: TableWithJoins, join: Join) -> TableFactor {
    let relation = match left.joins.is_empty() {
        true => left.relation,
        false => TableFactor::NestedJoin { table_with_joins: Box::new(left), alias: None },
    };
    in_parentheses(relation, join)
}

impl Rewriter {
    /// The list of ARRAY JOIN, which the grammar holds as a query without FROM.
    pub(crate) fn arrays(&mut self, list: TableFactor) -> Result<TableFactor> {
        let body = match list {
            TableFactor::Derived { subquery, .. } => subquery.body,
            other => return Err(SqlError::not_implemented(format!("ARRAY JOIN of {other}"))),
        };
        let SetExpr::Select(select) = *body else {
            return Err(SqlError::not_implemented("a query as the list of ARRAY JOIN"));
        };
        let mut arrays = vec![];
        for item in select.projection {
            let (expr, name, is_named) = match item {
                SelectItem::UnnamedExpr(expr) => match self.element_path(&expr) {
                    Some(path) => (expr, path, true),
                    None => (expr.clone(), label(&expr), false),
                },
                SelectItem::ExprWithAlias { expr, alias } => (expr, alias.value, true),
                other => return Err(SqlError::not_implemented(format!("{other} in ARRAY JOIN"))),
            };
            if let Expr::Identifier(alias) = &expr
                && alias.value == name
                && self.scope().has_alias(&name)
            {
                self.scope().add_joined_alias(&name);
            }
            let array = self.value(expr)?;
            let in_place = match &array {
                Expr::Identifier(column) => !is_named && column.value == name,
                Expr::CompoundIdentifier(parts) => {
                    !is_named && parts.last().is_some_and(|column| column.value == name)
                }
                _ => false,
            };
            let planned = self.scope().add_joined(&name, in_place);
            arrays.push(named(array, &planned));
        }
        self.scope().see_joined();
        Ok(unnested(arrays))
    }

    /// The path of a part of a column, `c.x`, by which the query goes on calling its elements.
    fn element_path(&self, array: &Expr) -> Option<String> {
        let names = names_in(array)?;
        let names = self.without_table(&names);
        (names.len() > 1).then(|| path_of(names))
    }

    /// The column that stands for `arrayJoin(array)`.
    pub(crate) fn array_join(&mut self, args: Vec<Expr>) -> Result<Expr> {
        let [array] = <[Expr; 1]>::try_from(args)
            .map_err(|_| SqlError::bad_arguments("function arrayJoin takes one array"))?;
        let array = self.value(array)?;
        let scope = self.scope();
        let before = scope.in_where || scope.in_keys || scope.inside_aggregate > 0;
        if let Some(known) = scope.array_joins.iter_mut().find(|known| known.array == array) {
            known.before_aggregation |= before;
            return Ok(Expr::Identifier(ident(&known.name)));
        }
        let name = format!("\u{1}arrayJoin{}", scope.array_joins.len());
        scope.array_joins.push(Call { array, name: name.clone(), before_aggregation: before });
        Ok(Expr::Identifier(ident(&name)))
    }

    /// Joins FROM with the arrays of all calls, and what is left with those that come after aggregation.
    pub(crate) fn with_array_joins(
        &mut self,
        mut select: Select,
        order: Option<OrderBy>,
        aggregating: bool,
    ) -> Result<(Select, Option<OrderBy>)> {
        let calls = std::mem::take(&mut self.scope().array_joins);
        // An aggregate may be known by an alias alone: `WITH arrayJoin(groupArray(n)) AS r SELECT r + 1`.
        let aggregating = aggregating || calls.iter().any(|call| aggregates(&call.array));
        let (before, after): (Vec<Call>, Vec<Call>) =
            calls.into_iter().partition(|call| call.before_aggregation || !aggregating);
        for item in &mut select.projection {
            if let SelectItem::Wildcard(options) = item {
                leave_out(options, before.iter().map(|call| call.name.as_str()));
            }
        }
        for call in before {
            let from = std::mem::take(&mut select.from);
            let relation = joined_with(from, vec![named(call.array, &call.name)])?;
            select.from = vec![TableWithJoins { relation, joins: vec![] }];
        }
        if after.is_empty() {
            return Ok((select, order));
        }
        after_aggregation(select, order, &after)
    }
}

/// Everything in FROM, joined with arrays.
fn joined_with(from: Vec<TableWithJoins>, arrays: Vec<Expr>) -> Result<TableFactor> {
    let join = Join { relation: unnested(arrays), global: false, join_operator: JoinOperator::ArrayJoin };
    Ok(nested(together(from)?, join))
}

/// `FROM a, b` as one join; without FROM one row.
pub(crate) fn together(from: Vec<TableWithJoins>) -> Result<TableWithJoins> {
    let mut tables = from.into_iter().map(|table| match table.joins.is_empty() {
        true => table.relation,
        false => TableFactor::NestedJoin { table_with_joins: Box::new(table), alias: None },
    });
    let relation = match tables.next() {
        Some(relation) => relation,
        None => derived(sql::parse_query("SELECT 1 AS `\u{1}one`")?),
    };
    let cross = |relation| Join {
        relation,
        global: false,
        join_operator: JoinOperator::CrossJoin(JoinConstraint::None),
    };
    Ok(TableWithJoins { relation, joins: tables.map(cross).collect() })
}

fn derived(query: Query) -> TableFactor {
    TableFactor::Derived { lateral: false, subquery: Box::new(query), alias: None, sample: None }
}

/// The aggregating SELECT with arrays for the calls, then a row for each element.
fn after_aggregation(
    mut select: Select,
    order: Option<OrderBy>,
    calls: &[Call],
) -> Result<(Select, Option<OrderBy>)> {
    // Rows are the same or not when they have elements in the place of arrays.
    let distinct = select.distinct.take_if(|distinct| *distinct == Distinct::Distinct);
    let items = std::mem::take(&mut select.projection);
    let (inside, outside) = if each_is_a_column(&items, calls) {
        let with_array = |item: SelectItem| match item {
            SelectItem::ExprWithAlias { expr, alias } => match call_of(&expr, calls) {
                Some(call) => SelectItem::ExprWithAlias { expr: call.array.clone(), alias },
                None => SelectItem::ExprWithAlias { expr, alias },
            },
            other => other,
        };
        let columns: Vec<Ident> = items.iter().filter_map(|item| column_of_call(item, calls)).collect();
        let all = vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())];
        ((items.into_iter().map(with_array).collect(), columns), all)
    } else {
        in_expressions(items, calls)?
    };
    let (items, arrays) = inside;
    select.projection = items;
    let template: Query = sql::parse_query("SELECT * FROM t")?;
    let SetExpr::Select(mut outer) = *template.body else {
        return Err(SqlError::not_implemented("arrayJoin after aggregation"));
    };
    outer.projection = outside;
    outer.distinct = distinct;
    let mut inner = sql::parse_query("SELECT 1")?;
    inner.body = Box::new(SetExpr::Select(Box::new(select)));
    let mut relation = derived(inner);
    for column in arrays {
        let array = named(Expr::Identifier(column.clone()), &column.value);
        let from = vec![TableWithJoins { relation, joins: vec![] }];
        relation = joined_with(from, vec![array])?;
    }
    outer.from = vec![TableWithJoins { relation, joins: vec![] }];
    Ok((*outer, order))
}

/// The call that an expression is.
fn call_of<'a>(expr: &Expr, calls: &'a [Call]) -> Option<&'a Call> {
    calls.iter().find(|call| matches!(expr, Expr::Identifier(name) if name.value == call.name))
}

/// The name of a column that is a call and nothing else.
fn column_of_call(item: &SelectItem, calls: &[Call]) -> Option<Ident> {
    match item {
        SelectItem::ExprWithAlias { expr, alias } => call_of(expr, calls).map(|_| alias.clone()),
        _ => None,
    }
}

/// Whether a call is inside of an expression.
fn names_call(expr: &Expr, calls: &[Call]) -> bool {
    let is_call = |expr: &Expr| match call_of(expr, calls) {
        Some(_) => ControlFlow::Break(()),
        None => ControlFlow::Continue(()),
    };
    visit_expressions(expr, is_call).is_break()
}

/// Whether every call is one column, and no other column has a call in it.
fn each_is_a_column(items: &[SelectItem], calls: &[Call]) -> bool {
    let columns = items.iter().filter(|item| column_of_call(item, calls).is_some()).count();
    let with_calls = items.iter().filter(|item| match item {
        SelectItem::ExprWithAlias { expr, .. } | SelectItem::UnnamedExpr(expr) => names_call(expr, calls),
        _ => false,
    });
    columns == calls.len() && with_calls.count() == columns
}

/// What the aggregating SELECT has and which columns of that are arrays; and what is made of it behind the join.
type Halves = ((Vec<SelectItem>, Vec<Ident>), Vec<SelectItem>);

/// Columns with calls inside of expressions: these are computed behind the join, of what the aggregating SELECT gives.
fn in_expressions(items: Vec<SelectItem>, calls: &[Call]) -> Result<Halves> {
    let not_done = || SqlError::not_implemented("arrayJoin of an aggregate inside of this expression");
    if calls.iter().any(|call| names_call(&call.array, calls)) {
        return Err(not_done());
    }
    let array =
        |call: &Call| SelectItem::ExprWithAlias { expr: call.array.clone(), alias: ident(&call.name) };
    let (mut inside, mut outside): (Vec<SelectItem>, Vec<SelectItem>) =
        (calls.iter().map(array).collect(), vec![]);
    let mut parts = Parts { calls, columns: vec![], is_refused: false };
    for item in items {
        match item {
            SelectItem::ExprWithAlias { mut expr, alias } if names_call(&expr, calls) => {
                let _ = VisitMut::visit(&mut expr, &mut parts);
                outside.push(SelectItem::ExprWithAlias { expr, alias });
            }
            SelectItem::ExprWithAlias { expr, alias } => {
                outside.push(SelectItem::UnnamedExpr(Expr::Identifier(alias.clone())));
                inside.push(SelectItem::ExprWithAlias { expr, alias });
            }
            SelectItem::UnnamedExpr(expr @ Expr::Identifier(_)) if call_of(&expr, calls).is_none() => {
                outside.push(SelectItem::UnnamedExpr(expr.clone()));
                inside.push(SelectItem::UnnamedExpr(expr));
            }
            _ => return Err(not_done()),
        }
    }
    if parts.is_refused {
        return Err(not_done());
    }
    let part = |(at, expr)| SelectItem::ExprWithAlias { expr, alias: ident(&part_name(at)) };
    inside.extend(parts.columns.into_iter().enumerate().map(part));
    Ok(((inside, calls.iter().map(|call| ident(&call.name)).collect()), outside))
}

/// The name of a column of which an expression is made behind the join.
fn part_name(at: usize) -> String {
    format!("\u{1}arrayJoinPart{at}")
}

/// Takes everything out of an expression that is there before the calls are: it becomes columns.
struct Parts<'a> {
    calls: &'a [Call],
    columns: Vec<Expr>,
    is_refused: bool,
}

impl VisitorMut for Parts<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let has_names = matches!(
            expr,
            Expr::Lambda(_) | Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. }
        );
        self.is_refused |= has_names;
        if has_names || is_constant(expr) || names_call(expr, self.calls) {
            return ControlFlow::Continue(());
        }
        let at = self.columns.iter().position(|known| known == expr).unwrap_or_else(|| {
            self.columns.push(expr.clone());
            self.columns.len() - 1
        });
        *expr = Expr::Identifier(ident(&part_name(at)));
        ControlFlow::Continue(())
    }
}

/// Whether an expression has no columns and no aggregates; it stays where it is, as functions may want it constant.
fn is_constant(expr: &Expr) -> bool {
    let varies = |expr: &Expr| match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Subquery(_) => ControlFlow::Break(()),
        Expr::Function(function) if naming::aggregate(&name_of(function)).is_some() => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    visit_expressions(expr, varies).is_continue()
}
