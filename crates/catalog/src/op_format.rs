//! Transactions and ops as bytes: what the log carries.
//!
//! ```text
//! transaction := needs varint | header length varint, header fields | op ...
//! op          := kind varint | length varint | fields
//! ```
//! `needs` is the oldest format version whose readers understand the transaction. Invariant: bytes of one version
//! never change their meaning; a new op is a new kind, a new attribute an optional field, and a reader refuses a kind
//! it does not know instead of passing over it. Must not know: records, checksums, checkpoints.

pub mod fields;
mod attributes;
pub mod collection_fields;
pub mod export_fields;
pub mod part_fields;
pub mod stage_fields;
pub mod table_fields;

use bytes::Bytes;
use model::saturating::u64_of;
use model::{DatabaseId, Label, LoadId, PartId, SealedPart, Seq, TableId, TxnId};

use crate::op::{Op, Transaction};
use attributes::Attributes;
use collection_fields::{read_collection, write_collection};
use fields::{FieldReader, FieldWriter, FormatError, put_varint};
use part_fields::{read_part, write_part};
use table_fields::{read_table, write_table};

/// The newest format version this program writes and reads. 2 knows tokens and staged loads, 3 named collections,
/// tables outside and exports, 4 views, 5 parts whose tail has a sum, 6 constraints, 7 detached tables, functions and the
/// engines of logs, 8 tables whose rows replace or cancel each other, or are added, 9 states and
/// clusters, 10 tables in the memory of all who share a root, 11 sweeps, 12 loads without a label and rows that more than one
/// process may commit, 13 loads that find their units as they go, 14 tokens that are forgotten, 15 tables of engine
/// Join and detached parts; what needs none of them is still written for readers of 1.
pub const VERSION: u64 = 15;

mod kind {
    pub(super) const CREATE_DATABASE: u64 = 1;
    pub(super) const DROP_DATABASE: u64 = 2;
    pub(super) const RENAME_DATABASE: u64 = 3;
    pub(super) const CREATE_TABLE: u64 = 4;
    pub(super) const DROP_TABLE: u64 = 5;
    pub(super) const RENAME_TABLE: u64 = 6;
    pub(super) const EXCHANGE_TABLES: u64 = 7;
    pub(super) const TRUNCATE_TABLE: u64 = 8;
    pub(super) const ALTER_TABLE: u64 = 9;
    pub(super) const ADD_PART: u64 = 10;
    pub(super) const REMOVE_PART: u64 = 11;
    pub(super) const INLINE_ROWS: u64 = 12;
    pub(super) const FLUSHED: u64 = 13;
    pub(super) const FORGET_PARTS: u64 = 14;
    pub(super) const LABEL: u64 = 15;
    pub(super) const DEDUP_TOKEN: u64 = 17;
    pub(super) const STAGE_OPEN: u64 = 32;
    pub(super) const STAGE_ADD: u64 = 33;
    pub(super) const STAGE_SEAL: u64 = 34;
    pub(super) const STAGE_PUBLISH: u64 = 35;
    pub(super) const STAGE_ABORT: u64 = 36;
    pub(super) const CREATE_COLLECTION: u64 = 37;
    pub(super) const ALTER_COLLECTION: u64 = 38;
    pub(super) const DROP_COLLECTION: u64 = 39;
    pub(super) const EXPORT_OPEN: u64 = 42;
    pub(super) const EXPORT_COMMIT: u64 = 43;
    pub(super) const EXPORT_END: u64 = 44;
    pub(super) const DETACH_TABLE: u64 = 45;
    pub(super) const ATTACH_TABLE: u64 = 46;
    pub(super) const CREATE_FUNCTION: u64 = 47;
    pub(super) const DROP_FUNCTION: u64 = 48;
    pub(super) const PARTS_SWEPT: u64 = 49;
    pub(super) const STAGE_UNITS: u64 = 50;
    pub(super) const FORGET_TOKENS: u64 = 51;
}

/// Kinds that are spoken for, their bytes unspecified until they are used: nobody else may take their numbers.
const RESERVED: [(u64, &str); 4] =
    [(16, "AddDeleteVector"), (18, "SourceOffsets"), (19, "Epoch"), (20, "MirrorAt")];

/// A transaction as replay sees it. Its preconditions held when it was written, and are not stored.
#[derive(Clone, PartialEq, Debug)]
pub struct StoredTransaction {
    pub id: TxnId,
    /// Milliseconds since the epoch; 0 when no op of it keeps a time.
    pub at_ms: u64,
    pub ops: Vec<Op>,
    /// See [`Transaction::listed`].
    pub listed: Vec<TxnId>,
}

/// Bytes of a transaction that is committed at `at_ms`, milliseconds since the epoch.
pub fn encode_transaction(transaction: &Transaction, at_ms: u64) -> Bytes {
    let mut header = FieldWriter::default();
    header.id(1, transaction.id.as_bytes());
    header.uint(2, stored_time(transaction, at_ms));
    transaction.listed.iter().for_each(|id| header.id(3, id.as_bytes()));
    let mut out = Vec::new();
    let of_header = if transaction.listed.is_empty() { 1 } else { 12 };
    put_varint(&mut out, transaction.ops.iter().map(needs).max().unwrap_or(1).max(of_header));
    put_sized(&mut out, &header.into_bytes());
    for op in &transaction.ops {
        let (kind, fields) = encode_op(op);
        put_varint(&mut out, kind);
        put_sized(&mut out, &fields);
    }
    out.into()
}

/// The oldest version whose readers know the op.
fn needs(op: &Op) -> u64 {
    match op {
        Op::AddPart(part) => part_fields::needs(part.descriptor()),
        Op::StageAdd { parts, .. } => {
            parts.iter().map(|part| part_fields::needs(part.descriptor())).max().unwrap_or(1).max(2)
        }
        Op::StageOpen { label, units, is_sealed, .. } => stage_fields::needs(label, units.iter(), *is_sealed),
        Op::StageUnits { .. } | Op::StageSeal { .. } => 13,
        Op::DedupToken { .. } | Op::StagePublish { .. } | Op::StageAbort { .. } => 2,
        Op::CreateCollection { .. } | Op::AlterCollection { .. } | Op::DropCollection { .. } => 3,
        Op::CreateTable(def) | Op::AlterTable(def) => table_fields::needs(def),
        Op::ExportOpen { .. } | Op::ExportCommit { .. } | Op::ExportEnd { .. } => 3,
        Op::DetachTable { .. } | Op::AttachTable { .. } => 7,
        Op::CreateFunction { .. } | Op::DropFunction { .. } => 7,
        Op::PartsSwept { .. } => 11,
        Op::ForgetTokens { .. } => 14,
        _ => 1,
    }
}

/// The time a transaction is applied with, now and at replay: 0 when nothing of it keeps one.
pub fn stored_time(transaction: &Transaction, at_ms: u64) -> u64 {
    if transaction.ops.iter().any(Op::keeps_time) { at_ms } else { 0 }
}

fn put_sized(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, u64_of(bytes.len()));
    out.extend_from_slice(bytes);
}

/// Reads what [`encode_transaction`] wrote; an error names what a newer program is needed for.
pub fn decode_transaction(bytes: &[u8]) -> Result<StoredTransaction, FormatError> {
    let mut reader = FieldReader::new("transaction", bytes);
    let needed = reader.varint()?;
    let mut header = FieldReader::new("transaction header", reader.sized()?);
    let (mut id, mut at_ms, mut ops, mut listed) = (None, 0, Vec::new(), Vec::new());
    while let Some(field) = header.next_field()? {
        match field.number {
            1 => id = Some(TxnId::from_bytes(field.id()?)),
            2 => at_ms = field.uint()?,
            3 => listed.push(TxnId::from_bytes(field.id()?)),
            _ => field.skip(VERSION)?,
        }
    }
    while !reader.is_empty() {
        let kind = reader.varint()?;
        ops.push(decode_op(kind, reader.sized()?, needed)?);
    }
    if needed > VERSION {
        return Err(FormatError::NewerVersion { what: "transaction", known: VERSION, needed });
    }
    let id = id.ok_or(FormatError::Missing { what: "transaction header", number: 1 })?;
    Ok(StoredTransaction { id, at_ms, ops, listed })
}

/// Kind and fields of one op.
fn encode_op(op: &Op) -> (u64, Vec<u8>) {
    let mut fields = FieldWriter::default();
    let kind = match op {
        Op::CreateDatabase { id, name } => {
            fields.id(1, id.as_bytes());
            fields.text(2, name);
            kind::CREATE_DATABASE
        }
        Op::DropDatabase { id } => {
            fields.id(1, id.as_bytes());
            kind::DROP_DATABASE
        }
        Op::RenameDatabase { id, name } => {
            fields.id(1, id.as_bytes());
            fields.text(2, name);
            kind::RENAME_DATABASE
        }
        Op::CreateTable(def) => {
            write_table(&mut fields, def);
            kind::CREATE_TABLE
        }
        Op::AlterTable(def) => {
            write_table(&mut fields, def);
            kind::ALTER_TABLE
        }
        Op::AddPart(part) => {
            write_part(&mut fields, part.descriptor());
            kind::ADD_PART
        }
        Op::Label { database, label, fingerprint, rows } => {
            fields.id(1, database.as_bytes());
            fields.text(2, label.as_str());
            fields.id(3, &fingerprint.to_le_bytes());
            fields.uint(4, *rows);
            kind::LABEL
        }
        Op::CreateCollection { name, entries } => {
            write_collection(&mut fields, name, entries, &[]);
            kind::CREATE_COLLECTION
        }
        Op::AlterCollection { name, set, deleted } => {
            write_collection(&mut fields, name, set, deleted);
            kind::ALTER_COLLECTION
        }
        Op::ExportOpen { export, query_id, objects } => {
            export_fields::write_export(&mut fields, *export, query_id, objects, 0);
            kind::EXPORT_OPEN
        }
        Op::ExportCommit { export, objects, rows } => {
            export_fields::write_export(&mut fields, *export, "", objects, *rows);
            kind::EXPORT_COMMIT
        }
        Op::ExportEnd { export } => {
            fields.id(1, export.as_bytes());
            kind::EXPORT_END
        }
        Op::CreateFunction { name, lambda } => {
            (1..).zip([name, lambda]).for_each(|(number, text)| fields.text(number, text));
            kind::CREATE_FUNCTION
        }
        Op::DropCollection { name } | Op::DropFunction { name } => {
            fields.text(1, name);
            let is_function = matches!(op, Op::DropFunction { .. });
            if is_function { kind::DROP_FUNCTION } else { kind::DROP_COLLECTION }
        }
        other => match stage_fields::encode_stage_op(other, &mut fields) {
            Some(kind) => kind,
            None => encode_table_op(other, &mut fields),
        },
    };
    (kind, fields.into_bytes())
}

/// The ops whose first field is their table, and one that has a number alone.
fn encode_table_op(op: &Op, fields: &mut FieldWriter) -> u64 {
    if let Some(table) = op.table() {
        fields.id(1, table.as_bytes());
    }
    match op {
        Op::DropTable { .. } => kind::DROP_TABLE,
        Op::RenameTable { database, name, .. } => {
            fields.id(2, database.as_bytes());
            fields.text(3, name);
            kind::RENAME_TABLE
        }
        Op::ExchangeTables { second, .. } => {
            fields.id(2, second.as_bytes());
            kind::EXCHANGE_TABLES
        }
        Op::RemovePart { part, .. } => {
            fields.id(2, part.as_bytes());
            kind::REMOVE_PART
        }
        Op::InlineRows { schema_version, rows, bytes, .. } => {
            fields.uint(2, (*schema_version).into());
            fields.uint(3, *rows);
            fields.bytes(4, bytes);
            kind::INLINE_ROWS
        }
        Op::Flushed { up_to, .. } => {
            fields.uint(2, up_to.0);
            kind::FLUSHED
        }
        Op::ForgetParts { parts, .. } => {
            parts.iter().for_each(|part| fields.id(2, part.as_bytes()));
            kind::FORGET_PARTS
        }
        Op::DedupToken { token, fingerprint, rows, .. } => {
            fields.id(2, &token.to_le_bytes());
            fields.id(3, &fingerprint.to_le_bytes());
            fields.uint(4, *rows);
            kind::DEDUP_TOKEN
        }
        Op::DetachTable { is_permanent, .. } => {
            fields.uint(2, (*is_permanent).into());
            kind::DETACH_TABLE
        }
        Op::AttachTable { .. } => kind::ATTACH_TABLE,
        Op::ForgetTokens { .. } => kind::FORGET_TOKENS,
        Op::PartsSwept { before_ms } => {
            fields.uint(1, *before_ms);
            kind::PARTS_SWEPT
        }
        // All others were written by the caller of this function.
        _ => kind::TRUNCATE_TABLE,
    }
}

fn decode_op(op_kind: u64, bytes: &[u8], needed: u64) -> Result<Op, FormatError> {
    let op = match op_kind {
        kind::CREATE_DATABASE => {
            let read = Attributes::read("CreateDatabase", bytes)?;
            Op::CreateDatabase { id: DatabaseId::from_bytes(read.id(1)?), name: read.text(2)?.into() }
        }
        kind::DROP_DATABASE => {
            Op::DropDatabase { id: DatabaseId::from_bytes(Attributes::read("DropDatabase", bytes)?.id(1)?) }
        }
        kind::RENAME_DATABASE => {
            let read = Attributes::read("RenameDatabase", bytes)?;
            Op::RenameDatabase { id: DatabaseId::from_bytes(read.id(1)?), name: read.text(2)?.into() }
        }
        kind::CREATE_TABLE => Op::CreateTable(read_table(FieldReader::new("CreateTable", bytes))?),
        kind::ALTER_TABLE => Op::AlterTable(read_table(FieldReader::new("AlterTable", bytes))?),
        // A part was sealed before a record could name it.
        kind::ADD_PART => {
            Op::AddPart(SealedPart::attest_durable(read_part(FieldReader::new("AddPart", bytes))?))
        }
        kind::LABEL => decode_label(bytes)?,
        kind::DROP_TABLE..=kind::FORGET_PARTS
        | kind::DEDUP_TOKEN
        | kind::DETACH_TABLE
        | kind::ATTACH_TABLE
        | kind::FORGET_TOKENS => decode_table_op(op_kind, bytes)?,
        kind::STAGE_OPEN => stage_fields::read_open(bytes)?,
        kind::STAGE_UNITS => stage_fields::read_units(bytes)?,
        kind::STAGE_ADD => stage_fields::read_add(bytes)?,
        kind::STAGE_SEAL => {
            Op::StageSeal { load: LoadId::from_bytes(Attributes::read("StageSeal", bytes)?.id(1)?) }
        }
        kind::STAGE_PUBLISH => {
            Op::StagePublish { load: LoadId::from_bytes(Attributes::read("StagePublish", bytes)?.id(1)?) }
        }
        kind::CREATE_COLLECTION => {
            let read = read_collection(FieldReader::new("CreateCollection", bytes))?;
            Op::CreateCollection { name: read.name, entries: read.entries }
        }
        kind::ALTER_COLLECTION => {
            let read = read_collection(FieldReader::new("AlterCollection", bytes))?;
            Op::AlterCollection { name: read.name, set: read.entries, deleted: read.deleted }
        }
        kind::DROP_COLLECTION => {
            Op::DropCollection { name: Attributes::read("DropCollection", bytes)?.text(1)?.into() }
        }
        kind::STAGE_ABORT => {
            Op::StageAbort { load: LoadId::from_bytes(Attributes::read("StageAbort", bytes)?.id(1)?) }
        }
        kind::CREATE_FUNCTION => {
            let read = Attributes::read("CreateFunction", bytes)?;
            Op::CreateFunction { name: read.text(1)?.into(), lambda: read.text(2)?.into() }
        }
        kind::DROP_FUNCTION => {
            Op::DropFunction { name: Attributes::read("DropFunction", bytes)?.text(1)?.into() }
        }
        kind::PARTS_SWEPT => Op::PartsSwept { before_ms: Attributes::read("PartsSwept", bytes)?.uint(1)? },
        kind::EXPORT_OPEN => export_fields::read_open(bytes)?,
        kind::EXPORT_COMMIT => export_fields::read_commit(bytes)?,
        kind::EXPORT_END => export_fields::read_end(bytes)?,
        _ => {
            let reserved = RESERVED.iter().find(|(kind, _)| *kind == op_kind);
            return Err(FormatError::UnknownKind {
                what: "op",
                kind: op_kind,
                name: reserved.map_or("unnamed", |(_, name)| name),
                known: VERSION,
                needed: needed.max(VERSION + 1),
            });
        }
    };
    Ok(op)
}

fn decode_label(bytes: &[u8]) -> Result<Op, FormatError> {
    let read = Attributes::read("Label", bytes)?;
    let label = Label::new(read.text(2)?).ok_or_else(|| FormatError::Malformed {
        what: "Label",
        number: 2,
        problem: "not a label".to_owned(),
    })?;
    let database = DatabaseId::from_bytes(read.id(1)?);
    Ok(Op::Label { database, label, fingerprint: u128::from_le_bytes(read.id(3)?), rows: read.uint(4)? })
}

fn decode_table_op(op_kind: u64, bytes: &[u8]) -> Result<Op, FormatError> {
    let read = Attributes::read("op of a table", bytes)?;
    let table = TableId::from_bytes(read.id(1)?);
    Ok(match op_kind {
        kind::DROP_TABLE => Op::DropTable { table },
        kind::RENAME_TABLE => Op::RenameTable {
            table,
            database: DatabaseId::from_bytes(read.id(2)?),
            name: read.text(3)?.into(),
        },
        kind::EXCHANGE_TABLES => {
            Op::ExchangeTables { first: table, second: TableId::from_bytes(read.id(2)?) }
        }
        kind::REMOVE_PART => Op::RemovePart { table, part: PartId::from_bytes(read.id(2)?) },
        kind::INLINE_ROWS => Op::InlineRows {
            table,
            schema_version: read.narrow(2)?,
            rows: read.uint(3)?,
            // Copied: a slice would keep the whole record, and what it was read with, in memory.
            bytes: Bytes::copy_from_slice(read.bytes(4)?),
        },
        kind::FLUSHED => Op::Flushed { table, up_to: Seq(read.uint(2)?) },
        kind::FORGET_PARTS => Op::ForgetParts {
            table,
            parts: read.all(2).map(|field| field.id().map(PartId::from_bytes)).collect::<Result<_, _>>()?,
        },
        kind::DEDUP_TOKEN => Op::DedupToken {
            table,
            token: u128::from_le_bytes(read.id(2)?),
            fingerprint: u128::from_le_bytes(read.id(3)?),
            rows: read.uint(4)?,
        },
        kind::DETACH_TABLE => Op::DetachTable { table, is_permanent: read.uint(2)? != 0 },
        kind::ATTACH_TABLE => Op::AttachTable { table },
        kind::FORGET_TOKENS => Op::ForgetTokens { table },
        _ => Op::TruncateTable { table },
    })
}

#[cfg(test)]
mod tests;
