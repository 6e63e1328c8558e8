//! By what an INSERT SELECT is known.
//!
//! Invariant: none. Must not know: what follows from it.

use std::sync::Arc;

use boundary::once::claim::Claim;
use boundary::once::names::Once;

use crate::context::execution::Helping;

pub(crate) enum Named {
    No,
    Claim(Arc<Claim>),
    /// By the label of the open load that it goes on with.
    Resumed(Once),
    /// By the label of the open load of another server, which it helps with.
    Helping(Arc<Helping>),
}

impl Named {
    /// The names that the rows get, if there are any. What rolls back has none.
    pub(crate) fn once(&self, rolls_back: bool) -> Option<Once> {
        match self {
            Named::No => None,
            Named::Claim(_) if rolls_back => None,
            Named::Claim(claim) => Some(claim.once()).filter(|once| once.label.is_some()),
            Named::Resumed(once) => Some(once.clone()),
            Named::Helping(helping) => Some(helping.once.clone()),
        }
    }

    /// Whoever helps publishes nothing.
    pub(crate) fn is_helping(&self) -> bool {
        matches!(self, Named::Helping(_))
    }
}
