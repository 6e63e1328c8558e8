//! Calls of dictGet and its kin, written anew with all that their dictionaries say.
//!
//! `dictGet('d', 'a', k)` becomes `_dict_get('db.d', 'a', k, default)`, of several attributes a tuple of such calls. Invariant: a
//! call that is not understood is an error with ClickHouse's code, never left. Must not know: how a dictionary is read.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use boundary::error::{Error, ErrorKind};
use datafusion::sql::sqlparser::ast::{
    Expr, Function, Query, Value, visit_expressions, visit_expressions_mut,
};
use model::ErrorCode;
use planner::{DICT_GET, DICT_GET_OR_NULL, DICT_HAS, TYPED, asks_dictionary};
use sql::dialect::{call, name_of, number, plain_args, text, text_of};
use sql::statement::dictionary::{Dictionary, DictionaryAttribute};

/// A dictionary under its name in full.
pub struct KnownDictionary {
    pub full_name: String,
    pub dictionary: Dictionary,
}

/// What finds a dictionary by the name that a call gives.
type Find<'a> = &'a dyn Fn(&str) -> Result<KnownDictionary, Error>;

/// The names that calls of a query give, as they are written.
pub(super) fn names_asked(query: &Query) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    // It never breaks off.
    let _ = visit_expressions(query, |expr| {
        if let Expr::Function(function) = expr
            && asks_dictionary(&name_of(function))
            && let Some(name) = plain_args(function).first().and_then(text_of)
        {
            names.insert(name.to_owned());
        }
        ControlFlow::<()>::Continue(())
    });
    names
}

/// The query with calls that say everything.
///
/// # Errors
/// A call names no dictionary, or asks for what it has not.
pub(super) fn with_dictionaries(query: &mut Query, find: Find<'_>) -> Result<(), Error> {
    let replaced = visit_expressions_mut(query, |expr| {
        let Expr::Function(function) = &*expr else { return ControlFlow::Continue(()) };
        let name = name_of(function);
        if !asks_dictionary(&name) {
            return ControlFlow::Continue(());
        }
        match written(&name, function, find) {
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

fn written(name: &str, function: &Function, find: Find<'_>) -> Result<Expr, Error> {
    let args = plain_args(function);
    let is_or_default = name.ends_with("OrDefault");
    let wanted = match name {
        "dictHas" => 2,
        _ if is_or_default => 4,
        _ => 3,
    };
    if args.len() != wanted {
        let message = format!(
            "number of arguments for function {name} doesn't match: passed {}, should be {wanted}",
            args.len()
        );
        return Err(bad(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message));
    }
    let Some(dictionary) = text_of(&args[0]) else {
        let message = format!("illegal type of first argument of function {name}, expected a const string");
        return Err(bad(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message));
    };
    let known = find(dictionary)?;
    if name == "dictHas" {
        return Ok(call(DICT_HAS, vec![text(known.full_name), args[1].clone()]));
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
        let (full_name, attribute) = (text(known.full_name.as_str()), text(attribute.as_str()));
        if name == "dictGetOrNull" {
            types.push((found, found.column_type.clone().nullable()));
            values.push(call(DICT_GET_OR_NULL, vec![full_name, attribute, args[2].clone()]));
            continue;
        }
        let missing = match (is_or_default, is_tuple) {
            (false, _) => default_of(found)?,
            (true, false) => args[3].clone(),
            (true, true) => call("tupleElement", vec![args[3].clone(), number((at + 1).to_string())]),
        };
        let missing = call("_CAST", vec![missing, text(found.column_type.to_string())]);
        types.push((found, found.column_type.clone()));
        values.push(call(DICT_GET, vec![full_name, attribute, args[2].clone(), missing]));
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
