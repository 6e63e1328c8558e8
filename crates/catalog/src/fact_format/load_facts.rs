//! What a checkpoint keeps of an open load, its parts aside.
//!
//! Invariant: what is written is read back equal. Must not know: other facts.

use model::Seq;

use crate::loads::StagedLoad;
use crate::op_format::VERSION;
use crate::op_format::fields::{FieldReader, FieldWriter, FormatError};
use crate::op_format::stage_fields::{OpenedFields, OpenedReader, packed, read_packed, write_opened};

pub(super) fn write_load(fields: &mut FieldWriter, load: &StagedLoad) {
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
            units: &load.units,
            input: load.input.as_deref(),
        },
    );
    // 11 to 15 are left to what a load may be opened with later.
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
