//! Table functions whose rows come from nowhere outside: the table of each.
//!
//! Invariant: what is none of them is left to others. Must not know: files, buckets.

use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use datafusion::catalog::TableProvider;
use datafusion::datasource::MemTable;
use host::Host;
use model::type_arrow::to_field;
use model::{ColumnType, ErrorCode};
use physical::provider::numbers::{NumberRange, ZERO, numbers_table};
use physical::provider::random_rows::{RandomRows, random_columns, random_table};
use sql::{CallArgument, CallValue, TableFunctionCall};
use stores::WantedTypes;

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::resolve::format_table::format_table;

/// Longest text and list of `generateRandom`, unless told: ClickHouse's.
const RANDOM_LENGTH: u64 = 10;

/// The table of a call, if it is one of these.
pub(crate) fn table_of(
    services: &Services,
    execution: &Execution,
    call: &TableFunctionCall,
    wanted: &WantedTypes,
) -> Result<Option<Arc<dyn TableProvider>>, Error> {
    Ok(Some(match call.name.to_ascii_lowercase().as_str() {
        "numbers" | "numbers_mt" | "zeros" | "zeros_mt" => {
            numbers_table(number_range(call)?, &execution.progress.source)?
        }
        "generate_series" | "generateseries" => numbers_table(series(call)?, &execution.progress.source)?,
        "generaterandom" => random_table(random_rows(&services.host, call, wanted)?)?,
        "format" => format_table(services, execution, call)?,
        "null" => {
            let fields: Vec<_> =
                null_columns(call)?.iter().map(|(name, column_type)| to_field(name, column_type)).collect();
            let schema = Arc::new(arrow::datatypes::Schema::new(fields));
            Arc::new(MemTable::try_new(schema, vec![vec![]])?) as Arc<dyn TableProvider>
        }
        "input" => {
            return Err(Error::unsupported("table function input").with_hint(
                "INSERT the rows as they are, or into a table of their own, and SELECT from there",
            ));
        }
        _ => return Ok(None),
    }))
}

/// The columns that `null(structure)` has.
pub(crate) fn null_columns(call: &TableFunctionCall) -> Result<Vec<(String, ColumnType)>, Error> {
    match call.arguments.as_slice() {
        [CallArgument { name: None, value: CallValue::Text(structure) }] => {
            Ok(sources::schema::structure::parse(structure)?)
        }
        _ => Err(Error::new(
            ErrorKind::BadInput,
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "table function null takes a structure, such as 'a UInt8'",
        )),
    }
}

fn unsigned(argument: &CallArgument) -> Option<u64> {
    match &argument.value {
        // A whole number may be written as a float.
        CallValue::Number(text) => text.parse().ok().or_else(|| {
            let number = text.parse::<f64>().ok().filter(|number| number.fract() == 0.0)?;
            format!("{number:.0}").parse().ok()
        }),
        _ => None,
    }
}

/// Without a structure, in an INSERT of all its columns, they are those of the table; elsewhere the seed says them, too.
fn random_rows(host: &Host, call: &TableFunctionCall, wanted: &WantedTypes) -> Result<RandomRows, Error> {
    let wrong = || {
        let message = "table function generateRandom takes a structure, and then a seed, the longest text and the \
                       longest list as numbers";
        Error::new(ErrorKind::BadInput, ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message)
    };
    let (columns, numbers) = match call.arguments.as_slice() {
        [CallArgument { name: None, value: CallValue::Text(structure) }, numbers @ ..] => {
            (sources::schema::structure::parse(structure)?, numbers)
        }
        numbers if wanted.whole => (wanted.columns.clone(), numbers),
        numbers => (random_columns(numbers.first().and_then(unsigned).unwrap_or(0)), numbers),
    };
    let number = |at: usize| match numbers.get(at) {
        None => Ok(None),
        Some(CallArgument { value: CallValue::Word(word), .. }) if word.eq_ignore_ascii_case("NULL") => {
            Ok(None)
        }
        Some(argument) => unsigned(argument).map(Some).ok_or_else(wrong),
    };
    if numbers.len() > 3 {
        return Err(wrong());
    }
    Ok(RandomRows {
        columns,
        seed: number(0)?.unwrap_or_else(|| host::random::u64(host.random.as_ref())),
        text_bytes_max: number(1)?.unwrap_or(RANDOM_LENGTH),
        array_length_max: number(2)?.unwrap_or(RANDOM_LENGTH),
    })
}

/// Both ends are included.
fn series(call: &TableFunctionCall) -> Result<NumberRange, Error> {
    let numbers: Option<Vec<u64>> = call.arguments.iter().map(unsigned).collect();
    let (start, stop, step) = match numbers.as_deref() {
        Some([start, stop]) => (*start, *stop, 1),
        Some([start, stop, step]) if *step > 0 => (*start, *stop, *step),
        _ => {
            let message =
                format!("table function {} takes two or three constant unsigned numbers", call.name);
            return Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message));
        }
    };
    let count = stop.checked_sub(start).map_or(0, |distance| (distance / step).saturating_add(1));
    Ok(NumberRange { start, count: Some(count), step, column: "generate_series" })
}

fn number_range(call: &TableFunctionCall) -> Result<NumberRange, Error> {
    let numbers: Option<Vec<u64>> = call.arguments.iter().map(unsigned).collect();
    let zeros = call.name.to_ascii_lowercase().starts_with("zeros");
    let (start, count, step) = match numbers.as_deref() {
        Some([]) => (0, None, 1),
        Some([count]) => (0, Some(*count), 1),
        Some([start, count]) if !zeros => (*start, Some(*count), 1),
        // ClickHouse's third argument keeps every step-th number of the range.
        Some([start, count, step]) if !zeros && *step > 0 => (*start, Some(count.div_ceil(*step)), *step),
        _ => {
            let message =
                format!("table function {} takes one to three constant unsigned numbers", call.name);
            // Of a step of 0, and of an offset of zeros(), it is no matter of types.
            let code = match numbers {
                None => ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                Some(_) => ErrorCode::BAD_ARGUMENTS,
            };
            return Err(Error::new(ErrorKind::BadInput, code, message));
        }
    };
    Ok(NumberRange { start, count, step, column: if zeros { ZERO } else { "number" } })
}
