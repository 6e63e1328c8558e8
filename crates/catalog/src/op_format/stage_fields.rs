//! The ops of staged loads, and what a checkpoint keeps of one, as fields.
//!
//! Invariant: what is written is read back equal; an absent list, number or text is told from an empty one. Must not
//! know: where in a record or checkpoint the fields stand.

use std::sync::Arc;

use model::{DatabaseId, Label, LoadId, SealedPart, StagedFile, StagedInput, StagedUnit, TableId};

use super::fields::{Field, FieldReader, FieldWriter, FormatError, put_varint};
use super::part_fields::{read_part, write_part};
use super::{VERSION, kind};
use crate::loads::OpenedLoad;
use crate::op::Op;

/// What a load is opened with: fields 1 to 11. A checkpoint goes on after them.
pub struct OpenedFields<'a> {
    pub load: LoadId,
    pub database: DatabaseId,
    pub label: &'a Label,
    pub table: TableId,
    pub fingerprint: u128,
    pub schema_version: u32,
    pub statement: &'a str,
    pub files: &'a [StagedFile],
    pub units: &'a [StagedUnit],
    pub input: Option<&'a StagedInput>,
    pub is_sealed: bool,
}

pub fn write_opened(fields: &mut FieldWriter, opened: &OpenedFields<'_>) {
    fields.id(1, opened.load.as_bytes());
    fields.id(2, opened.database.as_bytes());
    fields.text(3, opened.label.as_str());
    fields.id(4, opened.table.as_bytes());
    fields.id(5, &opened.fingerprint.to_le_bytes());
    fields.uint(6, opened.schema_version.into());
    fields.text(7, opened.statement);
    opened.files.iter().for_each(|file| fields.nested(8, |inner| write_file(inner, file)));
    opened.units.iter().for_each(|unit| fields.nested(9, |inner| write_unit(inner, unit)));
    if let Some(input) = opened.input {
        fields.nested(10, |inner| write_input(inner, input));
    }
    // Absent in the logs of programs whose loads had all their units when they were opened.
    fields.uint(11, (!opened.is_sealed).into());
}

fn write_input(fields: &mut FieldWriter, input: &StagedInput) {
    fields.text(1, &input.format);
    input.columns.iter().for_each(|column| fields.nested(2, |inner| write_pair(inner, column)));
    fields.text(3, &input.current_database);
    if let Some(token) = &input.token {
        fields.bytes(4, token.as_bytes());
    }
    input.settings.iter().for_each(|setting| fields.nested(5, |inner| write_pair(inner, setting)));
}

fn write_pair(fields: &mut FieldWriter, (name, value): &(Arc<str>, Arc<str>)) {
    fields.text(1, name);
    fields.text(2, value);
}

fn write_file(fields: &mut FieldWriter, file: &StagedFile) {
    fields.text(1, &file.path);
    fields.uint(2, file.bytes);
    if let Some(version) = &file.version {
        fields.bytes(3, version.as_bytes());
    }
}

fn write_unit(fields: &mut FieldWriter, unit: &StagedUnit) {
    fields.uint(1, unit.file.into());
    if let Some(row_groups) = &unit.row_groups {
        fields.bytes(2, &packed(row_groups.iter().copied()));
    }
    fields.uint(3, unit.bytes);
    if let Some(rows) = unit.rows {
        fields.uint_some(4, rows);
    }
    if let Some(range) = &unit.range {
        fields.uint_some(5, range.start);
        fields.uint_some(6, range.end);
    }
}

/// Numbers one after the other, each a varint.
pub fn packed(numbers: impl Iterator<Item = u32>) -> Vec<u8> {
    let mut out = Vec::new();
    numbers.for_each(|number| put_varint(&mut out, number.into()));
    out
}

/// Reads what [`packed`] wrote.
pub fn read_packed(field: &Field<'_>) -> Result<Vec<u32>, FormatError> {
    let mut reader = FieldReader::new("list of numbers", field.bytes()?);
    let mut numbers = Vec::new();
    while !reader.is_empty() {
        let number = reader.varint()?;
        numbers.push(u32::try_from(number).map_err(|_| field.malformed("the number is too large"))?);
    }
    Ok(numbers)
}

/// A load being read field by field.
#[derive(Default)]
pub struct OpenedReader {
    load: Option<LoadId>,
    database: Option<DatabaseId>,
    label: Option<Label>,
    table: Option<TableId>,
    fingerprint: u128,
    schema_version: u32,
    statement: String,
    files: Vec<StagedFile>,
    units: Vec<StagedUnit>,
    input: Option<Arc<StagedInput>>,
    is_unsealed: bool,
}

impl OpenedReader {
    /// Takes a field if it is one of [`write_opened`]'s; `false` leaves it to the caller.
    pub fn take(&mut self, field: &Field<'_>) -> Result<bool, FormatError> {
        match field.number {
            1 => self.load = Some(LoadId::from_bytes(field.id()?)),
            2 => self.database = Some(DatabaseId::from_bytes(field.id()?)),
            3 => {
                let label = Label::stored(field.text()?);
                self.label = Some(label.ok_or_else(|| field.malformed("not a label"))?);
            }
            4 => self.table = Some(TableId::from_bytes(field.id()?)),
            5 => self.fingerprint = u128::from_le_bytes(field.id()?),
            6 => self.schema_version = field.narrow()?,
            7 => field.text()?.clone_into(&mut self.statement),
            8 => self.files.push(read_file(field.nested("file of a load")?)?),
            9 => self.units.push(read_unit(field.nested("unit of a load")?)?),
            10 => self.input = Some(Arc::new(read_input(field.nested("input of a load")?)?)),
            11 => self.is_unsealed = field.uint()? != 0,
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub fn finish(self, fields: &FieldReader<'_>) -> Result<OpenedLoad, FormatError> {
        Ok(OpenedLoad {
            id: self.load.ok_or_else(|| fields.missing(1))?,
            database: self.database.ok_or_else(|| fields.missing(2))?,
            label: self.label.ok_or_else(|| fields.missing(3))?,
            table: self.table.ok_or_else(|| fields.missing(4))?,
            fingerprint: self.fingerprint,
            schema_version: self.schema_version,
            statement: self.statement.into(),
            files: self.files,
            units: self.units,
            input: self.input,
            is_sealed: !self.is_unsealed,
        })
    }
}

fn read_file(mut fields: FieldReader<'_>) -> Result<StagedFile, FormatError> {
    let mut file = StagedFile { path: "".into(), bytes: 0, version: None };
    while let Some(field) = fields.next_field()? {
        match field.number {
            1 => file.path = field.text()?.into(),
            2 => file.bytes = field.uint()?,
            3 => file.version = Some(field.text()?.into()),
            _ => field.skip(VERSION)?,
        }
    }
    Ok(file)
}

fn read_input(mut fields: FieldReader<'_>) -> Result<StagedInput, FormatError> {
    let mut input = StagedInput::default();
    while let Some(field) = fields.next_field()? {
        match field.number {
            1 => input.format = field.text()?.into(),
            2 => input.columns.push(read_pair(field.nested("column of a load")?)?),
            3 => input.current_database = field.text()?.into(),
            4 => input.token = Some(field.text()?.into()),
            5 => input.settings.push(read_pair(field.nested("setting of a load")?)?),
            _ => field.skip(VERSION)?,
        }
    }
    Ok(input)
}

fn read_pair(mut fields: FieldReader<'_>) -> Result<(Arc<str>, Arc<str>), FormatError> {
    let (mut name, mut value) = ("".into(), "".into());
    while let Some(field) = fields.next_field()? {
        match field.number {
            1 => name = field.text()?.into(),
            2 => value = field.text()?.into(),
            _ => field.skip(VERSION)?,
        }
    }
    Ok((name, value))
}

fn read_unit(mut fields: FieldReader<'_>) -> Result<StagedUnit, FormatError> {
    let mut unit = StagedUnit { file: 0, row_groups: None, range: None, bytes: 0, rows: None };
    let (mut start, mut end) = (None, None);
    while let Some(field) = fields.next_field()? {
        match field.number {
            1 => unit.file = field.narrow()?,
            2 => unit.row_groups = Some(read_packed(&field)?),
            3 => unit.bytes = field.uint()?,
            4 => unit.rows = Some(field.uint()?),
            5 => start = Some(field.uint()?),
            6 => end = Some(field.uint()?),
            _ => field.skip(VERSION)?,
        }
    }
    unit.range = match (start, end) {
        (Some(start), Some(end)) => Some(start..end),
        (None, None) => None,
        (Some(_), None) => return Err(fields.missing(6)),
        (None, Some(_)) => return Err(fields.missing(5)),
    };
    Ok(unit)
}

/// `op` is one of a staged load; gives its kind.
pub(super) fn encode_stage_op(op: &Op, fields: &mut FieldWriter) -> Option<u64> {
    Some(match op {
        Op::StageOpen { .. } => {
            write_open(op, fields);
            kind::STAGE_OPEN
        }
        Op::StageUnits { load, units } => {
            fields.id(1, load.as_bytes());
            units.iter().for_each(|unit| fields.nested(2, |inner| write_unit(inner, unit)));
            kind::STAGE_UNITS
        }
        Op::StageAdd { load, units, parts, rows } => {
            write_add(fields, *load, units, parts, *rows);
            kind::STAGE_ADD
        }
        Op::StageSeal { load } => of_load_alone(fields, *load, kind::STAGE_SEAL),
        Op::StagePublish { load } => of_load_alone(fields, *load, kind::STAGE_PUBLISH),
        Op::StageAbort { load } => of_load_alone(fields, *load, kind::STAGE_ABORT),
        _ => return None,
    })
}

fn of_load_alone(fields: &mut FieldWriter, load: LoadId, kind: u64) -> u64 {
    fields.id(1, load.as_bytes());
    kind
}

fn write_open(op: &Op, fields: &mut FieldWriter) {
    let Op::StageOpen {
        load,
        database,
        label,
        table,
        fingerprint,
        schema_version,
        statement,
        files,
        units,
        input,
        is_sealed,
    } = op
    else {
        return;
    };
    let opened = OpenedFields {
        load: *load,
        database: *database,
        label,
        table: *table,
        fingerprint: *fingerprint,
        schema_version: *schema_version,
        statement,
        files,
        units,
        input: input.as_deref(),
        is_sealed: *is_sealed,
    };
    write_opened(fields, &opened);
}

/// The oldest version whose readers know a load of these units.
pub fn needs<'a>(label: &Label, mut units: impl Iterator<Item = &'a StagedUnit>, is_sealed: bool) -> u64 {
    match is_sealed && units.all(|unit| unit.range.is_none()) {
        false => 13,
        true if label.is_hidden() => 12,
        true => 2,
    }
}

fn write_add(fields: &mut FieldWriter, load: LoadId, units: &[u32], parts: &[SealedPart], rows: u64) {
    fields.id(1, load.as_bytes());
    fields.bytes(2, &packed(units.iter().copied()));
    parts.iter().for_each(|part| fields.nested(3, |inner| write_part(inner, part.descriptor())));
    fields.uint(4, rows);
}

pub(super) fn read_open(bytes: &[u8]) -> Result<Op, FormatError> {
    let mut fields = FieldReader::new("StageOpen", bytes);
    let mut opened = OpenedReader::default();
    while let Some(field) = fields.next_field()? {
        if !opened.take(&field)? {
            field.skip(VERSION)?;
        }
    }
    let opened = opened.finish(&fields)?;
    Ok(Op::StageOpen {
        load: opened.id,
        database: opened.database,
        label: opened.label,
        table: opened.table,
        fingerprint: opened.fingerprint,
        schema_version: opened.schema_version,
        statement: opened.statement,
        files: opened.files,
        units: opened.units,
        input: opened.input,
        is_sealed: opened.is_sealed,
    })
}

pub(super) fn read_units(bytes: &[u8]) -> Result<Op, FormatError> {
    let mut fields = FieldReader::new("StageUnits", bytes);
    let (mut load, mut units) = (None, Vec::new());
    while let Some(field) = fields.next_field()? {
        match field.number {
            1 => load = Some(LoadId::from_bytes(field.id()?)),
            2 => units.push(read_unit(field.nested("unit of a load")?)?),
            _ => field.skip(VERSION)?,
        }
    }
    Ok(Op::StageUnits { load: load.ok_or_else(|| fields.missing(1))?, units })
}

pub(super) fn read_add(bytes: &[u8]) -> Result<Op, FormatError> {
    let mut fields = FieldReader::new("StageAdd", bytes);
    let (mut load, mut units, mut parts, mut rows) = (None, Vec::new(), Vec::new(), 0);
    while let Some(field) = fields.next_field()? {
        match field.number {
            1 => load = Some(LoadId::from_bytes(field.id()?)),
            2 => units = read_packed(&field)?,
            // A part was sealed before a record could name it.
            3 => parts.push(SealedPart::attest_durable(read_part(field.nested("part")?)?)),
            4 => rows = field.uint()?,
            _ => field.skip(VERSION)?,
        }
    }
    Ok(Op::StageAdd { load: load.ok_or_else(|| fields.missing(1))?, units, parts, rows })
}
