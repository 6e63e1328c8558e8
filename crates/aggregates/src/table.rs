//! The aggregate functions that stand on an accumulator of DataFusion.

use datafusion::functions_aggregate::{
    array_agg, average, bit_and_or_xor, correlation, count, covariance, first_last, min_max, stddev,
    string_agg, sum, variance,
};
use model::ColumnType;

use super::definition::{
    ALL_ARGUMENTS, Definition, Empty, array, averaged, float64, floats, integers, mean, uint64, widest,
};

fn text(types: &[ColumnType]) -> ColumnType {
    if types.iter().any(ColumnType::is_nullable) { ColumnType::String.nullable() } else { ColumnType::String }
}

/// Their documentation is the reference's; ordered by purpose.
pub(super) static TABLE: &[Definition] = &[
    Definition::new("count", count::count_udaf)
        .any_case()
        .arity(ALL_ARGUMENTS)
        .typed(super::definition::as_they_are, uint64)
        .doc("count([x])", "Rows, or rows where x is not NULL.", "count()"),
    Definition::new("sum", sum::sum_udaf).any_case().typed(widest, super::definition::same).doc(
        "sum(x)",
        "Sum; integers wrap in 64 bits.",
        "sum(price)",
    ),
    Definition::new("avg", average::avg_udaf).any_case().typed(averaged, mean).empty(Empty::NaN).doc(
        "avg(x)",
        "Arithmetic mean, of times a time; nan over no rows.",
        "avg(price)",
    ),
    Definition::new("min", min_max::min_udaf).any_case().doc("min(x)", "Smallest value.", "min(price)"),
    Definition::new("max", min_max::max_udaf).any_case().doc("max(x)", "Largest value.", "max(price)"),
    Definition::new("any", first_last::first_value_udaf)
        .aliases(&["any_value", "first_value_of"])
        .ignoring_nulls()
        .doc("any(x)", "Some value that is not NULL; the first one met.", "any(name)"),
    Definition::new("anyLast", first_last::last_value_udaf).ignoring_nulls().doc(
        "anyLast(x)",
        "The last value met that is not NULL.",
        "anyLast(name)",
    ),
    Definition::new("any_respect_nulls", first_last::first_value_udaf)
        .aliases(&[
            "anyRespectNulls",
            "any_value_respect_nulls",
            "anyValueRespectNulls",
            "first_value_respect_nulls",
            "firstValueRespectNulls",
        ])
        .doc("any_respect_nulls(x)", "The first value met, also if it is NULL.", "any_respect_nulls(name)"),
    Definition::new("anyLast_respect_nulls", first_last::last_value_udaf)
        .aliases(&["anyLastRespectNulls", "last_value_respect_nulls", "lastValueRespectNulls"])
        .doc(
            "anyLast_respect_nulls(x)",
            "The last value met, also if it is NULL.",
            "anyLast_respect_nulls(name)",
        ),
    Definition::new("first_value", first_last::first_value_udaf).any_case().ignoring_nulls().doc(
        "first_value(x)",
        "The first value met that is not NULL.",
        "first_value(name)",
    ),
    Definition::new("last_value", first_last::last_value_udaf).any_case().ignoring_nulls().doc(
        "last_value(x)",
        "The last value met that is not NULL.",
        "last_value(name)",
    ),
    Definition::new("groupArray", array_agg::array_agg_udaf)
        .aliases(&["array_agg"])
        .ignoring_nulls()
        .typed(super::definition::as_they_are, array)
        .doc("groupArray[(n)](x)", "The values as an array, at most n.", "groupArray(3)(name)"),
    Definition::new("groupUniqArray", array_agg::array_agg_udaf)
        .ignoring_nulls()
        .distinct()
        .typed(super::definition::as_they_are, array)
        .doc(
            "groupUniqArray[(n)](x)",
            "The different values as an array, at most n.",
            "groupUniqArray(name)",
        ),
    Definition::new("groupConcat", string_agg::string_agg_udaf)
        .aliases(&["group_concat", "string_agg"])
        .any_case()
        .arity(2)
        .typed(super::definition::as_they_are, text)
        .doc("groupConcat(separator)(x)", "The texts, joined.", "groupConcat(',')(name)"),
    Definition::new("stddevPop", stddev::stddev_pop_udaf)
        .aliases(&["STDDEV_POP", "STD"])
        .typed(floats, float64)
        .empty(Empty::NaN)
        .doc("stddevPop(x)", "Standard deviation of the population.", "stddevPop(price)"),
    Definition::new("stddevSamp", stddev::stddev_udaf)
        .aliases(&["STDDEV_SAMP", "STDDEV"])
        .typed(floats, float64)
        .empty(Empty::NaN)
        .doc("stddevSamp(x)", "Standard deviation of a sample.", "stddevSamp(price)"),
    Definition::new("varPop", variance::var_pop_udaf)
        .aliases(&["VAR_POP"])
        .typed(floats, float64)
        .empty(Empty::NaN)
        .doc("varPop(x)", "Variance of the population.", "varPop(price)"),
    Definition::new("varSamp", variance::var_samp_udaf)
        .aliases(&["VAR_SAMP"])
        .typed(floats, float64)
        .empty(Empty::NaN)
        .doc("varSamp(x)", "Variance of a sample.", "varSamp(price)"),
    Definition::new("covarPop", covariance::covar_pop_udaf)
        .aliases(&["COVAR_POP"])
        .arity(2)
        .typed(floats, float64)
        .empty(Empty::NaN)
        .doc("covarPop(x, y)", "Covariance of the population.", "covarPop(x, y)"),
    Definition::new("covarSamp", covariance::covar_samp_udaf)
        .aliases(&["COVAR_SAMP"])
        .arity(2)
        .typed(floats, float64)
        .empty(Empty::NaN)
        .doc("covarSamp(x, y)", "Covariance of a sample.", "covarSamp(x, y)"),
    Definition::new("stddevPopStable", stddev::stddev_pop_udaf)
        .typed(floats, float64)
        .empty(Empty::Infinity)
        .doc(
            "stddevPopStable(x)",
            "Standard deviation of the population; of too few rows inf.",
            "stddevPopStable(price)",
        ),
    Definition::new("stddevSampStable", stddev::stddev_udaf)
        .typed(floats, float64)
        .empty(Empty::Infinity)
        .doc(
            "stddevSampStable(x)",
            "Standard deviation of a sample; of too few rows inf.",
            "stddevSampStable(price)",
        ),
    Definition::new("varPopStable", variance::var_pop_udaf)
        .typed(floats, float64)
        .empty(Empty::Infinity)
        .doc("varPopStable(x)", "Variance of the population; of too few rows inf.", "varPopStable(price)"),
    Definition::new("varSampStable", variance::var_samp_udaf)
        .typed(floats, float64)
        .empty(Empty::Infinity)
        .doc("varSampStable(x)", "Variance of a sample; of too few rows inf.", "varSampStable(price)"),
    Definition::new("covarPopStable", covariance::covar_pop_udaf)
        .arity(2)
        .typed(floats, float64)
        .empty(Empty::Infinity)
        .doc(
            "covarPopStable(x, y)",
            "Covariance of the population; of too few rows inf.",
            "covarPopStable(x, y)",
        ),
    Definition::new("covarSampStable", covariance::covar_samp_udaf)
        .arity(2)
        .typed(floats, float64)
        .empty(Empty::Infinity)
        .doc(
            "covarSampStable(x, y)",
            "Covariance of a sample; of too few rows inf.",
            "covarSampStable(x, y)",
        ),
    Definition::new("corr", correlation::corr_udaf)
        .any_case()
        .arity(2)
        .typed(floats, float64)
        .empty(Empty::NaN)
        .doc("corr(x, y)", "Pearson's correlation.", "corr(x, y)"),
    Definition::new("groupBitAnd", bit_and_or_xor::bit_and_udaf)
        .aliases(&["BIT_AND"])
        .typed(integers, super::definition::same)
        .empty(Empty::Ones)
        .doc("groupBitAnd(x)", "AND of all bits.", "groupBitAnd(flags)"),
    Definition::new("groupBitOr", bit_and_or_xor::bit_or_udaf)
        .aliases(&["BIT_OR"])
        .typed(integers, super::definition::same)
        .doc("groupBitOr(x)", "OR of all bits.", "groupBitOr(flags)"),
    Definition::new("groupBitXor", bit_and_or_xor::bit_xor_udaf)
        .aliases(&["BIT_XOR"])
        .typed(integers, super::definition::same)
        .doc("groupBitXor(x)", "Exclusive OR of all bits.", "groupBitXor(flags)"),
    // `aggregate::plan` replaces the following by others, except uniqExact over a window.
    Definition::new("uniqExact", count::count_udaf)
        .arity(ALL_ARGUMENTS)
        .distinct()
        .typed(super::definition::as_they_are, uint64)
        .doc("uniqExact(x, ...)", "Number of different values.", "uniqExact(user_id)"),
    Definition::new("argMin", first_last::first_value_udaf).aliases(&["min_by"]).ignoring_nulls().doc(
        "argMin(x, by)",
        "The x of the row where `by` is smallest.",
        "argMin(name, price)",
    ),
    Definition::new("argMax", first_last::first_value_udaf).aliases(&["max_by"]).ignoring_nulls().doc(
        "argMax(x, by)",
        "The x of the row where `by` is largest.",
        "argMax(name, price)",
    ),
    Definition::new("avgWeighted", average::avg_udaf).typed(floats, float64).empty(Empty::NaN).doc(
        "avgWeighted(x, weight)",
        "Mean weighted by the second argument.",
        "avgWeighted(price, amount)",
    ),
];
