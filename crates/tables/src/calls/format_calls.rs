//! `format(name[, structure], data)`: what a call of it gives.
//!
//! Invariant: columns that are not given are told from the data. Must not know: how rows are read.

use arrow::datatypes::Schema;
use boundary::error::{Error, ErrorKind};
use formats::{FormatKind, FormatSettings};
use model::type_arrow::to_field;
use model::{ErrorCode, raw_text};
use sources::columns_of_text;
use sources::schema::structure::{Structure, parse_with_defaults};
use sql::{CallArgument, CallValue, TableFunctionCall};
use stores::InferenceSettings;

/// The format, the columns, and the data.
pub struct FormatCall {
    /// One that is read.
    pub kind: FormatKind,
    /// Given or told from the data.
    pub structure: Structure,
    /// Its bytes.
    pub data: Vec<u8>,
}

impl FormatCall {
    /// The columns of the rows.
    pub fn schema(&self) -> Schema {
        let columns = self.structure.columns.iter();
        Schema::new(columns.map(|(name, column_type)| to_field(name, column_type)).collect::<Vec<_>>())
    }

    /// # Errors
    /// Other arguments than a format that is read, a structure that is one, and texts; data whose columns cannot be told.
    pub fn given(
        call: &TableFunctionCall,
        settings: &FormatSettings,
        inference: &InferenceSettings,
    ) -> Result<FormatCall, Error> {
        let text = |argument: &CallArgument| match (&argument.name, &argument.value) {
            (None, CallValue::Text(text) | CallValue::Word(text)) => Some(text.clone()),
            _ => None,
        };
        let texts: Option<Vec<String>> = call.arguments.iter().map(text).collect();
        let (name, structure, data) = match texts.as_deref() {
            Some([name, data]) => (name, None, data),
            Some([name, structure, data]) => (name, Some(structure), data),
            _ => {
                let message = "table function format takes the name of a format, a structure where it is known, and the data";
                return Err(Error::new(
                    ErrorKind::BadInput,
                    ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    message,
                )
                .with_hint("for example format(JSONEachRow, '{\"a\": 1}')"));
            }
        };
        let wrong = |code, message| Err(Error::new(ErrorKind::UnknownObject, code, message));
        let kind = match FormatKind::parse(name) {
            Some(kind) if kind.is_input() => kind,
            Some(_) => {
                let message = format!("format {name} is only written");
                return wrong(ErrorCode::FORMAT_IS_NOT_SUITABLE_FOR_INPUT, message);
            }
            None => return wrong(ErrorCode::UNKNOWN_FORMAT, format!("unknown format {name}")),
        };
        if kind == FormatKind::Parquet {
            return Err(Error::unsupported("table function format of Parquet").with_hint("read a file of it"));
        }
        let data = raw_text::bytes(data);
        let structure = match structure {
            Some(structure) => parse_with_defaults(structure)?,
            None => {
                let columns = columns_of_text(kind, &data, settings, inference)?;
                Structure { columns, defaults: Vec::new() }
            }
        };
        Ok(FormatCall { kind, structure, data: data.into_owned() })
    }
}
