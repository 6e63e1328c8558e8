//! CREATE, ALTER and DROP NAMED COLLECTION as transactions.
//!
//! Invariant: a collection of the configuration is not changed by statements. Whether a change may happen the catalog
//! decides; here is only what `IF EXISTS` lets pass and who uses a collection.

use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use catalog::{Collection, CollectionValue, Op, Snapshot};
use model::ErrorCode;
use sql::{CollectionChange, CollectionEntry, Settings};

use crate::context::collections::{Origin, find};
use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::define::commit::commit_ops;
use crate::resolve::outside;

pub(crate) async fn run(
    services: &Services,
    execution: &Execution,
    change: &CollectionChange,
) -> Result<(), Error> {
    let (name, passes) = match change {
        CollectionChange::Create { name, if_not_exists, .. } => (name, *if_not_exists),
        CollectionChange::Alter { name, if_exists, .. } | CollectionChange::Drop { name, if_exists } => {
            (name, *if_exists)
        }
    };
    let found = find(&services.config, &execution.snapshot, name).map(|(_, origin)| origin);
    let creates = matches!(change, CollectionChange::Create { .. });
    if passes && creates == found.is_some() {
        return Ok(());
    }
    match (found, creates) {
        (Some(_), true) => {
            let message = format!("named collection \"{name}\" already exists");
            return Err(Error::new(
                ErrorKind::AlreadyExists,
                ErrorCode::NAMED_COLLECTION_ALREADY_EXISTS,
                message,
            ));
        }
        (None, false) => {
            let message = format!("named collection \"{name}\" does not exist");
            return Err(Error::new(
                ErrorKind::UnknownObject,
                ErrorCode::NAMED_COLLECTION_DOESNT_EXIST,
                message,
            )
            .with_hint("system.named_collections lists them"));
        }
        (Some(Origin::Configuration), false) => {
            let message = format!("named collection \"{name}\" stands in the configuration file");
            return Err(Error::new(ErrorKind::Denied, ErrorCode::NAMED_COLLECTION_IS_IMMUTABLE, message)
                .with_hint("change it there"));
        }
        _ => {}
    }
    let op = match change {
        CollectionChange::Create { entries, .. } => {
            Op::CreateCollection { name: name.as_str().into(), entries: collection_of(entries) }
        }
        CollectionChange::Alter { set, deleted, .. } => Op::AlterCollection {
            name: name.as_str().into(),
            set: collection_of(set),
            deleted: deleted.iter().map(|key| Arc::from(key.as_str())).collect(),
        },
        CollectionChange::Drop { .. } => {
            refuse_if_used(&execution.settings, &execution.snapshot, name)?;
            Op::DropCollection { name: name.as_str().into() }
        }
    };
    commit_ops(services, execution, Vec::new(), vec![op]).await
}

fn collection_of(entries: &[CollectionEntry]) -> Collection {
    let value = |entry: &CollectionEntry| CollectionValue {
        text: entry.value.as_str().into(),
        overridable: entry.overridable,
    };
    entries.iter().map(|entry| (Arc::from(entry.key.as_str()), value(entry))).collect()
}

/// A table whose collection is gone could not be read any more.
fn refuse_if_used(settings: &Settings, snapshot: &Snapshot, name: &str) -> Result<(), Error> {
    if !settings.get_bool("check_named_collection_dependencies") {
        return Ok(());
    }
    let tables = snapshot.all_tables().filter(|table| outside::uses_collection(&table.def, name));
    let mut users: Vec<String> = tables.map(|table| snapshot.state().table_name(table.def.id)).collect();
    if users.is_empty() {
        return Ok(());
    }
    users.sort();
    let message = format!("named collection \"{name}\" is used by tables: {}", users.join(", "));
    Err(Error::new(ErrorKind::Conflict, ErrorCode::NAMED_COLLECTION_IS_USED, message)
        .with_hint("drop them first, or set check_named_collection_dependencies = 0"))
}
