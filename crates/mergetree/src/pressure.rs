//! Whether an INSERT may go on at once, after a pause, or not at all: by the parts its table has, and by the rows that
//! only the log holds.
//!
//! Pure: counts and limits in, a delay or a refusal out; whoever asks does the waiting. Invariant: more parts or more
//! bytes never mean less delay, and the number of large parts never slows anybody. Must not know: clocks, statements.

use std::time::Duration;

use catalog::TableState;
use model::{ByteSize, TableDef};

use crate::error::TableError;

/// When inserts that write parts are slowed or refused. The defaults are ClickHouse's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartLimits {
    /// Parts of one partition from which inserts wait (`parts_to_delay_insert`); 0 means never.
    pub parts_to_delay: u64,
    /// Parts of one partition from which inserts are refused (`parts_to_throw_insert`); 0 means never.
    pub parts_to_throw: u64,
    /// Longest delay (`max_delay_to_insert`, whole seconds); 0 counts as one second.
    pub delay_max: Duration,
    /// Shortest delay (`min_delay_to_insert_ms`).
    pub delay_min: Duration,
    /// Mean bytes of a part above which both limits rest (`max_avg_part_size_for_too_many_parts`); 0: they never do.
    pub average_bytes_max: u64,
    /// Parts of the whole table from which inserts are refused (`max_parts_in_total`); 0 means never.
    pub parts_total_max: u64,
}

impl Default for PartLimits {
    fn default() -> PartLimits {
        PartLimits {
            parts_to_delay: 1000,
            parts_to_throw: 3000,
            delay_max: Duration::from_secs(1),
            delay_min: Duration::from_millis(10),
            average_bytes_max: 1 << 30,
            parts_total_max: 100_000,
        }
    }
}

impl PartLimits {
    /// The same limits, but for what the table's own settings say.
    #[must_use]
    pub fn of_table(self, def: &TableDef) -> PartLimits {
        PartLimits {
            parts_to_delay: def.setting("parts_to_delay_insert").unwrap_or(self.parts_to_delay),
            parts_to_throw: def.setting("parts_to_throw_insert").unwrap_or(self.parts_to_throw),
            delay_max: def.setting("max_delay_to_insert").map_or(self.delay_max, Duration::from_secs),
            delay_min: def.setting("min_delay_to_insert_ms").map_or(self.delay_min, Duration::from_millis),
            average_bytes_max: def
                .setting("max_avg_part_size_for_too_many_parts")
                .unwrap_or(self.average_bytes_max),
            parts_total_max: def.setting("max_parts_in_total").unwrap_or(self.parts_total_max),
        }
    }
}

/// How many parts a table has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PartCounts {
    pub total: u64,
    /// Parts of the partition that has most of them: which one an INSERT writes to is not known before its rows are.
    pub fullest: u64,
    /// Bytes of the files of that partition.
    pub fullest_bytes: u64,
}

impl PartCounts {
    pub fn of(table: &TableState) -> PartCounts {
        let mut counts = PartCounts { total: table.part_count() as u64, ..PartCounts::default() };
        for (_, partition) in table.partitions() {
            let parts = partition.part_count() as u64;
            if parts > counts.fullest {
                (counts.fullest, counts.fullest_bytes) = (parts, partition.bytes);
            }
        }
        counts
    }

    fn average_bytes(&self) -> u64 {
        self.fullest_bytes.checked_div(self.fullest).unwrap_or(0)
    }
}

/// How long an INSERT waits before it writes its first part. `table` is `db.t`, for the message.
///
/// # Errors
/// There are too many parts already.
pub fn part_delay(table: &str, counts: PartCounts, limits: &PartLimits) -> Result<Duration, TableError> {
    if limits.parts_total_max > 0 && counts.total >= limits.parts_total_max {
        return Err(TableError::TooManyPartsInTotal { table: table.to_owned(), parts: counts.total });
    }
    if limits.average_bytes_max > 0 && counts.average_bytes() > limits.average_bytes_max {
        return Ok(Duration::ZERO);
    }
    if limits.parts_to_throw > 0 && counts.fullest >= limits.parts_to_throw {
        return Err(TableError::TooManyParts {
            table: table.to_owned(),
            parts: counts.fullest,
            average: ByteSize(counts.average_bytes()),
        });
    }
    if limits.parts_to_delay == 0 || counts.fullest < limits.parts_to_delay {
        return Ok(Duration::ZERO);
    }
    // At the limit itself there is one part too many.
    let over = counts.fullest - limits.parts_to_delay + 1;
    let allowed = limits.parts_to_throw.saturating_sub(limits.parts_to_delay);
    let delay_max = if limits.delay_max.is_zero() { Duration::from_secs(1) } else { limits.delay_max };
    Ok(share(delay_max, over, allowed).max(limits.delay_min))
}

/// Inline rows of all tables up to this many bytes slow nobody down: they are what a flush is waited for.
const INLINE_SOFT_BYTES: u64 = 256 << 20;
/// Inline rows of all tables from which small inserts are refused: they are in memory, and in every checkpoint.
const INLINE_HARD_BYTES: u64 = 1 << 30;
/// What a small insert waits just below the hard limit.
const INLINE_DELAY_MAX: Duration = Duration::from_secs(1);

/// Bytes of inline rows of all tables together that slow small inserts, and that stop them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InlineLimits {
    pub soft_bytes: u64,
    pub hard_bytes: u64,
}

impl InlineLimits {
    /// For a process that may hold `memory_bytes_max` bytes: a quarter of it at most, and never more than 1 GiB.
    /// Flushing must begin at `soft_bytes` or below, or nothing would ever end the pressure.
    pub fn of_memory(memory_bytes_max: u64) -> InlineLimits {
        let hard_bytes = INLINE_HARD_BYTES.min(memory_bytes_max / 4);
        InlineLimits { soft_bytes: INLINE_SOFT_BYTES.min(hard_bytes / 4), hard_bytes }
    }
}

/// How long a small insert waits before its rows go into the log. `table` is `db.t`, for the message.
///
/// # Errors
/// There are too many rows that no part holds yet.
pub fn inline_delay(
    table: &str,
    unflushed_bytes: u64,
    limits: &InlineLimits,
) -> Result<Duration, TableError> {
    if unflushed_bytes >= limits.hard_bytes {
        return Err(TableError::InlineFull {
            table: table.to_owned(),
            held: ByteSize(unflushed_bytes),
            limit: ByteSize(limits.hard_bytes),
        });
    }
    let over = unflushed_bytes.saturating_sub(limits.soft_bytes);
    if over == 0 {
        return Ok(Duration::ZERO);
    }
    Ok(share(INLINE_DELAY_MAX, over, limits.hard_bytes.saturating_sub(limits.soft_bytes)))
}

/// `over / allowed` of a delay; all of it when nothing is allowed.
fn share(delay_max: Duration, over: u64, allowed: u64) -> Duration {
    if over >= allowed {
        return delay_max;
    }
    let micros = delay_max.as_micros().saturating_mul(u128::from(over)) / u128::from(allowed);
    Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn limits() -> PartLimits {
        PartLimits { parts_to_delay: 150, parts_to_throw: 300, ..PartLimits::default() }
    }

    fn counts(fullest: u64) -> PartCounts {
        PartCounts { total: fullest, fullest, fullest_bytes: fullest * MIB }
    }

    /// Milliseconds, or the first words of the refusal.
    fn delay(counts: PartCounts, limits: &PartLimits) -> String {
        match part_delay("d.t", counts, limits) {
            Ok(delay) => delay.as_millis().to_string(),
            Err(error) => error.to_string().split(' ').take(4).collect::<Vec<_>>().join(" "),
        }
    }

    #[test]
    fn delays_grow_from_the_first_limit_to_the_second() {
        for (parts, expected) in [
            (0, "0"),
            (149, "0"),
            (150, "10"),
            (152, "20"),
            (224, "500"),
            (299, "1000"),
            (300, "Too many parts (300"),
            (5000, "Too many parts (5000"),
        ] {
            assert_eq!(delay(counts(parts), &limits()), expected, "{parts} parts");
        }
        assert_eq!(delay(counts(999), &PartLimits::default()), "0");
        assert_eq!(delay(counts(1999), &PartLimits::default()), "500");
        let message = part_delay("d.t", counts(3000), &PartLimits::default()).unwrap_err().to_string();
        assert_eq!(
            message,
            "Too many parts (3000 with average size of 1.00 MiB) in table 'd.t'. Merges are processing \
             significantly slower than inserts"
        );
    }

    #[test]
    fn large_parts_and_limits_of_zero_are_exempt() {
        let large = PartCounts { fullest_bytes: 301 * (1 << 30), ..counts(300) };
        assert_eq!(delay(large, &limits()), "0", "larger than 1 GiB on the average");
        let just = PartCounts { fullest_bytes: 300 << 30, ..counts(300) };
        assert_eq!(delay(just, &limits()), "Too many parts (300", "exactly 1 GiB is not larger");
        for (case, changed, parts, expected) in [
            (
                "the average never exempts",
                PartLimits { average_bytes_max: 0, ..limits() },
                300,
                "Too many parts (300",
            ),
            ("never refused", PartLimits { parts_to_throw: 0, ..limits() }, 5000, "1000"),
            ("never slowed", PartLimits { parts_to_delay: 0, ..limits() }, 299, "0"),
            ("both limits at one place", PartLimits { parts_to_delay: 300, ..limits() }, 299, "0"),
            ("the first limit above the second", PartLimits { parts_to_delay: 400, ..limits() }, 299, "0"),
            ("no ceiling is one second", PartLimits { delay_max: Duration::ZERO, ..limits() }, 224, "500"),
            ("no floor", PartLimits { delay_min: Duration::ZERO, ..limits() }, 150, "6"),
        ] {
            assert_eq!(delay(counts(parts), &changed), expected, "{case}");
        }
    }

    #[test]
    fn all_partitions_together_have_a_limit() {
        let spread = PartCounts { total: 100_000, fullest: 1, fullest_bytes: 10 << 40 };
        assert_eq!(delay(spread, &limits()), "Too many parts (100000)");
        assert_eq!(delay(PartCounts { total: 99_999, ..spread }, &limits()), "0");
        assert_eq!(delay(spread, &PartLimits { parts_total_max: 0, ..limits() }), "0");
    }

    #[test]
    fn inline_rows_slow_small_inserts_and_then_stop_them() {
        let limits = InlineLimits::of_memory(64 << 30);
        assert_eq!(limits, InlineLimits { soft_bytes: 256 * MIB, hard_bytes: 1024 * MIB });
        let delay = |mib: u64| inline_delay("d.t", mib * MIB, &limits).map(|delay| delay.as_millis());
        for (mib, expected) in [(0, 0), (256, 0), (448, 250), (640, 500), (832, 750)] {
            assert_eq!(delay(mib).unwrap(), expected, "{mib} MiB");
        }
        assert_eq!(delay(1023).unwrap(), 998);
        let refused = delay(1024).unwrap_err().to_string();
        assert!(refused.contains("\"d.t\"") && refused.contains("1.00 GiB"), "{refused}");
    }

    #[test]
    fn a_small_process_holds_a_quarter_of_its_memory_inline() {
        let limits = InlineLimits::of_memory(512 * MIB);
        assert_eq!(limits, InlineLimits { soft_bytes: 32 * MIB, hard_bytes: 128 * MIB });
        assert!(inline_delay("d.t", 0, &InlineLimits::of_memory(0)).is_err());
    }
}
