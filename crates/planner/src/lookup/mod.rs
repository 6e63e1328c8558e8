//! Functions by their names: which there are, which one a name means, which a query calls.
//!
//! Invariant: a name that is not found here never reaches DataFusion. Must not know: how anything is computed.

pub(crate) mod documentation;
pub mod names;
pub(crate) mod refused;
pub(crate) mod called;
