//! What Tab offers: keywords, databases, tables, columns, functions, settings; behind FROM and the like tables alone.
//!
//! Invariant: sorted, each word once; a failed look-up only means fewer offers.

use std::collections::BTreeSet;

use arrow::array::Array;
use arrow::util::display::{ArrayFormatter, FormatOptions};

use crate::runner::Runner;

/// Offers shown at once; more than this helps nobody.
const OFFERS_MAX: usize = 100;

const KEYWORDS: &str = "SELECT DISTINCT FROM WHERE GROUP BY ORDER LIMIT OFFSET HAVING UNION ALL JOIN LEFT RIGHT INNER \
FULL CROSS ON USING AS AND OR NOT IN BETWEEN LIKE ILIKE IS NULL CASE WHEN THEN ELSE END WITH INSERT INTO VALUES FORMAT \
SETTINGS CREATE TABLE DATABASE IF EXISTS ENGINE MergeTree Memory PARTITION PRIMARY KEY DROP TRUNCATE DESCRIBE SHOW \
TABLES DATABASES USE SET OPTIMIZE FINAL SYSTEM STOP START MERGES EXPLAIN INTO OUTFILE PrettyCompact TabSeparated \
CSV CSVWithNames JSON JSONEachRow Vertical Parquet Nullable LowCardinality String DateTime DateTime64 Date Decimal \
Array Map Tuple UInt8 UInt16 UInt32 UInt64 Int8 Int16 Int32 Int64 Float32 Float64";

/// Behind them stands a table.
const BEFORE_TABLES: [&str; 6] = ["from", "join", "into", "table", "describe", "desc"];

/// Tables of the current database, then of others.
const TABLES: [&str; 2] = [
    "SELECT name FROM system.tables WHERE database = currentDatabase()",
    "SELECT database || '.' || name FROM system.tables WHERE lower(database) != 'information_schema'",
];

const NAMES: [&str; 4] = [
    "SELECT name FROM system.databases",
    "SELECT DISTINCT name FROM system.columns WHERE lower(database) NOT IN ('system', 'information_schema')",
    "SELECT name FROM system.functions",
    "SELECT name FROM system.settings",
];

#[derive(Debug, Default)]
pub(super) struct Words {
    sorted: BTreeSet<String>,
    tables: BTreeSet<String>,
}

/// Whether a word is one of those that statements are made of.
pub(super) fn is_keyword(word: &str) -> bool {
    KEYWORDS.split_whitespace().any(|keyword| keyword.eq_ignore_ascii_case(word))
}

/// Asks the database for its names.
pub(super) async fn load(runner: &Runner) -> Words {
    let keywords = KEYWORDS.split_whitespace().map(str::to_owned);
    let mut words = Words { sorted: keywords.collect(), tables: BTreeSet::new() };
    for query in NAMES {
        words.sorted.extend(names(runner, query).await);
    }
    for query in TABLES {
        words.tables.extend(names(runner, query).await);
    }
    words.sorted.extend(words.tables.iter().cloned());
    words
}

/// The first column of an answer.
async fn names(runner: &Runner, query: &str) -> Vec<String> {
    let mut found = vec![];
    for batch in runner.rows(query).await.unwrap_or_default() {
        if let Ok(names) = ArrayFormatter::try_new(batch.column(0), &FormatOptions::default()) {
            found.extend((0..batch.column(0).len()).map(|row| names.value(row).to_string()));
        }
    }
    found
}

impl Words {
    /// Where the last word of `typed` begins, and what it may become. Case does not matter.
    pub(super) fn complete(&self, typed: &str) -> (usize, Vec<String>) {
        let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let start = typed
            .rfind(|c| !is_name(c))
            .map_or(0, |at| at + typed[at..].chars().next().map_or(1, char::len_utf8));
        let prefix = typed[start..].to_lowercase();
        let before = typed[..start].split_whitespace().next_back().unwrap_or_default().to_lowercase();
        let is_table = BEFORE_TABLES.contains(&before.as_str());
        if prefix.is_empty() && !is_table {
            return (start, Vec::new());
        }
        let words = if is_table { &self.tables } else { &self.sorted };
        let offers = words.iter().filter(|word| word.to_lowercase().starts_with(&prefix));
        (start, offers.take(OFFERS_MAX).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_is_completed() {
        let words = Words {
            sorted: ["SELECT", "SETTINGS", "posts", "system.parts"].map(str::to_owned).into(),
            tables: ["posts", "system.parts"].map(str::to_owned).into(),
        };
        assert_eq!(words.complete("se"), (0, vec!["SELECT".to_owned(), "SETTINGS".to_owned()]));
        assert_eq!(words.complete("SELECT * FROM po"), (14, vec!["posts".to_owned()]));
        assert_eq!(words.complete("from system.p"), (5, vec!["system.parts".to_owned()]));
        assert_eq!(words.complete("é po").1, ["posts"]);
        assert_eq!(words.complete("select "), (7, vec![]));
    }

    #[test]
    fn tables_are_offered_where_tables_stand() {
        let words = Words {
            sorted: ["SELECT", "SETTINGS", "posts"].map(str::to_owned).into(),
            tables: ["posts", "sums"].map(str::to_owned).into(),
        };
        assert_eq!(words.complete("select 1 FROM "), (14, vec!["posts".to_owned(), "sums".to_owned()]));
        assert_eq!(words.complete("insert into s"), (12, vec!["sums".to_owned()]));
    }
}
