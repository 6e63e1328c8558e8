//! What Tab offers: keywords, databases, tables, columns, functions, settings.
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

const NAMES: [&str; 6] = [
    "SELECT name FROM system.databases",
    "SELECT name FROM system.tables",
    "SELECT 'system.' || name FROM system.tables WHERE database = 'system'",
    "SELECT DISTINCT name FROM system.columns WHERE lower(database) NOT IN ('system', 'information_schema')",
    "SELECT name FROM system.functions",
    "SELECT name FROM system.settings",
];

#[derive(Debug, Default)]
pub(super) struct Words {
    sorted: BTreeSet<String>,
}

/// Asks the database for its names.
pub(super) async fn load(runner: &Runner) -> Words {
    let mut words = Words { sorted: KEYWORDS.split_whitespace().map(str::to_owned).collect() };
    for query in NAMES {
        for batch in runner.rows(query).await.unwrap_or_default() {
            if let Ok(names) = ArrayFormatter::try_new(batch.column(0), &FormatOptions::default()) {
                words.sorted.extend((0..batch.column(0).len()).map(|row| names.value(row).to_string()));
            }
        }
    }
    words
}

impl Words {
    /// Where the last word of `typed` begins, and what it may become. Case does not matter.
    pub(super) fn complete(&self, typed: &str) -> (usize, Vec<String>) {
        let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let start = typed
            .rfind(|c| !is_name(c))
            .map_or(0, |at| at + typed[at..].chars().next().map_or(1, char::len_utf8));
        let prefix = typed[start..].to_lowercase();
        if prefix.is_empty() {
            return (start, Vec::new());
        }
        let offers = self.sorted.iter().filter(|word| word.to_lowercase().starts_with(&prefix));
        (start, offers.take(OFFERS_MAX).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_is_completed() {
        let words =
            Words { sorted: ["SELECT", "SETTINGS", "posts", "system.parts"].map(str::to_owned).into() };
        assert_eq!(words.complete("se"), (0, vec!["SELECT".to_owned(), "SETTINGS".to_owned()]));
        assert_eq!(words.complete("SELECT * FROM po"), (14, vec!["posts".to_owned()]));
        assert_eq!(words.complete("from system.p"), (5, vec!["system.parts".to_owned()]));
        assert_eq!(words.complete("é po").1, ["posts"]);
        assert_eq!(words.complete("select "), (7, vec![]));
    }
}
