//! Deletes files of parts in a storage that many processes write, where no record names them and none ever will.
//!
//! A file without a name may be about to get one, by a process of which nobody here knows. So a record comes first, after which parts
//! that were begun before a time are refused (`catalog`'s `PartsSwept`); what of these no state after it names is deleted. Whether a
//! part is that old is read in its id, by both sides, so that no clock can be wrong about it. Invariant: a file is deleted only when the
//! record is known to be in the log. Must not know: which time is old enough, who else is there.

use catalog::{Catalog, CommitOutcome, Op, Transaction};
use parts::{PartFile, PartStore};

use crate::collect::Named;
use crate::error::TableError;
use crate::lost::Collected;

/// Deletes what was begun before a time, milliseconds since 1970 UTC, and has no name. Without such files nothing is committed.
///
/// # Errors
/// The storage or the log refuses; what is left is found the next time.
pub fn run(catalog: &Catalog, store: &PartStore, before_ms: u64) -> Result<Collected, TableError> {
    let mut nameless = Vec::new();
    for table in store.list_tables()? {
        nameless.extend(store.list_files(table)?);
    }
    let is_old = |file: &PartFile| file.part.is_some_and(|part| part.made_ms() < before_ms);
    retain_nameless(catalog, &mut nameless);
    nameless.retain(is_old);
    let mut swept = Collected::default();
    if nameless.is_empty() {
        return Ok(swept);
    }
    if !store.host().faults.planted("mergetree.sweep_without_record") {
        refuse_older(catalog, before_ms)?;
        // Some may have been named before the record.
        retain_nameless(catalog, &mut nameless);
    }
    for file in &nameless {
        store.delete_file(file)?;
        swept.add(file.bytes);
    }
    Ok(swept)
}

/// From now on parts that were begun before are refused.
fn refuse_older(catalog: &Catalog, before_ms: u64) -> Result<(), TableError> {
    if catalog.snapshot().state().swept_ms() >= before_ms {
        return Ok(());
    }
    let ops = vec![Op::PartsSwept { before_ms }];
    match catalog.commit(Transaction::new(catalog.transaction_id(), catalog.seq(), ops))? {
        CommitOutcome::Committed(_) => Ok(()),
        CommitOutcome::Refused(why) => Err(why.into()),
        CommitOutcome::Unknown(why) => Err(TableError::OutcomeUnknown(why)),
    }
}

fn retain_nameless(catalog: &Catalog, files: &mut Vec<PartFile>) {
    let snapshot = catalog.snapshot();
    let named = Named::of(&snapshot);
    files.retain(|file| !named.knows(file));
}
