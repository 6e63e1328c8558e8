//! One line per statement: who does it. Commands of SYSTEM, each a call of the part it is about, are carried out here.
//!
//! Invariant: nothing is decided here but who does it.

use std::sync::Arc;

use boundary::error::Error;
use boundary::request::{BodyStream, Rows};
use sql::{Alter, AlterCommand, Optimize, Statement, SystemCommand};

use crate::background::{optimize, refreshing};
use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::define::{
    alter, collection, create_database, create_dictionary, create_view, detach, drop_database, drop_table,
    drop_temporary, drop_view, exchange, function, rename, truncate,
};
use crate::mutate::{self, deduplicate, parts_change, transfer, ttl};
use crate::query::{kill, select, show};
use crate::statement::{create_select, explain, insert, load};

async fn altered(services: &Arc<Services>, execution: &Arc<Execution>, alter: &Alter) -> Result<(), Error> {
    match alter.commands.as_slice() {
        [AlterCommand::ModifyQuery(query)] => {
            create_view::modify_query(services, execution, &alter.table, query).await
        }
        [AlterCommand::ModifyRefresh(refresh)] => {
            refreshing::modify(services, execution, &alter.table, refresh).await
        }
        commands => {
            alter::run(services, execution, alter).await?;
            if commands.iter().any(AlterCommand::gives_ttl) {
                ttl::after_alter(services, execution, &alter.table).await?;
            }
            if let Some(rows) = &alter.rows {
                let altered = execution.at_newest_snapshot(&services.catalog);
                mutate::run::run(services, &altered, rows).await?;
            }
            Ok(())
        }
    }
}

async fn optimized(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    what: &Optimize,
) -> Result<(), Error> {
    let repeated = deduplicate::mutation_of(services, execution, what).await?;
    optimize::run(services, execution, what).await?;
    ttl::after_optimize(services, execution, what).await?;
    match repeated {
        Some(repeated) => mutate::run::run(services, execution, &repeated).await,
        None => Ok(()),
    }
}

/// The statement with what it names by its functions, and what it explains, in it; `None` for what has neither.
async fn written_out(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    statement: &Statement,
) -> Result<Option<Statement>, Error> {
    let defined = match execution.has_functions() {
        true => planner::user_functions::defined_with_functions(statement, &|name| execution.lambda(name))?,
        false => None,
    };
    let explained = explain::in_queries(services, execution, defined.as_ref().unwrap_or(statement)).await?;
    Ok(explained.or(defined))
}

/// Runs a statement that is not about the session itself.
pub(crate) async fn once(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    statement: &Statement,
    text: &str,
    body: Option<BodyStream>,
) -> Result<Rows, Error> {
    let written_out = written_out(services, execution, statement).await?;
    match written_out.as_ref().unwrap_or(statement) {
        Statement::Query(query) => return select::run(services, execution, query).await,
        Statement::Insert(insert) => return insert::run(services, execution, insert, text, body).await,
        Statement::Explain(explain) => return explain::run(services, execution, explain, text).await,
        Statement::Show(what) => return show::show(services, execution, what).await,
        Statement::Describe(what) => return show::describe(services, execution, what).await,
        Statement::Exists { what } => return show::exists(execution, what),
        Statement::CreateTable(create) => create_select::run(services, execution, create, text).await?,
        Statement::CreateView(create) => {
            if create_view::run(services, execution, create).await? {
                create_select::populate(services, execution, create, text).await?;
            }
        }
        Statement::CreateDictionary(create) => create_dictionary::run(services, execution, create).await?,
        Statement::DropDictionary { dictionaries, if_exists } => {
            create_dictionary::drop(services, execution, dictionaries, *if_exists).await?
        }
        Statement::DropView { views, if_exists } => {
            drop_view::run(services, execution, views, *if_exists).await?
        }
        Statement::Mutate(mutation) => mutate::run::run(services, execution, mutation).await?,
        Statement::ChangeParts(change) => return parts_change::run(services, execution, change).await,
        Statement::TransferPartition(what) => transfer::run(services, execution, what).await?,
        Statement::Alter(change) => altered(services, execution, change).await?,
        Statement::Collection(change) => collection::run(services, execution, change).await?,
        Statement::CreateDatabase { name, if_not_exists, .. } => {
            create_database::run(services, execution, name, *if_not_exists).await?;
        }
        Statement::DropDatabase { name, if_exists } => {
            drop_database::run(services, execution, name, *if_exists).await?
        }
        Statement::DropTable { tables, if_exists } => {
            drop_table::run(services, execution, tables, *if_exists).await?
        }
        Statement::Truncate { table, if_exists } => {
            truncate::table(services, execution, table, *if_exists).await?
        }
        Statement::TruncateDatabase { name, if_exists, drops } => {
            truncate::database(services, execution, name, *if_exists, *drops).await?;
        }
        Statement::Rename(pairs) => rename::tables(services, execution, pairs).await?,
        Statement::RenameDatabase { from, to } => rename::database(services, execution, from, to).await?,
        Statement::Exchange(a, b) => exchange::run(services, execution, a, b).await?,
        Statement::Optimize(what) => optimized(services, execution, what).await?,
        Statement::System(command) => system_command(services, execution, command).await?,
        Statement::KillQuery { victims, mode } => return kill::run(services, execution, victims, mode).await,
        Statement::DropTemporaryTables { names, if_exists } => {
            drop_temporary::run(&execution.temporary, names, *if_exists)?;
        }
        Statement::Detach { table, if_exists, is_permanent, is_view } => {
            detach::detach(services, execution, table, *if_exists, (*is_view, *is_permanent)).await?;
        }
        Statement::Attach { table, if_not_exists } => {
            detach::attach(services, execution, table, *if_not_exists).await?
        }
        Statement::Function(change) => function::run(services, execution, change).await?,
        Statement::CheckTable { table } => return show::check(services, execution, table).await,
        Statement::ResumeLoad { database, label } => {
            return load::resume(services, execution, database.as_deref(), label).await;
        }
        Statement::CancelLoad { database, label } => {
            return load::cancel(services, execution, database.as_deref(), label).await;
        }
        Statement::Use { .. } | Statement::Set(_) => return Err(of_session()),
    }
    Ok(Rows::none())
}

fn of_session() -> Error {
    Error::internal("a statement of the session reached the engine")
}

async fn system_command(
    services: &Arc<Services>,
    execution: &Execution,
    command: &SystemCommand,
) -> Result<(), Error> {
    let table = |name: &Option<sql::TableName>| -> Result<Option<model::TableId>, Error> {
        name.as_ref().map(|name| execution.table(name).map(|table| table.def.id)).transpose()
    };
    match command {
        SystemCommand::StopMerges(name) => services.merges.stop(table(name)?),
        SystemCommand::StartMerges(name) => {
            services.merges.start(table(name)?);
            services.wake.notify_waiters();
        }
        SystemCommand::StopTtlMerges(name) => services.expiries.stop(table(name)?),
        SystemCommand::StartTtlMerges(name) => {
            services.expiries.start(table(name)?);
            services.wake.notify_waiters();
        }
        SystemCommand::DropSchemaCache(storage) => services.sources.schemas.clear(storage.as_deref()),
        SystemCommand::DropUncompressedCache => {
            if let Some(unpacked) = services.store.unpacked() {
                unpacked.clear();
            }
        }
        SystemCommand::StopViews => services.refreshes.stop(None),
        SystemCommand::StartViews => {
            services.refreshes.start(None);
            services.wake.notify_waiters();
        }
        SystemCommand::View(view, command) => {
            return refreshing::command(services, execution, view, *command).await;
        }
        // The query log is in memory and always current.
        SystemCommand::FlushLogs | SystemCommand::Nothing => {}
        SystemCommand::OfTable(name) => drop(execution.table(name)?),
    }
    Ok(())
}
