//! What the WHERE of a statement says of the files its table functions read, before these are listed.
//!
//! Pure. Invariant: a condition is taken only if it holds of every row the statement needs of that call: the call is all
//! that its SELECT reads from, and no alias hides the column. Must not know: files, listings.

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Query, Select, SelectItem, SetExpr, TableFactor, Value, Visit, Visitor,
};
use stores::{FileCondition, FileFilter, FilterValue};

use crate::virtual_columns::parts_of;
use sql::PLACEHOLDER_DATABASE as CALLS;

/// By a call's placeholder, what every row wanted of it fulfils.
pub fn of_calls(query: &Query) -> HashMap<String, FileFilter> {
    let mut found = Found::default();
    let _ = query.visit(&mut found);
    // A call that is read twice is listed once, for both.
    found
        .filters
        .retain(|placeholder, filter| found.times.get(placeholder) == Some(&1) && !filter.is_empty());
    found.filters
}

#[derive(Default)]
struct Found {
    filters: HashMap<String, FileFilter>,
    times: HashMap<String, usize>,
}

impl Visitor for Found {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.body(&query.body);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<()> {
        if let Some(placeholder) = placeholder_of(table) {
            *self.times.entry(placeholder.to_owned()).or_default() += 1;
        }
        ControlFlow::Continue(())
    }
}

impl Found {
    fn body(&mut self, body: &SetExpr) {
        match body {
            SetExpr::Select(select) => self.select(select),
            SetExpr::SetOperation { left, right, .. } => {
                self.body(left);
                self.body(right);
            }
            // A query in parentheses is visited by itself.
            _ => {}
        }
    }

    fn select(&mut self, select: &Select) {
        let [from] = select.from.as_slice() else { return };
        let (Some(placeholder), true) = (placeholder_of(&from.relation), from.joins.is_empty()) else {
            return;
        };
        let Some(called) = name_of(&from.relation) else { return };
        let aliases = aliases(select);
        let mut conditions = Vec::new();
        if let Some(selection) = &select.selection {
            conjuncts(selection, called, &mut conditions);
        }
        conditions.retain(|condition: &FileCondition| !aliases.contains(&condition.column.as_str()));
        self.filters.insert(placeholder.to_owned(), FileFilter { conditions });
    }
}

/// The call that stands where a table would.
pub fn placeholder_of(table: &TableFactor) -> Option<&str> {
    let TableFactor::Table { name, .. } = table else { return None };
    match parts_of(name) {
        (Some(CALLS), placeholder) => Some(placeholder),
        _ => None,
    }
}

/// What the SELECT calls the table, if anything; `None` if it renames the columns, too.
pub fn name_of(table: &TableFactor) -> Option<Option<&str>> {
    match table {
        TableFactor::Table { alias: Some(alias), .. } if alias.columns.is_empty() => {
            Some(Some(alias.name.value.as_str()))
        }
        TableFactor::Table { alias: None, .. } => Some(None),
        _ => None,
    }
}

/// Names that mean an expression of the SELECT instead of a column.
fn aliases(select: &Select) -> Vec<&str> {
    let alias = |item: &'_ SelectItem| matches!(item, SelectItem::ExprWithAlias { .. });
    let named = select.projection.iter().filter(|item| alias(item));
    named
        .filter_map(|item| match item {
            SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.as_str()),
            _ => None,
        })
        .collect()
}

/// `called` is what columns of the call may be qualified with.
fn conjuncts(expression: &Expr, called: Option<&str>, into: &mut Vec<FileCondition>) {
    match expression {
        Expr::Nested(inner) => conjuncts(inner, called, into),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            conjuncts(left, called, into);
            conjuncts(right, called, into);
        }
        Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => {
            let either = equality(left, right, called).or_else(|| equality(right, left, called));
            into.extend(either);
        }
        Expr::InList { expr, list, negated: false } => {
            let values: Option<Vec<FilterValue>> = list.iter().map(constant).collect();
            if let (Some(column), Some(values)) = (column(expr, called), values) {
                into.push(FileCondition { column, values });
            }
        }
        _ => {}
    }
}

fn equality(left: &Expr, right: &Expr, called: Option<&str>) -> Option<FileCondition> {
    Some(FileCondition { column: column(left, called)?, values: vec![constant(right)?] })
}

fn column(expression: &Expr, called: Option<&str>) -> Option<String> {
    match expression {
        Expr::Identifier(name) => Some(name.value.clone()),
        // Before the point may stand a table of the query around this one, or a column whose element is meant.
        Expr::CompoundIdentifier(names) => match names.as_slice() {
            [table, name] if called == Some(table.value.as_str()) => Some(name.value.clone()),
            _ => None,
        },
        Expr::Nested(inner) => column(inner, called),
        _ => None,
    }
}

fn constant(expression: &Expr) -> Option<FilterValue> {
    let Expr::Value(value) = expression else { return None };
    match &value.value {
        Value::SingleQuotedString(text) => Some(FilterValue::Text(text.clone())),
        Value::Number(digits, _) => Some(FilterValue::Number(digits.clone())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::ast::Statement;
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    /// Columns of the conditions on `calls.s3_0`, with their values.
    fn shown(text: &str) -> String {
        let text = text.replace("S3", &format!("{CALLS}.s3_0"));
        let parsed = Parser::parse_sql(&GenericDialect {}, &text).unwrap();
        let Some(Statement::Query(query)) = parsed.into_iter().next() else { panic!("no query: {text}") };
        let filters = of_calls(&query);
        let Some(filter) = filters.get("s3_0") else { return String::new() };
        let value = |value: &FilterValue| match value {
            FilterValue::Text(text) => format!("'{text}'"),
            FilterValue::Number(digits) => digits.clone(),
        };
        let condition = |one: &FileCondition| {
            format!("{}={}", one.column, one.values.iter().map(value).collect::<Vec<_>>().join("|"))
        };
        filter.conditions.iter().map(condition).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn conditions_that_hold_of_every_row() {
        for (text, conditions) in [
            ("select * from S3 where year = 2024 and _file in ('a', 'b')", "year=2024 _file='a'|'b'"),
            ("select * from S3 as t where ('x' = t._path) and a > 5", "_path='x'"),
            ("select * from S3 as t where t.year = 1 and info.country = 'de' and (t.b) in (2)", "year=1 b=2"),
            ("select * from S3 where info.country = 'de'", ""),
            ("select * from o where exists (select 1 from S3 as t where o.year = 1 and t.b = 2)", "b=2"),
            ("select * from S3 as t (id, year, y) where year = 5 and t.y = 6", ""),
            ("with q as (select * from S3 where year = 1) select * from q, q as r", "year=1"),
            ("select a from S3 where y = 1 union all select 2", "y=1"),
            ("select * from S3 where year = 2024 or a = 1", ""),
            ("select * from S3 where year = other", ""),
            ("select * from S3 where year not in (1)", ""),
            ("select * from S3 where not (year = 1)", ""),
            ("select upper(_file) as _file from S3 where _file = 'A'", ""),
            ("select * from S3 join t on true where year = 1", ""),
            ("select * from S3, t where year = 1", ""),
            ("select * from S3 where y = 1 union all select * from S3", ""),
            ("select * from (select * from S3) where y = 1", ""),
        ] {
            assert_eq!(shown(text), conditions, "{text}");
        }
    }
}
