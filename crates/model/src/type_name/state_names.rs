//! Names of aggregate functions in types of states: what is another function's name, or spelled otherwise, is that function.
//!
//! Invariant: the list agrees with the names that statements know, which a test of the functions holds it to; so that a type
//! names its function as states do that statements make. Must not know: what the functions do.

use std::borrow::Cow;

/// Another name, and whose it is.
pub const ALIASES: &[(&str, &str)] = &[
    ("BIT_AND", "groupBitAnd"),
    ("BIT_OR", "groupBitOr"),
    ("BIT_XOR", "groupBitXor"),
    ("COVAR_POP", "covarPop"),
    ("COVAR_SAMP", "covarSamp"),
    ("STD", "stddevPop"),
    ("STDDEV", "stddevSamp"),
    ("STDDEV_POP", "stddevPop"),
    ("STDDEV_SAMP", "stddevSamp"),
    ("VAR_POP", "varPop"),
    ("VAR_SAMP", "varSamp"),
    ("anyLastRespectNulls", "anyLast_respect_nulls"),
    ("anyRespectNulls", "any_respect_nulls"),
    ("anyValueRespectNulls", "any_respect_nulls"),
    ("any_value", "any"),
    ("any_value_respect_nulls", "any_respect_nulls"),
    ("approx_count_distinct", "uniq"),
    ("approx_top_count", "approx_top_k"),
    ("array_agg", "groupArray"),
    ("firstValueRespectNulls", "any_respect_nulls"),
    ("first_value_of", "any"),
    ("first_value_respect_nulls", "any_respect_nulls"),
    ("group_concat", "groupConcat"),
    ("lastValueRespectNulls", "anyLast_respect_nulls"),
    ("last_value_respect_nulls", "anyLast_respect_nulls"),
    ("lttb", "largestTriangleThreeBuckets"),
    ("maxMappedArrays", "maxMap"),
    ("max_by", "argMax"),
    ("median", "quantile"),
    ("medianBFloat16", "quantileBFloat16"),
    ("medianBFloat16Weighted", "quantileBFloat16Weighted"),
    ("medianDD", "quantileDD"),
    ("medianDeterministic", "quantileDeterministic"),
    ("medianExact", "quantileExact"),
    ("medianExactHigh", "quantileExactHigh"),
    ("medianExactLow", "quantileExactLow"),
    ("medianExactWeighted", "quantileExactWeighted"),
    ("medianExactWeightedInterpolated", "quantileExactWeightedInterpolated"),
    ("medianInterpolatedWeighted", "quantileInterpolatedWeighted"),
    ("medianTDigest", "quantileTDigest"),
    ("medianTiming", "quantileTiming"),
    ("medianTimingWeighted", "quantileTimingWeighted"),
    ("minMappedArrays", "minMap"),
    ("min_by", "argMin"),
    ("sparkBar", "sparkbar"),
    ("string_agg", "groupConcat"),
    ("sumMappedArrays", "sumMap"),
    ("uniqCombined", "uniq"),
    ("uniqCombined64", "uniq"),
    ("uniqHLL12", "uniq"),
    ("uniqTheta", "uniq"),
];

/// Functions whose names, and those of [`ALIASES`] that stand for them, may be spelled in any case.
pub const IN_ANY_CASE: &[&str] =
    &["avg", "corr", "count", "first_value", "groupConcat", "last_value", "max", "min", "sum"];

/// Whether a name is SQL's own, `VAR_POP`, which may be spelled in any case.
pub fn is_in_any_case(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

/// What may stand behind a function's name.
const COMBINATORS: &[&str] = &[
    "MergeState",
    "SimpleState",
    "State",
    "Merge",
    "OrNull",
    "OrDefault",
    "If",
    "Distinct",
    "Array",
    "ForEach",
    "ArgMin",
    "ArgMax",
    "Resample",
    "Map",
];

/// The name as types have it.
pub fn canonical(written: &str) -> Cow<'_, str> {
    let mut end = written.len();
    loop {
        if let Some(name) = base(&written[..end]) {
            return match name == &written[..end] {
                true => Cow::Borrowed(written),
                false => Cow::Owned(format!("{name}{}", &written[end..])),
            };
        }
        let before = COMBINATORS.iter().find_map(|combinator| written[..end].strip_suffix(combinator));
        match before {
            Some(before) if !before.is_empty() => end = before.len(),
            _ => return Cow::Borrowed(written),
        }
    }
}

fn base(name: &str) -> Option<&'static str> {
    if let Some(known) = IN_ANY_CASE.iter().find(|known| known.eq_ignore_ascii_case(name)) {
        return Some(known);
    }
    let (_, function) = ALIASES.iter().find(|(alias, function)| {
        let any_case = IN_ANY_CASE.contains(function) || is_in_any_case(alias);
        *alias == name || any_case && alias.eq_ignore_ascii_case(name)
    })?;
    Some(function)
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn aliases_and_spellings_are_the_function_they_stand_for() {
        let cases = [
            ("uniqCombined", "uniq"),
            ("uniqHLL12If", "uniqIf"),
            ("COUNT", "count"),
            ("SumOrNullIf", "sumOrNullIf"),
            ("medianExactState", "quantileExactState"),
            ("GROUP_CONCAT", "groupConcat"),
            ("MEDIAN", "MEDIAN"),
            ("std", "stddevPop"),
            ("Var_SampIf", "varSampIf"),
            ("sumIf", "sumIf"),
            ("If", "If"),
            ("groupArrayArray", "groupArrayArray"),
            ("nothing", "nothing"),
        ];
        for (written, expected) in cases {
            assert_eq!(canonical(written), expected, "{written}");
        }
    }
}
