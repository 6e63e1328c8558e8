//! Tables whose rows are outside: engines S3, GCS, AzureBlobStorage, URL and File.
//!
//! Such a table is a call of the table function of its engine that the catalog remembers. Invariant: its files are
//! listed when a statement reads it, never before; its columns are those it was created with. Must not know: how
//! sources read, what credentials are.

use std::ops::ControlFlow;
use std::sync::Arc;

use boundary::config::Config;
use boundary::error::{Error, ErrorKind};
use boundary::secrets::redaction::shown_engine;
use catalog::TableState;
use datafusion::sql::sqlparser::ast::{ObjectName, Query, Visit, Visitor};
use model::{ColumnDef, DefaultKind, ErrorCode, TableDef, TableEngine};
use sources::ObjectTable;
use sql::{CallArgument, CallValue, SettingChange, SettingText, TableFunctionCall, TableName};
use stores::calls::format::is_name_or_auto;

use crate::context::collections::{for_sources, named_in};
use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::context::session_state::statement_state;
use crate::resolve::calls::{Resolved, Wanted, resolve_as, source_call};
use crate::resolve::schemas::external_name;
use sinks::frozen::KnownSource;
use tables::calls::source_defaults::SourceDefaults;
use tables::reserved::is_derived;
use tables::virtual_columns::parts_of;

/// Whether the arguments of a table's engine begin with this collection.
pub(crate) fn uses_collection(def: &TableDef, name: &str) -> bool {
    let arguments = || sql::arguments_of_text("an engine", def.engine_arguments.text()).ok();
    def.engine.is_external() && arguments().is_some_and(|(all, _)| named_in(&all) == Some(name))
}

/// The call of a table function that reads the table.
pub(crate) fn call_of(def: &TableDef) -> Result<TableFunctionCall, Error> {
    let engine = def.engine.name();
    let (arguments, _) = sql::arguments_of_text(engine, def.engine_arguments.text())?;
    let count = arguments.len();
    // Azure's engine has the function's positions but for the last, the structure.
    let translated = match def.engine {
        TableEngine::S3 | TableEngine::Gcs => named_positions(arguments, bucket_positions),
        TableEngine::Url => named_positions(arguments, url_positions),
        TableEngine::File => named_positions(arguments, file_positions),
        _ => Some(arguments),
    };
    let name = match def.engine {
        TableEngine::S3 => "s3",
        TableEngine::Gcs => "gcs",
        TableEngine::AzureBlobStorage => "azureBlobStorage",
        TableEngine::Url => "url",
        TableEngine::File => "file",
        _ => {
            return Err(Error::internal(format!("table \"{}\" is no table outside", def.name)));
        }
    };
    let arguments = match translated {
        Some(arguments) => arguments,
        None if def.engine == TableEngine::File && count == 1 => return Err(without_path(def)),
        None => return Err(wrong_arguments(def.engine)),
    };
    Ok(TableFunctionCall { name: name.to_owned(), arguments, placeholder: external_name(def) })
}

/// ClickHouse keeps such a table's rows in a file of its own folder.
fn without_path(def: &TableDef) -> Error {
    let message =
        format!("table \"{}\": engine File without a path keeps its rows in the database", def.name);
    Error::new(
        ErrorKind::Unsupported,
        ErrorCode::NOT_IMPLEMENTED,
        format!("{message}, which is not supported"),
    )
    .with_hint(
        "name the file, as in File(CSV, 'path'), or use ENGINE = MergeTree for rows that the database keeps",
    )
}

fn wrong_arguments(engine: TableEngine) -> Error {
    let forms = match engine {
        TableEngine::File => "File(format, 'path'[, compression])",
        TableEngine::Url => "URL('url'[, format[, compression]][, headers(..)])",
        TableEngine::Gcs => "GCS('url'[, NOSIGN | key, secret][, format[, compression]])",
        _ => {
            "S3('url'[, NOSIGN | access_key_id, secret_access_key[, session_token]][, format[, compression]])"
        }
    };
    let message = format!("table engine {} cannot be created with these arguments", engine.name());
    Error::new(ErrorKind::BadInput, ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message)
        .with_hint(format!("write {forms}, or name a collection first"))
}

/// What the positions of an engine mean, by the texts in them; `None` if nothing fits.
type Positions = fn(&[&str]) -> Option<Vec<&'static str>>;

/// A position that keeps its place, before all that is named.
const IN_PLACE: &str = "";

/// Arguments of an engine as those of its function: the positions of both differ, names do not.
fn named_positions(arguments: Vec<CallArgument>, positions: Positions) -> Option<Vec<CallArgument>> {
    if named_in(&arguments).is_some_and(|word| !is_name_or_auto(word)) {
        return Some(arguments);
    }
    let is_call = |argument: &CallArgument| matches!(argument.value, CallValue::Call { .. });
    let (calls, plain): (Vec<_>, Vec<_>) = arguments.into_iter().partition(is_call);
    let (named, positional): (Vec<_>, Vec<_>) =
        plain.into_iter().partition(|argument| argument.name.is_some());
    let texts: Vec<&str> = positional.iter().map(|argument| text_of(&argument.value)).collect();
    let meanings = match texts.is_empty() && !named.is_empty() {
        true => Vec::new(),
        false => positions(&texts)?,
    };
    let (mut in_place, mut translated) = (Vec::new(), Vec::new());
    for (argument, meaning) in positional.into_iter().zip(meanings) {
        if meaning == IN_PLACE {
            in_place.push(argument);
        } else {
            translated.push(CallArgument { name: Some(meaning.to_owned()), value: argument.value });
        }
    }
    Some(in_place.into_iter().chain(calls).chain(translated).chain(named).collect())
}

fn text_of(value: &CallValue) -> &str {
    match value {
        CallValue::Text(text) | CallValue::Number(text) | CallValue::Word(text) => text,
        CallValue::Call { name, .. } => name,
    }
}

fn bucket_positions(texts: &[&str]) -> Option<Vec<&'static str>> {
    const TAIL: [&str; 2] = ["format", "compression_method"];
    const KEY: [&str; 3] = ["access_key_id", "secret_access_key", "session_token"];
    let is_format = |at: usize| texts.get(at).is_some_and(|text| is_name_or_auto(text));
    let no_sign = texts.get(1).is_some_and(|text| text.eq_ignore_ascii_case("NOSIGN"));
    // How many texts keep their place, and how many are parts of a key.
    let count = texts.len();
    let (in_place, keys) = if no_sign && count <= 4 {
        (2, 0)
    } else if (1..=2).contains(&count) || count == 3 && is_format(1) {
        (1, 0)
    } else if count == 3 || (4..=5).contains(&count) && is_format(3) {
        (1, 2)
    } else if (4..=6).contains(&count) {
        (1, 3)
    } else {
        return None;
    };
    let head = std::iter::repeat_n(IN_PLACE, in_place).chain(KEY.into_iter().take(keys));
    Some(head.chain(TAIL).take(texts.len()).collect())
}

fn url_positions(texts: &[&str]) -> Option<Vec<&'static str>> {
    let all = [IN_PLACE, "format", "compression_method"];
    (1..=all.len()).contains(&texts.len()).then(|| all[..texts.len()].to_vec())
}

/// Of a File without a path ClickHouse keeps the rows itself; we keep rows in MergeTree.
fn file_positions(texts: &[&str]) -> Option<Vec<&'static str>> {
    let all = ["format", IN_PLACE, "compression_method"];
    (2..=all.len()).contains(&texts.len()).then(|| all[..texts.len()].to_vec())
}

/// Checks what can be checked of a definition without a request.
pub(crate) fn check(config: &Config, execution: &Execution, def: &TableDef) -> Result<(), Error> {
    let computed = |column: &&ColumnDef| {
        use DefaultKind::{Alias, Ephemeral, Materialized};
        matches!(column.default, Some((Materialized | Alias | Ephemeral, _)))
    };
    if let Some(column) = def.columns.iter().find(computed) {
        let engine = def.engine.name();
        let message = format!(
            "column \"{}\": table engine {engine} takes no MATERIALIZED, ALIAS or EPHEMERAL",
            column.name
        );
        return Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message));
    }
    Ok(source_call(&call_of(def)?).check_overrides(&for_sources(
        config,
        &execution.snapshot,
        &execution.settings,
    ))?)
}

/// Tables outside that a query names. A name that a WITH item of the query has means that.
pub(crate) fn tables_in(execution: &Execution, query: &Query) -> Vec<Arc<TableState>> {
    let mut found = named_in_query(execution, query);
    found.retain(|state| state.def.engine.is_external());
    found
}

/// All tables of ours that a query names.
pub(crate) fn named_in_query(execution: &Execution, query: &Query) -> Vec<Arc<TableState>> {
    let mut names = Names::default();
    let _ = query.visit(&mut names);
    let mut found: Vec<Arc<TableState>> = Vec::new();
    for name in names.relations {
        if name.database.is_none() && names.with_items.contains(&name.table) {
            continue;
        }
        if let Ok(state) = execution.table(&name)
            && !is_derived(execution.resolve(&name).0)
            && !found.iter().any(|known| known.def.id == state.def.id)
        {
            found.push(state);
        }
    }
    found
}

#[derive(Default)]
struct Names {
    relations: Vec<TableName>,
    with_items: Vec<String>,
}

impl Visitor for Names {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let items = query.with.iter().flat_map(|with| &with.cte_tables);
        self.with_items.extend(items.map(|item| item.alias.name.value.clone()));
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
        let (database, table) = parts_of(name);
        self.relations.push(TableName::new(database, table));
        ControlFlow::Continue(())
    }
}

/// Lists the files of tables outside, as if the statement called their functions.
pub(crate) async fn resolve_tables(
    services: &Services,
    execution: &Arc<Execution>,
    tables: &[Arc<TableState>],
    known: Option<&KnownSource>,
    wanted: &Wanted,
    resolved: &mut Resolved,
) -> Result<(), Error> {
    for state in tables {
        let table = open(services, execution, &state.def, known).await?;
        let name = execution.snapshot.state().table_name(state.def.id);
        let title = format!("table {name}: {}", shown_engine(&state.def));
        let table = table.with_columns_named(|name| wanted.names.contains(name)).with_tags().await?;
        resolved.add(external_name(&state.def), title, table);
    }
    Ok(())
}

/// The files of a table as they are now.
pub(crate) async fn open(
    services: &Services,
    execution: &Arc<Execution>,
    def: &TableDef,
    known: Option<&KnownSource>,
) -> Result<ObjectTable, Error> {
    let execution = with_own_settings(execution, def)?;
    let declared =
        || def.columns.iter().map(|c| (c.name.to_string(), c.column_type.clone())).collect::<Vec<_>>();
    let columns =
        known.map(|known| known.columns.clone()).or_else(|| Some(declared()).filter(|c| !c.is_empty()));
    let mut call = call_of(def)?;
    if columns.is_some() {
        // The columns that were declared are the table's, whatever its arguments say.
        call.arguments.retain(|argument| argument.name.as_deref() != Some("structure"));
    }
    let table =
        resolve_as(services, &execution, &call, known.map(|known| known.format.as_str()), columns).await?;
    let default = |column: &ColumnDef| {
        let (_, text) = column.default.as_ref()?;
        Some((column.name.to_string(), sql::named_expression(text, def)))
    };
    let texts: Vec<_> = def.columns.iter().filter_map(default).collect();
    if texts.is_empty() {
        return Ok(table);
    }
    let defaults = SourceDefaults::new(&statement_state(services, &execution)?, table.columns(), &texts)?;
    Ok(table.with_defaults(Arc::new(defaults)))
}

/// The table's SETTINGS are defaults of the statements that read it.
pub(crate) fn with_own_settings(execution: &Arc<Execution>, def: &TableDef) -> Result<Arc<Execution>, Error> {
    let own = def.settings.iter().filter(|(name, _)| !execution.settings.is_changed(name));
    let change = |(name, value): (&Arc<str>, &Arc<str>)| SettingChange {
        name: name.to_string(),
        value: SettingText::Quoted(value.to_string()),
    };
    let changes: Vec<SettingChange> = own.map(change).collect();
    if changes.is_empty() { Ok(Arc::clone(execution)) } else { execution.with_settings(&changes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_of_engines_become_names_of_functions() {
        for (positions, arguments, expected) in [
            (bucket_positions as Positions, "'u'", "'u'"),
            (bucket_positions, "'u', CSV, 'gzip'", "'u', format = CSV, compression_method = 'gzip'"),
            (bucket_positions, "'u', NOSIGN, 'CSV'", "'u', NOSIGN, format = 'CSV'"),
            (bucket_positions, "'u', 'k', 's'", "'u', access_key_id = 'k', secret_access_key = 's'"),
            (
                bucket_positions,
                "'u', 'k', 's', 't', 'CSV', 'none'",
                "'u', access_key_id = 'k', secret_access_key = 's', session_token = 't', format = 'CSV', \
                 compression_method = 'none'",
            ),
            (bucket_positions, "mine, format = 'CSV'", "mine, format = 'CSV'"),
            (bucket_positions, "headers('a' = 'b'), mine", "headers('a' = 'b'), mine"),
            (bucket_positions, "'1', '2', '3', '4', '5', '6', '7'", "none"),
            (url_positions, "'u', CSV, headers('a' = 'b')", "'u', headers('a' = 'b'), format = CSV"),
            (file_positions, "CSV, '/x', 'gzip'", "'/x', format = CSV, compression_method = 'gzip'"),
            (file_positions, "CSV", "none"),
        ] {
            let read = |text: &str| sql::arguments_of_text("f", text).unwrap().0;
            let expected = (expected != "none").then(|| read(expected));
            assert_eq!(named_positions(read(arguments), positions), expected, "{arguments}");
        }
    }
}
