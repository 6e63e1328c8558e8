//! `restore`: what the parts of a folder say of themselves, brought into a new folder when its log is gone.
//!
//! Invariant: the old folder is only read; every row that is brought back passed the sums of its part, and none is brought back
//! twice; whatever is not brought back is named. Parts cannot tell of rows that were only in the log, of tables without
//! parts, views, users and labels, nor that rows were dropped a moment ago (`docs/design/restore.md`).
//! Must not know: terminals.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use boundary::config::Config;
use boundary::error::{Error, ErrorKind};
use catalog::{Catalog, CatalogConfig, Op, read_root};
use host::{Host, MemoryBudget};
use mergetree::bring_in::bring_in;
use mergetree::lost::LOST_DIR;
use mergetree::origin::Origin;
use mergetree::survivors::{Candidate, Survivors, choose};
use model::{DatabaseId, ErrorCode, PartId, Seq, TableDef, TableId};
use parts::{FoundPart, PartFile, PartStore};

use crate::background::merging::rewriting_state;
use crate::context::database::Database;
use crate::context::services::Services;
use sinks::commit::commit;

/// Memory for the blocks that are sorted, of what the process may take.
const MEMORY_SHARE: u64 = 4;
/// Digits of a table's id behind its name, when another table has it.
const ID_DIGITS: usize = 8;

/// What is to be restored.
#[derive(Clone, Debug)]
pub struct RestoreRequest {
    /// The folder whose log is gone.
    pub from: PathBuf,
    /// Where the rows go; must not exist yet, or be empty.
    pub to: PathBuf,
    /// Take files from `lost/`, too: they may be of statements that never ended.
    pub with_lost: bool,
}

/// How far it is, in bytes of files: each is read twice, once to check it.
type Told<'a> = &'a mut dyn FnMut(RestoreProgress);

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RestoreProgress {
    pub bytes: u64,
    pub bytes_total: u64,
    pub rows: u64,
}

/// What became of one table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RestoredTable {
    pub database: String,
    pub name: String,
    pub rows: u64,
    /// Parts that were read, and parts whose rows others have.
    pub parts: u64,
    pub replaced: u64,
    /// What to know of it: damaged parts and how many rows are lost, another name.
    pub remarks: Vec<String>,
}

/// What came of it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Restored {
    pub tables: Vec<RestoredTable>,
    /// Files that do not say what they are, with the reason.
    pub passed_over: Vec<String>,
}

struct Found {
    part: FoundPart,
    origin: Origin,
    is_sound: bool,
    path: PathBuf,
}

/// Blocks until it is done.
///
/// # Errors
/// The old folder is sound, the new one is not empty, or a disk refuses; then the new one is of no use.
pub fn restore(host: &Host, request: &RestoreRequest, told: Told<'_>) -> Result<Restored, Error> {
    check_folders(host, request)?;
    let store = PartStore::local(host.clone(), request.from.clone());
    let mut restored = Restored::default();
    let mut progress = RestoreProgress::default();
    let files = files(request, &store)?;
    let look = |(table, part, key, bytes): PartKey| {
        let path = request.from.join(&key);
        match look(&store, (table, part), &key) {
            Ok((part, origin)) => Some((table, Found { part, origin, is_sound: false, path }, bytes)),
            Err(why) => {
                restored.passed_over.push(format!("{}: {why}", path.display()));
                None
            }
        }
    };
    let looked: Vec<(TableId, Found, u64)> = files.into_iter().filter_map(look).collect();
    progress.bytes_total = 2 * looked.iter().map(|(.., bytes)| bytes).sum::<u64>();
    let mut tables: BTreeMap<TableId, Vec<Found>> = BTreeMap::new();
    for (table, mut found, _) in looked {
        let checked = found.part.open(&store).and_then(|reader| {
            reader.check_pages(|bytes| {
                progress.bytes += bytes;
                told(progress);
            })
        });
        found.is_sound = checked.is_ok();
        tables.entry(table).or_default().push(found);
    }
    let database = Database::open(Config {
        root: Some(request.to.clone()),
        background: false,
        memory_bytes_max: Some(host.memory.limit()),
        ..Config::default()
    })?;
    let written = tables.into_iter().map(|(id, parts)| {
        let table = restore_table(&database.services, &store, (id, &parts), &mut progress, told)?;
        restored.tables.push(table);
        Ok(())
    });
    let written: Result<(), Error> = written.collect();
    database.services.runtimes.clone().block_on(database.close());
    written.map(|()| restored)
}

fn check_folders(host: &Host, request: &RestoreRequest) -> Result<(), Error> {
    let shown = |path: &Path| path.display().to_string();
    let refused = |message: String| Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message));
    if !host.disk.exists(&request.from)? {
        return refused(format!("{} does not exist", shown(&request.from)));
    }
    if request.to.starts_with(&request.from) || request.from.starts_with(&request.to) {
        return refused(
            "the new folder must not be inside of the old one, nor the old one inside of it".to_owned(),
        );
    }
    if !host.disk.list(&request.to)?.is_empty() {
        return refused(format!("{} is not empty: name a folder that is not there yet", shown(&request.to)));
    }
    let read = read_root(host, &request.from, CatalogConfig::default());
    let is_sound = read.is_ok_and(|read| {
        read.state.seq() > Seq::ZERO && read.findings.iter().all(|finding| !finding.is_damage())
    });
    if is_sound && !request.with_lost {
        let message = format!("the log of {} is whole: nothing has to be restored", shown(&request.from));
        let hint = "open the folder as it is; damaged parts are named by inspect --verify; --lost takes files from lost/ all the same";
        return Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message).with_hint(hint));
    }
    Ok(())
}

/// Files that are named as parts are: table, part, key, bytes.
type PartKey = (TableId, PartId, String, u64);

fn files(request: &RestoreRequest, store: &PartStore) -> Result<Vec<PartKey>, Error> {
    let mut found: Vec<PartFile> = Vec::new();
    for table in store.list_tables()? {
        found.extend(store.list_files(table)?);
    }
    if request.with_lost {
        for batch in store.storage().list(LOST_DIR)?.iter().filter(|entry| entry.is_dir) {
            let batch = format!("{LOST_DIR}/{}", batch.name);
            for table in store.storage().list(&batch)? {
                let Some(id) = TableId::parse(&table.name) else { continue };
                found.extend(store.list_folder(id, &format!("{batch}/{}", table.name))?);
            }
        }
    }
    let named = |file: PartFile| Some((file.table, file.part?, file.key, file.bytes));
    let mut found: Vec<PartKey> = found.into_iter().filter_map(named).collect();
    // A part that is in both places is one part.
    found.sort_by(|a, b| (a.0, a.1, &a.2).cmp(&(b.0, b.1, &b.2)));
    found.dedup_by_key(|file| (file.0, file.1));
    Ok(found)
}

fn look(
    store: &PartStore,
    (table, part): (TableId, PartId),
    key: &str,
) -> Result<(FoundPart, Origin), String> {
    let found = FoundPart::look(store, key, (table, part)).map_err(|e| e.to_string())?;
    let origin = Origin::of(&found)?;
    match origin.def.id == table {
        true => Ok((found, origin)),
        false => Err(format!("it belongs to table {}", origin.def.id)),
    }
}

/// Makes the table as its newest part knows it, and reads what is left of it.
fn restore_table(
    services: &Arc<Services>,
    store: &PartStore,
    (id, parts): (TableId, &[Found]),
    progress: &mut RestoreProgress,
    told: Told<'_>,
) -> Result<RestoredTable, Error> {
    let newest = parts.iter().max_by_key(|found| (found.origin.def.schema_version, written(found)));
    let Some(newest) = newest else { return Err(Error::internal(format!("no part of table {id}"))) };
    let mut restored = RestoredTable { database: newest.origin.database.clone(), ..RestoredTable::default() };
    let def = define(&services.catalog, &services.host, &newest.origin, &mut restored)?;
    let table = services.tables.rewriting_handle(&def, &|| Ok(rewriting_state(services)))?;
    let Survivors { taken, replaced, lost } = choose(&candidates(parts));
    let memory: MemoryBudget = services.host.memory.child(services.host.memory.limit() / MEMORY_SHARE);
    for id in taken {
        let Some(found) = parts.iter().find(|found| found.part.id() == id) else { continue };
        let rows = bring_in(&table, store, (&found.part, &found.origin.def), &memory);
        let rows = rows.map_err(|error| Error::from(error).in_context(&found.path.display().to_string()))?;
        restored.rows += rows;
        restored.parts += 1;
        progress.rows += rows;
        progress.bytes += found.part.bytes();
        told(*progress);
    }
    restored.replaced = replaced.len() as u64;
    for (id, rows) in lost {
        let path =
            parts.iter().find(|found| found.part.id() == id).map(|found| found.path.display().to_string());
        restored.remarks.push(format!("{rows} rows are lost: {} is damaged", path.unwrap_or_default()));
    }
    Ok(restored)
}

fn written(found: &Found) -> (u64, u64) {
    (found.origin.seq, found.origin.created_ms)
}

fn candidates(parts: &[Found]) -> Vec<Candidate> {
    let one = |found: &Found| Candidate {
        id: found.part.id(),
        is_sound: found.is_sound,
        rows: found.part.rows(),
        written: written(found),
        replaced: found.origin.replaced.clone(),
    };
    parts.iter().map(one).collect()
}

/// Creates the table, and its database if it is not there; under another name if its own is taken.
fn define(
    catalog: &Catalog,
    host: &Host,
    origin: &Origin,
    restored: &mut RestoredTable,
) -> Result<Arc<TableDef>, Error> {
    let snapshot = catalog.snapshot();
    let mut ops = Vec::new();
    let database_id = match snapshot.database(&origin.database) {
        Some(found) => found.id,
        None => {
            let bytes = host::random::uuid_bytes(host.random.as_ref());
            let id = DatabaseId::from_random_bytes(bytes);
            ops.push(Op::CreateDatabase { id, name: origin.database.as_str().into() });
            id
        }
    };
    let mut name = origin.def.name.to_string();
    if snapshot.table(database_id, &name).is_some() {
        let id = origin.def.id.to_string();
        name = format!("{name}_{}", &id[..ID_DIGITS]);
        restored.remarks.push(format!("it was called {} as another table that was found", origin.def.name));
    }
    restored.name.clone_from(&name);
    let def = TableDef { database: database_id, name: name.as_str().into(), ..origin.def.clone() };
    ops.push(Op::CreateTable(def));
    commit(catalog, host, snapshot.seq(), Vec::new(), ops, None)?;
    let made = catalog.snapshot().table_by_id(origin.def.id);
    made.map(|made| Arc::clone(&made.def)).ok_or_else(|| Error::internal("the table was not made"))
}
