//! The statements of `bench-insert`: text from a few numbers.
//!
//! Pure. Invariant: the same workload gives the same statements, no two rows of it share an id, and both sides of a
//! comparison can run them.

use std::fmt::Write;

/// Ids of one connection; the next connection's begin behind them.
const IDS_OF_A_CONNECTION: u64 = 1_000_000_000;

pub(super) const TABLE: &str = "bench";

/// What is inserted, and how it is cut into statements.
#[derive(Clone, Debug)]
pub(super) struct Workload {
    pub(super) rows_per_statement: u64,
    /// The first four are id, time, text, number; more repeat these types.
    pub(super) columns: u64,
    /// `INSERT SELECT FROM numbers` instead of `VALUES`.
    pub(super) select: bool,
    /// What stands behind SETTINGS of the table.
    pub(super) table_settings: Option<String>,
}

impl Workload {
    pub(super) fn create(&self) -> String {
        let columns: Vec<String> =
            (0..self.columns.max(1)).map(|column| format!("c{column} {}", type_of(column))).collect();
        let mut sql = format!(
            "CREATE TABLE IF NOT EXISTS {TABLE} ({}) ENGINE = MergeTree ORDER BY c0",
            columns.join(", ")
        );
        if let Some(settings) = &self.table_settings {
            sql.push_str(&format!(" SETTINGS {settings}"));
        }
        sql
    }

    /// Statement number `statement` of connection number `connection`.
    pub(super) fn statement(&self, connection: u64, statement: u64) -> String {
        let first = connection * IDS_OF_A_CONNECTION + statement * self.rows_per_statement;
        if self.select { self.select_rows(first) } else { self.values(first) }
    }

    fn values(&self, first: u64) -> String {
        let mut sql = format!("INSERT INTO {TABLE} VALUES ");
        for id in first..first + self.rows_per_statement {
            sql.push_str(if id == first { "(" } else { ", (" });
            for column in 0..self.columns.max(1) {
                if column > 0 {
                    sql.push_str(", ");
                }
                // Writing to a String cannot fail.
                let _ = match column % 4 {
                    0 => write!(sql, "{id}"),
                    1 => write!(sql, "'2020-01-01 00:00:00'"),
                    2 => write!(sql, "'row {id}'"),
                    _ => write!(sql, "{id}.5"),
                };
            }
            sql.push(')');
        }
        sql
    }

    fn select_rows(&self, first: u64) -> String {
        let id = format!("number + {first}");
        let columns: Vec<String> = (0..self.columns.max(1))
            .map(|column| match column % 4 {
                0 => id.clone(),
                1 => "toDateTime('2020-01-01 00:00:00')".to_owned(),
                2 => format!("concat('row ', toString({id}))"),
                _ => format!("{id} + 0.5"),
            })
            .collect();
        format!("INSERT INTO {TABLE} SELECT {} FROM numbers({})", columns.join(", "), self.rows_per_statement)
    }
}

fn type_of(column: u64) -> &'static str {
    match column % 4 {
        0 => "UInt64",
        1 => "DateTime",
        2 => "String",
        _ => "Float64",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(rows_per_statement: u64, columns: u64, select: bool) -> Workload {
        Workload { rows_per_statement, columns, select, table_settings: None }
    }

    #[test]
    fn statements_follow_the_numbers() {
        let two = workload(2, 5, false);
        assert_eq!(
            two.create(),
            "CREATE TABLE IF NOT EXISTS bench (c0 UInt64, c1 DateTime, c2 String, c3 Float64, c4 UInt64) \
             ENGINE = MergeTree ORDER BY c0"
        );
        assert_eq!(
            two.statement(0, 3),
            "INSERT INTO bench VALUES (6, '2020-01-01 00:00:00', 'row 6', 6.5, 6), \
             (7, '2020-01-01 00:00:00', 'row 7', 7.5, 7)"
        );
        assert_eq!(
            workload(10, 3, true).statement(1, 2),
            "INSERT INTO bench SELECT number + 1000000020, toDateTime('2020-01-01 00:00:00'), \
             concat('row ', toString(number + 1000000020)) FROM numbers(10)"
        );
    }

    #[test]
    fn settings_of_the_table_stand_at_its_end() {
        let synced =
            Workload { table_settings: Some("fsync_after_insert = 1".to_owned()), ..workload(1, 1, false) };
        assert!(synced.create().ends_with("ORDER BY c0 SETTINGS fsync_after_insert = 1"));
    }
}
