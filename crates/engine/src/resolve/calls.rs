//! Table-function calls made into tables, before planning.
//!
//! Invariant: all I/O that planning would need happens here. A call is resolved once, however often the plan uses it.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use boundary::config::Config;
use boundary::error::Error;
use formats::omissions_name;
use model::ColumnType;
use sinks::frozen::KnownSource;
use sources::{ObjectTable, SourceEnv, resolve};
use stores::calls::urls::masked_urls;
use stores::{Argument, ArgumentValue, FileFilter, SourceCall, SourceSettings, UserFiles, WantedTypes};

use crate::context::collections::for_sources;
use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::context::session_state::statement_state;
use crate::context::source_settings::source_settings;
use crate::resolve::function_tables::table_of;
use crate::resolve::schemas::Calls;
use tables::calls::source_defaults::SourceDefaults;

/// What the calls of a statement became.
#[derive(Default)]
pub(crate) struct Resolved {
    pub tables: Calls,
    pub sources: Vec<Arc<ObjectTable>>,
    /// Of each source how the statement names it, without secrets.
    pub titles: Vec<String>,
    /// By placeholder: columns that are no part of `*`.
    pub hidden: HashMap<String, Vec<String>>,
    /// By placeholder: columns of a `*` that are those of the table the rows go to and have a default there.
    pub asked: HashMap<String, Vec<String>>,
}

impl Resolved {
    pub(crate) fn add(&mut self, placeholder: String, title: String, table: ObjectTable) {
        let table = Arc::new(table);
        self.hidden.insert(placeholder.clone(), table.hidden_columns());
        self.sources.push(Arc::clone(&table));
        self.titles.push(title);
        self.tables.insert(placeholder, table);
    }
}

/// What a statement wants of its calls, as far as its text tells.
#[derive(Default)]
pub(crate) struct Wanted {
    /// Everything that may be a column's name.
    pub names: BTreeSet<String>,
    /// By placeholder: conditions on files.
    pub files: HashMap<String, FileFilter>,
    /// By placeholder: columns of the table that the rows go to.
    pub types: HashMap<String, WantedTypes>,
    /// Of those columns the names of the ones that have a default.
    pub defaults: BTreeSet<String>,
}

pub(crate) async fn resolve_calls(
    services: &Services,
    execution: &Execution,
    calls: &[sql::TableFunctionCall],
    known: Option<&KnownSource>,
    wanted: &Wanted,
) -> Result<Resolved, Error> {
    let mut resolved = Resolved::default();
    for call in calls {
        let types = wanted.types.get(&call.placeholder).cloned().unwrap_or_default();
        match table_of(services, execution, call, &types)? {
            Some(table) => {
                resolved.tables.insert(call.placeholder.clone(), table);
            }
            None => {
                let files = wanted.files.get(&call.placeholder).cloned().unwrap_or_default();
                let table = resolve_files(services, execution, call, known, (files, types.clone())).await?;
                let title = masked_urls(&source_call(call).masked());
                let asked = asked_columns(&table, &types, &wanted.defaults);
                let omitted: Vec<String> = asked.iter().map(|name| omissions_name(name)).collect();
                let is_named =
                    |name: &str| wanted.names.contains(name) || omitted.iter().any(|known| known == name);
                let table = table.with_columns_named(is_named).with_tags().await?;
                resolved.asked.insert(call.placeholder.clone(), asked);
                resolved.add(call.placeholder.clone(), title, table);
            }
        }
    }
    Ok(resolved)
}

/// The columns of a source that goes into a table as it is and that ask for the table's defaults where files leave cells
/// out. Not where the call itself says what the columns are.
fn asked_columns(table: &ObjectTable, wanted: &WantedTypes, defaults: &BTreeSet<String>) -> Vec<String> {
    let names = |columns: &[(String, ColumnType)]| columns.iter().map(|(name, _)| name.clone()).collect();
    let found: Vec<String> = names(table.columns());
    let target: Vec<String> = names(&wanted.columns);
    if table.has_structure() {
        return Vec::new();
    }
    let asked: Vec<String> = match wanted.whole {
        true if found == target => found.into_iter().filter(|name| defaults.contains(name)).collect(),
        true => Vec::new(),
        false => wanted.asked.iter().filter(|name| found.contains(name)).cloned().collect(),
    };
    asked.into_iter().filter(|name| !table.is_in_path(name)).collect()
}

/// Of the call's files, at least those that `wanted_files` leaves.
async fn resolve_files(
    services: &Services,
    execution: &Execution,
    call: &sql::TableFunctionCall,
    known: Option<&KnownSource>,
    (wanted_files, wanted_types): (FileFilter, WantedTypes),
) -> Result<ObjectTable, Error> {
    let settings = SourceSettings { wanted_files, wanted_types, ..source_settings(services, execution) };
    let format = known.map(|known| known.format.as_str());
    resolve_with(services, execution, call, settings, format, known.map(|known| known.columns.clone())).await
}

/// Lists the files of a call whose format or columns may be known without looking into them.
pub(crate) async fn resolve_as(
    services: &Services,
    execution: &Execution,
    call: &sql::TableFunctionCall,
    format: Option<&str>,
    columns: Option<Vec<(String, ColumnType)>>,
) -> Result<ObjectTable, Error> {
    resolve_with(services, execution, call, source_settings(services, execution), format, columns).await
}

async fn resolve_with(
    services: &Services,
    execution: &Execution,
    call: &sql::TableFunctionCall,
    settings: SourceSettings,
    format: Option<&str>,
    columns: Option<Vec<(String, ColumnType)>>,
) -> Result<ObjectTable, Error> {
    let env = SourceEnv { settings: Arc::new(settings.bounded()), ..source_env(services, execution) };
    let mut call = source_call(call);
    call.check_overrides(&env.collections)?;
    if let Some(format) = format {
        // As if the statement said it.
        let format = ArgumentValue::Text(format.to_owned());
        let is_format = |name: &String| name.eq_ignore_ascii_case("format");
        call.arguments.retain(|argument| !argument.name.as_ref().is_some_and(is_format));
        call.arguments.push(Argument { name: Some("format".to_owned()), value: format });
    }
    let table = resolve(&call, &env, columns).await?;
    let texts = table.default_texts();
    if texts.is_empty() {
        return Ok(table);
    }
    let defaults = SourceDefaults::new(&statement_state(services, execution)?, table.columns(), texts)?;
    Ok(table.with_defaults(Arc::new(defaults)))
}

/// A call as `sources` takes it.
pub(crate) fn source_call(call: &sql::TableFunctionCall) -> SourceCall {
    SourceCall { function: call.name.clone(), arguments: call.arguments.iter().map(argument).collect() }
}

/// What a statement brings along for reading and writing outside.
pub(crate) fn source_env(services: &Services, execution: &Execution) -> SourceEnv {
    SourceEnv {
        stores: Arc::clone(&services.sources.stores),
        schema_cache: Arc::clone(&services.sources.schemas),
        settings: Arc::new(source_settings(services, execution).bounded()),
        user_files: user_files(&services.config),
        environment: services.sources.environment.clone(),
        collections: for_sources(&services.config, &execution.snapshot, &execution.settings),
        progress: Arc::clone(&execution.progress.source),
        memory: execution.memory.clone(),
        now_ms: services.now_ms(),
    }
}

/// Where `file()` may read.
fn user_files(config: &Config) -> UserFiles {
    let here = || std::env::current_dir().unwrap_or_default();
    UserFiles { root: config.user_files.clone().unwrap_or_else(here), anywhere: config.allow_any_local_path }
}

fn argument(given: &sql::CallArgument) -> Argument {
    let value = match &given.value {
        sql::CallValue::Text(text) => ArgumentValue::Text(text.clone()),
        sql::CallValue::Number(text) => ArgumentValue::Number(text.clone()),
        sql::CallValue::Word(text) => ArgumentValue::Word(text.clone()),
        sql::CallValue::Call { name, arguments } => {
            ArgumentValue::Call { name: name.clone(), arguments: arguments.iter().map(argument).collect() }
        }
    };
    Argument { name: given.name.clone(), value }
}
