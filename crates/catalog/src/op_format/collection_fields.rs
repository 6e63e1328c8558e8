//! Named collections as fields, in ops and in checkpoints.
//!
//! ```text
//! collection := 1 name | 2 entry ... | 3 deleted key ...
//! entry      := 1 key | 2 text | 3 overridable: 1 no, 2 yes
//! ```
//! Invariant: what is written is read back equal. Must not know: whether a collection may be changed.

use std::sync::Arc;

use super::VERSION;
use super::fields::{FieldReader, FieldWriter, FormatError};
use crate::collections::{Collection, CollectionValue};

/// A name, the values that belong to it, and keys that go.
#[derive(Default)]
pub struct CollectionFields {
    pub name: Arc<str>,
    pub entries: Collection,
    pub deleted: Vec<Arc<str>>,
}

pub fn write_collection(fields: &mut FieldWriter, name: &str, entries: &Collection, deleted: &[Arc<str>]) {
    fields.text(1, name);
    for (key, value) in entries {
        fields.nested(2, |inner| {
            inner.text(1, key);
            inner.text(2, &value.text);
            inner.uint(3, value.overridable.map_or(0, |flag| 1 + u64::from(flag)));
        });
    }
    deleted.iter().for_each(|key| fields.bytes(3, key.as_bytes()));
}

pub fn read_collection(mut fields: FieldReader<'_>) -> Result<CollectionFields, FormatError> {
    let mut read = CollectionFields::default();
    while let Some(field) = fields.next_field()? {
        match field.number {
            1 => read.name = field.text()?.into(),
            2 => {
                let (key, value) = read_entry(field.nested("collection entry")?)?;
                read.entries.insert(key, value);
            }
            3 => read.deleted.push(field.text()?.into()),
            _ => field.skip(VERSION)?,
        }
    }
    Ok(read)
}

fn read_entry(mut fields: FieldReader<'_>) -> Result<(Arc<str>, CollectionValue), FormatError> {
    let (mut key, mut text, mut overridable) = ("", "", None);
    while let Some(field) = fields.next_field()? {
        match field.number {
            1 => key = field.text()?,
            2 => text = field.text()?,
            3 => {
                overridable = match field.uint()? {
                    0 => None,
                    1 => Some(false),
                    2 => Some(true),
                    other => return Err(field.malformed(format!("{other} is unknown"))),
                }
            }
            _ => field.skip(VERSION)?,
        }
    }
    Ok((key.into(), CollectionValue { text: text.into(), overridable }))
}
