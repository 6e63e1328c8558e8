//! What a statement's WHERE says of its files, known before anything is listed.
//!
//! Pure. Invariant: a file or folder is left out only if the conditions prove that no row of it is wanted; a doubt
//! keeps it, because the rows are filtered again. Must not know: SQL text, stores.

use crate::keys::hive;

/// Conditions that all hold of every row wanted. The default has none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FileFilter {
    pub conditions: Vec<FileCondition>,
}

/// The column's value is one of these.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileCondition {
    pub column: String,
    pub values: Vec<FilterValue>,
}

/// A constant as the statement has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FilterValue {
    Text(String),
    /// Digits as written.
    Number(String),
}

impl FileFilter {
    pub fn is_empty(&self) -> bool {
        self.conditions.is_empty()
    }

    /// The paths a condition on `_path` leaves, if there is one and they are at most `paths_max`.
    pub(crate) fn paths(&self, paths_max: usize) -> Option<Vec<&str>> {
        let condition = self.conditions.iter().find(|condition| condition.column == "_path")?;
        let texts = condition.values.iter().map(|value| match value {
            FilterValue::Text(text) => Some(text.as_str()),
            FilterValue::Number(_) => None,
        });
        texts.collect::<Option<Vec<_>>>().filter(|paths| paths.len() <= paths_max)
    }

    /// Names that may be those of partitions.
    pub(crate) fn partition_names(&self) -> impl Iterator<Item = &str> {
        self.conditions
            .iter()
            .map(|condition| condition.column.as_str())
            .filter(|name| !name.starts_with('_'))
    }

    /// Whether a file at this path may hold a row wanted. With `hive` its folders are partitions.
    pub(crate) fn keeps(&self, path: &str, hive: bool) -> bool {
        let (folders, file) = path.rsplit_once('/').unwrap_or(("", path));
        let named = |column: &str, value: &str| {
            let of_column = self.conditions.iter().filter(|condition| condition.column == column);
            of_column.into_iter().all(|condition| condition.may_equal(value))
        };
        named("_path", path)
            && named("_file", file)
            && (!hive || folders.split('/').all(|folder| self.keeps_folder(folder)))
    }

    /// Whether below a folder of this name there may be a row wanted.
    pub(crate) fn keeps_folder(&self, folder: &str) -> bool {
        let Some((name, Some(value))) = hive::pair(folder) else { return true };
        self.conditions.iter().filter(|condition| condition.column == name).all(|one| one.may_equal(&value))
    }
}

impl FileCondition {
    fn may_equal(&self, value: &str) -> bool {
        let exact = self.column.starts_with('_');
        self.values.iter().any(|wanted| match (wanted, exact) {
            (FilterValue::Text(wanted), true) => wanted == value,
            (FilterValue::Number(_), true) => true,
            (FilterValue::Text(wanted) | FilterValue::Number(wanted), false) => may_be_equal(wanted, value),
        })
    }
}

/// Whether two texts may stand for one value, whichever type the column has: `2` and `02` are one number, `2024-1-1`
/// may be a date.
fn may_be_equal(a: &str, b: &str) -> bool {
    if let (Ok(a), Ok(b)) = (a.parse::<i128>(), b.parse::<i128>()) {
        return a == b;
    }
    let word = |text: &str| text.starts_with(|c: char| c.is_ascii_alphabetic()) && !is_truth(text);
    let date = |text: &str| {
        text.len() == 10
            && text
                .bytes()
                .enumerate()
                .all(|(i, b)| if matches!(i, 4 | 7) { b == b'-' } else { b.is_ascii_digit() })
    };
    // Only words and dates can be told apart by their text alone.
    !((word(a) && word(b)) || (date(a) && date(b))) || a == b
}

/// Words that may be numbers, too.
fn is_truth(text: &str) -> bool {
    ["true", "false", "nan", "inf", "infinity"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_proofs_leave_out() {
        for (wanted, value, may) in [
            ("2024", "2024", true),
            ("2", "02", true),
            ("2024", "2023", false),
            ("de", "de", true),
            ("de", "fr", false),
            ("de", "1", true),
            ("true", "TRUE", true),
            ("2024-01-01", "2024-01-02", false),
            ("2024-01-01", "2024-1-1", true),
            ("1.50", "1.5", true),
            ("inf", "nan", true),
        ] {
            assert_eq!(may_be_equal(wanted, value), may, "{wanted} {value}");
        }
    }

    #[test]
    fn files_and_folders() {
        let text = |text: &str| FilterValue::Text(text.to_owned());
        let filter = |column: &str, values: Vec<FilterValue>| FileFilter {
            conditions: vec![FileCondition { column: column.to_owned(), values }],
        };
        let year = filter("year", vec![FilterValue::Number("2024".to_owned())]);
        assert!(year.keeps("b/year=2024/f", true) && !year.keeps("b/year=2023/f", true));
        assert!(year.keeps("b/year=2023/f", false) && year.keeps("b/f", true));
        assert!(year.keeps("b/year=__HIVE_DEFAULT_PARTITION__/f", true));
        let file = filter("_file", vec![text("f"), text("g")]);
        assert!(file.keeps("b/g", true) && !file.keeps("b/h", true));
        let path = filter("_path", vec![text("b/1"), text("b/2")]);
        assert!(!path.keeps("b/01", true));
        assert_eq!((path.paths(2), path.paths(1)), (Some(vec!["b/1", "b/2"]), None));
        assert_eq!(year.paths(10), None);
    }
}
