//! The state at one `Seq`, kept readable until dropped.
//!
//! Invariant: a snapshot never changes, and no file of a part it shows is deleted while it lives. Clones share it. What
//! is taken out of it (`Arc<TableState>`) stays readable as data, but only the snapshot keeps the files.
//! Must not know: the log, writers.

use std::sync::Arc;

use model::{DatabaseId, Label, LoadId, Seq, TableId};

use crate::exports::ExportState;
use crate::labels::LabelState;
use crate::loads::StagedLoad;
use crate::pins::{Pin, Pins};
use crate::state::{DatabaseState, DroppedTable, State};
use crate::table_state::TableState;

#[derive(Clone, Debug)]
pub struct Snapshot {
    state: Arc<State>,
    _pin: Arc<Pin>,
}

impl Snapshot {
    /// Pins the newest published state.
    pub fn take(pins: &Pins, newest: impl FnOnce() -> Arc<State>) -> Snapshot {
        let (pin, state) = pins.pin(|| {
            let state = newest();
            (state.seq(), state)
        });
        Snapshot { state, _pin: Arc::new(pin) }
    }

    pub fn seq(&self) -> Seq {
        self.state.seq()
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    /// All databases by name, `default` and `system` among them.
    pub fn databases(&self) -> impl Iterator<Item = &Arc<DatabaseState>> {
        self.state.databases()
    }

    pub fn database(&self, name: &str) -> Option<Arc<DatabaseState>> {
        self.state.database(name).cloned()
    }

    pub fn database_by_id(&self, id: DatabaseId) -> Option<Arc<DatabaseState>> {
        self.state.database_by_id(id).cloned()
    }

    /// The tables of a database by name; none when there is no such database.
    pub fn tables(&self, database: DatabaseId) -> impl Iterator<Item = &Arc<TableState>> {
        self.state.tables(database)
    }

    /// The tables of all databases by id.
    pub fn all_tables(&self) -> impl Iterator<Item = &Arc<TableState>> {
        self.state.all_tables()
    }

    pub fn table(&self, database: DatabaseId, name: &str) -> Option<Arc<TableState>> {
        self.state.table(database, name).cloned()
    }

    /// A table that is out of sight.
    pub fn detached_table(&self, database: DatabaseId, name: &str) -> Option<Arc<TableState>> {
        self.state.detached_table(database, name).cloned()
    }

    pub fn table_by_id(&self, id: TableId) -> Option<Arc<TableState>> {
        self.state.table_by_id(id).cloned()
    }

    /// Dropped tables that still have removed parts to be collected.
    pub fn dropped_tables(&self) -> impl Iterator<Item = (TableId, &DroppedTable)> {
        self.state.dropped_tables()
    }

    pub fn label(&self, database: DatabaseId, label: &Label) -> Option<LabelState> {
        self.state.label(database, label).copied()
    }

    pub fn token(&self, table: TableId, token: u128) -> Option<LabelState> {
        self.state.token(table, token).copied()
    }

    /// Whether the table remembers any INSERT.
    pub fn has_tokens(&self, table: TableId) -> bool {
        self.state.tokens().has_scope(table)
    }

    /// Exports that are not over, by id.
    pub fn exports(&self) -> impl Iterator<Item = &Arc<ExportState>> {
        self.state.exports().iter()
    }

    /// Open loads by id.
    pub fn loads(&self) -> impl Iterator<Item = &Arc<StagedLoad>> {
        self.state.loads().iter()
    }

    pub fn load(&self, load: LoadId) -> Option<Arc<StagedLoad>> {
        self.state.loads().get(load).cloned()
    }

    /// The open load of a label.
    pub fn load_labelled(&self, database: DatabaseId, label: &Label) -> Option<Arc<StagedLoad>> {
        self.state.loads().labelled(database, label).cloned()
    }
}
