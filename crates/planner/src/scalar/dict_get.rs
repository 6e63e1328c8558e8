//! Functions of dictionaries: what they are called, and the lookups that they become.
//!
//! A statement's calls are written anew with all that its dictionaries say: the name in full, the attribute, the key, and the
//! value of a key that is not there. Invariant: a key has the dictionary's types, or it is refused; a NULL is no key. Must not
//! know: how a dictionary is read.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::FieldRef;
use datafusion::common::{DFSchema, DataFusionError, Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::ScalarFunction as ScalarCall;
use datafusion::logical_expr::{Expr, LogicalPlan, ReturnFieldArgs, ScalarUDF};
use functions::FunctionError;
use model::type_arrow::to_field;
use model::{ColumnType, ErrorCode};

use super::adapter::{CAST, call as call_of};
use super::found_in::{Find, FoundIn, Wanted};
use super::hierarchy::{Above, Below, IsBelow, KeysOf};
use super::lookup::Lookup;
use super::over_rows::{AsksTables, Waiting, over_rows, waiting};
use aggregates::typing::{external, literal_of, type_of};

/// `_dict_get('db.d', 'attribute', key[, point], value of no key)`.
pub const DICT_GET: &str = "_dict_get";
/// `_dict_get_or_null('db.d', 'attribute', key[, point])`.
pub const DICT_GET_OR_NULL: &str = "_dict_get_or_null";
/// `_dict_has('db.d', key[, point])`.
pub const DICT_HAS: &str = "_dict_has";
/// `_dict_hierarchy('db.d', 'attribute', key, no parent)`.
pub const DICT_HIERARCHY: &str = "_dict_hierarchy";
/// `_dict_is_in('db.d', 'attribute', key, key above, no parent)`.
pub const DICT_IS_IN: &str = "_dict_is_in";
/// `_dict_descendants('db.d', 'attribute', key, level)`; of level 0 those of all levels.
pub const DICT_DESCENDANTS: &str = "_dict_descendants";
/// `_dict_keys('db.d', 'attribute', value)`.
pub const DICT_KEYS: &str = "_dict_keys";

/// What the key of a dictionary is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DictionaryKey {
    /// One UInt64.
    Simple,
    /// Values of these types, also one.
    Complex(Vec<ColumnType>),
    /// The networks of addresses.
    Prefix,
}

/// A dictionary, as far as it is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AskedDictionary {
    pub key: DictionaryKey,
    pub attributes: Vec<(String, ColumnType)>,
    /// Its rows have ranges of this type; and whether of several around a point the last is the one.
    pub range: Option<(ColumnType, bool)>,
}

impl AskedDictionary {
    fn attribute(&self, name: &str) -> Result<&ColumnType> {
        match self.attributes.iter().find(|(known, _)| *known == *name) {
            Some((_, column_type)) => Ok(column_type),
            None => Err(error(ErrorCode::BAD_ARGUMENTS, format!("no such attribute '{name}'"))),
        }
    }

    /// The type of several keys.
    fn keys(&self) -> ColumnType {
        ColumnType::Array(Box::new(match &self.key {
            DictionaryKey::Simple => ColumnType::UInt64,
            DictionaryKey::Prefix => ColumnType::String,
            DictionaryKey::Complex(keys) => match keys.as_slice() {
                [key] => key.clone(),
                keys => tuple_of(keys),
            },
        }))
    }
}

fn tuple_of(types: &[ColumnType]) -> ColumnType {
    let element =
        |column_type: &ColumnType| model::TupleElement { name: None, column_type: column_type.clone() };
    ColumnType::Tuple(types.iter().map(element).collect())
}

/// The rows of a dictionary that a call asks for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum DictionaryRows {
    /// The values of an attribute, by keys.
    Attribute(String),
    /// Which keys there are.
    Keys,
    /// The keys by the values of an attribute, those of each value as an array.
    KeysOf(String),
}

/// The dictionaries that a statement asks.
pub trait AskedDictionaries: fmt::Debug + Send + Sync {
    /// What a name in full means.
    ///
    /// # Errors
    /// There is no such dictionary.
    fn dictionary(&self, name: &str) -> Result<AskedDictionary>;

    /// Rows by their keys, and a plan of one row that is there when these are.
    ///
    /// # Errors
    /// As [`AskedDictionaries::dictionary`].
    fn rows(&self, name: &str, wanted: &DictionaryRows) -> Result<(Arc<Lookup>, LogicalPlan)>;
}

/// The functions of a query that asks these dictionaries.
pub fn functions_of_dictionaries(dictionaries: &Arc<dyn AskedDictionaries>) -> [Arc<ScalarUDF>; 7] {
    [
        (DICT_GET, Ask::Of(Wanted::Value)),
        (DICT_GET_OR_NULL, Ask::Of(Wanted::OrNull)),
        (DICT_HAS, Ask::Of(Wanted::Has)),
        (DICT_HIERARCHY, Ask::Above),
        (DICT_IS_IN, Ask::IsBelow),
        (DICT_DESCENDANTS, Ask::Below),
        (DICT_KEYS, Ask::Keys),
    ]
    .map(|(name, ask)| Waiting::function(DictGet { name, ask, dictionaries: Arc::clone(dictionaries) }))
}

/// What is asked of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ask {
    Of(Wanted),
    /// The keys above it.
    Above,
    /// Whether another one is among these.
    IsBelow,
    /// The keys below it.
    Below,
    /// The keys that have a value.
    Keys,
}

impl Ask {
    /// The places of keys among the arguments, or of the value whose keys are asked.
    fn keys(self) -> std::ops::Range<usize> {
        match self {
            Ask::Of(Wanted::Has) => 1..2,
            Ask::Of(_) | Ask::Above | Ask::Below | Ask::Keys => 2..3,
            Ask::IsBelow => 2..4,
        }
    }
}

/// See [`functions_of_dictionaries`].
#[derive(Debug)]
struct DictGet {
    name: &'static str,
    ask: Ask,
    dictionaries: Arc<dyn AskedDictionaries>,
}

/// What a call names, and what it gives.
struct Asked {
    dictionary: AskedDictionary,
    name: String,
    rows: DictionaryRows,
    result: ColumnType,
}

fn error(code: ErrorCode, message: impl Into<String>) -> DataFusionError {
    external(FunctionError::new(code, message.into()))
}

fn text(argument: Option<&ScalarValue>) -> Result<String> {
    match argument.and_then(|value| value.try_as_str().flatten()) {
        Some(text) => Ok(text.to_owned()),
        None => internal_err!("a dictionary without a name"),
    }
}

impl DictGet {
    /// `keys`: the types of the keys.
    fn asked(&self, constants: &[Option<&ScalarValue>], keys: &[ColumnType]) -> Result<Asked> {
        let name = text(constants.first().copied().flatten())?;
        let dictionary = self.dictionaries.dictionary(&name)?;
        let (rows, value) = match self.ask {
            Ask::Of(Wanted::Has) => (DictionaryRows::Keys, ColumnType::UInt8),
            _ => {
                let attribute = text(constants.get(1).copied().flatten())?;
                let value = dictionary.attribute(&attribute)?.clone();
                match self.ask {
                    Ask::Of(_) => (DictionaryRows::Attribute(attribute), value),
                    Ask::Above => (DictionaryRows::Attribute(attribute), dictionary.keys()),
                    Ask::IsBelow => (DictionaryRows::Attribute(attribute), ColumnType::UInt8),
                    Ask::Below | Ask::Keys => (DictionaryRows::KeysOf(attribute), dictionary.keys()),
                }
            }
        };
        let is_null = match (&dictionary.key, self.ask) {
            // A NULL among them is asked about as 0, and no key has a value that is NULL.
            (_, Ask::Above | Ask::Below | Ask::Keys) | (DictionaryKey::Complex(_), _) => false,
            (DictionaryKey::Simple | DictionaryKey::Prefix, _) => keys.iter().any(ColumnType::is_nullable),
        };
        let result = match value {
            value if !is_null && self.ask != Ask::Of(Wanted::OrNull) => value,
            value @ ColumnType::Array(_) => {
                let message =
                    format!("nested type {value} of dictionary {name} cannot be inside Nullable type");
                return Err(error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message));
            }
            value => value.nullable(),
        };
        Ok(Asked { dictionary, name, rows, result })
    }
}

/// The call as a lookup, if it is one of [`functions_of_dictionaries`].
pub(crate) fn found_in(call: &ScalarCall, schema: &DFSchema) -> Result<Option<Expr>> {
    let Some(function) = waiting::<DictGet>(call) else { return Ok(None) };
    let constants: Vec<Option<&ScalarValue>> = call.args.iter().map(literal_of).collect();
    let keys_at = function.ask.keys();
    let Some(keys) = call.args.get(keys_at.clone()) else {
        return internal_err!("a dictionary is asked without a key");
    };
    let types = keys.iter().map(|key| type_of(key, schema)).collect::<Result<Vec<_>>>()?;
    let asked = function.asked(&constants, &types)?;
    let mut given = Vec::with_capacity(call.args.len());
    for (key, found) in keys.iter().zip(&types) {
        given.push(match (&asked.rows, function.ask) {
            (DictionaryRows::KeysOf(attribute), Ask::Keys) => {
                cast("accurateCastOrNull", key.clone(), asked.dictionary.attribute(attribute)?.value_type())?
            }
            _ => as_key(&asked, key, found)?,
        });
    }
    let mut rest = call.args.get(keys_at.end..).unwrap_or_default().iter();
    let (key, is_of_value) = (&asked.dictionary.key, matches!(function.ask, Ask::Of(_)));
    let mut find = match key {
        DictionaryKey::Simple => Find::Key(1),
        DictionaryKey::Complex(keys) => Find::Key(keys.len()),
        DictionaryKey::Prefix => Find::Prefix,
    };
    if let (Some((range, takes_last)), Find::Key(keys), true) = (&asked.dictionary.range, find, is_of_value) {
        let Some(point) = rest.next() else { return internal_err!("ranges are asked without a point") };
        given.push(as_point(&asked.name, point, &type_of(point, schema)?, range)?);
        find = Find::Range { keys, takes_last: *takes_last };
    }
    given.extend(rest.cloned());
    let rows = function.dictionaries.rows(&asked.name, &asked.rows)?;
    Ok(Some(match function.ask {
        Ask::Of(wanted) => over_rows(FoundIn { wanted, find }, rows, asked.result, given),
        Ask::Above => over_rows(Above, rows, asked.result, given),
        Ask::IsBelow => over_rows(IsBelow, rows, asked.result, given),
        Ask::Below => over_rows(Below, rows, asked.result, given),
        Ask::Keys => over_rows(KeysOf, rows, asked.result, given),
    }))
}

fn cast(function: &str, value: Expr, wanted: &ColumnType) -> Result<Expr> {
    let text = ScalarValue::Utf8View(Some(wanted.to_string()));
    call_of(function, vec![value, Expr::Literal(text, None)])
}

/// The key with the dictionary's type.
fn as_key(asked: &Asked, key: &Expr, found: &ColumnType) -> Result<Expr> {
    let wanted = match &asked.dictionary.key {
        DictionaryKey::Simple => simple_key(asked, found)?,
        DictionaryKey::Complex(keys) => complex_key(asked, keys, found)?,
        DictionaryKey::Prefix => return as_address(key.clone(), found),
    };
    if wanted == *found { Ok(key.clone()) } else { cast("accurateCast", key.clone(), &wanted) }
}

fn simple_key(asked: &Asked, found: &ColumnType) -> Result<ColumnType> {
    if matches!(found.value_type(), ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::Tuple(_)) {
        let message =
            format!("illegal type {found} of the key of dictionary {}, which is a UInt64", asked.name);
        return Err(error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message));
    }
    Ok(if found.is_nullable() { ColumnType::UInt64.nullable() } else { ColumnType::UInt64 })
}

fn complex_key(asked: &Asked, keys: &[ColumnType], found: &ColumnType) -> Result<ColumnType> {
    let tuple = match found {
        ColumnType::Tuple(elements) => Some(elements),
        _ => None,
    };
    match (tuple, keys) {
        (None, [key]) => Ok(key.clone()),
        (Some(elements), keys) if elements.len() == keys.len() => Ok(tuple_of(keys)),
        (Some(_), _) => {
            let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
            let message = format!(
                "key lookup structure of dictionary {} does not match, expected ({})",
                asked.name,
                keys.join(", ")
            );
            Err(error(ErrorCode::TYPE_MISMATCH, message))
        }
        (None, _) => {
            let message = format!("the key of dictionary {} must be a tuple, and it is {found}", asked.name);
            Err(error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message))
        }
    }
}

/// An address, which may stand in a tuple alone, as the IPv6 that it is or stands for.
fn as_address(key: Expr, found: &ColumnType) -> Result<Expr> {
    if let ColumnType::Tuple(elements) = found
        && let [element] = elements.as_slice()
    {
        let first = Expr::Literal(ScalarValue::UInt8(Some(1)), None);
        return as_address(call_of("tupleElement", vec![key, first])?, &element.column_type);
    }
    let nullable = |wanted: ColumnType| if found.is_nullable() { wanted.nullable() } else { wanted };
    let wide = nullable(ColumnType::Ipv6);
    match found.value_type() {
        ColumnType::Ipv6 => Ok(key),
        ColumnType::Ipv4 => cast(CAST, key, &wide),
        ColumnType::UInt32 => cast(CAST, cast(CAST, key, &nullable(ColumnType::Ipv4))?, &wide),
        ColumnType::FixedString(16) | ColumnType::Nothing => cast(CAST, key, &wide),
        _ => {
            let message = "key does not match, expected either IPv4 (or UInt32) or IPv6 (or FixedString(16))";
            Err(error(ErrorCode::TYPE_MISMATCH, message))
        }
    }
}

/// The point that is looked for among ranges.
fn as_point(name: &str, point: &Expr, found: &ColumnType, range: &ColumnType) -> Result<Expr> {
    use ColumnType as T;
    let is_number = matches!(
        found,
        T::UInt8 | T::UInt16 | T::UInt32 | T::UInt64 | T::Int8 | T::Int16 | T::Int32 | T::Int64
    );
    let is_number = is_number || matches!(found, T::Float32 | T::Float64 | T::Decimal { .. } | T::Bool);
    let is_moment = matches!(found, T::Date | T::Date32 | T::DateTime { .. } | T::DateTime64 { .. });
    if !is_number && !is_moment {
        let message =
            format!("illegal type {found} of the point that ranges of dictionary {name} are asked for");
        return Err(error(ErrorCode::ILLEGAL_COLUMN, message));
    }
    if found == range { Ok(point.clone()) } else { cast("accurateCast", point.clone(), range) }
}

impl AsksTables for DictGet {
    fn name(&self) -> &'static str {
        self.name
    }

    fn tables(&self) -> *const () {
        Arc::as_ptr(&self.dictionaries).cast()
    }

    fn field(&self, args: &ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let keys = args.arg_fields.get(self.ask.keys()).unwrap_or_default();
        let keys: Vec<ColumnType> = keys.iter().map(|field| model::type_arrow::from_field(field)).collect();
        let asked = self.asked(args.scalar_arguments, &keys)?;
        Ok(Arc::new(to_field(self.name, &asked.result)))
    }
}
