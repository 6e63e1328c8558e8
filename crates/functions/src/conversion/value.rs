//! Functions about values as such: their type, themselves, their counterpart in a list.
//!
//! Invariant: a value is passed on untouched; only `transform` gives another.

use arrow::array::{Array, ArrayRef, AsArray, UInt64Array};
use arrow::compute::{concat, take};
use arrow::datatypes::UInt8Type;
use model::saturating::u64_of;
use model::{ColumnType, ErrorCode, TupleElement};

use crate::cast::CastMode;
use crate::error::FunctionError;
use crate::kernel::alike::alike;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::list::equality;
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::expanded;
use crate::kernel::types::supertype;

/// The name of a type as `toTypeName` shows it: named elements of a tuple each on a line.
pub fn shown_type(column_type: &ColumnType) -> String {
    match column_type {
        ColumnType::Nothing => "Nullable(Nothing)".to_owned(),
        other => spread(other, 1),
    }
}

fn spread(column_type: &ColumnType, depth: usize) -> String {
    match column_type {
        ColumnType::Array(element) => format!("Array({})", spread(element, depth)),
        // What is inside of Nullable stands in one line.
        ColumnType::Nullable(inner) => format!("Nullable({inner})"),
        ColumnType::Map(key, value) => format!("Map({}, {})", spread(key, depth), spread(value, depth)),
        // An interval is carried as a tuple, and has a name of its own.
        ColumnType::Tuple(parts) if column_type.to_string().starts_with("Tuple(") => {
            let is_named = parts.iter().any(|part| part.name.is_some());
            let shown = parts.iter().map(|part| {
                let inner = spread(&part.column_type, depth + usize::from(is_named));
                match &part.name {
                    // The one element of a tuple says how its name is quoted.
                    Some(_) => {
                        let named = TupleElement { name: part.name.clone(), column_type: ColumnType::UInt8 };
                        let whole = ColumnType::Tuple(vec![named]).to_string();
                        let name = whole.trim_start_matches("Tuple(").trim_end_matches(" UInt8)");
                        format!("\n{}{name} {inner}", "    ".repeat(depth))
                    }
                    None => inner,
                }
            });
            let shown: Vec<String> = shown.collect();
            format!("Tuple({})", shown.join(if is_named { "," } else { ", " }))
        }
        other => other.to_string(),
    }
}

fn same_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    args.first()
        .map(|arg| arg.column_type.clone())
        .ok_or_else(|| FunctionError::bad_argument("an argument is needed"))
}

fn same_value(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    expanded(call.arg(0)?, call.rows)
}

pub(crate) fn functions() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new(
            "toTypeName",
            1..=1,
            |_| Ok(ColumnType::String),
            |call| {
                let name = shown_type(&call.arg(0)?.column_type);
                call.each_part(|_| &name)
            },
        )
        .own_nulls()
        .any_case()
        .doc("toTypeName(x)", "The name of the type.", "toTypeName(1) -> 'UInt8'"),
        ScalarFunction::new("identity", 1..=1, same_type, same_value).own_nulls().doc(
            "identity(x)",
            "The value itself.",
            "identity(1) -> 1",
        ),
        ScalarFunction::new("materialize", 1..=1, same_type, same_value).own_nulls().doc(
            "materialize(x)",
            "A constant as a column.",
            "materialize(1) -> 1",
        ),
        ScalarFunction::new(
            "ignore",
            0..=usize::MAX,
            |_| Ok(ColumnType::UInt8),
            |call| call.each::<UInt8Type>(|_| Ok(0)),
        )
        .own_nulls()
        .doc("ignore(...)", "Always 0.", "ignore(1, 2) -> 0"),
        ScalarFunction::new(
            "isConstant",
            1..=1,
            |_| Ok(ColumnType::UInt8),
            |call| {
                let constant = call.arg(0)?.is_constant;
                call.each_flag(|_| constant)
            },
        )
        .own_nulls()
        .doc("isConstant(x)", "Whether the argument is a constant.", "isConstant(1) -> 1"),
        ScalarFunction::new("transform", 3..=4, transform_type, transform).own_nulls().doc(
            "transform(x, from, to[, default])",
            "The element of one array at the place x has in another.",
            "transform(2, [1, 2], ['a', 'b'], '?') -> 'b'",
        ),
    ]
}

fn element(arg: &ArgType) -> Result<&ColumnType, FunctionError> {
    match &arg.column_type {
        ColumnType::Array(element) => Ok(element),
        other => Err(FunctionError::illegal_type(other, "transform")),
    }
}

fn transform_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let to = element(&args[2])?;
    check_nulls(args, to)?;
    let lengths = [&args[1], &args[2]].map(|arg| {
        let lists = arg.constant.as_ref().and_then(|constant| constant.as_list_opt::<i32>().cloned());
        lists.map(|lists| lists.values().len())
    });
    if let [Some(from), Some(to)] = lengths
        && from != to
    {
        let message = "the second and third arguments of transform are arrays of one size";
        return Err(FunctionError::bad_argument(message));
    }
    let fallback = args.get(3).unwrap_or(&args[0]);
    supertype([to, &fallback.column_type]).map_err(|error| {
        FunctionError::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("transform has no type: {}", error.message),
        )
    })
}

/// Without a default, what x is and what it becomes are of one type, so that both may be NULL or neither; what cannot be NULL
/// is not compared with one.
fn check_nulls(args: &[ArgType], to: &ColumnType) -> Result<(), FunctionError> {
    let from = element(&args[1])?;
    let subject = &args[0].column_type;
    if *subject == ColumnType::Nothing {
        return Ok(());
    }
    let constant = args[1].constant.as_ref().and_then(|constant| constant.as_list_opt::<i32>());
    let has_null = constant.is_some_and(|lists| lists.values().logical_null_count() > 0);
    if has_null && !subject.is_nullable() {
        let code = match from {
            ColumnType::Nothing => ErrorCode::CANNOT_CONVERT_TYPE,
            _ => ErrorCode::CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN,
        };
        return Err(FunctionError::new(code, format!("transform: NULL is no value of type {subject}")));
    }
    let is_nullable = to.is_nullable() || *to == ColumnType::Nothing;
    if args.len() == 3 && is_nullable != subject.is_nullable() {
        let message = format!(
            "transform without a default gives values of the type of its first argument, {subject}, not {to}"
        );
        return Err(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message));
    }
    Ok(())
}

fn transform(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (from, to) = (call.lists(1)?, call.lists(2)?);
    let subject = call.arg(0)?;
    let fallback_index = if call.args.len() > 3 { 3 } else { 0 };
    let caster = call.caster(CastMode::Strict);
    let sought = (&subject.array, &subject.column_type);
    let (keys, wanted) = alike(&caster, (from.values(), &from.element), sought)?;
    let equal = equality(&keys, &wanted)?;
    let fallback = call.arg(fallback_index)?;
    let other = caster.column(&fallback.array, &fallback.column_type, call.result_type)?;
    let results = caster.column(to.values(), &to.element, call.result_type)?;
    let all = concat(&[results.as_ref(), other.as_ref()])?;
    let places: Vec<u64> = (0..call.rows)
        .map(|row| {
            let (own, targets) = (from.range(row), to.range(row));
            let found =
                own.clone().find(|at| equal(*at, subject.row(row))).map(|at| targets.start + at - own.start);
            let place = found.filter(|at| *at < targets.end).unwrap_or(results.len() + fallback.row(row));
            u64_of(place)
        })
        .collect();
    Ok(take(&all, &UInt64Array::from(places), None)?)
}
