//! Tables ready to be written and merged: their definitions with compiled keys.
//!
//! Invariant: a handle belongs to one schema version; another version is another handle.

use std::collections::HashMap;
use std::sync::Arc;

use catalog::Catalog;
use datafusion::execution::SessionState;
use host::Host;
use mergetree::Table;
use model::{DefaultKind, RowExpr, TableDef, TableId};
use parking_lot::Mutex;
use parts::PartStore;

use crate::conform::Defaults;
use crate::error::Error;
use crate::row_expr::{compile, compile_keys};

/// Handles kept before the whole cache is dropped; they are cheap to make again.
const HANDLES_MAX: usize = 4096;

pub(crate) struct Tables {
    catalog: Arc<Catalog>,
    store: PartStore,
    host: Host,
    /// Functions and planners, nothing of any session.
    state: SessionState,
    handles: Mutex<HashMap<(TableId, u32), Handle>>,
}

/// A table with the expressions of its columns' defaults.
type Handle = (Table, Arc<Defaults>);

impl Tables {
    pub(crate) fn new(catalog: Arc<Catalog>, store: PartStore, host: Host, state: SessionState) -> Tables {
        Tables { catalog, store, host, state, handles: Mutex::new(HashMap::new()) }
    }

    /// The table with its keys and column defaults compiled.
    pub(crate) fn handle(&self, def: &Arc<TableDef>) -> Result<Handle, Error> {
        let key = (def.id, def.schema_version);
        if let Some(handle) = self.handles.lock().get(&key)
            && Arc::ptr_eq(&handle.0.def, def)
        {
            return Ok(handle.clone());
        }
        let handle = self.compile(def)?;
        let mut handles = self.handles.lock();
        if handles.len() >= HANDLES_MAX {
            handles.clear();
        }
        handles.insert(key, handle.clone());
        Ok(handle)
    }

    /// Compiles without keeping: CREATE TABLE checks its expressions this way.
    pub(crate) fn compile(&self, def: &Arc<TableDef>) -> Result<Handle, Error> {
        let keys = Arc::new(compile_keys(&self.state, def)?);
        let table = Table {
            def: Arc::clone(def),
            keys,
            catalog: Arc::clone(&self.catalog),
            store: self.store.clone(),
            host: self.host.clone(),
        };
        let default = |column: &model::ColumnDef| -> Result<Option<Arc<dyn RowExpr>>, Error> {
            match &column.default {
                Some((DefaultKind::Default | DefaultKind::Materialized, text)) => {
                    compile(&self.state, def, text).map(Some)
                }
                _ => Ok(None),
            }
        };
        let defaults = def.stored_columns().map(default).collect::<Result<Defaults, Error>>()?;
        Ok((table, Arc::new(defaults)))
    }
}

impl std::fmt::Debug for Tables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tables({})", self.handles.lock().len())
    }
}
