//! Conversions between all column types, with ClickHouse's rules.
//!
//! Invariant: the result has the layout of the target type; equal types cost nothing. Integers wrap in explicit
//! casts, as in ClickHouse; text into a Nullable number gives NULL where it cannot be read.

mod problem;
pub(crate) mod read;
mod read_time;
pub(crate) mod write;
mod default;
mod caster;
mod addresses;
mod decimals;
mod enums;
pub(crate) mod intervals;
mod wides;
mod nested;
mod nested_text;
mod numbers;
mod times;
mod to_text;

pub use caster::{CastMode, CastSettings, cast_column, cast_column_with};
pub use default::{default_array, type_default_array};
pub use problem::CastError;

pub(crate) use caster::Caster;
pub(crate) use decimals::{Unscaled, fits, is_wide, typed};
pub(crate) use read::rescale;
pub(crate) use read::uuid_or_none as uuid_of_text;
pub(crate) use read_time::{Moment, moment_of_us};
pub(crate) use times::point_behind_timestamp;
