//! `getSetting('name')` becomes the value of the setting, typed as ClickHouse types it.
//!
//! Invariant: it is replaced after the labels of the result are known, so the column keeps the name of the call.

use std::ops::ControlFlow;

use boundary::error::Error;
use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Query, Value, visit_expressions_mut,
};
use sql::{SettingKind, SettingValue, Settings};

/// Puts values where the query asks for settings.
///
/// # Errors
/// UNKNOWN_SETTING.
pub fn with_values(query: &mut Query, settings: &Settings) -> Result<(), Error> {
    let replaced = visit_expressions_mut(query, |expr| match value_of(expr, settings) {
        Ok(None) => ControlFlow::Continue(()),
        Ok(Some(value)) => {
            *expr = value;
            ControlFlow::Continue(())
        }
        Err(error) => ControlFlow::Break(error),
    });
    match replaced {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

fn value_of(expr: &Expr, settings: &Settings) -> Result<Option<Expr>, Error> {
    let Expr::Function(call) = expr else { return Ok(None) };
    let FunctionArguments::List(list) = &call.args else { return Ok(None) };
    let argument = |at: usize| match list.args.get(at) {
        Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))) => Some(argument),
        _ => None,
    };
    let name = match argument(0) {
        Some(Expr::Value(value)) => match &value.value {
            Value::SingleQuotedString(name) => name,
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    let default = match (call.name.to_string().trim_matches(['`', '"']), list.args.len()) {
        ("getSetting", 1) => None,
        ("getSettingOrDefault", 2) => argument(1).cloned(),
        _ => return Ok(None),
    };
    let table = sql::session_settings();
    let def = match (table.get(name), default) {
        (Some(def), _) => def,
        (None, Some(default)) => return Ok(Some(default)),
        (None, None) => table.find(name)?,
    };
    let value = settings.get(name);
    let quoted = sql::escape::quote_text(&value.to_string());
    let typed = format!("_CAST({quoted}, '{}')", type_of(def.kind, &value));
    Ok(Some(sql::parse_expression(&typed)?))
}

/// The type of a value: of numbers the smallest, as of a literal.
fn type_of(kind: SettingKind, value: &SettingValue) -> &'static str {
    match (kind, value) {
        (SettingKind::Bool, _) => "Bool",
        (_, SettingValue::UInt(n)) => match n {
            0..=0xFF => "UInt8",
            0x100..=0xFFFF => "UInt16",
            0x1_0000..=0xFFFF_FFFF => "UInt32",
            _ => "UInt64",
        },
        (_, SettingValue::Int(_)) => "Int64",
        (_, SettingValue::Float(_)) => "Float64",
        (_, SettingValue::Text(_)) => "String",
    }
}
