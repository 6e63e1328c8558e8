//! The SELECTs that read the rows of a dictionary.
//!
//! Invariant: a column of the source has the type that the dictionary says. Must not know: whether its source is there.

use datafusion::sql::sqlparser::ast;
use model::{ColumnType, ErrorCode};
use sql::escape::{always_quote_name, quote_text};
use sql::reader::head::ident;
use sql::statement::dictionary::{Dictionary, DictionaryAttribute, DictionarySource};
use sql::{Result, SqlError, parse_query, printed_query};

/// The column that says of every row that it is there.
const IS_THERE: &str = "_is_there";

/// `system.dictionaries.source`; `database` is the dictionary's.
pub fn shown_source(dictionary: &Dictionary, database: &str) -> String {
    match (&dictionary.source, dictionary.parameter("TABLE")) {
        (DictionarySource::Null, _) => "Null".to_owned(),
        (_, Some(table)) => format!("ClickHouse: {}.{table}", dictionary.parameter("DB").unwrap_or(database)),
        _ => format!("ClickHouse: {}", dictionary.parameter("QUERY").unwrap_or_default()),
    }
}

/// A SELECT of all rows of the source, with keys first, then attributes, and then [`IS_THERE`]; `database` is the
/// dictionary's.
///
/// # Errors
/// The query of its source is none.
pub(super) fn rows_text(dictionary: &Dictionary, database: &str) -> Result<String> {
    let keys = dictionary.keys();
    let typed = |name: &str, column_type: &ColumnType| {
        let (name, text) = (always_quote_name(name), quote_text(&column_type.to_string()));
        format!("_CAST({name}, {text}) AS {name}")
    };
    let columns = keys.iter().map(|(key, column_type)| typed(&key.name, column_type));
    let columns = columns.chain(dictionary.values().map(|value| typed(&value.name, &value.column_type)));
    let columns: Vec<String> = columns.collect();
    let from = source_select(dictionary, database)?;
    Ok(format!("SELECT {}, toUInt8(1) AS {IS_THERE} FROM ({from})", columns.join(", ")))
}

/// A SELECT of its rows, of each key one: what stands where its name does.
///
/// # Errors
/// As [`rows_text`].
pub(super) fn select_text(dictionary: &Dictionary, database: &str) -> Result<String> {
    let rows = rows_text(dictionary, database)?;
    let names = |all: &mut dyn Iterator<Item = &DictionaryAttribute>| -> Vec<String> {
        all.map(|attribute| always_quote_name(&attribute.name)).collect()
    };
    let keys = names(&mut dictionary.keys().into_iter().map(|(key, _)| key)).join(", ");
    let values = names(&mut dictionary.values());
    // In the order in which they were declared.
    let all = names(&mut dictionary.attributes.iter()).join(", ");
    let kind = dictionary.layout.kind;
    if kind.is_direct() {
        return Ok(format!("SELECT {all} FROM ({rows})"));
    }
    if !kind.keeps_last() || values.is_empty() {
        return Ok(format!("SELECT {all} FROM ({rows}) LIMIT 1 BY {keys}"));
    }
    let last = values.iter().enumerate();
    let last: Vec<String> =
        last.map(|(at, name)| format!("tupleElement(_last, {}) AS {name}", at + 1)).collect();
    let tuple = values.join(", ");
    let grouped = format!("SELECT {keys}, anyLast(tuple({tuple})) AS _last FROM ({rows}) GROUP BY {keys}");
    Ok(format!("SELECT {all} FROM (SELECT {keys}, {} FROM ({grouped}))", last.join(", ")))
}

/// What the source is asked for.
fn source_select(dictionary: &Dictionary, database: &str) -> Result<String> {
    let asked = |attribute: &DictionaryAttribute| match &attribute.expression {
        Some(expression) => format!("{expression} AS {}", always_quote_name(&attribute.name)),
        None => always_quote_name(&attribute.name),
    };
    let asked: Vec<String> = dictionary.attributes.iter().map(asked).collect();
    if let Some(query) = dictionary.parameter("QUERY") {
        return of_query(dictionary, query, database);
    }
    let Some(table) = dictionary.parameter("TABLE") else {
        // Of the types, and without rows.
        let empty = |attribute: &DictionaryAttribute| {
            let column_type = quote_text(&attribute.column_type.to_string());
            let name = always_quote_name(&attribute.name);
            format!("defaultValueOfTypeName({column_type}) AS {name}")
        };
        let empty: Vec<String> = dictionary.attributes.iter().map(empty).collect();
        return Ok(format!("SELECT {} WHERE 0", empty.join(", ")));
    };
    let database = dictionary.parameter("DB").filter(|database| !database.is_empty()).unwrap_or(database);
    let from = format!("{}.{}", always_quote_name(database), always_quote_name(table));
    let select = format!("SELECT {} FROM {from}", asked.join(", "));
    Ok(match dictionary.parameter("WHERE") {
        Some(condition) if !condition.is_empty() => format!("{select} WHERE {condition}"),
        _ => select,
    })
}

/// The columns of a query are found by their names; where not all are there, by their places.
fn of_query(dictionary: &Dictionary, query: &str, database: &str) -> Result<String> {
    let database = dictionary.parameter("DB").filter(|database| !database.is_empty()).unwrap_or(database);
    let mut query = sql::qualified(&parse_query(query)?, database);
    let attributes: Vec<String> =
        dictionary.attributes.iter().map(|attribute| always_quote_name(&attribute.name)).collect();
    let by_name =
        |query: &ast::Query| Ok(format!("SELECT {} FROM ({})", attributes.join(", "), printed_query(query)));
    let ast::SetExpr::Select(select) = query.body.as_mut() else { return by_name(&query) };
    let mut found = Vec::with_capacity(select.projection.len());
    for (at, item) in select.projection.iter_mut().enumerate() {
        let name = match item {
            ast::SelectItem::ExprWithAlias { alias, .. } => alias.value.clone(),
            ast::SelectItem::UnnamedExpr(ast::Expr::Identifier(name)) => name.value.clone(),
            ast::SelectItem::UnnamedExpr(expr) => {
                let name = format!("_column{}", at + 1);
                *item = ast::SelectItem::ExprWithAlias { expr: expr.clone(), alias: ident(&name) };
                name
            }
            // They may be any.
            _ => return by_name(&query),
        };
        found.push(name);
    }
    let has = |attribute: &DictionaryAttribute| found.contains(&attribute.name);
    if dictionary.attributes.iter().all(has) {
        return by_name(&query);
    }
    if found.len() != attributes.len() {
        let message = format!(
            "number of columns doesn't match: the query of the source has {}, and the dictionary {}",
            found.len(),
            attributes.len()
        );
        return Err(SqlError::new(ErrorCode::NUMBER_OF_COLUMNS_DOESNT_MATCH, message));
    }
    let places = found.iter().zip(&attributes);
    let places: Vec<String> =
        places.map(|(name, attribute)| format!("{} AS {attribute}", always_quote_name(name))).collect();
    Ok(format!("SELECT {} FROM ({})", places.join(", "), printed_query(&query)))
}
