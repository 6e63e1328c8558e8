//! Answers whose columns are all texts.
//!
//! Invariant: a row has as many texts as there are columns, which the types see to.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringViewArray};
use arrow::datatypes::{Field, Schema};
use model::ColumnType;
use model::type_arrow::to_field;

use crate::error::Error;
use crate::request::{Rows, TEXT_KEY};

pub fn text_rows<const N: usize>(names: [&str; N], rows: Vec<[String; N]>) -> Result<Rows, Error> {
    rows_with(names, rows, HashMap::new())
}

/// The one-column answer of statements that print text lines.
pub fn lines(name: &str, lines: Vec<String>) -> Result<Rows, Error> {
    let metadata = HashMap::from([(TEXT_KEY.to_owned(), "1".to_owned())]);
    rows_with([name], lines.into_iter().map(|line| [line]).collect(), metadata)
}

fn rows_with<const N: usize>(
    names: [&str; N],
    rows: Vec<[String; N]>,
    metadata: HashMap<String, String>,
) -> Result<Rows, Error> {
    let fields: Vec<Field> = names.iter().map(|name| to_field(name, &ColumnType::String)).collect();
    let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
    let column = |i: usize| -> ArrayRef {
        Arc::new(rows.iter().map(|row| Some(row[i].as_str())).collect::<StringViewArray>())
    };
    let columns = (0..N).map(column).collect();
    let batch =
        RecordBatch::try_new(Arc::clone(&schema), columns).map_err(|e| Error::internal(e.to_string()))?;
    Ok(Rows::of(schema, vec![batch]))
}
