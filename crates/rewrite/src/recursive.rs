//! WITH RECURSIVE: the columns of a recursion have the widest type of their kind, as in ClickHouse.
//!
//! DataFusion wants every round to give exactly the fields of the first one, and reads what a round gave as if all of it
//! could be NULL. Invariant: only queries that read themselves change.

use std::ops::ControlFlow;

use sql::Result;
use sql::dialect::call;
use sql::reader::head::ident;
use sqlparser::ast::{
    Cte, Expr, Ident, ObjectName, Query, SelectItem, SetExpr, SetOperator, TableAlias, TableFactor,
    TableWithJoins, VisitMut, VisitorMut, visit_relations,
};

use crate::source::plain_table;
use planner::words::FILLED;
use planner::words::WIDENED;

/// Gives both sides of a rewritten item of WITH RECURSIVE the same fields.
pub(crate) fn widen(table: &mut Cte) -> Result<()> {
    let name = table.alias.name.value.clone();
    if !reads(&table.query, &name) {
        return Ok(());
    }
    let SetExpr::SetOperation { op: SetOperator::Union, left, right, .. } = table.query.body.as_mut() else {
        return Ok(());
    };
    let Some(columns) = widen_items(left) else { return Ok(()) };
    widen_items(right);
    let rows = filled(&name, &columns)?;
    // It never breaks off.
    let _ = VisitMut::visit(right, &mut Filling { name: &name, rows });
    Ok(())
}

/// Names of the columns of a SELECT, which are widened; nothing when there is a `*` among them.
fn widen_items(body: &mut SetExpr) -> Option<Vec<Ident>> {
    let select = match body {
        SetExpr::Select(select) => select,
        SetExpr::Query(query) => return widen_items(&mut query.body),
        _ => return None,
    };
    let mut items = vec![];
    for item in &select.projection {
        items.push(match item {
            SelectItem::UnnamedExpr(Expr::Identifier(name)) => {
                (Expr::Identifier(name.clone()), ident(&name.value))
            }
            SelectItem::ExprWithAlias { expr, alias } => (expr.clone(), alias.clone()),
            _ => return None,
        });
    }
    let names = items.iter().map(|(_, name)| name.clone()).collect();
    let wide = |(expr, alias)| SelectItem::ExprWithAlias { expr: call(WIDENED, vec![expr]), alias };
    select.projection = items.into_iter().map(wide).collect();
    Some(names)
}

/// The rows of the round before, with the types they were given.
fn filled(name: &str, columns: &[Ident]) -> Result<Query> {
    let mut query = sql::parse_query("SELECT 1")?;
    if let SetExpr::Select(select) = query.body.as_mut() {
        let column = |name: &Ident| SelectItem::ExprWithAlias {
            expr: call(FILLED, vec![Expr::Identifier(name.clone())]),
            alias: name.clone(),
        };
        select.projection = columns.iter().map(column).collect();
        select.from = vec![TableWithJoins { relation: plain_table(&[name], None), joins: vec![] }];
    }
    Ok(query)
}

fn is_named(relation: &ObjectName, name: &str) -> bool {
    match relation.0.as_slice() {
        [part] => part.as_ident().is_some_and(|part| part.value == name),
        _ => false,
    }
}

/// Whether a query reads the table of this name.
fn reads(query: &Query, name: &str) -> bool {
    let found = |relation: &ObjectName| match is_named(relation, name) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    visit_relations(query, found).is_break()
}

/// Puts the rows where the table is read.
struct Filling<'a> {
    name: &'a str,
    rows: Query,
}

impl VisitorMut for Filling<'_> {
    type Break = ();

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        let alias = match factor {
            TableFactor::Table { name, alias, args: None, .. } if is_named(name, self.name) => alias.take(),
            _ => return ControlFlow::Continue(()),
        };
        let own = TableAlias { explicit: true, name: ident(self.name), columns: vec![], at: None };
        *factor = TableFactor::Derived {
            lateral: false,
            subquery: Box::new(self.rows.clone()),
            alias: Some(alias.unwrap_or(own)),
            sample: None,
        };
        ControlFlow::Continue(())
    }
}
