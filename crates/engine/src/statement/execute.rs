//! One line per statement: who does it. Commands of SYSTEM, each a call of the part it is about, are carried out here.
//!
//! Invariant: nothing is decided here but who does it.

use std::sync::Arc;

use sql::{Statement, SystemCommand};

use crate::background::optimize;
use crate::boundary::error::Error;
use crate::boundary::request::{BodyStream, Rows};
use crate::context::limits;
use crate::context::statement::StatementContext;
use crate::define::{alter, collection, table, temporary, view};
use crate::query::{kill, select, show};
use crate::statement::{create_select, explain, insert, load};

/// Runs a statement that is not about the session itself, as far as the settings let it.
pub(crate) async fn execute(
    context: &Arc<StatementContext>,
    statement: &Statement,
    text: &str,
    body: Option<BodyStream>,
) -> Result<Rows, Error> {
    limits::check_readonly(context, statement)?;
    limits::within_time(context, Box::pin(run(context, statement, text, body))).await
}

async fn run(
    context: &Arc<StatementContext>,
    statement: &Statement,
    text: &str,
    body: Option<BodyStream>,
) -> Result<Rows, Error> {
    match statement {
        Statement::Query(query) => return select::run(context, query).await,
        Statement::Insert(insert) => return insert::run(context, insert, text, body).await,
        Statement::Explain(explain) => return explain::run(context, explain, text).await,
        Statement::Show(what) => return show::show(context, what).await,
        Statement::Describe(what) => return show::describe(context, what).await,
        Statement::Exists { what } => return show::exists(context, what),
        Statement::CreateTable(create) => create_select::run(context, create, text).await?,
        Statement::CreateView(create) => view::create(context, create).await?,
        Statement::DropView { views, if_exists } => view::drop_views(context, views, *if_exists).await?,
        Statement::Alter(change) => alter::run(context, change).await?,
        Statement::Collection(change) => collection::run(context, change).await?,
        Statement::CreateDatabase { name, if_not_exists, .. } => {
            table::create_database(context, name, *if_not_exists).await?;
        }
        Statement::DropDatabase { name, if_exists } => {
            table::drop_database(context, name, *if_exists).await?
        }
        Statement::DropTable { tables, if_exists } => table::drop_tables(context, tables, *if_exists).await?,
        Statement::Truncate { table, if_exists } => table::truncate(context, table, *if_exists).await?,
        Statement::TruncateDatabase { name, if_exists, drops } => {
            table::truncate_database(context, name, *if_exists, *drops).await?;
        }
        Statement::Rename(pairs) => table::rename(context, pairs).await?,
        Statement::RenameDatabase { from, to } => table::rename_database(context, from, to).await?,
        Statement::Exchange(a, b) => table::exchange(context, a, b).await?,
        Statement::Optimize(what) => optimize::run(context, what).await?,
        Statement::System(command) => system_command(context, command)?,
        Statement::KillQuery { victims, mode } => return kill::run(context, victims, *mode).await,
        Statement::DropTemporaryTables { names, if_exists } => {
            temporary::drop_tables(context, names, *if_exists)?;
        }
        Statement::CheckTable { table } => return show::check(context, table).await,
        Statement::ResumeLoad { database, label } => {
            return load::resume(context, database.as_deref(), label).await;
        }
        Statement::CancelLoad { database, label } => {
            return load::cancel(context, database.as_deref(), label).await;
        }
        Statement::Use { .. } | Statement::Set(_) => {
            return Err(Error::internal("a statement of the session reached the engine"));
        }
    }
    Ok(Rows::none())
}

fn system_command(context: &StatementContext, command: &SystemCommand) -> Result<(), Error> {
    let table = |name: &Option<sql::TableName>| -> Result<Option<model::TableId>, Error> {
        name.as_ref().map(|name| context.table(name).map(|table| table.def.id)).transpose()
    };
    match command {
        SystemCommand::StopMerges(name) => context.database.merges.stop(table(name)?),
        SystemCommand::StartMerges(name) => {
            context.database.merges.start(table(name)?);
            context.database.wake.notify_waiters();
        }
        SystemCommand::DropSchemaCache(storage) => context.database.sources.schemas.clear(storage.as_deref()),
        SystemCommand::DropUncompressedCache => {
            if let Some(unpacked) = context.database.store.unpacked() {
                unpacked.clear();
            }
        }
        // The query log is in memory and always current.
        SystemCommand::FlushLogs => {}
    }
    Ok(())
}
