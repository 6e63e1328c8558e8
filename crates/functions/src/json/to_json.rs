//! `toJSONString`: a value of any type as JSON.
//!
//! Invariant: numbers that are finite and Bool stand bare, all else in quotes; tuples with names and maps are objects.

use arrow::array::{Array, ArrayRef, AsArray};
use model::ColumnType;

use super::write;
use crate::cast::{CastMode, Caster};
use crate::columns::container::range;
use crate::kernel::call::Call;
use crate::kernel::fixed_text;
use crate::kernel::registry::ScalarFunction;

/// Appends the value of a row.
type Writer = Box<dyn Fn(usize, &mut String)>;

fn writer(array: &ArrayRef, column_type: &ColumnType, caster: &Caster) -> Writer {
    let nulls = array.logical_nulls();
    let plain = plain_writer(array, column_type.value_type(), caster);
    Box::new(move |row, out| match &nulls {
        Some(nulls) if nulls.is_null(row) => out.push_str("null"),
        _ => plain(row, out),
    })
}

fn plain_writer(array: &ArrayRef, column_type: &ColumnType, caster: &Caster) -> Writer {
    match column_type {
        ColumnType::Array(element) => {
            let list = array.as_list::<i32>().clone();
            let element = writer(list.values(), element, caster);
            Box::new(move |row, out| {
                out.push('[');
                for (index, at) in range(list.value_offsets(), row).enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    element(at, out);
                }
                out.push(']');
            })
        }
        ColumnType::Map(key, value) => {
            let map = array.as_map().clone();
            let keys = caster.to_text(map.keys(), key.value_type());
            let value = writer(map.values(), value, caster);
            Box::new(move |row, out| {
                out.push('{');
                for (index, at) in range(map.value_offsets(), row).enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write::quoted(keys.value(at), true, out);
                    out.push(':');
                    value(at, out);
                }
                out.push('}');
            })
        }
        ColumnType::Tuple(elements) => {
            let columns = array.as_struct().columns();
            let parts: Vec<_> = elements
                .iter()
                .zip(columns)
                .map(|(element, column)| (element.name.clone(), writer(column, &element.column_type, caster)))
                .collect();
            let named = !parts.is_empty() && parts.iter().all(|(name, _)| name.is_some());
            Box::new(move |row, out| {
                out.push(if named { '{' } else { '[' });
                for (index, (name, part)) in parts.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    if let Some(name) = name.as_ref().filter(|_| named) {
                        write::quoted(name, true, out);
                        out.push(':');
                    }
                    part(row, out);
                }
                out.push(if named { '}' } else { ']' });
            })
        }
        plain => {
            let bare = plain.is_number() || *plain == ColumnType::Bool;
            let texts = match plain {
                ColumnType::FixedString(length) => {
                    fixed_text::with_padding(array.as_string_view(), usize::try_from(*length).unwrap_or(0))
                }
                _ => caster.to_text(array, plain),
            };
            Box::new(move |row, out| match texts.value(row) {
                "nan" | "inf" | "-inf" if bare => out.push_str("null"),
                text if bare => out.push_str(text),
                text => write::quoted(text, true, out),
            })
        }
    }
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new(
            "toJSONString",
            1..=1,
            |_| Ok(ColumnType::String),
            |call: &Call<'_>| {
                let arg = call.arg(0)?;
                let writer = writer(&arg.array, &arg.column_type, &call.caster(CastMode::Strict));
                call.each_text(|row, out| {
                    writer(arg.row(row), out);
                    Ok(())
                })
            },
        )
        .doc("toJSONString(x)", "A value as JSON.", "toJSONString([1, 2]) -> '[1,2]'"),
    ]
}
