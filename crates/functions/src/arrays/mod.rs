//! Functions over arrays, maps and tuples.
//!
//! Invariant: indices are 1-based, and negative ones count from the end; elements may be NULL where the array may not.

mod build;
mod contain;
mod sets;
mod resize;
mod turn;
mod maps;
mod algebra;
mod vectors;
mod fold;
mod reorder;
mod concat;
mod ranked;
mod near;
mod gini;
mod tuples;
mod subcolumns;
mod drawn;
mod classified;

use crate::kernel::registry::ScalarFunction;

pub use subcolumns::subcolumn_type;

pub(crate) fn functions() -> Vec<ScalarFunction> {
    let mut out = build::functions();
    out.extend(contain::functions());
    out.extend(reorder::functions());
    out.extend(sets::functions());
    out.extend(resize::functions());
    out.extend(turn::functions());
    out.extend(maps::functions());
    out.extend(algebra::functions());
    out.extend(vectors::functions());
    out.extend(fold::functions());
    out.extend(concat::functions());
    out.extend(ranked::functions());
    out.extend(near::functions());
    out.extend(gini::functions());
    out.extend(tuples::functions());
    out.extend(subcolumns::functions());
    out.extend(drawn::functions());
    out.extend(classified::functions());
    out
}
