//! What settings of a session decide about the meaning of a query.
//!
//! Invariant: without a setting a query means what it means in ClickHouse without one. Must not know: syntax trees, and who
//! obeys.

pub(crate) mod null_for_empty;
pub(crate) mod nulls_asked;
pub(crate) mod over_nothing;
pub(crate) mod splits;
pub(crate) mod time_formats;
pub(crate) mod truncation;

use sql::Settings;

use splits::SPLITS;
use time_formats::TimeLetters;

/// See the module.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Manner {
    /// Keys that ROLLUP, CUBE and GROUPING SETS leave out are NULL.
    pub group_by_use_nulls: bool,
    /// Numbers as keys of GROUP BY and ORDER BY are constants (`enable_positional_arguments = 0`).
    pub ignores_positions: bool,
    /// ANY INNER JOIN keeps all rows of the left table that have a partner (`any_join_distinct_right_table_keys`).
    pub any_keeps_left: bool,
    /// Aggregates over no rows are NULL (`aggregate_functions_null_for_empty`).
    pub null_for_empty: bool,
    /// Aggregates over no rows are no row (`empty_result_for_aggregation_by_empty_set`).
    pub nothing_for_empty: bool,
    /// WITH TOTALS counts the groups that HAVING leaves out, too (`totals_mode`).
    pub totals_before_having: bool,
    /// NULL is found in a set that has it, and in no other (`transform_null_in`).
    pub null_in_sets: bool,
    /// `grouping` has a bit for each key that is there, not for each that is left out
    /// (`force_grouping_standard_compatibility = 0`).
    pub grouping_of_present: bool,
    /// What JOIN is that says neither ALL nor ANY.
    pub join: JoinDefault,
    /// The aggregate that `count(DISTINCT ..)` is; exact without.
    pub count_distinct: Option<&'static str>,
    /// `countDistinctIf(..)` is another one, too; `count(DISTINCT ..)` is in any case.
    pub counts_distinct_if: bool,
    /// `locate(haystack, needle)` (`function_locate_has_mysql_compatible_argument_order = 0`).
    pub locates_in_first: bool,
    /// What letters in formats of times are.
    pub time_letters: TimeLetters,
    /// `dateTrunc` gives Date and DateTime of every time (`function_date_trunc_return_type_behavior`).
    pub narrows_truncated: bool,
    /// The last piece of a split with a limit has what is left ([`SPLITS`]).
    pub splits_keep_rest: bool,
    /// Tables whose rows replace each other are read with FINAL (`final`).
    pub reads_final: bool,
    /// PREWHERE of such a read is WHERE (`apply_prewhere_after_final`).
    pub prewhere_after_final: bool,
    /// Constant keys of no rows are a row (`empty_result_for_aggregation_by_constant_keys_on_empty_set = 0`).
    pub row_for_constant_keys: bool,
    /// INTERSECT and EXCEPT without a word.
    pub intersect_distinct: bool,
    pub except_distinct: bool,
    /// Whether INTERSECT and EXCEPT have to say ALL or DISTINCT.
    pub intersect_is_told: bool,
    pub except_is_told: bool,
}

/// `join_default_strictness`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum JoinDefault {
    #[default]
    All,
    Any,
    /// Each has to say it.
    None,
}

/// Aggregates that may count different values.
const DISTINCT_COUNTS: &[&str] = &["uniq", "uniqCombined", "uniqCombined64", "uniqHLL12", "uniqTheta"];

impl Manner {
    /// The manner of a statement with these settings.
    pub fn of(settings: &Settings) -> Manner {
        let is = |name: &str, word: &str| settings.get_text(name) == word;
        let counts = settings.get_text("count_distinct_implementation");
        Manner {
            group_by_use_nulls: settings.get_bool("group_by_use_nulls"),
            ignores_positions: !settings.get_bool("enable_positional_arguments"),
            any_keeps_left: settings.get_bool("any_join_distinct_right_table_keys"),
            null_for_empty: settings.get_bool("aggregate_functions_null_for_empty"),
            nothing_for_empty: settings.get_bool("empty_result_for_aggregation_by_empty_set"),
            totals_before_having: is("totals_mode", "before_having"),
            null_in_sets: settings.get_bool("transform_null_in"),
            grouping_of_present: !settings.get_bool("force_grouping_standard_compatibility"),
            join: match settings.get_text("join_default_strictness").as_str() {
                "ANY" => JoinDefault::Any,
                "" => JoinDefault::None,
                _ => JoinDefault::All,
            },
            count_distinct: DISTINCT_COUNTS.iter().copied().find(|name| *name == counts),
            counts_distinct_if: settings
                .get_bool("rewrite_count_distinct_if_with_count_distinct_implementation"),
            locates_in_first: !settings.get_bool("function_locate_has_mysql_compatible_argument_order"),
            time_letters: TimeLetters::of(settings),
            narrows_truncated: is("function_date_trunc_return_type_behavior", "1"),
            splits_keep_rest: settings.get_bool(SPLITS),
            reads_final: settings.get_bool("final"),
            prewhere_after_final: settings.get_bool("apply_prewhere_after_final"),
            row_for_constant_keys: !settings
                .get_bool("empty_result_for_aggregation_by_constant_keys_on_empty_set"),
            intersect_distinct: is("intersect_default_mode", "DISTINCT"),
            except_distinct: is("except_default_mode", "DISTINCT"),
            intersect_is_told: is("intersect_default_mode", ""),
            except_is_told: is("except_default_mode", ""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_decide_and_their_defaults_do_not() {
        let mut settings = Settings::session();
        assert_eq!(Manner::of(&settings), Manner::default());
        settings.set("join_default_strictness", "").unwrap();
        settings.set("count_distinct_implementation", "uniqHLL12").unwrap();
        let manner = Manner::of(&settings);
        assert_eq!((manner.join, manner.count_distinct), (JoinDefault::None, Some("uniqHLL12")));
    }
}
