//! Temporary tables of one session: their definitions and their rows, in memory.
//!
//! Invariant: they belong to no database and to no record of the log; no other session sees them, and they go with
//! their session. A name without a database means a temporary table before a table of the current database. Must not
//! know: statements.

use std::collections::BTreeMap;
use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use catalog::TableState;
use host::MemoryBudget;
use model::{DatabaseId, ErrorCode, TableDef};
use parking_lot::RwLock;

use crate::memory::MemoryTables;

/// What definitions of temporary tables have for a database.
pub fn no_database() -> DatabaseId {
    DatabaseId::from_bytes([0xFF; 16])
}

/// Whether a definition is that of a temporary table.
pub fn is_temporary(def: &TableDef) -> bool {
    def.database == no_database()
}

pub struct TemporaryTables {
    tables: RwLock<BTreeMap<String, Arc<TableState>>>,
    /// Rows of those with engine Memory.
    pub rows: MemoryTables,
}

impl TemporaryTables {
    /// `budget` is the process's: the rows outlive the statements that bring them.
    pub fn new(budget: MemoryBudget) -> TemporaryTables {
        TemporaryTables { tables: RwLock::default(), rows: MemoryTables::new(budget) }
    }

    pub fn is_empty(&self) -> bool {
        self.tables.read().is_empty()
    }

    pub fn table(&self, name: &str) -> Option<Arc<TableState>> {
        self.tables.read().get(name).cloned()
    }

    /// All of them, by name.
    pub fn all(&self) -> Vec<Arc<TableState>> {
        self.tables.read().values().cloned().collect()
    }

    /// # Errors
    /// TABLE_ALREADY_EXISTS, unless the one of its name is to be replaced.
    pub fn create(&self, def: &Arc<TableDef>, replaces: bool) -> Result<(), Error> {
        let mut tables = self.tables.write();
        if !replaces && tables.contains_key(def.name.as_ref()) {
            return Err(already_exists(&def.name));
        }
        let old = tables.insert(def.name.to_string(), Arc::new(TableState::new(Arc::clone(def))));
        drop(tables);
        if let Some(old) = old {
            self.rows.clear(old.def.id);
        }
        Ok(())
    }

    /// Whether there was one.
    pub fn drop_table(&self, name: &str) -> bool {
        let dropped = self.tables.write().remove(name);
        if let Some(table) = &dropped {
            self.rows.clear(table.def.id);
        }
        dropped.is_some()
    }
}

pub fn already_exists(name: &str) -> Error {
    let message = format!("temporary table \"{name}\" already exists");
    Error::new(ErrorKind::AlreadyExists, ErrorCode::TABLE_ALREADY_EXISTS, message)
        .with_hint("use CREATE TEMPORARY TABLE IF NOT EXISTS")
}

pub fn unknown(name: &str) -> Error {
    Error::new(
        ErrorKind::UnknownObject,
        ErrorCode::UNKNOWN_TABLE,
        format!("temporary table \"{name}\" does not exist"),
    )
    .with_hint("it belongs to the session that created it, and ends with it")
}

impl std::fmt::Debug for TemporaryTables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TemporaryTables({})", self.tables.read().len())
    }
}
