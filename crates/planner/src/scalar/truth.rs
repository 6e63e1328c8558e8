//! `_isTrue(x)`: a value used as a condition, true when it is not zero; NULL stays NULL.
//!
//! Invariant: vanishes in planning, so that filters stay visible to pruning: a Boolean is itself, a number `x <> 0`.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use functions::FunctionError;
use model::type_arrow::to_data_type;
use model::{ColumnType, ErrorCode};

use super::call_name::call_name;
use aggregates::typing::{argument, external, type_of_field};

/// The name the rewrite gives it.
pub(crate) const TRUTH: &str = "_isTrue";

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Truth {
    signature: Signature,
    aliases: Vec<String>,
}

impl Default for Truth {
    fn default() -> Self {
        let aliases = vec![TRUTH.to_ascii_lowercase()];
        Self { signature: Signature::any(1, Volatility::Immutable), aliases }
    }
}

/// Refuses what cannot be a condition.
pub(crate) fn check(column_type: &ColumnType) -> Result<()> {
    let is_number = column_type.is_number() && !column_type.is_wide_integer();
    if is_number || matches!(column_type.value_type(), ColumnType::Bool | ColumnType::Nothing) {
        return Ok(());
    }
    let message = format!(
        "illegal type {column_type} of a condition: it must be a number of at most 64 bits or a Bool"
    );
    Err(external(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message)))
}

impl ScalarUDFImpl for Truth {
    fn name(&self) -> &str {
        TRUTH
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        call_name(TRUTH, args)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let [field] = args.arg_fields else { return internal_err!("{TRUTH} takes one argument") };
        check(&type_of_field(field))?;
        Ok(Arc::new(Field::new(TRUTH, DataType::Boolean, field.is_nullable())))
    }

    /// Only stored expressions, which no rule sees, come here.
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let ([value], [field]) = (args.args.as_slice(), args.arg_fields.as_slice()) else {
            return internal_err!("{TRUTH} takes one argument");
        };
        let given = argument(value, field)?;
        let to = if given.column_type.is_nullable() { ColumnType::Bool.nullable() } else { ColumnType::Bool };
        let array =
            functions::cast_column(&given.array, &given.column_type, &to, functions::CastMode::Strict);
        let array = array.map_err(external)?;
        debug_assert_eq!(*array.data_type(), to_data_type(&to));
        if !given.is_constant {
            return Ok(ColumnarValue::Array(array));
        }
        Ok(ColumnarValue::Scalar(datafusion::common::ScalarValue::try_from_array(&array, 0)?))
    }
}
