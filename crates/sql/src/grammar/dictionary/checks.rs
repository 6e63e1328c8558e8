//! What a dictionary that is defined keeps to.
//!
//! Invariant: of a definition that was kept no more is asked than when it was made. Must not know: which tables there are.

use model::{ColumnType, ErrorCode};

use crate::statement::dictionary::{Dictionary, DictionaryAttribute, DictionarySource, LayoutKind};
use lexer::error::{Result, SqlError};

/// The error of a definition that cannot be.
pub(super) fn incorrect(message: impl Into<String>) -> SqlError {
    SqlError::new(ErrorCode::INCORRECT_DICTIONARY_DEFINITION, message)
}

/// Checks what every definition keeps to.
pub(super) fn check(dictionary: &Dictionary) -> Result<()> {
    let attributes = &dictionary.attributes;
    for (at, attribute) in attributes.iter().enumerate() {
        if attributes[..at].iter().any(|other| other.name == attribute.name) {
            return Err(incorrect(format!("attribute {} is given twice", attribute.name)));
        }
        if !is_taken(&attribute.column_type) {
            let message = format!("unknown type {} for dictionary attribute", attribute.column_type);
            return Err(SqlError::new(ErrorCode::UNKNOWN_TYPE, message));
        }
    }
    let unknown =
        dictionary.primary_key.iter().find(|key| !attributes.iter().any(|attribute| attribute.name == **key));
    if let Some(key) = unknown {
        return Err(incorrect(format!("unknown key attribute '{key}'")));
    }
    match dictionary.keys().iter().find(|(_, key)| key.is_nullable()) {
        Some((key, _)) => {
            Err(SqlError::not_implemented(format!("key attribute {} of type Nullable", key.name)))
        }
        None => Ok(()),
    }
}

/// Checks the definition of a new dictionary: ranges, prefixes and hierarchies that could not be asked for are refused.
pub(super) fn check_new(dictionary: &Dictionary) -> Result<()> {
    check_range(dictionary)?;
    let is_text = |key: &ColumnType| *key == ColumnType::String;
    let is_prefix = dictionary.layout.kind == LayoutKind::IpTrie;
    if is_prefix && !matches!(dictionary.keys().as_slice(), [(_, key)] if is_text(key)) {
        return Err(SqlError::bad_arguments("the key of layout 'ip_trie' is one attribute of type String"));
    }
    check_hierarchy(dictionary)?;
    let is_outside = matches!(dictionary.source, DictionarySource::File(_) | DictionarySource::Http(_));
    match dictionary.attributes.iter().find(|attribute| is_outside && attribute.expression.is_some()) {
        Some(attribute) => {
            let word = dictionary.source.word();
            let what = format!("EXPRESSION of attribute {} of SOURCE({word}(..))", attribute.name);
            Err(SqlError::not_implemented(what))
        }
        None => Ok(()),
    }
}

fn check_range(dictionary: &Dictionary) -> Result<()> {
    let kind = dictionary.layout.kind;
    let layout = kind.word().to_lowercase();
    match (&dictionary.range, dictionary.range_of()) {
        (None, _) if kind.has_ranges() => {
            Err(SqlError::bad_arguments(format!("a dictionary of layout '{layout}' requires RANGE")))
        }
        (None, _) => Ok(()),
        (Some(_), _) if !kind.has_ranges() => {
            let message = format!("RANGE belongs to layout 'range_hashed', and this one is '{layout}'");
            Err(SqlError::bad_arguments(message))
        }
        (Some((from, to)), None) => {
            Err(incorrect(format!("RANGE: attribute {from} or {to} is not defined in the dictionary")))
        }
        (Some(_), Some((_, _, column_type))) if !is_of_range(&column_type) => {
            Err(SqlError::bad_arguments(format!("a range of type {column_type} is not supported")))
        }
        (Some(_), Some((from, to, column_type))) if *to.column_type.value_type() != column_type => {
            let message = format!("RANGE: {} and {} have different types", from.name, to.name);
            Err(SqlError::bad_arguments(message))
        }
        (Some(_), Some(_)) => Ok(()),
    }
}

fn check_hierarchy(dictionary: &Dictionary) -> Result<()> {
    let is_wrong = |attribute: &DictionaryAttribute| attribute.is_bidirectional && !attribute.is_hierarchical;
    if dictionary.attributes.iter().any(is_wrong) {
        return Err(SqlError::bad_arguments("BIDIRECTIONAL can only be applied to hierarchical attributes"));
    }
    let parents = dictionary.attributes.iter().filter(|attribute| attribute.is_hierarchical);
    match parents.collect::<Vec<_>>().as_slice() {
        [] => Ok(()),
        [_] if !dictionary.is_simple() => {
            Err(SqlError::bad_arguments("a dictionary with complex key does not support hierarchy"))
        }
        [parent] if *parent.column_type.value_type() == ColumnType::UInt64 => Ok(()),
        [parent] => {
            let message = format!(
                "a hierarchical attribute of a dictionary with simple key must be UInt64, and {} is {}",
                parent.name, parent.column_type
            );
            Err(SqlError::new(ErrorCode::TYPE_MISMATCH, message))
        }
        _ => Err(SqlError::bad_arguments("only one hierarchical attribute is supported")),
    }
}

fn is_of_range(column_type: &ColumnType) -> bool {
    use ColumnType as T;
    matches!(
        column_type,
        T::UInt8 | T::UInt16 | T::UInt32 | T::UInt64 | T::Int8 | T::Int16 | T::Int32 | T::Int64
    ) || matches!(column_type, T::Date | T::Date32 | T::DateTime { .. })
}

fn is_taken(column_type: &ColumnType) -> bool {
    use ColumnType::{
        AggregateFunction, Array, Enum8, Enum16, FixedString, LowCardinality, Map, Nothing, Nullable, Tuple,
    };
    match column_type {
        Array(inner) | Nullable(inner) => is_taken(inner),
        Enum8(_) | Enum16(_) | FixedString(_) | LowCardinality(_) | Map(..) | Tuple(_)
        | AggregateFunction(_) => false,
        Nothing => false,
        _ => true,
    }
}
