//! Which partition a statement names: `PARTITION 202401`, `PARTITION ('a', 1)`, `PARTITION ID 'all'`.
//!
//! Invariant: values become values of the partition key's types, so that what names a partition names it whatever it is
//! made of. Must not know: which partitions there are.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::Schema;
use boundary::error::{Error, ErrorKind};
use datafusion::execution::SessionState;
use model::{ErrorCode, PartitionValue, RowExpr, TableDef, TableKeys, Value};
use sql::Partition;
use sql::escape::quote_text;

use crate::row_expr::compile;

/// The id of the partition, as `system.parts` shows it.
pub fn partition_id(
    state: &SessionState,
    def: &TableDef,
    keys: &TableKeys,
    partition: &Partition,
) -> Result<String, Error> {
    let given = match partition {
        Partition::Id(id) => return Ok(id.clone()),
        Partition::Expression(expression) => sql::key_texts(expression),
    };
    if given.len() != keys.partition.len() {
        let message = format!(
            "wrong number of fields in the partition expression: {}, must be {}",
            given.len(),
            keys.partition.len()
        );
        return Err(Error::new(ErrorKind::BadInput, ErrorCode::INVALID_PARTITION_VALUE, message)
            .with_hint("PARTITION ID 'id' takes an id of system.parts"));
    }
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options)
        .map_err(|e| Error::internal(e.to_string()))?;
    let (mut values, mut types) = (Vec::new(), Vec::new());
    for (key, text) in keys.partition.iter().zip(given) {
        let value = format!("_CAST(({text}), {})", quote_text(&key.column_type().to_string()));
        // A number that wraps around, or a time that is cut, would name another partition.
        let is_same = format!("ifNull(toString({value}) = toString({text}), 1)");
        let computed = |text: &str| compile(state, def, text)?.0.evaluate(&row).map_err(Error::from);
        let is_same =
            computed(&is_same).map_err(|error| no_value(key.as_ref(), &text).with_hint(error.message))?;
        if matches!(Value::at(&is_same, 0), Some(Value::UInt(0) | Value::Bool(false))) {
            return Err(
                no_value(key.as_ref(), &text).with_hint("PARTITION ID 'id' takes an id of system.parts")
            );
        }
        let value = computed(&value)?;
        values.push(Value::at(&value, 0).unwrap_or(Value::Null));
        types.push(value.data_type().clone());
    }
    Ok(PartitionValue::new(values, &types).name().to_owned())
}

fn no_value(key: &dyn RowExpr, text: &str) -> Error {
    let code = match text.starts_with('\'') {
        true => ErrorCode::TYPE_MISMATCH,
        false => ErrorCode::ARGUMENT_OUT_OF_BOUND,
    };
    let message =
        format!("{text} is no value of the partition key {}, which is {}", key.text(), key.column_type());
    Error::new(ErrorKind::BadInput, code, message)
}
