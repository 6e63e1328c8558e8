//! What a checkpoint keeps of an open load, its parts aside, of an export, of a table out of sight and of a function.
//!
//! Invariant: what is written is read back equal. Must not know: other facts.

use std::sync::Arc;

use model::{Seq, TableId};

use crate::exports::ExportState;
use crate::loads::StagedLoad;
use crate::op_format::VERSION;
use crate::op_format::export_fields::{ExportReader, write_export};
use crate::op_format::fields::{FieldReader, FieldWriter, FormatError};
use crate::op_format::stage_fields::{OpenedFields, OpenedReader, packed, read_packed, write_opened};
use crate::state::DetachedTable;

pub(super) fn write_load(fields: &mut FieldWriter, load: &StagedLoad) {
    let units: Vec<_> = load.units.iter().cloned().collect();
    write_opened(
        fields,
        &OpenedFields {
            load: load.id,
            database: load.database,
            label: &load.label,
            table: load.table,
            fingerprint: load.fingerprint,
            schema_version: load.schema_version,
            statement: &load.statement,
            files: &load.files,
            units: &units,
            input: load.input.as_deref(),
            is_sealed: load.is_sealed,
        },
    );
    // 12 to 15 are left to what a load may be opened with later.
    fields.uint(16, load.opened_ms);
    fields.uint(17, load.changed_ms);
    fields.bytes(18, &packed(load.covered()));
    fields.uint(19, load.rows());
}

pub(super) fn read_load(mut fields: FieldReader<'_>, opened: Seq) -> Result<StagedLoad, FormatError> {
    let mut reader = OpenedReader::default();
    let (mut opened_ms, mut changed_ms, mut covered, mut rows) = (0, 0, Vec::new(), 0);
    while let Some(field) = fields.next_field()? {
        match field.number {
            16 => opened_ms = field.uint()?,
            17 => changed_ms = field.uint()?,
            18 => covered = read_packed(&field)?,
            19 => rows = field.uint()?,
            _ if reader.take(&field)? => {}
            _ => field.skip(VERSION)?,
        }
    }
    let mut load = StagedLoad::new(reader.finish(&fields)?, opened, opened_ms);
    load.cover(covered, rows, changed_ms);
    Ok(load)
}

pub(super) fn write_export_state(fields: &mut FieldWriter, export: &ExportState) {
    write_export(fields, export.id, &export.query_id, &export.objects, export.rows);
    fields.uint(16, export.is_committed.into());
    fields.uint(17, export.opened_ms);
}

pub(super) fn read_export_state(
    mut fields: FieldReader<'_>,
    opened: Seq,
) -> Result<ExportState, FormatError> {
    let (mut reader, mut is_committed, mut opened_ms) = (ExportReader::default(), false, 0);
    while let Some(field) = fields.next_field()? {
        match field.number {
            16 => is_committed = field.uint()? != 0,
            17 => opened_ms = field.uint()?,
            _ if reader.take(&field)? => {}
            _ => field.skip(VERSION)?,
        }
    }
    let id = reader.id(&fields)?;
    let ExportReader { query_id, objects, rows, .. } = reader;
    Ok(ExportState { id, query_id, objects, is_committed, rows, opened, opened_ms })
}

pub(super) fn read_detached(mut fields: FieldReader<'_>) -> Result<DetachedTable, FormatError> {
    let (mut id, mut is_permanent) = (None, false);
    while let Some(field) = fields.next_field()? {
        match field.number {
            1 => id = Some(TableId::from_bytes(field.id()?)),
            2 => is_permanent = field.uint()? != 0,
            _ => field.skip(VERSION)?,
        }
    }
    Ok(DetachedTable { id: id.ok_or_else(|| fields.missing(1))?, is_permanent })
}

/// Name and lambda.
/// Up to when files that nothing names are gone.
pub(super) fn read_swept(mut fields: FieldReader<'_>) -> Result<u64, FormatError> {
    let mut before_ms = 0;
    while let Some(field) = fields.next_field()? {
        match field.number {
            1 => before_ms = field.uint()?,
            _ => field.skip(VERSION)?,
        }
    }
    Ok(before_ms)
}

pub(super) fn read_function(mut fields: FieldReader<'_>) -> Result<(Arc<str>, Arc<str>), FormatError> {
    let (mut name, mut lambda) = ("", "");
    while let Some(field) = fields.next_field()? {
        match field.number {
            1 => name = field.text()?,
            2 => lambda = field.text()?,
            _ => field.skip(VERSION)?,
        }
    }
    Ok((name.into(), lambda.into()))
}
