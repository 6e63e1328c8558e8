//! MsgPack: the values of all rows one behind the other.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use model::{ColumnType, ErrorCode};

use super::{Columns, OutputStats, RowWriter};
use crate::error::FormatError;
use crate::settings::FormatSettings;

pub(super) struct MsgPackWriter {
    settings: FormatSettings,
    columns: Columns,
}

impl MsgPackWriter {
    pub(super) fn new(settings: &FormatSettings) -> Self {
        Self { settings: settings.clone(), columns: Columns::default() }
    }
}

impl RowWriter for MsgPackWriter {
    fn start(&mut self, schema: &SchemaRef, _: &mut Vec<u8>) -> Result<(), FormatError> {
        self.columns = Columns::of(schema);
        let other_uuids = self.settings.writing.packs_uuids_otherwise;
        let is_unknown = |of: &&ColumnType| {
            let is_other = other_uuids && of.to_string().contains("UUID");
            of.value_type().is_interval() || of.state().is_some() || is_other
        };
        match self.columns.types.iter().find(is_unknown) {
            None => Ok(()),
            Some(of) => {
                let message = format!("type {of} is not written in format MsgPack");
                Err(FormatError::new(ErrorCode::ILLEGAL_COLUMN, message))
            }
        }
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let columns = self.columns.open(batch, &self.settings)?;
        for row in 0..batch.num_rows() {
            columns.iter().for_each(|column| column.pack(row, out));
        }
        Ok(())
    }

    fn finish(&mut self, _: &OutputStats, _: &mut Vec<u8>) -> Result<(), FormatError> {
        Ok(())
    }
}
