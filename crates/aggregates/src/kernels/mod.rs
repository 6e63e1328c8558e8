//! Aggregate functions over the rows of a group that are not in `functions`: those that need states, tests of hypotheses.
//!
//! Invariant: as there, a kernel sees all rows of a group at once. Must not know: who collects them.

pub(crate) mod bitmap;
mod bitmap_groups;
mod numbers;
pub(crate) mod indexed_vector;
mod indexed_vector_groups;
mod distributions;
mod means;
mod ranks;
mod association;
mod shapes;
mod rounded_quantiles;
mod sketched_quantiles;
pub(crate) mod timing;
mod bars;
mod listed_keys;
mod histogram;
mod spans;

use std::sync::LazyLock;

use functions::aggregates::AggregateFunction;

static ALL: LazyLock<Vec<AggregateFunction>> = LazyLock::new(|| {
    let mut all = functions::aggregates::all().to_vec();
    all.extend(bitmap_groups::functions());
    all.extend(indexed_vector_groups::functions());
    all.extend(means::functions());
    all.extend(ranks::functions());
    all.extend(association::functions());
    all.extend(shapes::functions());
    all.extend(rounded_quantiles::functions());
    all.extend(sketched_quantiles::functions());
    all.extend(timing::functions());
    all.extend(bars::functions());
    all.extend(listed_keys::functions());
    all.extend(histogram::functions());
    all.extend(spans::functions());
    all
});

/// Every aggregate that is a kernel, those of `functions` too.
pub(crate) fn all() -> &'static [AggregateFunction] {
    &ALL
}
