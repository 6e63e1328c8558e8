//! Tables that are out of sight: their names are taken, and nobody finds them by it.
//!
//! Invariant: a detached table is among the tables by id, so its rows are kept, flushed and merged like all others; it
//! is not among those of its database. Must not know: who may detach, and why.

use std::sync::Arc;

use imbl::OrdMap;
use model::{DatabaseId, TableId};

use super::{DatabaseState, State};
use crate::table_state::TableState;

/// The detached tables of one database, by name.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct DetachedTables {
    by_name: OrdMap<Arc<str>, DetachedTable>,
}

/// A table without its place among the names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DetachedTable {
    pub id: TableId,
    /// DETACH TABLE .. PERMANENTLY said so. Here every table stays detached until ATTACH.
    pub is_permanent: bool,
}

impl DetachedTables {
    pub(super) fn ids(&self) -> impl Iterator<Item = TableId> {
        self.by_name.values().map(|detached| detached.id)
    }
}

impl State {
    /// The detached tables of a database by name.
    pub fn detached_tables(
        &self,
        database: DatabaseId,
    ) -> impl Iterator<Item = (&Arc<TableState>, DetachedTable)> {
        let found = self.databases.get(&database).map(|database| database.detached.by_name.values());
        let state = |detached: &DetachedTable| Some((self.tables.get(&detached.id)?, *detached));
        found.into_iter().flatten().filter_map(state)
    }

    pub fn detached_table(&self, database: DatabaseId, name: &str) -> Option<&Arc<TableState>> {
        self.tables.get(&self.databases.get(&database)?.detached.by_name.get(name)?.id)
    }

    pub fn is_detached(&self, id: TableId) -> bool {
        let found = self
            .tables
            .get(&id)
            .and_then(|table| self.databases.get(&table.def.database)?.detached.by_name.get(&table.def.name));
        found.is_some_and(|detached| detached.id == id)
    }

    /// Takes a table out of sight; also how a checkpoint does it. `None` if it is not in sight.
    pub fn detach_table(&mut self, id: TableId, is_permanent: bool) -> Option<()> {
        let def = Arc::clone(&self.tables.get(&id)?.def);
        self.change_database(def.database, |database| {
            database.tables.remove(&def.name).filter(|found| *found == id)?;
            database.detached.by_name.insert(Arc::clone(&def.name), DetachedTable { id, is_permanent });
            Some(())
        })?
    }

    /// `None` if it is not detached.
    pub(super) fn attach_table(&mut self, id: TableId) -> Option<()> {
        let def = Arc::clone(&self.tables.get(&id)?.def);
        self.change_database(def.database, |database| {
            database.detached.by_name.remove(&def.name).filter(|found| found.id == id)?;
            database.tables.insert(Arc::clone(&def.name), id);
            Some(())
        })?
    }

    /// The name of a table that goes is free again.
    pub(super) fn free_name(database: &mut DatabaseState, name: &str, id: TableId) {
        if database.tables.get(name) == Some(&id) {
            database.tables.remove(name);
        }
        if database.detached.by_name.get(name).is_some_and(|found| found.id == id) {
            database.detached.by_name.remove(name);
        }
    }
}
