//! FINAL: which tables of a query are read with rows of equal key made one.
//!
//! A table that is gets another name in the plan, under which it is looked up. Invariant: FINAL behind anything whose rows
//! are never replaced is an error; the setting `final` leaves such tables as they are. Must not know: how they are read, and
//! where names are looked up.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use boundary::error::Error;
use datafusion::sql::sqlparser::ast::{
    Ident, ObjectName, ObjectNamePart, Query, TableAlias, TableFactor, Visit, VisitMut, Visitor, VisitorMut,
};
use model::TableDef;
use sql::{SqlError, TableName};

use crate::virtual_columns::parts_of;

/// Stands behind the name of such a table; no name of a table has it.
pub const SUFFIX: &str = "\u{a0}FINAL";

/// What a statement knows of tables.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    pub find: &'a dyn Fn(&TableName) -> Option<Arc<TableDef>>,
    pub current_database: &'a str,
    /// The setting `final`.
    pub everywhere: bool,
}

/// The query with the names under which its tables are looked up.
///
/// # Errors
/// FINAL where it cannot be.
pub fn with_finals(known: Known<'_>, query: &mut Query) -> Result<(), Error> {
    let mut bare = Bare { here: known.current_database, tables: BTreeSet::new() };
    let _ = Visit::visit(&*query, &mut bare);
    let mut finals = Finals { known, items: Vec::new(), bare: bare.tables };
    finals.run(query)
}

/// All tables that are named without an alias: database and name.
struct Bare<'a> {
    here: &'a str,
    tables: BTreeSet<(String, String)>,
}

impl Visitor for Bare<'_> {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, alias: None, args: None, .. } = factor {
            let (database, table) = parts_of(name);
            let database = database.unwrap_or(self.here);
            self.tables.insert((database.to_owned(), table.to_owned()));
        }
        ControlFlow::Continue(())
    }
}

struct Finals<'a> {
    known: Known<'a>,
    /// Names of WITH of the queries around, which stand before those of tables.
    items: Vec<Vec<String>>,
    bare: BTreeSet<(String, String)>,
}

impl Finals<'_> {
    fn run(&mut self, query: &mut Query) -> Result<(), Error> {
        match VisitMut::visit(query, self) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(error) => Err(error),
        }
    }

    /// The name stands for the table in conditions, without its database: no other may have it.
    fn refuse_same_name(&self, name: &ObjectName) -> Result<(), Error> {
        let (database, table) = parts_of(name);
        let database = database.unwrap_or(self.known.current_database);
        let other = |(other, named): &&(String, String)| named == table && other != database;
        match self.bare.iter().find(other) {
            None => Ok(()),
            Some((other, _)) => {
                let what =
                    format!("FINAL beside tables of equal names, {database}.{table} and {other}.{table}");
                Err(Error::unsupported(what).with_hint("give both an alias: t AS a FINAL"))
            }
        }
    }

    /// Whether the table is read so; `asked`: the query says FINAL behind it.
    fn is_final(&self, name: &ObjectName, asked: bool) -> Result<bool, Error> {
        let (database, table) = parts_of(name);
        let is_item = database.is_none() && self.items.iter().flatten().any(|item| item == table);
        let found = (self.known.find)(&TableName::new(database, table)).filter(|_| !is_item);
        match found {
            Some(def) if !def.mode.is_plain() => Ok(true),
            _ if !asked => Ok(false),
            Some(def) => {
                let what = format!("table \"{table}\" of engine {}", def.engine_name());
                Err(SqlError::no_final(&what).into())
            }
            // What is not there the planner names.
            None if !is_item => Ok(false),
            None => Err(SqlError::no_final(&format!("\"{table}\"")).into()),
        }
    }
}

impl VisitorMut for Finals<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        // Inside of an item its own name is the table's, and so are those of items that come later.
        self.items.push(Vec::new());
        for item in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
            if let Err(error) = self.run(&mut item.query) {
                return ControlFlow::Break(error);
            }
            let name = item.alias.name.value.clone();
            self.items.last_mut().into_iter().for_each(|items| items.push(name.clone()));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<Error> {
        self.items.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        let TableFactor::Table { name, alias, args: None, with_hints, .. } = factor else {
            return ControlFlow::Continue(());
        };
        let asked = !std::mem::take(with_hints).is_empty();
        if !asked && !self.known.everywhere {
            return ControlFlow::Continue(());
        }
        match self.is_final(name, asked) {
            Err(error) => return ControlFlow::Break(error),
            Ok(false) => {}
            Ok(true) => {
                if alias.is_none()
                    && let Err(error) = self.refuse_same_name(name)
                {
                    return ControlFlow::Break(error);
                }
                let Some(ObjectNamePart::Identifier(table)) = name.0.last_mut() else {
                    return ControlFlow::Continue(());
                };
                let own_name = Ident::with_quote('`', table.value.clone());
                alias.get_or_insert(TableAlias { explicit: true, name: own_name, columns: vec![], at: None });
                *table = Ident::with_quote('`', format!("{}{SUFFIX}", table.value));
            }
        }
        ControlFlow::Continue(())
    }
}
