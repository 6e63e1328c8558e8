//! What H3 knows of its cells without looking at a map: their sizes and numbers, and their indexes as texts.
//!
//! Invariant: figures are those of the library that ClickHouse has, digit by digit. Must not know: where a cell lies.

use arrow::datatypes::{Float64Type, Int64Type, UInt64Type};
use model::{ColumnType, ErrorCode};

use crate::error::FunctionError;
use crate::kernel::call::ArgType;
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::takes_text;

/// Resolutions are 0 to 15.
const RESOLUTIONS: usize = 16;

/// Means of the areas of hexagons in square kilometres.
const AREA_KM2: [f64; RESOLUTIONS] = [
    4357449.416078383,
    609788.4417941332,
    86801.7803989972,
    12393.43465508816,
    1770.347654491307,
    252.9038581819449,
    36.12906216441245,
    5.161293359717191,
    0.7373275975944177,
    0.1053325134272067,
    0.01504750190766435,
    0.002149643129451879,
    0.000307091875631606,
    0.00004387026794728296,
    0.000006267181135324313,
    8.95311590760579e-7,
];

/// The same in square metres, which the library has with other last digits.
const AREA_M2: [f64; RESOLUTIONS] = [
    4357449416078.39,
    609788441794.1339,
    86801780398.99731,
    12393434655.08818,
    1770347654.491309,
    252903858.1819452,
    36129062.1644125,
    5161293.359717198,
    737327.5975944188,
    105332.5134272069,
    15047.50190766437,
    2149.643129451882,
    307.0918756316063,
    43.87026794728301,
    6.267181135324322,
    0.8953115907605802,
];

/// Means of the lengths of edges in kilometres.
const EDGE_KM: [f64; RESOLUTIONS] = [
    1281.256011,
    483.0568391,
    182.5129565,
    68.97922179,
    26.07175968,
    9.85409099,
    3.724532667,
    1.406475763,
    0.53141401,
    0.200786148,
    0.075863783,
    0.028663897,
    0.010830188,
    0.00409201,
    0.0015461,
    0.000584169,
];

/// The same in metres.
const EDGE_M: [f64; RESOLUTIONS] = [
    1281256.011,
    483056.8391,
    182512.9565,
    68979.22179,
    26071.75968,
    9854.09099,
    3724.532667,
    1406.475763,
    531.4140101,
    200.7861476,
    75.86378287,
    28.66389748,
    10.83018784,
    4.092010473,
    1.546099657,
    0.58416863,
];

fn of_resolution(args: &[ArgType], name: &str, result: ColumnType) -> Result<ColumnType, FunctionError> {
    let wrong =
        |arg: &&ArgType| !matches!(arg.column_type.value_type(), ColumnType::UInt8 | ColumnType::Nothing);
    match args.iter().find(wrong) {
        Some(arg) => Err(FunctionError::illegal_type(&arg.column_type, name)),
        None => Ok(result),
    }
}

/// A resolution as a place in a table.
fn resolution(given: i64, name: &str) -> Result<usize, FunctionError> {
    let known = usize::try_from(given).ok().filter(|resolution| *resolution < RESOLUTIONS);
    known.ok_or_else(|| {
        let message = format!("resolution {given} of function {name} is out of bounds: the last one is 15");
        FunctionError::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, message)
    })
}

fn figures(name: &'static str, table: &'static [f64; RESOLUTIONS]) -> ScalarFunction {
    ScalarFunction::new(
        name,
        1..=1,
        move |args| of_resolution(args, name, ColumnType::Float64),
        move |call| {
            let given = call.ints(0)?;
            call.each::<Float64Type>(|row| Ok(table[resolution(given.get(row), name)?]))
        },
    )
}

/// All cells of a resolution: 12 pentagons, and hexagons that have seven children each.
fn cells(resolution: usize) -> i64 {
    2 + (0..resolution).fold(120_i64, |cells, _| cells.saturating_mul(7))
}

/// Hexadecimal digits as C reads them: spaces, a sign and `0x` may stand before them, anything behind.
fn index_of(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let prefixed = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let digits = prefixed.filter(|rest| rest.starts_with(|c: char| c.is_ascii_hexdigit())).unwrap_or(text);
    let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
    if end == 0 {
        return None;
    }
    // Too many of them are the largest number.
    match u64::from_str_radix(&digits[..end], 16) {
        Ok(index) if negative => Some(index.wrapping_neg()),
        Ok(index) => Some(index),
        Err(_) => Some(u64::MAX),
    }
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    vec![
        figures("h3HexAreaKm2", &AREA_KM2).doc(
            "h3HexAreaKm2(resolution)",
            "The mean area of a hexagon of H3 in square kilometres.",
            "h3HexAreaKm2(5) -> 252.9038581819449",
        ),
        figures("h3HexAreaM2", &AREA_M2).doc(
            "h3HexAreaM2(resolution)",
            "The mean area of a hexagon of H3 in square metres.",
            "h3HexAreaM2(13) -> 43.87026794728301",
        ),
        figures("h3EdgeLengthKm", &EDGE_KM).doc(
            "h3EdgeLengthKm(resolution)",
            "The mean length of an edge of a hexagon of H3 in kilometres.",
            "h3EdgeLengthKm(5) -> 9.85409099",
        ),
        figures("h3EdgeLengthM", &EDGE_M).doc(
            "h3EdgeLengthM(resolution)",
            "The mean length of an edge of a hexagon of H3 in metres.",
            "h3EdgeLengthM(5) -> 9854.09099",
        ),
        ScalarFunction::new(
            "h3NumHexagons",
            1..=1,
            |args| of_resolution(args, "h3NumHexagons", ColumnType::Int64),
            |call| {
                let given = call.ints(0)?;
                call.each::<Int64Type>(|row| Ok(cells(resolution(given.get(row), "h3NumHexagons")?)))
            },
        )
        .doc(
            "h3NumHexagons(resolution)",
            "How many cells of a resolution H3 has.",
            "h3NumHexagons(3) -> 41162",
        ),
        ScalarFunction::new("stringToH3", 1..=1, takes_text("stringToH3", 1, ColumnType::UInt64), |call| {
            let texts = call.texts(0)?;
            call.each::<UInt64Type>(|row| {
                index_of(texts.get(row)).filter(|index| *index != 0).ok_or_else(|| {
                    let message = format!("'{}' is no index of H3", texts.get(row));
                    FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message)
                })
            })
        })
        .doc(
            "stringToH3(text)",
            "The index of H3 that hexadecimal digits say.",
            "stringToH3('89184926cc3ffff') -> 617420388351344639",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_read_as_c_reads_them() {
        assert_eq!(index_of(" 0x89184926CC3ffffz"), Some(617_420_388_351_344_639));
        assert_eq!(index_of("-1"), Some(u64::MAX));
        assert_eq!(index_of("ffffffffffffffff1"), Some(u64::MAX));
        assert_eq!(index_of("xyz"), None);
        assert_eq!(cells(15), 569_707_381_193_162);
    }
}
