//! The SELECTs that read the rows of a dictionary.
//!
//! Invariant: a column of the source has the type that the dictionary says. Must not know: whether its source is there.

use datafusion::sql::sqlparser::ast;
use model::{ColumnType, ErrorCode, TupleElement};
use sql::escape::{always_quote_name, quote_text};
use sql::reader::head::ident;
use sql::statement::dictionary::{Dictionary, DictionaryAttribute, DictionarySource, LayoutKind};
use sql::{Result, SqlError, parse_query, printed_query};

/// The column that says of every row that it is there.
const IS_THERE: &str = "_is_there";
/// The first address of a network, and how many bits say it.
const NETWORK: &str = "_network";
const BITS: &str = "_bits";

/// `system.dictionaries.source`; `database` is the dictionary's.
pub fn shown_source(dictionary: &Dictionary, database: &str) -> String {
    let parameter = |name: &str| dictionary.parameter(name).unwrap_or_default();
    match (&dictionary.source, dictionary.parameter("TABLE")) {
        (DictionarySource::Null, _) => "Null".to_owned(),
        (DictionarySource::File(_), _) => format!("File: {}, {}", parameter("PATH"), parameter("FORMAT")),
        (DictionarySource::Http(_), _) => parameter("URL").to_owned(),
        (_, Some(table)) => {
            format!("ClickHouse: {}.{table}", dictionary.source_database().unwrap_or(database))
        }
        _ => format!("ClickHouse: {}", parameter("QUERY")),
    }
}

/// A SELECT of what calls ask, with keys first, then attributes, and then [`IS_THERE`]; `database` is the dictionary's. Of
/// ranges the attributes are arrays of tuples `(from, to, value)`, in ascending order.
///
/// # Errors
/// The query of its source is none.
pub(super) fn rows_text(dictionary: &Dictionary, database: &str) -> Result<String> {
    let rows = all_rows(dictionary, database)?;
    let values = dictionary.values().map(|value| (value.name.as_str(), &value.column_type));
    if dictionary.layout.kind == LayoutKind::IpTrie {
        let values: Vec<String> = values.map(|(name, _)| always_quote_name(name)).collect();
        let values = [vec![NETWORK.to_owned(), BITS.to_owned()], values].concat().join(", ");
        return Ok(format!("SELECT {values}, {IS_THERE} FROM ({})", networks(dictionary, &rows)));
    }
    let Some((from, to, of)) = dictionary.range_of() else { return Ok(rows) };
    let (from, to) = (always_quote_name(&from.name), always_quote_name(&to.name));
    let ranges = |(name, column_type): (&str, &ColumnType)| {
        let name = always_quote_name(name);
        let ranges = quote_text(&format!("Array(Tuple({of}, {of}, {column_type}))"));
        let order = "_range -> (tupleElement(_range, 1), tupleElement(_range, 2))";
        format!("_CAST(arraySort({order}, groupArray(tuple({from}, {to}, {name}))), {ranges}) AS {name}")
    };
    let keys: Vec<String> = dictionary.keys().iter().map(|(key, _)| always_quote_name(&key.name)).collect();
    let keys = keys.join(", ");
    let values: Vec<String> =
        values.chain(std::iter::once((IS_THERE, &ColumnType::UInt8))).map(ranges).collect();
    Ok(format!("SELECT {keys}, {} FROM ({rows}) GROUP BY {keys}", values.join(", ")))
}

/// A SELECT of the keys by the values of an attribute. No key has a NULL, or what is equal to nothing.
///
/// # Errors
/// As [`rows_text`].
pub(super) fn keys_text(
    dictionary: &Dictionary,
    attribute: &DictionaryAttribute,
    database: &str,
) -> Result<String> {
    let rows = select_text(dictionary, database)?;
    let of = quote_text(&attribute.column_type.value_type().to_string());
    let attribute = always_quote_name(&attribute.name);
    let keys: Vec<String> = dictionary.keys().iter().map(|(key, _)| always_quote_name(&key.name)).collect();
    let key = match keys.as_slice() {
        [key] => key.clone(),
        keys => format!("tuple({})", keys.join(", ")),
    };
    let types = quote_text(&keys_type(dictionary).to_string());
    let keys = format!("_CAST(arraySort(groupArray({key})), {types}) AS _keys");
    Ok(format!(
        "SELECT _CAST(assumeNotNull({attribute}), {of}) AS _value, {keys} FROM ({rows}) WHERE {attribute} = {attribute} GROUP BY _value"
    ))
}

/// The type of several keys of a dictionary.
pub(super) fn keys_type(dictionary: &Dictionary) -> ColumnType {
    let mut keys: Vec<ColumnType> =
        dictionary.keys().into_iter().map(|(_, column_type)| column_type).collect();
    ColumnType::Array(Box::new(match keys.pop() {
        Some(key) if keys.is_empty() => key,
        last => {
            keys.extend(last);
            let element = |column_type: ColumnType| TupleElement { name: None, column_type };
            ColumnType::Tuple(keys.into_iter().map(element).collect())
        }
    }))
}

/// A SELECT of all rows of the source: keys, bounds of ranges, attributes, and [`IS_THERE`].
fn all_rows(dictionary: &Dictionary, database: &str) -> Result<String> {
    let keys = dictionary.keys();
    let typed = |name: &str, column_type: &ColumnType| {
        let (name, text) = (always_quote_name(name), quote_text(&column_type.to_string()));
        format!("_CAST({name}, {text}) AS {name}")
    };
    let mut columns: Vec<String> =
        keys.iter().map(|(key, column_type)| typed(&key.name, column_type)).collect();
    if let Some((from, to, of)) = dictionary.range_of() {
        let text = quote_text(&of.to_string());
        // A NULL is no bound.
        for (bound, open) in [(from, least_of(&of)), (to, greatest_of(&of))] {
            let name = always_quote_name(&bound.name);
            columns.push(format!("_CAST(ifNull({name}, _CAST({open}, {text})), {text}) AS {name}"));
        }
    }
    columns.extend(dictionary.values().map(|value| typed(&value.name, &value.column_type)));
    let from = source_select(dictionary, database)?;
    Ok(format!("SELECT {}, toUInt8(1) AS {IS_THERE} FROM ({from})", columns.join(", ")))
}

/// The least value of a type that ranges have, as a constant.
fn least_of(column_type: &ColumnType) -> String {
    use ColumnType as T;
    match column_type {
        T::Int8 => i8::MIN.to_string(),
        T::Int16 => i16::MIN.to_string(),
        T::Int32 => i32::MIN.to_string(),
        T::Int64 => i64::MIN.to_string(),
        T::Date32 => "'1900-01-01'".to_owned(),
        _ => "0".to_owned(),
    }
}

/// The greatest value of a type that ranges have, as a constant.
fn greatest_of(column_type: &ColumnType) -> String {
    use ColumnType as T;
    match column_type {
        T::UInt8 => u8::MAX.to_string(),
        T::UInt16 | T::Date => u16::MAX.to_string(),
        T::UInt32 | T::DateTime { .. } => u32::MAX.to_string(),
        T::UInt64 => u64::MAX.to_string(),
        T::Int8 => i8::MAX.to_string(),
        T::Int16 => i16::MAX.to_string(),
        T::Int32 => i32::MAX.to_string(),
        T::Date32 => "'2299-12-31'".to_owned(),
        _ => i64::MAX.to_string(),
    }
}

/// Rows with the networks that their keys stand for, of all of which addresses are IPv6.
fn networks(dictionary: &Dictionary, rows: &str) -> String {
    let key = dictionary.keys().first().map_or_else(String::new, |(key, _)| always_quote_name(&key.name));
    let bits = format!(
        "if(position({key}, '/') > 0, splitByChar('/', {key})[2], if(position({key}, ':') > 0, '128', '32'))"
    );
    let bits = format!("accurateCast(toUInt16({bits}) + if(position({key}, ':') > 0, 0, 96), 'UInt8')");
    let address = format!("toIPv6(splitByChar('/', {key})[1])");
    let split = format!("SELECT *, {address} AS _address, {bits} AS {BITS} FROM ({rows})");
    let too_many = "throwIf(_bits > 128, 'a network has more bits than an address')";
    format!(
        "SELECT *, tupleElement(IPv6CIDRToRange(_address, {BITS}), 1) AS {NETWORK} FROM ({split}) WHERE {too_many} = 0"
    )
}

/// A SELECT of its rows, of each key one: what stands where its name does.
///
/// # Errors
/// As [`rows_text`].
pub(super) fn select_text(dictionary: &Dictionary, database: &str) -> Result<String> {
    let rows = all_rows(dictionary, database)?;
    let names = |all: &mut dyn Iterator<Item = &DictionaryAttribute>| -> Vec<String> {
        all.map(|attribute| always_quote_name(&attribute.name)).collect()
    };
    let keys = names(&mut dictionary.keys().into_iter().map(|(key, _)| key)).join(", ");
    let values = names(&mut dictionary.values());
    // In the order in which they were declared.
    let all = names(&mut dictionary.attributes.iter()).join(", ");
    let kind = dictionary.layout.kind;
    if kind.is_direct() || kind.has_ranges() {
        return Ok(format!("SELECT {all} FROM ({rows})"));
    }
    if kind == LayoutKind::IpTrie {
        let network = format!("concat(toString({NETWORK}), '/', toString({BITS})) AS {keys}");
        let shown = [vec![network], values].concat().join(", ");
        let rows = format!("SELECT * EXCEPT ({keys}) FROM ({})", networks(dictionary, &rows));
        let one = format!("SELECT {shown} FROM ({rows}) LIMIT 1 BY {NETWORK}, {BITS}");
        return Ok(format!("SELECT {all} FROM ({one})"));
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
    let format = dictionary.parameter("FORMAT").unwrap_or_default();
    match (&dictionary.source, dictionary.parameter("PATH"), dictionary.parameter("URL")) {
        (DictionarySource::File(_), Some(path), _) => return Ok(outside(dictionary, "file", path, format)),
        (DictionarySource::Http(_), _, Some(url)) => return Ok(outside(dictionary, "url", url, format)),
        _ => {}
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
    let database = dictionary.source_database().unwrap_or(database);
    let from = format!("{}.{}", always_quote_name(database), always_quote_name(table));
    let select = format!("SELECT {} FROM {from}", asked.join(", "));
    Ok(match dictionary.parameter("WHERE") {
        Some(condition) if !condition.is_empty() => format!("{select} WHERE {condition}"),
        _ => select,
    })
}

/// What a table function reads: keys first, then the bounds of ranges, then attributes.
fn outside(dictionary: &Dictionary, function: &str, place: &str, format: &str) -> String {
    let mut columns: Vec<(&str, ColumnType)> = Vec::with_capacity(dictionary.attributes.len());
    let keys = dictionary.keys();
    columns.extend(keys.iter().map(|(key, column_type)| (key.name.as_str(), column_type.clone())));
    if let Some((from, to, _)) = dictionary.range_of() {
        columns.extend([from, to].map(|bound| (bound.name.as_str(), bound.column_type.clone())));
    }
    columns.extend(dictionary.values().map(|value| (value.name.as_str(), value.column_type.clone())));
    let written =
        |(name, column_type): &(&str, ColumnType)| format!("{} {column_type}", always_quote_name(name));
    let structure: Vec<String> = columns.iter().map(written).collect();
    let arguments = [place, format, &structure.join(", ")].map(quote_text);
    format!("SELECT * FROM {function}({})", arguments.join(", "))
}

/// The columns of a query are found by their names; where not all are there, by their places.
fn of_query(dictionary: &Dictionary, query: &str, database: &str) -> Result<String> {
    let database = dictionary.source_database().unwrap_or(database);
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
