//! Calls of dictGet and its kin, written anew with all that their dictionaries say.
//!
//! `dictGet('d', 'a', k)` becomes `_dict_get('db.d', 'a', k, default)`, of several attributes a tuple of such calls; of a
//! dictionary with ranges a point stands behind the key. Invariant: a
//! call that is not understood is an error with ClickHouse's code, never left. Must not know: how a dictionary is read.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{ControlFlow, RangeInclusive};

use boundary::error::{Error, ErrorKind};
use datafusion::sql::sqlparser::ast::{
    Expr, Function, Query, Value, visit_expressions, visit_expressions_mut,
};
use model::ErrorCode;
use planner::{
    DICT_DESCENDANTS, DICT_GET, DICT_GET_OR_NULL, DICT_HAS, DICT_HIERARCHY, DICT_IS_IN, DICT_KEYS, TYPED,
    asks_dictionary,
};
use sql::dialect::{call, name_of, number, plain_args, text, text_of};
use sql::statement::dictionary::{Dictionary, DictionaryAttribute, LayoutKind};

/// A dictionary under its name in full.
pub struct KnownDictionary {
    pub full_name: String,
    /// That of its database.
    pub database: String,
    pub dictionary: Dictionary,
}

/// What finds a dictionary by the name that a call gives.
type Find<'a> = &'a dyn Fn(&str) -> Result<KnownDictionary, Error>;

/// The names that calls of a query give, as they are written, each with the attributes of whose values keys are asked; `None` is
/// the one that names the key above.
type NamesAsked = BTreeMap<String, BTreeSet<Option<String>>>;

/// What the calls of a query name; `None` if there are none.
pub(super) fn names_asked(query: &Query) -> Option<NamesAsked> {
    let mut names: Option<NamesAsked> = None;
    // It never breaks off.
    let _ = visit_expressions(query, |expr| {
        let Expr::Function(function) = expr else { return ControlFlow::<()>::Continue(()) };
        let function_name = name_of(function);
        if asks_dictionary(&function_name) {
            let names = names.get_or_insert_default();
            let args = plain_args(function);
            if let Some(name) = args.first().and_then(text_of) {
                let attributes = names.entry(name.to_owned()).or_default();
                match function_name.as_str() {
                    "dictGetChildren" | "dictGetDescendants" => {
                        attributes.insert(None);
                    }
                    "dictGetKeys" => {
                        attributes.extend(args.get(1).and_then(text_of).map(|name| Some(name.to_owned())))
                    }
                    _ => {}
                }
            }
        }
        ControlFlow::Continue(())
    });
    names
}

/// The query with calls that say everything; `is_column` is asked about names of which there is no dictionary.
///
/// # Errors
/// A call names no dictionary, or asks for what it has not.
pub(super) fn with_dictionaries(
    query: &mut Query,
    find: Find<'_>,
    is_column: &dyn Fn(&str) -> bool,
) -> Result<(), Error> {
    let replaced = visit_expressions_mut(query, |expr| {
        let Expr::Function(function) = &*expr else { return ControlFlow::Continue(()) };
        let name = name_of(function);
        if !asks_dictionary(&name) {
            return ControlFlow::Continue(());
        }
        match written(&name, function, find, is_column) {
            Ok(written) => {
                *expr = written;
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        }
    });
    match replaced {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

fn bad(code: ErrorCode, message: String) -> Error {
    Error::new(ErrorKind::BadInput, code, message)
}

fn written(
    name: &str,
    function: &Function,
    find: Find<'_>,
    is_column: &dyn Fn(&str) -> bool,
) -> Result<Expr, Error> {
    let args = plain_args(function);
    let Some(dictionary) = args.first().and_then(text_of) else { return Err(no_constant(name, &args)) };
    let known = find(dictionary);
    let known =
        known.map_err(|error| if is_column(dictionary) { no_constant(name, &args) } else { error })?;
    if let Some(asked) = of_hierarchy(name, &args, &known)? {
        return Ok(asked);
    }
    if name == "dictGetKeys" {
        return of_value(&args, &known);
    }
    let is_or_default = name.ends_with("OrDefault");
    // Where the key is, and behind it a point if there are ranges.
    let key_at = if name == "dictHas" { 1 } else { 2 };
    let default_at = key_at + 1 + usize::from(known.dictionary.range.is_some());
    let wanted = default_at + usize::from(is_or_default);
    check_count(name, &args, wanted..=wanted)?;
    let key = &args[key_at..default_at];
    if name == "dictHas" {
        return Ok(asking(DICT_HAS, vec![text(known.full_name)], key));
    }
    let (attributes, is_tuple) = attributes_of(name, &args[1])?;
    let mut values = Vec::with_capacity(attributes.len());
    let mut types = Vec::with_capacity(attributes.len());
    for (at, attribute) in attributes.iter().enumerate() {
        let found = known.dictionary.values().find(|known| known.name == *attribute);
        let Some(found) = found else {
            return Err(bad(ErrorCode::BAD_ARGUMENTS, format!("no such attribute '{attribute}'")));
        };
        check_type(name, found)?;
        let asked = vec![text(known.full_name.as_str()), text(attribute.as_str())];
        if name == "dictGetOrNull" {
            types.push((found, found.column_type.clone().nullable()));
            values.push(asking(DICT_GET_OR_NULL, asked, key));
            continue;
        }
        let missing = match (is_or_default, is_tuple) {
            (false, _) => default_of(found)?,
            (true, false) => args[default_at].clone(),
            (true, true) => {
                call("tupleElement", vec![args[default_at].clone(), number((at + 1).to_string())])
            }
        };
        let missing = call("_CAST", vec![missing, text(found.column_type.to_string())]);
        types.push((found, found.column_type.clone()));
        values.push(asking(DICT_GET, asked, &[key, &[missing]].concat()));
    }
    match (is_tuple, values.pop()) {
        (false, Some(value)) => Ok(value),
        (_, last) => {
            let element = |(attribute, column_type): &(&DictionaryAttribute, model::ColumnType)| {
                format!("{} {column_type}", sql::escape::quote_name(&attribute.name))
            };
            let types: Vec<String> = types.iter().map(element).collect();
            values.extend(last);
            let of = text(format!("Tuple({})", types.join(", ")));
            Ok(call("_CAST", vec![call("tuple", values), of]))
        }
    }
}

fn check_count(name: &str, args: &[Expr], wanted: RangeInclusive<usize>) -> Result<(), Error> {
    if wanted.contains(&args.len()) {
        return Ok(());
    }
    let message = format!(
        "number of arguments for function {name} doesn't match: passed {}, should be {}",
        args.len(),
        wanted.end()
    );
    Err(bad(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message))
}

/// The call of a function that is given names, and then what the query says.
fn asking(function: &str, mut names: Vec<Expr>, rest: &[Expr]) -> Expr {
    names.extend_from_slice(rest);
    call(function, names)
}

/// The name of the dictionary is none before rows are read.
fn no_constant(name: &str, args: &[Expr]) -> Error {
    if args.is_empty() {
        let message = format!("number of arguments for function {name} doesn't match: passed 0");
        return bad(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message);
    }
    // Those that have to know the type of what they give.
    let are_typed = ["dictGet", "dictGetOrDefault", "dictGetOrNull", "dictGetHierarchy"];
    let are_typed =
        are_typed.contains(&name) || ["dictGetChildren", "dictGetDescendants", "dictGetKeys"].contains(&name);
    match are_typed {
        true => {
            let message =
                format!("illegal type of first argument of function {name}, expected a const string");
            bad(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message)
        }
        false => {
            let message = format!("argument at index 0 for function {name} must be constant");
            bad(ErrorCode::ILLEGAL_COLUMN, message)
        }
    }
}

/// A call that asks what is above or below a key, if it is one.
fn of_hierarchy(name: &str, args: &[Expr], known: &KnownDictionary) -> Result<Option<Expr>, Error> {
    match name {
        "dictGetHierarchy" | "dictGetChildren" => check_count(name, args, 2..=2)?,
        "dictIsIn" => check_count(name, args, 3..=3)?,
        "dictGetDescendants" => check_count(name, args, 2..=3)?,
        _ => return Ok(None),
    }
    let full_name = known.full_name.as_str();
    let Some(parent) = known.dictionary.parent() else {
        let message = format!("dictionary {full_name} does not support hierarchy");
        return Err(bad(ErrorCode::UNSUPPORTED_METHOD, message));
    };
    if name != "dictIsIn" && is_null(&args[1]) {
        return Ok(Some(args[1].clone()));
    }
    let full_name = text(full_name);
    if name == "dictGetChildren" || name == "dictGetDescendants" {
        let level = match args.get(2) {
            None if name == "dictGetChildren" => number("1"),
            None => number("0"),
            Some(level) if is_unsigned(level) => level.clone(),
            Some(_) => {
                let message = format!(
                    "illegal type of third argument of function {name}, expected const unsigned integer"
                );
                return Err(bad(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message));
            }
        };
        let level = call("_CAST", vec![level, text("UInt64")]);
        let parent = text(parent.name.as_str());
        return Ok(Some(call(DICT_DESCENDANTS, vec![full_name, parent, args[1].clone(), level])));
    }
    let asks = if name == "dictIsIn" { DICT_IS_IN } else { DICT_HIERARCHY };
    let none = call("_CAST", vec![default_of(parent)?, text(parent.column_type.to_string())]);
    let mut asked = vec![full_name, text(parent.name.as_str())];
    asked.extend_from_slice(&args[1..]);
    Ok(Some(asking(asks, asked, &[none])))
}

/// A call that asks which keys have a value.
fn of_value(args: &[Expr], known: &KnownDictionary) -> Result<Expr, Error> {
    check_count("dictGetKeys", args, 3..=3)?;
    let Some(attribute) = text_of(&args[1]) else {
        let message = "illegal type of second argument of function dictGetKeys, expected a const string";
        return Err(bad(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message.to_owned()));
    };
    if !known.dictionary.values().any(|value| value.name == attribute) {
        let message = format!("dictionary has no attribute '{attribute}'");
        return Err(bad(ErrorCode::ILLEGAL_COLUMN, message));
    }
    let kind = known.dictionary.layout.kind;
    if kind.has_ranges() || kind == LayoutKind::IpTrie {
        let message =
            format!("function dictGetKeys of a dictionary of layout {} is not supported", kind.word());
        return Err(bad(ErrorCode::NOT_IMPLEMENTED, message));
    }
    Ok(call(DICT_KEYS, vec![text(known.full_name.as_str()), args[1].clone(), args[2].clone()]))
}

fn is_unsigned(expr: &Expr) -> bool {
    let Expr::Value(value) = expr else { return false };
    matches!(&value.value, Value::Number(digits, _) if digits.parse::<u64>().is_ok())
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if value.value == Value::Null)
}

/// The attributes that the second argument names, and whether it is a tuple.
fn attributes_of(name: &str, argument: &Expr) -> Result<(Vec<String>, bool), Error> {
    let refused = || {
        let message = format!(
            "illegal type of second argument of function {name}, expected a const string or const tuple of const strings"
        );
        bad(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message)
    };
    if let Some(attribute) = text_of(argument) {
        return Ok((vec![attribute.to_owned()], false));
    }
    let parts = match argument {
        Expr::Tuple(parts) => parts.clone(),
        Expr::Function(function) if name_of(function) == "tuple" => plain_args(function),
        _ => return Err(refused()),
    };
    let texts: Option<Vec<String>> = parts.iter().map(|part| text_of(part).map(str::to_owned)).collect();
    Ok((texts.filter(|texts| !texts.is_empty()).ok_or_else(refused)?, true))
}

/// Of `dictGetUInt8` and its kin the attribute has the type of the name.
fn check_type(name: &str, attribute: &DictionaryAttribute) -> Result<(), Error> {
    let end = name.strip_prefix("dictGet").unwrap_or_default();
    let end = end.strip_suffix("OrDefault").unwrap_or(end);
    let Some((_, expected)) = TYPED.iter().find(|(known, _)| *known == end) else { return Ok(()) };
    let found = &attribute.column_type;
    let is_same = match found {
        model::ColumnType::DateTime { .. } => *expected == "DateTime",
        other => other.to_string() == *expected,
    };
    if is_same {
        return Ok(());
    }
    let message =
        format!("function {name}: dictionary attribute has different type {found}, expected {expected}");
    Err(bad(ErrorCode::TYPE_MISMATCH, message))
}

/// The value of what is not there.
fn default_of(attribute: &DictionaryAttribute) -> Result<Expr, Error> {
    let Some(default) = &attribute.default else {
        let of = text(attribute.column_type.to_string());
        return Ok(call("defaultValueOfTypeName", vec![of]));
    };
    let parsed = sql::parse_expression(default)?;
    // What else there is, signed numbers and arrays, is read as the text of its type.
    let is_plain = matches!(&parsed, Expr::Value(value)
        if matches!(value.value, Value::SingleQuotedString(_) | Value::Number(..) | Value::Null));
    Ok(if is_plain { parsed } else { text(default.as_str()) })
}
