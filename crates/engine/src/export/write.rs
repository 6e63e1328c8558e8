//! INSERT INTO FUNCTION: rows into objects and files outside of the database.
//!
//! Invariant: the objects of a statement become visible together, after one record, or (a single small object without a
//! name) by one PUT; a statement that fails leaves nothing. A label is committed in the record of its objects, so a
//! repetition writes nothing. Must not know: requests, how objects are cut.

mod partitions;
mod job;

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use boundary::error::{Error, ErrorKind};
use boundary::once::claim::{Claim, is_compared};
use boundary::once::fingerprint::of_token;
use boundary::once::names::Once;
use boundary::request::{BodyStream, Rows};
use formats::Omissions;
use host::Host;
use model::type_arrow::{from_field, to_field};
use model::{ColumnDef, ColumnType, ErrorCode, ExportId, Label, TableDef, TableEngine, TableId};
use sources::Destination;
use sources::export::ExportNames;
use sql::{Insert, InsertSource, Settings, TableFunctionCall};

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::context::session_state::statement_state;
use crate::context::source_settings::export_settings;
use crate::export::journal::finish_waiting;
use crate::insert::into_table::repeats;
use crate::insert::rows::SentRows;
use crate::insert::values::value_rows;
use crate::query::select::{plan, stream_of};
use crate::resolve::calls::{source_call, source_env};
use sinks::arriving::infile::{as_select, as_select_of, is_infile};
use sinks::turns::Batches;
use tables::conform::Conform;
use tables::insert_shape::InsertShape;

use job::ExportJob;
use partitions::Partitions;

/// Runs an INSERT whose target is `function`, or a table outside that is `function` with the columns it declares.
pub(crate) async fn run(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    insert: &Insert,
    (function, declared): (&TableFunctionCall, Option<&TableDef>),
    text: &str,
    body: Option<BodyStream>,
) -> Result<Rows, Error> {
    let (call, env) = (source_call(function), source_env(services, execution));
    call.check_overrides(&env.collections)?;
    let settings = export_settings(&execution.settings);
    let disk = Arc::clone(&services.host.disk);
    let is_partitioned = insert.partition_by.is_some();
    let destination = Destination::new(&call, &env, disk, settings, is_partitioned)?;
    let destination = Arc::new(destination);
    let target = target_id(insert, &destination)?;
    let mut insert = with_token_as_label(&execution.settings, insert, target);
    if is_infile(&insert) {
        insert = match declared {
            Some(def) => as_select(&insert, def)?,
            None => as_select_of(&insert, known_structure(&destination)?)?,
        };
    }
    let insert = &insert;
    finish_waiting_elsewhere(services, execution, &destination).await?;
    let mut body = body;
    // A label is about the statement's text: asked before anything is read.
    let database = execution.snapshot.database(&execution.current_database);
    let database = database.ok_or_else(|| Error::unknown_database(&execution.current_database))?.id;
    let claim_def = TableDef { database, ..table_def(target, &destination, Vec::new()) };
    let claim =
        Claim::of(&execution.settings, insert, &claim_def, &execution.current_database, text)?.map(Arc::new);
    if destination.is_page() && claim.as_ref().is_some_and(|claim| claim.once().label.is_some()) {
        return Err(Error::unsupported("a label or token of an INSERT into url()").with_hint(
            "whether a server has taken a page cannot be known for sure; write without, or to a bucket",
        ));
    }
    if let Some(claim) = &claim {
        body = body.map(|body| claim.watch(body));
        if repeats(&execution.snapshot, &execution.progress, claim, &mut body).await? {
            return Ok(Rows::none());
        }
    }
    let Incoming { def, conform, rows } =
        Box::pin(incoming(services, execution, insert, (&destination, declared), target, text, body)).await?;
    let partitions = Partitions::new(services, execution, insert, &def, &destination)?;
    let export = ExportId::from_random_bytes(random_bytes(&services.host));
    // Tokens are names of tables; a function's was made a label.
    let once = |claim: &Arc<Claim>| Once { token: None, ..claim.once() };
    let names = ExportNames {
        file_id: file_id(&services.host, claim.as_deref()),
        temporary_id: export.to_string(),
        is_named: claim.is_some(),
    };
    let job = ExportJob {
        services: Arc::clone(services),
        execution: Arc::clone(execution),
        destination,
        conform,
        partitions,
        rows,
        names,
        export,
        once: claim.map(|claim| Box::new(move || once(&claim)) as Box<dyn Fn() -> Once + Send + Sync>),
        is_known_early: matches!(insert.source, InsertSource::Select(_)),
    };
    job.run().await?;
    Ok(Rows::none())
}

/// Blocking records are not written on the threads of queries.
async fn finish_waiting_elsewhere(
    services: &Arc<Services>,
    execution: &Execution,
    destination: &Arc<Destination>,
) -> Result<(), Error> {
    let waits = |place: &model::ExportStore| destination.can_finish(place);
    let snapshot = services.catalog.snapshot();
    let is_left = |export: &catalog::ExportState| {
        !services.exports.is_running(export.id) && export.objects.iter().any(|object| waits(&object.store))
    };
    if !snapshot.exports().any(|export| is_left(export)) {
        return Ok(());
    }
    let (held, destination) = (Arc::clone(services), Arc::clone(destination));
    let handle = services.runtimes.cpu().clone();
    let work = move || handle.block_on(finish_waiting(&held, &destination));
    let ended = services.runtimes.spawn_thread("export", work)?;
    let ended = ended.await.map_err(|_| Error::internal("an export ended early"))?;
    ended?.into_iter().for_each(|warning| execution.warn(warning));
    Ok(())
}

/// Rows on their way, and what they become.
struct Incoming {
    def: Arc<TableDef>,
    conform: Arc<Conform>,
    rows: Batches,
}

async fn incoming(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    insert: &Insert,
    (destination, declared): (&Destination, Option<&TableDef>),
    target: TableId,
    text: &str,
    body: Option<BodyStream>,
) -> Result<Incoming, Error> {
    let given = match declared {
        Some(def) => Some(Arc::new(declared_def(target, destination, def))),
        None => destination.structure.clone().map(|given| Arc::new(table_def(target, destination, given))),
    };
    let columns = insert.columns.as_deref();
    let tables = &services.tables;
    let statement = || statement_state(services, execution);
    if let InsertSource::Select(query) = &insert.source {
        let planned = plan(services, execution, query, None).await?;
        let found = || -> Result<Arc<TableDef>, Error> {
            let schema = planned.result_schema()?;
            let found = schema.fields().iter().map(|field| (field.name().clone(), from_field(field)));
            Ok(Arc::new(table_def(target, destination, found.collect())))
        };
        let def = given.map_or_else(found, Ok)?;
        let (physical, nullable) = planned.physical_of(&planned.logical).await?;
        let schema = planned.labelled(&physical.schema(), &nullable);
        let (_, defaults) = tables.compile_once(&def, &statement)?;
        let omissions = Omissions::of(planned.logical.schema().as_arrow())?;
        let conform = Conform::new(&def, columns, omissions.width, &defaults)?
            .with_omissions(omissions)
            .with_null_as_default(execution.settings.get_bool("insert_null_as_default"))
            .with_constraints(tables.constraints(&def, &statement)?.0);
        let rows = stream_of(services, execution, &planned.state, physical, schema)?;
        return Ok(Incoming { def, conform: Arc::new(conform), rows });
    }
    let def = given.ok_or_else(|| columns_unknown(destination))?;
    let (table, defaults) = tables.compile_once(&def, &statement)?;
    let (constraints, _) = tables.constraints(&def, &statement)?;
    let shape = Arc::new(InsertShape::new(table, columns, &defaults, constraints)?);
    let rows = match &insert.source {
        InsertSource::Values(range) => {
            value_rows(services, execution, &shape, &text[range.clone()], body).await?
        }
        InsertSource::Format { name, data } => {
            SentRows::arrive(services, execution, name, &text[data.clone()], body)
                .await?
                .rows(services, execution, &shape)?
        }
        InsertSource::Select(_) | InsertSource::Infile { .. } => {
            return Err(Error::internal("a SELECT was read as rows"));
        }
    };
    Ok(Incoming { def, conform: Arc::clone(&shape.conform), rows })
}

/// Columns that the call names: nothing but a SELECT brings names of its own.
fn known_structure(destination: &Destination) -> Result<&[(String, ColumnType)], Error> {
    destination.structure.as_deref().ok_or_else(|| columns_unknown(destination))
}

fn columns_unknown(destination: &Destination) -> Error {
    let message = format!("the columns of \"{}\" are not known", destination.shown());
    Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message)
        .with_hint("give the structure as an argument")
}

/// The columns of an output as a table, for all that knows rows only as rows of one.
fn table_def(id: TableId, destination: &Destination, structure: Vec<(String, ColumnType)>) -> TableDef {
    let columns = (1..).zip(structure);
    let columns = columns.map(|(at, (name, column_type))| ColumnDef::plain(at, &name, column_type)).collect();
    TableDef {
        database: catalog::default_database_id(),
        ..TableDef::plain(id, destination.shown(), TableEngine::MergeTree, columns)
    }
}

/// The same for a table outside: with the defaults of its columns and its constraints, without what is about its place.
fn declared_def(id: TableId, destination: &Destination, declared: &TableDef) -> TableDef {
    TableDef {
        columns: declared.columns.clone(),
        kept: declared.kept.clone(),
        next_column_id: declared.next_column_id,
        constraints: declared.constraints.clone(),
        ..table_def(id, destination, Vec::new())
    }
}

/// Stands for the target in the fingerprint of a statement: where and how it writes, not with which key.
fn target_id(insert: &Insert, destination: &Destination) -> Result<TableId, Error> {
    let partition_by = insert.partition_by.as_ref().map(ToString::to_string).unwrap_or_default();
    let (format, compression) = (destination.format.name(), destination.compression.name());
    let text = format!("export {} {format} {compression} {partition_by}", destination.identity()?);
    Ok(TableId::from_bytes(of_token(&text).to_le_bytes()))
}

/// A token names an INSERT into a table, and a function is none: it is kept as a label nobody writes by hand. As for
/// tables, it is one of its target alone, and nothing where rows are not compared.
fn with_token_as_label(settings: &Settings, insert: &Insert, target: TableId) -> Insert {
    let token = settings.get_text("insert_deduplication_token");
    let has_label = insert.label.is_some() || !settings.get_text("insert_label").is_empty();
    let mut insert = insert.clone();
    if !token.is_empty() && !has_label && is_compared(settings, &insert) {
        insert.label = Some(format!("export-token-{:032x}", of_token(&format!("{target} {token}"))));
    }
    insert
}

/// The name of files that have none of their own: the same for the same label, so a repetition writes the same keys.
fn file_id(host: &Host, claim: Option<&Claim>) -> String {
    let label = claim.and_then(|claim| claim.once().label);
    let of_label = label.as_ref().map(Label::as_str).map(of_token);
    let number = of_label.map(|hash| u64::try_from(hash >> 65).unwrap_or(u64::MAX));
    let random = host::random::u64(host.random.as_ref()) & ((1 << 22) - 1);
    // As snowflake ids are: 41 bits of milliseconds, then what tells statements of one millisecond apart.
    number.unwrap_or(((host.clock.now_ms() << 22) | random) & (u64::MAX >> 1)).to_string()
}

fn random_bytes(host: &Host) -> [u8; 16] {
    host::random::uuid_bytes(host.random.as_ref())
}

/// What is written of `def`, without the marks that only parts have.
fn written_schema(def: &TableDef, columns: &[usize]) -> SchemaRef {
    let field = |at: &usize| def.columns.get(*at).map(|column| to_field(&column.name, &column.column_type));
    Arc::new(Schema::new(columns.iter().filter_map(field).collect::<Vec<_>>()))
}

/// Those columns of a batch.
fn projected(batch: &RecordBatch, schema: &SchemaRef, columns: &[usize]) -> Result<RecordBatch, Error> {
    let arrays = columns.iter().map(|at| Arc::clone(batch.column(*at))).collect();
    RecordBatch::try_new(Arc::clone(schema), arrays).map_err(|e| Error::internal(e.to_string()))
}
