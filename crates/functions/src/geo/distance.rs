//! Distances of two points on a sphere and on the ellipsoid of WGS 84, told from tables.
//!
//! Invariant: a Float32 is computed in 32 bits and a Float64, where an argument is one, in 64. Near points are told apart as
//! if the ground were flat between them; what is between two entries of a table is on the line through them, as in ClickHouse.

use std::f64::consts::PI;
use std::sync::LazyLock;

use arrow::array::ArrayRef;
use arrow::datatypes::{Float32Type, Float64Type};
use model::ColumnType;

use crate::columns::number::{Number, wrap};
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;

/// Metres from the middle to the surface of a sphere that has as much surface as the earth.
const RADIUS: f64 = 6_371_007.180_918_474;
/// Entries of the tables: of a cosine's turn, of an arc sine, of the latitudes from pole to pole.
const COSINES: usize = 1024;
const ARC_SINES: usize = 512;
const LATITUDES: usize = 1024;
/// Degrees of longitude up to which the ground counts as flat.
const FLAT_DEGREES: f64 = 13.0;

fn share(index: usize, of: usize) -> f64 {
    wrap::<u64, f64>(model::saturating::u64_of(index)) / wrap::<u64, f64>(model::saturating::u64_of(of))
}

static COSINE: LazyLock<Vec<f64>> =
    LazyLock::new(|| (0..=COSINES).map(|index| (2.0 * PI * share(index, COSINES)).cos()).collect());

static ARC_SINE: LazyLock<Vec<f64>> =
    LazyLock::new(|| (0..=ARC_SINES).map(|index| share(index, ARC_SINES).sqrt().asin()).collect());

/// What is measured between two points.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Measure {
    Degrees,
    Metres,
    Ellipsoid,
}

impl Measure {
    /// The squared lengths of a degree of latitude and of one of longitude, at a latitude in radians.
    fn degree(self, latitude: f64) -> (f64, f64) {
        let squared = |x: f64| x * x;
        let cosine = |times: f64| (times * latitude).cos();
        match self {
            Measure::Degrees => (1.0, squared(cosine(1.0))),
            Measure::Metres => {
                let degree = 2.0 * RADIUS * PI / 360.0;
                (squared(degree), squared(degree * cosine(1.0)))
            }
            // The series of WGS 84.
            Measure::Ellipsoid => (
                squared(111_132.09 - 566.05 * cosine(2.0) + 1.20 * cosine(4.0)),
                squared(111_415.13 * cosine(1.0) - 94.55 * cosine(3.0) + 0.12 * cosine(5.0)),
            ),
        }
    }

    fn table(self) -> Vec<(f64, f64)> {
        (0..=LATITUDES).map(|index| self.degree(share(index, LATITUDES) * PI - PI / 2.0)).collect()
    }

    /// What an angle of one radian is.
    fn radian(self) -> f64 {
        if self == Measure::Degrees { 360.0 / PI } else { 2.0 * RADIUS }
    }
}

/// The formulas in one size of float.
macro_rules! formulas {
    ($name:ident, $float:ty) => {
        struct $name {
            cosine: Vec<$float>,
            arc_sine: Vec<$float>,
            degrees: Vec<($float, $float)>,
            radian: $float,
        }

        impl $name {
            fn new(measure: Measure) -> Self {
                let float = |value: &f64| wrap::<f64, $float>(*value);
                Self {
                    cosine: COSINE.iter().map(float).collect(),
                    arc_sine: ARC_SINE.iter().map(float).collect(),
                    degrees: measure.table().iter().map(|(up, along)| (float(up), float(along))).collect(),
                    radian: float(&measure.radian()),
                }
            }

            /// The entry before a place of a table, and how far behind it the place is.
            fn place(at: $float) -> (usize, $float) {
                let whole = at.trunc();
                (usize::try_from(whole.int()).unwrap_or(0), at - whole)
            }

            fn turn(&self, radians: $float, back: usize) -> $float {
                let (index, rest) =
                    Self::place(radians.abs() * wrap::<f64, $float>(share(COSINES, 1) / PI / 2.0));
                let index = index.wrapping_sub(back) & (COSINES - 1);
                self.cosine[index] + (self.cosine[index + 1] - self.cosine[index]) * rest
            }

            fn cos(&self, radians: $float) -> $float {
                self.turn(radians, 0)
            }

            fn sin(&self, radians: $float) -> $float {
                self.turn(radians, COSINES / 4)
            }

            fn arc_sine_of_root(&self, x: $float) -> $float {
                if x < 0.122 {
                    let y = x.sqrt();
                    return y
                        + x * y * wrap::<f64, $float>(0.166_666_666_666_666)
                        + x * x * y * 0.075
                        + x * x * x * y * wrap::<f64, $float>(0.044_642_857_142_857);
                }
                if x < 0.948 {
                    let (index, rest) = Self::place(x * wrap::<f64, $float>(share(ARC_SINES, 1)));
                    return self.arc_sine[index] + (self.arc_sine[index + 1] - self.arc_sine[index]) * rest;
                }
                x.sqrt().asin()
            }

            fn between(&self, [lon1, lat1, lon2, lat2]: [$float; 4]) -> $float {
                let apart = |degrees: $float| {
                    let degrees = degrees.abs();
                    if degrees > 180.0 { 360.0 - degrees } else { degrees }
                };
                let (up, along) = (apart(lat1 - lat2), apart(lon1 - lon2));
                if along < wrap::<f64, $float>(FLAT_DEGREES) {
                    let middle = (lat1 + lat2 + 180.0) * wrap::<f64, $float>(share(LATITUDES, 1)) / 360.0;
                    let (index, rest) = Self::place(middle);
                    let index = index & (LATITUDES - 1);
                    let (low, high) = (self.degrees[index], self.degrees[index + 1]);
                    let of_up = low.0 + (high.0 - low.0) * rest;
                    let of_along = low.1 + (high.1 - low.1) * rest;
                    return (of_up * up * up + of_along * along * along).sqrt();
                }
                let radian = wrap::<f64, $float>(PI / 180.0);
                let half = wrap::<f64, $float>(PI / 360.0);
                let squared = |x: $float| x * x;
                let (up, along) = (squared(self.sin(up * half)), squared(self.sin(along * half)));
                let haversine = up + self.cos(lat1 * radian) * self.cos(lat2 * radian) * along;
                self.radian * self.arc_sine_of_root(haversine)
            }
        }
    };
}

formulas!(Single, f32);
formulas!(Double, f64);

fn point_type(name: &'static str) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| match args.iter().find(|arg| !arg.column_type.is_number()) {
        Some(other) => Err(FunctionError::illegal_type(&other.column_type, name)),
        None if args.iter().any(|arg| arg.column_type == ColumnType::Float64) => Ok(ColumnType::Float64),
        None => Ok(ColumnType::Float32),
    }
}

fn of_points(name: &'static str, measure: Measure) -> ScalarFunction {
    ScalarFunction::new(
        name,
        4..=4,
        point_type(name),
        move |call: &Call<'_>| -> Result<ArrayRef, FunctionError> {
            let numbers: Vec<_> = (0..4).map(|index| call.floats(index)).collect::<Result<_, _>>()?;
            if *call.result_type.value_type() == ColumnType::Float64 {
                let formulas = Double::new(measure);
                return call.each::<Float64Type>(|row| {
                    Ok(formulas.between(std::array::from_fn(|index| numbers[index].get(row))))
                });
            }
            let formulas = Single::new(measure);
            call.each::<Float32Type>(|row| {
                Ok(formulas.between(std::array::from_fn(|index| wrap::<f64, f32>(numbers[index].get(row)))))
            })
        },
    )
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    vec![
        of_points("greatCircleDistance", Measure::Metres).doc(
            "greatCircleDistance(lon1, lat1, lon2, lat2)",
            "Metres between two points on a sphere of the earth's size.",
            "greatCircleDistance(0, 0, 0, 0) -> 0",
        ),
        of_points("greatCircleAngle", Measure::Degrees).doc(
            "greatCircleAngle(lon1, lat1, lon2, lat2)",
            "Degrees between two points on a sphere.",
            "greatCircleAngle(0, 0, 0, 0) -> 0",
        ),
        of_points("geoDistance", Measure::Ellipsoid).doc(
            "geoDistance(lon1, lat1, lon2, lat2)",
            "Metres between two points on the ellipsoid of WGS 84.",
            "geoDistance(0, 0, 0, 0) -> 0",
        ),
    ]
}
