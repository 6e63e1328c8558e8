//! Constants as they stand in the name of a type and in front of an aggregate's arguments.
//!
//! Invariant: what is written here reads back as the same value where a text is cast to its type.

use model::column_type::quoted;
use sqlparser::ast::Expr;

use super::text_of;

/// A constant as it stands in the name of a type.
pub fn constant_text(constant: &Expr) -> String {
    match text_of(constant) {
        Some(text) => quoted(text),
        None => constant.to_string(),
    }
}

/// A list or tuple of constants as it is read as a text.
pub fn literal_list(expr: &Expr) -> Option<String> {
    let (ends, elements) = match expr {
        Expr::Array(array) => (('[', ']'), &array.elem),
        Expr::Tuple(elements) => (('(', ')'), elements),
        _ => return None,
    };
    let element = |expr: &Expr| match expr {
        Expr::Value(_) => Some(constant_text(expr)),
        other => literal_list(other),
    };
    let elements = elements.iter().map(element).collect::<Option<Vec<_>>>()?;
    Some(format!("{}{}{}", ends.0, elements.join(","), ends.1))
}
