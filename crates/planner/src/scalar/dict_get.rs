//! Functions of dictionaries: what they are called, and the lookups that they become.
//!
//! A statement's calls are written anew with all that its dictionaries say: the name in full, the attribute, the key, and the
//! value of a key that is not there. Invariant: a key has the dictionary's types, or it is refused; a NULL is no key. Must not
//! know: how a dictionary is read.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, UInt8Array, UInt64Array};
use arrow::compute::is_not_null;
use arrow::compute::kernels::zip::zip;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{DFSchema, DataFusionError, Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::ScalarFunction as ScalarCall;
use datafusion::logical_expr::{Expr, LogicalPlan, ReturnFieldArgs, ScalarUDF};
use functions::FunctionError;
use model::type_arrow::to_field;
use model::{ColumnType, ErrorCode};

use super::lookup::Lookup;
use super::over_rows::{AsksRows, AsksTables, Waiting, over_rows, waiting};
use aggregates::typing::{external, literal_of, type_of};

/// `_dict_get('db.d', 'attribute', key, value of no key)`.
pub const DICT_GET: &str = "_dict_get";
/// `_dict_get_or_null('db.d', 'attribute', key)`.
pub const DICT_GET_OR_NULL: &str = "_dict_get_or_null";
/// `_dict_has('db.d', key)`.
pub const DICT_HAS: &str = "_dict_has";

/// A dictionary, as far as it is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AskedDictionary {
    /// Its key is one UInt64, not a tuple.
    pub is_simple: bool,
    pub keys: Vec<ColumnType>,
    pub attributes: Vec<(String, ColumnType)>,
}

/// The dictionaries that a statement asks.
pub trait AskedDictionaries: fmt::Debug + Send + Sync {
    /// What a name in full means.
    ///
    /// # Errors
    /// There is no such dictionary.
    fn dictionary(&self, name: &str) -> Result<AskedDictionary>;

    /// The values of an attribute by keys, or which keys there are; and a plan of one row that is there when these are.
    ///
    /// # Errors
    /// As [`AskedDictionaries::dictionary`].
    fn rows(&self, name: &str, attribute: Option<&str>) -> Result<(Arc<Lookup>, LogicalPlan)>;
}

/// The functions of a query that asks these dictionaries.
pub fn functions_of_dictionaries(dictionaries: &Arc<dyn AskedDictionaries>) -> [Arc<ScalarUDF>; 3] {
    [(DICT_GET, Ask::Value), (DICT_GET_OR_NULL, Ask::OrNull), (DICT_HAS, Ask::Has)]
        .map(|(name, ask)| Waiting::function(DictGet { name, ask, dictionaries: Arc::clone(dictionaries) }))
}

/// What is asked of a key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Ask {
    /// Its value, or another one.
    Value,
    OrNull,
    Has,
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
    attribute: Option<String>,
    /// The place of the key among the arguments.
    key_at: usize,
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
    /// `key`: the type of the key, if it is known.
    fn asked(&self, constants: &[Option<&ScalarValue>], key: Option<&ColumnType>) -> Result<Asked> {
        let name = text(constants.first().copied().flatten())?;
        let dictionary = self.dictionaries.dictionary(&name)?;
        let is_null = dictionary.is_simple && key.is_some_and(|key| key.is_nullable());
        let (attribute, value) = match self.ask {
            Ask::Has => (None, ColumnType::UInt8),
            Ask::Value | Ask::OrNull => {
                let attribute = text(constants.get(1).copied().flatten())?;
                let found = dictionary.attributes.iter().find(|(known, _)| *known == attribute);
                let Some((_, value)) = found else {
                    return Err(error(ErrorCode::BAD_ARGUMENTS, format!("no such attribute '{attribute}'")));
                };
                let value = value.clone();
                (Some(attribute), value)
            }
        };
        let may_be_null = is_null || self.ask == Ask::OrNull;
        let result = match value {
            value if !may_be_null => value,
            value @ ColumnType::Array(_) => {
                let message =
                    format!("nested type {value} of dictionary {name} cannot be inside Nullable type");
                return Err(error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message));
            }
            value => value.nullable(),
        };
        let key_at = usize::from(attribute.is_some()) + 1;
        Ok(Asked { dictionary, name, attribute, key_at, result })
    }
}

/// The call as a lookup, if it is one of [`functions_of_dictionaries`].
pub(crate) fn found_in(call: &ScalarCall, schema: &DFSchema) -> Result<Option<Expr>> {
    let Some(function) = waiting::<DictGet>(call) else { return Ok(None) };
    let constants: Vec<Option<&ScalarValue>> = call.args.iter().map(literal_of).collect();
    let key_at = if function.ask == Ask::Has { 1 } else { 2 };
    let Some(key) = call.args.get(key_at) else {
        return internal_err!("a dictionary is asked without a key");
    };
    let key_type = type_of(key, schema)?;
    let asked = function.asked(&constants, Some(&key_type))?;
    let wanted = key_cast(&asked, &key_type)?;
    let key = match wanted == key_type {
        true => key.clone(),
        false => {
            let text = ScalarValue::Utf8View(Some(wanted.to_string()));
            super::adapter::call("accurateCast", vec![key.clone(), Expr::Literal(text, None)])?
        }
    };
    let rows = function.dictionaries.rows(&asked.name, asked.attribute.as_deref())?;
    let rest = call.args.get(asked.key_at + 1..).unwrap_or_default();
    let given = std::iter::once(key).chain(rest.iter().cloned());
    let found = FoundIn { ask: function.ask, keys: asked.dictionary.keys.len() };
    Ok(Some(over_rows(found, rows, asked.result, given)))
}

/// The type that the key is to have.
fn key_cast(asked: &Asked, found: &ColumnType) -> Result<ColumnType> {
    let keys = &asked.dictionary.keys;
    let tuple = match found {
        ColumnType::Tuple(elements) => Some(elements),
        _ => None,
    };
    if asked.dictionary.is_simple {
        if tuple.is_some() || matches!(found.value_type(), ColumnType::Array(_) | ColumnType::Map(..)) {
            let message =
                format!("illegal type {found} of the key of dictionary {}, which is a UInt64", asked.name);
            return Err(error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message));
        }
        return Ok(if found.is_nullable() { ColumnType::UInt64.nullable() } else { ColumnType::UInt64 });
    }
    match (tuple, keys.as_slice()) {
        (None, [key]) => Ok(key.clone()),
        (Some(elements), keys) if elements.len() == keys.len() => {
            let elements =
                keys.iter().map(|key| model::TupleElement { name: None, column_type: key.clone() });
            Ok(ColumnType::Tuple(elements.collect()))
        }
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

impl AsksTables for DictGet {
    fn name(&self) -> &'static str {
        self.name
    }

    fn tables(&self) -> *const () {
        Arc::as_ptr(&self.dictionaries).cast()
    }

    fn field(&self, args: &ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let key_at = if self.ask == Ask::Has { 1 } else { 2 };
        let key = args.arg_fields.get(key_at).map(|field| model::type_arrow::from_field(field));
        let asked = self.asked(args.scalar_arguments, key.as_ref())?;
        Ok(Arc::new(to_field(self.name, &asked.result)))
    }
}

/// `_found_in(rows are there, key[, value of no key])`.
#[derive(Debug)]
struct FoundIn {
    ask: Ask,
    /// How many columns the key has.
    keys: usize,
}

impl FoundIn {
    /// The columns of the key.
    fn columns(&self, key: &ArrayRef) -> Result<Vec<ArrayRef>> {
        let columns = match key.data_type() {
            DataType::Struct(_) => key.as_struct().columns().to_vec(),
            _ => vec![Arc::clone(key)],
        };
        if columns.len() != self.keys {
            return internal_err!("a key of {} columns, where {} belong", columns.len(), self.keys);
        }
        Ok(columns)
    }
}

impl AsksRows for FoundIn {
    fn name(&self) -> &'static str {
        match self.ask {
            Ask::Value => "_found_in",
            Ask::OrNull => "_found_in_or_null",
            Ask::Has => "_is_in",
        }
    }

    fn values(&self, lookup: &Lookup, given: &[ArrayRef], result: &ColumnType) -> Result<ArrayRef> {
        let (key, missing) = (&given[0], given.get(1));
        let (places, values) = lookup.places_of(&self.columns(key)?)?;
        match self.ask {
            Ask::Has => Ok(is_there(&places, key, result)),
            Ask::OrNull => Ok(values),
            Ask::Value => match missing {
                Some(missing) => or_missing((&places, &values), missing, key, result),
                None => internal_err!("{} without a value of no key", self.name()),
            },
        }
    }
}

/// Whether there is a place; a NULL is asked about nothing.
fn is_there(places: &UInt64Array, key: &ArrayRef, result: &ColumnType) -> ArrayRef {
    let found: UInt8Array = places.iter().map(|place| Some(u8::from(place.is_some()))).collect();
    match key.logical_nulls().filter(|_| result.is_nullable()) {
        Some(nulls) => Arc::new(UInt8Array::new(found.values().clone(), Some(nulls))),
        None => Arc::new(found),
    }
}

/// The values of the rows that have a place, and of others what is given for them.
fn or_missing(
    (places, values): (&UInt64Array, &ArrayRef),
    missing: &ArrayRef,
    key: &ArrayRef,
    result: &ColumnType,
) -> Result<ArrayRef> {
    let layout = values.data_type();
    let missing = match missing.data_type() == layout {
        true => Arc::clone(missing),
        false => arrow::compute::cast(missing, layout)?,
    };
    let is_chosen = is_not_null(places)?;
    // The row of a NULL has no value, whatever stands for those of no key.
    let nulls = key.logical_nulls().filter(|_| result.is_nullable());
    let is_chosen = match nulls {
        Some(nulls) if key.data_type() == &DataType::UInt64 => {
            BooleanArray::new(is_chosen.values() | &!nulls.inner(), None)
        }
        _ => is_chosen,
    };
    Ok(zip(&is_chosen, values, &missing)?)
}
