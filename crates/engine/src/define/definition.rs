//! What a CREATE TABLE defines: its columns, keys and settings, written out, copied, or read from a SELECT or files.
//!
//! Invariant: nothing is committed here. Must not know: whether the table is there already.

use std::fmt::Display;
use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use host::Host;
use model::{
    ColumnDef, ColumnType, DatabaseId, EngineArguments, ErrorCode, MergeMode, TableDef, TableEngine, TableId,
    TableSettings,
};
use sql::definition::constraints::stored_constraint;
use sql::definition::mode::merge_mode;
use sql::definition::ttl;
use sql::{ColumnSpec, CreateSource, CreateTable, SettingChange, SettingText, Settings, TableName};
use tables::checks::check_new;
use tables::clauses::{TTL, copy_keys, kept, primary_key_length, without_keys, written_keys};

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::define::columns::columns_of;
use crate::query::select::plan;
use crate::resolve::merged::{Merged, kept_arguments, merged_query};
use crate::resolve::outside;
use crate::resolve::system::has_table;
use tables::dictionaries::kept_name;
use tables::joined::check_definition;
use tables::nested::declared::flattened;

/// What a CREATE TABLE defines, in a database or, as a temporary table, in none.
pub(crate) async fn definition(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    create: &CreateTable,
    database: DatabaseId,
) -> Result<TableDef, Error> {
    if let Some(like) = copied(execution, create) {
        let like = execution.table(like)?;
        if create.engine.is_none() && matches!(like.def.engine, TableEngine::View | TableEngine::Dictionary) {
            let message = format!("cannot CREATE a table AS {}, it is a view", like.def.name);
            return Err(Error::new(ErrorKind::BadInput, ErrorCode::INCORRECT_QUERY, message)
                .with_hint("ENGINE says where the rows of a table with its columns are to be"));
        }
        return copy_definition(&services.host, execution, create, &like.def, database);
    }
    let specs = match create.engine {
        Some(engine) if passes_on(engine) && has_no_columns(create) => {
            let merged = Merged::of_table(execution, engine, &create.engine_arguments)?;
            let query = merged_query(execution, &merged, None, false)?;
            selected_specs(services, execution, &sql::Query::from(Box::new(query))).await?
        }
        Some(engine) if engine.is_external() && has_no_columns(create) => {
            inferred_specs(services, execution, create, engine).await?
        }
        _ => column_specs(services, execution, create).await?,
    };
    let specs = match execution.settings.get_bool("flatten_nested") {
        true => flattened(&specs)?,
        false => specs,
    };
    let columns = columns_of(services, execution, &specs)?;
    let engine = match create.engine {
        Some(engine) => engine,
        None => default_engine(&execution.settings, create)?,
    };
    // A key is of what is there to be sorted.
    let stored_columns: Vec<_> = columns.iter().filter(|column| column.is_stored()).cloned().collect();
    let stored = |expressions: &[sql::Expr]| -> Result<Vec<Arc<str>>, Error> {
        let text =
            |expression| sql::stored_expr(expression, &stored_columns).map(Arc::from).map_err(Error::from);
        expressions.iter().map(text).collect()
    };
    let primary = create.primary_key.as_deref().map(stored).transpose()?;
    let order_by = match (create.order_by.as_deref().map(stored).transpose()?, &primary) {
        (Some(order_by), _) => order_by,
        (None, Some(primary)) => primary.clone(),
        (None, None) if engine == TableEngine::MergeTree => unsorted(execution, &create.name)?,
        (None, None) => Vec::new(),
    };
    let mut def = TableDef {
        id: TableId::from_random_bytes(random_bytes(&services.host)),
        database,
        name: create.name.table.as_str().into(),
        engine,
        engine_arguments: engine_arguments(execution, create, &columns)?,
        mode: MergeMode::Plain,
        schema_version: 1,
        next_column_id: u32::try_from(columns.len() + 1).unwrap_or(u32::MAX),
        partition_by: stored(&create.partition_by)?,
        primary_key_len: primary_key_length(&order_by, primary.as_deref())?,
        order_by,
        sort_key_version: 1,
        settings: table_settings(execution, create, engine)?,
        kept: kept(create, engine, written_keys(create, &stored_columns)?),
        constraints: Vec::new(),
        comment: create.comment.as_str().into(),
        columns,
    };
    ttl::with_column_ttls(&mut def, &specs)?;
    check_new(&def, &execution.settings)?;
    with_constraints(with_mode(def, create)?, create)
}

/// The key of a table whose statement has none, if it may: its rows keep their insertion order.
fn unsorted(execution: &Execution, name: &impl Display) -> Result<Vec<Arc<str>>, Error> {
    if execution.settings.get_bool("create_table_empty_primary_key_by_default") {
        return Ok(Vec::new());
    }
    let message = format!("table \"{name}\" needs ORDER BY or PRIMARY KEY");
    Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message)
        .with_hint("use ORDER BY tuple() to keep rows in insertion order"))
}

/// Checked. Of a root that others use, too, rows are in the log: what is in the memory of one server the others do not see.
pub(super) fn seen_by_all(services: &Services, def: TableDef) -> Result<TableDef, Error> {
    check_definition(&def)?;
    Ok(match def.engine {
        TableEngine::Memory if services.sharing.is_some() => {
            TableDef { engine: TableEngine::SharedMemory, ..def }
        }
        _ => def,
    })
}

/// What the engine does with rows of equal key.
fn with_mode(mut def: TableDef, create: &CreateTable) -> Result<TableDef, Error> {
    if let Some(written) = &create.mode {
        def.mode = merge_mode(written, &def)?;
    }
    Ok(def)
}

fn with_constraints(mut def: TableDef, create: &CreateTable) -> Result<TableDef, Error> {
    for spec in &create.constraints {
        def.constraints.push(stored_constraint(&def, spec)?);
    }
    Ok(def)
}

/// `default_table_engine`, for a statement that names none.
fn default_engine(settings: &Settings, create: &CreateTable) -> Result<TableEngine, Error> {
    let keyed = create.order_by.is_some() || create.primary_key.is_some() || !create.partition_by.is_empty();
    match settings.get_text("default_table_engine").as_str() {
        "None" => {
            Err(Error::new(ErrorKind::BadInput, ErrorCode::ENGINE_REQUIRED, "CREATE TABLE names no engine")
                .with_hint("write ENGINE = MergeTree, or set default_table_engine"))
        }
        "Memory" if keyed => Err(Error::new(
            ErrorKind::BadInput,
            ErrorCode::BAD_ARGUMENTS,
            "table engine Memory, the default_table_engine, takes no PARTITION BY, ORDER BY or PRIMARY KEY",
        )),
        "Memory" => Ok(TableEngine::Memory),
        _ => Ok(TableEngine::MergeTree),
    }
}

/// Whether its rows are those of other tables.
fn passes_on(engine: TableEngine) -> bool {
    engine == TableEngine::Merge || engine.names_another()
}

/// As written; those of a MergeTree table, in the syntax of old, as an expression over columns.
fn engine_arguments(
    execution: &Execution,
    create: &CreateTable,
    columns: &[ColumnDef],
) -> Result<EngineArguments, Error> {
    if let Some(engine) = create.engine.filter(|engine| passes_on(*engine)) {
        return kept_arguments(execution, engine, &create.engine_arguments);
    }
    if create.engine == Some(TableEngine::Dictionary) {
        return kept_name(&create.engine_arguments, &execution.current_database);
    }
    let Some(sql::Expr::Tuple(arguments)) = &create.old_syntax else {
        return Ok(create.engine_arguments.clone());
    };
    if !execution.settings.get_bool("allow_deprecated_syntax_for_merge_tree") {
        let message = "this syntax of engine MergeTree is deprecated";
        return Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message)
            .with_hint("use ORDER BY and PARTITION BY, or set allow_deprecated_syntax_for_merge_tree"));
    }
    let date = arguments.first().and_then(|date| match date {
        sql::Expr::Identifier(name) => columns.iter().find(|column| *column.name == *name.value),
        _ => None,
    });
    if let Some(date) = date.filter(|date| date.column_type != ColumnType::Date) {
        let message = format!("column {} of MergeTree(date, ..) must be a Date", date.name);
        return Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_TYPE_OF_FIELD, message));
    }
    Ok(EngineArguments::new(&sql::stored_expr(&sql::Expr::Tuple(arguments.clone()), columns)?))
}

fn table_settings(
    execution: &Execution,
    create: &CreateTable,
    engine: TableEngine,
) -> Result<TableSettings, Error> {
    // Of a table outside they are those that reading and writing files obey.
    let mut checked = if engine.is_external() { Settings::session() } else { Settings::of_table() };
    checked.apply_all(&create.settings)?.into_iter().for_each(|warning| execution.warn(warning));
    let written = create.settings.iter().filter(|change| change.value != SettingText::Default);
    let kept = |change: &SettingChange| {
        let found = checked.changed().find(|(name, _)| *name == change.name);
        let value = found.map(|(_, value)| value.to_string());
        // One that is the default is kept as it was written.
        let value = value.or_else(|| change.value.text().map(str::to_owned)).unwrap_or_default();
        (Arc::from(change.name.as_str()), Arc::from(value))
    };
    Ok(written.map(kept).collect())
}

/// The other table's, with what is written here. Behind an ENGINE of its own only columns and keys are the other's.
fn copy_definition(
    host: &Host,
    execution: &Execution,
    create: &CreateTable,
    like: &TableDef,
    database: DatabaseId,
) -> Result<TableDef, Error> {
    let mut def = like.without_detached_parts();
    def.id = TableId::from_random_bytes(random_bytes(host));
    def.database = database;
    def.name = create.name.table.as_str().into();
    if !create.comment.is_empty() {
        def.comment = create.comment.as_str().into();
    }
    // There are no rows of older columns.
    def.schema_version = 1;
    // The rows of a view are nowhere: a table like it has its columns and nothing else.
    def.engine = create.engine.unwrap_or(like.engine);
    if like.engine == TableEngine::View {
        (def.engine_arguments, def.kept) = (EngineArguments::default(), Vec::new());
    }
    if create.engine.is_some() {
        def.engine_arguments = engine_arguments(execution, create, &def.columns)?;
        def.settings.clear();
        def.kept.retain(|clause| clause.keyword.as_ref() != TTL);
    }
    if def.engine == TableEngine::MergeTree {
        copy_keys(&mut def, create, like)?;
    } else {
        without_keys(&mut def, create)?;
    }
    if create.engine.is_some() {
        def.mode = MergeMode::Plain;
        def = with_mode(def, create)?;
    }
    def.settings.extend(table_settings(execution, create, def.engine)?);
    Ok(def)
}

fn random_bytes(host: &Host) -> [u8; 16] {
    host::random::uuid_bytes(host.random.as_ref())
}

fn has_no_columns(create: &CreateTable) -> bool {
    matches!(&create.source, CreateSource::Columns(columns) if columns.is_empty())
}

/// The columns of the files that a table outside names now.
async fn inferred_specs(
    services: &Services,
    execution: &Arc<Execution>,
    create: &CreateTable,
    engine: TableEngine,
) -> Result<Vec<ColumnSpec>, Error> {
    let def = TableDef {
        engine_arguments: create.engine_arguments.clone(),
        settings: table_settings(execution, create, engine)?,
        ..TableDef::plain(TableId::from_bytes([0; 16]), &create.name.table, engine, Vec::new())
    };
    let table = outside::open(services, execution, &def, None).await?;
    let spec = |(name, column_type): &(String, ColumnType)| ColumnSpec {
        name: name.clone(),
        column_type: Some(column_type.clone()),
        default: None,
        comment: String::new(),
        codec: None,
        ttl: None,
        combined_by: None,
        is_nested: false,
    };
    Ok(table.columns().iter().map(spec).collect())
}

async fn column_specs(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    create: &CreateTable,
) -> Result<Vec<ColumnSpec>, Error> {
    let (given, query) = match &create.source {
        CreateSource::Columns(columns) => return Ok(columns.clone()),
        CreateSource::Select { columns, query, .. } => (columns, query),
        CreateSource::Table(like) => {
            let all = sql::parse_query(&format!("SELECT * FROM {like}"))?;
            return selected_specs(services, execution, &sql::Query::from(Box::new(all))).await;
        }
    };
    if !given.is_empty() {
        return Ok(given.clone());
    }
    selected_specs(services, execution, query).await
}

/// The table whose definition is copied. One of live state has columns and no definition, of which an engine can make its own.
fn copied<'a>(execution: &Execution, create: &'a CreateTable) -> Option<&'a TableName> {
    let CreateSource::Table(like) = &create.source else { return None };
    let (database, table) = execution.resolve(like);
    let is_made_up = create.engine.is_some() && has_table(database, table);
    (!is_made_up).then_some(like)
}

/// The columns of a query.
async fn selected_specs(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    query: &sql::Query,
) -> Result<Vec<ColumnSpec>, Error> {
    let planned = plan(services, execution, query, None).await?;
    let schema = planned.result_schema()?;
    let spec = |field: &arrow::datatypes::FieldRef| ColumnSpec {
        name: field.name().clone(),
        column_type: Some(model::type_arrow::from_field(field)),
        default: None,
        comment: String::new(),
        codec: None,
        ttl: None,
        combined_by: model::type_arrow::combined_by(field),
        is_nested: false,
    };
    Ok(schema.fields().iter().map(spec).collect())
}
