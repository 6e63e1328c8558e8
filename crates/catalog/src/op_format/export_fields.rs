//! The ops of exports, and what a checkpoint keeps of one, as fields.
//!
//! Invariant: what is written is read back equal. Must not know: where in a record or checkpoint the fields stand.

use std::sync::Arc;

use model::{ExportCredentials, ExportId, ExportObject, ExportStore};

use super::VERSION;
use super::fields::{Field, FieldReader, FieldWriter, FormatError};
use crate::op::Op;

/// Fields 1 to 4; a checkpoint goes on from 16.
pub fn write_export(
    fields: &mut FieldWriter,
    export: ExportId,
    query_id: &str,
    objects: &[ExportObject],
    rows: u64,
) {
    fields.id(1, export.as_bytes());
    fields.text(2, query_id);
    objects.iter().for_each(|object| fields.nested(3, |inner| write_object(inner, object)));
    fields.uint(4, rows);
}

fn write_object(fields: &mut FieldWriter, object: &ExportObject) {
    let store = &object.store;
    fields.text(1, &store.endpoint);
    fields.text(2, &store.bucket);
    fields.uint(3, store.virtual_host.into());
    if let Some(region) = &store.region {
        fields.bytes(4, region.as_bytes());
    }
    fields.uint(
        5,
        match store.credentials {
            ExportCredentials::Nobody => 0,
            ExportCredentials::Ambient => 1,
            ExportCredentials::Statement => 2,
        },
    );
    fields.text(6, &object.key);
    fields.text(7, &object.upload);
    object.parts.iter().for_each(|part| fields.bytes(8, part.as_bytes()));
    fields.uint(9, object.bytes);
    if let Some(account) = &store.account {
        fields.bytes(10, account.as_bytes());
    }
}

fn read_object(field: &Field<'_>) -> Result<ExportObject, FormatError> {
    let mut fields = field.nested("exported object")?;
    let (mut store, mut parts, mut bytes) = (ExportStore::files(), Vec::new(), 0);
    let (mut key, mut upload): (Arc<str>, Arc<str>) = ("".into(), "".into());
    while let Some(field) = fields.next_field()? {
        match field.number {
            1 => store.endpoint = field.text()?.into(),
            2 => store.bucket = field.text()?.into(),
            3 => store.virtual_host = field.uint()? != 0,
            4 => store.region = Some(field.text()?.into()),
            5 => {
                store.credentials = match field.uint()? {
                    0 => ExportCredentials::Nobody,
                    1 => ExportCredentials::Ambient,
                    2 => ExportCredentials::Statement,
                    _ => return Err(field.malformed("unknown credentials")),
                }
            }
            6 => key = field.text()?.into(),
            7 => upload = field.text()?.into(),
            8 => parts.push(field.text()?.into()),
            9 => bytes = field.uint()?,
            10 => store.account = Some(field.text()?.into()),
            _ => field.skip(VERSION)?,
        }
    }
    Ok(ExportObject { store: Arc::new(store), key, upload, parts, bytes })
}

/// An export being read field by field.
#[derive(Default)]
pub struct ExportReader {
    export: Option<ExportId>,
    pub query_id: Arc<str>,
    pub objects: Vec<ExportObject>,
    pub rows: u64,
}

impl ExportReader {
    /// Takes a field if it is one of [`write_export`]'s; `false` leaves it to the caller.
    pub fn take(&mut self, field: &Field<'_>) -> Result<bool, FormatError> {
        match field.number {
            1 => self.export = Some(ExportId::from_bytes(field.id()?)),
            2 => self.query_id = field.text()?.into(),
            3 => self.objects.push(read_object(field)?),
            4 => self.rows = field.uint()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub fn id(&self, fields: &FieldReader<'_>) -> Result<ExportId, FormatError> {
        self.export.ok_or_else(|| fields.missing(1))
    }
}

fn read(what: &'static str, bytes: &[u8]) -> Result<(ExportId, ExportReader), FormatError> {
    let (mut fields, mut reader) = (FieldReader::new(what, bytes), ExportReader::default());
    while let Some(field) = fields.next_field()? {
        if !reader.take(&field)? {
            field.skip(VERSION)?;
        }
    }
    Ok((reader.id(&fields)?, reader))
}

pub fn read_open(bytes: &[u8]) -> Result<Op, FormatError> {
    let (export, ExportReader { query_id, objects, .. }) = read("ExportOpen", bytes)?;
    Ok(Op::ExportOpen { export, query_id, objects })
}

pub fn read_commit(bytes: &[u8]) -> Result<Op, FormatError> {
    let (export, ExportReader { objects, rows, .. }) = read("ExportCommit", bytes)?;
    Ok(Op::ExportCommit { export, objects, rows })
}

pub fn read_end(bytes: &[u8]) -> Result<Op, FormatError> {
    Ok(Op::ExportEnd { export: read("ExportEnd", bytes)?.0 })
}
