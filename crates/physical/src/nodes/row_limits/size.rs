//! How large something may become, and what happens when it is larger.
//!
//! Invariant: who must fail fails at the first row beyond the limit; who breaks off keeps the batch that reached it, as in
//! ClickHouse. Must not know: plans, and where the sizes come from.

use model::ErrorCode;

use crate::error::PhysicalError;

/// What happens at a limit.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Overflow {
    #[default]
    Throw,
    /// The batch that reached the limit is the last.
    Break,
    /// Keys that are there go on, others are left out.
    Any,
}

/// Most rows and bytes of something; 0 is any number.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SizeLimit {
    pub rows: u64,
    pub bytes: u64,
    pub overflow: Overflow,
}

/// What is limited: its errors name it and the settings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    Read,
    ReadHere,
    Sorted,
    Grouped,
    Distinct,
    Set,
    Joined,
}

impl Overflow {
    /// The mode of a word of ClickHouse.
    pub fn of(word: &str) -> Overflow {
        match word {
            "break" => Overflow::Break,
            "any" => Overflow::Any,
            _ => Overflow::Throw,
        }
    }
}

impl SizeLimit {
    pub(super) fn is_set(&self) -> bool {
        self.rows > 0 || self.bytes > 0
    }

    /// Whether more may come when there are so many rows and bytes.
    ///
    /// # Errors
    /// There are too many, and the limit throws.
    pub(super) fn goes_on(&self, what: What, rows: u64, bytes: u64) -> Result<bool, PhysicalError> {
        let is_over = |most: u64, seen: u64| most > 0 && seen > most;
        let reaches = |most: u64, seen: u64| most > 0 && seen >= most;
        match self.overflow {
            Overflow::Throw if is_over(self.rows, rows) => {
                let (code, _) = what.codes();
                Err(failed(code, &format!("{rows} {}", what.rows()), what.settings().0, self.rows))
            }
            Overflow::Throw if is_over(self.bytes, bytes) => {
                let (_, code) = what.codes();
                Err(failed(
                    code,
                    &format!("{bytes} bytes of {}", what.bytes()),
                    what.settings().1,
                    self.bytes,
                ))
            }
            Overflow::Throw => Ok(true),
            // The groups of the batch that has one too many are all there.
            Overflow::Break | Overflow::Any if what == What::Grouped => Ok(!is_over(self.rows, rows)),
            Overflow::Break | Overflow::Any => Ok(!reaches(self.rows, rows) && !reaches(self.bytes, bytes)),
        }
    }
}

fn failed(code: ErrorCode, seen: &str, setting: &str, most: u64) -> PhysicalError {
    PhysicalError::bad_input(code, format!("there are {seen}, {setting} is {most}"))
}

impl What {
    /// Of too many rows, and of too many bytes.
    fn codes(self) -> (ErrorCode, ErrorCode) {
        match self {
            What::Read | What::ReadHere => (ErrorCode::TOO_MANY_ROWS, ErrorCode::TOO_MANY_BYTES),
            What::Grouped => (ErrorCode::TOO_MANY_ROWS, ErrorCode::TOO_MANY_ROWS),
            What::Sorted => (ErrorCode::TOO_MANY_ROWS_OR_BYTES, ErrorCode::TOO_MANY_ROWS_OR_BYTES),
            What::Distinct | What::Set | What::Joined => {
                (ErrorCode::SET_SIZE_LIMIT_EXCEEDED, ErrorCode::SET_SIZE_LIMIT_EXCEEDED)
            }
        }
    }

    /// The settings that limit its rows and its bytes.
    fn settings(self) -> (&'static str, &'static str) {
        match self {
            What::Read => ("max_rows_to_read", "max_bytes_to_read"),
            What::ReadHere => ("max_rows_to_read_leaf", "max_bytes_to_read_leaf"),
            What::Sorted => ("max_rows_to_sort", "max_bytes_to_sort"),
            What::Grouped => ("max_rows_to_group_by", "max_rows_to_group_by"),
            What::Distinct => ("max_rows_in_distinct", "max_bytes_in_distinct"),
            What::Set => ("max_rows_in_set", "max_bytes_in_set"),
            What::Joined => ("max_rows_in_join", "max_bytes_in_join"),
        }
    }

    fn rows(self) -> &'static str {
        match self {
            What::Read | What::ReadHere => "rows read",
            What::Sorted => "rows to sort",
            What::Grouped => "keys of GROUP BY",
            What::Distinct => "rows of DISTINCT",
            What::Set => "rows in the set of IN",
            What::Joined => "rows of a JOIN's right table",
        }
    }

    fn bytes(self) -> &'static str {
        match self {
            What::Read | What::ReadHere => "rows read",
            What::Sorted => "rows to sort",
            What::Grouped => "GROUP BY",
            What::Distinct => "DISTINCT",
            What::Set => "the set of IN",
            What::Joined => "a JOIN's right table",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(rows: u64, overflow: Overflow) -> SizeLimit {
        SizeLimit { rows, bytes: 0, overflow }
    }

    #[test]
    fn a_limit_throws_beyond_it_and_breaks_off_at_it() {
        let throws = limit(4, Overflow::Throw);
        assert!(throws.goes_on(What::Read, 4, 99).unwrap());
        let error = throws.goes_on(What::Read, 5, 99).unwrap_err();
        assert!(error.to_string().contains("max_rows_to_read is 4"), "{error}");
        let breaks = limit(4, Overflow::Break);
        assert!(breaks.goes_on(What::Read, 3, 99).unwrap() && !breaks.goes_on(What::Read, 4, 99).unwrap());
        assert!(
            breaks.goes_on(What::Grouped, 4, 0).unwrap() && !breaks.goes_on(What::Grouped, 5, 0).unwrap()
        );
    }

    #[test]
    fn no_limit_lets_all_pass() {
        let none = SizeLimit::default();
        assert!(!none.is_set() && none.goes_on(What::Sorted, u64::MAX, u64::MAX).unwrap());
    }
}
