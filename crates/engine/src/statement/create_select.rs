//! CREATE TABLE, and filling it from a SELECT.
//!
//! Invariant: a table that could not be filled is not left behind empty, whether its SELECT failed, ran out of time
//! or was given up; what is removed is the table that was created here, whatever has its name by then. Left is a
//! table that may be filled because the outcome is not known, one that a crash leaves, and one whose removal fails,
//! of which is warned.

use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use catalog::Op;
use model::TableDef;
use sql::{
    CreateSource, CreateTable, CreateView, Insert, InsertSource, InsertTarget, Materialized,
    PartitionTransfer, SettingChange, SettingText, TableName, TransferKind,
};

use crate::context::execution::{Execution, Rewritten};
use crate::context::services::Services;
use crate::define::{create_table, create_temporary, drop_table};
use crate::mutate::transfer;
use crate::statement::insert;
use sinks::commit::commit;
use tables::temporary::is_temporary;

pub(crate) async fn run(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    create: &CreateTable,
    text: &str,
) -> Result<(), Error> {
    let created = match create.temporary {
        true => create_temporary::run(services, execution, create).await?,
        false => create_table::run(services, execution, create).await?,
    };
    let Some(def) = created else { return Ok(()) };
    let (insert, transfer) = (filling(create, &execution.current_database), cloning(create, execution));
    if insert.is_none() && transfer.is_none() {
        return Ok(());
    }
    let mut created =
        Created { services: Arc::clone(services), execution: Arc::clone(execution), def, is_settled: false };
    // A label of the session names the loads people write, not what fills a new table.
    let unnamed = SettingChange { name: "insert_label".to_owned(), value: SettingText::Default };
    let filling = execution.at_newest_snapshot(&services.catalog).with_settings(&[unnamed])?;
    let filling = filling.rewriting(Rewritten::Filling);
    let filled = match (&insert, &transfer) {
        (Some(insert), _) => insert::run(services, &filling, insert, text, None).await.map(drop),
        (None, Some(transfer)) => transfer::run(services, &filling, transfer).await,
        (None, None) => Ok(()),
    };
    created.is_settled = true;
    match filled {
        Ok(()) => Ok(()),
        // It may be filled: nothing that a durable record may name is removed.
        Err(error) if error.kind == ErrorKind::OutcomeUnknown => Err(error),
        Err(error) => {
            created.remove();
            Err(error)
        }
    }
}

/// What fills a new table that is the clone of another.
fn cloning(create: &CreateTable, execution: &Execution) -> Option<PartitionTransfer> {
    let CreateSource::Table(from) = &create.source else { return None };
    let to = create.name_in(&execution.current_database);
    let kind = TransferKind::Attach;
    create.clones.then(|| PartitionTransfer { from: from.clone(), to, partition: None, kind })
}

/// The INSERT that fills a new table, if its statement has a SELECT.
pub(crate) fn filling(create: &CreateTable, current_database: &str) -> Option<Insert> {
    let CreateSource::Select { query, empty: false, .. } = &create.source else { return None };
    // The table of this statement, even where a temporary one has its name.
    let target = if create.temporary { create.name.clone() } else { create.name_in(current_database) };
    Some(Insert {
        target: InsertTarget::Table(target),
        partition_by: None,
        columns: None,
        except: vec![],
        overwrites: false,
        partitions: vec![],
        label: None,
        source: InsertSource::Select(query.as_ref().clone()),
        settings: Vec::new(),
    })
}

/// Fills a new materialized view with what its SELECT gives now, if the statement says POPULATE.
pub(crate) async fn populate(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    view: &CreateView,
    text: &str,
) -> Result<(), Error> {
    let Some(Materialized::Own { populate: true, .. }) = &view.materialized else { return Ok(()) };
    // Of the database, even where a temporary table has the name.
    let name = TableName::new(Some(execution.resolve(&view.name).0), &view.name.table);
    let select = sql::qualified(&view.query.ast, &execution.current_database);
    let insert = Insert {
        target: InsertTarget::Table(name.clone()),
        partition_by: None,
        columns: None,
        except: vec![],
        overwrites: false,
        partitions: vec![],
        label: None,
        source: InsertSource::Select(sql::Query::from(Box::new(select))),
        settings: Vec::new(),
    };
    let unnamed = SettingChange { name: "insert_label".to_owned(), value: SettingText::Default };
    // The text is no INSERT that another server could read.
    let alone = SettingChange {
        name: "parallel_distributed_insert_select".to_owned(),
        value: SettingText::Quoted("0".to_owned()),
    };
    let filling = execution.at_newest_snapshot(&services.catalog).with_settings(&[unnamed, alone])?;
    match insert::run(services, &filling, &insert, text, None).await {
        Ok(_) => Ok(()),
        Err(error) if error.kind == ErrorKind::OutcomeUnknown => Err(error),
        Err(error) => {
            let now = execution.at_newest_snapshot(&services.catalog);
            drop_table::run(services, &now, &[name], true).await?;
            Err(error)
        }
    }
}

/// A table of this statement. Unless it is settled what becomes of it, it goes with the statement.
struct Created {
    services: Arc<Services>,
    execution: Arc<Execution>,
    def: Arc<TableDef>,
    is_settled: bool,
}

impl Created {
    /// Blocks for one fsync, so that the table is gone when the statement is answered.
    fn remove(&self) {
        if is_temporary(&self.def) {
            self.execution.temporary.drop_table(&self.def.name);
            return;
        }
        let (services, table) = (&self.services, self.def.id);
        let (catalog, ops) = (&services.catalog, vec![Op::DropTable { table }]);
        let read_seq = catalog.snapshot().seq();
        let dropped =
            commit(catalog, &services.host, read_seq, Vec::new(), ops, Some(&self.execution.profile));
        match dropped {
            // Somebody else dropped it before.
            Err(error) if error.kind != ErrorKind::UnknownObject => {
                self.execution.warn(format!("table \"{}\" is left behind empty: {error}", self.def.name));
            }
            Ok(_) | Err(_) => services.memory_tables.clear(table),
        }
    }
}

impl Drop for Created {
    fn drop(&mut self) {
        // Nobody waits for the statement any more. What is being committed may fill the table.
        if !self.is_settled && !self.execution.progress.has_begun_commit() {
            self.remove();
        }
    }
}
