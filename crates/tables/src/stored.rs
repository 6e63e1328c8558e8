//! Tables ready to be written and merged: their definitions with compiled keys.
//!
//! Invariant: a handle belongs to one schema version; another version is another handle. A default that asks about
//! its statement (`now()`) is compiled for that statement and never kept.

use std::collections::HashMap;
use std::sync::Arc;

use boundary::error::Error;
use catalog::Catalog;
use datafusion::execution::SessionState;
use host::Host;
use mergetree::Table;
use model::{DefaultKind, Evolution, TableDef, TableId, TableKeys};
use parking_lot::Mutex;
use parts::PartStore;

use crate::alias_columns::check_aliases;
use crate::conform::Defaults;
use crate::constraints::{Constraints, compile_constraints};
use crate::defaults::{check_defaults, compile_default};
use crate::evolving::compile_evolution;
use crate::insert_shape::InsertShape;
use crate::row_expr::compile_keys;
use crate::ttl::check_ttl;

/// Handles kept before the whole cache is dropped; they are cheap to make again.
const HANDLES_MAX: usize = 4096;
/// Lists of columns of one table that INSERTs use, kept before they are dropped; each is compared with the others.
const SHAPES_OF_TABLE_MAX: usize = 32;

pub struct Tables {
    catalog: Arc<Catalog>,
    store: PartStore,
    host: Host,
    /// Functions and planners, nothing of any session.
    state: SessionState,
    handles: Mutex<HashMap<(TableId, u32), Handle>>,
    shapes: Mutex<HashMap<(TableId, u32), Vec<KnownShape>>>,
}

/// A shape, the definition it belongs to, and the columns an INSERT lists.
struct KnownShape {
    def: Arc<TableDef>,
    columns: Option<Vec<String>>,
    shape: Arc<InsertShape>,
}

impl KnownShape {
    fn is_of(&self, def: &Arc<TableDef>, columns: Option<&[String]>) -> bool {
        Arc::ptr_eq(&self.def, def) && self.columns.as_deref() == columns
    }
}

/// A table with the expressions of its columns' defaults.
type Handle = (Table, KnownDefaults);

/// What is known about a table's defaults for all statements.
#[derive(Clone)]
pub enum KnownDefaults {
    Same(Arc<Defaults>),
    /// One of them asks about the statement.
    OfStatement,
}

/// Functions and planners of one statement, made if somebody asks.
pub type StatementState<'a> = &'a dyn Fn() -> Result<SessionState, Error>;

impl Tables {
    pub fn new(catalog: Arc<Catalog>, store: PartStore, host: Host, state: SessionState) -> Tables {
        Tables { catalog, store, host, state, handles: Mutex::default(), shapes: Mutex::default() }
    }

    /// The table with its keys and column defaults compiled.
    pub fn handle(&self, def: &Arc<TableDef>) -> Result<Handle, Error> {
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

    /// The defaults as they are in one statement.
    pub fn defaults(
        &self,
        def: &Arc<TableDef>,
        statement: StatementState<'_>,
    ) -> Result<Arc<Defaults>, Error> {
        match self.handle(def)?.1 {
            KnownDefaults::Same(defaults) => Ok(defaults),
            KnownDefaults::OfStatement => Ok(Arc::new(compile_defaults(&statement()?, def)?.0)),
        }
    }

    /// What the rows of one statement are asked, and whether it is the same in every statement.
    pub fn constraints(
        &self,
        def: &Arc<TableDef>,
        statement: StatementState<'_>,
    ) -> Result<(Option<Arc<Constraints>>, bool), Error> {
        match compile_constraints(&self.state, def, &self.catalog)? {
            (_, true) => Ok((compile_constraints(&statement()?, def, &self.catalog)?.0, false)),
            (found, false) => Ok((found, true)),
        }
    }

    /// What an INSERT of these columns needs to know.
    pub fn insert_shape(
        &self,
        def: &Arc<TableDef>,
        columns: Option<&[String]>,
        statement: StatementState<'_>,
    ) -> Result<Arc<InsertShape>, Error> {
        let key = (def.id, def.schema_version);
        if let Some(known) = self.shapes.lock().get(&key)
            && let Some(known) = known.iter().find(|known| known.is_of(def, columns))
        {
            return Ok(Arc::clone(&known.shape));
        }
        let (table, known) = self.handle(def)?;
        let defaults = self.defaults(def, statement)?;
        let (constraints, is_same) = self.constraints(def, statement)?;
        let shape = Arc::new(InsertShape::new(table, columns, &defaults, constraints)?);
        if matches!(known, KnownDefaults::OfStatement) || !is_same {
            return Ok(shape);
        }
        let mut shapes = self.shapes.lock();
        if shapes.len() >= HANDLES_MAX {
            shapes.clear();
        }
        let of_table = shapes.entry(key).or_default();
        of_table.retain(|known| Arc::ptr_eq(&known.def, def));
        if of_table.len() >= SHAPES_OF_TABLE_MAX {
            of_table.clear();
        }
        let columns = columns.map(<[String]>::to_vec);
        of_table.push(KnownShape { def: Arc::clone(def), columns, shape: Arc::clone(&shape) });
        Ok(shape)
    }

    /// How older rows become rows of `def` in one statement, and whether that is the same in every one.
    pub fn evolution(
        &self,
        def: &Arc<TableDef>,
        statement: StatementState<'_>,
    ) -> Result<(Arc<Evolution>, bool), Error> {
        match self.handle(def)? {
            (table, KnownDefaults::Same(_)) => Ok((Arc::clone(&table.keys.evolution), true)),
            (_, KnownDefaults::OfStatement) => {
                Ok((Arc::new(compile_evolution(&statement()?, def)?.0), false))
            }
        }
    }

    /// The table as a merge or a flush takes it: what asks about its statement is answered as of now, for good.
    pub fn rewriting_handle(
        &self,
        def: &Arc<TableDef>,
        statement: StatementState<'_>,
    ) -> Result<Table, Error> {
        let (table, known) = self.handle(def)?;
        if matches!(known, KnownDefaults::Same(_)) {
            return Ok(table);
        }
        let evolution = Arc::new(compile_evolution(&statement()?, def)?.0);
        let keys = TableKeys { evolution, ..table.keys.as_ref().clone() };
        Ok(Table { keys: Arc::new(keys), ..table })
    }

    /// Forgets the tables and versions of columns that are not asked for any more.
    pub fn retain(&self, is_current: impl Fn(TableId, u32) -> bool) {
        self.handles.lock().retain(|(table, version), _| is_current(*table, *version));
        self.shapes.lock().retain(|(table, version), _| is_current(*table, *version));
    }

    /// Whether all that a definition says can be done, before it is durable: types and functions of its keys, defaults,
    /// constraints and TTLs.
    pub fn check(&self, def: &Arc<TableDef>) -> Result<(), Error> {
        check_defaults(&self.state, def)?;
        self.compile(def)?;
        check_ttl(&self.state, def)?;
        compile_constraints(&self.state, def, &self.catalog).map(drop)
    }

    /// Compiles without keeping.
    pub fn compile(&self, def: &Arc<TableDef>) -> Result<Handle, Error> {
        check_aliases(&self.state, def)?;
        let mut keys = compile_keys(&self.state, def)?;
        keys.evolution = Arc::new(compile_evolution(&self.state, def)?.0);
        let table = Table {
            def: Arc::clone(def),
            keys: Arc::new(keys),
            catalog: Arc::clone(&self.catalog),
            store: self.store.clone(),
            host: self.host.clone(),
        };
        let (defaults, asks) = compile_defaults(&self.state, def)?;
        let known = if asks { KnownDefaults::OfStatement } else { KnownDefaults::Same(Arc::new(defaults)) };
        Ok((table, known))
    }

    /// The table and its defaults as they are in one statement; nothing of it is kept.
    pub fn compile_once(
        &self,
        def: &Arc<TableDef>,
        statement: StatementState<'_>,
    ) -> Result<(Table, Arc<Defaults>), Error> {
        let (table, known) = self.compile(def)?;
        let defaults = match known {
            KnownDefaults::Same(defaults) => defaults,
            KnownDefaults::OfStatement => Arc::new(compile_defaults(&statement()?, def)?.0),
        };
        Ok((table, defaults))
    }
}

/// The defaults of the columns an INSERT writes, and whether one of them asks about its statement.
fn compile_defaults(state: &SessionState, def: &TableDef) -> Result<(Defaults, bool), Error> {
    let mut asks = false;
    let mut defaults = Defaults::new();
    for column in def.written_columns() {
        defaults.push(match &column.default {
            Some((DefaultKind::Default | DefaultKind::Materialized | DefaultKind::Ephemeral, text)) => {
                let (default, asked) = compile_default(state, def, text)?;
                asks |= asked.is_some();
                Some(default)
            }
            _ => None,
        });
    }
    Ok((defaults, asks))
}

impl std::fmt::Debug for Tables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tables({})", self.handles.lock().len())
    }
}
