//! Indexes that ClickHouse refuses: arguments their type does not take, columns they are not made for; projections whose keys
//! repeat.
//!
//! Must not know: who reads an index.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, GroupByExpr, SetExpr, visit_expressions};
use model::{ColumnType, ErrorCode, TableDef};

use sql::definition::kept;
use sql::lexer::error::{Result, SqlError};
use sql::statement::{IndexClause, ProjectionClause};

/// Calls whose value is another one the next time.
const CHANGING: &[&str] = &[
    "now",
    "now64",
    "today",
    "yesterday",
    "rand",
    "rand32",
    "rand64",
    "randConstant",
    "generateUUIDv4",
    "generateUUIDv7",
    "dateTimeToUUIDv7",
    "rowNumberInAllBlocks",
    "rowNumberInBlock",
];

/// `before`: the definition whose indexes are not looked at again.
pub(super) fn check(before: Option<&TableDef>, def: &TableDef) -> Result<()> {
    let is_old = |index: &IndexClause| {
        before.is_some_and(|before| kept::indexes(before).any(|old| old.name == index.name))
    };
    kept::indexes(def).filter(|index| !is_old(index)).try_for_each(|index| check_index(def, &index))?;
    let is_old = |projection: &ProjectionClause| {
        before.is_some_and(|before| kept::projections(before).any(|old| old.name == projection.name))
    };
    kept::projections(def)
        .filter(|projection| !is_old(projection))
        .try_for_each(|projection| check_projection(def, &projection))
}

/// What a projection groups by is its primary key.
fn check_projection(def: &TableDef, projection: &ProjectionClause) -> Result<()> {
    let Ok(query) = sql::parse_query(&projection.query) else { return Ok(()) };
    let SetExpr::Select(select) = query.body.as_ref() else { return Ok(()) };
    let GroupByExpr::Expressions(keys, _) = &select.group_by else { return Ok(()) };
    if repeats(keys) && !may_be_suspicious(def) {
        let message = format!("projection {}: a key is given twice", projection.name);
        return Err(SqlError::bad_arguments(message).with_hint("allow_suspicious_indices lets it be"));
    }
    Ok(())
}

fn repeats(keys: &[Expr]) -> bool {
    keys.iter().enumerate().any(|(at, key)| keys[..at].contains(key))
}

fn may_be_suspicious(def: &TableDef) -> bool {
    let given = def.settings.get("allow_suspicious_indices");
    given.is_some_and(|value| matches!(value.as_ref(), "1" | "true"))
}

fn check_index(def: &TableDef, index: &IndexClause) -> Result<()> {
    let refused = |code, message: &str| Err(SqlError::new(code, format!("index {}: {message}", index.name)));
    if index.granularity == 0 {
        return refused(ErrorCode::BAD_ARGUMENTS, "GRANULARITY is a positive number");
    }
    if let Some(name) = changing_call(&index.expression) {
        return refused(ErrorCode::BAD_ARGUMENTS, &format!("{name} is another value the next time"));
    }
    if matches!(index.expression, Expr::Subquery(_)) {
        return refused(ErrorCode::BAD_ARGUMENTS, "a key is no subquery");
    }
    if let Expr::Tuple(parts) = &index.expression
        && repeats(parts)
        && !may_be_suspicious(def)
    {
        return refused(
            ErrorCode::BAD_ARGUMENTS,
            "an expression is given twice; allow_suspicious_indices lets it be",
        );
    }
    let (name, arguments) = parts_of(&index.index_type);
    let column = named_column(def, &index.expression);
    match name.to_ascii_lowercase().as_str() {
        "bloom_filter" => check_bloom_filter(index, &arguments, column),
        "set" if arguments.len() != 1 || arguments[0].parse::<u64>().is_err() => {
            refused(ErrorCode::INCORRECT_QUERY, "set takes one number, how many values it may have")
        }
        "ngrambf_v1" => check_words(index, &arguments, 4, column),
        "tokenbf_v1" => check_words(index, &arguments, 3, column),
        "text" if !arguments.iter().any(|argument| argument.starts_with("tokenizer")) => {
            refused(ErrorCode::BAD_ARGUMENTS, "text needs the argument tokenizer")
        }
        "text" if column.is_some_and(|column| !is_text(column)) => {
            refused(ErrorCode::BAD_ARGUMENTS, "text is for columns of texts")
        }
        "hypothesis" => refused(ErrorCode::ILLEGAL_INDEX, "the type hypothesis is no longer supported"),
        _ => Ok(()),
    }
}

fn check_bloom_filter(index: &IndexClause, arguments: &[&str], column: Option<&ColumnType>) -> Result<()> {
    let refused = |code, message: &str| Err(SqlError::new(code, format!("index {}: {message}", index.name)));
    if arguments.len() > 1 {
        return refused(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, "bloom_filter takes one argument");
    }
    let is_share = |text: &&str| text.parse::<f64>().is_ok_and(|share| 0.0 < share && share < 1.0);
    if !arguments.iter().all(is_share) {
        return refused(ErrorCode::BAD_ARGUMENTS, "the share of false positives is between 0 and 1");
    }
    let Some(column) = column else { return Ok(()) };
    let value = match column {
        ColumnType::Array(inner) if matches!(inner.value_type(), ColumnType::Array(_)) => {
            return refused(ErrorCode::BAD_ARGUMENTS, "bloom_filter is not for arrays of arrays");
        }
        ColumnType::Array(inner) => inner.value_type(),
        other => other.value_type(),
    };
    match value {
        ColumnType::Map(..)
        | ColumnType::Tuple(_)
        | ColumnType::Decimal { .. }
        | ColumnType::AggregateFunction(_) => {
            refused(ErrorCode::ILLEGAL_COLUMN, &format!("bloom_filter is not for type {column}"))
        }
        _ => Ok(()),
    }
}

/// Filters of words: the first argument of four is the length of a word, then come bytes, hash functions and a seed.
fn check_words(
    index: &IndexClause,
    arguments: &[&str],
    count: usize,
    column: Option<&ColumnType>,
) -> Result<()> {
    let refused = |message: &str| {
        Err(SqlError::bad_arguments(format!("index {}: {} {message}", index.name, index.index_type)))
    };
    let numbers: Vec<u64> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    if arguments.len() != count || numbers.len() != count {
        return refused(&format!("takes {count} numbers"));
    }
    if numbers[..count - 1].contains(&0) {
        return refused("takes no 0 but as the seed");
    }
    match column {
        Some(column) if !is_text(column) => refused(&format!("is not for type {column}")),
        _ => Ok(()),
    }
}

/// Texts, and arrays of them; none of them Nullable.
fn is_text(column: &ColumnType) -> bool {
    match column {
        ColumnType::String | ColumnType::FixedString(_) => true,
        ColumnType::Array(inner) | ColumnType::LowCardinality(inner) => is_text(inner),
        _ => false,
    }
}

/// The type of the column, of an expression that is one.
fn named_column<'a>(def: &'a TableDef, expression: &Expr) -> Option<&'a ColumnType> {
    let Expr::Identifier(name) = expression else { return None };
    def.columns.iter().find(|column| *column.name == *name.value).map(|column| &column.column_type)
}

/// A type's name and what stands in its parentheses.
fn parts_of(index_type: &str) -> (&str, Vec<&str>) {
    let (name, rest) = index_type.split_at(index_type.find('(').unwrap_or(index_type.len()));
    let inner = rest.trim().trim_start_matches('(').trim_end_matches(')').trim();
    let arguments = if inner.is_empty() { vec![] } else { inner.split(',').map(str::trim).collect() };
    (name.trim(), arguments)
}

fn changing_call(expression: &Expr) -> Option<String> {
    let found = visit_expressions(expression, |inner| match inner {
        Expr::Function(call) => {
            let name = call.name.to_string();
            match CHANGING.iter().any(|changing| changing.eq_ignore_ascii_case(&name)) {
                true => ControlFlow::Break(name),
                false => ControlFlow::Continue(()),
            }
        }
        _ => ControlFlow::Continue(()),
    });
    match found {
        ControlFlow::Break(name) => Some(name),
        ControlFlow::Continue(()) => None,
    }
}
