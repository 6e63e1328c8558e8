//! The arguments of ReplacingMergeTree and its kin, as columns of the table.
//!
//! Invariant: columns have types that the mode can work with, or the definition is refused. Must not know: rows.

use model::merge_mode::is_summed;
use model::table_def::stored_column_name;
use model::{ColumnDef, ColumnId, ColumnType, ErrorCode, MergeMode, TableDef};
use sqlparser::ast::Expr;

use crate::reader::keys::key_of;
use crate::statement::WrittenMode;
use lexer::error::{Result, SqlError};

/// What the engine of `written` does with rows of this table.
///
/// # Errors
/// Too many or too few arguments; a column that is not there, or has a type that does not serve.
pub fn merge_mode(written: &WrittenMode, def: &TableDef) -> Result<MergeMode> {
    let (engine, arguments) = (written.engine, written.arguments.as_slice());
    let of_mode = Arguments { engine, def };
    match (engine, arguments) {
        ("ReplacingMergeTree", []) => Ok(MergeMode::Replacing { version: None, is_deleted: None }),
        ("ReplacingMergeTree", [version]) => {
            Ok(MergeMode::Replacing { version: Some(of_mode.version(version)?), is_deleted: None })
        }
        ("ReplacingMergeTree", [version, is_deleted]) => {
            let version = Some(of_mode.version(version)?);
            let column = of_mode.column(is_deleted)?;
            of_mode.refuse_twice(&[version, Some(column.id)])?;
            if !matches!(column.column_type, ColumnType::UInt8 | ColumnType::Bool) {
                return Err(of_mode.bad_type("is_deleted", column, "UInt8 or Bool"));
            }
            Ok(MergeMode::Replacing { version, is_deleted: Some(column.id) })
        }
        ("SummingMergeTree", []) => of_mode.summing(Vec::new()),
        ("SummingMergeTree", [columns]) => {
            let columns = key_of(columns.clone());
            of_mode.summing(columns.iter().map(|column| of_mode.column(column)).collect::<Result<_>>()?)
        }
        ("AggregatingMergeTree", []) => {
            check_dimensions(def)?;
            Ok(MergeMode::Aggregating)
        }
        ("CoalescingMergeTree", []) => Ok(MergeMode::Coalescing { columns: Vec::new() }),
        ("CoalescingMergeTree", [columns]) => {
            let columns = key_of(columns.clone());
            of_mode.coalescing(columns.iter().map(|column| of_mode.column(column)).collect::<Result<_>>()?)
        }
        ("CollapsingMergeTree", [sign]) => Ok(MergeMode::Collapsing { sign: of_mode.sign(sign)? }),
        ("VersionedCollapsingMergeTree", [sign, version]) => {
            let (sign, version) = (of_mode.sign(sign)?, of_mode.version(version)?);
            of_mode.refuse_twice(&[Some(sign), Some(version)])?;
            Ok(MergeMode::VersionedCollapsing { sign, version })
        }
        _ => {
            let takes = match engine {
                "ReplacingMergeTree" => "a version and whether it is deleted, or nothing",
                "SummingMergeTree" => "the columns to add, or nothing",
                "AggregatingMergeTree" => "no arguments",
                "CoalescingMergeTree" => "a tuple of columns, or nothing",
                "CollapsingMergeTree" => "the column of signs",
                _ => "the column of signs and that of versions",
            };
            let message = format!("table engine {engine} takes {takes}, not {} arguments", arguments.len());
            Err(SqlError::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message))
        }
    }
}

struct Arguments<'a> {
    engine: &'static str,
    def: &'a TableDef,
}

impl Arguments<'_> {
    fn column(&self, argument: &Expr) -> Result<&ColumnDef> {
        let Expr::Identifier(name) = argument else {
            let message =
                format!("an argument of {} must be the name of a column, not {argument}", self.engine);
            return Err(SqlError::bad_arguments(message));
        };
        let found = self.def.column(&name.value).filter(|column| column.is_stored());
        found.ok_or_else(|| {
            let message =
                format!("{} names column {}, which the table does not store", self.engine, name.value);
            SqlError::new(ErrorCode::NO_SUCH_COLUMN_IN_TABLE, message)
        })
    }

    fn bad_type(&self, what: &str, column: &ColumnDef, wanted: &str) -> SqlError {
        let message = format!(
            "column {} ({what} of {}) must be {wanted}, and is {}",
            column.name, self.engine, column.column_type
        );
        SqlError::new(ErrorCode::BAD_TYPE_OF_FIELD, message)
    }

    fn sign(&self, argument: &Expr) -> Result<ColumnId> {
        let column = self.column(argument)?;
        match column.column_type {
            ColumnType::Int8 => Ok(column.id),
            _ => Err(self.bad_type("sign", column, "Int8")),
        }
    }

    fn version(&self, argument: &Expr) -> Result<ColumnId> {
        let column = self.column(argument)?;
        if is_version(&column.column_type) {
            return Ok(column.id);
        }
        let wanted = "a number of up to 64 bits, a Date, DateTime or DateTime64";
        Err(self.bad_type("version", column, wanted))
    }

    fn refuse_twice(&self, columns: &[Option<ColumnId>]) -> Result<()> {
        let mut known = columns.iter().enumerate();
        match known.find(|(at, column)| columns[..*at].contains(column)) {
            None => Ok(()),
            Some(_) => Err(SqlError::bad_arguments(format!("{} names a column twice", self.engine))),
        }
    }

    fn coalescing(&self, columns: Vec<&ColumnDef>) -> Result<MergeMode> {
        self.refuse_twice(&columns.iter().map(|column| Some(column.id)).collect::<Vec<_>>())?;
        columns.iter().try_for_each(|column| self.refuse_key(column))?;
        Ok(MergeMode::Coalescing { columns: columns.iter().map(|column| column.id).collect() })
    }

    fn refuse_key(&self, column: &ColumnDef) -> Result<()> {
        if !self.def.is_in_key(column.id) {
            return Ok(());
        }
        let message = format!("column {} is in a key: {} cannot change it", column.name, self.engine);
        Err(SqlError::bad_arguments(message))
    }

    fn summing(&self, columns: Vec<&ColumnDef>) -> Result<MergeMode> {
        self.refuse_twice(&columns.iter().map(|column| Some(column.id)).collect::<Vec<_>>())?;
        for column in &columns {
            if is_summed_elsewhere(column) {
                let message = format!("adding column {} of type {}", column.name, column.column_type);
                return Err(SqlError::not_implemented(message));
            }
            self.refuse_key(column)?;
        }
        if columns.is_empty() {
            check_summed(self.def)?;
        }
        Ok(MergeMode::Summing { columns: columns.iter().map(|column| column.id).collect() })
    }
}

/// Of a table that merges states: what is neither a state nor in the sorting key keeps any of the values, which is refused
/// where there is a state, unless the table's settings allow it.
///
/// # Errors
/// There are such columns.
pub(crate) fn check_dimensions(def: &TableDef) -> Result<()> {
    const ALLOWED: &str = "allow_dimensions_outside_sorting_key";
    let in_key = |column: &&ColumnDef| {
        let name = format!("`{}`", stored_column_name(column.id));
        column.combined_by.is_some() && def.order_by.iter().any(|key| key.contains(&name))
    };
    if let Some(column) = def.stored_columns().find(in_key) {
        let message = format!(
            "column {} is a SimpleAggregateFunction, which is not allowed in the sorting key: rows of equal key have one \
             value of it already",
            column.name
        );
        return Err(SqlError::new(ErrorCode::DATA_TYPE_CANNOT_BE_USED_IN_KEY, message));
    }
    let is_allowed = def.settings.get(ALLOWED).is_some_and(|value| matches!(value.as_ref(), "1" | "true"));
    if is_allowed || !def.stored_columns().any(ColumnDef::is_combined) {
        return Ok(());
    }
    let names: Vec<&str> = def.dimensions_outside_keys().map(|column| column.name.as_ref()).collect();
    if names.is_empty() {
        return Ok(());
    }
    let message = format!(
        "columns {} of the AggregatingMergeTree are neither in its keys nor AggregateFunction or \
         SimpleAggregateFunction: of rows of equal key any value of them would stay",
        names.join(", ")
    );
    Err(SqlError::bad_arguments(message).with_hint(format!("add them to ORDER BY, or set {ALLOWED} = 1")))
}

/// Of a table that adds all numbers: what ClickHouse adds and we do not is refused instead of left alone.
///
/// # Errors
/// There is such a column.
pub fn check_summed(def: &TableDef) -> Result<()> {
    let mut others = def.stored_columns().filter(|column| !def.is_in_key(column.id));
    match others.find(|column| is_summed_elsewhere(column)) {
        None => Ok(()),
        Some(column) => {
            let message =
                format!("SummingMergeTree over column {} of type {}", column.name, column.column_type);
            Err(SqlError::not_implemented(message))
        }
    }
}

/// Wide numbers, truths, and the maps that a Nested named `..Map` stands for.
fn is_summed_elsewhere(column: &ColumnDef) -> bool {
    use ColumnType as T;
    if column.is_combined() {
        return false;
    }
    let number = match &column.column_type {
        T::LowCardinality(inner) if is_summed(inner) => return true,
        T::Nullable(inner) => inner.as_ref(),
        other => other,
    };
    let is_map = column.name.split_once('.').is_some_and(|(nested, _)| nested.ends_with("Map"));
    is_map || matches!(number, T::Int128 | T::Int256 | T::UInt128 | T::UInt256)
}

fn is_version(column_type: &ColumnType) -> bool {
    use ColumnType as T;
    match column_type {
        T::LowCardinality(inner) => is_version(inner),
        T::Int8 | T::Int16 | T::Int32 | T::Int64 | T::UInt8 | T::UInt16 | T::UInt32 | T::UInt64 => true,
        T::Float32 | T::Float64 | T::Bool | T::Date | T::Date32 => true,
        T::DateTime { .. } | T::DateTime64 { .. } => true,
        _ => false,
    }
}
