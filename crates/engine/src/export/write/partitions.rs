//! PARTITION BY of an export: which rows go into which object, and which columns are written.
//!
//! Invariant: every row is in exactly one piece, and rows keep their order within it. Must not know: keys, stores.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch, UInt32Array};
use arrow::compute::{cast, take_record_batch};
use arrow::datatypes::{DataType, SchemaRef};
use boundary::error::{Error, ErrorKind};
use functions::cast::{CastMode, cast_column};
use model::{ColumnType, ErrorCode, RowExpr, TableDef};
use sources::Destination;
use sources::export::{PartitionKey, PartitionStrategy};
use sql::{Expr, Insert};

use super::{projected, written_schema};
use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::context::session_state::statement_state;
use tables::row_expr::compile;

pub(super) struct Partitions {
    /// Under the wildcard strategy one expression, under hive columns with their names.
    keys: Vec<(String, Arc<dyn RowExpr>)>,
    strategy: Option<PartitionStrategy>,
    /// Positions of the columns that are written.
    columns: Vec<usize>,
    pub schema: SchemaRef,
}

impl Partitions {
    pub(super) fn new(
        services: &Services,
        execution: &Execution,
        insert: &Insert,
        def: &TableDef,
        destination: &Destination,
    ) -> Result<Partitions, Error> {
        let mut columns: Vec<usize> = (0..def.columns.len()).collect();
        let mut keys = Vec::new();
        if let Some(by) = &insert.partition_by {
            let state = statement_state(services, execution)?;
            let named = match destination.strategy {
                Some(PartitionStrategy::Hive) => hive_columns(by)?,
                _ => vec![(by.to_string(), by.as_ref().clone())],
            };
            if destination.strategy == Some(PartitionStrategy::Hive)
                && !destination.partition_columns_in_data_file
            {
                columns.retain(|at| named.iter().all(|(name, _)| *name != *def.columns[*at].name));
                if columns.is_empty() {
                    let message =
                        "every column is a column of PARTITION BY, so nothing is left to be written";
                    return Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message)
                        .with_hint("set partition_columns_in_data_file = 1, or partition by fewer columns"));
                }
            }
            for (name, expression) in named {
                let stored = sql::stored_expr(&expression, &def.columns)?;
                keys.push((name, compile(&state, def, &stored)?.0));
            }
        }
        let schema = written_schema(def, &columns);
        Ok(Partitions { keys, strategy: destination.strategy, columns, schema })
    }

    /// The pieces of a batch, in the order in which their partitions first appear.
    pub(super) fn split(
        &self,
        batch: &RecordBatch,
    ) -> Result<Vec<(Option<PartitionKey>, RecordBatch)>, Error> {
        let written = projected(batch, &self.schema, &self.columns)?;
        let Some(strategy) = self.strategy else { return Ok(vec![(None, written)]) };
        let values = self.keys.iter().map(|key| texts(key, batch)).collect::<Result<Vec<_>, _>>()?;
        let mut pieces: Vec<(PartitionKey, Vec<u32>)> = Vec::new();
        let mut known: HashMap<Vec<&str>, usize> = HashMap::new();
        for row in 0..batch.num_rows() {
            let of_row: Vec<&str> = values.iter().map(|texts| texts[row].as_str()).collect();
            let piece = match known.get(&of_row) {
                Some(piece) => *piece,
                None => {
                    pieces.push((self.key(strategy, &of_row), Vec::new()));
                    known.insert(of_row, pieces.len() - 1);
                    pieces.len() - 1
                }
            };
            pieces[piece].1.push(u32::try_from(row).map_err(|e| Error::internal(e.to_string()))?);
        }
        let taken = pieces.into_iter().map(|(key, rows)| {
            let rows = take_record_batch(&written, &UInt32Array::from(rows));
            Ok((Some(key), rows.map_err(|e| Error::internal(e.to_string()))?))
        });
        taken.collect()
    }

    fn key(&self, strategy: PartitionStrategy, values: &[&str]) -> PartitionKey {
        match strategy {
            PartitionStrategy::Wildcard => PartitionKey::Value(values.concat()),
            PartitionStrategy::Hive => {
                let named = self.keys.iter().zip(values);
                PartitionKey::Columns(
                    named.map(|((name, _), value)| (name.clone(), (*value).to_owned())).collect(),
                )
            }
        }
    }
}

/// The values of a key as text. NULL has none that would name it alone.
fn texts((name, key): &(String, Arc<dyn RowExpr>), batch: &RecordBatch) -> Result<Vec<String>, Error> {
    let values = key.evaluate(batch)?;
    let text_type = ColumnType::String.nullable();
    let texts = cast_column(&values, key.column_type(), &text_type, CastMode::Strict)?;
    let texts = cast(&texts, &DataType::Utf8).map_err(|e| Error::internal(e.to_string()))?;
    if texts.null_count() > 0 {
        let message = format!("PARTITION BY {name} is NULL in some row, which can be no part of a key");
        return Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message)
            .with_hint("use ifNull to give such rows a value"));
    }
    Ok(texts.as_string::<i32>().iter().map(|text| text.unwrap_or_default().to_owned()).collect())
}

/// `(a, b)` or `a`: folders are named by columns.
fn hive_columns(by: &Expr) -> Result<Vec<(String, Expr)>, Error> {
    let parts = match by {
        Expr::Tuple(parts) => parts.clone(),
        Expr::Nested(only) => vec![only.as_ref().clone()],
        other => vec![other.clone()],
    };
    let named = parts.into_iter().map(|part| match &part {
        Expr::Identifier(name) => Ok((name.value.clone(), part)),
        other => {
            let message =
                format!("partition_strategy hive needs columns in PARTITION BY, and {other} is none");
            Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message)
                .with_hint("select the expression as a column, or write {_partition_id} into the path"))
        }
    });
    named.collect()
}
