//! Whether an INSERT SELECT that only projects one source becomes a staged load, and under which name.
//!
//! One with a label does, so that it can go on after an error. One without does if other servers can help: under a hidden label,
//! which is given up with the statement. Invariant: what compares rows, or counts them in one place, is not staged for that. Must
//! not know: how a load is staged.

use boundary::error::Error;
use boundary::once::names::Once;
use catalog::StagedLoad;
use cluster::Peer;
use model::{Label, TableDef};
use sinks::frozen::{fits, too_many};
use sources::{ObjectTable, SourceUnit};

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::insert::named::Named;
use crate::load::staged::fresh_id;
use crate::load::workers::{Cut, cut_for, enough_for, helpers_of};

/// What a load that is to be staged is known by, and who helps.
pub(crate) struct ToStage {
    pub once: Once,
    pub units: Vec<SourceUnit>,
    /// Files, by position, whose units are found while the load runs.
    pub to_cut: Vec<usize>,
    pub helpers: Vec<Peer>,
}

/// See the module. `once` is the statement's own name, if it has one; `open` the load that it goes on with.
pub(crate) async fn to_stage(
    services: &Services,
    execution: &Execution,
    (def, source): (&TableDef, &ObjectTable),
    (named, once): (&Named, Option<Once>),
    (open, text): (Option<&StagedLoad>, &str),
) -> Result<Option<ToStage>, Error> {
    let helpers = match named {
        Named::Helping(_) => Vec::new(),
        _ => helpers_of(services, execution, def, source, text).unwrap_or_default(),
    };
    if let (Some(once), true) = (&once, open.is_some()) {
        // Its units are frozen.
        let (once, units, to_cut) = (once.clone(), Vec::new(), Vec::new());
        return Ok(Some(ToStage { once, units, to_cut, helpers }));
    }
    let is_hidden = once.is_none();
    if is_hidden && (!matches!(named, Named::No) || execution.rolls_back || helpers.is_empty()) {
        return Ok(None);
    }
    let mut cut = cut_for(source, helpers.len()).await?;
    let is_alone = enough_for(cut.count, helpers.clone()).is_empty();
    if is_alone && !cut.to_cut.is_empty() {
        // One server reads a text file with several streams without looking for the ends of records twice.
        cut = cut_for(source, 0).await?;
    }
    let Cut { units, to_cut, .. } = cut;
    if let Some(once) = once {
        let fits = fits(source, &units);
        if !fits {
            execution.warn(too_many(source, &units));
        }
        return Ok(fits.then_some(ToStage { once, units, to_cut, helpers }));
    }
    if is_alone || !fits(source, &units) {
        return Ok(None);
    }
    let server = services.sharing.as_ref().map_or(0, |sharing| sharing.member.id().0);
    let once = Once {
        database: def.database,
        table: def.id,
        label: Some(Label::hidden(server, fresh_id(services))),
        token: None,
        fingerprint: u128::from_le_bytes(*fresh_id(services).as_bytes()),
        token_text: None,
    };
    Ok(Some(ToStage { once, units, to_cut, helpers }))
}
