//! DROP TEMPORARY TABLE.
//!
//! Invariant: of several names all are dropped or none. Must not know: the log, stored tables.

use boundary::error::Error;

use tables::temporary::{TemporaryTables, unknown};

pub(crate) fn run(temporary: &TemporaryTables, names: &[String], if_exists: bool) -> Result<(), Error> {
    let missing = names.iter().find(|name| temporary.table(name).is_none());
    if let Some(name) = missing.filter(|_| !if_exists) {
        return Err(unknown(name));
    }
    for name in names {
        temporary.drop_table(name);
    }
    Ok(())
}
