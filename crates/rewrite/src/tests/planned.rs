//! Rewritten queries through DataFusion with our functions: labels, types and values as ClickHouse answers.

use std::sync::Arc;

use arrow::array::{RecordBatch, StringViewArray, UInt64Array};
use arrow::datatypes::Schema;
use arrow::util::display::array_value_to_string;
use datafusion::datasource::MemTable;
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::parser::Statement as PlannedStatement;
use model::type_arrow::{from_field, to_field};
use sql::{Statement, parse_one};
use sqlparser::ast::Statement as AstStatement;

use crate::{RewriteContext, prepare};

/// `t(number UInt64, name String)` of three rows.
fn context() -> SessionContext {
    let mut config = SessionConfig::new().with_target_partitions(2);
    config.options_mut().sql_parser.enable_ident_normalization = false;
    let base = planner::configure(SessionStateBuilder::new()).build();
    let context = SessionContext::new_with_state(
        SessionStateBuilder::new_from_existing(base).with_config(config).build(),
    );
    let types = [("number", model::ColumnType::UInt64), ("name", model::ColumnType::String)];
    let schema =
        Arc::new(Schema::new(types.map(|(name, column_type)| to_field(name, &column_type)).to_vec()));
    let batch = RecordBatch::try_new(
        Arc::clone(&schema),
        vec![
            Arc::new(UInt64Array::from(vec![0, 1, 2])),
            Arc::new(StringViewArray::from(vec!["a", "b", "a"])),
        ],
    );
    let table = MemTable::try_new(schema, vec![vec![batch.unwrap()]]).unwrap();
    context.register_table("t", Arc::new(table)).unwrap();
    context
}

/// `label Type: values | ..`.
async fn answer(text: &str) -> String {
    let Statement::Query(query) = parse_one(text).unwrap().statement else { panic!("{text}") };
    let prepared = match prepare(
        &query,
        &RewriteContext {
            current_database: "default",
            manner: crate::Manner::default(),
            union_default_mode: "",
            expanded_elements_max: 0,
        },
    ) {
        Ok(prepared) => prepared,
        Err(e) => return e.message,
    };
    let context = context();
    let statement = PlannedStatement::Statement(Box::new(AstStatement::Query(Box::new(prepared.ast))));
    let plan = match context.state().statement_to_plan(statement).await {
        Ok(plan) => plan,
        Err(e) => return format!("plan: {e}"),
    };
    let batches = match context.execute_logical_plan(plan).await.unwrap().collect().await {
        Ok(batches) => batches,
        Err(e) => return format!("run: {e}"),
    };
    let schema = batches.first().map(RecordBatch::schema).unwrap_or_else(|| Arc::new(Schema::empty()));
    let column = |at: usize| {
        let field = schema.field(at);
        let label = match prepared.labels.get(at) {
            // The engine asks the plan; here the tables of a FROM are called a and b, and have the same columns.
            Some(label) => crate::shown_name(label, |table, _| table != "a"),
            None => sql::display_name(field.name()).to_owned(),
        };
        let values: Vec<String> = batches
            .iter()
            .flat_map(|batch| {
                (0..batch.num_rows()).map(|row| array_value_to_string(batch.column(at), row).unwrap())
            })
            .collect();
        format!("{label} {}: {}", from_field(field), values.join(", "))
    };
    (0..schema.fields().len()).map(column).collect::<Vec<_>>().join(" | ")
}

/// What chdb 26.9 answers.
#[rustfmt::skip]
const CASES: &[(&str, &str)] = &[
    ("SELECT 1 + 2, 7 / 2, 7 % 3, 7 DIV 2", "plus(1, 2) UInt16: 3 | divide(7, 2) Float64: 3.5 | modulo(7, 3) UInt8: 1 | intDiv(7, 2) UInt8: 3"),
    ("SELECT count(), sum(number), avg(number) FROM t", "count() UInt64: 3 | sum(number) UInt64: 3 | avg(number) Float64: 1.0"),
    ("SELECT number = 1, NOT number FROM t ORDER BY number", "equals(number, 1) UInt8: 0, 1, 0 | not(number) UInt8: 1, 0, 0"),
    ("SELECT name, count() AS c FROM t GROUP BY name ORDER BY c DESC, name", "name String: a, b | c UInt64: 2, 1"),
    ("SELECT name, count() FROM t GROUP BY 1 ORDER BY 2 DESC LIMIT 1", "name String: a | count() UInt64: 2"),
    ("SELECT number + 1 AS x, x * 2 FROM t WHERE x > 1 ORDER BY x DESC", "x UInt64: 3, 2 | multiply(x, 2) UInt64: 6, 4"),
    ("SELECT countIf(number > 0), sumIf(number, name = 'a') FROM t", "countIf(greater(number, 0)) UInt64: 2 | sumIf(number, equals(name, 'a')) UInt64: 2"),
    ("SELECT quantile(0.5)(number), uniqExact(name) FROM t", "quantile(0.5)(number) Float64: 1.0 | uniqExact(name) UInt64: 2"),
    ("SELECT number, number FROM t WHERE number = 1", "number UInt64: 1 | number UInt64: 1"),
    ("SELECT *, number FROM t WHERE number = 1", "number UInt64: 1 | name String: b | number UInt64: 1"),
    ("SELECT * EXCEPT (name) FROM t LIMIT 1, 1", "number UInt64: 1"),
    ("WITH 2 AS two SELECT number * two AS d FROM t ORDER BY d", "d UInt64: 0, 2, 4"),
    ("SELECT number FROM t WHERE number IN [1, 2] AND name IN ('a', 'c')", "number UInt64: 2"),
    ("SELECT CAST(number AS String), number::Int8 FROM t WHERE number = 2", "CAST(number, 'String') String: 2 | CAST(number, 'Int8') Int8: 2"),
    ("SELECT if(number = 1, 'one', 'other') AS r FROM t ORDER BY number", "r String: other, one, other"),
    ("SELECT CASE WHEN number = 1 THEN 1 ELSE 300 END AS r FROM t ORDER BY number", "r UInt16: 300, 1, 300"),
    ("SELECT toDate('2020-01-31') + INTERVAL 1 MONTH AS d", "d Date: 2020-02-29"),
    ("SELECT date_add(day, 1, toDate('2020-01-01')) AS d", "d Date: 2020-01-02"),
    ("SELECT [1, 2][1] AS a, (1, 'x').2 AS b", "a UInt8: 1 | b String: x"),
    ("SELECT sum(number) OVER (ORDER BY number) AS s FROM t ORDER BY number", "s UInt64: 0, 1, 3"),
    ("SELECT row_number() OVER (PARTITION BY name ORDER BY number DESC) AS r, number FROM t ORDER BY number", "r UInt64: 2, 1, 1 | number UInt64: 0, 1, 2"),
    ("SELECT name, sum(number) AS s FROM t GROUP BY name HAVING s > 1", "name String: a | s UInt64: 2"),
    ("SELECT DISTINCT name FROM t ORDER BY name", "name String: a, b"),
    ("SELECT * FROM (VALUES (1 + 1, 'a'), (3, 'b')) AS rows", "c1 UInt16: 2, 3 | c2 String: a, b"),
    ("SELECT a FROM (SELECT 1 AS a UNION ALL SELECT 300) ORDER BY a", "a UInt16: 1, 300"),
    ("SELECT a.number, b.number FROM t AS a JOIN t AS b ON a.number = b.number ORDER BY a.number", "number UInt64: 0, 1, 2 | b.number UInt64: 0, 1, 2"),
    ("SELECT number FROM t WHERE number IN (SELECT max(number) FROM t)", "number UInt64: 2"),
    ("SELECT max(number) AS number FROM t WHERE number < 2", "number UInt64: 1"),
    ("SELECT sum(number) FROM t WHERE 0", "sum(number) UInt64: 0"),
    ("SELECT name FROM t GROUP BY name ORDER BY count() DESC", "name String: a, b"),
    ("SELECT number % 2 AS k, count() FROM t GROUP BY k ORDER BY k", "k UInt8: 0, 1 | count() UInt64: 2, 1"),
    ("SELECT toYear(toDate('2020-05-05')) AS y, extract(month FROM toDate('2020-05-05')) AS m", "y UInt16: 2020 | m UInt8: 5"),
    ("SELECT groupArray(number) AS g FROM (SELECT number FROM t ORDER BY number)", "g Array(UInt64): [0, 1, 2]"),
    ("SELECT argMax(name, number), any(name) = 'a' AS x FROM t", "argMax(name, number) String: a | x UInt8: 1"),
    ("SELECT number FROM t ORDER BY name, number DESC", "number UInt64: 2, 0, 1"),
    ("SELECT -number AS n, +number AS p FROM t WHERE number = 1", "n Int64: -1 | p UInt64: 1"),
    ("SELECT number FROM t WHERE number BETWEEN 1 AND 2 AND name LIKE 'a%'", "number UInt64: 2"),
    ("SELECT (number, name) IN ((1, 'b'), (2, 'x')) AS i FROM t ORDER BY number", "i UInt8: 0, 1, 0"),
    ("SELECT count(DISTINCT name), count(DISTINCT name, number) FROM t", "countDistinct(name) UInt64: 2 | countDistinct(name, number) UInt64: 3"),
];

#[tokio::test]
async fn answers_are_clickhouses() {
    let mut wrong = vec![];
    for (text, expected) in CASES {
        let got = answer(text).await;
        if got != *expected {
            wrong.push(format!("{text}\n  expected {expected}\n  got      {got}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
