//! Statements through a real session, against what ClickHouse answers.

mod cases;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringViewArray};
use arrow::compute::concat_batches;
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::{DFSchema, DataFusionError};
use datafusion::datasource::MemTable;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::collect;
use datafusion::prelude::{SessionConfig, SessionContext};
use functions::{CastMode, FunctionError, SessionValues, cast_column};
use model::ColumnType;
use model::type_arrow::{from_field, to_field};
use model::type_name::parse;

use super::configure;
use crate::session::with_session_values;

/// Name, type and the values of three rows.
const COLUMNS: &[(&str, &str, [&str; 3])] = &[
    ("u8", "UInt8", ["1", "2", "255"]),
    ("u16", "UInt16", ["1", "2", "65535"]),
    ("u32", "UInt32", ["1", "2", "4294967295"]),
    ("u64", "UInt64", ["1", "2", "18446744073709551615"]),
    ("i8", "Int8", ["1", "-2", "127"]),
    ("i16", "Int16", ["1", "-2", "32767"]),
    ("i32", "Int32", ["1", "-2", "2147483647"]),
    ("i64", "Int64", ["1", "-2", "9223372036854775807"]),
    ("f32", "Float32", ["0.5", "-2", "0.1"]),
    ("f64", "Float64", ["0.5", "-2", "0.1"]),
    ("b", "Bool", ["true", "false", "true"]),
    ("s", "String", ["abc", "b", "1"]),
    ("fs", "FixedString(4)", ["abcd", "b", "zz"]),
    ("dec", "Decimal(10, 2)", ["1.10", "-2.50", "99.99"]),
    ("d", "Date", ["2020-01-01", "2021-06-15", "1970-01-02"]),
    ("d32", "Date32", ["2020-01-01", "1930-06-15", "2100-12-31"]),
    ("dt", "DateTime('UTC')", ["2020-01-01 00:00:00", "2021-06-15 12:30:45", "1970-01-02 03:04:05"]),
    ("dt0", "DateTime", ["2020-01-01 00:00:00", "2021-06-15 12:30:45", "1970-01-02 03:04:05"]),
    (
        "dt64",
        "DateTime64(3, 'UTC')",
        ["2020-01-01 00:00:00.000", "2021-06-15 12:30:45.678", "1970-01-02 03:04:05.001"],
    ),
    (
        "id",
        "UUID",
        [
            "00000000-0000-0000-0000-000000000001",
            "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
            "00000000-0000-0000-0000-000000000002",
        ],
    ),
    ("e", "Enum8('red' = 1, 'green' = 2, 'blue' = 3)", ["red", "green", "blue"]),
    ("ni", "Nullable(Int32)", ["7", "NULL", "-1"]),
    ("ns", "Nullable(String)", ["x", "NULL", "y"]),
    ("lc", "LowCardinality(String)", ["p", "q", "p"]),
    ("arr", "Array(UInt8)", ["[1,2]", "[]", "[3]"]),
    ("tup", "Tuple(a UInt8, b String)", ["(1,'x')", "(2,'y')", "(3,'z')"]),
];

fn column(type_name: &str, values: [&str; 3]) -> (ColumnType, ArrayRef) {
    let column_type = parse(type_name).unwrap();
    let text: StringViewArray = values.iter().map(|value| (*value != "NULL").then_some(*value)).collect();
    let from = ColumnType::String.nullable();
    let array: ArrayRef = Arc::new(text);
    let array = cast_column(&array, &from, &column_type, CastMode::Insert)
        .or_else(|_| cast_column(&array, &ColumnType::String, &column_type, CastMode::Strict))
        .unwrap();
    (column_type, array)
}

fn rows() -> RecordBatch {
    let mut fields = Vec::new();
    let mut arrays = Vec::new();
    for (name, type_name, values) in COLUMNS {
        let (column_type, array) = column(type_name, *values);
        fields.push(to_field(name, &column_type));
        arrays.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
}

fn table(schema: SchemaRef, batches: Vec<RecordBatch>) -> Arc<MemTable> {
    // Two partitions: aggregates merge their states.
    let partitions = batches.into_iter().map(|batch| vec![batch]).chain([vec![]]).collect();
    Arc::new(MemTable::try_new(schema, partitions).unwrap())
}

fn session() -> SessionState {
    let mut config = SessionConfig::new().with_target_partitions(2).with_information_schema(false);
    let options = config.options_mut();
    options.sql_parser.enable_ident_normalization = false;
    let config = with_session_values(config, SessionValues::default());
    let base = configure(SessionStateBuilder::new()).build();
    // As the engine does for every statement.
    let state = SessionStateBuilder::new_from_existing(base).with_config(config).build();
    let context = SessionContext::new_with_state(state);
    let rows = rows();
    let schema = rows.schema();
    let halves = vec![rows.slice(0, 2), rows.slice(2, 1)];
    context.register_table("t", table(Arc::clone(&schema), halves)).unwrap();
    context.register_table("none", table(schema, vec![])).unwrap();
    context.state()
}

async fn planned(state: &SessionState, sql: &str) -> Result<LogicalPlan, DataFusionError> {
    let statement = state.sql_to_statement(sql, &datafusion::common::config::Dialect::Generic)?;
    state.statement_to_plan(statement).await
}

async fn answer(state: &SessionState, sql: &str) -> Result<RecordBatch, DataFusionError> {
    let plan = planned(state, sql).await?;
    let physical = state.create_physical_plan(&plan).await?;
    let schema = physical.schema();
    let batches = collect(physical, state.task_ctx()).await?;
    for batch in &batches {
        assert_eq!(batch.schema().fields(), schema.fields(), "{sql}");
    }
    Ok(concat_batches(&schema, &batches)?)
}

/// `UInt8: 1, 2 | String: a, b`: type and values of each column.
fn shown(batch: &RecordBatch) -> String {
    let one = |(field, array): (&Arc<arrow::datatypes::Field>, &ArrayRef)| {
        let column_type = from_field(field);
        let to = ColumnType::String.nullable();
        let text = cast_column(array, &column_type, &to, CastMode::Strict).unwrap();
        let text = text.as_string_view();
        let value = |row: usize| if text.is_null(row) { "NULL" } else { text.value(row) };
        let values: Vec<&str> = (0..text.len()).map(value).collect();
        let column_type = match column_type {
            ColumnType::Nothing => "Nullable(Nothing)".to_owned(),
            other => other.to_string(),
        };
        if values.is_empty() {
            format!("{column_type}:")
        } else {
            format!("{column_type}: {}", values.join(", "))
        }
    };
    let columns: Vec<String> = batch.schema().fields().iter().zip(batch.columns()).map(one).collect();
    columns.join(" | ")
}

fn code(error: &DataFusionError) -> String {
    let mut current: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(link) = current {
        if let Some(function) = link.downcast_ref::<FunctionError>() {
            return format!("error {}", function.code);
        }
        current = link.source();
    }
    format!("error without a code: {error}")
}

async fn run(state: &SessionState, sql: &str) -> String {
    match answer(state, sql).await {
        Ok(batch) => shown(&batch),
        Err(error) => code(&error),
    }
}

#[tokio::test]
async fn statements_answer_as_clickhouse_does() {
    let state = session();
    let mut wrong = Vec::new();
    for (sql, expected) in cases::CASES {
        let got = run(&state, sql).await;
        if got != *expected {
            wrong.push(format!("{sql}\n  expected {expected}\n  got      {got}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases::CASES.len(), wrong.join("\n"));
}

/// The optimized plan, one line a node.
async fn optimized(sql: &str) -> String {
    let state = session();
    let plan = planned(&state, sql).await.unwrap();
    state.optimize(&plan).unwrap().display_indent().to_string()
}

#[tokio::test]
async fn literals_move_to_the_type_of_the_column_which_stays_bare() {
    for (predicate, expected) in [
        ("d = '2020-01-01'", "t.d = Date32(\"2020-01-01\")"),
        ("e = 'red'", "t.e = Int8(1)"),
        ("dt >= '2020-01-01 00:00:00'", "t.dt >= TimestampSecond(1577836800, Some(\"UTC\"))"),
        ("dt0 >= '2020-01-01 00:00:00'", "t.dt0 >= TimestampSecond(1577836800, None)"),
        ("u64 > 5", "t.u64 > UInt64(5)"),
        ("i8 < -3", "t.i8 < Int8(-3)"),
        ("dec > 1", "t.dec > Decimal128(1.00,10,2)"),
        ("b = 1", "t.b"),
        ("s = 'a'", "t.s = Utf8View(\"a\")"),
    ] {
        let plan = optimized(&format!("SELECT u8 FROM t WHERE {predicate}")).await;
        assert!(plan.contains(expected), "{predicate}: {plan}");
        assert!(!plan.contains("CAST") && !plan.contains("metadata"), "{predicate}: {plan}");
    }
}

#[tokio::test]
async fn a_monotonic_function_becomes_a_range_of_its_column() {
    for (predicate, expected) in [
        ("toDate(dt) = '2020-01-01'", "t.dt >= TimestampSecond(1577836800, Some(\"UTC\"))"),
        ("toYear(d) = 2020", "t.d < Date32(\"2021-01-01\")"),
        ("toYYYYMM(d) >= 202006", "t.d >= Date32(\"2020-06-01\")"),
        ("toStartOfMonth(d) = '2020-06-01'", "t.d < Date32(\"2020-07-01\")"),
        ("toStartOfHour(dt) > '2020-06-01 00:00:00'", "t.dt >= TimestampSecond(1590973200, Some(\"UTC\"))"),
    ] {
        let plan = optimized(&format!("SELECT u8 FROM t WHERE {predicate}")).await;
        assert!(plan.contains(expected), "{predicate}: {plan}");
    }
}

#[tokio::test]
async fn literals_of_a_type_are_dictionaries() {
    let state = session();
    let sql = "SELECT {'Int8': '-5'} AS a, {'UInt64': '7'} AS b, {'UInt8': '1'} + {'UInt8': '1'} AS c";
    assert_eq!(run(&state, sql).await, "Int8: -5 | UInt64: 7 | UInt16: 2");
}

#[test]
fn stored_expressions_are_typed_without_an_analyzer() {
    let state = session();
    let schema = DFSchema::try_from(rows().schema().as_ref().clone()).unwrap();
    for (sql, expected) in [
        ("dt0 > '2020-01-01 00:00:00'", "UInt8: 0, 1, 0"),
        ("e IN ('red', 'blue')", "UInt8: 1, 0, 1"),
        ("CASE WHEN u8 > 1 THEN u8 ELSE u16 END", "UInt16: 1, 2, 255"),
        ("toYYYYMM(d)", "UInt32: 202001, 202106, 197001"),
    ] {
        let expr = state.create_logical_expr(sql, &schema).unwrap();
        let expr = crate::analyzer::rules::typed_expression(expr, &schema, state.config_options()).unwrap();
        let physical = state.create_physical_expr(expr, &schema).unwrap();
        let field = physical.return_field(schema.as_arrow()).unwrap();
        let array = physical.evaluate(&rows()).unwrap().into_array(3).unwrap();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array]).unwrap();
        assert_eq!(shown(&batch), expected, "{sql}");
    }
}

#[tokio::test]
async fn joins_compare_bare_columns() {
    let plan = optimized("SELECT l.u8 FROM t AS l JOIN t AS r ON l.d = r.d32 AND l.s = r.lc").await;
    assert!(plan.contains("Inner Join: l.d = r.d32, l.s = r.lc"), "{plan}");
}

#[test]
fn every_name_is_registered_once_and_documented() {
    let state = session();
    let mut seen = std::collections::HashMap::new();
    for udf in crate::scalar::adapter::all() {
        for name in std::iter::once(udf.name()).chain(udf.aliases().iter().map(String::as_str)) {
            assert_eq!(seen.insert(name.to_owned(), udf.name().to_owned()), None, "{name}");
        }
    }
    let mut seen = std::collections::HashMap::new();
    for udaf in aggregates::all() {
        for name in std::iter::once(udaf.name()).chain(udaf.aliases().iter().map(String::as_str)) {
            assert_eq!(seen.insert(name.to_owned(), udaf.name().to_owned()), None, "{name}");
        }
    }
    let documented = crate::lookup::documentation::documented_functions();
    assert!(documented.is_sorted_by(|a, b| a.name <= b.name));
    for function in &documented {
        let known = state.scalar_functions().contains_key(&function.name)
            || state.aggregate_functions().contains_key(&function.name)
            || functions::lambda_function(&function.name).is_some_and(|form| {
                state.higher_order_functions().contains_key(&crate::scalar::lambda::planned_name(form, false))
            });
        assert!(known, "{}", function.name);
    }
    assert!(documented.iter().filter(|f| f.is_aggregate).all(|f| !f.description.is_empty()));
}

#[tokio::test]
async fn sums_of_one_column_and_constants_need_one_sum_and_one_count() {
    for (sums, expected) in [
        (
            "sum(u16 + 1), sum(u16 + 2), sum(7 + u16), sum(u16 - 3), sum(u16)",
            "sum(CAST(t.u16 AS UInt64)), count(t.u16)",
        ),
        (
            "sum(ni + 1), sum(ni + 2), sum(u8 + 1)",
            "sum(CAST(t.ni AS Int64)), count(t.ni), sum(CAST(plus(t.u8, UInt8(1)) AS UInt64)) AS sum(plus(t.u8,Int64(1)))",
        ),
        (
            "sum(f64 + 1), sum(f64 + 2)",
            "sum(plus(t.f64, UInt8(1))) AS sum(plus(t.f64,Int64(1))), sum(plus(t.f64, UInt8(2))) AS sum(plus(t.f64,Int64(2)))",
        ),
        (
            "sum(DISTINCT i32 + 2), sum(i32 + 3), max(u8)",
            "sum(DISTINCT plus(t.i32, UInt8(2))) AS sum(DISTINCT plus(t.i32,Int64(2))), sum(plus(t.i32, UInt8(3))) AS sum(plus(t.i32,Int64(3))), max(t.u8)",
        ),
    ] {
        let plan = optimized(&format!("SELECT {sums} FROM t")).await;
        let aggregates = plan.lines().find_map(|line| line.split_once("aggr=[[")).unwrap().1;
        assert_eq!(aggregates.trim_end_matches("]]"), expected, "{sums}: {plan}");
    }
}
