//! The tables a query names, and what may stand in their place: a view's SELECT, a call that is a query by itself.
//!
//! Invariant: a name that a WITH item of the query has means that item. Must not know: which tables there are.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArguments, Ident, ObjectName, ObjectNamePart, Query, SetExpr,
    TableAlias, TableFactor, VisitMut, VisitorMut,
};

use crate::dialect::name_of;
use crate::reader::head::ident;
use crate::statement::TableName;
use crate::tables::functions::{TableFunctionCall, from_parts};
use lexer::error::{Result, SqlError};

/// A call of a table function in FROM, its arguments as written.
pub struct WrittenCall<'a> {
    pub name: &'a str,
    pub arguments: &'a [FunctionArg],
}

/// The arguments of a call as constants.
///
/// # Errors
/// One of them is none.
pub fn written_call(call: &WrittenCall<'_>) -> Result<TableFunctionCall> {
    from_parts(call.name, call.arguments, 0)
}

/// A call outside of a query, as DESCRIBE has it.
///
/// # Errors
/// It has no list of arguments.
pub fn arguments_of(function: &Function) -> Result<(String, Vec<FunctionArg>)> {
    match &function.args {
        FunctionArguments::List(list) => Ok((name_of(function), list.args.clone())),
        _ => Err(SqlError::bad_arguments(format!("table function {} needs arguments", function.name))),
    }
}

/// What puts queries where tables stand.
pub trait Replace {
    /// The query that a table's name stands for, if it stands for one.
    ///
    /// # Errors
    /// It must not be read here.
    fn table(&mut self, name: &TableName) -> Result<Option<Query>>;

    /// Whether FINAL behind the name is one behind the table that its query reads.
    fn hands_final_on(&mut self, _name: &TableName) -> bool {
        false
    }

    /// The query that a call is, if it is one.
    ///
    /// # Errors
    /// Its arguments are wrong.
    fn call(&mut self, call: &WrittenCall<'_>) -> Result<Option<Query>>;
}

/// Replaces tables of a query, subqueries included; what is put in is not searched again.
///
/// # Errors
/// The first that `replace` answers.
pub fn replace_tables(query: &mut Query, replace: &mut dyn Replace) -> Result<()> {
    let mut replacing = Replacing { replace, items: Vec::new() };
    match query.visit(&mut replacing) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// The query with every table's database written out, so that it means the same in another session.
pub fn qualified(query: &Query, current_database: &str) -> Query {
    let mut qualified = query.clone();
    // It never breaks off.
    let _ = qualified.visit(&mut Qualifying { current_database, items: Vec::new() });
    qualified
}

/// Names of WITH items, query by query.
type Items = Vec<Vec<String>>;

fn items_of(query: &Query) -> Vec<String> {
    query.with.iter().flat_map(|with| &with.cte_tables).map(|item| item.alias.name.value.clone()).collect()
}

/// The table a name means, unless it means a WITH item.
fn table_of(name: &ObjectName, items: &Items) -> Option<TableName> {
    let parts: Vec<&Ident> = name.0.iter().filter_map(ObjectNamePart::as_ident).collect();
    match parts.as_slice() {
        [table] if items.iter().flatten().any(|item| *item == table.value) => None,
        [table] => Some(TableName::new(None, &table.value)),
        [database, table] => Some(TableName::new(Some(&database.value), &table.value)),
        _ => None,
    }
}

/// Puts FINAL behind the one table that a query reads; whether there is one.
fn put_final(query: &mut Query, hints: &[Expr]) -> bool {
    let SetExpr::Select(select) = query.body.as_mut() else { return false };
    let [from] = select.from.as_mut_slice() else { return false };
    match &mut from.relation {
        TableFactor::Table { with_hints, .. } if from.joins.is_empty() => {
            *with_hints = hints.to_vec();
            true
        }
        _ => false,
    }
}

struct Replacing<'a> {
    replace: &'a mut dyn Replace,
    items: Items,
}

impl Replacing<'_> {
    fn instead_of(&mut self, factor: &TableFactor) -> Result<Option<TableFactor>> {
        let TableFactor::Table { name, alias, args, with_hints, .. } = factor else { return Ok(None) };
        let mut hands_on = false;
        let (query, own_name) = match args {
            None => match table_of(name, &self.items) {
                Some(table) => {
                    hands_on = self.replace.hands_final_on(&table);
                    (self.replace.table(&table)?, Some(table.table))
                }
                None => return Ok(None),
            },
            Some(args) => {
                let bare = name.to_string().replace('`', "");
                let call = WrittenCall { name: &bare, arguments: &args.args };
                (self.replace.call(&call)?, None)
            }
        };
        let Some(mut query) = query else { return Ok(None) };
        let is_final = !with_hints.is_empty();
        let is_put = is_final && hands_on && put_final(&mut query, with_hints);
        if is_final && !is_put {
            return Err(SqlError::no_final(&name.to_string()));
        }
        let named =
            |name: String| TableAlias { explicit: true, name: ident(&name), columns: vec![], at: None };
        let alias = alias.clone().or_else(|| own_name.map(named));
        Ok(Some(TableFactor::Derived { lateral: false, subquery: Box::new(query), alias, sample: None }))
    }
}

impl VisitorMut for Replacing<'_> {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<SqlError> {
        self.items.push(items_of(query));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<SqlError> {
        // `x IN table`.
        if let SetExpr::Table(table) = query.body.as_ref()
            && let Some(name) = &table.table_name
            && !self.items.iter().flatten().any(|item| item == name)
        {
            match self.replace.table(&TableName::new(table.schema_name.as_deref(), name)) {
                Ok(Some(view)) => *query.body = SetExpr::Query(Box::new(view)),
                Ok(None) => {}
                Err(error) => return ControlFlow::Break(error),
            }
        }
        self.items.pop();
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<SqlError> {
        match self.instead_of(factor) {
            Ok(Some(query)) => *factor = query,
            Ok(None) => {}
            Err(error) => return ControlFlow::Break(error),
        }
        ControlFlow::Continue(())
    }
}

struct Qualifying<'a> {
    current_database: &'a str,
    items: Items,
}

impl VisitorMut for Qualifying<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.items.push(items_of(query));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let SetExpr::Table(table) = query.body.as_mut()
            && table.schema_name.is_none()
            && !self.items.iter().flatten().any(|item| Some(item) == table.table_name.as_ref())
        {
            table.schema_name = Some(self.current_database.to_owned());
        }
        self.items.pop();
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, args: None, .. } = factor
            && let Some(TableName { database: None, .. }) = table_of(name, &self.items)
        {
            name.0.insert(0, ObjectNamePart::Identifier(plain_ident(self.current_database)));
        }
        ControlFlow::Continue(())
    }
}

/// Without quotes, where it needs none.
fn plain_ident(name: &str) -> Ident {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if is_plain { Ident::new(name) } else { ident(name) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::parse_query;
    use crate::printer::printed::printed;

    struct Views;

    impl Replace for Views {
        fn table(&mut self, name: &TableName) -> Result<Option<Query>> {
            Ok(if name.table == "v" { Some(parse_query("SELECT 1 AS a")?) } else { None })
        }

        fn call(&mut self, call: &WrittenCall<'_>) -> Result<Option<Query>> {
            Ok(if call.name == "one" { Some(parse_query("SELECT 1 AS a")?) } else { None })
        }
    }

    #[test]
    fn views_become_queries_and_names_get_their_database() {
        for (text, replaced, full) in [
            ("SELECT a FROM v", "SELECT a FROM (SELECT 1 AS a) AS `v`", "SELECT a FROM d.v"),
            ("SELECT a FROM t AS v", "SELECT a FROM t AS v", "SELECT a FROM d.t AS v"),
            ("SELECT a FROM x.v AS y", "SELECT a FROM (SELECT 1 AS a) AS y", "SELECT a FROM x.v AS y"),
            (
                "WITH v AS (SELECT 2) SELECT * FROM v",
                "WITH v AS (SELECT 2) SELECT * FROM v",
                "WITH v AS (SELECT 2) SELECT * FROM v",
            ),
            (
                "SELECT (SELECT 1 FROM v) FROM one(1)",
                "SELECT (SELECT 1 FROM (SELECT 1 AS a) AS `v`) FROM (SELECT 1 AS a)",
                "SELECT (SELECT 1 FROM d.v) FROM one(1)",
            ),
        ] {
            let mut query = parse_query(text).unwrap();
            assert_eq!(printed(&qualified(&query, "d")), full, "{text}");
            replace_tables(&mut query, &mut Views).unwrap();
            assert_eq!(printed(&query), replaced, "{text}");
        }
    }
}
