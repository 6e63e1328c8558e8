//! Aggregate functions that are kernels over the rows of a group.
//!
//! Invariant: they need all rows of a group, or a compacted form of them, at once; those that do not (sums, counts)
//! are not here.

mod function;
mod frequent;
mod maps;
mod funnel;
mod series;
mod statistics;
mod quantiles;
mod determined;

use std::sync::LazyLock;

pub use frequent::different;
pub use function::{AggregateFunction, Group, Parameter, Parameters, array_of, illegal};

static ALL: LazyLock<Vec<AggregateFunction>> = LazyLock::new(|| {
    let mut all = frequent::functions();
    all.extend(maps::functions());
    all.extend(funnel::functions());
    all.extend(series::functions());
    all.extend(statistics::functions());
    all.extend(quantiles::functions());
    all.extend(determined::functions());
    all
});

/// Every function of this module.
pub fn all() -> &'static [AggregateFunction] {
    &ALL
}
