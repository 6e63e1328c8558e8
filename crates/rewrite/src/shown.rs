//! The names of a result's columns, as they are shown: with the table's name where another table has a column of it,
//! subqueries by their number, elements of tuples by their path.
//!
//! Invariant: names inside of the query are not touched. Whether a column's name is another table's, too, only the plan
//! knows: until then it is between marks, and [`resolved`] takes these away.

use std::ops::ControlFlow;

use sql::dialect::call;
use sql::printer::label::label;
use sqlparser::ast::{
    Expr, Ident, Query, Select, SelectItem, SetExpr, TableFactor, Visit, VisitMut, Visitor, VisitorMut,
};

/// Stands around and inside of `table.column`: mark, table, mark, column, mark.
const MARK: char = '\u{2}';

/// Labels of a query's result; empty when a `*` stands in the SELECT.
pub(crate) fn labels(body: &SetExpr) -> Vec<String> {
    match body {
        SetExpr::Select(select) => of_select(select).unwrap_or_default(),
        SetExpr::Query(query) => labels(&query.body),
        SetExpr::SetOperation { left, .. } => labels(left),
        _ => vec![],
    }
}

fn of_select(select: &Select) -> Option<Vec<String>> {
    let mut tables = tables(select);
    if select.from.is_empty() {
        // It reads `system.one`.
        tables.push("one".to_owned());
    }
    let mut names = Names { tables, subqueries: 0 };
    let mut labels = Vec::with_capacity(select.projection.len());
    for item in &select.projection {
        let (expr, alias) = match item {
            SelectItem::UnnamedExpr(expr) => (expr, None),
            SelectItem::ExprWithAlias { expr, alias } => (expr, Some(alias)),
            _ => return None,
        };
        let mut shown = expr.clone();
        // It breaks off nowhere.
        let _ = VisitMut::visit(&mut shown, &mut names);
        labels.push(alias.map_or_else(|| label(&shown), |alias| alias.value.clone()));
    }
    Some(labels)
}

/// The names of the tables of a FROM, in their order.
pub(crate) fn tables(select: &Select) -> Vec<String> {
    let mut names = vec![];
    for from in &select.from {
        names.extend(name_of(&from.relation));
        names.extend(from.joins.iter().filter_map(|join| name_of(&join.relation)));
    }
    names
}

fn name_of(relation: &TableFactor) -> Option<String> {
    match relation {
        TableFactor::Table { alias: Some(alias), .. } | TableFactor::Derived { alias: Some(alias), .. } => {
            Some(alias.name.value.clone())
        }
        TableFactor::Table { name, .. } => Some(name.0.last()?.as_ident()?.value.clone()),
        _ => None,
    }
}

/// Puts what is shown in the place of what a name stands for.
struct Names {
    tables: Vec<String>,
    /// How many subqueries stood before.
    subqueries: usize,
}

impl Names {
    /// The name of the next subquery; those inside of it are counted with it.
    fn of_subquery(&mut self, subquery: &Query) -> Expr {
        let name = format!("_subquery_{}", self.subqueries + 1);
        let mut counter = Subqueries(0);
        let _ = subquery.visit(&mut counter);
        self.subqueries += counter.0;
        Expr::Identifier(Ident::new(name))
    }

    fn of_column(&self, parts: &[Ident]) -> Option<String> {
        let is_table = |part: &Ident| self.tables.contains(&part.value);
        let values: Vec<&str> = parts.iter().map(|part| part.value.as_str()).collect();
        let from = match parts {
            [table, _, ..] if is_table(table) => 1,
            [_, table, _, ..] if is_table(table) => 2,
            // A tuple and the names of what is in it.
            _ => return Some(values.join(".")),
        };
        match (&values[from..], self.tables.len()) {
            ([column], 2..) => Some(format!("{MARK}{}{MARK}{column}{MARK}", values[from - 1])),
            (path, _) => Some(path.join(".")),
        }
    }
}

impl VisitorMut for Names {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let shown = match expr {
            Expr::Subquery(subquery) => Some(self.of_subquery(subquery)),
            Expr::InSubquery { expr, subquery, negated } => {
                // The value stands in front of the set.
                let _ = VisitMut::visit(expr.as_mut(), self);
                let set = self.of_subquery(subquery);
                Some(call(if *negated { "notIn" } else { "in" }, vec![expr.as_ref().clone(), set]))
            }
            Expr::CompoundIdentifier(parts) => {
                self.of_column(parts).map(|name| Expr::Identifier(Ident::new(name)))
            }
            _ => None,
        };
        if let Some(shown) = shown {
            *expr = shown;
        }
        ControlFlow::Continue(())
    }
}

struct Subqueries(usize);

impl Visitor for Subqueries {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        self.0 += 1;
        ControlFlow::Continue(())
    }
}

/// A label as it is shown: a marked column with its table where `is_shared` says of table and column that another table
/// has a column of the name.
pub fn resolved(label: &str, is_shared: impl Fn(&str, &str) -> bool) -> String {
    let mut parts = label.split(MARK);
    let mut out = parts.next().unwrap_or_default().to_owned();
    while let (Some(table), Some(column)) = (parts.next(), parts.next()) {
        if is_shared(table, column) {
            out.push_str(table);
            out.push('.');
        }
        out.push_str(column);
        out.push_str(parts.next().unwrap_or_default());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{labels, resolved};

    #[test]
    fn names_are_shown_as_clickhouse_shows_them() {
        for (query, expected) in [
            (
                "SELECT (SELECT 1), 1 IN (SELECT 2), (SELECT 3) AS x, (SELECT 4)",
                "_subquery_1|in(1, _subquery_2)|x|_subquery_4",
            ),
            ("SELECT (SELECT (SELECT 1)), (SELECT 5)", "_subquery_1|_subquery_3"),
            ("SELECT t.id FROM t", "id"),
            ("SELECT t.x.a, x.a, x.b + 1 FROM t", "x.a|x.a|plus(x.b, 1)"),
            ("SELECT l.id, r.id, r.w, toString(r.id) FROM l JOIN r ON l.k = r.k", "id|r.id|w|toString(r.id)"),
        ] {
            let query = sql::parse_query(query).unwrap();
            let shown: Vec<String> = labels(&query.body)
                .iter()
                .map(|label| resolved(label, |table, column| table == "r" && column == "id"))
                .collect();
            assert_eq!(shown.join("|"), expected);
        }
    }
}
