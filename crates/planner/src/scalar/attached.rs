//! Values whose type is said beside them: `_typed('Enum8(..)', x)`, and `_simple('max', x)`, which is what `maxSimpleState` gives.
//!
//! Invariant: only the type of the field changes, the values are what they were. DataFusion's plan of a scalar subquery forgets what
//! its layout does not tell. Must not know: which functions there are.

use std::collections::HashMap;
use std::sync::Arc;

use aggregates::typing::{literal_of, scalar_at, type_of_field};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use model::ColumnType;
use model::type_arrow::{EXTENSION_METADATA_KEY, EXTENSION_NAME, EXTENSION_NAME_KEY, to_data_type, to_field};

use super::call_name::call_name;

/// The name the rewrite gives to a value that tables combine by a function.
pub const SIMPLE: &str = "_simple";
const TYPED: &str = "_typed";

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Attached {
    name: &'static str,
    signature: Signature,
}

impl Attached {
    fn new(name: &'static str) -> Attached {
        Attached { name, signature: Signature::variadic_any(Volatility::Immutable) }
    }

    pub(crate) fn all() -> [Arc<ScalarUDF>; 2] {
        [SIMPLE, TYPED].map(|name| Arc::new(ScalarUDF::from(Attached::new(name))))
    }
}

/// A value with its type said beside it, where its layout does not tell.
pub(crate) fn with_type(value: Expr, column_type: &ColumnType) -> Expr {
    let bare = Field::new("", to_data_type(column_type), column_type.is_nullable());
    if type_of_field(&bare) == *column_type && !has_array(column_type) {
        return value;
    }
    said(value, column_type)
}

/// A value with its type said beside it.
pub(crate) fn said(value: Expr, column_type: &ColumnType) -> Expr {
    let said = Expr::Literal(ScalarValue::Utf8View(Some(column_type.to_string())), None);
    let func = Arc::new(ScalarUDF::from(Attached::new(TYPED)));
    Expr::ScalarFunction(ScalarFunction { func, args: vec![said, value] })
}

/// The layout of a list names what its elements are, and a value that has gone through a literal no longer does.
fn has_array(column_type: &ColumnType) -> bool {
    match column_type {
        ColumnType::Array(_) | ColumnType::Map(..) => true,
        ColumnType::Tuple(elements) => elements.iter().any(|element| has_array(&element.column_type)),
        _ => false,
    }
}

/// The call without another one of the same around its value.
pub(crate) fn said_once(call: ScalarFunction) -> ScalarFunction {
    if call.func.name() != TYPED {
        return call;
    }
    match call.args.get(1) {
        Some(Expr::ScalarFunction(inner))
            if inner.func.name() == TYPED
                && inner.args.first().and_then(literal_of) == call.args.first().and_then(literal_of) =>
        {
            inner.clone()
        }
        _ => call,
    }
}

impl ScalarUDFImpl for Attached {
    fn name(&self) -> &str {
        self.name
    }

    /// The value's own: a label is that of what was written.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        match args {
            [_, value] if self.name == TYPED => Ok(value.schema_name().to_string()),
            _ => call_name(self.name, args),
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(arg_types.last().cloned().unwrap_or(DataType::Null))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let said = args.scalar_arguments.first().and_then(|name| name.as_ref()?.try_as_str().flatten());
        let (Some(said), [_, value]) = (said, args.arg_fields) else {
            return internal_err!("{} takes a type and a value", self.name);
        };
        if self.name == TYPED {
            return match model::type_name::parse(said) {
                Ok(column_type) => Ok(Arc::new(to_field(self.name, &column_type))),
                Err(error) => internal_err!("{error}"),
            };
        }
        let column_type = type_of_field(value);
        let declared = format!("SimpleAggregateFunction({said}, {column_type})");
        let metadata = HashMap::from([
            (EXTENSION_NAME_KEY.to_owned(), EXTENSION_NAME.to_owned()),
            (EXTENSION_METADATA_KEY.to_owned(), declared),
        ]);
        Ok(Arc::new(to_field(self.name, &column_type).with_metadata(metadata)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let wanted = args.return_field.data_type();
        match args.args.into_iter().nth(1) {
            Some(value) if value.data_type() == *wanted => Ok(value),
            // Members of lists forget their types, too.
            Some(ColumnarValue::Array(array)) => Ok(ColumnarValue::Array(cast(&array, wanted)?)),
            Some(ColumnarValue::Scalar(value)) => {
                let array = cast(&value.to_array()?, wanted)?;
                Ok(ColumnarValue::Scalar(scalar_at(&array, 0)?))
            }
            None => internal_err!("{} takes a type and a value", self.name),
        }
    }
}
