//! `JSONExtract` and its kin: a path of keys and places, and what is found there.
//!
//! Invariant: a text that is not valid JSON, or has nothing at the path, gives a default, never an error.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, StringViewBuilder};
use arrow::datatypes::{Int8Type, UInt64Type};
use model::saturating::u64_of;
use model::{ColumnType, EnumValues, ErrorCode, TupleElement, type_name};

use super::call_path::{Name, Path, check, documents, each, items};
use super::document::{Item, Kind};
use super::values::Builder;
use super::write;
use crate::cast::CastMode;
use crate::columns::container::{list_of, offsets_of, tuple_of, unnamed};
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::constant_text;

fn flag(name: &'static str, read: fn(Option<Item<'_>>) -> bool) -> ScalarFunction {
    let rule = move |args: &[ArgType]| check(args, args.len(), name).map(|()| ColumnType::UInt8);
    ScalarFunction::new(name, 1..=usize::MAX, rule, move |call| {
        let flags =
            each(call, Name { name, any_case: false }, |found| u8::from(read(found.map(|(item, _)| item))))?;
        Ok(Arc::new(arrow::array::UInt8Array::from(flags)))
    })
}

/// A value of a type that the function's name tells.
fn typed(name: Name, to: ColumnType) -> ScalarFunction {
    let rule = {
        let to = if to == ColumnType::Bool { ColumnType::UInt8 } else { to.clone() };
        move |args: &[ArgType]| check(args, args.len(), name.name).map(|()| to.clone())
    };
    ScalarFunction::new(name.name, 1..=usize::MAX, rule, move |call| {
        let made = extracted(call, name, &to, call.args.len(), false)?;
        Ok(match to {
            ColumnType::Bool => Arc::new(crate::kernel::rows::flags(made.as_boolean())),
            _ => made,
        })
    })
}

/// The values of a type at the path.
fn extracted(
    call: &Call<'_>,
    name: Name,
    to: &ColumnType,
    end: usize,
    flags_are_numbers: bool,
) -> Result<ArrayRef, FunctionError> {
    let texts = call.texts(0)?;
    let path = Path::new(call, end, name.any_case)?;
    let documents = documents(call, &texts);
    let items = items(&documents, &path);
    let builder = Builder { caster: call.caster(CastMode::OrNull), flags_are_numbers };
    builder.column(&items, to)
}

fn written(name: Name, write: fn(Option<(Item<'_>, &str)>, &mut String)) -> ScalarFunction {
    let rule = move |args: &[ArgType]| check(args, args.len(), name.name).map(|()| ColumnType::String);
    ScalarFunction::new(name.name, 1..=usize::MAX, rule, move |call| {
        let mut builder = StringViewBuilder::with_capacity(call.rows);
        let mut buffer = String::new();
        each(call, name, |found| {
            buffer.clear();
            write(found, &mut buffer);
            builder.append_value(&buffer);
        })?;
        Ok(Arc::new(builder.finish()))
    })
}

/// Hands the texts of a value over, one by one.
type List = fn(Item<'_>, &mut dyn FnMut(&str));

/// A list of texts.
fn listed(name: Name, list: List) -> ScalarFunction {
    let result = ColumnType::Array(Box::new(ColumnType::String));
    let rule = move |args: &[ArgType]| check(args, args.len(), name.name).map(|()| result.clone());
    ScalarFunction::new(name.name, 1..=usize::MAX, rule, move |call| {
        let mut builder = StringViewBuilder::new();
        let lengths = each(call, name, |found| {
            let mut count = 0_usize;
            if let Some((item, _)) = found {
                list(item, &mut |text| {
                    builder.append_value(text);
                    count += 1;
                });
            }
            count
        })?;
        Ok(list_of(&ColumnType::String, offsets_of(lengths), Arc::new(builder.finish()), None)?)
    })
}

fn raw(item: Item<'_>) -> String {
    let mut out = String::new();
    write::item(item, &mut out);
    out
}

fn last_type(args: &[ArgType], name: &str) -> Result<ColumnType, FunctionError> {
    let last = args.len().saturating_sub(1);
    check(args, last.max(1), name)?;
    let written = constant_text(args, last).ok_or_else(|| {
        FunctionError::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!("the last argument of {name} is the name of a type, as a constant text"),
        )
    })?;
    parsed(&written)
}

fn parsed(written: &str) -> Result<ColumnType, FunctionError> {
    type_name::parse(written).map_err(|error| FunctionError::new(ErrorCode::UNKNOWN_TYPE, error.to_string()))
}

fn extract(name: Name) -> ScalarFunction {
    let rule = move |args: &[ArgType]| last_type(args, name.name);
    ScalarFunction::new(name.name, 2..=usize::MAX, rule, move |call| {
        let last = call.args.len() - 1;
        // Not the result's type: a document that may be NULL makes that one Nullable, and what does not convert stays the default.
        let made = parsed(call.texts(last)?.get(0))?;
        extracted(call, name, &made, last, true)
    })
}

/// Keys with values of a type; those that do not convert are left out.
fn keys_and_values(name: Name) -> ScalarFunction {
    let rule = move |args: &[ArgType]| {
        let value = last_type(args, name.name)?;
        Ok(ColumnType::Array(Box::new(unnamed([ColumnType::String, value]))))
    };
    ScalarFunction::new(name.name, 2..=usize::MAX, rule, move |call| {
        let ColumnType::Array(pair) = call.result_type else {
            return Err(FunctionError::illegal_type(call.result_type, name.name));
        };
        let ColumnType::Tuple(elements) = pair.as_ref() else {
            return Err(FunctionError::illegal_type(call.result_type, name.name));
        };
        let value_type = elements.get(1).map_or(ColumnType::Nothing, |element| element.column_type.clone());
        let texts = call.texts(0)?;
        let path = Path::new(call, call.args.len() - 1, name.any_case)?;
        let documents = documents(call, &texts);
        let items = items(&documents, &path);
        let builder = Builder { caster: call.caster(CastMode::OrNull), flags_are_numbers: true };
        let (mut keys, mut values, mut lengths) = (Vec::new(), Vec::new(), Vec::with_capacity(call.rows));
        for item in &items {
            let own: Vec<_> = item.iter().flat_map(|item| item.pairs()).collect();
            let candidates: Vec<_> = own.iter().map(|(_, value)| Some(*value)).collect();
            let fits = builder.converts(&candidates, &value_type)?;
            let kept = own.into_iter().zip(fits).filter(|(_, fits)| *fits);
            let before = keys.len();
            for ((key, value), _) in kept {
                keys.push(key);
                values.push(Some(value));
            }
            lengths.push(keys.len() - before);
        }
        let rows = keys.len();
        let keys: ArrayRef = Arc::new(arrow::array::StringViewArray::from_iter_values(keys));
        let pairs = pairs(elements, keys, builder.column(&values, &value_type)?, rows)?;
        Ok(list_of(pair, offsets_of(lengths), pairs, None)?)
    })
}

fn pairs(
    elements: &[TupleElement],
    keys: ArrayRef,
    values: ArrayRef,
    rows: usize,
) -> Result<ArrayRef, FunctionError> {
    Ok(tuple_of(elements, vec![keys, values], None, rows)?)
}

fn raw_pairs(name: Name) -> ScalarFunction {
    let pair = unnamed([ColumnType::String, ColumnType::String]);
    let result = ColumnType::Array(Box::new(pair.clone()));
    let rule = move |args: &[ArgType]| check(args, args.len(), name.name).map(|()| result.clone());
    ScalarFunction::new(name.name, 1..=usize::MAX, rule, move |call| {
        let ColumnType::Tuple(elements) = &pair else {
            return Err(FunctionError::illegal_type(&pair, name.name));
        };
        let (mut keys, mut values) = (StringViewBuilder::new(), StringViewBuilder::new());
        let mut rows = 0;
        let lengths = each(call, name, |found| {
            let before = rows;
            for (key, value) in found.iter().flat_map(|(item, _)| item.pairs()) {
                keys.append_value(key);
                values.append_value(raw(value));
                rows += 1;
            }
            rows - before
        })?;
        let made = pairs(elements, Arc::new(keys.finish()), Arc::new(values.finish()), rows)?;
        Ok(list_of(&pair, offsets_of(lengths), made, None)?)
    })
}

/// The words of `JSONType` and their numbers.
const TYPES: [(i8, &str); 8] = [
    (0, "Null"),
    (34, "String"),
    (91, "Array"),
    (98, "Bool"),
    (100, "Double"),
    (105, "Int64"),
    (117, "UInt64"),
    (123, "Object"),
];

fn json_type() -> ScalarFunction {
    let rule = |args: &[ArgType]| {
        check(args, args.len(), "JSONType")?;
        let names = TYPES.iter().map(|(number, name)| (i16::from(*number), (*name).into())).collect();
        let names = EnumValues::new(names).ok_or_else(|| FunctionError::bad_argument("the types of JSON"))?;
        Ok(ColumnType::Enum8(Arc::new(names)))
    };
    ScalarFunction::new("JSONType", 1..=usize::MAX, rule, |call| {
        let numbers = each(call, Name { name: "JSONType", any_case: false }, |found| match found {
            None => 0,
            Some((item, _)) => match item.kind() {
                Kind::Null => 0,
                Kind::Text { .. } => 34,
                Kind::Array => 91,
                Kind::Bool(_) => 98,
                Kind::Double(_) | Kind::Whole { .. } => 100,
                Kind::Int(_) => 105,
                Kind::UInt(_) => 117,
                Kind::Object => 123,
            },
        })?;
        Ok(Arc::new(arrow::array::PrimitiveArray::<Int8Type>::from_iter_values(numbers)))
    })
}

fn about() -> Vec<ScalarFunction> {
    vec![
        flag("JSONHas", |item| item.is_some()).doc(
            "JSONHas(json, key or place, ...)",
            "Whether there is something at the path.",
            "JSONHas('{\"a\": [1]}', 'a', 1) -> 1",
        ),
        flag("isValidJSON", |item| item.is_some()).doc(
            "isValidJSON(json)",
            "Whether the text is JSON.",
            "isValidJSON('{\"a\": 1}') -> 1",
        ),
        ScalarFunction::new(
            "JSONLength",
            1..=usize::MAX,
            |args| check(args, args.len(), "JSONLength").map(|()| ColumnType::UInt64),
            |call| {
                let counts = each(call, Name { name: "JSONLength", any_case: false }, |found| {
                    found.map_or(0, |(item, _)| u64_of(item.count()))
                })?;
                Ok(Arc::new(arrow::array::PrimitiveArray::<UInt64Type>::from_iter_values(counts)))
            },
        )
        .doc(
            "JSONLength(json, key or place, ...)",
            "Elements of an array or pairs of an object.",
            "JSONLength('[1, 2]') -> 2",
        ),
        ScalarFunction::new(
            "JSONArrayLength",
            1..=1,
            |args| check(args, 1, "JSONArrayLength").map(|()| ColumnType::UInt64.nullable()),
            |call| {
                let counts = each(call, Name { name: "JSONArrayLength", any_case: false }, |found| {
                    let list = found.map(|(item, _)| item).filter(|item| item.kind() == Kind::Array);
                    list.and_then(|item| u64::try_from(item.count()).ok())
                })?;
                Ok(Arc::new(counts.into_iter().collect::<arrow::array::UInt64Array>()))
            },
        )
        .any_case()
        .aliases(&["JSON_ARRAY_LENGTH"])
        .doc(
            "JSONArrayLength(json)",
            "Elements of an array; NULL for all else.",
            "JSONArrayLength('[1, 2]') -> 2",
        ),
        json_type().doc(
            "JSONType(json, key or place, ...)",
            "The kind of value at the path.",
            "JSONType('[1, 2]', 1) -> 'Int64'",
        ),
        written(Name { name: "JSONKey", any_case: false }, |found, out| {
            out.push_str(found.map_or("", |(_, key)| key));
        })
        .doc("JSONKey(json, ..., place)", "The key at a place.", "JSONKey('{\"a\": 1}', 1) -> 'a'"),
    ]
}

/// The functions that have a twin whose keys are found in any case.
macro_rules! both_cases {
    ($out:ident, $name:literal, $make:expr, $signature:literal, $description:literal, $arguments:literal, $result:literal) => {
        $out.extend([
            $make(Name { name: $name, any_case: false }).doc(
                concat!($name, $signature),
                $description,
                concat!($name, $arguments, " -> ", $result),
            ),
            $make(Name { name: concat!($name, "CaseInsensitive"), any_case: true }).doc(
                concat!($name, "CaseInsensitive", $signature),
                concat!("As ", $name, ", keys in any case."),
                concat!($name, "CaseInsensitive", $arguments, " -> ", $result),
            ),
        ]);
    };
}

fn plain_values() -> Vec<ScalarFunction> {
    let mut out = Vec::new();
    both_cases!(
        out,
        "JSONExtractInt",
        |name| typed(name, ColumnType::Int64),
        "(json, key or place, ...)",
        "The number at the path as Int64; 0 if there is none.",
        "('{\"a\": -1}', 'a')",
        "-1"
    );
    both_cases!(
        out,
        "JSONExtractUInt",
        |name| typed(name, ColumnType::UInt64),
        "(json, key or place, ...)",
        "The number at the path as UInt64; 0 if there is none.",
        "('{\"a\": 1}', 'a')",
        "1"
    );
    both_cases!(
        out,
        "JSONExtractFloat",
        |name| typed(name, ColumnType::Float64),
        "(json, key or place, ...)",
        "The number at the path as Float64; 0 if there is none.",
        "('{\"a\": 1.5}', 'a')",
        "1.5"
    );
    both_cases!(
        out,
        "JSONExtractBool",
        |name| typed(name, ColumnType::Bool),
        "(json, key or place, ...)",
        "1 where true is at the path.",
        "('{\"a\": true}', 'a')",
        "1"
    );
    both_cases!(
        out,
        "JSONExtractString",
        |name| typed(name, ColumnType::String),
        "(json, key or place, ...)",
        "The text at the path; all but text as JSON.",
        "('{\"a\": \"x\"}', 'a')",
        "'x'"
    );
    out
}

fn nested_values() -> Vec<ScalarFunction> {
    let mut out = Vec::new();
    both_cases!(
        out,
        "JSONExtractRaw",
        |name| written(name, |found, out| {
            if let Some((item, _)) = found {
                write::item(item, out);
            }
        }),
        "(json, key or place, ...)",
        "What is at the path, as JSON.",
        "('{\"a\": [1, 2]}', 'a')",
        "'[1,2]'"
    );
    both_cases!(
        out,
        "JSONExtractArrayRaw",
        |name| listed(name, |item, push| {
            item.elements().for_each(|element| push(&raw(element)));
        }),
        "(json, key or place, ...)",
        "The elements of an array, each as JSON.",
        "('[1, \"x\"]')",
        "['1','\"x\"']"
    );
    both_cases!(
        out,
        "JSONExtractKeys",
        |name| listed(name, |item, push| {
            item.pairs().for_each(|(key, _)| push(key));
        }),
        "(json, key or place, ...)",
        "The keys of an object.",
        "('{\"a\": 1}')",
        "['a']"
    );
    both_cases!(
        out,
        "JSONExtractKeysAndValuesRaw",
        raw_pairs,
        "(json, key or place, ...)",
        "The pairs of an object, values as JSON.",
        "('{\"a\": 1}')",
        "[('a','1')]"
    );
    both_cases!(
        out,
        "JSONExtractKeysAndValues",
        keys_and_values,
        "(json, key or place, ..., 'T')",
        "The pairs of an object whose values are of a type.",
        "('{\"a\": 1}', 'UInt8')",
        "[('a',1)]"
    );
    both_cases!(
        out,
        "JSONExtract",
        extract,
        "(json, key or place, ..., 'T')",
        "What is at the path as a value of any type.",
        "('{\"a\": [1, 2]}', 'a', 'Array(UInt8)')",
        "[1,2]"
    );
    out
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let mut out = about();
    out.extend(plain_values());
    out.extend(nested_values());
    out
}
