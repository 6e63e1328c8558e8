//! The constants of WITH FILL in the units of their key: FROM, TO and STEP.
//!
//! Invariant: what ClickHouse refuses is refused with its error 475.

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, TimeUnit};
use chrono_tz::Tz;
use datafusion::common::{DataFusionError, Result};
use functions::{CastMode, CastSettings, FunctionError, Stride, cast_column_with};
use model::type_arrow::to_data_type;
use model::{ColumnType, ErrorCode};

use super::row::{Rule, Step};
use crate::nodes::cells::{Cell, cells_of, incompatible, invalid};

/// A constant with its type.
pub(crate) type Constant = (ArrayRef, ColumnType);

/// What is written for one key.
pub(crate) struct Written {
    pub from: Option<Constant>,
    pub to: Option<Constant>,
    pub step: Option<Constant>,
    pub stale: Option<Constant>,
    pub descending: bool,
}

/// How a key of this type is filled.
pub(crate) fn rule(column_type: &ColumnType, written: Written, zone: Tz) -> Result<Rule> {
    let is_float = matches!(column_type.value_type(), ColumnType::Float32 | ColumnType::Float64);
    let is_known = is_float || column_type.is_integer() || is_temporal(column_type.value_type());
    if matches!(column_type, ColumnType::LowCardinality(_)) || !is_known {
        return Err(incompatible(column_type));
    }
    let (key, descending) = (column_type.value_type(), written.descending);
    let given = |constant: Option<Constant>| constant.map_or(Ok(Cell::Null), |c| bound(key, &c, zone));
    let (from, to) = (given(written.from)?, given(written.to)?);
    let (step, direction) = match written.step {
        Some(constant) => step(key, &constant, zone)?,
        None => single_step(key, descending),
    };
    let way = if descending { "descending" } else { "ascending" };
    if direction == 0 {
        return Err(invalid("the STEP of WITH FILL cannot be zero"));
    }
    if (direction < 0) != descending {
        return Err(invalid(format!("the STEP of WITH FILL leads against the {way} order of its key")));
    }
    let (first, last) = if descending { (to, from) } else { (from, to) };
    let is_turned = match (first, last) {
        (Cell::Whole(first), Cell::Whole(last)) => first > last,
        (Cell::Float(first), Cell::Float(last)) => first > last,
        _ => false,
    };
    if is_turned {
        return Err(invalid(format!("TO of WITH FILL lies before FROM in the {way} order of its key")));
    }
    let stale = written.stale.map(|constant| staleness(key, &constant, zone));
    let (stale, direction) = stale.transpose()?.unzip();
    if stale.is_some() && from != Cell::Null {
        return Err(invalid("STALENESS of WITH FILL cannot stand beside its FROM"));
    }
    if direction.is_some_and(|direction| direction != 0 && (direction < 0) != descending) {
        return Err(invalid(format!("the STALENESS of WITH FILL leads against the {way} order of its key")));
    }
    Ok(Rule { from, to, step, stale, descending })
}

/// Until when a row of the input is not stale, and the sign.
fn staleness(key: &ColumnType, constant: &Constant, zone: Tz) -> Result<(Step, i64)> {
    if constant.0.is_null(0) {
        return Err(invalid("the STALENESS of WITH FILL cannot be NULL"));
    }
    step(key, constant, zone)
}

/// Refuses STALENESS of one key among several that are filled.
pub(crate) fn alone_if_stale<'a>(rules: impl Iterator<Item = &'a Rule>) -> Result<()> {
    let stale: Vec<bool> = rules.map(|rule| rule.stale.is_some()).collect();
    if stale.len() > 1 && stale.contains(&true) {
        let message = "STALENESS of WITH FILL with several keys WITH FILL is not supported";
        let refused = FunctionError::new(ErrorCode::NOT_IMPLEMENTED, message);
        return Err(DataFusionError::External(Box::new(refused)));
    }
    Ok(())
}

fn is_temporal(column_type: &ColumnType) -> bool {
    matches!(
        column_type,
        ColumnType::Date | ColumnType::Date32 | ColumnType::DateTime { .. } | ColumnType::DateTime64 { .. }
    )
}

fn is_decimal(column_type: &ColumnType) -> bool {
    matches!(column_type.value_type(), ColumnType::Decimal { .. })
}

fn first_cell(array: &ArrayRef, column_type: &ColumnType) -> Result<Cell> {
    Ok(cells_of(array, column_type)?.first().copied().unwrap_or(Cell::Null))
}

fn cast(key: &ColumnType, (array, own): &Constant, zone: Tz) -> Result<Cell> {
    let array = cast_column_with(array, own, key, CastMode::Strict, &CastSettings::new(zone, 0));
    first_cell(&array.map_err(|error| invalid(error.to_string()))?, key)
}

/// FROM or TO. A whole number may lie beyond the key's type: it is only compared with.
fn bound(key: &ColumnType, constant: &Constant, zone: Tz) -> Result<Cell> {
    let own = constant.1.value_type();
    if key.is_integer() || is_temporal(key) && own.is_integer() {
        if !own.is_integer() {
            return Err(incompatible(key));
        }
        let is_unsigned = matches!(
            to_data_type(key),
            DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64
        );
        return match first_cell(&constant.0, own)? {
            Cell::Whole(value) if is_unsigned && value < 0 => {
                Err(invalid(format!("a bound of WITH FILL is below zero for a key of type {key}")))
            }
            value => Ok(value),
        };
    }
    let is_date = |t: &ColumnType| matches!(t, ColumnType::Date | ColumnType::Date32);
    let is_moment = |t: &ColumnType| is_temporal(t) && !is_date(t);
    let fits = own.is_number() && key.is_number() && !is_decimal(own);
    if fits || is_date(own) && is_date(key) || is_moment(own) && is_moment(key) {
        return cast(key, constant, zone);
    }
    Err(incompatible(key))
}

/// Units of a key to one of what is written for it.
fn units(key: &ColumnType) -> i128 {
    match to_data_type(key) {
        DataType::Timestamp(TimeUnit::Millisecond, _) => 1_000,
        DataType::Timestamp(TimeUnit::Microsecond, _) => 1_000_000,
        DataType::Timestamp(TimeUnit::Nanosecond, _) => 1_000_000_000,
        _ => 1,
    }
}

fn single_step(key: &ColumnType, descending: bool) -> (Step, i64) {
    let sign: i32 = if descending { -1 } else { 1 };
    let step = match key {
        ColumnType::Float32 | ColumnType::Float64 => Step::Float(f64::from(sign)),
        _ => Step::Whole(i128::from(sign) * units(key)),
    };
    (step, i64::from(sign))
}

/// The step and its sign.
fn step(key: &ColumnType, constant: &Constant, zone: Tz) -> Result<(Step, i64)> {
    let own = constant.1.value_type();
    if let Some(stride) = Stride::of(&constant.0, own) {
        if !is_temporal(key) || !stride.fits(key) {
            return Err(incompatible(key));
        }
        return Ok((Step::Time(stride, key.clone(), zone), stride.amount().signum()));
    }
    let value = if own.is_integer() && (key.is_integer() || is_temporal(key)) {
        match first_cell(&constant.0, own)? {
            Cell::Whole(value) => Cell::Whole(value.saturating_mul(units(key))),
            other => other,
        }
    } else if own.is_number() && !is_decimal(own) && key.is_number() && !key.is_integer() {
        cast(key, constant, zone)?
    } else {
        return Err(incompatible(key));
    };
    Ok(match value {
        Cell::Whole(value) => (Step::Whole(value), i64::try_from(value.signum()).unwrap_or(0)),
        Cell::Float(value) if value == 0.0 => (Step::Float(value), 0),
        Cell::Float(value) => (Step::Float(value), if value < 0.0 { -1 } else { 1 }),
        Cell::Null => return Err(invalid("the STEP of WITH FILL cannot be NULL")),
    })
}
