//! Functions of dictionaries: what they are called, and the lookups that they become.
//!
//! A statement's calls are written anew with all that its dictionaries say: the name in full, the attribute, the key, and the
//! value of a key that is not there. When types are given, each becomes a lookup beside a subquery that reads the dictionary into
//! it: once, before the first row asks. Invariant: a key has the dictionary's types, or it is refused; a NULL is no key. Must not
//! know: how a dictionary is read.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, UInt8Array};
use arrow::compute::is_not_null;
use arrow::compute::kernels::zip::zip;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{DFSchema, DataFusionError, Result, ScalarValue, Spans, internal_err};
use datafusion::logical_expr::expr::ScalarFunction as ScalarCall;
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Subquery, Volatility,
};
use functions::FunctionError;
use model::type_arrow::to_field;
use model::{ColumnType, ErrorCode};

use super::call_name::call_name;
use super::lookup::Lookup;
use aggregates::typing::{external, literal_of, scalar_at, type_of};

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
    [(DICT_GET, Ask::Value), (DICT_GET_OR_NULL, Ask::OrNull), (DICT_HAS, Ask::Has)].map(|(name, ask)| {
        let signature = Signature::variadic_any(Volatility::Stable);
        Arc::new(ScalarUDF::from(DictGet { name, ask, dictionaries: Arc::clone(dictionaries), signature }))
    })
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
    signature: Signature,
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
    let Some(function) = call.func.inner().downcast_ref::<DictGet>() else { return Ok(None) };
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
    let (lookup, plan) = function.dictionaries.rows(&asked.name, asked.attribute.as_deref())?;
    let subquery = Subquery { subquery: Arc::new(plan), outer_ref_columns: vec![], spans: Spans::new() };
    let mut args = vec![Expr::ScalarSubquery(subquery), key];
    args.extend(call.args.get(asked.key_at + 1..).unwrap_or_default().iter().cloned());
    let found = FoundIn::new(lookup, function.ask, asked.dictionary.keys.len(), asked.result);
    Ok(Some(Expr::ScalarFunction(ScalarCall { func: Arc::new(ScalarUDF::from(found)), args })))
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

impl PartialEq for DictGet {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.dictionaries, &other.dictionaries)
    }
}

impl Eq for DictGet {}

impl Hash for DictGet {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for DictGet {
    fn name(&self) -> &str {
        self.name
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        call_name(self.name, args)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("the type of {} depends on its dictionary", self.name)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let key_at = if self.ask == Ask::Has { 1 } else { 2 };
        let key = args.arg_fields.get(key_at).map(|field| model::type_arrow::from_field(field));
        let asked = self.asked(args.scalar_arguments, key.as_ref())?;
        Ok(Arc::new(to_field(self.name, &asked.result)))
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        internal_err!("{} was not made a lookup", self.name)
    }
}

/// `_found_in(rows are there, key[, value of no key])`.
#[derive(Debug)]
struct FoundIn {
    lookup: Arc<Lookup>,
    ask: Ask,
    /// How many columns the key has.
    keys: usize,
    result: ColumnType,
    signature: Signature,
}

impl FoundIn {
    fn new(lookup: Arc<Lookup>, ask: Ask, keys: usize, result: ColumnType) -> FoundIn {
        FoundIn { lookup, ask, keys, result, signature: Signature::variadic_any(Volatility::Stable) }
    }

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

impl PartialEq for FoundIn {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.lookup, &other.lookup) && (self.ask, &self.result) == (other.ask, &other.result)
    }
}

impl Eq for FoundIn {}

impl Hash for FoundIn {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (Arc::as_ptr(&self.lookup), self.ask).hash(state);
    }
}

impl ScalarUDFImpl for FoundIn {
    fn name(&self) -> &str {
        match self.ask {
            Ask::Value => "_found_in",
            Ask::OrNull => "_found_in_or_null",
            Ask::Has => "_is_in",
        }
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        call_name(self.name(), args)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("the type of {} depends on its dictionary", self.name())
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs) -> Result<FieldRef> {
        Ok(Arc::new(to_field(self.name(), &self.result)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let mut given = args.args;
        if given.len() < 2 {
            return internal_err!("{} without a key", self.name());
        }
        // The mark that the rows are there.
        given.remove(0);
        let is_constant = given.iter().all(|value| matches!(value, ColumnarValue::Scalar(_)));
        let rows = if is_constant { 1 } else { args.number_rows };
        let given = given.into_iter().map(|value| value.into_array(rows)).collect::<Result<Vec<_>>>()?;
        let (key, missing) = (&given[0], given.get(1));
        let (places, values) = self.lookup.places_of(&self.columns(key)?)?;
        let values: ArrayRef = match self.ask {
            Ask::Has => {
                let found: UInt8Array = places.iter().map(|place| Some(u8::from(place.is_some()))).collect();
                // A NULL is asked about nothing.
                match key.logical_nulls().filter(|_| self.result.is_nullable()) {
                    Some(nulls) => Arc::new(UInt8Array::new(found.values().clone(), Some(nulls))),
                    None => Arc::new(found),
                }
            }
            Ask::OrNull => values,
            Ask::Value => match missing {
                Some(missing) => {
                    let layout = values.data_type();
                    let missing = match missing.data_type() == layout {
                        true => Arc::clone(missing),
                        false => arrow::compute::cast(missing, layout)?,
                    };
                    // The row of a NULL has no value, whatever stands for those of no key.
                    let nulls = key.logical_nulls().filter(|_| self.result.is_nullable() && self.keys == 1);
                    let is_chosen = is_not_null(&places)?;
                    let is_chosen = match nulls {
                        Some(nulls) if key.data_type() == &DataType::UInt64 => {
                            let chosen = is_chosen.values() | &!nulls.inner();
                            arrow::array::BooleanArray::new(chosen, None)
                        }
                        _ => is_chosen,
                    };
                    zip(&is_chosen, &values, &missing)?
                }
                None => return internal_err!("{} without a value of no key", self.name()),
            },
        };
        Ok(match is_constant {
            true => ColumnarValue::Scalar(scalar_at(&values, 0)?),
            false => ColumnarValue::Array(values),
        })
    }
}
