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
use sources::{ObjectTable, SourceUnit};

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::insert::named::Named;
use crate::load::staged::fresh_id;
use crate::load::staged::frozen::{fits, units_to_stage};
use crate::load::workers::{enough_for, helpers_of};
use crate::query::load_source::UNIT_BYTES;

/// What a load that is to be staged is known by, and who helps.
pub(crate) struct ToStage {
    pub once: Once,
    pub units: Vec<SourceUnit>,
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
    if let Some(once) = once {
        let units = units_to_stage(execution, source, open).await?;
        return Ok(units.map(|units| ToStage { once, units, helpers }));
    }
    if !matches!(named, Named::No) || execution.rolls_back || helpers.is_empty() {
        return Ok(None);
    }
    let units = source.units(UNIT_BYTES).await?;
    if enough_for(units.len(), helpers.clone()).is_empty() || !fits(source, &units) {
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
    Ok(Some(ToStage { once, units, helpers }))
}
