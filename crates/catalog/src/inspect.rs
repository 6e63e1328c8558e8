//! Records and checkpoints as text, one line per op or fact: what `gristmill inspect` prints.
//!
//! Invariant: reads only; every op and fact has its line. Must not know: terminals, where the bytes came from.

use std::path::Path;

use bytes::Bytes;
use host::{Disk, read_all};
use model::{ExportObject, PartDescriptor, StagedUnit, TableDef};

use crate::checkpoint::{self, CheckpointError};
use crate::collections::Collection;
use crate::fact_format::{Content, decode, name_of};
use crate::op::{Op, title};
use crate::op_format::decode_transaction;
use crate::op_format::fields::FormatError;

/// The lines of one log record: a line per transaction, and one per op below it.
pub fn record_lines(transactions: &[Bytes]) -> Result<Vec<String>, FormatError> {
    let mut lines = Vec::new();
    for bytes in transactions {
        let transaction = decode_transaction(bytes)?;
        let at = if transaction.at_ms > 0 { format!(" at_ms={}", transaction.at_ms) } else { String::new() };
        lines.push(format!("transaction {} bytes={}{at}", transaction.id, bytes.len()));
        lines.extend(transaction.ops.iter().map(|op| format!("  {}", op_line(op))));
    }
    Ok(lines)
}

/// One op: its kind, then what it names.
pub fn op_line(op: &Op) -> String {
    let rest = match op {
        Op::CreateDatabase { id, name } | Op::RenameDatabase { id, name } => format!("{id} {name:?}"),
        Op::DropDatabase { id } => id.to_string(),
        Op::CreateTable(def) | Op::AlterTable(def) => table_line(def),
        Op::DropTable { table } | Op::TruncateTable { table } | Op::ForgetTokens { table } => {
            table.to_string()
        }
        Op::RenameTable { table, database, name } => format!("{table} database={database} {name:?}"),
        Op::ExchangeTables { first, second } => format!("{first} {second}"),
        Op::AddPart(part) => part_line(part.descriptor()),
        Op::RemovePart { table, part } => format!("{part} table={table}"),
        Op::InlineRows { table, schema_version, rows, bytes } => {
            format!("table={table} schema_version={schema_version} rows={rows} bytes={}", bytes.len())
        }
        Op::Flushed { table, up_to } => format!("table={table} up_to={up_to}"),
        Op::ForgetParts { table, parts } => {
            let ids: Vec<String> = parts.iter().map(ToString::to_string).collect();
            format!("table={table} parts=[{}]", ids.join(" "))
        }
        Op::Label { database, label, fingerprint, rows } => {
            format!("{:?} database={database} fingerprint={fingerprint:032x} rows={rows}", label.as_str())
        }
        Op::DedupToken { table, token, fingerprint, rows } => {
            format!("{token:032x} table={table} fingerprint={fingerprint:032x} rows={rows}")
        }
        Op::StageOpen { load, database, label, table, fingerprint, files, units, is_sealed, .. } => format!(
            "{load} label={:?} database={database} table={table} fingerprint={fingerprint:032x} files={} units={}{}",
            label.as_str(),
            files.len(),
            units.len(),
            if *is_sealed { "" } else { " and more" }
        ),
        Op::StageUnits { load, units } => format!("{load} units=[{}]", units_line(units)),
        Op::StageAdd { load, units, parts, rows } => {
            let parts: Vec<String> = parts.iter().map(|part| part.descriptor().id.to_string()).collect();
            format!("{load} units={units:?} rows={rows} parts=[{}]", parts.join(" "))
        }
        Op::StagePublish { load } | Op::StageAbort { load } | Op::StageSeal { load } => load.to_string(),
        Op::CreateCollection { name, entries } => format!("{name:?} keys={:?}", keys_of(entries)),
        Op::AlterCollection { name, set, deleted } => {
            format!("{name:?} keys={:?} deleted={deleted:?}", keys_of(set))
        }
        Op::DropCollection { name } => format!("{name:?}"),
        Op::ExportOpen { export, query_id, objects } => {
            format!("{export} query_id={query_id:?} objects=[{}]", objects_line(objects))
        }
        Op::ExportCommit { export, objects, rows } => {
            format!("{export} rows={rows} objects=[{}]", objects_line(objects))
        }
        Op::ExportEnd { export } => export.to_string(),
        Op::DetachTable { table, is_permanent } => format!("{table} permanently={is_permanent}"),
        Op::AttachTable { table } => table.to_string(),
        Op::CreateFunction { name, lambda } => format!("{name:?} {lambda:?}"),
        Op::DropFunction { name } => format!("{name:?}"),
        Op::PartsSwept { before_ms } => format!("before_ms={before_ms}"),
    };
    format!("{} {rest}", title(op))
}

/// Values may be secrets: they are not shown.
fn keys_of(entries: &Collection) -> Vec<&str> {
    entries.keys().map(AsRef::as_ref).collect()
}

fn table_line(def: &TableDef) -> String {
    let columns: Vec<String> = def
        .columns
        .iter()
        .map(|column| format!("#{} {:?} {}", column.id.0, column.name, column.column_type))
        .collect();
    format!(
        "{} database={} {:?} engine={:?} schema_version={} columns=[{}] partition_by={:?} order_by={:?}",
        def.id,
        def.database,
        def.name,
        def.engine,
        def.schema_version,
        columns.join(", "),
        def.partition_by,
        def.order_by
    )
}

fn part_line(part: &PartDescriptor) -> String {
    format!(
        "{} table={} name={} rows={} bytes={} schema_version={} sort_order={:?} key={:?} checksum={:016x}",
        part.id,
        part.table,
        part.name(),
        part.rows,
        part.bytes,
        part.schema_version,
        part.sort_order,
        part.location.key,
        part.checksum
    )
}

/// The lines of a checkpoint file: its seq, then a line per fact with the bytes it takes.
pub fn checkpoint_lines(disk: &dyn Disk, path: &Path) -> Result<Vec<String>, CheckpointError> {
    let bytes =
        read_all(disk, path).map_err(|source| CheckpointError::Io { path: path.to_owned(), source })?;
    let mut lines = Vec::new();
    let seq = checkpoint::read_rows(path, bytes, &mut |fact| {
        let (kind, bytes) = (name_of(fact.kind), fact.payload.len());
        lines.push(format!("{kind} seq={} bytes={bytes} {}", fact.seq, content_line(&decode(fact)?)));
        Ok(())
    })?;
    lines.insert(0, format!("checkpoint seq={seq} rows={}", lines.len()));
    Ok(lines)
}

/// File and bytes of units that are ranges.
fn units_line(units: &[StagedUnit]) -> String {
    let line = |unit: &StagedUnit| match &unit.range {
        Some(range) => format!("{}:{}..{}", unit.file, range.start, range.end),
        None => unit.file.to_string(),
    };
    units.iter().map(line).collect::<Vec<_>>().join(" ")
}

fn objects_line(objects: &[ExportObject]) -> String {
    let shown: Vec<String> = objects.iter().map(|object| format!("{:?}", object.shown())).collect();
    shown.join(" ")
}

fn content_line(content: &Content) -> String {
    match content {
        Content::Database { id, name } => format!("{id} {name:?}"),
        Content::Table { table, dropped } => {
            let dropped = dropped.map_or(String::new(), |(_, at_ms)| format!(" dropped_ms={at_ms}"));
            format!("{} next_block={}{dropped}", table_line(&table.def), table.next_block())
        }
        Content::Definition(def) => table_line(def),
        Content::Part(part) => part_line(part),
        Content::Removed(removed) => {
            format!("{} removed_ms={}", part_line(&removed.descriptor), removed.removed_ms)
        }
        Content::Inline(statement) => format!(
            "block={} schema_version={} rows={} row_bytes={}",
            statement.block,
            statement.schema_version,
            statement.rows,
            statement.bytes.len()
        ),
        Content::Label { database, label, state } => {
            let (committed_ms, rows) = (state.committed_ms, state.rows);
            format!("{:?} database={database} committed_ms={committed_ms} rows={rows}", label.as_str())
        }
        Content::Token { table, token, state } => {
            format!("{token:032x} table={table} committed_ms={} rows={}", state.committed_ms, state.rows)
        }
        Content::Load(load) => format!(
            "{} label={:?} database={} table={} files={} units={} covered={} rows={} opened_ms={} changed_ms={}",
            load.id,
            load.label.as_str(),
            load.database,
            load.table,
            load.files.len(),
            load.units.len(),
            load.covered_count(),
            load.rows(),
            load.opened_ms,
            load.changed_ms
        ),
        Content::Export(export) => format!(
            "{} query_id={:?} committed={} rows={} opened_ms={} objects=[{}]",
            export.id,
            export.query_id,
            export.is_committed,
            export.rows,
            export.opened_ms,
            objects_line(&export.objects)
        ),
        Content::StagedPart { load, part } => format!("load={load} {}", part_line(part)),
        Content::Collection { name, entries } => format!("{name:?} keys={:?}", keys_of(entries)),
        Content::Detached(detached) => format!("{} permanently={}", detached.id, detached.is_permanent),
        Content::Function { name, lambda } => format!("{name:?} {lambda:?}"),
        Content::Swept(before_ms) => format!("before_ms={before_ms}"),
    }
}

#[cfg(test)]
mod tests;
