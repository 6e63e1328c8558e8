//! Scalar functions of aggregate states, what single states say and what is made of them, and of texts whose parts are counted.
//!
//! Invariant: each row is on its own, unless a function says otherwise. Must not know: plans.

mod arguments;
mod bitmaps;
mod indexed_vectors;
mod shingles;

use std::sync::LazyLock;

use functions::ScalarFunction;

use crate::states::{finalize, running};

static ALL: LazyLock<Vec<ScalarFunction>> = LazyLock::new(|| {
    let mut all = finalize::functions().to_vec();
    all.extend(bitmaps::functions());
    all.extend(indexed_vectors::functions());
    all.extend(running::functions());
    all.extend(shingles::functions());
    all
});

/// Every function of this module.
pub fn functions() -> &'static [ScalarFunction] {
    &ALL
}
