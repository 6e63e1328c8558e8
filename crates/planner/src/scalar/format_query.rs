//! `formatQuery` and its kin: a query as the printer of `sql` lays it out.
//!
//! Invariant: what `OrNull` cannot read is NULL, nothing else is. Must not know: plans.

use std::sync::LazyLock;

use arrow::array::{Array, ArrayRef, AsArray, StringViewArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use functions::{ArgType, Call, FunctionError, ScalarFunction};
use model::{ColumnType, ErrorCode};
use sql::{Layout, Statement, formatted_query, parse_one};

static FUNCTIONS: LazyLock<Vec<ScalarFunction>> = LazyLock::new(|| {
    let mut all = super::normalized::functions();
    all.extend([
        function("formatQuery", false, false).doc(
            "formatQuery(query)",
            "The query laid out over several lines, as ClickHouse prints it; an error if it cannot be read.",
            "formatQuery('select 1+1')",
        ),
        function("formatQueryOrNull", false, true).doc(
            "formatQueryOrNull(query)",
            "As formatQuery, and NULL if the query cannot be read.",
            "formatQueryOrNull('select (')",
        ),
        function("formatQuerySingleLine", true, false).doc(
            "formatQuerySingleLine(query)",
            "The query on one line, as ClickHouse prints it; an error if it cannot be read.",
            "formatQuerySingleLine('select 1+1')",
        ),
        function("formatQuerySingleLineOrNull", true, true).doc(
            "formatQuerySingleLineOrNull(query)",
            "As formatQuerySingleLine, and NULL if the query cannot be read.",
            "formatQuerySingleLineOrNull('select (')",
        ),
    ]);
    all
});

/// All of them.
pub(crate) fn functions() -> &'static [ScalarFunction] {
    &FUNCTIONS
}

fn function(name: &'static str, on_one_line: bool, or_null: bool) -> ScalarFunction {
    let rule = move |args: &[ArgType]| match args.iter().find(|arg| !arg.column_type.is_string()) {
        Some(other) => Err(FunctionError::illegal_type(&other.column_type, name)),
        None if or_null => Ok(ColumnType::String.nullable()),
        None => Ok(ColumnType::String),
    };
    let layout = Layout { on_one_line, ..Layout::default() };
    ScalarFunction::new(name, 1..=1, rule, move |call| evaluate(call, layout, or_null))
}

fn evaluate(call: &Call<'_>, layout: Layout, or_null: bool) -> Result<ArrayRef, FunctionError> {
    let Some(query) = call.args.first() else {
        return Err(FunctionError::new(ErrorCode::LOGICAL_ERROR, "a call without its argument"));
    };
    let texts = cast(&query.array, &DataType::Utf8View)?;
    let texts = texts.as_string_view();
    let formatted = |row: usize| {
        let row = query.row(row);
        if texts.is_null(row) {
            return Ok(None);
        }
        match formatted(texts.value(row), layout) {
            Err(_) if or_null => Ok(None),
            result => result.map(Some),
        }
    };
    let made = (0..call.rows).map(formatted).collect::<Result<StringViewArray, FunctionError>>()?;
    Ok(std::sync::Arc::new(made))
}

fn formatted(query: &str, layout: Layout) -> Result<String, FunctionError> {
    let parsed = parse_one(query).map_err(|error| FunctionError::new(error.code, error.message))?;
    match &parsed.statement {
        Statement::Query(query) => Ok(parsed.measure.run(|| formatted_query(query, layout))),
        _ => Err(FunctionError::new(ErrorCode::NOT_IMPLEMENTED, "only SELECT can be formatted")),
    }
}
