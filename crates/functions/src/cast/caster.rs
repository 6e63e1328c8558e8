//! The one entry to conversions: NULLs, Nullable and LowCardinality here, values by family elsewhere.
//!
//! Invariant: NULLs survive only into Nullable types or in mode OrNull; otherwise they are an error or a default, as
//! the mode says. Modules of families see plain types.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayAccessor, ArrayRef, AsArray, BooleanArray, PrimitiveArray, Scalar, new_null_array,
};
use arrow::buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow::compute::{cast, is_not_null, kernels::zip::zip};
use arrow::datatypes::ArrowPrimitiveType;
use chrono_tz::Tz;
use model::raw_text::bytes_of_all;
use model::type_arrow::to_data_type;
use model::{ColumnType, ErrorCode};

use super::default::default_array;
use super::problem::{CastError, Problem};
use crate::time::calendar::SECONDS_PER_DAY;

/// What happens to values that do not convert, and to NULLs for a type without NULL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CastMode {
    /// `CAST(x AS T)`: both are errors.
    Strict,
    /// Values of several types that meet in one: as `Strict`, but a day stops at the ends of DateTime.
    Meeting,
    /// Rows of an INSERT: as `Strict`, but NULL becomes the default of the type.
    Insert,
    /// `toXOrNull`: both become NULL, and so do numbers out of range; the result is nullable whatever the type says.
    OrNull,
    /// `toXOrZero`, `toXOrDefault`: both become the default of the type.
    OrDefault,
}

/// What conversions of times depend on.
#[derive(Clone, Copy, Debug)]
pub struct CastSettings {
    /// Zone of times that name none.
    pub time_zone: Tz,
    /// Year, month and day of the month on which the query started, for dates written without a year.
    pub today: (i64, i64, i64),
}

impl CastSettings {
    /// Of a session whose query started at `now_ns` nanoseconds since the epoch.
    pub fn new(time_zone: Tz, now_ns: i64) -> Self {
        let days = now_ns.div_euclid(SECONDS_PER_DAY * 1_000_000_000);
        Self { time_zone, today: model::calendar::civil_of(days) }
    }
}

/// Converts a column with times in UTC; see [`cast_column_with`].
pub fn cast_column(
    array: &ArrayRef,
    from: &ColumnType,
    to: &ColumnType,
    mode: CastMode,
) -> Result<ArrayRef, CastError> {
    cast_column_with(array, from, to, mode, &CastSettings::new(Tz::UTC, 0))
}

/// Converts a column. The array may have any Arrow layout that reads as `from` (`Utf8` for String); the result has
/// exactly the layout of `to`. The error names the first row that does not convert, or the pair of types.
pub fn cast_column_with(
    array: &ArrayRef,
    from: &ColumnType,
    to: &ColumnType,
    mode: CastMode,
    settings: &CastSettings,
) -> Result<ArrayRef, CastError> {
    let caster = Caster { mode, time_zone: settings.time_zone, today: settings.today };
    caster.column(array, from, to)
}

/// The rules of one conversion.
pub(crate) struct Caster {
    pub(crate) mode: CastMode,
    pub(crate) time_zone: Tz,
    pub(crate) today: (i64, i64, i64),
}

/// One column being converted between plain types.
#[derive(Clone, Copy)]
pub(crate) struct Column<'a> {
    pub(crate) array: &'a ArrayRef,
    pub(crate) from: &'a ColumnType,
    pub(crate) to: &'a ColumnType,
}

impl Column<'_> {
    /// There is no conversion between these types.
    pub(crate) fn unsupported(&self) -> CastError {
        use ColumnType::{Array, DateTime64, Decimal, Enum8, Enum16, FixedString, Map, Tuple};
        let nests = matches!(self.from, Array(_) | Map(..) | Tuple(_)) && !self.from.is_interval();
        let code = match self.to {
            Decimal { .. } | DateTime64 { .. } | Enum8(_) | Enum16(_) if nests => {
                ErrorCode::CANNOT_CONVERT_TYPE
            }
            FixedString(_) if nests => ErrorCode::NOT_IMPLEMENTED,
            to if nests && !matches!(to, Array(_) | Map(..) | Tuple(_)) => {
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT
            }
            _ => ErrorCode::TYPE_MISMATCH,
        };
        let message = format!("conversion from {} to {} is not supported", self.from, self.to);
        CastError { code, row: 0, value: String::new(), to: self.to.clone(), message }
    }

    /// As [`Self::unsupported`], with the code ClickHouse has for states, and for intervals of times with fractions.
    fn no_state(&self) -> CastError {
        CastError { code: ErrorCode::CANNOT_CONVERT_TYPE, ..self.unsupported() }
    }

    /// As [`Self::unsupported`], with the code ClickHouse has for addresses.
    pub(crate) fn not_implemented(&self) -> CastError {
        CastError { code: ErrorCode::NOT_IMPLEMENTED, ..self.unsupported() }
    }
}

impl Caster {
    pub(crate) fn column(
        &self,
        array: &ArrayRef,
        from: &ColumnType,
        to: &ColumnType,
    ) -> Result<ArrayRef, CastError> {
        let laid_out = laid_out(array, from, to)?;
        if from == to {
            return Ok(laid_out);
        }
        let keeps_nulls = to.is_nullable() || self.mode == CastMode::OrNull;
        let column = Column { array: &laid_out, from: from.value_type(), to: to.value_type() };
        let converted = if *column.from == ColumnType::Nothing {
            new_null_array(&to_data_type(to), array.len())
        } else if column.from == column.to {
            Arc::clone(column.array)
        } else {
            self.quiet_for(&column, to).value(&column)?
        };
        if keeps_nulls || converted.null_count() == 0 {
            return Ok(converted);
        }
        match self.mode {
            CastMode::Strict | CastMode::Meeting => {
                let row = (0..converted.len()).find(|row| converted.is_null(*row)).unwrap_or(0);
                let mut error = Problem::Null.into_error(row, "NULL", to);
                // A written NULL is refused by its type, one among values as a value.
                if *column.from != ColumnType::Nothing {
                    error.code = ErrorCode::CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN;
                }
                Err(error)
            }
            _ => filled(&converted, &default_array(column.to, 1), &column),
        }
    }

    /// One of the steps of a conversion. What is NULL stays NULL, whatever the mode: what it becomes the whole conversion knows.
    pub(super) fn step(
        &self,
        array: &ArrayRef,
        from: &ColumnType,
        to: &ColumnType,
    ) -> Result<ArrayRef, CastError> {
        self.column(array, &from.clone().nullable(), &to.clone().nullable())
    }

    /// Whether what does not convert is an error; numbers out of range wrap then.
    pub(super) fn raises(&self) -> bool {
        !matches!(self.mode, CastMode::OrNull | CastMode::OrDefault)
    }

    /// Text of a String that cannot be read as a Nullable value is NULL, for all but enums, Bool and nested types.
    fn quiet_for(&self, column: &Column<'_>, to: &ColumnType) -> Caster {
        let names = matches!(column.to, ColumnType::Bool | ColumnType::Enum8(_) | ColumnType::Enum16(_));
        let to_fixed = matches!(column.to, ColumnType::FixedString(_));
        let is_text = *column.from == ColumnType::String || column.from.is_string() && to_fixed;
        if self.raises() && to.is_nullable() && is_text && !names {
            return Caster { mode: CastMode::OrNull, ..*self };
        }
        Caster { ..*self }
    }

    /// Values of one plain type as another.
    fn value(&self, column: &Column<'_>) -> Result<ArrayRef, CastError> {
        use ColumnType as C;
        match (column.from, column.to) {
            (C::String, C::AggregateFunction(_)) => Ok(Arc::new(bytes_of_all(column.array.as_string_view()))),
            (C::AggregateFunction(from), C::AggregateFunction(to)) if from.has_states_of(to) => {
                Ok(Arc::clone(column.array))
            }
            (_, C::AggregateFunction(_)) => Err(column.no_state()),
            (C::AggregateFunction(_), to) if *to != C::String => Err(column.no_state()),
            (C::Ipv4 | C::Ipv6, to) if *to != C::String => self.address_as(column),
            (_, C::Enum8(_) | C::Enum16(_)) => self.to_enum(column),
            (a, b) if a.is_interval() && b.is_interval() => self.interval_as(column),
            (from, interval) if interval.is_interval() && is_amount(from) => self.to_interval(column),
            (C::DateTime64 { .. }, interval) if interval.is_interval() => Err(column.no_state()),
            (interval, to)
                if interval.is_interval()
                    && (to.is_number()
                        || matches!(
                            to,
                            C::Date | C::Date32 | C::DateTime { .. } | C::DateTime64 { .. } | C::Bool
                        )) =>
            {
                let numbers = array_of_interval(column.array);
                self.step(&numbers, &C::Int64, to)
            }
            (C::Array(_) | C::Map(..) | C::Tuple(_), C::Array(_) | C::Map(..) | C::Tuple(_)) => {
                self.nested(column)
            }
            (C::String | C::FixedString(_), C::Array(_) | C::Map(..) | C::Tuple(_)) => {
                self.nested_from_text(column)
            }
            (C::String | C::FixedString(_), C::FixedString(bytes)) => self.to_fixed_string(column, *bytes),
            (from, C::String) => Ok(Arc::new(self.to_text(column.array, from))),
            (C::Enum8(_), to) => self.value(&Column { from: &C::Int8, to, ..*column }),
            (C::Enum16(_), to) => self.value(&Column { from: &C::Int16, to, ..*column }),
            (C::Bool, to) => {
                let numbers =
                    cast(column.array, &to_data_type(&C::UInt8)).map_err(|e| broken(&e.to_string(), to))?;
                self.value(&Column { from: &C::UInt8, array: &numbers, to })
            }
            (number, C::FixedString(_) | C::Uuid) if number.is_number() || number.is_wide_integer() => {
                Err(column.not_implemented())
            }
            (_, C::Date | C::Date32 | C::DateTime { .. } | C::DateTime64 { .. }) => self.to_time(column),
            (C::Date | C::Date32 | C::DateTime { .. } | C::DateTime64 { .. }, _) => {
                self.time_to_number(column)
            }
            (_, wide) if wide.is_wide_integer() => self.to_wide(column),
            (from, C::Decimal { .. }) if from.is_wide_integer() => self.wide_to_decimal(column),
            (_, C::Decimal { .. }) => self.to_decimal(column),
            (_, C::Bool) => self.to_bool(column),
            (C::String | C::FixedString(_), C::Uuid) => self.to_uuid(column),
            (_, C::Ipv4 | C::Ipv6) => self.to_address(column),
            (from, _) if from.is_wide_integer() => self.wide_to_number(column),
            _ => self.to_number(column),
        }
    }

    /// Converts each value that is not NULL; a problem is an error, a NULL or 0, as the mode says.
    pub(super) fn try_map<A: ArrayAccessor, T: ArrowPrimitiveType>(
        &self,
        column: &Column<'_>,
        array: A,
        convert: impl Fn(A::Item) -> Result<T::Native, Problem>,
    ) -> Result<PrimitiveArray<T>, CastError> {
        self.try_map_or(column, array, T::Native::default(), convert)
    }

    /// As [`Self::try_map`], with another default than 0.
    pub(super) fn try_map_or<A: ArrayAccessor, T: ArrowPrimitiveType>(
        &self,
        column: &Column<'_>,
        array: A,
        default: T::Native,
        convert: impl Fn(A::Item) -> Result<T::Native, Problem>,
    ) -> Result<PrimitiveArray<T>, CastError> {
        let mut values = Vec::with_capacity(array.len());
        let mut failed = Vec::new();
        for row in 0..array.len() {
            if array.is_null(row) {
                values.push(default);
                continue;
            }
            match convert(array.value(row)) {
                Ok(value) => values.push(value),
                Err(problem) => {
                    self.check(problem, row, column)?;
                    failed.push(row);
                    values.push(default);
                }
            }
        }
        let nulls = self.nulls_with(&array, &failed);
        Ok(PrimitiveArray::new(ScalarBuffer::from(values), nulls))
    }

    /// The error for a row, if the mode raises errors.
    pub(super) fn check(&self, problem: Problem, row: usize, column: &Column<'_>) -> Result<(), CastError> {
        if !self.raises() {
            return Ok(());
        }
        let text = self.to_text(&column.array.slice(row, 1), column.from);
        Err(problem.into_error(row, text.value(0), column.to))
    }

    /// The array's NULLs, and in mode OrNull the failed rows.
    pub(super) fn nulls_with(&self, array: &dyn Array, failed: &[usize]) -> Option<NullBuffer> {
        let nulls = array.logical_nulls();
        if self.mode != CastMode::OrNull || failed.is_empty() {
            return nulls;
        }
        let mut valid = vec![true; array.len()];
        for row in failed {
            valid[*row] = false;
        }
        NullBuffer::union(nulls.as_ref(), Some(&NullBuffer::from(valid)))
    }

    fn to_bool(&self, column: &Column<'_>) -> Result<ArrayRef, CastError> {
        if column.from.is_string() {
            let read: PrimitiveArray<arrow::datatypes::UInt8Type> =
                self.try_map(column, column.array.as_string_view(), |t| {
                    super::read::boolean(t).map(u8::from)
                })?;
            return Ok(Arc::new(is_not_zero(&read)));
        }
        let floats = self.step(column.array, column.from, &ColumnType::Float64)?;
        Ok(Arc::new(is_not_zero(floats.as_primitive::<arrow::datatypes::Float64Type>())))
    }
}

fn is_not_zero<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>) -> BooleanArray {
    let zero = T::Native::default();
    let values = BooleanBuffer::collect_bool(array.len(), |row| array.value(row) != zero);
    BooleanArray::new(values, array.nulls().cloned())
}

/// Whether values are numbers of an interval's units.
fn is_amount(column_type: &ColumnType) -> bool {
    use ColumnType::{Bool, Date, Date32, DateTime, Decimal};
    let is_number = column_type.is_number() && !matches!(column_type, Decimal { .. });
    is_number
        || column_type.is_wide_integer()
        || matches!(column_type, Bool | Date | Date32 | DateTime { .. })
}

/// The number of an interval, which is carried as a tuple of it.
fn array_of_interval(array: &ArrayRef) -> ArrayRef {
    array.as_struct_opt().map_or_else(|| Arc::clone(array), |tuple| Arc::clone(tuple.column(0)))
}

pub(super) fn broken(message: &str, to: &ColumnType) -> CastError {
    CastError {
        code: ErrorCode::CANNOT_CONVERT_TYPE,
        row: 0,
        value: String::new(),
        to: to.clone(),
        message: message.to_owned(),
    }
}

/// NULLs replaced by the one row of `default`.
fn filled(array: &ArrayRef, default: &ArrayRef, column: &Column<'_>) -> Result<ArrayRef, CastError> {
    let failed = |error: arrow::error::ArrowError| broken(&error.to_string(), column.to);
    let valid = is_not_null(array).map_err(failed)?;
    zip(&valid, array, &Scalar::new(default)).map_err(failed)
}

/// The array in the layout of its declared type; foreign layouts (`Utf8`, dictionaries) are unpacked.
fn laid_out(array: &ArrayRef, from: &ColumnType, to: &ColumnType) -> Result<ArrayRef, CastError> {
    let wanted = to_data_type(from);
    if *array.data_type() == wanted {
        return Ok(Arc::clone(array));
    }
    if let arrow::datatypes::DataType::FixedSizeBinary(_) = array.data_type()
        && from.is_string()
    {
        let text = cast(array, &arrow::datatypes::DataType::BinaryView).and_then(|a| cast(&a, &wanted));
        return text.map_err(|error| broken(&error.to_string(), to));
    }
    cast(array, &wanted).map_err(|error| broken(&error.to_string(), to))
}
