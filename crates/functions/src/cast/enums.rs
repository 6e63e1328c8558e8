//! Text and numbers -> enums.
//!
//! Invariant: an enum column holds only numbers its type names.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int8Array, PrimitiveArray};
use arrow::datatypes::Int16Type;
use model::{ColumnType, EnumValues};

use super::caster::{Caster, Column, broken};
use super::problem::{CastError, Problem};

impl Caster {
    /// Text by name (or number as text), numbers by number, enums by name.
    pub(super) fn to_enum(&self, column: &Column<'_>) -> Result<ArrayRef, CastError> {
        let Some(values) = column.to.enum_values() else { return Err(column.unsupported()) };
        if let Some(source) = column.from.enum_values() {
            check_same_numbers(source, values, column.to)?;
        }
        let numbers: PrimitiveArray<Int16Type> = match column.from {
            ColumnType::String | ColumnType::FixedString(_) => {
                let by_name: HashMap<&str, i16> = values.iter().map(|(n, name)| (name.as_ref(), n)).collect();
                self.try_map(column, column.array.as_string_view(), |text| element(text, &by_name, values))?
            }
            wide if wide.is_wide_integer() => return Err(broken(&column.unsupported().message, column.to)),
            from if from.is_number() || from.enum_values().is_some() || *from == ColumnType::Bool => {
                let wide = self.step(column.array, from, &ColumnType::Int64)?;
                let wide = wide.as_primitive::<arrow::datatypes::Int64Type>();
                let most = if matches!(column.to, ColumnType::Enum8(_)) { 127 } else { i16::MAX };
                // A UInt64 beyond Int64 has come out below 0.
                let least = if *from == ColumnType::UInt64 { 0 } else { -most - 1 };
                self.try_map(column, wide, |number| match i16::try_from(number) {
                    Ok(number) if number >= least && values.name(number).is_some() => Ok(number),
                    Ok(number) if (least..=most).contains(&number) => Err(Problem::EnumNumber),
                    _ => Err(Problem::EnumRange),
                })?
            }
            _ => return Err(column.unsupported()),
        };
        let numbers = self.first_for_failed(numbers, values);
        if matches!(column.to, ColumnType::Enum16(_)) {
            return Ok(Arc::new(numbers));
        }
        let small: Int8Array = numbers.unary(|number| i8::try_from(number).unwrap_or(0));
        Ok(Arc::new(small))
    }

    /// Failed rows hold 0, which the enum may not name: its default is the first element.
    fn first_for_failed(
        &self,
        numbers: PrimitiveArray<Int16Type>,
        values: &EnumValues,
    ) -> PrimitiveArray<Int16Type> {
        let first = values.iter().next().map_or(0, |(number, _)| number);
        numbers.unary(|number| if values.name(number).is_some() { number } else { first })
    }
}

fn element(text: &str, by_name: &HashMap<&str, i16>, values: &EnumValues) -> Result<i16, Problem> {
    if let Some(number) = by_name.get(text) {
        return Ok(*number);
    }
    let number = text.parse::<i16>().ok().filter(|number| values.name(*number).is_some());
    number.ok_or(Problem::EnumName)
}

/// ClickHouse refuses a conversion that would give a name another number.
fn check_same_numbers(source: &EnumValues, target: &EnumValues, to: &ColumnType) -> Result<(), CastError> {
    for (number, name) in source.iter() {
        if let Some(other) = target.number(name)
            && other != number
        {
            let message =
                format!("enum conversion changes value for element '{name}' from {number} to {other}");
            return Err(broken(&message, to));
        }
    }
    Ok(())
}
