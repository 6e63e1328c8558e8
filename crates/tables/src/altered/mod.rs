//! What ALTER TABLE makes of a definition.
//!
//! Invariant: pure, and all or nothing. Column ids are never used again, expressions speak of ids, so that neither a new
//! name nor a new order changes anything that is stored. Must not know: the rows.

mod keys;
mod table_settings;

use std::sync::Arc;

use model::table_def::stored_column_name;
use model::{
    ColumnDef, ColumnId, ColumnType, ConstraintDef, DefaultKind, ErrorCode, KeptClause, MergeMode, TableDef,
    TableEngine,
};
use sql::definition::constraints::{is_constraint, stored_constraint, with_kept_constraints};
use sql::definition::mode::check_summed;
use sql::definition::{kept, ttl};
use sql::table_text::{COLUMN_TTL, stored_expr};
use sql::{Alter, AlterCommand, ColumnPlace, ColumnProperty, ColumnSpec, ConstraintSpec, Result, SqlError};

use self::keys::modify_order_by;

/// The definition after all commands, its version counted up; `None` if nothing changes.
///
/// # Errors
/// A command that ClickHouse refuses, with its code, or one that the engine does not take.
pub fn altered(def: &TableDef, alter: &Alter) -> Result<Option<TableDef>> {
    let before = with_kept_constraints(def);
    let mut next = before.clone();
    for command in &alter.commands {
        check_engine(def, command)?;
        apply(&mut next, command, before.next_column_id)?;
    }
    if next == before {
        return Ok(None);
    }
    if matches!(&next.mode, MergeMode::Summing { columns } if columns.is_empty()) {
        check_summed(&next)?;
    }
    next.schema_version = def
        .schema_version
        .checked_add(1)
        .ok_or_else(|| SqlError::new(ErrorCode::LOGICAL_ERROR, "too many versions"))?;
    Ok(Some(next))
}

/// The columns that are stored before and after, with another type.
pub fn retyped(old: &TableDef, new: &TableDef) -> Vec<ColumnId> {
    let changed =
        |now: &&ColumnDef| old.column_by_id(now.id).is_some_and(|then| then.column_type != now.column_type);
    new.stored_columns().filter(changed).map(|column| column.id).collect()
}

fn check_engine(def: &TableDef, command: &AlterCommand) -> Result<()> {
    let (what, changes_columns) = match command {
        AlterCommand::AddColumn { .. } => ("ADD_COLUMN", true),
        AlterCommand::DropColumn { .. } => ("DROP_COLUMN", true),
        AlterCommand::RenameColumn { .. } => ("RENAME_COLUMN", true),
        AlterCommand::ModifyColumn { .. } | AlterCommand::RemoveOfColumn { .. } => ("MODIFY_COLUMN", true),
        AlterCommand::AddConstraint { .. } => ("ADD_CONSTRAINT", true),
        AlterCommand::DropConstraint { .. } => ("DROP_CONSTRAINT", true),
        AlterCommand::CommentColumn { .. } => ("COMMENT_COLUMN", false),
        AlterCommand::CommentTable(_) => ("COMMENT_TABLE", false),
        AlterCommand::ModifySettings(_) => ("MODIFY_SETTING", true),
        AlterCommand::ResetSettings(_) => ("RESET_SETTING", true),
        AlterCommand::AddIndex { .. } => ("ADD_INDEX", true),
        AlterCommand::DropIndex { .. } => ("DROP_INDEX", true),
        AlterCommand::AddProjection { .. } => ("ADD_PROJECTION", true),
        AlterCommand::DropProjection { .. } => ("DROP_PROJECTION", true),
        AlterCommand::Touch => ("MATERIALIZE_INDEX", true),
        AlterCommand::ModifyTtl(_) => ("MODIFY_TTL", true),
        AlterCommand::RemoveTtl => ("REMOVE_TTL", true),
        AlterCommand::ModifyQuery(_) => ("MODIFY_QUERY", true),
        AlterCommand::ModifyRefresh(_) => ("MODIFY_REFRESH", true),
        AlterCommand::ModifyOrderBy(_) => ("MODIFY_ORDER_BY", true),
        AlterCommand::ModifySampleBy(_) => ("MODIFY_SAMPLE_BY", true),
        AlterCommand::RemoveSampleBy => ("REMOVE_SAMPLE_BY", true),
    };
    if def.is_in_old_syntax() && what.ends_with("_SETTING") {
        let message =
            format!("table \"{}\" of the deprecated syntax of MergeTree takes no settings", def.name);
        return Err(SqlError::new(ErrorCode::BAD_ARGUMENTS, message));
    }
    let retypes =
        matches!(command, AlterCommand::ModifyColumn { column, .. } if column.column_type.is_some());
    let is_of_parts = ["INDEX", "PROJECTION", "TTL", "BY"].iter().any(|word| what.ends_with(word));
    let takes = match def.engine {
        // Of a materialized view, and by itself.
        _ if ["MODIFY_QUERY", "MODIFY_REFRESH"].contains(&what) => false,
        TableEngine::MergeTree => true,
        _ if is_of_parts => false,
        TableEngine::Null => true,
        // Columns of theirs are what is asked of other tables.
        TableEngine::Merge | TableEngine::Buffer | TableEngine::Distributed => what.ends_with("_COLUMN"),
        // Its rows would have to be converted under those who read them.
        TableEngine::Memory | TableEngine::SharedMemory => !retypes,
        _ => !changes_columns,
    };
    if takes {
        return Ok(());
    }
    let engine = def.engine.name();
    let message = format!(
        "Alter of type '{what}' is not supported by storage {engine}, which table \"{}\" has",
        def.name
    );
    Err(SqlError::new(ErrorCode::NOT_IMPLEMENTED, message))
}

/// `added_from`: the id of the first column that the statement adds.
fn apply(def: &mut TableDef, command: &AlterCommand, added_from: u32) -> Result<()> {
    match command {
        AlterCommand::AddColumn { column, if_not_exists, place } => {
            if def.column(&column.name).is_some() {
                let message = format!(
                    "cannot add column {}: table \"{}\" has a column of this name",
                    column.name, def.name
                );
                return if *if_not_exists {
                    Ok(())
                } else {
                    Err(SqlError::new(ErrorCode::DUPLICATE_COLUMN, message))
                };
            }
            add(def, column, place.as_ref())
        }
        AlterCommand::DropColumn { name, if_exists } => match find(def, name, "drop", *if_exists)? {
            Some(at) => drop(def, at),
            None => Ok(()),
        },
        AlterCommand::RenameColumn { from, to, if_exists } => match find(def, from, "rename", *if_exists)? {
            Some(at) => rename(def, at, to),
            None => Ok(()),
        },
        AlterCommand::ModifyColumn { column, if_exists, place } => {
            match find(def, &column.name, "modify", *if_exists)? {
                Some(at) => modify(def, at, column, place.as_ref()),
                None => Ok(()),
            }
        }
        AlterCommand::RemoveOfColumn { name, if_exists, what } => {
            match find(def, name, "modify", *if_exists)? {
                Some(at) if *what == ColumnProperty::Ttl => {
                    let column = &def.columns[at];
                    let (id, name) = (column.id, column.name.to_string());
                    match ttl::remove_column_ttl(def, id) {
                        true => Ok(()),
                        false => Err(SqlError::bad_arguments(format!("column {name} has no TTL to remove"))),
                    }
                }
                Some(at) => remove(&mut def.columns[at], *what),
                None => Ok(()),
            }
        }
        AlterCommand::CommentColumn { name, if_exists, comment } => {
            if let Some(at) = find(def, name, "comment", *if_exists)? {
                def.columns[at].comment = comment.as_str().into();
            }
            Ok(())
        }
        AlterCommand::AddConstraint { constraint, if_not_exists } => {
            add_constraint(def, constraint, *if_not_exists)
        }
        AlterCommand::DropConstraint { name, if_exists } => drop_constraint(def, name, *if_exists),
        AlterCommand::CommentTable(comment) => {
            def.comment = comment.as_str().into();
            Ok(())
        }
        AlterCommand::ModifyOrderBy(key) => modify_order_by(def, key, added_from),
        AlterCommand::ModifySettings(changes) => table_settings::modify(def, changes),
        AlterCommand::ResetSettings(names) => {
            names.iter().try_for_each(|name| table_settings::reset(def, name))
        }
        of_kept => apply_kept(def, of_kept),
    }
}

fn apply_kept(def: &mut TableDef, command: &AlterCommand) -> Result<()> {
    match command {
        AlterCommand::AddIndex { index, if_not_exists, place } => {
            kept::add_index(def, index, *if_not_exists, place.as_ref())
        }
        AlterCommand::DropIndex { name, if_exists } => kept::drop_named(def, kept::INDEX, name, *if_exists),
        AlterCommand::AddProjection { projection, if_not_exists, place } => {
            kept::add_projection(def, projection, *if_not_exists, place.as_ref())
        }
        AlterCommand::DropProjection { name, if_exists } => {
            kept::drop_named(def, kept::PROJECTION, name, *if_exists)
        }
        AlterCommand::ModifyTtl(text) => ttl::set_ttl(def, Some(text)),
        AlterCommand::RemoveTtl => ttl::set_ttl(def, None),
        AlterCommand::ModifySampleBy(expression) => kept::set_sample_by(def, Some(expression)),
        AlterCommand::RemoveSampleBy => kept::set_sample_by(def, None),
        // CLEAR and MATERIALIZE; the caller does the others.
        _ => Ok(()),
    }
}

fn add_constraint(def: &mut TableDef, spec: &ConstraintSpec, if_not_exists: bool) -> Result<()> {
    if def.constraints.iter().any(|known| known.name.as_ref() == spec.name) {
        let message = format!(
            "cannot add constraint {}: table \"{}\" has a constraint of this name",
            spec.name, def.name
        );
        return if if_not_exists { Ok(()) } else { Err(SqlError::new(ErrorCode::ILLEGAL_COLUMN, message)) };
    }
    def.constraints.push(stored_constraint(def, spec)?);
    Ok(())
}

fn drop_constraint(def: &mut TableDef, name: &str, if_exists: bool) -> Result<()> {
    // One that an older version kept and that cannot be read begins with its name, too.
    let says = |clause: &KeptClause| clause.text.split_whitespace().next() == Some(name);
    let count = |def: &TableDef| def.constraints.len() + def.kept.len();
    let before = count(def);
    def.constraints.retain(|known| known.name.as_ref() != name);
    def.kept.retain(|clause| !(is_constraint(clause) && says(clause)));
    match count(def) < before {
        true => Ok(()),
        false if if_exists => Ok(()),
        false => {
            let message = format!("table \"{}\" has no constraint {name} to drop", def.name);
            Err(SqlError::new(ErrorCode::BAD_ARGUMENTS, message))
        }
    }
}

/// Where a column stands.
fn find(def: &TableDef, name: &str, doing: &str, if_exists: bool) -> Result<Option<usize>> {
    let at = def.columns.iter().position(|column| column.name.as_ref() == name);
    if at.is_none() && !if_exists {
        let message = format!("table \"{}\" has no column {name} to {doing}", def.name);
        return Err(SqlError::new(ErrorCode::NOT_FOUND_COLUMN_IN_BLOCK, message));
    }
    Ok(at)
}

fn add(def: &mut TableDef, spec: &ColumnSpec, place: Option<&ColumnPlace>) -> Result<()> {
    let Some(column_type) =
        spec.column_type.clone().filter(|column_type| *column_type != ColumnType::Nothing)
    else {
        return Err(SqlError::not_implemented("a column without a type")
            .with_hint(format!("give column {} a type", spec.name)));
    };
    let id = ColumnId(def.next_column_id);
    def.next_column_id =
        id.0.checked_add(1).ok_or_else(|| SqlError::new(ErrorCode::LOGICAL_ERROR, "too many columns"))?;
    let column = ColumnDef {
        id,
        name: spec.name.as_str().into(),
        column_type,
        default: stored_default(spec, &def.columns)?,
        comment: spec.comment.as_str().into(),
        codec: spec.codec.as_deref().map(Arc::from),
        combined_by: spec.combined_by.clone(),
    };
    let at = position(def, place)?.unwrap_or(def.columns.len());
    def.columns.insert(at, column);
    match &spec.ttl {
        Some(ttl) => ttl::set_column_ttl(def, id, ttl),
        None => Ok(()),
    }
}

fn stored_default(spec: &ColumnSpec, columns: &[ColumnDef]) -> Result<Option<(DefaultKind, Arc<str>)>> {
    let Some((kind, expression)) = &spec.default else { return Ok(None) };
    Ok(Some((*kind, stored_expr(expression, columns)?.into())))
}

fn position(def: &TableDef, place: Option<&ColumnPlace>) -> Result<Option<usize>> {
    match place {
        None => Ok(None),
        Some(ColumnPlace::First) => Ok(Some(0)),
        Some(ColumnPlace::After(name)) => {
            let named = def.columns.iter().position(|column| column.name.as_ref() == name);
            // Behind a Nested is behind its parts that stand together.
            let is_part = |column: &ColumnDef| {
                column.name.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('.'))
            };
            let parts = || {
                let first = def.columns.iter().position(is_part)?;
                Some(first + def.columns[first..].iter().take_while(|column| is_part(column)).count() - 1)
            };
            named.or_else(parts).map(|at| Some(at + 1)).ok_or_else(|| {
                let message = format!("table \"{}\" has no column {name} to insert after", def.name);
                SqlError::new(ErrorCode::NO_SUCH_COLUMN_IN_TABLE, message)
            })
        }
    }
}

fn drop(def: &mut TableDef, at: usize) -> Result<()> {
    let column = &def.columns[at];
    if let Some(user) =
        def.columns.iter().find(|other| other.id != column.id && default_uses(other, column.id))
    {
        let message =
            format!("cannot drop column {}, because column {} depends on it", column.name, user.name);
        return Err(SqlError::new(ErrorCode::ILLEGAL_COLUMN, message)
            .with_hint(format!("change the default of column {} first", user.name)));
    }
    let checks = |constraint: &&ConstraintDef| uses(std::slice::from_ref(&constraint.expression), column.id);
    if let Some(constraint) = def.constraints.iter().find(checks) {
        let message = format!("cannot drop column {}: constraint {} needs it", column.name, constraint.name);
        return Err(SqlError::new(ErrorCode::UNKNOWN_IDENTIFIER, message)
            .with_hint(format!("drop constraint {} first", constraint.name)));
    }
    if let Some(user) = ttl::column_whose_ttl_needs(def, column.id) {
        let message = format!("cannot drop column {}: the TTL of column {} needs it", column.name, user.name);
        return Err(SqlError::new(ErrorCode::UNKNOWN_IDENTIFIER, message));
    }
    refuse_key(def, column, "drop")?;
    refuse_kept(def, &column.name, "drop")?;
    let stays_stored = |other: &&ColumnDef| other.id != column.id;
    if def.stored_columns().filter(stays_stored).count() == 0 {
        let message = format!("cannot drop all columns of table \"{}\"", def.name);
        return Err(SqlError::new(ErrorCode::BAD_ARGUMENTS, message));
    }
    let removed = def.columns.remove(at);
    ttl::remove_column_ttl(def, removed.id);
    Ok(())
}

fn rename(def: &mut TableDef, at: usize, to: &str) -> Result<()> {
    if def.column(to).is_some() {
        let message = format!("cannot rename to {to}: table \"{}\" has a column of this name", def.name);
        return Err(SqlError::new(ErrorCode::DUPLICATE_COLUMN, message));
    }
    refuse_kept(def, &def.columns[at].name, "rename")?;
    let before = def.clone();
    def.columns[at].name = to.into();
    ttl::follow_names(&before, def)
}

fn modify(def: &mut TableDef, at: usize, spec: &ColumnSpec, place: Option<&ColumnPlace>) -> Result<()> {
    if let Some(column_type) = &spec.column_type {
        let has_default = spec.default.is_some() || def.columns[at].default.is_some();
        check_type(def, &def.columns[at], column_type, has_default)?;
        def.columns[at].column_type = column_type.clone();
        def.columns[at].combined_by.clone_from(&spec.combined_by);
    }
    if let Some(default) = stored_default(spec, &def.columns)? {
        refuse_computed_key(def, at, default.0)?;
        def.columns[at].default = Some(default);
    }
    if !spec.comment.is_empty() {
        def.columns[at].comment = spec.comment.as_str().into();
    }
    if let Some(ttl) = &spec.ttl {
        let id = def.columns[at].id;
        ttl::set_column_ttl(def, id, ttl)?;
    }
    if let Some(codec) = &spec.codec {
        def.columns[at].codec = Some(codec.as_str().into());
    }
    if place.is_some() {
        let column = def.columns.remove(at);
        let at = position(def, place)?.unwrap_or(at);
        def.columns.insert(at, column);
    }
    Ok(())
}

/// Whether a column may get another type, as far as the definition tells.
fn check_type(def: &TableDef, column: &ColumnDef, now: &ColumnType, has_default: bool) -> Result<()> {
    let then = &column.column_type;
    if then == now {
        return Ok(());
    }
    table_settings::check_indexed(def, column)?;
    if def.mode.columns().contains(&column.id) && !only_adds_names(then, now) {
        return refuse_key(def, column, "change the type of");
    }
    if uses(&def.order_by, column.id) || uses(&def.partition_by, column.id) {
        if only_adds_names(then, now) {
            return Ok(());
        }
        let message = format!(
            "cannot change the type of column {} from {then} to {now}: it is part of the table's key",
            column.name
        );
        return Err(SqlError::new(ErrorCode::ALTER_OF_COLUMN_IS_FORBIDDEN, message));
    }
    if then.is_nullable() && !now.is_nullable() && !has_default {
        let message = format!("cannot convert column {} from the nullable type {then} to {now}", column.name);
        return Err(SqlError::new(ErrorCode::BAD_ARGUMENTS, message)
            .with_hint("give it a DEFAULT: that is what NULL becomes"));
    }
    Ok(())
}

/// Enums keep their numbers, which are what is stored.
fn only_adds_names(then: &ColumnType, now: &ColumnType) -> bool {
    match (then, now) {
        (ColumnType::Enum8(then), ColumnType::Enum8(now))
        | (ColumnType::Enum16(then), ColumnType::Enum16(now)) => {
            then.iter().all(|(number, name)| now.name(number) == Some(name))
        }
        _ => false,
    }
}

fn remove(column: &mut ColumnDef, what: ColumnProperty) -> Result<()> {
    let missing = |word: &str| {
        let message = format!("column {} has no {word} to remove", column.name);
        Err(SqlError::new(ErrorCode::BAD_ARGUMENTS, message))
    };
    match what {
        ColumnProperty::Default(kind) => match &column.default {
            Some((found, _)) if *found == kind => column.default = None,
            _ => return missing(&format!("{kind:?}").to_uppercase()),
        },
        // Of the table's clauses, not of the column.
        ColumnProperty::Ttl => {}
        ColumnProperty::Comment => column.comment = "".into(),
        ColumnProperty::Codec => {
            if column.codec.take().is_none() {
                return missing("CODEC");
            }
        }
    }
    Ok(())
}

fn refuse_key(def: &TableDef, column: &ColumnDef, doing: &str) -> Result<()> {
    let what = if uses(&def.order_by, column.id) || uses(&def.partition_by, column.id) {
        "it is part of the table's key".to_owned()
    } else if def.mode.columns().contains(&column.id) {
        format!("the table's engine {} needs it", def.engine_name())
    } else {
        return Ok(());
    };
    let message = format!("cannot {doing} column {}: {what}", column.name);
    Err(SqlError::new(ErrorCode::ALTER_OF_COLUMN_IS_FORBIDDEN, message))
}

/// A column of a key has to be stored.
fn refuse_computed_key(def: &TableDef, at: usize, kind: DefaultKind) -> Result<()> {
    match kind {
        DefaultKind::Default | DefaultKind::Materialized => Ok(()),
        DefaultKind::Alias | DefaultKind::Ephemeral => refuse_key(def, &def.columns[at], "no longer store"),
    }
}

/// INDEX, PROJECTION and the like are kept as text, which would go on saying the old name.
fn refuse_kept(def: &TableDef, name: &str, doing: &str) -> Result<()> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let says = |text: &str| text.split(|c: char| !is_part(c)).any(|word| word == name);
    let follows = |keyword: &str| keyword == COLUMN_TTL || (keyword == ttl::TTL && doing == "rename");
    let is_over_names = |clause: &&KeptClause| !follows(&clause.keyword);
    let Some(clause) = def.kept.iter().filter(is_over_names).find(|clause| says(&clause.text)) else {
        return Ok(());
    };
    let message = format!("cannot {doing} column {name}: {} {} names it", clause.keyword, clause.text);
    Err(SqlError::new(ErrorCode::UNKNOWN_IDENTIFIER, message))
}

fn default_uses(column: &ColumnDef, id: ColumnId) -> bool {
    column.default.as_ref().is_some_and(|(_, text)| uses(std::slice::from_ref(text), id))
}

fn uses(expressions: &[Arc<str>], id: ColumnId) -> bool {
    let name = format!("`{}`", stored_column_name(id));
    expressions.iter().any(|text| text.contains(&name))
}

#[cfg(test)]
mod tests;
