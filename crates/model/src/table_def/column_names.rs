//! Which column a name of the data means: the one that is called so, else the only one that is but for upper and lower case.
//!
//! Invariant: a name never means two columns, and what it means does not depend on the other names of the data. Must not
//! know: where the names stand.

use std::collections::HashMap;

/// Bytes of a name that a message shows.
const SHOWN_BYTES_MAX: usize = 100;

/// `input_format_column_name_matching_mode`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NameMatching {
    /// By the very name, else in any case.
    #[default]
    Auto,
    MatchCase,
    IgnoreCase,
}

impl NameMatching {
    /// What the setting's word says.
    pub fn of(word: &str) -> NameMatching {
        match word {
            "match_case" => NameMatching::MatchCase,
            "ignore_case" => NameMatching::IgnoreCase,
            _ => NameMatching::Auto,
        }
    }
}

/// How the header of a file is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeaderReading {
    /// Columns of a file with a header are found by its names, not by their places.
    pub use_names: bool,
    /// Which column a name of the data means, also without a header.
    pub matching: NameMatching,
    /// Types that a header names are those of the columns, or an error.
    pub check_types: bool,
}

impl Default for HeaderReading {
    fn default() -> Self {
        Self { use_names: true, matching: NameMatching::Auto, check_types: true }
    }
}

/// Names of columns, to be found by those of the data.
pub struct ColumnNames {
    exact: HashMap<Vec<u8>, usize>,
    /// In lower case; `None` for a name that several columns have.
    any_case: HashMap<Vec<u8>, Option<usize>>,
    matching: NameMatching,
}

/// Several columns could be meant.
#[derive(Debug)]
pub struct Ambiguous;

impl Ambiguous {
    /// What is said of a name of the data.
    pub fn message(&self, name: &[u8]) -> String {
        let name = String::from_utf8_lossy(&name[..name.len().min(SHOWN_BYTES_MAX)]);
        format!(
            "field \"{}\" is ambiguous: several columns have its name in other cases",
            name.escape_debug()
        )
    }
}

impl ColumnNames {
    /// Of equal names the first counts.
    pub fn new<'n>(names: impl Iterator<Item = &'n str>, matching: NameMatching) -> Self {
        let (mut exact, mut any_case) = (HashMap::new(), HashMap::new());
        for (at, name) in names.enumerate() {
            let known = *exact.entry(name.as_bytes().to_vec()).or_insert(at);
            if known == at && matching != NameMatching::MatchCase {
                let lower = name.as_bytes().to_ascii_lowercase();
                any_case.entry(lower).and_modify(|first| *first = None).or_insert(Some(at));
            }
        }
        Self { exact, any_case, matching }
    }

    /// The column's place.
    pub fn find(&self, name: &[u8]) -> Result<Option<usize>, Ambiguous> {
        let exact = || self.exact.get(name).copied();
        if self.matching != NameMatching::IgnoreCase
            && let Some(found) = exact()
        {
            return Ok(Some(found));
        }
        match self.any_case.get(&name.to_ascii_lowercase()) {
            Some(Some(found)) => Ok(Some(*found)),
            Some(None) => Err(Ambiguous),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_one_column() {
        let found = |matching, name: &str| {
            let names = ColumnNames::new(["a", "B", "c", "C", "Dd"].into_iter(), matching);
            names.find(name.as_bytes()).map_err(|_| "ambiguous")
        };
        use NameMatching::{Auto, IgnoreCase, MatchCase};
        for (name, auto, exact, any) in [
            ("a", Ok(Some(0)), Ok(Some(0)), Ok(Some(0))),
            ("A", Ok(Some(0)), Ok(None), Ok(Some(0))),
            ("b", Ok(Some(1)), Ok(None), Ok(Some(1))),
            ("c", Ok(Some(2)), Ok(Some(2)), Err("ambiguous")),
            ("C", Ok(Some(3)), Ok(Some(3)), Err("ambiguous")),
            ("dD", Ok(Some(4)), Ok(None), Ok(Some(4))),
            ("x", Ok(None), Ok(None), Ok(None)),
        ] {
            assert_eq!(found(Auto, name), auto, "{name}");
            assert_eq!(found(MatchCase, name), exact, "{name}");
            assert_eq!(found(IgnoreCase, name), any, "{name}");
        }
        let names = ColumnNames::new(["xY", "Xy"].into_iter(), Auto);
        assert!(names.find(b"xy").is_err());
    }
}
