//! What aggregates are over no rows, as far as `-OrNull` and `-OrDefault` have to know.
//!
//! Must not know: syntax trees.

use aggregates::naming::Aggregate;

/// Starts of the names of aggregates whose result over nothing is nan, all bits, or an array of such.
const WITHOUT_DEFAULT: &[&str] = &[
    "avg",
    "boundingRatio",
    "categoricalInformationValue",
    "contingency",
    "corr",
    "covar",
    "cramersV",
    "groupBitAnd",
    "kurt",
    "median",
    "quantile",
    "rankCorr",
    "retention",
    "simpleLinearRegression",
    "skew",
    "stddev",
    "studentTTest",
    "theilsU",
    "var",
    "welchTTest",
];

/// Starts of the names of aggregates whose result is an array.
const MAKING_ARRAYS: &[&str] = &[
    "approx_top",
    "categoricalInformationValue",
    "groupArray",
    "groupUniqArray",
    "histogram",
    "quantiles",
    "retention",
    "topK",
];

/// Aggregates that are 0 over nothing, also of Nullable arguments.
const ZERO_OF_NONE: &[&str] =
    &["count", "deltaSum", "deltaSumTimestamp", "uniq", "uniqExact", "uniqHLL12", "uniqUpTo"];

/// Whether the result over nothing is 0, whatever the arguments are.
pub(crate) fn is_zero_of_none(aggregate: &Aggregate) -> bool {
    ZERO_OF_NONE.contains(&aggregate.name.as_str())
}

/// Whether the result over nothing is not the default of its type.
pub(crate) fn has_no_default(aggregate: &Aggregate) -> bool {
    starts_as_one_of(WITHOUT_DEFAULT, aggregate)
}

/// Whether the result is an array or a map, which cannot be NULL.
pub(crate) fn makes_array(aggregate: &Aggregate) -> bool {
    matches!(aggregate.combinator, Some("ForEach" | "Map" | "Resample"))
        || starts_as_one_of(MAKING_ARRAYS, aggregate)
}

fn starts_as_one_of(starts: &[&str], aggregate: &Aggregate) -> bool {
    starts.iter().any(|start| aggregate.name.starts_with(start))
}
