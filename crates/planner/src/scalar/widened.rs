//! `_widened(x)`: x in the widest type of its kind, for the first round of a recursion.
//!
//! Invariant: whole numbers and floats get 64 bits, everything else stays what it is.

use std::sync::Arc;

use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use model::ColumnType;
use model::type_arrow::{to_data_type, to_field};

use super::call_name::call_name;
use aggregates::typing::type_of_field;

/// The name the rewrite gives it.
pub const WIDENED: &str = "_widened";

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Widened {
    signature: Signature,
}

impl Default for Widened {
    fn default() -> Self {
        Self { signature: Signature::variadic_any(Volatility::Immutable) }
    }
}

fn widest(column_type: ColumnType) -> ColumnType {
    use ColumnType::{Float32, Float64, Int8, Int16, Int32, Int64, Nullable, UInt8, UInt16, UInt32, UInt64};
    match column_type {
        UInt8 | UInt16 | UInt32 => UInt64,
        Int8 | Int16 | Int32 => Int64,
        Float32 => Float64,
        Nullable(inner) => widest(*inner).nullable(),
        other => other,
    }
}

impl ScalarUDFImpl for Widened {
    fn name(&self) -> &str {
        WIDENED
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        call_name(WIDENED, args)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(arg_types.first().cloned().unwrap_or(DataType::Null))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let Some(field) = args.arg_fields.first() else {
            return internal_err!("{WIDENED} takes an argument");
        };
        Ok(Arc::new(to_field(WIDENED, &widest(type_of_field(field)))))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let (Some(value), Some(field)) = (args.args.first(), args.arg_fields.first()) else {
            return internal_err!("{WIDENED} takes an argument");
        };
        let wanted = to_data_type(&widest(type_of_field(field)));
        Ok(ColumnarValue::Array(cast(&value.to_array(args.number_rows)?, &wanted)?))
    }
}
