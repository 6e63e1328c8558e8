//! The database of one life of the simulated machine: opening it, reading it, and which of its errors are excused.
//!
//! Invariant: an error is excused only while the machine has stopped or something was made to fail on purpose.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use catalog::{Catalog, CatalogConfig, Snapshot, State, TableState, default_database_id};
use host::{Host, SimWorld};
use mergetree::{Table, TableError, collect, inline};
use model::{ColumnId, PartDescriptor, Seq};
use parts::open_part;

use crate::checker::{Journal, Source};
use crate::statement::{Row, rows_of, table_definition};
use crate::tables::handle;

/// Every named point between two durable steps, those of a record first.
pub(crate) const POINTS: [&str; 17] = [
    "commitlog.record.write",
    "commitlog.record.sync",
    "commitlog.record.synced",
    "commitlog.new_segment.sync",
    "commitlog.new_segment.anchor",
    "commitlog.anchor.write",
    "catalog.checkpoint.write",
    "catalog.checkpoint.rename",
    "catalog.checkpoint.renamed",
    "catalog.checkpoint.drop",
    "parts.seal.sync",
    "parts.seal.synced",
    "parts.sealed",
    "mergetree.flush.commit",
    "mergetree.merge.commit",
    "mergetree.collect.delete",
    "mergetree.collect.forget",
];

/// How many of them are around the sync of a record.
pub(crate) const RECORD_POINTS: usize = 3;

const ROOT: &str = "/db";

/// Between some lives what was put aside goes, between others it stays.
const LOST_MS: u64 = 4 * 3_600_000;

pub(crate) struct Database {
    pub(crate) table: Table,
    pub(crate) world: SimWorld,
    /// Something other than the machine fails in this life.
    pub(crate) disturbed: bool,
}

impl Database {
    /// Opens as a server does: the log, then aside with files that no record names.
    pub(crate) fn open(host: &Host, world: &SimWorld) -> Result<Database, TableError> {
        let mut config = CatalogConfig::default();
        // Small, so that a life sees several segments.
        config.log.segment_bytes_max = 12 << 10;
        config.log.record_bytes_max = 8 << 10;
        let catalog = Arc::new(Catalog::open(host, Path::new(ROOT), config)?);
        let table = handle(host, Path::new(ROOT), catalog, table_definition());
        if let Some(finding) = table.catalog.findings().iter().find(|finding| finding.is_damage()) {
            return Err(TableError::Gather(format!("nothing is damaged, and it says: {finding}")));
        }
        let found = collect::orphans_at_open(&table.catalog, &table.store, LOST_MS)?;
        if let Some(missing) = found.missing.first() {
            return Err(TableError::Gather(format!("{} is said to be missing", missing.display())));
        }
        Ok(Database { table, world: world.clone(), disturbed: false })
    }

    pub(crate) fn host(&self) -> &Host {
        &self.table.host
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        &self.table.catalog
    }

    /// Everything as it was last published.
    pub(crate) fn state(&self) -> State {
        self.catalog().snapshot().state().clone()
    }

    pub(crate) fn table_state(&self) -> Arc<TableState> {
        self.catalog().snapshot().table_by_id(self.table.def.id).unwrap()
    }

    /// Passes over an error that was to be expected; any other is a violation.
    pub(crate) fn excuse(&self, what: &str, error: impl Display) -> Result<(), String> {
        match self.world.crashed() || self.disturbed {
            true => Ok(()),
            false => Err(format!("{what} failed, and nothing was wrong: {error}")),
        }
    }

    /// All rows of a snapshot, by block.
    pub(crate) fn read(&self, snapshot: &Snapshot) -> Result<Vec<Source>, TableError> {
        let state = snapshot.table_by_id(self.table.def.id).unwrap();
        let mut sources = Vec::new();
        for part in state.parts() {
            let rows = self.read_part(part)?;
            sources.push(Source { name: part.name(), blocks: (part.blocks.min, part.blocks.max), rows });
        }
        for statement in state.inline() {
            let rows = rows_of(&inline::decode(&self.table.def, statement)?);
            let (name, block) = (format!("inline statement {}", statement.block), statement.block);
            sources.push(Source { name, blocks: (block, block), rows });
        }
        sources.sort_by_key(|source| source.blocks);
        Ok(sources)
    }

    fn read_part(&self, part: &PartDescriptor) -> Result<Vec<Row>, TableError> {
        let columns: Vec<ColumnId> = self.table.def.columns.iter().map(|column| column.id).collect();
        let mut rows = Vec::new();
        for batch in open_part(&self.table.store, part)?.read(&columns, None, 1000)? {
            rows.extend(rows_of(&batch?));
        }
        Ok(rows)
    }

    /// Reads everything and compares it with itself and with the journal. Nothing may fail.
    pub(crate) fn check(&self, journal: &Journal) -> Result<(), String> {
        let snapshot = self.catalog().snapshot();
        let state = self.table_state();
        for part in state.parts() {
            let verified = parts::verify(&self.table.store, part, &self.table.keys.sort);
            verified.map_err(|error| format!("live part {}: {error}", part.name()))?;
        }
        let sources = self.read(&snapshot).map_err(|error| format!("cannot be read: {error}"))?;
        journal.check(&sources)?;
        let rows: usize = sources.iter().map(|source| source.rows.len()).sum();
        if rows as u64 != state.rows() {
            return Err(format!("{rows} rows were read of {}", state.rows()));
        }
        self.check_files(&state)
    }

    /// A label is known exactly if its statement is there.
    pub(crate) fn check_labels(&self, journal: &Journal) -> Result<(), String> {
        let snapshot = self.catalog().snapshot();
        for (id, present) in journal.labelled() {
            let seen = snapshot.label(default_database_id(), &id.label());
            let fingerprint = seen.map(|label| label.fingerprint);
            let wanted = present.map(|present| present.then(|| id.fingerprint()));
            if wanted.is_some_and(|wanted| wanted != fingerprint) {
                return Err(format!("the label of {id:?} is {fingerprint:?}, not {wanted:?}"));
            }
        }
        Ok(())
    }

    /// Live parts have files, and every file is one of a part that is or was.
    fn check_files(&self, state: &TableState) -> Result<(), String> {
        let store = &self.table.store;
        let files = store.list_files(self.table.def.id).map_err(|error| error.to_string())?;
        let files: BTreeSet<PathBuf> =
            files.into_iter().map(|file| store.storage().place(&file.key)).collect();
        let live: BTreeSet<PathBuf> = state.parts().map(|part| self.table.store.path(part)).collect();
        let removed = state.removed().map(|removed| self.table.store.path(&removed.descriptor));
        let named: BTreeSet<PathBuf> = live.iter().cloned().chain(removed).collect();
        if let Some(lost) = live.difference(&files).next() {
            return Err(format!("the file of a live part is gone: {}", lost.display()));
        }
        match files.difference(&named).next() {
            Some(left_over) => Err(format!("nobody names {}", left_over.display())),
            None => Ok(()),
        }
    }

    /// Temporary files of checkpoints are gone.
    pub(crate) fn check_checkpoints(&self) -> Result<(), String> {
        match self.names("ckpt")?.iter().find(|name| !name.ends_with(".parquet")) {
            Some(name) => Err(format!("{name} is left over")),
            None => Ok(()),
        }
    }

    /// After two checkpoints at different seqs nothing older is kept: not a checkpoint, and no segment that ends
    /// before the first of the two.
    pub(crate) fn check_log(&self, previous: Seq, newest: Seq) -> Result<(), String> {
        let checkpoints = self.names("ckpt")?;
        let kept = [previous, newest].map(|seq| format!("{:020}.parquet", seq.0));
        if checkpoints != kept {
            return Err(format!("checkpoints {checkpoints:?} are kept, not {kept:?}"));
        }
        let segments = self.names("wal")?;
        let first_seqs: Vec<u64> =
            segments.iter().filter_map(|name| name.strip_suffix(".seg")?.parse().ok()).collect();
        match first_seqs.windows(2).find(|pair| pair[1] <= previous.0 + 1) {
            Some(pair) => Err(format!("segment {} ends before checkpoint {previous} and is kept", pair[0])),
            None => Ok(()),
        }
    }

    /// The newest segment of the log of a machine on which nothing runs.
    pub(crate) fn newest_segment(host: &Host) -> Option<PathBuf> {
        let dir = Path::new(ROOT).join("stream").join("0").join("wal");
        let names = host.disk.list(&dir).ok()?.into_iter().map(|entry| dir.join(entry.name));
        names.filter(|path| path.extension().is_some_and(|extension| extension == "seg")).max()
    }

    /// What lies in a folder of the log.
    fn names(&self, folder: &str) -> Result<Vec<String>, String> {
        let dir = Path::new(ROOT).join("stream").join("0").join(folder);
        let entries = self.host().disk.list(&dir).map_err(|error| error.to_string())?;
        Ok(entries.into_iter().map(|entry| entry.name).collect())
    }
}
