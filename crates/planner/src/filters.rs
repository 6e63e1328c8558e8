//! `additional_table_filters`: conditions that the rows of tables must meet, whatever the query says of them.
//!
//! A table becomes a subquery that asks the condition, under the name the table had. Invariant: no way to read the table passes
//! it by; where there might be one, the query is refused. To ask twice is to ask once: views are taken apart later.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sql::reader::head::ident;
use sql::{Result, Settings, SqlError};
use sqlparser::ast::{Expr, ObjectName, Query, SetExpr, TableFactor, Visit, VisitMut, Visitor, VisitorMut};

/// The query with the conditions that the settings have for its tables.
///
/// # Errors
/// The setting or a condition cannot be read; a table with a condition is read in a way that has no place for it.
pub fn filtered<'q>(
    query: &'q sql::Query,
    settings: &Settings,
    database: &str,
) -> Result<Cow<'q, sql::Query>> {
    let text = settings.get_text("additional_table_filters");
    if text.is_empty() || text == "{}" {
        return Ok(Cow::Borrowed(query));
    }
    let mut conditions = vec![];
    for (table, condition) in sql::parse_pairs(&text)? {
        conditions.push((table, sql::parse_expression(&condition)?));
    }
    let mut names = CteNames::default();
    let _ = Visit::visit(query.ast.as_ref(), &mut names);
    let mut asking = Asking { conditions, database, ctes: names.0 };
    let mut ast = query.ast.as_ref().clone();
    match VisitMut::visit(&mut ast, &mut asking) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(Cow::Owned(sql::Query { ast: Box::new(ast), ..query.clone() })),
    }
}

/// Names that WITH gives to queries: they are no tables.
#[derive(Default)]
struct CteNames(BTreeSet<String>);

impl Visitor for CteNames {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let with = query.with.iter().flat_map(|with| &with.cte_tables);
        self.0.extend(with.map(|cte| cte.alias.name.value.clone()));
        ControlFlow::Continue(())
    }
}

struct Asking<'a> {
    /// By the names of tables, as written.
    conditions: Vec<(String, Expr)>,
    database: &'a str,
    ctes: BTreeSet<String>,
}

impl Asking<'_> {
    /// The condition of a table, by its alias, its name in the current database or its whole name.
    fn condition(&self, name: &[String], alias: Option<&str>) -> Option<&Expr> {
        let (database, table) = match name {
            [table] if self.ctes.contains(table) => (None, None),
            [table] => (Some(self.database), Some(table)),
            [database, table] => (Some(database.as_str()), Some(table)),
            _ => (None, None),
        };
        let is_meant = |key: &str| {
            let whole = database.zip(table).map(|(database, table)| format!("{database}.{table}"));
            alias == Some(key)
                || whole.as_deref() == Some(key)
                || (database == Some(self.database) && table.is_some_and(|table| table == key))
        };
        self.conditions.iter().find(|(key, _)| is_meant(key)).map(|(_, condition)| condition)
    }
}

fn parts_of(name: &ObjectName) -> Vec<String> {
    name.0.iter().filter_map(|part| part.as_ident()).map(|part| part.value.clone()).collect()
}

impl VisitorMut for Asking<'_> {
    type Break = SqlError;

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<SqlError> {
        let TableFactor::Table { name, alias, args: None, .. } = &*factor else {
            return ControlFlow::Continue(());
        };
        let name = parts_of(name);
        let is_cte = matches!(name.as_slice(), [table] if self.ctes.contains(table));
        let shown = alias.as_ref().map(|alias| alias.name.value.as_str());
        let Some(condition) = self.condition(&name, shown).filter(|_| !is_cte) else {
            return ControlFlow::Continue(());
        };
        match asked(factor, condition, name.last().map_or("", String::as_str)) {
            Ok(done) => {
                *factor = done;
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        }
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<SqlError> {
        if let SetExpr::Table(table) = query.body.as_ref() {
            let name: Vec<String> =
                [&table.schema_name, &table.table_name].into_iter().flatten().cloned().collect();
            if self.condition(&name, None).is_some() {
                let what =
                    format!("IN {} with a condition for it in additional_table_filters", name.join("."));
                return ControlFlow::Break(
                    SqlError::not_implemented(what).with_hint("write IN (SELECT .. FROM ..)"),
                );
            }
        }
        ControlFlow::Continue(())
    }
}

/// `(SELECT * FROM table WHERE condition) AS table`.
fn asked(factor: &TableFactor, condition: &Expr, name: &str) -> Result<TableFactor> {
    let mut template = sql::parse_query("SELECT * FROM (SELECT * FROM t WHERE c) AS t")?;
    let SetExpr::Select(outer) = template.body.as_mut() else { return Err(SqlError::not_implemented(name)) };
    let Some(mut done) = outer.from.pop().map(|from| from.relation) else {
        return Err(SqlError::not_implemented(name));
    };
    if let TableFactor::Derived { subquery, alias: shown, .. } = &mut done {
        let (mut table, mut given) = (factor.clone(), None);
        if let TableFactor::Table { alias, .. } = &mut table {
            given = alias.take();
        }
        match given {
            Some(alias) => *shown = Some(alias),
            None => shown.iter_mut().for_each(|shown| shown.name = ident(name)),
        }
        if let SetExpr::Select(inner) = subquery.body.as_mut() {
            inner.from.iter_mut().for_each(|from| from.relation = table.clone());
            inner.selection = Some(condition.clone());
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(query: &str, filters: &str) -> String {
        let mut settings = Settings::session();
        settings.set("additional_table_filters", filters).unwrap();
        let query = sql::Query::from(Box::new(sql::parse_query(query).unwrap()));
        filtered(&query, &settings, "default")
            .map_or_else(|e| e.message, |query| query.ast.to_string().replace('`', ""))
    }

    #[test]
    fn a_table_is_asked_under_each_of_its_names() {
        let filters = "{'t': 'x > 1', 'a': 'y = 2', 'other.t': 'z'}";
        assert_eq!(shown("SELECT x FROM t", filters), "SELECT x FROM (SELECT * FROM t WHERE x > 1) AS t");
        assert_eq!(
            shown("SELECT x FROM u AS a", filters),
            "SELECT x FROM (SELECT * FROM u WHERE y = 2) AS a"
        );
        assert!(shown("SELECT x FROM other.t", filters).contains("FROM other.t WHERE z) AS t"));
        assert_eq!(shown("SELECT x FROM u", filters), "SELECT x FROM u");
        assert!(shown("SELECT x FROM default.t JOIN u ON 1", filters).contains("WHERE x > 1) AS t JOIN u"));
        assert!(!shown("WITH t AS (SELECT 1 AS x) SELECT x FROM t", filters).contains("x > 1"));
        assert!(shown("SELECT 1 IN t", filters).contains("additional_table_filters"));
    }
}
