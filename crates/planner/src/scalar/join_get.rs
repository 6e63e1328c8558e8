//! `joinGet(table, column, key ..)` and `joinGetOrNull`: the value of a column in the row of a key, of a table of engine Join.
//!
//! A query is planned with functions that know its tables; anywhere else (a default, a key) the call is an error. Invariant:
//! names of table and column are constants, and keys have the table's types. Must not know: how a table is read.

use std::fmt;
use std::sync::{Arc, LazyLock};

use arrow::array::ArrayRef;
use arrow::datatypes::FieldRef;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction as ScalarCall;
use datafusion::logical_expr::{Expr, LogicalPlan, ReturnFieldArgs, ScalarUDF};
use functions::{FunctionError, ScalarFunction};
use model::type_arrow::to_field;
use model::{ColumnType, ErrorCode};

use super::lookup::Lookup;
use super::over_rows::{AsksRows, AsksTables, Waiting, over_rows, waiting};
use aggregates::typing::{external, literal_of, type_of};

const JOIN_GET: &str = "joinGet";
const JOIN_GET_OR_NULL: &str = "joinGetOrNull";

/// Whether the first two arguments of a function name a table and a column.
pub fn asks_table(name: &str) -> bool {
    [JOIN_GET, JOIN_GET_OR_NULL].contains(&name)
}

/// A table of engine Join, as far as its values can be asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AskedTable {
    /// As in messages.
    pub name: String,
    /// It is one of ANY LEFT JOIN, of which a key has one row.
    pub is_any_left: bool,
    pub keys: Vec<ColumnType>,
    /// The columns beside the keys.
    pub values: Vec<(Arc<str>, ColumnType)>,
    /// NULL is the value of what is not there.
    pub use_nulls: bool,
}

/// The tables of engine Join that a statement sees.
pub trait AskedTables: fmt::Debug + Send + Sync {
    /// What a name means.
    ///
    /// # Errors
    /// There is no such table, or it is of another engine.
    fn table(&self, name: &str) -> Result<AskedTable>;

    /// The rows of a column by the table's keys, and a plan of one row that is there when these are.
    ///
    /// # Errors
    /// As [`AskedTables::table`].
    fn rows(&self, name: &str, column: &str, missing: &ColumnType) -> Result<(Arc<Lookup>, LogicalPlan)>;
}

static FUNCTIONS: LazyLock<Vec<ScalarFunction>> = LazyLock::new(|| {
    vec![
        outside(JOIN_GET).doc(
            "joinGet(table, column, key[, ..])",
            "The value of the column in the table's row of this key; its default where there is none, or NULL if the table \
             has `join_use_nulls = 1`. The table is of `ENGINE = Join(ANY, LEFT, ..)`; keys have the types of its keys.",
            "joinGet('prices', 'price', toUInt64(1))",
        ),
        outside(JOIN_GET_OR_NULL).doc(
            "joinGetOrNull(table, column, key[, ..])",
            "As joinGet, and NULL where there is no row.",
            "joinGetOrNull('prices', 'price', toUInt64(1))",
        ),
        // Answered before a query is planned.
        outside("hasColumnInTable").doc(
            "hasColumnInTable(database, table, column)",
            "1 if the table has a column of this name, 0 otherwise. All three are constant texts.",
            "hasColumnInTable('system', 'one', 'dummy') -> 1",
        ),
    ]
});

/// The functions where no tables are known.
pub(crate) fn functions() -> &'static [ScalarFunction] {
    &FUNCTIONS
}

fn outside(name: &'static str) -> ScalarFunction {
    let refused = move || {
        FunctionError::new(ErrorCode::NOT_IMPLEMENTED, format!("{name} outside of a query is not supported"))
    };
    let most = if asks_table(name) { usize::MAX } else { 3 };
    ScalarFunction::new(name, 3..=most, move |_| Err(refused()), move |_| Err(refused())).own_nulls()
}

/// The functions of a query that sees these tables.
pub fn functions_over(tables: &Arc<dyn AskedTables>) -> [Arc<ScalarUDF>; 2] {
    [JOIN_GET, JOIN_GET_OR_NULL].map(|name| Waiting::function(JoinGet { name, tables: Arc::clone(tables) }))
}

/// See [`functions_over`].
#[derive(Debug)]
struct JoinGet {
    name: &'static str,
    tables: Arc<dyn AskedTables>,
}

/// What a call names, and what it gives.
struct Asked {
    table: AskedTable,
    name: String,
    column: String,
    result: ColumnType,
}

impl JoinGet {
    fn error(&self, code: ErrorCode, message: String) -> datafusion::common::DataFusionError {
        external(FunctionError::new(code, format!("{}: {message}", self.name)))
    }

    fn text(&self, place: &str, argument: Option<&ScalarValue>) -> Result<String> {
        match argument.and_then(|value| value.try_as_str().flatten()) {
            Some(text) => Ok(text.to_owned()),
            None => {
                let message = format!("the {place} argument must be a constant text");
                Err(self.error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message))
            }
        }
    }

    /// `types`: those of the keys, once they are known.
    fn asked(&self, constants: &[Option<&ScalarValue>], types: Option<&[ColumnType]>) -> Result<Asked> {
        let [table, column, keys @ ..] = constants else { return Err(self.too_few(constants.len())) };
        if keys.is_empty() {
            return Err(self.too_few(constants.len()));
        }
        let (name, column) = (self.text("first", *table)?, self.text("second", *column)?);
        let table = self.tables.table(&name)?;
        if keys.len() != table.keys.len() {
            let message =
                format!("{} keys for table {}, which has {}", keys.len(), table.name, table.keys.len());
            return Err(self.error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message));
        }
        for (place, (found, wanted)) in types.into_iter().flatten().zip(&table.keys).enumerate() {
            if !is_same_key(found, wanted) {
                let message = format!(
                    "type mismatch of key {place}: it is {}, and that of table {} is {}",
                    found.value_type(),
                    table.name,
                    wanted.value_type()
                );
                return Err(self.error(ErrorCode::TYPE_MISMATCH, message));
            }
        }
        if !table.is_any_left {
            let message = format!("table {} is not of engine Join(ANY, LEFT, ..)", table.name);
            return Err(self.error(ErrorCode::INCOMPATIBLE_TYPE_OF_JOIN, message));
        }
        let Some((_, value)) = table.values.iter().find(|(known, _)| **known == *column) else {
            let message = format!("table {} has no column {column} beside its keys", table.name);
            return Err(self.error(ErrorCode::NO_SUCH_COLUMN_IN_TABLE, message));
        };
        let result = self.result(value.clone(), table.use_nulls)?;
        Ok(Asked { table, name, column, result })
    }

    /// The type of what is given for values of this one.
    fn result(&self, value: ColumnType, use_nulls: bool) -> Result<ColumnType> {
        match value {
            value if !use_nulls && self.name == JOIN_GET => Ok(value),
            value @ (ColumnType::Array(_) | ColumnType::Map(..)) => Ok(value),
            ColumnType::LowCardinality(inner) if !use_nulls && !inner.is_nullable() => {
                let message = format!("LowCardinality({inner}) cannot be inside of Nullable");
                Err(self.error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message))
            }
            value @ ColumnType::Tuple(_) => {
                let message = format!("a NULL of {value} is not supported");
                Err(self.error(ErrorCode::NOT_IMPLEMENTED, message))
            }
            value => Ok(value.nullable()),
        }
    }

    fn too_few(&self, passed: usize) -> datafusion::common::DataFusionError {
        let message = format!("passed {passed} arguments, and it takes a table, a column and keys");
        self.error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message)
    }
}

/// Zones of moments, and whether there may be NULLs, make no other key.
fn is_same_key(found: &ColumnType, wanted: &ColumnType) -> bool {
    use ColumnType::{Bool, DateTime, DateTime64, UInt8};
    match (found.value_type(), wanted.value_type()) {
        (Bool | UInt8, Bool | UInt8) | (DateTime { .. }, DateTime { .. }) => true,
        (DateTime64 { precision: one, .. }, DateTime64 { precision: other, .. }) => one == other,
        (found, wanted) => found == wanted,
    }
}

/// The call as a lookup, if it is one of [`functions_over`].
pub(crate) fn looked_up(call: &ScalarCall, schema: &DFSchema) -> Result<Option<Expr>> {
    let Some(function) = waiting::<JoinGet>(call) else { return Ok(None) };
    let constants: Vec<Option<&ScalarValue>> = call.args.iter().map(literal_of).collect();
    let keys = call.args.get(2..).unwrap_or_default();
    let types = keys.iter().map(|key| type_of(key, schema)).collect::<Result<Vec<_>>>()?;
    let Asked { name, column, result, .. } = function.asked(&constants, Some(&types))?;
    let rows = function.tables.rows(&name, &column, &result)?;
    Ok(Some(over_rows(LookedUp, rows, result, keys.iter().cloned())))
}

/// `_looked_up(rows are there, key, ..)`.
#[derive(Debug)]
struct LookedUp;

impl AsksRows for LookedUp {
    fn name(&self) -> &'static str {
        "_looked_up"
    }

    fn values(&self, lookup: &Lookup, keys: &[ArrayRef], _: &ColumnType) -> Result<ArrayRef> {
        lookup.values_of(keys)
    }
}

impl AsksTables for JoinGet {
    fn name(&self) -> &'static str {
        self.name
    }

    fn tables(&self) -> *const () {
        Arc::as_ptr(&self.tables).cast()
    }

    fn field(&self, args: &ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let asked = self.asked(args.scalar_arguments, None)?;
        Ok(Arc::new(to_field(&asked.table.name, &asked.result)))
    }
}
