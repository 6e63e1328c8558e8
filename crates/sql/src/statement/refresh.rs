//! REFRESH of a materialized view: when its SELECT is run again, and what becomes of the rows that were there.
//!
//! Invariant: what is printed is read again as the same. Must not know: which runs there have been.

use std::fmt;

use model::calendar::schedule::Period;

use super::TableName;
use lexer::escape::quote_name;

/// The clause, as it was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refresh {
    pub when: When,
    /// At another moment within so much time.
    pub randomize: Interval,
    /// Views whose run for the same time comes first.
    pub depends_on: Vec<TableName>,
    pub retries: Retries,
    /// What is written of [`Retries`], for printing.
    pub settings: Vec<(String, u64)>,
    /// Rows are added to those that are there.
    pub appends: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum When {
    /// By the clock: in every slot of this length, `offset` behind its beginning.
    Every { period: Interval, offset: Interval },
    /// So long after the end of the last run.
    After { period: Interval },
}

/// `1 HOUR 30 MINUTE`: counts and units.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Interval(pub Vec<(u32, IntervalUnit)>);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IntervalUnit {
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

/// How a run that fails is tried again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retries {
    pub count: u64,
    pub first_pause_ms: u64,
    pub pause_ms_max: u64,
}

impl Default for Retries {
    fn default() -> Retries {
        Retries { count: 2, first_pause_ms: 100, pause_ms_max: 60_000 }
    }
}

impl IntervalUnit {
    /// All of them, from the shortest one.
    pub const ALL: [IntervalUnit; 8] = {
        use IntervalUnit::{Day, Hour, Minute, Month, Quarter, Second, Week, Year};
        [Second, Minute, Hour, Day, Week, Month, Quarter, Year]
    };

    pub fn word(self) -> &'static str {
        match self {
            IntervalUnit::Second => "SECOND",
            IntervalUnit::Minute => "MINUTE",
            IntervalUnit::Hour => "HOUR",
            IntervalUnit::Day => "DAY",
            IntervalUnit::Week => "WEEK",
            IntervalUnit::Month => "MONTH",
            IntervalUnit::Quarter => "QUARTER",
            IntervalUnit::Year => "YEAR",
        }
    }

    /// One of it.
    pub fn period(self) -> Period {
        match self {
            IntervalUnit::Second => Period::Seconds(1),
            IntervalUnit::Minute => Period::Seconds(60),
            IntervalUnit::Hour => Period::Seconds(3_600),
            IntervalUnit::Day => Period::Seconds(86_400),
            IntervalUnit::Week => Period::Seconds(7 * 86_400),
            IntervalUnit::Month => Period::Months(1),
            IntervalUnit::Quarter => Period::Months(3),
            IntervalUnit::Year => Period::Months(12),
        }
    }
}

impl Interval {
    /// Its length; `None` where it counts months and seconds, whose sum has none.
    pub fn period(&self) -> Option<Period> {
        let (mut seconds, mut months) = (0_u64, 0_u32);
        for (count, unit) in &self.0 {
            match unit.period() {
                Period::Seconds(one) => {
                    seconds = seconds.saturating_add(one.saturating_mul(u64::from(*count)))
                }
                Period::Months(one) => months = months.saturating_add(one.saturating_mul(*count)),
            }
        }
        match (seconds, months) {
            (seconds, 0) => Some(Period::Seconds(seconds)),
            (0, months) => Some(Period::Months(months)),
            _ => None,
        }
    }

    /// The moment so much behind another one: months first.
    pub fn after(&self, at: i64) -> i64 {
        let months = self.0.iter().filter(|(_, unit)| matches!(unit.period(), Period::Months(_)));
        let seconds = self.0.iter().filter(|(_, unit)| matches!(unit.period(), Period::Seconds(_)));
        months.chain(seconds).fold(at, |at, (count, unit)| match unit.period() {
            Period::Seconds(one) => Period::Seconds(one.saturating_mul(u64::from(*count))).after(at),
            Period::Months(one) => Period::Months(one.saturating_mul(*count)).after(at),
        })
    }
}

impl Refresh {
    /// The second in which the run behind one that began and ended then is due.
    pub fn next(&self, begun: i64, ended: i64) -> i64 {
        match &self.when {
            When::After { period } => period.after(ended),
            When::Every { period, offset } => {
                let length = period.period().unwrap_or(Period::Seconds(1));
                let shift = offset.after(0);
                let slot = length.floor(begun.saturating_sub(shift));
                offset.after(length.after(slot))
            }
        }
    }

    /// The second in which the slot of a run began that is due then.
    pub fn slot(&self, due: i64) -> i64 {
        match &self.when {
            When::After { .. } => due,
            When::Every { period, offset } => {
                let length = period.period().unwrap_or(Period::Seconds(1));
                length.floor(due.saturating_sub(offset.after(0)))
            }
        }
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (count, unit)) in self.0.iter().enumerate() {
            let space = if at == 0 { "" } else { " " };
            write!(f, "{space}{count} {}", unit.word())?;
        }
        Ok(())
    }
}

/// As ClickHouse prints it, from EVERY or AFTER to APPEND.
impl fmt::Display for Refresh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.when {
            When::Every { period, offset } => {
                write!(f, "EVERY {period}")?;
                if !offset.0.is_empty() {
                    write!(f, " OFFSET {offset}")?;
                }
            }
            When::After { period } => write!(f, "AFTER {period}")?,
        }
        if !self.randomize.0.is_empty() {
            write!(f, " RANDOMIZE FOR {}", self.randomize)?;
        }
        let view = |name: &TableName| match &name.database {
            Some(database) => format!("{}.{}", quote_name(database), quote_name(&name.table)),
            None => quote_name(&name.table),
        };
        if !self.depends_on.is_empty() {
            let views: Vec<String> = self.depends_on.iter().map(view).collect();
            write!(f, " DEPENDS ON {}", views.join(", "))?;
        }
        if !self.settings.is_empty() {
            let settings: Vec<String> =
                self.settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            write!(f, " SETTINGS {}", settings.join(", "))?;
        }
        f.write_str(if self.appends { " APPEND" } else { "" })
    }
}
