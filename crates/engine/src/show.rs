//! SHOW, DESCRIBE, EXISTS: what is there, as rows.
//!
//! Invariant: only reads the statement's snapshot; DESCRIBE of a source reads what inference reads and no more.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringViewArray, UInt8Array};
use arrow::datatypes::{Field, Schema};
use model::type_arrow::{from_field, to_field};
use model::{ColumnType, TableDef};
use sql::{Described, ExistsKind, NameFilter, Show, TableName};

use crate::already_loaded::moment;
use crate::context::StatementContext;
use crate::error::{Error, ErrorKind};
use crate::profile::{Report, State, millis, start_time};
use crate::query::plan;
use crate::request::{Rows, TEXT_KEY};
use crate::resolve::{Wanted, resolve_calls};
use crate::schemas_name::SYSTEM;
use crate::secrets::shown_engine;
use crate::system;
use crate::system::loads::KnownLoad;

fn text_rows<const N: usize>(names: [&str; N], rows: Vec<[String; N]>) -> Result<Rows, Error> {
    rows_with(names, rows, HashMap::new())
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

pub(crate) fn show(context: &StatementContext, show: &Show) -> Result<Rows, Error> {
    let keep = |filter: &NameFilter, names: Vec<String>| -> Vec<[String; 1]> {
        names.into_iter().filter(|name| filter.matches(name)).map(|name| [name]).collect()
    };
    match show {
        Show::Databases(filter) => {
            let mut names: Vec<String> =
                context.snapshot.databases().map(|database| database.name.to_string()).collect();
            names.sort();
            text_rows(["name"], keep(filter, names))
        }
        Show::Tables { database, filter, limit } => {
            let names = table_names(context, database.as_deref().unwrap_or(&context.current_database))?;
            let mut rows = keep(filter, names);
            rows.truncate(limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX));
            text_rows(["name"], rows)
        }
        Show::CreateTable(name) => {
            let table = context.table(name)?;
            let statement =
                sql::show_create_table(&table.def, context.resolve(name).0, &shown_engine(&table.def));
            text_rows(["statement"], vec![[statement]])
        }
        Show::CreateDatabase(name) => {
            let database = context.snapshot.database(name).ok_or_else(|| Error::unknown_database(name))?;
            text_rows(["statement"], vec![[format!("CREATE DATABASE {}\nENGINE = Atomic", database.name)]])
        }
        Show::Columns { table, filter } => {
            let rows = described_columns(context, table)?;
            let kept = rows.into_iter().filter(|row| filter.matches(&row[0]));
            text_rows(["field", "type"], kept.map(|row| [row[0].clone(), row[1].clone()]).collect())
        }
        Show::Processlist => {
            let row = |process: crate::processes::Process| [process.query_id, process.query];
            text_rows(
                ["query_id", "query"],
                context.database.processes.running().into_iter().map(row).collect(),
            )
        }
        Show::Settings { changed, filter } => {
            let changed_only = |name: &str| !changed || context.settings.is_changed(name);
            let kept =
                context.settings.iter().filter(|(def, _)| filter.matches(def.name) && changed_only(def.name));
            let rows = kept.map(|(def, value)| {
                [def.name.to_owned(), def.kind.type_name().to_owned(), value.to_string()]
            });
            text_rows(["name", "type", "value"], rows.collect())
        }
        Show::Functions(filter) => {
            let names = sql::documented_functions().into_iter().map(|function| function.name).collect();
            text_rows(["name"], keep(filter, names))
        }
        Show::ProfileList { limit } => profile_list(context, *limit),
        Show::Profile { query_id } => profile(context, query_id),
        Show::Load { database, label, limit } => show_load(context, database.as_deref(), label, *limit),
        Show::Engines => {
            let names = ["AzureBlobStorage", "File", "GCS", "Memory", "MergeTree", "Null", "S3", "URL"];
            text_rows(["name"], names.map(|name| [name.to_owned()]).to_vec())
        }
    }
}

/// StarRocks' columns, those that we know.
fn show_load(
    context: &StatementContext,
    database: Option<&str>,
    label: &NameFilter,
    limit: Option<u64>,
) -> Result<Rows, Error> {
    let name = database.unwrap_or(&context.current_database);
    let database = context.snapshot.database(name).ok_or_else(|| Error::unknown_database(name))?;
    let known = system::loads::known_loads(context).into_iter();
    let shown =
        known.filter(|known| known.load.database == database.id && label.matches(known.load.label.as_str()));
    let row = |known: KnownLoad| {
        let (load, error) = (&known.load, known.error());
        let (done, all) = (load.covered_count(), load.units.len());
        let percent = (done * 100).checked_div(all).unwrap_or(100);
        let bytes = known.bytes_total();
        [
            load.id.to_string(),
            load.label.as_str().to_owned(),
            known.state.to_owned(),
            format!("LOAD:{percent}%"),
            "INSERT".to_owned(),
            error.map(|error| error.message.clone()).unwrap_or_default(),
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

fn table_names(context: &StatementContext, database: &str) -> Result<Vec<String>, Error> {
    if database == SYSTEM {
        return Ok(system::NAMES.iter().map(|name| (*name).to_owned()).collect());
    }
    let found = context.snapshot.database(database).ok_or_else(|| Error::unknown_database(database))?;
    let mut names: Vec<String> =
        context.snapshot.tables(found.id).map(|table| table.def.name.to_string()).collect();
    names.sort();
    Ok(names)
}

const DESCRIBE: [&str; 7] =
    ["name", "type", "default_type", "default_expression", "comment", "codec_expression", "ttl_expression"];

type Description = [String; 7];

fn plain(name: &str, column_type: &ColumnType) -> Description {
    let mut row: Description = Default::default();
    (row[0], row[1]) = (name.to_owned(), column_type.to_string());
    row
}

fn described(def: &TableDef) -> Vec<Description> {
    let row = |column: &model::ColumnDef| {
        let mut row = plain(&column.name, &column.column_type);
        (row[2], row[3]) = system::default_of(def, column);
        row[4] = column.comment.to_string();
        row[5] = column.codec.as_deref().unwrap_or("").to_owned();
        row
    };
    def.columns.iter().map(row).collect()
}

fn described_columns(context: &StatementContext, name: &TableName) -> Result<Vec<Description>, Error> {
    if context.resolve(name).0 == SYSTEM {
        let columns = system::columns_of(&name.table);
        if columns.is_empty() {
            return Err(Error::unknown_table(SYSTEM, &name.table));
        }
        return Ok(columns.iter().map(|(name, column_type)| plain(name, column_type)).collect());
    }
    Ok(described(&context.table(name)?.def))
}

pub(crate) async fn describe(context: &Arc<StatementContext>, what: &Described) -> Result<Rows, Error> {
    let of_schema = |schema: &Schema| -> Vec<Description> {
        schema.fields().iter().map(|field| plain(field.name(), &from_field(field))).collect()
    };
    let rows = match what {
        Described::Table(name) => described_columns(context, name)?,
        Described::Query(query) => {
            let planned = plan(context, query, None).await?;
            of_schema(&*planned.result_schema()?)
        }
        Described::Function(call) => {
            let call = sql::table_function_call(call)?;
            let resolved =
                resolve_calls(context, std::slice::from_ref(&call), None, &Wanted::default()).await?;
            let table = resolved.tables.get(&call.placeholder);
            of_schema(&table.ok_or_else(|| Error::internal("a call became no table"))?.schema())
        }
    };
    text_rows(DESCRIBE, rows)
}

pub(crate) fn exists(context: &StatementContext, what: &ExistsKind) -> Result<Rows, Error> {
    let found = match what {
        ExistsKind::Database(name) => context.snapshot.database(name).is_some(),
        ExistsKind::Table(name) => {
            let is_system = context.resolve(name).0 == SYSTEM && system::NAMES.contains(&name.table.as_str());
            is_system || context.table(name).is_ok()
        }
    };
    let schema = Arc::new(Schema::new(vec![to_field("result", &ColumnType::UInt8)]));
    let column: ArrayRef = Arc::new(UInt8Array::from(vec![u8::from(found)]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![column]);
    Ok(Rows::of(schema, vec![batch.map_err(|e| Error::internal(e.to_string()))?]))
}

/// The kept one-column answer of statements that print text lines.
pub(crate) fn lines(name: &str, lines: Vec<String>) -> Result<Rows, Error> {
    let metadata = HashMap::from([(TEXT_KEY.to_owned(), "1".to_owned())]);
    rows_with([name], lines.into_iter().map(|line| [line]).collect(), metadata)
}

/// Running statements whose profile was asked for.
fn running_profiles(context: &StatementContext) -> Vec<Report> {
    let now = context.database.host.clock.monotonic();
    let mut running = context.database.processes.running();
    running.retain(|process| process.profile.is_asked_for() && process.is_profiled());
    let report = |process: &crate::processes::Process| {
        process.report(now.saturating_sub(process.started), State::Running)
    };
    running.iter().rev().map(report).collect()
}

/// SHOW PROFILELIST: newest first, running statements before all others.
fn profile_list(context: &StatementContext, limit: Option<u64>) -> Result<Rows, Error> {
    let row = |report: &Report| {
        let (started, total) = (start_time(report.started_ms), millis(report.total));
        let state = report.state.name().to_owned();
        [report.query_id.clone(), started, total, state, report.statement.clone()]
    };
    let ended = context.database.processes.profiles.list();
    let mut rows: Vec<[String; 5]> = running_profiles(context).iter().map(row).collect();
    rows.extend(ended.iter().map(|report| row(report)));
    rows.truncate(limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX));
    text_rows(["QueryId", "StartTime", "Time", "State", "Statement"], rows)
}

/// ANALYZE PROFILE FROM 'query id'.
fn profile(context: &StatementContext, query_id: &str) -> Result<Rows, Error> {
    let running = running_profiles(context).into_iter().find(|report| report.query_id == query_id);
    let report = match running {
        Some(report) => report.lines(),
        None => match context.database.processes.profiles.find(query_id) {
            Some(report) => report.lines(),
            None => {
                let message = format!("there is no profile of query \"{query_id}\"");
                return Err(Error::new(ErrorKind::UnknownObject, 36, message).with_hint(
                    "SET enable_profile = 1 before the statement keeps its profile; SHOW PROFILELIST lists them",
                ));
            }
        },
    };
    lines("profile", report)
}

/// CHECK TABLE: reads every part back and compares it with what the log says of it.
pub(crate) async fn check(context: &Arc<StatementContext>, name: &TableName) -> Result<Rows, Error> {
    let table = context.table(name)?;
    let store = context.database.store.clone();
    let (handle, _) = context.database.tables.handle(&table.def)?;
    let work = move || {
        let row = |part: &Arc<model::PartDescriptor>| {
            let verified = parts::verify::verify(&store, part, &handle.keys.sort);
            let problem = verified.err().map(|error| error.to_string());
            [part.name(), u8::from(problem.is_none()).to_string(), problem.unwrap_or_default()]
        };
        table.parts().map(row).collect::<Vec<_>>()
    };
    let joined = context.database.runtimes.spawn_blocking("check", work).await;
    text_rows(["part_path", "is_passed", "message"], joined.map_err(|e| Error::internal(e.to_string()))?)
}
