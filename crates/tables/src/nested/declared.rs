//! `n Nested(a UInt8, b String)` as columns `n.a Array(UInt8)` and `n.b Array(String)`.
//!
//! Invariant: what is not written as Nested stays as it is. Must not know: what the arrays hold.

use model::{ColumnDef, ColumnType, TableDef};
use sql::{Alter, AlterCommand, ColumnPlace, ColumnSpec, Result, SqlError};

/// The name of the Nested that a column is a part of: what stands before its last point.
pub fn nested_name(column: &ColumnDef) -> Option<&str> {
    match column.column_type {
        ColumnType::Array(_) => column.name.rsplit_once('.').map(|(nested, _)| nested),
        _ => None,
    }
}

/// The part of the same Nested that was there before a column.
pub fn elder_part<'a>(def: &'a TableDef, column: &ColumnDef) -> Option<&'a ColumnDef> {
    let nested = nested_name(column)?;
    let elder =
        def.stored_columns().filter(|other| other.id < column.id && nested_name(other) == Some(nested));
    elder.min_by_key(|other| other.id)
}

/// Columns of a table, each Nested as one for each of its names.
///
/// # Errors
/// A Nested has a default, or a part without a name.
pub fn flattened(columns: &[ColumnSpec]) -> Result<Vec<ColumnSpec>> {
    let mut flat = Vec::with_capacity(columns.len());
    for column in columns {
        match parts_of(column)? {
            Some(parts) => flat.extend(parts),
            None => flat.push(column.clone()),
        }
    }
    Ok(flat)
}

fn parts_of(column: &ColumnSpec) -> Result<Option<Vec<ColumnSpec>>> {
    let Some(ColumnType::Array(rows)) = column.column_type.as_ref().filter(|_| column.is_nested) else {
        return Ok(None);
    };
    let ColumnType::Tuple(elements) = rows.as_ref() else { return Ok(None) };
    if column.default.is_some() {
        return Err(SqlError::not_implemented(format!("a default of the Nested column {}", column.name)));
    }
    let part = |element: &model::TupleElement| {
        let Some(name) = &element.name else {
            let message = format!("the parts of the Nested column {} need names", column.name);
            return Err(SqlError::bad_arguments(message));
        };
        Ok(ColumnSpec {
            name: format!("{}.{name}", column.name),
            column_type: Some(ColumnType::Array(Box::new(element.column_type.clone()))),
            is_nested: false,
            ..column.clone()
        })
    };
    elements.iter().map(part).collect::<Result<_>>().map(Some)
}

/// ADD COLUMN of a Nested as one for each of its parts, DROP COLUMN of a Nested as that of its parts.
///
/// # Errors
/// As [`flattened`]; a part of a Nested is renamed out of it.
pub fn flattened_alter(def: &TableDef, alter: &Alter, flattens: bool) -> Result<Alter> {
    let mut commands = Vec::with_capacity(alter.commands.len());
    for command in &alter.commands {
        match command {
            AlterCommand::AddColumn { column, if_not_exists, place } if flattens && column.is_nested => {
                let mut place = place.clone();
                for part in parts_of(column)?.unwrap_or_default() {
                    let next = place.is_some().then(|| ColumnPlace::After(part.name.clone()));
                    let if_not_exists = *if_not_exists;
                    commands.push(AlterCommand::AddColumn { column: part, if_not_exists, place });
                    place = next;
                }
            }
            AlterCommand::DropColumn { name, if_exists } if def.column(name).is_none() => {
                let parts = def.columns.iter().filter(|column| nested_name(column) == Some(name));
                let drop = |column: &ColumnDef| AlterCommand::DropColumn {
                    name: column.name.to_string(),
                    if_exists: *if_exists,
                };
                let before = commands.len();
                commands.extend(parts.map(drop));
                if commands.len() == before {
                    commands.push(command.clone());
                }
            }
            AlterCommand::RenameColumn { from, to, .. } => {
                let of = def.column(from).and_then(nested_name);
                if of.is_some_and(|nested| to.rsplit_once('.').map(|(name, _)| name) != Some(nested)) {
                    let message =
                        "cannot rename a column from a nested struct to a normal column and vice versa";
                    return Err(SqlError::bad_arguments(message));
                }
                commands.push(command.clone());
            }
            _ => commands.push(command.clone()),
        }
    }
    Ok(Alter { table: alter.table.clone(), commands, rows: alter.rows.clone() })
}
