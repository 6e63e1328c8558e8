//! CREATE VIEW, and CREATE MATERIALIZED VIEW with the table of its own that it may have.
//!
//! Invariant: a view is planned before it is there, so that what it reads exists and its columns have names and types; one with
//! parameters may have no columns until it is called.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use boundary::error::{Error, ErrorKind};
use catalog::{Op, TableState};
use datafusion::sql::sqlparser::ast::{TableFactor, Visit, Visitor};
use host::Host;
use model::type_arrow::{combined_by, from_field};
use model::{
    ColumnDef, ColumnType, DatabaseId, EngineArguments, ErrorCode, KeptClause, TableDef, TableEngine, TableId,
};
use sql::{ColumnSpec, CreateSource, CreateTable, CreateView, Materialized, Query, Refresh, TableName};

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::define::commit::commit_ops;
use crate::define::definition::{definition as table_definition, seen_by_all};
use crate::query::select::{plan, with_columns};
use crate::resolve::materialized::{check_source, destination_of, named, own_table_of, source_of};
use crate::resolve::views::{DECLARED, Within, expand};
use tables::reserved::is_derived;
use tables::view_runs::{LastRun, refresh_of, with_databases};

/// Whether the view is a new one.
pub(crate) async fn run(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    create: &CreateView,
) -> Result<bool, Error> {
    let (database_name, name) = execution.resolve(&create.name);
    if is_derived(database_name) {
        let message = format!("database \"{database_name}\" takes no views");
        return Err(Error::new(ErrorKind::Denied, ErrorCode::ACCESS_DENIED, message));
    }
    if create.columns.iter().any(|spec| spec.default.is_some() || spec.codec.is_some()) {
        execution.warn(
            "DEFAULT and CODEC of a view's columns have no effect: its SELECT says the values".to_owned(),
        );
    }
    let database =
        execution.snapshot.database(database_name).ok_or_else(|| Error::unknown_database(database_name))?.id;
    let existing = execution.snapshot.table(database, name);
    if existing.is_some() && create.if_not_exists {
        return Ok(false);
    }
    if existing.is_some() && !create.or_replace {
        let message = format!("table \"{database_name}.{name}\" already exists");
        return Err(Error::new(ErrorKind::AlreadyExists, ErrorCode::TABLE_ALREADY_EXISTS, message));
    }
    let (mut def, select) = defined(services, execution, create, database, existing.as_deref()).await?;
    let mut ops = Vec::with_capacity(3);
    let replaced = existing.as_ref().and_then(|table| own_table_of(execution, &table.def));
    let dropped = existing.map(|table| table.def.id).into_iter().chain(replaced);
    ops.extend(dropped.map(|table| Op::DropTable { table }));
    if let Some(materialized) = &create.materialized {
        let (own, target) = own_table(services, execution, (materialized, replaced), &def).await?;
        let refresh =
            create.refresh.as_ref().map(|refresh| with_databases(refresh, &execution.current_database));
        materialize(execution, &mut def, &select, (&target, own.is_none(), refresh.as_ref()))?;
        if create.refresh.is_some() {
            refuse_populate(materialized)?;
            let now_ms = services.now_ms();
            let run = LastRun { begun_ms: now_ms, ended_ms: now_ms, ..LastRun::default() };
            def.kept.extend(create.is_empty.then(|| run.clause()));
        }
        if let Some(own) = own {
            def.kept.push(KeptClause { keyword: sql::VIEW_OWN.into(), text: own.id.to_string().into() });
            ops.push(Op::CreateTable(own));
        }
    }
    ops.push(Op::CreateTable(def));
    commit_ops(services, execution, Vec::new(), ops).await?;
    if create.refresh.is_some() {
        services.wake.notify_waiters();
    }
    Ok(true)
}

fn refuse_populate(materialized: &Materialized) -> Result<(), Error> {
    if let Materialized::Own { populate: true, .. } = materialized {
        let message = "POPULATE of a view with REFRESH: its first run fills it";
        return Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message));
    }
    Ok(())
}

/// What the view is, before it is known where its rows go; and its SELECT with every name in full.
async fn defined(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    create: &CreateView,
    database: DatabaseId,
    existing: Option<&TableState>,
) -> Result<(TableDef, Query), Error> {
    let mut select = Query::from(Box::new(sql::qualified(&create.query.ast, &execution.current_database)));
    if let Some(existing) = existing {
        expand(execution, &mut select.ast.clone(), &mut Within::view(existing.def.id))?;
    }
    let schema = match result_of(services, execution, &mut select).await {
        // What it is over, is there when it is called.
        Err(error) if create.materialized.is_none() && sql::has_parameters(&select.ast) => {
            let found_out = "its columns are found out when it is called with its parameters";
            execution.warn(format!("the SELECT of view {}: {}; {found_out}", create.name, error.message));
            Arc::new(Schema::empty())
        }
        schema => schema?,
    };
    let found: Vec<(String, ColumnType)> =
        schema.fields().iter().map(|field| (field.name().clone(), from_field(field))).collect();
    let mut def = definition(&services.host, create, (database, &sql::printed_query(&select.ast)), &found)?;
    def.kept.extend(create.kept_settings());
    for column in &mut def.columns {
        let written = create.columns.iter().find(|spec| spec.name == *column.name);
        column.combined_by = match written.filter(|spec| spec.column_type.is_some()) {
            Some(spec) => spec.combined_by.clone(),
            None => schema.field_with_name(&column.name).ok().and_then(combined_by),
        };
    }
    Ok((def, select))
}

/// The columns of a view's SELECT: which these are, is decided now.
async fn result_of(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    select: &mut Query,
) -> Result<SchemaRef, Error> {
    while let Some(chosen) = with_columns(services, execution, select).await? {
        *select = chosen;
    }
    let mut typed = select.clone();
    sql::default_parameters(&mut typed.ast);
    plan(services, execution, &typed, None).await?.result_schema()
}

/// Notes which table the view sees, or when its SELECT is run, and which table it fills; `is_given` says that the table is none of
/// its own.
fn materialize(
    execution: &Execution,
    def: &mut TableDef,
    select: &Query,
    (target, is_given, refresh): (&TableName, bool, Option<&Refresh>),
) -> Result<(), Error> {
    def.engine = TableEngine::MaterializedView;
    if let Some(refresh) = refresh {
        check_source(execution, None, is_given.then_some(target))?;
        let text = refresh.to_string().into();
        def.kept.push(KeptClause { keyword: sql::VIEW_REFRESH.into(), text });
    } else {
        // It sees blocks of rows, of which none has replaced another.
        refuse_final(select)?;
        let source = source_of(&select.ast)?;
        check_source(execution, Some(&source), is_given.then_some(target))?;
        let (database, table) = execution.resolve(&source);
        def.kept.push(KeptClause { keyword: sql::VIEW_FROM.into(), text: named(database, table).into() });
    }
    let (database, table) = execution.resolve(target);
    def.kept.push(KeptClause { keyword: sql::VIEW_TO.into(), text: named(database, table).into() });
    Ok(())
}

/// ALTER TABLE .. MODIFY QUERY: rows that come from now on go through another SELECT, into the same table.
pub(crate) async fn modify_query(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    name: &TableName,
    query: &Query,
) -> Result<(), Error> {
    let existing = execution.stored_table(name)?;
    let old = &existing.def;
    if old.engine != TableEngine::MaterializedView {
        let message =
            format!("Alter of type 'MODIFY_QUERY' is not supported by storage {}", old.engine_name());
        return Err(Error::new(ErrorKind::BadInput, ErrorCode::NOT_IMPLEMENTED, message));
    }
    let target = destination_of(old)?;
    let create = CreateView {
        name: name.clone(),
        if_not_exists: false,
        or_replace: true,
        columns: Vec::new(),
        query: query.clone(),
        comment: old.comment.to_string(),
        materialized: Some(Materialized::To(target.clone())),
        refresh: refresh_of(old).transpose()?,
        is_empty: false,
        settings: Vec::new(),
    };
    let (mut def, select) = defined(services, execution, &create, old.database, Some(&existing)).await?;
    let is_given = old.kept_text(sql::VIEW_OWN).is_none();
    if let Some(materialized) = &create.materialized {
        let checked = own_table(services, execution, (materialized, None), &def).await;
        // Its own table has other columns for good.
        let code = if is_given { ErrorCode::THERE_IS_NO_COLUMN } else { ErrorCode::NO_SUCH_COLUMN_IN_TABLE };
        checked.map_err(|error| match error.code {
            ErrorCode::THERE_IS_NO_COLUMN => Error { code, ..error },
            _ => error,
        })?;
    }
    materialize(execution, &mut def, &select, (&target, is_given, create.refresh.as_ref()))?;
    let stays = |clause: &&KeptClause| [sql::VIEW_OWN, sql::VIEW_RUN].contains(&&*clause.keyword);
    def.kept.extend(old.kept.iter().filter(stays).cloned());
    let ops = vec![Op::DropTable { table: old.id }, Op::CreateTable(def)];
    commit_ops(services, execution, Vec::new(), ops).await?;
    Ok(())
}

fn definition(
    host: &Host,
    create: &CreateView,
    (database, select): (DatabaseId, &str),
    found: &[(String, ColumnType)],
) -> Result<TableDef, Error> {
    let declared = declared_columns(create, found)?;
    let columns = declared.as_deref().unwrap_or(found);
    if let Some(twice) =
        columns.iter().enumerate().find(|(at, column)| columns[..*at].iter().any(|c| c.0 == column.0))
    {
        let message = format!("view \"{}\" would have two columns {}", create.name, twice.1.0);
        return Err(Error::new(ErrorKind::BadInput, ErrorCode::MULTIPLE_EXPRESSIONS_FOR_ALIAS, message));
    }
    let column = |(id, (name, column_type)): (u32, &(String, ColumnType))| ColumnDef {
        comment: comment_of(create, name).into(),
        ..ColumnDef::plain(id, name, column_type.clone())
    };
    let id = TableId::from_random_bytes(host::random::uuid_bytes(host.random.as_ref()));
    let columns = (1..).zip(columns).map(column).collect();
    let clause = KeptClause { keyword: DECLARED.into(), text: "".into() };
    Ok(TableDef {
        database,
        engine_arguments: EngineArguments::new(select),
        kept: if declared.as_deref().is_some_and(|declared| declared != found) {
            vec![clause]
        } else {
            Vec::new()
        },
        comment: create.comment.as_str().into(),
        ..TableDef::plain(id, create.name.table.as_str(), TableEngine::View, columns)
    })
}

fn refuse_final(query: &Query) -> Result<(), Error> {
    struct Finals(bool);
    impl Visitor for Finals {
        type Break = ();

        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
            self.0 |= matches!(factor, TableFactor::Table { with_hints, .. } if !with_hints.is_empty());
            ControlFlow::Continue(())
        }
    }
    let mut finals = Finals(false);
    let _ = query.ast.visit(&mut finals);
    if finals.0 { Err(Error::unsupported("FINAL in a materialized view")) } else { Ok(()) }
}

/// Refuses states that the table cannot take: every INSERT into the source would fail for them.
fn check_state(given: &ColumnDef, target: &TableDef) -> Result<(), Error> {
    let Some(taken) = target.column(&given.name) else { return Ok(()) };
    let (from, to) = (&given.column_type, &taken.column_type);
    // A text may hold the bytes of a state.
    let is_other = match (from.state(), to.state()) {
        (Some(from), Some(to)) => !from.has_states_of(to),
        (Some(_), None) => !to.is_string(),
        (None, Some(_)) => !from.is_string(),
        (None, None) => false,
    };
    if !is_other {
        return Ok(());
    }
    let message = format!(
        "column {} of table \"{}\" is of type {to}, and the SELECT gives {from}: conversion is not supported",
        given.name, target.name
    );
    Err(Error::new(ErrorKind::BadInput, ErrorCode::CANNOT_CONVERT_TYPE, message))
}

/// The table that the rows go to, and its definition if it is the view's own.
async fn own_table(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    (materialized, replaced): (&Materialized, Option<TableId>),
    view: &TableDef,
) -> Result<(Option<TableDef>, TableName), Error> {
    let table = match materialized {
        Materialized::To(name) => {
            let target = execution.stored_table(name)?;
            let lacks = |column: &&ColumnDef| target.def.column(&column.name).is_none();
            if let Some(column) = view.columns.iter().find(lacks) {
                let message = format!("the SELECT gives column {}, which table {name} has not", column.name);
                return Err(Error::new(ErrorKind::BadInput, ErrorCode::THERE_IS_NO_COLUMN, message)
                    .with_hint("give it the name of a column of the table with AS"));
            }
            view.columns.iter().try_for_each(|column| check_state(column, &target.def))?;
            return Ok((None, name.clone()));
        }
        Materialized::Own { table, .. } => table,
    };
    let spec = |column: &ColumnDef| ColumnSpec {
        name: column.name.to_string(),
        column_type: Some(column.column_type.clone()),
        default: None,
        comment: String::new(),
        codec: None,
        ttl: None,
        combined_by: column.combined_by.clone(),
        is_nested: false,
    };
    let columns = view.columns.iter().map(spec).collect();
    let table = CreateTable { source: CreateSource::Columns(columns), ..table.as_ref().clone() };
    let name = table.name.clone();
    if execution.stored_table(&name).is_ok_and(|found| Some(found.def.id) != replaced) {
        let message = format!("table \"{name}\" already exists");
        return Err(Error::new(ErrorKind::AlreadyExists, ErrorCode::TABLE_ALREADY_EXISTS, message));
    }
    let def = seen_by_all(services, table_definition(services, execution, &table, view.database).await?)?;
    services.tables.check(&Arc::new(def.clone()))?;
    Ok((Some(def), name))
}

fn comment_of<'a>(create: &'a CreateView, name: &str) -> &'a str {
    create.columns.iter().find(|column| column.name == name).map_or("", |column| &column.comment)
}

/// The columns as the statement writes them, if it does: names of the SELECT with types of their own.
fn declared_columns(
    create: &CreateView,
    found: &[(String, ColumnType)],
) -> Result<Option<Vec<(String, ColumnType)>>, Error> {
    if create.columns.is_empty() {
        return Ok(None);
    }
    let mut declared = Vec::with_capacity(create.columns.len());
    for spec in &create.columns {
        let of_select = found.iter().find(|(name, _)| *name == spec.name);
        let Some((_, column_type)) = of_select else {
            // The table that it fills has the column, and gives it its default.
            if create.materialized.is_some() {
                continue;
            }
            let message = format!("column {} of view \"{}\" is none of its SELECT", spec.name, create.name);
            return Err(Error::new(ErrorKind::BadInput, ErrorCode::THERE_IS_NO_COLUMN, message)
                .with_hint("give the column its name with AS in the SELECT"));
        };
        declared.push((spec.name.clone(), spec.column_type.clone().unwrap_or_else(|| column_type.clone())));
    }
    Ok(Some(declared))
}
