//! How long the edges of polygons are, and how large polygons are in the plane.
//!
//! Invariant: a ring is as it is written; its last point is not joined to its first. Must not know: whether rings cross.

use arrow::array::ArrayRef;
use arrow::datatypes::Float64Type;
use model::plane::Point;
use model::{ColumnType, ErrorCode};

use crate::error::FunctionError;
use crate::geo::area::{Polygons, depth};
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;

/// A ring of fewer points, of which the last one is the first, has no area.
const RING_POINTS_MIN: usize = 4;

fn polygons(name: &'static str) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| match depth(&args[0].column_type) {
        Some(1..=3) => Ok(ColumnType::Float64),
        _ => {
            let message =
                format!("{name} of a {}: it takes a ring, a polygon or several", args[0].column_type);
            Err(FunctionError::bad_argument(message))
        }
    }
}

/// The sum over all edges of a figure of each.
fn summed(
    call: &Call<'_>,
    points_min: usize,
    of_edge: fn(Point, Point) -> f64,
) -> Result<ArrayRef, FunctionError> {
    let arg = call.arg(0)?;
    let polygons = Polygons::of(call, arg)?;
    let of_ring = |ring: &[Point]| -> Result<f64, FunctionError> {
        if ring.iter().any(|point| point.0.is_nan() || point.1.is_nan()) {
            let message = "a point's coordinate is no number";
            return Err(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message));
        }
        if ring.len() < points_min {
            return Ok(0.0);
        }
        Ok(ring.windows(2).map(|edge| of_edge(edge[0], edge[1])).sum())
    };
    call.each::<Float64Type>(|row| {
        let mut sum = 0.0;
        for ring in polygons.of_row(arg.row(row)).into_iter().flatten() {
            sum += of_ring(ring)?;
        }
        Ok(sum)
    })
}

fn length(a: Point, b: Point) -> f64 {
    ((b.0 - a.0).powi(2) + (b.1 - a.1).powi(2)).sqrt()
}

/// On a sphere whose radius is 1.
fn arc(a: Point, b: Point) -> f64 {
    let half = |from: f64, to: f64| ((to - from).to_radians() / 2.0).sin().powi(2);
    let chord = half(a.1, b.1) + a.1.to_radians().cos() * b.1.to_radians().cos() * half(a.0, b.0);
    2.0 * chord.sqrt().asin()
}

/// What an edge adds to the area of a ring that goes clockwise.
fn area_below(a: Point, b: Point) -> f64 {
    (b.0 * a.1 - a.0 * b.1) / 2.0
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let measure = |name: &'static str, points_min: usize, of_edge: fn(Point, Point) -> f64| {
        ScalarFunction::new(name, 1..=1, polygons(name), move |call| summed(call, points_min, of_edge))
    };
    vec![
        measure("polygonPerimeterCartesian", 0, length).doc(
            "polygonPerimeterCartesian(polygons)",
            "The length of all edges in the plane.",
            "polygonPerimeterCartesian([[[(0., 0.), (0., 5.), (5., 5.), (5., 0.), (0., 0.)]]]) -> 20",
        ),
        measure("polygonPerimeterSpherical", 0, arc).doc(
            "polygonPerimeterSpherical(polygons)",
            "The length of all edges on a sphere of radius 1.",
            "polygonPerimeterSpherical([[[(0., 0.), (0., 0.)]]]) -> 0",
        ),
        measure("polygonAreaCartesian", RING_POINTS_MIN, area_below).doc(
            "polygonAreaCartesian(polygons)",
            "The area in the plane of polygons whose outer rings go clockwise and whose holes do not.",
            "polygonAreaCartesian([[[(0., 0.), (0., 5.), (5., 5.), (5., 0.), (0., 0.)]]]) -> 25",
        ),
    ]
}
