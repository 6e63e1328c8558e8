//! Functions over arrays, maps and tuples.
//!
//! Invariant: indices are 1-based, and negative ones count from the end; elements may be NULL where the array may not.

mod build;
mod contain;
mod fold;
mod reorder;
mod tuples;

use crate::registry::ScalarFunction;

pub(crate) fn functions() -> Vec<ScalarFunction> {
    let mut out = build::functions();
    out.extend(contain::functions());
    out.extend(reorder::functions());
    out.extend(fold::functions());
    out.extend(tuples::functions());
    out
}
