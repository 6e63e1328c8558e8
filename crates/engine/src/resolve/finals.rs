//! FINAL: which tables of a query are read with rows of equal key made one.
//!
//! A table that is gets another name in the plan, under which it is looked up. Invariant: FINAL behind anything whose rows
//! are never replaced is an error; the setting `final` leaves such tables as they are. Must not know: how they are read.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use boundary::error::Error;
use datafusion::sql::sqlparser::ast::{
    Ident, ObjectName, ObjectNamePart, Query, TableAlias, TableFactor, VisitMut, VisitorMut,
};
use sql::{SqlError, TableName};

use crate::context::execution::Execution;
use crate::tables::virtual_columns::parts_of;

/// Stands behind the name of such a table; no name of a table has it.
pub(crate) const SUFFIX: &str = "\u{0}FINAL";

/// The query with the names under which its tables are looked up.
pub(crate) fn with_finals(execution: &Execution, query: &mut Query) -> Result<(), Error> {
    let everywhere = execution.settings.get_bool("final");
    let mut finals = Finals { execution, everywhere, items: BTreeSet::new() };
    match query.visit(&mut finals) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Finals<'a> {
    execution: &'a Execution,
    everywhere: bool,
    /// Names of WITH, which stand before those of tables.
    items: BTreeSet<String>,
}

impl Finals<'_> {
    /// Whether the table is read so; `asked`: the query says FINAL behind it.
    fn is_final(&self, name: &ObjectName, asked: bool) -> Result<bool, Error> {
        let (database, table) = parts_of(name);
        let is_item = database.is_none() && self.items.contains(table);
        let found = self.execution.table(&TableName::new(database, table)).ok().filter(|_| !is_item);
        match found {
            Some(state) if !state.def.mode.is_plain() => Ok(true),
            _ if !asked => Ok(false),
            Some(state) => {
                let what = format!("table \"{table}\" of engine {}", state.def.engine_name());
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
        let items = query.with.iter().flat_map(|with| &with.cte_tables);
        self.items.extend(items.map(|item| item.alias.name.value.clone()));
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        let TableFactor::Table { name, alias, args: None, with_hints, .. } = factor else {
            return ControlFlow::Continue(());
        };
        let asked = !std::mem::take(with_hints).is_empty();
        if !asked && !self.everywhere {
            return ControlFlow::Continue(());
        }
        match self.is_final(name, asked) {
            Err(error) => return ControlFlow::Break(error),
            Ok(false) => {}
            Ok(true) => {
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
