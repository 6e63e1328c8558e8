//! SHOW, DESCRIBE, EXISTS: what is there, as rows.
//!
//! Invariant: only reads the statement's snapshot; DESCRIBE of a source reads what inference reads and no more.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, UInt8Array};
use arrow::datatypes::Schema;
use boundary::already_loaded::moment;
use boundary::error::{Error, ErrorKind};
use boundary::request::Rows;
use boundary::secrets::redaction::shown_engine;
use boundary::text_rows::text_rows;
use model::column_type::Indented;
use model::type_arrow::{from_field, to_field};
use model::{ColumnType, ErrorCode, TableDef, TableEngine};
use physical::profile::{Report, State, millis, start_time};
use sql::{Created, Described, ExistsKind, NameFilter, Settings, Show, TableName};

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::query::constant_calls::constant_call;
use crate::query::select::{self, plan};
use crate::resolve::calls::{Wanted, resolve_calls};
use crate::resolve::format_table::format_schema;
use crate::resolve::query_functions::query_of_call;
use crate::resolve::system;
pub(crate) use boundary::text_rows::lines;
use tables::reserved::is_derived;
use tables::system_rows::loads;
use tables::temporary::unknown;

pub(crate) async fn show(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    show: &Show,
) -> Result<Rows, Error> {
    match show {
        Show::Rows(query) => select::run(services, execution, query).await,
        Show::RowsOf { database, query } => {
            let name = database.as_deref().unwrap_or(&execution.current_database);
            if !is_derived(name) && execution.snapshot.database(name).is_none() {
                return Err(Error::unknown_database(name));
            }
            select::run(services, execution, query).await
        }
        Show::CreateTable { name, what } => {
            text_rows(["statement"], vec![[created(execution, name, *what)?]])
        }
        Show::CreateDatabase(name) => {
            let database = execution.snapshot.database(name).ok_or_else(|| Error::unknown_database(name))?;
            text_rows(["statement"], vec![[format!("CREATE DATABASE {}\nENGINE = Atomic", database.name)]])
        }
        Show::Index(name) => show_index(execution, name),
        Show::Settings { changed, filter } => {
            let changed_only = |name: &str| !changed || execution.settings.is_changed(name);
            let kept = execution
                .settings
                .iter()
                .filter(|(def, _)| filter.matches(def.name) && changed_only(def.name));
            let rows = kept.map(|(def, value)| {
                [def.name.to_owned(), def.kind.type_name().to_owned(), value.to_string()]
            });
            text_rows(["name", "type", "value"], rows.collect())
        }
        Show::ProfileList { limit } => profile_list(services, execution, *limit),
        Show::Profile { query_id } => profile(services, execution, query_id),
        Show::Load { database, label, limit } => {
            show_load(services, execution, database.as_deref(), label, *limit)
        }
    }
}

/// The statement that makes a table.
fn created(execution: &Execution, name: &TableName, what: Created) -> Result<String, Error> {
    if let Some(table) =
        execution.temporary_table(name).filter(|_| ![Created::View, Created::Dictionary].contains(&what))
    {
        return Ok(sql::show_create_temporary_table(
            &table.def,
            &shown_engine(&table.def),
            sql::Layout::default(),
        ));
    }
    if what == Created::Temporary {
        return Err(unknown(&name.table));
    }
    let (database, _) = execution.resolve(name);
    let table = execution.stored_table(name).or_else(|error| {
        let found = execution.snapshot.database(database).map(|found| found.id);
        found.and_then(|found| execution.snapshot.detached_table(found, &name.table)).ok_or(error)
    })?;
    if what == Created::View && !is_view(&table.def) {
        let message = format!("table \"{database}.{}\" is not a VIEW", name.table);
        return Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message)
            .with_hint("use SHOW CREATE TABLE"));
    }
    if what == Created::Dictionary && table.def.engine != TableEngine::Dictionary {
        let message = format!("\"{database}.{}\" is not a DICTIONARY", name.table);
        return Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message));
    }
    Ok(sql::show_create_table(&table.def, database, &shown_engine(&table.def), sql::Layout::default()))
}

fn is_view(def: &TableDef) -> bool {
    matches!(def.engine, TableEngine::View | TableEngine::MaterializedView)
}

fn show_index(execution: &Execution, name: &TableName) -> Result<Rows, Error> {
    let batch = tables::system_rows::kept::shown_indexes(&execution.table(name)?.def)?;
    Ok(Rows::of(batch.schema(), vec![batch]))
}

/// StarRocks' columns, those that we know.
fn show_load(
    services: &Services,
    execution: &Execution,
    database: Option<&str>,
    label: &NameFilter,
    limit: Option<u64>,
) -> Result<Rows, Error> {
    let name = database.unwrap_or(&execution.current_database);
    let database = execution.snapshot.database(name).ok_or_else(|| Error::unknown_database(name))?;
    let known = loads::known_loads(&services.loads, &services.catalog).into_iter();
    let shown = known.filter(|known| known.load.database == database.id && label.matches(known.label()));
    let row = |known: loads::KnownLoad| {
        let (load, error) = (&known.load, known.error());
        let (done, all) = (load.covered_count(), load.units.len());
        let percent = (done * 100).checked_div(all).unwrap_or(100);
        let bytes = known.bytes_total();
        [
            load.id.to_string(),
            known.label().to_owned(),
            known.state.to_owned(),
            format!("LOAD:{percent}%"),
            "INSERT".to_owned(),
            // Values of others may stand in it.
            error.filter(|_| !execution.sees_own_only).map(|error| error.message.clone()).unwrap_or_default(),
            moment(load.opened_ms),
            if known.is_open() { String::new() } else { moment(known.updated_ms) },
            format!(
                "{{\"FileNumber\":{},\"FileSize\":{bytes},\"InternalTableLoadRows\":{},\"TaskNumber\":{all}}}",
                load.files.len(),
                load.rows()
            ),
        ]
    };
    let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    let columns = [
        "JobId",
        "Label",
        "State",
        "Progress",
        "Type",
        "ErrorMsg",
        "CreateTime",
        "LoadFinishTime",
        "JobDetails",
    ];
    text_rows(columns, shown.map(row).take(limit).collect())
}

const DESCRIBE: [&str; 7] =
    ["name", "type", "default_type", "default_expression", "comment", "codec_expression", "ttl_expression"];

type Description = [String; 7];

fn plain(settings: &Settings, name: &str, column_type: &ColumnType) -> Description {
    let mut row: Description = Default::default();
    let shown = match settings.get_bool("print_pretty_type_names") {
        true => Indented::new(column_type).to_string(),
        false => column_type.to_string(),
    };
    (row[0], row[1]) = (name.to_owned(), shown);
    row
}

fn described(settings: &Settings, def: &TableDef) -> Vec<Description> {
    let row = |column: &model::ColumnDef| {
        let mut row = plain(settings, &column.name, &column.column_type);
        if column.combined_by.is_some() {
            row[1] = column.declared_type();
        }
        (row[2], row[3]) = system::default_of(def, column);
        row[4] = column.comment.to_string();
        row[5] = column
            .codec
            .as_deref()
            .map_or_else(String::new, |codec| sql::shown_codec(codec, &column.column_type));
        row[6] = sql::column_ttl(column, def).unwrap_or_default();
        row
    };
    def.columns.iter().map(row).collect()
}

fn described_columns(execution: &Execution, name: &TableName) -> Result<Vec<Description>, Error> {
    let (database, table) = execution.resolve(name);
    if execution.temporary_table(name).is_none() && is_derived(database) {
        let columns = system::columns_in(database, table);
        if columns.is_empty() {
            return Err(Error::unknown_table(database, table));
        }
        return Ok(columns
            .iter()
            .map(|(name, column_type)| plain(&execution.settings, name, column_type))
            .collect());
    }
    Ok(described(&execution.settings, &execution.table(name)?.def))
}

pub(crate) async fn describe(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    what: &Described,
) -> Result<Rows, Error> {
    let of_schema = |schema: &Schema| -> Vec<Description> {
        schema
            .fields()
            .iter()
            .map(|field| plain(&execution.settings, field.name(), &from_field(field)))
            .collect()
    };
    let rows = match what {
        Described::Table(name) => described_columns(execution, name)?,
        Described::Query(query) => {
            let planned = plan(services, execution, query, None).await?;
            of_schema(&*planned.result_schema()?)
        }
        Described::Function(call) => {
            let (name, arguments) = sql::arguments_of(call)?;
            let written = sql::WrittenCall { name: &name, arguments: &arguments };
            if let Some(query) = query_of_call(execution, &written, false)? {
                let planned = plan(services, execution, &sql::Query::from(Box::new(query)), None).await?;
                return shown(execution, of_schema(&*planned.result_schema()?));
            }
            let call = constant_call(services, execution, call).await?;
            if name.eq_ignore_ascii_case("format") {
                return shown(execution, of_schema(&format_schema(execution, &call)?));
            }
            let resolved =
                resolve_calls(services, execution, std::slice::from_ref(&call), None, &Wanted::default())
                    .await?;
            let table = resolved.tables.get(&call.placeholder);
            of_schema(&table.ok_or_else(|| Error::internal("a call became no table"))?.schema())
        }
    };
    shown(execution, rows)
}

/// Names and types alone with `describe_compact_output`.
fn shown(execution: &Execution, rows: Vec<Description>) -> Result<Rows, Error> {
    if !execution.settings.get_bool("describe_compact_output") {
        return text_rows(DESCRIBE, rows);
    }
    let short = |[name, column_type, ..]: Description| [name, column_type];
    text_rows([DESCRIBE[0], DESCRIBE[1]], rows.into_iter().map(short).collect())
}

pub(crate) fn exists(execution: &Execution, what: &ExistsKind) -> Result<Rows, Error> {
    let found = match what {
        ExistsKind::Database(name) => is_derived(name) || execution.snapshot.database(name).is_some(),
        ExistsKind::Table(name) => {
            let (database, table) = execution.resolve(name);
            system::has_table(database, table) || execution.stored_table(name).is_ok()
        }
        ExistsKind::View(name) => execution.stored_table(name).is_ok_and(|table| is_view(&table.def)),
        ExistsKind::TemporaryTable(name) => execution.temporary.table(name).is_some(),
        ExistsKind::Dictionary(name) => {
            execution.stored_table(name).is_ok_and(|table| table.def.engine == TableEngine::Dictionary)
        }
    };
    let schema = Arc::new(Schema::new(vec![to_field("result", &ColumnType::UInt8)]));
    let column: ArrayRef = Arc::new(UInt8Array::from(vec![u8::from(found)]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![column]);
    Ok(Rows::of(schema, vec![batch.map_err(|e| Error::internal(e.to_string()))?]))
}

/// Running statements whose profile was asked for.
fn running_profiles(services: &Services, execution: &Execution) -> Vec<Report> {
    let now = services.host.clock.monotonic();
    let mut running = services.processes.running();
    running.retain(|process| process.profile.is_asked_for() && process.is_profiled());
    running.retain(|process| execution.sees_statements_of(&process.user));
    let report = |process: &boundary::ledgers::processes::Process| {
        process.report(now.saturating_sub(process.started), State::Running)
    };
    running.iter().rev().map(report).collect()
}

/// SHOW PROFILELIST: newest first, running statements before all others.
fn profile_list(services: &Services, execution: &Execution, limit: Option<u64>) -> Result<Rows, Error> {
    let row = |report: &Report| {
        let (started, total) = (start_time(report.started_ms), millis(report.total));
        let state = report.state.name().to_owned();
        [report.query_id.clone(), started, total, state, report.statement.clone()]
    };
    let mut ended = services.processes.profiles.list();
    ended.retain(|report| execution.sees_statements_of(&report.user));
    let mut rows: Vec<[String; 5]> = running_profiles(services, execution).iter().map(row).collect();
    rows.extend(ended.iter().map(|report| row(report)));
    rows.truncate(limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX));
    text_rows(["QueryId", "StartTime", "Time", "State", "Statement"], rows)
}

/// ANALYZE PROFILE FROM 'query id'.
fn profile(services: &Services, execution: &Execution, query_id: &str) -> Result<Rows, Error> {
    let running =
        running_profiles(services, execution).into_iter().find(|report| report.query_id == query_id);
    let ended = || {
        let found = services.processes.profiles.find(query_id);
        found.filter(|report| execution.sees_statements_of(&report.user))
    };
    let report = match running {
        Some(report) => report.lines(),
        None => match ended() {
            Some(report) => report.lines(),
            None => {
                let message = format!("there is no profile of query \"{query_id}\"");
                return Err(Error::new(ErrorKind::UnknownObject, ErrorCode::BAD_ARGUMENTS, message).with_hint(
                    "SET enable_profile = 1 before the statement keeps its profile; SHOW PROFILELIST lists them",
                ));
            }
        },
    };
    lines("profile", report)
}

/// CHECK TABLE: reads every part back and compares it with what the log says of it.
pub(crate) async fn check(
    services: &Services,
    execution: &Execution,
    name: &TableName,
) -> Result<Rows, Error> {
    let table = execution.table(name)?;
    let store = services.store.clone();
    let (handle, _) = services.tables.handle(&table.def)?;
    let work = move || {
        let row = |part: &Arc<model::PartDescriptor>| {
            let verified = parts::verify::verify(&store, part, &handle.keys.sort);
            let problem = verified.err().map(|error| error.to_string());
            [part.name(), u8::from(problem.is_none()).to_string(), problem.unwrap_or_default()]
        };
        table.parts().map(row).collect::<Vec<_>>()
    };
    let joined = services.runtimes.spawn_blocking("check", work).await;
    text_rows(["part_path", "is_passed", "message"], joined.map_err(Error::ended_early)?)
}
