//! Colors of screens and those of Oklab, in which distances are what people see (Björn Ottosson, 2020).
//!
//! Invariant: a channel is 0 to 255, and its light is a power of it. Must not know: other spaces of colors.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array};
use arrow::datatypes::Float64Type;
use model::ColumnType;

use crate::columns::container::{tuple_of, unnamed};
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;

const NAME: &str = "colorOKLABToSRGB";
/// The power by which light grows with a channel, unless told.
const GAMMA: f64 = 2.2;
/// The largest value of a channel.
const CHANNEL_MAX: f64 = 255.0;

fn channels() -> ColumnType {
    unnamed([ColumnType::Float64, ColumnType::Float64, ColumnType::Float64])
}

fn result_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let is_color = matches!(&args[0].column_type, ColumnType::Tuple(parts)
            if parts.len() == 3 && parts.iter().all(|part| part.column_type.is_number() && !part.column_type.is_nullable()));
    let wrong =
        if is_color { args[1..].iter().find(|arg| !arg.column_type.is_number()) } else { args.first() };
    match wrong {
        Some(arg) => Err(FunctionError::illegal_type(&arg.column_type, NAME)),
        None => Ok(channels()),
    }
}

fn evaluate(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Tuple(elements) = call.result_type else {
        return Err(FunctionError::illegal_type(call.result_type, NAME));
    };
    let (arg, given) = (call.arg(0)?, call.converted(0, &channels())?);
    let parts = given.as_struct();
    let value =
        |part: usize, row: usize| parts.column(part).as_primitive::<Float64Type>().value(arg.row(row));
    let gamma = if call.args.len() > 1 { Some(call.floats(1)?) } else { None };
    let mut columns: [Vec<f64>; 3] = Default::default();
    for row in 0..call.rows {
        let gamma = gamma.as_ref().map_or(GAMMA, |gamma| gamma.get(row));
        let made = to_screen([value(0, row), value(1, row), value(2, row)], gamma);
        columns.iter_mut().zip(made).for_each(|(column, number)| column.push(number));
    }
    let columns =
        columns.into_iter().map(|column| Arc::new(Float64Array::from(column)) as ArrayRef).collect();
    Ok(tuple_of(elements, columns, None, call.rows)?)
}

fn to_screen([lightness, a, b]: [f64; 3], gamma: f64) -> [f64; 3] {
    let cube = |x: f64| x * x * x;
    let l = cube(lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b);
    let m = cube(lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b);
    let s = cube(lightness - 0.089_484_177_5 * a - 1.291_485_548_0 * b);
    let light = [
        4.076_741_662_1 * l - 3.307_711_591_3 * m + 0.230_969_929_2 * s,
        -1.268_438_004_6 * l + 2.609_757_401_1 * m - 0.341_319_396_5 * s,
        -0.004_196_086_3 * l - 0.703_418_614_7 * m + 1.707_614_701_0 * s,
    ];
    light.map(|light| light.clamp(0.0, 1.0).powf(1.0 / gamma) * CHANNEL_MAX)
}

pub(crate) fn functions() -> Vec<ScalarFunction> {
    vec![ScalarFunction::new(NAME, 1..=2, result_type, evaluate).doc(
        "colorOKLABToSRGB((L, a, b)[, gamma])",
        "Red, green and blue of a color of Oklab, each from 0 to 255.",
        "colorOKLABToSRGB((1, 0, 0)) -> (255,255,255)",
    )]
}
