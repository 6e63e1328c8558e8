//! ARRAY JOIN and `arrayJoin(x)`: both become a join of FROM with arrays, in parentheses, which `relations` plans.
//!
//! Equal calls of arrayJoin are one. A call beside aggregates multiplies rows after them, unless it is in a key, in an
//! aggregate or in WHERE.

use sql::printer::label::label;
use sql::reader::head::ident;
use sql::{Result, SqlError};
use sqlparser::ast::{
    Expr, Join, JoinConstraint, JoinOperator, OrderBy, Query, Select, SelectItem, SetExpr, TableFactor,
    TableWithJoins, WildcardAdditionalOptions,
};

use crate::Rewriter;
use crate::access::{names_in, path_of};
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
    let mut columns = vec![];
    for item in &mut select.projection {
        let SelectItem::ExprWithAlias { expr, alias } = item else { continue };
        let call =
            calls.iter().find(|call| matches!(expr, Expr::Identifier(name) if name.value == call.name));
        if let Some(call) = call {
            *expr = call.array.clone();
            columns.push(alias.clone());
        }
    }
    let template: Query = sql::parse_query("SELECT * FROM t")?;
    let SetExpr::Select(mut outer) = *template.body else {
        return Err(SqlError::not_implemented("arrayJoin after aggregation"));
    };
    if columns.len() != calls.len() {
        return Err(SqlError::not_implemented("arrayJoin of an aggregate inside of an expression"));
    }
    outer.projection = vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())];
    let mut inner = sql::parse_query("SELECT 1")?;
    inner.body = Box::new(SetExpr::Select(Box::new(select)));
    let mut relation = derived(inner);
    for column in columns {
        let array = named(Expr::Identifier(column.clone()), &column.value);
        let from = vec![TableWithJoins { relation, joins: vec![] }];
        relation = joined_with(from, vec![array])?;
    }
    outer.from = vec![TableWithJoins { relation, joins: vec![] }];
    Ok((*outer, order))
}
