//! Settings that limit how much a statement reads, keeps and answers.
//!
//! Invariant: a limit that is not set costs nothing, and a statement that reaches one says which. Must not know: plans, and
//! who runs them.

use futures::StreamExt;
use model::ErrorCode;
use model::saturating::u64_of;
use physical::nodes::row_limits::{Overflow, RowLimits, SizeLimit};
use sql::Settings;

use crate::error::{Error, ErrorKind};
use crate::request::Rows;

/// Ways to compute a join that keep no table in memory: its size is not limited.
const JOINS_ON_DISK: &[&str] = &[
    "partial_merge",
    "prefer_partial_merge",
    "full_sorting_merge",
    "parallel_full_sorting_merge",
    "grace_hash",
];

/// What a plan may read, sort, group, keep apart, look up and join.
pub fn row_limits(settings: &Settings) -> RowLimits {
    RowLimits {
        read: size(settings, "max_rows_to_read", Some("max_bytes_to_read"), "read_overflow_mode"),
        read_here: size(
            settings,
            "max_rows_to_read_leaf",
            Some("max_bytes_to_read_leaf"),
            "read_overflow_mode_leaf",
        ),
        sorted: size(settings, "max_rows_to_sort", Some("max_bytes_to_sort"), "sort_overflow_mode"),
        grouped: size(settings, "max_rows_to_group_by", None, "group_by_overflow_mode"),
        distinct: size(
            settings,
            "max_rows_in_distinct",
            Some("max_bytes_in_distinct"),
            "distinct_overflow_mode",
        ),
        in_set: size(settings, "max_rows_in_set", Some("max_bytes_in_set"), "set_overflow_mode"),
        joined: joined(settings),
        has_totals: false,
    }
}

/// Of the right table of a join.
pub fn joined(settings: &Settings) -> SizeLimit {
    let limit = size(settings, "max_rows_in_join", Some("max_bytes_in_join"), "join_overflow_mode");
    if limit == SizeLimit::default() {
        return limit;
    }
    let ways = settings.get_text("join_algorithm");
    let first = ways.split(',').next().unwrap_or_default().trim();
    if JOINS_ON_DISK.contains(&first) { SizeLimit::default() } else { limit }
}

fn size(settings: &Settings, rows: &str, bytes: Option<&str>, overflow: &str) -> SizeLimit {
    let (rows, bytes) = (settings.get_u64(rows), bytes.map_or(0, |bytes| settings.get_u64(bytes)));
    if rows == 0 && bytes == 0 {
        return SizeLimit::default();
    }
    SizeLimit { rows, bytes, overflow: Overflow::of(&settings.get_text(overflow)) }
}

/// `max_result_rows` and `max_result_bytes`: more is an error, or with `result_overflow_mode` break the last batch is the
/// one that has too much.
pub fn limit_result(settings: &Settings, rows: Rows) -> Rows {
    let (rows_max, bytes_max) = (settings.get_u64("max_result_rows"), settings.get_u64("max_result_bytes"));
    if rows_max == 0 && bytes_max == 0 {
        return rows;
    }
    let throws = settings.get_text("result_overflow_mode") == "throw";
    let is_over =
        move |seen: (u64, u64)| rows_max > 0 && seen.0 > rows_max || bytes_max > 0 && seen.1 > bytes_max;
    let is_full =
        move |seen: (u64, u64)| rows_max > 0 && seen.0 >= rows_max || bytes_max > 0 && seen.1 >= bytes_max;
    let stream = rows.stream.scan((0_u64, 0_u64), move |seen, batch| {
        let answer = match batch {
            Ok(_) if !throws && is_full(*seen) => None,
            Ok(batch) => {
                seen.0 += batch.num_rows() as u64;
                seen.1 +=
                    batch.columns().iter().map(|column| u64_of(functions::row_bytes(column))).sum::<u64>();
                let fails = throws && is_over(*seen);
                Some(if fails { Err(too_many(*seen, (rows_max, bytes_max))) } else { Ok(batch) })
            }
            Err(error) => Some(Err(error)),
        };
        std::future::ready(answer)
    });
    Rows { schema: rows.schema, stream: stream.boxed() }
}

fn too_many(seen: (u64, u64), most: (u64, u64)) -> Error {
    let message = match most.0 > 0 && seen.0 > most.0 {
        true => format!("the result has {} rows or more, max_result_rows is {}", seen.0, most.0),
        false => format!("the result has {} bytes or more, max_result_bytes is {}", seen.1, most.1),
    };
    Error::new(ErrorKind::Limit, ErrorCode::TOO_MANY_ROWS_OR_BYTES, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(changes: &[(&str, &str)]) -> Settings {
        let mut settings = Settings::session();
        for (name, value) in changes {
            settings.set(name, value).unwrap();
        }
        settings
    }

    #[test]
    fn nothing_set_is_no_limit() {
        assert_eq!(row_limits(&Settings::session()), RowLimits::default());
        assert_eq!(row_limits(&with(&[("read_overflow_mode", "break")])), RowLimits::default());
    }

    #[test]
    fn joins_that_need_no_memory_are_not_limited() {
        let limited = with(&[("max_bytes_in_join", "100"), ("join_overflow_mode", "break")]);
        let expected = SizeLimit { rows: 0, bytes: 100, overflow: Overflow::Break };
        assert_eq!(row_limits(&limited).joined, expected);
        let merging = with(&[("max_bytes_in_join", "100"), ("join_algorithm", "partial_merge")]);
        assert_eq!(row_limits(&merging).joined, SizeLimit::default());
    }
}
