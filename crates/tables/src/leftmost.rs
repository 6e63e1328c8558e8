//! Bare names that both tables of a join have: in ClickHouse they are the left table's.
//!
//! DataFusion's planner calls them ambiguous. Which columns the tables have, only a plan of FROM tells: [`probe`] asks for
//! one, [`qualified`] writes the names out. Invariant: names that an alias or a lambda gives are not touched, nor what
//! stands in a query inside of the SELECT. Of three tables and more such names stay ambiguous, in ClickHouse as here.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, Ident, JoinConstraint, JoinOperator, LambdaFunction, OneOrManyWithParens, OrderByKind,
    Query, Select, SelectItem, SetExpr, TableFactor, VisitMut, VisitorMut, With,
};
use sql::printer::label::label;
use sql::reader::head::ident;
use sql::tables::joins::{constraint_mut, constraint_of};

use planner::columns::{all_of, seen_from_here};

/// A query whose columns are those of both tables that the `at`th SELECT over two tables joins.
pub fn probe(query: &Query, at: usize) -> Option<Query> {
    let mut finder = Finder { left: at, with: vec![], answer: None };
    let mut copy = query.clone();
    let _ = VisitMut::visit(&mut copy, &mut finder);
    finder.answer
}

/// The query with the left table before each bare name in that SELECT that is among `columns` twice.
pub fn qualified(mut query: Query, at: usize, columns: &[String]) -> Query {
    let twice = columns.iter().enumerate().filter(|(at, name)| columns[..*at].contains(*name));
    let names = twice.map(|(_, name)| name.clone()).collect();
    let mut writer = Writer { left: at, names };
    let _ = VisitMut::visit(&mut query, &mut writer);
    query
}

/// The parts of the left table's name, where a SELECT joins two tables.
fn left_table(body: &mut SetExpr) -> Option<(&mut Select, Vec<Ident>)> {
    let SetExpr::Select(select) = body else { return None };
    let relations = select.from.iter().map(|table| 1 + table.joins.len()).sum::<usize>();
    let first = select.from.first().filter(|_| relations == 2)?;
    let name = match &first.relation {
        TableFactor::Table { alias: Some(alias), .. } | TableFactor::Derived { alias: Some(alias), .. } => {
            vec![alias.name.clone()]
        }
        TableFactor::Table { name, alias: None, args: None, .. } => {
            name.0.iter().filter_map(|part| part.as_ident()).cloned().collect()
        }
        _ => return None,
    };
    Some((select, name))
}

/// Names may be ambiguous in a condition, too, and no condition changes which columns the tables have.
fn without_conditions(select: &mut Select) {
    for join in select.from.iter_mut().flat_map(|table| &mut table.joins) {
        if let Some(JoinConstraint::On(_)) = constraint_of(&join.join_operator) {
            join.join_operator = JoinOperator::CrossJoin(JoinConstraint::None);
        }
    }
}

struct Finder {
    left: usize,
    with: Vec<Option<With>>,
    answer: Option<Query>,
}

impl VisitorMut for Finder {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.with.push(query.with.clone());
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let Some((select, _)) = left_table(&mut query.body) {
            if self.left == 0 {
                let with = seen_from_here(&self.with);
                without_conditions(select);
                self.answer = all_of(select).map(|probe| Query { with, ..probe });
                return ControlFlow::Break(());
            }
            self.left -= 1;
        }
        self.with.pop();
        ControlFlow::Continue(())
    }
}

struct Writer {
    left: usize,
    names: BTreeSet<String>,
}

impl VisitorMut for Writer {
    type Break = ();

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let Some((select, table)) = left_table(&mut query.body) else { return ControlFlow::Continue(()) };
        if self.left > 0 {
            self.left -= 1;
            return ControlFlow::Continue(());
        }
        let mut names = std::mem::take(&mut self.names);
        for name in given_names(select) {
            names.remove(&name);
        }
        let mut qualifier = Qualifier { table, names, lambdas: vec![], depth: 0 };
        qualifier.select(select);
        if let Some(order) = &mut query.order_by
            && let OrderByKind::Expressions(keys) = &mut order.kind
        {
            keys.iter_mut().for_each(|key| qualifier.expr(&mut key.expr));
        }
        ControlFlow::Break(())
    }
}

/// Names that aliases of the SELECT give, and those of USING.
fn given_names(select: &mut Select) -> Vec<String> {
    let mut given = Given(vec![]);
    let _ = VisitMut::visit(&mut select.projection, &mut given);
    for item in &select.projection {
        if let SelectItem::ExprWithAlias { alias, .. } = item {
            given.0.push(alias.value.clone());
        }
    }
    for join in select.from.iter_mut().flat_map(|table| &mut table.joins) {
        if let Some(JoinConstraint::Using(names)) = constraint_mut(&mut join.join_operator) {
            given.0.extend(names.iter().filter_map(|name| Some(name.0.last()?.as_ident()?.value.clone())));
        }
    }
    let _ = VisitMut::visit(&mut select.selection, &mut given);
    given.0
}

struct Given(Vec<String>);

impl VisitorMut for Given {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Named { name, .. } = expr {
            self.0.push(name.value.clone());
        }
        ControlFlow::Continue(())
    }
}

/// The names that a lambda gives within itself.
fn parameters(lambda: &LambdaFunction) -> Vec<String> {
    match &lambda.params {
        OneOrManyWithParens::One(name) => vec![name.name.value.clone()],
        OneOrManyWithParens::Many(names) => names.iter().map(|name| name.name.value.clone()).collect(),
    }
}

struct Qualifier {
    table: Vec<Ident>,
    names: BTreeSet<String>,
    /// Parameters of the lambdas around the current expression.
    lambdas: Vec<Vec<String>>,
    /// Queries inside of the SELECT around the current expression.
    depth: usize,
}

impl Qualifier {
    fn expr(&mut self, expr: &mut Expr) {
        // It breaks off nowhere.
        let _ = VisitMut::visit(expr, self);
    }

    fn select(&mut self, select: &mut Select) {
        for item in &mut select.projection {
            match item {
                SelectItem::UnnamedExpr(expr) => {
                    let (name, before) = (label(expr), expr.clone());
                    self.expr(expr);
                    if *expr != before {
                        // The column keeps its name.
                        *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias: ident(&name) };
                    }
                }
                SelectItem::ExprWithAlias { expr, .. } => self.expr(expr),
                _ => {}
            }
        }
        let conditions =
            [&mut select.prewhere, &mut select.selection, &mut select.having, &mut select.qualify];
        conditions.into_iter().flatten().for_each(|condition| self.expr(condition));
        if let GroupByExpr::Expressions(keys, _) = &mut select.group_by {
            keys.iter_mut().for_each(|key| self.expr(key));
        }
        for join in select.from.iter_mut().flat_map(|table| &mut table.joins) {
            if let Some(JoinConstraint::On(condition)) = constraint_mut(&mut join.join_operator) {
                self.expr(condition);
            }
        }
    }
}

impl VisitorMut for Qualifier {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Lambda(lambda) = expr {
            self.lambdas.push(parameters(lambda));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if matches!(expr, Expr::Lambda(_)) {
            self.lambdas.pop();
        }
        if let Expr::Identifier(name) = expr
            && self.depth == 0
            && self.names.contains(&name.value)
            && !self.lambdas.iter().flatten().any(|given| *given == name.value)
        {
            *expr = Expr::CompoundIdentifier(self.table.iter().cloned().chain([name.clone()]).collect());
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_both_tables_are_the_left_ones() {
        let columns = ["x", "y", "x", "y", "z"].map(str::to_owned);
        for (written, expected) in [
            ("SELECT y, z FROM a JOIN b ON a.x = b.x", "SELECT a.y AS `y`, z FROM a JOIN b ON a.x = b.x"),
            (
                "SELECT y + 1 FROM d.t, b AS u WHERE y > 1 ORDER BY y",
                "SELECT d.t.y + 1 AS `plus(y, 1)` FROM d.t, b AS u WHERE d.t.y > 1 ORDER BY d.t.y",
            ),
            ("SELECT z AS y, y FROM a JOIN b USING (x)", "SELECT z AS y, y FROM a JOIN b USING(x)"),
            ("SELECT (SELECT y FROM c) FROM a, b", "SELECT (SELECT y FROM c) FROM a, b"),
        ] {
            let query = sql::parse_query(written).unwrap();
            assert_eq!(probe(&query, 0).map(|probe| probe.to_string().contains("SELECT *")), Some(true));
            assert!(probe(&query, 1).is_none());
            assert_eq!(qualified(query, 0, &columns).to_string(), expected);
        }
        assert!(probe(&sql::parse_query("SELECT y FROM a, b, c").unwrap(), 0).is_none());
    }

    #[test]
    fn columns_are_asked_for_without_the_condition_that_may_name_them() {
        let query = sql::parse_query("SELECT x FROM a RIGHT JOIN b ON a.x = b.x AND a.y > x").unwrap();
        assert_eq!(probe(&query, 0).unwrap().to_string(), "SELECT * FROM a CROSS JOIN b");
    }
}
