//! `dumpColumnStructure`: how ClickHouse's columns would hold a value.
//!
//! Invariant: sizes are those of the block that is asked about. Dictionaries hold the values of the block, the default, and
//! NULL where they may. Must not know: what the values are.

use std::collections::HashSet;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::concat;
use model::ColumnType;

use crate::cast::{CastMode, default_array};
use crate::columns::container::first_elements;
use crate::error::FunctionError;
use crate::kernel::call::Call;
use crate::kernel::registry::ScalarFunction;
use crate::session::blocks::memory_name;

fn plain_name(column_type: &ColumnType) -> String {
    match column_type.value_type() {
        ColumnType::FixedString(_) => "FixedString".to_owned(),
        ColumnType::AggregateFunction(_) => "AggregateFunction".to_owned(),
        other => memory_name(other),
    }
}

/// A column and those that it is made of.
fn structure(call: &Call<'_>, array: &ArrayRef, column_type: &ColumnType) -> Result<String, FunctionError> {
    let rows = array.len();
    let with = |name: &str, inside: String| format!("{name}(size = {rows}{inside})");
    Ok(match column_type {
        nothing if *nothing.value_type() == ColumnType::Nothing => {
            with("Nullable", format!(", Nothing(size = {rows}), UInt8(size = {rows})"))
        }
        ColumnType::Nullable(inner) => {
            let inner = structure(call, array, inner)?;
            with("Nullable", format!(", {inner}, UInt8(size = {rows})"))
        }
        ColumnType::LowCardinality(inner) => {
            let values = dictionary(call, array, inner)?;
            let width = match values {
                0..=0x100 => "UInt8",
                0x101..=0x1_0000 => "UInt16",
                _ => "UInt32",
            };
            let name = plain_name(inner.value_type());
            let unique = format!("Unique(size = {values}, {name}(size = {values}))");
            with("LowCardinality", format!(", {width}(size = {rows}), {unique}"))
        }
        ColumnType::Array(element) => {
            let elements = first_elements(array.as_list::<i32>(), usize::MAX)?;
            let inner = match element.as_ref() {
                ColumnType::Nothing => format!("Nothing(size = {})", elements.len()),
                element => structure(call, &elements, element)?,
            };
            with("Array", format!(", UInt64(size = {rows}), {inner}"))
        }
        ColumnType::Map(key, value) => {
            let map = array.as_map();
            let ends = map.value_offsets();
            let start = usize::try_from(ends[0]).unwrap_or(0);
            let count = usize::try_from(ends[rows]).unwrap_or(0) - start;
            let keys = structure(call, &map.keys().slice(start, count), key)?;
            let values = structure(call, &map.values().slice(start, count), value)?;
            let entries = format!("Tuple(size = {count}, {keys}, {values})");
            with("Map", format!(", Array(size = {rows}, UInt64(size = {rows}), {entries})"))
        }
        // An interval is carried as a tuple.
        ColumnType::Tuple(_) if !column_type.to_string().starts_with("Tuple(") => {
            with("Int64", String::new())
        }
        ColumnType::Tuple(elements) => {
            let mut inside = String::new();
            for (element, column) in elements.iter().zip(array.as_struct().columns()) {
                inside.push_str(", ");
                inside.push_str(&structure(call, column, &element.column_type)?);
            }
            with("Tuple", inside)
        }
        plain => with(&plain_name(plain), String::new()),
    })
}

/// How many values a dictionary of the column holds.
fn dictionary(call: &Call<'_>, array: &ArrayRef, inner: &ColumnType) -> Result<usize, FunctionError> {
    let nothing = default_array(inner.value_type(), 1);
    let plain = match nothing.data_type() == array.data_type() {
        true => concat(&[array.as_ref(), nothing.as_ref()])?,
        false => concat(&[array.as_ref(), arrow::compute::cast(&nothing, array.data_type())?.as_ref()])?,
    };
    let texts = call.caster(CastMode::Strict).to_text(&plain, inner.value_type());
    let different: HashSet<&str> = texts.iter().flatten().collect();
    Ok(different.len() + usize::from(inner.is_nullable()))
}

fn dump(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let arg = call.arg(0)?;
    let inner = structure(call, &arg.array, &arg.column_type)?;
    let named = match &arg.column_type {
        ColumnType::Nothing => "Nullable(Nothing)".to_owned(),
        other => other.to_string(),
    };
    let shown = match arg.is_constant {
        true => format!("{named}, Const(size = {}, {inner})", call.rows),
        false => format!("{named}, {inner}"),
    };
    call.each_part(|_| &shown)
}

pub(crate) fn functions() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new("dumpColumnStructure", 1..=1, |_| Ok(ColumnType::String), dump)
            .own_nulls()
            .volatile()
            .doc(
                "dumpColumnStructure(x)",
                "The type of a value, and how the columns of ClickHouse would hold it.",
                "dumpColumnStructure(1)",
            ),
    ]
}
