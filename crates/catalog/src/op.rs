//! The complete list of things that can happen to a database.
//!
//! Invariant: an op names everything it changes by id; block numbers, seqs and times are given when it is applied, in
//! log order, so that replaying the log gives the same state again. Must not know: bytes on disk (`op_format`).

use std::sync::Arc;

use bytes::Bytes;
use model::{
    DatabaseId, ExportId, ExportObject, Label, LoadId, PartId, SealedPart, Seq, StagedFile, StagedInput,
    StagedUnit, TableDef, TableId, TxnId,
};

use crate::collections::Collection;

/// An atomic list of ops. All of it happens, at one `Seq`, or none of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Transaction {
    pub id: TxnId,
    /// The snapshot the ops were decided on. A flush whose table was flushed or truncated after it is refused.
    pub read_seq: Seq,
    pub preconditions: Vec<Precondition>,
    /// Removals (`RemovePart`, `Flushed`) happen first, the rest in this order. May be empty: then nothing is written.
    pub ops: Vec<Op>,
    /// Other processes know its id, and may commit it, too: where the log ended when it was given out. Its record lists the id.
    pub sent_at: Option<Seq>,
    /// It comes back, instead of being tried again, when others append faster: they may be asked to commit it.
    pub returns: bool,
    /// As it is stored: the ids it was joined of, if one of them is known to other processes.
    pub listed: Vec<TxnId>,
}

impl Transaction {
    /// A transaction without preconditions of its own; each op still checks what it needs.
    pub fn new(id: TxnId, read_seq: Seq, ops: Vec<Op>) -> Transaction {
        Transaction {
            id,
            read_seq,
            preconditions: Vec::new(),
            ops,
            sent_at: None,
            returns: false,
            listed: Vec::new(),
        }
    }
}

/// What must be true in the state the transaction joins. Checked once, before the record is written; not stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Precondition {
    PartLive {
        table: TableId,
        part: PartId,
    },
    /// Rows made for this version of the columns can still be stored: adding, dropping and renaming columns does not
    /// matter, a changed type or partition key does.
    SchemaCompatible {
        table: TableId,
        schema_version: u32,
    },
    TableExists {
        table: TableId,
    },
    /// No INSERT was given a block number since the table's next one was this: what was found out about its rows then
    /// is true of all it has now.
    NoRowsSince {
        table: TableId,
        next_block: u64,
    },
    LabelUnseen {
        database: DatabaseId,
        label: Label,
    },
    /// The export is open, and nobody has committed it.
    ExportUncommitted {
        export: ExportId,
    },
    /// Nothing was created, dropped, renamed or altered since the transaction's `read_seq`: the names, views, constraints and
    /// functions it was decided on are those there are.
    DefinitionsKept,
}

/// One change.
#[derive(Clone, PartialEq, Debug)]
pub enum Op {
    CreateDatabase {
        id: DatabaseId,
        name: Arc<str>,
    },
    /// Drops its tables too.
    DropDatabase {
        id: DatabaseId,
    },
    RenameDatabase {
        id: DatabaseId,
        name: Arc<str>,
    },
    CreateTable(TableDef),
    /// Its parts become removed parts; the table is remembered until their files are forgotten.
    DropTable {
        table: TableId,
    },
    RenameTable {
        table: TableId,
        database: DatabaseId,
        name: Arc<str>,
    },
    /// Both swap database and name.
    ExchangeTables {
        first: TableId,
        second: TableId,
    },
    TruncateTable {
        table: TableId,
    },
    /// The whole new definition: same id, name, database and engine, `schema_version` one higher.
    AlterTable(TableDef),
    /// A part of an insert gets the table's next block number. A part that replaces others (this transaction also has
    /// `RemovePart` or `Flushed` for its table) gets the blocks of what it replaces: its own `blocks` when they are
    /// set and lie within, otherwise all of them in its partition and bucket.
    AddPart(SealedPart),
    RemovePart {
        table: TableId,
        part: PartId,
    },
    /// Rows of an insert statement that live in the log until a flush. `bytes` is opaque here, but for one thing: the
    /// bytes of two statements, one behind the other, are the bytes of their rows together.
    InlineRows {
        table: TableId,
        schema_version: u32,
        rows: u64,
        bytes: Bytes,
    },
    /// The inline statements up to and including this seq are in parts of this transaction now.
    Flushed {
        table: TableId,
        up_to: Seq,
    },
    /// The files of these removed parts are gone. Parts already forgotten are passed over.
    ForgetParts {
        table: TableId,
        parts: Vec<PartId>,
    },
    /// Names a load; refused when the database has seen the label. The fingerprint tells a repeated statement from
    /// another one that took the same name; `rows` is what the first one answers its repetitions with.
    Label {
        database: DatabaseId,
        label: Label,
        fingerprint: u128,
        rows: u64,
    },
    /// Names an insert by a hash of its user's token or of its rows; refused when the table has seen the token.
    DedupToken {
        table: TableId,
        token: u128,
        fingerprint: u128,
        rows: u64,
    },
    /// Begins a load that outlives its statement: what it reads is frozen here, and its label is taken.
    StageOpen {
        load: LoadId,
        database: DatabaseId,
        label: Label,
        table: TableId,
        fingerprint: u128,
        schema_version: u32,
        statement: Arc<str>,
        files: Vec<StagedFile>,
        units: Vec<StagedUnit>,
        /// `None` in the logs of programs that did not keep it.
        input: Option<Arc<StagedInput>>,
        /// No unit comes later.
        is_sealed: bool,
    },
    /// More units of a load that is not sealed; they are numbered on. Each lies where the file's last one ended.
    StageUnits {
        load: LoadId,
        units: Vec<StagedUnit>,
    },
    /// The units are all there: every file is covered by them.
    StageSeal {
        load: LoadId,
    },
    /// The rows of these units are in these parts, all of them and no others. Nobody sees the parts yet.
    StageAdd {
        load: LoadId,
        units: Vec<u32>,
        parts: Vec<SealedPart>,
        rows: u64,
    },
    /// Every staged part becomes a live part with the table's next block number; the load is over.
    StagePublish {
        load: LoadId,
    },
    /// Every staged part becomes a removed part; the load is over and its label free again.
    StageAbort {
        load: LoadId,
    },
    CreateCollection {
        name: Arc<str>,
        entries: Collection,
    },
    /// Sets keys and takes keys away, whatever else the collection holds by then.
    AlterCollection {
        name: Arc<str>,
        set: Collection,
        deleted: Vec<Arc<str>>,
    },
    DropCollection {
        name: Arc<str>,
    },
    /// These objects outside of the database are being written, and are to be aborted unless the export is committed.
    /// The first ones open the export.
    ExportOpen {
        export: ExportId,
        query_id: Arc<str>,
        objects: Vec<ExportObject>,
    },
    /// The objects are written, all of them; from now on they are to be completed.
    ExportCommit {
        export: ExportId,
        objects: Vec<ExportObject>,
        rows: u64,
    },
    /// Every object was completed, or every one aborted.
    ExportEnd {
        export: ExportId,
    },
    /// Its name finds it no more, and is not free. Its rows stay.
    DetachTable {
        table: TableId,
        is_permanent: bool,
    },
    AttachTable {
        table: TableId,
    },
    /// A function that a statement made, or another one under its name.
    CreateFunction {
        name: Arc<str>,
        lambda: Arc<str>,
    },
    DropFunction {
        name: Arc<str>,
    },
    /// Files of parts that were begun before this time and that nothing names are deleted from now on: whoever wrote such a part
    /// comes too late with it.
    PartsSwept {
        before_ms: u64,
    },
    /// What was inserted once may be inserted again: rows of it are taken away.
    ForgetTokens {
        table: TableId,
    },
}

impl Op {
    /// The table an op is about, if it is about one.
    pub fn table(&self) -> Option<TableId> {
        match self {
            Op::CreateTable(def) | Op::AlterTable(def) => Some(def.id),
            Op::AddPart(part) => Some(part.descriptor().table),
            Op::DropTable { table }
            | Op::RenameTable { table, .. }
            | Op::TruncateTable { table }
            | Op::RemovePart { table, .. }
            | Op::InlineRows { table, .. }
            | Op::Flushed { table, .. }
            | Op::ForgetParts { table, .. }
            | Op::DedupToken { table, .. }
            | Op::DetachTable { table, .. }
            | Op::AttachTable { table }
            | Op::ForgetTokens { table }
            | Op::StageOpen { table, .. } => Some(*table),
            Op::ExchangeTables { first, .. } => Some(*first),
            Op::CreateDatabase { .. }
            | Op::DropDatabase { .. }
            | Op::RenameDatabase { .. }
            | Op::Label { .. }
            | Op::StageUnits { .. }
            | Op::StageSeal { .. }
            | Op::StageAdd { .. }
            | Op::StagePublish { .. }
            | Op::StageAbort { .. }
            | Op::CreateCollection { .. }
            | Op::AlterCollection { .. }
            | Op::DropCollection { .. }
            | Op::ExportOpen { .. }
            | Op::ExportCommit { .. }
            | Op::ExportEnd { .. }
            | Op::CreateFunction { .. }
            | Op::DropFunction { .. }
            | Op::PartsSwept { .. } => None,
        }
    }

    /// Whether it changes what names, views, constraints or functions there are.
    pub fn defines(&self) -> bool {
        matches!(
            self,
            Op::CreateDatabase { .. }
                | Op::DropDatabase { .. }
                | Op::RenameDatabase { .. }
                | Op::CreateTable(_)
                | Op::DropTable { .. }
                | Op::RenameTable { .. }
                | Op::ExchangeTables { .. }
                | Op::AlterTable(_)
                | Op::DetachTable { .. }
                | Op::AttachTable { .. }
                | Op::CreateFunction { .. }
                | Op::DropFunction { .. }
        )
    }

    /// Whether the state keeps the time of this op. Only then is it worth its bytes in the log.
    pub fn keeps_time(&self) -> bool {
        matches!(
            self,
            Op::DropDatabase { .. }
                | Op::CreateTable(_)
                | Op::AlterTable(_)
                | Op::DropTable { .. }
                | Op::RenameTable { .. }
                | Op::ExchangeTables { .. }
                | Op::TruncateTable { .. }
                | Op::RemovePart { .. }
                | Op::Label { .. }
                | Op::DedupToken { .. }
                | Op::StageOpen { .. }
                | Op::StageAdd { .. }
                | Op::StageAbort { .. }
                | Op::ExportOpen { .. }
        )
    }
}

/// The kind of an op in one word, for errors and `inspect`.
pub fn title(op: &Op) -> &'static str {
    match op {
        Op::CreateDatabase { .. } => "CreateDatabase",
        Op::DropDatabase { .. } => "DropDatabase",
        Op::RenameDatabase { .. } => "RenameDatabase",
        Op::CreateTable(_) => "CreateTable",
        Op::DropTable { .. } => "DropTable",
        Op::RenameTable { .. } => "RenameTable",
        Op::ExchangeTables { .. } => "ExchangeTables",
        Op::TruncateTable { .. } => "TruncateTable",
        Op::AlterTable(_) => "AlterTable",
        Op::AddPart(_) => "AddPart",
        Op::RemovePart { .. } => "RemovePart",
        Op::InlineRows { .. } => "InlineRows",
        Op::Flushed { .. } => "Flushed",
        Op::ForgetParts { .. } => "ForgetParts",
        Op::Label { .. } => "Label",
        Op::DedupToken { .. } => "DedupToken",
        Op::StageOpen { .. } => "StageOpen",
        Op::StageUnits { .. } => "StageUnits",
        Op::StageSeal { .. } => "StageSeal",
        Op::StageAdd { .. } => "StageAdd",
        Op::StagePublish { .. } => "StagePublish",
        Op::StageAbort { .. } => "StageAbort",
        Op::CreateCollection { .. } => "CreateCollection",
        Op::AlterCollection { .. } => "AlterCollection",
        Op::DropCollection { .. } => "DropCollection",
        Op::ExportOpen { .. } => "ExportOpen",
        Op::ExportCommit { .. } => "ExportCommit",
        Op::ExportEnd { .. } => "ExportEnd",
        Op::DetachTable { .. } => "DetachTable",
        Op::AttachTable { .. } => "AttachTable",
        Op::CreateFunction { .. } => "CreateFunction",
        Op::DropFunction { .. } => "DropFunction",
        Op::PartsSwept { .. } => "PartsSwept",
        Op::ForgetTokens { .. } => "ForgetTokens",
    }
}
