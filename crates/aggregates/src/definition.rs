//! What an aggregate function is made of: an accumulator of DataFusion, and ClickHouse's types around it.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::AggregateUDF;
use functions::FunctionError;
use model::{ColumnType, ErrorCode};

use crate::typing::external;

/// The arity of a function whose accumulator takes whatever is given.
pub(super) const ALL_ARGUMENTS: usize = usize::MAX;

/// Starts of the names of functions that take numbers, but not those of an enum.
const NOT_OF_ENUMS: &[&str] = &["avg", "corr", "covar", "groupBit"];

/// What stands where no row came, when the result is not Nullable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Empty {
    /// 0, the empty text, the empty array, the first day.
    Default,
    NaN,
    /// What moments that are kept stable divide by is 0 then.
    Infinity,
    /// All bits set.
    Ones,
}

/// The layouts the accumulator wants for arguments of these layouts.
pub(super) type Arguments = fn(&Definition, &[DataType]) -> Result<Vec<DataType>>;

/// The type of the result, from the types of the arguments as the accumulator gets them.
pub(super) type ResultType = fn(&[ColumnType]) -> ColumnType;

/// One aggregate function over an accumulator of DataFusion.
#[derive(Clone, Copy)]
pub(super) struct Definition {
    pub(super) name: &'static str,
    pub(super) aliases: &'static [&'static str],
    /// Whether ClickHouse finds it in any case.
    pub(super) any_case: bool,
    pub(super) inner: fn() -> Arc<AggregateUDF>,
    pub(super) arguments: Arguments,
    pub(super) result: ResultType,
    pub(super) empty: Empty,
    /// Skip NULLs although the accumulator would keep them.
    pub(super) ignore_nulls: bool,
    pub(super) distinct: bool,
    /// Arguments of the accumulator; more than these are parameters.
    pub(super) arity: usize,
    pub(super) syntax: &'static str,
    pub(super) description: &'static str,
    pub(super) example: &'static str,
}

impl Definition {
    pub(super) const fn new(name: &'static str, inner: fn() -> Arc<AggregateUDF>) -> Self {
        Self {
            name,
            aliases: &[],
            any_case: false,
            inner,
            arguments: as_they_are,
            result: same,
            empty: Empty::Default,
            ignore_nulls: false,
            distinct: false,
            arity: 1,
            syntax: "",
            description: "",
            example: "",
        }
    }

    pub(super) const fn doc(
        self,
        syntax: &'static str,
        description: &'static str,
        example: &'static str,
    ) -> Self {
        Self { syntax, description, example, ..self }
    }

    pub(super) const fn aliases(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    pub(super) const fn any_case(self) -> Self {
        Self { any_case: true, ..self }
    }

    pub(super) const fn typed(self, arguments: Arguments, result: ResultType) -> Self {
        Self { arguments, result, ..self }
    }

    pub(super) const fn empty(self, empty: Empty) -> Self {
        Self { empty, ..self }
    }

    pub(super) const fn ignoring_nulls(self) -> Self {
        Self { ignore_nulls: true, ..self }
    }

    pub(super) const fn distinct(self) -> Self {
        Self { distinct: true, ..self }
    }

    pub(super) const fn arity(self, arity: usize) -> Self {
        Self { arity, ..self }
    }

    pub(super) fn illegal(&self, data_type: &DataType) -> datafusion::common::DataFusionError {
        self.illegal_type(&model::type_arrow::from_data_type(data_type))
    }

    fn illegal_type(&self, shown: &ColumnType) -> datafusion::common::DataFusionError {
        let message = format!("illegal type {shown} of argument for aggregate function {}", self.name);
        external(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message))
    }

    /// Whether the accumulator has NULL for few rows, too, or for equal ones. The first of its states is their number.
    pub(super) fn needs_rows(&self) -> bool {
        ["var", "stddev", "covar", "corr"].iter().any(|moments| self.name.starts_with(moments))
    }

    /// Whether the accumulator computes with its arguments: such a function refuses text.
    pub(super) fn takes_numbers(&self) -> bool {
        (self.arguments)(self, &[DataType::Utf8View]).is_err()
    }

    /// Refuses types whose layout is that of a number, although they are none.
    pub(super) fn check_numbers(&self, types: &[ColumnType]) -> Result<()> {
        let takes_enums = !NOT_OF_ENUMS.iter().any(|start| self.name.starts_with(start));
        let is_none = |t: &&ColumnType| {
            let plain = t.value_type();
            t.is_address() || *plain == ColumnType::Uuid || !takes_enums && plain.enum_values().is_some()
        };
        match types.iter().find(is_none).filter(|_| self.takes_numbers()) {
            Some(other) => Err(self.illegal_type(other)),
            None => Ok(()),
        }
    }

    /// Refuses a wrong number of arguments.
    pub(super) fn check_count(&self, count: usize) -> Result<()> {
        let (least, most) = match self.name {
            "groupArray" | "groupUniqArray" | "groupConcat" => (self.arity, self.arity + 1),
            // The accumulator has one of the two.
            "argMin" | "argMax" | "avgWeighted" => (2, 2),
            _ => (self.arity, self.arity),
        };
        if self.arity == ALL_ARGUMENTS || (least..=most).contains(&count) {
            return Ok(());
        }
        let message = format!("aggregate function {} takes {least} arguments, {count} given", self.name);
        Err(external(FunctionError::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message)))
    }
}

pub(super) fn as_they_are(_: &Definition, types: &[DataType]) -> Result<Vec<DataType>> {
    Ok(types.to_vec())
}

/// The type of the first argument, without LowCardinality.
pub(super) fn same(types: &[ColumnType]) -> ColumnType {
    match types.first() {
        Some(ColumnType::LowCardinality(inner)) => inner.as_ref().clone(),
        Some(other) => other.clone(),
        None => ColumnType::Nothing,
    }
}

pub(super) fn uint64(_: &[ColumnType]) -> ColumnType {
    ColumnType::UInt64
}

/// Float64, Nullable if an argument is.
pub(super) fn float64(types: &[ColumnType]) -> ColumnType {
    if types.iter().any(ColumnType::is_nullable) {
        ColumnType::Float64.nullable()
    } else {
        ColumnType::Float64
    }
}

/// The widest number of the argument's kind.
pub(super) fn widest(definition: &Definition, types: &[DataType]) -> Result<Vec<DataType>> {
    let wide = |data_type: &DataType| match data_type {
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => Ok(DataType::Int64),
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 | DataType::Boolean => {
            Ok(DataType::UInt64)
        }
        DataType::Float16 | DataType::Float32 | DataType::Float64 => Ok(DataType::Float64),
        DataType::Decimal128(_, scale) => Ok(DataType::Decimal128(38, *scale)),
        DataType::Decimal256(_, scale) => Ok(DataType::Decimal256(76, *scale)),
        DataType::Null => Ok(DataType::UInt64),
        // Wide integers; what else has this layout is refused by its type.
        DataType::FixedSizeBinary(16 | 32) => Ok(data_type.clone()),
        other => Err(definition.illegal(other)),
    };
    types.iter().map(wide).collect()
}

/// Numbers as Float64.
pub(super) fn floats(definition: &Definition, types: &[DataType]) -> Result<Vec<DataType>> {
    let float = |data_type: &DataType| match data_type {
        numeric if numeric.is_numeric() => Ok(DataType::Float64),
        DataType::Boolean | DataType::Null => Ok(DataType::Float64),
        // Wide integers, which our analyzer makes Float64 before DataFusion's sees them.
        DataType::FixedSizeBinary(16 | 32) => Ok(data_type.clone()),
        other => Err(definition.illegal(other)),
    };
    types.iter().map(float).collect()
}

/// Decimals and times as they are, other numbers as Float64.
pub(super) fn averaged(definition: &Definition, types: &[DataType]) -> Result<Vec<DataType>> {
    match types {
        [
            DataType::Decimal128(..) | DataType::Decimal256(..) | DataType::Date32 | DataType::Timestamp(..),
        ] => Ok(types.to_vec()),
        _ => floats(definition, types),
    }
}

/// Of times a time, of all else Float64.
pub(super) fn mean(types: &[ColumnType]) -> ColumnType {
    use ColumnType::{Date, Date32, DateTime, DateTime64};
    let is_time =
        |t: &ColumnType| matches!(t.value_type(), Date | Date32 | DateTime { .. } | DateTime64 { .. });
    if types.first().is_some_and(is_time) { same(types) } else { float64(types) }
}

/// Integers.
pub(super) fn integers(definition: &Definition, types: &[DataType]) -> Result<Vec<DataType>> {
    let integer = |data_type: &DataType| match data_type {
        integer if integer.is_integer() => Ok(integer.clone()),
        DataType::Boolean => Ok(DataType::UInt8),
        other => Err(definition.illegal(other)),
    };
    types.iter().map(integer).collect()
}

/// An array of the first argument without NULLs.
pub(super) fn array(types: &[ColumnType]) -> ColumnType {
    let element = match same(types) {
        ColumnType::Nullable(inner) => *inner,
        other => other,
    };
    ColumnType::Array(Box::new(element))
}
